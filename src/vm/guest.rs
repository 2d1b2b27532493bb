//! The virtual machine as a guest: implements the interface through which the world runs a program.

use super::blame::blamed;
use super::code::Code;
use super::fiber::{Fiber, Frame, FrameKind};
use super::operands::Values;
use super::pure::evaluate;
use super::unwind::Exception;
use crate::base::{Id, IndexVec};
use crate::event::{BodyId, Failure, FailureKind, Op, ThreadId, Value};
use crate::world::{CanonicalWriter, Guest, Job, Next, Renaming, Reply, Setup, Snapshot, WordKind, World};
use std::sync::Arc;

/// The virtual machine: the threads of one run of a compiled program.
pub struct Vm {
    pub(super) code: Arc<Code>,
    pub(super) fibers: IndexVec<ThreadId, Fiber>,
}

crate::clone_in_place!(Vm { code, fibers });

impl Vm {
    /// Creates a machine without threads.
    #[must_use]
    pub fn new(code: Arc<Code>) -> Self {
        Self { code, fibers: IndexVec::new() }
    }

    /// Returns the program.
    #[must_use]
    pub fn code(&self) -> &Arc<Code> {
        &self.code
    }

    pub(super) fn fiber(&mut self, thread: ThreadId) -> &mut Fiber {
        while self.fibers.len() <= thread.0 as usize {
            self.fibers.push(Fiber::default());
        }
        &mut self.fibers[thread]
    }

    // Runs a new thread up to its first visible operation.
    fn begin(&mut self, world: &mut World, thread: ThreadId, body: BodyId, args: &[Value]) -> Next {
        self.fiber(thread).clear();
        if self.enter(world, thread, body, args, FrameKind::Root) { self.run(world, thread, None) } else { Next::Ended }
    }

    /// Pushes a frame. Returns false if the limit of memory cells is reached; the run's outcome is then set.
    pub(super) fn enter(
        &mut self,
        world: &mut World,
        thread: ThreadId,
        body: BodyId,
        args: &[Value],
        kind: FrameKind,
    ) -> bool {
        let more = self.fibers[thread].push(body, &self.code.bodies[body], args, kind);
        world.take_cells(more)
    }

    fn broken(&self, world: &World, properties: &[(String, u32)]) -> Option<Failure> {
        properties.iter().find_map(|(name, fragment)| {
            let (message, operand) = match evaluate(self.code.fragment(*fragment), &[], world, None) {
                Ok(0) => (String::new(), None),
                Ok(_) => return None,
                Err((thrown, at)) => {
                    let blame = blamed(&self.code.fragments_blamed[*fragment as usize], at);
                    let operand = blame.and_then(|id| self.code.blames.operand(thrown.name(), id));
                    (thrown.name().to_owned(), operand)
                }
            };
            Some(Failure {
                kind: FailureKind::Property,
                name: name.clone(),
                message,
                thread: String::new(),
                site: None,
                operand,
            })
        })
    }
}

impl Guest for Vm {
    fn setup(&self) -> &Arc<Setup> {
        &self.code.setup
    }

    fn reset(&mut self) {
        self.fibers.iter_mut().for_each(Fiber::reset);
    }

    fn initialize(&mut self, world: &mut World) {
        let thread = world.init_thread();
        let home = world.thread(thread).home;
        world.fill_memory(home);
        let Some(body) = self.code.init else {
            world.finish(thread);
            return;
        };
        let mut next = self.begin(world, thread, body, &[]);
        let mut left = world.limits().steps;
        while matches!(next, Next::Pending | Next::Ready) {
            if left == 0 {
                world.end(crate::event::Outcome::Limit(crate::event::LimitKind::Steps, world.limits().steps));
                return;
            }
            left -= 1;
            next = match world.perform_now(thread) {
                None => return,
                // The second half of an operation (of a wait or a sleep) needs another thread or time, and `init` has
                // neither. If it is not enabled, the next `perform_now` ends the run as a deadlock.
                Some(Reply::Again) => Next::Pending,
                Some(reply) => self.deliver(world, thread, reply),
            };
        }
        if next == Next::Finished {
            world.finish(thread);
        }
    }

    fn spawn(&mut self, world: &mut World, thread: ThreadId, how: Option<Op>) -> Next {
        match how {
            Some(Op::Fork { body, args }) => {
                let args = Values::from_slice(world.args(args));
                self.begin(world, thread, body, &args)
            }
            Some(_) => self.begin(world, thread, self.code.looper, &[]),
            None => {
                let (body, arg) = self.code.starts[thread.0 as usize];
                self.begin(world, thread, body, arg.as_slice())
            }
        }
    }

    #[inline(always)]
    fn resume(&mut self, world: &mut World, thread: ThreadId, reply: Reply) -> Next {
        if let Reply::Value(value) = reply {
            return self.run(world, thread, Some(value));
        }
        self.deliver(world, thread, reply)
    }

    fn abandon(&mut self, world: &mut World, thread: ThreadId) -> Next {
        self.leave_task(world, thread)
    }

    #[inline(always)]
    fn resume_alone(&mut self, world: &mut World, thread: ThreadId, value: Value, most: u64) -> (Next, u64) {
        self.run_alone(world, thread, value, most)
    }

    fn condition(&mut self, world: &World, thread: ThreadId) -> bool {
        let fiber = &self.fibers[thread];
        fiber.awaited(&self.code).is_none_or(|fragment| {
            // An exception in the condition counts as true, so that the thread resumes and throws it.
            let thread = world.job(thread).map_or(thread, Job::looper);
            !matches!(evaluate(self.code.fragment(fragment), fiber.top(), world, Some(thread)), Ok(0))
        })
    }

