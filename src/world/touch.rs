//! The locations that an operation touches, and whether it reads or writes them.
//!
//! A location is what one operation can leave for another one to find: not only memory, but also a lock (who held it
//! before), a queue (which post came before), the enables of an event. So the question which operation another one
//! reads from has an answer for each of them, as reads-from pairs have it for memory (RFF: Wolff et al., *Greybox
//! Fuzzing for Concurrency Testing*, ASPLOS 2024). Locks and queues as locations are ours.
//!
//! What an operation touches comes from the table of [`effects`](super::effects); a row here only says whether it
//! reads, writes, or does both. Operations that give something back touch nothing: who takes it next tells the order.

use super::effects::{How, Thing, ThingEffect};
use super::{Setup, World};
use crate::base::Id;
use crate::event::{
    AccessPlace, Acquisition, Actor, Args, BarrierId, ChannelId, ConditionId, ContextId, EventId, GroupId, ListRead,
    ListenerId, LockId, ObjectId, Op, RwLockId, SemaphoreId, SiteId, ThreadId, WaitSet,
};

/// A location that operations read and write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TouchedPlace {
    /// A cell of memory, plain or atomic. A list is one cell.
    Cell(u32),
    /// The life of an object: uses read it, a free writes it.
    Life(ObjectId),
    /// A lock, a mutex or a monitor.
    Lock(LockId),
    /// A reader-writer lock.
    RwLock(RwLockId),
    /// A semaphore.
    Semaphore(SemaphoreId),
    /// A barrier.
    Barrier(BarrierId),
    /// A wait group.
    Group(GroupId),
    /// A channel.
    Channel(ChannelId),
    /// The wait set of a lock.
    LockWaits(LockId),
    /// The wait set of a condition.
    ConditionWaits(ConditionId),
    /// The queue of a looper.
    Queue(ThreadId),
    /// An event of the environment.
    Event(EventId),
    /// The callbacks of a listener.
    Listener(ListenerId),
}

const KINDS: usize = 13;

impl TouchedPlace {
    // The number of the kind, and the index among the locations of that kind.
    fn slot(self) -> (usize, usize) {
        match self {
            Self::Cell(cell) => (0, cell as usize),
            Self::Life(id) => (1, id.index()),
            Self::Lock(id) => (2, id.index()),
            Self::RwLock(id) => (3, id.index()),
            Self::Semaphore(id) => (4, id.index()),
            Self::Barrier(id) => (5, id.index()),
            Self::Group(id) => (6, id.index()),
            Self::Channel(id) => (7, id.index()),
            Self::LockWaits(id) => (8, id.index()),
            Self::ConditionWaits(id) => (9, id.index()),
            Self::Queue(id) => (10, id.index()),
            Self::Event(id) => (11, id.index()),
            Self::Listener(id) => (12, id.index()),
        }
    }

    /// Returns the location as two numbers: its kind, and its index among the locations of that kind.
    #[must_use]
    pub fn numbers(self) -> (u32, u32) {
        let (kind, index) = self.slot();
        (kind as u32, index as u32)
    }

    /// Returns the location with these [`numbers`](Self::numbers). `None` if there is no such kind.
    #[must_use]
    pub fn from_numbers(kind: u32, index: u32) -> Option<Self> {
        Some(match kind {
            0 => Self::Cell(index),
            1 => Self::Life(ObjectId(index)),
            2 => Self::Lock(LockId(index)),
            3 => Self::RwLock(RwLockId(index)),
            4 => Self::Semaphore(SemaphoreId(index)),
            5 => Self::Barrier(BarrierId(index)),
            6 => Self::Group(GroupId(index)),
            7 => Self::Channel(ChannelId(index)),
            8 => Self::LockWaits(LockId(index)),
            9 => Self::ConditionWaits(ConditionId(index)),
            10 => Self::Queue(ThreadId(index)),
            11 => Self::Event(EventId(index)),
            12 => Self::Listener(ListenerId(index)),
            _ => return None,
        })
    }
}

/// How a step touches a location. At least one of the two is true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    /// The location.
    pub place: TouchedPlace,
    /// Whether the step reads it.
    pub reads: bool,
    /// Whether the step writes it.
    pub writes: bool,
}

/// A statement as the reader or the writer of a pair: a site, one of several operations at a site, the firing of an
/// event, or the first value of a location, which no statement has written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Statement(u32);

/// What a [`Statement`] stands for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum StatementKind {
    /// An operation at a site.
    Site(SiteId, SitePart),
    /// A firing of an event.
    Firing(EventId),
    /// An operation without a site: a looper begins a message.
    Implicit,
    /// The first value of a location.
    First,
}

/// Which of the operations of a site.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SitePart {
    /// The only one, or the first one.
    Whole,
    /// The second half of an operation, such as the return from a wait; or the start of an iteration.
    Second,
    /// A further element of an iteration.
    Next,
}

