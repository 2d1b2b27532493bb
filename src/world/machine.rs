//! Combines a [`World`] with a [`Guest`] and performs the steps of a run.

use super::perform::ThrownException;
use super::{Limits, Reply, Setup, World};
use crate::event::{Actor, Choice, EventKind, Failure, FailureKind, Op, Outcome, SiteId, Suspension, ThreadId, Value};
use std::sync::Arc;

/// State of a thread after it has run to its next visible operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// The thread is pending at the visible operation that it has passed to [`World::pend`].
    Pending,
    /// The thread is pending at its next visible operation, and the world needs no update for it: the operation never
    /// blocks ([`Op::may_block`]), or the guest has registered the thread itself (`World::mark_pending_at_lock`).
    Ready,
    /// The thread has ended.
    Finished,
    /// The run has ended: the guest has called [`World::end`].
    Ended,
}

/// Program side of a run: executes threads from one visible operation to the next.
pub trait Guest {
    /// Returns the declarations of the program: what exists when a run starts.
    fn setup(&self) -> &Arc<Setup>;

    /// Forgets all threads, for a new run.
    fn reset(&mut self);

    /// Fills the world's memory, then runs the `init` block to its end and performs its operations at once. This may
    /// end the run. By default there is no `init` block: the memory has the first values of the [`Setup`].
    fn initialize(&mut self, world: &mut World) {
        let thread = world.init_thread();
        world.fill_memory(world.thread(thread).home);
        world.finish(thread);
    }

    /// Starts a thread and runs it to its first operation. `how` is the operation that forked or spawned the thread, or
    /// `None` for a declared thread.
    fn spawn(&mut self, world: &mut World, thread: ThreadId, how: Option<Op>) -> Next;

    /// Resumes a thread with the reply to its operation, and runs it to its next one.
    fn resume(&mut self, world: &mut World, thread: ThreadId, reply: Reply) -> Next;

    /// Makes a thread give up its task, and runs it to its next operation as if the task had ended. A thread that runs
    /// no task ends. By default the thread ends, as for every guest without tasks.
    fn abandon(&mut self, world: &mut World, thread: ThreadId) -> Next {
        let _ = (world, thread);
        Next::Finished
    }

    /// Resumes a thread that is the only open actor with a value, as [`resume`](Self::resume) does. The guest may then
    /// perform up to `most` further operations of the thread, as long as [`World::perform_alone`] succeeds. Returns the
    /// number of these operations too.
    fn resume_alone(&mut self, world: &mut World, thread: ThreadId, value: Value, most: u64) -> (Next, u64) {
        let _ = most;
        (self.resume(world, thread, Reply::Value(value)), 0)
    }

    /// Returns whether the condition of the thread's pending `await` holds. A condition that throws counts as true, so
    /// that the thread resumes and throws the exception. By default true, as for every guest without awaits.
    fn condition(&mut self, world: &World, thread: ThreadId) -> bool {
        let _ = (world, thread);
        true
    }

    /// Decides again which rows of components are open, after a firing ([`World::settle_rows`]). By default there are
    /// no components.
    fn settle_rows(&mut self, world: &mut World) {
        let _ = world;
    }

    /// Returns whether the last run has left threads that have not come to their ends, although something of them has
    /// to be given back. The machine lets them run on before the next run starts, and then calls
    /// [`leave`](Self::leave). By default nothing is left.
    fn has_unfinished(&self) -> bool {
        false
    }

    /// Gives up the threads that have not come to their ends. `ended_well` says whether the run ended without a
    /// failure. By default there are none.
    fn leave(&mut self, world: &mut World, ended_well: bool) {
        let _ = (world, ended_well);
    }

    /// Reports that a job has failed and nothing keeps its failure, or that a promise has failed without a handler:
    /// `exception` is what the guest has handed to [`JobEnd::Failed`](super::JobEnd). By default nothing happens, as
    /// for every guest without jobs.
    fn uncaught(&mut self, world: &mut World, job: ThreadId, exception: Value) {
        let _ = (world, job, exception);
    }

