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
//! enough; the posts of one class in one chain are in FIFO order themselves). A begin costs a binary search for each chain that its post
//! knows, and for each class in which that chain has posted.

use super::clock::{ChainId, Clock, INIT, Point};
use crate::world::Class;
use std::collections::BTreeMap;
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
    // By the chains of their posters. invariant: ascending by class and own chain
    by_poster: BTreeMap<ChainId, Vec<Row>>,
}

// Tasks of one class that one chain has posted.
struct Row {
    class: Class,
    // Their own chain, if the class is not FIFO; else 0.
    own: ChainId,
    // invariant: ascending by post; a later one ended later, and after the earlier one in happens-before
    tasks: Vec<Entry>,
}

struct Entry {
    // The epoch of the post, and that of the end.
    post: u32,
    end: Point,
    ended: Arc<Ended>,
}

impl Tasks {
    /// A task has ended.
    pub(super) fn add(&mut self, ended: Ended, post: Option<Point>, class: Option<Class>) {
        let (begin, end) = (ended.begin, ended.end);
        let ended = Arc::new(ended);
        self.by_chain.entry(begin.chain).or_default().push(ended.clone());
        let (Some(Point { chain: poster, epoch: post }), Some(class)) = (post, class) else { return };
        let own = if class.is_fifo() { INIT } else { begin.chain };
        let rows = self.by_poster.entry(poster).or_default();
        let at = rows.binary_search_by_key(&(class, own), |row| (row.class, row.own)).unwrap_or_else(|at| {
            rows.insert(at, Row { class, own, tasks: Vec::new() });
            at
        });
        let tasks = &mut rows[at].tasks;
        // By FIFO; and two front posts of one chain whose tasks share a chain, out of order, cannot be: the second task would have to be before
        // the begin of the first, which only the first post and what began before it are.
        debug_assert!(tasks.last().is_none_or(|task| task.post < post), "in the order of their posts");
        tasks.push(Entry { post, end, ended });
    }

    /// Lets `clock`, that of the task of this message, learn the ends that FIFO and NOPRE put before its begin. Returns the chains of tasks that were
    /// news.
    pub(super) fn teach(&self, posted: &Posted, clock: &mut Clock) -> Vec<ChainId> {
        let mut news = Vec::new();
        let mut learn = |end: Point, ended: &Ended| {
            if !clock.has(end) {
                clock.join(&ended.clock);
                news.push(end.chain);
            }
        };
        for Point { chain, epoch } in posted.clock.points() {
            if let Some(tasks) = self.by_chain.get(&chain) {
                let early = tasks.partition_point(|task| task.begin.epoch <= epoch);
                if let Some(task) = tasks[..early].last() {
                    learn(task.end, task);
                }
            }
            let (Some(rows), Some(class)) = (self.by_poster.get(&chain), posted.class) else { continue };
            // The longest delay first: it has ended last, and the others are no news.
            for row in rows.iter().rev().filter(|row| row.class.precedes(class)) {
                let early = row.tasks.partition_point(|task| task.post <= epoch);
                if let Some(task) = row.tasks[..early].last() {
                    learn(task.end, &task.ended);
                }
            }
        }
        news
    }

    /// The last tasks of all chains.
    pub(super) fn last(&self) -> impl Iterator<Item = &Arc<Ended>> {
        self.by_chain.values().filter_map(|tasks| tasks.last())
    }
}
