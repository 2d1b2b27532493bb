//! Names the orders of a pair: which statement comes first, and of which instances.

use crate::campaign::run::RunSource;
use crate::detect::Instance;
use crate::event::SiteId;

/// Statement of a pair that comes first; it names an order of the pair.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum First {
    /// The first statement of the pair. If both are one statement: the instance with the lesser name.
    A,
    /// The second statement of the pair. If both are one statement: the instance with the greater name.
    B,
}

impl First {
    /// Returns the other order.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            First::A => First::B,
            First::B => First::A,
        }
    }
}

/// Two instances of a pair, on one location.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct InstancePair {
    /// Instance of the first statement.
    pub a: Instance,
    /// Instance of the second statement.
    pub b: Instance,
    /// Name of the location.
    pub place: String,
}

/// Flip: two runs that show both orders of the same two instances.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flip {
    /// Instances that flip.
    pub instances: InstancePair,
    /// Run in which the first statement came first, and run with the other order.
    pub runs: [RunSource; 2],
    /// Order that only a *cut* shows: its run performed the first instance while the other one was still to come, and
    /// then failed or went past it. `None` if both runs performed both instances.
    pub cut: Option<First>,
}

/// Order of two accesses that every run has, with its reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StaticOrder {
    /// The statement that comes first, and the other one. `None` if no run has both.
    pub order: Option<(SiteId, SiteId)>,
    /// The reason, in sentences.
    pub why: Vec<String>,
}
