//! Decides which choices are independent: both orders can be performed, and both lead to the same state.
//!
//! The relation is defined for two choices that are both open in one state (Godefroid, *Partial-Order Methods*,
//! definition 3.1, there for transitions). It reads the table of [`effects`](super::effects): two operations that touch
//! one thing conflict, unless a rule here states why they do not. The rest of a step, from its operation to the
//! thread's next one, matters as well: see [`is_quiet`].
//!
//! Exhaustive search omits one of two orders if the choices are independent. Partial order sampling draws new
//! priorities for operations that conflict, including operations that are blocked.

use super::effects::{Effects, How, Thing, ThingEffect};
use super::{ThreadStage, World};
use crate::base::mutant::{self, Mutant};
use crate::event::{Access, AccessKind, AccessPlace, Actor, Args, ChannelId, Op, PostTime, ThreadId};

/// Returns whether two open choices of different actors are independent in this state.
pub(crate) fn independent(world: &World, a: Actor, b: Actor) -> bool {
    let of = |thread: ThreadId| world.effects(thread, &world.thread(thread).pending);
    match (a, b) {
        (Actor::Thread(a), Actor::Thread(b)) => a != b && threads(world, (a, of(a)), (b, of(b))),
        (Actor::Thread(t), Actor::Clock) | (Actor::Clock, Actor::Thread(t)) => !uses_clock(world, t, of(t)),
        (Actor::Thread(t), Actor::Event(e)) | (Actor::Event(e), Actor::Thread(t)) => {
            let queue = world.setup().events[e].looper;
            // A step of a thread that uses platform memory after its operation is not quiet.
            let of_row = |thing| thing == Thing::Platform && world.is_row(e);
            of(t).touches().all(|(thing, _)| thing != Thing::Event(e) && thing != Thing::Queue(queue) && !of_row(thing))
        }
        // A message of an event is queued at the instant of the firing, and two of them in the order of their firings.
        _ => false,
    }
}

/// Returns whether the last step of a thread did nothing apart from its operation: no thread ended or was created, the
/// run did not end, the thread did not use platform memory, and it is not pending at an operation that matters to other
/// threads or the clock. A step of
/// the clock or an event is quiet if it did not end the run.
pub(crate) fn is_quiet(before: &World, after: &World, actor: Actor) -> bool {
    StepMark::of(before).is_quiet(after, actor)
}

/// What is compared of the states before and after a step, to decide whether the step was quiet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepMark {
    threads: usize,
    jobs: u64,
    platform: Option<u64>,
}

impl StepMark {
    /// Returns the mark of the state before a step.
    pub(crate) fn of(before: &World) -> Self {
        let platform = before.platform().map(|p| p.uses);
        Self { threads: before.threads().len(), jobs: before.jobs.changes(), platform }
    }

    /// Returns whether the step of this actor was [quiet](is_quiet). `after` is the state after it.
    pub(crate) fn is_quiet(self, after: &World, actor: Actor) -> bool {
        if mutant::is(Mutant::AllStepsQuiet) {
            return true;
        }
        let Actor::Thread(thread) = actor else { return after.outcome().is_none() };
        let Self { threads, jobs, platform } = Self::of(after);
        after.outcome().is_none()
            && (self.threads, self.jobs, self.platform) == (threads, jobs, platform)
            && stands_quietly(after, thread)
    }
}

/// Returns whether a thread is alive and pending at an operation that does not matter to other threads or the clock
/// before it is performed.
pub(super) fn stands_quietly(world: &World, thread: ThreadId) -> bool {
    let t = world.thread(thread);
    let matters = matches!(
        t.pending,
        Op::Await { timeout: Some(_) }
            | Op::DownFor { .. }
            | Op::ReadLock(_)
            | Op::Select { timeout: Some(_), .. }
            | Op::AcquireFor { .. }
    );
    t.status == ThreadStage::Alive && !matters || mutant::is(Mutant::AllStepsQuiet)
}

// Returns whether the pending operations of two threads are independent.
fn threads(world: &World, a: (ThreadId, Effects), b: (ThreadId, Effects)) -> bool {
    // Operations on wait sets and fences, and interrupts, meet other operations at a lock, a wait set or the clock.
    // They are independent only of plain accesses to memory. So are operations on jobs: what they change may queue
    // messages.
    let (is_a, is_b) = (is_tangled(a.1), is_tangled(b.1));
    if is_a || is_b {
        let beside = |plain: Effects, other: Effects| is_plain(plain) && (!reads_all(other) || is_silent(plain));
        return !is_a && beside(a.1, b.1) || !is_b && beside(b.1, a.1);
    }
    one_way(world, a, b) && one_way(world, b, a)
}

// Returns whether everything that `a` touches commutes with all of `b`.
fn one_way(world: &World, (a, of_a): (ThreadId, Effects), (b, of_b): (ThreadId, Effects)) -> bool {
    of_a.touches().all(|touch| commutes(world, (a, touch), b, of_b))
}

