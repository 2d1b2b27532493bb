//! Writes a trace as STD, which has threads and locks and nothing else.
//!
//! | in the trace | in STD |
//! |---|---|
//! | a task of a looper | a thread of its own, `main/open#1`; its post by a thread is a `fork` |
//! | the order of the tasks of a looper and of what it does itself | the lock `queue:main`, held by each task |
//! | an enable; the firing or the post of its event | an acquisition and a release of `enable:EVENT` |
//! | a send, a receive | an acquisition and a release of `signal:N` |
//! | a statement | its number; [`StdText::map`] says which is which |
//!
//! All other orders of queues, the delays, and the environment are lost; [`StdText::losses`] counts what is. STD orders
//! what these locks order, so that in FastTrack's relation the file has no race that the trace does not have, except
//! by the losses that say so.

use super::grammar::Word;
use super::map::{LockFor, LockNames, Names, Statements, contexts};
use crate::base::Id;
use crate::event::PostTime;
use crate::trace::{Action, EventNo, LockNo, OpNo, Operation, TaskNo, ThreadNo, Trace, TransactionMark};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// What [`write()`] says about the text that it has written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StdText {
    /// What the numbers and names of the text stand for: lines of three fields with tabs between them. These are the
    /// kind (`statement`, `thread`, `lock`, `variable`, `transaction`), the number or name in the text, and what the
    /// trace has. Names that are the same in both are left out.
    pub map: String,
    /// What the text does not say, or says otherwise than the trace: one line each.
    pub losses: Vec<String>,
}

/// Writes a trace as STD. A trace that was read from STD comes back line by line, except for lines that were skipped.
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
/// let mut text = Vec::new();
/// let about = traces::write_std(&trace, &mut text)?;
/// assert_eq!(text, b"thread_1|w(0x1_La;.8)|1\n");
/// assert_eq!(about.map, "statement\t1\tline 3\nthread\tthread_1\tthread 1\nvariable\t0x1_La;.8\t0x1 La;.8\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(trace: &Trace, to: impl Write) -> io::Result<StdText> {
    let mut writer = Writer::new(trace, to);
    let mut marks = trace.transactions.iter().peekable();
    for (at, op) in trace.ops.enumerate() {
        while let Some(mark) = marks.next_if(|mark| mark.before <= at) {
            writer.mark(mark)?;
        }
        writer.operation(at, op)?;
    }
    marks.try_for_each(|mark| writer.mark(mark))?;
    writer.to.flush()?;
    Ok(writer.about())
}

/// Number of things that the text does not say.
#[derive(Default)]
struct Losses {
    tasks: u64,
    times: u64,
    unbegun: u64,
    fired: u64,
    signals: u64,
    enables: u64,
    attached: u64,
    held: u64,
    joins: u64,
    environment: u64,
}

/// A thread of the text: an index into its names.
type ContextNo = usize;

#[derive(Clone, Default)]
struct WrittenThread {
    running: Option<TaskNo>,
    // Whether the thread itself has done something that its later tasks come after.
    acted: bool,
    // Whether tasks have ended that come before what the thread does itself.
    ran: bool,
    ended: bool,
}

struct Writer<'t, W> {
    trace: &'t Trace,
    to: W,
    line: String,
    contexts: Names,
    locks: LockNames,
    places: Names,
    // The names of transactions, and where each one is among them.
    transactions: Names,
    transaction_numbers: BTreeMap<&'t str, usize>,
    statements: Statements<'t>,
    threads: Vec<WrittenThread>,
    // The thread of the text that holds a lock.
    holders: Vec<Option<ContextNo>>,
    losses: Losses,
}

impl<'t, W: Write> Writer<'t, W> {
    fn new(trace: &'t Trace, to: W) -> Self {
        let marks = trace.transactions.iter().filter(|mark| !mark.unit);
        let transactions: BTreeSet<&str> = marks.filter_map(|mark| mark.name.as_deref()).collect();
        Self {
            trace,
            to,
            line: String::new(),
            contexts: contexts(trace),
            locks: LockNames::new(trace),
            places: Names::new("variable", trace.places.iter().map(|place| place.name.clone()).collect()),
            transactions: Names::new("transaction", transactions.iter().map(|name| (*name).to_owned()).collect()),
            transaction_numbers: transactions.into_iter().zip(0..).collect(),
            statements: Statements::new(trace),
            threads: vec![WrittenThread::default(); trace.threads.len()],
            holders: vec![None; trace.locks.len()],
            losses: Losses::default(),
        }
    }

