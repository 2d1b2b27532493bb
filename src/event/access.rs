//! Accesses to plain shared memory, and when two of them conflict.

use super::{AccessKind, Location, ObjectId, Op};

/// An access to plain memory: where and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Where.
    pub place: AccessPlace,
    /// Whether it writes.
    pub kind: AccessKind,
}

/// What an access touches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AccessPlace {
    /// A cell; a list is one.
    Cell(Location),
    /// An object's life: read by a use, written by a free (CAFA).
    Life(ObjectId),
}

impl Op {
    /// What the operation accesses; `None` for everything but plain memory (atomics synchronize and never race).
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
    /// Whether two accesses touch the same memory and one of them writes; the end of an object's life conflicts with every access to it.
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
