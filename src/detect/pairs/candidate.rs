//! Candidates: pairs of sites that might race or whose order may matter, with the evidence for them.

use super::use_free::UseFree;
use crate::detect::DetectorId;
use crate::event::{AccessPlace, Location, ObjectId, SiteId};
use crate::world::World;
use std::collections::{BTreeMap, BTreeSet};

/// An unordered pair of sites. Both may be the same site.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Pair {
    // invariant: a <= b
    /// The smaller site.
    pub a: SiteId,
    /// The larger site.
    pub b: SiteId,
}

impl Pair {
    /// Returns the pair of two sites, in either order.
    #[must_use]
    pub fn new(x: SiteId, y: SiteId) -> Self {
        Self { a: x.min(y), b: x.max(y) }
    }
}

/// Kinds of the two contexts of a pair. They decide how the pair can be driven.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ContextKind {
    /// Both accesses are in the own code of threads.
    ThreadThread,
    /// One access is in the own code of a thread, the other one in a task of another thread.
    ThreadTask,
    /// The accesses are in tasks of two loopers.
    TaskTask,
    /// The accesses are in two tasks of one looper: never side by side, but possible in either order.
    SameLooper,
}

/// How suspicious a candidate is: the lesser, the more suspicious. The [module](crate::detect) documents the letters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rank {
    /// A race that no edge of the run orders.
    Unordered,
    /// A race that only locks, signals, semaphores, atomics, awaits or interrupts order.
    ByLocks,
    /// A race that only a queue orders, by the order in which two unordered posts happened.
    ByQueue,
    /// A use-free race that a filter excludes: the free cannot make the use fail.
    Filtered,
    /// No race: two operations whose order matters.
    Order,
}

impl Rank {
    /// Returns the rank of a race by the finer relations that order it: the precise one, and the one of queues.
    #[inline]
    pub(in crate::detect) fn of_race(precise: bool, queue: impl FnOnce() -> bool) -> Self {
        if precise {
            Rank::ByLocks
        } else if queue() {
            Rank::ByQueue
        } else {
            Rank::Unordered
        }
    }

    /// Returns the letter of the rank: A, B, C, D or E.
    ///
    /// # Examples
    ///
    /// ```
    /// use raceflip::detect::Rank;
    /// assert!(Rank::Unordered < Rank::ByLocks);
    /// assert_eq!(Rank::Order.letter(), 'E');
    /// ```
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Rank::Unordered => 'A',
            Rank::ByLocks => 'B',
            Rank::ByQueue => 'C',
            Rank::Filtered => 'D',
            Rank::Order => 'E',
        }
    }
}

/// One execution of a statement, by names that mean the same in every run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Instance {
    /// The statement.
    pub site: SiteId,
    /// The pedigree of the thread or task that executed the statement.
    pub context: String,
    /// Ordinal of this execution of the statement in its thread or task, from 1. An operation with two halves (wait,
    /// sleep, barrier) counts once.
    pub visit: u32,
}

/// The place on which two operations conflict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConflictPlace {
    /// A cell of a global.
    Global {
        /// Cell of the flat memory.
        cell: u32,
    },
    /// A cell of an object.
    Field {
        /// Pedigree of the object.
        object: String,
        /// Class of the object.
        class: u32,
        /// Cell, counted from the object's base.
        offset: u32,
    },
    /// The life of an object: one operation frees the object, the other one uses it, accesses its cells or frees it,
    /// too.
    Life {
        /// Pedigree of the object.
        object: String,
        /// Class of the object.
        class: u32,
    },
    /// The subject of an order pair other than memory: a lock, a queue, a wait set, a semaphore, an event, a thread.
    Object {
        /// Name of the object, such as `lock l`, `the queue of main`, `semaphore s`.
        name: String,
    },
}

impl ConflictPlace {
    /// Returns the place that an access in `world` touches.
    #[must_use]
    pub fn of(world: &World, place: AccessPlace) -> Self {
        let class = |object: ObjectId| world.memory().object(object).class;
        match place {
            AccessPlace::Cell(Location { cell, object: None }) => ConflictPlace::Global { cell },
            AccessPlace::Cell(Location { cell, object: Some(object) }) => ConflictPlace::Field {
                object: world.object_name(object),
                class: class(object),
                offset: cell - world.memory().object(object).base,
            },
            AccessPlace::Life(object) => {
                ConflictPlace::Life { object: world.object_name(object), class: class(object) }
            }
        }
    }
}

/// The first occurrence of a candidate. Tuples have the order of the pair's sites; if both sites are the same, the
/// order of the run. For a pair that no single run shows, only `run` and `location` are known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FirstOccurrence {
    /// Number of the run, set by [`Candidates::add`].
    pub run: u64,
    /// Place on which the two operations conflict, if it is known.
    pub place: Option<ConflictPlace>,
    /// Name of the place: `count`, `main/Node#1.next`, `main/Node#1`.
    pub location: String,
    /// Steps of the run at which the two operations happened.
    pub steps: (u64, u64),
    /// Pedigrees of the contexts of the two operations.
    pub contexts: (String, String),
    /// The two instances.
    pub instances: (Instance, Instance),
    /// Nearest common ancestor of the two contexts (or one of them, if it created the other): the point at which
    /// their causes part. Empty if there is none, as between threads that start with the app.
    pub parted: String,
    /// Locks that each context held; at an acquisition, those held before it.
    pub locksets: (Vec<String>, Vec<String>),
}

impl FirstOccurrence {
    /// Returns the evidence of a pair that no run has shown alone: only run and location are known.
    #[must_use]
    pub fn unseen(pair: Pair, run: u64, location: String) -> Self {
        let instance = |site| Instance { site, context: String::new(), visit: 0 };
        Self {
            run,
            place: None,
            location,
            steps: (0, 0),
            contexts: (String::new(), String::new()),
            instances: (instance(pair.a), instance(pair.b)),
            parted: String::new(),
            locksets: (Vec::new(), Vec::new()),
        }
    }
}

