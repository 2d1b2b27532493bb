//! Which two operations make an order pair, and what critical sections touch, by the table of
//! [`effects`](crate::world::Effects).

use crate::detect::relation::signals::atomic;
use crate::event::{AccessKind, AccessPlace, BodyId, HandlerId, ObjectId, Op, Target, ThreadId, Value};
use crate::world::{How, LockHold, Thing, World};
use smallvec::SmallVec;

/// The ways of touching one thing whose order with this one may matter, as ranges in the order of [`How`]; empty of an
/// operation that makes no order pair. Acquisitions make pairs by their sections (`section`).
pub(in crate::detect) fn partners(how: How) -> Vec<(How, How)> {
    use How::*;
    let one = |how| (how, how);
    let all_of = |of: Target| (Post(of, BodyId(0)), Post(of, BodyId(u32::MAX)));
    let all = |from, to| (Post(from, BodyId(0)), Post(to, BodyId(u32::MAX)));
    let all_with =
        |(from, first), (to, last)| (PostWith(from, first, ObjectId(0)), PostWith(to, last, ObjectId(u32::MAX)));
    let (threads, handlers) = (
        (Target::Thread(ThreadId(0)), Target::Thread(ThreadId(u32::MAX))),
        (Target::Handler(HandlerId(0)), Target::Handler(HandlerId(u32::MAX))),
    );
    let with = |(from, to)| all_with((from, BodyId(0)), (to, BodyId(u32::MAX)));
    match how {
        Read => vec![one(Write)],
        Write => vec![(Read, Write)],
        Post(to, body) => vec![one(Cancel(to, None)), one(Cancel(to, Some(body))), one(Quit)],
        PostWith(to, body, token) => {
            vec![one(Cancel(to, None)), one(Cancel(to, Some(body))), one(CancelWith(to, body, token)), one(Quit)]
        }
        PostToken(to) => vec![one(CancelToken(to))],
        Cancel(of, Some(body)) => vec![one(Post(of, body)), all_with((of, body), (of, body))],
        Cancel(of, None) => vec![all_of(of), all_with((of, BodyId(0)), (of, BodyId(u32::MAX)))],
        CancelWith(of, body, token) => vec![one(PostWith(of, body, token))],
        CancelToken(of) => vec![one(PostToken(of))],
        Quit => {
            vec![all(threads.0, threads.1), all(handlers.0, handlers.1), with(threads), with(handlers), one(PostIdle)]
        }
        PostIdle => vec![one(Quit)],
        Enable => vec![one(Disable)],
        Disable => vec![one(Enable)],
        Notify => vec![one(Wait)],
        Wait => vec![one(Notify), one(Interrupt)],
        Up => vec![one(Down)],
        // Also a `down` that gives up: whether it comes before an `up` matters all the more.
        Down => vec![(Up, Down)],
        Interrupt => vec![one(Wait), one(Sleep), one(Look)],
        Sleep => vec![one(Interrupt)],
        Send => vec![one(Send), one(Close), one(Look)],
        Receive => vec![one(Receive), one(Close), one(Look)],
        Close => vec![one(Send), one(Receive), (Close, Look)],
        Look => vec![one(Interrupt), one(Send), one(Receive), one(Close)],
        Count => vec![one(AwaitCount)],
        AwaitCount => vec![one(Count)],
        // A cancellation before or after a suspension point, and the question whether a job has ended.
        Suspend | AskJob => vec![one(CancelJob)],
        CancelJob => vec![one(Suspend), one(AskJob)],
        Acquire | Release | AcquireRead | ReleaseRead | AcquireWrite | ReleaseWrite | Announce | ReleaseForWait
        | EndWait | AcquireAfterWait | Arrive | Pass | Await | Join | Make | PostMicro | Remove | Begin | Attach
        | AddFence | RemoveFence | Request | EndSleep | Try | EndSend | EndReceive | Select | EndSelect => Vec::new(),
        Register | Perform => vec![one(Unregister)],
        Unregister => vec![one(Register), one(Perform)],
    }
}

/// What an operation touches besides plain memory and without what it threw at: an atomic of an object whose life has
/// ended is not touched, a compare-and-swap that has not swapped only reads, and a select touches the channel of the
/// case that went.
pub(in crate::detect) fn touched(
    world: &World,
    thread: ThreadId,
    op: &Op,
    value: Value,
) -> impl Iterator<Item = (Thing, How)> + use<> {
    let done = atomic(world, op, value);
    let mut touches = world.effects(thread, op).touches();
    let mut selected = world.selected_effects(op, value).map(SmallVec::into_iter);
    let all = std::iter::from_fn(move || match &mut selected {
        Some(selected) => selected.next(),
        None => touches.next(),
    });
    all.filter_map(move |(thing, how)| match thing {
        Thing::Memory(_) | Thing::ChannelsOfSelect => None,
        Thing::Atomic(_) => done.map(|(_, writes)| (thing, if writes { How::Write } else { How::Read })),
        _ => Some((thing, how)),
    })
}

