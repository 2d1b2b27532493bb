//! Which of two messages begins first, as far as their posts tell: the order that a queue forces, whatever the clock does.

use crate::event::PostTime;

/// What a post says of its place in the queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Class {
    pub(crate) time: Time,
    pub(crate) is_async: bool,
}

/// When a message is due.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Time {
    /// At the front.
    Front,
    /// This long after the post.
    Delay(u64),
    /// At this instant, not 0.
    At(u64),
}

impl Time {
    pub(crate) fn of(time: PostTime) -> Self {
        let unsigned = |d: i64| u64::try_from(d).unwrap_or(0);
        match time {
            PostTime::Now => Time::Delay(0),
            PostTime::After(delay) => Time::Delay(unsigned(delay)),
            PostTime::Front => Time::Front,
            PostTime::At(instant) => Time::instant(unsigned(instant)),
        }
    }

    /// Due at an instant; 0 is the key of the front.
    pub(crate) fn instant(instant: u64) -> Self {
        if instant == 0 { Time::Front } else { Time::At(instant) }
    }
}

impl Class {
    /// Whether a message of this class, posted before one of class `later`, begins before it whatever the clock does between.
    pub(crate) fn precedes(self, later: Class) -> bool {
        match (self.time, later.time) {
            // Last in, first out.
            (_, Time::Front) => false,
            // Its key is below that of every ordinary message and of every fence: while it is there, nothing else but another front
            // post can begin, asynchronous or not.
            (Time::Front, _) => true,
            // A fence between the two lets the asynchronous one pass.
            _ if !self.is_async && later.is_async => false,
            (Time::Delay(d1), Time::Delay(d2)) => d1 <= d2,
            (Time::At(t1), Time::At(t2)) => t1 <= t2,
            // The clock is at 1 at least when the later one is posted.
            (Time::At(t), Time::Delay(d)) => t <= d.saturating_add(1),
            // The clock may be past `t` when the earlier one is posted.
            (Time::Delay(_), Time::At(_)) => false,
        }
    }

    /// Whether whatever precedes a message of the other class precedes one of this class.
    pub(crate) fn covers(self, other: Class) -> bool {
        match (self.time, other.time) {
            (Time::Delay(mine), Time::Delay(theirs)) => self.is_async == other.is_async && theirs <= mine,
            _ => self == other,
        }
    }

    /// Whether, of two posts of this class, the first begins first.
    pub(crate) fn is_fifo(self) -> bool {
        self.precedes(self)
    }
}
