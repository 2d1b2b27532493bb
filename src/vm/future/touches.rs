//! The operations that an instruction may perform, with all operands that its registers may hold.

use super::flow::through_condition;
use super::range::Range;
use crate::base::Id;
use crate::event::{
    Acquisition, Args, BarrierId, ConditionId, GroupId, HandlerId, Location, LockId, NULL, Op, PostOptions, PostTime,
    RwLockId, SemaphoreId, Target, ThreadId, WaitSet,
};
use crate::vm::code::Code;
use crate::vm::instr::{Address, Instr, LockRef, Reg, TargetRef, Time, Visible, WaitRef};
use crate::world::Setup;

/// Bound on the number of operations of one instruction. One with more may do anything.
const MOST: usize = 4_096;

/// What an instruction may touch.
pub(super) struct Touched {
    /// The operations, with operands that matter to others. Values that are written are left out.
    pub(super) ops: Vec<Op>,
    /// Whether the thread begins a deadline when it arrives at the instruction.
    pub(super) arrives_timed: bool,
}

/// The registers before an instruction, and the declarations that they may refer to.
pub(super) struct Operands<'s> {
    pub(super) code: &'s Code,
    pub(super) setup: &'s Setup,
    pub(super) registers: &'s [Range],
}

impl Operands<'_> {
    // All values of a register, as numbers of declared things.
    fn all<I: Id>(&self, reg: Reg, count: usize) -> Option<Vec<I>> {
        let range = self.registers[usize::from(reg)].indices(count)?;
        (range.clone().count() <= MOST).then(|| range.map(I::new).collect())
    }

    fn cells(&self, at: Address) -> Option<Vec<Location>> {
        let global = |cell: u32| Location { cell, object: None };
        match at {
            Address::Cell(cell) => Some(vec![global(cell)]),
            Address::Reg(reg) => {
                let range = self.registers[usize::from(reg)].indices(self.setup.cells.len())?;
                (range.clone().count() <= MOST).then(|| range.map(|cell| global(cell as u32)).collect())
            }
        }
    }

    /// Returns the locks that a register may hold; `None` for monitors of objects.
    pub(super) fn locks(&self, lock: LockRef) -> Option<Vec<LockId>> {
        match lock {
            LockRef::Lock(reg) => self.all(reg, self.setup.locks.len()),
            LockRef::Monitor(_) => None,
        }
    }

    fn rwlocks(&self, reg: Reg) -> Option<Vec<RwLockId>> {
        self.all(reg, self.setup.rwlocks.len())
    }

    fn semaphores(&self, reg: Reg) -> Option<Vec<SemaphoreId>> {
        self.all(reg, self.setup.semaphores.len())
    }

    /// Returns the declared threads that a register may hold.
    pub(super) fn threads(&self, reg: Reg) -> Option<Vec<ThreadId>> {
        self.all(reg, self.setup.threads.len())
    }

    fn wait_sets(&self, on: WaitRef) -> Option<Vec<WaitSet>> {
        Some(match on {
            WaitRef::Lock(lock) => self.locks(lock)?.into_iter().map(WaitSet::Lock).collect(),
            WaitRef::Condition(reg) => {
                let all: Vec<ConditionId> = self.all(reg, self.setup.conditions.len())?;
                all.into_iter().map(WaitSet::Condition).collect()
            }
        })
    }

    /// Returns the targets that a register may hold.
    pub(super) fn targets(&self, target: TargetRef) -> Option<Vec<Target>> {
        Some(match target {
            TargetRef::Thread(reg) => self.threads(reg)?.into_iter().map(Target::Thread).collect(),
            TargetRef::Handler(reg) => {
                let all: Vec<HandlerId> = self.all(reg, self.setup.handlers.len())?;
                all.into_iter().map(Target::Handler).collect()
            }
        })
    }

    // The reads of a condition, as operations.
    fn condition(&self, condition: u32) -> Option<Vec<Op>> {
        let fragment = self.code.fragment(condition);
        let mut reads = Some(Vec::new());
        through_condition(&fragment.code, self.registers, fragment.regs, |instr, registers| {
            let operands = Operands { registers, ..*self };
            let cells = match instr {
                Instr::Peek { at, .. } | Instr::PeekList { at, .. } => operands.cells(*at),
                Instr::Platform { .. } => None,
                _ => return,
            };
            match (&mut reads, cells) {
                (Some(reads), Some(cells)) => reads.extend(cells.into_iter().map(Op::Read)),
                _ => reads = None,
            }
        });
        reads
    }

    /// Returns what a visible instruction may touch; `None` if that is not known.
    pub(super) fn touched(&self, visible: &Visible) -> Option<Touched> {
        let mut arrives_timed = false;
        let each = |ops: &mut dyn Iterator<Item = Op>| ops.collect::<Vec<Op>>();
        let ops = match *visible {
            Visible::Read(at) | Visible::ListRead(at, _) => each(&mut self.cells(at)?.into_iter().map(Op::Read)),
            Visible::Write(at, _) | Visible::ListWrite(at, _) => {
                each(&mut self.cells(at)?.into_iter().map(|at| Op::Write(at, 0)))
            }
            Visible::AtomicRead(at) => each(&mut self.cells(at)?.into_iter().map(Op::AtomicRead)),
            Visible::AtomicWrite(at, _)
            | Visible::Cas { at, .. }
            | Visible::FetchAdd(at, _)
            | Visible::Exchange(at, _) => each(&mut self.cells(at)?.into_iter().map(|at| Op::AtomicWrite(at, 0))),
            Visible::Acquire(lock) => each(&mut self.locks(lock)?.into_iter().map(Op::Acquire)),
            Visible::Release(lock) => each(&mut self.locks(lock)?.into_iter().map(Op::Release)),
            Visible::AcquireFor { lock, .. } => {
                arrives_timed = true;
                let of = |lock| Op::AcquireFor { of: Acquisition::Lock(lock), timeout: 0 };
                each(&mut self.locks(lock)?.into_iter().map(of))
            }
            Visible::SideFor { lock, write, .. } => {
                arrives_timed = true;
                let side = |lock| if write { Acquisition::Write(lock) } else { Acquisition::Read(lock) };
                each(&mut self.rwlocks(lock)?.into_iter().map(|lock| Op::AcquireFor { of: side(lock), timeout: 0 }))
            }
            Visible::Wait { on, lock, .. } => {
                let (sets, locks) = (self.wait_sets(on)?, self.locks(lock)?);
                let pairs = || sets.iter().flat_map(|on| locks.iter().map(|lock| (*on, *lock)));
                let begins = pairs().map(|(on, lock)| Op::Wait { on, lock, timeout: None });
                each(&mut begins.chain(pairs().map(|(on, lock)| Op::Reacquire { on, lock })))
            }
            Visible::Notify { on, all } => each(&mut self.wait_sets(on)?.into_iter().map(|on| Op::Notify { on, all })),
            Visible::ReadLock(reg) => each(&mut self.rwlocks(reg)?.into_iter().map(Op::ReadLock)),
            Visible::Announce(reg) => each(&mut self.rwlocks(reg)?.into_iter().map(Op::Announce)),
            Visible::WriteLock(reg) => each(&mut self.rwlocks(reg)?.into_iter().map(Op::WriteLock)),
            Visible::ReadUnlock(reg) => each(&mut self.rwlocks(reg)?.into_iter().map(Op::ReadUnlock)),
            Visible::WriteUnlock(reg) => each(&mut self.rwlocks(reg)?.into_iter().map(Op::WriteUnlock)),
            Visible::Down(reg) => each(&mut self.semaphores(reg)?.into_iter().map(Op::Down)),
            Visible::DownFor { semaphore, .. } => {
                arrives_timed = true;
                let of = |semaphore| Op::DownFor { semaphore, timeout: 0 };
                each(&mut self.semaphores(semaphore)?.into_iter().map(of))
            }
            Visible::Up(reg) => each(&mut self.semaphores(reg)?.into_iter().map(Op::Up)),
            Visible::Arrive(reg) => {
                let all: Vec<BarrierId> = self.all(reg, self.setup.barriers.len())?;
                let passes = all.iter().map(|barrier| Op::Pass { barrier: *barrier, generation: 0 });
                each(&mut all.iter().copied().map(Op::Arrive).chain(passes))
            }
            Visible::GroupAdd { group, .. } => {
                let all: Vec<GroupId> = self.all(group, self.setup.groups.len())?;
                each(&mut all.into_iter().map(|group| Op::GroupAdd { group, delta: 0 }))
            }
            Visible::GroupWait(reg) => {
                let all: Vec<GroupId> = self.all(reg, self.setup.groups.len())?;
                let passes = all.iter().map(|group| Op::GroupPass { group: *group, generation: 0 });
                each(&mut all.iter().copied().map(Op::GroupWait).chain(passes))
            }
            Visible::Await { condition, timeout } => {
                arrives_timed = timeout.is_some();
                let clock = timeout.map(|_| Op::Now);
                each(&mut self.condition(condition)?.into_iter().chain(clock))
            }
            Visible::Join(reg) => each(&mut self.threads(reg)?.into_iter().map(Op::Join)),
            Visible::Interrupt(reg) => each(&mut self.threads(reg)?.into_iter().map(Op::Interrupt)),
            Visible::ReadInterrupt(reg) => each(&mut self.threads(reg)?.into_iter().map(Op::ReadInterrupt)),
            Visible::Post { target, body, time, is_async, .. } => {
                each(&mut self.targets(target)?.into_iter().map(|target| post(target, body, time, is_async)))
            }
            Visible::PostMore { target, body, time, is_async, more, .. } if more.with.or(more.every).is_none() => {
                each(&mut self.targets(target)?.into_iter().map(|target| post(target, body, time, is_async)))
            }
            Visible::Begin => vec![Op::Begin],
            Visible::AttachQueue => vec![Op::AttachQueue],
            Visible::Fence(reg) => each(&mut self.threads(reg)?.into_iter().map(Op::Fence)),
            Visible::Cancel { target, body } => {
                each(&mut self.targets(target)?.into_iter().map(|target| Op::Cancel { target, body, token: NULL }))
            }
            Visible::Quit { looper, safely } => {
                each(&mut self.threads(looper)?.into_iter().map(|looper| Op::Quit { looper, safely }))
            }
            Visible::Enable { event, .. } => vec![Op::Enable { event, args: Args::default(), instance: None }],
            Visible::Disable(event) => vec![Op::Disable(event)],
            Visible::Register { listener, body } => vec![Op::Register { listener, body }],
            Visible::Unregister { listener, body } => vec![Op::Unregister { listener, body }],
            Visible::Perform { listener, .. } => vec![Op::Perform(listener)],
            Visible::Sleep(_) => vec![Op::Sleep(0), Op::Wake],
            Visible::Now => vec![Op::Now],
            Visible::Branch | Visible::Choose { .. } | Visible::Skip | Visible::Yield => Vec::new(),
            // Objects, handles of messages, channels, jobs, components, and what is made in a run.
            _ => return None,
        };
        Some(Touched { ops, arrives_timed })
    }
}

