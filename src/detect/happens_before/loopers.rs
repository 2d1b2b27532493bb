//! Posts, and what loopers do with them: the rules of the queue.

use super::order::{Chain, Order};
use super::queue::{Ended, Posted};
use super::state::State;
use crate::base::Id;
use crate::detect::clock::{Block, ChainId, Point, WIDTH};
use crate::trace::{TaskNo, ThreadNo};
use crate::world::Class;
use std::sync::Arc;

// How many overtaken tasks are kept as examples.
const MOST_OVERTAKEN: usize = 16;

/// What a task has asked of a block of chains when it began.
pub(super) struct Asked {
    poster: ThreadNo,
    class: Class,
    known: Blocks,
    task: TaskNo,
}

// Of `st` and `far` of a post's state.
type Blocks = [Option<Arc<Block>>; 2];

impl Order<'_> {
    // What a post learns (ATTACH-Q-MT, ENABLE-ST, ENABLE-MT).
    fn causes(&self, poster: ThreadNo, task: TaskNo, into: &mut State) {
        let looper = self.trace.tasks[task].looper;
        if let Some(attached) = self.threads[looper].attached.as_ref().filter(|_| looper != poster) {
            self.carry(attached, looper, poster, into);
        }
        for event in &self.trace.tasks[task].events {
            for (from, state) in self.enables[*event].iter() {
                self.carry(state, *from, poster, into);
            }
        }
    }

    pub(super) fn post(&mut self, poster: ThreadNo, task: TaskNo) {
        let Some(mut context) = self.threads[poster].context.take() else { return };
        self.causes(poster, task, &mut context.state);
        let Point { chain, epoch } = context.at;
        let state = context.send();
        self.threads[poster].context = Some(context);
        self.posts[task] = Some(Point { chain, epoch });
        self.keep_event(task, &state);
        // A post that was cancelled counts for nothing more.
        let about = &self.trace.tasks[task];
        if about.begin.is_some() {
            let row = self.chains[chain].log.posted((chain, epoch), about.looper, (task, about.class()));
            self.posted[task] = Some(Box::new(Posted::new(poster, state, Some(row))));
        }
    }

    // The environment posts: a thread of its own.
    pub(super) fn fire(&mut self, environment: ThreadNo, task: TaskNo) {
        let mut state = State::default();
        self.causes(environment, task, &mut state);
        self.keep_event(task, &state);
        self.posted[task] = Some(Box::new(Posted::new(environment, state, None)));
    }

    fn keep_event(&mut self, task: TaskNo, state: &State) {
        if self.trace.is_event(task) {
            self.events[task] = Some(state.clone());
        }
    }

    pub(super) fn begin(&mut self, looper: ThreadNo, task: TaskNo) -> Point {
        // The looper's own code up to its loop is before its tasks.
        let mut state = self.threads[looper].looped.clone().unwrap_or_default();
        let mut followed = Vec::new();
        let posted = self.posted[task].take();
        let is_fired = posted.as_ref().is_some_and(|posted| posted.row.is_none());
        if let Some(posted) = posted {
            self.carry(&posted.state, posted.poster, looper, &mut state);
            self.follow(looper, task, &posted, &mut state, &mut followed);
            let ended = &self.ended;
            if let Some((chain, row, at)) = posted.row {
                self.chains[chain].log.begin(row, at, |task| ended[task].is_some());
            }
        }
        let number = self.trace.threads.len() as u32 + task.0;
        let at = self.open(looper, number, state, &followed);
        let log = &mut self.chains[at.chain].log;
        log.began(at.epoch, task);
        if is_fired {
            log.fired(at.epoch, looper, (task, self.trace.tasks[task].class()));
        }
        self.begins[task] = Some(at);
        at
    }

    // FIFO and NOPRE: the ends that are before the begin of the task. The latest chains first: what their tasks know makes most of the others no news.
    fn follow(
        &mut self,
        looper: ThreadNo,
        task: TaskNo,
        posted: &Posted,
        state: &mut State,
        followed: &mut Vec<ChainId>,
    ) {
        let class = self.trace.tasks[task].class();
        for block in (0..posted.state.blocks()).rev() {
            let known = posted.state.plain(block).map(|known| known.map(|block| block.cloned()));
            let asked = self.threads[looper].asked.get(block).and_then(Option::as_ref);
            if asked
                .zip(known.as_ref())
                .is_some_and(|(asked, known)| self.is_answered(asked, (posted.poster, class), known, state))
            {
                continue;
            }
            let all_ended = self.follow_block(looper, (task, class), posted, block, state, followed);
            let asked = &mut self.threads[looper].asked;
            if asked.len() <= block {
                asked.resize_with(block + 1, || None);
            }
            asked[block] = known.filter(|_| all_ended).map(|known| Asked { poster: posted.poster, class, known, task });
        }
    }

    // Another task has asked the same, and is before this one: so all that the answer has is known.
    fn is_answered(&self, asked: &Asked, (poster, class): (ThreadNo, Class), known: &Blocks, state: &State) -> bool {
        let same = |(a, b): (&Option<Arc<Block>>, &Option<Arc<Block>>)| match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        let is_same = asked.poster == poster && asked.class == class && asked.known.iter().zip(known).all(same);
        is_same && self.ended[asked.task].as_deref().is_some_and(|ended| state.st(ended.end.chain) >= ended.end.epoch)
    }

    // Of the chains of one block. Whether all tasks that belong before it have ended.
    fn follow_block(
        &mut self,
        looper: ThreadNo,
        (task, class): (TaskNo, Class),
        posted: &Posted,
        block: usize,
        state: &mut State,
        followed: &mut Vec<ChainId>,
    ) -> bool {
        let (mut before, mut overtaken) = (Vec::new(), Vec::new());
        let chains = (block * WIDTH..((block + 1) * WIDTH).min(self.chains.len())).map(ChainId::new);
        for chain in chains {
            let Chain { owner, log, .. } = &self.chains[chain];
            let any = posted.state.any(chain, *owner);
            if any == 0 {
                continue;
            }
            let reach = self.reach(&posted.state, chain, posted.poster);
            if *owner == looper {
                before.extend(log.last_begun(reach));
            }
            let has_ended = |task: TaskNo| self.ended[task].is_some();
            log.fifo((reach, any), looper, (task, class), has_ended, |other, has_ended| {
                if has_ended {
                    before.push(other);
                } else {
                    overtaken.push(other);
                }
            });
        }
        before.sort_unstable_by_key(|task| std::cmp::Reverse(self.trace.tasks[*task].begin));
        for Ended { end, state: known } in before.iter().filter_map(|task| self.ended[*task].as_deref()) {
            if state.st(end.chain) < end.epoch {
                state.join(known);
                followed.push(end.chain);
            }
        }
        let all_ended = overtaken.is_empty();
        let room = MOST_OVERTAKEN.saturating_sub(self.overtaken.len());
        self.overtaken.extend(overtaken.into_iter().take(room).map(|other| (task, other)));
        all_ended
    }

    pub(super) fn end(&mut self, looper: ThreadNo, task: TaskNo) {
        let at = self.threads[looper].context.as_ref().map(|context| context.at);
        if let (Some(end), Some(state)) = (at, self.close(looper)) {
            self.ended[task] = Some(Box::new(Ended { end, state }));
        }
    }

    // The looper has quit: what it does now is after all its tasks.
    pub(super) fn leave(&mut self, looper: ThreadNo) {
        let mut state = self.threads[looper].looped.clone().unwrap_or_default();
        for chain in &self.threads[looper].chains {
            if let Some(ended) = self.chains[*chain].log.last_task().and_then(|task| self.ended[task].as_deref()) {
                state.join(&ended.state);
            }
        }
        let chains = self.threads[looper].chains.clone();
        self.open(looper, looper.0, state, &chains);
    }
}
