//! Fills the tables of components: kinds, classes, platform memory, rows and verbs.
//!
//! The tree comes from [`expand`](crate::lang::expand()), so that all names in the text of a component are full names.

use super::names::NameMeaning;
use super::scope::{Mode, Scope};
use super::types::{article, constant};
use super::{Checker, Signature};
use crate::base::Id;
use crate::event::{BodyId, ComponentId, NULL};
use crate::lang::Diagnostic;
use crate::lang::ast::{self, Instances, Item, ItemKind, Member, Name, Param, Role, StmtKind, Storage, VerbMode};
use crate::lang::program::{
    ClassDef, ClassId, ComponentDef, EventDef, ExprKind, Init, KindDef, KindId, NO_SITE, PlatformExpr, PlatformStmt,
    Row, Single, StageSet, StateDef, Stmt, Type,
};
use crate::lang::program::{Expr, LocalId};
use std::collections::{BTreeMap, BTreeSet};

/// The name of the parameter that is the instance.
pub(super) const THIS: &str = "this";
/// Limit of the firings after `at most`.
const MAX_FIRINGS: u64 = 1_000_000;

/// What the check knows about components besides their tables.
#[derive(Default)]
pub(super) struct ComponentTables {
    /// The component of each class that is one.
    pub(super) of_class: BTreeMap<ClassId, ComponentId>,
    /// The component that each component is in, of those that follow another one.
    pub(super) hosts: BTreeMap<ComponentId, ComponentId>,
    /// The component with one instance that each component is of. Its parameter follows that of the host.
    pub(super) sources: BTreeMap<ComponentId, ComponentId>,
    /// The verbs with further arguments that have no effect.
    pub(super) open: BTreeSet<BodyId>,
    kinds: BTreeMap<String, KindId>,
    /// The kinds that have each verb, for messages.
    pub(super) verbs: BTreeMap<String, Vec<String>>,
}

impl Checker {
    /// Enters the class, the kind and the component of instances.
    pub(super) fn instances(&mut self, instances: &Instances) {
        let Instances { name, kind, stages, single, .. } = instances;
        let class = self.out.classes.add(ClassDef { name: name.text.clone(), fields: Vec::new() });
        self.define(name, NameMeaning::Class(class));
        let kind = match self.components.kinds.get(&kind.text) {
            Some(&known) => known,
            None => {
                let stages = stages.iter().map(|stage| stage.text.clone()).collect();
                let id = self.out.components.kinds.add(KindDef { name: kind.text.clone(), stages });
                self.components.kinds.insert(kind.text.clone(), id);
                id
            }
        };
        let single = single.as_ref().map(|until| Single {
            until: until.iter().map(|stage| self.stage_bit(kind, stage)).fold(0, |all, bit| all | bit),
        });
        let component =
            ComponentDef { name: name.text.clone(), kind, class, params: Vec::new(), fields: Vec::new(), single };
        // What an instance does is meant to be atomic, as a transaction with the component's name.
        self.out.declares_transactions = true;
        self.transactions.insert(name.text.clone());
        let id = self.out.components.all.add(component);
        self.components.of_class.insert(class, id);
    }

    /// Returns the component with this name, which the tree declares.
    pub(super) fn component_of(&self, name: &Name) -> Option<ComponentId> {
        match self.names.get(&name.text)?.named {
            NameMeaning::Class(class) => self.components.of_class.get(&class).copied(),
            _ => None,
        }
    }

    /// Returns the component whose instances have this type.
    pub(super) fn component_of_type(&self, ty: &Type) -> Option<ComponentId> {
        match ty {
            Type::Object(class) => self.components.of_class.get(class).copied(),
            _ => None,
        }
    }

    /// Returns the index of a stage in its kind. `expand` has checked that it exists.
    pub(super) fn stage_index(&self, kind: KindId, stage: &Name) -> u32 {
        let stages = &self.out.components.kinds[kind].stages;
        let at = stages.iter().position(|name| *name == stage.text).unwrap_or(0);
        u32::try_from(at).expect("stages are bounded")
    }

    pub(super) fn stage_bit(&self, kind: KindId, stage: &Name) -> StageSet {
        1 << self.stage_index(kind, stage)
    }

    /// Returns the kind with this name, which some component has.
    pub(super) fn kind_named(&self, name: &Name) -> KindId {
        self.components.kinds.get(&name.text).copied().unwrap_or(KindId(0))
    }

