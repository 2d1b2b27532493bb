//! Selects the rows to show: all, those at the start and the end, or those around a step.

use super::{ColumnId, ColumnState, Gap, GapReason, Item};
use std::collections::{BTreeMap, VecDeque};

/// The selection of rows to show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Window {
    /// All rows.
    All,
    /// Only this many rows at the start and at the end of a long run.
    Ends {
        /// Number of rows at the start.
        first: usize,
        /// Number of rows at the end.
        last: usize,
    },
    /// The rows of the steps from the first number to the second one, inclusive.
    Steps(u64, u64),
}

/// Collects rows, and drops those outside the window immediately, so that a run of any length needs little memory.
#[derive(Clone, Debug)]
pub(super) struct Collector {
    window: Window,
    kept: Vec<Item>,
    dropped: DroppedRows,
    last: VecDeque<Item>,
    after: DroppedRows,
}

#[derive(Clone, Default, Debug)]
struct DroppedRows {
    steps: u64,
    any: bool,
    states: BTreeMap<ColumnId, ColumnState>,
}

impl DroppedRows {
    fn add(&mut self, item: Item) {
        let (steps, states) = match item {
            Item::Row(row) => (u64::from(row.counts), row.states),
            Item::Gap(gap) => (gap.steps, gap.states),
        };
        self.steps += steps;
        self.any = true;
        self.states.extend(states);
    }

    fn gap(self, why: GapReason) -> Option<Item> {
        let states = self.states.into_iter().collect();
        self.any.then_some(Item::Gap(Gap { why, steps: self.steps, states }))
    }
}

impl Collector {
    pub(super) fn new(window: Window) -> Self {
        let (dropped, after) = (DroppedRows::default(), DroppedRows::default());
        Self { window, kept: Vec::new(), dropped, last: VecDeque::new(), after }
    }

    pub(super) fn push(&mut self, item: Item) {
        let step = if let Item::Row(row) = &item { Some(row.step) } else { None };
        match (self.window, step) {
            (Window::All, _) => self.kept.push(item),
            (Window::Ends { first, .. }, _) if self.kept.len() < first => self.kept.push(item),
            (Window::Ends { last, .. }, _) => {
                self.last.push_back(item);
                if self.last.len() > last {
                    self.dropped.add(self.last.pop_front().expect("one was pushed"));
                }
            }
            (Window::Steps(from, _), Some(step)) if step < from => self.dropped.add(item),
            (Window::Steps(_, to), Some(step)) if step > to => self.after.add(item),
            (Window::Steps(..), _) => self.kept.push(item),
        }
    }

    pub(super) fn finish(self) -> Vec<Item> {
        match self.window {
            Window::Steps(..) => {
                let (before, after) = (self.dropped.gap(GapReason::Outside), self.after.gap(GapReason::Outside));
                before.into_iter().chain(self.kept).chain(after).collect()
            }
            _ => self.kept.into_iter().chain(self.dropped.gap(GapReason::Long)).chain(self.last).collect(),
        }
    }
}

impl super::Timeline {
    /// Replaces the rows outside the window with gaps.
    #[must_use]
    pub fn within(mut self, window: Window) -> Self {
        let mut collector = Collector::new(window);
        self.items.into_iter().for_each(|item| collector.push(item));
        self.items = collector.finish();
        self
    }

    /// Keeps at most about `most` rows: those at the start, those at the end, and those around marked ones.
    #[must_use]
    pub fn brief(mut self, most: usize) -> Self {
        if self.items.len() <= most {
            return self;
        }
        let (len, part) = (self.items.len(), (most / 4).max(1));
        let marked = |item: &Item| matches!(item, Item::Row(row) if row.mark.is_some());
        let marked: Vec<usize> = (0..len).filter(|i| marked(&self.items[*i])).collect();
        // The first and the last marked rows, with a row before and a row after each of them.
        let some = (part / 3).max(1);
        let near = marked.iter().take(some).chain(marked.iter().rev().take(some));
        let mut keep = vec![false; len];
        near.for_each(|i| keep[i.saturating_sub(1)..(i + 2).min(len)].fill(true));
        keep[..part].fill(true);
        keep[len - part..].fill(true);
        let mut dropped = DroppedRows::default();
        let mut items = Vec::new();
        for (item, keep) in std::mem::take(&mut self.items).into_iter().zip(keep) {
            if keep {
                items.extend(std::mem::take(&mut dropped).gap(GapReason::Long));
                items.push(item);
            } else {
                dropped.add(item);
            }
        }
        self.items = items;
        self
    }
}
