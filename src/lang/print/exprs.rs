//! Prints expressions, with parentheses where precedence requires them.

use super::super::ast::{Expr, ExprKind, UnaryOp, Value};
use super::super::words::precedence;
use super::TreePrinter;

/// Names that are the first word of an operation, or of an expression in a kind, before some words.
const OPERATIONS: [&str; 13] =
    ["post", "fork", "launch", "spawn", "handler", "fence", "wait", "down", "recv", "cancel", "none", "some", "asked"];

impl TreePrinter {
    /// Prints an expression where an operation needs parentheses.
    pub(super) fn expr(&mut self, expr: &Expr) {
        self.tight(expr, precedence::OR);
    }

    /// Prints an expression where an operation needs no parentheses.
    pub(super) fn right_side(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Op(op) => self.op(op),
            _ => self.expr(expr),
        }
    }

    /// Prints a place. An expression that binds looser is put in parentheses.
    pub(super) fn place(&mut self, expr: &Expr) {
        self.tight(expr, precedence::POSTFIX);
    }

    /// Prints a place before a word that is no part of it. A name that would begin an operation with that word is put
    /// in parentheses.
    pub(super) fn before_word(&mut self, expr: &Expr) {
        self.place_unless(expr, &OPERATIONS);
    }

    /// Prints the operand of `cancel`. `cancel all` cancels everything, so a message named `all` is put in parentheses.
    /// So is a call, where `cancel` can be the verb of a component, to which the arguments would belong.
    pub(super) fn message_to_cancel(&mut self, expr: &Expr) {
        let is_call = matches!(expr.kind, ExprKind::Call { .. } | ExprKind::Method { .. });
        if self.with_verbs && is_call && begins_with_name(expr) {
            self.parenthesized(expr);
        } else {
            self.place_unless(expr, &["all"]);
        }
    }

    fn place_unless(&mut self, expr: &Expr, words: &[&str]) {
        match &expr.kind {
            ExprKind::Name(name) if words.contains(&name.as_str()) => self.parenthesized(expr),
            _ => self.place(expr),
        }
    }

    fn parenthesized(&mut self, expr: &Expr) {
        self.push("(");
        self.right_side(expr);
        self.push(")");
    }

    pub(super) fn value(&mut self, value: &Value) {
        match value {
            Value::Expr(expr) => self.right_side(expr),
            Value::List(all, _) => {
                self.push("[");
                self.commas(all, Self::expr);
                self.push("]");
            }
        }
    }

    pub(super) fn args(&mut self, args: &[Expr]) {
        self.push("(");
        self.commas(args, Self::right_side);
        self.push(")");
    }

    /// Prints an expression with a precedence of at least `least`, in parentheses if its own is lower.
    fn tight(&mut self, expr: &Expr, least: u8) {
        if tightness(expr) < least {
            self.parenthesized(expr);
            return;
        }
        match &expr.kind {
            ExprKind::Int(value) => self.push(&value.to_string()),
            ExprKind::Str(text) => self.text(text),
            ExprKind::Bool(value) => self.push(if *value { "true" } else { "false" }),
            ExprKind::Null => self.push("null"),
            ExprKind::Plain(place) => {
                self.push("plain ");
                self.place(place);
            }
            ExprKind::SelfThread => self.push("self"),
            ExprKind::This => self.push("this"),
            ExprKind::New(name) => {
                self.push("new ");
                self.name(name);
            }
            ExprKind::Name(name) => self.push(name),
            ExprKind::Call { name, args } => {
                self.name(name);
                self.args(args);
            }
            ExprKind::Field { object, name } => {
                self.place(object);
                self.push(".");
                self.name(name);
            }
            ExprKind::Method { object, name, args } => {
                self.place(object);
                self.push(".");
                self.name(name);
                self.args(args);
            }
            ExprKind::Index { object, index } => {
                self.place(object);
                self.push("[");
                self.expr(index);
                self.push("]");
            }
            ExprKind::Unary { op, operand } => {
                self.push(match op {
                    UnaryOp::Not => "!",
                    UnaryOp::Neg => "-",
                });
                self.tight(operand, precedence::UNARY);
            }
            ExprKind::Binary { op, left, right } => {
                let own = op.precedence();
                // Operators are left-associative, except comparisons, which do not chain.
                let of_left = if own == precedence::COMPARISON { own + 1 } else { own };
                self.tight(left, of_left);
                self.push(" ");
                self.push(op.word());
                self.push(" ");
                self.tight(right, own + 1);
            }
            ExprKind::Op(op) => self.op(op),
            ExprKind::Rest => self.push(".."),
            ExprKind::Other { some, stage, kind } => {
                self.push(if *some { "some " } else { "none " });
                if let Some(kind) = kind {
                    self.name(kind);
                    self.push(".");
                }
                self.name(stage);
            }
            ExprKind::Asked(row) => {
                self.push("asked ");
                self.name(row);
            }
            ExprKind::Stage { kind, stage } => {
                self.name(kind);
                self.push(".");
                self.name(stage);
            }
            ExprKind::Again(instance) => {
                self.push("again(");
                self.expr(instance);
                self.push(")");
            }
        }
    }
}

/// Returns whether a printed place begins with a name or with `this`.
fn begins_with_name(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Field { object, .. } | ExprKind::Method { object, .. } | ExprKind::Index { object, .. } => {
            begins_with_name(object)
        }
        ExprKind::Int(_) | ExprKind::Str(_) | ExprKind::Bool(_) | ExprKind::Null | ExprKind::SelfThread => false,
        ExprKind::New(_) | ExprKind::Unary { .. } | ExprKind::Binary { .. } | ExprKind::Op(_) => false,
        _ => true,
    }
}

/// The precedence of an expression as it is printed; 0 for an operation.
fn tightness(expr: &Expr) -> u8 {
    match &expr.kind {
        ExprKind::Op(_) => 0,
        ExprKind::Binary { op, .. } => op.precedence(),
        ExprKind::Unary { .. } => precedence::UNARY,
        ExprKind::Int(value) if *value < 0 => precedence::UNARY,
        ExprKind::Plain(_) => precedence::UNARY,
        _ => precedence::POSTFIX,
    }
}
