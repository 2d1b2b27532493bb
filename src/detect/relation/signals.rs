//! Expresses synchronization other than locks as messages on numbered channels: an operation that receives on a
//! channel comes after all earlier sends on it.
//!
//! - a notify to the return of the waits that it woke; an interrupt to the operation that it broke off;
//! - each up of a semaphore to each later down; each write of an atomic to each later read of it; each registration
//!   to each later perform of the listener;
//! - each write-unlock to each later lock of either side, each read-unlock to each later write-lock;
//! - the arrivals at a barrier to the passing of its generation;
//! - the write that enabled an await to the end of the await (an await whose condition held from the start has no
//!   known cause);
//! - each add to a wait group to each later end of a wait for it; an interrupt to a read of the flag that sees it;
//! - sends, receives and closes of the language's channels (`exchanges`);
//! - a quit to the end of the looper's loop;
//! - the step that ends the wait of a job to the resumption of the job; if a task of the job's looper has performed
//!   that step, also the end of that task.
//!
//! An operation that is refused (it throws and changes nothing) neither sends nor receives.
//!
//! The channels of a run are numbered in the order of the first sends on them.

use super::awaits::{Awaits, ConditionChange};
use super::exchanges::Exchanges;
use crate::base::IdSet;
use crate::event::{
    BarrierId, ContextId, Event, EventKind, GroupId, ListenerId, Location, Op, RwLockId, SemaphoreId, Suspension,
    ThreadId, Value, WaitSet,
};
use crate::world::World;
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeMap;

/// The channels on which one event of a run receives and sends, by number.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct EventChannels {
    /// Channels of the sends that this event comes after.
    pub receives: Vec<u32>,
    /// Channels on which this event sends.
    pub sends: Vec<u32>,
}

/// The signals of a run. It must receive every event from the first one on.
#[derive(Clone, Default, Debug)]
pub struct Signals {
    awaits: Awaits,
    channels: u32,
    semaphores: BTreeMap<SemaphoreId, u32>,
    atomics: BTreeMap<Location, u32>,
    listeners: BTreeMap<ListenerId, u32>,
    quits: BTreeMap<ThreadId, u32>,
    written: BTreeMap<RwLockId, u32>,
    read: BTreeMap<RwLockId, u32>,
    barriers: BTreeMap<BarrierId, (u32, i64)>,
    // Channel on which each thread will receive when it passes the barrier at which it has arrived.
    passes: BTreeMap<ThreadId, u32>,
    waiting: BTreeMap<ThreadId, WaitSet>,
    woken: BTreeMap<ThreadId, u32>,
    interrupts: BTreeMap<ThreadId, u32>,
    changes: BTreeMap<ThreadId, u32>,
    groups: BTreeMap<GroupId, u32>,
    exchanges: Exchanges,
    // Channels on which the step that has resumed a job, and the end of its task, have sent.
    resumed: BTreeMap<ThreadId, SmallVec<[u32; 2]>>,
    // Jobs that the running task of their own looper has resumed.
    resumed_by_task: BTreeMap<ThreadId, Vec<ThreadId>>,
}

impl Signals {
    /// Returns the state before the first event.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Processes the next event. `world` is the state after its step.
    pub fn observe(&mut self, world: &World, event: &Event) -> EventChannels {
        let changes = self.awaits.observe(world, event);
        self.pass(world, event, &changes)
    }

    /// Processes the next event, which has turned these awaits, for a caller that watches awaits itself. A caller uses
    /// either this or [`observe`](Self::observe).
    pub(in crate::detect) fn pass(
        &mut self,
        world: &World,
        event: &Event,
        changes: &[ConditionChange],
    ) -> EventChannels {
        let mut passed = EventChannels::default();
        match (&event.what, event.thread) {
            (EventKind::Resumed { job, looper, .. }, Some(thread)) => {
                let channel = self.fresh();
                passed.sends.push(channel);
                self.resumed.insert(*job, smallvec![channel]);
                if *looper == thread && !world.shares_queue(thread) {
                    self.resumed_by_task.entry(thread).or_default().push(*job);
                }
            }
            (EventKind::End | EventKind::Suspended, Some(thread)) => self.end_task(thread, &mut passed),
            _ => {}
        }
        if let (EventKind::Performed { op, made, value, refused: false }, Some(thread)) = (&event.what, event.thread) {
            match op {
                Op::Resume(on) => self.resume(world, (event.context, *on, *value), &mut passed),
                // At a channel, a job is what a thread is otherwise.
                Op::Suspend { on: Suspension::Transfer(transfer), job } => {
                    self.perform(world, *job, (&transfer.first_half(), *value), changes, &mut passed);
                }
                Op::Begin if made.is_none() => passed.receives.extend(self.quits.get(&world.queue_owner(thread))),
                op => self.perform(world, thread, (op, *value), changes, &mut passed),
            }
        }
        passed
    }

