//! Channels and selects, with the meaning that they have in Go.
//!
//! A channel has a buffer of values, which is bounded, unbounded, or keeps only the last value. A channel without a
//! buffer is a *rendezvous*: a send and a receive complete together. The first of the two *parks*: it enters a list of
//! the channel in a step of its own, and the second one completes both. That a thread has parked can be observed (a
//! `select` with an `else` finds a partner or does not), so it must be a step.
//!
//! An async task that has to wait parks at channels of every kind, since its looper goes on with other messages, which
//! can be observed. Where a program has such a task, every thread parks that has to wait, so that all that wait are
//! served in the order in which they began to wait ([`Setup::waits_park`](super::Setup::waits_park)).
//!
//! Otherwise, a select with a case of a rendezvous parks at all of its channels. It then takes part in buffered
//! channels as well: the first partner of any of its cases decides the case. All other operations on buffered channels
//! never park.
//!
//! Invariant: a thread that is parked at a channel, and whose deadline has not passed, has no case that can go. So two
//! parked threads never fit each other.

use super::World;
use super::clock::due;
use super::effects::{How, Thing, ThingEffect};
use super::kind::WordKind;
use super::sync::ThreadSet;
use crate::base::Id;
use crate::event::{Args, CANCELLED, ChannelId, NULL, Op, Suspension, ThreadId, Transfer, Value};
use smallvec::SmallVec;
use std::collections::VecDeque;

/// The declaration of a channel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChannelSetup {
    /// Name of the channel.
    pub name: String,
    /// Size of the buffer.
    pub capacity: Capacity,
    /// Kind of the values.
    pub kind: WordKind,
    /// Value of a receive from a closed channel without values.
    pub zero: Value,
}

/// The size of the buffer of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Capacity {
    /// At most this many values; with 0 the channel is a rendezvous.
    Bounded(u32),
    /// Any number of values.
    Unbounded,
    /// One value: a send replaces a value that has not been received.
    Conflated,
}

/// A channel.
#[derive(Default, Debug)]
pub(super) struct Channel {
    pub(super) items: VecDeque<Value>,
    pub(super) closed: bool,
    // Parked threads, in the order in which they parked.
    pub(super) receivers: Vec<Parked>,
    pub(super) senders: Vec<Parked>,
    // Threads that are pending at a send or receive of this channel.
    pub(super) pending_set: ThreadSet,
}

crate::clone_in_place!(Channel { items, closed, receivers, senders, pending_set });

/// A thread that is parked at a channel, with the case of its select (0 for a send or receive) and the value that it
/// sends (0 for a receive).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Parked {
    pub(super) thread: ThreadId,
    pub(super) case: u32,
    pub(super) value: Value,
}

/// What a partner has decided for a parked thread: the case, and how it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handover {
    /// The parked thread.
    pub thread: ThreadId,
    /// Index of the case of its select; 0 for a send or receive.
    pub case: u32,
    /// What has happened to its value.
    pub what: Exchanged,
}

/// How a send or receive ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exchanged {
    /// The value was sent.
    Sent,
    /// This value was received.
    Received(Value),
    /// The channel was closed, and had no value.
    Closed,
    /// Neither yet: the thread has parked. Never the content of a [`Handover`].
    Parked,
}

/// One case of a select.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SelectCase {
    /// The channel. A case without a channel (null) never goes.
    pub channel: Option<ChannelId>,
    /// The value that the case sends; `None` for a receive.
    pub sends: Option<Value>,
}

/// Number of words of a case in the arguments of a select: the channel, whether the case sends, the value.
const CASE: usize = 3;

impl Channel {
    /// Makes the channel empty and open.
    pub(super) fn renew(&mut self) {
        self.items.clear();
        self.closed = false;
        self.receivers.clear();
        self.senders.clear();
        self.pending_set.0.clear();
    }
}

