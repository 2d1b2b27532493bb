//! Draws one run, row by row: the lives of threads, the boxes of tasks, arrows, and words.

use super::super::{
    Arrow, ArrowKind, ColumnId, ColumnState, Gap, GapReason, Item, Mark, RowKind, Timeline, TimelineRow,
};
use super::frame::{Frame, LINE, Lane, NUMBERS, ROW, task_name};
use super::sheet::{CHAR, Layer};
use super::{Colours, Run, class};
use crate::base::counted;
use crate::event::ContextId;
use std::collections::{BTreeMap, BTreeSet};

/// Signs whose meaning is written below the picture if they occur.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Sign {
    Step,
    Task,
    ThreadEnds,
    Idle,
    Blocked,
    Waits,
    Clock,
    Delayed,
    Front,
    Refused,
    Acts,
    IsOpen,
    Fails,
}

impl Sign {
    pub(super) fn meaning(self) -> &'static str {
        match self {
            Sign::Step => "dot: a step",
            Sign::Task => "box: a task",
            Sign::ThreadEnds => "bar: a thread ends",
            Sign::Idle => "dotted line: an idle looper",
            Sign::Blocked => "dashed line: a thread that waits",
            Sign::Waits => "hollow dot: not a step",
            Sign::Clock => "line across: the clock moves",
            Sign::Delayed => "dashed arrow: a delayed message",
            Sign::Front => "thick arrow: a message to the front",
            Sign::Refused => "arrow to a cross: a refused message",
            Sign::Acts => "thick bar beside a lane: a step of the transaction",
            Sign::IsOpen => "thin bar beside a lane: the transaction is not over",
            Sign::Fails => "cross: the failure",
        }
    }
}

// A task whose end is not drawn yet.
struct Open {
    top: i64,
    name: Option<String>,
}

// A message whose task has not begun yet.
struct OpenMessage {
    from: i64,
    y: i64,
    to: ColumnId,
    kind: ArrowKind,
}

/// Draws the rows of a run from top to bottom.
pub(super) struct Pen<'p> {
    frame: &'p Frame,
    timeline: &'p Timeline,
    colours: &'p Colours,
    layers: &'p mut [Layer; 3],
    x: i64,
    // Top of the next row.
    y: i64,
    // Top of the first row.
    start: i64,
    // The state of each column, and since where it has it.
    states: BTreeMap<ColumnId, (ColumnState, i64)>,
    tasks: BTreeMap<ColumnId, Open>,
    sent: BTreeMap<ContextId, OpenMessage>,
    // The columns of the violated transaction that is shown.
    of_transaction: BTreeSet<ColumnId>,
    used: BTreeSet<Sign>,
}

const BACK: usize = 0;
const LINES: usize = 1;
const FRONT: usize = 2;
// Radius of a step.
const DOT: i64 = 4;

impl<'p> Pen<'p> {
    pub(super) fn new(
        frame: &'p Frame,
        timeline: &'p Timeline,
        colours: &'p Colours,
        layers: &'p mut [Layer; 3],
        (x, y): (i64, i64),
    ) -> Self {
        let (states, tasks, sent) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let of_transaction = timeline.columns_of_transaction();
        let used = BTreeSet::new();
        Self { frame, timeline, colours, layers, x, y, start: y, states, tasks, sent, of_transaction, used }
    }

    /// Draws the heads of the lanes.
    pub(super) fn heads(&mut self) {
        for lane in &self.frame.lanes {
            self.layers[FRONT].text("head mid", (self.x + lane.center, self.y + 12), &lane.label);
            if !lane.kind.is_empty() {
                self.layers[FRONT].text("small dim mid", (self.x + lane.center, self.y + 12 + LINE), lane.kind);
            }
        }
        self.skip(2 * LINE + 6);
        self.start = self.y;
    }

    /// Leaves an empty space.
    pub(super) fn skip(&mut self, height: i64) {
        self.y += height;
    }

    pub(super) fn items(&mut self, items: &[Item]) {
        for item in items {
            match item {
                Item::Row(row) => self.row(row),
                Item::Gap(gap) => self.gap(gap),
            }
        }
    }