    // The task that a looper runs ends. Jobs of this looper that it has resumed go on after its end.
    fn end_task(&mut self, looper: ThreadId, passed: &mut EventChannels) {
        let Some(jobs) = self.resumed_by_task.remove(&looper) else { return };
        let channel = self.fresh();
        passed.sends.push(channel);
        for job in jobs {
            if let Some(channels) = self.resumed.get_mut(&job) {
                channels.push(channel);
            }
        }
    }

    // A job goes on: after the step that has resumed it, and after all ups of the semaphore whose permit it took.
    fn resume(
        &mut self,
        world: &World,
        (context, on, value): (Option<ContextId>, Suspension, Value),
        passed: &mut EventChannels,
    ) {
        let job = context.and_then(|context| world.job_of(context));
        passed.receives.extend(job.and_then(|job| self.resumed.remove(&job)).into_iter().flatten());
        if let (Suspension::Transfer(_), Some(job)) = (on, job) {
            self.exchanges.goes_on(job, passed);
        }
        if value == 1 {
            passed.receives.extend(on.semaphore().and_then(|s| self.semaphores.get(&s)));
        }
    }

    fn fresh(&mut self) -> u32 {
        self.channels += 1;
        self.channels - 1
    }

    fn perform(
        &mut self,
        world: &World,
        thread: ThreadId,
        (op, value): (&Op, Value),
        changes: &[ConditionChange],
        passed: &mut EventChannels,
    ) {
        let Self { channels, .. } = self;
        let mut next = || {
            *channels += 1;
            *channels - 1
        };
        match *op {
            Op::Up(s) => passed.sends.push(*self.semaphores.entry(s).or_insert_with(next)),
            Op::Down(_) | Op::DownFor { .. } => {
                passed.receives.extend(op.taken(value).and_then(|s| self.semaphores.get(&s)));
            }
            Op::GroupAdd { group, .. } => passed.sends.push(*self.groups.entry(group).or_insert_with(next)),
            Op::GroupWait(group) if !matches!(world.thread(thread).pending, Op::GroupPass { .. }) => {
                passed.receives.extend(self.groups.get(&group));
            }
            Op::GroupPass { group, .. } => passed.receives.extend(self.groups.get(&group)),
            Op::ReadInterrupt(other) if value != 0 => passed.receives.extend(self.interrupts.get(&other)),
            Op::Register { listener, .. } => passed.sends.push(*self.listeners.entry(listener).or_insert_with(next)),
            Op::Perform(listener) => passed.receives.extend(self.listeners.get(&listener)),
            Op::Quit { looper, .. } => {
                passed.sends.push(*self.quits.entry(world.queue_owner(looper)).or_insert_with(next));
            }
            Op::WriteUnlock(lock) => passed.sends.push(*self.written.entry(lock).or_insert_with(next)),
            Op::ReadUnlock(lock) => passed.sends.push(*self.read.entry(lock).or_insert_with(next)),
            Op::ReadLock(lock) => passed.receives.extend(self.written.get(&lock)),
            Op::WriteLock(lock) => {
                passed.receives.extend(self.written.get(&lock));
                passed.receives.extend(self.read.get(&lock));
            }
            Op::Await { .. } => passed.receives.extend(self.changes.remove(&thread)),
            Op::Arrive(barrier) => {
                let parties = world.setup().barriers.get(barrier.0 as usize).map_or(1, |(_, parties)| *parties);
                let (channel, arrived) = self.barriers.remove(&barrier).unwrap_or_else(|| (next(), 0));
                passed.sends.push(channel);
                self.passes.insert(thread, channel);
                if arrived + 1 < parties {
                    self.barriers.insert(barrier, (channel, arrived + 1));
                }
            }
            Op::Pass { .. } => passed.receives.extend(self.passes.remove(&thread)),
            Op::Wait { .. } | Op::Reacquire { .. } | Op::Notify { .. } | Op::Interrupt(_) | Op::Sleep(_) | Op::Wake => {
                self.signal(world, thread, (op, value), passed);
            }
            Op::Send { .. }
            | Op::Sent { .. }
            | Op::Receive { .. }
            | Op::Received { .. }
            | Op::Close(_)
            | Op::ChannelRead { .. }
            | Op::Select { .. }
            | Op::Selected { .. } => {
                self.exchanges.perform(world, thread, (op, value), &mut next, passed);
            }
            _ => self.memory(world, (op, value), changes, passed),
        }
    }

