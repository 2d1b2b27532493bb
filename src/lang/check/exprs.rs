//! Lowers expressions. They are evaluated from left to right, and constants are folded.

use super::Checker;
use super::scope::Mode;
use super::types::{constant, word};
use crate::event::NULL;
use crate::lang::Diagnostic;
use crate::lang::ast::{self, At, BinaryOp, ExprKind as Ast, Op};
use crate::lang::program::{Expr, ExprKind, Type};

impl Checker {
    /// Lowers an expression that must have a value.
    pub(super) fn value(&mut self, e: &ast::Expr) -> Option<Expr> {
        let value = self.expr(e)?;
        if value.ty != Type::Void {
            return Some(value);
        }
        match &e.kind {
            Ast::Call { name, .. } => {
                let problem =
                    Diagnostic::new(e.at.0, format!("`{}` gives no value", name.text), "a value is needed here")
                        .help("give the task a result type: `task name(): int { ... return e }`");
                self.problems.add(problem);
            }
            Ast::Method { name, .. } => {
                self.error(e.at, format!("`{}` gives no value", name.text), "a value is needed here");
            }
            _ => self.error(e.at, "this gives no value", "a value is needed here"),
        }
        None
    }

    /// Lowers an expression with or without a value.
    pub(super) fn expr(&mut self, e: &ast::Expr) -> Option<Expr> {
        let value = self.lowered(e)?;
        Some(Expr { at: e.at.0, ..value })
    }

    fn lowered(&mut self, e: &ast::Expr) -> Option<Expr> {
        if self.scope.mode == Mode::Property {
            self.terms += 1;
        }
        match &e.kind {
            Ast::Int(value) => Some(word(*value, Type::Int)),
            Ast::Bool(value) => Some(word(i64::from(*value), Type::Bool)),
            Ast::Null => Some(word(NULL, Type::Null)),
            Ast::Str(_) => {
                self.error(
                    e.at,
                    "a string is not a value",
                    "strings can occur only in messages, labels and `as \"name\"`",
                );
                None
            }
            Ast::SelfThread => {
                self.only_in_body(e.at, "`self`", true)?;
                if self.scope.init {
                    self.error(e.at, "`self` cannot be used in `init`", "no thread runs yet");
                    return None;
                }
                self.out.thread_values = true;
                Some(Expr::new(ExprKind::SelfThread, Type::Thread))
            }
            Ast::This => self.this(e.at),
            Ast::Rest | Ast::Other { .. } | Ast::Asked(_) | Ast::Stage { .. } | Ast::Again(_) => self.kind_expr(e),
            Ast::New(name) => {
                if self.scope.mode != Mode::First {
                    self.only_in_body(e.at, "`new`", false)?;
                }
                self.not_made_by_new(name)?;
                let class = self.class(name)?;
                Some(Expr::new(ExprKind::New(class), Type::Object(class)))
            }
            Ast::Name(_) | Ast::Field { .. } | Ast::Index { .. } | Ast::Plain(_) => {
                let target = self.target(e)?;
                self.load(target, e)
            }
            Ast::Call { name, args } => {
                self.only_in_body(e.at, "a call", false)?;
                self.call(name, args, e.at)
            }
            Ast::Method { object, name, args } => {
                self.only_in_body(e.at, "a call", false)?;
                self.method(object, name, args, e)
            }
            Ast::Unary { op, operand } => self.unary(*op, operand),
            Ast::Binary { op, left, right } => self.binary(*op, left, right, e.at),
            Ast::Op(op) => {
                let what = if matches!(**op, Op::Choose(_)) { "`choose`" } else { "an operation" };
                self.only_in_body(e.at, what, false)?;
                self.op(op, e.at)
            }
        }
    }

    /// Reports code that is only allowed in a body (or, if `waits`, also in the condition of an `await`).
    pub(super) fn only_in_body(&mut self, at: At, what: &str, waits: bool) -> Option<()> {
        let (place, may) = match self.scope.mode {
            Mode::Body => return Some(()),
            Mode::Await if waits => return Some(()),
            Mode::Await => (
                "the condition of an `await`",
                "it is evaluated without steps, so it can have only reads, operators and constants",
            ),
            Mode::Property => {
                ("a property", "it is evaluated without steps, so it can have only reads, operators and constants")
            }
            Mode::When => (
                "the condition of a row",
                "it is evaluated without steps, so it can have only platform memory and constants",
            ),
            Mode::First => {
                ("a first value", "it can have only constants, `new`, and names of threads, locks and objects")
            }
            Mode::Const => ("a constant", "it can have only numbers, truth values, operators and other constants"),
        };
        self.error(at, format!("{what} cannot be used in {place}"), may);
        None
    }

    fn binary(&mut self, op: BinaryOp, left: &ast::Expr, right: &ast::Expr, at: At) -> Option<Expr> {
        match op {
            BinaryOp::And | BinaryOp::Or => return self.logical(op == BinaryOp::And, left, right),
            _ => {}
        }
        let (a, b) = (self.value(left), self.value(right));
        let (a, b) = (a?, b?);
        match op {
            BinaryOp::Eq | BinaryOp::Ne => self.equal(op == BinaryOp::Ne, a, b, at),
            _ => {
                let (a, b) = self.operands(op, (a, left.at), (b, right.at))?;
                self.arithmetic(op, a, b, at)
            }
        }
    }

    /// Lowers `&&` and `||`. A constant on the left can decide that the right side is not evaluated. A constant on the
    /// right cannot remove the reads of the left side.
    fn logical(&mut self, and: bool, left: &ast::Expr, right: &ast::Expr) -> Option<Expr> {
        let what = if and { "an operand of `&&`" } else { "an operand of `||`" };
        let a = self.expr_of(left, &Type::Bool, what);
        let decided = a.as_ref().and_then(constant).filter(|&value| (value == 0) == and);
        let b = self.in_dead(decided.is_some(), |c| c.expr_of(right, &Type::Bool, what));
        let (a, b) = (a?, b?);
        if let Some(value) = decided {
            return Some(word(value, Type::Bool));
        }
        if constant(&a).is_some() {
            return Some(b);
        }
        if constant(&b).is_some_and(|value| (value != 0) == and) {
            return Some(a);
        }
        let (a, b) = (Box::new(a), Box::new(b));
        Some(Expr::new(if and { ExprKind::And(a, b) } else { ExprKind::Or(a, b) }, Type::Bool))
    }
}
