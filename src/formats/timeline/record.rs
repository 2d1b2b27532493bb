//! Builds the timeline of a run while the run is performed.

use super::arrows::arrow;
use super::facts::Facts;
use super::names::Pedigrees;
use super::states::{is_news, state};
use super::window::Collector;
use super::words::{Words, last_part, transferred};
use super::{
    Arrow, ArrowKind, Column, ColumnId, ColumnState, ENVIRONMENT, Item, Mark, Marks, RowKind, Timeline, TimelineRow,
    Window, column_of, source,
};
use crate::base::IndexVec;
use crate::event::{
    BlockedThread, CANCELLED, ContextId, Event, EventKind, LaunchPlace, Op, SiteId, Suspension, ThreadId, Value,
};
use crate::exec::{Observer, RunSummary};
use crate::formats::values::Types;
use crate::lang::Program;
use crate::trace::ENVIRONMENT_NAME;
use crate::world::World;
use std::collections::{BTreeMap, BTreeSet};

/// An observer that records a run as a [`Timeline`].
///
/// # Examples
///
/// ```
/// use raceflip::formats::timeline::{Marks, TimelineRecorder, Window, mermaid, perfetto, text};
/// use raceflip::{exec::run, sched::RoundRobin, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let mut recorder = TimelineRecorder::new(&model.program, model.source.text(), Window::All, Marks::default());
/// let mut machine = model.machine(Limits::default());
/// let summary = run(&mut machine, &mut RoundRobin::default(), 0, &mut recorder, &stop);
/// let timeline = recorder.finish(&machine.world, &summary);
/// assert!(timeline.column("b").is_some());
///
/// // For a terminal of 80 columns: each span has a role, to be painted.
/// for line in text::lines(&timeline, 80) {
///     println!("{}", line.iter().map(|span| span.text.as_str()).collect::<String>());
/// }
/// // For an issue, and for Perfetto.
/// assert!(mermaid::diagram(&timeline).starts_with("sequenceDiagram"));
/// assert!(perfetto::File::new(&timeline, Default::default()).to_json().contains("traceEvents"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TimelineRecorder<'s> {
    pub(super) words: Words,
    pub(super) source: &'s str,
    marks: Marks,
    rows: Collector,
    // The current row, which the consequences of its step are still added to.
    open: Option<TimelineRow>,
    // Rows of threads that have become blocked, to be written after the current row.
    waits: Vec<TimelineRow>,
    step: Option<u64>,
    states: IndexVec<ColumnId, ColumnState>,
    // The resource that each thread was last reported to wait for, since its own last step.
    said: BTreeMap<ThreadId, String>,
    // Changes of states that no row contains yet.
    changed: Vec<(ColumnId, ColumnState)>,
    // The step that created each task or thread.
    pub(super) made: BTreeMap<ContextId, u64>,
    // The looper of each task that is in a queue.
    pub(super) queued: BTreeMap<ContextId, ThreadId>,
    pub(super) facts: Facts,
    pedigrees: Pedigrees,
}

impl<'s> TimelineRecorder<'s> {
    /// Creates a recorder for a run of this program; `source` is the text of the model.
    #[must_use]
    pub fn new(program: &Program, source: &'s str, window: Window, marks: Marks) -> Self {
        Self {
            words: Words { types: Types::of(program) },
            source,
            marks,
            rows: Collector::new(window),
            open: None,
            waits: Vec::new(),
            step: None,
            states: IndexVec::new(),
            said: BTreeMap::new(),
            changed: Vec::new(),
            made: BTreeMap::new(),
            queued: BTreeMap::new(),
            facts: Facts::default(),
            pedigrees: Pedigrees::default(),
        }
    }

    /// Ends the recording and returns the timeline.
    #[must_use]
    pub fn finish(mut self, world: &World, summary: &RunSummary) -> Timeline {
        self.flush();
        let ending = self.ending(world, &summary.end);
        let environment = Column { name: ENVIRONMENT_NAME.to_owned(), looper: false };
        let threads = world.threads().enumerate().map(|(id, t)| Column {
            name: world.contexts().elided_name(world.setup(), t.home),
            looper: world.queue(id).is_some(),
        });
        let mut timeline = Timeline {
            columns: std::iter::once(environment).chain(threads).collect(),
            items: self.rows.finish(),
            ending,
            statements: source::statements(self.source, &world.setup().sites),
            marked: self.marks.sites,
            transaction: self.marks.transaction,
            steps: summary.steps,
            now: summary.now,
            ended: summary.outcome().is_some(),
        };
        timeline.mark_failure();
        timeline.shorten_names(self.pedigrees);
        timeline
    }

