//! Walks expressions.

use super::super::graph::{ContextKind, Monitor, NodeKind, Pause, Place, Sync, Val};
use super::Unfolder;
use super::makers::{Launch, Made};
use super::state::State;
use crate::event::SiteId;
use crate::lang::ast::{SyncMode, UnaryOp};
use crate::lang::program::{Body, Expr, ExprKind, MemoryPlace, NO_SITE, PlatformExpr, Root, Type};

impl<'p> Unfolder<'p> {
    /// Walks an expression, and returns its value.
    pub(super) fn expr(&mut self, e: &'p Expr, state: &mut State) -> Val {
        match &e.kind {
            ExprKind::Word(_) | ExprKind::Local(_) | ExprKind::SelfThread => self.peek(e, state),
            ExprKind::New(_) => Val::Unknown,
            ExprKind::LocalElement { index, .. } => {
                self.index(index, state);
                self.peek(e, state)
            }
            ExprKind::Indexed { index, .. } => {
                self.expr(index, state);
                self.peek(e, state)
            }
            ExprKind::Read { place, site } => {
                let at = self.address(place, state);
                self.read(at, *site, state);
                self.known_global(e)
            }
            ExprKind::Unary(op, operand) => match (op, self.expr(operand, state)) {
                (UnaryOp::Not, Val::Word(word)) => Val::Word(i64::from(word == 0)),
                (UnaryOp::Neg, Val::Word(word)) => Val::Word(word.wrapping_neg()),
                _ => Val::Unknown,
            },
            ExprKind::Binary { op, left, right, .. } => {
                let (left, right) = (self.expr(left, state), self.expr(right, state));
                self.combined(*op, left, right)
            }
            ExprKind::And(..) | ExprKind::Or(..) => {
                let known = self.peek(e, state);
                let (yes, no) = self.cond(e, state.take());
                let only = match (yes.node, no.node) {
                    (Some(_), None) => Val::Word(1),
                    (None, Some(_)) => Val::Word(0),
                    _ => known,
                };
                *state = self.join(yes, no);
                only
            }
            ExprKind::Call { body, args, .. } => {
                let args = self.args(args, state);
                self.call(*body, args, state)
            }
            ExprKind::ListLen { list, site } => self.list(list, None, false, *site, state),
            ExprKind::ListGet { list, index, site } => self.list(list, Some(index), false, *site, state),
            ExprKind::ListPush { list, value: e, site } | ExprKind::ListRemove { list, index: e, site } => {
                self.list(list, Some(e), true, *site, state)
            }
            ExprKind::ListPop { list, site } | ExprKind::ListClear { list, site } => {
                self.list(list, None, true, *site, state)
            }
            ExprKind::Cas { place, old, new, site } => {
                let at = self.address(place, state);
                self.expr(old, state);
                let new = self.expr(new, state);
                self.write(at, new, *site, state);
                Val::Unknown
            }
            ExprKind::FetchAdd { place, delta, site } => {
                let at = self.address(place, state);
                self.expr(delta, state);
                self.write(at, Val::Unknown, *site, state);
                Val::Unknown
            }
            ExprKind::Exchange { place, value, site } => {
                let at = self.address(place, state);
                let value = self.expr(value, state);
                self.write(at, value, *site, state);
                Val::Unknown
            }
            ExprKind::Star { site }
            | ExprKind::Choose { site, .. }
            | ExprKind::SpawnScope { site }
            | ExprKind::Now { site } => self.operation(*site, state),
            ExprKind::Post { .. } => self.post(e, state),
            ExprKind::CancelMessage { message, site } => {
                self.expr(message, state);
                self.emit(state, NodeKind::Cancel(None), *site);
                Val::Unknown
            }
            ExprKind::Accepted(message) => {
                self.expr(message, state);
                Val::Unknown
            }
            ExprKind::Fork { body, args, site } => {
                let args = self.args(args, state);
                let made = Made::new(ContextKind::Thread, Some(*body), args);
                self.make(made, *site, state).map_or(Val::Unknown, |ctx| Val::Thread(ctx, false))
            }
            ExprKind::SpawnLooper { site } => {
                let made = Made { loops: true, ..Made::new(ContextKind::Thread, None, Vec::new()) };
                self.make(made, *site, state).map_or(Val::Unknown, |ctx| Val::Thread(ctx, false))
            }
            ExprKind::Launch { body, args, place, parent, site } => {
                self.launch(Launch { body: *body, args, place, parent }, *site, state)
            }
            ExprKind::AskJob { job: of, site, .. }
            | ExprKind::ReadInterrupt { thread: of, site }
            | ExprKind::ChannelRead { channel: of, site, .. }
            | ExprKind::GroupWait { group: of, site } => {
                self.expr(of, state);
                self.operation(*site, state)
            }
            ExprKind::Receive { channel, site } => {
                self.expr(channel, state);
                self.pause(Pause::Other, *site, state);
                Val::Unknown
            }
            ExprKind::Fence { looper, site } => {
                self.expr(looper, state);
                self.emit(state, NodeKind::Fence, *site);
                Val::Unknown
            }
            ExprKind::NewHandler { looper, site } => {
                let looper = self.expr(looper, state).looper();
                self.operation(*site, state);
                looper.map_or(Val::Unknown, |looper| Val::Handler(looper, false))
            }
            ExprKind::Wait { object, with, timeout, site } => {
                let monitor = self.monitor(object, state);
                with.iter().chain(timeout).for_each(|e| self.evaluate(e, state));
                self.operation(*site, state);
                if let (Some(monitor), None) = (monitor, timeout) {
                    self.emit(state, NodeKind::Sync(Sync::Woken(monitor)), NO_SITE);
                }
                Val::Unknown
            }
            ExprKind::DownFor { semaphore, timeout, site } => {
                self.expr(semaphore, state);
                self.expr(timeout, state);
                self.pause(Pause::Other, *site, state);
                Val::Unknown
            }
            ExprKind::AcquireFor { lock: of, timeout, site, .. }
            | ExprKind::GroupAdd { group: of, delta: timeout, site } => {
                self.graph.timed_locks |= matches!(e.kind, ExprKind::AcquireFor { .. });
                self.expr(of, state);
                self.expr(timeout, state);
                self.operation(*site, state)
            }
            ExprKind::Await { cond, timeout, site } => {
                timeout.iter().for_each(|timeout| self.evaluate(timeout, state));
                // An async task goes on some time after the condition has held.
                let is_stale = self.pause(Pause::Other, *site, state);
                if timeout.is_none() {
                    let mut tests = Vec::new();
                    self.tests(cond, true, state, &mut tests);
                    tests.into_iter().for_each(|test| self.flag(test, is_stale, state));
                }
                Val::Unknown
            }
            ExprKind::Platform(e) => self.platform_expr(e, state),
        }
    }

