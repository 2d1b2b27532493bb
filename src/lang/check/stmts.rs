//! Lowers bodies and their statements. Compound statements are in [`control`](super::control), verbs in
//! [`verbs`](super::verbs).

use super::scope::Scope;
use super::types::article;
use super::{Checker, flow};
use crate::event::BodyId;
use crate::lang::Diagnostic;
use crate::lang::ast::{self, At, Block, ItemKind, StmtKind as Ast, Value};
use crate::lang::program::{Expr, NO_SITE, Simple, Stmt, TextId, Type};

impl Checker {
    /// Lowers every body, in source order.
    pub(super) fn bodies(&mut self, file: &ast::File) {
        // Bodies are numbered in source order by `tables`, so this loop must count the same items.
        let mut next = (0..).map(BodyId);
        for item in &file.items {
            if let ItemKind::Member(member) = &item.kind {
                self.member_body(member, next.next().expect("endless"));
                continue;
            }
            let mut params: Vec<&ast::Name> = Vec::new();
            let block = match &item.kind {
                ItemKind::Thread { each, body, .. } => {
                    params.extend(each.iter().map(|(name, _)| name));
                    body
                }
                ItemKind::Task { params: all, body, .. } | ItemKind::Event { params: all, body, .. } => {
                    params.extend(all.iter().map(|p| &p.name));
                    body
                }
                ItemKind::Looper { body: Some(body), .. } | ItemKind::Init { body } => body,
                _ => continue,
            };
            let init = matches!(item.kind, ItemKind::Init { .. });
            // An item of a library has the place of the `use` that brings it in.
            let scope = Scope { init, home: Some(item.at.0), ..Scope::default() };
            self.body_with(next.next().expect("endless"), &params, block, scope, Self::block);
        }
    }

    /// Lowers a body. `lower` lowers its block, and may add statements.
    pub(super) fn body_with(
        &mut self,
        id: BodyId,
        params: &[&ast::Name],
        block: &Block,
        scope: Scope,
        lower: impl FnOnce(&mut Self, &Block) -> Vec<Stmt>,
    ) {
        let result = self.signatures[id].result.clone();
        self.scope = Scope { body: Some(id), result: result.clone(), ..scope };
        let before = self.problems.count();
        let stmts = self.in_block(|c| {
            c.declare_params(id, params);
            lower(c, block)
        });
        let returns = result.as_ref().is_some_and(|ty| *ty != Type::Void);
        if returns && self.problems.count() == before && flow::falls_through(&stmts) {
            let ty = self.name_of(&result.clone().unwrap_or(Type::Void));
            let end = ast::Span { start: block.at.0.end.saturating_sub(1).max(block.at.0.start), end: block.at.0.end };
            let name = self.out.bodies[id].name.clone();
            let message = format!("`{name}` may end without a result");
            let problem = Diagnostic::new(end, message, format!("it must return {}", article(&ty)));
            self.problems.add(problem.help("end it with `return ...`"));
        }
        let body = &mut self.out.bodies[id];
        body.params = u32::try_from(params.len()).expect("a source is bounded");
        body.locals = std::mem::take(&mut self.scope.locals);
        body.result = result.unwrap_or(Type::Void);
        body.block = stmts;
        self.scope = Scope::default();
    }

    /// Lowers a block, in a scope of its own.
    pub(super) fn block(&mut self, block: &Block) -> Vec<Stmt> {
        self.in_block(|c| {
            let mut stmts = Vec::new();
            for stmt in &block.stmts {
                c.stmt(stmt, &mut stmts);
            }
            stmts
        })
    }

    /// Lowers a statement. A statement with an error is left out.
    pub(super) fn stmt(&mut self, stmt: &ast::Stmt, out: &mut Vec<Stmt>) {
        if self.enough() {
            return;
        }
        self.record.statements.push(stmt.at.0);
        let label = stmt.label.as_ref().and_then(|label| self.open_label(label));
        let scope = &mut self.scope;
        let outer = (
            std::mem::replace(&mut scope.label, label),
            std::mem::replace(&mut scope.stmt_at, stmt.at),
            scope.check.take(),
        );
        let _reported = self.simple(&stmt.kind, stmt.at, out);
        (self.scope.label, self.scope.stmt_at, self.scope.check) = outer;
    }

