//! Lowers calls: of tasks, of operations on atomics, of operations on lists.

use super::Checker;
use super::components::THIS;
use super::items::wrong_number;
use super::names::NameMeaning;
use super::places::{PlaceMeaning, set_site};
use super::scope::LocalMeaning;
use super::sites::place_text;
use super::types::article;
use crate::event::{BodyId, SiteId, SiteKind};
use crate::lang::ast::{self, At};
use crate::lang::program::{Expr, ExprKind, MemoryPlace, Type};

impl Checker {
    /// Lowers a call: `name(args)`
    pub(super) fn call(&mut self, name: &ast::Name, args: &[ast::Expr], at: At) -> Option<Expr> {
        match name.text.as_str() {
            "cas" | "fetch_add" | "exchange" => return self.atomic_call(name, args, at),
            _ => {}
        }
        let unknown = !self.names.contains_key(&name.text) && self.local(&name.text).is_none();
        if unknown && let Some(near) = super::did_you_mean(&name.text, super::names::BUILT_IN_CALLS) {
            self.error_help(name.at, format!("unknown task `{}`", name.text), "no task has this name", near);
            return None;
        }
        self.call_with(name, None, args, at)
    }

    // Lowers a call of a task. `object` is its first argument, if it is given.
    fn call_with(&mut self, name: &ast::Name, object: Option<Expr>, args: &[ast::Expr], at: At) -> Option<Expr> {
        let body = self.task(name)?;
        self.async_call(name, body)?;
        let args = self.args_with(body, object, name, args, at)?;
        let ty = self.signatures[body].result.clone()?;
        let site = self.call_of(body);
        Some(Expr::new(ExprKind::Call { body, args, site }, ty))
    }

    /// Records that the statement calls a body. Returns the site at which the call fails.
    pub(super) fn call_of(&mut self, body: BodyId) -> SiteId {
        let site = self.check_site();
        if let Some(caller) = self.scope.body.filter(|_| !self.scope.dead) {
            self.calls.insert((caller, body));
            self.note_call(site, body);
        }
        site
    }

    /// Lowers the arguments for the parameters of a body.
    pub(super) fn args(&mut self, body: BodyId, name: &ast::Name, args: &[ast::Expr], at: At) -> Option<Vec<Expr>> {
        self.args_with(body, None, name, args, at)
    }

    /// Lowers the arguments for the parameters of a body, of which the first one is `object`, if it is given.
    pub(super) fn args_with(
        &mut self,
        body: BodyId,
        object: Option<Expr>,
        name: &ast::Name,
        args: &[ast::Expr],
        at: At,
    ) -> Option<Vec<Expr>> {
        let params = self.signatures[body].params.clone();
        // A call in the text of a component has the instance as its first argument.
        let (object, args) = match (object, params.first(), args) {
            (None, Some((first, _)), [this, args @ ..]) if first == THIS => (Some(self.value(this)?), args),
            (object, _, args) => (object, args),
        };
        let own = params.get(usize::from(object.is_some())..).unwrap_or_default();
        let values = self.args_for(own, name, args, at)?;
        Some(object.into_iter().chain(values).collect())
    }

    /// Lowers the arguments for parameters. Reports the errors of all arguments.
    pub(super) fn args_for(
        &mut self,
        params: &[(String, Type)],
        name: &ast::Name,
        args: &[ast::Expr],
        at: At,
    ) -> Option<Vec<Expr>> {
        let mut values = Vec::new();
        let mut failed = false;
        for (i, arg) in args.iter().enumerate() {
            let value = self.value(arg);
            let value = match (value, params.get(i)) {
                (Some(value), Some((param, ty))) if *ty != Type::Void => {
                    self.fit(value, ty, arg.at, &format!("the argument `{param}`"))
                }
                _ => None,
            };
            failed |= value.is_none();
            values.extend(value);
        }
        if args.len() != params.len() {
            let wanted = super::count(params.len(), "argument");
            let message = format!("`{}` takes {wanted}, not {}", name.text, args.len());
            let list = params.iter().map(|(n, t)| format!("{n}: {}", self.name_of(t))).collect::<Vec<_>>().join(", ");
            let declared = self.names.get(&name.text).map(|e| e.span);
            self.problems.add(wrong_number(at, message, format!("its parameters are ({list})"), declared));
            return None;
        }
        (!failed).then_some(values)
    }

