//! Candidates: pairs of sites that might race or whose order may matter, with what was seen of them.

use super::Detector;
use crate::event::{AccessPlace, Location, ObjectId, SiteId};
use crate::world::World;
use std::collections::{BTreeMap, BTreeSet};

/// Two sites, or one twice, in no order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Pair {
    // invariant: a <= b
    /// The smaller.
    pub a: SiteId,
    /// The larger.
    pub b: SiteId,
}

impl Pair {
    /// The pair of two sites.
    #[must_use]
    pub fn new(x: SiteId, y: SiteId) -> Self {
        Self { a: x.min(y), b: x.max(y) }
    }
}

/// What the two contexts were: it says how the pair can be driven.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ContextKind {
    /// The own code of two threads.
    ThreadThread,
    /// The own code of a thread, and a task on another.
    ThreadTask,
    /// Tasks of two loopers.
    TaskTask,
    /// Two tasks of one looper: never side by side, but in either order.
    SameLooper,
}

/// How suspicious a candidate is: the lesser, the more. What the letters mean is said in the head of this module.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rank {
    /// A race that nothing in the run has ordered.
    Unordered,
    /// A race that only locks and what is like them ordered: signals, semaphores, atomics, awaits, interrupts.
    ByLocks,
    /// A race of which a queue has kept the order in which two unordered posts happened to come.
    ByQueue,
    /// No race: two operations whose order matters.
    Order,
}

impl Rank {
    /// Its letter: A, B, C or E. (D would be pairs under one lock; the pair of the acquisitions stands for them.)
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
            Rank::Order => 'E',
        }
    }
}

/// One performance of a statement, by names that mean the same in every run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Instance {
    /// The statement.
    pub site: SiteId,
    /// The pedigree of its thread or task.
    pub context: String,
    /// The how-manieth performance of it there, counted from 1. What has two halves (wait, sleep, a barrier) counts once.
    pub visit: u32,
}

/// Where two operations met.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// A cell of a global.
    Global {
        /// The cell of the flat memory.
        cell: u32,
    },
    /// A cell of an object.
    Field {
        /// The object's name, by its pedigree.
        object: String,
        /// Its class.
        class: u32,
        /// The cell, from the object's base.
        offset: u32,
    },
    /// The life of an object: a free, and a use, an access to its cells or another free.
    Life {
        /// The object's name, by its pedigree.
        object: String,
        /// Its class.
        class: u32,
    },
    /// What an order pair is about, if it is no memory: a lock, a queue, a wait set, a semaphore, an event, a thread.
    Object {
        /// Its name: `lock l`, `the queue of main`, `semaphore s`.
        name: String,
    },
}

impl Place {
    /// What an access of this world touches.
    #[must_use]
    pub fn of(world: &World, place: AccessPlace) -> Self {
        let class = |object: ObjectId| world.memory().object(object).class;
        match place {
            AccessPlace::Cell(Location { cell, object: None }) => Place::Global { cell },
            AccessPlace::Cell(Location { cell, object: Some(object) }) => Place::Field {
                object: world.object_name(object),
                class: class(object),
                offset: cell - world.memory().object(object).base,
            },
            AccessPlace::Life(object) => Place::Life { object: world.object_name(object), class: class(object) },
        }
    }
}

/// The first occurrence of a candidate. What it has twice stands in the order of the pair's sites; of a site and itself, in the
/// order of the run. Of a pair that only several runs show, run and location are known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evidence {
    /// The run: [`Candidates::add`] fills it in.
    pub run: u64,
    /// Where.
    pub place: Option<Place>,
    /// The same as a text: `count`, `main/Node#1.next`, `main/Node#1`.
    pub location: String,
    /// When, in steps of the run.
    pub steps: (u64, u64),
    /// In which contexts, by their pedigrees.
    pub contexts: (String, String),
    /// Which instances they were.
    pub instances: (Instance, Instance),
    /// The nearest context that both descend from, or that is one of them and made the other: there the causes of the two part. Empty if
    /// there is none, as between threads that start with the app.
    pub parted: String,
    /// Holding which locks; at an acquisition, those that were held before it.
    pub locksets: (Vec<String>, Vec<String>),
}

