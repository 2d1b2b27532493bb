//! A guest whose bodies are lists of operations.

use crate::event::{BodyId, EventKind, Op, PostTime, SiteId, Target, ThreadId, Value};
use crate::world::{Guest, Next, Reply, Setup, World};
use std::sync::Arc;

/// A statement.
#[derive(Clone, Debug)]
pub(super) enum ScriptStep {
    /// An operation.
    Do(Op),
    /// Joins the k-th thread that this thread has forked, if there is one.
    Join(usize),
    /// Posts to the k-th thread that this thread has created.
    Post(usize, BodyId, PostTime),
    /// Stops the k-th thread that this thread has created, if it is a looper.
    Quit(usize),
    /// Lifts the last fence that this thread has put up, if there is one.
    Lift,
    /// Runs the thread's messages until it quits.
    Loop,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum BodyKind {
    Root,
    Task,
    Callback,
}

#[derive(Clone, Default, Debug)]
struct Fiber {
    frames: Vec<(BodyId, usize, BodyKind)>,
    forked: Vec<ThreadId>,
    fence: Option<Value>,
}

/// A script: bodies, the threads that start, and the operations of `init`.
#[derive(Clone)]
pub(super) struct Script {
    pub(super) setup: Arc<Setup>,
    pub(super) bodies: Vec<Vec<ScriptStep>>,
    /// Body of each declared thread.
    pub(super) starts: Vec<BodyId>,
    /// Body of a spawned looper.
    pub(super) looper: BodyId,
    pub(super) init: Vec<Op>,
    /// Whether the last operation threw.
    pub(super) threw: bool,
    /// Cells that awaits wait for: even bodies for the first one, others for the second. An await ends when its cell
    /// is not 0.
    pub(super) awaited: [u32; 2],
    fibers: Vec<Fiber>,
}

/// Returns the site of a statement: sites are numbered through the bodies in hundreds.
pub(super) fn site(body: BodyId, pc: usize) -> SiteId {
    SiteId(body.0 * 100 + pc as u32)
}

impl Script {
    pub(super) fn new(
        setup: Setup,
        bodies: Vec<Vec<ScriptStep>>,
        starts: Vec<BodyId>,
        looper: BodyId,
        init: Vec<Op>,
    ) -> Self {
        Self { setup: Arc::new(setup), bodies, starts, looper, init, threw: false, awaited: [0, 0], fibers: Vec::new() }
    }

    fn fiber(&mut self, thread: ThreadId) -> &mut Fiber {
        let i = thread.0 as usize;
        if self.fibers.len() <= i {
            self.fibers.resize(i + 1, Fiber::default());
        }
        &mut self.fibers[i]
    }

    fn run(&mut self, world: &mut World, thread: ThreadId) -> Next {
        loop {
            let fiber = &self.fibers[thread.0 as usize];
            let Some(&(body, pc, kind)) = fiber.frames.last() else { return Next::Finished };
            let op = match self.bodies[body.0 as usize].get(pc) {
                None => {
                    if kind == BodyKind::Task {
                        world.end_task(thread);
                    }
                    self.fiber(thread).frames.pop();
                    continue;
                }
                Some(ScriptStep::Do(op)) => Some(*op),
                Some(ScriptStep::Join(k)) => fiber.forked.get(*k).map(|t| Op::Join(*t)),
                Some(ScriptStep::Quit(k)) => fiber.forked.get(*k).map(|t| Op::Quit { looper: *t, safely: false }),
                Some(ScriptStep::Post(k, body, time)) => fiber.forked.get(*k).map(|t| post(*t, *body, *time)),
                Some(ScriptStep::Lift) => fiber.fence.map(Op::Lift),
                Some(ScriptStep::Loop) => {
                    world.pend(thread, Op::Begin, None);
                    return Next::Pending;
                }
            };
            match op {
                Some(op) => {
                    world.pend(thread, op, Some(site(body, pc)));
                    return Next::Pending;
                }
                None => self.advance(thread),
            }
        }
    }

    fn advance(&mut self, thread: ThreadId) {
        if let Some(top) = self.fiber(thread).frames.last_mut() {
            top.1 += 1;
        }
    }
}

/// Returns an ordinary post.
pub(super) fn post(looper: ThreadId, body: BodyId, time: PostTime) -> Op {
    Op::Post { target: Target::Thread(looper), body, args: Default::default(), time, is_async: false, instance: None }
}

impl Guest for Script {
    fn setup(&self) -> &Arc<Setup> {
        &self.setup
    }

    fn reset(&mut self) {
        self.fibers.clear();
    }

    fn initialize(&mut self, world: &mut World) {
        let thread = world.init_thread();
        let home = world.thread(thread).home;
        world.fill_memory(home);
        for op in self.init.clone() {
            world.pend(thread, op, None);
            assert!(world.perform_now(thread).is_some(), "init does not block");
        }
        world.finish(thread);
    }

    fn spawn(&mut self, world: &mut World, thread: ThreadId, how: Option<Op>) -> Next {
        let body = match how {
            None => self.starts[thread.0 as usize],
            Some(Op::Fork { body, .. }) => body,
            Some(_) => self.looper,
        };
        self.fiber(thread).frames.push((body, 0, BodyKind::Root));
        self.run(world, thread)
    }

    fn resume(&mut self, world: &mut World, thread: ThreadId, reply: Reply) -> Next {
        let frame = self.fiber(thread).frames.last().copied();
        let step = frame.and_then(|(body, pc, _)| self.bodies[body.0 as usize].get(pc)).cloned();
        match reply {
            Reply::Task(body, _) => self.fiber(thread).frames.push((body, 0, BodyKind::Task)),
            Reply::Callbacks(listener) => {
                self.advance(thread);
                let bodies = world.callbacks(listener).iter();
                self.fiber(thread).frames.extend(bodies.rev().map(|b| (*b, 0, BodyKind::Callback)));
            }
            Reply::Throw(_) => {
                self.threw = true;
                let context = world.thread(thread).context;
                world.record(Some(thread), Some(context), None, || EventKind::Thrown(String::new()));
                if world.setup().uncaught_ends_thread {
                    self.fiber(thread).frames.clear();
                    world.abandon_queue(thread);
                    return Next::Finished;
                }
                self.advance(thread);
            }
            Reply::Value(value) | Reply::Awaited(value) => {
                match step {
                    Some(ScriptStep::Do(Op::Fork { .. } | Op::SpawnLooper)) => {
                        self.fiber(thread).forked.push(ThreadId(value as u32));
                    }
                    Some(ScriptStep::Do(Op::Fence(_))) => self.fiber(thread).fence = Some(value),
                    _ => {}
                }
                self.advance(thread);
            }
            Reply::LeaveLoop | Reply::Exhausted | Reply::Again => self.advance(thread),
            // A script has no jobs.
            Reply::Start { .. } | Reply::Suspended(_) | Reply::Continue { .. } | Reply::Skipped | Reply::Rethrow(_) => {
                unreachable!("{reply:?}")
            }
        }
        self.run(world, thread)
    }

    fn condition(&mut self, world: &World, thread: ThreadId) -> bool {
        let body = self.fiber(thread).frames.last().map_or(0, |(body, _, _)| body.0);
        world.memory().cell(self.awaited[body as usize % 2]) != 0
    }
}
