//! Performs sends, receives, closes and selects.

use super::World;
use super::channels::{CASE, Capacity, Exchanged, Handover, Parked, SelectCase};
use super::clock::due;
use super::perform::{Reply, ThrownException};
use crate::event::{Args, ChannelId, ChannelRead, LimitKind, Op, Outcome, ThreadId, Value};
use smallvec::SmallVec;

impl World {
    /// Performs an operation on channels. `argument` picks the case of a select.
    pub(super) fn act_on_channel(&mut self, thread: ThreadId, argument: u64) -> Result<Reply, ThrownException> {
        match self.threads[thread].pending {
            Op::Send { channel: Some(channel), value } => {
                if !self.can_send(channel, thread) {
                    self.channels[channel].senders.push(Parked { thread, case: 0, value });
                    return Ok(self.parks(thread, Op::Sent { channel }));
                }
                self.complete_send(thread, channel, value)?;
                Ok(Reply::Value(0))
            }
            Op::Receive { channel: Some(channel), iterates } => {
                if !self.can_receive(channel, thread) {
                    self.channels[channel].receivers.push(Parked { thread, case: 0, value: 0 });
                    return Ok(self.parks(thread, Op::Received { channel, iterates }));
                }
                let what = self.complete_receive(thread, channel);
                Ok(self.received(channel, iterates, what))
            }
            Op::Sent { .. } => match self.take_handover(thread) {
                Some(Handover { what: Exchanged::Closed, .. }) => Err(ThrownException::Closed),
                _ => Ok(Reply::Value(0)),
            },
            Op::Received { channel, iterates } => {
                let what = self.take_handover(thread).map_or(Exchanged::Closed, |handover| handover.what);
                Ok(self.received(channel, iterates, what))
            }
            Op::Select { cases, .. } => self.select(thread, cases, argument),
            Op::Selected { cases } => self.end_select(thread, cases),
            Op::Close(channel) => {
                if self.channels[channel].closed {
                    return Err(ThrownException::Closed);
                }
                self.close(channel);
                Ok(Reply::Value(0))
            }
            Op::ChannelRead { channel, what } => {
                let c = &self.channels[channel];
                Ok(Reply::Value(match what {
                    ChannelRead::Closed => i64::from(c.closed),
                    ChannelRead::Len => c.items.len() as i64,
                }))
            }
            // An operation on a null channel is never enabled.
            _ => Ok(Reply::Value(0)),
        }
    }

    fn parks(&mut self, thread: ThreadId, second_half: Op) -> Reply {
        self.exchanged = Exchanged::Parked;
        self.threads[thread].pending = second_half;
        Reply::Again
    }

    fn received(&self, channel: ChannelId, iterates: bool, what: Exchanged) -> Reply {
        match what {
            Exchanged::Received(value) => Reply::Value(value),
            _ if iterates => Reply::Exhausted,
            _ => Reply::Value(self.setup.channels[channel].zero),
        }
    }

    /// Completes a send for which [`can_send`](Self::can_send) holds.
    fn complete_send(&mut self, own: ThreadId, channel: ChannelId, value: Value) -> Result<(), ThrownException> {
        if self.channels[channel].closed {
            self.exchanged = Exchanged::Closed;
            return Err(ThrownException::Closed);
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
                return Ok(());
            }
            items.push_back(value);
        }
        self.refresh_channel(channel);
        Ok(())
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

    fn select(&mut self, thread: ThreadId, cases: Args, argument: u64) -> Result<Reply, ThrownException> {
        let open = self.open_cases(thread, cases);
        let count = (cases.count as usize / CASE) as u32;
        let Some(index) = open.get(argument as usize).or(open.first()).copied() else {
            if matches!(self.threads[thread].pending, Op::Select { otherwise: true, .. }) {
                return Ok(Reply::Selected { case: count + 1, value: 0, received: false });
            }
            for (case, index) in self.cases(cases).zip(0..).collect::<SmallVec<[(SelectCase, u32); 8]>>() {
                let Some(channel) = case.channel else { continue };
                let c = &mut self.channels[channel];
                let list = if case.sends.is_some() { &mut c.senders } else { &mut c.receivers };
                list.push(Parked { thread, case: index, value: case.sends.unwrap_or(0) });
            }
            return Ok(self.parks(thread, Op::Selected { cases }));
        };
        self.threads[thread].deadline = None;
        match self.case(cases, i64::from(index)) {
            Some(SelectCase { channel: Some(channel), sends: Some(value) }) => {
                self.complete_send(thread, channel, value)?;
                Ok(Reply::Selected { case: index, value: 0, received: false })
            }
            Some(SelectCase { channel: Some(channel), sends: None }) => {
                let what = self.complete_receive(thread, channel);
                Ok(self.selected(Some(channel), index, what))
            }
            _ => Ok(Reply::Selected { case: count, value: 0, received: false }),
        }
    }

    fn end_select(&mut self, thread: ThreadId, cases: Args) -> Result<Reply, ThrownException> {
        self.threads[thread].deadline = None;
        let Some(Handover { case, what, .. }) = self.take_handover(thread) else {
            self.unpark(thread);
            let timeout = (cases.count as usize / CASE) as u32;
            return Ok(Reply::Selected { case: timeout, value: 0, received: false });
        };
        let chosen = self.case(cases, i64::from(case));
        if what == Exchanged::Closed && chosen.is_some_and(|case| case.sends.is_some()) {
            return Err(ThrownException::Closed);
        }
        Ok(self.selected(chosen.and_then(|case| case.channel), case, what))
    }

    fn selected(&self, channel: Option<ChannelId>, case: u32, what: Exchanged) -> Reply {
        let zero = channel.map_or(0, |channel| self.setup.channels[channel].zero);
        match what {
            Exchanged::Received(value) => Reply::Selected { case, value, received: true },
            Exchanged::Sent | Exchanged::Closed | Exchanged::Parked => {
                Reply::Selected { case, value: zero, received: false }
            }
        }
    }
}
