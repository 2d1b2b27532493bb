//! Operations that are no plain accesses: the objects that they act on, and which two of them make an order pair.

use super::carried::atomic;
use super::held::Hold;
use crate::event::{
    AccessKind, AccessPlace, BarrierId, BodyId, ConditionId, EventId, HandlerId, ListenerId, Location, LockId, Op,
    RwLockId, SemaphoreId, Target, ThreadId, Value, WaitSet,
};
use crate::world::World;

/// An object that an operation acts on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Thing {
    Atomic(Location),
    Lock(LockId),
    RwLock(RwLockId),
    /// The queue of a looper.
    Queue(ThreadId),
    /// The wait set of a lock.
    WaitSet(LockId),
    Condition(ConditionId),
    Semaphore(SemaphoreId),
    Event(EventId),
    /// A thread that may be interrupted.
    Thread(ThreadId),
    Listener(ListenerId),
    Barrier(BarrierId),
}

/// What an operation does to the object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Deed {
    AtomicRead,
    AtomicWrite,
    Post(Target, BodyId),
    Cancel(Target, Option<BodyId>),
    Quit,
    Enable,
    Disable,
    Notify,
    Wait,
    Up,
    Down,
    Interrupt,
    Sleep,
}

impl Deed {
    /// Returns the deeds that make an order pair with this one on the same object, as ranges in the order of this
    /// type (both ends included).
    pub(super) fn partners(self) -> Vec<(Deed, Deed)> {
        use Deed::*;
        let one = |deed| (deed, deed);
        let all_of = |of: Target| (Post(of, BodyId(0)), Post(of, BodyId(u32::MAX)));
        let all = |from, to| (Post(from, BodyId(0)), Post(to, BodyId(u32::MAX)));
        match self {
            AtomicRead => vec![one(AtomicWrite)],
            AtomicWrite => vec![(AtomicRead, AtomicWrite)],
            Post(to, body) => vec![one(Cancel(to, None)), one(Cancel(to, Some(body))), one(Quit)],
            Cancel(of, Some(body)) => vec![one(Post(of, body))],
            Cancel(of, None) => vec![all_of(of)],
            Quit => vec![
                all(Target::Thread(ThreadId(0)), Target::Thread(ThreadId(u32::MAX))),
                all(Target::Handler(HandlerId(0)), Target::Handler(HandlerId(u32::MAX))),
            ],
            Enable => vec![one(Disable)],
            Disable => vec![one(Enable)],
            Notify => vec![one(Wait)],
            Wait => vec![one(Notify), one(Interrupt)],
            Up => vec![one(Down)],
            Down => vec![(Up, Down)],
            Interrupt => vec![one(Wait), one(Sleep)],
            Sleep => vec![one(Interrupt)],
        }
    }

    /// Whether a common lock makes the pair redundant because the pair of its acquisitions represents it. Pairs of
    /// sends and waits are always reported.
    pub(super) fn is_memory(self) -> bool {
        matches!(self, Deed::AtomicRead | Deed::AtomicWrite)
    }
}

/// Returns the objects on which an operation acts, up to two, each with the deed.
pub(super) fn deeds(world: &World, thread: ThreadId, op: &Op, value: Value) -> [Option<(Thing, Deed)>; 2] {
    if let Some((at, writes)) = atomic(world, op, value) {
        return [Some((Thing::Atomic(at), if writes { Deed::AtomicWrite } else { Deed::AtomicRead })), None];
    }
    let first = match *op {
        Op::Post { target, body, .. } => (Thing::Queue(world.thread_of(target)), Deed::Post(target, body)),
        Op::Cancel { target, body } => (Thing::Queue(world.thread_of(target)), Deed::Cancel(target, body)),
        Op::Quit { looper, .. } => (Thing::Queue(looper), Deed::Quit),
        Op::Enable { event, .. } => (Thing::Event(event), Deed::Enable),
        Op::Disable(event) => (Thing::Event(event), Deed::Disable),
        Op::Notify { on, .. } => (Thing::waited(on), Deed::Notify),
        Op::Wait { on, .. } => {
            return [Some((Thing::waited(on), Deed::Wait)), Some((Thing::Thread(thread), Deed::Wait))];
        }
        Op::Up(semaphore) => (Thing::Semaphore(semaphore), Deed::Up),
        // A down that gives up counts as well: then it matters even more whether it comes before an up.
        Op::Down(semaphore) | Op::DownFor { semaphore, .. } => (Thing::Semaphore(semaphore), Deed::Down),
        Op::Interrupt(other) => (Thing::Thread(other), Deed::Interrupt),
        Op::Sleep(_) => (Thing::Thread(thread), Deed::Sleep),
        _ => return [None, None],
    };
    [Some(first), None]
}

impl Thing {
    fn waited(on: WaitSet) -> Self {
        match on {
            WaitSet::Lock(lock) => Thing::WaitSet(lock),
            WaitSet::Condition(condition) => Thing::Condition(condition),
        }
    }

