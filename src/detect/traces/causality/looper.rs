//! What the tasks of one looper that have ended say about a task that begins: the atomicity rule, the queue rules and
//! the external input rule.
//!
//! [`Tasks`] has the atomicity rule for what a post knows (there it is NOPRE), and queue rules 1 and 3 for messages
//! that have begun in their order. Three kinds of tasks need lists of their own: microtasks, messages at the front
//! ([`Fronts`]), and tasks that another message has overtaken although the queue rules put them before it. The queue
//! rules put an overtaken task before later ones too, but nothing follows from it for the messages before it.

use super::external::ExternalEvents;
use super::fronts::Fronts;
use crate::detect::relation::clock::{ChainId, Clock, Point};
use crate::detect::relation::delayed::DelayedTask;
use crate::detect::relation::queues::{EndedMessage, PostedMessage, Tasks};
use crate::trace::{OpNo, TaskNo};
use crate::world::{PostClass, Time};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The ended tasks of one looper.
#[derive(Default)]
pub(super) struct LooperTasks {
    tasks: Tasks,
    fronts: Fronts,
    external: ExternalEvents,
    // Microtasks by the chains of their posts. invariant: ascending by post
    micros: BTreeMap<ChainId, Vec<DelayedTask>>,
    // The last end of a microtask in each chain.
    micro_ends: Clock,
    overtaken: Vec<(Point, PostClass, Arc<EndedMessage>)>,
    // By chain and class the latest post whose task has ended.
    // invariant: ascending by class
    latest: BTreeMap<ChainId, SmallVec<[LatestPost; 1]>>,
}

// The latest post of a class: its epoch, and its task.
type LatestPost = (PostClass, (u32, TaskNo));

/// A task that has ended, with its message.
pub(super) struct Ended {
    pub(super) task: TaskNo,
    pub(super) message: Arc<EndedMessage>,
    /// `None` if the task has no post.
    pub(super) posted: Option<PostedMessage>,
    /// The post, if the outside world has generated the event and the external input rule holds.
    pub(super) external: Option<OpNo>,
}

impl LooperTasks {
    /// Adds to `clock`, the knowledge with which the task of this message begins, the ends of the tasks before it.
    /// Returns the chains of those that were new. `seen`: whether FRONT-SEEN holds. `noted`: the tasks that an earlier
    /// pass has found before it.
    pub(super) fn teach<'n>(
        &self,
        posted: &PostedMessage,
        (seen, external): (bool, Option<OpNo>),
        noted: impl Iterator<Item = &'n Arc<EndedMessage>>,
        clock: &mut Clock,
    ) -> Vec<ChainId> {
        let mut followed = self.tasks.teach(posted, clock);
        let mut learn = |ended: &EndedMessage, clock: &mut Clock| {
            if !clock.has(ended.end) {
                clock.join(&ended.clock);
                followed.push(ended.end.chain);
            }
        };
        noted.for_each(|ended| learn(ended, clock));
        if let Some(class) = posted.class {
            if !clock.covers(&self.micro_ends) {
                for (poster, micros) in &self.micros {
                    let early = micros.partition_point(|micro| micro.post <= posted.clock.get(*poster));
                    micros[..early].last().into_iter().for_each(|micro| learn(&micro.ended, clock));
                }
            }
            for (post, of, ended) in &self.overtaken {
                if of.precedes(class) && posted.clock.has(*post) {
                    learn(ended, clock);
                }
            }
        }
        for ended in external.into_iter().flat_map(|post| self.external.before(post)) {
            learn(ended, clock);
        }
        self.fronts.teach(posted, seen, clock, &mut followed);
        followed
    }

    /// The atomicity rule in the middle of a task: see [`Tasks::complete`].
    pub(super) fn complete(&self, before: &Clock, arrived: &Clock, clock: &mut Clock) -> Vec<Arc<EndedMessage>> {
        self.tasks.complete(before, arrived, clock)
    }

    /// Returns the last task of each chain.
    pub(super) fn last(&self) -> impl Iterator<Item = &Arc<EndedMessage>> {
        self.tasks.last()
    }

    /// Adds a task that has ended. Returns the task that has overtaken it, if there is one.
    pub(super) fn add(&mut self, Ended { task, message, posted, external }: Ended) -> Option<TaskNo> {
        if let Some(post) = external {
            self.external.add(post, message.clone());
        }
        let posted = posted.filter(|posted| posted.class.is_some());
        let message_of = posted.as_ref().and_then(|posted| posted.post.zip(posted.class));
        let (Some((post, class)), Some(posted)) = (message_of, posted) else {
            self.tasks.add(message, None, None);
            return None;
        };
        self.fronts.add(&posted, &message);
        let latest = self.latest.entry(post.chain).or_default();
        let by = latest.iter().find(|(later, (epoch, _))| *epoch > post.epoch && class.precedes(*later));
        let by = by.map(|(_, (_, task))| *task);
        let of_class = latest.binary_search_by_key(&class, |(of, _)| *of).unwrap_or_else(|at| {
            latest.insert(at, (class, (post.epoch, task)));
            at
        });
        let last = &mut latest[of_class].1;
        if last.0 < post.epoch {
            *last = (post.epoch, task);
        }
        let end = message.end;
        if by.is_some() {
            self.overtaken.push((post, class, message.clone()));
            self.tasks.add(message, None, None);
        } else if class.time == Time::Micro {
            let micro = DelayedTask { post: post.epoch, end, ended: message.clone() };
            self.micros.entry(post.chain).or_default().push(micro);
            self.micro_ends.learn(end);
            self.tasks.add(message, None, None);
        } else {
            self.tasks.add(message, Some(post), Some(class));
        }
        by
    }
}
