//! Reads logs of DroidRacer (Maiya, Kanade, Majumdar: Race Detection for Android Applications, PLDI 2014), in both
//! versions, and traces of EM-Explorer (TACAS 2016).
//!
//! Both have a line for each operation and share a grammar. A log ends with DroidRacer's own report, which is skipped.
//! An operation within the report comes from a thread that was still running, and is skipped as well. Other lines
//! between operations are errors.
//!
//! - The looper of a message that is posted to `dest:-1` is the thread that calls the message later. The operations are
//!   therefore kept in a compact list until the whole log was read. A post whose message is never called is left out.
//! - `rwId` lines are the accesses of the next `ACCESS` of their thread. They take effect there, in order.
//! - A `NATIVE-ENTRY` begins a call that a binder thread serves. It is not ordered after the previous call
//!   ([`Builder::begin_section`]).
//! - A `NOTIFY` is received by the next `WAIT` of the notified thread.
//! - [`events`] interprets the lines about events.

use super::events::{self, Services};
use super::grammar::{self, OperationLine};
use super::lines::{Lines, column, error};
use super::{DISORDER, LineError, ReadError, log_notes};
use crate::base::phrased;
use crate::event::PostTime;
use crate::trace::{Action, Builder, ChannelNo, EventNo, InstanceNo, SiteNo, TaskNo, ThreadNo, Trace, TraceError};
use std::collections::BTreeMap;
use std::io::BufRead;

/// The delay in milliseconds that is assumed for the first `DELAY-POST` of a file. EM-Explorer does not write delays.
/// Two delayed posts are ordered if the first delay is not greater than the second one. As the real delays are unknown,
/// the assumed ones decrease from post to post, so that they order nothing.
const UNKNOWN_DELAY: i64 = 1 << 40;

const NO_LINE: &str = "a log of DroidRacer has a line like `4 POST src:1 msg:2 dest:-1 delay:0` for each operation; JSON lines begin with `{`, and a line of STD has two `|`";

/// Reads a log whose first line is the current line.
pub(super) fn read<R: BufRead>(lines: &mut Lines<'_, R>) -> Result<Trace, ReadError> {
    let mut log = LogContent::default();
    loop {
        let number = lines.number();
        log.line(number, lines.text()).map_err(|wrong| lines.error(wrong))?;
        if !lines.advance()? {
            break;
        }
    }
    if log.previous.is_none() && !log.started {
        return Err(lines.error(LineError::new(0, "the log ends before its first operation", NO_LINE)));
    }
    log.build(lines.name())
}

/// The content of a log, as far as it was read.
#[derive(Default)]
struct LogContent {
    builder: Builder,
    threads: BTreeMap<u32, ThreadNo>,
    messages: BTreeMap<u64, usize>,
    // Messages by index; `messages` maps their numbers in the log to it.
    called: Vec<Message>,
    // Operations in the order of the log.
    records: Vec<Record>,
    // Accesses of each thread that wait for its next `ACCESS`.
    pending: BTreeMap<ThreadNo, Vec<(Action, LinePlace)>>,
    // Notifications of each thread that wait for its next `WAIT`.
    signals: BTreeMap<ThreadNo, Vec<ChannelNo>>,
    services: Services,
    // The thread of the previous operation, for lines that name no thread.
    previous: Option<ThreadNo>,
    delayed: i64,
    // Number of operations within the report.
    late: u64,
    started: bool,
    ended: bool,
}

// The line of an operation, and its column there.
#[derive(Clone, Copy, Debug)]
struct LinePlace {
    line: u32,
    column: u32,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    place: LinePlace,
    thread: ThreadNo,
    site: SiteNo,
    what: LineKind,
}

#[derive(Clone, Copy, Debug)]
enum LineKind {
    Do(Action),
    Post { message: usize, to: Option<ThreadNo>, time: PostTime },
    Call(usize),
    Return(usize),
    Enter,
    Exit,
    Handles(EventNo),
    Belongs(InstanceNo),
}

#[derive(Clone, Copy, Default, Debug)]
struct Message {
    number: u64,
    caller: Option<ThreadNo>,
    task: Option<TaskNo>,
}

