//! Properties name elements: their quantifiers are expanded (`all i in 0..2: own[i] == 0` is a conjunction). That
//! breaks no rule if the property says the same of all elements: if it stays the same, up to the order of operands that
//! may be exchanged, when two elements change places.

use super::nodes::{Node, Nodes};
use crate::lang::ast::BinaryOp;
use crate::lang::program::{Expr, ExprKind, MemoryPlace, Program, Root, Type};
use crate::world::ElementRange;
use std::collections::BTreeMap;

/// Records a breach at each element that a property names, if the property does not stay the same under exchanges of
/// elements. `ranges` has the elements of each root.
pub(super) fn check(program: &Program, ranges: &BTreeMap<usize, ElementRange>, nodes: &mut Nodes) {
    for (node, value, at, property) in std::mem::take(&mut nodes.named_in_properties) {
        let root = nodes.root(node);
        let Some(range) = ranges.get(&root).filter(|range| range.contains(value)) else { continue };
        let property = &program.properties[property];
        let form = |first: Option<i64>| {
            let exchange = Exchange { program, root, first };
            exchange.form(&property.expr, nodes)
        };
        let as_it_is = form(None);
        // Exchanges of neighbours generate all permutations.
        let stays = (range.from..range.to - 1).all(|first| form(Some(first)) == as_it_is);
        if as_it_is.is_none() || !stays {
            let why =
                format!("the property `{}` names the number {value}, and says other things of others", property.name);
            nodes.breach(node, at, why);
        }
    }
}

// Exchanges the elements `first` and `first + 1` of the class with this root, or none.
struct Exchange<'p> {
    program: &'p Program,
    root: usize,
    first: Option<i64>,
}

impl Exchange<'_> {
    fn element(&self, value: i64) -> i64 {
        match self.first {
            Some(first) if value == first => first + 1,
            Some(first) if value == first + 1 => first,
            _ => value,
        }
    }

    // Returns the form of an expression after the exchange. Expressions with one form have one value. `None` if the
    // expression is of a kind that has no form.
    fn form(&self, e: &Expr, nodes: &Nodes) -> Option<String> {
        Some(match &e.kind {
            ExprKind::Word(value) => format!("{value}"),
            ExprKind::Read { place, .. } => self.place(place, nodes)?,
            ExprKind::Unary(op, operand) => format!("{op:?}({})", self.form(operand, nodes)?),
            ExprKind::And(..) | ExprKind::Or(..) => self.sorted(e, nodes)?,
            ExprKind::Binary { op, left, right, .. } => match op {
                BinaryOp::Eq | BinaryOp::Ne => {
                    let mut sides = [self.compared(left, right, nodes)?, self.compared(right, left, nodes)?];
                    sides.sort();
                    format!("{op:?}({},{})", sides[0], sides[1])
                }
                BinaryOp::Add | BinaryOp::Mul | BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => {
                    self.sorted(e, nodes)?
                }
                // Whether a division fails may depend on the order of operands around it.
                BinaryOp::Div | BinaryOp::Rem => return None,
                _ => format!("{op:?}({},{})", self.form(left, nodes)?, self.form(right, nodes)?),
            },
            _ => return None,
        })
    }

    // A side of a comparison. A constant that is compared with an element is one.
    fn compared(&self, side: &Expr, other: &Expr, nodes: &Nodes) -> Option<String> {
        match (&side.kind, &other.kind) {
            (ExprKind::Word(value), ExprKind::Read { place, .. }) if self.is_of_class(place, nodes) => {
                Some(format!("{}", self.element(*value)))
            }
            _ => self.form(side, nodes),
        }
    }

    fn is_of_class(&self, place: &MemoryPlace, nodes: &Nodes) -> bool {
        match &place.root {
            Root::Global(global) => place.ty == Type::Int && nodes.known_root(Node::Value(*global)) == Some(self.root),
            Root::Field { .. } => false,
        }
    }

    fn place(&self, place: &MemoryPlace, nodes: &Nodes) -> Option<String> {
        let Root::Global(global) = &place.root else { return None };
        let mut form = self.program.globals[*global].name.clone();
        for (number, dimension) in place.index.iter().enumerate() {
            let is_element = nodes.known_root(Node::Dimension(*global, number)) == Some(self.root);
            let index = match &dimension.index.kind {
                ExprKind::Word(value) if is_element => format!("{}", self.element(*value)),
                ExprKind::Word(value) => format!("{value}"),
                // The bounds check of a computed index may fail, so that the order of operands counts.
                _ => return None,
            };
            form += &format!("[{index}]");
        }
        Some(form)
    }

    // The operands of one operator, however they are nested, in the order of their forms.
    fn sorted(&self, e: &Expr, nodes: &Nodes) -> Option<String> {
        let operator = operator(e)?;
        let (mut open, mut forms) = (vec![e], Vec::new());
        while let Some(operand) = open.pop() {
            let (left, right) = match &operand.kind {
                ExprKind::And(left, right) | ExprKind::Or(left, right) => (left, right),
                ExprKind::Binary { left, right, .. } => (left, right),
                _ => {
                    forms.push(self.form(operand, nodes)?);
                    continue;
                }
            };
            match self::operator(operand) == Some(operator) {
                true => open.extend([&**left, &**right]),
                false => forms.push(self.form(operand, nodes)?),
            }
        }
        forms.sort();
        Some(format!("{operator}({})", forms.join(",")))
    }
}

// Returns the name of an operator whose operands may be exchanged and nested in any way.
fn operator(e: &Expr) -> Option<&'static str> {
    match &e.kind {
        ExprKind::And(..) => Some("and"),
        ExprKind::Or(..) => Some("or"),
        ExprKind::Binary { op: BinaryOp::Add, .. } => Some("add"),
        ExprKind::Binary { op: BinaryOp::Mul, .. } => Some("mul"),
        ExprKind::Binary { op: BinaryOp::BitAnd, .. } => Some("bitand"),
        ExprKind::Binary { op: BinaryOp::BitOr, .. } => Some("bitor"),
        ExprKind::Binary { op: BinaryOp::BitXor, .. } => Some("bitxor"),
        _ => None,
    }
}
