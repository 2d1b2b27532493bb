//! The possible pairs of a program, as far as runs have shown them, and how often each was seen and asked for.

use super::memory::PairMemory;
use super::names::NameMap;
use super::shown::{ReadPair, RunWatch, Visitor};
use crate::base::Rng;
use crate::base::mutant::{self, Mutant};
use crate::world::{Statement, TouchedPlace};
use indexmap::{IndexMap, IndexSet};
use std::borrow::Cow;
use std::sync::Arc;
use xxhash_rust::xxh3::{Xxh3Builder, xxh3_64};

/// What is known of a possible pair.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownPair {
    /// Locations at which some run had both statements, sorted.
    pub places: Arc<[TouchedPlace]>,
    /// Number of runs that showed the pair.
    pub seen: u32,
    /// Number of runs that asked for it.
    pub asked: u32,
}

impl KnownPair {
    fn is_untried(&self) -> bool {
        self.seen == 0 && self.asked == 0
    }
}

/// All possible pairs, in the order in which they became known.
#[derive(Default)]
pub(super) struct Pairs {
    all: IndexMap<ReadPair, KnownPair, Xxh3Builder>,
    // Digests of the visitors of a location whose pairs are known.
    known: IndexSet<(TouchedPlace, u64), Xxh3Builder>,
    // By statement, the largest number of its visits in a run.
    most_visits: Vec<u32>,
    // Number of pairs that were neither seen nor asked for.
    untried: usize,
    // Number of pairs that some run has shown.
    seen: u64,
    // The run in which a pair was seen for the first time, the last one.
    last_new: Option<u64>,
}

/// What a run adds to the possible pairs.
#[derive(Default)]
pub(super) struct PairNews {
    // Locations with visitors that were not there together before.
    met: Vec<(TouchedPlace, u64, Vec<Visitor>)>,
    seen: Vec<ReadPair>,
    visits: Vec<(Statement, u32)>,
}

impl PairNews {
    /// Returns the pairs that the run showed.
    pub(super) fn seen(&self) -> &[ReadPair] {
        &self.seen
    }

    /// Returns whether statements met that had not met before.
    pub(super) fn has_met(&self) -> bool {
        !self.met.is_empty()
    }
}

impl Pairs {
    /// Returns what a run adds. It changes nothing, so several workers can ask at the same time. `names` translates the
    /// statements and locations of the run into those of all inputs.
    pub(super) fn news(&self, run: &RunWatch, names: Option<&NameMap>) -> PairNews {
        let met = run.places().filter_map(|(place, visitors)| {
            // A single context orders nothing.
            let (first, rest) = visitors.split_first()?;
            if !first.meets(first) && !rest.iter().any(|other| first.meets(other)) {
                return None;
            }
            let (place, visitors) = match names {
                Some(names) => (names.place(place), Cow::Owned(names.visitors(visitors))),
                None => (place, Cow::Borrowed(visitors)),
            };
            let digest = digest(&visitors);
            (!self.known.contains(&(place, digest))).then(|| (place, digest, visitors.into_owned()))
        });
        let common = |statement| names.map_or(statement, |names| names.statement(statement));
        let visits = run.visits().map(|(statement, visits)| (common(statement), visits));
        let more = |(statement, visits): &(Statement, u32)| *visits > self.most_visits(*statement);
        let seen = run.pairs().map(|(writer, reader)| (common(writer), common(reader)));
        PairNews { met: met.collect(), seen: seen.collect(), visits: visits.filter(more).collect() }
    }

    /// Learns from run number `run`.
    pub(super) fn learn(&mut self, run: u64, news: &PairNews) {
        for (place, digest, visitors) in &news.met {
            if self.known.insert((*place, *digest)) {
                self.add_all(*place, visitors);
            }
        }
        for pair in &news.seen {
            if let Some(known) = self.all.get_mut(pair) {
                self.untried -= usize::from(known.is_untried());
                // Runs that the campaign began with have the number 0.
                if known.seen == 0 && run > 0 {
                    self.last_new = Some(run);
                }
                self.seen += u64::from(known.seen == 0);
                known.seen = known.seen.saturating_add(1);
            }
        }
        for (statement, visits) in &news.visits {
            let Some(index) = statement.index() else { continue };
            if self.most_visits.len() <= index {
                self.most_visits.resize(index + 1, 0);
            }
            self.most_visits[index] = self.most_visits[index].max(*visits);
        }
    }

    // Adds the pairs of statements that a run had at one location.
    fn add_all(&mut self, place: TouchedPlace, visitors: &[Visitor]) {
        for reader in visitors.iter().filter(|reader| reader.reads) {
            let writers = || visitors.iter().filter(|writer| writer.writes && writer.meets(reader));
            if writers().next().is_some() {
                self.add((Statement::FIRST, reader.statement), place);
            }
            for writer in writers() {
                self.add((writer.statement, reader.statement), place);
            }
        }
    }

