//! Draws the lanes of one row: the state of each column, the column that acts, and an arrow to another column.

use super::layout::Layout;
use super::{ArrowKind, ColumnId, ColumnState, RowKind, Timeline, TimelineRow, TransactionMarks};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const STEP: char = '●';
pub(super) const BEGINS: char = '┏';
pub(super) const TASK_ENDS: char = '┗';
pub(super) const BEGINS_AND_ENDS: char = '■';
pub(super) const THREAD_ENDS: char = '┴';
pub(super) const HAS_TO_WAIT: char = '○';
pub(super) const FAILS: char = '✗';
pub(super) const THROWS: char = '×';
/// Beside a column of a violated transaction: a row of it, and another row before it is over.
pub(super) const ACTS: char = '▌';
pub(super) const IS_OPEN: char = '▏';
/// In the margin: what comes between the operations of a violated transaction.
pub(super) const BETWEEN: &str = "◆";

/// Draws lanes. Keeps the state of each column, and the signs that occur.
pub(super) struct Lanes<'l> {
    layout: &'l Layout,
    states: BTreeMap<ColumnId, ColumnState>,
    transaction: Option<&'l TransactionMarks>,
    // The lanes of the transaction, without that of the environment.
    own: BTreeSet<usize>,
    pub(super) used: BTreeSet<char>,
}

pub(super) fn sign(state: ColumnState) -> char {
    match state {
        ColumnState::Absent => ' ',
        ColumnState::Ready => '│',
        ColumnState::Idle => '·',
        ColumnState::Blocked => '┆',
        ColumnState::Task => '┃',
        ColumnState::TaskBlocked => '┇',
    }
}

impl<'l> Lanes<'l> {
    pub(super) fn new(layout: &'l Layout, timeline: &'l Timeline) -> Self {
        let transaction = timeline.transaction.as_ref();
        let own = timeline.columns_of_transaction().into_iter();
        let own = own.filter_map(|column| layout.lane_of.get(&column).copied()).collect();
        Self { layout, states: BTreeMap::new(), transaction, own, used: BTreeSet::new() }
    }

    pub(super) fn change(&mut self, states: &[(ColumnId, ColumnState)]) {
        self.states.extend(states.iter().copied());
    }

    /// Draws the lanes of a row, without trailing spaces.
    pub(super) fn row(&mut self, row: &TimelineRow) -> String {
        self.change(&row.states);
        let mut cells = self.resting();
        let lane = |c: ColumnId| self.layout.lane_of.get(&c).map(|l| self.layout.lanes[*l].center);
        if row.kind == RowKind::Clock {
            let last = self.layout.lanes.last().map_or(0, |l| l.center);
            cells.iter_mut().take(last + 1).filter(|c| **c == ' ').for_each(|c| *c = '┄');
        }
        if let Some(own) = row.column.and_then(lane) {
            cells[own] = glyph(row);
            if let Some((to, kind)) = row.arrow.and_then(|a| Some((lane(a.to)?, a.kind))) {
                draw(&mut cells, own, to, kind);
            }
        }
        self.bar(row, &mut cells);
        self.finish(cells)
    }

    // Draws the bar of a transaction beside its columns, where an arrow leaves room.
    fn bar(&self, row: &TimelineRow, cells: &mut [char]) {
        let Some(transaction) = self.transaction.filter(|of| of.is_open(row.step)) else { return };
        let acting = row.column.and_then(|column| self.layout.lane_of.get(&column));
        for lane in &self.own {
            let acts = acting == Some(lane) && transaction.own.contains(&row.step);
            if let Some(cell) = cells.get_mut(self.layout.lanes[*lane].center + 1).filter(|cell| **cell == ' ') {
                *cell = if acts { ACTS } else { IS_OPEN };
            }
        }
    }

    /// Draws the lanes of a line without an event.
    pub(super) fn rest(&mut self) -> String {
        let cells = self.resting();
        self.finish(cells)
    }

    fn resting(&self) -> Vec<char> {
        let mut cells = vec![' '; self.layout.width];
        for lane in self.layout.lanes.iter().filter(|l| l.columns.len() == 1) {
            cells[lane.center] = sign(self.states.get(&lane.columns[0]).copied().unwrap_or_default());
        }
        cells
    }

    fn finish(&mut self, cells: Vec<char>) -> String {
        self.used.extend(&cells);
        cells.into_iter().collect::<String>().trim_end().to_owned()
    }
}

fn glyph(row: &TimelineRow) -> char {
    match row.kind {
        RowKind::Waits => HAS_TO_WAIT,
        RowKind::Fails | RowKind::Stands => FAILS,
        RowKind::Begin if row.ends => BEGINS_AND_ENDS,
        RowKind::Begin => BEGINS,
        _ if row.ends && row.task.is_some() => TASK_ENDS,
        _ if row.ends => THREAD_ENDS,
        RowKind::Aside => THROWS,
        RowKind::Step | RowKind::Post | RowKind::Fork | RowKind::Fire | RowKind::Clock | RowKind::Fact => STEP,
    }
}

// Draws an arrow from one cell to another one. A column that it crosses stays visible.
fn draw(cells: &mut [char], own: usize, to: usize, kind: ArrowKind) {
    let line = match kind {
        ArrowKind::Delayed => '╌',
        ArrowKind::Front => '═',
        ArrowKind::Plain | ArrowKind::Refused | ArrowKind::Back => '─',
    };
    let right = to > own;
    if own == to {
        if let Some(next) = cells.get_mut(own + 1) {
            *next = if kind == ArrowKind::Refused { 'x' } else { '<' };
        }
        return;
    }
    for cell in &mut cells[own.min(to) + 1..own.max(to)] {
        *cell = match (*cell, kind) {
            (' ', _) => line,
            (_, ArrowKind::Front) => '╪',
            _ => '┼',
        };
    }
    let point = |to_right: bool| if to_right { '>' } else { '<' };
    match kind {
        ArrowKind::Back => {
            cells[to] = if right { '┘' } else { '└' };
            let near = if right { own + 1 } else { own - 1 };
            cells[near] = point(!right);
        }
        ArrowKind::Refused => cells[to] = 'x',
        _ => cells[to] = point(right),
    }
}
