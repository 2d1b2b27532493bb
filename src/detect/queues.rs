//! FIFO and NOPRE: which earlier tasks of a looper are before a task that begins.
//!
//! Both look at the task's *post* only, so that one question to its clock decides:
//!
//! - NOPRE: the begin of e1 is before the post of e2. A task runs to its end, and e2 was not in the queue when e1 began.
//! - FIFO: the post of e1 is before the post of e2, and e1's message cannot stand behind e2's, nor be passed by it ([`Class::precedes`]).
//!
//! In either case e1 ends before e2 begins, in every run that has both.
//!
//! Of the tasks that are before e2 only those count that are not before another of them, so that the ended tasks are kept by chain: by their
//! own for NOPRE (the last one that began early enough), by their poster's and by class for FIFO (the last one that was posted early
//! enough; the posts of one class in one chain are in FIFO order themselves).
//!
//! # Cost
//!
//! A begin looks at the chains that its post knows, 32 at once: those whose tasks, and the tasks that they have posted, it knows to their ends are skipped together. Of a chain that has posted with many
//! different delays it looks at those alone that have a post which is not before another one that was found (`delayed`); posts to the front are skipped once all of their
//! tasks are known.

use super::clock::{ChainId, Clock, Point, WIDTH, knows};
use super::delayed::{Delayed, Entry};
use crate::world::{Class, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A message that waits to begin.
pub(super) struct Posted {
    /// What is before its post, the post itself included.
    pub(super) clock: Clock,
    /// The post; `None` if nobody performed it (a firing). What knows a firing knows its task's begin, and NOPRE serves.
    pub(super) post: Option<Point>,
    /// Its place in the queue; `None` if it is not known.
    pub(super) class: Option<Class>,
}

/// A task that has ended.
pub(super) struct Ended {
    /// Its first epoch.
    pub(super) begin: Point,
    /// Its last epoch, of the same chain.
    pub(super) end: Point,
    /// What is before its end, which is included.
    pub(super) clock: Clock,
}

/// The tasks of one looper that have ended.
#[derive(Default)]
pub(super) struct Tasks {
    // By their own chains. invariant: ascending by begin
    by_chain: BTreeMap<ChainId, Vec<Arc<Ended>>>,
    // The ends of the last ones.
    last: Clock,
    by_poster: BTreeMap<ChainId, Poster>,
    // By block of posters: the ends of the last tasks that they have posted. What knows all of these learns nothing from their posts.
    posted_ends: Vec<Clock>,
}

// Tasks that one chain has posted.
#[derive(Default)]
struct Poster {
    delayed: Delayed,
    // Posts to the front, which are not FIFO: by their own chains.
    front: BTreeMap<(Class, ChainId), Vec<Entry>>,
    // The ends of the last ones of those.
    front_ends: Clock,
}

impl Tasks {
    /// A task has ended.
    pub(super) fn add(&mut self, ended: Ended, post: Option<Point>, class: Option<Class>) {
        let (begin, end) = (ended.begin, ended.end);
        let ended = Arc::new(ended);
        self.by_chain.entry(begin.chain).or_default().push(ended.clone());
        self.last.learn(end);
        let (Some(Point { chain: poster, epoch: post }), Some(class)) = (post, class) else { return };
        let block = poster.0 as usize / WIDTH;
        if self.posted_ends.len() <= block {
            self.posted_ends.resize_with(block + 1, Clock::default);
        }
        self.posted_ends[block].learn(end);
        let poster = self.by_poster.entry(poster).or_default();
        let entry = Entry { post, end, ended };
        if class.is_fifo() {
            poster.delayed.add(class, entry);
            return;
        }
        let tasks = poster.front.entry((class, begin.chain)).or_default();
        // Two front posts of one chain whose tasks share a chain, out of order, cannot be: the second task would have to be before the begin of the first, which only
        // the first post and what began before it are.
        debug_assert!(tasks.last().is_none_or(|task| task.post < post), "in the order of their posts");
        tasks.push(entry);
        poster.front_ends.learn(end);
    }

    /// Lets `clock`, that of the task of this message, learn the ends that FIFO and NOPRE put before its begin. Returns the chains of tasks that were
    /// news.
    pub(super) fn teach(&self, posted: &Posted, clock: &mut Clock) -> Vec<ChainId> {
        let mut news = Vec::new();
        for number in 0..posted.clock.len() {
            let Some(known) = posted.clock.block(number) else { continue };
            let first = number * WIDTH;
            let block = ChainId(first as u32)..ChainId((first + WIDTH) as u32);
            let ends = |theirs| clock.block(number).is_some_and(|mine| knows(mine, theirs));
            let is_news = !self.last.block(number).is_none_or(|theirs| ends(theirs));
            let may_follow = self.posted_ends.get(number).is_some_and(|ends| !clock.covers(ends));
            let mut chains = BTreeSet::new();
            if may_follow {
                chains.extend(self.by_poster.range(block.clone()).map(|(chain, _)| *chain));
            }
            if is_news {
                chains.extend(self.by_chain.range(block).map(|(chain, _)| *chain));
            }
            for chain in chains {
                match known[chain.0 as usize - first] {
                    0 => {}
                    epoch => self.teach_of(Point { chain, epoch }, posted.class, clock, &mut news),
                }
            }
        }
        news
    }

    // The ends that a post lets know which knows this point, and nothing else.
    fn teach_of(
        &self,
        Point { chain, epoch }: Point,
        class: Option<Class>,
        clock: &mut Clock,
        news: &mut Vec<ChainId>,
    ) {
        let mut learn = |end: Point, ended: &Ended, clock: &mut Clock| {
            if !clock.has(end) {
                clock.join(&ended.clock);
                news.push(end.chain);
            }
        };
        if let Some(tasks) = self.by_chain.get(&chain) {
            let early = tasks.partition_point(|task| task.begin.epoch <= epoch);
            if let Some(task) = tasks[..early].last() {
                learn(task.end, task, clock);
            }
        }
        let Some((Poster { delayed, front, front_ends }, class)) = self.by_poster.get(&chain).zip(class) else {
            return;
        };
        // The longest delay first: it has ended last, and most others are no news.
        for Entry { end, ended, .. } in delayed.before(class, epoch) {
            learn(*end, ended, clock);
        }
        if class.time == Time::Front || clock.covers(front_ends) {
            return;
        }
        for tasks in front.iter().rev().filter(|((of, _), _)| of.precedes(class)).map(|(_, tasks)| tasks) {
            if let Some(task) = tasks[..tasks.partition_point(|task| task.post <= epoch)].last() {
                learn(task.end, &task.ended, clock);
            }
        }
    }

    /// The last tasks of all chains.
    pub(super) fn last(&self) -> impl Iterator<Item = &Arc<Ended>> {
        self.by_chain.values().filter_map(|tasks| tasks.last())
    }
}
