//! Steps and edges in words, for cycles: names of threads, tasks, locations and statements.

use super::cycle::Hop;
use super::spec::{TransactionNo, Transactions, declared_name};
use super::steps::{ContextNo, StepKind, StepNo, Steps};
use super::{CycleEdge, EdgeKind, Moment};
use crate::base::Id;
use crate::trace::{EventNo, LocationNo, LockNo, SiteNo, TaskNo, ThreadNo};
use std::collections::BTreeMap;

/// Edges of one class count as one: their bodies and statements, kind, and location without its object, each by number.
pub(super) type EdgeClass = ((u32, SiteNo), (u32, SiteNo), EdgeKind, Option<u32>);

// What an edge is about.
#[derive(Clone, Copy)]
enum Subject {
    Place(u32),
    Thread(u32),
    Task(u32),
    Event(u32),
    Lock(u32),
}

/// The words for one trace.
pub(super) struct Words<'a> {
    steps: &'a Steps<'a>,
    transactions: &'a Transactions,
    // The first write of each location.
    first_writes: Vec<Option<StepNo>>,
    // The body of each thread and then of each task, by number.
    bodies: Vec<u32>,
    // The number of what each location, event and lock is in any run.
    places: Vec<u32>,
    events: Vec<u32>,
    locks: Vec<u32>,
}

impl<'a> Words<'a> {
    pub(super) fn new(steps: &'a Steps<'a>, transactions: &'a Transactions) -> Self {
        let mut first_writes = vec![None; steps.locations()];
        for (at, step) in steps.all.enumerate() {
            if let StepKind::Write(place) = step.kind {
                first_writes[place as usize].get_or_insert(at);
            }
        }
        let trace = steps.trace;
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        let mut number = |name: String| {
            let next = numbers.len() as u32;
            *numbers.entry(name).or_insert(next)
        };
        let threads = trace.threads.iter().map(|thread| &thread.name);
        let bodies = threads.chain(trace.tasks.iter().map(|task| &task.name)).map(|name| number(declared_name(name)));
        let bodies = bodies.collect();
        let fields: Vec<u32> = trace.fields.iter().map(|field| number(of_any_object(field))).collect();
        let places = trace.places.iter().map(|place| fields[place.field.index()]);
        let mut places: Vec<u32> = places.collect();
        places.extend(trace.atomic_names.iter().map(|name| number(declared_name(name))));
        let events = trace.events.iter().map(|name| number(declared_name(without_number(name)))).collect();
        let locks = trace.locks.iter().map(|name| number(declared_name(name))).collect();
        Self { steps, transactions, first_writes, bodies, places, events, locks }
    }

    /// Whether a step is the first write of its location in the run.
    pub(super) fn is_first_write(&self, step: StepNo) -> bool {
        matches!(self.steps.all[step].kind, StepKind::Write(place) if self.first_writes[place as usize] == Some(step))
    }

    /// Whether a write is known to have written the value that was there.
    pub(super) fn is_unchanged(&self, step: StepNo) -> bool {
        let Some(op) = self.steps.op_of(step) else { return false };
        self.steps.trace.unchanged.binary_search(&op).is_ok()
    }

    // What runs at a step: a task, which for a firing is the one that it makes, or a thread.
    fn running(&self, step: StepNo) -> Result<TaskNo, ThreadNo> {
        let at = &self.steps.all[step];
        match (self.steps.task_of(at.context), at.kind) {
            (Some(task), _) => Ok(task),
            (None, StepKind::Post(task)) if at.context == ContextNo::NONE => Ok(TaskNo(task)),
            _ => Err(self.steps.thread_of(step)),
        }
    }

    fn body(&self, step: StepNo) -> String {
        declared_name(match self.running(step) {
            Ok(task) => &self.steps.trace.tasks[task].name,
            Err(thread) => &self.steps.trace.threads[thread].name,
        })
    }

    fn moment(&self, step: StepNo, transaction: TransactionNo) -> Moment {
        let trace = self.steps.trace;
        let at = &self.steps.all[step];
        let site = self.steps.site_of(step);
        Moment {
            step,
            line: self.steps.op_of(step).map_or(0, |op| trace.lines[op.index()]),
            thread: trace.threads[self.steps.thread_of(step)].name.clone(),
            task: self.steps.task_of(at.context).map(|task| trace.tasks[task].name.clone()),
            body: self.body(step),
            site: (site != SiteNo::NONE).then(|| trace.sites[site].to_owned()),
            what: match at.kind {
                StepKind::Read(_) => "read",
                StepKind::Write(_) => "write",
                StepKind::Fork(_) => "fork",
                StepKind::Join(_) => "join",
                StepKind::Post(_) if at.context == ContextNo::NONE => "fire",
                StepKind::Post(_) => "post",
                StepKind::Begin(_) => "begin",
                StepKind::Enable(_) => "enable",
                StepKind::Send(_) => "send",
                StepKind::Receive(_) => "receive",
                StepKind::Acquire(_) => "acquire",
                StepKind::Release(_) => "release",
                StepKind::Other => "step",
            },
            inside: self.transactions.of_step(step) == Some(transaction),
        }
    }

