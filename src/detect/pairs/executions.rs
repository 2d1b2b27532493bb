//! Compares an execution with earlier ones: accesses to one place, operations on one object, sections of one lock.
//!
//! Executions are kept by *group* (one statement that does the same, under the same locks, on the same looper) and
//! chain: the latest one of each. This loses nothing. The earlier execution x is before the later x' of the same
//! chain, so that a y that is not after x is not after x' either.
//!
//! # Cost
//!
//! An execution must not be compared with all earlier ones, or n of them cost n². Groups that differ only in their
//! statement therefore make a *class*, and a class lists its executions by chain, in the order of happening. A new
//! execution skips in one step
//!
//! - each class that it does not conflict with, or that a common lock keeps apart;
//! - 32 chains at once that it knows to their ends, since then everything on them is before it;
//! - the part of another chain that it knows, and the part that the last execution on its own chain was compared with
//!   ([`Executions::since`]).
//!
//! It is compared with the rest: executions that it is not ordered with, each of which makes a pair or increases a
//! count. Their number is bounded as well:
//!
//! - A place keeps at most [`MOST_PAIRS`] pairs of statements by default. From then on nothing is compared there, and
//!   the place is named among those left out.
//! - At a place where more than [`MOST_LOOKED`] executions were compared, an execution skips the classes whose
//!   statements have all made their pair with it in the most suspicious rank: only the count would grow. Of each
//!   other class it is compared with at most [`MOST_OF_ONE`] executions, and the place is named if there are more.

use super::candidate::{ConflictPlace, Rank};
use super::findings::PairFindings;
use super::watch::{Act, ExecutionTime, OperationKey, RunState};
use crate::detect::relation::clock::{ChainId, Clock, WIDTH};
use crate::detect::relation::contexts::ContextClock;
use crate::detect::relation::held::LocksetId;
use crate::event::{SiteId, ThreadId};
use crate::world::World;
use std::collections::{BTreeMap, BTreeSet};

/// Default number of pairs of statements that a place keeps.
pub(crate) const MOST_PAIRS: u32 = 10_000;

// Number of comparisons at a place from which on classes that bring nothing new are skipped.
const MOST_LOOKED: u64 = 1 << 16;

// Number of executions of a class with which one execution is compared, at such a place.
const MOST_OF_ONE: usize = 1 << 10;

// Marks the end of a list.
const NONE: u32 = u32::MAX;

/// The executions at one place. `W` is the kind of operation; its order serves only for lookups.
pub(in crate::detect) struct Executions<W> {
    // Groups in the order of their first executions.
    groups: Vec<Group>,
    ids: BTreeMap<(W, OperationKey), u32>,
    classes: Vec<ExecutionClass>,
    class_ids: BTreeMap<(W, Option<ThreadId>, LocksetId), u32>,
    entries: Vec<Execution>,
    // The entry of each group and chain.
    latest: BTreeMap<(u32, ChainId), u32>,
    looked: u64,
    // Number of pairs that were found here first.
    pairs: u32,
    full: bool,
    done: ComparedPairs,
}

struct Group {
    by: OperationKey,
    class: u32,
}

#[derive(Default)]
struct ExecutionClass {
    // Last entry of each chain.
    chains: BTreeMap<ChainId, u32>,
    // Epochs of the last entries, if there are more than a block of them.
    last: Option<Clock>,
    groups: u32,
}

// An execution. The entries of one class and chain form a list. invariant: a list is in the order of steps, and so of
// epochs
struct Execution {
    group: u32,
    earlier: u32,
    later: u32,
    when: ExecutionTime,
}

// Pairs of asker and group that can bring nothing new, at a place with many comparisons.
#[derive(Default)]
struct ComparedPairs {
    groups: BTreeSet<(ExecutionKey, u32)>,
    // Number of such groups of each class.
    classes: BTreeMap<(ExecutionKey, u32), u32>,
}

// The properties of an execution that decide which pair it makes with another one, and of what kind.
type ExecutionKey = (SiteId, Option<ThreadId>);

/// An entry that an execution is not ordered with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct UnorderedEntry {
    group: u32,
    step: u64,
    entry: u32,
}

