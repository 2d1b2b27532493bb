//! Describes the end of a run in rows: the failure, the places of blocked threads, and facts about the values involved.

use super::facts::{HeldLock, WriteFact};
use super::record::{TimelineRecorder, last, row};
use super::words::last_part;
use super::{Mark, RowKind, TimelineRow, column_of, source};
use crate::event::{
    AccessPlace, BlockedThread, DeadlockReport, Failure, FailureKind, Location, Op, Outcome, SiteId, ThreadId,
};
use crate::exec::LoopEnd;
use crate::formats::failure_place::headline;
use crate::world::World;

impl TimelineRecorder<'_> {
    pub(super) fn ending(&self, world: &World, end: &LoopEnd) -> Vec<TimelineRow> {
        match end {
            LoopEnd::Outcome(Outcome::Failure(failure)) => [self.failure(world, failure), self.left(world)].concat(),
            LoopEnd::Outcome(Outcome::Deadlock(report)) => [self.deadlock(world, report), self.left(world)].concat(),
            _ => Vec::new(),
        }
    }

    // Returns rows about tasks that are still in a queue: these came too late for the run.
    fn left(&self, world: &World) -> Vec<TimelineRow> {
        let tasks = self.queued.iter().take(MOST).map(|(task, looper)| {
            let from = self.made.get(task).map_or(String::new(), |step| format!(" (from step {step})"));
            let (task, looper) = (last_part(world, *task), world.queue_name(*looper));
            row(world, None, RowKind::Fact, format!("{task}{from} is still in the queue of {}", last(&looper)))
        });
        tasks.collect()
    }

    fn failure(&self, world: &World, failure: &Failure) -> Vec<TimelineRow> {
        let thread = thread(world, &failure.thread);
        let word = match failure.kind {
            FailureKind::Assert => "assert fails: ",
            FailureKind::Fail => "fail: ",
            FailureKind::Exception => "uncaught ",
            FailureKind::Property | FailureKind::Rejection => "",
        };
        let what = match failure.kind {
            FailureKind::Assert if failure.message.is_empty() => "assert fails".to_owned(),
            FailureKind::Property => format!("{} does not hold", headline(failure)),
            _ => format!("{word}{}", headline(failure)),
        };
        let mark = Some(Mark::Failing);
        let column = thread.map(column_of);
        let mut rows = vec![TimelineRow { site: failure.site, mark, ..row(world, column, RowKind::Fails, what) }];
        let line = failure.site.map_or(0, |s| world.setup().sites[s].line);
        let mut places = thread.map_or(Vec::new(), |t| self.facts.accessed(t, line).to_vec());
        if failure.kind == FailureKind::Property
            && let Some(property) = source::property(self.source, &failure.name)
        {
            rows.push(row(world, None, RowKind::Fact, format!(":{} {}", property.line, property.text)));
            places = named(world, &property.text);
        }
        // A statement may use an object without an access to its memory, for example to lock its monitor. Then the
        // freed objects may explain the failure.
        if failure.name == "UseAfterFree" && !places.iter().any(|p| matches!(p, AccessPlace::Life(_))) {
            places.extend(self.facts.freed().into_iter().take(MOST));
        }
        rows.extend(places.iter().map(|place| self.fact(world, *place)));
        rows
    }

    fn deadlock(&self, world: &World, report: &DeadlockReport) -> Vec<TimelineRow> {
        let mut rows = Vec::new();
        for BlockedThread { thread: name, site, waits_for, held_by, holder_ended } in &report.blocked {
            let Some(thread) = thread(world, name) else { continue };
            let holder = held_by.as_ref().map_or(String::new(), |holder| {
                let itself = if holder == name { "itself" } else { last(holder) };
                let ended = if *holder_ended { ", which has ended" } else { "" };
                format!(", held by {itself}{ended}")
            });
            let held: Vec<String> = self
                .facts
                .held(thread)
                .into_iter()
                .map(|(held, step)| format!("{} (since step {step})", held_name(world, held)))
                .collect();
            let holds = if held.is_empty() { String::new() } else { format!("; holds {}", held.join(", ")) };
            let what = format!("waits for {waits_for}{holder}{holds}");
            let mark = Some(Mark::Failing);
            rows.push(TimelineRow { site: *site, mark, ..row(world, Some(column_of(thread)), RowKind::Stands, what) });
            if let (Op::Await { .. }, Some(site)) = (&world.thread(thread).pending, site) {
                let text = &source::statements(self.source, &world.setup().sites)[*site].text;
                rows.extend(named(world, text).into_iter().map(|place| self.fact(world, place)));
            }
        }
        rows
    }

    // Formats a fact: `bound: null; never written in this run`.
    fn fact(&self, world: &World, place: AccessPlace) -> TimelineRow {
        let name = world.place_name(place);
        let value = self.value(world, place);
        let what = match (self.facts.written(place), place) {
            (None, AccessPlace::Life(_)) => format!("{name}: not freed"),
            (None, AccessPlace::Cell(_)) => format!("{name}: {value}; never written in this run"),
            (Some((w, _)), AccessPlace::Life(_)) => format!("{name}: freed in {}", self.by(world, w)),
            (Some((w, before)), AccessPlace::Cell(_)) => {
                let before = before.as_ref().map_or(String::new(), |b| {
                    let value = b.value.as_ref().map_or(String::new(), |v| format!("{v} "));
                    format!("; before: {value}in step {} by {}", b.step, b.by)
                });
                format!("{name}: {value}, written in {}{before}", self.by(world, w))
            }
        };
        row(world, None, RowKind::Fact, what)
    }

    fn by(&self, world: &World, written: &WriteFact) -> String {
        let at = written.site.map_or(String::new(), |s: SiteId| format!(" (:{})", world.setup().sites[s].line));
        format!("step {} by {}{at}", written.step, written.by)
    }

    fn value(&self, world: &World, place: AccessPlace) -> String {
        match place {
            AccessPlace::Life(_) => String::new(),
            AccessPlace::Cell(at) if self.words.types.is_list(world, at) => {
                let list = world.memory().list(world.memory().list_in(at.cell));
                let each = |v: &i64| self.words.types.value(world, at, *v);
                let mut items: Vec<String> = list.items.iter().take(MOST).map(each).collect();
                if list.items.len() > MOST {
                    items.push(format!("... {} in all", list.items.len()));
                }
                format!("[{}]", items.join(", "))
            }
            AccessPlace::Cell(at) => self.words.types.value(world, at, world.memory().cell(at.cell)),
        }
    }
}

fn thread(world: &World, name: &str) -> Option<ThreadId> {
    world.thread_named(name).filter(|_| !name.is_empty())
}

fn held_name(world: &World, held: HeldLock) -> String {
    match held {
        HeldLock::Lock(lock) => world.lock_name(lock),
        HeldLock::RwLock(id) => format!("rwlock {}", world.rwlock_name(id)),
    }
}

// Maximum number of facts of one kind, and of list items in one fact.
const MOST: usize = 6;

// Returns the global cells that a text of the model names: `x`, and for an array `a[0]`, `a[1]`.
fn named(world: &World, text: &str) -> Vec<AccessPlace> {
    let words: Vec<&str> = source::identifiers(text).collect();
    let names = world.setup().cell_names.iter().enumerate();
    let found = names.filter(|(_, name)| source::identifiers(name).next().is_some_and(|head| words.contains(&head)));
    found.take(MOST).map(|(cell, _)| AccessPlace::Cell(Location { cell: cell as u32, object: None })).collect()
}
