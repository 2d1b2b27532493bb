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

use super::arena::Arena;
use super::classes::Classes;
use super::found::{FoundRaces, RaceEnd};
use super::locksets::{Lockset, Locksets};
use super::race::{Race, RaceClass};
use crate::base::IndexVec;
use crate::detect::Rank;
use crate::detect::relation::clock::Point;
use crate::detect::relation::sets::SetId;
use crate::trace::{LocationNo, OpNo, ThreadNo, Trace};

/// Maximum number of unordered entries of one location and kind.
pub(super) const MOST_ENTRIES: u16 = 4096;
// Length from which on a list is searched for entries that can bring nothing new.
const LONG: u16 = 64;
const NONE: u32 = u32::MAX;

// The lock sets of the trace, and the lock set that the access holds; `None` if locks are edges.
type Locks<'l> = Option<(&'l Locksets, Lockset)>;

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
    entries: Arena<AccessEntry>,
    nodes: Arena<Node>,
    // The latest node of each context.
    latest: Vec<u32>,
    // First entry of the list of unused places in `entries`.
    free: u32,
    merging: bool,
    // Whether only a read and a write conflict: a use and a free.
    of_uses: bool,
    found: FoundRaces,
    // Whether dropped entries could have brought more races.
    lost: bool,
}

#[derive(Clone, Copy)]
struct Lists {
    reads: AccessList,
    writes: AccessList,
}

// A list of entries, the latest first.
#[derive(Clone, Copy)]
struct AccessList {
    head: u32,
    len: u16,
    // Length at which the list is tidied next.
    long: u16,
}

// There is about one entry for each operation, so an entry is small: its context and point are those of its node, and
// its statement is that of its operation.
#[derive(Clone, Copy)]
struct AccessEntry {
    next: u32,
    node: u32,
    // invariant: a list is descending by `op`
    op: OpNo,
    guards: Guards,
}

// The operations of a context between two of its sends.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Node {
    context: u32,
    at: Point,
}

// The lock set of an access, and whether a filter is about it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Guards(u32);

impl Guards {
    fn new(lockset: Lockset, is_filtered: bool) -> Self {
        Self(lockset.0 << 1 | u32::from(is_filtered))
    }

    fn lockset(self) -> Lockset {
        SetId(self.0 >> 1)
    }
}

impl AccessList {
    const EMPTY: AccessList = AccessList { head: NONE, len: 0, long: LONG };
}

impl<'t> Accesses<'t> {
    /// `merging`: whether accesses of one node count once.
    pub(in crate::detect) fn new(trace: &'t Trace, merging: bool) -> Self {
        Self::with(trace, merging, false)
    }

    fn with(trace: &'t Trace, merging: bool, of_uses: bool) -> Self {
        let lists = Lists { reads: AccessList::EMPTY, writes: AccessList::EMPTY };
        Self {
            trace,
            places: trace.places.iter().map(|_| lists).collect(),
            entries: Arena::new(),
            nodes: Arena::new(),
            latest: vec![NONE; trace.threads.len() + trace.tasks.len()],
            free: NONE,
            merging,
            of_uses,
            found: FoundRaces::new(trace.places.len(), of_uses),
            lost: false,
        }
    }