    fn flush(&mut self) {
        let rows: Vec<TimelineRow> = self.open.take().into_iter().chain(self.waits.drain(..)).collect();
        rows.into_iter().for_each(|row| self.push(row));
    }

    fn push(&mut self, mut row: TimelineRow) {
        row.states.append(&mut self.changed);
        self.pedigrees.add(&row.what);
        self.rows.push(Item::Row(row));
    }

    // Updates the states of all threads, once for each step, and adds rows for threads that have become blocked.
    fn look(&mut self, world: &World, by: Option<ThreadId>) {
        self.states.resize(world.threads().len() + 1, ColumnState::Absent);
        if let Some(by) = by {
            self.said.remove(&by);
        }
        for id in world.threads().ids() {
            let (column, now) = (column_of(id), state(world, id));
            // In a wait, a notification can change the reason to wait without a change of the state.
            if self.states[column] == now && !world.in_wait(id) {
                continue;
            }
            if self.states[column] != now {
                self.states[column] = now;
                self.changed.push((column, now));
            }
            if matches!(now, ColumnState::Blocked | ColumnState::TaskBlocked)
                && is_news(&world.thread(id).pending, by == Some(id))
            {
                self.wait(world, id);
            } else if by == Some(id) && matches!(now, ColumnState::Blocked | ColumnState::TaskBlocked) {
                // The row of its own operation already says that the thread waits.
                self.said.extend(world.waiting(id).map(|waiting| (id, waiting.waits_for)));
            }
        }
    }

    fn wait(&mut self, world: &World, id: ThreadId) {
        let Some(BlockedThread { site, waits_for, held_by, .. }) = world.waiting(id) else { return };
        let held = held_by.map_or(String::new(), |holder| format!(", held by {}", last(&holder)));
        let what = format!("waits for {waits_for}{held}");
        // Only the holder has changed.
        if self.said.insert(id, waits_for.clone()).is_some_and(|said| said == waits_for) {
            return;
        }
        self.waits.push(TimelineRow { site, ..row(world, Some(column_of(id)), RowKind::Waits, what) });
    }
}

