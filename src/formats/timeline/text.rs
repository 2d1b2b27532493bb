//! Renders a timeline as lines of text. No line is wider than the given width, and no information is in colors alone.

use super::lanes::{self, Lanes};
use super::layout::{Layout, pad, shorten, wrap};
use super::{ColumnState, Gap, Item, Mark, RowKind, Timeline, TimelineRow};
use crate::base::clean;
use unicode_width::UnicodeWidthStr;

/// Minimum width of lines: a smaller width is treated as this one.
pub const LEAST_WIDTH: usize = 40;

/// A line of text.
pub type TimelineLine = Vec<TimelineSpan>;

/// A part of a line with one role.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimelineSpan {
    /// The role of the part.
    pub role: TimelineRole,
    /// The text of the part, without control characters.
    pub text: String,
}

/// The role of a part of a line, which determines its color.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimelineRole {
    /// The words of a step.
    What,
    /// The heads of the columns.
    Head,
    /// Text that only helps to read the others.
    Aside,
    /// The lanes of the columns.
    Lanes,
    /// The place in the model.
    Place,
    /// A row that fails.
    Failing,
    /// A row of the pair that races.
    Racing,
}

// Number of lines after which the heads are repeated.
const LINES_BELOW_HEADS: usize = 40;
// Minimum width of a place beside the words. With less room the place gets a line of its own.
const LEAST_PLACE: usize = 12;

/// Renders a timeline in lines of at most `width` columns.
#[must_use]
pub fn lines(timeline: &Timeline, width: usize) -> Vec<TimelineLine> {
    let width = width.max(LEAST_WIDTH);
    let layout = Layout::new(timeline, width);
    let mut text = TimelineText::new(timeline, &layout, width);
    text.legend();
    text.heads();
    for item in &timeline.items {
        if text.below_heads >= LINES_BELOW_HEADS {
            text.heads();
        }
        match item {
            Item::Row(row) => text.row(row),
            Item::Gap(gap) => text.gap(gap),
        }
    }
    timeline.ending.iter().for_each(|row| text.row(row));
    text.key();
    text.lines
}

struct TimelineText<'t> {
    timeline: &'t Timeline,
    layout: &'t Layout,
    lanes: Lanes<'t>,
    width: usize,
    // Width of the number of a step.
    digits: usize,
    // Width of the words of most rows, at which the places are aligned.
    what: usize,
    marks: Vec<Mark>,
    below_heads: usize,
    lines: Vec<TimelineLine>,
}

fn span(role: TimelineRole, text: impl Into<String>) -> TimelineSpan {
    TimelineSpan { role, text: text.into() }
}

impl<'t> TimelineText<'t> {
    fn new(timeline: &'t Timeline, layout: &'t Layout, width: usize) -> Self {
        let digits = timeline.steps.to_string().len().max(4);
        let lanes = Lanes::new(layout, timeline);
        let mut text = Self {
            timeline,
            layout,
            lanes,
            width,
            digits,
            what: 0,
            marks: Vec::new(),
            below_heads: 0,
            lines: Vec::new(),
        };
        let most = text.room().saturating_sub(LEAST_PLACE + 2).max(text.room() * 6 / 10);
        let widths = timeline.items.iter().filter_map(|i| match i {
            Item::Row(row) if row.site.is_some() => Some(row.what.width()),
            _ => None,
        });
        text.what = widths.filter(|w| *w <= most).max().unwrap_or(0);
        text
    }

    // Width left of the lanes: a mark, the number of the step, and spaces.
    fn margin(&self) -> usize {
        self.digits + 4
    }

    // Width that remains for words and places.
    fn room(&self) -> usize {
        self.width.saturating_sub(self.margin() + self.layout.width + self.layout.who_room())
    }

    fn push(&mut self, mut line: TimelineLine) {
        while let Some(last) = line.last_mut() {
            last.text.truncate(last.text.trim_end().len());
            if !last.text.is_empty() {
                break;
            }
            line.pop();
        }
        self.below_heads += 1;
        self.lines.push(line);
    }

    fn legend(&mut self) {
        let legend = self.layout.legend(self.timeline);
        if !legend.is_empty() {
            let text = format!("columns: {}", legend.join("; "));
            for line in wrap(&clean(&text), self.width) {
                self.push(vec![span(TimelineRole::Aside, line.replace('\u{a0}', " "))]);
            }
        }
    }

    fn heads(&mut self) {
        let step = format!("{:>width$}  ", "step", width = self.digits + 2);
        self.push(vec![span(TimelineRole::Aside, step), span(TimelineRole::Head, self.layout.heads())]);
        self.below_heads = 0;
    }

