//! Which choices commute: in either order both can be made, and the same state comes out. Only what is listed here does; all else is taken to conflict.
//!
//! The relation is asked of two choices that are both open in one state (Godefroid, *Partial-Order Methods*, definition 3.1, there for transitions).
//! What a step does after its operation, up to the thread's next one, matters as well: see [`is_quiet`].
//!
//! Exhaustive search leaves out one of two orders by it; partial order sampling draws priorities anew for what it does not list, also of operations that are blocked.

use super::{Status, World};
use crate::base::mutant::{self, Mutant};
use crate::event::{Actor, Op, PostTime, ThreadId};

/// Whether two open choices of different actors commute in this state.
pub(crate) fn independent(world: &World, a: Actor, b: Actor) -> bool {
    match (a, b) {
        (Actor::Thread(a), Actor::Thread(b)) => a != b && threads(world, a, b) && threads(world, b, a),
        (Actor::Thread(t), Actor::Clock) | (Actor::Clock, Actor::Thread(t)) => !reads_clock(world, t),
        (Actor::Thread(t), Actor::Event(e)) | (Actor::Event(e), Actor::Thread(t)) => {
            let looper = world.setup().events[e].looper;
            let op = &world.thread(t).pending;
            let of_event = matches!(op, Op::Enable { event, .. } | Op::Disable(event) if *event == e);
            !of_event && queue_of(world, t) != Some(looper)
        }
        // An event is queued at the instant of its firing; two of them in the order of their firing.
        _ => false,
    }
}

/// Whether the last step of a thread did nothing that its operation does not tell: no thread ended or began, no run ended, and the thread does not
/// stand at something that others, or the clock, have to look at.
pub(crate) fn is_quiet(before: &World, after: &World, actor: Actor) -> bool {
    if mutant::is(Mutant::AllStepsQuiet) {
        return true;
    }
    let Actor::Thread(thread) = actor else { return after.outcome().is_none() };
    after.outcome().is_none()
        && before.threads().len() == after.threads().len()
        && after.thread(thread).status == Status::Alive
        && !matches!(
            after.thread(thread).pending,
            Op::Await { timeout: Some(_) } | Op::DownFor { .. } | Op::ReadLock(_)
        )
}

// What an operation touches that is not memory.
#[derive(PartialEq, Eq)]
enum Thing {
    Nothing,
    Lock(crate::event::LockId),
    RwLock(crate::event::RwLockId),
    Semaphore(crate::event::SemaphoreId),
    Barrier(crate::event::BarrierId),
    Event(crate::event::EventId),
    Listener(crate::event::ListenerId),
    // It makes a thread or a handler.
    Makes,
}

fn thing(op: &Op) -> Thing {
    match *op {
        Op::Acquire(lock) | Op::Release(lock) => Thing::Lock(lock),
        Op::ReadLock(l) | Op::Announce(l) | Op::WriteLock(l) | Op::ReadUnlock(l) | Op::WriteUnlock(l) => {
            Thing::RwLock(l)
        }
        Op::Down(s) | Op::DownFor { semaphore: s, .. } | Op::Up(s) => Thing::Semaphore(s),
        Op::Arrive(barrier) | Op::Pass { barrier, .. } => Thing::Barrier(barrier),
        Op::Enable { event, .. } | Op::Disable(event) => Thing::Event(event),
        Op::Register { listener, .. } | Op::Perform(listener) => Thing::Listener(listener),
        Op::Fork { .. } | Op::SpawnLooper | Op::NewHandler(_) => Thing::Makes,
        _ => Thing::Nothing,
    }
}