    fn simple(&mut self, stmt: &Ast, at: At, out: &mut Vec<Stmt>) -> Option<()> {
        match stmt {
            Ast::Let(field) => self.let_(field, out)?,
            Ast::Assign { place, op, value } => self.assign(place, *op, value, out)?,
            Ast::Expr(e) => out.push(Stmt::Expr(self.expr(e)?)),
            Ast::CancelOne(place) => out.push(self.cancel_one(place, at)?),
            Ast::Withdraw { request } => self.withdraw(request, out)?,
            Ast::ForInstances { name, component, body } => self.for_instances(name, component, body, out)?,
            Ast::Break | Ast::Continue => {
                let word = if *stmt == Ast::Break { "break" } else { "continue" };
                if self.scope.loops == 0 {
                    self.error(at, format!("`{word}` cannot be used outside a loop"), "there is no loop around it");
                    return None;
                }
                out.push(if *stmt == Ast::Break { Stmt::Break } else { Stmt::Continue });
            }
            Ast::Return(e) => {
                let value = self.return_value(e.as_ref(), at)?;
                out.push(Stmt::Return(value));
            }
            Ast::Assert { cond, message } => {
                let cond = self.expr_of(cond, &Type::Bool, "the condition of an `assert`");
                let message = self.message(message.as_ref());
                let site = self.check_site();
                out.push(Stmt::Assert { cond: cond?, message, site });
            }
            Ast::Fail { message } => {
                let message = self.message(Some(message))?;
                let site = self.check_site();
                out.push(Stmt::Fail { message, site });
            }
            Ast::Throw { name, message } => {
                self.thrown.insert(name.text.clone());
                self.record.exception(name, true);
                let message = self.message(message.as_ref());
                let exception = self.exception(&name.text);
                let site = self.check_site();
                out.push(Stmt::Throw { exception, message, site });
            }
            Ast::If { .. }
            | Ast::While { .. }
            | Ast::Loop { .. }
            | Ast::For { .. }
            | Ast::Try { .. }
            | Ast::Sync { .. }
            | Ast::Side { .. }
            | Ast::Select { .. }
            | Ast::JobBlock { .. }
            | Ast::Transaction { .. }
            | Ast::Unit { .. } => self.compound(stmt, out)?,
            _ => {
                let (op, kind, text) = self.verb(stmt, at)?;
                let site = self.site(kind, text, at);
                if let (Simple::Perform { listener, .. }, false) = (&op, site == NO_SITE) {
                    self.performed.push((site, *listener));
                }
                out.push(Stmt::Do { op, site });
            }
        }
        Some(())
    }

    fn message(&mut self, message: Option<&ast::TextLiteral>) -> Option<TextId> {
        let message = message?;
        self.messages.insert(message.text.clone());
        Some(self.text(&message.text))
    }

    fn return_value(&mut self, e: Option<&ast::Expr>, at: At) -> Option<Option<Expr>> {
        match (e, self.scope.result.clone()) {
            (Some(e), None) => {
                self.value(e)?;
                None
            }
            (None, None) => None,
            (None, Some(Type::Void)) => Some(None),
            (None, Some(ty)) => {
                let ty = self.name_of(&ty);
                self.error(at, "`return` needs a value", format!("this task returns {}", article(&ty)));
                None
            }
            (Some(e), Some(Type::Void)) => {
                let message = "`return` has a value in a body without a result";
                self.error_help(
                    e.at,
                    message,
                    "no caller receives the value",
                    "declare a task with a result as `task name(): int { }`",
                );
                None
            }
            (Some(e), Some(ty)) => Some(Some(self.expr_of(e, &ty, "the result")?)),
        }
    }

    fn let_(&mut self, field: &ast::Field, out: &mut Vec<Stmt>) -> Option<()> {
        let lowered = self.let_value(field);
        let Some((ty, value)) = lowered else {
            // The name stays known, so that its uses cause no further errors.
            self.declare_local(&field.name, Type::Int, false);
            self.break_local(&field.name);
            return None;
        };
        let id = self.declare_local(&field.name, ty, false);
        out.push(match value {
            Some(value) => Stmt::SetLocal(id, value),
            None => Stmt::ClearLocal(id),
        });
        Some(())
    }

    fn let_value(&mut self, field: &ast::Field) -> Option<(Type, Option<Expr>)> {
        let name = &field.name;
        let annotated = match &field.ty {
            Some(ty) => Some(self.ty(ty)?),
            None => None,
        };
        if let (Some(ty), Some(written)) = (&annotated, &field.ty) {
            self.local_type_allowed(ty, written.at)?;
        }
        match (annotated, &field.value) {
            (_, Some(Value::List(_, at))) => {
                let help = "make it a top-level `var`, a field, or a local array `let t: int[3]` that is filled after";
                self.error_help(*at, "a literal cannot be local", "lists live in shared memory", help);
                None
            }
            (Some(Type::Array(..)), Some(Value::Expr(e))) => {
                self.error_help(
                    e.at,
                    "a local array has no initial value",
                    "it starts with 0, false or null",
                    "assign its elements after",
                );
                None
            }
            (Some(ty), None) => {
                let mut of = &ty;
                while let Type::Array(inner, _) = of {
                    of = inner;
                }
                if of.default_word().is_none() {
                    let of = of.clone();
                    self.needs_value(name, &of);
                    return None;
                }
                Some((ty, None))
            }
            (None, None) => {
                let help = format!("give it one, as in `let {} = 0` or `let {}: int`", name.text, name.text);
                self.error_help(name.at, format!("`{}` needs a type or a value", name.text), "neither is given", help);
                None
            }
            (ty, Some(Value::Expr(e))) => {
                let value = self.value(e)?;
                let ty = self.settle(name, ty, &value, e.at)?;
                let value = self.fit(value, &ty, e.at, "the value")?;
                Some((ty, Some(value)))
            }
        }
    }

    fn local_type_allowed(&mut self, ty: &Type, at: At) -> Option<()> {
        let mut of = ty;
        while let Type::Array(inner, _) = of {
            of = inner;
        }
        if let Type::List(_) = of {
            let help = "make it a top-level `var`, or a field of a class and `let o = new C`";
            self.error_help(at, "a list cannot be local", "lists live in shared memory", help);
            return None;
        }
        if ty.cells() > super::MAX_LOCAL_CELLS {
            let message = format!("a local array has at most {} elements", super::MAX_LOCAL_CELLS);
            self.error_help(at, message, "this one is too large", "make it a top-level `var`");
            return None;
        }
        Some(())
    }
}