/// Whether a common lock takes the pair away, since the pair of the acquisitions stands for it. Pairs of signals stay.
pub(in crate::detect) fn is_memory(how: How) -> bool {
    matches!(how, How::Read | How::Write)
}

/// The names of the things that an operation touches and that another operation may make an order pair with. `None` of
/// an await, whose condition may read anything; empty if there is no such thing.
#[must_use]
pub fn things(world: &World, thread: ThreadId, op: &Op, value: Value) -> Option<Vec<String>> {
    if let Op::Await { .. } = op {
        return None;
    }
    let acquires = |how| matches!(how, How::Acquire | How::AcquireRead | How::AcquireWrite);
    let counts = |(_, how): &(Thing, How)| acquires(*how) || !partners(*how).is_empty();
    Some(touched(world, thread, op, value).filter(counts).map(|(thing, _)| thing.name(world)).collect())
}

/// What a critical section touches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::detect) enum TouchedThing {
    /// Plain memory, or an atomic.
    Memory(AccessPlace),
    Thing(Thing),
    /// It is not known what.
    Anything,
}

/// Something touched, and whether it is changed.
pub(in crate::detect) type TouchEffect = (TouchedThing, AccessKind);

impl TouchedThing {
    /// The lock of a hold, as something that is taken.
    pub(in crate::detect) fn hold(hold: LockHold) -> TouchEffect {
        match hold {
            LockHold::Lock(lock) => (TouchedThing::Thing(Thing::Lock(lock)), AccessKind::Write),
            LockHold::Read(lock) => (TouchedThing::Thing(Thing::RwLock(lock)), AccessKind::Read),
            LockHold::Write(lock) => (TouchedThing::Thing(Thing::RwLock(lock)), AccessKind::Write),
        }
    }
}

/// Whether the order of two touches may matter.
pub(in crate::detect) fn conflict((a, how): TouchEffect, (b, other): TouchEffect) -> bool {
    let frees = |life, kind, cell| match (life, cell) {
        (TouchedThing::Memory(AccessPlace::Life(object)), TouchedThing::Memory(AccessPlace::Cell(at))) => {
            kind == AccessKind::Write && at.object == Some(object)
        }
        _ => false,
    };
    let writes = how == AccessKind::Write || other == AccessKind::Write;
    let same = a == b || a == TouchedThing::Anything || b == TouchedThing::Anything;
    writes && (same || frees(a, how, b) || frees(b, other, a))
}

/// What an operation touches in the critical sections around it, acquisitions left out: these are added as they begin.
pub(in crate::detect) fn touches(
    world: &World,
    thread: ThreadId,
    op: &Op,
    value: Value,
) -> impl Iterator<Item = TouchEffect> + use<> {
    let plain = op.access().map(|access| (TouchedThing::Memory(access.place), access.kind));
    let others = touched(world, thread, op, value).filter_map(|(thing, how)| {
        let kind = in_section(thing, how)?;
        Some(match thing {
            Thing::Atomic(at) => (TouchedThing::Memory(AccessPlace::Cell(at)), kind),
            Thing::AllMemory => (TouchedThing::Anything, kind),
            _ => (TouchedThing::Thing(thing), kind),
        })
    });
    plain.into_iter().chain(others)
}

// Whether a touch counts in a section, and whether it changes the thing.
fn in_section(thing: Thing, how: How) -> Option<AccessKind> {
    use How::*;
    match how {
        Read | Perform | Sleep | Await | Look | AskJob => Some(AccessKind::Read),
        Wait if matches!(thing, Thing::Interrupts(_)) => Some(AccessKind::Read),
        Write | Wait | Notify | Up | Down | Arrive | Post(..) | PostWith(..) | PostToken(_) | PostMicro | PostIdle
        | Cancel(..) | CancelWith(..) | CancelToken(_) | Remove | Attach | AddFence | Quit | Enable | Disable
        | Request | Register | Unregister | Interrupt | Send | Receive | Close | Suspend | CancelJob => {
            Some(AccessKind::Write)
        }
        Count => Some(AccessKind::Write),
        AwaitCount => Some(AccessKind::Read),
        // The order of locks is that of the sections. What is left has its place in the relation, or no partner.
        Acquire | Release | AcquireRead | ReleaseRead | AcquireWrite | ReleaseWrite | Announce | ReleaseForWait
        | EndWait | AcquireAfterWait | Pass | Join | Make | Begin | RemoveFence | EndSleep | Try | EndSend
        | EndReceive | Select | EndSelect => None,
    }
}
