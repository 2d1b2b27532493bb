//! What the code of a thread reaches of the run that it belongs to, and the one way in which it performs an operation.
//!
//! A thread-local pointer leads to the run. The guest sets it when it resumes a coroutine, and puts it back when that
//! gives way. So checks may be nested, and several tests may check at the same time.
#![allow(unsafe_code, reason = "coroutines reach the run and the world of the guest that has resumed them")]

use super::fiber::{Fiber, Stacks};
use super::known::{Known, Met};
use crate::base::{Id, IndexVec};
use crate::event::{Args, BodyId, FailureKind, Op, Outcome, SemaphoreId, SiteId, SiteKind, ThreadId, Value};
use crate::world::{MadeName, Next, Reply, World};
use corosensei::Yielder;
use indexmap::IndexMap;
use parking_lot::Mutex;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3Builder;

pub(super) type Give = Yielder<Reply, Next>;

/// Code that a thread or task will run.
pub(super) type Job = Box<dyn FnOnce()>;

thread_local! {
    static RUN: Cell<*mut Run> = const { Cell::new(std::ptr::null_mut()) };
}

/// A run, as its threads see it.
pub(super) struct Run {
    world: *mut World,
    give: *const Give,
    /// The thread that runs.
    pub(super) thread: ThreadId,
    /// Number of the run in this process: an object that carries another number was named in another run.
    pub(super) number: u64,
    /// Whether the run is over, and its threads are unwound.
    pub(super) over: bool,
    /// Whether code that never started is dropped, on no stack of the run.
    pub(super) drops: bool,
    pub(super) fibers: IndexVec<ThreadId, Fiber>,
    pub(super) stacks: Stacks,
    // What forks and posts hand over, by the first of their arguments.
    jobs: Vec<Option<Job>>,
    known: Arc<Known>,
    met: Arc<Mutex<BTreeSet<Met>>>,
    sites: Vec<KnownSite>,
    // Ids of objects that another run has named as well, by their numbers in this process.
    shared: IndexMap<u64, u32, Xxh3Builder>,
    /// Number of threads that have not come to their ends.
    pub(super) open: usize,
    // Whether the thread of the operating system was panicking when the run began: a stack that was given up halfway
    // leaves it so.
    tainted: bool,
    // Operations that code which never started has tried while it was dropped.
    tries: u32,
    // Number of objects of each class so far.
    made: Vec<u32>,
    // The semaphores on which threads park.
    parking: BTreeMap<ThreadId, SemaphoreId>,
}

// An entry of the cache of sites: of one place in the code and one kind.
#[derive(Clone, Copy)]
struct KnownSite {
    at: *const Location<'static>,
    kind: SiteKind,
    site: SiteId,
}

// Number of entries of the cache.
const SITES: usize = 512;

/// What unwinds a stack when its run is over.
pub(super) struct Ending;

// Maximum number of operations that a thread tries while its stack is unwound. More of them are a destructor that never
// ends.
const MOST_TRIES: u32 = 100_000;

impl Run {
    pub(super) fn new(known: Arc<Known>, met: Arc<Mutex<BTreeSet<Met>>>) -> Self {
        let none = KnownSite { at: std::ptr::null(), kind: SiteKind::Skip, site: SiteId(0) };
        Self {
            world: std::ptr::null_mut(),
            give: std::ptr::null(),
            thread: ThreadId(0),
            number: 0,
            over: false,
            drops: false,
            fibers: IndexVec::new(),
            stacks: Stacks::default(),
            jobs: Vec::new(),
            known,
            met,
            sites: vec![none; SITES],
            shared: IndexMap::default(),
            open: 0,
            tainted: false,
            tries: 0,
            made: Vec::new(),
            parking: BTreeMap::new(),
        }
    }

    /// Begins a run with this number.
    pub(super) fn renew(&mut self, number: u64) {
        self.number = number;
        (self.over, self.drops, self.tries) = (false, false, 0);
        self.tainted = std::thread::panicking();
        self.fibers.clear();
        self.jobs.clear();
        self.shared.clear();
        self.made.clear();
        self.parking.clear();
    }

