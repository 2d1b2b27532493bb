//! The state of what tasks share: each use of it is one step.

use crate::event::{Location as Place, Op, SiteKind};
use crate::native::handle::Handle;
use crate::native::run::{perform, perform_quietly, with};
use std::panic::Location;
use std::sync::{Mutex, PoisonError};
use std::task::Waker;

/// The state of an object of [`sync`](super::sync) or of a task.
pub(super) struct Object<S> {
    handle: Handle,
    kind: &'static str,
    // Used within a step, so no thread waits for it.
    state: Mutex<S>,
}

impl<S> Object<S> {
    #[track_caller]
    pub(super) const fn new(kind: &'static str, state: S) -> Self {
        Self::made(kind, state, Location::caller())
    }

    /// Creates an object that code at this place makes.
    pub(super) const fn made(kind: &'static str, state: S, at: &'static Location<'static>) -> Self {
        Self { handle: Handle::new(at), kind, state: Mutex::new(state) }
    }

    pub(super) fn made_at(&self) -> &'static Location<'static> {
        self.handle.made_at()
    }

    fn update(&self) -> Op {
        let cell = self.handle.id(|| self.kind.to_owned(), |run, name| run.world().make_cell(name, 0));
        Op::FetchAdd(Place { cell, object: None }, 0)
    }

    /// Uses the state in a step of its own. `f` calls no code of the user.
    pub(super) fn step<R>(&self, at: &'static Location<'static>, f: impl FnOnce(&mut S) -> R) -> R {
        perform(self.update(), SiteKind::AtomicUpdate, self.kind, at);
        self.look(f)
    }

    /// Uses the state in a step, and never throws: for destructors. Then wakes.
    pub(super) fn step_quietly(&self, f: impl FnOnce(&mut S) -> Vec<Waker>) {
        if with(|run| !run.over).unwrap_or(false) {
            perform_quietly(self.update(), SiteKind::AtomicUpdate, self.kind, self.made_at());
        }
        self.look(f).into_iter().for_each(Waker::wake);
    }

    /// Uses the state without a step.
    pub(super) fn look<R>(&self, f: impl FnOnce(&mut S) -> R) -> R {
        f(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
