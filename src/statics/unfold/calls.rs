//! Calls: the body is walked in place, or shares one copy of it in the context.

use super::super::graph::{Node, NodeKind, Sync, Val};
use super::scopes::Scope;
use super::state::{Slot, State};
use super::{DEEPEST_CALL, DEEPEST_RECURSION, Frame, Unfolder};
use crate::event::{BodyId, SiteId};
use crate::lang::program::{NO_SITE, Stmt};

impl<'p> Unfolder<'p> {
    /// Returns the locals of a body at its begin.
    fn locals(&self, body: BodyId, args: &[Val]) -> Vec<Slot> {
        let Some(body) = self.program.bodies.get(body.0 as usize) else { return Vec::new() };
        let unknown = body.locals.iter().map(|(_, ty)| Slot::unknown(ty));
        let mut locals: Vec<Slot> = unknown.collect();
        locals.iter_mut().zip(args).take(body.params as usize).for_each(|(slot, arg)| *slot = Slot::One(*arg));
        locals
    }

    fn statements(&self, body: BodyId) -> &'p [Stmt] {
        let program: &'p crate::lang::Program = self.program;
        program.bodies.get(body.0 as usize).map_or(&[], |body| body.block.as_slice())
    }

    /// Walks a call, and returns its value.
    pub(super) fn call(&mut self, body: BodyId, args: Vec<Val>, state: &mut State) -> Val {
        let active: Vec<&Frame> = self.frames.iter().filter(|frame| frame.body == body).collect();
        let known = args.iter().all(|arg| *arg != Val::Unknown);
        let clones = match active.last() {
            None => self.frames.len() < DEEPEST_CALL,
            Some(frame) => known && frame.args != args && active.len() < DEEPEST_RECURSION,
        };
        if clones && !self.is_full() {
            return self.inline(body, args, state);
        }
        self.graph.busy.extend(self.blocks.sites.iter().map(|(site, _)| *site));
        let Some(from) = state.node else { return Val::Unknown };
        let (begin, end) = self.copy(body);
        self.edge(from, begin);
        state.node = Some(end);
        // What follows in the same step may throw to the handlers of this place.
        self.mark(state);
        Val::Unknown
    }

    /// Walks a body in place.
    pub(super) fn inline(&mut self, body: BodyId, args: Vec<Val>, state: &mut State) -> Val {
        self.graph.runs.insert(body);
        let outer = std::mem::replace(&mut state.locals, self.locals(body, &args));
        self.frames.push(Frame { body, args, scopes: self.scopes.len(), ends: Vec::new(), value: None });
        self.block(self.statements(body), state);
        if state.node.is_some() {
            self.end_call(None, state);
        }
        let Some(frame) = self.frames.pop() else { return Val::Unknown };
        let ends = self.join_all(State::dead(), frame.ends);
        *state = State { node: ends.node, locals: outer };
        frame.value.unwrap_or(Val::Unknown)
    }

    /// Ends the innermost call with this value.
    pub(super) fn end_call(&mut self, value: Option<Val>, state: &mut State) {
        let Some(frame) = self.frames.last() else { return };
        self.unwind(state, frame.scopes);
        let ended = state.take();
        if ended.node.is_none() {
            return;
        }
        if let Some(frame) = self.frames.last_mut() {
            let value = value.unwrap_or(Val::Unknown);
            frame.value = Some(frame.value.map_or(value, |before| before.merged(value)));
            frame.ends.push(ended);
        }
    }

    /// Returns the begin and end of the copy of a body that calls of this context share. It is walked later.
    fn copy(&mut self, body: BodyId) -> (Node, Node) {
        if let Some(copy) = self.copies.get(&body) {
            return *copy;
        }
        let scopes = std::mem::take(&mut self.scopes);
        let around = std::mem::take(&mut self.around);
        let copy = (self.node(NodeKind::Plain, NO_SITE), self.node(NodeKind::Plain, NO_SITE));
        (self.scopes, self.around) = (scopes, around);
        self.copies.insert(body, copy);
        self.graph.shares.insert(self.ctx);
        self.open.push((body, copy.0, copy.1));
        copy
    }

    /// Walks the copies that calls of this context share. An exception inside counts as a return, because the places
    /// of the calls have the ways to their handlers.
    pub(super) fn walk_copies(&mut self) {
        while let Some((body, begin, end)) = self.open.pop() {
            self.scopes.push(Scope::Handler(end));
            self.edge(begin, end);
            let mut state = State { node: Some(begin), locals: Vec::new() };
            self.inline(body, Vec::new(), &mut state);
            self.scopes.pop();
            if let Some(node) = state.node {
                self.edge(node, end);
            }
        }
        self.copies.clear();
    }

    /// Walks a `perform`: any of the callbacks, in any order, any number of times.
    pub(super) fn perform(
        &mut self,
        listener: crate::event::ListenerId,
        args: &[Val],
        site: SiteId,
        state: &mut State,
    ) {
        self.emit(state, NodeKind::Plain, site);
        let program: &'p crate::lang::Program = self.program;
        let callbacks = program.sites.get(site.0 as usize).map_or(&[][..], |site| site.calls.as_slice());
        let Some(head) = self.mark(state) else { return };
        for body in callbacks {
            let mut called = state.clone();
            self.emit(&mut called, NodeKind::Sync(Sync::Callback(listener, *body)), NO_SITE);
            self.call(*body, args.to_vec(), &mut called);
            if let Some(end) = called.node {
                self.edge(end, head);
            }
        }
    }
}