    /// Returns the accesses of a trace for use-free races, in which a read is a use and a write is a free. Only a use
    /// and a free conflict, and each race shows its most suspicious pair of accesses.
    pub(in crate::detect) fn of_uses(trace: &'t Trace) -> Self {
        Self::with(trace, false, true)
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
        let node = self.node(Node { context: number, at: point });
        let new = AccessEntry { next: NONE, node, op, guards: Guards::new(lockset, is_filtered) };
        let Lists { reads, writes: written } = self.places[at];
        let mine = if writes { written } else { reads };
        let known = self.find(mine, &new, began);
        let last = known.map(|(_, known)| self.entries[known]);
        if self.merging && last.is_some_and(|last| last.node == new.node) {
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
                let entry = &mut self.entries[known];
                (entry.node, entry.op) = (new.node, new.op);
                // The entry is the latest one now.
                if let Some(before) = before {
                    let next = std::mem::replace(&mut entry.next, mine.head);
                    self.entries[before].next = next;
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

    // Returns the number of the node.
    fn node(&mut self, node: Node) -> u32 {
        let latest = self.latest[node.context as usize];
        if latest != NONE && self.nodes[latest] == node {
            return latest;
        }
        let number = self.nodes.add(node);
        self.latest[node.context as usize] = number;
        number
    }

    // Whether the two accesses make the same pairs with others, as far as their order lets them.
    fn is_alike(&self, x: &AccessEntry, y: &AccessEntry) -> bool {
        x.guards == y.guards && self.trace.ops[x.op].site == self.trace.ops[y.op].site
    }

    fn end(&self, entry: &AccessEntry) -> RaceEnd {
        RaceEnd::of(self.trace.ops[entry.op].site, self.nodes[entry.node].context)
    }

    // Returns the entry of the same context and statement, and the entry before it in the list. The search ends at
    // entries older than the context, which belong to others.
    fn find(&self, list: AccessList, new: &AccessEntry, since: OpNo) -> Option<(Option<u32>, u32)> {
        let context = self.nodes[new.node].context;
        let (mut before, mut at) = (None, list.head);
        while at != NONE {
            let entry = &self.entries[at];
            if entry.op < since {
                return None;
            }
            if self.nodes[entry.node].context == context && self.is_alike(entry, new) {
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
        let (by, is_left_out) = (self.nodes[new.node], self.found.is_left_out(place, self.end(new)));
        let mut at = list.head;
        while at != NONE {
            let old = self.entries[at];
            if old.op < since || is_left_out && (self.lost || self.found.has_lost()) {
                return;
            }
            let of = self.nodes[old.node];
            let guarded = || {
                let apart = locks.is_some_and(|(sets, lockset)| sets.exclude(old.guards.lockset(), lockset));
                apart && classes.task_of(of.context).0 != classes.task_of(by.context).0
            };
            if of.context != by.context && !order.is_before(of.at, now) && !guarded() {
                let class = order.class(classes, (old.op, of.context), now);
                let rank = order.rank(classes, (old.op, of.context), now);
                let pair = [(&old, of), (new, by)].map(|(entry, node)| (entry.op, node.context, self.end(entry)));
                self.found.add(place, pair, class, rank);
            }
            at = old.next;
        }
    }

    fn add(&mut self, entry: AccessEntry) -> u32 {
        if self.free == NONE {
            return self.entries.add(entry);
        }
        let place = self.free;
        self.free = self.entries[place].next;
        self.entries[place] = entry;
        place
    }

    // Drops entries that can bring no new pair of statements, as far as the new access shows, and the oldest entries
    // if there are too many.
    fn tidy<C>(&mut self, order: &impl AccessQuery<C>, now: &C, new: &AccessEntry, list: &mut AccessList) {
        let (mut kept, mut last, mut at) = (0, NONE, list.head);
        while at != NONE {
            let entry = self.entries[at];
            let (of, thread) = (self.nodes[entry.node].at, self.trace.ops[entry.op].thread);
            let is_news = !self.is_alike(&entry, new) || !order.is_st_before((of, thread), now);
            if is_news && kept + 1 < MOST_ENTRIES {
                match last {
                    NONE => list.head = at,
                    last => self.entries[last].next = at,
                }
                last = at;
                kept += 1;
            } else {
                self.lost |= is_news;
                self.entries[at].next = self.free;
                self.free = at;
            }
            at = entry.next;
        }
        match last {
            NONE => list.head = NONE,
            last => self.entries[last].next = NONE,
        }
        list.len = kept;
        list.long = LONG.max(2 * kept).min(MOST_ENTRIES);
    }

    /// Returns the races in the order of the trace, and whether there may be more: those of entries that were dropped,
    /// or of a location with too many races.
    pub(in crate::detect) fn finish(self, classes: &Classes<'_>) -> (Vec<Race>, bool) {
        let Self { found, lost, entries, nodes, places, .. } = self;
        // The races take their final form, which is larger, in the memory of the accesses.
        drop((entries, nodes, places));
        let lost = lost || found.has_lost();
        (found.finish(classes), lost)
    }
}
