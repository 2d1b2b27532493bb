//! A world and its guest: what performs a step.

use super::perform::Thrown;
use super::{Limits, Reply, Setup, World};
use crate::event::{Actor, Choice, Failure, FailureKind, Happening, Op, Outcome, SiteId, ThreadId, Value};
use std::sync::Arc;

/// What a thread does next, once it has run as far as it goes by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// It stands at the visible operation that it has told with [`World::pend`].
    Pending,
    /// The same, and the operation never blocks ([`Op::may_block`]), or the guest has said that the thread stands at it (`World::stand_at_lock`).
    Ready,
    /// It has ended.
    Finished,
    /// The run is over: the guest has said so with [`World::end`].
    Ended,
}

/// The program side of a run: threads that run by themselves up to their next visible operation.
pub trait Guest {
    /// What exists at the start.
    fn setup(&self) -> &Arc<Setup>;

    /// Forgets all threads.
    fn reset(&mut self);

    /// Runs what runs before everything (`init`), to its end, performing operations at once. The world's memory is filled. It may end the run.
    fn initialize(&mut self, world: &mut World);

    /// A declared thread (`how` is `None`), or one that was forked or spawned, runs to its first operation.
    fn spawn(&mut self, world: &mut World, thread: ThreadId, how: Option<Op>) -> Next;

    /// A thread goes on with the reply to its operation, up to its next one.
    fn resume(&mut self, world: &mut World, thread: ThreadId, reply: Reply) -> Next;

    /// A thread gives up the task that it runs, and stands at its next operation as if that had ended; one that runs none ends, as every thread of a guest without tasks.
    fn abandon(&mut self, world: &mut World, thread: ThreadId) -> Next {
        let _ = (world, thread);
        Next::Finished
    }

    /// [`resume`](Self::resume) with a value, for a thread that is the only open actor. The guest may perform up to `most` of its next operations by
    /// itself, as long as [`World::perform_alone`] does; it says how many it did.
    fn resume_alone(&mut self, world: &mut World, thread: ThreadId, value: Value, most: u64) -> (Next, u64) {
        let _ = most;
        (self.resume(world, thread, Reply::Value(value)), 0)
    }

    /// Whether the condition of the `await` that the thread stands at holds; an exception in it lets the thread go on, to throw it.
    fn condition(&mut self, world: &World, thread: ThreadId) -> bool;

    /// Whether there is a property that must always hold.
    fn watches_memory(&self) -> bool;

    /// The first property that must always hold and does not, as a failure.
    fn broken_always(&mut self, world: &World) -> Option<Failure>;

    /// The first property that must hold at rest and does not.
    fn broken_at_end(&mut self, world: &World) -> Option<Failure>;
}

