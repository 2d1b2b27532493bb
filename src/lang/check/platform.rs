//! Lowers what only components have: platform memory, stages, requests, verbs, and the tasks of an instance.

use super::Checker;
use super::components::THIS;
use super::names::NameMeaning;
use super::places::PlaceMeaning;
use super::scope::LocalMeaning;
use super::types::{article, word};
use crate::event::{ComponentId, NULL, SiteId, SiteKind};
use crate::lang::Diagnostic;
use crate::lang::ast::{self, At, BinaryOp, ExprKind as Ast, Name, UnaryOp, VerbMode};
use crate::lang::expand::{STAGE, member_name, verb_name};
use crate::lang::program::{ClassId, Expr, ExprKind, NO_SITE, PlatformExpr, PlatformStmt, StateId, Stmt, Type};

/// A place in platform memory.
pub(super) enum PlatformPlace {
    /// A `state` of the app.
    State(StateId),
    /// A `state` field of an instance.
    Field { instance: Expr, field: u32, site: SiteId },
    /// The stage of an instance.
    Stage { instance: Expr, site: SiteId },
}

impl Checker {
    /// Lowers `this`.
    pub(super) fn this(&mut self, at: At) -> Option<Expr> {
        match self.local(THIS) {
            Some(&LocalMeaning::Local { id, .. }) => Some(Expr::new(ExprKind::Local(id), self.local_type(id))),
            _ => {
                let help = "pass the instance to the task as an argument: `task f(p: Player)`";
                self.error_help(at, "`this` outside a component", "which instance?", help);
                None
            }
        }
    }

    // The site at which an access to an instance fails. `this` is never null.
    fn instance_site(&mut self, instance: &Expr) -> SiteId {
        match (&instance.kind, self.local(THIS)) {
            (ExprKind::Local(local), Some(LocalMeaning::Local { id, .. })) if local == id => NO_SITE,
            _ => self.check_site(),
        }
    }

    /// Returns the meaning of a parameter of the component of an instance. Returns `None` for other fields.
    pub(super) fn parameter(&mut self, object: &Expr, class: ClassId, name: &Name) -> Option<PlaceMeaning> {
        let id = *self.components.of_class.get(&class)?;
        let params = &self.out.components.all[id].params;
        let at = params.iter().position(|(param, _)| *param == name.text)?;
        let (ty, index) = (params[at].1.clone(), u32::try_from(at).expect("tables are bounded"));
        let site = self.instance_site(object);
        let parameter = PlatformExpr::Parameter { instance: Box::new(object.clone()), index, site };
        Some(PlaceMeaning::Value(Expr::new(ExprKind::Platform(parameter), ty)))
    }

    /// Returns the meaning of the stage or a `state` field of an instance. Returns `None` for other fields.
    pub(super) fn state_field(&mut self, object: &Expr, class: ClassId, name: &Name) -> Option<PlaceMeaning> {
        let id = *self.components.of_class.get(&class)?;
        if name.text == STAGE {
            let site = self.instance_site(object);
            let place = PlatformPlace::Stage { instance: object.clone(), site };
            return Some(PlaceMeaning::Platform(place, Type::Int));
        }
        let fields = &self.out.components.all[id].fields;
        let at = fields.iter().position(|field| field.name == name.text)?;
        let (ty, field) = (fields[at].ty.clone(), u32::try_from(at).expect("tables are bounded"));
        let site = self.instance_site(object);
        Some(PlaceMeaning::Platform(PlatformPlace::Field { instance: object.clone(), field, site }, ty))
    }

    /// Returns the meaning of a `state` of the app. Only the text of a kind can use it.
    pub(super) fn state(&mut self, name: &Name, state: StateId) -> Option<PlaceMeaning> {
        if !self.scope.of_kind {
            let message = format!("`{}` is platform memory", name.text);
            self.error_help(
                name.at,
                message,
                "only the text of a kind can use it",
                "declare a `var` for the app's own",
            );
            return None;
        }
        let ty = self.out.components.states[state].ty.clone();
        Some(PlaceMeaning::Platform(PlatformPlace::State(state), ty))
    }

