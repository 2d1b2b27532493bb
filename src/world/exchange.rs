//! Performs sends, receives, closes and selects.

use super::World;
use super::channels::{Capacity, Exchanged, Handover, Parked, SelectCase, case_count};
use super::clock::due;
use super::perform::{Reply, ThrownException};
use crate::event::{ChannelId, ChannelRead, LimitKind, Op, Outcome, ThreadId, Transfer, Value};
use smallvec::SmallVec;

impl World {
    /// Performs an operation of a thread on channels. `argument` picks the case of a select.
    pub(super) fn act_on_channel(&mut self, thread: ThreadId, argument: u64) -> Result<Reply, ThrownException> {
        let transfer = match self.threads[thread].pending {
            Op::Send { channel, value } => Transfer::Send { channel, value },
            Op::Receive { channel, iterates } => Transfer::Receive { channel, iterates },
            Op::Select { cases, timeout, otherwise } => Transfer::Select { cases, timeout, otherwise },
            Op::Sent { .. } | Op::Received { .. } | Op::Selected { .. } => return self.end_transfer(thread),
            Op::Close(channel) => {
                if self.channels[channel].closed {
                    return Err(ThrownException::Closed);
                }
                self.close(channel);
                return Ok(Reply::Value(0));
            }
            Op::ChannelRead { channel, what } => {
                let c = &self.channels[channel];
                return Ok(Reply::Value(match what {
                    ChannelRead::Closed => i64::from(c.closed),
                    ChannelRead::Len => c.items.len() as i64,
                }));
            }
            _ => return Ok(Reply::Value(0)),
        };
        let timed_out = due(self.threads[thread].deadline, self.now);
        let Some((case, what)) = self.transfer(thread, transfer, timed_out, argument) else {
            self.park(thread, transfer);
            self.threads[thread].pending = transfer.second_half();
            return Ok(Reply::Again);
        };
        self.threads[thread].deadline = None;
        self.conclude(&transfer.first_half(), case, what)
    }

    /// Performs a transfer that does not have to wait. `None` if it has to. The result is the index of the case (see
    /// [`Reply::Selected`]; 0 for a send or receive), and how the transfer has ended. `argument` picks the case of a
    /// select, whose deadline has passed if `timed_out`.
    pub(super) fn transfer(
        &mut self,
        own: ThreadId,
        transfer: Transfer,
        timed_out: bool,
        argument: u64,
    ) -> Option<(u32, Exchanged)> {
        match transfer {
            Transfer::Send { channel, value } => {
                let channel = channel.filter(|channel| self.can_send(*channel, own))?;
                Some((0, self.complete_send(own, channel, value)))
            }
            Transfer::Receive { channel, .. } => {
                let channel = channel.filter(|channel| self.can_receive(*channel, own))?;
                Some((0, self.complete_receive(own, channel)))
            }
            Transfer::Select { cases, otherwise, .. } => {
                let open = self.open_cases(own, cases, timed_out);
                let Some(index) = open.get(argument as usize).or(open.first()).copied() else {
                    return otherwise.then(|| (case_count(cases) + 1, Exchanged::Closed));
                };
                let what = match self.case(cases, i64::from(index)) {
                    Some(SelectCase { channel: Some(channel), sends: Some(value) }) => {
                        self.complete_send(own, channel, value)
                    }
                    Some(SelectCase { channel: Some(channel), sends: None }) => self.complete_receive(own, channel),
                    _ => Exchanged::Closed,
                };
                Some((index, what))
            }
        }
    }

    /// Enters a thread or job in the lists of the channels of a transfer that has to wait.
    pub(super) fn park(&mut self, thread: ThreadId, transfer: Transfer) {
        self.exchanged = Exchanged::Parked;
        match transfer {
            Transfer::Send { channel: Some(channel), value } => {
                self.channels[channel].senders.push(Parked { thread, case: 0, value });
            }
            Transfer::Receive { channel: Some(channel), .. } => {
                self.channels[channel].receivers.push(Parked { thread, case: 0, value: 0 });
            }
            Transfer::Select { cases, .. } => {
                for (case, index) in self.cases(cases).zip(0..).collect::<SmallVec<[(SelectCase, u32); 8]>>() {
                    let Some(channel) = case.channel else { continue };
                    let c = &mut self.channels[channel];
                    let list = if case.sends.is_some() { &mut c.senders } else { &mut c.receivers };
                    list.push(Parked { thread, case: index, value: case.sends.unwrap_or(0) });
                }
            }
            // Nothing ever happens at a null channel.
            Transfer::Send { channel: None, .. } | Transfer::Receive { channel: None, .. } => {}
        }
    }

    /// Completes the operation of a thread or job that has parked, and whose case is decided or whose deadline has
    /// passed.
    pub(super) fn end_transfer(&mut self, thread: ThreadId) -> Result<Reply, ThrownException> {
        self.threads[thread].deadline = None;
        let op = self.threads[thread].pending;
        match self.take_handover(thread) {
            Some(Handover { case, what, .. }) => self.conclude(&op, case, what),
            None => {
                self.unpark(thread);
                let timeout = if let Op::Selected { cases } = op { case_count(cases) } else { 0 };
                self.conclude(&op, timeout, Exchanged::Closed)
            }
        }
    }

