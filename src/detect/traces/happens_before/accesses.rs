//! Finds the unordered accesses of each location: all pairs of statements, each with its class.
//!
//! A location keeps one entry for each context, statement and kind, that of the latest access: a later access that is
//! not after an earlier one is not after the latest one either. (A summary of the last accesses, as FastTrack's,
//! would lose pairs of statements.) Accesses between two operations that send something are one node (DroidRacer,
//! section 6), so that repetitions cost nothing.
//!
//! When a list grows long, entries that can bring no new pair of statements are dropped: those that are st-before a
//! later entry of the same thread and statement. Beyond [`MOST_ENTRIES`] the oldest entries are dropped, and the
//! analysis reports that it has lost some.

use super::classes::Classes;
use super::locksets::{Lockset, Locksets};
use super::race::{Race, RaceClass};
use crate::base::IndexVec;
use crate::detect::Rank;
use crate::detect::relation::clock::Point;
use crate::trace::{LocationNo, OpNo, SiteNo, ThreadNo, Trace};
use indexmap::map::Entry;
use indexmap::{IndexMap, IndexSet};
use xxhash_rust::xxh3::Xxh3Builder;

/// Maximum number of unordered entries of one location and kind.
pub(super) const MOST_ENTRIES: u32 = 4096;
/// Maximum number of races of one location that are reported.
const MOST_RACES: u32 = 1024;
// Length from which on a list is searched for entries that can bring nothing new.
const LONG: u32 = 64;
const NONE: u32 = u32::MAX;

// The lock sets of the trace, and the lock set that the access holds; `None` if locks are edges.
type Locks<'l> = Option<(&'l Locksets, Lockset)>;
// Two statements, or contexts where statements are not known.
type Ends = (u64, u64);

/// What the search for races uses of a relation; `C` is a running context.
pub(in crate::detect) trait AccessQuery<C> {
    /// Returns a context's place in the trace and in the relation.
    fn place(&self, now: &C) -> Place;
    /// Whether a point is before the current operation of a context.
    fn is_before(&self, point: Point, now: &C) -> bool;
    /// Whether a point of a thread is before the current operation of a context of the same thread, by a path on this
    /// thread alone if the relation tells such paths from others.
    fn is_st_before(&self, point: (Point, ThreadNo), now: &C) -> bool;
    /// Returns the class of an unordered pair: an earlier access of the context `old`, and the current operation.
    fn class(&self, classes: &Classes<'_>, old: (OpNo, u32), now: &C) -> RaceClass;
    /// Returns the rank of an unordered pair: an earlier access of the context `old`, and the current operation.
    fn rank(&self, classes: &Classes<'_>, old: (OpNo, u32), now: &C) -> Rank;
}

/// The place of a running context.
#[derive(Clone, Copy)]
pub(in crate::detect) struct Place {
    /// Operation with which the context began.
    pub(in crate::detect) since: OpNo,
    /// The context's number: that of the thread, or the number of threads and the task's.
    pub(in crate::detect) number: u32,
    /// Current point of the context.
    pub(in crate::detect) at: Point,
    /// Whether a filter is about the current access. Accesses of one statement that differ in this are kept apart.
    pub(in crate::detect) is_filtered: bool,
}

/// The accesses so far, and the races.
pub(in crate::detect) struct Accesses<'t> {
    trace: &'t Trace,
    places: IndexVec<LocationNo, Lists>,
    entries: Vec<AccessEntry>,
    // First entry of the list of unused places in `entries`.
    free: u32,
    merging: bool,
    // Whether only a read and a write conflict: a use and a free.
    of_uses: bool,
    found: IndexMap<(LocationNo, Ends, RaceClass), Race, Xxh3Builder>,
    // Statements (or contexts) in the races of each location.
    ends: IndexSet<(LocationNo, u64), Xxh3Builder>,
    lost: bool,
}

#[derive(Clone, Copy)]
struct Lists {
    reads: AccessList,
    writes: AccessList,
    // Number of races of this location.
    races: u32,
}

// A list of entries, the latest first.
#[derive(Clone, Copy)]
struct AccessList {
    head: u32,
    len: u32,
    // Length at which the list is tidied next.
    long: u32,
}

#[derive(Clone, Copy)]
struct AccessEntry {
    next: u32,
    context: u32,
    at: Point,
    site: SiteNo,
    // invariant: a list is descending by `op`
    op: OpNo,
    lockset: Lockset,
    is_filtered: bool,
}

impl AccessEntry {
    // Whether the two accesses make the same pairs with others, as far as their order lets them.
    fn is_alike(&self, other: &AccessEntry) -> bool {
        (self.site, self.lockset, self.is_filtered) == (other.site, other.lockset, other.is_filtered)
    }
}

impl AccessList {
    const EMPTY: AccessList = AccessList { head: NONE, len: 0, long: LONG };
}

impl<'t> Accesses<'t> {
    /// `merging`: whether accesses of one node count once.
    pub(in crate::detect) fn new(trace: &'t Trace, merging: bool) -> Self {
        let lists = Lists { reads: AccessList::EMPTY, writes: AccessList::EMPTY, races: 0 };
        Self {
            trace,
            places: trace.places.iter().map(|_| lists).collect(),
            entries: Vec::new(),
            free: NONE,
            merging,
            of_uses: false,
            found: IndexMap::with_hasher(Xxh3Builder::new()),
            ends: IndexSet::with_hasher(Xxh3Builder::new()),
            lost: false,
        }
    }