    /// Enters the body of a task of a component.
    pub(super) fn member_item(&mut self, member: &Member, item: &Item) {
        let Member { name, role, component, .. } = member;
        let body = self.new_body(&name.text, item.at.0);
        self.out.bodies[body].mode = member.mode;
        match role {
            Role::Task => self.define(name, NameMeaning::Task(body)),
            Role::Verb(mode) => {
                self.define(name, NameMeaning::Verb(body, *mode));
                if member.open {
                    self.components.open.insert(body);
                }
                let verb = name.text.split(' ').next().unwrap_or_default().to_owned();
                if let Some(component) = self.component_of(component) {
                    let kind = self.out.components.all[component].kind;
                    let kinds = self.components.verbs.entry(verb).or_default();
                    let kind = self.out.components.kinds[kind].name.clone();
                    if !kinds.contains(&kind) {
                        kinds.push(kind);
                    }
                }
            }
            Role::Row { .. } => {
                let event = EventDef { name: name.text.clone(), body, looper: 0, initially: 0, row: None };
                let event = self.out.events.add(event);
                self.define(name, NameMeaning::Event(event, body));
            }
        }
    }

    /// Sets the parameters and the result of a task of a component. For a row also its looper.
    pub(super) fn sign_member(&mut self, member: &Member, body: BodyId) {
        let Some(component) = self.component_of(&member.component) else { return };
        let class = self.out.components.all[component].class;
        self.note_use(&member.looper);
        let mut params = vec![(THIS.to_owned(), Type::Object(class))];
        if matches!(member.role, Role::Verb(VerbMode::Makes | VerbMode::All)) {
            params.clear();
        }
        params.extend(self.param_types(&member.params));
        let result = match (&member.role, &member.result) {
            (Role::Verb(VerbMode::Makes), _) => Some(Type::Object(class)),
            (Role::Verb(VerbMode::One), _) if asks_last(member) => Some(Type::Request),
            (_, Some(ty)) => self.result_type(ty),
            (_, None) => Some(Type::Void),
        };
        self.signatures[body] = Signature { params, result };
        if let Role::Row { from, to, by_request, .. } = &member.role {
            let looper = self.looper(&member.looper);
            let kind = self.out.components.all[component].kind;
            let row = Row {
                component,
                from: from.iter().fold(0, |all, stage| all | self.stage_bit(kind, stage)),
                to: to.as_ref().map(|stage| self.stage_index(kind, stage)),
                by_request: *by_request,
                when: None,
                at_most: None,
            };
            if let Some(event) = self.out.events.iter_mut().find(|event| event.body == body) {
                event.looper = looper.unwrap_or(0);
                event.row = Some(row);
            }
        }
    }

    /// Fills the class and the platform memory of a component.
    pub(super) fn instance_memory(&mut self, instances: &Instances) {
        let Some(id) = self.component_of(&instances.name) else { return };
        let class = self.out.components.all[id].class;
        self.fields(class, &instances.fields);
        let params = self.param_types(&instances.params);
        for (Param { name, .. }, (_, ty)) in instances.params.iter().zip(&params) {
            // A parameter whose type has an error has the type `Void`, and was reported.
            if *ty != Type::Void && ty.default_word().is_none() {
                let ty = self.name_of(ty);
                let message = format!("a parameter of a component cannot be {}", article(&ty));
                self.error(name.at, message, "an instance holds numbers, truth values and references");
            }
        }
        for (Param { name, .. }, (_, ty)) in instances.params.iter().zip(&params) {
            self.note_field(class, name, Some(ty).filter(|ty| **ty != Type::Void));
        }
        let mut fields = Vec::new();
        for field in &instances.state {
            let lowered = self.state_variable(field);
            self.note_field(class, &field.name, lowered.as_ref().map(|state| &state.ty));
            fields.extend(lowered);
        }
        if let Some(host) = instances.host.as_ref().and_then(|host| self.component_of(host)) {
            self.components.hosts.insert(id, host);
        }
        if let Some(source) = instances.source.as_ref().and_then(|source| self.component_of(source)) {
            self.components.sources.insert(id, source);
        }
        let component = &mut self.out.components.all[id];
        component.params = params;
        component.fields = fields;
    }

