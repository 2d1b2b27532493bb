//! Arithmetic on constants: checked, where at run time it wraps.

use super::Checker;
use super::types::{article, constant, word};
use crate::event::{SiteId, SiteKind};
use crate::lang::ast::{self, At, BinaryOp, UnaryOp};
use crate::lang::program::{Expr, ExprKind, NO_SITE, Type};

impl Checker {
    /// `left op right` for everything but `&&`, `||`, `==`, `!=`.
    pub(super) fn arithmetic(&mut self, op: BinaryOp, left: Expr, right: Expr, at: At) -> Option<Expr> {
        let compares = matches!(op, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge);
        let ty = if compares { Type::Bool } else { left.ty.clone() };
        if let (Some(a), Some(b)) = (constant(&left), constant(&right)) {
            match fold(op, a, b) {
                Ok(value) => return Some(word(value, ty)),
                Err(reason) if !self.scope.dead => {
                    self.error(at, reason, format!("this is {a} {} {b}", symbol(op)));
                    return None;
                }
                Err(_) => return Some(word(0, ty)),
            }
        }
        let site = self.division_site(op, &right, at);
        Some(Expr::new(ExprKind::Binary { op, left: Box::new(left), right: Box::new(right), site }, ty))
    }

    /// The site where a division by zero fails; none for operators that cannot fail.
    fn division_site(&mut self, op: BinaryOp, right: &Expr, at: At) -> SiteId {
        let divides = matches!(op, BinaryOp::Div | BinaryOp::Rem);
        if divides && constant(right).is_none_or(|b| b == 0) {
            self.site(SiteKind::Check, String::new(), at)
        } else {
            NO_SITE
        }
    }

    /// `-e`, `!e`
    pub(super) fn unary(&mut self, op: UnaryOp, operand: &ast::Expr, at: At) -> Option<Expr> {
        let (wanted, what) = match op {
            UnaryOp::Not => (Type::Bool, "the operand of `!`"),
            UnaryOp::Neg => (Type::Int, "the operand of `-`"),
        };
        let operand = self.expr_of(operand, &wanted, what)?;
        let Some(value) = constant(&operand) else {
            return Some(Expr::new(ExprKind::Unary(op, Box::new(operand)), wanted));
        };
        let folded = match op {
            UnaryOp::Not => Some(1 - value),
            UnaryOp::Neg => value.checked_neg(),
        };
        if folded.is_none() && !self.scope.dead {
            self.error(at, "overflow in a constant", format!("this is -({value})"));
            return None;
        }
        Some(word(folded.unwrap_or(0), wanted))
    }

    /// Checks the operands of an operator on numbers (or, for `&`, `|`, `^`, on two truth values).
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
        self.error(at, format!("`{}=` on {}", symbol(op), article(&name)), "it needs an int");
    }
}

/// The operator as written.
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

fn fold(op: BinaryOp, a: i64, b: i64) -> Result<i64, &'static str> {
    let shift = || u32::try_from(b).ok().filter(|s| *s < 64).ok_or("a shift by less than 0 or more than 63");
    let overflow = "overflow in a constant";
    Ok(match op {
        BinaryOp::Lt => i64::from(a < b),
        BinaryOp::Le => i64::from(a <= b),
        BinaryOp::Gt => i64::from(a > b),
        BinaryOp::Ge => i64::from(a >= b),
        BinaryOp::BitOr => a | b,
        BinaryOp::BitXor => a ^ b,
        BinaryOp::BitAnd => a & b,
        BinaryOp::Shl => {
            let s = shift()?;
            let shifted = a << s;
            if shifted >> s == a { shifted } else { return Err(overflow) }
        }
        BinaryOp::Shr => a >> shift()?,
        BinaryOp::Add => a.checked_add(b).ok_or(overflow)?,
        BinaryOp::Sub => a.checked_sub(b).ok_or(overflow)?,
        BinaryOp::Mul => a.checked_mul(b).ok_or(overflow)?,
        BinaryOp::Div | BinaryOp::Rem if b == 0 => return Err("division by zero in a constant"),
        BinaryOp::Div => a.checked_div(b).ok_or(overflow)?,
        BinaryOp::Rem => a.checked_rem(b).ok_or(overflow)?,
        BinaryOp::Or | BinaryOp::And | BinaryOp::Eq | BinaryOp::Ne => unreachable!("lowered elsewhere"),
    })
}
