//! What a test uses instead of `std::thread`.
#![allow(unsafe_code, reason = "a scope ends the threads that borrow from it before it returns")]

use super::guest;
use super::handle::short_name;
pub use super::local::{AccessError, LocalKey, thread_local};
use super::park;
pub use super::park::{Thread, ThreadId, current, park, park_timeout};
use super::run::{Job, is_live, number, perform, perform_quietly, with};
use super::sync::{milliseconds, value};
use crate::event::{Op, SiteKind, ThreadId as Number};
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};
pub use std::thread::Result;
use std::time::Duration;

// Where a thread leaves its result. Only one of the two threads uses it at a time.
type Slot<T> = Arc<Mutex<Option<T>>>;

/// Handle of a thread, as [`std::thread::JoinHandle`].
pub struct JoinHandle<T> {
    // `None` if the run was over already.
    started: Option<Number>,
    // Number of the run that the thread belongs to.
    run: u64,
    thread: Thread,
    result: Slot<T>,
}

/// Makes threads with a name, as [`std::thread::Builder`].
#[derive(Default, Debug)]
pub struct Builder {
    name: Option<String>,
}

/// Spawns a thread, as [`std::thread::spawn`].
#[track_caller]
pub fn spawn<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let result: Slot<T> = Arc::default();
    JoinHandle::of(None, "thread", job(f, result.clone()), result, Location::caller())
}

// The code of a thread that leaves its result in a slot.
fn job<'f, T: 'f>(f: impl FnOnce() -> T + 'f, result: Slot<T>) -> Box<dyn FnOnce() + 'f> {
    Box::new(move || {
        let value = f();
        *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    })
}

impl<T> JoinHandle<T> {
    // Forks a thread, which does not start if the run is over. `kind` is its name in reports if it has none.
    fn of(name: Option<String>, kind: &str, job: Job, result: Slot<T>, at: &'static Location<'static>) -> Self {
        let name: Option<Arc<str>> = name.map(Arc::from);
        let own = name.clone();
        let mut named: Option<Job> = Some(Box::new(move || {
            park::begin(own);
            job();
        }));
        let op = with(|run| {
            let body = run.body(name.as_deref().unwrap_or(kind));
            (!run.over).then(|| Op::Fork { body, args: run.keep(named.take().expect("it is kept once")) })
        });
        let op = op.flatten().unwrap_or(Op::Skip);
        let id = value(perform(op, SiteKind::Fork, "", at));
        let started = u32::try_from(id).ok().filter(|_| op != Op::Skip).map(Number);
        Self { started, run: number(), thread: Thread::of(started.unwrap_or(Number(u32::MAX)), name), result }
    }

    /// Returns the handle of the thread.
    #[must_use]
    pub fn thread(&self) -> &Thread {
        &self.thread
    }
}

impl Builder {
    /// Creates a builder without a name.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the thread: its name in reports.
    #[must_use]
    pub fn name(self, name: String) -> Self {
        Self { name: Some(name) }
    }

    /// The size of a stack is the same for all threads of a check.
    #[must_use]
    pub fn stack_size(self, _: usize) -> Self {
        self
    }

    /// Spawns the thread.
    ///
    /// # Errors
    ///
    /// None: the signature is that of the standard library.
    #[track_caller]
    pub fn spawn<T: Send + 'static>(self, f: impl FnOnce() -> T + Send + 'static) -> std::io::Result<JoinHandle<T>> {
        let result: Slot<T> = Arc::default();
        Ok(JoinHandle::of(self.name, "thread", job(f, result.clone()), result, Location::caller()))
    }

    /// Spawns the thread in a scope.
    ///
    /// # Errors
    ///
    /// None: the signature is that of the standard library.
    #[track_caller]
    pub fn spawn_scoped<'scope, T: Send + 'scope>(
        self,
        scope: &'scope Scope<'scope, '_>,
        f: impl FnOnce() -> T + Send + 'scope,
    ) -> std::io::Result<ScopedJoinHandle<'scope, T>> {
        let result: Slot<T> = Arc::default();
        let job = job(f, result.clone());
        Ok(scope.start(self.name, job, result, Location::caller()))
    }
}