    /// Returns whether the program has properties that must hold in every state. By default it has none.
    fn watches_memory(&self) -> bool {
        false
    }

    /// Returns whether a property that must hold in every state may read this cell. By default the program has none.
    fn watches_cell(&self, cell: u32) -> bool {
        let _ = cell;
        self.watches_memory()
    }

    /// Returns whether the program has properties that must hold at rest. By default it has none.
    fn watches_rest(&self) -> bool {
        false
    }

    /// Returns the first property that must hold in every state and does not hold now, as a failure.
    fn broken_always(&mut self, world: &World) -> Option<Failure> {
        let _ = world;
        None
    }

    /// Returns the first property that must hold at rest and does not hold now, as a failure.
    fn broken_at_end(&mut self, world: &World) -> Option<Failure> {
        let _ = world;
        None
    }
}

/// A world together with its guest: a running app.
///
/// # Examples
///
/// [`run`](crate::exec::run) performs a run with a strategy. A caller can also make the choices itself:
///
/// ```
/// use raceflip::{event::Choice, vm::Model, world::Limits};
///
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// let mut machine = model.machine(Limits::default());
/// machine.start(false);
/// while machine.world.outcome().is_none() {
///     let openings = machine.world.openings();
///     // Always the first: here, the least enabled thread.
///     let actor = machine.world.open_actor(&openings, 0);
///     machine.step(Choice { actor, argument: 0 });
/// }
/// assert_eq!(machine.world.memory().cell(0), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Machine<G> {
    /// State of the app.
    pub world: World,
    /// Program that runs.
    pub guest: G,
}

impl<G: Clone> Clone for Machine<G> {
    fn clone(&self) -> Self {
        Self { world: self.world.clone(), guest: self.guest.clone() }
    }

    fn clone_from(&mut self, other: &Self) {
        self.world.clone_from(&other.world);
        self.guest.clone_from(&other.guest);
    }
}

impl<G: Guest> Machine<G> {
    /// Creates a machine at the start of the app. [`start`](Self::start) must be called before the first step.
    pub fn new(guest: G, limits: Limits) -> Self {
        let world = World::new(guest.setup().clone(), limits);
        Self { world, guest }
    }

    /// Starts or restarts the app: fills the memory, runs `init`, and runs each declared thread to its first operation.
    /// With `recording`, [`World::recorded`] returns the events of each step from then on.
    pub fn start(&mut self, recording: bool) {
        if self.guest.has_unfinished() {
            self.close();
        }
        self.world.reset();
        self.guest.reset();
        self.world.recording = false;
        self.guest.initialize(&mut self.world);
        self.world.refused_posts = 0;
        self.world.recording = recording;
        for i in 0..self.world.setup.threads.len() {
            if self.world.outcome.is_some() {
                return;
            }
            self.launch(ThreadId(i as u32), None);
        }
        self.deliver_newborn();
        // Properties must also hold in the first state.
        self.world.anything_changed();
        self.after_step(None);
    }

    /// Performs one choice. Its actor must be open, and its argument valid ([`World::is_open`], [`World::question`]).
    #[inline(always)]
    pub fn step(&mut self, choice: Choice) {
        match choice.actor {
            Actor::Thread(thread) => self.thread_acts(thread, choice.argument, 1),
            _ => self.environment_acts(choice),
        }
    }

    /// Performs a step of a thread. If the thread is then the only enabled one, and neither an `await` nor a property
    /// has to be evaluated in every state, performs further steps of it, up to `most` steps in total.
    #[inline(always)]
    pub(crate) fn thread_acts(&mut self, thread: ThreadId, argument: u64, most: u64) {
        match self.world.perform_in_place(thread) {
            Some(value) => {
                let alone = most > 1 && self.world.enabled.len() == 1;
                let more = if alone
                    && self.world.awaiting.is_empty()
                    && !self.world.jobs.any()
                    && !self.guest.watches_memory()
                {
                    most - 1
                } else {
                    0
                };
                let (next, performed) = self.guest.resume_alone(&mut self.world, thread, value, more);
                if next != Next::Ready {
                    self.arrive(thread, next);
                }
                self.world.steps += performed;
            }
            None => self.perform(thread, argument),
        }
        self.world.steps += 1;
        self.after_step(Some(thread));
    }