    /// Lowers a read of platform memory.
    pub(super) fn read_platform(&mut self, place: PlatformPlace, ty: Type) -> Expr {
        let kind = match place {
            PlatformPlace::State(state) => PlatformExpr::State(state),
            PlatformPlace::Field { instance, field, site } => {
                PlatformExpr::Field { instance: Box::new(instance), field, site }
            }
            PlatformPlace::Stage { instance, site } => PlatformExpr::Stage { instance: Box::new(instance), site },
        };
        Expr::new(ExprKind::Platform(kind), ty)
    }

    /// Lowers an assignment to platform memory.
    pub(super) fn write_platform(
        &mut self,
        (place, ty): (PlatformPlace, Type),
        op: Option<BinaryOp>,
        value: &ast::Expr,
        (at, out): (At, &mut Vec<Stmt>),
    ) -> Option<()> {
        if let PlatformPlace::Stage { instance, site } = place {
            let (Ast::Stage { stage, .. }, None) = (&value.kind, op) else {
                self.error(value.at, "`stage` is assigned a stage of the kind", "not a stage");
                return None;
            };
            let component = self.component_of_type(&instance.ty)?;
            let stage = self.stage_index(self.out.components.all[component].kind, stage);
            out.push(Stmt::Platform(PlatformStmt::SetStage { instance, stage, site }));
            return Some(());
        }
        let place = self.evaluated_once(place, op.is_some(), out);
        let value = match op {
            None => self.expr_of(value, &ty, "the value")?,
            Some(op) => {
                let old = self.read_platform(copied(&place), ty.clone());
                self.new_value(Some(op), &ty, old, value, at)?
            }
        };
        out.push(Stmt::Platform(match place {
            PlatformPlace::State(state) => PlatformStmt::SetState { state, value },
            PlatformPlace::Field { instance, field, site } => PlatformStmt::SetField { instance, field, value, site },
            PlatformPlace::Stage { .. } => unreachable!("the stage was handled above"),
        }));
        Some(())
    }

    // Moves the instance of a place that is read and written into a local.
    fn evaluated_once(&mut self, place: PlatformPlace, twice: bool, out: &mut Vec<Stmt>) -> PlatformPlace {
        match place {
            PlatformPlace::Field { instance, field, site } if twice && !matches!(instance.kind, ExprKind::Local(_)) => {
                let (id, ty) = (self.temporary(instance.ty.clone()), instance.ty.clone());
                out.push(Stmt::SetLocal(id, instance));
                PlatformPlace::Field { instance: Expr::new(ExprKind::Local(id), ty), field, site }
            }
            place => place,
        }
    }

