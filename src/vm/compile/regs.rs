//! The registers of a body. Each register holds values of one kind only, so that a state can be written without the
//! history of its registers.

use super::super::instr::{Reg, Regs};
use crate::world::WordKind;
use std::collections::BTreeMap;

/// Allocator of registers.
#[derive(Default)]
pub(super) struct Registers {
    /// The kind of each register.
    pub(super) kinds: Vec<WordKind>,
    pub(super) overflowed: bool,
    // Whether the values of posts are handles. Otherwise they are plain words, and so are their registers.
    handles: bool,
    // Free ranges of registers, by the kinds of their registers.
    free: BTreeMap<Vec<WordKind>, Vec<Reg>>,
    in_use: Vec<(Vec<WordKind>, Reg)>,
}

impl Registers {
    /// Returns an allocator that has allocated nothing. `handles` says whether the values of posts are handles.
    pub(super) fn new(handles: bool) -> Self {
        Self { handles, ..Self::default() }
    }

    /// Returns the kind of the register for a value of this kind.
    pub(super) fn kind(&self, kind: WordKind) -> WordKind {
        if kind == WordKind::Message && !self.handles { WordKind::Word } else { kind }
    }

    /// Allocates registers for the rest of the body: those of locals. Sets `overflowed` and returns 0 if there are too
    /// many.
    pub(super) fn fixed(&mut self, kinds: &[WordKind]) -> Reg {
        let Ok(first) = Reg::try_from(self.kinds.len()) else {
            self.overflowed = true;
            return 0;
        };
        if self.kinds.len() + kinds.len() > usize::from(Reg::MAX) {
            self.overflowed = true;
            return 0;
        }
        let kinds: Vec<WordKind> = kinds.iter().map(|kind| self.kind(*kind)).collect();
        self.kinds.extend(kinds);
        first
    }

    /// Allocates a temporary, which [`release`](Self::release) frees.
    pub(super) fn temp(&mut self, kind: WordKind) -> Reg {
        self.temps(vec![kind]).first
    }

    /// Allocates a range of temporaries.
    pub(super) fn temps(&mut self, kinds: Vec<WordKind>) -> Regs {
        let kinds: Vec<WordKind> = kinds.into_iter().map(|kind| self.kind(kind)).collect();
        let count = kinds.len() as u16;
        if count == 0 {
            return Regs { first: 0, count };
        }
        let first = match self.free.get_mut(&kinds).and_then(Vec::pop) {
            Some(first) => first,
            None => self.fixed(&kinds),
        };
        self.in_use.push((kinds, first));
        Regs { first, count }
    }

    /// Returns a mark for [`release`](Self::release).
    pub(super) fn mark(&self) -> usize {
        self.in_use.len()
    }

    /// Frees the temporaries that were allocated since the mark.
    pub(super) fn release(&mut self, mark: usize) {
        for (kinds, first) in self.in_use.drain(mark..) {
            self.free.entry(kinds).or_default().push(first);
        }
    }
}