// The two low bits of a statement: the part of a site, or that it is no site.
const PARTS: u32 = 4;
const FIRING: u32 = 3;

impl Statement {
    /// The first value of a location.
    pub const FIRST: Self = Self(u32::MAX);
    const IMPLICIT: Self = Self(u32::MAX - PARTS);

    /// Returns an operation at a site.
    #[must_use]
    pub fn at(site: SiteId, part: SitePart) -> Self {
        Self(site.0 * PARTS + part as u32)
    }

    /// Returns the firings of an event.
    #[must_use]
    pub fn firing(event: EventId) -> Self {
        Self(event.0 * PARTS + FIRING)
    }

    /// Returns what the statement stands for.
    #[must_use]
    pub fn kind(self) -> StatementKind {
        match (self, self.0 % PARTS) {
            (Self::FIRST, _) => StatementKind::First,
            (Self::IMPLICIT, _) => StatementKind::Implicit,
            (_, FIRING) => StatementKind::Firing(EventId(self.0 / PARTS)),
            (_, part) => {
                let part = [SitePart::Whole, SitePart::Second, SitePart::Next][part as usize];
                StatementKind::Site(SiteId(self.0 / PARTS), part)
            }
        }
    }

    /// Returns the site. `None` for firings, the first value, and operations without a site.
    #[must_use]
    pub fn site(self) -> Option<SiteId> {
        match self.kind() {
            StatementKind::Site(site, _) => Some(site),
            _ => None,
        }
    }

    /// Returns the statement as a number, which means the same in every run of a program.
    #[must_use]
    pub fn number(self) -> u32 {
        self.0
    }

    /// Returns the statement with this [`number`](Self::number).
    #[must_use]
    pub fn from_number(number: u32) -> Self {
        Self(number)
    }

    /// Returns whether a program with these declarations has the statement.
    #[must_use]
    pub fn is_of(self, setup: &Setup) -> bool {
        match self.kind() {
            StatementKind::Site(site, _) => site.index() < setup.sites.len(),
            StatementKind::Firing(event) => event.index() < setup.events.len(),
            StatementKind::Implicit | StatementKind::First => true,
        }
    }

    /// Returns the number of the statement in a dense table. `None` for the first value and operations without a site.
    #[must_use]
    pub fn index(self) -> Option<usize> {
        (self.0 < Self::IMPLICIT.0).then_some(self.0 as usize)
    }
}

/// A context as the writer or the reader of a location: a thread, a task, or the firings of one event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TouchContext {
    /// A thread or a task.
    Context(ContextId),
    /// The firings of an event.
    Firing(EventId),
}

impl World {
    /// Returns the statement of the next step of an actor.
    #[must_use]
    pub fn statement(&self, actor: Actor) -> Statement {
        match actor {
            Actor::Thread(thread) => {
                let t = &self.threads[thread];
                let part = match &t.pending {
                    Op::ListRead { what: ListRead::Iterate, .. } => SitePart::Second,
                    Op::ListRead { what: ListRead::Next { .. }, .. } => SitePart::Next,
                    op if op.is_second_half() => SitePart::Second,
                    _ => SitePart::Whole,
                };
                t.site.map_or(Statement::IMPLICIT, |site| Statement::at(site, part))
            }
            Actor::Event(event) => Statement::firing(event),
            Actor::Clock | Actor::Stop => Statement::IMPLICIT,
        }
    }

    /// Returns the context of the next step of an actor. `None` for the clock and the end of a run, which touch
    /// nothing.
    #[must_use]
    pub fn touch_context(&self, actor: Actor) -> Option<TouchContext> {
        match actor {
            Actor::Thread(thread) => Some(TouchContext::Context(self.threads[thread].context)),
            Actor::Event(event) => Some(TouchContext::Firing(event)),
            Actor::Clock | Actor::Stop => None,
        }
    }

    /// Calls `each` with what the next step of an actor touches. Each location occurs once.
    #[inline]
    pub fn touches(&self, actor: Actor, mut each: impl FnMut(Touch)) {
        let mut add = |place, reads, writes| each(Touch { place, reads, writes });
        match actor {
            Actor::Thread(thread) => {
                let op = &self.threads[thread].pending;
                for touch in self.effects(thread, op).touches() {
                    match touch {
                        (Thing::ChannelsOfSelect, How::Select) => {
                            self.each_channel(op, |channel| add(TouchedPlace::Channel(channel), true, true));
                        }
                        _ => {
                            if let Some((place, reads, writes)) = touched(op, touch) {
                                add(place, reads, writes);
                            }
                        }
                    }
                }
            }
            Actor::Event(event) => {
                let looper = self.queue_owner(self.setup.events[event].looper);
                add(TouchedPlace::Queue(looper), true, true);
                add(TouchedPlace::Event(event), true, true);
            }
            Actor::Clock | Actor::Stop => {}
        }
    }

