//! A trace as one list of steps: its operations, with the operations on atomics between them, each with its context.

use crate::base::{Id, IndexVec};
use crate::trace::{Action, OpNo, SiteNo, TaskNo, ThreadNo, Trace};

crate::define_id! {
    /// A step: an operation of a trace, or an operation on an atomic.
    StepNo,
    /// A context: a thread's own code, or a task.
    ContextNo,
}

impl ContextNo {
    /// The environment: each of its steps is by itself.
    pub const NONE: ContextNo = ContextNo(u32::MAX);
}

/// What a step has to do with data. The number is that of the subject.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepKind {
    /// Nothing.
    Other,
    /// Reads a location. Atomics are numbered behind the locations of the trace.
    Read(u32),
    /// Writes a location.
    Write(u32),
    /// Forks a thread.
    Fork(u32),
    /// Joins a thread.
    Join(u32),
    /// Posts a task.
    Post(u32),
    /// Begins a task.
    Begin(u32),
    /// Enables an event.
    Enable(u32),
    /// Sends on a channel.
    Send(u32),
    /// Receives on a channel.
    Receive(u32),
    /// Acquires a lock.
    Acquire(u32),
    /// Releases a lock.
    Release(u32),
}

/// A step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The context, or [`ContextNo::NONE`].
    pub context: ContextNo,
    /// The operation, or the one that follows an operation on an atomic.
    pub op: OpNo,
    /// What it does.
    pub kind: StepKind,
}

/// The begin or the end of a transaction block.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockMark {
    /// The step that follows.
    pub(super) before: StepNo,
    pub(super) context: ContextNo,
    /// Index in [`Trace::transactions`].
    pub(super) mark: usize,
}

/// The steps of a trace.
#[derive(Debug)]
pub struct Steps<'t> {
    /// The trace.
    pub trace: &'t Trace,
    /// The steps, in the order of the run.
    pub all: IndexVec<StepNo, Step>,
    /// For each task its first step and the first step after it; `None` if it has not begun.
    pub spans: IndexVec<TaskNo, Option<(StepNo, StepNo)>>,
    pub(super) marks: Vec<BlockMark>,
    // The steps that are operations on atomics, ascending, each with its index in `Trace::atomics`.
    atomics: Vec<(StepNo, u32)>,
}

impl<'t> Steps<'t> {
    /// Returns the steps of a trace.
    #[must_use]
    pub fn of(trace: &'t Trace) -> Self {
        let mut steps = Self {
            trace,
            all: IndexVec::new(),
            spans: trace.tasks.iter().map(|_| None).collect(),
            marks: Vec::new(),
            atomics: Vec::new(),
        };
        steps.all.reserve(trace.ops.len() + trace.atomics.len());
        let mut running: IndexVec<ThreadNo, ContextNo> = trace
            .threads
            .enumerate()
            .map(|(thread, about)| if about.environment { ContextNo::NONE } else { ContextNo(thread.0) })
            .collect();
        let (mut mark, mut atomic) = (0, 0);
        for (at, op) in trace.ops.enumerate() {
            steps.aside(at, &mut mark, &mut atomic, &running);
            let kind = match op.action {
                Action::Read(at) => StepKind::Read(at.0),
                Action::Write(at) => StepKind::Write(at.0),
                Action::Fork(child) => StepKind::Fork(child.0),
                Action::Join(child) => StepKind::Join(child.0),
                Action::Post(task) => StepKind::Post(task.0),
                Action::Begin(task) => StepKind::Begin(task.0),
                Action::Enable(event) => StepKind::Enable(event.0),
                Action::Send(channel) => StepKind::Send(channel.0),
                Action::Receive(channel) => StepKind::Receive(channel.0),
                Action::Acquire(lock) => StepKind::Acquire(lock.0),
                Action::Release(lock) => StepKind::Release(lock.0),
                Action::ThreadInit
                | Action::ThreadExit
                | Action::AttachQueue
                | Action::Loop
                | Action::Leave
                | Action::End(_) => StepKind::Other,
            };
            if let Action::Begin(task) = op.action {
                running[op.thread] = steps.context_of(task);
                steps.spans[task] = Some((steps.all.next_id(), StepNo(u32::MAX)));
            }
            let number = steps.all.add(Step { context: running[op.thread], op: at, kind });
            if let Action::End(task) = op.action {
                running[op.thread] = ContextNo(op.thread.0);
                if let Some((_, end)) = &mut steps.spans[task] {
                    *end = StepNo(number.0 + 1);
                }
            }
        }
        steps.aside(OpNo::new(trace.ops.len()), &mut mark, &mut atomic, &running);
        let end = steps.all.next_id();
        steps.spans.iter_mut().flatten().for_each(|(_, last)| *last = (*last).min(end));
        steps
    }