    /// Lowers a variable of platform memory.
    pub(super) fn state_variable(&mut self, field: &ast::Field) -> Option<StateDef> {
        let global = self.field(Storage::Var, field, 0)?;
        match (&global.ty, &global.init[..]) {
            (ty, [init @ Init::Word(_)]) if ty.is_word() => {
                Some(StateDef { name: global.name, ty: global.ty, init: init.clone() })
            }
            _ => {
                let message = format!("the state `{}` is one word", field.name.text);
                self.error(field.name.at, message, "platform memory has numbers, truth values and references");
                None
            }
        }
    }

    /// Lowers the body of a task of a component.
    pub(super) fn member_body(&mut self, member: &Member, id: BodyId) {
        // The name of the component belongs to something else, which was reported.
        let Some(component) = self.component_of(&member.component) else { return };
        let before = self.problems.count();
        self.row_conditions(member, id);
        let one_instance = self.out.components.all[component].single.is_some();
        let this = Name { text: THIS.to_owned(), at: member.name.at };
        let without_this = matches!(member.role, Role::Verb(VerbMode::Makes | VerbMode::All));
        let mut params: Vec<&Name> = if without_this { Vec::new() } else { vec![&this] };
        params.extend(member.params.iter().map(|param| &param.name));
        let home = self.names.get(&member.component.text).map(|entry| entry.span);
        let scope = Scope { of_kind: member.of_kind, home, ..Scope::default() };
        self.body_with(id, &params, &member.body, scope, |c, block| match member.role {
            Role::Verb(VerbMode::Makes) => c.making(component, block),
            Role::Verb(VerbMode::All) => c.for_all(component, block),
            Role::Verb(VerbMode::One) if one_instance => c.of_single(component, block, asks_last(member)),
            _ => c.statements(block, asks_last(member)),
        });
        if member.of_kind {
            let name = &member.component;
            self.problems.note_since(before, name.at.0, &format!("written out for `{}`", name.text));
        }
    }

    // Makes the instance, performs the statements of the verb, and returns the instance. The first parameters of the
    // body are those of the component.
    fn making(&mut self, component: ComponentId, block: &ast::Block) -> Vec<Stmt> {
        let ComponentDef { class, params, .. } = &self.out.components.all[component];
        let ty = Type::Object(*class);
        // The caller gives null for the instance that this one is of. It is determined here, as for a verb of a
        // component with one instance.
        let source = self.components.sources.get(&component).map(|&source| {
            (usize::from(self.components.hosts.contains_key(&component)), PlatformExpr::Single { component: source })
        });
        let args = params.iter().enumerate().map(|(i, (_, ty))| {
            let kind = match &source {
                Some((at, single)) if *at == i => ExprKind::Platform(single.clone()),
                _ => ExprKind::Local(LocalId::new(i)),
            };
            Expr::new(kind, ty.clone())
        });
        let make = ExprKind::Platform(PlatformExpr::Make { component, args: args.collect() });
        let make = Expr::new(make, ty.clone());
        let this = self.declare_this(&ty, block);
        let mut stmts = vec![Stmt::SetLocal(this, make)];
        stmts.extend(self.statements(block, false));
        stmts.push(Stmt::Return(Some(Expr::new(ExprKind::Local(this), ty))));
        stmts
    }

    // A verb of a component with one instance gets null where the statement names the component. It means that instance
    // then, which is determined in the verb, as its making is part of the verb's step.
    fn of_single(&mut self, component: ComponentId, block: &ast::Block, gives: bool) -> Vec<Stmt> {
        let ty = Type::Object(self.out.components.all[component].class);
        let this = LocalId(0);
        let sides = [ExprKind::Local(this), ExprKind::Word(NULL)].map(|kind| Box::new(Expr::new(kind, ty.clone())));
        let [left, right] = sides;
        let is_null = ExprKind::Binary { op: ast::BinaryOp::Eq, left, right, site: NO_SITE };
        let single = Expr::new(ExprKind::Platform(PlatformExpr::Single { component }), ty);
        let choose = Stmt::If {
            cond: Expr::new(is_null, Type::Bool),
            then: vec![Stmt::SetLocal(this, single)],
            other: Vec::new(),
        };
        std::iter::once(choose).chain(self.statements(block, gives)).collect()
    }

