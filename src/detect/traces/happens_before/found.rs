//! The races that a pass has found so far, in a compact form.

use super::classes::Classes;
use super::race::{Race, RaceClass};
use crate::base::IndexVec;
use crate::detect::Rank;
use crate::trace::{LocationNo, OpNo, SiteNo};
use indexmap::map::Entry;
use indexmap::{IndexMap, IndexSet};
use std::hash::{BuildHasherDefault, Hasher};

/// Maximum number of races of one location that are reported.
const MOST_RACES: u16 = 1024;

/// One of the two ends of a race: a statement, or the context if the statement is not known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct RaceEnd(u32);

impl RaceEnd {
    // No trace has so many statements or contexts.
    const CONTEXT: u32 = 1 << 31;

    pub(super) fn of(site: SiteNo, context: u32) -> Self {
        Self(if site == SiteNo::NONE { context | Self::CONTEXT } else { site.0 })
    }
}

/// The accesses of an unordered pair, the earlier one first: operation, context and end.
pub(super) type UnorderedPair = [(OpNo, u32, RaceEnd); 2];

// A race without its location.
#[derive(Clone, Copy)]
struct FoundRace {
    ops: [OpNo; 2],
    contexts: [u32; 2],
    count: u32,
    class: RaceClass,
    rank: Rank,
}

type Key = (LocationNo, RaceEnd, RaceEnd, RaceClass);

/// Hashes keys of a few small numbers, of which there is one for each unordered pair of accesses.
#[derive(Default)]
struct KeyHasher(u64);

impl KeyHasher {
    fn add(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(23) ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.add((*byte).into()));
    }

    fn write_u32(&mut self, number: u32) {
        self.add(number.into());
    }

    fn write_isize(&mut self, number: isize) {
        self.add(number as u64);
    }

    fn finish(&self) -> u64 {
        // The upper bits of a product depend on all bits of its factors, the lower ones do not.
        self.0 ^ self.0 >> 32
    }
}

/// The races so far: one for each location, pair of ends and class.
pub(super) struct FoundRaces {
    races: IndexMap<Key, FoundRace, BuildHasherDefault<KeyHasher>>,
    // Number of races of each location.
    counts: IndexVec<LocationNo, u16>,
    // The ends of the races of each location, once a location has as many as are reported.
    ends: Option<IndexSet<(LocationNo, RaceEnd), BuildHasherDefault<KeyHasher>>>,
    // Whether a race shows its most suspicious pair of accesses.
    by_rank: bool,
    lost: bool,
}

impl FoundRaces {
    pub(super) fn new(locations: usize, by_rank: bool) -> Self {
        Self {
            races: IndexMap::with_hasher(BuildHasherDefault::new()),
            counts: (0..locations).map(|_| 0).collect(),
            ends: None,
            by_rank,
            lost: false,
        }
    }

    /// Whether some race is not reported, because its location has too many.
    pub(super) fn has_lost(&self) -> bool {
        self.lost
    }

    /// Whether no race of this end is reported at a location: the location has too many races, and none of them has
    /// this end.
    pub(super) fn is_left_out(&self, location: LocationNo, end: RaceEnd) -> bool {
        self.counts[location] >= MOST_RACES && self.ends.as_ref().is_some_and(|ends| !ends.contains(&(location, end)))
    }

    /// Adds an unordered pair of accesses.
    pub(super) fn add(&mut self, location: LocationNo, pair: UnorderedPair, class: RaceClass, rank: Rank) {
        let [(first, old, x), (second, new, y)] = pair;
        let found = FoundRace { ops: [first, second], contexts: [old, new], count: 1, class, rank };
        match self.races.entry((location, x.min(y), x.max(y), class.group())) {
            Entry::Occupied(known) => {
                let race = known.into_mut();
                let count = race.count.saturating_add(1);
                let rank_of_all = race.rank.min(rank);
                if self.by_rank && rank < race.rank || class > race.class {
                    *race = found;
                }
                (race.count, race.rank) = (count, rank_of_all);
            }
            Entry::Vacant(free) if self.counts[location] < MOST_RACES => {
                self.counts[location] += 1;
                free.insert(found);
                if let Some(ends) = &mut self.ends {
                    ends.extend([(location, x), (location, y)]);
                } else if self.counts[location] == MOST_RACES {
                    let ends = self.races.keys().flat_map(|(location, x, y, _)| [(*location, *x), (*location, *y)]);
                    self.ends = Some(ends.collect());
                }
            }
            Entry::Vacant(_) => self.lost = true,
        }
    }

    /// Returns the races in the order of the trace.
    pub(super) fn finish(self, classes: &Classes<'_>) -> Vec<Race> {
        // Sorted are the places of the races, which are much smaller than the races.
        let key = |(at, found): (usize, &FoundRace)| (found.ops[1], found.ops[0], found.class, at as u32);
        let mut order: Vec<_> = self.races.values().enumerate().map(key).collect();
        order.sort_unstable();
        let race = |(.., at): (OpNo, OpNo, RaceClass, u32)| {
            let ((location, ..), found) = self.races.get_index(at as usize)?;
            let FoundRace { ops: [first, second], contexts: [old, new], count, class, rank } = *found;
            let (location, tasks) = (*location, (classes.task_of(old).1, classes.task_of(new).1));
            let count = count.into();
            Some(Race { location, first, second, tasks, class, rank, count, covered_by: None, filter: None })
        };
        order.into_iter().filter_map(race).collect()
    }
}