    #[inline(never)]
    fn perform(&mut self, thread: ThreadId, argument: u64) {
        self.world.recorded.clear();
        if let Op::Suspend { on: Suspension::Await { .. }, .. } = self.world.threads[thread].pending {
            self.world.threads[thread].condition = self.guest.condition(&self.world, thread);
        }
        let reply = self.world.perform(thread, argument);
        if self.world.outcome.is_some() {
            return;
        }
        let next = match reply {
            Reply::Again => Next::Pending,
            reply => self.guest.resume(&mut self.world, thread, reply),
        };
        self.arrive(thread, next);
        self.deliver_newborn();
    }

    #[inline(never)]
    fn environment_acts(&mut self, choice: Choice) {
        self.world.recorded.clear();
        self.world.jobs.no_actor();
        match choice.actor {
            Actor::Clock => self.world.tick(choice.argument),
            Actor::Event(event) => {
                self.world.fire(event, choice.argument);
                if self.world.is_row(event) {
                    self.guest.settle_rows(&mut self.world);
                }
            }
            Actor::Stop => {
                let outcome = self.world.rest_outcome();
                self.world.end(outcome);
                return;
            }
            Actor::Thread(_) => debug_assert!(false, "a thread is no part of the environment"),
        }
        self.world.steps += 1;
        self.after_step(None);
    }

    /// Makes an enabled thread leave its task without performing its pending operation, and releases its locks. A
    /// thread that runs no task ends. No run does this: a campaign does it to find out whether something would still
    /// happen without that operation.
    pub fn abandon(&mut self, thread: ThreadId) {
        self.world.recorded.clear();
        self.world.leave(thread);
        self.world.give_up_locks(thread);
        self.world.leave_channels(thread);
        let next = self.guest.abandon(&mut self.world, thread);
        self.arrive(thread, next);
        self.after_step(Some(thread));
    }

    // Runs the threads that this step forked or spawned to their first operations, in order of creation.
    fn deliver_newborn(&mut self) {
        let mut i = 0;
        while i < self.world.newborn.len() && self.world.outcome.is_none() {
            let thread = self.world.newborn[i];
            let how = std::mem::replace(&mut self.world.threads[thread].pending, Op::Skip);
            self.launch(thread, Some(how));
            i += 1;
        }
        self.world.newborn.clear();
    }

    fn launch(&mut self, thread: ThreadId, how: Option<Op>) {
        let home = self.world.threads[thread].home;
        self.world.record(Some(thread), Some(home), None, || EventKind::ThreadInit);
        self.world.wake_up(thread);
        let next = self.guest.spawn(&mut self.world, thread, how);
        self.arrive(thread, next);
    }

    // Applies the state in which the guest has left a thread: starts the deadline of a timed operation and decides
    // whether the thread is enabled, or ends the thread. A thread that is `Ready` needs no update.
    #[inline(never)]
    fn arrive(&mut self, thread: ThreadId, next: Next) {
        match next {
            Next::Ready => {}
            Next::Pending => {
                match self.world.threads[thread].pending {
                    Op::Await { timeout } => self.begin_await(thread, timeout),
                    Op::DownFor { timeout, .. }
                    | Op::AcquireFor { timeout, .. }
                    | Op::Select { timeout: Some(timeout), .. } => {
                        self.world.threads[thread].deadline = Some(self.world.after(timeout));
                    }
                    _ => {}
                }
                self.world.settle(thread);
            }
            Next::Finished => self.world.finish(thread),
            Next::Ended => {}
        }
    }

    #[cold]
    fn begin_await(&mut self, thread: ThreadId, timeout: Option<i64>) {
        let deadline = timeout.map(|d| self.world.after(d));
        self.world.threads[thread].deadline = deadline;
        self.world.threads[thread].condition = self.guest.condition(&self.world, thread);
    }