    /// Returns the accesses of a trace for use-free races, in which a read is a use and a write is a free. Only a use
    /// and a free conflict, and each race shows its most suspicious pair of accesses.
    pub(in crate::detect) fn of_uses(trace: &'t Trace) -> Self {
        Self { of_uses: true, ..Self::new(trace, false) }
    }

    /// Processes an access of a context to a location. With `locks`, a common lock keeps two threads apart.
    pub(in crate::detect) fn compare<C>(
        &mut self,
        order: &impl AccessQuery<C>,
        classes: &Classes<'_>,
        (now, locks): (&C, Locks<'_>),
        op: OpNo,
        (at, writes): (LocationNo, bool),
    ) {
        let lockset = locks.map_or(Lockset::EMPTY, |(_, lockset)| lockset);
        let Place { since: began, number, at: point, is_filtered } = order.place(now);
        let site = self.trace.ops[op].site;
        let new = AccessEntry { next: NONE, context: number, at: point, site, op, lockset, is_filtered };
        let Lists { reads, writes: written, .. } = self.places[at];
        let mine = if writes { written } else { reads };
        let known = self.find(mine, &new, began);
        let last = known.map(|(_, known)| self.entries[known as usize]);
        if self.merging && last.is_some_and(|last| last.at == new.at) {
            return;
        }
        // Entries older than the last access of this context and statement were compared with it: no pair with the
        // new access would be new.
        let since = last.map_or(OpNo(0), |last| last.op);
        if !(writes && self.of_uses) {
            self.compare_all(order, classes, (now, locks), &new, (at, written, since));
        }
        if writes {
            self.compare_all(order, classes, (now, locks), &new, (at, reads, since));
        }
        match known {
            Some((before, known)) => {
                let entry = &mut self.entries[known as usize];
                (entry.at, entry.op) = (new.at, new.op);
                // The entry is the latest one now.
                if let Some(before) = before {
                    let next = std::mem::replace(&mut entry.next, mine.head);
                    self.entries[before as usize].next = next;
                    let lists = &mut self.places[at];
                    (if writes { &mut lists.writes } else { &mut lists.reads }).head = known;
                }
            }
            None => {
                let mut list = mine;
                if list.len >= list.long {
                    self.tidy(order, now, &new, &mut list);
                }
                let place = self.add(AccessEntry { next: list.head, ..new });
                list.head = place;
                list.len += 1;
                let lists = &mut self.places[at];
                *(if writes { &mut lists.writes } else { &mut lists.reads }) = list;
            }
        }
    }

    // Returns the entry of the same context and statement, and the entry before it in the list. The search ends at
    // entries older than the context, which belong to others.
    fn find(&self, list: AccessList, new: &AccessEntry, since: OpNo) -> Option<(Option<u32>, u32)> {
        let (mut before, mut at) = (None, list.head);
        while at != NONE {
            let entry = &self.entries[at as usize];
            if entry.op < since {
                return None;
            }
            if entry.context == new.context && entry.is_alike(new) {
                return Some((before, at));
            }
            (before, at) = (Some(at), entry.next);
        }
        None
    }

    fn compare_all<C>(
        &mut self,
        order: &impl AccessQuery<C>,
        classes: &Classes<'_>,
        (now, locks): (&C, Locks<'_>),
        new: &AccessEntry,
        (place, list, since): (LocationNo, AccessList, OpNo),
    ) {
        // If so, no race of this access is reported: it matters only whether there would have been one.
        let is_left_out = self.places[place].races >= MOST_RACES && !self.ends.contains(&(place, end(new)));
        let mut at = list.head;
        while at != NONE {
            let old = self.entries[at as usize];
            if old.op < since || is_left_out && self.lost {
                return;
            }
            let guarded = || {
                let apart = locks.is_some_and(|(sets, lockset)| sets.exclude(old.lockset, lockset));
                apart && classes.task_of(old.context).0 != classes.task_of(new.context).0
            };
            if old.context != new.context && !order.is_before(old.at, now) && !guarded() {
                let class = order.class(classes, (old.op, old.context), now);
                let rank = order.rank(classes, (old.op, old.context), now);
                let (x, y) = (end(&old), end(new));
                let key = (place, (x.min(y), x.max(y)), class.group());
                let fresh = || Race {
                    location: place,
                    first: old.op,
                    second: new.op,
                    tasks: (classes.task_of(old.context).1, classes.task_of(new.context).1),
                    class,
                    rank,
                    count: 1,
                    covered_by: None,
                    filter: None,
                };
                let races = &mut self.places[place].races;
                match self.found.entry(key) {
                    Entry::Occupied(known) => {
                        let race = known.into_mut();
                        race.count += 1;
                        if self.of_uses && rank < race.rank || class > race.class {
                            *race = Race { count: race.count, rank: rank.min(race.rank), ..fresh() };
                        }
                        race.rank = race.rank.min(rank);
                    }
                    Entry::Vacant(free) if *races < MOST_RACES => {
                        *races += 1;
                        free.insert(fresh());
                        self.ends.extend([(place, x), (place, y)]);
                    }
                    Entry::Vacant(_) => self.lost = true,
                }
            }
            at = old.next;
        }
    }

    fn add(&mut self, entry: AccessEntry) -> u32 {
        if self.free == NONE {
            self.entries.push(entry);
            return self.entries.len() as u32 - 1;
        }
        let place = self.free;
        self.free = self.entries[place as usize].next;
        self.entries[place as usize] = entry;
        place
    }

    // Drops entries that can bring no new pair of statements, as far as the new access shows, and the oldest entries
    // if there are too many.
    fn tidy<C>(&mut self, order: &impl AccessQuery<C>, now: &C, new: &AccessEntry, list: &mut AccessList) {
        let (mut kept, mut last, mut at) = (0, NONE, list.head);
        while at != NONE {
            let entry = self.entries[at as usize];
            let is_news = !entry.is_alike(new) || !order.is_st_before((entry.at, self.trace.ops[entry.op].thread), now);
            if is_news && kept + 1 < MOST_ENTRIES {
                match last {
                    NONE => list.head = at,
                    last => self.entries[last as usize].next = at,
                }
                last = at;
                kept += 1;
            } else {
                self.lost |= is_news;
                self.entries[at as usize].next = self.free;
                self.free = at;
            }
            at = entry.next;
        }
        match last {
            NONE => list.head = NONE,
            last => self.entries[last as usize].next = NONE,
        }
        list.len = kept;
        list.long = LONG.max(2 * kept).min(MOST_ENTRIES);
    }

    /// Returns the races in the order of the trace, and whether dropped entries could have brought more.
    pub(in crate::detect) fn finish(self) -> (Vec<Race>, bool) {
        let mut races: Vec<Race> = self.found.into_values().collect();
        races.sort_by_key(|race| (race.second, race.first, race.class));
        (races, self.lost)
    }
}

// Identifies an access in a pair: by its statement, or its context if the statement is not known.
fn end(entry: &AccessEntry) -> u64 {
    match entry.site {
        SiteNo::NONE => 1 << 32 | u64::from(entry.context),
        site => u64::from(site.0),
    }
}