    fn task(&self, task: TaskNo) -> ContextNo {
        self.trace.threads.len() + task.index()
    }

    fn operation(&mut self, at: OpNo, op: &Operation) -> io::Result<()> {
        let (thread, own) = (op.thread, op.thread.index());
        if self.trace.threads[thread].environment {
            self.environment(op);
            return Ok(());
        }
        let context = self.threads[own].running.map_or(own, |task| self.task(task));
        // What the looper does itself after tasks comes after them.
        let is_own = !matches!(op.action, Action::ThreadInit | Action::Loop | Action::Leave | Action::Begin(_));
        if context == own && is_own {
            if std::mem::take(&mut self.threads[own].ran) {
                self.touch(context, LockFor::Queue(thread), at)?;
            }
            self.threads[own].acted = true;
        }
        match op.action {
            Action::ThreadInit | Action::Loop | Action::Leave => Ok(()),
            Action::ThreadExit => {
                self.threads[own].ended = true;
                Ok(())
            }
            Action::AttachQueue => {
                self.losses.attached += 1;
                Ok(())
            }
            Action::Fork(child) => {
                // Its tasks come after the fork, even if it does nothing itself.
                self.threads[child.index()].acted = true;
                self.thread(context, Word::Fork, child.index(), at)
            }
            Action::Join(child) if self.threads[child.index()].ended => {
                self.thread(context, Word::Join, child.index(), at)
            }
            Action::Join(_) => {
                self.losses.joins += 1;
                Ok(())
            }
            Action::Post(task) => self.post(context, task, at),
            Action::Begin(task) => self.begin(thread, task, at),
            Action::End(task) => {
                self.release_all(context, at)?;
                self.threads[own].running = None;
                self.threads[own].ran = true;
                let context = self.task(task);
                self.lock(context, Word::Release, LockFor::Queue(thread), at)
            }
            Action::Acquire(lock) => {
                self.holders[lock.index()] = Some(context);
                self.lock(context, Word::Acquire, LockFor::Lock(lock), at)
            }
            // A lock whose holder has ended was released there.
            Action::Release(lock) if self.holders[lock.index()] != Some(context) => Ok(()),
            Action::Release(lock) => {
                self.holders[lock.index()] = None;
                self.lock(context, Word::Release, LockFor::Lock(lock), at)
            }
            Action::Read(place) => self.access(context, Word::Read, place.index(), at),
            Action::Write(place) => self.access(context, Word::Write, place.index(), at),
            Action::Enable(event) => self.enable(context, &[event], at),
            Action::Send(channel) | Action::Receive(channel) => {
                self.losses.signals += 1;
                self.touch(context, LockFor::Channel(channel), at)
            }
        }
    }

    // The environment is no thread: its operations have no order. Its posts are enables that a begin has waited for.
    fn environment(&mut self, op: &Operation) {
        match op.action {
            Action::Post(task) if self.trace.tasks[task].begin.is_none() => self.losses.unbegun += 1,
            Action::Post(_) => self.losses.fired += 1,
            _ => self.losses.environment += 1,
        }
    }

    fn post(&mut self, context: ContextNo, task: TaskNo, at: OpNo) -> io::Result<()> {
        let about = &self.trace.tasks[task];
        if about.begin.is_none() {
            self.losses.unbegun += 1;
            return Ok(());
        }
        self.losses.times += u64::from(about.time != PostTime::Now || about.is_async);
        self.enable(context, &about.events, at)?;
        self.thread(context, Word::Fork, self.task(task), at)
    }

    fn begin(&mut self, thread: ThreadNo, task: TaskNo, at: OpNo) -> io::Result<()> {
        let (about, context) = (&self.trace.tasks[task], self.task(task));
        self.losses.tasks += 1;
        let state = &mut self.threads[thread.index()];
        state.running = Some(task);
        if std::mem::take(&mut state.acted) {
            self.release_all(thread.index(), at)?;
            self.touch(thread.index(), LockFor::Queue(thread), at)?;
        }
        self.lock(context, Word::Acquire, LockFor::Queue(thread), at)?;
        let fired = about.post.is_some_and(|post| self.trace.threads[self.trace.ops[post].thread].environment);
        if fired { self.enable(context, &about.events, at) } else { Ok(()) }
    }

    // Acquires the locks of events, then releases them.
    fn enable(&mut self, context: ContextNo, events: &[EventNo], at: OpNo) -> io::Result<()> {
        self.losses.enables += events.len() as u64;
        for word in [Word::Acquire, Word::Release] {
            events.iter().try_for_each(|event| self.lock(context, word, LockFor::Event(*event), at))?;
        }
        Ok(())
    }

