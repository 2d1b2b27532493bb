//! What the accesses of a run do to references (CAFA, section 4): uses, tests, guards and frees.
//!
//! The check of the program has found which reads are uses, which are tested, and which tests guard a use on every way
//! to it ([`Uses`](crate::event::Uses)). Here a guard is the read that the same task has performed.

use crate::event::{AccessKind, NULL, Op, SiteId, Value};
use crate::trace::Mark;
use crate::world::World;
use std::collections::BTreeMap;

/// The tested reads of a run that have come out as "not null". `H` names a thread, `C` the task that it runs, and
/// `T` an access.
#[derive(Clone, Debug)]
pub struct References<H, C, T> {
    // The last one of each site on each thread, with the task that has performed it.
    last: BTreeMap<(H, SiteId), (C, T)>,
}

impl<H, C, T> Default for References<H, C, T> {
    fn default() -> Self {
        Self { last: BTreeMap::new() }
    }
}

impl<H: Ord, C: PartialEq, T: Copy + Ord> References<H, C, T> {
    /// Returns the mark of the access `this` to a cell, and the access that guards it. `value` is the value of its
    /// operation, which is performed at the site `here`.
    pub fn mark(
        &mut self,
        world: &World,
        (thread, context): (H, C),
        here: SiteId,
        (op, value): (&Op, Value),
        (kind, this): (AccessKind, T),
    ) -> (Mark, Option<T>)
    where
        H: Copy,
    {
        let uses = &world.setup().uses;
        if kind == AccessKind::Write {
            let frees = written(op) == Some(NULL) && uses.writes_reference(here);
            return (Mark { frees, ..Mark::default() }, None);
        }
        let Some(row) = uses.of(here) else { return (Mark::default(), None) };
        let performed = |guard: &SiteId| match self.last.get(&(thread, *guard)) {
            _ if *guard == here => Some(this),
            Some((of, access)) if *of == context => Some(*access),
            _ => None,
        };
        let guard = row.guards.iter().filter_map(performed).max();
        // A test that fails guards nothing that follows. An inner call of the same body may have performed it.
        if row.tested && value != NULL {
            self.last.insert((thread, here), (context, this));
        }
        (Mark { uses: row.derefs, tested: row.tested, ..Mark::default() }, guard)
    }
}

// The value that an operation writes, if it writes one.
fn written(op: &Op) -> Option<Value> {
    match *op {
        Op::Write(_, value) | Op::AtomicWrite(_, value) | Op::Exchange(_, value) | Op::Cas { new: value, .. } => {
            Some(value)
        }
        _ => None,
    }
}
