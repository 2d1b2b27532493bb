//! Plain memory that races.
#![allow(unsafe_code, reason = "a mark keeps conflicting uses of the value apart")]

use super::handle::{Handle, short_name};
use super::hold::{Held, Holds};
use super::run::{perform, stop, with};
use crate::event::{FailureKind, Location as Place, Op, Outcome, SiteKind};
use std::cell::UnsafeCell;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

const PLACE: &str = "Shared";

/// A value in plain memory: its accesses have no order of their own, so two of them race if nothing else orders them.
/// Clones are handles of the same value.
///
/// A closure of [`with`](Self::with) or [`with_mut`](Self::with_mut) is one access. If it performs an operation, other
/// threads may come between; an access of theirs that conflicts ends the run, before memory is touched.
pub struct Shared<T> {
    memory: Arc<Memory<T>>,
}

struct Memory<T> {
    handle: Handle,
    mark: Holds,
    value: UnsafeCell<T>,
}

// SAFETY: the mark is taken with each access: by closures that look, or by one that changes the value. They may be of
// several checks at once, on several threads of the operating system.
unsafe impl<T: Send + Sync> Sync for Memory<T> {}

impl<T> Shared<T> {
    /// Creates a value.
    #[track_caller]
    pub fn new(value: T) -> Self {
        let handle = Handle::new(Location::caller());
        Self { memory: Arc::new(Memory { handle, mark: Holds::new(), value: UnsafeCell::new(value) }) }
    }

    fn at(&self) -> Place {
        let kind = || format!("Shared<{}>", short_name::<T>());
        let cell = self.memory.handle.id(kind, |run, name| run.world().make_cell(name, 0));
        Place { cell, object: None }
    }

    /// Reads the value.
    #[track_caller]
    pub fn get(&self) -> T
    where
        T: Clone,
    {
        let at = Location::caller();
        perform(Op::Read(self.at()), SiteKind::Read, PLACE, at);
        self.look(at, T::clone)
    }

    /// Reads the value with a closure.
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        let at = Location::caller();
        perform(Op::Read(self.at()), SiteKind::Read, PLACE, at);
        self.look(at, f)
    }

    /// Writes the value.
    #[track_caller]
    pub fn set(&self, value: T) {
        drop(self.replace_at(value, Location::caller()));
    }

    /// Writes the value, and returns the old one.
    #[track_caller]
    pub fn replace(&self, value: T) -> T {
        self.replace_at(value, Location::caller())
    }

    fn replace_at(&self, value: T, at: &'static Location<'static>) -> T {
        perform(Op::Write(self.at(), 0), SiteKind::Write, PLACE, at);
        self.change(at, |old| std::mem::replace(old, value))
    }

    /// Changes the value with a closure.
    #[track_caller]
    pub fn with_mut<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let at = Location::caller();
        perform(Op::Write(self.at(), 0), SiteKind::Write, PLACE, at);
        self.change(at, f)
    }

    fn look<R>(&self, at: &'static Location<'static>, f: impl FnOnce(&T) -> R) -> R {
        let _mark = self.mark(at, false);
        // SAFETY: the mark says that all others look as well.
        f(unsafe { &*self.memory.value.get() })
    }

    fn change<R>(&self, at: &'static Location<'static>, f: impl FnOnce(&mut T) -> R) -> R {
        let _mark = self.mark(at, true);
        // SAFETY: the mark says that no other thread uses the value.
        f(unsafe { &mut *self.memory.value.get() })
    }

    fn mark(&self, at: &'static Location<'static>, whole: bool) -> Mark<'_> {
        let mark = &self.memory.mark;
        match mark.take(whole) {
            Ok(()) => Mark { mark, whole },
            Err(Held::Here) => conflict::<T>(at),
            Err(Held::Elsewhere) => {
                mark.take_granted(whole);
                Mark { mark, whole }
            }
        }
    }
}

// Two accesses conflict while one of them is under way. The run fails, and the thread ends here.
#[cold]
fn conflict<T>(at: &'static Location<'static>) -> ! {
    let message = format!("two accesses of Shared<{}> at the same time", short_name::<T>());
    with(|run| {
        if !run.over {
            let (thread, site) = (run.thread, run.failing(at));
            let failure = run.world().failure(FailureKind::Exception, thread, "race", &message, Some(site));
            run.world().end(Outcome::Failure(failure));
        }
    });
    // The run has failed already, so that what follows is no other failure.
    stop(&message)
}

struct Mark<'m> {
    mark: &'m Holds,
    whole: bool,
}

impl Drop for Mark<'_> {
    fn drop(&mut self) {
        self.mark.give(self.whole);
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self { memory: self.memory.clone() }
    }
}

impl<T> fmt::Debug for Shared<T> {
    // Looking at the value is no access.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}
