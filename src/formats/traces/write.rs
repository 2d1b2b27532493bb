//! Writes a trace as raceflip's JSON lines. `rows` reads the same trace back, except for its notes and line numbers.

use super::rows::field_of;
use super::stat::word;
use crate::base::Id;
use crate::formats::trace::{Header, Row, TraceWriter, transaction_kind};
use crate::trace::{Action, Mark, OpNo, Operation, SiteNo, TaskNo, ThreadNo, Trace};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// Writes a trace that was read from the file `name`.
///
/// # Errors
///
/// Returns the error of `to` if it refuses a part of the text.
///
/// # Examples
///
/// ```
/// use raceflip::formats::traces;
///
/// let log = "1 START\n2 THREADINIT tid:1\n3 WRITE tid:1 obj:0x1 class:La; field:8\n";
/// let trace = traces::read("abc_log.txt", log.as_bytes())?;
/// let mut rows = Vec::new();
/// traces::write(&trace, "abc_log.txt", &mut rows)?;
/// assert_eq!(traces::read("rows.jsonl", &rows[..])?.ops, trace.ops);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(trace: &Trace, name: &str, to: impl Write) -> io::Result<()> {
    let header = Header { free_events: trace.free_events, ..Header::new(name, 0, &[], "", 0) };
    let mut writer = TraceWriter::new(to, &header);
    let names = Names::of(trace);
    let mut running: Vec<Option<TaskNo>> = vec![None; trace.threads.len()];
    let mut asides = Asides { trace, names: &names, marks: 0, atomics: 0 };
    for (i, op) in trace.ops.iter().enumerate() {
        asides.rows(OpNo::new(i), &mut writer);
        let current = &mut running[op.thread.index()];
        if let Action::Begin(task) = op.action {
            *current = Some(task);
        }
        let step = i as u64 + 1;
        let mut row = row(trace, &names, op, *current, step);
        mark(trace, OpNo::new(i), &mut row);
        writer.row(&row);
        match op.action {
            Action::End(_) => *current = None,
            // The events of a task follow its post, or its `begin` row if it was not posted.
            Action::Post(task) => {
                triggers(trace, &names, task, usize::from(fires(trace, op, task)), step, &mut writer);
            }
            Action::Begin(task) if trace.tasks[task].post.is_none() => {
                triggers(trace, &names, task, 0, step, &mut writer);
            }
            _ => {}
        }
    }
    asides.rows(OpNo::new(trace.ops.len()), &mut writer);
    writer.finish()
}

// Writes what stands between the operations: marks of transactions, and operations on atomics.
struct Asides<'t> {
    trace: &'t Trace,
    names: &'t Names,
    marks: usize,
    atomics: usize,
}

impl Asides<'_> {
    fn rows<W: Write>(&mut self, before: OpNo, writer: &mut TraceWriter<W>) {
        let step = u64::from(before.0) + 1;
        let row = |thread: ThreadNo, kind: &str, place: Option<&str>| {
            let thread = Some(self.names.thread(thread));
            let (kind, place) = (kind.to_owned(), place.map(str::to_owned));
            Row { step, context: thread.clone(), thread, kind, place, ..Row::default() }
        };
        loop {
            let access = self.trace.atomics.get(self.atomics).filter(|access| access.before <= before);
            let mark = self.trace.transactions.get(self.marks).filter(|mark| mark.before <= before);
            match (access, mark) {
                (Some(access), _) if access.marks as usize <= self.marks => {
                    let kind = if access.writes { "atomic-write" } else { "atomic-read" };
                    let mut row = row(access.thread, kind, Some(&self.trace.atomic_names[access.at]));
                    if access.site != SiteNo::NONE {
                        row.label = Some(self.trace.sites[access.site].to_owned());
                    }
                    writer.row(&row);
                    self.atomics += 1;
                }
                (_, Some(mark)) => {
                    let kind = transaction_kind(mark.begins, mark.unit);
                    let mut row = row(mark.thread, kind, mark.name.as_deref());
                    row.label = (mark.site != SiteNo::NONE).then(|| self.trace.sites[mark.site].to_owned());
                    writer.row(&row);
                    self.marks += 1;
                }
                _ => return,
            }
        }
    }
}

// The names of the tasks and threads of a trace. All parts of a job have one name in the trace of a run; a converted
// trace numbers them from the second one on, because it tells them apart by their names.
struct Names {
    tasks: Vec<String>,
    threads: Vec<String>,
}

impl Names {
    fn of(trace: &Trace) -> Self {
        let tasks = trace.tasks.iter().map(|task| task.name.as_str());
        let threads = trace.threads.iter().map(|thread| thread.name.as_str());
        Self { tasks: distinct(tasks), threads: distinct(threads) }
    }

    fn task(&self, task: TaskNo) -> String {
        self.tasks[task.index()].clone()
    }

    fn thread(&self, thread: ThreadNo) -> String {
        self.threads[thread.index()].clone()
    }
}

/// Numbers equal names from the second one on.
pub(super) fn distinct<'t>(names: impl Iterator<Item = &'t str> + Clone) -> Vec<String> {
    let all: BTreeSet<&str> = names.clone().collect();
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    let name = |name: &'t str| {
        let before = seen.entry(name).or_default();
        loop {
            *before += 1;
            let text = if *before == 1 { name.to_owned() } else { format!("{name}~{before}") };
            if *before == 1 || !all.contains(text.as_str()) {
                return text;
            }
        }
    };
    names.map(name).collect()
}

