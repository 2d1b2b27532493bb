//! Finds the ended tasks of a looper that are before a task that begins, by FIFO and NOPRE. It reads the logs of
//! those chains that the task's post knows and that can bring something new.
//!
//! Two facts rule out most chains. First, a task of the looper that is before this one is known up to its end, and so
//! is everything that `st` knows through such tasks: NOPRE brings nothing new for a chain that is known that far.
//! Second, a task of the same class that is before this one has already searched for its predecessors, for all posts
//! that its own post knew. [`EndedTask::asked`] contains those posts, and those that its predecessors in turn have
//! searched.

use super::order::TraceOrder;
use super::queue::{EndedTask, PostedTask};
use super::state::{ContextState, NOTHING, news};
use crate::base::{Id, bits_of};
use crate::detect::relation::clock::{ChainId, Clock, ClockBlock, WIDTH, join};
use crate::detect::relation::lanes::Lanes;
use crate::trace::{TaskNo, ThreadNo};
use crate::world::PostClass;
use std::sync::Arc;

// Number of overtaken tasks that are kept as examples.
const MOST_OVERTAKEN: usize = 16;

// A task that begins, and the results of the search for its predecessors.
struct PredecessorSearch<'s> {
    looper: ThreadNo,
    task: TaskNo,
    class: PostClass,
    // State of the task, as known from ended tasks so far.
    state: &'s mut ContextState,
    // The posts for which predecessors were searched.
    asked: Arc<Clock>,
    // Chains of the predecessors.
    followed: Vec<ChainId>,
    // Whether all tasks that should be before this task have ended.
    all_ended: bool,
}

// Chains of a block that are searched: `own` for NOPRE and firings, `posts` for FIFO of posts. `reach` is how far the
// post of the task knows each chain.
struct ChainQuery<'b> {
    block: usize,
    own: Lanes,
    posts: Lanes,
    reach: &'b ClockBlock,
    state: &'b ContextState,
}

impl TraceOrder<'_> {
    // Adds the knowledge of all predecessors to the state of the task. Blocks with later chains come first: their
    // tasks know most of the others. Returns the chains of the predecessors and, if all tasks that should be before
    // this one have ended, the posts that were searched.
    pub(super) fn follow(
        &mut self,
        (looper, task): (ThreadNo, TaskNo),
        posted: &PostedTask,
        state: &mut ContextState,
    ) -> (Vec<ChainId>, Option<Arc<Clock>>) {
        let class = self.trace.tasks[task].class();
        let (asked, followed) = (Arc::default(), Vec::new());
        let mut now = PredecessorSearch { looper, task, class, state, asked, followed, all_ended: true };
        if let Some(base) = self.base(looper, class, posted) {
            self.come_after(base, &mut now);
        }
        for block in (0..posted.state.blocks().min(self.chains.blocks())).rev() {
            let (mut own, mut posts) = (self.chains.lanes(block, looper), self.chains.posted(block, looper));
            if own != 0 {
                // A task that ended before is known up to its end, so that only chains known further than `st` are
                // searched, and those known in part.
                let parts = self.chains.parts(block, looper);
                let parts = if parts == 0 { 0 } else { parts & posted.state.any_news(block, &NOTHING) };
                own &= parts | posted.state.any_news(block, now.state.st_block(block));
            }
            if own | posts == 0 {
                continue;
            }
            let reach = posted.state.reach(block, self.chains.owner_of(block, posted.poster));
            // FIFO can bring something new only for posts that were not searched yet.
            posts &= match (&reach, now.asked.block(block)) {
                (None, _) => 0,
                (Some(reach), Some(known)) if Arc::ptr_eq(reach, known) => 0,
                (Some(reach), known) => news(reach, known.map_or(&NOTHING, |known| known)),
            };
            if let Some(reach) = reach.as_ref().filter(|_| posts != 0) {
                Arc::make_mut(&mut now.asked).learn_block(block, reach);
            }
            let reach = reach.as_deref().unwrap_or(&NOTHING);
            if own | posts != 0 {
                self.follow_chains(&ChainQuery { block, own, posts, reach, state: &posted.state }, &mut now);
            }
        }
        let PredecessorSearch { asked, followed, all_ended, .. } = now;
        (followed, all_ended.then_some(asked))
    }

    // Records that an ended task is before the one that begins.
    fn come_after(&self, task: TaskNo, now: &mut PredecessorSearch<'_>) {
        let Some(EndedTask { end, state, asked }) = self.ended[task].as_deref() else { return };
        if now.state.st(end.chain) >= end.epoch {
            return;
        }
        now.state.join(state);
        now.followed.push(end.chain);
        if let Some(asked) = asked.as_ref().filter(|_| self.trace.tasks[task].class().covers(now.class)) {
            join(&mut now.asked, asked);
        }
    }

    // Returns a task that ends before this one begins and that has searched for predecessors of all messages that
    // matter here: the task that was posted before it in the same way, or the task that posted it or enabled its
    // event.
    fn base(&self, looper: ThreadNo, class: PostClass, posted: &PostedTask) -> Option<TaskNo> {
        let same_row = posted.row.and_then(|(chain, row, at)| self.chains[chain].before(row, at));
        let is_base = |task: &TaskNo| {
            let about = &self.trace.tasks[*task];
            let answered = self.ended[*task].as_deref().is_some_and(|ended| ended.asked.is_some());
            about.looper == looper && answered && about.class().covers(class)
        };
        let same_row = same_row.filter(|_| class.is_fifo()).filter(is_base);
        same_row.or_else(|| posted.parent.filter(is_base))
    }

    // Searches some chains of a block, as far as the post knows them.
    fn follow_chains(&mut self, asked: &ChainQuery<'_>, now: &mut PredecessorSearch<'_>) {
        let (mut before, mut overtaken) = (Vec::new(), Vec::new());
        for k in bits_of((asked.own | asked.posts).into()) {
            let chain = ChainId::new(asked.block * WIDTH + k);
            let log = &self.chains[chain];
            let (mut posted, mut fired) = (0, 0);
            if asked.own >> k & 1 == 1 {
                before.extend(log.last_begun(asked.reach[k]));
                fired = asked.state.any(chain, now.looper);
            }
            if asked.posts >> k & 1 == 1 {
                posted = asked.reach[k];
            }
            let has_ended = |task: TaskNo| self.ended[task].is_some();
            log.fifo((posted, fired), now.looper, (now.task, now.class), has_ended, |other, has_ended| {
                if has_ended { before.push(other) } else { overtaken.push(other) }
            });
        }
        before.sort_unstable_by_key(|task| std::cmp::Reverse(self.trace.tasks[*task].begin));
        before.into_iter().for_each(|task| self.come_after(task, now));
        now.all_ended &= overtaken.is_empty();
        let room = MOST_OVERTAKEN.saturating_sub(self.overtaken.len());
        self.overtaken.extend(overtaken.into_iter().take(room).map(|other| (now.task, other)));
    }
}
