//! Reads traces in raceflip's own form, JSON lines. `write` writes this form.
//!
//! A row is an operation, or none, with the channels that it receives on before and sends on after it. If the operation
//! begins a thread or task, its receives come after it; if the operation ends one, its sends come before it, so that
//! they are part of the thread or task. Rows of other kinds only contribute their `sends` and `receives`. A kind that
//! does not exist is an error, since it may be a misspelled access.
//!
//! A model declares loopers that have their queue and loop from the start, without rows for them. Such a looper gets
//! both with the first message that is posted to it, or when it starts, if that is later. A converted trace has rows
//! for all operations.

mod accesses;
mod atomicity;
mod jobs;
mod pools;

use super::grammar::short;
use super::lines::Lines;
use super::{DISORDER, LineError, ReadError};
use crate::base::Id;
use crate::event::PostTime;
use crate::formats::trace::{FORMAT, Row, VERSION};
use crate::formats::trace_kinds::{is_kind, kinds};
use crate::lang::near;
use crate::trace::{
    Action, Builder, ChannelNo, ENVIRONMENT_NAME, EventNo, LockNo, SiteNo, TaskNo, ThreadNo, Trace, TraceError,
};
use serde::Deserialize;
use smallvec::{SmallVec, smallvec};
use std::collections::{BTreeMap, VecDeque};
use std::io::BufRead;

const UPDATE: &str = "a newer raceflip has written it: take that one";
const NO_TRACE: &str = "give it a file that `raceflip run --trace FILE` or `raceflip trace convert` has written";
const DAMAGED: &str = "the line is damaged: write the trace again";
const MISSPELLED: &str = "correct the word; if a newer raceflip has written it, take that one";

// The relevant fields of the first line.
#[derive(Deserialize)]
struct TraceHead {
    format: String,
    version: u64,
    #[serde(default)]
    program: String,
    #[serde(default)]
    free_events: bool,
}

/// Reads a trace whose first line is the current line.
pub(super) fn read<R: BufRead>(lines: &mut Lines<'_, R>) -> Result<Trace, ReadError> {
    let head = header(lines.text()).map_err(|wrong| lines.error(wrong))?;
    // A converted trace belongs to no model, so the digest in its header is 0.
    let of_run = head.program.bytes().any(|digit| digit != b'0');
    let is_whole = !of_run && !head.program.is_empty();
    let mut rows = Rows { of_run, is_whole, ..Rows::default() };
    if of_run || head.free_events {
        rows.builder.free_events();
    }
    while lines.advance()? {
        let text = lines.text();
        if text.trim().is_empty() {
            continue;
        }
        let row = json(text, DAMAGED).and_then(|row: Row| {
            let at = |wrong: Reason| match wrong {
                Reason::Disorder(wrong) => LineError::new(key(text, "kind"), wrong.to_string(), DISORDER),
                Reason::NoGuard(step) => {
                    let reason = format!("step {step} is no earlier read of this location that is `tested`");
                    LineError::new(key(text, "guard"), reason, DAMAGED)
                }
                Reason::NoWord(at, wrong) => LineError::new(key(text, at), wrong, MISSPELLED),
                Reason::Lacks(what) => {
                    LineError::new(key(text, "kind"), format!("`{}` lacks its `{what}`", row.kind), DAMAGED)
                }
            };
            rows.row(&row, lines.number()).map_err(at)
        });
        row.map_err(|wrong| lines.error(wrong))?;
    }
    Ok(rows.builder.finish())
}

fn header(text: &str) -> Result<TraceHead, LineError> {
    let head: TraceHead = json(text, NO_TRACE)?;
    if head.format != FORMAT {
        let reason = format!("it is a `{}`, not a `{FORMAT}`", short(&head.format));
        return Err(LineError::new(key(text, "format"), reason, NO_TRACE));
    }
    if head.version > u64::from(VERSION) {
        let reason = format!("it has version {}, and this raceflip reads version {VERSION}", head.version);
        return Err(LineError::new(key(text, "version"), reason, UPDATE));
    }
    Ok(head)
}

fn json<'t, T: Deserialize<'t>>(text: &'t str, advice: &'static str) -> Result<T, LineError> {
    serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        let reason = message.split(" at line ").next().unwrap_or_default();
        let mut at = error.column().saturating_sub(1).min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        LineError::new(at, reason, advice)
    })
}