    // Returns the reply to an operation (its first or second half) whose transfer has ended.
    fn conclude(&self, op: &Op, case: u32, what: Exchanged) -> Result<Reply, ThrownException> {
        match *op {
            Op::Receive { channel: Some(channel), iterates } | Op::Received { channel, iterates } => {
                Ok(self.received(channel, iterates, what))
            }
            Op::Select { cases, .. } | Op::Selected { cases } => {
                let chosen = self.case(cases, i64::from(case));
                if what == Exchanged::Closed && chosen.is_some_and(|case| case.sends.is_some()) {
                    return Err(ThrownException::Closed);
                }
                Ok(self.selected(chosen.and_then(|case| case.channel), case, what))
            }
            _ if what == Exchanged::Closed => Err(ThrownException::Closed),
            _ => Ok(Reply::Value(0)),
        }
    }

    fn received(&self, channel: ChannelId, iterates: bool, what: Exchanged) -> Reply {
        match what {
            Exchanged::Received(value) => Reply::Value(value),
            _ if iterates => Reply::Exhausted,
            _ => Reply::Value(self.setup.channel_zero(channel)),
        }
    }

    /// Completes a send for which [`can_send`](Self::can_send) holds.
    fn complete_send(&mut self, own: ThreadId, channel: ChannelId, value: Value) -> Exchanged {
        if self.channels[channel].closed {
            self.exchanged = Exchanged::Closed;
            return Exchanged::Closed;
        }
        self.exchanged = Exchanged::Sent;
        if let Some(receiver) = self.partner(&self.channels[channel].receivers, own) {
            self.hand(receiver, Exchanged::Received(value));
        } else {
            let most = self.limits.queue;
            let conflated = self.capacity(channel) == Capacity::Conflated;
            let items = &mut self.channels[channel].items;
            if conflated {
                items.clear();
            } else if items.len() as u64 >= u64::from(most) {
                self.end(Outcome::Limit(LimitKind::QueueLength, u64::from(most)));
                return Exchanged::Sent;
            }
            items.push_back(value);
        }
        self.refresh_channel(channel);
        Exchanged::Sent
    }

    /// Completes a receive for which [`can_receive`](Self::can_receive) holds.
    fn complete_receive(&mut self, own: ThreadId, channel: ChannelId) -> Exchanged {
        let mut value = self.channels[channel].items.pop_front();
        if let Some(sender) = self.partner(&self.channels[channel].senders, own) {
            // With a buffer, the value of the parked sender takes the place that has become free.
            match value {
                Some(_) => self.channels[channel].items.push_back(sender.value),
                None => value = Some(sender.value),
            }
            self.hand(sender, Exchanged::Sent);
        }
        self.exchanged = value.map_or(Exchanged::Closed, Exchanged::Received);
        self.refresh_channel(channel);
        self.exchanged
    }

    fn close(&mut self, channel: ChannelId) {
        self.channels[channel].closed = true;
        let c = &self.channels[channel];
        let parked: SmallVec<[Parked; 8]> = c.receivers.iter().chain(&c.senders).copied().collect();
        for one in parked {
            // A select may be parked at this channel with two cases; the first one counts.
            let waits = self.handover(one.thread).is_none() && !due(self.threads[one.thread].deadline, self.now);
            if waits {
                self.hand(one, Exchanged::Closed);
            }
        }
        self.refresh_channel(channel);
    }

    // Completes the operation of a parked thread.
    fn hand(&mut self, to: Parked, what: Exchanged) {
        self.unpark(to.thread);
        self.handovers.push(Handover { thread: to.thread, case: to.case, what });
        self.threads[to.thread].deadline = None;
        self.timed.set(to.thread, false);
        self.refresh(to.thread);
    }

    /// Removes a thread from the lists of all channels.
    pub(super) fn unpark(&mut self, thread: ThreadId) {
        for channel in self.channels.iter_mut() {
            channel.receivers.retain(|p| p.thread != thread);
            channel.senders.retain(|p| p.thread != thread);
        }
    }

    fn take_handover(&mut self, thread: ThreadId) -> Option<Handover> {
        let at = self.handovers.iter().position(|h| h.thread == thread)?;
        let handover = self.handovers.remove(at);
        self.exchanged = handover.what;
        Some(handover)
    }

    fn selected(&self, channel: Option<ChannelId>, case: u32, what: Exchanged) -> Reply {
        let zero = channel.map_or(0, |channel| self.setup.channel_zero(channel));
        match what {
            Exchanged::Received(value) => Reply::Selected { case, value, received: true },
            Exchanged::Sent | Exchanged::Closed | Exchanged::Parked => {
                Reply::Selected { case, value: zero, received: false }
            }
        }
    }
}