// Returns whether a post is written as the firing of the first event of its task: the environment performs it.
fn fires(trace: &Trace, op: &Operation, task: TaskNo) -> bool {
    matches!(op.action, Action::Post(_)) && trace.threads[op.thread].environment && !trace.tasks[task].events.is_empty()
}

fn triggers<W: Write>(
    trace: &Trace,
    names: &Names,
    task: TaskNo,
    known: usize,
    step: u64,
    writer: &mut TraceWriter<W>,
) {
    for event in trace.tasks[task].events.iter().skip(known) {
        let (made, place) = (Some(names.task(task)), Some(trace.events[*event].to_owned()));
        writer.row(&Row { step, kind: "trigger".to_owned(), made, place, ..Row::default() });
    }
}

fn row(trace: &Trace, names: &Names, op: &Operation, running: Option<TaskNo>, step: u64) -> Row {
    let thread = (!trace.threads[op.thread].environment).then(|| names.thread(op.thread));
    let task = |task: TaskNo| Some(names.task(task));
    let context = running.and_then(task).or_else(|| thread.clone());
    let mut row = Row { step, thread, context, kind: word(op.action).to_owned(), ..Row::default() };
    match op.action {
        Action::ThreadInit | Action::ThreadExit | Action::AttachQueue | Action::Loop | Action::End(_) => {}
        Action::Fork(child) => row.made = Some(names.thread(child)),
        Action::Join(child) => row.place = Some(names.thread(child)),
        // A `begin` without `made` means that the looper leaves its loop.
        Action::Leave => row.kind = "begin".to_owned(),
        Action::Begin(t) => {
            row.made = task(t);
            if trace.tasks[t].post.is_none() {
                row.kind = "section".to_owned();
                belongs(trace, t, &mut row);
            }
        }
        Action::Post(t) => post(trace, names, op, t, &mut row),
        Action::Acquire(lock) | Action::Release(lock) => row.place = Some(trace.locks[lock].to_owned()),
        Action::Read(at) | Action::Write(at) => {
            let place = &trace.places[at];
            let field = &trace.fields[place.field];
            row.place = Some(place.name.clone());
            row.field = (field_of(&place.name) != *field).then(|| field.to_owned());
        }
        Action::Enable(event) => row.place = Some(trace.events[event].to_owned()),
        Action::Send(channel) => row.sends.push(channel.0),
        Action::Receive(channel) => row.receives.push(channel.0),
    }
    if op.site != SiteNo::NONE {
        site(&trace.sites[op.site], &mut row);
    }
    // Readers know by the kind that a channel stands for a reader-writer lock.
    if let Action::Send(channel) | Action::Receive(channel) = op.action
        && trace.lock_channels.binary_search(&channel).is_ok()
    {
        row.kind = if row.sends.is_empty() { "read-lock" } else { "read-unlock" }.to_owned();
    }
    row
}

// Says which instance a task belongs to.
fn belongs(trace: &Trace, task: TaskNo, row: &mut Row) {
    let instance = trace.tasks[task].instance;
    row.instance = instance.map(|instance| trace.instances[instance].to_owned());
    row.units = instance.is_some_and(|instance| trace.with_units.binary_search(&instance).is_ok());
}

// Says what an access has to do with references. Each operation has a step of its own, one more than its index.
fn mark(trace: &Trace, op: OpNo, row: &mut Row) {
    let Mark { uses, tested, guard, frees } = trace.marks.of(op);
    // A `use` and a `free` are marked by their kinds.
    (row.uses, row.tested, row.frees) = (uses && row.kind != "use", tested, frees && row.kind != "free");
    row.guard = guard.map(|guard| u64::from(guard.0) + 1);
}

fn post(trace: &Trace, names: &Names, op: &Operation, task: TaskNo, row: &mut Row) {
    let about = &trace.tasks[task];
    row.made = Some(names.task(task));
    row.target = Some(names.thread(about.looper));
    row.is_async = about.is_async;
    belongs(trace, task, row);
    row.due(about.time);
    if fires(trace, op, task) {
        row.kind = "fire".to_owned();
        row.place = about.events.first().map(|event| trace.events[*event].to_owned());
    }
}

// Splits the statement `12:5 read @A` into the fields of a row. Any other text becomes a label.
fn site(text: &str, row: &mut Row) {
    let parts = || {
        let (at, rest) = text.split_once(' ')?;
        let (line, column) = at.split_once(':')?;
        let (kind, label) = rest.split_once(" @").map_or((rest, None), |(kind, label)| (kind, Some(label)));
        let fits = matches!((row.kind.as_str(), kind), ("read", "read" | "use") | ("write", "write" | "free"));
        let (line, column): (u32, u32) = (line.parse().ok()?, column.parse().ok()?);
        (fits && format!("{line}:{column}") == at).then(|| (line, column, kind.to_owned(), label.map(str::to_owned)))
    };
    match parts() {
        Some((line, column, kind, label)) => {
            (row.line, row.column, row.kind, row.label) = (Some(line), Some(column), kind, label);
        }
        None => row.label = Some(text.to_owned()),
    }
}