    fn settle_rows(&mut self, world: &mut World) {
        if let Some(fired) = world.last_firing() {
            self.settle(world, (None, fired));
        }
    }

    fn uncaught(&mut self, world: &mut World, job: ThreadId, exception: Value) {
        self.report(world, job, Exception::unpack(exception));
    }

    #[inline]
    fn watches_memory(&self) -> bool {
        !self.code.always.is_empty()
    }

    fn watches_cell(&self, cell: u32) -> bool {
        self.watches_memory() && self.code.watched.as_ref().is_none_or(|watched| watched.reads(cell))
    }

    fn watches_rest(&self) -> bool {
        !self.code.at_end.is_empty()
    }

    fn broken_always(&mut self, world: &World) -> Option<Failure> {
        if !self.code.may_be_broken(world.changed_cell(), world) {
            debug_assert!(self.broken(world, &self.code.always).is_none(), "a term was not asked that a write broke");
            return None;
        }
        self.broken(world, &self.code.always)
    }

    fn broken_at_end(&mut self, world: &World) -> Option<Failure> {
        self.broken(world, &self.code.at_end)
    }
}

impl Snapshot for Vm {
    type Stand = Fiber;

    fn global_kinds(&self) -> &[WordKind] {
        &self.code.global_kinds
    }

    fn class_kinds(&self, class: u32) -> &[WordKind] {
        &self.code.class_kinds[class as usize]
    }

    fn parameter_kinds(&self, body: BodyId) -> &[WordKind] {
        let body = &self.code.bodies[body];
        &body.kinds[..usize::from(body.params)]
    }

    fn result_kind(&self, body: BodyId) -> WordKind {
        self.code.results.get(&body).copied().unwrap_or(WordKind::Word)
    }

    fn write_thread(&self, thread: ThreadId, to: &mut CanonicalWriter<'_>) {
        let fiber = &self.fibers[thread];
        to.word(fiber.len() as u64);
        for frame in fiber.frames() {
            to.word(u64::from(frame.body.0) << 32 | u64::from(frame.pc));
            to.word(frame.kind.code());
            if let FrameKind::Job(job) = frame.kind {
                to.value(WordKind::Thread, Value::from(job.0));
            }
            for (kind, value) in self.live_values(fiber, &frame) {
                to.value(kind, value);
            }
        }
    }

    fn stand(&self, thread: ThreadId) -> Fiber {
        self.fibers[thread].stand()
    }

    fn set_stand(&mut self, thread: ThreadId, stand: &Fiber) {
        self.fibers[thread].clone_from(stand);
    }

    fn rename(&mut self, by: &Renaming) {
        let threads = self.code.starts.len();
        let old: Vec<Fiber> = self.fibers.iter().take(threads).cloned().collect();
        for (thread, mut fiber) in old.into_iter().enumerate() {
            let frames: Vec<Frame> = fiber.frames().collect();
            for frame in frames {
                let live: Vec<_> = self.live_registers(&frame).collect();
                for (register, kind) in live {
                    fiber.regs[register] = by.value(kind, fiber.regs[register]);
                }
            }
            self.fibers[ThreadId::new(by.thread(thread))] = fiber;
        }
    }

    fn cells(&self, thread: ThreadId) -> u64 {
        self.fibers.get(thread.0 as usize).map_or(0, Fiber::most)
    }

    fn futures(&self, world: &World) -> Option<crate::world::SharedFutures<Self>> {
        super::future::futures(self, world)
    }

    fn bytes(&self) -> u64 {
        let of_fibers: usize = self.fibers.iter().map(Fiber::bytes).sum();
        (size_of::<Self>() + of_fibers) as u64
    }

    fn thread_key(&self, thread: ThreadId) -> Vec<u64> {
        let fiber = &self.fibers[thread];
        let mut key = Vec::new();
        for frame in fiber.frames() {
            key.push(u64::from(frame.body.0) << 32 | u64::from(frame.pc));
            let words = self.live_values(fiber, &frame).filter(|(kind, _)| *kind == WordKind::Word);
            key.extend(words.map(|(_, value)| value as u64));
        }
        key
    }
}

impl Vm {
    // The live registers of a frame: kind and value.
    fn live_values<'f>(&'f self, fiber: &'f Fiber, frame: &Frame) -> impl Iterator<Item = (WordKind, Value)> + 'f {
        self.live_registers(frame).map(|(register, kind)| (kind, fiber.regs[register]))
    }

    // The live registers of a frame: index and kind.
    fn live_registers(&self, frame: &Frame) -> impl Iterator<Item = (usize, WordKind)> + '_ {
        let (body, base) = (&self.code.bodies[frame.body], frame.base as usize);
        let live = body.live_at(frame.pc);
        body.kinds.iter().enumerate().filter_map(move |(reg, kind)| {
            let alive = live.is_none_or(|l| l[reg / 64] >> (reg % 64) & 1 == 1);
            alive.then_some((base + reg, *kind))
        })
    }
}

impl FrameKind {
    fn code(self) -> u64 {
        match self {
            FrameKind::Root => 0,
            FrameKind::Task => 1,
            FrameKind::Callback => 2,
            FrameKind::Call(dst) => 3 + u64::from(dst),
            // A register has 16 bits.
            FrameKind::Job(_) => 1 << 20,
        }
    }
}
