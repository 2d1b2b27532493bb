//! Sets of slots: what steps carry, in tables from which old bits are dropped when they are read.

use crate::base::bits_of;
use crate::base::mutant::{self, Mutant};

/// A set of slots.
pub(super) type Slots<const W: usize> = [u64; W];

/// Whether a slot is in a set.
pub(super) fn has<const W: usize>(set: &Slots<W>, slot: usize) -> bool {
    set[slot / 64] >> (slot % 64) & 1 == 1
}

/// Adds a slot to a set.
pub(super) fn insert<const W: usize>(set: &mut Slots<W>, slot: usize) {
    set[slot / 64] |= 1 << (slot % 64);
}

/// Removes a slot from a set.
pub(super) fn remove<const W: usize>(set: &mut Slots<W>, slot: usize) {
    set[slot / 64] &= !(1 << (slot % 64));
}

/// Joins a set to another one.
pub(super) fn join<const W: usize>(to: &mut Slots<W>, from: &Slots<W>) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to |= from);
}

/// What a step carries: the transactions that it belongs to, and those that a path has left that leads to it.
#[derive(Clone, Copy)]
pub(super) struct Carried<const W: usize> {
    pub(super) own: Slots<W>,
    pub(super) after: Slots<W>,
}

impl<const W: usize> Carried<W> {
    pub(super) const EMPTY: Self = Self { own: [0; W], after: [0; W] };

    fn join(&mut self, other: &Self) {
        join(&mut self.own, &other.own);
        join(&mut self.after, &other.after);
    }
}

/// When slots were given back.
pub(super) struct GivenBack {
    // The step of each slot, from 1; 0 if it was never given back.
    at: Vec<u32>,
    last: u32,
}

impl GivenBack {
    pub(super) fn new(slots: usize) -> Self {
        Self { at: vec![0; slots], last: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.at.fill(0);
        self.last = 0;
    }

    /// Gives a slot back before this step, which is counted from 1.
    pub(super) fn add(&mut self, slot: usize, now: u32) {
        self.at[slot] = now;
        self.last = now;
    }

    // Drops the bits of slots that were given back since a set was last joined.
    fn drop_since<const W: usize>(&self, set: &mut Slots<W>, stamp: u32) {
        for (i, word) in set.iter_mut().enumerate() {
            for bit in bits_of(*word) {
                if self.at[i * 64 + bit] > stamp {
                    *word &= !(1 << bit);
                }
            }
        }
    }
}

// A row of a table, with the step at which it was last joined.
#[derive(Clone, Copy)]
struct Row<const W: usize> {
    carried: Carried<W>,
    stamp: u32,
}

/// A table of what steps have left behind.
pub(super) struct Table<const W: usize> {
    rows: Vec<Row<W>>,
}

impl<const W: usize> Table<W> {
    const EMPTY: Row<W> = Row { carried: Carried::EMPTY, stamp: 0 };

    pub(super) fn new(rows: usize) -> Self {
        Self { rows: vec![Self::EMPTY; rows] }
    }

    pub(super) fn clear(&mut self) {
        self.rows.fill(Self::EMPTY);
    }

    // Drops the bits of a row that have been given back.
    fn refresh(&mut self, at: usize, now: u32, slots: &GivenBack) -> &mut Carried<W> {
        let row = &mut self.rows[at];
        if row.stamp < slots.last && !mutant::is(Mutant::SlotNotCleared) {
            slots.drop_since(&mut row.carried.own, row.stamp);
            slots.drop_since(&mut row.carried.after, row.stamp);
        }
        row.stamp = now;
        &mut row.carried
    }

    /// Joins a row to what flows into a step.
    pub(super) fn take(&mut self, incoming: &mut Carried<W>, at: usize, now: u32, slots: &GivenBack) {
        incoming.join(self.refresh(at, now, slots));
    }

    /// Replaces a row by what a step leaves behind.
    pub(super) fn put(&mut self, left: &Carried<W>, at: usize, now: u32) {
        self.rows[at] = Row { carried: *left, stamp: now };
    }

    /// Adds what a step leaves behind to a row.
    pub(super) fn add(&mut self, left: &Carried<W>, at: usize, now: u32, slots: &GivenBack) {
        self.refresh(at, now, slots).join(left);
    }
}