    /// Returns the world of the run.
    #[inline]
    pub(super) fn world(&mut self) -> &mut World {
        // SAFETY: the guest has set the pointer before it resumed this coroutine, and does not use its own reference
        // until the coroutine gives way.
        unsafe { &mut *self.world }
    }

    #[inline]
    fn site(&mut self, at: &'static Location<'static>, kind: SiteKind, place: &'static str) -> SiteId {
        let address = std::ptr::from_ref(at);
        let slot = (address as usize >> 3).wrapping_mul(31).wrapping_add(kind as usize) % SITES;
        let entry = self.sites[slot];
        if entry.at == address && entry.kind == kind {
            return entry.site;
        }
        let site = SiteId(self.id(Met::site(at, kind, place)));
        self.sites[slot] = KnownSite { at: address, kind, site };
        site
    }

    // Returns the id of what a run has met. What is not known is noted, and has the id 0.
    #[cold]
    #[inline(never)]
    fn id(&self, met: Met) -> u32 {
        self.known.id(&met).unwrap_or_else(|| {
            self.met.lock().insert(met);
            0
        })
    }

    /// Returns the site of a failure.
    pub(super) fn failing(&mut self, at: &Location<'_>) -> SiteId {
        SiteId(self.id(Met::site(at, SiteKind::Check, "")))
    }

    /// Returns the body of this name.
    pub(super) fn body(&self, name: &str) -> BodyId {
        BodyId::new(self.id(Met::Body(name.to_owned())) as usize)
    }

    /// Returns the name of the next object of a class.
    pub(super) fn name_of_next(&mut self, class: &str) -> MadeName {
        let class = self.id(Met::Class(class.to_owned()));
        if self.made.len() <= class as usize {
            self.made.resize(class as usize + 1, 0);
        }
        self.made[class as usize] += 1;
        MadeName { class, nth: self.made[class as usize] }
    }

    /// Makes the semaphore at which the thread that runs waits until a waker of it was called.
    pub(super) fn signal(&mut self) -> SemaphoreId {
        let thread = self.thread;
        let class = format!("for a waker of {}", self.world().thread_name(thread));
        let name = self.name_of_next(&class);
        self.world().make_semaphore(name, 0)
    }

    /// Returns the semaphore on which a thread parks.
    pub(super) fn parking(&mut self, thread: ThreadId) -> SemaphoreId {
        if let Some(id) = self.parking.get(&thread) {
            return *id;
        }
        let class = format!("for unpark of {}", self.world().thread_name(thread));
        let name = self.name_of_next(&class);
        let id = self.world().make_semaphore(name, 0);
        self.parking.insert(thread, id);
        id
    }

    /// Returns the id of an object that another run has named, if this run has named it too.
    pub(super) fn shared(&self, number: u64) -> Option<u32> {
        self.shared.get(&number).copied()
    }

    /// Records the id of an object by its number.
    pub(super) fn share(&mut self, number: u64, id: u32) {
        self.shared.insert(number, id);
    }

    /// Lets another thread run, from within the one that runs. Returns what [`leave`](Self::leave) needs.
    pub(super) fn enter(&mut self, thread: ThreadId) -> (ThreadId, *const Give) {
        let before = (self.thread, self.give);
        (self.thread, self.give) = (thread, self.fibers[thread].give);
        before
    }

    /// Lets the thread run that ran before.
    pub(super) fn leave(&mut self, before: (ThreadId, *const Give)) {
        (self.thread, self.give) = before;
    }

    /// Returns whether a panic unwinds the stack of the thread that runs. The standard library knows it of the thread
    /// of the operating system alone, on which other stacks of the run may wait halfway.
    pub(super) fn unwinds(&self) -> bool {
        let other = || {
            let fibers = self.fibers.enumerate();
            fibers.into_iter().any(|(thread, fiber)| thread != self.thread && fiber.halfway && fiber.is_open())
        };
        let panics = self.fibers.get(self.thread.index()).is_some_and(|fiber| fiber.panics > 0);
        std::thread::panicking() && (panics || !self.tainted && !other())
    }