impl Observer for TimelineRecorder<'_> {
    fn event(&mut self, world: &World, event: &Event) {
        // This is the first event of a step: the rows of the previous step are complete, and states may have changed.
        if self.step != Some(world.steps()) {
            self.flush();
            self.step = Some(world.steps());
            self.look(world, event.thread);
        }
        let column = event.thread.map(column_of);
        let in_task = event.thread.is_some_and(|t| event.context.is_some_and(|c| c != world.thread(t).home));
        let task = event.context.filter(|_| in_task);
        let place = (column, task);
        let by = event.context.map_or_else(String::new, |c| last_part(world, c));
        let new = match &event.what {
            // The row of the fork, or the declaration, already says that the thread starts, and the row of the post
            // that it was refused.
            EventKind::ThreadInit | EventKind::Lets(_) | EventKind::Transaction { .. } => return,
            EventKind::Repeated { task, .. } => {
                self.made.insert(*task, world.steps());
                self.queued.extend(event.thread.map(|looper| (*task, world.queue_owner(looper))));
                return;
            }
            EventKind::Refused if event.thread.is_some() => return,
            EventKind::Refused => {
                row(world, Some(ENVIRONMENT), RowKind::Aside, "refused: the looper has quit".to_owned())
            }
            EventKind::ThreadExit | EventKind::End => {
                let ends = if in_task || matches!(event.what, EventKind::End) {
                    let stage = event.context.and_then(|context| world.stage_text(context));
                    format!("{by} ends{}", stage.map_or(String::new(), |stage| format!(": {stage}")))
                } else {
                    "ends".to_owned()
                };
                return self.aside(world, place, ends, true);
            }
            EventKind::Thrown(name) => return self.aside(world, place, format!("throws {name}"), false),
            EventKind::Fire(id, context) => {
                let fired = &world.setup().events[*id];
                self.made.insert(*context, world.steps());
                self.queued.insert(*context, fired.looper);
                let to = column_of(fired.looper);
                let stage = world.stage_text(*context).map_or(String::new(), |stage| format!(": {stage}"));
                let (task, looper) = (last_part(world, *context), world.thread_name(fired.looper));
                let what = format!("fire {task} to {}{stage}", last(&looper));
                TimelineRow {
                    counts: true,
                    arrow: Some(Arrow { to, kind: ArrowKind::Plain }),
                    made: Some(*context),
                    ..row(world, Some(ENVIRONMENT), RowKind::Fire, what)
                }
            }
            EventKind::Suspended => return self.aside(world, place, format!("{by} waits"), true),
            EventKind::JobExit(_) => return,
            EventKind::Resumed { context, looper, .. } => {
                self.made.insert(*context, world.steps());
                self.queued.insert(*context, *looper);
                let what = format!("{} can go on", last_part(world, *context));
                return self.aside(world, place, what, false);
            }
            EventKind::Tick => TimelineRow {
                counts: true,
                ..row(world, None, RowKind::Clock, format!("the clock moves to {} ms", event.now))
            },
            EventKind::Performed { op: Op::Resume(on), value, .. } => {
                return self.resumes(world, place, event, (*on, *value));
            }
            EventKind::Performed { op, value, made, refused } => {
                let (words, facts) = (&self.words, &mut self.facts);
                facts.event(world, event, &by, || words.written(world, op));
                let mut what = match refused {
                    true => self.words.refused(world, op),
                    false => self.words.operation(world, op, *value, *made),
                };
                let mut kind = RowKind::Step;
                if let (Op::Begin, Some(task)) = (op, made) {
                    kind = RowKind::Begin;
                    self.queued.remove(task);
                    if let Some(step) = self.made.get(task) {
                        what.push_str(&format!(" (from step {step})"));
                    }
                } else if let Some(made) = made {
                    kind = RowKind::Fork;
                    if let Op::Launch { place, .. } = op {
                        // A job is a task, whose begin comes later, or which runs inside this one.
                        kind = RowKind::Post;
                        if let LaunchPlace::Posted(target) = place {
                            self.queued.insert(*made, world.thread_of(*target));
                        }
                    }
                    if let Op::Post { target, .. } = op {
                        kind = RowKind::Post;
                        if *value != 0 {
                            self.queued.insert(*made, world.thread_of(*target));
                        }
                    }
                    self.made.insert(*made, world.steps());
                }
                let mut arrow = if *refused { None } else { arrow(world, op, *value, *made) };
                match op {
                    Op::Quit { looper, .. } => what.push_str(&self.dropped(world, world.queue_owner(*looper))),
                    Op::CancelMessage(message) => {
                        if let Some(looper) = World::looper_of_message(*message) {
                            what.push_str(&self.dropped(world, looper));
                        }
                    }
                    Op::Cancel { target, .. } => what.push_str(&self.dropped(world, world.thread_of(*target))),
                    _ => {}
                }
                if let (Op::Notify { on, .. }, Some(thread), false) = (op, event.thread, refused) {
                    let woken = self.facts.notified(world, *on);
                    let names: Vec<String> = woken.iter().map(|t| last(&world.thread_name(*t)).to_owned()).collect();
                    what.push_str(&match names.is_empty() {
                        true => ": no thread waits there".to_owned(),
                        false => format!(": wakes {}", names.join(", ")),
                    });
                    let to = woken.iter().map(|t| column_of(*t)).find(|c| *c != column_of(thread));
                    arrow = to.map(|to| Arrow { to, kind: ArrowKind::Plain });
                }
                TimelineRow { counts: true, made: *made, arrow, ..row(world, column, kind, what) }
            }
        };
        let mark = self.marks.of(event.site, new.step).filter(|_| new.counts);
        let open =
            self.open.replace(TimelineRow { task, site: event.site, mark, races: mark == Some(Mark::Racing), ..new });
        open.into_iter().for_each(|row| self.push(row));
    }
}

impl Marks {
    // Returns the mark of a step of this statement.
    fn of(&self, site: Option<SiteId>, step: u64) -> Option<Mark> {
        let transaction = self.transaction.as_ref().and_then(|of| of.mark(step));
        let marked = site.is_some_and(|site| self.sites.contains(&site)) || self.steps.contains(&step);
        transaction.or_else(|| marked.then_some(Mark::Racing))
    }
}

// The column of a row, and the task that runs there.
type Place = (Option<ColumnId>, Option<ContextId>);