impl LogContent {
    fn line(&mut self, number: u32, text: &str) -> Result<(), LineError> {
        let start = text.len() - text.trim_start().len();
        match grammar::line(text) {
            // A thread that still runs while the report is written. The report ignores this operation, too.
            Some(line) if self.ended && line.word != "START" => {
                self.late += 1;
                Ok(())
            }
            Some(line) if self.ended => {
                Err(LineError::new(line.at, "a second log begins here", "give each log a file of its own"))
            }
            Some(line) => {
                let place = LinePlace { line: number, column: column(text, line.at) };
                self.started = true;
                self.operation(&line, place)
            }
            None if self.ended || text.trim().is_empty() => Ok(()),
            None if is_end(text.trim()) => {
                self.ended = true;
                Ok(())
            }
            None if !self.started && text.trim().starts_with("Android bug-checker") => Ok(()),
            None => {
                let reason = format!("`{}` is not an operation", grammar::short(text.trim()));
                Err(LineError::new(start, reason, NO_LINE))
            }
        }
    }

    fn operation(&mut self, line: &OperationLine<'_>, place: LinePlace) -> Result<(), LineError> {
        if matches!(line.word, "READ" | "WRITE" | "READ-STATIC" | "WRITE-STATIC") {
            return self.access(line, place);
        }
        let known = !line.is_access
            && (self.events(line, place)?
                || self.threads_and_loopers(line, place)?
                || self.locks_and_signals(line, place)?
                || self.others(line, place)?);
        if known {
            return Ok(());
        }
        let reason = format!("`{}` is not an operation", grammar::short(line.word));
        Err(LineError::new(line.at, reason, "the line is damaged, or of another version of DroidRacer"))
    }

    fn events(&mut self, line: &OperationLine<'_>, place: LinePlace) -> Result<bool, LineError> {
        let Some(meaning) = events::meaning(line, &mut self.services)? else { return Ok(false) };
        let thread = self.thread(meaning.tid);
        self.previous = Some(thread);
        if meaning.enables.is_empty() {
            self.builder.silent(place.line, thread);
        }
        for event in meaning.enables {
            let event = self.builder.event(&event);
            self.add(thread, LineKind::Do(Action::Enable(event)), place);
        }
        for event in meaning.handles {
            let event = self.builder.event(&event);
            self.add(thread, LineKind::Handles(event), place);
        }
        if let Some(instance) = meaning.instance {
            let instance = self.builder.instance(&instance);
            self.add(thread, LineKind::Belongs(instance), place);
        }
        Ok(true)
    }

