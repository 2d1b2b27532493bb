//! Accesses to plain shared memory, and the conflict relation between them.

use super::{AccessKind, Location, ObjectId, Op};

/// An access to plain memory: its place and its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The cell or object that is accessed.
    pub place: AccessPlace,
    /// Whether the access reads or writes.
    pub kind: AccessKind,
    /// Whether the access is an operation on an atomic. Two of them do not race.
    pub atomic: bool,
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
    /// Returns the plain access that the operation performs. `None` for every operation that does not touch plain
    /// memory. `World::access` also returns accesses of atomics that are accessed plainly elsewhere.
    #[must_use]
    pub fn access(&self) -> Option<Access> {
        let (place, kind) = match self {
            Op::Read(at) | Op::ListRead { at, .. } => (AccessPlace::Cell(*at), AccessKind::Read),
            Op::Write(at, _) | Op::ListWrite { at, .. } => (AccessPlace::Cell(*at), AccessKind::Write),
            Op::Use(object) => (AccessPlace::Life(*object), AccessKind::Read),
            Op::Free(object) => (AccessPlace::Life(*object), AccessKind::Write),
            _ => return None,
        };
        Some(Access { place, kind, atomic: false })
    }

    /// Returns the access of an operation on an atomic. A compare-and-swap counts as a write.
    pub(crate) fn atomic_access(&self) -> Option<Access> {
        let (at, kind) = match *self {
            Op::AtomicRead(at) => (at, AccessKind::Read),
            Op::AtomicWrite(at, _) | Op::Cas { at, .. } | Op::FetchAdd(at, _) | Op::Exchange(at, _) => {
                (at, AccessKind::Write)
            }
            _ => return None,
        };
        Some(Access { place: AccessPlace::Cell(at), kind, atomic: true })
    }
}

impl Access {
    /// Returns whether the two accesses can race: they conflict, and not both of them are operations on an atomic.
    #[must_use]
    pub fn races(&self, other: &Access) -> bool {
        self.conflicts(other) && !(self.atomic && other.atomic)
    }

    /// Returns whether the two accesses conflict: both touch the same memory and at least one of them writes. The free
    /// of an object conflicts with every access to the object.
    #[must_use]
    pub fn conflicts(&self, other: &Access) -> bool {
        let frees = |a: &Access, b: &Access| match (a, b.place) {
            (Access { place: AccessPlace::Life(o), kind: AccessKind::Write, .. }, AccessPlace::Cell(at)) => {
                at.object == Some(*o)
            }
            _ => false,
        };
        let writes = self.kind == AccessKind::Write || other.kind == AccessKind::Write;
        writes && (self.place == other.place || frees(self, other) || frees(other, self))
    }
}