    #[inline(always)]
    fn after_step(&mut self, by: Option<ThreadId>) {
        let changed = std::mem::take(&mut self.world.memory_changed);
        if changed && (self.guest.watches_memory() || !self.world.awaiting().is_empty()) {
            self.settle_conditions();
        }
        if self.world.jobs.any() {
            self.tend_jobs(changed, by);
        }
        #[cfg(debug_assertions)]
        self.world.check_enabled();
    }

    // Evaluates the conditions of all pending awaits and the properties again, because memory has changed.
    fn settle_conditions(&mut self) {
        for thread in self.world.awaiting().clone().iter() {
            self.world.threads[thread].condition = self.guest.condition(&self.world, thread);
            self.world.refresh(thread);
        }
        if self.world.outcome.is_none()
            && let Some(failure) = self.guest.broken_always(&self.world)
        {
            self.world.end(Outcome::Failure(failure));
        }
    }

    // Evaluates the conditions of the jobs that wait at an `await` again if memory has changed, and looks after all
    // jobs. `by` is the thread that has acted.
    #[inline(never)]
    fn tend_jobs(&mut self, changed: bool, by: Option<ThreadId>) {
        if changed {
            for job in self.world.jobs.waiting.clone() {
                if matches!(self.world.threads[job].pending, Op::Await { .. }) {
                    self.world.threads[job].condition = self.guest.condition(&self.world, job);
                }
            }
        }
        self.world.tend_jobs(by);
        while self.world.outcome.is_none()
            && let Some((job, exception)) = self.world.next_uncaught()
        {
            self.guest.uncaught(&mut self.world, job, exception);
        }
    }

    /// Checks the properties that must hold at rest, and ends the run if one is violated. The caller must ensure that
    /// the run is at rest.
    pub fn check_rest(&mut self) {
        if let Some(failure) = self.guest.broken_at_end(&self.world) {
            self.world.end(Outcome::Failure(failure));
        }
    }
}

impl World {
    /// Adds the pseudo-thread that runs `init`. It has ended before the first step.
    pub(crate) fn init_thread(&mut self) -> ThreadId {
        let home = self.contexts.root(super::CreationKind::Init);
        self.threads.add(|t| t.renew(home, false, false))
    }

    /// Performs the pending operation of `init` at once. If it is blocked, ends the run as a deadlock and returns
    /// `None`.
    pub(crate) fn perform_now(&mut self, thread: ThreadId) -> Option<Reply> {
        self.wake_up(thread);
        self.settle(thread);
        if !self.enabled.contains(thread) {
            let report = self.deadlock();
            self.end(Outcome::Deadlock(report));
            return None;
        }
        Some(self.perform(thread, 0))
    }

    /// Creates the failure of a thread at a site.
    #[must_use]
    pub fn failure(
        &self,
        kind: FailureKind,
        thread: ThreadId,
        name: &str,
        message: &str,
        site: Option<SiteId>,
    ) -> Failure {
        Failure {
            kind,
            name: name.to_owned(),
            message: message.to_owned(),
            thread: self.thread_name(thread),
            site,
            operand: None,
        }
    }
}

impl ThrownException {
    /// Returns the name of the exception in the language.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ThrownException::NullPointer => "NullPointer",
            ThrownException::IndexOutOfBounds => "IndexOutOfBounds",
            ThrownException::Arithmetic => "Arithmetic",
            ThrownException::IllegalMonitorState => "IllegalMonitorState",
            ThrownException::IllegalState => "IllegalState",
            ThrownException::Interrupted => "Interrupted",
            ThrownException::UseAfterFree => "UseAfterFree",
            ThrownException::DoubleFree => "DoubleFree",
            ThrownException::ConcurrentModification => "ConcurrentModification",
            ThrownException::StackOverflow => "StackOverflow",
            ThrownException::Closed => "Closed",
            ThrownException::NegativeCounter => "NegativeCounter",
            ThrownException::GroupReused => "GroupReused",
            ThrownException::Cancelled => "Cancelled",
        }
    }
}