    /// Walks an expression whose value does not matter.
    pub(super) fn evaluate(&mut self, e: &'p Expr, state: &mut State) {
        self.expr(e, state);
    }

    /// Adds an operation at which an async task is suspended. Anywhere else it is one that no rule names. Returns
    /// whether it suspends.
    pub(super) fn pause(&mut self, pause: Pause, site: SiteId, state: &mut State) -> bool {
        let body = self.frames.last().and_then(|frame| self.program.bodies.get(frame.body.0 as usize));
        let suspends = self.graph.context(self.ctx).kind == ContextKind::Job && body.is_some_and(Body::is_async);
        let kind = if suspends { NodeKind::Suspend(pause) } else { NodeKind::Plain };
        self.emit(state, kind, site);
        suspends
    }

    /// Adds an operation that no rule names.
    pub(super) fn operation(&mut self, site: SiteId, state: &mut State) -> Val {
        self.emit(state, NodeKind::Plain, site);
        Val::Unknown
    }

    pub(super) fn args(&mut self, args: &'p [Expr], state: &mut State) -> Vec<Val> {
        args.iter().map(|arg| self.expr(arg, state)).collect()
    }

    /// Evaluates what is waited on or notified.
    pub(super) fn monitor(&mut self, e: &'p Expr, state: &mut State) -> Option<Monitor> {
        if e.ty == Type::Condition {
            return self.expr(e, state).word().map(Monitor::Condition);
        }
        self.lock(e, SyncMode::Sync, state).map(|(lock, _)| Monitor::Lock(lock))
    }

    /// Evaluates the place of an access.
    pub(super) fn address(&mut self, place: &'p MemoryPlace, state: &mut State) -> Place {
        match &place.root {
            Root::Global(id) => Place::Global { id: *id, cell: self.index(&place.index, state) },
            Root::Field { object, class, field, .. } => {
                let object = self.expr(object, state).word();
                Place::Field { class: *class, field: *field, cell: self.index(&place.index, state), object }
            }
        }
    }

    /// Evaluates an object that is accessed as a whole.
    pub(super) fn object(&mut self, e: &'p Expr, state: &mut State) -> Place {
        let object = self.expr(e, state).word();
        let class = if let Type::Object(class) = e.ty { class } else { crate::lang::program::ClassId(0) };
        Place::Object { class, object }
    }

    fn list(
        &mut self,
        list: &'p MemoryPlace,
        operand: Option<&'p Expr>,
        writes: bool,
        site: SiteId,
        state: &mut State,
    ) -> Val {
        let at = self.address(list, state);
        operand.into_iter().for_each(|e| self.evaluate(e, state));
        match writes {
            true => self.write(at, Val::Unknown, site, state),
            false => self.read(at, site, state),
        }
        Val::Unknown
    }

    fn platform_expr(&mut self, e: &'p PlatformExpr, state: &mut State) -> Val {
        match e {
            PlatformExpr::State(_) | PlatformExpr::Single { .. } => {}
            PlatformExpr::Field { instance, .. }
            | PlatformExpr::Stage { instance, .. }
            | PlatformExpr::Parameter { instance, .. }
            | PlatformExpr::Asked { instance, .. }
            | PlatformExpr::Again { instance, .. }
            | PlatformExpr::Some { than: instance, .. } => self.evaluate(instance, state),
            PlatformExpr::Ask { instance, args, .. } => {
                self.expr(instance, state);
                self.args(args, state);
            }
            PlatformExpr::Make { args, .. } => _ = self.args(args, state),
            PlatformExpr::Verb { body, args, site, .. } => {
                let args = self.args(args, state);
                self.operation(*site, state);
                return self.call(*body, args, state);
            }
        }
        Val::Unknown
    }
}
