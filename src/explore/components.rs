//! The contents of slots that a search has met. Each has a number, and a state is a vector of such numbers
//! ([`Slots`]).
//!
//! All workers share the contents. The number of a content depends on which worker has met it first, and must not
//! reach any result.

use super::worker::AFTER_TICKS;
use crate::world::{Canonicalizer, Facts, Machine, Meets, SlotContent, Slots, Snapshot};
use parking_lot::RwLock;
use std::collections::BTreeMap;

/// A content with its number's data.
struct Known<S> {
    digest: u128,
    facts: Facts,
    content: SlotContent<S>,
}

struct Contents<S> {
    all: Vec<Known<S>>,
    // Numbers by digest. The digest of a content depends on its slot, too.
    numbers: BTreeMap<u128, u32>,
    // Numbers of the contents of the clock's slot, by instant.
    instants: BTreeMap<u64, u32>,
    bytes: u64,
    // Upper bound of the number of states that the choices of any state lead to.
    widest: u64,
    // Bytes of the largest content.
    largest: u64,
    // Whether some step may change more than the slot of its thread and one other.
    spreads: bool,
}

/// What all workers of a search share.
pub(super) struct Shared<G: Snapshot> {
    pub(super) slots: Slots,
    /// Whether states are renamed, which may change all slots.
    pub(super) renames: bool,
    /// Digest of a state less the digests of the contents of its slots. It is the same for all states.
    rest: u128,
    contents: RwLock<Contents<G::Stand>>,
}

/// Number of no content.
pub(super) const NO_CONTENT: u32 = u32::MAX;

// Bytes of an entry of a map, approximately.
const OF_AN_ENTRY: u64 = 40;

/// A machine that is brought from state to state, and what its worker knows of the contents.
pub(super) struct Scratch<G: Snapshot> {
    pub(super) machine: Machine<G>,
    // The machine as it was when it was divided into slots.
    first: Box<Machine<G>>,
    /// Facts of each content.
    facts: Vec<Facts>,
    digests: Vec<u128>,
    // The content of each slot that the machine has now. `NO_CONTENT` if it may have another one.
    at: Vec<u32>,
    room: Canonicalizer,
}

impl<G: Snapshot> Shared<G> {
    /// Divides the states of a program into slots. Returns the shared part and the vector of the first state. `None` if
    /// the state does not fit into slots. `digest` is that of the state.
    pub(super) fn new(first: &Machine<G>, digest: u128) -> Option<(Self, Scratch<G>, Vec<u32>)> {
        let mut machine = first.clone();
        let slots = machine.slots()?;
        let contents = Contents {
            all: Vec::new(),
            numbers: BTreeMap::new(),
            instants: BTreeMap::new(),
            bytes: 0,
            widest: 0,
            largest: 0,
            spreads: false,
        };
        let mut shared = Self { rest: 0, contents: RwLock::new(contents), slots, renames: false };
        let mut scratch = Scratch::new(&shared, machine);
        let none = vec![NO_CONTENT; shared.slots.len()];
        let mut vector = Vec::new();
        if !scratch.intern_all(&shared, &none, &mut vector) {
            return None;
        }
        shared.rest = digest.wrapping_sub(scratch.sum(&vector));
        Some((shared, scratch, vector))
    }

    /// Upper bound of the number of states that the choices of any state lead to.
    pub(super) fn widest(&self) -> u64 {
        self.contents.read().widest
    }

    /// Upper bound of the bytes of the contents that a new state may bring, approximately.
    pub(super) fn growth(&self) -> u64 {
        let contents = self.contents.read();
        let changed = match (self.renames, contents.spreads) {
            (true, _) => self.slots.len(),
            (false, true) => self.slots.threads + self.slots.queues().len(),
            (false, false) => 2,
        };
        contents.largest * changed.max(2) as u64
    }

    /// Bytes that the contents take, approximately.
    pub(super) fn bytes(&self) -> u64 {
        self.contents.read().bytes
    }
}

