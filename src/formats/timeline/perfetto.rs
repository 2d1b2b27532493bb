//! Renders a timeline as Chrome trace events, which Perfetto, `chrome://tracing` and Speedscope open.
//!
//! A step takes one microsecond: step n lasts from n to n + 1. Each thread is a track, with a slice for its lifetime,
//! in it a slice for each task, and in these a slice for each step. A post, fork or firing is a flow to the start of
//! the task or thread. The steps of the pair that races have an instant each, and a flow from one to the next.

use super::{Column, ColumnId, Item, Mark, RowKind, Timeline, TimelineRow};
use crate::event::ContextId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A file of Chrome trace events.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct File {
    /// The events: first the names of the tracks, then all others, ordered by time.
    pub trace_events: Vec<TraceEvent>,
    /// The time unit that viewers show.
    pub display_time_unit: String,
    /// The origin of the trace: the tool, the file, the strategy ...
    pub other_data: BTreeMap<String, String>,
}

/// An event. Fields that do not apply are left out.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct TraceEvent {
    /// The type of the event: `X` a slice, `s` and `f` the ends of a flow, `i` an instant, `C` a counter, `M` a name.
    pub ph: String,
    /// The text of the event.
    pub name: String,
    /// The category of the event: `thread`, `task`, `step`, `flow`, `race`, `failure`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cat: String,
    /// The start of the event, in microseconds.
    pub ts: u64,
    /// The duration of a slice, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dur: Option<u64>,
    /// The process, always 1.
    pub pid: u32,
    /// The track of the thread.
    pub tid: u32,
    /// The number of a flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// For the end of a flow: `e`, which binds it to the enclosing slice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bp: Option<String>,
    /// For an instant: the scope, which determines how wide it is drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s: Option<String>,
    /// Further data of the event.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub args: BTreeMap<String, serde_json::Value>,
}

const PID: u32 = 1;

// Viewers call a track with the number of the process the main thread, so the tracks of columns start at 2.
fn tid(column: ColumnId) -> u32 {
    column.0 + 2
}

impl File {
    /// Renders a timeline that has all rows of its run.
    #[must_use]
    pub fn new(timeline: &Timeline, about: BTreeMap<String, String>) -> Self {
        let rows: Vec<&TimelineRow> =
            timeline.items.iter().filter_map(|i| if let Item::Row(r) = i { Some(r) } else { None }).collect();
        let end = timeline.steps + 1;
        let mut maker = Maker { timeline, events: Vec::new(), end, flows: 0 };
        let name = about.get("file").cloned().unwrap_or_default();
        maker.names(&name);
        maker.lives(&rows);
        maker.tasks(&rows);
        rows.iter().filter(|r| r.counts).for_each(|row| maker.step(row));
        maker.flows(&rows);
        maker.race(&rows);
        maker.ending();
        let mut events = maker.events;
        // Of slices with one start, the outer one must come first. The sort is stable, so a flow stays behind its
        // slice.
        events.sort_by_key(|e| (e.ph != "M", e.ts, std::cmp::Reverse(e.dur.unwrap_or(0))));
        Self { trace_events: events, display_time_unit: "ns".to_owned(), other_data: about }
    }

    /// Returns the text of the file.
    #[must_use]
    pub fn to_json(&self) -> String {
        let lines: Vec<String> = self
            .trace_events
            .iter()
            .map(|e| serde_json::to_string(e).expect("texts and numbers can be written"))
            .collect();
        let about = serde_json::to_string(&self.other_data).expect("texts can be written");
        format!(
            "{{\"displayTimeUnit\":\"{}\",\"otherData\":{about},\"traceEvents\":[\n{}\n]}}\n",
            self.display_time_unit,
            lines.join(",\n")
        )
    }
}

struct Maker<'t> {
    timeline: &'t Timeline,
    events: Vec<TraceEvent>,
    end: u64,
    flows: u64,
}

