//! Accesses to plain shared memory, and the conflict relation between them.

use super::{AccessKind, Location, ObjectId, Op};

/// An access to plain memory: its place and its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The cell or object that is accessed.
    pub place: AccessPlace,
    /// Whether the access reads or writes.
    pub kind: AccessKind,
}

/// The memory that an access touches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AccessPlace {
    /// A cell of memory. A list counts as one cell.
    Cell(Location),
    /// The life of an object: a use reads it, a free writes it (CAFA).
    Life(ObjectId),
}

impl Op {
    /// Returns the access that the operation performs. `None` for every operation that does not touch plain memory:
    /// atomics synchronize and never race.
    #[must_use]
    pub fn access(&self) -> Option<Access> {
        let (place, kind) = match self {
            Op::Read(at) | Op::ListRead { at, .. } => (AccessPlace::Cell(*at), AccessKind::Read),
            Op::Write(at, _) | Op::ListWrite { at, .. } => (AccessPlace::Cell(*at), AccessKind::Write),
            Op::Use(object) => (AccessPlace::Life(*object), AccessKind::Read),
            Op::Free(object) => (AccessPlace::Life(*object), AccessKind::Write),
            _ => return None,
        };
        Some(Access { place, kind })
    }
}

impl Access {
    /// Returns whether the two accesses conflict: both touch the same memory and at least one of them writes. The free
    /// of an object conflicts with every access to the object.
    #[must_use]
    pub fn conflicts(&self, other: &Access) -> bool {
        let frees = |a: &Access, b: &Access| match (a, b.place) {
            (Access { place: AccessPlace::Life(o), kind: AccessKind::Write }, AccessPlace::Cell(at)) => {
                at.object == Some(*o)
            }
            _ => false,
        };
        let writes = self.kind == AccessKind::Write || other.kind == AccessKind::Write;
        writes && (self.place == other.place || frees(self, other) || frees(other, self))
    }
}
