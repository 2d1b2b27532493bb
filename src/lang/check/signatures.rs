//! Lowers the parts of items that need names of other items: parameters and results of bodies, loopers of handlers and
//! events, parameters of listeners.

use super::items::{MAX_COUNT, index};
use super::names::NameMeaning;
use super::{Checker, Signature};
use crate::event::BodyId;
use crate::lang::ast::{self, At, ItemKind, Name};
use crate::lang::program::Type;

impl Checker {
    /// Fills the second half of the tables, once all classes and loopers are known.
    pub(super) fn signatures(&mut self, file: &ast::File) {
        // Bodies are numbered in source order by `tables`. This loop and `bodies` must count the same items.
        let mut body = 0..;
        for item in &file.items {
            if self.enough() {
                return;
            }
            match &item.kind {
                ItemKind::Task { params, result, .. } => {
                    let result = match result {
                        Some(ty) => self.result_type(ty),
                        None => Some(Type::Void),
                    };
                    self.sign(BodyId(body.next().expect("endless")), params, result);
                }
                ItemKind::Event { name, params, looper, initially, .. } => {
                    let body = BodyId(body.next().expect("endless"));
                    self.sign(body, params, Some(Type::Void));
                    self.event(name, params, looper, initially.as_ref(), body);
                }
                ItemKind::Thread { each, .. } => {
                    let body = BodyId(body.next().expect("endless"));
                    let params = each.iter().map(|(name, _)| (name.text.clone(), Type::Int)).collect();
                    self.signatures[body] = Signature { params, result: Some(Type::Void) };
                }
                ItemKind::Looper { body: Some(_), .. } | ItemKind::Init { .. } => {
                    let body = BodyId(body.next().expect("endless"));
                    self.signatures[body].result = Some(Type::Void);
                }
                ItemKind::Handler { name, looper } => {
                    if let Some(looper) = self.looper(looper) {
                        self.define(name, NameMeaning::Word(Type::Handler, index(self.out.handlers.len())));
                        self.out.handlers.push((name.text.clone(), looper));
                    } else {
                        self.define(name, NameMeaning::Broken);
                    }
                }
                ItemKind::Listener { name, params } => {
                    let types = self.param_types(params);
                    if let NameMeaning::Listener(id) = self.names[&name.text].named {
                        self.listeners[id] = types.into_iter().map(|(_, ty)| ty).collect();
                    }
                }
                _ => {}
            }
        }
    }

    fn event(
        &mut self,
        name: &Name,
        params: &[ast::Param],
        looper: &Name,
        initially: Option<&ast::Expr>,
        body: BodyId,
    ) {
        let looper = self.looper(looper);
        let count =
            initially.and_then(|e| self.constant_between(e, "the number of enables", 0, MAX_COUNT)).unwrap_or(0);
        if let Some(e) = initially
            && count > 0
            && !params.is_empty()
        {
            let message = format!("`{}` has parameters, so it cannot start enabled", name.text);
            self.error_help(
                e.at,
                message,
                "its arguments are not known at the start",
                format!("write `enable {}(...)` where they are known", name.text),
            );
        }
        if let Some(event) = self.out.events.iter_mut().find(|e| e.body == body) {
            event.looper = looper.unwrap_or(0);
            event.initially = u32::try_from(count).expect("it was bounded");
        }
    }

    fn result_type(&mut self, ty: &ast::Type) -> Option<Type> {
        let result = self.ty(ty)?;
        if result.is_word() {
            return Some(result);
        }
        self.not_passed(ty.at, &result);
        None
    }

    fn not_passed(&mut self, at: At, ty: &Type) {
        let message = match ty {
            Type::List(_) => "lists cannot be passed",
            _ => "arrays cannot be passed",
        };
        let help = "keep it in a variable or in a field of an object, and pass the object";
        self.error_help(at, message, "only single words are copied", help);
    }

    fn param_types(&mut self, params: &[ast::Param]) -> Vec<(String, Type)> {
        let mut types: Vec<(String, Type)> = Vec::new();
        for param in params {
            let mut ty = match &param.ty {
                None => Some(Type::Int),
                Some(ty) => self.ty(ty),
            };
            if let (Some(written), Some(of)) = (&param.ty, &ty)
                && !of.is_word()
            {
                let of = of.clone();
                self.not_passed(written.at, &of);
                ty = None;
            }
            // A parameter whose type has an error gets the type `Void`, which no valid parameter has, so that no
            // further errors are reported about it.
            types.push((param.name.text.clone(), ty.unwrap_or(Type::Void)));
        }
        types
    }

    fn sign(&mut self, body: BodyId, params: &[ast::Param], result: Option<Type>) {
        let params = self.param_types(params);
        self.signatures[body] = Signature { params, result };
    }

    /// Declares the parameters of a body. Reports parameters that are declared twice or hide a name.
    pub(super) fn declare_params(&mut self, body: BodyId, names: &[&Name]) {
        let types = self.signatures[body].params.clone();
        for (name, (_, ty)) in names.iter().zip(types) {
            let broken = ty == Type::Void;
            let id = self.declare_local(name, if broken { Type::Int } else { ty }, false);
            if broken {
                self.break_local(name);
                debug_assert_eq!(self.local_type(id), Type::Int);
            }
        }
    }
}