// Whether `b` may be performed before or after `a`; asked both ways round.
fn threads(world: &World, a: ThreadId, b: ThreadId) -> bool {
    let (x, y) = (&world.thread(a).pending, &world.thread(b).pending);
    // Waits, and who ends them, meet at a lock, at a wait set and at the clock: they are left in their order.
    let tangled = |op: &Op| {
        matches!(op, Op::Wait { .. } | Op::Reacquire { .. } | Op::Notify { .. } | Op::Interrupt(_) | Op::Lift(_))
    };
    if tangled(x) || tangled(y) {
        return !tangled(x) && is_plain(x) || !tangled(y) && is_plain(y);
    }
    // An operation on another thread finds it before or after what that one does.
    if let Op::Join(of) = x
        && *of == b
    {
        return false;
    }
    if let (Some(of), true) = (queue_of(world, a), true)
        && of == b
        && !(matches!(x, Op::Post { .. }) && world.thread(b).context != world.thread(b).home)
        && !begins_beside(world, a, b)
    {
        return false;
    }
    if let (Some(p), Some(q)) = (queue_of(world, a), queue_of(world, b))
        && p == q
        && !begins_beside(world, a, b)
        && !begins_beside(world, b, a)
        && !(mutant::is(Mutant::PostsCommute) && matches!((x, y), (Op::Post { .. }, Op::Post { .. })))
    {
        return false;
    }
    if let (Some(p), Some(q)) = (x.access(), y.access())
        && p.conflicts(&q)
        && !mutant::is(Mutant::AccessesCommute)
    {
        return false;
    }
    if let (Some(p), Some(q)) = (atomic(x), atomic(y))
        && p == q
        && !(matches!(x, Op::AtomicRead(_)) && matches!(y, Op::AtomicRead(_)))
    {
        return false;
    }
    // The end of an object's life meets everything that may look at the object, also at its monitor; a condition looks at any memory.
    if matches!(x, Op::Free(_)) && !matches!(y, Op::Read(at) | Op::Write(at, _) if at.object.is_none()) {
        return false;
    }
    if matches!(x, Op::Await { .. }) && !is_silent(y) {
        return false;
    }
    let (p, q) = (thing(x), thing(y));
    p == Thing::Nothing || p != q
}

// Reads and writes of memory, and operations that touch nothing.
fn is_plain(op: &Op) -> bool {
    (op.access().is_some() && !matches!(op, Op::Free(_) | Op::Use(_))) || atomic(op).is_some() || is_silent(op)
}

// Touches nothing.
fn is_silent(op: &Op) -> bool {
    matches!(op, Op::Read(_) | Op::ListRead { .. } | Op::AtomicRead(_) | Op::Skip | Op::Yield | Op::Branch)
}

fn atomic(op: &Op) -> Option<u32> {
    match op {
        Op::AtomicRead(at) | Op::AtomicWrite(at, _) | Op::FetchAdd(at, _) | Op::Exchange(at, _) => Some(at.cell),
        Op::Cas { at, .. } => Some(at.cell),
        _ => None,
    }
}

// The looper whose queue the pending operation of a thread touches.
fn queue_of(world: &World, thread: ThreadId) -> Option<ThreadId> {
    match world.thread(thread).pending {
        Op::Post { target, .. } | Op::Cancel { target, .. } => Some(world.thread_of(target)),
        Op::Begin | Op::AttachQueue => Some(thread),
        Op::Fence(looper) | Op::Quit { looper, .. } => Some(looper),
        _ => None,
    }
}

// A post that goes behind everything, and the begin of a message that is there already.
fn begins_beside(world: &World, post: ThreadId, begin: ThreadId) -> bool {
    let Op::Post { time: PostTime::Now | PostTime::After(_), .. } = world.thread(post).pending else { return false };
    matches!(world.thread(begin).pending, Op::Begin)
        && world.enabled().contains(begin)
        && world.thread(begin).queue.as_ref().is_some_and(|q| !q.has_quit() && !q.is_empty())
        && queue_of(world, post) == Some(begin)
}

fn reads_clock(world: &World, thread: ThreadId) -> bool {
    match world.thread(thread).pending {
        Op::Post { time, .. } => time != PostTime::Front && !mutant::is(Mutant::ClockBesidePosts),
        Op::Sleep(_)
        | Op::Wait { .. }
        | Op::Reacquire { .. }
        | Op::Await { .. }
        | Op::DownFor { .. }
        | Op::Wake
        | Op::Begin
        | Op::Fence(_)
        | Op::Quit { .. }
        | Op::Cancel { .. }
        | Op::Fork { .. }
        | Op::SpawnLooper => true,
        _ => false,
    }
}