impl World {
    /// Returns the cases of a select.
    pub fn cases(&self, cases: Args) -> impl Iterator<Item = SelectCase> + '_ {
        self.args(cases)
            .chunks_exact(CASE)
            .map(|words| SelectCase { channel: channel_of(words[0]), sends: (words[1] != 0).then_some(words[2]) })
    }

    /// Keeps the cases of a select until the end of the run.
    pub fn keep_cases(&mut self, cases: &[SelectCase]) -> Args {
        let words = |case: &SelectCase| {
            let channel = case.channel.map_or(NULL, |channel| Value::from(channel.0));
            [channel, Value::from(case.sends.is_some()), case.sends.unwrap_or(0)]
        };
        self.keep_args(&cases.iter().flat_map(words).collect::<SmallVec<[Value; CASE]>>())
    }

    /// Returns the case of a select at an index. `None` for the deadline and the `else`.
    #[must_use]
    pub fn case(&self, cases: Args, index: Value) -> Option<SelectCase> {
        self.cases(cases).nth(usize::try_from(index).ok()?)
    }

    /// Returns how a select with this value has touched its channels: as the send or receive of its case; as the sends
    /// and receives of all its cases, if it has parked; or as a look at all of them, if no case could go. A select that
    /// parks with a deadline also looks at them, since the order with a send then decides whether the deadline passes.
    /// The second half of a select ends the send or receive of its case. Empty for a select that a cancellation or its
    /// deadline has ended, and `None` for any other operation.
    #[must_use]
    pub fn selected_effects(&self, op: &Op, value: Value) -> Option<SmallVec<[ThingEffect; 2]>> {
        let (cases, timed, ends) = match *op {
            Op::Select { cases, timeout, .. } => (cases, timeout.is_some(), false),
            Op::Suspend { on: Suspension::Transfer(Transfer::Select { cases, timeout, .. }), .. } => {
                (cases, timeout.is_some(), false)
            }
            Op::Selected { cases } | Op::Resume(Suspension::Transfer(Transfer::Select { cases, .. })) => {
                (cases, false, true)
            }
            _ => return None,
        };
        let how = |case: &SelectCase| match (case.sends.is_some(), ends) {
            (true, false) => How::Send,
            (true, true) => How::EndSend,
            (false, false) => How::Receive,
            (false, true) => How::EndReceive,
        };
        let touch = |case: SelectCase, how| case.channel.map(|channel| (Thing::Channel(channel), how));
        let transfers = || self.cases(cases).filter_map(|case| touch(case, how(&case)));
        let looks = || self.cases(cases).filter_map(|case| touch(case, How::Look));
        Some(match value {
            CANCELLED => SmallVec::new(),
            NULL if ends => SmallVec::new(),
            NULL if timed => transfers().chain(looks()).collect(),
            NULL => transfers().collect(),
            _ => match self.case(cases, value) {
                Some(case) => touch(case, how(&case)).into_iter().collect(),
                None if ends => SmallVec::new(),
                None => looks().collect(),
            },
        })
    }

    /// Returns the decisions for threads that are parked and have not gone on yet.
    #[must_use]
    pub fn handovers(&self) -> &[Handover] {
        &self.handovers
    }

    /// Returns how the last send, receive or case of a select ended. Only meaningful right after such a step.
    #[must_use]
    pub fn exchanged(&self) -> Exchanged {
        self.exchanged
    }

    /// Returns whether the channel has no buffer.
    #[must_use]
    pub fn is_rendezvous(&self, channel: ChannelId) -> bool {
        self.capacity(channel) == Capacity::Bounded(0)
    }

    // Returns whether a thread that has to wait at the channel parks.
    fn parks_at(&self, channel: ChannelId) -> bool {
        self.setup.waits_park || self.is_rendezvous(channel)
    }

    /// Returns the size of the channel's buffer.
    #[must_use]
    pub fn capacity(&self, channel: ChannelId) -> Capacity {
        match self.setup.channels.get(channel.index()) {
            Some(declared) => declared.capacity,
            None => self.made_capacity(channel),
        }
    }

    pub(super) fn handover(&self, thread: ThreadId) -> Option<Handover> {
        self.handovers.iter().find(|h| h.thread == thread).copied()
    }

    /// Returns the kind of the value that a parked thread has received.
    pub(super) fn received_kind(&self, thread: ThreadId, case: u32) -> WordKind {
        let channel = match self.threads[thread].pending {
            Op::Received { channel, .. } => Some(channel),
            Op::Selected { cases } => self.case(cases, i64::from(case)).and_then(|case| case.channel),
            _ => None,
        };
        channel.map_or(WordKind::Word, |channel| self.setup.channel_kind(channel))
    }

    /// Returns the first parked thread of a list that `own` can complete. One whose deadline has passed is not among
    /// them: its select has timed out, although it has not noticed yet.
    pub(super) fn partner(&self, list: &[Parked], own: ThreadId) -> Option<Parked> {
        list.iter().find(|p| p.thread != own && !due(self.threads[p.thread].deadline, self.now)).copied()
    }

    fn has_room(&self, channel: ChannelId) -> bool {
        match self.capacity(channel) {
            Capacity::Bounded(most) => self.channels[channel].items.len() < most as usize,
            Capacity::Unbounded | Capacity::Conflated => true,
        }
    }

    /// Returns whether a send of a thread completes or throws at once. (A parked receiver of a buffered channel means
    /// that the buffer is empty, and so has room.)
    pub(super) fn can_send(&self, channel: ChannelId, own: ThreadId) -> bool {
        let c = &self.channels[channel];
        c.closed || self.has_room(channel) || self.partner(&c.receivers, own).is_some()
    }

    /// Returns whether a receive of a thread completes at once.
    pub(super) fn can_receive(&self, channel: ChannelId, own: ThreadId) -> bool {
        let c = &self.channels[channel];
        c.closed || !c.items.is_empty() || self.partner(&c.senders, own).is_some()
    }

    fn can_go(&self, case: SelectCase, own: ThreadId) -> bool {
        case.channel.is_some_and(|channel| match case.sends {
            Some(_) => self.can_send(channel, own),
            None => self.can_receive(channel, own),
        })
    }

    /// Returns the indices of the cases that can go; the deadline, if it has passed, has the index after the last case.
    pub(super) fn open_cases(&self, own: ThreadId, cases: Args, timed_out: bool) -> SmallVec<[u32; 8]> {
        let mut open: SmallVec<[u32; 8]> =
            self.cases(cases).zip(0..).filter(|(case, _)| self.can_go(*case, own)).map(|(_, i)| i).collect();
        if timed_out {
            open.push(case_count(cases));
        }
        open
    }

    /// Returns the number of cases that can go of the select at which a thread is pending.
    pub(super) fn open_case_count(&self, thread: ThreadId) -> usize {
        match self.threads[thread].pending {
            Op::Select { cases, .. } => {
                self.open_cases(thread, cases, due(self.threads[thread].deadline, self.now)).len()
            }
            // The time of a job's select begins when it is performed.
            Op::Suspend { on: Suspension::Transfer(Transfer::Select { cases, timeout, .. }), .. } => {
                match self.running_job(thread).filter(|job| !self.is_cancelled(*job)) {
                    Some(job) => self.open_cases(job, cases, timeout.is_some_and(|t| t <= 0)).len(),
                    None => 0,
                }
            }
            _ => 0,
        }
    }

    /// Returns whether an operation on channels is enabled.
    pub(super) fn channel_enabled(&self, thread: ThreadId, op: &Op) -> bool {
        match *op {
            Op::Send { channel: Some(channel), .. } => self.parks_at(channel) || self.can_send(channel, thread),
            Op::Receive { channel: Some(channel), .. } => self.parks_at(channel) || self.can_receive(channel, thread),
            Op::Select { cases, otherwise, .. } => {
                let parks = |case: SelectCase| case.channel.is_some_and(|channel| self.parks_at(channel));
                otherwise || self.cases(cases).any(parks) || self.open_case_count(thread) > 0
            }
            Op::Sent { .. } | Op::Received { .. } => self.handover(thread).is_some(),
            Op::Selected { .. } => self.handover(thread).is_some() || due(self.threads[thread].deadline, self.now),
            _ => false,
        }
    }

    /// Makes a thread leave all channels, because it gives up its operation.
    pub(super) fn leave_channels(&mut self, thread: ThreadId) {
        if !self.channels.is_empty() {
            self.unpark(thread);
            self.handovers.retain(|h| h.thread != thread);
        }
    }

    /// Decides again whether the threads are enabled that are pending at this channel, and all that are pending at a
    /// select.
    pub(super) fn refresh_channel(&mut self, channel: ChannelId) {
        self.refresh_all(|w| &w.channels[channel].pending_set);
        if !self.selecting.is_empty() {
            for thread in self.selecting.clone().iter() {
                self.refresh(thread);
            }
        }
    }

    /// Returns whether a thread is parked at a select and no partner has decided its case: then all operations on
    /// channels depend on each other, because such a select connects its channels. With `timed`: whether such a select
    /// has a deadline, on which the operations on its channels depend.
    pub(super) fn has_parked_select(&self, timed: bool) -> bool {
        self.selecting.iter().chain(self.jobs.waiting.iter().copied()).any(|thread| {
            let t = &self.threads[thread];
            matches!(t.pending, Op::Selected { .. })
                && self.handover(thread).is_none()
                && (!timed || t.deadline.is_some())
        })
    }
}

