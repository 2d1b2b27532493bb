//! Lowers assignments to locals, shared memory, and elements of lists and arrays. `x op= e` is a read and a write.

use super::Checker;
use super::places::{PlaceMeaning, set_site, set_sites};
use super::sites::place_text;
use crate::event::SiteKind;
use crate::lang::Diagnostic;
use crate::lang::ast::{self, At, BinaryOp, Value};
use crate::lang::program::{ElementIndex, Expr, ExprKind, MemoryPlace, Stmt, Type};

impl Checker {
    /// Lowers `place = value`, `place op= value`.
    pub(super) fn assign(
        &mut self,
        place: &ast::Expr,
        op: Option<BinaryOp>,
        value: &Value,
        out: &mut Vec<Stmt>,
    ) -> Option<()> {
        let target = self.target(place);
        let value = match value {
            Value::Expr(e) => e,
            Value::List(_, at) => {
                let help = format!("write `{}.clear()`, then `push`", place_text(place));
                self.error_help(*at, "a literal cannot be assigned", "lists and arrays are not copied", help);
                return None;
            }
        };
        let Some(target) = target else {
            self.value(value)?;
            return None;
        };
        match (target, op) {
            (PlaceMeaning::Local { id, fixed }, op) => {
                if fixed {
                    self.error_help(
                        place.at,
                        "the variable of a `for` cannot be assigned",
                        "this variable counts the loop",
                        "copy it: `let n = ...`",
                    );
                    return None;
                }
                let ty = self.local_type(id);
                let old = Expr::new(ExprKind::Local(id), ty.clone());
                let value = self.new_value(op, &ty, old, value, place.at)?;
                out.push(Stmt::SetLocal(id, value));
            }
            (
                PlaceMeaning::LocalElement { ty: Type::Array(..), .. }
                | PlaceMeaning::Shared(MemoryPlace { ty: Type::Array(..), .. }),
                _,
            ) => {
                self.error_help(
                    place.at,
                    "an array cannot be assigned",
                    "this is a whole array",
                    "assign its elements",
                );
                return None;
            }
            (PlaceMeaning::Shared(MemoryPlace { ty: Type::List(_), .. }), _) => {
                let help = format!("write `{}.clear()`, then `push` in a loop", place_text(place));
                self.error_help(place.at, "a list cannot be assigned", "this is a whole list", help);
                return None;
            }
            (PlaceMeaning::LocalElement { local, mut index, ty }, op) => {
                let site = self.check_site();
                set_sites(&mut index, site);
                if op.is_some() {
                    self.keep_indices(&mut index, out);
                }
                let old = ExprKind::LocalElement { local, index: index.clone() };
                let value = self.new_value(op, &ty, Expr::new(old, ty.clone()), value, place.at)?;
                out.push(Stmt::SetLocalElement { local, index, value });
            }
            (PlaceMeaning::Shared(target), None) => {
                let value = self.expr_of(value, &target.ty, "the value")?;
                out.push(self.write(target, value, place));
            }
            (PlaceMeaning::Shared(target), Some(op)) => {
                if target.atomic {
                    return self.atomic_update(place, op, &target.ty, value);
                }
                // The sites are created in the order of evaluation: the read, the sites of the value, the write.
                let (mut target, text) = (target, place_text(place));
                let read = self.site(SiteKind::Read, text.clone(), place.at);
                set_site(&mut target, read);
                let value = self.operand(op, &target.ty, value, place.at)?;
                let write = self.site(SiteKind::Write, text, place.at);
                out.push(Stmt::Update { place: target, op, value, read, write });
            }
            (PlaceMeaning::ListElement { mut list, index, ty }, op) => {
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
            (PlaceMeaning::Platform(target, ty), op) => {
                self.write_platform((target, ty), op, value, (place.at, out))?;
            }
            (PlaceMeaning::Family { .. } | PlaceMeaning::Value(_), _) => {
                self.value(value)?;
                self.cannot_assign(place);
                return None;
            }
        }
        Some(())
    }

    fn write(&mut self, mut target: MemoryPlace, value: Expr, place: &ast::Expr) -> Stmt {
        let kind = if target.atomic { SiteKind::AtomicWrite } else { SiteKind::Write };
        let site = self.site(kind, place_text(place), place.at);
        self.note_atomic(&target, site);
        set_site(&mut target, site);
        Stmt::Write { place: target, value, site }
    }

    /// Lowers the new value of an assignment: `old op value`, or only the value if there is no operator.
    pub(super) fn new_value(
        &mut self,
        op: Option<BinaryOp>,
        ty: &Type,
        old: Expr,
        value: &ast::Expr,
        at: At,
    ) -> Option<Expr> {
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
                format!(
                    "write `fetch_add({text}, {amount})` for one step, or `{text} = {text} + {amount}` for a read and a write"
                )
            }
            BinaryOp::Sub => {
                format!(
                    "write `fetch_add({text}, {less})` for one step, or `{text} = {text} - {amount}` for a read and a write"
                )
            }
            _ => format!("write the two steps out: `{text} = {text} {} {amount}`", super::fold::symbol(op)),
        };
        let message = format!("`{}=` is ambiguous on an atomic", super::fold::symbol(op));
        self.error_help(place.at, message, "it may be one step, or two", help);
        None
    }

    /// Moves indices that are needed twice (for the read and for the write) into locals.
    fn keep_indices(&mut self, index: &mut ElementIndex, out: &mut Vec<Stmt>) {
        for dimension in index {
            if matches!(dimension.index.kind, ExprKind::Word(_) | ExprKind::Local(_)) {
                continue;
            }
            let id = self.temporary(Type::Int);
            let kept = Expr::new(ExprKind::Local(id), Type::Int);
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
                problem = problem
                    .help(format!("declare shared memory with `var {name} = ...`: a top-level `let` is immutable"));
            }
            self.problems.add(problem);
            return;
        }
        self.error(place.at, "this cannot be assigned", "this is not a variable, field or element");
    }
}