/// A running app.
///
/// # Examples
///
/// [`run`](crate::exec::run) drives it, or anybody who makes the choices:
///
/// ```
/// use raceflip::{event::Choice, vm::Model, world::Limits};
///
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// let mut machine = model.machine(Limits::default());
/// machine.start(false);
/// while machine.world.outcome().is_none() {
///     let openings = machine.world.openings();
///     // Always the first: the least thread that can go on, here.
///     let actor = machine.world.open_actor(&openings, 0);
///     machine.step(Choice { actor, argument: 0 });
/// }
/// assert_eq!(machine.world.memory().cell(0), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Machine<G> {
    /// The state.
    pub world: World,
    /// The program.
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
    /// A machine that stands at the start of the app.
    pub fn new(guest: G, limits: Limits) -> Self {
        let world = World::new(guest.setup().clone(), limits);
        Self { world, guest }
    }

    /// Starts the app (again): memory is filled, `init` has run, every declared thread stands at its first operation.
    /// With `recording`, [`World::recorded`] has the events of each step from then on.
    pub fn start(&mut self, recording: bool) {
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
        // The first state counts for properties as well.
        self.world.anything_changed();
        self.after_step();
    }

    /// Performs one choice. It must be open, and its argument valid ([`World::is_open`], [`World::question`]).
    #[inline(always)]
    pub fn step(&mut self, choice: Choice) {
        match choice.actor {
            Actor::Thread(thread) => self.thread_acts(thread, choice.argument, 1),
            _ => self.environment_acts(choice),
        }
    }

    /// [`step`](Self::step) of a thread; and if it is then the only actor that is open, and nobody looks at every state, further ones of it,
    /// up to `most` in all.
    #[inline(always)]
    pub(crate) fn thread_acts(&mut self, thread: ThreadId, argument: u64, most: u64) {
        match self.world.perform_in_place(thread) {
            Some(value) => {
                let alone = most > 1 && self.world.enabled.len() == 1;
                let more =
                    if alone && self.world.awaiting.is_empty() && !self.guest.watches_memory() { most - 1 } else { 0 };
                let (next, performed) = self.guest.resume_alone(&mut self.world, thread, value, more);
                if next != Next::Ready {
                    self.arrive(thread, next);
                }
                self.world.steps += performed;
            }
            None => self.perform(thread, argument),
        }
        self.world.steps += 1;
        self.after_step();
    }

    #[inline(never)]
    fn perform(&mut self, thread: ThreadId, argument: u64) {
        self.world.recorded.clear();
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
        match choice.actor {
            Actor::Clock => self.world.tick(choice.argument),
            Actor::Event(event) => self.world.fire(event),
            Actor::Stop => {
                let outcome = self.world.rest_outcome();
                self.world.end(outcome);
                return;
            }
            Actor::Thread(_) => debug_assert!(false, "a thread is no part of the environment"),
        }
        self.world.steps += 1;
        self.after_step();
    }

    /// What no run does: the thread, which can act, leaves its task (or ends, if it runs none) without performing its operation, and holds no lock any more. It tells
    /// whether something would come to pass without it.
    pub fn abandon(&mut self, thread: ThreadId) {
        self.world.recorded.clear();
        self.world.leave(thread);
        self.world.give_up_locks(thread);
        let next = self.guest.abandon(&mut self.world, thread);
        self.arrive(thread, next);
        self.after_step();
    }

    // Threads that this step forked run to their first operation, in the order in which they were made.
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
        self.world.record(Some(thread), Some(home), None, || Happening::ThreadInit);
        self.world.wake_up(thread);
        let next = self.guest.spawn(&mut self.world, thread, how);
        self.arrive(thread, next);
    }

    // What a step leads to; for a thread that stood ready and does so again, nothing.
    #[inline(never)]
    fn arrive(&mut self, thread: ThreadId, next: Next) {
        match next {
            Next::Ready => {}
            Next::Pending => {
                match self.world.threads[thread].pending {
                    Op::Await { timeout } => self.begin_await(thread, timeout),
                    Op::DownFor { timeout, .. } => {
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
    fn after_step(&mut self) {
        if std::mem::take(&mut self.world.memory_changed)
            && (self.guest.watches_memory() || !self.world.awaiting().is_empty())
        {
            self.settle_conditions();
        }
        #[cfg(debug_assertions)]
        self.world.check_enabled();
    }

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

    /// Checks the properties that must hold at rest; a broken one ends the run. To be asked when the run rests.
    pub fn check_rest(&mut self) {
        if let Some(failure) = self.guest.broken_at_end(&self.world) {
            self.world.end(Outcome::Failure(failure));
        }
    }
}

impl World {
    /// Adds the pseudo-thread that runs `init`; it is not among the threads that matter once it is finished.
    pub(crate) fn init_thread(&mut self) -> ThreadId {
        let home = self.contexts.root(super::Made::Init);
        self.threads.add(|t| t.renew(home, false, false))
    }

    /// Performs the pending operation of `init` at once; `None` if it would block.
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

    /// A failure of a thread, at a site.
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

impl Thrown {
    /// The name of the exception in the language.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Thrown::NullPointer => "NullPointer",
            Thrown::IndexOutOfBounds => "IndexOutOfBounds",
            Thrown::Arithmetic => "Arithmetic",
            Thrown::IllegalMonitorState => "IllegalMonitorState",
            Thrown::IllegalState => "IllegalState",
            Thrown::Interrupted => "Interrupted",
            Thrown::UseAfterFree => "UseAfterFree",
            Thrown::DoubleFree => "DoubleFree",
            Thrown::ConcurrentModification => "ConcurrentModification",
            Thrown::StackOverflow => "StackOverflow",
        }
    }
}
