//! The races that a pass has found so far, in a compact form.

use super::classes::Classes;
use super::race::{Race, RaceClass};
use crate::base::IndexVec;
use crate::detect::Rank;
use crate::trace::{LocationNo, OpNo, SiteNo};
use indexmap::map::Entry;
use indexmap::{IndexMap, IndexSet};
use xxhash_rust::xxh3::Xxh3Builder;

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

/// The races so far: one for each location, pair of ends and class.
pub(super) struct FoundRaces {
    races: IndexMap<Key, FoundRace, Xxh3Builder>,
    // Number of races of each location.
    counts: IndexVec<LocationNo, u16>,
    // The ends of the races of each location, once a location has as many as are reported.
    ends: Option<IndexSet<(LocationNo, RaceEnd), Xxh3Builder>>,
    // Whether a race shows its most suspicious pair of accesses.
    by_rank: bool,
    lost: bool,
}

impl FoundRaces {
    pub(super) fn new(locations: usize, by_rank: bool) -> Self {
        Self {
            races: IndexMap::with_hasher(Xxh3Builder::new()),
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
        let race = |((location, ..), found): (Key, FoundRace)| {
            let FoundRace { ops: [first, second], contexts: [old, new], count, class, rank } = found;
            let tasks = (classes.task_of(old).1, classes.task_of(new).1);
            Race { location, first, second, tasks, class, rank, count: count.into(), covered_by: None, filter: None }
        };
        let mut races: Vec<Race> = self.races.into_iter().map(race).collect();
        races.sort_by_key(|race| (race.second, race.first, race.class));
        races
    }
}