    /// Keeps the code of a new thread or task. Returns the arguments that lead to it.
    pub(super) fn keep(&mut self, job: Job) -> Args {
        self.jobs.push(Some(job));
        let number = (self.jobs.len() - 1) as Value;
        self.world().keep_args(&[number])
    }

    /// Takes the code that these arguments lead to.
    pub(super) fn take(&mut self, args: Args) -> Option<Job> {
        let number = *self.world().args(args).first()?;
        self.jobs.get_mut(usize::try_from(number).ok()?)?.take()
    }

    /// Forgets the code of threads and tasks that have not started, without running its destructors: it may borrow
    /// from a stack that is given up.
    pub(super) fn forget_jobs(&mut self) {
        self.jobs.drain(..).flatten().for_each(std::mem::forget);
    }

    /// Takes the code of threads and tasks that have not started.
    pub(super) fn take_jobs(&mut self) -> Vec<Job> {
        self.jobs.drain(..).flatten().collect()
    }
}

/// Calls `f` with the run that this code belongs to. `None` if it belongs to none. `f` must neither give way nor call
/// code of the user.
#[inline]
pub(super) fn with<R>(f: impl FnOnce(&mut Run) -> R) -> Option<R> {
    let run = RUN.get();
    // SAFETY: the pointer leads to the run of the guest that has resumed this coroutine, which does not use it until
    // the coroutine gives way. `f` does not give way and calls no other code that could use it.
    if run.is_null() { None } else { Some(f(unsafe { &mut *run })) }
}

/// Returns the number of the run that this code belongs to; 0 if it belongs to none.
pub(super) fn number() -> u64 {
    with(|run| run.number).unwrap_or(0)
}

/// Returns whether this code belongs to a run that is not over.
pub(super) fn is_live() -> bool {
    with(|run| !run.over).unwrap_or(false)
}

/// Calls `f` with this run as the one that code belongs to, and with this world.
///
/// # Safety
///
/// Both pointers must be valid, and nothing else may use them, until `f` returns.
#[inline]
pub(super) unsafe fn within<R>(run: *mut Run, world: *mut World, thread: ThreadId, f: impl FnOnce() -> R) -> R {
    // SAFETY: the caller says so.
    let before = unsafe {
        let before = ((*run).world, (*run).give, (*run).thread, RUN.replace(run));
        ((*run).world, (*run).thread, (*run).give) = (world, thread, give_of(run, thread));
        before
    };
    // Also a panic leaves the pointers as they were.
    let result = catch_unwind(AssertUnwindSafe(f));
    // SAFETY: as above.
    unsafe { ((*run).world, (*run).give, (*run).thread) = (before.0, before.1, before.2) };
    RUN.set(before.3);
    result.unwrap_or_else(|payload| resume_unwind(payload))
}

/// Calls `f`, which drops things of the code under test outside of every run: the operations of their destructors have
/// no effect.
pub(super) fn dropping(f: impl FnOnce()) {
    let mut run = Run::new(Arc::default(), Arc::default());
    (run.over, run.drops) = (true, true);
    // SAFETY: the run is used by nothing else, and no operation of a run that is over reaches its world.
    unsafe { within(&raw mut run, std::ptr::null_mut(), ThreadId(0), f) };
}

// SAFETY: the run must be valid.
unsafe fn give_of(run: *mut Run, thread: ThreadId) -> *const Give {
    // SAFETY: the caller says so; the reference ends here.
    let fibers = unsafe { &(*run).fibers };
    fibers.get(thread.index()).map_or(std::ptr::null(), |fiber| fiber.give)
}

/// Notes that a coroutine has started: this is the way back from it.
pub(super) fn started(give: &Give) {
    with(|run| {
        run.give = give;
        let thread = run.thread;
        run.fibers[thread].give = give;
    });
}

/// Performs an operation of the thread that runs: gives way until the scheduler has chosen it, and returns the reply.
/// `None` if the run is over, and the stack unwinds: the operation has no effect then.
///
/// # Panics
///
/// Outside of a run. When the run is over, it throws the end of the run through the stack instead of returning.
#[inline]
pub(super) fn perform(op: Op, kind: SiteKind, place: &'static str, at: &'static Location<'static>) -> Option<Reply> {
    let reply = perform_quietly(op, kind, place, at);
    if reply.is_none() { end_of_run() } else { reply }
}

