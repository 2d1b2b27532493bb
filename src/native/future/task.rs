//! Tasks: futures that run beside others.

use super::object::Object;
use super::wake::{drive, waits_at};
use crate::native::run::with;
use crate::native::thread;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Handle of a task: a future of its output, as `tokio::task::JoinHandle`. A task whose handle is dropped goes on.
pub struct JoinHandle<T> {
    task: Arc<Task<T>>,
    at: &'static Location<'static>,
}

/// Aborts a task.
#[derive(Clone)]
pub struct AbortHandle(Arc<dyn Aborts>);

/// The task was aborted. (A task that panics fails the run.)
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JoinError;

struct TaskState<T> {
    output: Option<Result<T, JoinError>>,
    is_aborted: bool,
    is_finished: bool,
    // Waker of the task while it waits, and of the one that joins it.
    own: Option<Waker>,
    joins: Option<Waker>,
}

struct Task<T>(Object<TaskState<T>>);

trait Aborts: Send + Sync {
    fn abort(&self, at: &'static Location<'static>);
    fn is_finished(&self) -> bool;
}

impl<T: Send> Aborts for Task<T> {
    fn abort(&self, at: &'static Location<'static>) {
        let own = self.0.step(at, |state| {
            state.is_aborted = true;
            state.own.take()
        });
        own.into_iter().for_each(Waker::wake);
    }

    fn is_finished(&self) -> bool {
        self.0.look(|state| state.is_finished)
    }
}

/// Runs a future as a task beside this one.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let at = Location::caller();
    let state = TaskState { output: None, is_aborted: false, is_finished: false, own: None, joins: None };
    let task = Arc::new(Task(Object::new("task", state)));
    let own = task.clone();
    let run = move || {
        with(|run| {
            let thread = run.thread;
            run.world().make_daemon(thread);
        });
        let output = {
            let mut aborts = || own.0.look(|state| state.is_aborted);
            let future = async {
                let mut future = pin!(future);
                std::future::poll_fn(|context| {
                    let waker = context.waker().clone();
                    own.0.look(|state| state.own = Some(waker));
                    future.as_mut().poll(context)
                })
                .await
            };
            drive(pin!(future), at, &mut aborts)
        };
        let joins = own.0.step(at, |state| {
            (state.output, state.is_finished) = (Some(output.ok_or(JoinError)), true);
            state.joins.take()
        });
        joins.into_iter().for_each(Waker::wake);
    };
    thread::start("task", run, at);
    JoinHandle { task, at }
}

impl<T: Send + 'static> JoinHandle<T> {
    /// Aborts the task: it ends at the await at which it waits, or when it comes to the next one.
    #[track_caller]
    pub fn abort(&self) {
        self.task.abort(Location::caller());
    }

    /// Returns a handle that aborts the task.
    #[must_use]
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle(self.task.clone())
    }

    /// Returns whether the task has come to its end.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.task.is_finished()
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    /// # Panics
    ///
    /// The output was taken already.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let waker = context.waker().clone();
        let output = self.task.0.step(self.at, |state| {
            assert!(state.output.is_some() || !state.is_finished, "a JoinHandle was polled after it was ready");
            state.joins = Some(waker);
            state.output.take()
        });
        if output.is_none() {
            waits_at(self.at);
        }
        output.map_or(Poll::Pending, Poll::Ready)
    }
}

impl AbortHandle {
    /// Aborts the task.
    #[track_caller]
    pub fn abort(&self) {
        self.0.abort(Location::caller());
    }

    /// Returns whether the task has come to its end.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl JoinError {
    /// Returns whether the task was aborted.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        true
    }

    /// Returns whether the task has panicked: never, since that fails the run.
    #[must_use]
    pub fn is_panic(&self) -> bool {
        false
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the task was aborted")
    }
}

impl std::error::Error for JoinError {}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle").finish_non_exhaustive()
    }
}
