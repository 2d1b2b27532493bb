//! Posts, and what loopers do with them: the rules of the queue.

use super::order::{Chain, Order};
use super::queue::{Ended, Posted};
use super::state::State;
use crate::base::Id;
use crate::detect::clock::{ChainId, Point, WIDTH};
use crate::trace::{TaskNo, ThreadNo};
use crate::world::Class;

// How many overtaken tasks are kept as examples.
const MOST_OVERTAKEN: usize = 16;

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
            let parent = self.threads[poster].running;
            self.posted[task] = Some(Box::new(Posted { poster, state, row: Some(row), parent }));
        }
    }

    // The environment posts: a thread of its own.
    pub(super) fn fire(&mut self, environment: ThreadNo, task: TaskNo) {
        let mut state = State::default();
        self.causes(environment, task, &mut state);
        self.keep_event(task, &state);
        let parent = self.trace.tasks[task].events.iter().find_map(|event| self.enablers[*event]);
        self.posted[task] = Some(Box::new(Posted { poster: environment, state, row: None, parent }));
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
        let mut all_ended = true;
        if let Some(posted) = &posted {
            self.carry(&posted.state, posted.poster, looper, &mut state);
            all_ended = self.follow(looper, task, posted, &mut state, &mut followed);
            let ended = &self.ended;
            if let Some((chain, row, at)) = posted.row {
                self.chains[chain].log.begin(row, at, |task| ended[task].is_some());
            }
        }
        self.threads[looper].running = Some(task);
        self.threads[looper].answered = posted.filter(|_| all_ended);
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

    // FIFO and NOPRE: the ends that are before the begin of the task. A task that is before it has asked the same already, of what its own post knew: only what the post knows besides
    // is looked at. The latest chains first: what their tasks know makes most of the others no news. Whether all tasks that belong before it have ended.
    fn follow(
        &mut self,
        looper: ThreadNo,
        task: TaskNo,
        posted: &Posted,
        state: &mut State,
        followed: &mut Vec<ChainId>,
    ) -> bool {
        let class = self.trace.tasks[task].class();
        let base = self.base(looper, class, posted);
        if let Some(Ended { end, state: known, .. }) = base.and_then(|base| self.ended[base].as_deref()) {
            state.join(known);
            followed.push(end.chain);
        }
        let (mut all_ended, mut lanes) = (true, Vec::new());
        for block in (0..posted.state.blocks()).rev() {
            let asked = base.and_then(|base| self.ended[base].as_deref()?.answered.as_deref());
            if asked.is_some_and(|asked| asked.poster == posted.poster && asked.state.has_same(&posted.state, block)) {
                continue;
            }
            let known =
                |posted: &Posted| posted.state.reach(block, |chain| self.owners.get(chain) == Some(&posted.poster));
            let (reach, any) = known(posted);
            let (old_reach, old_any) = asked.map_or(([0; WIDTH], [0; WIDTH]), known);
            let grown = (0..WIDTH).filter(|k| reach[*k] > old_reach[*k] || any[*k] > old_any[*k]);
            lanes.extend(grown.map(|k| (ChainId::new(block * WIDTH + k), reach[k], any[k])));
            all_ended &= self.follow_chains(looper, (task, class), &lanes, state, followed);
            lanes.clear();
        }
        all_ended
    }

    // A task that ends before this one begins, and has asked for the order of all messages that this one asks for: the one that was posted before it in the same way, or the one that
    // has posted it or enabled its event.
    fn base(&self, looper: ThreadNo, class: Class, posted: &Posted) -> Option<TaskNo> {
        let same_row = posted.row.and_then(|(chain, row, at)| self.chains[chain].log.before(row, at));
        let is_base = |task: &TaskNo| {
            let about = &self.trace.tasks[*task];
            let answered = self.ended[*task].as_deref().is_some_and(|ended| ended.answered.is_some());
            about.looper == looper && answered && about.class().covers(class)
        };
        let same_row = same_row.filter(|_| class.is_fifo()).filter(is_base);
        same_row.or_else(|| posted.parent.filter(is_base))
    }

    // Of some chains, as far as the post knows them.
    fn follow_chains(
        &mut self,
        looper: ThreadNo,
        (task, class): (TaskNo, Class),
        chains: &[(ChainId, u32, u32)],
        state: &mut State,
        followed: &mut Vec<ChainId>,
    ) -> bool {
        let (mut before, mut overtaken) = (Vec::new(), Vec::new());
        for (chain, reach, any) in chains {
            let Chain { log, .. } = &self.chains[*chain];
            if self.owner(*chain) == looper {
                before.extend(log.last_begun(*reach));
            }
            let has_ended = |task: TaskNo| self.ended[task].is_some();
            log.fifo((*reach, *any), looper, (task, class), has_ended, |other, has_ended| {
                if has_ended {
                    before.push(other);
                } else {
                    overtaken.push(other);
                }
            });
        }
        before.sort_unstable_by_key(|task| std::cmp::Reverse(self.trace.tasks[*task].begin));
        for Ended { end, state: known, .. } in before.iter().filter_map(|task| self.ended[*task].as_deref()) {
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
            let answered = self.threads[looper].answered.take();
            self.threads[looper].running = None;
            self.ended[task] = Some(Box::new(Ended { end, state, answered }));
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
