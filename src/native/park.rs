//! Handles of threads, and parking.

use super::run::{number, perform, with};
use super::sync::milliseconds;
use crate::base::Id;
use crate::event::{Op, SemaphoreId, SiteKind, ThreadId as Number};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

const PLACE: &str = "park";

/// Handle of a thread, as [`std::thread::Thread`].
#[derive(Clone)]
pub struct Thread {
    id: ThreadId,
    name: Option<Arc<str>>,
}

/// Which thread it is, as [`std::thread::ThreadId`]: different for all threads of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ThreadId {
    run: u64,
    number: Number,
}

impl Hash for ThreadId {
    // The number of the run differs from run to run, and the order of a map must not.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

impl fmt::Debug for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ThreadId({})", self.number.index() + 1)
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread").field("id", &self.id).field("name", &self.name()).finish_non_exhaustive()
    }
}

/// Names the thread that begins.
pub(super) fn begin(name: Option<Arc<str>>) {
    with(|run| {
        let thread = run.thread;
        run.fibers[thread].name = name;
    });
}

/// Returns the handle of the thread that runs.
///
/// # Panics
///
/// Outside of a check.
#[must_use]
pub fn current() -> Thread {
    let current = with(|run| {
        let name = run.fibers.get(run.thread.index()).and_then(|fiber| fiber.name.clone());
        let main = || (run.thread == Number::new(0)).then(|| Arc::from("main"));
        Thread { id: ThreadId { run: run.number, number: run.thread }, name: name.or_else(main) }
    });
    current.expect("`current` of raceflip was called outside of a check")
}

/// Blocks until another thread calls [`Thread::unpark`], or returns at once if one has done so since the last time.
/// There are no spurious wake-ups.
#[track_caller]
pub fn park() {
    let id = current().id.parking().unwrap_or(SemaphoreId(0));
    perform(Op::Down(id), SiteKind::Down, PLACE, Location::caller());
}

/// Blocks like [`park`], but no longer than this, on the virtual clock.
#[track_caller]
pub fn park_timeout(duration: Duration) {
    let semaphore = current().id.parking().unwrap_or(SemaphoreId(0));
    let op = Op::DownFor { semaphore, timeout: milliseconds(duration) };
    perform(op, SiteKind::Down, PLACE, Location::caller());
}

impl ThreadId {
    // Returns the semaphore on which the thread parks. `None` if its run is over.
    fn parking(self) -> Option<SemaphoreId> {
        with(|run| (!run.over && run.number == self.run).then(|| run.parking(self.number))).flatten()
    }
}

impl Thread {
    pub(super) fn of(number: Number, name: Option<Arc<str>>) -> Self {
        Self { id: ThreadId { run: self::number(), number }, name }
    }

    /// Returns which thread it is.
    #[must_use]
    pub fn id(&self) -> ThreadId {
        self.id
    }

    /// Returns the name of the thread, if it has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Lets the thread go on that has parked, or that parks next. Several calls before that count once.
    #[track_caller]
    pub fn unpark(&self) {
        let at = Location::caller();
        let parking = self.id.parking();
        let done = perform(parking.map_or(Op::Skip, Op::Up), SiteKind::Up, PLACE, at);
        if let (Some(id), Some(_)) = (parking, done) {
            with(|run| run.world().limit_permits(id, 1));
        }
    }
}