/// A pair that might race, or whose order may matter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// The pair.
    pub pair: Pair,
    /// Most suspicious rank of all occurrences.
    pub rank: Rank,
    /// Context kinds of all occurrences.
    pub kinds: BTreeSet<ContextKind>,
    /// First occurrence.
    pub evidence: FirstOccurrence,
    /// Detectors that reported the pair. Empty for a pair that only the user asked for, and for one that no run shows
    /// alone.
    pub by: BTreeSet<DetectorId>,
    /// What a detector of use-free races says about the pair; `None` if none reports it.
    pub use_free: Option<UseFree>,
    /// Number of occurrences, as a lower bound: a repeated access of one chain of contexts counts only the partners
    /// that are new since the last one.
    pub count: u64,
}

impl Candidate {
    /// Whether the candidate is a pair of memory accesses that might race, not an order pair.
    #[must_use]
    pub fn is_race(&self) -> bool {
        self.rank != Rank::Order
    }
}

/// Adds what other occurrences of a pair have shown.
pub(in crate::detect) fn join(known: &mut Option<UseFree>, other: Option<UseFree>) {
    match (known, other) {
        (Some(known), Some(other)) => known.join(other),
        (known, other @ Some(_)) => *known = other,
        (_, None) => {}
    }
}

/// The union of the candidates of several runs.
///
/// # Examples
///
/// ```
/// use raceflip::{detect::{Candidates, Hybrid}, exec::run, sched::RandomWalk, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let mut machine = model.machine(Limits::default());
/// let mut all = Candidates::new();
/// for seed in 0..10 {
///     let mut hybrid = Hybrid::new();
///     run(&mut machine, &mut RandomWalk::new(), seed, &mut hybrid, &stop);
///     all.add(seed, hybrid.finish());
/// }
/// assert_eq!(all.len(), 3);
/// assert!(all.iter().all(|c| c.evidence.run == 0 && c.count >= 10));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Candidates {
    all: BTreeMap<Pair, Candidate>,
    // Pairs that each location may have; `None` for any number.
    most: Option<u32>,
    // Pairs that each location has. Counted only if `most` is set.
    of: BTreeMap<String, u32>,
    left_out: BTreeSet<String>,
}

impl Candidates {
    /// Returns an empty set of candidates without a limit.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns an empty set of candidates that keeps at most `pairs` pairs of each location: those that are added
    /// first.
    #[must_use]
    pub fn at_most(pairs: u32) -> Self {
        Self { most: Some(pairs), ..Self::default() }
    }

    /// Returns the locations for which more candidates were added than are kept.
    #[must_use]
    pub fn left_out(&self) -> &BTreeSet<String> {
        &self.left_out
    }

    /// Adds the candidates that run number `run` has found. The evidence of the smallest run is kept, so that the
    /// order of additions affects only which candidates are left out.
    pub fn add(&mut self, run: u64, found: Vec<Candidate>) {
        for mut candidate in found {
            candidate.evidence.run = run;
            if let Some(known) = self.all.get_mut(&candidate.pair) {
                known.rank = known.rank.min(candidate.rank);
                known.kinds.append(&mut candidate.kinds);
                known.by.append(&mut candidate.by);
                join(&mut known.use_free, candidate.use_free);
                known.count = known.count.saturating_add(candidate.count);
                if run < known.evidence.run {
                    known.evidence = candidate.evidence;
                }
            } else if self.has_room(&candidate.evidence.location) {
                self.all.insert(candidate.pair, candidate);
            }
        }
    }

    // Whether one more pair of this location is kept. If so, it is counted; if not, the location is noted as left
    // out.
    fn has_room(&mut self, location: &str) -> bool {
        let Some(most) = self.most else { return true };
        match self.of.get_mut(location) {
            Some(has) if *has >= most => {
                self.left_out.insert(location.to_owned());
                return false;
            }
            Some(has) => *has += 1,
            None => drop(self.of.insert(location.to_owned(), 1)),
        }
        true
    }

    /// Adds a pair that no run shows alone, since each run orders the two tasks of one looper: run number `run` has
    /// an order that another run does not have.
    pub fn add_flip(&mut self, pair: Pair, run: u64, location: String) {
        if self.all.contains_key(&pair) || !self.has_room(&location) {
            return;
        }
        let flip = Candidate {
            pair,
            rank: Rank::ByQueue,
            kinds: BTreeSet::from([ContextKind::SameLooper]),
            evidence: FirstOccurrence::unseen(pair, run, location),
            by: BTreeSet::new(),
            use_free: None,
            count: 0,
        };
        self.all.insert(pair, flip);
    }

    /// Adds a pair that no run has shown, and that a search of all states has found side by side.
    pub fn add_searched(&mut self, pair: Pair, location: String) {
        self.all.entry(pair).or_insert_with(|| Candidate {
            pair,
            rank: Rank::Unordered,
            // No kind is known, so trials use every way to drive the pair.
            kinds: BTreeSet::new(),
            evidence: FirstOccurrence::unseen(pair, 0, location),
            by: BTreeSet::from([DetectorId::SEARCH]),
            use_free: None,
            count: 0,
        });
    }

    /// Returns the candidates in the order of their pairs.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Candidate> {
        self.all.values()
    }

    /// Returns the candidate of a pair, if there is one.
    #[must_use]
    pub fn get(&self, pair: Pair) -> Option<&Candidate> {
        self.all.get(&pair)
    }

    /// Number of pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are no pairs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}