    fn memory(
        &mut self,
        world: &World,
        (op, value): (&Op, Value),
        changes: &[ConditionChange],
        passed: &mut EventChannels,
    ) {
        let atomic = atomic(world, op, value);
        if let Some((location, _)) = atomic
            && !matches!(op, Op::AtomicWrite(..))
        {
            passed.receives.extend(self.atomics.get(&location));
        }
        if let Some((location, true)) = atomic {
            let channel = self.atomics.get(&location).copied().unwrap_or_else(|| self.fresh());
            self.atomics.insert(location, channel);
            passed.sends.push(channel);
        }
        if changes.is_empty() {
            return;
        }
        let channel = self.fresh();
        passed.sends.push(channel);
        for ConditionChange { thread, holds } in changes {
            if *holds {
                self.changes.insert(*thread, channel);
            } else {
                self.changes.remove(thread);
            }
        }
    }

    fn signal(&mut self, world: &World, thread: ThreadId, (op, value): (&Op, Value), passed: &mut EventChannels) {
        match *op {
            Op::Wait { on, .. } => {
                if world.in_wait(thread) {
                    self.waiting.insert(thread, on);
                } else {
                    // The wait was interrupted before it began.
                    passed.receives.extend(self.interrupts.remove(&thread));
                }
            }
            Op::Reacquire { .. } => {
                self.waiting.remove(&thread);
                passed.receives.extend(self.woken.remove(&thread));
                // A wait that a notify has woken leaves the interrupt pending.
                if value == 0 {
                    passed.receives.extend(self.interrupts.remove(&thread));
                }
            }
            Op::Notify { on, .. } => {
                let mut still = IdSet::new();
                world.waiters(on).iter().for_each(|waiter| still.set(*waiter, true));
                let left = |waiter: &ThreadId| !still.contains(*waiter);
                let set = self.waiting.iter().filter(|(waiter, set)| **set == on && left(waiter));
                let woken: Vec<ThreadId> =
                    set.map(|(waiter, _)| *waiter).filter(|w| !self.woken.contains_key(w)).collect();
                if !woken.is_empty() {
                    let channel = self.fresh();
                    passed.sends.push(channel);
                    self.woken.extend(woken.into_iter().map(|waiter| (waiter, channel)));
                }
            }
            Op::Interrupt(other) if !world.finished(other) => {
                let channel = self.interrupts.get(&other).copied().unwrap_or_else(|| self.fresh());
                self.interrupts.insert(other, channel);
                passed.sends.push(channel);
            }
            Op::Sleep(_) | Op::Wake => passed.receives.extend(self.interrupts.remove(&thread)),
            _ => {}
        }
    }
}

/// Returns the atomic that an operation touches, and whether it has written it; `None` if the operation threw.
pub(in crate::detect) fn atomic(world: &World, op: &Op, value: Value) -> Option<(Location, bool)> {
    let (at, writes) = match *op {
        Op::AtomicRead(at) => (at, false),
        Op::AtomicWrite(at, _) | Op::FetchAdd(at, _) | Op::Exchange(at, _) => (at, true),
        Op::Cas { at, .. } => (at, value != 0),
        _ => return None,
    };
    let dead = at.object.is_some_and(|object| world.memory().object(object).freed);
    (!dead).then_some((at, writes))
}
