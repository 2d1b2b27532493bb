//! Messages at the front of a queue: rules 2 and 4 of the paper's queue rules, and FRONT-SEEN. (Rules 1 and 3 are those
//! of [`PostClass::precedes`].)
//!
//! A message that begins although a message at the front is in the queue would contradict the queue. So what knows the
//! post of a message at the front when it begins comes after that message; by the paper's rules only if its own post
//! comes before that post (rules 2 and 4), or after it (rules 1 and 3).

use crate::detect::relation::clock::{ChainId, Clock, Point};
use crate::detect::relation::queues::{EndedMessage, PostedMessage};
use crate::world::{PostClass, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A task whose message was posted to the front, and that has ended.
struct EndedFront {
    // Epoch of the post.
    post: u32,
    // Knowledge at the post.
    posted: Clock,
    ended: Arc<EndedMessage>,
}

/// The ended tasks of one looper whose messages were posted to the front, by the chains of their posts. A post of the
/// environment is not among them: a context knows it only if it knows the begin of the task.
#[derive(Default)]
pub(super) struct Fronts {
    by_poster: BTreeMap<ChainId, Vec<EndedFront>>,
    // The last end of these tasks in each chain.
    ends: Clock,
}

impl Fronts {
    /// Adds a task that has ended, if its message was posted to the front.
    pub(super) fn add(&mut self, posted: &PostedMessage, ended: &Arc<EndedMessage>) {
        if let (Some(post), Some(PostClass { time: Time::Front, .. })) = (posted.post, posted.class) {
            self.ends.learn(ended.end);
            let front = EndedFront { post: post.epoch, posted: posted.clock.clone(), ended: ended.clone() };
            self.by_poster.entry(post.chain).or_default().push(front);
        }
    }

    /// Adds to `clock`, the knowledge at the begin of the task of this message, the ends of the messages at the front
    /// that come before it, and their chains to `followed`. `seen`: whether FRONT-SEEN holds.
    pub(super) fn teach(&self, posted: &PostedMessage, seen: bool, clock: &mut Clock, followed: &mut Vec<ChainId>) {
        // A microtask and an idle handler have their turns by other rules than a place in the queue.
        let Some(class) = posted.class.filter(|class| !matches!(class.time, Time::Micro | Time::Idle)) else { return };
        let seen = seen && class.time != Time::Front;
        // What the end of a front task knows may show another one.
        while !clock.covers(&self.ends) && self.round((posted.post, seen), clock, followed) {}
    }

    // Returns whether there was anything new.
    fn round(&self, (post, seen): (Option<Point>, bool), clock: &mut Clock, followed: &mut Vec<ChainId>) -> bool {
        let mut is_new = false;
        for (poster, fronts) in &self.by_poster {
            let epoch = clock.get(*poster);
            for EndedFront { posted, ended, .. } in fronts.iter().rev().filter(|front| front.post <= epoch) {
                let follows = seen || post.is_some_and(|post| posted.has(post));
                if follows && !clock.has(ended.end) {
                    clock.join(&ended.clock);
                    followed.push(ended.end.chain);
                    is_new = true;
                }
            }
        }
        is_new
    }
}
