//! The arguments of choices: which question the step of an actor asks.

use super::World;
use crate::event::{Actor, EventId, Op, PostTime, Suspension, ThreadId, Transfer, WaitSet};

/// The question that an actor's argument answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Question {
    /// Which waiter a notify wakes. The number of waiters: the answer is less than it.
    Waiter(usize),
    /// For which instance of a component a row is fired. The number of instances for which it is open: the answer is
    /// less than it, in the order of their creation.
    Instance(usize),
    /// Which branch a `*` takes, or whether a looper sleeps already when an idle handler is registered: 0 or 1.
    Branch,
    /// Which case of a select is performed. The number of cases that are open: the answer is less than it.
    Case(usize),
    /// Which value a `choose` has. The answer is the distance of the value from the first one, and less than the number
    /// of values.
    Value {
        /// The first value.
        from: i64,
        /// The number of values.
        values: u32,
    },
    /// To which instant the clock moves (see [`World::instants`]).
    Instant,
}

impl Question {
    /// Returns the number n of answers, which are 0..n. `None` for the question of the clock, whose answers are
    /// instants.
    #[inline]
    #[must_use]
    pub fn answers(self) -> Option<u64> {
        match self {
            Question::Waiter(n) | Question::Instance(n) | Question::Case(n) => Some(n as u64),
            Question::Branch => Some(2),
            Question::Value { values, .. } => Some(u64::from(values)),
            Question::Instant => None,
        }
    }

    /// Returns whether this is an answer, or an instant after `now`.
    #[must_use]
    pub fn fits(self, argument: u64, now: u64) -> bool {
        self.answers().map_or(argument > now, |n| argument < n)
    }
}

impl World {
    /// Returns the question that the actor's argument answers. `None` if it needs no argument.
    #[inline(always)]
    #[must_use]
    pub fn question(&self, actor: Actor) -> Option<Question> {
        if let Actor::Thread(thread) = actor {
            return match self.threads[thread].pending {
                Op::Branch => Some(Question::Branch),
                Op::Choose { from, values } => (values > 1).then_some(Question::Value { from, values }),
                Op::Notify { on, all: false } => self.which_waiter(on),
                Op::Select { .. } | Op::Suspend { on: Suspension::Transfer(Transfer::Select { .. }), .. } => {
                    self.which_case(thread)
                }
                Op::Post { target, time: PostTime::Idle { .. }, .. } => {
                    self.may_have_slept(self.thread_of(target)).then_some(Question::Branch)
                }
                _ => None,
            };
        }
        match actor {
            Actor::Event(event) => self.which_instance(event),
            Actor::Clock => Some(Question::Instant),
            _ => None,
        }
    }

    fn which_instance(&self, event: EventId) -> Option<Question> {
        let open = self.open_for(event).len();
        (open > 1).then_some(Question::Instance(open))
    }

    #[inline(never)]
    fn which_case(&self, thread: ThreadId) -> Option<Question> {
        let open = self.open_case_count(thread);
        (open > 1).then_some(Question::Case(open))
    }

    #[inline(never)]
    fn which_waiter(&self, on: WaitSet) -> Option<Question> {
        let waiters = self.waiters(on).len();
        (waiters > 1).then_some(Question::Waiter(waiters))
    }

    /// Returns the threads in a wait set, in the order in which they began to wait.
    #[must_use]
    pub fn waiters(&self, on: WaitSet) -> &[ThreadId] {
        match on {
            WaitSet::Lock(lock) => &self.locks[lock].waiters,
            WaitSet::Condition(condition) => &self.conditions[condition],
        }
    }
}