/// An execution that is compared with earlier ones.
#[derive(Clone, Copy)]
pub(in crate::detect) struct ExecutionQuery<'m> {
    pub(in crate::detect) world: &'m World,
    pub(in crate::detect) watch: &'m RunState,
    pub(in crate::detect) act: &'m Act,
    /// Its context in the hybrid relation.
    pub(in crate::detect) now: &'m ContextClock,
    /// Whether the execution is an access, so that its pairs have ranks.
    pub(in crate::detect) is_access: bool,
}

impl ExecutionQuery<'_> {
    fn rank(&self, old: &ExecutionTime) -> Rank {
        if self.is_access { self.watch.rank(old, self.act.when.context) } else { Rank::Order }
    }

    // The most suspicious rank that a pair can have.
    fn least(&self) -> Rank {
        if self.is_access { Rank::Unordered } else { Rank::Order }
    }
}

impl<W> Default for Executions<W> {
    fn default() -> Self {
        Self {
            groups: Vec::new(),
            ids: BTreeMap::new(),
            classes: Vec::new(),
            class_ids: BTreeMap::new(),
            entries: Vec::new(),
            latest: BTreeMap::new(),
            looked: 0,
            pairs: 0,
            full: false,
            done: ComparedPairs::default(),
        }
    }
}

impl<W: Copy + Ord> Executions<W> {
    /// Keeps an execution in place of the last one of its group and chain. Returns the number of its class, and
    /// whether the class is new.
    pub(in crate::detect) fn keep(&mut self, by: OperationKey, what: W, when: ExecutionTime) -> (usize, bool) {
        let group = *self.ids.entry((what, by)).or_insert(self.groups.len() as u32);
        let mut is_new = false;
        if group as usize == self.groups.len() {
            let class = *self.class_ids.entry((what, by.looper, by.lockset)).or_insert(self.classes.len() as u32);
            is_new = class as usize == self.classes.len();
            if is_new {
                self.classes.push(ExecutionClass::default());
            }
            self.classes[class as usize].groups += 1;
            self.groups.push(Group { by, class });
        }
        let class = self.groups[group as usize].class as usize;
        let chain = when.at.chain();
        let entry = *self.latest.entry((group, chain)).or_insert(self.entries.len() as u32);
        if entry as usize == self.entries.len() {
            self.entries.push(Execution { group, earlier: NONE, later: NONE, when });
        } else {
            self.take_out(class, entry);
        }
        // The entry becomes the last one of its class and chain.
        let class_of = &mut self.classes[class];
        let earlier = class_of.chains.insert(chain, entry).unwrap_or(NONE);
        class_of.note(&self.entries, when);
        self.entries[entry as usize] = Execution { group, earlier, later: NONE, when };
        if earlier != NONE {
            self.entries[earlier as usize].later = entry;
        }
        (class, is_new)
    }

    fn take_out(&mut self, class: usize, entry: u32) {
        let Execution { earlier, later, when, .. } = self.entries[entry as usize];
        if earlier != NONE {
            self.entries[earlier as usize].later = later;
        }
        if later != NONE {
            self.entries[later as usize].earlier = earlier;
        } else if earlier != NONE {
            self.classes[class].chains.insert(when.at.chain(), earlier);
        } else {
            self.classes[class].chains.remove(&when.at.chain());
        }
    }

    /// Returns the first step whose executions are new to an execution like the last one on this chain. The last one
    /// was compared with everything before it, and an execution that is not ordered with the new one was not ordered
    /// with the last one either. A thread in a loop thus pays for what happened in between, not for all threads that
    /// ever existed.
    pub(in crate::detect) fn since(&self, by: OperationKey, what: W, chain: ChainId) -> u64 {
        let entry = self.ids.get(&(what, by)).and_then(|group| self.latest.get(&(*group, chain)));
        entry.map_or(0, |entry| self.entries[*entry as usize].when.step + 1)
    }

    /// Whether the group exists.
    pub(in crate::detect) fn is_known(&self, by: OperationKey, what: W) -> bool {
        self.ids.contains_key(&(what, by))
    }

