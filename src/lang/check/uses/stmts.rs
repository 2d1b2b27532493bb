//! The flow of facts through statements.

use super::facts::{Change, Facts, State};
use super::{LoopFlow, MOST_VISITS, Pass};
use crate::event::SiteId;
use crate::lang::program::{Expr, ExprKind, LocalId, PlatformStmt, SelectStmt, Simple, Stmt, SyncForStmt};

impl<'p> Pass<'p> {
    pub(super) fn block(&mut self, block: &'p [Stmt], state: &mut State) {
        for stmt in block {
            if !state.is_reachable() {
                return;
            }
            self.visits = self.visits.saturating_add(1);
            self.stmt(stmt, state);
        }
    }

    fn stmt(&mut self, stmt: &'p Stmt, state: &mut State) {
        match stmt {
            Stmt::SetLocal(local, value) => {
                self.expr(value, state);
                let from = if let ExprKind::Read { site, .. } = value.kind { Some(site) } else { None };
                self.set(*local, from, state);
            }
            Stmt::ClearLocal(local) => self.set(*local, None, state),
            Stmt::SetLocalElement { index, value, .. } => {
                self.indices(index, state);
                self.expr(value, state);
            }
            Stmt::Write { place, value, site } | Stmt::Update { place, value, write: site, .. } => {
                self.address(place, state);
                self.expr(value, state);
                self.write(place, *site, state);
            }
            Stmt::ListSet { list, index, value, .. } | Stmt::ListUpdate { list, index, value, .. } => {
                self.address(list, state);
                self.expr(index, state);
                self.expr(value, state);
            }
            Stmt::Expr(e) => self.expr(e, state),
            Stmt::If { cond, then, other } => {
                let (mut yes, mut no) = self.cond(cond, std::mem::replace(state, State::UNREACHABLE));
                self.block(then, &mut yes);
                self.block(other, &mut no);
                yes.join(no);
                *state = yes;
            }
            Stmt::While { cond, body } => self.repeat(state, |pass, head| {
                let (mut yes, no) = pass.cond(cond, head);
                pass.block(body, &mut yes);
                (yes, no)
            }),
            Stmt::Loop { body } => self.repeat(state, |pass, mut head| {
                pass.block(body, &mut head);
                (head, State::UNREACHABLE)
            }),
            Stmt::ForRange { local, from, to, body } => {
                self.expr(from, state);
                self.expr(to, state);
                self.for_each(*local, body, false, state);
            }
            Stmt::ForList { local, list, body, .. } => {
                self.address(list, state);
                self.for_each(*local, body, false, state);
            }
            Stmt::ForChannel { local, channel, body, .. } => {
                self.expr(channel, state);
                self.for_each(*local, body, true, state);
            }
            Stmt::SyncFor(sync) => self.sync_for(sync, state),
            Stmt::Select(select, _) => self.select(select, state),
            Stmt::Break => self.leave(state, |flow| &mut flow.breaks),
            Stmt::Continue => self.leave(state, |flow| &mut flow.continues),
            Stmt::Return(value) => {
                value.iter().for_each(|value| self.expr(value, state));
                *state = State::UNREACHABLE;
            }
            Stmt::Assert { cond, .. } => self.expr(cond, state),
            Stmt::Fail { .. } | Stmt::Throw { .. } => *state = State::UNREACHABLE,
            Stmt::Try { body, catch, finally } => {
                let catches: Vec<&[Stmt]> = catch.iter().map(|(_, block)| block.as_slice()).collect();
                match finally {
                    Some(finally) => self.try_finally(body, &catches, finally, state),
                    None => self.try_catch(body, &catches, state),
                }
            }
            Stmt::Sync { object, body, .. } | Stmt::Rw { object, body, .. } => {
                self.dereference(object, state);
                self.suspends(state);
                self.block(body, state);
            }
            Stmt::Transaction { body, .. } | Stmt::Block(body) => self.block(body, state),
            Stmt::JobBlock { body, .. } => {
                self.block(body, state);
                self.suspends(state);
            }
            Stmt::Do { op, site } => {
                self.simple(op, state);
                if let Simple::Perform { .. } = op {
                    let callbacks = self.program.sites.get(site.0 as usize).map(|site| site.calls.as_slice());
                    callbacks.into_iter().flatten().for_each(|body| self.call(state, *body));
                }
            }
            Stmt::Platform(stmt) => self.platform_stmt(stmt, state),
        }
    }

    fn set(&mut self, local: LocalId, from: Option<SiteId>, state: &mut State) {
        self.assigns(local, from);
        self.change(state, Change::Local(local));
    }

