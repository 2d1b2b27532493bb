//! Wakers, and the loop that polls a future until it is ready.

use crate::event::{Op, SemaphoreId, SiteKind};
use crate::native::run::{perform, perform_quietly, with};
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

const PLACE: &str = "waker";

/// What a waker does: it lets the thread go on that polls. Several calls before that count once.
struct Signal {
    // The run of the thread. A waker may be kept until later.
    run: u64,
    permits: SemaphoreId,
    at: &'static Location<'static>,
}

impl Signal {
    fn new(at: &'static Location<'static>) -> Self {
        let made = with(|run| {
            let permits = if run.over { SemaphoreId(0) } else { run.signal() };
            (run.number, permits)
        });
        let (run, permits) = made.expect("a future of raceflip was run outside of a check");
        Self { run, permits, at }
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    // A destructor may wake, so this never throws.
    fn wake_by_ref(self: &Arc<Self>) {
        let lives = with(|run| run.number == self.run && !run.over).unwrap_or(false);
        if lives && perform_quietly(Op::Up(self.permits), SiteKind::Up, PLACE, self.at).is_some() {
            with(|run| run.world().limit_permits(self.permits, 1));
        }
    }
}

/// Notes where the task that runs waits: the place of the future that was not ready.
pub(super) fn waits_at(at: &'static Location<'static>) {
    with(|run| {
        let thread = run.thread;
        run.fibers[thread].waits_at = Some(at);
    });
}

/// Polls a future until it is ready, or `is_aborted`. `None` if it was aborted, or the run is over.
pub(super) fn drive<F: Future>(
    mut future: Pin<&mut F>,
    at: &'static Location<'static>,
    is_aborted: &mut dyn FnMut() -> bool,
) -> Option<F::Output> {
    let signal = Arc::new(Signal::new(at));
    let waker = Waker::from(signal.clone());
    loop {
        if is_aborted() {
            return None;
        }
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(output);
        }
        let waits = with(|run| {
            let thread = run.thread;
            run.fibers[thread].waits_at.take()
        });
        perform(Op::Down(signal.permits), SiteKind::Down, PLACE, waits.flatten().unwrap_or(at));
    }
}
