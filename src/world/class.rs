//! Compares posts: decides which of two messages must begin first, whatever the clock does. Only the posts themselves
//! are known, not their instants.

use crate::base::mutant::{self, Mutant};
use crate::event::PostTime;

/// The part of a post that determines the place of its message in the queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct PostClass {
    pub(crate) time: Time,
    pub(crate) is_async: bool,
}

/// Due time of a message, as its post states it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Time {
    /// The message goes to the front of the queue.
    Front,
    /// The message is due this long after the post.
    Delay(u64),
    /// The message is due at this instant, which is not 0.
    At(u64),
    /// The message is a microtask, and goes before all messages.
    Micro,
    /// The message is an idle handler, and goes after all messages that are due.
    Idle,
}

impl Time {
    pub(crate) fn of(time: PostTime) -> Self {
        let unsigned = |d: i64| u64::try_from(d).unwrap_or(0);
        match time {
            PostTime::Now => Time::Delay(0),
            PostTime::After(delay) => Time::Delay(unsigned(delay)),
            PostTime::Front => Time::Front,
            PostTime::At(instant) => Time::instant(unsigned(instant)),
            PostTime::Micro => Time::Micro,
            PostTime::Idle { .. } => Time::Idle,
        }
    }

    /// Returns the due time of a message that is posted at an absolute instant. Instant 0 means the front.
    pub(crate) fn instant(instant: u64) -> Self {
        if instant == 0 { Time::Front } else { Time::At(instant) }
    }
}

impl PostClass {
    /// Returns whether a message of this class begins before a message of class `later` that is posted after it,
    /// whatever the clock does between the posts.
    pub(crate) fn precedes(self, later: PostClass) -> bool {
        match (self.time, later.time) {
            // A microtask runs next, after the task that posts it. What is posted later comes later, also the next
            // microtask.
            (Time::Micro, _) => true,
            (_, Time::Micro) => false,
            // A looper that has a message to begin, or is held back by a fence, is not idle. The clock starts at 1.
            (Time::Front | Time::Delay(0) | Time::At(..=1), Time::Idle) => true,
            (Time::Idle, _) | (_, Time::Idle) => false,
            // Posts at the front are last in, first out.
            (_, Time::Front) => false,
            // A message at the front has a smaller key than every ordinary message and every fence. While it is queued,
            // only another message at the front can begin before it, even if the other one is asynchronous.
            (Time::Front, _) => true,
            // A fence between the two lets only the asynchronous one pass.
            _ if !self.is_async && later.is_async => false,
            (Time::Delay(d1), Time::Delay(d2)) if mutant::is(Mutant::DelaysTurned) => d1 >= d2,
            (Time::Delay(d1), Time::Delay(d2)) => d1 <= d2,
            (Time::At(t1), Time::At(t2)) => t1 <= t2,
            // The clock is at least at 1 when the later message is posted.
            (Time::At(t), Time::Delay(d)) => t <= d.saturating_add(1),
            // The clock may be after `t` when the earlier message is posted.
            (Time::Delay(_), Time::At(_)) => false,
        }
    }

    /// Returns whether every message that precedes a message of class `other` also precedes one of this class.
    pub(crate) fn covers(self, other: PostClass) -> bool {
        match (self.time, other.time) {
            (Time::Delay(mine), Time::Delay(theirs)) => self.is_async == other.is_async && theirs <= mine,
            _ => self == other,
        }
    }

    /// Returns whether two messages of this class begin in the order of their posts.
    pub(crate) fn is_fifo(self) -> bool {
        self.precedes(self)
    }
}