    // Repeats a round of a loop until its facts hold in every round. The round returns the states at its end, and at
    // the end of the loop.
    fn repeat(&mut self, state: &mut State, round: impl Fn(&mut Self, State) -> (State, State)) {
        let mut head = state.clone();
        if self.visits > MOST_VISITS {
            head.0.iter_mut().for_each(|facts| *facts = Facts::default());
        }
        loop {
            let (breaks, continues) = (State::UNREACHABLE, State::UNREACHABLE);
            self.loops.push(LoopFlow { breaks, continues, finals: self.finals });
            let (end, mut out) = round(self, head.clone());
            let Some(flow) = self.loops.pop() else { return };
            let mut next = head.clone();
            next.join(end);
            next.join(flow.continues);
            if next == head {
                out.join(flow.breaks);
                *state = out;
                return;
            }
            head = next;
        }
    }

    // A loop over values, each of which is assigned to a local.
    fn for_each(&mut self, local: LocalId, body: &'p [Stmt], waits: bool, state: &mut State) {
        self.repeat(state, |pass, mut head| {
            if waits {
                pass.suspends(&mut head);
            }
            let out = head.clone();
            pass.set(local, None, &mut head);
            pass.block(body, &mut head);
            (head, out)
        });
    }

    // Leaves or repeats the innermost loop. A `finally` block on the way may do anything.
    fn leave(&mut self, state: &mut State, to: impl Fn(&mut LoopFlow) -> &mut State) {
        let mut there = std::mem::replace(state, State::UNREACHABLE);
        if let Some(flow) = self.loops.last_mut() {
            if self.finals > flow.finals {
                there = State(Some(Facts::default()));
            }
            to(flow).join(there);
        }
    }

    fn try_catch(&mut self, body: &'p [Stmt], catches: &[&'p [Stmt]], state: &mut State) {
        self.handlers.extend(state.0.clone());
        self.block(body, state);
        let caught = self.handlers.pop().unwrap_or_default();
        for block in catches {
            let mut handled = State(Some(caught.clone()));
            self.block(block, &mut handled);
            state.join(handled);
        }
    }

    fn try_finally(&mut self, body: &'p [Stmt], catches: &[&'p [Stmt]], finally: &'p [Stmt], state: &mut State) {
        self.handlers.extend(state.0.clone());
        self.finals += 1;
        self.try_catch(body, catches, state);
        self.finals -= 1;
        let ends = state.is_reachable();
        state.join(State(self.handlers.pop()));
        self.block(finally, state);
        if !ends {
            *state = State::UNREACHABLE;
        }
    }

    fn sync_for(&mut self, sync: &'p SyncForStmt, state: &mut State) {
        self.dereference(&sync.object, state);
        self.expr(&sync.timeout, state);
        self.suspends(state);
        let mut other = state.clone();
        self.block(&sync.body, state);
        self.block(&sync.other, &mut other);
        state.join(other);
    }

    fn select(&mut self, select: &'p SelectStmt, state: &mut State) {
        for case in &select.cases {
            self.expr(&case.channel, state);
            case.sends.iter().for_each(|value| self.expr(value, state));
        }
        select.after.iter().for_each(|(delay, _)| self.expr(delay, state));
        self.suspends(state);
        for local in select.cases.iter().flat_map(|case| [case.value, case.received]).flatten() {
            self.set(local, None, state);
        }
        let start = std::mem::replace(state, State::UNREACHABLE);
        for block in select.blocks() {
            let mut case = start.clone();
            self.block(block, &mut case);
            state.join(case);
        }
    }

    fn simple(&mut self, op: &'p Simple, state: &mut State) {
        match op {
            // A null channel has no partner; the send waits and does not fail.
            Simple::Send { channel, value } => {
                self.expr(channel, state);
                self.expr(value, state);
            }
            Simple::Sleep(delay) => self.expr(delay, state),
            Simple::Enable { args, .. } | Simple::Perform { args, .. } => self.exprs(args, state),
            op => {
                op.operand().into_iter().for_each(|operand| self.dereference(operand, state));
                if let Simple::Cancel { token: Some(token), .. } = op {
                    self.expr(token, state);
                }
            }
        }
        match op {
            Simple::LoopQueue => self.change(state, Change::OthersRun),
            Simple::Send { .. }
            | Simple::Sleep(_)
            | Simple::Join(_)
            | Simple::Down(_)
            | Simple::Arrive(_)
            | Simple::Acquire(_)
            | Simple::Side { .. }
            | Simple::Yield
            | Simple::Switch(_) => self.suspends(state),
            _ => {}
        }
    }

    fn platform_stmt(&mut self, stmt: &'p PlatformStmt, state: &mut State) {
        match stmt {
            PlatformStmt::SetState { value, .. } => self.expr(value, state),
            PlatformStmt::SetField { instance, value, .. } => {
                self.dereference(instance, state);
                self.expr(value, state);
            }
            PlatformStmt::SetStage { instance, .. } => self.dereference(instance, state),
            PlatformStmt::Withdraw { request, .. } => self.dereference(request, state),
            PlatformStmt::ForInstances { local, body, .. } => self.for_each(*local, body, false, state),
        }
    }

    pub(super) fn exprs(&mut self, all: &'p [Expr], state: &mut State) {
        all.iter().for_each(|e| self.expr(e, state));
    }
}