impl super::CanonicalWriter<'_> {
    /// Writes a channel.
    pub(super) fn channel(&mut self, id: ChannelId) {
        let world = self.world;
        let (channel, kind) = (&world.channels[id], world.setup.channel_kind(id));
        self.word(u64::from(channel.closed));
        self.word(channel.items.len() as u64);
        for item in &channel.items {
            self.value(kind, *item);
        }
        // The values that parked threads send are operands of their operations.
        for parked in [&channel.receivers, &channel.senders] {
            self.word(parked.len() as u64);
            for one in parked {
                self.thread(one.thread);
                self.word(u64::from(one.case));
            }
        }
    }

    // Writes what a partner has decided for a parked thread.
    pub(super) fn handover(&mut self, thread: ThreadId) {
        let Some(Handover { case, what, .. }) = self.world.handover(thread) else {
            self.word(0);
            return;
        };
        self.word(1 + u64::from(case));
        match what {
            Exchanged::Sent => self.word(0),
            Exchanged::Closed | Exchanged::Parked => self.word(1),
            Exchanged::Received(value) => {
                self.word(2);
                let kind = self.world.received_kind(thread, case);
                self.value(kind, value);
            }
        }
    }
}

/// Returns the number of cases with a channel. It is the index of the deadline; the `else` has the next one.
pub(super) fn case_count(cases: Args) -> u32 {
    (cases.count as usize / CASE) as u32
}

fn channel_of(word: Value) -> Option<ChannelId> {
    if word == NULL { None } else { u32::try_from(word).ok().map(ChannelId) }
}
