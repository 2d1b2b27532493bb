//! Reduces the rows of a timeline: rows of other columns become gaps, and a loop is written once.

use super::{ColumnId, ColumnState, Gap, GapReason, Item, RowKind, Timeline, TimelineRow};
use std::collections::{BTreeMap, BTreeSet};

// Maximum number of rows in a loop body that is recognized.
const LONGEST_LOOP: usize = 12;
// Minimum number of repetitions of a loop that is folded. With fewer the text would not be shorter.
const TIMES: usize = 3;

impl Timeline {
    /// Keeps only the rows of these columns, rows of no column, and rows with an arrow to one of these columns. All
    /// others become gaps.
    #[must_use]
    pub fn only(mut self, columns: &BTreeSet<ColumnId>) -> Self {
        let wanted = |row: &TimelineRow| {
            let arrow = row.arrow.is_some_and(|a| columns.contains(&a.to));
            row.column.is_none_or(|c| columns.contains(&c)) || arrow
        };
        let mut items: Vec<Item> = Vec::new();
        for item in self.items {
            match item {
                Item::Row(row) if !wanted(&row) => match items.last_mut() {
                    Some(Item::Gap(gap)) if gap.why == GapReason::Others => {
                        gap.steps += u64::from(row.counts);
                        gap.states.extend(row.states);
                    }
                    _ => items.push(Item::Gap(Gap {
                        why: GapReason::Others,
                        steps: u64::from(row.counts),
                        states: row.states,
                    })),
                },
                item => items.push(item),
            }
        }
        self.items = items;
        self.ending.retain(wanted);
        self
    }

    /// Keeps the first repetition of each loop, and replaces the others with a gap.
    #[must_use]
    pub fn folded(mut self) -> Self {
        let mut items: Vec<Item> = Vec::with_capacity(self.items.len());
        let mut at = 0;
        while at < self.items.len() {
            let Some((period, times)) = repetition(&self.items[at..]) else {
                items.push(self.items[at].clone());
                at += 1;
                continue;
            };
            items.extend_from_slice(&self.items[at..at + period]);
            let again = &self.items[at + period..at + period * times];
            let mut states: BTreeMap<ColumnId, ColumnState> = BTreeMap::new();
            let mut steps = 0;
            for item in again {
                if let Item::Row(row) = item {
                    states.extend(row.states.iter().copied());
                    steps += u64::from(row.counts);
                }
            }
            let each = steps / (times as u64 - 1);
            items.push(Item::Gap(Gap { why: GapReason::Again(each), steps, states: states.into_iter().collect() }));
            at += period * times;
        }
        self.items = items;
        self
    }
}

// Returns the number of rows of a loop body, and of its repetitions, if the items start with a loop.
fn repetition(items: &[Item]) -> Option<(usize, usize)> {
    (1..=LONGEST_LOOP.min(items.len() / TIMES)).find_map(|period| {
        let body = &items[..period];
        let steps = body.iter().any(|i| matches!(i, Item::Row(row) if row.counts));
        let mut times = 1;
        while items[period * times..].len() >= period
            && body.iter().zip(&items[period * times..]).all(|(a, b)| alike(a, b))
        {
            times += 1;
        }
        (steps && times >= TIMES).then_some((period, times))
    })
}

// Returns whether two rows are equal except for their numbers.
fn alike(a: &Item, b: &Item) -> bool {
    let (Item::Row(a), Item::Row(b)) = (a, b) else { return false };
    let same =
        (a.column, a.kind, a.site, a.counts, a.arrow, a.ends) == (b.column, b.kind, b.site, b.counts, b.arrow, b.ends);
    same && said(a) == said(b) && a.mark.is_none() && b.mark.is_none()
}

// Returns the text of a row without the instant and the step in it.
fn said(row: &TimelineRow) -> &str {
    match row.kind {
        RowKind::Clock => "",
        RowKind::Begin => row.what.split(" (from").next().unwrap_or(""),
        _ => &row.what,
    }
}
