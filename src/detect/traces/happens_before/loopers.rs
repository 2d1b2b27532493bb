//! Posts, and the rules of a looper's queue.

use super::order::TraceOrder;
use super::queue::{EndedTask, PostedTask};
use super::state::ContextState;
use crate::detect::relation::clock::Point;
use crate::trace::{TaskNo, ThreadNo};

// Number of tasks with a delay that a looper remembers.
const MOST_DELAYED: usize = 32;

impl TraceOrder<'_> {
    // Adds the knowledge that a post receives (ATTACH-Q-MT, ENABLE-ST, ENABLE-MT).
    fn causes(&mut self, poster: ThreadNo, task: TaskNo, into: &mut ContextState) {
        let looper = self.trace.tasks[task].looper;
        if let Some(attached) = self.threads[looper].attached.take_if(|_| looper != poster) {
            self.carry(&attached, looper, poster, into);
            self.threads[looper].attached = Some(attached);
        }
        for event in &self.trace.tasks[task].events {
            let enables = std::mem::take(&mut self.enables[*event]);
            for (from, state) in enables.iter() {
                self.carry(state, *from, poster, into);
            }
            self.enables[*event] = enables;
        }
    }

    pub(super) fn post(&mut self, poster: ThreadNo, task: TaskNo) {
        let Some(mut context) = self.threads[poster].context.take() else { return };
        self.causes(poster, task, &mut context.state);
        let Point { chain, epoch } = context.at;
        let state = context.send(&mut self.clocks);
        self.threads[poster].context = Some(context);
        self.posts[task] = Some(Point { chain, epoch });
        self.keep_event(task, &state);
        // A canceled post has no further effect.
        let about = &self.trace.tasks[task];
        if about.begin.is_some() {
            let row = self.chains[chain].posted((chain, epoch), about.looper, (task, about.class()));
            self.chains.has_posted(chain, about.looper);
            let parent = self.threads[poster].running;
            self.posted[task] = Some(Box::new(PostedTask { poster, state, row: Some(row), parent }));
        }
    }

    // Processes a post of the environment, which is a thread of its own.
    pub(super) fn fire(&mut self, environment: ThreadNo, task: TaskNo) {
        let mut state = ContextState::default();
        self.causes(environment, task, &mut state);
        self.keep_event(task, &state);
        let parent = self.trace.tasks[task].events.iter().find_map(|event| self.enablers[*event]);
        self.posted[task] = Some(Box::new(PostedTask { poster: environment, state, row: None, parent }));
    }

    fn keep_event(&mut self, task: TaskNo, state: &ContextState) {
        if self.trace.is_event(task) {
            self.events[task] = Some(state.clone());
        }
    }

    pub(super) fn begin(&mut self, looper: ThreadNo, task: TaskNo) -> Point {
        // The looper's own code up to its loop is before its tasks.
        let mut state = self.threads[looper].looped.clone().unwrap_or_default();
        let fresh = self.clocks.fresh();
        let (mut followed, mut asked) = Default::default();
        let posted = self.posted[task].take();
        let is_fired = posted.as_ref().is_some_and(|posted| posted.row.is_none());
        if let Some(posted) = posted {
            // The knowledge of another thread's post is no part of `st`, and includes most of what `follow` finds; so
            // it is learned first.
            let is_own = posted.poster == looper;
            if !is_own {
                self.carry(&posted.state, posted.poster, looper, &mut state);
            }
            (followed, asked) = self.follow((looper, task), &posted, &mut state);
            if is_own {
                self.carry(&posted.state, looper, looper, &mut state);
            }
            let ended = &self.ended;
            if let Some((chain, row, at)) = posted.row {
                self.chains[chain].begin(row, at, |task| ended[task].is_some());
            }
        }
        // Most nodes were only steps on the way to this knowledge.
        self.clocks.collect_fresh(fresh, &mut |each| {
            state.visit(each);
            asked.iter_mut().for_each(each);
        });
        self.threads[looper].running = Some(task);
        self.threads[looper].asked = asked;
        let number = self.trace.threads.len() as u32 + task.0;
        let at = self.open(looper, number, state, &followed);
        let log = &mut self.chains[at.chain];
        log.began(at.epoch, task);
        if is_fired {
            log.fired(at.epoch, looper, (task, self.trace.tasks[task].class()));
            self.chains.has_fired(at);
        }
        self.begins[task] = Some(at);
        at
    }

    pub(super) fn end(&mut self, looper: ThreadNo, task: TaskNo) {
        let at = self.threads[looper].context.as_ref().map(|context| context.at);
        if let (Some(end), Some(state)) = (at, self.close(looper)) {
            let asked = self.threads[looper].asked.take();
            self.threads[looper].running = None;
            self.has_ended(task, end, EndedTask { state, asked });
            if self.trace.tasks[task].is_delayed() {
                let delayed = &mut self.threads[looper].delayed;
                if delayed.len() == MOST_DELAYED {
                    delayed.pop_front();
                }
                delayed.push_back(task);
            }
        }
    }

    // Processes the end of the loop: the looper's further code is after all its tasks.
    pub(super) fn leave(&mut self, looper: ThreadNo) {
        let mut state = self.threads[looper].looped.clone().unwrap_or_default();
        for chain in self.chains.of(looper) {
            if let Some(ended) = self.chains[*chain].last_task().and_then(|task| self.ended[task].as_deref()) {
                state.join(&mut self.clocks, &ended.state);
            }
        }
        let chains = self.chains.of(looper).to_vec();
        self.open(looper, looper.0, state, &chains);
    }
}
