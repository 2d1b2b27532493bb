//! Registers of a body. Each holds values of one kind only, so that a state can be written down without asking what was there last.

use super::super::instr::{Reg, Regs};
use crate::world::Kind;
use std::collections::BTreeMap;

/// Registers given out and free ones.
#[derive(Default)]
pub(super) struct Registers {
    /// The kind of each.
    pub(super) kinds: Vec<Kind>,
    pub(super) overflowed: bool,
    // Runs of registers by their kinds.
    free: BTreeMap<Vec<Kind>, Vec<Reg>>,
    in_use: Vec<(Vec<Kind>, Reg)>,
}

impl Registers {
    /// Registers that stay taken: locals.
    pub(super) fn fixed(&mut self, kinds: &[Kind]) -> Reg {
        let Ok(first) = Reg::try_from(self.kinds.len()) else {
            self.overflowed = true;
            return 0;
        };
        if self.kinds.len() + kinds.len() > usize::from(Reg::MAX) {
            self.overflowed = true;
            return 0;
        }
        self.kinds.extend_from_slice(kinds);
        first
    }

    /// A temporary, until [`release`](Self::release).
    pub(super) fn temp(&mut self, kind: Kind) -> Reg {
        self.temps(vec![kind]).first
    }

    /// A run of temporaries.
    pub(super) fn temps(&mut self, kinds: Vec<Kind>) -> Regs {
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

    /// A point to release to.
    pub(super) fn mark(&self) -> usize {
        self.in_use.len()
    }

    /// Frees the temporaries taken since the mark.
    pub(super) fn release(&mut self, mark: usize) {
        for (kinds, first) in self.in_use.drain(mark..) {
            self.free.entry(kinds).or_default().push(first);
        }
    }
}