    /// Draws the end of the run. Returns the bottom, and the signs that were used.
    pub(super) fn finish(mut self, run: &Run) -> (i64, BTreeSet<Sign>) {
        for row in &run.timeline.ending {
            self.row(row);
        }
        if run.timeline.ending.is_empty() {
            self.layers[FRONT].text("head", (self.x + self.frame.words, self.y + 14), &run.end);
            self.skip(ROW);
        }
        let columns: Vec<ColumnId> = self.states.keys().copied().collect();
        columns.into_iter().for_each(|column| self.state(column, ColumnState::Absent, self.y));
        let open: Vec<ColumnId> = self.tasks.keys().copied().collect();
        open.into_iter().for_each(|column| self.close(column, self.y));
        for sent in std::mem::take(&mut self.sent).into_values() {
            self.straight(sent.from, sent.y, Arrow { to: sent.to, kind: sent.kind });
        }
        (self.y, self.used)
    }

    fn lane(&self, column: ColumnId) -> Option<&'p Lane> {
        self.frame.lane(column)
    }

    // Returns the lane of a column that shares it with no other one.
    fn own_lane(&self, column: ColumnId) -> Option<&'p Lane> {
        self.lane(column).filter(|lane| lane.columns == 1)
    }

    fn row(&mut self, row: &TimelineRow) {
        let lines = self.frame.lines(self.timeline, row);
        let (middle, height) = (self.y + ROW / 2, ROW + LINE * (lines.len() as i64 - 1));
        self.band(row, height);
        self.change(row, middle);
        self.step(row, middle);
        if row.counts {
            let number = (self.x + NUMBERS - 8, middle + 4);
            self.layers[FRONT].text("end dim", number, &row.step.to_string());
        }
        self.words(row, &lines, middle + 4);
        self.bar(row, height);
        self.y += height;
    }

    // Draws the bar of a violated transaction beside its lanes.
    fn bar(&mut self, row: &TimelineRow, height: i64) {
        let Some(of) = self.timeline.transaction.as_ref().filter(|of| of.is_open(row.step)) else { return };
        for column in &self.of_transaction {
            let Some(lane) = self.frame.lane(*column) else { continue };
            let acts = row.column == Some(*column) && of.own.contains(&row.step);
            let (class, sign) = if acts { ("acts", Sign::Acts) } else { ("open", Sign::IsOpen) };
            let x = self.x + lane.center + lane.half + 4;
            let place = [("x1", x), ("y1", self.y), ("x2", x), ("y2", self.y + height)];
            self.layers[LINES].shape("line", class, place);
            self.used.insert(sign);
        }
    }

    // Changes the states of the columns. Within the box of a task its column has no line.
    fn change(&mut self, row: &TimelineRow, middle: i64) {
        let (top, bottom) = (self.y + 1, self.y + ROW - 1);
        let begins = row.column.filter(|_| task_name(row).is_some());
        let before = begins.and_then(|column| self.states.get(&column).map(|(state, _)| (column, *state)));
        if let Some(column) = begins {
            self.state(column, ColumnState::Task, top);
        }
        for (column, state) in &row.states {
            let forked = row.arrow.is_some_and(|arrow| row.kind == RowKind::Fork && arrow.to == *column);
            let task_ends = row.ends && row.column == Some(*column) && (row.task.is_some() || begins.is_some());
            let at = if self.y == self.start && !forked {
                // The first row has the states of all threads that exist from the start.
                self.start
            } else if task_ends {
                bottom
            } else if begins == Some(*column) {
                top
            } else {
                middle
            };
            self.state(*column, *state, at);
        }
        if let Some((column, before)) = before.filter(|(c, _)| row.ends && row.states.iter().all(|(s, _)| s != c)) {
            self.state(column, before, bottom);
        }
    }

    // Draws the background of a marked row.
    fn band(&mut self, row: &TimelineRow, height: i64) {
        let number = row.site.filter(|_| row.mark.is_some()).and_then(|site| self.colours.get(&site));
        let class = match (number, row.mark) {
            (Some(number), _) => class(*number),
            (None, Some(Mark::Failing)) => "fails",
            // A step that is marked by its number.
            (None, Some(Mark::Racing | Mark::Own)) => class(0),
            (None, Some(Mark::Between)) => class(1),
            (None, None) => return,
        };
        let place = [("x", self.x), ("y", self.y), ("width", self.frame.width), ("height", height)];
        self.layers[BACK].shape("rect", class, place);
    }

    fn words(&mut self, row: &TimelineRow, lines: &[(String, String)], mut y: i64) {
        let class = match (row.mark, row.counts || row.kind == RowKind::Fact) {
            (Some(Mark::Failing), _) => "bad",
            (_, true) => "",
            (_, false) => "dim",
        };
        let indent = if row.kind == RowKind::Fact { 2 * CHAR } else { 0 };
        let x = self.x + self.frame.words + indent;
        for (what, place) in lines {
            let mut at = x;
            if !what.is_empty() {
                self.layers[FRONT].text(class, (x, y), what);
                at += width(what) + 2 * CHAR;
            }
            if !place.is_empty() {
                let at = if what.is_empty() { x + 2 * CHAR } else { at };
                self.layers[FRONT].text("dim", (at, y), place);
            }
            y += LINE;
        }
    }

    // Draws what a row does in the lanes.
    fn step(&mut self, row: &TimelineRow, y: i64) {
        if row.kind == RowKind::Clock {
            let (from, to) = (self.x + NUMBERS, self.x + self.frame.lanes_end);
            self.layers[LINES].shape("line", "clock", [("x1", from), ("y1", y), ("x2", to), ("y2", y)]);
            self.used.insert(Sign::Clock);
        }
        let Some((column, lane)) = row.column.and_then(|c| Some((c, self.lane(c)?))) else { return };
        let x = self.x + lane.center;
        self.task(row, column);
        match row.arrow {
            Some(Arrow { to, kind })
                if row.made.is_some() && row.kind != RowKind::Fork && kind != ArrowKind::Refused =>
            {
                self.sent.extend(row.made.map(|made| (made, OpenMessage { from: x, y, to, kind })));
            }
            Some(arrow) => self.straight(x, y, arrow),
            None => {}
        }
        if let Some(sent) = row.made.filter(|_| row.kind == RowKind::Begin).and_then(|made| self.sent.remove(&made)) {
            self.curve(&sent, lane, y);
        }
        self.glyph(row, x, y);
        if row.ends && row.task.is_none() && row.kind != RowKind::Begin {
            let place = [("x1", x - 6), ("y1", y + 7), ("x2", x + 6), ("y2", y + 7)];
            self.layers[FRONT].shape("line", "tick", place);
            self.used.insert(Sign::ThreadEnds);
        } else if row.ends {
            self.close(column, self.y + ROW - 1);
        }
    }

    // Opens the box of a task that a row begins, or of one that began before the first row that is drawn.
    fn task(&mut self, row: &TimelineRow, column: ColumnId) {
        let name = task_name(row);
        let inside = row.task.is_some() && row.kind != RowKind::Fact;
        if self.own_lane(column).is_none() || (name.is_none() && (!inside || self.tasks.contains_key(&column))) {
            return;
        }
        let name = name.filter(|_| self.frame.named).map(|name| self.frame.task(name));
        self.tasks.insert(column, Open { top: self.y + 1, name });
        self.used.insert(Sign::Task);
    }

    fn glyph(&mut self, row: &TimelineRow, x: i64, y: i64) {
        let name = row.column.and_then(|c| self.tasks.get(&c)).and_then(|open| open.name.clone());
        match row.kind {
            RowKind::Begin if name.is_some() => {
                self.layers[FRONT].text("small mid", (x, y + 4), &name.unwrap_or_default());
            }
            RowKind::Fact => {}
            RowKind::Fails | RowKind::Stands => {
                self.layers[FRONT].path("cross", &cross(x, y, 5));
                self.used.insert(Sign::Fails);
            }
            RowKind::Waits | RowKind::Aside => self.dot("wait", Sign::Waits, (x, y)),
            _ => self.dot("step", Sign::Step, (x, y)),
        }
    }

    fn dot(&mut self, class: &str, sign: Sign, (x, y): (i64, i64)) {
        self.layers[FRONT].shape("circle", class, [("cx", x), ("cy", y), ("r", DOT)]);
        self.used.insert(sign);
    }

    fn gap(&mut self, gap: &Gap) {
        for (column, state) in &gap.states {
            if self.tasks.contains_key(column) {
                self.close(*column, self.y);
            }
            self.state(*column, *state, self.y + ROW / 2);
            if matches!(state, ColumnState::Task | ColumnState::TaskBlocked) && self.own_lane(*column).is_some() {
                self.tasks.insert(*column, Open { top: self.y + ROW / 2, name: None });
            }
        }
        let Some(words) = gap.words() else { return };
        let words =
            if gap.why == GapReason::Long { format!("{} not drawn", counted(gap.steps, "step")) } else { words };
        self.layers[FRONT].text("end dim", (self.x + NUMBERS - 8, self.y + 14), "...");
        self.layers[FRONT].text("dim", (self.x + self.frame.words, self.y + 14), &words);
        self.skip(ROW);
    }

    // Changes the state of a column, and draws the line of the state that it had.
    fn state(&mut self, column: ColumnId, state: ColumnState, y: i64) {
        let Some(lane) = self.own_lane(column) else { return };
        let (before, since) = self.states.insert(column, (state, y)).unwrap_or_default();
        let (class, sign) = match before {
            ColumnState::Absent | ColumnState::Task => return,
            ColumnState::Ready => ("life", None),
            ColumnState::Idle => ("life idle", Some(Sign::Idle)),
            ColumnState::Blocked | ColumnState::TaskBlocked => ("life waits", Some(Sign::Blocked)),
        };
        if y > since {
            let x = self.x + lane.center;
            self.layers[LINES].shape("line", class, [("x1", x), ("y1", since), ("x2", x), ("y2", y)]);
            self.used.extend(sign);
        }
    }

    // Draws the box of a task that ends at `bottom`.
    fn close(&mut self, column: ColumnId, bottom: i64) {
        let (Some(open), Some(lane)) = (self.tasks.remove(&column), self.own_lane(column)) else { return };
        let (x, width) = (self.x + lane.center - lane.half, 2 * lane.half);
        let place = [("x", x), ("y", open.top), ("width", width), ("height", bottom - open.top), ("rx", 3)];
        self.layers[BACK].shape("rect", "task", place);
    }

    // Draws an arrow within a row, from the step at `x` to another lane, or back from that lane.
    fn straight(&mut self, x: i64, y: i64, arrow: Arrow) {
        let Some(lane) = self.lane(arrow.to).filter(|lane| self.x + lane.center != x) else { return };
        let right = (self.x + lane.center - x).signum();
        let (near, far) = (x + right * (DOT + 1), self.x + lane.center - right);
        let class = self.style(arrow.kind);
        self.layers[LINES].path(class, &format!("M{near} {y}H{far}"));
        match arrow.kind {
            ArrowKind::Back => self.tip(near, y, -right),
            ArrowKind::Refused => self.layers[FRONT].path("cross", &cross(far, y, 4)),
            _ => self.tip(far, y, right),
        }
    }

    // Draws an arrow from a post to the task that it brings about.
    fn curve(&mut self, sent: &OpenMessage, lane: &Lane, y: i64) {
        let center = self.x + lane.center;
        let right = (center - sent.from).signum();
        // A message of a looper to itself leaves its lane to the right and comes back.
        let (leaves, side) = if right == 0 { (1, -1) } else { (right, right) };
        let from = sent.from + leaves * (DOT + 1);
        let to = center - side * lane.half;
        let bend = if right == 0 { to + 22 } else { (from + to) / 2 };
        let class = self.style(sent.kind);
        self.layers[LINES].path(class, &format!("M{from} {}C{bend} {} {bend} {y} {to} {y}", sent.y, sent.y));
        self.tip(to, y, side);
    }

    fn style(&mut self, kind: ArrowKind) -> &'static str {
        let (class, sign) = match kind {
            ArrowKind::Plain | ArrowKind::Back => return "arrow",
            ArrowKind::Delayed => ("arrow later", Sign::Delayed),
            ArrowKind::Front => ("arrow front", Sign::Front),
            ArrowKind::Refused => ("arrow", Sign::Refused),
        };
        self.used.insert(sign);
        class
    }

    // Draws the point of an arrow, which points to the right (1) or to the left (-1).
    fn tip(&mut self, x: i64, y: i64, right: i64) {
        self.layers[LINES].path("tip", &format!("M{x} {y}l{} -4v8z", -7 * right));
    }
}

fn cross(x: i64, y: i64, r: i64) -> String {
    let (left, top, side) = (x - r, y - r, 2 * r);
    format!("M{left} {top}l{side} {side}M{} {top}l-{side} {side}", x + r)
}

fn width(text: &str) -> i64 {
    unicode_width::UnicodeWidthStr::width(text) as i64 * CHAR
}
