//! Loops: rounds that are unfolded one by one, and cycles.

use super::super::graph::{NodeKind, Val};
use super::scopes::Scope;
use super::state::{Slot, State};
use super::{MOST_ROUNDS, Unfolder};
use crate::lang::program::{Expr, ExprKind, LocalId, PlatformStmt, Stmt};
use std::collections::BTreeSet;

impl<'p> Unfolder<'p> {
    /// Walks a `while`. Its rounds are unfolded as long as the condition is known.
    pub(super) fn while_loop(&mut self, cond: &'p Expr, body: &'p [Stmt], state: &mut State) {
        let mut outs = Vec::new();
        let constant = matches!(cond.kind, ExprKind::Word(_));
        for _ in 0..MOST_ROUNDS {
            match self.peek(cond, state).word() {
                _ if constant || self.is_full() || state.node.is_none() => break,
                None => break,
                Some(0) => {
                    *state = self.joined(state, outs);
                    return;
                }
                Some(_) => outs.extend(self.round(body, state)),
            }
        }
        self.cycle(body, None, state, |walk, state| {
            let (yes, no) = walk.cond(cond, state.take());
            *state = yes;
            walk.block(body, state);
            no
        });
        *state = self.joined(state, outs);
    }

    /// Walks a `for` over a range.
    pub(super) fn for_range(
        &mut self,
        local: LocalId,
        (from, to): (&'p Expr, &'p Expr),
        body: &'p [Stmt],
        state: &mut State,
    ) {
        let ends = (self.expr(from, state).word(), self.expr(to, state).word());
        if let (Some(from), Some(to)) = ends
            && to.saturating_sub(from) <= MOST_ROUNDS
            && !self.is_full()
        {
            let mut outs = Vec::new();
            for i in from..to {
                self.set(local, Val::Word(i), state);
                outs.extend(self.round(body, state));
            }
            *state = self.joined(state, outs);
            return;
        }
        self.for_each(local, None, body, state);
    }

    /// Walks a loop over values that are not known. `next` is the operation before each round.
    pub(super) fn for_each(
        &mut self,
        local: LocalId,
        next: Option<(NodeKind, crate::event::SiteId)>,
        body: &'p [Stmt],
        state: &mut State,
    ) {
        self.cycle(body, Some(local), state, |walk, state| {
            if let Some((kind, site)) = next {
                walk.emit(state, kind, site);
            }
            let out = state.clone();
            walk.block(body, state);
            out
        });
    }

    /// Walks one round of a loop, and returns the states of its `break`s.
    fn round(&mut self, body: &'p [Stmt], state: &mut State) -> Vec<State> {
        self.scopes.push(Scope::Loop { breaks: Vec::new(), continues: Vec::new() });
        self.block(body, state);
        let Some(Scope::Loop { breaks, continues }) = self.scopes.pop() else { return Vec::new() };
        *state = self.joined(state, continues);
        breaks
    }

    /// Walks a loop as a cycle. The round leaves the state at its end, and returns the one in which the loop ends.
    /// Locals that the body assigns are not known.
    pub(super) fn cycle(
        &mut self,
        body: &'p [Stmt],
        local: Option<LocalId>,
        state: &mut State,
        round: impl FnOnce(&mut Self, &mut State) -> State,
    ) {
        let mut assigned: BTreeSet<LocalId> = local.into_iter().collect();
        find_assigned(body, &mut assigned);
        for local in assigned {
            match state.locals.get_mut(local.0 as usize) {
                Some(Slot::One(val)) => *val = Val::Unknown,
                Some(Slot::Many(vals)) => vals.fill(Val::Unknown),
                None => {}
            }
        }
        let Some(head) = self.mark(state) else { return };
        self.scopes.push(Scope::Loop { breaks: Vec::new(), continues: Vec::new() });
        let out = round(self, state);
        let Some(Scope::Loop { breaks, continues }) = self.scopes.pop() else { return };
        for end in continues.iter().chain([&*state]).filter_map(|state| state.node) {
            self.edge(end, head);
        }
        *state = self.join_all(out, breaks);
    }

    fn joined(&mut self, state: &mut State, others: Vec<State>) -> State {
        let state = state.take();
        self.join_all(state, others)
    }

    /// Leaves or repeats the innermost loop.
    pub(super) fn leave_loop(&mut self, again: bool, state: &mut State) {
        let Some(depth) = self.scopes.iter().rposition(|scope| matches!(scope, Scope::Loop { .. })) else { return };
        self.unwind(state, depth + 1);
        if let Some(Scope::Loop { breaks, continues }) = self.scopes.get_mut(depth) {
            (if again { continues } else { breaks }).push(state.take());
        }
    }
}

/// Finds the locals that statements assign.
fn find_assigned(block: &[Stmt], into: &mut BTreeSet<LocalId>) {
    for stmt in block {
        match stmt {
            Stmt::SetLocal(local, _) | Stmt::ClearLocal(local) | Stmt::SetLocalElement { local, .. } => {
                into.insert(*local);
            }
            Stmt::If { then, other, .. } => {
                find_assigned(then, into);
                find_assigned(other, into);
            }
            Stmt::ForRange { local, body, .. }
            | Stmt::ForList { local, body, .. }
            | Stmt::ForChannel { local, body, .. } => {
                into.insert(*local);
                find_assigned(body, into);
            }
            Stmt::While { body, .. }
            | Stmt::Loop { body }
            | Stmt::Sync { body, .. }
            | Stmt::Rw { body, .. }
            | Stmt::Transaction { body, .. }
            | Stmt::JobBlock { body, .. }
            | Stmt::Block(body) => find_assigned(body, into),
            Stmt::SyncFor(sync) => {
                find_assigned(&sync.body, into);
                find_assigned(&sync.other, into);
            }
            Stmt::Select(select, _) => {
                for case in &select.cases {
                    into.extend(case.value.into_iter().chain(case.received));
                }
                let blocks = select.cases.iter().map(|case| &case.body);
                let blocks = blocks.chain(select.after.iter().map(|(_, body)| body)).chain(&select.otherwise);
                blocks.for_each(|body| find_assigned(body, into));
            }
            Stmt::Try { body, catch, finally } => {
                find_assigned(body, into);
                catch.iter().for_each(|(_, block)| find_assigned(block, into));
                finally.iter().for_each(|block| find_assigned(block, into));
            }
            Stmt::Platform(PlatformStmt::ForInstances { local, body, .. }) => {
                into.insert(*local);
                find_assigned(body, into);
            }
            Stmt::Platform(_)
            | Stmt::Write { .. }
            | Stmt::Update { .. }
            | Stmt::ListSet { .. }
            | Stmt::ListUpdate { .. }
            | Stmt::Expr(_)
            | Stmt::Break
            | Stmt::Continue
            | Stmt::Return(_)
            | Stmt::Assert { .. }
            | Stmt::Fail { .. }
            | Stmt::Throw { .. }
            | Stmt::Do { .. } => {}
        }
    }
}
