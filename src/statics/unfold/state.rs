//! What is known at a place of a body: the node that control has come to, and the values of locals.

use super::super::graph::{Node, Val};
use crate::event::NULL;
use crate::lang::program::Type;

/// A local: one value, or the elements of an array.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Slot {
    One(Val),
    Many(Vec<Val>),
}

impl Slot {
    /// Returns a local of this type with nothing known.
    pub(super) fn unknown(ty: &Type) -> Self {
        match ty {
            Type::Array(..) => Self::Many(vec![Val::Unknown; cells(ty).min(MOST_CELLS)]),
            _ => Self::One(Val::Unknown),
        }
    }

    /// Returns a local of this type with its default value.
    pub(super) fn blank(ty: &Type) -> Self {
        match ty {
            Type::Array(..) => Self::Many(vec![default(ty); cells(ty).min(MOST_CELLS)]),
            _ => Self::One(default(ty)),
        }
    }
}

/// Maximum number of elements of a local array that are known.
const MOST_CELLS: usize = 1024;

fn cells(ty: &Type) -> usize {
    match ty {
        Type::Array(element, len) => cells(element).saturating_mul(*len as usize),
        _ => 1,
    }
}

/// Returns the default value of a type, or of the elements of an array.
fn default(ty: &Type) -> Val {
    match ty {
        Type::Array(element, _) => default(element),
        Type::Int | Type::Bool => Val::Word(0),
        Type::Object(_) | Type::Thread | Type::Looper | Type::Handler => Val::Word(NULL),
        _ => Val::Unknown,
    }
}

/// The state at a place.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// `None` if control does not come here.
    pub(super) node: Option<Node>,
    pub(super) locals: Vec<Slot>,
}

impl State {
    pub(super) fn dead() -> Self {
        Self { node: None, locals: Vec::new() }
    }

    /// Returns the state, and leaves a dead one.
    pub(super) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::dead())
    }

    /// Returns what is known in both states, at the node of the first one.
    pub(super) fn merged(mut self, other: Self) -> Self {
        for (slot, other) in self.locals.iter_mut().zip(other.locals) {
            match (slot, other) {
                (Slot::One(val), Slot::One(other)) => *val = val.merged(other),
                (Slot::Many(vals), Slot::Many(others)) => {
                    vals.iter_mut().zip(others).for_each(|(val, other)| *val = val.merged(other));
                }
                (slot, _) => *slot = Slot::One(Val::Unknown),
            }
        }
        self
    }
}
