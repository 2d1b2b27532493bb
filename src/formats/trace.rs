//! Writes traces as JSON lines, `raceflip-trace` version 1: a header, then one object for each event.

use super::trace_names::ShortNames;
use super::trace_operation::{kind, operation, queue_of};
use crate::detect::{EventChannels, References, Signals};
use crate::event::{AccessKind, AccessPlace, Cause, ContextId, Event, EventKind, LaunchPlace, Op, PostTime, ThreadId};
use crate::world::World;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The name of the format, in the first line of a trace.
pub const FORMAT: &str = "raceflip-trace";
/// Version of the format. It increases when a field changes its meaning or is removed, not when a field is added.
pub const VERSION: u32 = 1;

/// The header: the first line of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Header {
    /// The name of the format, [`FORMAT`].
    pub format: String,
    /// The version of the format, [`VERSION`].
    pub version: u32,
    /// The path of the model, as given on the command line.
    pub file: String,
    /// The digest of the program, 16 hexadecimal digits.
    pub program: String,
    /// The constants set with `-D`.
    pub defines: BTreeMap<String, i64>,
    /// The strategy that chose the schedule.
    pub strategy: String,
    /// The seed of the strategy.
    pub seed: u64,
    /// Of a converted trace: whether the environment may fire its events in any order that their enables allow, as in
    /// the run of a model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub free_events: bool,
}

impl Header {
    /// The header of a run.
    #[must_use]
    pub fn new(file: &str, program: u64, defines: &[(String, i64)], strategy: &str, seed: u64) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            file: file.to_owned(),
            program: format!("{program:016x}"),
            defines: defines.iter().cloned().collect(),
            strategy: strategy.to_owned(),
            seed,
            free_events: false,
        }
    }
}

/// Any line after the header: one event. Fields that do not apply are left out.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The step, counted from 1; 0 before the first one. All events of one step have the same number.
    pub step: u64,
    /// The virtual clock after the event, in milliseconds.
    pub now: u64,
    /// The thread, by pedigree; none for the environment and the clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The task that the thread runs, or the thread itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The kind of the event: `read`, `post`, `threadexit` ...
    pub kind: String,
    /// The object of the operation: a memory location, a lock, a thread, an event ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The value that was read, written or returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<i64>,
    /// Line in the model, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column in the model, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The label of the statement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The looper that a message goes to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The procedure that is posted, forked, canceled or registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Further operands of the operation: of a list operation (`.push(3)`), a compare and swap (`0 -> 1`), a
    /// fetch-and-add (`+ 1`), an exchange (the new value). For a wait on a condition: its lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Milliseconds: the delay of a post with `after` or of a sleep, or the timeout of a wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<i64>,
    /// The instant of a post with `at`, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// Whether a post has `at front`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub front: bool,
    /// Whether a post has `micro`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub micro: bool,
    /// Whether a post has `idle`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub idle: bool,
    /// Whether a post has `async`.
    #[serde(default, rename = "async", skip_serializing_if = "std::ops::Not::not")]
    pub is_async: bool,
    /// Whether the message goes to a pool with several workers, or comes from one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pool: bool,
    /// Of an operation on an atomic that is accessed plainly elsewhere: the access that can race, `read` or `write`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<String>,
    /// The task or thread that the operation creates or begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<String>,
    /// The instance that the task belongs to: that of a component, for the firing of a row, or the text of `as`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// Channels that the event sends on. Events that receive on them happen after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sends: Vec<u32>,
    /// Channels that the event receives on. It happens after the events that sent on them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receives: Vec<u32>,
    /// The field of the location without its object, if the name of the location does not end with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Of a read: whether its value is dereferenced, so that null would fail there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uses: bool,
    /// Of a read: whether a condition tests its value against null.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tested: bool,
    /// Of a read that uses a reference: the step of the read, in the same context, whose test keeps null from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<u64>,
    /// Of a write: whether it writes null to a location that holds references, or deletes an object.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub frees: bool,
}

impl Row {
    /// Says when the message of a post is due.
    pub(super) fn due(&mut self, time: PostTime) {
        match time {
            PostTime::Now => {}
            PostTime::After(delay) => self.delay = Some(delay),
            PostTime::Front => self.front = true,
            PostTime::At(at) => self.at = Some(at),
            PostTime::Micro => self.micro = true,
            PostTime::Idle { .. } => self.idle = true,
        }
    }
}