/// Performs an operation like [`perform`], and never throws: for destructors of this library.
#[inline]
pub(super) fn perform_quietly(
    op: Op,
    kind: SiteKind,
    place: &'static str,
    at: &'static Location<'static>,
) -> Option<Reply> {
    let give = with(|run| {
        if run.over {
            return None;
        }
        let site = run.site(at, kind, place);
        let thread = run.thread;
        run.world().pend(thread, op, Some(site));
        if std::thread::panicking() {
            run.fibers[thread].halfway = run.unwinds();
        } else {
            // Whatever has panicked before was caught.
            run.fibers[thread].panics = 0;
        }
        Some(run.give)
    })
    .unwrap_or_else(|| outside());
    let next = if op.may_block() { Next::Pending } else { Next::Ready };
    give_way(give?, next)
}

// Gives way until the thread is chosen. `None` if the run is over by then.
#[inline]
fn give_way(give: *const Give, next: Next) -> Option<Reply> {
    // SAFETY: the way back belongs to the coroutine that runs, and it lives as long as that.
    let reply = unsafe { (*give).suspend(next) };
    with(|run| {
        let thread = run.thread;
        // It stays for the end of the run, if that is why the thread goes on.
        run.fibers[thread].halfway &= run.over;
        (!run.over).then_some(reply)
    })
    .flatten()
}

/// Waits for the next task of a looper, without a place in the code. `None` if the run is over.
pub(super) fn begin() -> Option<Reply> {
    let give = with(|run| {
        let thread = run.thread;
        (!run.over).then(|| {
            run.world().pend(thread, Op::Begin, None);
            run.give
        })
    });
    give_way(give.flatten()?, Next::Pending)
}

#[cold]
#[inline(never)]
fn outside() -> ! {
    panic!(
        "this operation of raceflip was performed outside of a check: call it in the closure of `raceflip::native::check`, or in a thread that the closure has spawned with `raceflip::native::thread`"
    )
}

/// Ends the thread that runs because of a mistake in the code under test, which the run reports as a failure. A panic
/// in a destructor that runs because of a panic would end the process: then the thread is given up instead.
#[cold]
pub(super) fn stop(message: &str) -> ! {
    let give = with(|run| {
        let thread = run.thread;
        if !run.over {
            let failure = run.world().failure(FailureKind::Exception, thread, "misuse", message, None);
            run.world().end(Outcome::Failure(failure));
        }
        if run.drops { std::ptr::null() } else { run.give }
    });
    match give {
        Some(give) if std::thread::panicking() && !give.is_null() => {
            // SAFETY: as in `give_way`. The coroutine is never resumed again.
            unsafe { (*give).suspend(Next::Ended) };
            unreachable!("a thread that was given up goes on")
        }
        _ => panic!("{message}"),
    }
}

// The run is over. A stack that unwinds is not disturbed. Any other one is unwound now. Code that catches that meets it
// again, and is left alone for the third time.
#[cold]
#[inline(never)]
fn end_of_run() -> Option<Reply> {
    let (unwinds, gives_up, give) = with(|run| {
        if run.drops {
            run.tries += 1;
            // More of them are a destructor that waits for what never comes.
            assert!(run.tries < MOST_TRIES, "a destructor waits for a thread of a run that is over");
            return None;
        }
        let thread = run.thread;
        let fiber = &mut run.fibers[thread];
        fiber.thrown += 1;
        // A stack that was given up halfway leaves its OS thread panicking.
        let unwinds = std::thread::panicking() && (fiber.panics > 0 || fiber.thrown > 1 || fiber.halfway);
        Some((unwinds, fiber.thrown > if unwinds { MOST_TRIES } else { 3 }, run.give))
    })
    .flatten()?;
    if gives_up {
        // SAFETY: as in `give_way`. The coroutine is never resumed again.
        unsafe { (*give).suspend(Next::Ended) };
        unreachable!("a thread that was left alone goes on");
    }
    if unwinds {
        return None;
    }
    resume_unwind(Box::new(Ending))
}
