//! Which choices commute: both orders can be performed, and both lead to the same state.
//!
//! The relation is asked of two choices that are both open in one state (Godefroid, *Partial-Order Methods*,
//! definition 3.1, there for transitions). It reads the table of [`effects`](super::effects): two operations that touch
//! one thing conflict, unless a rule here says why they do not. What a step does after its operation, up to the thread's
//! next one, matters as well: see [`is_quiet`].
//!
//! Exhaustive search leaves out one of two orders by it. Partial order sampling draws priorities anew for operations that
//! conflict, also of operations that are blocked.

use super::effects::{Effects, How, Thing, Touch};
use super::{Status, World};
use crate::base::mutant::{self, Mutant};
use crate::event::{Access, AccessKind, AccessPlace, Actor, Op, PostTime, ThreadId};

/// Whether two open choices of different actors commute in this state.
pub(crate) fn independent(world: &World, a: Actor, b: Actor) -> bool {
    let of = |thread: ThreadId| world.effects(thread, &world.thread(thread).pending);
    match (a, b) {
        (Actor::Thread(a), Actor::Thread(b)) => a != b && threads(world, (a, of(a)), (b, of(b))),
        (Actor::Thread(t), Actor::Clock) | (Actor::Clock, Actor::Thread(t)) => !uses_clock(world, t, of(t)),
        (Actor::Thread(t), Actor::Event(e)) | (Actor::Event(e), Actor::Thread(t)) => {
            let queue = world.setup().events[e].looper;
            of(t).touches().all(|(thing, _)| thing != Thing::Event(e) && thing != Thing::Queue(queue))
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

// The pending operations of two threads.
fn threads(world: &World, a: (ThreadId, Effects), b: (ThreadId, Effects)) -> bool {
    // Waits, and the operations that end them, meet at a lock, at a wait set and at the clock: they keep their order.
    let (is_a, is_b) = (is_tangled(a.1), is_tangled(b.1));
    if is_a || is_b {
        return !is_a && is_plain(a.1) || !is_b && is_plain(b.1);
    }
    one_way(world, a, b) && one_way(world, b, a)
}

// Whether everything that `a` touches commutes with all of `b`.
fn one_way(world: &World, (a, of_a): (ThreadId, Effects), (b, of_b): (ThreadId, Effects)) -> bool {
    of_a.touches().all(|touch| commutes(world, (a, touch), b, of_b))
}

// The match has no default: a new kind of thing needs a rule, and by the last rule two operations on it conflict.
fn commutes(world: &World, (a, (thing, how)): (ThreadId, Touch), b: ThreadId, of_b: Effects) -> bool {
    let mut others = of_b.touches();
    match thing {
        Thing::Memory(place) => {
            let mine = access(place, how);
            others.all(|touch| match touch {
                (Thing::Memory(other), how) => {
                    !mine.conflicts(&access(other, how)) || mutant::is(Mutant::AccessesCommute)
                }
                _ => true,
            }) && (!ends_life(thing, how) || is_of_global(&world.thread(b).pending))
        }
        Thing::Atomic(at) => others.all(|touch| match touch {
            (Thing::Atomic(other), other_how) => at.cell != other.cell || (how, other_how) == (How::Read, How::Read),
            _ => true,
        }),
        // A condition looks at any memory.
        Thing::AllMemory => is_silent(of_b),
        // An operation on a thread finds it before or after the step of that thread.
        Thing::End(of) => of != b,
        Thing::Queue(of) => {
            let beside = begins_beside(world, a, b);
            // A looper inside of a task does not look at its queue.
            let is_busy = world.thread(b).context != world.thread(b).home;
            let meets_looper = of == b && !(matches!(how, How::Post(..)) && is_busy);
            let same = others.any(|(other, _)| other == thing);
            let posts = |how| matches!(how, How::Post(..));
            let posts_commute =
                || mutant::is(Mutant::PostsCommute) && posts(how) && of_b.touches().all(|(_, how)| posts(how));
            (!meets_looper || beside) && (!same || beside || begins_beside(world, b, a) || posts_commute())
        }
        // However both touch it.
        Thing::Lock(_)
        | Thing::RwLock(_)
        | Thing::WaitSet(_)
        | Thing::Semaphore(_)
        | Thing::Event(_)
        | Thing::Interrupts(_)
        | Thing::Listener(_)
        | Thing::Barrier(_)
        | Thing::Fence(_)
        | Thing::Numbers => others.all(|(other, _)| other != thing),
    }
}

fn access(place: AccessPlace, how: How) -> Access {
    Access { place, kind: if how == How::Read { AccessKind::Read } else { AccessKind::Write } }
}

// The end of an object's life meets everything that may look at the object, also at its monitor: it commutes with plain reads and writes of globals alone.
fn ends_life(thing: Thing, how: How) -> bool {
    matches!((thing, how), (Thing::Memory(AccessPlace::Life(_)), How::Write))
}

fn is_of_global(op: &Op) -> bool {
    matches!(op, Op::Read(at) | Op::Write(at, _) if at.object.is_none())
}

fn is_tangled(effects: Effects) -> bool {
    effects.touches().any(|(thing, how)| matches!(thing, Thing::WaitSet(_) | Thing::Fence(_)) || how == How::Interrupt)
}

// It only reads and writes memory, or touches nothing.
fn is_plain(effects: Effects) -> bool {
    effects.touches().all(|(thing, _)| matches!(thing, Thing::Memory(AccessPlace::Cell(_)) | Thing::Atomic(_)))
}

// It changes nothing.
fn is_silent(effects: Effects) -> bool {
    is_plain(effects) && effects.touches().all(|(_, how)| how == How::Read)
}

// A post that goes behind everything, and the begin of a message that is there already.
fn begins_beside(world: &World, post: ThreadId, begin: ThreadId) -> bool {
    let Op::Post { time: PostTime::Now | PostTime::After(_), target, .. } = world.thread(post).pending else {
        return false;
    };
    matches!(world.thread(begin).pending, Op::Begin)
        && world.enabled().contains(begin)
        && world.thread(begin).queue.as_ref().is_some_and(|q| !q.has_quit() && !q.is_empty())
        && world.thread_of(target) == begin
}

fn uses_clock(world: &World, thread: ThreadId, effects: Effects) -> bool {
    let is_post = || matches!(world.thread(thread).pending, Op::Post { .. });
    effects.uses_clock && !(mutant::is(Mutant::ClockBesidePosts) && is_post())
}
