//! The guest whose threads are coroutines.
#![allow(unsafe_code, reason = "coroutines and the guest use the run in turn")]

use super::fiber::Fiber;
use super::known::{Known, Met};
use super::run::{Ending, Job, Run, started, within};
use super::{local, looper, panics};
use crate::base::Id;
use crate::event::{Op, ThreadId};
use crate::world::{Guest, Next, Reply, Setup, World};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

// Runs of this process so far.
static RUNS: AtomicU64 = AtomicU64::new(0);

// The number of a run has 40 bits, and none has the number 0.
const NUMBERS: u64 = (1 << 40) - 1;

/// Rust code whose threads run as coroutines.
pub struct Native {
    setup: Arc<Setup>,
    body: Arc<dyn Fn() + Send + Sync>,
    // The run outlives all references to it: coroutines reach it by a pointer. Freed at the end.
    run: NonNull<Run>,
    // Number of the run while it is not over, otherwise 0.
    live: Arc<AtomicU64>,
}

// The runs of all guests of this process, by their number while they are not over.
static GUESTS: Mutex<Vec<Weak<AtomicU64>>> = Mutex::new(Vec::new());

/// Returns whether a run is not over.
pub(super) fn is_live(number: u64) -> bool {
    GUESTS.lock().iter().filter_map(Weak::upgrade).any(|live| live.load(Ordering::Acquire) == number)
}

impl Native {
    pub(super) fn new(
        setup: Arc<Setup>,
        body: Arc<dyn Fn() + Send + Sync>,
        known: Arc<Known>,
        met: Arc<Mutex<BTreeSet<Met>>>,
    ) -> Self {
        panics::install();
        let run = Box::new(Run::new(known, met));
        let live = Arc::new(AtomicU64::new(0));
        let mut guests = GUESTS.lock();
        guests.retain(|guest| guest.strong_count() > 0);
        guests.push(Arc::downgrade(&live));
        Self { setup, body, run: NonNull::from(Box::leak(run)), live }
    }

    // No coroutine runs when the guest uses this, so nothing else refers to the run.
    fn run(&mut self) -> &mut Run {
        // SAFETY: the pointer is valid until the guest is dropped, and see above.
        unsafe { self.run.as_mut() }
    }

    // Starts a thread with this code, and runs it to its first operation.
    fn begin(&mut self, world: &mut World, thread: ThreadId, job: impl FnOnce() + 'static) -> Next {
        let run = self.run();
        while run.fibers.len() <= thread.index() {
            run.fibers.add(Fiber::default());
        }
        run.open += 1;
        run.fibers[thread] = Fiber::new(&mut run.stacks, move |give| {
            started(give);
            contained(job);
            contained(local::end);
        });
        self.go(world, thread, Reply::Value(0))
    }

    // Runs a thread to its next operation.
    #[inline]
    fn go(&mut self, world: &mut World, thread: ThreadId, reply: Reply) -> Next {
        let Some(mut coroutine) = self.run().fibers[thread].take() else { return Next::Ended };
        // SAFETY: neither the guest nor its caller uses the run or the world until the coroutine gives way.
        let next = unsafe { within(self.run.as_ptr(), world, thread, || coroutine.resume(reply)) };
        let run = self.run();
        match next {
            Some(next) => {
                run.fibers[thread].put_back(coroutine);
                next
            }
            None => {
                coroutine.end(&mut run.stacks);
                run.open -= 1;
                if run.open == 0 {
                    self.live.store(0, Ordering::Release);
                }
                Next::Finished
            }
        }
    }

    // Unwinds the stacks of all threads, the youngest first.
    fn unwind(&mut self, world: &mut World) {
        self.run().over = true;
        for thread in (0..self.run().fibers.len()).rev().map(ThreadId::new) {
            // SAFETY: as in `go`.
            unsafe { within(self.run.as_ptr(), world, thread, || end(thread)) };
        }
    }

    // Gives up all threads that have not come to their ends. What they own is lost.
    fn abandon(&mut self) {
        let run = self.run();
        run.over = true;
        // Code that never started may borrow from a stack.
        run.forget_jobs();
        run.fibers.iter_mut().for_each(Fiber::abandon);
        run.open = 0;
    }

