//! Looper threads and their queues, as on Android: messages in order of their time, delayed and front-posted ones.

use super::run::{begin, number, perform, with};
use super::sync::{milliseconds, value};
use crate::event::{Op, PostOptions, PostTime, SiteKind, Target, ThreadId};
use crate::world::Reply;
use std::panic::Location;
use std::time::Duration;

/// A thread with a queue of messages, which it runs one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HandlerThread {
    looper: ThreadId,
    // Number of the run that the looper belongs to.
    run: u64,
}

/// Posts tasks to a looper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handler {
    looper: ThreadId,
    // Number of the run that the looper belongs to.
    run: u64,
}

impl HandlerThread {
    /// Starts a looper.
    #[track_caller]
    #[must_use]
    pub fn start() -> Self {
        let id = value(perform(Op::SpawnLooper, SiteKind::SpawnLooper, "", Location::caller()));
        Self { looper: ThreadId(u32::try_from(id).unwrap_or(0)), run: number() }
    }

    /// Returns a handler that posts to the looper.
    #[must_use]
    pub fn handler(&self) -> Handler {
        Handler { looper: self.looper, run: self.run }
    }

    /// Ends the looper: messages that have not begun are dropped, and later ones are refused.
    #[track_caller]
    pub fn quit(&self) {
        self.end(false, Location::caller());
    }

    /// Ends the looper after the messages that are due.
    #[track_caller]
    pub fn quit_safely(&self) {
        self.end(true, Location::caller());
    }

    fn end(&self, safely: bool, at: &'static Location<'static>) {
        let quit = Op::Quit { looper: self.looper, safely };
        // The looper of another run has ended with it.
        perform(if number() == self.run { quit } else { Op::Skip }, SiteKind::Quit, "", at);
    }

    /// Waits for the end of the looper.
    #[track_caller]
    pub fn join(&self) {
        let join = Op::Join(self.looper);
        perform(if number() == self.run { join } else { Op::Skip }, SiteKind::Join, "", Location::caller());
    }
}

impl Handler {
    /// Posts a task behind all that are due. Returns whether the looper has taken it.
    #[track_caller]
    pub fn post(&self, task: impl FnOnce() + Send + 'static) -> bool {
        self.send(Box::new(task), PostTime::Now, Location::caller())
    }

    /// Posts a task that is due after a delay. Returns whether the looper has taken it.
    #[track_caller]
    pub fn post_delayed(&self, delay: Duration, task: impl FnOnce() + Send + 'static) -> bool {
        self.send(Box::new(task), PostTime::After(milliseconds(delay)), Location::caller())
    }

    /// Posts a task before all others. Returns whether the looper has taken it.
    #[track_caller]
    pub fn post_at_front(&self, task: impl FnOnce() + Send + 'static) -> bool {
        self.send(Box::new(task), PostTime::Front, Location::caller())
    }

    fn send(&self, task: Box<dyn FnOnce()>, time: PostTime, at: &'static Location<'static>) -> bool {
        let mut task = Some(task);
        let op = with(|run| {
            (!run.over && run.number == self.run).then(|| Op::Post {
                target: Target::Thread(self.looper),
                body: run.body("task"),
                args: run.keep(task.take().expect("it is kept once")),
                time,
                is_async: false,
                options: PostOptions::default(),
                instance: None,
            })
        });
        value(perform(op.flatten().unwrap_or(Op::Skip), SiteKind::Post, "", at)) != 0
    }
}

/// Runs the tasks of the looper that runs, until it quits.
pub(super) fn serve() {
    while let Some(Reply::Task(_, args)) = begin() {
        let job = with(|run| run.take(args)).flatten();
        if let Some(job) = job {
            job();
        }
        with(|run| {
            let thread = run.thread;
            if !run.over {
                run.world().end_task(thread);
            }
        });
    }
}
