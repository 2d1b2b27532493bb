//! Builds a trace operation by operation and rejects operations that the semantics of DroidRacer does not allow.

mod beside;

use super::{
    Action, ChannelNo, EventNo, FieldNo, LocationNo, LockNo, Mark, NameTable, OpNo, Operation, SiteNo, Task, TaskNo,
    ThreadNo, Trace, TraceError, TraceLocation, TraceThread,
};
use crate::base::{Id, IndexVec, phrased};
use crate::event::PostTime;
use smallvec::SmallVec;

// The detectors count epochs below 2^31 (`detect::clock`), so a trace must not have more operations.
const MOST_OPERATIONS: u32 = (1 << 31) - 3;

/// Builds a [`Trace`].
///
/// A thread that performs an operation without having been started or forked has started before the trace. If the
/// holder of a lock acquires it again, the acquisitions are counted: only the first acquisition and the last release
/// are kept.
#[derive(Clone, Default, Debug)]
pub struct Builder {
    trace: Trace,
    place_names: NameTable<LocationNo>,
    threads: IndexVec<ThreadNo, BuilderThread>,
    locks: IndexVec<LockNo, LockHolder>,
    anonymous: u32,
    unheld: u32,
    taken: u32,
}

// What the builder knows about a thread.
#[derive(Clone, Default, Debug)]
struct BuilderThread {
    seen: bool,
    forked: bool,
    ended: bool,
    queue: bool,
    looping: bool,
    running: Option<TaskNo>,
}

#[derive(Clone, Default, Debug)]
struct LockHolder {
    by: Option<ThreadNo>,
    depth: u32,
}

impl Builder {
    /// Returns a builder of an empty trace.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a new thread.
    pub fn thread(&mut self, name: &str) -> ThreadNo {
        self.threads.add(BuilderThread::default());
        self.trace.threads.add(TraceThread { name: name.to_owned(), environment: false })
    }

    /// Adds the environment: a thread whose operations have no order among themselves.
    pub fn environment(&mut self, name: &str) -> ThreadNo {
        self.threads.add(BuilderThread::default());
        self.trace.threads.add(TraceThread { name: name.to_owned(), environment: true })
    }

    /// Adds a new task for a looper.
    pub fn task(&mut self, name: &str, looper: ThreadNo, time: PostTime, is_async: bool) -> TaskNo {
        let name = name.to_owned();
        let (events, post, begin, instance) = (SmallVec::new(), None, None, None);
        self.trace.tasks.add(Task { name, looper, time, is_async, events, post, begin, instance })
    }

    /// Declares that a task is the handler of an event. A task can handle several events.
    pub fn handles(&mut self, task: TaskNo, event: EventNo) {
        let events = &mut self.trace.tasks[task].events;
        if !events.contains(&event) {
            events.push(event);
        }
    }

    /// Returns the lock of this name, a new one if the name is new.
    pub fn lock(&mut self, name: &str) -> LockNo {
        let lock = self.trace.locks.add(name);
        if lock.index() == self.locks.len() {
            self.locks.add(LockHolder::default());
        }
        lock
    }

    /// Returns the location of this name, a new one (with this field) if the name is new.
    pub fn location(&mut self, name: &str, field: &str) -> LocationNo {
        let at = self.place_names.add(name);
        if at.index() == self.trace.places.len() {
            let field: FieldNo = self.trace.fields.add(field);
            self.trace.places.add(TraceLocation { name: name.to_owned(), field });
        }
        at
    }

    /// Returns the event of this name, a new one if the name is new.
    pub fn event(&mut self, name: &str) -> EventNo {
        self.trace.events.add(name)
    }

    /// Adds a new channel.
    pub fn channel(&mut self) -> ChannelNo {
        self.trace.channels += 1;
        ChannelNo(self.trace.channels - 1)
    }

    /// Returns the statement with this text, a new one if the text is new.
    pub fn site(&mut self, text: &str) -> SiteNo {
        self.trace.sites.add(text)
    }

    /// Records that the environment may fire its events in any order that their enables allow.
    pub fn free_events(&mut self) {
        self.trace.free_events = true;
    }

    /// Adds a remark about the input file to [`Trace::notes`].
    pub fn note(&mut self, text: String) {
        self.trace.notes.push(text);
    }

    /// Adds a line of the input file that is no operation to [`Trace::silent`].
    pub fn silent(&mut self, line: u32, thread: ThreadNo) {
        self.trace.silent.push((line, thread));
    }

    /// Returns the trace that was built so far, without notes.
    #[must_use]
    pub fn so_far(&self) -> &Trace {
        &self.trace
    }

    /// Number of threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Number of acquisitions of `lock` that `thread` has not released yet; 0 if the thread does not hold the lock.
    #[must_use]
    pub fn depth(&self, thread: ThreadNo, lock: LockNo) -> u32 {
        let held = &self.locks[lock];
        if held.by == Some(thread) { held.depth } else { 0 }
    }

