//! The flow of facts through expressions and conditions.

use super::Pass;
use super::facts::{Place, State};
use crate::event::{NULL, SiteId};
use crate::lang::ast::{BinaryOp, UnaryOp};
use crate::lang::check::components::THIS;
use crate::lang::program::{
    ElementIndex, Expr, ExprKind, LaunchParentExpr, LaunchPlaceExpr, LocalId, MemoryPlace, NO_SITE, PlatformExpr,
    PostTimeExpr, Root,
};

impl<'p> Pass<'p> {
    pub(super) fn expr(&mut self, e: &'p Expr, state: &mut State) {
        match &e.kind {
            ExprKind::Word(_)
            | ExprKind::Local(_)
            | ExprKind::SelfThread
            | ExprKind::New(_)
            | ExprKind::Star { .. }
            | ExprKind::Choose { .. }
            | ExprKind::SpawnLooper { .. }
            | ExprKind::SpawnScope { .. }
            | ExprKind::Now { .. } => {}
            ExprKind::LocalElement { index, .. } => self.indices(index, state),
            ExprKind::Indexed { index, .. } => self.expr(index, state),
            ExprKind::Read { place, site } => {
                self.address(place, state);
                self.read(place, *site, state);
            }
            ExprKind::Unary(_, operand) => self.expr(operand, state),
            ExprKind::Binary { left, right, .. } => {
                self.expr(left, state);
                self.expr(right, state);
            }
            ExprKind::And(..) | ExprKind::Or(..) => {
                let (mut yes, no) = self.cond(e, std::mem::replace(state, State::UNREACHABLE));
                yes.join(no);
                *state = yes;
            }
            ExprKind::Call { body, args, .. } => {
                self.exprs(args, state);
                self.call(state, *body);
            }
            ExprKind::ListLen { list, .. } | ExprKind::ListPop { list, .. } | ExprKind::ListClear { list, .. } => {
                self.address(list, state);
            }
            ExprKind::ListGet { list, index: e, .. }
            | ExprKind::ListRemove { list, index: e, .. }
            | ExprKind::ListPush { list, value: e, .. } => {
                self.address(list, state);
                self.expr(e, state);
            }
            ExprKind::Cas { place, old, new, site } => {
                self.address(place, state);
                self.expr(old, state);
                self.expr(new, state);
                self.write(place, *site, state);
            }
            ExprKind::FetchAdd { place, delta: value, site } | ExprKind::Exchange { place, value, site } => {
                self.address(place, state);
                self.expr(value, state);
                self.write(place, *site, state);
            }
            ExprKind::Post { .. } => self.post(e, state),
            ExprKind::CancelMessage { message, .. } => self.expr(message, state),
            ExprKind::Accepted(message) => self.expr(message, state),
            ExprKind::Fork { args, .. } => self.exprs(args, state),
            ExprKind::Launch { body, args, place, parent, .. } => {
                self.exprs(args, state);
                match place {
                    LaunchPlaceExpr::On(to) => self.dereference(to, state),
                    LaunchPlaceExpr::Here | LaunchPlaceExpr::Now => {}
                }
                if let LaunchParentExpr::In(job) = parent {
                    self.dereference(job, state);
                }
                if let LaunchPlaceExpr::Now = place {
                    self.call(state, *body);
                }
            }
            ExprKind::AskJob { job: of, .. }
            | ExprKind::Fence { looper: of, .. }
            | ExprKind::NewHandler { looper: of, .. }
            | ExprKind::ReadInterrupt { thread: of, .. }
            | ExprKind::ChannelRead { channel: of, .. } => self.dereference(of, state),
            ExprKind::Wait { object, with, timeout, .. } => {
                match with {
                    Some(lock) => {
                        self.expr(object, state);
                        self.dereference(lock, state);
                    }
                    None => self.dereference(object, state),
                }
                timeout.iter().for_each(|timeout| self.expr(timeout, state));
                self.suspends(state);
            }
            ExprKind::DownFor { semaphore: of, timeout, .. } | ExprKind::AcquireFor { lock: of, timeout, .. } => {
                self.dereference(of, state);
                self.expr(timeout, state);
                self.suspends(state);
            }
            ExprKind::GroupAdd { group, delta, .. } => {
                self.expr(group, state);
                self.expr(delta, state);
            }
            ExprKind::GroupWait { group: of, .. } | ExprKind::Receive { channel: of, .. } => {
                self.expr(of, state);
                self.suspends(state);
            }
            // The reads of the condition are no steps, so they are neither uses nor guards.
            ExprKind::Await { timeout, .. } => {
                timeout.iter().for_each(|timeout| self.expr(timeout, state));
                self.suspends(state);
            }
            ExprKind::Platform(e) => self.platform_expr(e, state),
        }
    }

    fn post(&mut self, e: &'p Expr, state: &mut State) {
        let ExprKind::Post { body, args, target, time, options, .. } = &e.kind else { return };
        self.exprs(args, state);
        self.dereference(target, state);
        if let PostTimeExpr::After(time) | PostTimeExpr::At(time) = time {
            self.expr(time, state);
        }
        options.with.iter().chain(&options.every).for_each(|e| self.expr(e, state));
        if let PostTimeExpr::OrNow(_) = time {
            self.call(state, *body);
        }
    }