fn args<const N: usize>(of: [(&str, serde_json::Value); N]) -> BTreeMap<String, serde_json::Value> {
    of.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

impl Maker<'_> {
    fn event(&mut self, ph: &str, cat: &str, tid: u32, ts: u64, name: &str) -> &mut TraceEvent {
        let event = TraceEvent {
            ph: ph.to_owned(),
            name: name.to_owned(),
            cat: cat.to_owned(),
            ts,
            pid: PID,
            tid,
            ..TraceEvent::default()
        };
        self.events.push(event);
        self.events.last_mut().expect("one was pushed")
    }

    fn slice(&mut self, cat: &str, column: ColumnId, from: u64, to: u64, name: &str) -> &mut TraceEvent {
        let event = self.event("X", cat, tid(column), from, name);
        event.dur = Some(to - from);
        event
    }

    fn names(&mut self, process: &str) {
        self.event("M", "", PID, 0, "process_name").args = args([("name", process.into())]);
        let active = self.timeline.active();
        for (id, Column { name, .. }) in self.timeline.columns.enumerate().filter(|(id, _)| active.contains(id)) {
            self.event("M", "", tid(id), 0, "thread_name").args = args([("name", name.as_str().into())]);
            self.event("M", "", tid(id), 0, "thread_sort_index").args = args([("sort_index", id.0.into())]);
        }
    }

    // Adds a slice for each thread, from its fork or the start of the run to its end.
    fn lives(&mut self, rows: &[&TimelineRow]) {
        let active = self.timeline.active();
        let mut born: BTreeMap<ColumnId, u64> = BTreeMap::new();
        let mut died: BTreeMap<ColumnId, u64> = BTreeMap::new();
        for row in rows {
            if let (Some(arrow), Some(_), false) = (row.arrow, row.made, row.task_is_made()) {
                born.insert(arrow.to, row.step);
            }
            if let (Some(column), true, None) = (row.column, row.ends, row.task.filter(|_| row.kind != RowKind::Begin))
            {
                died.insert(column, row.step + 1);
            }
        }
        for column in active {
            let (from, to) = (born.get(&column).copied().unwrap_or(0), died.get(&column).copied().unwrap_or(self.end));
            let name = self.timeline.columns[column].name.clone();
            self.slice("thread", column, from, to, &name);
        }
    }

    // Adds a slice for each task, from its start to its end or the end of the run. A column runs at most one task at a
    // time.
    fn tasks(&mut self, rows: &[&TimelineRow]) {
        let mut open: BTreeMap<ColumnId, &TimelineRow> = BTreeMap::new();
        let mut all: Vec<(&TimelineRow, u64)> = Vec::new();
        for row in rows {
            let Some(column) = row.column else { continue };
            if row.kind == RowKind::Begin {
                open.insert(column, row);
            }
            // A job that runs inside another task has no begin, and its end leaves that task open.
            let task = if row.kind == RowKind::Begin { row.made } else { row.task };
            if row.ends && task.is_some() && open.get(&column).is_some_and(|begin| begin.made == task) {
                all.extend(open.remove(&column).map(|begin| (begin, row.step + 1)));
            }
        }
        all.extend(open.into_values().map(|begin| (begin, self.end)));
        for (begin, to) in all {
            let Some(column) = begin.column else { continue };
            let name = begin.what.split([' ', ';']).nth(1).unwrap_or_default().to_owned();
            let task = self.slice("task", column, begin.step, to, &name);
            task.args = args([("step", begin.step.into()), ("now", begin.now.into())]);
        }
    }

    fn step(&mut self, row: &TimelineRow) {
        let counter = self.event("C", "", PID, row.step, "virtual time (ms)");
        counter.args = args([("now", row.now.into())]);
        let Some(column) = row.column else { return };
        let place = row.site.map(|s| self.timeline.statements[s].clone());
        let slice = self.slice("step", column, row.step, row.step + 1, &row.what);
        slice.args = args([("step", row.step.into()), ("now", row.now.into())]);
        if let Some(place) = place {
            slice.args.extend(args([("line", place.line.into()), ("statement", place.text.into())]));
        }
        match row.mark {
            Some(Mark::Failing) => slice.args.extend(args([("fails", true.into())])),
            Some(Mark::Own) => slice.args.extend(args([("cycle", "own".into())])),
            Some(Mark::Between) => slice.args.extend(args([("cycle", "between".into())])),
            Some(Mark::Racing) | None => {}
        }
        if row.races {
            slice.args.extend(args([("races", true.into())]));
        }
    }

    // Marks the steps of the pair that races, and adds a flow from each to the next one of another thread or task. The
    // instants come last: viewers bind a flow to the last slice or instant before it in the file.
    fn race(&mut self, rows: &[&TimelineRow]) {
        let steps = rows.iter().filter(|row| row.races && row.counts);
        let steps: Vec<(&TimelineRow, ColumnId)> = steps.filter_map(|row| Some((*row, row.column?))).collect();
        for two in steps.windows(2) {
            let [(before, from), (row, to)] = [two[0], two[1]];
            if (from, before.task) != (to, row.task) {
                self.flow("race", "race", (from, before.step), (to, row.step));
            }
        }
        for (row, column) in steps {
            self.event("i", "race", tid(column), row.step, &row.what).s = Some("t".to_owned());
        }
    }

    fn flow(&mut self, cat: &str, name: &str, from: (ColumnId, u64), to: (ColumnId, u64)) {
        self.flows += 1;
        let id = Some(self.flows);
        self.event("s", cat, tid(from.0), from.1, name).id = id;
        let end = self.event("f", cat, tid(to.0), to.1, name);
        (end.id, end.bp) = (id, Some("e".to_owned()));
    }

    // Adds a flow from each operation that creates a task or thread to the start of that one.
    fn flows(&mut self, rows: &[&TimelineRow]) {
        // A job begins again after each suspension. Its launch leads to its first begin.
        let begins: BTreeMap<ContextId, &TimelineRow> =
            rows.iter().rev().filter(|r| r.kind == RowKind::Begin).filter_map(|r| Some((r.made?, *r))).collect();
        for row in rows.iter().filter(|r| r.kind != RowKind::Begin) {
            let (Some(from), Some(made), Some(arrow)) = (row.column, row.made, row.arrow) else { continue };
            let to = match begins.get(&made) {
                Some(begin) => begin.step,
                None if row.task_is_made() => continue,
                None => row.step,
            };
            let name = row.what.split(' ').take(2).collect::<Vec<_>>().join(" ");
            self.flow("flow", &name, (from, row.step), (arrow.to, to));
        }
    }

    fn ending(&mut self) {
        for row in self.timeline.ending.iter().filter(|r| matches!(r.kind, RowKind::Fails | RowKind::Stands)) {
            let tid = row.column.map_or(PID, tid);
            let end = self.end;
            self.event("i", "failure", tid, end, &row.what).s = Some("p".to_owned());
        }
    }
}

impl TimelineRow {
    // Returns whether the row creates a task, not a thread.
    fn task_is_made(&self) -> bool {
        matches!(self.kind, RowKind::Fire | RowKind::Post)
    }
}