    // Ends what is left of a run. Without open threads, the code that never started is dropped: the operations of its
    // destructors have no effect.
    fn finish(&mut self) {
        if self.has_unfinished() {
            self.abandon();
        }
        let run = self.run();
        (run.over, run.drops) = (true, true);
        for job in run.take_jobs() {
            // SAFETY: as in `go`; no operation reaches the world of a run that is over.
            let drop_job = || unsafe { within(self.run.as_ptr(), std::ptr::null_mut(), ThreadId(0), || drop(job)) };
            // A destructor that panics here belongs to no run.
            let _ = catch_unwind(AssertUnwindSafe(drop_job));
        }
        self.live.store(0, Ordering::Release);
    }
}

// Runs code at the root of a thread. A panic that comes here fails the run.
fn contained(code: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(code)) {
        if !payload.is::<Ending>() {
            panics::failed(&*payload);
        }
        // Its destructor is code of the user as well.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
    }
}

/// Unwinds the stack of a thread whose run is over. It may be called from a destructor on another stack of the run,
/// which waits for that thread.
pub(super) fn end(thread: ThreadId) {
    let Some(Some(mut coroutine)) = super::run::with(|run| run.fibers.get_mut(thread.index())?.take()) else { return };
    if coroutine.started() {
        let before = super::run::with(|run| run.enter(thread));
        let left = coroutine.resume(Reply::LeaveLoop);
        super::run::with(|run| {
            if let Some(before) = before {
                run.leave(before);
            }
            match left {
                // It swallows the end of the run again and again.
                Some(_) => {
                    run.fibers[thread].put_back(coroutine);
                    run.fibers[thread].abandon();
                }
                None => coroutine.end(&mut run.stacks),
            }
            run.open = run.open.saturating_sub(1);
        });
    } else {
        super::run::with(|run| {
            run.fibers[thread].put_back(coroutine);
            run.fibers[thread].abandon();
            run.open = run.open.saturating_sub(1);
        });
    }
}

impl Guest for Native {
    fn setup(&self) -> &Arc<Setup> {
        &self.setup
    }

    fn reset(&mut self) {
        self.finish();
        let number = RUNS.fetch_add(1, Ordering::Relaxed) % NUMBERS + 1;
        self.run().renew(number);
        self.live.store(number, Ordering::Release);
    }

    fn spawn(&mut self, world: &mut World, thread: ThreadId, how: Option<Op>) -> Next {
        match how {
            None => {
                let body = self.body.clone();
                self.begin(world, thread, move || body())
            }
            Some(Op::Fork { args, .. }) => {
                let job = self.job(world, args);
                self.begin(world, thread, job.unwrap_or_else(|| Box::new(|| {})))
            }
            _ => self.begin(world, thread, looper::serve),
        }
    }

    #[inline]
    fn resume(&mut self, world: &mut World, thread: ThreadId, reply: Reply) -> Next {
        self.go(world, thread, reply)
    }

    // No other thread can end a thread of Rust code. It waits forever instead, where it stands.
    fn abandon(&mut self, world: &mut World, thread: ThreadId) -> Next {
        world.pend(thread, Op::Receive { channel: None, iterates: false }, None);
        Next::Pending
    }

    fn has_unfinished(&self) -> bool {
        // SAFETY: as in `run`.
        unsafe { self.run.as_ref() }.open > 0
    }

    fn leave(&mut self, world: &mut World, ended_well: bool) {
        if ended_well {
            self.unwind(world);
        }
        self.finish();
    }
}

impl Native {
    fn job(&mut self, world: &mut World, args: crate::event::Args) -> Option<Job> {
        // SAFETY: as in `go`.
        unsafe { within(self.run.as_ptr(), world, ThreadId(0), || super::run::with(|run| run.take(args))) }.flatten()
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        self.finish();
        // SAFETY: the pointer comes from a box, and no coroutine is left that could use it.
        drop(unsafe { Box::from_raw(self.run.as_ptr()) });
    }
}
