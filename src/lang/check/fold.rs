//! Folds arithmetic on constants. The result is the same as at run time; only a division by zero is an error of the
//! check instead of an exception.

use super::Checker;
use super::types::{article, constant, word};
use crate::event::{SiteId, SiteKind};
use crate::lang::ast::{self, At, BinaryOp, UnaryOp};
use crate::lang::program::{Expr, ExprKind, NO_SITE, Type};

impl Checker {
    /// Lowers `left op right` for all operators except `&&`, `||`, `==` and `!=`.
    pub(super) fn arithmetic(&mut self, op: BinaryOp, left: Expr, right: Expr, at: At) -> Option<Expr> {
        let compares = matches!(op, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge);
        let ty = if compares { Type::Bool } else { left.ty.clone() };
        if let (Some(a), Some(b)) = (constant(&left), constant(&right)) {
            match op.value(a, b) {
                Some(value) => return Some(word(value, ty)),
                None if !self.scope.dead => {
                    let reason = "division by zero in a constant";
                    self.error(at, reason, format!("this is {a} {} {b}", symbol(op)));
                    return None;
                }
                None => return Some(word(0, ty)),
            }
        }
        let site = self.division_site(op, &right, at);
        Some(Expr::new(ExprKind::Binary { op, left: Box::new(left), right: Box::new(right), site }, ty))
    }

    /// Returns the site at which a division by zero fails, or [`NO_SITE`] for an operator that cannot fail.
    fn division_site(&mut self, op: BinaryOp, right: &Expr, at: At) -> SiteId {
        let divides = matches!(op, BinaryOp::Div | BinaryOp::Rem);
        if divides && constant(right).is_none_or(|b| b == 0) {
            self.site(SiteKind::Check, String::new(), at)
        } else {
            NO_SITE
        }
    }

    /// Lowers `-e` and `!e`
    pub(super) fn unary(&mut self, op: UnaryOp, operand: &ast::Expr) -> Option<Expr> {
        let (wanted, what) = match op {
            UnaryOp::Not => (Type::Bool, "the operand of `!`"),
            UnaryOp::Neg => (Type::Int, "the operand of `-`"),
        };
        let operand = self.expr_of(operand, &wanted, what)?;
        let Some(value) = constant(&operand) else {
            return Some(Expr::new(ExprKind::Unary(op, Box::new(operand)), wanted));
        };
        let folded = match op {
            UnaryOp::Not => 1 - value,
            UnaryOp::Neg => value.wrapping_neg(),
        };
        Some(word(folded, wanted))
    }

    /// Checks the operands of an operator on numbers. `&`, `|` and `^` also take two truth values.
    pub(super) fn operands(&mut self, op: BinaryOp, left: (Expr, At), right: (Expr, At)) -> Option<(Expr, Expr)> {
        let bits = matches!(op, BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor);
        let truth = |ty: &Type| matches!(ty, Type::Bool | Type::Message);
        let wanted = if bits && truth(&left.0.ty) { Type::Bool } else { Type::Int };
        let what = format!("an operand of `{}`", symbol(op));
        let left = self.fit(left.0, &wanted, left.1, &what);
        let right = self.fit(right.0, &wanted, right.1, &what);
        Some((left?, right?))
    }

    /// Reports an operator that does not fit a type.
    pub(super) fn no_operator(&mut self, op: BinaryOp, ty: &Type, at: At) {
        let name = self.name_of(ty);
        self.error(at, format!("`{}=` cannot be applied to {}", symbol(op), article(&name)), "it needs an int");
    }
}

/// Returns the operator as it is written.
pub(super) fn symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Or => "||",
        BinaryOp::And => "&&",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
        BinaryOp::BitAnd => "&",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Rem => "%",
    }
}
