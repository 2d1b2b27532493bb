//! Coroutines, one for each thread of a run, and their stacks.

use super::local::Local;
use super::run::Give;
use crate::event::SiteId;
use crate::world::{Next, Reply};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use std::panic::Location;
use std::sync::Arc;

type Switching = Coroutine<Reply, Next, (), DefaultStack>;

// Size of a stack, in bytes of address space. Only what is touched becomes memory.
const STACK: usize = 1 << 20;

// Maximum number of stacks that are kept for later runs.
const MOST_STACKS: usize = 64;

/// Stacks that wait for their next coroutine.
#[derive(Default)]
pub(super) struct Stacks(Vec<DefaultStack>);

impl Stacks {
    fn take(&mut self) -> DefaultStack {
        self.0.pop().unwrap_or_else(|| DefaultStack::new(STACK).expect("memory for the stack of a thread"))
    }

    fn give_back(&mut self, stack: DefaultStack) {
        if self.0.len() < MOST_STACKS {
            self.0.push(stack);
        }
    }
}

/// A thread of a run: its coroutine, and what unwinds on its stack.
pub(super) struct Fiber {
    switching: Option<Switching>,
    /// Way back from the coroutine, once it has started.
    pub(super) give: *const Give,
    /// Number of panics of the user's code that unwind the stack now, as far as the panic hook was called for them.
    pub(super) panics: u32,
    /// Place and message of the last panic.
    pub(super) last: Option<(SiteId, String)>,
    /// Number of times that the end of the run was thrown through the stack.
    pub(super) thrown: u32,
    /// Whether the stack waits in the middle of unwinding.
    pub(super) halfway: bool,
    /// Name that the code under test has given to the thread.
    pub(super) name: Option<Arc<str>>,
    /// Where the task waits that the thread polls.
    pub(super) waits_at: Option<&'static Location<'static>>,
    /// Variables of which each thread has its own.
    pub(super) locals: Vec<Local>,
}

impl Default for Fiber {
    fn default() -> Self {
        Self {
            switching: None,
            give: std::ptr::null(),
            panics: 0,
            last: None,
            thrown: 0,
            halfway: false,
            name: None,
            waits_at: None,
            locals: Vec::new(),
        }
    }
}

impl Fiber {
    /// Creates a coroutine that will run this code.
    pub(super) fn new(stacks: &mut Stacks, code: impl FnOnce(&Give) + 'static) -> Self {
        let switching = Switching::with_stack(stacks.take(), move |give: &Give, _: Reply| code(give));
        Self { switching: Some(switching), ..Self::default() }
    }

    /// Returns whether the thread has not come to its end.
    pub(super) fn is_open(&self) -> bool {
        self.switching.is_some()
    }

    /// Takes the coroutine, to resume it. `None` if the thread has come to its end.
    pub(super) fn take(&mut self) -> Option<Coroutining> {
        self.switching.take().map(Coroutining)
    }

    /// Puts a coroutine back that has given way.
    pub(super) fn put_back(&mut self, coroutine: Coroutining) {
        self.switching = Some(coroutine.0);
    }

    /// Gives up the coroutine: no destructor on its stack runs, and the stack is lost with all that it owns. It is not
    /// used again, since code elsewhere may borrow from it: threads of a [`std::thread::scope`], for instance.
    pub(super) fn abandon(&mut self) {
        if let Some(switching) = self.switching.take() {
            std::mem::forget(switching);
            std::mem::forget(std::mem::take(&mut self.locals));
        }
    }
}

/// A coroutine that is being resumed.
pub(super) struct Coroutining(Switching);

impl Coroutining {
    /// Resumes the coroutine. Returns the state in which it has left its thread, or `None` if it has come to its end.
    #[inline]
    pub(super) fn resume(&mut self, reply: Reply) -> Option<Next> {
        match self.0.resume(reply) {
            CoroutineResult::Yield(next) => Some(next),
            CoroutineResult::Return(()) => None,
        }
    }

    /// Returns whether the coroutine has run at all.
    pub(super) fn started(&self) -> bool {
        self.0.started()
    }

    /// Gives the stack of a coroutine back that has come to its end.
    pub(super) fn end(self, stacks: &mut Stacks) {
        stacks.give_back(self.0.into_stack());
    }
}
