//! Bodies and their statements; compound ones are in [`control`](super::control), verbs in [`verbs`](super::verbs).

use super::places::{Target, set_site, set_sites};
use super::scope::Scope;
use super::sites::place_text;
use super::types::article;
use super::{Checker, flow};
use crate::event::{BodyId, SiteKind};
use crate::lang::Diagnostic;
use crate::lang::ast::{self, At, BinaryOp, Block, ItemKind, StmtKind as Ast, Value};
use crate::lang::program::{Expr, ExprKind, Place, Stmt, Type};

impl Checker {
    /// Lowers every body, in source order.
    pub(super) fn bodies(&mut self, file: &ast::File) {
        let mut next = (0..).map(BodyId);
        for item in &file.items {
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
            self.body(next.next().expect("endless"), &params, block, init);
        }
    }

    fn body(&mut self, id: BodyId, params: &[&ast::Name], block: &Block, init: bool) {
        let result = self.signatures[id].result.clone();
        self.scope = Scope { body: Some(id), result: result.clone(), init, ..Scope::default() };
        let before = self.problems.count();
        let stmts = self.in_block(|c| {
            c.declare_params(id, params);
            c.block(block)
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

    /// Lowers a statement. What has an error is left out.
    pub(super) fn stmt(&mut self, stmt: &ast::Stmt, out: &mut Vec<Stmt>) {
        let label = stmt.label.as_ref().and_then(|label| self.open_label(label));
        let scope = &mut self.scope;
        let outer = (
            std::mem::replace(&mut scope.label, label),
            std::mem::replace(&mut scope.stmt_at, stmt.at),
            scope.check.take(),
        );
        let _reported = self.simple(&stmt.kind, stmt.at, out);
        (self.scope.label, self.scope.stmt_at, self.scope.check) = outer;
        if let Some(label) = label {
            self.close_label(label);
        }
    }

    fn simple(&mut self, stmt: &Ast, at: At, out: &mut Vec<Stmt>) -> Option<()> {
        match stmt {
            Ast::Let(field) => self.let_(field, out)?,
            Ast::Assign { place, op, value } => self.assign(place, *op, value, out)?,
            Ast::Expr(e) => out.push(Stmt::Expr(self.expr(e)?)),
            Ast::Break | Ast::Continue => {
                let word = if *stmt == Ast::Break { "break" } else { "continue" };
                if self.scope.loops == 0 {
                    self.error(at, format!("`{word}` outside a loop"), "no loop around it");
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
            | Ast::Transaction { .. } => self.compound(stmt, out)?,
            _ => {
                let (op, kind, text) = self.verb(stmt, at)?;
                let site = self.site(kind, text, at);
                out.push(Stmt::Do { op, site });
            }
        }
        Some(())
    }

    fn message(&mut self, message: Option<&ast::Text>) -> Option<crate::lang::program::TextId> {
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
                self.error(at, "`return` without a value", format!("this task gives {}", article(&ty)));
                None
            }
            (Some(e), Some(Type::Void)) => {
                let message = "`return` with a value in a body without result";
                self.error_help(
                    e.at,
                    message,
                    "nobody gets it",
                    "a task with a result is declared as `task name(): int { }`",
                );
                None
            }
            (Some(e), Some(ty)) => Some(Some(self.expr_of(e, &ty, "the result")?)),
        }
    }

    fn let_(&mut self, field: &ast::Field, out: &mut Vec<Stmt>) -> Option<()> {
        let lowered = self.let_value(field);
        let Some((ty, value)) = lowered else {
            // Its name stays known, so that its uses are no errors of their own.
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
                let help = format!("for example `let {} = 0` or `let {}: int`", name.text, name.text);
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
            let message = format!("a local array of more than {} elements", super::MAX_LOCAL_CELLS);
            self.error_help(at, message, "too large", "make it a top-level `var`");
            return None;
        }
        Some(())
    }

    fn assign(&mut self, place: &ast::Expr, op: Option<BinaryOp>, value: &Value, out: &mut Vec<Stmt>) -> Option<()> {
        let target = self.target(place);
        let value = match value {
            Value::Expr(e) => e,
            Value::List(_, at) => {
                let help = format!("`{}.clear()`, then `push`", place_text(place));
                self.error_help(*at, "a literal cannot be assigned", "lists and arrays are not copied", help);
                return None;
            }
        };
        let Some(target) = target else {
            self.value(value)?;
            return None;
        };
        match (target, op) {
            (Target::Local { id, fixed }, op) => {
                if fixed {
                    self.error_help(
                        place.at,
                        "the variable of a `for` cannot be assigned",
                        "it counts the loop",
                        "copy it: `let n = ...`",
                    );
                    return None;
                }
                let ty = self.local_type(id);
                let old = Expr { kind: ExprKind::Local(id), ty: ty.clone() };
                let value = self.new_value(op, &ty, old, value, place.at)?;
                out.push(Stmt::SetLocal(id, value));
            }
            (
                Target::LocalElement { ty: Type::Array(..), .. } | Target::Shared(Place { ty: Type::Array(..), .. }),
                _,
            ) => {
                self.error_help(place.at, "an array cannot be assigned", "a whole array", "assign its elements");
                return None;
            }
            (Target::Shared(Place { ty: Type::List(_), .. }), _) => {
                let help = format!("`{}.clear()`, then `push` in a loop", place_text(place));
                self.error_help(place.at, "a list cannot be assigned", "a whole list", help);
                return None;
            }
            (Target::LocalElement { local, mut index, ty }, op) => {
                let site = self.check_site();
                set_sites(&mut index, site);
                if op.is_some() {
                    self.keep_indices(&mut index, out);
                }
                let old = ExprKind::LocalElement { local, index: index.clone() };
                let value = self.new_value(op, &ty, Expr { kind: old, ty: ty.clone() }, value, place.at)?;
                out.push(Stmt::SetLocalElement { local, index, value });
            }
            (Target::Shared(target), None) => {
                let value = self.expr_of(value, &target.ty, "the value")?;
                out.push(self.write(target, value, place));
            }
            (Target::Shared(target), Some(op)) => {
                if target.atomic {
                    return self.atomic_update(place, op, &target.ty, value);
                }
                let (mut target, text) = (target, place_text(place));
                let read = self.site(SiteKind::Read, text.clone(), place.at);
                set_site(&mut target, read);
                let value = self.operand(op, &target.ty, value, place.at)?;
                let write = self.site(SiteKind::Write, text, place.at);
                out.push(Stmt::Update { place: target, op, value, read, write });
            }
            (Target::ListElement { mut list, index, ty }, op) => {
                let text = place_text(place);
                let read = op.map(|_| self.site(SiteKind::Read, text.clone(), place.at));
                let value = match op {
                    None => self.expr_of(value, &ty, "the element")?,
                    Some(op) => self.operand(op, &ty, value, place.at)?,
                };
                let write = self.site(SiteKind::Write, text, place.at);
                set_site(&mut list, read.unwrap_or(write));
                out.push(match (op, read) {
                    (Some(op), Some(read)) => Stmt::ListUpdate { list, index, op, value, read, write },
                    _ => Stmt::ListSet { list, index, value, site: write },
                });
            }
            (Target::Family { .. } | Target::Value(_), _) => {
                self.value(value)?;
                self.cannot_assign(place);
                return None;
            }
        }
        Some(())
    }

    fn write(&mut self, mut target: Place, value: Expr, place: &ast::Expr) -> Stmt {
        let kind = if target.atomic { SiteKind::AtomicWrite } else { SiteKind::Write };
        let site = self.site(kind, place_text(place), place.at);
        set_site(&mut target, site);
        Stmt::Write { place: target, value, site }
    }

    /// `old op value`, or the value alone.
    fn new_value(&mut self, op: Option<BinaryOp>, ty: &Type, old: Expr, value: &ast::Expr, at: At) -> Option<Expr> {
        let Some(op) = op else { return self.expr_of(value, ty, "the value") };
        let value = self.operand(op, ty, value, at)?;
        self.arithmetic(op, old, value, at)
    }

    fn operand(&mut self, op: BinaryOp, ty: &Type, value: &ast::Expr, at: At) -> Option<Expr> {
        if *ty != Type::Int {
            self.no_operator(op, ty, at);
            return None;
        }
        self.expr_of(value, &Type::Int, "the value")
    }

    fn atomic_update(&mut self, place: &ast::Expr, op: BinaryOp, ty: &Type, value: &ast::Expr) -> Option<()> {
        if *ty != Type::Int {
            self.no_operator(op, ty, place.at);
            return None;
        }
        self.expr_of(value, &Type::Int, "the value")?;
        let text = self.lines.slice(place.at.0);
        let amount = self.lines.slice(value.at.0);
        let less =
            if amount.chars().all(char::is_alphanumeric) { format!("-{amount}") } else { format!("-({amount})") };
        let help = match op {
            BinaryOp::Add => {
                format!("`fetch_add({text}, {amount})` is one step; `{text} = {text} + {amount}` is a read and a write")
            }
            BinaryOp::Sub => {
                format!("`fetch_add({text}, {less})` is one step; `{text} = {text} - {amount}` is a read and a write")
            }
            _ => format!("write the two steps out: `{text} = {text} {} {amount}`", super::fold::symbol(op)),
        };
        let message = format!("`{}=` on an atomic", super::fold::symbol(op));
        self.error_help(place.at, message, "is this one step or two?", help);
        None
    }

    /// Puts indices that are needed twice into locals.
    fn keep_indices(&mut self, index: &mut crate::lang::program::ElementIndex, out: &mut Vec<Stmt>) {
        for dimension in index {
            if matches!(dimension.index.kind, ExprKind::Word(_) | ExprKind::Local(_)) {
                continue;
            }
            let id = self.temporary(Type::Int);
            let kept = Expr { kind: ExprKind::Local(id), ty: Type::Int };
            out.push(Stmt::SetLocal(id, std::mem::replace(&mut dimension.index, kept)));
        }
    }

    fn cannot_assign(&mut self, place: &ast::Expr) {
        if let ast::ExprKind::Name(name) = &place.kind
            && let Some(entry) = self.names.get(name)
        {
            let (what, span) = (entry.what, entry.span);
            let mut problem =
                Diagnostic::new(place.at.0, format!("`{name}` cannot be assigned"), format!("it is {what}"))
                    .note(span, "declared here");
            if what == "a `let`" {
                problem = problem.help(format!("a top-level `let` is immutable: `var {name} = ...` is shared memory"));
            }
            self.problems.add(problem);
            return;
        }
        self.error(place.at, "this cannot be assigned", "not a variable, field or element");
    }
}
