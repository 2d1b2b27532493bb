//! Futures of time on the virtual clock, as in `tokio::time`.

use super::object::Object;
use super::wake::waits_at;
use crate::native::run::with;
use crate::native::thread;
pub use crate::native::time::{Duration, Instant};
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A future that is ready when its time has come.
#[must_use = "futures do nothing unless they are awaited"]
pub struct Sleep {
    deadline: Instant,
    timer: Option<Arc<Object<Timer>>>,
    at: &'static Location<'static>,
}

struct Timer {
    is_up: bool,
    waker: Option<Waker>,
}

/// Waits for a duration.
#[track_caller]
pub fn sleep(duration: Duration) -> Sleep {
    let at = Location::caller();
    Sleep { deadline: Instant::now_at(at) + duration, timer: None, at }
}

/// Waits until an instant.
#[track_caller]
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep { deadline, timer: None, at: Location::caller() }
}

impl Sleep {
    /// Returns the instant at which the future is ready.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.deadline
    }
}

impl Future for Sleep {
    type Output = ();

    // A daemon sleeps in place of the task, which may wait for other futures as well.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let (at, waker) = (self.at, context.waker().clone());
        if let Some(timer) = &self.timer {
            let is_up = timer.step(at, |timer| {
                timer.waker = Some(waker);
                timer.is_up
            });
            if !is_up {
                waits_at(at);
            }
            return if is_up { Poll::Ready(()) } else { Poll::Pending };
        }
        let left = self.deadline - Instant::now_at(at);
        if left.is_zero() {
            return Poll::Ready(());
        }
        let timer = Arc::new(Object::new("timer", Timer { is_up: false, waker: Some(waker) }));
        self.timer = Some(timer.clone());
        let sleeps = move || {
            with(|run| {
                let thread = run.thread;
                run.world().make_daemon(thread);
            });
            thread::sleep_at(left, at);
            let waker = timer.step(at, |timer| {
                timer.is_up = true;
                timer.waker.take()
            });
            waker.into_iter().for_each(Waker::wake);
        };
        thread::start("timer", sleeps, at);
        waits_at(at);
        Poll::Pending
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

/// The time was up before the future was ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Elapsed;

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the time is up")
    }
}

impl std::error::Error for Elapsed {}

/// Waits for a future, but no longer than this. The future is polled first, so an output that is there when the time is
/// up counts.
///
/// # Errors
///
/// The time was up; the future was dropped.
#[track_caller]
pub fn timeout<F: Future>(duration: Duration, future: F) -> impl Future<Output = Result<F::Output, Elapsed>> {
    let sleep = sleep(duration);
    async move {
        let (mut future, mut sleep) = (pin!(future), pin!(sleep));
        poll_fn(|context| match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            Poll::Pending => sleep.as_mut().poll(context).map(|()| Err(Elapsed)),
        })
        .await
    }
}

/// A clock that ticks with a period.
#[derive(Debug)]
pub struct Interval {
    next: Instant,
    period: Duration,
    at: &'static Location<'static>,
}

/// Creates a clock that ticks at once, and then with this period. Ticks that were missed follow at once.
///
/// # Panics
///
/// The period is zero.
#[track_caller]
#[must_use]
pub fn interval(period: Duration) -> Interval {
    assert!(!period.is_zero(), "the period of an interval is zero");
    let at = Location::caller();
    Interval { next: Instant::now_at(at), period, at }
}

impl Interval {
    /// Waits for the next tick, and returns its instant.
    pub async fn tick(&mut self) -> Instant {
        Sleep { deadline: self.next, timer: None, at: self.at }.await;
        let now = self.next;
        self.next = now + self.period;
        now
    }
}