    fn for_all(&mut self, component: ComponentId, block: &ast::Block) -> Vec<Stmt> {
        let ty = Type::Object(self.out.components.all[component].class);
        let local = self.declare_this(&ty, block);
        self.scope.loops += 1;
        let body = self.statements(block, false);
        self.scope.loops -= 1;
        vec![Stmt::Platform(PlatformStmt::ForInstances { local, component, body })]
    }

    fn declare_this(&mut self, ty: &Type, block: &ast::Block) -> LocalId {
        self.declare_local(&Name { text: THIS.to_owned(), at: block.at }, ty.clone(), true)
    }

    // Lowers the statements of a block. If `gives`, the last one is an `ask` whose request is the result.
    fn statements(&mut self, block: &ast::Block, gives: bool) -> Vec<Stmt> {
        let mut stmts = self.block(block);
        if gives && let Some(Stmt::Expr(e)) = stmts.pop_if(|last| matches!(last, Stmt::Expr(_))) {
            stmts.push(Stmt::Return(Some(e)));
        }
        stmts
    }

    /// Lowers the statements for each instance of a component.
    pub(super) fn for_instances(
        &mut self,
        name: &Name,
        component: &Name,
        block: &ast::Block,
        out: &mut Vec<Stmt>,
    ) -> Option<()> {
        let component = self.component_of(component)?;
        let ty = Type::Object(self.out.components.all[component].class);
        let (local, body) = self.in_block(|c| {
            let local = c.declare_local(name, ty, true);
            c.scope.loops += 1;
            let body = c.block(block);
            c.scope.loops -= 1;
            (local, body)
        });
        out.push(Stmt::Platform(PlatformStmt::ForInstances { local, component, body }));
        Some(())
    }

    // Lowers the condition and the number of a row.
    fn row_conditions(&mut self, member: &Member, body: BodyId) {
        let Role::Row { when, at_most, .. } = &member.role else { return };
        let this = self.signatures[body].params[0].1.clone();
        let when = when.as_ref().and_then(|when| {
            self.scope = Scope { of_kind: member.of_kind, ..Scope::default() };
            let value = self.in_block(|c| {
                c.declare_local(&Name { text: THIS.to_owned(), at: member.name.at }, this, true);
                c.in_mode(Mode::When, |c| c.truth(when))
            });
            self.scope = Scope::default();
            value
        });
        let at_most =
            at_most.as_ref().and_then(|e| self.constant_between(e, "the number after `at most`", 0, MAX_FIRINGS));
        // A condition that is constant costs nothing where it holds.
        let when = when.filter(|when| constant(when) != Some(1));
        let event = self.out.events.iter_mut().find(|event| event.body == body);
        if let Some(row) = event.and_then(|event| event.row.as_mut()) {
            row.when = when;
            row.at_most = at_most.map(|most| u32::try_from(most).expect("it was bounded"));
        }
    }

    /// Enters the settings of libraries that bound the rows of the program.
    pub(super) fn bounds(&mut self, file: &ast::File) {
        let mut names: Vec<String> = Vec::new();
        for item in &file.items {
            let ItemKind::Member(member) = &item.kind else { continue };
            if let Role::Row { when, at_most, .. } = &member.role {
                for e in when.iter().chain(at_most) {
                    names.extend(
                        super::consts::needs(e).into_iter().filter(|name| name.contains('.')).map(str::to_owned),
                    );
                }
            }
        }
        names.sort();
        names.dedup();
        let value = |name: &String| self.out.consts.iter().find(|(known, _)| known == name).cloned();
        self.out.components.bounds = names.iter().filter_map(value).collect();
    }

    /// Reports `new` for a component.
    pub(super) fn not_made_by_new(&mut self, name: &Name) -> Option<()> {
        if self.component_of(name).is_none() {
            return Some(());
        }
        let message = format!("`new` cannot make an instance of the component `{}`", name.text);
        self.problems.add(
            Diagnostic::new(name.at.0, message, "the platform makes it")
                .help("use the verb of its kind that makes one, such as `start`"),
        );
        None
    }
}

// Whether the last statement of a verb asks for a row, so that the verb gives the request.
fn asks_last(member: &Member) -> bool {
    let last = member.body.stmts.last().map(|stmt| &stmt.kind);
    matches!(last, Some(StmtKind::Expr(ast::Expr { kind: ast::ExprKind::Op(op), .. })) if matches!(**op, ast::Op::Ask { .. }))
        && matches!(member.role, Role::Verb(VerbMode::One))
}