    // Adds the marks and the operations on atomics before an operation.
    fn aside(&mut self, at: OpNo, mark: &mut usize, atomic: &mut usize, running: &IndexVec<ThreadNo, ContextNo>) {
        let trace = self.trace;
        let context = |thread: ThreadNo| running[thread];
        loop {
            let access = trace.atomics.get(*atomic).filter(|access| access.before <= at);
            let next = trace.transactions.get(*mark).filter(|next| next.before <= at);
            match (access, next) {
                (Some(access), _) if access.marks as usize <= *mark => {
                    let subject = trace.places.len() as u32 + access.at.0;
                    let kind = if access.writes { StepKind::Write(subject) } else { StepKind::Read(subject) };
                    let step = self.all.add(Step { context: context(access.thread), op: at, kind });
                    self.atomics.push((step, *atomic as u32));
                    *atomic += 1;
                }
                (_, Some(next)) => {
                    let before = self.all.next_id();
                    self.marks.push(BlockMark { before, context: context(next.thread), mark: *mark });
                    *mark += 1;
                }
                _ => return,
            }
        }
    }

    /// Returns the context of a task.
    #[must_use]
    pub fn context_of(&self, task: TaskNo) -> ContextNo {
        ContextNo((self.trace.threads.len() + task.index()) as u32)
    }

    /// Returns the task of a context; `None` for a thread's own code and for the environment.
    #[must_use]
    pub fn task_of(&self, context: ContextNo) -> Option<TaskNo> {
        let task = (context.index()).checked_sub(self.trace.threads.len())?;
        (context != ContextNo::NONE).then(|| TaskNo::new(task))
    }

    /// Returns the thread of a step.
    #[must_use]
    pub fn thread_of(&self, step: StepNo) -> ThreadNo {
        match self.atomic(step) {
            Some(access) => access.thread,
            None => self.trace.ops[self.all[step].op].thread,
        }
    }

    /// Returns the statement of a step, or [`SiteNo::NONE`].
    #[must_use]
    pub fn site_of(&self, step: StepNo) -> SiteNo {
        match self.atomic(step) {
            Some(access) => access.site,
            None => self.trace.ops[self.all[step].op].site,
        }
    }

    /// Returns the operation that a step is; `None` for an operation on an atomic.
    #[must_use]
    pub fn op_of(&self, step: StepNo) -> Option<OpNo> {
        self.atomic(step).is_none().then(|| self.all[step].op)
    }

    fn atomic(&self, step: StepNo) -> Option<&'t crate::trace::AtomicAccess> {
        let at = self.atomics.binary_search_by_key(&step, |(at, _)| *at).ok()?;
        self.trace.atomics.get(self.atomics[at].1 as usize)
    }

    /// Number of contexts, without the environment.
    #[must_use]
    pub fn contexts(&self) -> usize {
        self.trace.threads.len() + self.trace.tasks.len()
    }

    /// Number of locations: those of the trace, and atomics behind them.
    #[must_use]
    pub fn locations(&self) -> usize {
        self.trace.places.len() + self.trace.atomic_names.len()
    }
}