impl<G: Snapshot> Scratch<G> {
    fn new(shared: &Shared<G>, machine: Machine<G>) -> Self {
        let at = vec![NO_CONTENT; shared.slots.len()];
        Self {
            first: Box::new(machine.clone()),
            machine,
            facts: Vec::new(),
            digests: Vec::new(),
            at,
            room: Canonicalizer::new(),
        }
    }

    /// Returns another machine for the same search.
    pub(super) fn another(&self, shared: &Shared<G>) -> Self {
        let mut other = Self::new(shared, (*self.first).clone());
        other.learn(shared);
        other
    }

    /// Returns what a content says about the states that have it.
    #[inline(always)]
    pub(super) fn facts(&self, number: u32) -> &Facts {
        &self.facts[number as usize]
    }

    /// Returns the digest of a content.
    #[inline(always)]
    pub(super) fn digest(&self, number: u32) -> u128 {
        self.digests[number as usize]
    }

    /// Returns the digest of a state.
    pub(super) fn digest_of(&self, shared: &Shared<G>, vector: &[u32]) -> u128 {
        shared.rest.wrapping_add(self.sum(vector))
    }

    fn sum(&self, vector: &[u32]) -> u128 {
        vector.iter().fold(0, |sum: u128, number| sum.wrapping_add(self.digest(*number)))
    }

    /// Makes the facts of all contents known here.
    pub(super) fn learn(&mut self, shared: &Shared<G>) {
        let contents = shared.contents.read();
        for known in &contents.all[self.facts.len()..] {
            self.facts.push(known.facts);
            self.digests.push(known.digest);
        }
    }

    /// Brings the machine to a state.
    pub(super) fn load(&mut self, shared: &Shared<G>, vector: &[u32]) {
        #[cfg(debug_assertions)]
        self.learn(shared);
        let slots = &shared.slots;
        let contents = shared.contents.read();
        if self.machine.begin_load(slots, &self.first) {
            self.at.fill(NO_CONTENT);
        }
        let clock = slots.clock();
        // Times are loaded relative to the clock.
        if self.at[clock] != vector[clock] {
            self.at.fill(NO_CONTENT);
            self.machine.load_slot(slots, clock, &contents.all[vector[clock] as usize].content);
        }
        for (slot, number) in vector.iter().enumerate() {
            if self.at[slot] != *number {
                self.machine.load_slot(slots, slot, &contents.all[*number as usize].content);
            }
        }
        self.at.copy_from_slice(vector);
        self.machine.end_load(slots);
        #[cfg(debug_assertions)]
        self.check_loaded(shared, vector);
    }

    // Panics if a loaded state is not the one that was saved.
    #[cfg(debug_assertions)]
    fn check_loaded(&mut self, shared: &Shared<G>, vector: &[u32]) {
        let wrong: Vec<usize> = (0..vector.len()).filter(|slot| !self.has(shared, *slot, vector[*slot])).collect();
        assert!(wrong.is_empty(), "loaded other contents than were saved: {}", shared.slots.names(&wrong));
        assert_eq!(self.machine.canonical().digest(), self.digest_of(shared, vector), "loaded another state");
    }

    /// Returns whether the machine is in this state.
    pub(super) fn is_at(&self, vector: &[u32]) -> bool {
        self.at == vector
    }

    /// Records that a step has changed the content of a slot.
    pub(super) fn forget(&mut self, slot: usize) {
        self.at[slot] = NO_CONTENT;
    }

    /// Records that a step may have changed all slots.
    pub(super) fn forget_all(&mut self) {
        self.at.fill(NO_CONTENT);
    }

    /// Returns whether the machine has this content in a slot.
    pub(super) fn has(&mut self, shared: &Shared<G>, slot: usize, number: u32) -> bool {
        let digest = self.machine.slot_digest(&shared.slots, slot, &mut self.room);
        digest == Some(self.digest(number))
    }