impl<T> JoinHandle<T> {
    /// Waits for the end of the thread, and returns its result.
    ///
    /// # Errors
    ///
    /// The thread has panicked. The run has failed then, so that only destructors at its end see this.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        // A thread of another run has ended with it.
        if let Some(thread) = self.started.filter(|_| number() == self.run) {
            join(thread, Location::caller());
        }
        let value = self.result.lock().unwrap_or_else(PoisonError::into_inner).take();
        value.ok_or_else(|| Box::new("the thread did not come to its end") as Box<dyn Any + Send>)
    }

    /// Returns whether the thread has come to its end.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        let ended = |thread| with(|run| run.fibers.get(thread as usize).is_none_or(|fiber| !fiber.is_open()));
        self.started.is_none_or(|thread| number() != self.run || ended(thread.0).unwrap_or(true))
    }
}

// Waits for the end of a thread. At the end of a run, a destructor that joins a thread lets it be unwound first.
fn join(thread: Number, at: &'static Location<'static>) {
    if perform(Op::Join(thread), SiteKind::Join, "", at).is_none() {
        guest::end(thread);
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// Lets other threads run: a scheduling point.
#[track_caller]
pub fn yield_now() {
    perform(Op::Yield, SiteKind::Yield, "", Location::caller());
}

/// Sleeps on the virtual clock.
#[track_caller]
pub fn sleep(duration: Duration) {
    sleep_at(duration, Location::caller());
}

/// Sleeps for code at this place.
pub(super) fn sleep_at(duration: Duration, at: &'static Location<'static>) {
    perform(Op::Sleep(milliseconds(duration)), SiteKind::Sleep, "", at);
}

/// Starts a thread for code at this place, which nothing joins. `kind` is its name in reports.
pub(super) fn start(kind: &str, f: impl FnOnce() + Send + 'static, at: &'static Location<'static>) {
    JoinHandle::<()>::of(None, kind, Box::new(f), Arc::default(), at);
}

/// Returns whether a panic unwinds the stack of this thread. [`std::thread::panicking`] does not tell: all threads of a
/// run share one thread of the operating system.
#[must_use]
pub fn panicking() -> bool {
    super::panics::unwinds()
}

/// A scope for threads that borrow, as [`std::thread::Scope`].
pub struct Scope<'scope, 'env: 'scope> {
    threads: Mutex<Vec<Number>>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Handle of a thread of a scope, as [`std::thread::ScopedJoinHandle`].
pub struct ScopedJoinHandle<'scope, T> {
    handle: JoinHandle<T>,
    scope: PhantomData<&'scope ()>,
}

/// Calls `f` with a scope, and waits for the threads that it spawns there, as [`std::thread::scope`].
#[track_caller]
pub fn scope<'env, R>(f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R) -> R {
    let at = Location::caller();
    let scope = Scope { threads: Mutex::default(), scope: PhantomData, env: PhantomData };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    // Each thread has ended before this returns or unwinds further: by itself, or because its stack was unwound.
    let threads = std::mem::take(&mut *scope.threads.lock().unwrap_or_else(PoisonError::into_inner));
    for thread in threads {
        if !is_live() || perform_quietly(Op::Join(thread), SiteKind::Join, "", at).is_none() {
            guest::end(thread);
        }
    }
    result.unwrap_or_else(|payload| resume_unwind(payload))
}

impl<'scope> Scope<'scope, '_> {
    /// Spawns a thread that may borrow from outside of the scope.
    #[track_caller]
    pub fn spawn<T: Send + 'scope>(&'scope self, f: impl FnOnce() -> T + Send + 'scope) -> ScopedJoinHandle<'scope, T> {
        let result: Slot<T> = Arc::default();
        let job = job(f, result.clone());
        self.start(None, job, result, Location::caller())
    }

    fn start<T>(
        &self,
        name: Option<String>,
        job: Box<dyn FnOnce() + 'scope>,
        result: Slot<T>,
        at: &'static Location<'static>,
    ) -> ScopedJoinHandle<'scope, T> {
        // SAFETY: `scope` does not return before the thread has ended or its stack was unwound, and where the run is
        // given up instead, its code is never touched again.
        let job = unsafe { std::mem::transmute::<Box<dyn FnOnce() + 'scope>, Job>(job) };
        let handle = JoinHandle::of(name, "scoped", job, result, at);
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).extend(handle.started);
        ScopedJoinHandle { handle, scope: PhantomData }
    }
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits for the end of the thread, and returns its result.
    ///
    /// # Errors
    ///
    /// The thread has panicked. The run has failed then, so that only destructors at its end see this.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.handle.join()
    }

    /// Returns the handle of the thread.
    #[must_use]
    pub fn thread(&self) -> &Thread {
        self.handle.thread()
    }

    /// Returns whether the thread has come to its end.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScopedJoinHandle<{}>", short_name::<T>())
    }
}