fn post(target: Target, body: crate::event::BodyId, time: Time, is_async: bool) -> Op {
    let time = match time {
        Time::Now => PostTime::Now,
        Time::After(_) => PostTime::After(0),
        Time::Front => PostTime::Front,
        Time::At(_) => PostTime::At(0),
        Time::Micro => PostTime::Micro,
        Time::Idle { keep } => PostTime::Idle { keep },
    };
    Op::Post { target, body, args: Args::default(), time, is_async, options: PostOptions::default(), instance: None }
}

/// Returns whether an operation begins a deadline, or a step in which one may begin.
pub(super) fn begins_deadline(visible: &Visible) -> bool {
    match visible {
        Visible::Post { time, .. } => matches!(time, Time::After(_) | Time::At(_)),
        Visible::PostMore { time, more, .. } => matches!(time, Time::After(_) | Time::At(_)) || more.every.is_some(),
        Visible::Wait { timeout, .. } | Visible::Await { timeout, .. } | Visible::Select { timeout, .. } => {
            timeout.is_some()
        }
        Visible::Sleep(_)
        | Visible::DownFor { .. }
        | Visible::AcquireFor { .. }
        | Visible::SideFor { .. }
        | Visible::Launch { .. }
        | Visible::Suspend(_) => true,
        _ => false,
    }
}

/// Returns whether a queue may hold something that begins or returns without a post: an idle handler, or a message that
/// is posted again whenever it begins.
pub(super) fn begins_by_itself(visible: &Visible) -> bool {
    match visible {
        Visible::Post { time, .. } => matches!(time, Time::Idle { .. }),
        Visible::PostMore { time, more, .. } => matches!(time, Time::Idle { .. }) || more.every.is_some(),
        _ => false,
    }
}