/// Writes a trace. After the first error nothing more is written, and [`finish`](Self::finish) returns that error.
///
/// # Examples
///
/// ```
/// use raceflip::formats::trace::{Header, Row, TraceWriter};
/// use raceflip::{event::Event, exec::{Observer, run}, sched::RoundRobin, vm::Model, world::{Limits, World}};
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// struct Trace<'t>(TraceWriter<&'t mut Vec<u8>>);
///
/// impl Observer for Trace<'_> {
///     fn event(&mut self, world: &World, event: &Event) {
///         self.0.event(world, event);
///     }
/// }
///
/// let mut bytes = Vec::new();
/// let header = Header::new("add.race", model.digest(), &[], "round-robin", 0);
/// let mut trace = Trace(TraceWriter::new(&mut bytes, &header));
/// run(&mut model.machine(Limits::default()), &mut RoundRobin::default(), 0, &mut trace, &stop);
/// trace.0.finish()?;
///
/// let text = String::from_utf8(bytes)?;
/// let rows: Vec<Row> = text.lines().skip(1).map(serde_json::from_str).collect::<Result<_, _>>()?;
/// assert!(rows.iter().any(|row| row.kind == "write" && row.place.as_deref() == Some("x")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TraceWriter<W: Write> {
    to: W,
    signals: Signals,
    started: bool,
    written: io::Result<()>,
    names: ShortNames,
    // Named by their steps.
    references: References<ThreadId, Option<ContextId>, u64>,
}

impl<W: Write> TraceWriter<W> {
    /// Starts a trace by writing its header.
    pub fn new(to: W, header: &Header) -> Self {
        let mut writer = Self {
            to,
            signals: Signals::new(),
            started: false,
            written: Ok(()),
            names: ShortNames::default(),
            references: References::default(),
        };
        writer.line(header);
        writer
    }

    fn line(&mut self, line: &impl Serialize) {
        if self.written.is_ok() {
            self.written = serde_json::to_writer(&mut self.to, line)
                .map_err(io::Error::from)
                .and_then(|()| self.to.write_all(b"\n"));
        }
    }

    /// Writes an event of the current step. Must be called for every event of a run, in order.
    pub fn event(&mut self, world: &World, event: &Event) {
        if !std::mem::replace(&mut self.started, true) {
            init_rows(world).iter().for_each(|row| self.row(row));
        }
        let EventChannels { receives, sends } = self.signals.observe(world, event);
        if self.written.is_ok() {
            let mut row = Row { receives, sends, ..row(world, event, &mut self.names) };
            self.mark(world, event, &mut row);
            self.names.pending_rows().iter().for_each(|name| self.line(name));
            self.line(&row);
            if let EventKind::Fire(_, context) = event.what {
                triggers(world, &row, context).iter().for_each(|row| self.line(row));
            }
        }
    }

    // Says what an access to a cell does to references.
    fn mark(&mut self, world: &World, event: &Event, row: &mut Row) {
        let EventKind::Performed { op, value, refused: false, .. } = &event.what else { return };
        let (Some(thread), Some(here), Some(access)) = (event.thread, event.site, world.performed_access(op, *value))
        else {
            return;
        };
        if let AccessPlace::Cell(_) = access.place {
            let by = (thread, event.context);
            let (mark, guard) = self.references.mark(world, by, here, (op, *value), (access.kind, row.step));
            (row.uses, row.tested, row.guard, row.frees) = (mark.uses, mark.tested, guard, mark.frees);
        }
    }

    /// Writes a row as it is.
    pub fn row(&mut self, row: &Row) {
        self.line(row);
    }

    /// Flushes the writer. Returns the first error of the trace, if there was one.
    pub fn finish(mut self) -> io::Result<()> {
        self.written?;
        self.to.flush()
    }
}

// Returns rows for the posts and enables of `init`, which no event reports: a thread `init` that performs them and
// forks all threads that exist at the start. Returns no rows if `init` has posted and enabled nothing.
fn init_rows(world: &World) -> Vec<Row> {
    let setup = world.setup();
    let init = |kind: &str| Row {
        now: world.now(),
        thread: Some("init".to_owned()),
        context: Some("init".to_owned()),
        kind: kind.to_owned(),
        ..Row::default()
    };
    let mut posts = Vec::new();
    for (thread, about) in world.threads().enumerate() {
        for (task, time) in about.queue.iter().flat_map(|queue| queue.posted_at_start()) {
            let made = Some(world.contexts().name(setup, task.context));
            let target = Some(queue_of(world, thread));
            let pool = world.shares_queue(thread);
            let instance = world.instance_text(task.instance);
            let mut row = Row { made, target, pool, instance, is_async: task.is_async, ..init("post") };
            row.due(time);
            posts.push((task.context, row));
        }
    }
    posts.sort_by_key(|(context, _)| *context);
    let mut rows: Vec<Row> = posts.into_iter().map(|(_, row)| row).collect();
    for event in setup.events.ids() {
        let enable = Row { place: Some(setup.events[event].name.clone()), ..init("enable") };
        rows.extend((0..world.enables_left(event)).map(|_| enable.clone()));
    }
    if !rows.is_empty() {
        rows.extend(world.threads().ids().map(|t| Row { made: Some(world.thread_name(t)), ..init("fork") }));
    }
    rows
}

