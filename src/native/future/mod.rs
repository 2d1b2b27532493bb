//! Async Rust code under the scheduler.
//!
//! A spawned future is a task: a thread that polls it, and blocks until its waker was called. So the scheduler orders
//! tasks as it orders threads, and a task that waits forever is a deadlock. Tasks are daemons: like those of tokio,
//! they do not keep the run going when the main thread has ended.
//!
//! - [`spawn`], [`block_on`], [`JoinHandle`], [`yield_now`], [`race`].
//! - [`time`]: sleeps, timeouts and intervals on the virtual clock.
//! - [`sync`]: the types of `tokio::sync`.
//!
//! The manual's page on it:
//!
#![doc = include_str!("../../../docs/rust_async.md")]

mod object;
pub mod sync;
mod task;
pub mod time;
mod wake;

pub use task::{AbortHandle, JoinError, JoinHandle, spawn};
use wake::drive;

use super::rand::coin;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::pin::pin;
use std::task::Poll;

/// Runs a future to its end on this thread.
///
/// # Panics
///
/// Outside of a check.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let at = Location::caller();
    drive(pin!(future), at, &mut || false).expect("only a task can be aborted")
}

/// Lets other tasks act.
pub async fn yield_now() {
    let mut yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Which of two futures was ready first, with its output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Either<A, B> {
    /// The first one.
    First(A),
    /// The second one.
    Second(B),
}

/// Waits for the first of two futures, and drops the other one, as `tokio::select!` does. Which one is polled first is
/// a choice of the scheduler.
pub async fn race<A: Future, B: Future>(first: A, second: B) -> Either<A::Output, B::Output> {
    let (mut first, mut second) = (pin!(first), pin!(second));
    poll_fn(|context| {
        let first_first = coin();
        if first_first && let Poll::Ready(output) = first.as_mut().poll(context) {
            return Poll::Ready(Either::First(output));
        }
        if let Poll::Ready(output) = second.as_mut().poll(context) {
            return Poll::Ready(Either::Second(output));
        }
        if !first_first && let Poll::Ready(output) = first.as_mut().poll(context) {
            return Poll::Ready(Either::First(output));
        }
        Poll::Pending
    })
    .await
}
