//! The places of lanes and words, which are the same for all runs of a picture.

use super::super::layout::{Layout, shorten, wrap};
use super::super::{ColumnId, Item, RowKind, Timeline, TimelineRow};
use super::sheet::{CHAR, SMALL};
use crate::base::clean;
use std::collections::BTreeMap;
use unicode_width::UnicodeWidthStr;

/// Width of the numbers of steps.
pub(super) const NUMBERS: i64 = 34;
/// Height of the first line of a row.
pub(super) const ROW: i64 = 20;
/// Height of each further line.
pub(super) const LINE: i64 = 14;

// Width of the text timeline whose columns the lanes have: cuts names and joins lanes of very many threads.
const COLUMNS: usize = 150;
// Width of the words in characters.
const WORDS: usize = 34;
// Width of the words in characters if the picture has one run.
const WORDS_ALONE: usize = 56;
// Half of the least width of a task.
const HALF_BOX: i64 = 8;
// The longest name of a task, in characters.
const LONGEST_TASK: usize = 22;
// Beyond this number of lanes the boxes of tasks are narrow and have no names.
const MOST_NAMED: usize = 8;

/// A lane: a column, or several columns that share the space.
pub(super) struct Lane {
    pub(super) columns: usize,
    pub(super) label: String,
    pub(super) kind: &'static str,
    /// The middle, from the left side of the run.
    pub(super) center: i64,
    /// Half of the width of a task.
    pub(super) half: i64,
}

/// The places of lanes and words.
pub(super) struct Frame {
    pub(super) lanes: Vec<Lane>,
    lane_of: BTreeMap<ColumnId, usize>,
    /// Whether the boxes of tasks are wide enough for their names.
    pub(super) named: bool,
    /// Where the lanes end.
    pub(super) lanes_end: i64,
    /// Where the words begin.
    pub(super) words: i64,
    /// Width of a run.
    pub(super) width: i64,
    /// The meaning of the heads that are not full names.
    pub(super) legend: Vec<String>,
    columns: usize,
    names: BTreeMap<ColumnId, String>,
    who: bool,
}

impl Frame {
    /// Places the lanes of all columns that any of the rows refers to. `all` has the rows of all runs.
    pub(super) fn new(all: &Timeline, alone: bool) -> Self {
        let layout = Layout::new(all, COLUMNS);
        let tasks = widest_tasks(all);
        let named = layout.lanes.len() <= MOST_NAMED && layout.who == 0;
        let mut lanes = Vec::new();
        let mut x = NUMBERS;
        for lane in &layout.lanes {
            let column = lane.columns[0];
            let half = match tasks.get(&column).filter(|_| named && lane.columns.len() == 1) {
                Some(task) => (*task as i64 * SMALL / 2 + 5).max(HALF_BOX),
                None => HALF_BOX,
            };
            let label = lane.label.width() as i64 * CHAR;
            let width = (label + 12).max(2 * half + 12);
            let kind = if lane.columns.len() == 1 && all.columns[column].looper { "looper" } else { "" };
            let (columns, label) = (lane.columns.len(), lane.label.clone());
            lanes.push(Lane { columns, label, kind, center: x + width / 2, half });
            x += width;
        }
        let most = if alone { WORDS_ALONE } else { WORDS };
        let mut frame = Self {
            lanes,
            lane_of: layout.lane_of.clone(),
            named,
            lanes_end: x,
            words: x + 8,
            width: 0,
            legend: layout.legend(all).iter().map(|entry| entry.replace('\u{a0}', " ")).collect(),
            columns: most,
            names: layout.names.clone(),
            who: layout.who > 0,
        };
        let width = |row: &TimelineRow| {
            frame.lines(all, row).iter().map(|(what, place)| what.width() + place.width() + 2).max().unwrap_or(0)
        };
        let widest = all.rows().map(width).max().unwrap_or(0).min(most + 2);
        frame.width = frame.words + (widest as i64 * CHAR).max(80);
        frame
    }

    /// Returns the lane of a column.
    pub(super) fn lane(&self, column: ColumnId) -> Option<&Lane> {
        self.lane_of.get(&column).map(|lane| &self.lanes[*lane])
    }

    /// Returns the name of a task as it fits its box.
    pub(super) fn task(&self, name: &str) -> String {
        shorten(&clean(name), LONGEST_TASK)
    }

    /// Returns the lines of a row, each as words and place.
    pub(super) fn lines(&self, timeline: &Timeline, row: &TimelineRow) -> Vec<(String, String)> {
        let who = row.column.and_then(|c| self.names.get(&c)).filter(|_| self.who && row.kind != RowKind::Fact);
        let what = clean(&who.map_or_else(|| row.what.clone(), |who| format!("{who}: {}", row.what)));
        let mut lines: Vec<(String, String)> =
            wrap(&what, self.columns).into_iter().map(|line| (line, String::new())).collect();
        let place = clean(&timeline.place(row));
        if place.is_empty() {
            return lines;
        }
        let last = lines.last_mut().expect("a text has a line");
        if last.0.width() + 2 + place.width() <= self.columns {
            last.1 = place;
        } else {
            lines.push((String::new(), shorten(&place, self.columns - 2)));
        }
        lines
    }

    /// Returns the height of a row or gap.
    pub(super) fn height(&self, timeline: &Timeline, item: &Item) -> i64 {
        match item {
            Item::Row(row) => ROW + LINE * (self.lines(timeline, row).len() as i64 - 1),
            Item::Gap(gap) => gap.words().map_or(0, |_| ROW),
        }
    }

    /// Returns the lines of a text over the whole width of a run.
    pub(super) fn wrap(&self, text: &str) -> Vec<String> {
        wrap(&clean(text), (self.width / CHAR) as usize)
    }
}

/// Returns the name of the task that a row begins.
pub(super) fn task_name(row: &TimelineRow) -> Option<&str> {
    let name = row.what.strip_prefix("begin ").filter(|_| row.kind == RowKind::Begin && row.made.is_some())?;
    Some(name.split(" (from").next().unwrap_or(name))
}

// Returns the width in characters of the longest task of each column.
fn widest_tasks(all: &Timeline) -> BTreeMap<ColumnId, usize> {
    let mut widest = BTreeMap::new();
    let rows = all.items.iter().filter_map(|item| if let Item::Row(row) = item { Some(row) } else { None });
    for row in rows {
        if let (Some(column), Some(name)) = (row.column, task_name(row)) {
            let width = clean(name).width().min(LONGEST_TASK);
            let most: &mut usize = widest.entry(column).or_default();
            *most = width.max(*most);
        }
    }
    widest
}