    /// Compares an execution with those from step `since` on whose kind is in one of the ranges `partners` and that
    /// no common lock keeps apart (if `keeps_apart`).
    pub(in crate::detect) fn compare(
        &mut self,
        query: ExecutionQuery<'_>,
        partners: &[(W, W)],
        (since, keeps_apart): (u64, bool),
        found: &mut PairFindings,
        place: impl Fn() -> (ConflictPlace, String),
    ) {
        if self.full {
            return;
        }
        let mut classes = Vec::new();
        let by = &query.act.by;
        for (from, to) in partners {
            let (from, to) = ((*from, None, LocksetId(0)), (*to, Some(ThreadId(u32::MAX)), LocksetId(u32::MAX)));
            let alike = self.class_ids.range(from..=to);
            let apart =
                |looper, lockset| keeps_apart && query.watch.guarded(&OperationKey { looper, lockset, ..*by }, by);
            classes
                .extend(alike.filter(|((_, looper, lockset), _)| !apart(*looper, *lockset)).map(|(_, class)| *class));
        }
        self.compare_classes(query, classes.into_iter().map(|class| class as usize), since, found, place);
    }

    /// Compares an execution with those of these classes from step `since` on.
    pub(in crate::detect) fn compare_classes(
        &mut self,
        query: ExecutionQuery<'_>,
        classes: impl IntoIterator<Item = usize>,
        since: u64,
        found: &mut PairFindings,
        place: impl Fn() -> (ConflictPlace, String),
    ) {
        if self.full {
            return;
        }
        let asker = (query.act.by.site, query.act.by.looper);
        let is_crowded = self.looked >= MOST_LOOKED;
        let most = if is_crowded { MOST_OF_ONE } else { usize::MAX };
        let mut hits = Vec::new();
        for class in classes {
            if is_crowded && self.done.classes.get(&(asker, class as u32)) == Some(&self.classes[class].groups) {
                continue;
            }
            if !self.unordered(class, query.now, since, hits.len().saturating_add(most), &mut hits) {
                found.leave_out(place().1);
            }
        }
        self.looked += hits.len() as u64;
        // By group, and in a group by step, so that the evidence of a new pair is its earliest execution.
        hits.sort_unstable();
        for alike in hits.chunk_by(|a, b| a.group == b.group) {
            let Group { by: old, class } = &self.groups[alike[0].group as usize];
            let whens = alike.iter().map(|hit| &self.entries[hit.entry as usize].when);
            let room = (&mut self.pairs, found.most);
            let Some(candidate) = found.compare(query, old, &self.entries[alike[0].entry as usize].when, room, &place)
            else {
                self.full = true;
                return found.leave_out(place().1);
            };
            candidate.count += alike.len() as u64;
            for was in whens {
                if candidate.rank == query.least() {
                    break;
                }
                candidate.rank = candidate.rank.min(query.rank(was));
            }
            if is_crowded && candidate.rank == query.least() && self.done.groups.insert((asker, alike[0].group)) {
                *self.done.classes.entry((asker, *class)).or_default() += 1;
            }
        }
    }

    // Adds the entries of a class from step `since` on that are not before `now`. Returns false if there are more, so
    // that `hits` would have more than `most` entries.
    fn unordered(
        &self,
        class: usize,
        now: &ContextClock,
        since: u64,
        most: usize,
        hits: &mut Vec<UnorderedEntry>,
    ) -> bool {
        let mut chain = |last: u32| {
            let mut entry = last;
            while entry != NONE {
                let Execution { group, earlier, when, .. } = &self.entries[entry as usize];
                // All earlier entries of the chain are before `now`, too, or before `since`.
                if when.step < since || when.at.is_before(now) {
                    break;
                }
                if hits.len() >= most {
                    return false;
                }
                hits.push(UnorderedEntry { group: *group, step: when.step, entry });
                entry = *earlier;
            }
            true
        };
        let ExecutionClass { chains, last, .. } = &self.classes[class];
        let Some(last) = last else { return chains.values().all(|last| chain(*last)) };
        (0..last.len()).filter(|block| last.block(*block).is_some_and(|theirs| !now.knows(*block, theirs))).all(
            |block| {
                let first = block * WIDTH;
                let chains = chains.range(ChainId(first as u32)..ChainId((first + WIDTH) as u32));
                chains.into_iter().all(|(_, last)| chain(*last))
            },
        )
    }
}

impl ExecutionClass {
    // Records the epoch of an execution that is now the last one of its chain.
    fn note(&mut self, entries: &[Execution], when: ExecutionTime) {
        match &mut self.last {
            Some(last) => last.learn(when.at.hybrid()),
            None if self.chains.len() > WIDTH => {
                let mut last = Clock::default();
                self.chains.values().for_each(|entry| last.learn(entries[*entry as usize].when.at.hybrid()));
                last.learn(when.at.hybrid());
                self.last = Some(last);
            }
            None => {}
        }
    }
}