    fn threads_and_loopers(&mut self, line: &OperationLine<'_>, place: LinePlace) -> Result<bool, LineError> {
        match line.word {
            "THREADINIT" => self.simple(line, place, Action::ThreadInit)?,
            "THREADEXIT" => self.simple(line, place, Action::ThreadExit)?,
            "FORK" => {
                let [parent, child] = line.fields(["par-tid", "child-tid"])?;
                let (parent, child) = (self.thread(parent.number()?), self.thread(child.number()?));
                self.acts(parent, LineKind::Do(Action::Fork(child)), place);
            }
            "ATTACH-Q" | "LOOP" => {
                let action = if line.word == "LOOP" { Action::Loop } else { Action::AttachQueue };
                if line.has("queue") {
                    let [tid, queue] = line.fields(["tid", "queue"])?;
                    queue.number::<u64>()?;
                    let thread = self.thread(tid.number()?);
                    self.acts(thread, LineKind::Do(action), place);
                } else {
                    self.simple(line, place, action)?;
                }
            }
            "POST" | "NATIVE-POST" | "UI-POST" | "DELAY-POST" => self.post(line, place)?,
            "CALL" | "RET" => {
                let [tid, message] = line.fields(["tid", "msg"])?;
                let (thread, message) = (self.thread(tid.number()?), self.message(message.number()?));
                if line.word == "CALL" {
                    self.called[message].caller.get_or_insert(thread);
                    self.acts(thread, LineKind::Call(message), place);
                } else {
                    self.acts(thread, LineKind::Return(message), place);
                }
            }
            "NATIVE-ENTRY" | "NATIVE-EXIT" => {
                let [tid, name] = line.fields(["tid", "thread-name"])?;
                let thread = self.named(tid.number()?, Some(name.text));
                self.acts(thread, if line.word == "NATIVE-ENTRY" { LineKind::Enter } else { LineKind::Exit }, place);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn locks_and_signals(&mut self, line: &OperationLine<'_>, place: LinePlace) -> Result<bool, LineError> {
        match line.word {
            "LOCK" | "UNLOCK" => {
                let [tid, lock] = line.fields(["tid", "lock-obj"])?;
                let (thread, lock) = (self.thread(tid.number()?), self.builder.lock(lock.text));
                let action = if line.word == "LOCK" { Action::Acquire(lock) } else { Action::Release(lock) };
                self.acts(thread, LineKind::Do(action), place);
            }
            "NOTIFY" => {
                let [tid, notified] = line.fields(["tid", "notifiedTid"])?;
                let (thread, notified) = (self.thread(tid.number()?), self.thread(notified.number()?));
                let channel = self.builder.channel();
                self.signals.entry(notified).or_default().push(channel);
                self.acts(thread, LineKind::Do(Action::Send(channel)), place);
            }
            "WAIT" => {
                let [tid] = line.fields(["tid"])?;
                let thread = self.thread(tid.number()?);
                self.previous = Some(thread);
                for channel in self.signals.remove(&thread).unwrap_or_default() {
                    self.acts(thread, LineKind::Do(Action::Receive(channel)), place);
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn others(&mut self, line: &OperationLine<'_>, place: LinePlace) -> Result<bool, LineError> {
        match line.word {
            "START" => drop(line.fields([])?),
            "NOP" => {
                let [tid] = line.fields(["tid"])?;
                let thread = self.thread(tid.number()?);
                self.builder.silent(place.line, thread);
                self.previous = Some(thread);
            }
            "ACCESS" => {
                let [tid, access] = line.fields(["tid", "accessId"])?;
                let thread = self.thread(tid.number()?);
                access.number::<u64>()?;
                // A log does not identify the statement: the number identifies this single access.
                let site = SiteNo::NONE;
                for (action, place) in self.pending.remove(&thread).unwrap_or_default() {
                    self.records.push(Record { place, thread, site, what: LineKind::Do(action) });
                }
                self.previous = Some(thread);
            }
            "INSTANCE-INTENT" => {
                let [tid, instance, intent] = line.fields(["tid", "instance", "intentId"])?;
                instance.number::<i64>()?;
                intent.number::<i64>()?;
                self.services.instance(instance.text, intent.text);
                self.previous = Some(self.thread(tid.number()?));
            }
            "ADD_IDLE_HANDLER" | "REMOVE_IDLE_HANDLER" => {
                let [idler, queue] = line.fields(["idler", "queue"])?;
                idler.number::<i64>()?;
                queue.number::<i64>()?;
                let Some(thread) = self.previous else {
                    let reason = format!("`{}` names no thread, and no earlier line names one", line.word);
                    return Err(LineError::new(line.at, reason, DISORDER));
                };
                if line.word == "ADD_IDLE_HANDLER" {
                    let event = self.builder.event(&format!("idle {}", idler.text));
                    self.acts(thread, LineKind::Do(Action::Enable(event)), place);
                }
            }
            "QUEUE_IDLE" => {
                let [tid, idler, queue] = line.fields(["tid", "idler", "queue"])?;
                idler.number::<i64>()?;
                queue.number::<i64>()?;
                let event = self.builder.event(&format!("idle {}", idler.text));
                let thread = self.thread(tid.number()?);
                self.acts(thread, LineKind::Handles(event), place);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn post(&mut self, line: &OperationLine<'_>, place: LinePlace) -> Result<(), LineError> {
        let mut time = PostTime::Now;
        let [from, message, to] = if line.word == "POST" && line.has("delay") {
            let [from, message, to, delay] = line.fields(["src", "msg", "dest", "delay"])?;
            let delay: i64 = delay.number()?;
            if delay > 0 {
                time = PostTime::After(delay);
            }
            [from, message, to]
        } else {
            line.fields(["src", "msg", "dest"])?
        };
        if line.word == "DELAY-POST" {
            time = PostTime::After(UNKNOWN_DELAY - self.delayed);
            self.delayed += 1;
        }
        let thread = self.thread(from.number()?);
        let to = if to.text == "-1" { None } else { Some(self.thread(to.number()?)) };
        let message = self.message(message.number()?);
        self.acts(thread, LineKind::Post { message, to, time }, place);
        Ok(())
    }

    fn access(&mut self, line: &OperationLine<'_>, place: LinePlace) -> Result<(), LineError> {
        let (tid, at) = if line.word.ends_with("-STATIC") {
            let [tid, class, field] = line.fields(["tid", "class", "field"])?;
            let name = format!("{}.{}", class.text, field.number::<i64>()?);
            (tid, self.builder.location(&name, &name))
        } else if line.has("database") && !line.has("obj") {
            let [tid, path] = line.fields(["tid", "database"])?;
            let name = format!("database:{}", path.text);
            (tid, self.builder.location(&name, &name))
        } else {
            let [tid, object, class, field] = line.fields(["tid", "obj", "class", "field"])?;
            let what = format!("{}.{}", class.text, field.number::<i64>()?);
            (tid, self.builder.location(&format!("{} {what}", object.text), &what))
        };
        let thread = self.thread(tid.number()?);
        let action = if line.word.starts_with("READ") { Action::Read(at) } else { Action::Write(at) };
        if line.is_access {
            self.pending.entry(thread).or_default().push((action, place));
        } else {
            self.acts(thread, LineKind::Do(action), place);
        }
        Ok(())
    }

    fn simple(&mut self, line: &OperationLine<'_>, place: LinePlace, action: Action) -> Result<(), LineError> {
        let [tid] = line.fields(["tid"])?;
        let thread = self.thread(tid.number()?);
        self.acts(thread, LineKind::Do(action), place);
        Ok(())
    }

    fn acts(&mut self, thread: ThreadNo, what: LineKind, place: LinePlace) {
        self.previous = Some(thread);
        self.add(thread, what, place);
    }

    fn add(&mut self, thread: ThreadNo, what: LineKind, place: LinePlace) {
        self.records.push(Record { place, thread, site: SiteNo::NONE, what });
    }

    fn thread(&mut self, tid: u32) -> ThreadNo {
        self.named(tid, None)
    }

    fn named(&mut self, tid: u32, name: Option<&str>) -> ThreadNo {
        let builder = &mut self.builder;
        *self.threads.entry(tid).or_insert_with(|| match name {
            Some(name) => builder.thread(&format!("thread {tid} ({name})")),
            None => builder.thread(&format!("thread {tid}")),
        })
    }

    fn message(&mut self, number: u64) -> usize {
        let new = self.called.len();
        let message = *self.messages.entry(number).or_insert(new);
        if message == new {
            self.called.push(Message { number, ..Message::default() });
        }
        message
    }

    /// Builds the trace, now that the callers of all messages are known.
    fn build(mut self, name: &str) -> Result<Trace, ReadError> {
        let (mut uncalled, mut outside) = (0u64, 0u64);
        for record in std::mem::take(&mut self.records) {
            self.perform(record, &mut uncalled, &mut outside).map_err(|wrong| {
                let LinePlace { line, column } = record.place;
                error(name, line, column, wrong.to_string(), DISORDER)
            })?;
        }
        let waiting = self.pending.values().map(|accesses| accesses.len() as u64).sum();
        for (n, [one, several]) in [
            (uncalled, log_notes::UNCALLED),
            (outside, log_notes::OUTSIDE),
            (self.late, log_notes::LATE),
            (waiting, log_notes::WAITING),
        ] {
            if n > 0 {
                self.builder.note(phrased(n, one, several));
            }
        }
        Ok(self.builder.finish())
    }

    fn perform(&mut self, record: Record, uncalled: &mut u64, outside: &mut u64) -> Result<(), TraceError> {
        let Record { place: LinePlace { line, .. }, thread, site, what } = record;
        let builder = &mut self.builder;
        match what {
            LineKind::Do(action) => builder.push(thread, action, site, line),
            LineKind::Enter => builder.begin_section(thread, line),
            LineKind::Exit => builder.end_section(thread, line),
            LineKind::Handles(event) => {
                match builder.running(thread) {
                    Some(task) => builder.handles(task, event),
                    None => *outside += 1,
                }
                Ok(())
            }
            LineKind::Belongs(instance) => {
                if let Some(task) = builder.running(thread) {
                    builder.belongs(task, instance);
                }
                Ok(())
            }
            LineKind::Post { message, to, time } => {
                let message = &mut self.called[message];
                let Some(caller) = message.caller else {
                    *uncalled += 1;
                    return Ok(());
                };
                let task = *message.task.get_or_insert_with(|| {
                    builder.task(&format!("msg {}", message.number), to.unwrap_or(caller), time, false)
                });
                builder.push(thread, Action::Post(task), site, line)
            }
            LineKind::Call(message) | LineKind::Return(message) => {
                let Message { number, task, .. } = self.called[message];
                let task = task.ok_or_else(|| TraceError::NotPosted(format!("msg {number}")))?;
                let action = if matches!(what, LineKind::Call(_)) { Action::Begin(task) } else { Action::End(task) };
                builder.push(thread, action, site, line)
            }
        }
    }
}

// Returns whether a line ends the operations: DroidRacer's report follows, or nothing.
fn is_end(text: &str) -> bool {
    ["HB Graph", "Races detected", "Categorization of detected races", "End of trace"]
        .iter()
        .any(|t| text.starts_with(t))
}
