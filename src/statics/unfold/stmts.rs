//! Walks statements.

use super::super::graph::{AccessData, Held, LockId, NodeKind, Pause, Place, Val};
use super::Unfolder;
use super::state::{Slot, State};
use crate::event::SiteId;
use crate::lang::ast::SyncMode;
use crate::lang::program::{ElementIndex, Expr, LocalId, PlatformStmt, SelectStmt, Stmt, SyncForStmt, Type};

impl<'p> Unfolder<'p> {
    pub(super) fn block(&mut self, block: &'p [Stmt], state: &mut State) {
        for stmt in block {
            if state.node.is_none() {
                return;
            }
            self.stmt(stmt, state);
        }
    }

    fn stmt(&mut self, stmt: &'p Stmt, state: &mut State) {
        match stmt {
            Stmt::SetLocal(local, value) => {
                let value = self.expr(value, state);
                self.set(*local, value, state);
            }
            Stmt::ClearLocal(local) => {
                if let (Some(ty), Some(slot)) = (self.local_type(*local), state.locals.get_mut(local.0 as usize)) {
                    *slot = Slot::blank(ty);
                }
            }
            Stmt::SetLocalElement { local, index, value } => {
                let at = self.index(index, state);
                let value = self.expr(value, state);
                if let Some(Slot::Many(vals)) = state.locals.get_mut(local.0 as usize) {
                    match at {
                        Some(at) => vals.iter_mut().skip(at as usize).take(1).for_each(|val| *val = value),
                        None => vals.fill(Val::Unknown),
                    }
                }
            }
            Stmt::Write { place, value, site } => {
                let at = self.address(place, state);
                let value = self.expr(value, state);
                self.write(at, value, *site, state);
            }
            Stmt::Update { place, value, read, write, .. } => {
                let at = self.address(place, state);
                self.read(at, *read, state);
                self.expr(value, state);
                self.write(at, Val::Unknown, *write, state);
            }
            Stmt::ListSet { list, index, value, site } => {
                let at = self.address(list, state);
                self.expr(index, state);
                self.expr(value, state);
                self.write(at, Val::Unknown, *site, state);
            }
            Stmt::ListUpdate { list, index, value, read, write, .. } => {
                let at = self.address(list, state);
                self.expr(index, state);
                self.read(at, *read, state);
                self.expr(value, state);
                self.write(at, Val::Unknown, *write, state);
            }
            Stmt::Expr(e) => self.evaluate(e, state),
            Stmt::If { cond, then, other } => {
                let (mut yes, mut no) = self.cond(cond, state.take());
                self.block(then, &mut yes);
                self.block(other, &mut no);
                *state = self.join(yes, no);
            }
            Stmt::While { cond, body } => self.while_loop(cond, body, state),
            Stmt::Loop { body } => self.cycle(body, None, state, |walk, state| {
                walk.block(body, state);
                State::dead()
            }),
            Stmt::ForRange { local, from, to, body } => self.for_range(*local, (from, to), body, state),
            Stmt::ForList { local, list, body, site } => {
                let at = self.address(list, state);
                self.read(at, *site, state);
                let next = self.access(at, false, None, *site);
                self.for_each(*local, Some((next, *site)), body, state);
            }
            Stmt::ForChannel { local, channel, body, site } => {
                self.expr(channel, state);
                self.cycle(body, Some(*local), state, |walk, state| {
                    walk.pause(Pause::Other, *site, state);
                    let out = state.clone();
                    walk.block(body, state);
                    out
                });
            }
            Stmt::SyncFor(sync) => self.sync_for(sync, state),
            Stmt::Select(select, site) => self.select(select, *site, state),
            Stmt::Break => self.leave_loop(false, state),
            Stmt::Continue => self.leave_loop(true, state),
            Stmt::Return(value) => {
                let value = value.as_ref().map(|value| self.expr(value, state));
                self.end_call(value, state);
            }
            Stmt::Assert { cond, .. } => *state = self.cond(cond, state.take()).0,
            Stmt::Fail { .. } | Stmt::Throw { .. } => *state = State::dead(),
            Stmt::Try { body, catch, finally } => self.try_stmt(body, catch, finally.as_deref(), state),
            Stmt::Sync { object, body, acquire, release } => {
                let held = self.lock(object, SyncMode::Sync, state);
                self.emit(state, NodeKind::Plain, *acquire);
                self.locked(held, (*acquire, *release), body, state);
            }
            Stmt::Rw { object, write, body, announce, acquire, release } => {
                let mode = if *write { SyncMode::Write } else { SyncMode::Read };
                let held = self.lock(object, mode, state);
                for site in announce.iter().chain([acquire]) {
                    self.emit(state, NodeKind::Plain, *site);
                }
                self.locked(held, (*acquire, *release), body, state);
            }
            Stmt::Transaction { body, .. } | Stmt::Block(body) => self.block(body, state),
            Stmt::JobBlock { body, open, close, .. } => self.job_block(body, (*open, *close), state),
            Stmt::Do { op, site } => self.simple(op, *site, state),
            Stmt::Platform(stmt) => self.platform_stmt(stmt, state),
        }
    }