// Returns whether one touch of `a` commutes with all of `b`. The match has no default: a new kind of thing needs a
// rule. By the last rule, all operations on one thing conflict.
fn commutes(world: &World, (a, (thing, how)): (ThreadId, ThingEffect), b: ThreadId, of_b: Effects) -> bool {
    let mut others = of_b.touches();
    match thing {
        Thing::Memory(place) => {
            let mine = access(place, how);
            others.all(|touch| match touch {
                (Thing::Memory(other), how) => {
                    !mine.conflicts(&access(other, how)) || mutant::is(Mutant::AccessesCommute)
                }
                // An atomic can be accessed plainly.
                (Thing::Atomic(at), how) => !mine.conflicts(&access(AccessPlace::Cell(at), how)),
                _ => true,
            }) && (!ends_life(thing, how) || is_of_global(&world.thread(b).pending))
        }
        Thing::Atomic(at) => others.all(|touch| match touch {
            (Thing::Atomic(other) | Thing::Memory(AccessPlace::Cell(other)), other_how) => {
                at.cell != other.cell || (how, other_how) == (How::Read, How::Read)
            }
            _ => true,
        }),
        // The condition of an await may read any memory. It is independent only of operations that read memory or have
        // no effect.
        Thing::AllMemory => is_silent(of_b),
        // Each step of thread `of` may be the one that ends it, so a join of that thread conflicts with all its steps.
        Thing::End(of) => of != b,
        Thing::Queue(of) => {
            let beside = begins_beside(world, a, b);
            // A looper inside a task does not look at its queue, so posts to it do not matter to its steps.
            let is_busy = world.thread(b).context != world.thread(b).home;
            // The end of a worker's task does not change which other worker may begin.
            let is_beside = is_busy && (how.is_post() || how == How::Begin);
            let meets_looper = of == world.queue_owner(b) && !is_beside;
            let same = others.any(|(other, _)| other == thing);
            let posts = |how: How| how.is_post();
            let posts_commute =
                || mutant::is(Mutant::PostsCommute) && posts(how) && of_b.touches().all(|(_, how)| posts(how));
            (!meets_looper || beside) && (!same || beside || begins_beside(world, b, a) || posts_commute())
        }
        Thing::Channel(channel) => {
            !world.has_parked_select(false)
                && others.all(|(other, _)| match other {
                    Thing::Channel(other) => channel != other,
                    Thing::ChannelsOfSelect => !selects_from(world, b, channel),
                    _ => true,
                })
        }
        Thing::ChannelsOfSelect => {
            !world.has_parked_select(false)
                && others.all(|(other, _)| match other {
                    Thing::Channel(other) => !selects_from(world, a, other),
                    Thing::ChannelsOfSelect => {
                        !select_channels(world, a).any(|channel| selects_from(world, b, channel))
                    }
                    _ => true,
                })
        }
        // Two operations on one of these things conflict, however they touch it.
        Thing::Lock(_)
        | Thing::RwLock(_)
        | Thing::WaitSet(_)
        | Thing::Semaphore(_)
        | Thing::Event(_)
        | Thing::Interrupts(_)
        | Thing::Listener(_)
        | Thing::Barrier(_)
        | Thing::Group(_)
        | Thing::Fence(_)
        | Thing::Platform
        | Thing::Token(_)
        | Thing::Job(_)
        | Thing::Numbers => others.all(|(other, _)| other != thing),
    }
}

// The channels of the select at which a thread is pending.
fn select_channels(world: &World, thread: ThreadId) -> impl Iterator<Item = ChannelId> + '_ {
    let cases = match world.thread(thread).pending {
        Op::Select { cases, .. } | Op::Selected { cases } => cases,
        _ => Args::default(),
    };
    world.cases(cases).filter_map(|case| case.channel)
}

fn selects_from(world: &World, thread: ThreadId, channel: ChannelId) -> bool {
    select_channels(world, thread).any(|other| other == channel)
}

fn access(place: AccessPlace, how: How) -> Access {
    let kind = if how == How::Read { AccessKind::Read } else { AccessKind::Write };
    Access { place, kind, atomic: false }
}

// Returns whether a touch frees an object. That conflicts with everything that may look at the object, including its
// monitor. It commutes only with plain reads and writes of globals.
fn ends_life(thing: Thing, how: How) -> bool {
    matches!((thing, how), (Thing::Memory(AccessPlace::Life(_)), How::Write))
}

fn is_of_global(op: &Op) -> bool {
    matches!(op, Op::Read(at) | Op::Write(at, _) if at.object.is_none())
}

fn is_tangled(effects: Effects) -> bool {
    let is_tangled = |thing| matches!(thing, Thing::WaitSet(_) | Thing::Fence(_) | Thing::Job(_));
    effects.touches().any(|(thing, how)| is_tangled(thing) || how == How::Interrupt)
}

// Returns whether an operation evaluates a condition, which may read any memory.
fn reads_all(effects: Effects) -> bool {
    effects.touches().any(|(thing, _)| thing == Thing::AllMemory)
}

// Returns whether an operation only reads and writes memory, or touches nothing.
fn is_plain(effects: Effects) -> bool {
    effects.touches().all(|(thing, _)| matches!(thing, Thing::Memory(AccessPlace::Cell(_)) | Thing::Atomic(_)))
}

// Returns whether an operation changes nothing.
fn is_silent(effects: Effects) -> bool {
    is_plain(effects) && effects.touches().all(|(_, how)| how == How::Read)
}

// Returns whether one thread posts behind everything that is due, and the other one begins a message that is already
// queued there. Then the post does not change which message begins.
fn begins_beside(world: &World, post: ThreadId, begin: ThreadId) -> bool {
    let Op::Post { time: PostTime::Now | PostTime::After(_), target, .. } = world.thread(post).pending else {
        return false;
    };
    matches!(world.thread(begin).pending, Op::Begin)
        && world.enabled().contains(begin)
        && world.queue(begin).is_some_and(|q| !q.has_quit() && !q.is_empty() && !q.idle_is_next(world.now()))
        && world.thread_of(target) == world.queue_owner(begin)
}

fn uses_clock(world: &World, thread: ThreadId, effects: Effects) -> bool {
    let is_post = || matches!(world.thread(thread).pending, Op::Post { .. });
    effects.uses_clock && !(mutant::is(Mutant::ClockBesidePosts) && is_post())
}