    /// Lowers an expression that only the text of a kind has.
    pub(super) fn kind_expr(&mut self, e: &ast::Expr) -> Option<Expr> {
        let platform = |kind, ty| Some(Expr::new(ExprKind::Platform(kind), ty));
        match &e.kind {
            Ast::Stage { kind, stage } => {
                let kind = self.kind_named(kind);
                Some(word(i64::from(self.stage_index(kind, stage)), Type::Int))
            }
            Ast::Other { some, kind: Some(kind), stage } => {
                let kind = self.kind_named(kind);
                let stages = self.stage_bit(kind, stage);
                let than = Box::new(self.this(e.at)?);
                let some_ = Expr::new(ExprKind::Platform(PlatformExpr::Some { kind, stages, than }), Type::Bool);
                Some(if *some { some_ } else { Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(some_)), Type::Bool) })
            }
            Ast::Asked(row) => {
                self.note_use(row);
                let NameMeaning::Event(row, _) = self.names.get(&row.text)?.named else { return None };
                let instance = Box::new(self.this(e.at)?);
                platform(PlatformExpr::Asked { instance, row, site: NO_SITE }, Type::Bool)
            }
            Ast::Again(instance) => {
                let at = instance.at;
                let instance = self.value(instance)?;
                let ty = instance.ty.clone();
                if self.component_of_type(&ty).is_none() {
                    let ty = self.name_of(&ty);
                    self.error(at, "`again` needs an instance of a component", format!("this is {}", article(&ty)));
                    return None;
                }
                let site = self.instance_site(&instance);
                platform(PlatformExpr::Again { instance: Box::new(instance), site }, ty)
            }
            _ => {
                self.error(e.at, "this stands only in the text of a kind", "outside a kind");
                None
            }
        }
    }

    /// Lowers `ask row(args)`.
    pub(super) fn ask(&mut self, row: &Name, args: &[ast::Expr], at: At) -> Option<Expr> {
        self.note_use(row);
        let Some(NameMeaning::Event(event, body)) = self.names.get(&row.text).map(|entry| entry.named.clone()) else {
            return None;
        };
        let params = self.signatures[body].params.get(1..).unwrap_or_default().to_vec();
        let args = self.args_for(&params, row, args, at)?;
        let instance = Box::new(self.this(at)?);
        let ask = PlatformExpr::Ask { instance, row: event, args, site: NO_SITE };
        Some(Expr::new(ExprKind::Platform(ask), Type::Request))
    }

    /// Lowers `withdraw e`.
    pub(super) fn withdraw(&mut self, request: &ast::Expr, out: &mut Vec<Stmt>) -> Option<()> {
        const TWICE: &str = "IllegalArgument";
        let request = self.expr_of(request, &Type::Request, "the operand of `withdraw`")?;
        self.thrown.insert(TWICE.to_owned());
        let (exception, site) = (self.exception(TWICE), self.check_site());
        out.push(Stmt::Platform(PlatformStmt::Withdraw { request, exception, site }));
        Some(())
    }

    /// Lowers a verb of a kind: `verb target(args)`.
    pub(super) fn component_verb(
        &mut self,
        verb: &Name,
        target: &ast::Expr,
        all: &[ast::Expr],
        at: At,
    ) -> Option<Expr> {
        if let Some(component) = self.named_component(target) {
            return self.verb_of_component(verb, (component, None), target.at, all, at);
        }
        let instance = self.value(target)?;
        let Some(component) = self.component_of_type(&instance.ty) else {
            let ty = self.name_of(&instance.ty);
            let message = format!("`{}` needs a component or an instance of one", verb.text);
            self.error(target.at, message, format!("this is {}", article(&ty)));
            return None;
        };
        self.verb_of_component(verb, (component, Some(instance)), target.at, all, at)
    }

    /// Returns the component that an expression names, if it names one.
    pub(super) fn named_component(&mut self, e: &ast::Expr) -> Option<ComponentId> {
        match &e.kind {
            Ast::Name(name) if self.local(name).is_none() => {
                let name = Name { text: name.clone(), at: e.at };
                let component = self.component_of(&name);
                if component.is_some() {
                    self.note_use(&name);
                }
                component
            }
            _ => None,
        }
    }

    /// Lowers a verb of a kind that is applied to a component, or to an instance of it. `target` is its position.
    pub(super) fn verb_of_component(
        &mut self,
        verb: &Name,
        (component, instance): (ComponentId, Option<Expr>),
        target: At,
        all: &[ast::Expr],
        at: At,
    ) -> Option<Expr> {
        let name = self.out.components.all[component].name.clone();
        let full = Name { text: verb_name(&verb.text, &name), at: verb.at };
        self.note_use(&full);
        let Some(&NameMeaning::Verb(body, mode)) = self.names.get(&full.text).map(|entry| &entry.named) else {
            self.no_such_verb(verb, component);
            return None;
        };
        let single = self.out.components.all[component].single.is_some();
        let receiver = instance.is_some();
        let mut values: Vec<Expr> = Vec::new();
        match (instance, mode) {
            (None, VerbMode::One) if single => {
                let ty = Type::Object(self.out.components.all[component].class);
                // The verb determines the instance itself.
                values.push(word(NULL, ty));
            }
            (None, VerbMode::One) => {
                let message = format!("`{}` needs an instance of `{name}`", verb.text);
                let help = format!("keep the instance that a verb gives: `let p = ..`, then `{} p`", verb.text);
                self.error_help(target, message, "of which one?", help);
                return None;
            }
            (None, VerbMode::Makes) => {
                values.extend(self.host_argument(component, at)?);
                if let Some(source) = self.components.sources.get(&component) {
                    // The verb determines this instance itself.
                    values.push(word(NULL, Type::Object(self.out.components.all[*source].class)));
                }
            }
            (None, VerbMode::All) => {}
            (Some(instance), VerbMode::One) => values.push(instance),
            (Some(_), _) => {
                let what = if mode == VerbMode::Makes { "makes an instance" } else { "acts on all instances" };
                let message = format!("`{}` {what}", verb.text);
                self.error_help(target, message, "this is one instance", format!("write `{} {name}`", verb.text));
                return None;
            }
        }
        let params = self.signatures[body].params.get(values.len()..).unwrap_or_default().to_vec();
        let mut args = all;
        if self.components.open.contains(&body) {
            let (of_params, without_effect) = all.split_at(all.len().min(params.len()));
            args = of_params;
            // No callback gets the further arguments. They are checked and not evaluated.
            self.in_dead(true, |c| without_effect.iter().for_each(|arg| _ = c.value(arg)));
        }
        values.extend(self.args_for(&params, &full, args, at)?);
        let ty = self.signatures[body].result.clone()?;
        let site = self.site(SiteKind::Request, full.text.clone(), at);
        if let Some(caller) = self.scope.body.filter(|_| !self.scope.dead) {
            self.calls.insert((caller, body));
            self.note_call(site, body);
        }
        Some(Expr::new(ExprKind::Platform(PlatformExpr::Verb { body, args: values, receiver, site }), ty))
    }

    // The instance that a new instance is in: `this`, if its component is in another one.
    fn host_argument(&mut self, component: ComponentId, at: At) -> Option<Option<Expr>> {
        let Some(host) = self.components.hosts.get(&component).copied() else { return Some(None) };
        let (name, of) = (&self.out.components.all[component].name, &self.out.components.all[host]);
        let (message, wanted) = (format!("`{name}` is in `{}`", of.name), Type::Object(of.class));
        let help = format!("use the verb in a callback or task of `{}`", of.name);
        match self.local(THIS) {
            Some(&LocalMeaning::Local { id, .. }) if self.local_type(id) == wanted => {
                Some(Some(Expr::new(ExprKind::Local(id), wanted)))
            }
            _ => {
                self.error_help(at, message, "in which instance?", help);
                None
            }
        }
    }

    fn no_such_verb(&mut self, verb: &Name, component: ComponentId) {
        let component = &self.out.components.all[component];
        let kind = self.out.components.kinds[component.kind].name.clone();
        let message = format!("`{kind}` has no verb `{}`", verb.text);
        let reason = match self.components.verbs.get(&verb.text).map(Vec::as_slice) {
            Some([one]) => {
                format!("`{}` is a verb of the kind `{one}`; `{}` is of the kind `{kind}`", verb.text, component.name)
            }
            _ => format!("`{}` is of the kind `{kind}`", component.name),
        };
        let own: Vec<&str> = self
            .components
            .verbs
            .iter()
            .filter(|(_, kinds)| kinds.contains(&kind))
            .map(|(verb, _)| verb.as_str())
            .collect();
        let help = format!("the verbs of `{kind}` are {}", own.join(", "));
        self.problems.add(Diagnostic::new(verb.at.0, message, reason).help(help));
    }

    /// Returns the full name of a task of the component of an instance, or reports that there is none. Returns
    /// `Err(())` for an object that is not an instance.
    pub(super) fn task_of_instance(&mut self, object: &Expr, name: &Name) -> Result<Option<Name>, ()> {
        let Some(component) = self.component_of_type(&object.ty) else { return Err(()) };
        let component = self.out.components.all[component].name.clone();
        let full = member_name(&component, &name.text);
        if matches!(self.names.get(&full).map(|entry| &entry.named), Some(NameMeaning::Task(_))) {
            return Ok(Some(Name { text: full, at: name.at }));
        }
        let prefix = member_name(&component, "");
        let tasks = self.names.iter().filter(|(_, entry)| matches!(entry.named, NameMeaning::Task(_)));
        let tasks: Vec<&str> = tasks.filter_map(|(full, _)| full.strip_prefix(&prefix)).collect();
        let help = super::did_you_mean(&name.text, tasks)
            .unwrap_or_else(|| format!("write `task {}() {{ }}` in `{component}`", name.text));
        self.error_help(name.at, format!("`{component}` has no task `{}`", name.text), "unknown task", help);
        Ok(None)
    }
}

fn copied(place: &PlatformPlace) -> PlatformPlace {
    match place {
        PlatformPlace::State(state) => PlatformPlace::State(*state),
        PlatformPlace::Field { instance, field, site } => {
            PlatformPlace::Field { instance: instance.clone(), field: *field, site: *site }
        }
        PlatformPlace::Stage { instance, site } => PlatformPlace::Stage { instance: instance.clone(), site: *site },
    }
}