    /// Lowers an operation on an atomic: `cas(p, old, new)`, `fetch_add(p, d)`, `exchange(p, v)`
    fn atomic_call(&mut self, name: &ast::Name, args: &[ast::Expr], at: At) -> Option<Expr> {
        let (wanted, form) = match name.text.as_str() {
            "cas" => (3, "cas(place, old, new)"),
            "fetch_add" => (2, "fetch_add(place, amount)"),
            _ => (2, "exchange(place, value)"),
        };
        if args.len() != wanted {
            let message = format!("`{}` takes {}, not {}", name.text, super::count(wanted, "argument"), args.len());
            self.error(at, message, format!("the call has the form `{form}`"));
            return None;
        }
        let text = place_text(&args[0]);
        let mut place = self.atomic_place(&args[0], &name.text)?;
        if name.text == "fetch_add" && place.ty != Type::Int {
            let ty = self.name_of(&place.ty);
            self.error(args[0].at, "`fetch_add` needs an int", format!("this is {}", article(&ty)));
            return None;
        }
        let mut values = Vec::new();
        for arg in &args[1..] {
            let ty = place.ty.clone();
            values.push(self.expr_of(arg, &ty, "the value"));
        }
        let mut values = values.into_iter().collect::<Option<Vec<Expr>>>()?.into_iter().map(Box::new);
        let mut next = || values.next().expect("the number was checked");
        let site = self.site(SiteKind::AtomicUpdate, text, at);
        self.note_atomic(&place, site);
        set_site(&mut place, site);
        let held = place.ty.clone();
        Some(match name.text.as_str() {
            "cas" => Expr::new(ExprKind::Cas { place, old: next(), new: next(), site }, Type::Bool),
            "fetch_add" => Expr::new(ExprKind::FetchAdd { place, delta: next(), site }, held),
            _ => Expr::new(ExprKind::Exchange { place, value: next(), site }, held),
        })
    }

    /// Reports an unknown operation `o.f()`, with advice that depends on the type of `o`.
    fn no_method(&mut self, object: &ast::Expr, name: &ast::Name, of_lists: [&str; 4]) -> Option<Expr> {
        let ty = self.type_of_name(object);
        let help = match (&ty, name.text.as_str()) {
            (None | Some(Type::List(_) | Type::Array(..)), "len") => "write it without parentheses: `.len`".to_owned(),
            (None | Some(Type::List(_)), text) => super::did_you_mean(text, of_lists.into_iter().chain(["len"]))
                .unwrap_or("call a task by its name alone, with the object as an argument".into()),
            _ => "call a task by its name alone, with the object as an argument".to_owned(),
        };
        let reason = match ty {
            _ if name.text == "len" && help.contains(".len") => "it is not a call".to_owned(),
            Some(Type::List(_)) => "lists have `push`, `pop`, `remove`, `clear`, `len`".to_owned(),
            Some(Type::Array(..)) => "an array has `len`, and no operations".to_owned(),
            Some(ty) => format!("this is {}, and only lists have operations after a dot", article(&self.name_of(&ty))),
            None => "only lists have operations after a dot: `push`, `pop`, `remove`, `clear`, `len`".to_owned(),
        };
        self.error_help(name.at, format!("unknown operation `{}`", name.text), reason, help);
        None
    }

    // Returns the type of an expression that is only a name. A longer expression is not lowered, because that could
    // report errors.
    fn type_of_name(&self, e: &ast::Expr) -> Option<Type> {
        let ast::ExprKind::Name(name) = &e.kind else { return None };
        match self.local(name) {
            Some(LocalMeaning::Value(_)) => return Some(Type::Int),
            Some(&LocalMeaning::Local { id, .. }) => return Some(self.local_type(id)),
            Some(LocalMeaning::Broken) => return None,
            None => {}
        }
        match &self.names.get(name)?.named {
            NameMeaning::Const(ty, _) | NameMeaning::Word(ty, _) => Some(ty.clone()),
            NameMeaning::Global(id) => Some(self.out.globals[*id].ty.clone()),
            _ => None,
        }
    }