impl Evidence {
    /// Of a pair that no run has shown by itself: run and location are all that is known.
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
    /// The most suspicious rank in which it was seen.
    pub rank: Rank,
    /// All context kinds in which it was seen.
    pub kinds: BTreeSet<ContextKind>,
    /// Where it was seen first.
    pub evidence: Evidence,
    /// Which detectors have seen it; none of a pair that somebody wants to be driven, or that no run shows by itself.
    pub by: BTreeSet<Detector>,
    /// How often it was seen. What repeats an access of the same chain of contexts counts only what is new since: a lower bound.
    pub count: u64,
}

impl Candidate {
    /// Whether it is a pair of accesses to memory that might race, and no order pair.
    #[must_use]
    pub fn is_race(&self) -> bool {
        self.rank != Rank::Order
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
    // Pairs that a location may have; `None` for any number.
    most: Option<u32>,
    // How many it has.
    of: BTreeMap<String, u32>,
    left_out: BTreeSet<String>,
}

impl Candidates {
    /// No candidates.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// No candidates; of each location so many are kept, the first ones that are added.
    #[must_use]
    pub fn at_most(pairs: u32) -> Self {
        Self { most: Some(pairs), ..Self::default() }
    }

    /// Where more candidates were added than are kept of one location.
    #[must_use]
    pub fn left_out(&self) -> &BTreeSet<String> {
        &self.left_out
    }

    /// Adds what run number `run` has found. The evidence of the smallest run stays, so that the order of adding does not matter but for what is left out.
    pub fn add(&mut self, run: u64, found: Vec<Candidate>) {
        for mut candidate in found {
            candidate.evidence.run = run;
            if let Some(known) = self.all.get_mut(&candidate.pair) {
                known.rank = known.rank.min(candidate.rank);
                known.kinds.append(&mut candidate.kinds);
                known.by.append(&mut candidate.by);
                known.count = known.count.saturating_add(candidate.count);
                if run < known.evidence.run {
                    known.evidence = candidate.evidence;
                }
            } else if self.has_room(&candidate.evidence.location) {
                self.all.insert(candidate.pair, candidate);
            }
        }
    }

    // Whether a further pair of this location is kept. It is counted there if it is, and noted as left out if not.
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

    /// Adds a pair that no run shows by itself, since each orders the two tasks of one looper: run number `run` has an order that another run has not.
    pub fn add_flip(&mut self, pair: Pair, run: u64, location: String) {
        if self.all.contains_key(&pair) || !self.has_room(&location) {
            return;
        }
        let flip = Candidate {
            pair,
            rank: Rank::ByQueue,
            kinds: BTreeSet::from([ContextKind::SameLooper]),
            evidence: Evidence::unseen(pair, run, location),
            by: BTreeSet::new(),
            count: 0,
        };
        self.all.insert(pair, flip);
    }

    /// Adds a pair that no run has shown, and that a search of all states has found side by side.
    pub fn add_searched(&mut self, pair: Pair, location: String) {
        self.all.entry(pair).or_insert_with(|| Candidate {
            pair,
            rank: Rank::Unordered,
            // Whatever may bring it about is tried.
            kinds: BTreeSet::new(),
            evidence: Evidence::unseen(pair, 0, location),
            by: BTreeSet::from([Detector::Search]),
            count: 0,
        });
    }

    /// The candidates in the order of their pairs.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Candidate> {
        self.all.values()
    }

    /// The candidate of a pair.
    #[must_use]
    pub fn get(&self, pair: Pair) -> Option<&Candidate> {
        self.all.get(&pair)
    }

    /// How many pairs there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}