// Returns a row for each event that has let the environment fire a row of a component: the message handles them all.
fn triggers(world: &World, fire: &Row, context: ContextId) -> Vec<Row> {
    let trigger = |cause| Row {
        kind: "trigger".to_owned(),
        place: Some(world.cause_name(cause)),
        made: fire.made.clone(),
        ..Row { step: fire.step, now: fire.now, ..Row::default() }
    };
    world.causes(context).filter(|cause| !matches!(cause, Cause::Condition(..))).map(trigger).collect()
}

// Converts an event to a row.
fn row(world: &World, event: &Event, names: &mut ShortNames) -> Row {
    let setup = world.setup();
    let mut name = |c| names.context(world, c);
    let site = event.site.map(|s| &setup.sites[s]);
    let mut row = Row {
        step: world.steps(),
        now: event.now,
        thread: event.thread.map(|t| name(world.thread(t).home)),
        context: event.context.map(&mut name),
        line: site.map(|s| s.line),
        column: site.map(|s| s.column),
        label: site.and_then(|s| s.label.clone()),
        ..Row::default()
    };
    match &event.what {
        EventKind::ThreadInit => row.kind = "threadinit".to_owned(),
        EventKind::ThreadExit => row.kind = "threadexit".to_owned(),
        EventKind::End => row.kind = "end".to_owned(),
        EventKind::Lets(cause) => {
            let is_condition = matches!(cause, Cause::Condition(..));
            row.kind = if is_condition { "holds" } else { "enable" }.to_owned();
            row.place = Some(world.cause_name(*cause));
        }
        EventKind::Suspended => {
            row.kind = "suspended".to_owned();
            let job = event.context.and_then(|context| world.job_of(context)).and_then(|job| world.job(job));
            row.pool = job.is_some_and(|job| world.shares_queue(job.looper()));
        }
        EventKind::Resumed { context, looper, .. } => {
            row.kind = "resumed".to_owned();
            (row.target, row.pool) = (Some(queue_of(world, *looper)), world.shares_queue(*looper));
            row.made = Some(name(*context));
        }
        EventKind::JobExit(job) => {
            row.kind = "jobexit".to_owned();
            row.place = Some(world.thread_name(*job));
            row.detail = world.job(*job).and_then(|job| job.parent()).map(|parent| world.thread_name(parent));
        }
        EventKind::Tick => row.kind = "tick".to_owned(),
        EventKind::Refused => row.kind = "refused".to_owned(),
        EventKind::Thrown(name) => {
            row.kind = "throw".to_owned();
            row.place = Some(name.clone());
        }
        EventKind::Transaction { begins, name } => {
            row.kind = if *begins { "transactionbegin" } else { "transactionend" }.to_owned();
            row.place = Some(name.clone()).filter(|name| !name.is_empty());
        }
        EventKind::Repeated { task, time, is_async } => {
            row.kind = "post".to_owned();
            (row.made, row.target) = (Some(world.contexts().name(setup, *task)), row.thread.clone());
            (row.value, row.is_async) = (Some(1), *is_async);
            row.instance = event.thread.and_then(|looper| world.instance_of_message(looper, *task));
            row.pool = event.thread.is_some_and(|thread| world.shares_queue(thread));
            row.due(*time);
        }
        EventKind::Fire(id, context) => {
            row.kind = "fire".to_owned();
            row.place = Some(setup.events[*id].name.clone());
            row.target = Some(world.thread_name(setup.events[*id].looper));
            row.made = Some(name(*context));
            row.instance = world.instance_of_message(setup.events[*id].looper, *context);
        }
        EventKind::Performed { op, value, made, .. } => {
            row.kind = kind(op);
            row.made = made.map(&mut name);
            operation(world, op, *value, &mut row);
            let queue = match op {
                Op::Launch { place: LaunchPlace::Here, .. } | Op::Begin => event.thread,
                Op::Launch { place: LaunchPlace::Posted(target), .. } | Op::Post { target, .. } => {
                    Some(world.thread_of(*target))
                }
                _ => None,
            };
            row.pool = queue.is_some_and(|thread| world.shares_queue(thread));
            if let Op::Launch { place: LaunchPlace::Here, .. } = op {
                row.target = queue.map(|thread| queue_of(world, thread));
            }
            let access = world.performed_access(op, *value).filter(|access| access.atomic);
            row.access =
                access.map(|access| if access.kind == AccessKind::Write { "write" } else { "read" }.to_owned());
        }
    }
    row.place = row.place.map(|place| names.text(place));
    row.target = row.target.map(|target| names.text(target));
    row.detail = row.detail.map(|detail| names.text(detail));
    row
}