    // What an edge is about, by the operation at its end.
    fn subject(&self, (from, to, kind): Hop) -> Option<Subject> {
        if kind == EdgeKind::Program {
            return None;
        }
        Some(match (self.steps.all[to].kind, self.steps.all[from].kind) {
            (StepKind::Read(place) | StepKind::Write(place), StepKind::Read(_) | StepKind::Write(_)) => {
                Subject::Place(place)
            }
            (StepKind::Join(thread), _) | (_, StepKind::Fork(thread)) => Subject::Thread(thread),
            (StepKind::Begin(task), StepKind::Post(_)) => Subject::Task(task),
            (StepKind::Post(_) | StepKind::Begin(_), StepKind::Enable(event)) => Subject::Event(event),
            (StepKind::Acquire(lock), _) => Subject::Lock(lock),
            _ => return None,
        })
    }

    // Returns the name of a subject, and the part of it that does not depend on the run.
    fn about(&self, subject: Subject) -> (String, String) {
        let trace = self.steps.trace;
        let named = |name: &str| (name.to_owned(), declared_name(name));
        match subject {
            Subject::Place(place) => match (place as usize).checked_sub(trace.places.len()) {
                None => {
                    let at = &trace.places[LocationNo(place)];
                    (at.name.clone(), of_any_object(&trace.fields[at.field]))
                }
                Some(atomic) => named(&trace.atomic_names[LocationNo::new(atomic)]),
            },
            Subject::Thread(thread) => named(&trace.threads[ThreadNo(thread)].name),
            Subject::Task(task) => named(&trace.tasks[TaskNo(task)].name),
            Subject::Event(event) => named(without_number(&trace.events[EventNo(event)])),
            Subject::Lock(lock) => named(&trace.locks[LockNo(lock)]),
        }
    }

    // Returns the number of the part of a subject's name that does not depend on the run.
    fn number(&self, subject: Subject) -> u32 {
        match subject {
            Subject::Place(place) => self.places[place as usize],
            Subject::Thread(thread) => self.bodies[thread as usize],
            Subject::Task(task) => self.bodies[self.steps.trace.threads.len() + task as usize],
            Subject::Event(event) => self.events[event as usize],
            Subject::Lock(lock) => self.locks[lock as usize],
        }
    }

    /// Returns the class of an edge: two edges with the same class count as one.
    pub(super) fn class(&self, hop: Hop) -> EdgeClass {
        let (from, to, kind) = hop;
        let body = |step: StepNo| match self.running(step) {
            Ok(task) => self.bodies[self.steps.trace.threads.len() + task.index()],
            Err(thread) => self.bodies[thread.index()],
        };
        let statement = |step: StepNo| (body(step), self.steps.site_of(step));
        (statement(from), statement(to), kind, self.subject(hop).map(|subject| self.number(subject)))
    }

    /// Returns an edge in words.
    pub(super) fn edge(&self, hop: Hop, transaction: TransactionNo) -> CycleEdge {
        let (about, field) = self.subject(hop).map(|subject| self.about(subject)).unzip();
        let (from, to, kind) = hop;
        CycleEdge { from: self.moment(from, transaction), to: self.moment(to, transaction), kind, about, field }
    }
}

// Returns a field without the numbers of objects and elements, which differ in each round of a loop: `Box#3.v` is
// `Box.v`, and `x[3]` is `x[]`.
fn of_any_object(field: &str) -> String {
    let mut left = field;
    let mut all = String::new();
    while let Some(at) = left.find(['#', '[']) {
        let (before, number) = left.split_at(at + 1);
        let rest = number.trim_start_matches(|c: char| c.is_ascii_digit());
        all += if before.ends_with('#') && rest.len() < number.len() { &before[..at] } else { before };
        left = if before.ends_with('#') || rest.starts_with(']') { rest } else { number };
    }
    all + left
}

// Each enable of a run is an event of its own, with a number behind the name.
fn without_number(event: &str) -> &str {
    event.rsplit_once(" #").map_or(event, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::of_any_object;

    #[test]
    fn fields_have_no_numbers_of_objects() {
        let cases = [
            ("Box#3.v", "Box.v"),
            ("x[31]", "x[]"),
            ("Box#3.v[2][0]", "Box.v[][]"),
            ("[I.8", "[I.8"),
            ("a#b", "a#b"),
            ("", ""),
        ];
        for (field, expected) in cases {
            assert_eq!(of_any_object(field), expected);
        }
    }
}
