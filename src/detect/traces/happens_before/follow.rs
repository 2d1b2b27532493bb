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
use super::state::{ContextState, news};
use crate::base::{Id, bits_of};
use crate::detect::relation::clock::{ChainId, ClockBlock, WIDTH};
use crate::detect::relation::lanes::Lanes;
use crate::detect::relation::tree::{NOTHING, TreeClock};
use crate::trace::{TaskNo, ThreadNo};
use crate::world::PostClass;
use smallvec::SmallVec;

// Number of overtaken tasks that are kept as examples.
const MOST_OVERTAKEN: usize = 16;

// A task that begins, and the results of the search for its predecessors.
struct PredecessorSearch<'s> {
    looper: ThreadNo,
    task: TaskNo,
    class: PostClass,
    // How far the post of the task knows each chain: what is before it, and what it knows by a path of any shape.
    reach: TreeClock,
    any: SmallVec<[TreeClock; 8]>,
    // State of the post.
    posted: &'s ContextState,
    // State of the task, as known from ended tasks so far.
    state: &'s mut ContextState,
    // The posts for which tasks before this one have searched their predecessors, as far as these are predecessors of
    // this one.
    asked: TreeClock,
    // Chains of the predecessors.
    followed: Vec<ChainId>,
    // Whether all tasks that should be before this task have ended.
    all_ended: bool,
    // Whether some block was searched.
    has_searched: bool,
}

