//! Atomics that some statement accesses plainly. Operations on them can race with the plain accesses, as in the memory
//! models of Go and C++.

use super::World;
use crate::event::{Access, AccessKind, AccessPlace, Op, Value};

/// The atomics of a program that some statement accesses plainly.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct MixedAtomics {
    /// Global cells, ascending.
    pub cells: Vec<u32>,
    /// Cells of objects: the class, and the offset from the base of the object, ascending.
    pub fields: Vec<(u32, u32)>,
}

impl MixedAtomics {
    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty() && self.fields.is_empty()
    }
}

impl World {
    /// Returns the access of a pending operation that can race: a plain access, or an operation on an atomic that is
    /// accessed plainly elsewhere. A compare-and-swap that would not swap now only reads.
    #[must_use]
    pub fn access(&self, op: &Op) -> Option<Access> {
        let access = op.access().or_else(|| self.mixed_access(op))?;
        match *op {
            Op::Cas { at, old, .. } if self.memory.cell(at.cell) != old => {
                Some(Access { kind: AccessKind::Read, ..access })
            }
            _ => Some(access),
        }
    }

    /// Returns the access of an operation that has been performed with this value, as [`access`](Self::access) does.
    #[must_use]
    pub fn performed_access(&self, op: &Op, value: Value) -> Option<Access> {
        let access = op.access().or_else(|| self.mixed_access(op))?;
        let reads = matches!(op, Op::Cas { .. }) && value == 0;
        Some(if reads { Access { kind: AccessKind::Read, ..access } } else { access })
    }

    fn mixed_access(&self, op: &Op) -> Option<Access> {
        let mixed = &self.setup.mixed;
        if mixed.is_empty() {
            return None;
        }
        op.atomic_access().filter(|access| match access.place {
            AccessPlace::Cell(at) => match at.object {
                None => mixed.cells.binary_search(&at.cell).is_ok(),
                Some(object) => {
                    let object = self.memory.object(object);
                    mixed.fields.binary_search(&(object.class, at.cell - object.base)).is_ok()
                }
            },
            AccessPlace::Life(_) => false,
        })
    }
}