    /// Number of locks that some thread holds.
    #[must_use]
    pub fn held(&self) -> usize {
        self.locks.iter().filter(|lock| lock.by.is_some()).count()
    }

    /// Adds an event whose name is `name` and a number that makes it unique.
    pub fn new_event(&mut self, name: &str) -> EventNo {
        self.trace.events.add(&format!("{name} #{}", self.trace.events.len() + 1))
    }

    /// Number of operations so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.trace.ops.len()
    }

    /// Whether the trace has no operation yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.trace.ops.is_empty()
    }

    /// Returns the number that the next operation gets if this thread performs an access: the operations of a looper
    /// between two tasks begin a task first.
    #[must_use]
    pub fn next(&self, thread: ThreadNo) -> OpNo {
        OpNo::new(self.len() + usize::from(self.is_between(thread)))
    }

    // Whether a thread is in its loop, between two tasks.
    fn is_between(&self, thread: ThreadNo) -> bool {
        self.threads[thread].looping && self.threads[thread].running.is_none()
    }

    /// Returns the task that a thread is running.
    #[must_use]
    pub fn running(&self, thread: ThreadNo) -> Option<TaskNo> {
        self.threads[thread].running
    }

    /// Begins a section of a thread whose sections have no order among themselves, such as a binder thread that serves
    /// one call after another. Each section is a task without a post.
    ///
    /// # Errors
    ///
    /// Returns an error if the thread has ended, or is running a posted task.
    pub fn begin_section(&mut self, thread: ThreadNo, line: u32) -> Result<(), TraceError> {
        let name = format!("section {} of {}", self.anonymous + 1, self.trace.threads[thread].name);
        self.begin_unposted(thread, &name, line).map(drop)
    }

    /// Begins a task that has no post in the trace. Ends the task without a post that the thread is running, if any.
    ///
    /// # Errors
    ///
    /// Returns an error if the thread has ended, or is running a posted task.
    pub fn begin_unposted(&mut self, thread: ThreadNo, name: &str, line: u32) -> Result<TaskNo, TraceError> {
        self.check(thread, Action::ThreadExit)?;
        if let Some(other) = self.threads[thread].running.filter(|_| !self.is_anonymous(thread)) {
            return Err(TraceError::Preempts(name.to_owned(), self.trace.tasks[other].name.clone()));
        }
        self.threads[thread].looping = true;
        self.end_running(thread, line);
        Ok(self.begin_anonymous(thread, name, line))
    }

    /// Ends the section or task without a post that the thread is running.
    ///
    /// # Errors
    ///
    /// Returns an error if the thread is running no such task.
    pub fn end_section(&mut self, thread: ThreadNo, line: u32) -> Result<(), TraceError> {
        if !self.is_anonymous(thread) {
            return Err(TraceError::NotRunning(format!("section of {}", self.trace.threads[thread].name)));
        }
        self.end_running(thread, line);
        Ok(())
    }

    fn begin_anonymous(&mut self, thread: ThreadNo, name: &str, line: u32) -> TaskNo {
        self.anonymous += 1;
        let task = self.task(name, thread, PostTime::Now, false);
        self.append(thread, Action::Begin(task), SiteNo::NONE, line);
        task
    }

    /// Appends an operation. `line` is the line of the input file that it comes from, or 0.
    ///
    /// # Errors
    ///
    /// Returns an error if the thread cannot perform this operation now. The trace is then unchanged.
    pub fn push(&mut self, thread: ThreadNo, action: Action, site: SiteNo, line: u32) -> Result<(), TraceError> {
        self.check(thread, action)?;
        if self.trace.ops.len() >= MOST_OPERATIONS as usize {
            return Err(TraceError::TooLong(MOST_OPERATIONS));
        }
        // The operations of a looper between two tasks form a task without a post.
        if self.is_between(thread) && !matches!(action, Action::Begin(_) | Action::Leave | Action::ThreadExit) {
            let name = format!("between tasks {}", self.anonymous + 1);
            self.begin_anonymous(thread, &name, line);
        }
        // An exception can end a looper in the middle of a task.
        if matches!(action, Action::Leave | Action::ThreadExit)
            || matches!(action, Action::Begin(_)) && self.is_anonymous(thread)
        {
            self.end_running(thread, line);
        }
        match action {
            Action::Acquire(lock) => self.acquire(thread, lock, site, line),
            Action::Release(lock) => self.release(thread, lock, site, line),
            action => self.append(thread, action, site, line),
        }
        Ok(())
    }

    /// Appends an access with a mark.
    ///
    /// # Errors
    ///
    /// As [`push`](Self::push).
    pub fn push_marked(
        &mut self,
        thread: ThreadNo,
        access: Action,
        mark: Mark,
        site: SiteNo,
        line: u32,
    ) -> Result<(), TraceError> {
        debug_assert!(access.access().is_some(), "{access:?} is no access");
        self.push(thread, access, site, line)?;
        // The access is the last operation that was appended.
        if let Some(last) = self.trace.ops.len().checked_sub(1) {
            self.trace.marks.add(OpNo::new(last), mark);
        }
        Ok(())
    }

    // Whether the thread is running a task without a post. The begin of the next task ends such a task.
    fn is_anonymous(&self, thread: ThreadNo) -> bool {
        self.threads[thread].running.is_some_and(|task| self.trace.tasks[task].post.is_none())
    }

    fn end_running(&mut self, thread: ThreadNo, line: u32) {
        if let Some(task) = self.threads[thread].running {
            self.append(thread, Action::End(task), SiteNo::NONE, line);
        }
    }

    fn check(&self, thread: ThreadNo, action: Action) -> Result<(), TraceError> {
        let state = &self.threads[thread];
        let name = || self.trace.threads[thread].name.clone();
        let task = |task: TaskNo| &self.trace.tasks[task];
        if state.ended {
            return Err(TraceError::Ended(name()));
        }
        match action {
            Action::ThreadInit if state.seen => Err(TraceError::StartsAgain(name())),
            Action::Fork(child) if child == thread || self.threads[child].seen || self.threads[child].forked => {
                Err(TraceError::ForkedAgain(self.trace.threads[child].name.clone()))
            }
            Action::AttachQueue if state.queue => Err(TraceError::QueueAgain(name())),
            Action::Loop if !state.queue => Err(TraceError::NoQueue(name())),
            Action::Loop if state.looping => Err(TraceError::LoopsAgain(name())),
            Action::Begin(_) | Action::End(_) | Action::Leave if !state.looping => Err(TraceError::NotLooping(name())),
            Action::Post(t) if task(t).post.is_some() => Err(TraceError::PostedAgain(task(t).name.clone())),
            Action::Begin(t) => self.check_begin(thread, task(t)),
            Action::End(t) if state.running != Some(t) => Err(TraceError::NotRunning(task(t).name.clone())),
            _ => Ok(()),
        }
    }

    fn check_begin(&self, thread: ThreadNo, task: &Task) -> Result<(), TraceError> {
        let (name, thread_name) = (|| task.name.clone(), |t: ThreadNo| self.trace.threads[t].name.clone());
        if task.begin.is_some() {
            return Err(TraceError::BeginsAgain(name()));
        }
        if task.post.is_none() {
            return Err(TraceError::NotPosted(name()));
        }
        if task.looper != thread {
            return Err(TraceError::WrongLooper(name(), thread_name(thread), thread_name(task.looper)));
        }
        match self.threads[thread].running {
            Some(other) if !self.is_anonymous(thread) => {
                Err(TraceError::Preempts(name(), self.trace.tasks[other].name.clone()))
            }
            _ => Ok(()),
        }
    }

    fn append(&mut self, thread: ThreadNo, action: Action, site: SiteNo, line: u32) {
        let op: OpNo = self.trace.ops.next_id();
        let state = &mut self.threads[thread];
        state.seen = true;
        match action {
            Action::Fork(child) => self.threads[child].forked = true,
            Action::ThreadExit => state.ended = true,
            Action::AttachQueue => state.queue = true,
            Action::Loop => state.looping = true,
            Action::Leave => state.looping = false,
            Action::Post(task) => self.trace.tasks[task].post = Some(op),
            Action::Begin(task) => {
                state.running = Some(task);
                self.trace.tasks[task].begin = Some(op);
            }
            Action::End(_) => state.running = None,
            _ => {}
        }
        self.trace.ops.add(Operation { thread, site, action });
        self.trace.lines.push(line);
    }

    fn acquire(&mut self, thread: ThreadNo, lock: LockNo, site: SiteNo, line: u32) {
        let held = &mut self.locks[lock];
        if held.by == Some(thread) {
            held.depth += 1;
            return;
        }
        self.taken += u32::from(held.by.is_some());
        *held = LockHolder { by: Some(thread), depth: 1 };
        self.append(thread, Action::Acquire(lock), site, line);
    }

    fn release(&mut self, thread: ThreadNo, lock: LockNo, site: SiteNo, line: u32) {
        let held = &mut self.locks[lock];
        if held.by != Some(thread) {
            self.unheld += 1;
            return;
        }
        held.depth -= 1;
        if held.depth == 0 {
            held.by = None;
            self.append(thread, Action::Release(lock), site, line);
        }
    }

    /// Returns the trace. Adds notes about acquisitions of locks that another thread held and releases of locks that
    /// the thread did not hold.
    #[must_use]
    pub fn finish(mut self) -> Trace {
        let told = |n: u32, one: &str, several: &str| (n > 0).then(|| phrased(n, one, several));
        let notes = [
            told(
                self.taken,
                "acquisition of a lock that another thread held: the trace lacks its release",
                "acquisitions of a lock that another thread held: the trace lacks its release",
            ),
            told(
                self.unheld,
                "release of a lock that the thread did not hold: it is left out",
                "releases of a lock that the thread did not hold: they are left out",
            ),
        ];
        self.trace.notes.extend(notes.into_iter().flatten());
        self.trace
    }
}