    fn platform_expr(&mut self, e: &'p PlatformExpr, state: &mut State) {
        match e {
            PlatformExpr::State(_) | PlatformExpr::Single { .. } => {}
            PlatformExpr::Field { instance, .. }
            | PlatformExpr::Stage { instance, .. }
            | PlatformExpr::Parameter { instance, .. }
            | PlatformExpr::Asked { instance, .. }
            | PlatformExpr::Again { instance, .. } => self.dereference(instance, state),
            PlatformExpr::Some { than, .. } => self.expr(than, state),
            PlatformExpr::Ask { instance, args, .. } => {
                self.dereference(instance, state);
                self.exprs(args, state);
            }
            PlatformExpr::Make { args, .. } => self.exprs(args, state),
            PlatformExpr::Verb { body, args, receiver, .. } => {
                match args.split_first() {
                    Some((first, rest)) if *receiver => {
                        self.dereference(first, state);
                        self.exprs(rest, state);
                    }
                    _ => self.exprs(args, state),
                }
                self.call(state, *body);
            }
        }
    }

    /// Evaluates the path of a place. Its object is dereferenced.
    pub(super) fn address(&mut self, place: &'p MemoryPlace, state: &mut State) {
        if let Root::Field { object, .. } = &place.root {
            self.dereference(object, state);
        }
        self.indices(&place.index, state);
    }

    pub(super) fn indices(&mut self, index: &'p ElementIndex, state: &mut State) {
        index.iter().for_each(|dimension| self.expr(&dimension.index, state));
    }

    fn read(&mut self, place: &MemoryPlace, site: SiteId, state: &State) {
        let guards = match (&state.0, Place::of(place)) {
            (Some(facts), Some(place)) => facts.guards(place).collect(),
            _ => Vec::new(),
        };
        self.out.guards.insert(site, guards);
    }

    /// Evaluates an expression whose value must not be null.
    pub(super) fn dereference(&mut self, e: &'p Expr, state: &mut State) {
        self.expr(e, state);
        match e.kind {
            ExprKind::Read { site, .. } if site != NO_SITE => drop(self.out.derefs.insert(site)),
            ExprKind::Local(local) => {
                let Some(site) = self.source(local).filter(|site| *site != NO_SITE) else { return };
                let facts = state.0.as_ref();
                let guarded = facts.is_some_and(|facts| facts.guards(Place::Local(local)).next().is_some());
                self.out.derefs.insert(site);
                *self.out.by_local.entry(site).or_insert(true) &= guarded;
            }
            _ => {}
        }
    }

    /// Evaluates a condition. Returns the states in which it has come out as true and as false.
    pub(super) fn cond(&mut self, e: &'p Expr, mut state: State) -> (State, State) {
        match &e.kind {
            ExprKind::Word(0) => (State::UNREACHABLE, state),
            ExprKind::Word(_) => (state, State::UNREACHABLE),
            ExprKind::Unary(UnaryOp::Not, operand) => {
                let (yes, no) = self.cond(operand, state);
                (no, yes)
            }
            ExprKind::And(left, right) => {
                let (yes, mut no) = self.cond(left, state);
                let (yes, right_no) = self.cond(right, yes);
                no.join(right_no);
                (yes, no)
            }
            ExprKind::Or(left, right) => {
                let (mut yes, no) = self.cond(left, state);
                let (right_yes, no) = self.cond(right, no);
                yes.join(right_yes);
                (yes, no)
            }
            _ => {
                self.expr(e, &mut state);
                let mut states = (state.clone(), state);
                if let Some(Test { place, read, if_true }) = self.test(e) {
                    self.out.tested.insert(read);
                    let known = if if_true { &mut states.0 } else { &mut states.1 };
                    if let (Some(facts), Some(place)) = (&mut known.0, place) {
                        facts.add(place, read);
                    }
                }
                states
            }
        }
    }

    fn test(&self, e: &Expr) -> Option<Test> {
        let ExprKind::Binary { op: op @ (BinaryOp::Eq | BinaryOp::Ne), left, right, .. } = &e.kind else { return None };
        let (read, other) = if self.is_read(left) { (left, right) } else { (right, left) };
        if !read.ty.has_null() {
            return None;
        }
        let if_true = match other.kind {
            ExprKind::Word(NULL) => *op == BinaryOp::Ne,
            ExprKind::Word(_) | ExprKind::SelfThread => *op == BinaryOp::Eq,
            ExprKind::Local(local) if self.is_this(local) => *op == BinaryOp::Eq,
            _ => return None,
        };
        let (place, read) = match &read.kind {
            ExprKind::Read { place, site } => (Place::of(place), *site),
            ExprKind::Local(local) => (Some(Place::Local(*local)), self.source(*local)?),
            _ => return None,
        };
        (read != NO_SITE).then_some(Test { place, read, if_true })
    }

    fn is_read(&self, e: &Expr) -> bool {
        match e.kind {
            ExprKind::Read { .. } => true,
            ExprKind::Local(local) => !self.is_this(local),
            _ => false,
        }
    }

    fn is_this(&self, local: LocalId) -> bool {
        self.body.locals.get(local.0 as usize).is_some_and(|(name, _)| name == THIS)
    }
}

/// A condition that says whether the value of a read is null.
struct Test {
    // The location, if another read of it is known to read the same one.
    place: Option<Place>,
    read: SiteId,
    // Whether the value is not null if the condition is true; otherwise it is not null if it is false.
    if_true: bool,
}