    /// Sets a local.
    pub(super) fn set(&mut self, local: LocalId, value: Val, state: &mut State) {
        if let Some(slot) = state.locals.get_mut(local.0 as usize) {
            *slot = Slot::One(value);
        }
    }

    /// Evaluates a lock. `None` if it is not one known lock.
    pub(super) fn lock(&mut self, e: &'p Expr, mode: SyncMode, state: &mut State) -> Option<Held> {
        let word = self.expr(e, state).word().filter(|word| *word >= 0)?;
        Some(match (mode, &e.ty) {
            (SyncMode::Sync, Type::Lock) => (LockId::Lock(word), true),
            (SyncMode::Sync, _) => (LockId::Object(word), true),
            (SyncMode::Read, _) => (LockId::Rw(word), false),
            (SyncMode::Write, _) => (LockId::Rw(word), true),
        })
    }

    /// Evaluates the indices of an element: the number of the element, if known.
    pub(super) fn index(&mut self, index: &'p ElementIndex, state: &mut State) -> Option<i64> {
        let mut at = Some(0_i64);
        for dimension in index {
            let value = self.expr(&dimension.index, state).word();
            let value = value.filter(|i| (0..i64::from(dimension.len)).contains(i));
            at = at.zip(value).map(|(at, i)| at + i * i64::from(dimension.stride));
        }
        at
    }

    /// Adds a read.
    pub(super) fn read(&mut self, place: Place, site: SiteId, state: &mut State) {
        let kind = self.access(place, false, None, site);
        self.emit(state, kind, site);
    }

    /// Adds a write.
    pub(super) fn write(&mut self, place: Place, value: Val, site: SiteId, state: &mut State) {
        if let Place::Global { id, .. } = place {
            self.give(id, value);
        }
        let kind = self.access(place, true, value.word(), site);
        self.emit(state, kind, site);
    }

    /// Returns the kind of a node that accesses memory.
    pub(super) fn access(&mut self, place: Place, writes: bool, value: Option<i64>, site: SiteId) -> NodeKind {
        let kind = self.program.sites.get(site.0 as usize).map(|site| site.kind);
        let races = kind.is_some_and(|kind| kind.access().is_some());
        let atomic = kind.is_some_and(|kind| kind.is_atomic());
        self.graph.accesses.push(AccessData { place, writes, value, atomic, races });
        NodeKind::Access(self.graph.accesses.len() as u32 - 1)
    }

    fn sync_for(&mut self, sync: &'p SyncForStmt, state: &mut State) {
        let held = self.lock(&sync.object, sync.mode, state);
        self.expr(&sync.timeout, state);
        self.emit(state, NodeKind::Plain, sync.acquire);
        let mut other = state.clone();
        self.locked(held, (sync.acquire, sync.release), &sync.body, state);
        self.block(&sync.other, &mut other);
        *state = self.join_of(state, other);
    }

    fn select(&mut self, select: &'p SelectStmt, site: SiteId, state: &mut State) {
        for case in &select.cases {
            self.expr(&case.channel, state);
            case.sends.iter().for_each(|value| self.evaluate(value, state));
        }
        select.after.iter().for_each(|(delay, _)| self.evaluate(delay, state));
        self.pause(Pause::Other, site, state);
        for local in select.cases.iter().flat_map(|case| [case.value, case.received]).flatten() {
            self.set(local, Val::Unknown, state);
        }
        let start = state.take();
        let cases = select.cases.iter().map(|case| &case.body);
        for block in cases.chain(select.after.iter().map(|(_, block)| block)).chain(&select.otherwise) {
            let mut case = start.clone();
            self.block(block, &mut case);
            *state = self.join_of(state, case);
        }
    }

    fn platform_stmt(&mut self, stmt: &'p PlatformStmt, state: &mut State) {
        match stmt {
            PlatformStmt::SetState { value, .. } => self.evaluate(value, state),
            PlatformStmt::SetField { instance, value, .. } => {
                self.expr(instance, state);
                self.expr(value, state);
            }
            PlatformStmt::SetStage { instance, .. } => self.evaluate(instance, state),
            PlatformStmt::Withdraw { request, .. } => self.evaluate(request, state),
            PlatformStmt::ForInstances { local, body, .. } => self.for_each(*local, None, body, state),
        }
    }
}