    fn row(&mut self, row: &TimelineRow) {
        let (sign, role) = match row.mark {
            Some(Mark::Failing) => ("!", TimelineRole::Failing),
            Some(Mark::Racing | Mark::Own) => ("*", TimelineRole::Racing),
            Some(Mark::Between) => (lanes::BETWEEN, TimelineRole::Racing),
            None => (" ", if row.counts { TimelineRole::What } else { TimelineRole::Aside }),
        };
        self.marks.extend(row.mark);
        let number = if row.counts { row.step.to_string() } else { String::new() };
        let drawn = self.lanes.row(row);
        let role = if matches!(row.kind, RowKind::Fact) { TimelineRole::What } else { role };
        let who = clean(&self.layout.who(row));
        for (i, (what, place)) in self.words(row).into_iter().enumerate() {
            let (sign, number, drawn, who) = match i {
                0 => (sign, number.as_str(), drawn.clone(), who.clone()),
                _ => (" ", "", self.lanes.rest(), " ".repeat(who.width())),
            };
            let margin = format!("{sign}{number:>width$}  ", width = self.digits + 1);
            let lanes = pad(&drawn, self.layout.width);
            let margin = span(if sign == " " { TimelineRole::Aside } else { role }, margin);
            self.push(vec![
                margin,
                span(TimelineRole::Lanes, lanes),
                span(role, who + &what),
                span(TimelineRole::Place, place),
            ]);
        }
    }

    // Returns the lines of a row, each as words and place.
    fn words(&self, row: &TimelineRow) -> Vec<(String, String)> {
        let room = self.room();
        let place = self.timeline.place(row);
        let edge = self.timeline.transaction.as_ref().filter(|_| row.counts).map(|of| of.edge(row.step));
        let indent = if row.kind == RowKind::Fact { "  " } else { "" };
        let room = room - indent.len();
        let what = clean(&format!("{}{}", row.what, edge.unwrap_or_default()));
        let mut lines: Vec<(String, String)> =
            wrap(&what, room).into_iter().map(|l| (indent.to_owned() + &l, String::new())).collect();
        if place.is_empty() {
            return lines;
        }
        let last = lines.last_mut().expect("a text has a line");
        // The place is aligned with those of other rows if there is room, else it follows the words directly, else it
        // gets a line of its own.
        let used = last.0.width().max(self.what) + 2;
        let used = if used + LEAST_PLACE.min(place.width()) <= room { used } else { last.0.width() + 2 };
        if used + LEAST_PLACE.min(place.width()) <= room {
            *last = (pad(&last.0, used), shorten(&place, room - used));
        } else {
            lines.push(("  ".to_owned(), shorten(&place, room - 2)));
        }
        lines
    }

    fn gap(&mut self, gap: &Gap) {
        self.lanes.change(&gap.states);
        let Some(what) = gap.words() else { return };
        let lanes = self.lanes.rest();
        for (i, what) in wrap(&what, self.room()).into_iter().enumerate() {
            let sign = if i == 0 { "⋮" } else { "" };
            let margin = format!("{sign:>width$}  ", width = self.digits + 2);
            let what = " ".repeat(self.layout.who_room()) + &what;
            let lanes = pad(&lanes, self.layout.width);
            self.push(vec![
                span(TimelineRole::Aside, margin),
                span(TimelineRole::Lanes, lanes),
                span(TimelineRole::Aside, what),
            ]);
        }
    }

    // The name of the transaction that is shown.
    fn transaction(&self) -> String {
        self.timeline.transaction.as_ref().map_or(String::new(), |of| clean(&of.name))
    }

    // Writes a key of the signs that occur.
    fn key(&mut self) {
        let used = |c: char| self.lanes.used.contains(&c);
        let task = [ColumnState::Task, ColumnState::TaskBlocked].map(lanes::sign);
        let waits = [ColumnState::Blocked, ColumnState::TaskBlocked].map(lanes::sign);
        let blocked: String = waits.into_iter().filter(|c| used(*c)).collect();
        let entries = [
            (used(lanes::STEP), format!("{} step", lanes::STEP)),
            (
                used(lanes::BEGINS) || used(lanes::TASK_ENDS),
                format!("{} {} task begins, ends", lanes::BEGINS, lanes::TASK_ENDS),
            ),
            (used(lanes::BEGINS_AND_ENDS), format!("{} both at once", lanes::BEGINS_AND_ENDS)),
            (used(lanes::THREAD_ENDS), format!("{} thread ends", lanes::THREAD_ENDS)),
            (used(task[0]), format!("{} in a task", task[0])),
            (used(lanes::sign(ColumnState::Idle)), format!("{} idle looper", lanes::sign(ColumnState::Idle))),
            (!blocked.is_empty(), format!("{blocked} waits")),
            (used(lanes::HAS_TO_WAIT), format!("{} has to wait", lanes::HAS_TO_WAIT)),
            (used('╌'), "╌> delayed".to_owned()),
            (used('═'), "═> to the front".to_owned()),
            (used('x'), "─x refused".to_owned()),
            (used(lanes::ACTS), format!("{} {} acts, {} is not over", lanes::ACTS, self.transaction(), lanes::IS_OPEN)),
            (self.marks.contains(&Mark::Racing), "* marked access".to_owned()),
            (self.marks.contains(&Mark::Own), format!("* of {}, on the cycle", self.transaction())),
            (self.marks.contains(&Mark::Between), format!("{} comes between", lanes::BETWEEN)),
            (self.marks.contains(&Mark::Failing), format!("! {} fails", lanes::FAILS)),
        ];
        let parts: Vec<String> =
            entries.into_iter().filter(|(used, _)| *used).map(|(_, text)| text.replace(' ', "\u{a0}")).collect();
        for line in wrap(&parts.join("  "), self.width) {
            self.push(vec![span(TimelineRole::Aside, line.replace('\u{a0}', " ").trim_start().to_owned())]);
        }
    }
}
