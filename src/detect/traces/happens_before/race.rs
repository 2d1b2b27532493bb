//! Races of a trace and their classes (DroidRacer, section 4.3).

use crate::detect::{Rank, UseFreeClass, UseFreeFilter};
use crate::trace::{LocationNo, OpNo, TaskNo};

/// The reason why the two accesses of a race have no order, derived from the posts that led to them (DroidRacer,
/// section 4.3): the first class that fits, in this order. Races in CAFA's order have classes of their own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RaceClass {
    /// The accesses are on two threads.
    MultiThreaded,
    /// The accesses are in tasks of one looper, and the last events that led to them have no order.
    CoEnabled,
    /// The last delayed posts that led to the tasks differ, or only one task has one.
    Delayed,
    /// The last posts from another thread that led to the tasks differ, or only one task has one.
    CrossPosted,
    /// None of the other classes fits.
    Unknown,
    /// A class of CAFA (table 1), whose detector knows no other ones.
    Causal(UseFreeClass),
}

impl RaceClass {
    /// DroidRacer's classes, in the order in which they are tried.
    pub const ALL: [RaceClass; 5] = [
        RaceClass::MultiThreaded,
        RaceClass::CoEnabled,
        RaceClass::Delayed,
        RaceClass::CrossPosted,
        RaceClass::Unknown,
    ];

    /// Returns the class under which races of the same two statements are counted together: of different threads, a
    /// conventional detector finds the race if it finds one pair of accesses.
    pub(super) fn group(self) -> RaceClass {
        match self {
            RaceClass::Causal(UseFreeClass::InterThread) => RaceClass::Causal(UseFreeClass::Conventional),
            class => class,
        }
    }

    /// CAFA's classes.
    pub const CAUSAL: [RaceClass; 3] = [
        RaceClass::Causal(UseFreeClass::IntraThread),
        RaceClass::Causal(UseFreeClass::InterThread),
        RaceClass::Causal(UseFreeClass::Conventional),
    ];

    /// Returns the name of the class: `multi-threaded`, `co-enabled` ...
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            RaceClass::MultiThreaded => "multi-threaded",
            RaceClass::CoEnabled => "co-enabled",
            RaceClass::Delayed => "delayed",
            RaceClass::CrossPosted => "cross-posted",
            RaceClass::Unknown => "unknown",
            RaceClass::Causal(class) => class.name(),
        }
    }
}

/// A race: conflicting accesses of one location that the relation does not order. There is one race for each
/// location, pair of statements and class. If the statements are not known, the two contexts replace them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Race {
    /// Location of the accesses.
    pub location: LocationNo,
    /// The earlier access of the first pair of accesses that was found.
    pub first: OpNo,
    /// The later access of the first pair of accesses that was found.
    pub second: OpNo,
    /// Tasks of the two accesses; `None` for a thread's own code.
    pub tasks: (Option<TaskNo>, Option<TaskNo>),
    /// Class of the race.
    pub class: RaceClass,
    /// How suspicious the race is.
    pub rank: Rank,
    /// Number of such pairs, as a lower bound: repeated accesses of one context and statement count once.
    pub count: u64,
    /// Index of a race that covers this one: an unknown order of that one orders this one as well. `None` if no race
    /// covers it.
    pub covered_by: Option<usize>,
    /// Why the free of a use-free race cannot make its use fail; `None` if it can, and for other races.
    pub filter: Option<Filter>,
}

/// The reason why the free of a use-free race cannot make its use fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Filter {
    /// The kind of the reason.
    pub kind: UseFreeFilter,
    /// The access that is the reason: the guarding read, or the allocation.
    pub by: OpNo,
}
