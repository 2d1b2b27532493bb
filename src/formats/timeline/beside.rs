//! Compares two runs of one model: which rows both begin with, and which columns belong together.

use super::names::last_parts;
use super::{Column, ColumnId, Item, Timeline, TimelineRow};
use crate::base::IndexVec;
use std::collections::BTreeMap;

impl Timeline {
    /// Gives columns of one name the same id in both timelines, so that a column means the same thread in both, and
    /// returns the number of items that both runs begin with.
    ///
    /// The items must be complete: gaps and folded loops count as differences.
    pub fn put_beside(&mut self, other: &mut Timeline) -> usize {
        let mut columns = self.columns.clone();
        let known: BTreeMap<(String, usize), ColumnId> = named(&columns).into_iter().zip(columns.ids()).collect();
        let ids: Vec<ColumnId> = named(&other.columns)
            .iter()
            .zip(other.columns.iter())
            .map(|(name, column)| known.get(name).copied().unwrap_or_else(|| columns.add(column.clone())))
            .collect();
        other.renumber(|column| ids[column.0 as usize]);
        self.columns.clone_from(&columns);
        other.columns = columns;
        self.items.iter().zip(&other.items).take_while(|(a, b)| same(a, b)).count()
    }

    /// Splits the run after this number of items. The rows about the end belong to the second part.
    #[must_use]
    pub fn split(mut self, at: usize) -> (Self, Self) {
        let rest = self.items.split_off(at);
        let (first, ending) = (std::mem::take(&mut self.items), std::mem::take(&mut self.ending));
        let second = Self { items: rest, ending, ..self.clone() };
        self.items = first;
        (self, second)
    }

    fn renumber(&mut self, new: impl Fn(ColumnId) -> ColumnId) {
        let row = |row: &mut TimelineRow| {
            row.column = row.column.map(&new);
            row.arrow.iter_mut().for_each(|arrow| arrow.to = new(arrow.to));
            row.states.iter_mut().for_each(|(column, _)| *column = new(*column));
        };
        for item in &mut self.items {
            match item {
                Item::Row(r) => row(r),
                Item::Gap(gap) => gap.states.iter_mut().for_each(|(column, _)| *column = new(*column)),
            }
        }
        self.ending.iter_mut().for_each(row);
    }
}

// Returns the name of each column, with its number among the columns of that name: a name of a deep pedigree is
// shortened, so that it may not be the only one.
fn named(columns: &IndexVec<ColumnId, Column>) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut all = Vec::with_capacity(columns.len());
    for column in columns.iter() {
        let count = counts.entry(&column.name).or_default();
        *count += 1;
        all.push((column.name.clone(), *count));
    }
    all
}

// Returns whether two runs do the same in a row. The words are compared with short names, because a name is shortened
// only if no other one of its run ends in the same way.
fn same(a: &Item, b: &Item) -> bool {
    let (Item::Row(a), Item::Row(b)) = (a, b) else { return false };
    let of = |r: &TimelineRow| (r.step, r.counts, r.now, r.column, r.kind, r.site, r.arrow, r.ends);
    of(a) == of(b) && last_parts(&a.what) == last_parts(&b.what)
}