    /// Returns the number of the content that the machine has in a slot. `None` if the slot cannot be stored by
    /// itself. `before` is the number before the step.
    pub(super) fn intern(&mut self, shared: &Shared<G>, slot: usize, before: u32) -> Option<u32> {
        if slot == shared.slots.clock() {
            return Some(self.intern_clock(shared));
        }
        let digest = self.machine.slot_digest(&shared.slots, slot, &mut self.room)?;
        if before != NO_CONTENT && self.digest(before) == digest {
            return Some(before);
        }
        let known = shared.contents.read().numbers.get(&digest).copied();
        Some(match known {
            Some(number) => self.learned(shared, number),
            None => self.add(shared, slot, digest),
        })
    }

    fn learned(&mut self, shared: &Shared<G>, number: u32) -> u32 {
        if number as usize >= self.facts.len() {
            self.learn(shared);
        }
        number
    }

    fn intern_clock(&mut self, shared: &Shared<G>) -> u32 {
        let now = self.machine.world.now();
        let known = shared.contents.read().instants.get(&now).copied();
        match known {
            Some(number) => self.learned(shared, number),
            None => self.add(shared, shared.slots.clock(), 0),
        }
    }

    #[inline(never)]
    fn add(&mut self, shared: &Shared<G>, slot: usize, digest: u128) -> u32 {
        let facts = self.machine.facts(&shared.slots, slot);
        let content = self.machine.save_slot(&shared.slots, slot);
        let now = self.machine.world.now();
        let mut contents = shared.contents.write();
        let contents = &mut *contents;
        let next = contents.all.len() as u32;
        // Another worker may have added it in the meantime.
        let is_clock = slot == shared.slots.clock();
        let number = match is_clock {
            true => *contents.instants.entry(now).or_insert(next),
            false => *contents.numbers.entry(digest).or_insert(next),
        };
        if number == next {
            let bytes = content.bytes() + size_of::<Known<G::Stand>>() as u64 + OF_AN_ENTRY;
            contents.bytes += bytes;
            contents.largest = contents.largest.max(bytes);
            contents.spreads |= facts.meets == Meets::Unknown && slot < shared.slots.threads;
            contents.spreads |= facts.last > 0 || facts.may_fire;
            contents.widest = contents.widest.max(self.widest(shared, &facts));
            contents.all.push(Known { digest, facts, content });
        }
        for known in &contents.all[self.facts.len()..] {
            self.facts.push(known.facts);
            self.digests.push(known.digest);
        }
        number
    }

    /// Returns the vector of the state of another machine, if it fits into slots.
    pub(super) fn vector_of(&mut self, shared: &Shared<G>, machine: &Machine<G>) -> Option<Vec<u32>> {
        let own = std::mem::replace(&mut self.machine, machine.clone());
        let (none, mut vector) = (vec![NO_CONTENT; shared.slots.len()], Vec::new());
        let fits = self.intern_all(shared, &none, &mut vector);
        self.machine = own;
        fits.then_some(vector)
    }

    fn widest(&self, shared: &Shared<G>, facts: &Facts) -> u64 {
        let threads = shared.slots.threads as u64;
        facts.last.min(AFTER_TICKS)
            + threads * threads.max(2).max(u64::from(facts.answers))
            + self.machine.world.setup().events.len() as u64
    }

    /// Computes the vector of the state that the machine has. Returns false if it does not fit into slots. `before` is
    /// the state before the step.
    pub(super) fn intern_all(&mut self, shared: &Shared<G>, before: &[u32], vector: &mut Vec<u32>) -> bool {
        vector.clear();
        if !self.machine.fits(&shared.slots) {
            return false;
        }
        for (slot, before) in before.iter().enumerate() {
            match self.intern(shared, slot, *before) {
                Some(number) => vector.push(number),
                None => return false,
            }
        }
        true
    }

    /// Returns an upper bound of the number of states that the choices of a state lead to.
    pub(super) fn most(&self, shared: &Shared<G>, vector: &[u32]) -> u64 {
        let slots = &shared.slots;
        let facts = || vector.iter().map(|number| self.facts(*number));
        let ticks = facts().map(|facts| facts.last).max().unwrap_or(0).min(AFTER_TICKS);
        let threads: u64 = facts().take(slots.threads).map(|facts| facts.most_answers(slots)).sum();
        ticks + threads + self.machine.world.setup().events.len() as u64
    }
}