// Returns the byte offset of a key in a line.
fn key(text: &str, key: &str) -> usize {
    text.find(&format!("\"{key}\"")).unwrap_or_default()
}

/// An error in a row.
#[derive(Debug)]
enum Reason {
    Disorder(TraceError),
    Lacks(&'static str),
    // The field, and what is wrong with its word.
    NoWord(&'static str, String),
    // A guard that is not a tested read of the same location.
    NoGuard(u64),
}

impl From<TraceError> for Reason {
    fn from(wrong: TraceError) -> Self {
        Reason::Disorder(wrong)
    }
}

#[derive(Default)]
struct Rows {
    builder: Builder,
    threads: BTreeMap<String, ThreadNo>,
    environment: Option<ThreadNo>,
    tasks: BTreeMap<String, TaskNo>,
    channels: BTreeMap<u32, ChannelNo>,
    loopers: Vec<Looper>,
    holds: BTreeMap<(ThreadNo, LockNo), HoldCounts>,
    // Whether a run wrote the trace. The rows of a run say less than those of a converted trace.
    of_run: bool,
    // Whether the trace was converted: each operation has a row, and none is implied.
    is_whole: bool,
    // For the trace of a run: the enables of each event that no firing has used up.
    enables: BTreeMap<String, VecDeque<EventNo>>,
    tested: accesses::TestedReads,
    jobs: jobs::JobRows,
    pools: pools::PoolRows,
    values: atomicity::Values,
}

// The state of a thread with respect to its queue, according to the rows so far.
#[derive(Clone, Copy, Default)]
struct Looper {
    started: bool,
    queue: bool,
    looping: bool,
    left: bool,
    // Whether a message was posted to the thread before it started.
    awaited: bool,
    // Whether queue and loop are implied, so that later rows for them must be ignored.
    implied: bool,
}

// How often a thread holds a lock, and how often it held the lock when it began to wait.
#[derive(Clone, Copy, Default)]
struct HoldCounts {
    now: u32,
    given_up: u32,
}

type Actions = SmallVec<[Action; 2]>;

impl Rows {
    fn row(&mut self, row: &Row, line: u32) -> Result<(), Reason> {
        if !is_kind(&row.kind) {
            let near = near(&row.kind, kinds()).map_or_else(String::new, |near| format!(", but `{near}` is one"));
            return Err(Reason::NoWord("kind", format!("`{}` is not a kind of row{near}", short(&row.kind))));
        }
        // A definition of a short form needs no action: a name is only compared with others.
        if row.kind == "name" {
            return Ok(());
        }
        if row.kind == "trigger" {
            return self.trigger(row);
        }
        let thread = match &row.thread {
            Some(name) => self.thread(name),
            None if row.kind == "tick" && row.sends.is_empty() && row.receives.is_empty() => return Ok(()),
            None => self.environment(),
        };
        let (thread, pooled) = self.pool(row, thread, line)?;
        self.aside(row, thread)?;
        let actions = match pooled {
            Some(actions) => actions,
            None => match self.job(row, thread, line)? {
                Some(actions) => actions,
                None => self.actions(row, thread, line)?,
            },
        };
        let accesses = actions.iter().any(|action| action.access().is_some());
        let site = if accesses { self.site(row) } else { self.converted_site(row) };
        let receives: Actions = row.receives.iter().map(|c| Action::Receive(self.channel(*c))).collect();
        let sends: Actions = row.sends.iter().map(|c| Action::Send(self.channel(*c))).collect();
        // Channels of an operation that begins or ends a thread or task must lie inside that one.
        let [a, b, c] = match (actions.first(), actions.last()) {
            (Some(Action::ThreadInit | Action::Begin(_)), _) => [actions, receives, sends],
            (Some(Action::End(_) | Action::Leave), _) | (_, Some(Action::ThreadExit)) => [receives, sends, actions],
            _ => [receives, actions, sends],
        };
        self.perform(row, (thread, line), a.into_iter().chain(b).chain(c).collect(), site)?;
        if row.kind == "threadinit" && std::mem::take(&mut self.loopers[thread.index()].awaited) {
            self.imply(thread, line)?;
        }
        Ok(())
    }

    fn actions(&mut self, row: &Row, thread: ThreadNo, line: u32) -> Result<Actions, Reason> {
        let action = match row.kind.as_str() {
            "threadinit" => {
                self.loopers[thread.index()].started = true;
                Action::ThreadInit
            }
            "threadexit" => Action::ThreadExit,
            // A post without `made` was refused; a fork without it hit the limit of threads.
            "post" | "fork" | "spawn-looper" if row.made.is_none() => return Ok(Actions::new()),
            "fork" | "spawn-looper" => Action::Fork(self.thread(need(&row.made, "made")?)),
            "join" => Action::Join(self.thread(need(&row.place, "place")?)),
            "attachq" | "loop" => return Ok(self.looper(row.kind == "loop", thread).into_iter().collect()),
            "post" | "fire" => self.post(row, line)?,
            "section" => {
                let name = need(&row.made, "made")?;
                let task = self.builder.begin_unposted(thread, name, line)?;
                self.belongs(row, task);
                self.tasks.insert(name.clone(), task);
                return Ok(Actions::new());
            }
            "begin" => {
                self.imply(thread, line)?;
                match &row.made {
                    Some(made) => Action::Begin(self.task(made)?),
                    None => {
                        self.loopers[thread.index()].left = true;
                        Action::Leave
                    }
                }
            }
            "end" => {
                let task = need(&row.context, "context")?;
                Action::End(self.task(task).map_err(|_| TraceError::NotRunning(task.clone()))?)
            }
            "enable" => Action::Enable(self.enable(need(&row.place, "place")?)),
            "disable" => {
                self.enables.remove(need(&row.place, "place")?);
                return Ok(Actions::new());
            }
            "acquire" | "release" | "wait" | "return-from-wait" => return self.lock(row, thread),
            "read" | "use" => {
                return Ok(self.life(row)?.into_iter().chain([Action::Read(self.location(row)?)]).collect());
            }
            "write" | "free" => {
                return Ok(self.life(row)?.into_iter().chain([Action::Write(self.location(row)?)]).collect());
            }
            _ if row.access.is_some() => return self.atomic(row),
            _ => return Ok(Actions::new()),
        };
        Ok(smallvec![action])
    }

    // Records that a task is the handler of an event. The row is not an operation.
    fn trigger(&mut self, row: &Row) -> Result<(), Reason> {
        let task = self.task(need(&row.made, "made")?)?;
        let place = need(&row.place, "place")?;
        let event = match self.of_run {
            // Each enable of a run is an event of its own, and the last one before the firing counts.
            true => self.enables.get(place).and_then(VecDeque::back).copied(),
            false => Some(self.builder.event(place)),
        };
        event.into_iter().for_each(|event| self.builder.handles(task, event));
        Ok(())
    }

    // Returns the operation that attaches a queue or begins the loop, unless both are implied already.
    fn looper(&mut self, is_loop: bool, thread: ThreadNo) -> Option<Action> {
        let looper = &mut self.loopers[thread.index()];
        if looper.implied {
            return None;
        }
        if is_loop {
            looper.looping = true;
            return Some(Action::Loop);
        }
        looper.queue = true;
        Some(Action::AttachQueue)
    }

    // Adds the implied operations of a declared looper, unless its rows already have them: it attaches its queue and
    // begins its loop.
    fn imply(&mut self, thread: ThreadNo, line: u32) -> Result<(), TraceError> {
        let looper = &mut self.loopers[thread.index()];
        if looper.looping || looper.left || self.is_whole {
            return Ok(());
        }
        let attaches = !looper.queue;
        (looper.queue, looper.looping) = (true, true);
        looper.implied = attaches;
        if attaches {
            self.builder.push(thread, Action::AttachQueue, SiteNo::NONE, line)?;
        }
        self.builder.push(thread, Action::Loop, SiteNo::NONE, line)
    }

    fn post(&mut self, row: &Row, line: u32) -> Result<Action, Reason> {
        let (made, target) = (need(&row.made, "made")?, need(&row.target, "target")?);
        let time = match (row.front, row.at, row.delay) {
            _ if row.micro => PostTime::Micro,
            _ if row.idle => PostTime::Idle { keep: false },
            (true, ..) => PostTime::Front,
            (_, Some(at), _) => PostTime::At(at),
            (_, _, Some(delay)) => PostTime::After(delay),
            _ => PostTime::Now,
        };
        let looper = self.thread(target);
        let state = &mut self.loopers[looper.index()];
        if !state.queue {
            if state.started {
                self.imply(looper, line)?;
            } else {
                state.awaited = true;
            }
        }
        let task = match self.tasks.get(made) {
            Some(task) => *task,
            None => self.builder.task(made, looper, time, row.is_async),
        };
        self.belongs(row, task);
        self.tasks.insert(made.clone(), task);
        if row.kind == "fire" {
            let place = need(&row.place, "place")?;
            let cause = match self.of_run {
                true => self.enables.get_mut(place).and_then(VecDeque::pop_front),
                false => Some(self.builder.event(place)),
            };
            cause.into_iter().for_each(|event| self.builder.handles(task, event));
        }
        Ok(Action::Post(task))
    }

    // Each enable of a run is an event of its own, and a firing uses up the oldest one that is left.
    fn enable(&mut self, name: &str) -> EventNo {
        if !self.of_run {
            return self.builder.event(name);
        }
        let event = self.builder.new_event(name);
        self.enables.entry(name.to_owned()).or_default().push_back(event);
        event
    }

    // A wait releases all holds of its lock, and the return from it acquires them again.
    fn lock(&mut self, row: &Row, thread: ThreadNo) -> Result<Actions, Reason> {
        let place = need(&row.place, "place")?;
        let waits = matches!(row.kind.as_str(), "wait" | "return-from-wait");
        let name = row.detail.as_ref().filter(|_| waits).unwrap_or(place);
        let lock = self.builder.lock(name);
        let holds = self.holds.entry((thread, lock)).or_default();
        Ok(match row.kind.as_str() {
            "acquire" => {
                holds.now = holds.now.saturating_add(1);
                smallvec![Action::Acquire(lock)]
            }
            "release" => {
                holds.now = holds.now.saturating_sub(1);
                smallvec![Action::Release(lock)]
            }
            "wait" => {
                holds.given_up = std::mem::take(&mut holds.now);
                smallvec![Action::Release(lock); holds.given_up as usize]
            }
            _ => {
                holds.now = std::mem::take(&mut holds.given_up);
                smallvec![Action::Acquire(lock); holds.now as usize]
            }
        })
    }

    // The statement of what is no access. The rows of a run have lines there, which no reader of a trace needs.
    fn converted_site(&mut self, row: &Row) -> SiteNo {
        if row.line.is_some() { SiteNo::NONE } else { self.site(row) }
    }

    fn site(&mut self, row: &Row) -> SiteNo {
        match (row.line, row.column, &row.label) {
            (Some(line), Some(column), None) => self.builder.site(&format!("{line}:{column} {}", row.kind)),
            (Some(line), Some(column), Some(label)) => {
                self.builder.site(&format!("{line}:{column} {} @{label}", row.kind))
            }
            (_, _, Some(label)) => self.builder.site(label),
            _ => SiteNo::NONE,
        }
    }

    fn task(&self, name: &str) -> Result<TaskNo, Reason> {
        self.tasks.get(name).copied().ok_or_else(|| TraceError::NotPosted(name.to_owned()).into())
    }

    fn thread(&mut self, name: &str) -> ThreadNo {
        if let Some(thread) = self.threads.get(name) {
            return *thread;
        }
        let thread = self.builder.thread(name);
        self.threads.insert(name.to_owned(), thread);
        self.loopers.push(Looper::default());
        thread
    }

    fn environment(&mut self) -> ThreadNo {
        *self.environment.get_or_insert_with(|| {
            self.loopers.push(Looper::default());
            self.builder.environment(ENVIRONMENT_NAME)
        })
    }

    fn channel(&mut self, number: u32) -> ChannelNo {
        let builder = &mut self.builder;
        *self.channels.entry(number).or_insert_with(|| builder.channel())
    }
}

fn need<'r>(field: &'r Option<String>, name: &'static str) -> Result<&'r String, Reason> {
    field.as_ref().ok_or(Reason::Lacks(name))
}

/// Returns the field of a location, derived from its name: `main/onCreate#1/Node#2.next` is `Node.next`, and `a[2]` is
/// `a[]`.
pub(super) fn field_of(place: &str) -> String {
    let tail = place.rsplit('/').next().unwrap_or_default();
    let mut field = String::with_capacity(tail.len());
    let mut number = false;
    for c in tail.chars() {
        number = matches!(c, '#' | '[') || number && c.is_ascii_digit();
        if !number || c == '[' {
            field.push(c);
        }
    }
    field
}