    // Returns the type of a path of names: `this`, `p`, `p.next`. Nothing is lowered.
    fn type_of_object(&self, e: &ast::Expr) -> Option<Type> {
        match &e.kind {
            ast::ExprKind::This => match self.local(THIS)? {
                LocalMeaning::Local { id, .. } => Some(self.local_type(*id)),
                _ => None,
            },
            ast::ExprKind::Field { object, name } => {
                let Type::Object(class) = self.type_of_object(object)? else { return None };
                let field = self.out.classes[class].fields.iter().find(|field| field.name == name.text);
                let component = self.components.of_class.get(&class);
                let params = component.map_or(&[][..], |id| &self.out.components.all[*id].params);
                let param = params.iter().find(|(param, _)| *param == name.text).map(|(_, ty)| ty);
                field.map(|field| &field.ty).or(param).cloned()
            }
            _ => self.type_of_name(e),
        }
    }

    fn atomic_place(&mut self, e: &ast::Expr, what: &str) -> Option<MemoryPlace> {
        let target = self.target(e)?;
        let help = match target {
            PlaceMeaning::Shared(place) if place.atomic && place.ty.is_word() => return Some(place),
            PlaceMeaning::Shared(place) if place.atomic => "choose an element".to_owned(),
            PlaceMeaning::Shared(_) => format!("declare `{}` with `atomic` instead of `var`", place_text(e)),
            _ => "give an `atomic` variable, field or element as the first argument".to_owned(),
        };
        self.error_help(e.at, format!("`{what}` needs an atomic place"), "this is not atomic", help);
        None
    }

    /// Lowers `list.push(e)` and the like.
    pub(super) fn method(
        &mut self,
        object: &ast::Expr,
        name: &ast::Name,
        args: &[ast::Expr],
        whole: &ast::Expr,
    ) -> Option<Expr> {
        if self.is_group(object) {
            return self.group_method(object, name, args, whole);
        }
        const METHODS: [&str; 4] = ["push", "pop", "remove", "clear"];
        if !METHODS.contains(&name.text.as_str()) {
            if self.type_of_object(object).is_some_and(|ty| self.component_of_type(&ty).is_some()) {
                let value = self.value(object)?;
                let full = self.task_of_instance(&value, name).ok()??;
                return self.call_with(&full, Some(value), args, whole.at);
            }
            return self.no_method(object, name, METHODS);
        }
        let (mut list, of) = self.list(object, &format!("`{}` needs", name.text))?;
        let wanted = usize::from(matches!(name.text.as_str(), "push" | "remove"));
        if args.len() != wanted {
            let message = format!("`{}` takes {}, not {}", name.text, super::count(wanted, "argument"), args.len());
            self.error(whole.at, message, format!("the list holds values of type `{}`", self.name_of(&of)));
            return None;
        }
        let arg = match (name.text.as_str(), args) {
            ("push", [e]) => Some(self.expr_of(e, &of, "the element")?),
            ("remove", [e]) => Some(self.expr_of(e, &Type::Int, "an index")?),
            _ => None,
        };
        let site = self.site(SiteKind::Write, place_text(object), whole.at);
        set_site(&mut list, site);
        let (kind, ty) = match (name.text.as_str(), arg.map(Box::new)) {
            ("push", Some(value)) => (ExprKind::ListPush { list, value, site }, Type::Void),
            (_, Some(index)) => (ExprKind::ListRemove { list, index, site }, of),
            ("pop", None) => (ExprKind::ListPop { list, site }, of),
            (_, None) => (ExprKind::ListClear { list, site }, Type::Void),
        };
        Some(Expr::new(kind, ty))
    }
}
