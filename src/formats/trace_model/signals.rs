//! Decides which sends and receives a model has.

use super::contexts::{ContextKind, ContextNo, Runner};
use super::keep::Kept;
use super::left_out::LeftOut;
use crate::base::IndexVec;
use crate::trace::{Action, ChannelNo, OpNo};
use std::collections::BTreeMap;

impl Kept<'_> {
    /// Keeps of each channel the receives that come after something, and the sends that they wait for. Signals never
    /// order two tasks of one looper, so a receive waits for the sends of other runners only.
    pub(super) fn signals(&mut self) {
        let trace = self.trace;
        let mut sent: IndexVec<ChannelNo, BTreeMap<Runner, Vec<OpNo>>> =
            (0..trace.channels).map(|_| BTreeMap::new()).collect();
        let mut awaited: BTreeMap<(ChannelNo, Runner), u32> = BTreeMap::new();
        let mut known: BTreeMap<(ContextNo, ChannelNo, Runner), u32> = BTreeMap::new();
        self.awaits.clear();
        for (op, operation) in trace.ops.enumerate().filter(|(op, _)| self.alive[*op]).collect::<Vec<_>>() {
            let context = self.contexts.of[op];
            let own = self.contexts.runner(context);
            match operation.action {
                Action::Send(channel) => sent[channel].entry(own).or_default().push(op),
                Action::Receive(channel) => {
                    let mut waits = BTreeMap::new();
                    for (runner, sends) in sent[channel].iter().filter(|(runner, _)| **runner != own) {
                        let n = sends.len() as u32;
                        let before = known.insert((context, channel, *runner), n).unwrap_or_default();
                        let is_must = |send: &OpNo| self.orders_nothing(*send, op);
                        if n > before && !sends[before as usize..].iter().all(is_must) {
                            waits.insert(*runner, n);
                            awaited.insert((channel, *runner), n);
                        }
                    }
                    if !waits.is_empty() {
                        self.awaits.insert(op, waits);
                    } else if !self.all {
                        self.leave_out(op, LeftOut::Signals);
                    } else {
                        self.alive[op] = false;
                    }
                }
                _ => {}
            }
        }
        for (channel, sends) in sent.enumerate() {
            for (runner, sends) in sends {
                let n = awaited.get(&(channel, *runner)).copied().unwrap_or_default();
                sends.iter().skip(n as usize).for_each(|send| self.leave_out(*send, LeftOut::Signals));
            }
        }
    }

    // Whether a receive need not wait for a send: the must-order orders them; or the send is the first thing that its
    // thread does, and the thread can do it at any time before the receive.
    fn orders_nothing(&self, send: OpNo, receive: OpNo) -> bool {
        let (contexts, must) = (&self.contexts, &self.must);
        if must.is_before(contexts, send, receive) {
            return true;
        }
        let ContextKind::Home(thread) = contexts.list[contexts.of[send]].kind else { return false };
        let mut before = self.ops(contexts.of[send]).take_while(|op| *op < send);
        let is_first = before.all(|op| matches!(self.action(op), Action::Send(_) | Action::AttachQueue));
        is_first && contexts.forks[thread].is_none_or(|fork| must.is_before(contexts, fork, receive))
    }
}
