//! Candidates: pairs of sites that might race, with what was seen of them.

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

/// Where two accesses met.
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
#[derive(Clone, Default, PartialEq, Eq, Debug)]
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
    /// Holding which locks.
    pub locksets: (Vec<String>, Vec<String>),
}

/// A pair that might race.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// The pair.
    pub pair: Pair,
    /// All context kinds in which it was seen.
    pub kinds: BTreeSet<ContextKind>,
    /// Where it was seen first.
    pub evidence: Evidence,
    /// How often it was seen. What repeats an access of the same chain of contexts counts only what is new since: a lower bound.
    pub count: u64,
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
}

impl Candidates {
    /// No candidates.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds what run number `run` has found. The evidence of the smallest run stays, so that the order of adding does not matter.
    pub fn add(&mut self, run: u64, found: Vec<Candidate>) {
        for mut candidate in found {
            candidate.evidence.run = run;
            match self.all.get_mut(&candidate.pair) {
                None => {
                    self.all.insert(candidate.pair, candidate);
                }
                Some(known) => {
                    known.kinds.append(&mut candidate.kinds);
                    known.count = known.count.saturating_add(candidate.count);
                    if run < known.evidence.run {
                        known.evidence = candidate.evidence;
                    }
                }
            }
        }
    }

    /// Adds a pair that no run shows by itself, since each orders the two tasks of one looper: run number `run` has an order that another run has not.
    pub fn add_flip(&mut self, pair: Pair, run: u64, location: String) {
        self.all.entry(pair).or_insert_with(|| Candidate {
            pair,
            kinds: BTreeSet::from([ContextKind::SameLooper]),
            evidence: Evidence { run, location, ..Evidence::default() },
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