    // Releases the locks that a thread of the text holds while the thread of the trace goes on in another one.
    fn release_all(&mut self, context: ContextNo, at: OpNo) -> io::Result<()> {
        for i in 0..self.holders.len() {
            if self.holders[i] == Some(context) {
                self.holders[i] = None;
                self.losses.held += 1;
                self.lock(context, Word::Release, LockFor::Lock(LockNo::new(i)), at)?;
            }
        }
        Ok(())
    }

    // Acquires and releases a lock.
    fn touch(&mut self, context: ContextNo, lock: LockFor, at: OpNo) -> io::Result<()> {
        self.lock(context, Word::Acquire, lock, at)?;
        self.lock(context, Word::Release, lock, at)
    }

    fn lock(&mut self, context: ContextNo, word: Word, lock: LockFor, at: OpNo) -> io::Result<()> {
        self.start(context, word);
        self.line.push_str(self.locks.get(lock));
        self.end(at)
    }

    fn thread(&mut self, context: ContextNo, word: Word, other: ContextNo, at: OpNo) -> io::Result<()> {
        self.start(context, word);
        self.line.push_str(self.contexts.get(other));
        self.end(at)
    }

    fn access(&mut self, context: ContextNo, word: Word, place: usize, at: OpNo) -> io::Result<()> {
        self.start(context, word);
        self.line.push_str(self.places.get(place));
        self.end(at)
    }

    // The form knows blocks only, and texts of a model may contain what separates its fields.
    fn mark(&mut self, mark: &TransactionMark) -> io::Result<()> {
        if mark.unit {
            return Ok(());
        }
        let own = mark.thread.index();
        let context = self.threads[own].running.map_or(own, |task| self.task(task));
        let word = if mark.begins { Word::Begin } else { Word::End };
        self.line.clear();
        [self.contexts.get(context), "|", word.text()].iter().for_each(|part| self.line.push_str(part));
        if let Some(name) = &mark.name {
            // All marks that are written have their names here.
            let name = self.transaction_numbers.get(&**name).map_or("_", |number| self.transactions.get(*number));
            ["(", name, ")"].iter().for_each(|part| self.line.push_str(part));
        }
        self.line.push('|');
        self.statements.add_site(mark.site, 0, &mut self.line);
        self.line.push('\n');
        self.to.write_all(self.line.as_bytes())
    }

    fn start(&mut self, context: ContextNo, word: Word) {
        self.line.clear();
        [self.contexts.get(context), "|", word.text(), "("].iter().for_each(|part| self.line.push_str(part));
    }

    fn end(&mut self, at: OpNo) -> io::Result<()> {
        self.line.push_str(")|");
        self.statements.add(&self.trace.ops[at], self.trace.lines[at.index()], &mut self.line);
        self.line.push('\n');
        self.to.write_all(self.line.as_bytes())
    }

    fn about(self) -> StdText {
        let mut map = String::new();
        self.statements.tell(&mut map);
        let all = [&self.contexts, self.locks.names(), &self.places, &self.transactions];
        all.iter().for_each(|names| names.tell(&mut map));
        let changed = all.iter().map(|names| names.changes() as u64).sum();
        let marks = self.trace.marks.iter().count() as u64;
        let Losses { tasks, times, unbegun, fired, signals, enables, attached, held, joins, environment } = self.losses;
        let losses = [
            (tasks, "tasks", "became threads, and a lock of their looper orders them as they ran"),
            (times, "delays and places in queues", "left out"),
            (unbegun, "posts of tasks that never begin", "left out"),
            (fired, "firings of the environment", "left out: their tasks have no fork"),
            (environment, "other operations of the environment", "left out"),
            (signals, "sends and receives", "became acquisitions of a lock, which also orders sends among themselves"),
            (
                enables,
                "enables and their uses",
                "became acquisitions of a lock, which also orders enables among themselves",
            ),
            (attached, "attachments of queues", "left out: they come before the posts of other threads"),
            (held, "locks", "released early: in STD no other thread can release what a task has acquired"),
            (marks, "marks of uses, tests and frees", "left out"),
            (joins, "joins of threads that never end", "left out"),
            (changed, "names", "changed: STD has no blanks and no `|` in them, no empty names, and no equal ones"),
        ];
        let losses = losses.into_iter().filter(|(n, ..)| *n > 0);
        StdText { map, losses: losses.map(|(n, what, how)| format!("{what}: {n} {how}")).collect() }
    }
}