impl TimelineRecorder<'_> {
    // A job goes on, in the step in which its looper has begun its message, or has reached the suspension point.
    fn resumes(&mut self, world: &World, place: Place, event: &Event, (on, value): (Suspension, Value)) {
        let begins = self.open.as_ref().is_none_or(|row| row.column != place.0 || row.kind == RowKind::Begin);
        let waited = match on {
            Suspension::Await { .. } | Suspension::DownFor { .. } if value == 0 => " has timed out".to_owned(),
            _ if value == CANCELLED => " was cancelled".to_owned(),
            Suspension::Transfer(transfer) if begins => transferred(world, transfer, value),
            _ => String::new(),
        };
        let line = event.site.map_or(0, |site| world.setup().sites[site].line);
        match begins {
            true => self.aside(world, place, format!("goes on from :{line}{waited}"), false),
            false if !waited.is_empty() => self.aside(world, place, waited.trim_start().to_owned(), false),
            false => {}
        }
    }

    // Describes the tasks that an operation has removed from the queue of a looper.
    fn dropped(&mut self, world: &World, looper: ThreadId) -> String {
        let left: BTreeSet<ContextId> =
            world.thread(looper).queue.iter().flat_map(|q| q.waiting_tasks()).map(|task| task.context).collect();
        let gone: Vec<ContextId> = self
            .queued
            .iter()
            .filter(|(task, at)| **at == looper && !left.contains(task))
            .map(|(task, _)| *task)
            .collect();
        gone.iter().for_each(|task| {
            self.queued.remove(task);
        });
        match gone.is_empty() {
            true => String::new(),
            false => {
                let names: Vec<String> = gone.iter().map(|task| last_part(world, *task)).collect();
                format!(": drops {}", names.join(", "))
            }
        }
    }

    // Adds a consequence of a step: to the row of the step if that row is of the same column, else as a row of its own.
    fn aside(&mut self, world: &World, (column, task): Place, what: String, ends: bool) {
        // A job that runs inside another task has an end of its own.
        let own = |r: &TimelineRow| match r.kind {
            RowKind::Begin => r.made == task,
            _ => r.task == task,
        };
        let own = |r: &TimelineRow| !ends || task.is_none() || own(r);
        if let Some(open) = self.open.as_mut().filter(|r| r.column == column && !r.ends && own(r)) {
            // An end needs no words, because the sign of the row shows it.
            if !ends {
                open.what.push_str(&format!("; {what}"));
            }
            open.ends = ends;
            return;
        }
        let open = self.open.replace(TimelineRow { task, ends, ..row(world, column, RowKind::Aside, what) });
        open.into_iter().for_each(|row| self.push(row));
    }
}

impl Timeline {
    // Marks the last step of the thread that failed, if that step is on the line of the failure.
    fn mark_failure(&mut self) {
        let Some(failure) = self.ending.iter().find(|r| r.kind == RowKind::Fails).cloned() else { return };
        // The row of the failure says what was thrown, so a row of the exception alone is redundant.
        let uncaught = failure.what.starts_with("uncaught");
        let thrown = |r: &TimelineRow| uncaught && r.kind == RowKind::Aside && r.column == failure.column && !r.ends;
        if matches!(self.items.last(), Some(Item::Row(row)) if thrown(row)) {
            self.items.pop();
        }
        let rows = self.items.iter_mut().rev().filter_map(|i| match i {
            Item::Row(row) => Some(row),
            Item::Gap(_) => None,
        });
        let last = rows.filter(|r| r.counts).find(|r| r.column.is_some() && r.column == failure.column);
        let line = |site: Option<SiteId>| site.map(|s| self.statements[s].line);
        let Some(row) = last.filter(|r| line(r.site).is_some() && line(r.site) == line(failure.site)) else { return };
        row.mark = Some(Mark::Failing);
        if let Some(at) = row.what.find("; throws ").filter(|_| uncaught) {
            row.what.truncate(at);
        }
        let statement = |site: Option<SiteId>| site.map(|s| &self.statements[s]);
        let same = statement(row.site) == statement(failure.site);
        self.ending.iter_mut().filter(|r| same && r.kind == RowKind::Fails).for_each(|r| r.site = None);
    }
}

pub(super) fn row(world: &World, column: Option<ColumnId>, kind: RowKind, what: String) -> TimelineRow {
    TimelineRow {
        step: world.steps(),
        counts: false,
        now: world.now(),
        column,
        task: None,
        kind,
        what,
        site: None,
        arrow: None,
        made: None,
        ends: false,
        mark: None,
        races: false,
        states: Vec::new(),
    }
}

/// Returns the last part of a pedigree.
pub(super) fn last(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}
