//! A value in plain memory, with a mark that keeps conflicting uses apart.
#![allow(unsafe_code, reason = "a mark keeps conflicting uses of the value apart")]

use super::handle::{Handle, short_name};
use super::hold::{Held, Holds};
use super::run::{perform, stop, with};
use crate::event::{FailureKind, Location as Place, Op, Outcome, SiteKind};
use std::cell::UnsafeCell;
use std::panic::Location;

/// A value in plain memory. Each use of it is one access, however long it takes.
pub(super) struct Memory<T: ?Sized> {
    handle: Handle,
    mark: Holds,
    // What the user calls it: `Shared`, `UnsafeCell`.
    kind: &'static str,
    value: UnsafeCell<T>,
}

// SAFETY: the mark is taken with each access: by closures that look, or by one that changes the value. They may be of
// several checks at once, on several threads of the operating system.
unsafe impl<T: ?Sized + Send + Sync> Sync for Memory<T> {}

impl<T> Memory<T> {
    #[track_caller]
    pub(super) const fn new(kind: &'static str, value: T) -> Self {
        Self { handle: Handle::new(Location::caller()), mark: Holds::new(), kind, value: UnsafeCell::new(value) }
    }

    pub(super) fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Memory<T> {
    fn at(&self) -> Place {
        let kind = || format!("{}<{}>", self.kind, short_name::<T>());
        let cell = self.handle.id(kind, |run, name| run.world().make_cell(name, 0));
        Place { cell, object: None }
    }

    /// Reads the value with a closure.
    pub(super) fn read<R>(&self, at: &'static Location<'static>, f: impl FnOnce(&T) -> R) -> R {
        // SAFETY: the mark says that all others look as well.
        self.look(at, |value| f(unsafe { &*value }))
    }

    /// Changes the value with a closure.
    pub(super) fn write<R>(&self, at: &'static Location<'static>, f: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: the mark says that no other thread uses the value.
        self.change(at, |value| f(unsafe { &mut *value }))
    }

    /// Calls a closure that reads the value.
    pub(super) fn look<R>(&self, at: &'static Location<'static>, f: impl FnOnce(*const T) -> R) -> R {
        perform(Op::Read(self.at()), SiteKind::Read, self.kind, at);
        let _mark = self.mark(at, false);
        f(self.value.get())
    }

    /// Calls a closure that changes the value.
    pub(super) fn change<R>(&self, at: &'static Location<'static>, f: impl FnOnce(*mut T) -> R) -> R {
        perform(Op::Write(self.at(), 0), SiteKind::Write, self.kind, at);
        let _mark = self.mark(at, true);
        f(self.value.get())
    }

    pub(super) fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    fn mark(&self, at: &'static Location<'static>, whole: bool) -> Mark<'_> {
        match self.mark.take(whole) {
            Ok(()) => {}
            Err(Held::Here) => self.conflict(at),
            Err(Held::Elsewhere) => self.mark.take_granted(whole),
        }
        Mark { mark: &self.mark, whole }
    }

    // Two accesses conflict while one of them is under way. The run fails, and the thread ends here.
    #[cold]
    fn conflict(&self, at: &'static Location<'static>) -> ! {
        let message = format!("two accesses of {}<{}> at the same time", self.kind, short_name::<T>());
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