    fn add(&mut self, pair: ReadPair, place: TouchedPlace) {
        let untried = &mut self.untried;
        let known = self.all.entry(pair).or_insert_with(|| {
            *untried += 1;
            KnownPair { places: Arc::from([]), seen: 0, asked: 0 }
        });
        if let Err(at) = known.places.binary_search(&place) {
            let mut places = known.places.to_vec();
            places.insert(at, place);
            known.places = places.into();
        }
    }

    /// Draws one of the pairs that the fewest runs have shown or were asked for, among those that the program of the
    /// run has. Counts one more run that asks for it, and returns it with what was known before. `None` if no pair is
    /// possible so far.
    pub(super) fn ask(&mut self, rng: &mut Rng, names: Option<&NameMap>) -> Option<(ReadPair, KnownPair)> {
        let tried = |pair: &KnownPair| pair.seen.saturating_add(pair.asked);
        let has = |pair: &ReadPair| names.is_none_or(|names| names.has(pair));
        let least = self.all.iter().filter(|(pair, _)| has(pair)).map(|(_, known)| tried(known)).min()?;
        let of_least = || self.all.iter().enumerate().filter(|(_, (p, known))| tried(known) == least && has(p));
        let k = rng.below(of_least().count() as u32) as usize;
        let (index, _) = of_least().nth(k)?;
        let (pair, known) = self.all.get_index(index)?;
        let (pair, before) = (*pair, known.clone());
        if !mutant::is(Mutant::AsksNotCounted) {
            self.count(pair);
        }
        Some((pair, before))
    }

    /// Counts a run that asks for the pair.
    pub(super) fn count(&mut self, pair: ReadPair) {
        if let Some(known) = self.all.get_mut(&pair) {
            self.untried -= usize::from(known.is_untried());
            known.asked = known.asked.saturating_add(1);
        }
    }

    /// Takes back what [`ask`](Self::ask) has counted.
    pub(super) fn take_back(&mut self, pair: ReadPair) {
        if let Some(known) = self.all.get_mut(&pair).filter(|known| known.asked > 0) {
            known.asked -= 1;
            self.untried += usize::from(known.is_untried());
        }
    }

    /// Returns whether the pair is possible, as far as runs have shown.
    pub(super) fn is_possible(&self, pair: &ReadPair) -> bool {
        self.all.contains_key(pair)
    }

    /// Returns what is known of pairs. Which statements met is left out: it only tells that there is nothing to add.
    pub(super) fn memory(&self) -> PairMemory {
        PairMemory {
            all: self.iter().map(|(pair, known)| (pair, known.clone())).collect(),
            visits: self.most_visits.clone(),
            last_new: self.last_new,
        }
    }

    /// Returns the pairs of a [`memory`](Self::memory).
    pub(super) fn of_memory(memory: PairMemory) -> Self {
        let all: IndexMap<_, _, Xxh3Builder> = memory.all.into_iter().collect();
        let untried = all.values().filter(|known| known.is_untried()).count();
        let (most_visits, last_new) = (memory.visits, memory.last_new);
        let seen = all.values().filter(|known| known.seen > 0).count() as u64;
        Self { all, known: IndexSet::default(), most_visits, untried, seen, last_new }
    }

    /// Returns the largest number of visits of a statement in a run.
    pub(super) fn most_visits(&self, statement: Statement) -> u32 {
        statement.index().and_then(|index| self.most_visits.get(index).copied()).unwrap_or(0)
    }

    /// Returns whether some possible pair was neither seen nor asked for.
    pub(super) fn is_any_untried(&self) -> bool {
        self.untried > 0
    }

    /// Returns the number of possible pairs, and of those that some run has shown.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.all.len() as u64, self.seen)
    }

    /// Returns all possible pairs.
    pub(super) fn iter(&self) -> impl Iterator<Item = (ReadPair, &KnownPair)> {
        self.all.iter().map(|(pair, known)| (*pair, known))
    }

    /// Returns the last run that showed a pair that none had shown.
    pub(super) fn last_new(&self) -> Option<u64> {
        self.last_new
    }
}

// Digests the visitors of a location, as far as it matters which of them meet: contexts are numbered in order.
fn digest(visitors: &[Visitor]) -> u64 {
    let mut bytes = Vec::with_capacity(visitors.len() * 12);
    for (i, visitor) in visitors.iter().enumerate() {
        // The first visitor that this one does not meet has the same single context.
        let context = if visitor.meets(visitor) { u32::MAX } else { first_alike(visitors, i) as u32 };
        let statement = visitor.statement.index().map_or(u32::MAX, |index| index as u32);
        let bits = u32::from(visitor.reads) | u32::from(visitor.writes) << 1;
        for word in [statement, context, bits] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
    }
    xxh3_64(&bytes)
}

fn first_alike(visitors: &[Visitor], i: usize) -> usize {
    visitors[..i].iter().position(|other| !other.meets(&visitors[i])).unwrap_or(i)
}