    // The channels of a select, each once.
    fn each_channel(&self, op: &Op, mut each: impl FnMut(ChannelId)) {
        let cases = match *op {
            Op::Select { cases, .. } => cases,
            _ => Args::default(),
        };
        let channels = || self.cases(cases).filter_map(|case| case.channel);
        for (i, channel) in channels().enumerate() {
            if !channels().take(i).any(|other| other == channel) {
                each(channel);
            }
        }
    }
}

// Returns a location, and whether the operation reads it and writes it.
fn touched(op: &Op, (thing, how): ThingEffect) -> Option<(TouchedPlace, bool, bool)> {
    let (reads, writes, both) = ((true, false), (false, true), (true, true));
    let (place, (reads, writes)) = match (thing, how) {
        (Thing::Memory(AccessPlace::Cell(at)) | Thing::Atomic(at), how) => {
            let kind = match (how, op) {
                (How::Read, _) => reads,
                (_, Op::Write(..) | Op::AtomicWrite(..)) => writes,
                // An atomic update, or a change of a list.
                _ => both,
            };
            (TouchedPlace::Cell(at.cell), kind)
        }
        (Thing::Memory(AccessPlace::Life(object)), how) => {
            (TouchedPlace::Life(object), if how == How::Read { reads } else { writes })
        }
        (Thing::Lock(lock), How::Acquire | How::AcquireAfterWait | How::Try) => (TouchedPlace::Lock(lock), both),
        (Thing::RwLock(lock), How::AcquireRead) => (TouchedPlace::RwLock(lock), reads),
        (Thing::RwLock(lock), How::AcquireWrite) => (TouchedPlace::RwLock(lock), both),
        (Thing::RwLock(lock), How::Try) => {
            let shares = matches!(op, Op::AcquireFor { of: Acquisition::Read(_), .. });
            (TouchedPlace::RwLock(lock), if shares { reads } else { both })
        }
        (Thing::Semaphore(id), How::Down | How::Up) => (TouchedPlace::Semaphore(id), both),
        (Thing::Barrier(id), How::Arrive) => (TouchedPlace::Barrier(id), both),
        (Thing::Group(id), How::Count) => (TouchedPlace::Group(id), both),
        (Thing::Group(id), How::AwaitCount) => (TouchedPlace::Group(id), reads),
        (Thing::Channel(id), How::Send | How::Receive | How::Close) => (TouchedPlace::Channel(id), both),
        (Thing::Channel(id), How::Look) => (TouchedPlace::Channel(id), reads),
        (Thing::WaitSet(on), How::Wait) => (waits(on), writes),
        (Thing::WaitSet(on), How::Notify) => (waits(on), both),
        // A microtask does not come into the queue, and only the looper itself posts it.
        (
            Thing::Queue(looper),
            How::Post(..)
            | How::PostWith(..)
            | How::PostIdle
            | How::Make
            | How::Cancel(..)
            | How::CancelWith(..)
            | How::Remove
            | How::Quit,
        ) => (TouchedPlace::Queue(looper), both),
        (Thing::Event(event), How::Enable | How::Disable) => (TouchedPlace::Event(event), both),
        (Thing::Listener(id), How::Register | How::Unregister) => (TouchedPlace::Listener(id), writes),
        (Thing::Listener(id), How::Perform) => (TouchedPlace::Listener(id), reads),
        _ => return None,
    };
    Some((place, reads, writes))
}

fn waits(on: WaitSet) -> TouchedPlace {
    match on {
        WaitSet::Lock(lock) => TouchedPlace::LockWaits(lock),
        WaitSet::Condition(condition) => TouchedPlace::ConditionWaits(condition),
    }
}

/// A value for each location that a run has touched so far. It is cleared for each run without touching its memory.
#[derive(Clone)]
pub struct TouchMap<T> {
    // By kind and index: the run that wrote the entry, and its value.
    entries: [Vec<(u32, T)>; KINDS],
    run: u32,
}

impl<T: Copy> TouchMap<T> {
    /// Creates a map without entries.
    #[must_use]
    pub fn new() -> Self {
        Self { entries: std::array::from_fn(|_| Vec::new()), run: 1 }
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.run = self.run.wrapping_add(1);
        if self.run == 0 {
            *self = Self::new();
        }
    }

    /// Returns the entry of a location.
    #[inline]
    #[must_use]
    pub fn get(&self, place: TouchedPlace) -> Option<T> {
        let (kind, index) = place.slot();
        self.entries[kind].get(index).filter(|(run, _)| *run == self.run).map(|(_, value)| *value)
    }

    /// Sets the entry of a location.
    #[inline]
    pub fn set(&mut self, place: TouchedPlace, value: T) {
        let (kind, index) = place.slot();
        let entries = &mut self.entries[kind];
        if entries.len() <= index {
            // No run has number 0, so the new entries are empty.
            entries.resize(index + 1, (0, value));
        }
        entries[index] = (self.run, value);
    }
}

impl<T: Copy> Default for TouchMap<T> {
    fn default() -> Self {
        Self::new()
    }
}
