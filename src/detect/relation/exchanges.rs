//! The order that channels of the language carry (Go's memory model, *Channel communication*):
//!
//! - a send to the receive of its value;
//! - the k-th receive to the (k+n)-th send of a channel with a buffer of n values; for a rendezvous (n = 0) this is the
//!   receive to the completion of its send;
//! - a close to each receive, and each read of `closed`, that sees it.
//!
//! A thread that has parked performs its send or receive in two events. It sends what it knows when it parks, and
//! learns what its partner knew when it goes on.

use super::signals::EventChannels;
use crate::event::{ChannelId, ChannelRead, Op, ThreadId, Value};
use crate::world::{Capacity, Exchanged, World};
use std::collections::{BTreeMap, VecDeque};

/// The sends, receives and closes of a run, each with the number of its signal.
#[derive(Clone, Default, Debug)]
pub(super) struct Exchanges {
    channels: BTreeMap<ChannelId, ChannelSignals>,
    // Signals of the threads that have parked.
    parked: BTreeMap<ThreadId, u32>,
    // Signals that a thread learns when it goes on. A thread is here as long as its partner's decision waits for it.
    owed: BTreeMap<ThreadId, Vec<u32>>,
}

#[derive(Clone, Default, Debug)]
struct ChannelSignals {
    // Sends whose values are in the buffer.
    sent: VecDeque<u32>,
    // Receives that have made room for a send that has not happened yet.
    room: VecDeque<u32>,
    sends: u64,
    closed: Option<u32>,
}

impl Exchanges {
    /// Processes an operation on channels, with its value. `world` is the state after it. `next` numbers signals.
    pub(super) fn perform(
        &mut self,
        world: &World,
        thread: ThreadId,
        (op, value): (&Op, Value),
        next: &mut dyn FnMut() -> u32,
        passed: &mut EventChannels,
    ) {
        if op.is_second_half() {
            return self.goes_on(thread, passed);
        }
        // A thread that begins an operation is no longer parked. The end of an earlier one may have been refused.
        self.parked.remove(&thread);
        self.owed.remove(&thread);
        if let Op::ChannelRead { channel, what } = *op {
            let sees = what == ChannelRead::Closed && value != 0;
            passed.receives.extend(self.channels.get(&channel).filter(|_| sees).and_then(|of| of.closed));
            return;
        }
        let signal = next();
        passed.sends.push(signal);
        // A promise suspends although it has found a partner.
        if world.handovers().iter().any(|h| h.thread == thread) {
            self.owed.insert(thread, Vec::new());
        }
        let partners: Vec<ThreadId> =
            world.handovers().iter().map(|h| h.thread).filter(|t| !self.owed.contains_key(t)).collect();
        let (channel, sends) = match *op {
            Op::Send { channel, .. } => (channel, true),
            Op::Receive { channel, .. } => (channel, false),
            Op::Close(channel) => return self.close(channel, signal, &partners),
            Op::Select { cases, .. } => match world.case(cases, value) {
                Some(case) => (case.channel, case.sends.is_some()),
                None => (None, false),
            },
            _ => (None, false),
        };
        if world.exchanged() == Exchanged::Parked && channel_waits(op, value) {
            self.parked.insert(thread, signal);
            return;
        }
        let Some(channel) = channel else { return };
        let partner = partners.first().copied();
        if sends {
            self.send(world, channel, (signal, partner), passed);
        } else {
            self.receive(world, channel, (signal, partner), passed);
        }
    }

    /// Processes the second half of the operation of a thread, or of a job that was suspended at a channel.
    pub(super) fn goes_on(&mut self, thread: ThreadId, passed: &mut EventChannels) {
        self.parked.remove(&thread);
        passed.receives.extend(self.owed.remove(&thread).into_iter().flatten());
    }

    fn send(
        &mut self,
        world: &World,
        channel: ChannelId,
        (signal, partner): (u32, Option<ThreadId>),
        passed: &mut EventChannels,
    ) {
        // A send to a closed channel throws.
        if world.exchanged() != Exchanged::Sent {
            return;
        }
        let capacity = world.capacity(channel);
        let of = self.channels.entry(channel).or_default();
        of.sends += 1;
        if let Capacity::Bounded(most) = capacity
            && of.sends > u64::from(most)
        {
            passed.receives.extend(of.room.pop_front());
        }
        match partner {
            Some(receiver) => {
                let arrived = self.parked.get(&receiver).copied();
                self.owed.insert(receiver, vec![signal]);
                match capacity {
                    Capacity::Bounded(0) => passed.receives.extend(arrived),
                    // The receive of this value makes room for a later send.
                    Capacity::Bounded(_) => of.room.extend(arrived),
                    Capacity::Unbounded | Capacity::Conflated => {}
                }
            }
            None => {
                if capacity == Capacity::Conflated {
                    of.sent.clear();
                }
                of.sent.push_back(signal);
            }
        }
    }

    fn receive(
        &mut self,
        world: &World,
        channel: ChannelId,
        (signal, partner): (u32, Option<ThreadId>),
        passed: &mut EventChannels,
    ) {
        let bounded = matches!(world.capacity(channel), Capacity::Bounded(1..));
        let of = self.channels.entry(channel).or_default();
        if world.exchanged() == Exchanged::Closed {
            passed.receives.extend(of.closed);
            return;
        }
        passed.receives.extend(of.sent.pop_front());
        match partner {
            Some(sender) => {
                of.sends += 1;
                let arrived = self.parked.get(&sender).copied();
                self.owed.insert(sender, vec![signal]);
                // With a buffer the value of the parked sender takes the room that has become free.
                if bounded {
                    of.sent.extend(arrived);
                } else {
                    passed.receives.extend(arrived);
                }
            }
            None if bounded => of.room.push_back(signal),
            None => {}
        }
    }

    fn close(&mut self, channel: ChannelId, signal: u32, partners: &[ThreadId]) {
        // A second close throws, and changes nothing.
        let of = self.channels.entry(channel).or_default();
        of.closed.get_or_insert(signal);
        for partner in partners {
            self.owed.insert(*partner, vec![signal]);
        }
    }
}

// Returns whether the operation may have parked: a send or receive, or a select of which no case has gone.
fn channel_waits(op: &Op, value: Value) -> bool {
    match op {
        Op::Send { .. } | Op::Receive { .. } => true,
        Op::Select { .. } => value == crate::event::NULL,
        _ => false,
    }
}
