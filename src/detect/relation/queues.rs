//! FIFO and NOPRE: which earlier tasks of a looper are before a task that begins.
//!
//! Both rules depend only on the *post* of the task, so that one lookup in the clock of the post decides:
//!
//! - NOPRE: the begin of e1 is before the post of e2. A task runs to its end, and e2 was not in the queue when e1
//!   began.
//! - FIFO: the post of e1 is before the post of e2, and e1's message can neither be behind e2's nor be overtaken by
//!   it ([`PostClass::precedes`]).
//!
//! In either case e1 ends before e2 begins, in every run that has both.
//!
//! Of the tasks before e2 only those matter that are not before another one of them. Ended tasks are therefore kept
//! by chain: for NOPRE by their own chain (the last one that began early enough), for FIFO by their poster's chain
//! and by class (the last one that was posted early enough; the posts of one class in one chain are in FIFO order
//! themselves).
//!
//! # Cost
//!
//! A begin looks at the chains that its post knows, 32 at once: if it knows the tasks of all of them, and the tasks
//! that they have posted, to their ends, it skips them together. For a chain that has posted with many different
//! delays it looks only at the delays that have a post which is not before another one that was found (`delayed`).
//! Posts to the front are skipped once all of their tasks are known.

use super::clock::{ChainId, Clock, ClockBlock, Point, WIDTH, knows};
use super::delayed::{DelayedTask, DelayedTasks};
use super::lanes::ChainSet;
use crate::base::{Id, bits_of};
use crate::event::ContextId;
use crate::world::{PostClass, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A message whose task has not begun.
pub(in crate::detect) struct PostedMessage {
    /// Knowledge at the post, the post included.
    pub(in crate::detect) clock: Clock,
    /// The post; `None` for a firing, which has no poster. A context that knows the firing knows the begin of its
    /// task, so that NOPRE covers the case.
    pub(in crate::detect) post: Option<Point>,
    /// Class of the message in the queue; `None` if it is not known.
    pub(in crate::detect) class: Option<PostClass>,
}

/// A task that has ended.
pub(in crate::detect) struct EndedMessage {
    /// The context of the task.
    pub(in crate::detect) context: ContextId,
    /// First epoch of the task.
    pub(in crate::detect) begin: Point,
    /// Last epoch of the task, in the same chain.
    pub(in crate::detect) end: Point,
    /// Knowledge at the end of the task, the end included.
    pub(in crate::detect) clock: Clock,
}

/// The ended tasks of one looper.
#[derive(Default)]
pub(in crate::detect) struct Tasks {
    // Tasks by their own chains. invariant: ascending by begin
    by_chain: BTreeMap<ChainId, Vec<Arc<EndedMessage>>>,
    // End of the last task of each chain.
    last: Clock,
    by_poster: BTreeMap<ChainId, ChainPosts>,
    // The keys of `by_chain` and of `by_poster`.
    chains: ChainSet,
    posters: ChainSet,
    // By block of posters: the ends of the last tasks that they have posted. A clock that knows all of these learns
    // nothing from their posts.
    posted_ends: Vec<Clock>,
}

// Tasks that one chain has posted.
#[derive(Default)]
struct ChainPosts {
    delayed: DelayedTasks,
    // Posts to the front, which are not FIFO, by class and by their own chain.
    front: BTreeMap<(PostClass, ChainId), Vec<DelayedTask>>,
    // End of the last front post's task in each chain.
    front_ends: Clock,
}

impl Tasks {
    /// Adds a task that has ended.
    pub(in crate::detect) fn add(
        &mut self,
        ended: impl Into<Arc<EndedMessage>>,
        post: Option<Point>,
        class: Option<PostClass>,
    ) {
        let ended = ended.into();
        let (begin, end) = (ended.begin, ended.end);
        self.by_chain.entry(begin.chain).or_insert_with(|| Vec::with_capacity(1)).push(ended.clone());
        self.chains.insert(begin.chain);
        self.last.learn(end);
        // FIFO puts no task after an idle handler.
        let class = class.filter(|class| class.time != Time::Idle);
        let (Some(Point { chain: poster, epoch: post }), Some(class)) = (post, class) else { return };
        let block = poster.0 as usize / WIDTH;
        if self.posted_ends.len() <= block {
            self.posted_ends.resize_with(block + 1, Clock::default);
        }
        self.posted_ends[block].learn(end);
        self.posters.insert(poster);
        let poster = self.by_poster.entry(poster).or_default();
        let entry = DelayedTask { post, end, ended };
        if class.is_fifo() {
            poster.delayed.add(class, entry);
            return;
        }
        let tasks = poster.front.entry((class, begin.chain)).or_default();
        // Posts to the front are last in, first out. What knows an earlier post than those of the tasks that ended
        // before this one on its chain follows this task, and thereby all of them.
        while tasks.last().is_some_and(|task| task.post > post) {
            tasks.pop();
        }
        tasks.push(entry);
        poster.front_ends.learn(end);
    }

    /// Adds to `clock`, the clock of the task of this message, the ends that FIFO and NOPRE put before its begin.
    /// Returns the chains of the tasks that were new to it.
    pub(in crate::detect) fn teach(&self, posted: &PostedMessage, clock: &mut Clock) -> Vec<ChainId> {
        let mut news = Vec::new();
        for number in 0..posted.clock.len() {
            let (own, posters) = (self.chains.of(number), self.posters.of(number));
            let Some(known) = posted.clock.block(number).filter(|_| own | posters != 0) else { continue };
            let is_news = self.last.block(number).is_some_and(|last| is_news(known, last, clock.block(number)));
            let may_follow = self.posted_ends.get(number).is_some_and(|ends| !clock.covers(ends));
            let chains = if is_news { own } else { 0 } | if may_follow { posters } else { 0 };
            for k in bits_of(chains.into()).filter(|k| known[*k] > 0) {
                let point = Point { chain: ChainId::new(number * WIDTH + k), epoch: known[k] };
                self.teach_of(point, posted.class, clock, &mut news);
            }
        }
        news
    }

    // Adds the ends that FIFO and NOPRE derive from this point alone, if the post knows it.
    fn teach_of(
        &self,
        Point { chain, epoch }: Point,
        class: Option<PostClass>,
        clock: &mut Clock,
        news: &mut Vec<ChainId>,
    ) {
        let mut learn = |end: Point, ended: &EndedMessage, clock: &mut Clock| {
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
        let Some((ChainPosts { delayed, front, front_ends }, class)) = self.by_poster.get(&chain).zip(class) else {
            return;
        };
        // The longest delay comes first: its task has ended last, so that most others are known then.
        for DelayedTask { end, ended, .. } in delayed.before(class, epoch) {
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

    /// Adds to `clock` the ends of the tasks of which `arrived` knows something that `before` does not know, because
    /// tasks of one looper run one after another. Returns these tasks, if `before` did not know them to their ends.
    /// `clock` must know both.
    pub(in crate::detect) fn complete(
        &self,
        before: &Clock,
        arrived: &Clock,
        clock: &mut Clock,
    ) -> Vec<Arc<EndedMessage>> {
        let mut found = Vec::new();
        for number in 0..arrived.len() {
            let Some(theirs) = arrived.block(number) else { continue };
            let mine = before.block(number);
            let is_known = mine.is_some_and(|mine| knows(mine, theirs));
            if is_known || !self.last.block(number).is_some_and(|last| is_news(theirs, last, mine)) {
                continue;
            }
            for k in bits_of(self.chains.of(number).into()) {
                let Some(tasks) = self.by_chain.get(&ChainId::new(number * WIDTH + k)) else { continue };
                let early = tasks.partition_point(|task| task.begin.epoch <= theirs[k]);
                if let Some(task) = tasks[..early].last().filter(|task| !before.has(task.end)) {
                    clock.join(&task.clock);
                    found.push(task.clone());
                }
            }
        }
        found
    }

    /// Returns the last task of each chain.
    pub(in crate::detect) fn last(&self) -> impl Iterator<Item = &Arc<EndedMessage>> {
        self.by_chain.values().filter_map(|tasks| tasks.last())
    }
}

// Whether a block that knows something of some chains may show ends of their tasks, the last of which are given, that
// `mine` does not know. Chains of which the block knows nothing do not count: most tasks without an order are of these.
fn is_news(known: &ClockBlock, last: &ClockBlock, mine: Option<&Arc<ClockBlock>>) -> bool {
    let mine = mine.map_or(&[0; WIDTH], |mine| &**mine);
    (0..WIDTH).fold(false, |any, k| any | (known[k] > 0 && last[k] > mine[k]))
}