    /// Returns the name of the object: `lock l`, `semaphore s`, `the queue of main`.
    pub(super) fn name(self, world: &World) -> String {
        let setup = world.setup();
        match self {
            Thing::Atomic(at) => world.place_name(AccessPlace::Cell(at)),
            Thing::Lock(lock) => world.lock_name(lock),
            Thing::RwLock(lock) => format!("rwlock {}", setup.rwlocks[lock.0 as usize].0),
            Thing::Queue(looper) => format!("the queue of {}", world.thread_name(looper)),
            Thing::WaitSet(lock) => format!("the wait set of {}", world.lock_name(lock)),
            Thing::Condition(condition) => format!("condition {}", setup.conditions[condition.0 as usize]),
            Thing::Semaphore(semaphore) => format!("semaphore {}", setup.semaphores[semaphore.0 as usize].0),
            Thing::Event(event) => format!("event {}", setup.events[event].name),
            Thing::Thread(thread) => format!("thread {}", world.thread_name(thread)),
            Thing::Listener(listener) => format!("listener {}", setup.listeners[listener]),
            Thing::Barrier(barrier) => format!("barrier {}", setup.barriers[barrier.0 as usize].0),
        }
    }
}

/// Returns the names of the objects that an operation acts on, other than plain memory. Two operations on one of them
/// may make an order pair. `None` for an await, whose condition may read anything; empty if there is no such object.
#[must_use]
pub fn things(world: &World, thread: ThreadId, op: &Op, value: Value) -> Option<Vec<String>> {
    let thing = match *op {
        Op::Await { .. } => return None,
        Op::Acquire(lock) => Thing::Lock(lock),
        Op::ReadLock(lock) | Op::WriteLock(lock) => Thing::RwLock(lock),
        _ => {
            let of = deeds(world, thread, op, value).into_iter().flatten();
            return Some(of.map(|(thing, _)| thing.name(world)).collect());
        }
    };
    Some(vec![thing.name(world)])
}

/// An element of a section's footprint.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Touched {
    /// Plain memory, or an atomic.
    Memory(AccessPlace),
    Thing(Thing),
    /// An unknown place or object.
    Anything,
}

/// Something touched, and whether it is changed.
pub(super) type Touch = (Touched, AccessKind);

impl Touched {
    /// Returns the acquisition of a lock as a touch.
    pub(super) fn hold(hold: Hold) -> Touch {
        match hold {
            Hold::Lock(lock) => (Touched::Thing(Thing::Lock(lock)), AccessKind::Write),
            Hold::Read(lock) => (Touched::Thing(Thing::RwLock(lock)), AccessKind::Read),
            Hold::Write(lock) => (Touched::Thing(Thing::RwLock(lock)), AccessKind::Write),
        }
    }
}

/// Whether the order of two touches may matter.
pub(super) fn conflict((a, how): Touch, (b, other): Touch) -> bool {
    let frees = |life, kind, cell| match (life, cell) {
        (Touched::Memory(AccessPlace::Life(object)), Touched::Memory(AccessPlace::Cell(at))) => {
            kind == AccessKind::Write && at.object == Some(object)
        }
        _ => false,
    };
    let writes = how == AccessKind::Write || other == AccessKind::Write;
    let same = a == b || a == Touched::Anything || b == Touched::Anything;
    writes && (same || frees(a, how, b) || frees(b, other, a))
}

/// Returns the touches of an operation, without acquisitions.
pub(super) fn touches(world: &World, thread: ThreadId, op: &Op, value: Value) -> Vec<Touch> {
    use AccessKind::{Read, Write};
    if let Some(access) = op.access() {
        return vec![(Touched::Memory(access.place), access.kind)];
    }
    let thing = |thing, kind| vec![(Touched::Thing(thing), kind)];
    match *op {
        Op::Fence(looper) => thing(Thing::Queue(looper), Write),
        Op::AttachQueue => thing(Thing::Queue(thread), Write),
        Op::Register { listener, .. } => thing(Thing::Listener(listener), Write),
        Op::Perform(listener) => thing(Thing::Listener(listener), Read),
        Op::Arrive(barrier) => thing(Thing::Barrier(barrier), Write),
        Op::Await { .. } => vec![(Touched::Anything, Read)],
        _ => deeds(world, thread, op, value).into_iter().flatten().map(touch).collect(),
    }
}

fn touch((thing, deed): (Thing, Deed)) -> Touch {
    match (thing, deed) {
        (Thing::Atomic(at), Deed::AtomicRead) => (Touched::Memory(AccessPlace::Cell(at)), AccessKind::Read),
        (Thing::Atomic(at), _) => (Touched::Memory(AccessPlace::Cell(at)), AccessKind::Write),
        (Thing::Thread(_), Deed::Sleep | Deed::Wait) => (Touched::Thing(thing), AccessKind::Read),
        _ => (Touched::Thing(thing), AccessKind::Write),
    }
}
