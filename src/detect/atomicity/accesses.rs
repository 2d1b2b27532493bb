//! The accesses of a location that a later access may have an edge from.
//!
//! Only the last write and the accesses since then have edges to an access of the same party: earlier ones of the party
//! lead to that write. All earlier accesses that are left are of the party of the last write, since no edge jumps over
//! a write by a third party. An access of that party looks at the new ones only, so that a location with many
//! statements costs no more than one with few.

use super::steps::{ContextNo, StepNo};

/// An access that later steps may have an edge from.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub(super) step: StepNo,
    pub(super) context: ContextNo,
    /// A transaction, or behind all transactions a context.
    pub(super) party: u32,
    /// The statement; without one, the context and a bit.
    pub(super) statement: u32,
    pub(super) writes: bool,
}

impl Access {
    // Of the accesses with one key the last one counts.
    fn key(&self) -> (u32, u32, bool) {
        (self.party, self.statement, self.writes)
    }
}

/// The accesses of one location.
#[derive(Clone, Default)]
pub(super) struct Accesses {
    // The last write and the accesses since then, by key.
    new: Vec<Access>,
    // Earlier accesses of the last write's party, by key. What is among the new ones as well has no meaning here.
    old: Vec<Access>,
}

impl Accesses {
    /// Hands over the steps from which there is an edge to an access, and adds the access.
    pub(super) fn add(&mut self, access: Access, mut edge: impl FnMut(StepNo)) {
        let conflicts = |other: &Access| (other.writes || access.writes) && other.context != access.context;
        self.new.iter().filter(|other| conflicts(other)).for_each(|other| edge(other.step));
        let is_same_party = self.old.first().is_none_or(|other| other.party == access.party);
        if !is_same_party {
            let is_old = |other: &&Access| self.new.binary_search_by_key(&other.key(), Access::key).is_err();
            self.old.iter().filter(|other| conflicts(other)).filter(is_old).for_each(|other| edge(other.step));
        }
        if access.writes {
            if !is_same_party {
                self.old.clear();
            }
            for other in self.new.drain(..).filter(|other| other.party == access.party) {
                insert(&mut self.old, other);
            }
        }
        insert(&mut self.new, access);
    }
}

fn insert(sorted: &mut Vec<Access>, access: Access) {
    match sorted.binary_search_by_key(&access.key(), Access::key) {
        Ok(at) => sorted[at] = access,
        Err(at) => {
            // There are two lists for each location, and most stay short: they grow by little.
            if sorted.len() == sorted.capacity() {
                sorted.reserve_exact(sorted.len() / 4 + 2);
            }
            sorted.insert(at, access);
        }
    }
}