// A part of the clocks of the post: those of `PredecessorSearch`.
struct Part {
    level: u32,
    // Its number among the parts of this level.
    place: usize,
    any: SmallVec<[TreeClock; 8]>,
    reach: TreeClock,
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
    ) -> (Vec<ChainId>, Option<TreeClock>) {
        let class = self.trace.tasks[task].class();
        let (asked, followed) = Default::default();
        let reach = posted.state.reach(&mut self.clocks, &self.chains, posted.poster);
        let (posted_state, any) = (&posted.state, posted.state.all());
        let mut now = PredecessorSearch {
            looper,
            task,
            class,
            reach,
            any,
            posted: posted_state,
            state,
            asked,
            followed,
            all_ended: true,
            has_searched: false,
        };
        for base in self.bases(looper, class, posted).into_iter().flatten() {
            self.come_after(base, &mut now);
        }
        self.ask_delayed(&mut now);
        let any = now.any.clone();
        let level = any.iter().map(|clock| clock.level()).max().unwrap_or(0);
        self.follow_part(&mut now, &Part { level, place: 0, any, reach });
        let PredecessorSearch { asked, followed, all_ended, .. } = now;
        (followed, all_ended.then(|| self.clocks.join(asked, reach)))
    }

    // Searches those blocks of a part that can bring something new, the last one first. A search changes what the task
    // knows, and thereby what is new in the blocks before.
    fn follow_part(&mut self, now: &mut PredecessorSearch<'_>, part: &Part) {
        let Part { level, place, ref any, reach } = *part;
        if level == 0 {
            self.follow_block(place, now);
            if !now.has_searched {
                now.has_searched = true;
                self.ask_delayed(now);
            }
            return;
        }
        let own = self.chains.own(level, place, now.looper);
        let fired = self.chains.fired(level, place, now.looper);
        let in_part = self.chains.parts(level, place, now.looper);
        let posts = self.chains.posted(level, place, now.looper);
        // What the task knows by the beginning decides for most parts.
        let (st, asked) = self.known(now, level, place);
        let differ = |a: TreeClock, b: TreeClock| self.clocks.differ(a, b, level);
        let mut open = own & differ(st, reach) | posts & differ(asked, reach);
        for any in any {
            open |= fired & differ(st, *any) | in_part & differ(TreeClock::default(), *any);
        }
        while open != 0 {
            let k = open.ilog2() as usize;
            open ^= 1 << k;
            let (st, asked) = self.known(now, level - 1, place * WIDTH + k);
            let reach = self.clocks.part(reach, level, k);
            // What the task knows already, or what is empty, brings nothing new in any part.
            let is_open = |any: &TreeClock| !any.is_empty() && (in_part != 0 || *any != st);
            let any: SmallVec<[TreeClock; 8]> =
                any.iter().map(|any| self.clocks.part(*any, level, k)).filter(is_open).collect();
            let is_news = own >> k & 1 == 1 && !self.clocks.covers(st, reach)
                || fired >> k & 1 == 1 && any.iter().any(|any| !self.clocks.covers(st, *any))
                || in_part >> k & 1 == 1 && !any.is_empty()
                || posts >> k & 1 == 1 && !self.clocks.covers(asked, reach);
            if is_news {
                self.follow_part(now, &Part { level: level - 1, place: place * WIDTH + k, any, reach });
            }
        }
    }

    // Returns what the task that begins knows in a part, and the posts in it that were searched.
    fn known(&self, now: &PredecessorSearch<'_>, level: u32, place: usize) -> (TreeClock, TreeClock) {
        (self.clocks.at_place(now.state.st(), level, place), self.clocks.at_place(now.asked, level, place))
    }

    // Searches a block of chains.
    fn follow_block(&mut self, block: usize, now: &mut PredecessorSearch<'_>) {
        let clocks = &self.clocks;
        let known = clocks.block(now.state.st(), block);
        // A task that ended before is known up to its end, so that only chains known further than `st` are searched,
        // and those known in part. Knowledge by a path of any shape matters for firings alone.
        let reach = *clocks.block(now.reach, block);
        let (in_part, fired) = (self.chains.parts(0, block, now.looper), self.chains.fired(0, block, now.looper));
        let mut own = news(&reach, known);
        if in_part | fired != 0 {
            let last = self.chains.last_fired(block);
            let is_late = bits_of(fired.into()).fold(0, |late, k| late | Lanes::from(last[k] > known[k]) << k);
            for any in now.any.iter().map(|any| clocks.block(*any, block)) {
                own |= is_late & news(any, known) | in_part & news(any, &NOTHING);
            }
        }
        own &= self.chains.lanes(block, now.looper);
        // FIFO can bring something new only for posts that were not searched yet.
        let posts = self.chains.posted(0, block, now.looper) & news(&reach, clocks.block(now.asked, block));
        if own | posts != 0 {
            self.follow_chains((block, own, posts), &reach, now);
        }
    }

    // Records that an ended task is before the one that begins.
    fn come_after(&mut self, task: TaskNo, now: &mut PredecessorSearch<'_>) {
        let Some(end) = self.end_of(task).filter(|end| !self.clocks.has(now.state.st(), *end)) else { return };
        let Some(EndedTask { state, asked }) = self.ended[task].as_deref() else { return };
        now.state.join(&mut self.clocks, state);
        now.followed.push(end.chain);
        if let Some(asked) = asked.filter(|_| self.trace.tasks[task].class().covers(now.class)) {
            now.asked = self.clocks.join(now.asked, asked);
        }
    }

    // Returns tasks that end before this one begins and know most of what is before it: the task that posted it or
    // enabled its event, and the task that was posted before it in the same way.
    fn bases(&self, looper: ThreadNo, class: PostClass, posted: &PostedTask) -> [Option<TaskNo>; 2] {
        let same_row = posted.row.and_then(|(chain, row, at)| self.chains[chain].before(row, at));
        let parent = posted.parent.filter(|task| self.trace.tasks[*task].looper == looper);
        [parent, same_row.filter(|_| class.is_fifo())]
    }

    // Finds tasks with a delay that are before this one and have searched their predecessors: for a message with a
    // delay, the searches of messages without one leave most posts open.
    fn ask_delayed(&mut self, now: &mut PredecessorSearch<'_>) {
        if !self.trace.tasks[now.task].is_delayed() {
            return;
        }
        for task in self.threads[now.looper].delayed.iter().rev() {
            let Some(EndedTask { asked: Some(asked), .. }) = self.ended[*task].as_deref() else { continue };
            let is_before = self.end_of(*task).is_some_and(|end| self.clocks.has(now.state.st(), end));
            if is_before && self.trace.tasks[*task].class().covers(now.class) {
                now.asked = self.clocks.join(now.asked, *asked);
                return;
            }
        }
    }

    // Searches some chains of a block, as far as the post knows them (`reach`): `own` for NOPRE and firings, `posts`
    // for FIFO of posts.
    fn follow_chains(
        &mut self,
        (block, own, posts): (usize, Lanes, Lanes),
        reach: &ClockBlock,
        now: &mut PredecessorSearch<'_>,
    ) {
        let (mut before, mut overtaken): (SmallVec<[TaskNo; 16]>, Vec<TaskNo>) = Default::default();
        for k in bits_of((own | posts).into()) {
            let chain = ChainId::new(block * WIDTH + k);
            let log = &self.chains[chain];
            let (mut posted, mut fired) = (0, 0);
            if own >> k & 1 == 1 {
                before.extend(log.last_begun(reach[k]));
                fired = now.posted.any(&self.clocks, chain, now.looper);
            }
            if posts >> k & 1 == 1 {
                posted = reach[k];
            }
            let has_ended = |task: TaskNo| self.end_of(task).is_some();
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
