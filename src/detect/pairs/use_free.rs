//! What CAFA knows about a use-free race (Hsiao et al., PLDI 2014): its class (table 1), and why the free cannot make
//! the use fail (section 4.3).

use std::collections::BTreeSet;

/// The contexts of a use and a free that have no order (CAFA, table 1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum UseFreeClass {
    /// Both are tasks of one looper (the paper's class a).
    IntraThread,
    /// They run on different threads, and a detector that takes the tasks of a looper to be in program order misses the
    /// race (class b).
    InterThread,
    /// They run on different threads, and such a detector finds the race as well (class c).
    Conventional,
}

impl UseFreeClass {
    /// Returns the name of the class: `intra-thread`, `inter-thread`, `conventional`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            UseFreeClass::IntraThread => "intra-thread",
            UseFreeClass::InterThread => "inter-thread",
            UseFreeClass::Conventional => "conventional",
        }
    }
}

/// Why the use of a pair meets no null of its free, if both are tasks of one looper.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum UseFreeFilter {
    /// The task of the use tests the location before it, and does not reach the use if it is null.
    Guarded,
    /// The task of the use has allocated the location before it.
    AllocatedBefore,
    /// The task of the free allocates the location behind it.
    AllocatedAfter,
}

impl UseFreeFilter {
    /// Returns the reason in words: `guarded`, `allocated before the use`, `allocated after the free`.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            UseFreeFilter::Guarded => "guarded",
            UseFreeFilter::AllocatedBefore => "allocated before the use",
            UseFreeFilter::AllocatedAfter => "allocated after the free",
        }
    }
}

/// What a detector of use-free races says about a pair.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UseFree {
    /// The last class, in the order of [`UseFreeClass`], of all occurrences: a conventional detector finds the pair if
    /// it finds one of them.
    pub class: UseFreeClass,
    /// The filters of all occurrences. Empty if some occurrence passes all filters.
    pub filters: BTreeSet<UseFreeFilter>,
}

impl UseFree {
    /// Adds other occurrences of the same pair.
    pub(in crate::detect) fn join(&mut self, other: UseFree) {
        self.class = self.class.max(other.class);
        if self.filters.is_empty() || other.filters.is_empty() {
            self.filters.clear();
        } else {
            self.filters.extend(other.filters);
        }
    }
}
