//! Races of a trace and their classes (DroidRacer, section 4.3).

use crate::detect::Rank;
use crate::trace::{LocationNo, OpNo, TaskNo};

/// Why the two accesses of a race have no order, as far as the posts that led to them tell (DroidRacer, section 4.3). The first one that fits, in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RaceClass {
    /// On two threads.
    MultiThreaded,
    /// Tasks of one looper; the last events that led to them have no order.
    CoEnabled,
    /// The last delayed posts that led to them are not the same, or only one has one.
    Delayed,
    /// The last posts from another thread that led to them are not the same, or only one has one.
    CrossPosted,
    /// None of these.
    Unknown,
}

impl RaceClass {
    /// All of them, in the order in which they are tried.
    pub const ALL: [RaceClass; 5] = [
        RaceClass::MultiThreaded,
        RaceClass::CoEnabled,
        RaceClass::Delayed,
        RaceClass::CrossPosted,
        RaceClass::Unknown,
    ];

    /// Its name: `multi-threaded`, `co-enabled` ...
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            RaceClass::MultiThreaded => "multi-threaded",
            RaceClass::CoEnabled => "co-enabled",
            RaceClass::Delayed => "delayed",
            RaceClass::CrossPosted => "cross-posted",
            RaceClass::Unknown => "unknown",
        }
    }
}

/// Two accesses of one location that conflict and that the relation does not order: one for each location, pair of statements and class. Where statements are not
/// known, the two contexts stand for them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Race {
    /// Where.
    pub location: LocationNo,
    /// The earlier access of the first such pair.
    pub first: OpNo,
    /// The later one.
    pub second: OpNo,
    /// The tasks that they belong to; none of a thread's own code.
    pub tasks: (Option<TaskNo>, Option<TaskNo>),
    /// Its class.
    pub class: RaceClass,
    /// How suspicious it is.
    pub rank: Rank,
    /// How many such pairs were seen. Accesses that repeat one of the same context and statement count once: a lower bound.
    pub count: u64,
    /// The place of a race that covers it: if something orders that one, it orders this one as well.
    pub covered_by: Option<usize>,
}
