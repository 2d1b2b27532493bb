//! Conditions: which way is taken, and what is known of globals on each way.

use super::super::graph::{APP, NodeKind, Reader, Sync, Test, TestOp, Val};
use super::Unfolder;
use super::state::{Slot, State};
use crate::event::{GlobalId, NULL};
use crate::lang::ast::{BinaryOp, UnaryOp};
use crate::lang::program::{ElementIndex, Expr, ExprKind, NO_SITE, Root, Type};

impl<'p> Unfolder<'p> {
    /// Walks a condition. Returns the states in which it has come out as true and as false.
    pub(super) fn cond(&mut self, e: &'p Expr, mut state: State) -> (State, State) {
        match &e.kind {
            ExprKind::Unary(UnaryOp::Not, operand) => {
                let (yes, no) = self.cond(operand, state);
                (no, yes)
            }
            ExprKind::And(left, right) => {
                let (yes, no) = self.cond(left, state);
                let (yes, right_no) = self.cond(right, yes);
                (yes, self.join(no, right_no))
            }
            ExprKind::Or(left, right) => {
                let (yes, no) = self.cond(left, state);
                let (right_yes, no) = self.cond(right, no);
                (self.join(yes, right_yes), no)
            }
            _ => match self.expr(e, &mut state).word() {
                Some(0) => (State::dead(), state),
                Some(_) => (state, State::dead()),
                None => {
                    let test = self.test(e, &state);
                    let (mut yes, mut no) = (state.clone(), state);
                    if let Some(test) = test {
                        self.flag(test, false, &mut yes);
                        self.flag(Test { wanted: !test.wanted, ..test }, false, &mut no);
                    }
                    (yes, no)
                }
            },
        }
    }

    /// Adds a node at which a condition has come out.
    pub(super) fn flag(&mut self, test: Test, is_stale: bool, state: &mut State) {
        let reader = match self.blocks.locks[..] {
            [] => Reader { around: 0, ctx: APP, is_stale },
            _ => Reader { around: self.around, ctx: self.ctx, is_stale },
        };
        self.emit(state, NodeKind::Sync(Sync::Flag(test, reader)), NO_SITE);
    }

    /// Returns what a condition without `&&` and `||` says of a global if it is true.
    fn test(&self, e: &Expr, state: &State) -> Option<Test> {
        if let Some((global, cell)) = self.cell(e, state) {
            return Some(Test { global, cell, op: TestOp::Eq, constant: 0, wanted: false });
        }
        let ExprKind::Binary { op, left, right, .. } = &e.kind else { return None };
        let (op, wanted) = TestOp::of(*op)?;
        let test = |(global, cell), constant, op| Test { global, cell, op, constant, wanted };
        match (self.cell(left, state), self.cell(right, state)) {
            (Some(cell), None) => Some(test(cell, self.peek(right, state).word()?, op)),
            (None, Some(cell)) => Some(test(cell, self.peek(left, state).word()?, op.mirrored())),
            _ => None,
        }
    }

    /// Returns everything that a condition says of globals if it comes out as `wanted`, for one that is evaluated in
    /// one piece.
    pub(super) fn tests(&self, e: &Expr, wanted: bool, state: &State, into: &mut Vec<Test>) {
        match &e.kind {
            ExprKind::Unary(UnaryOp::Not, operand) => self.tests(operand, !wanted, state, into),
            ExprKind::And(left, right) if wanted => {
                self.tests(left, wanted, state, into);
                self.tests(right, wanted, state, into);
            }
            ExprKind::Or(left, right) if !wanted => {
                self.tests(left, wanted, state, into);
                self.tests(right, wanted, state, into);
            }
            _ => into.extend(self.test(e, state).map(|test| Test { wanted: test.wanted == wanted, ..test })),
        }
    }

    /// Returns the cell of a global that an expression reads, if it is one known cell.
    fn cell(&self, e: &Expr, state: &State) -> Option<(GlobalId, i64)> {
        let ExprKind::Read { place, .. } = &e.kind else { return None };
        let Root::Global(id) = place.root else { return None };
        if matches!(e.ty, Type::List(_) | Type::Array(..)) {
            return None;
        }
        Some((id, self.known_index(&place.index, state)?))
    }

    /// Returns the number of an element, if its indices are known and have no operation in them.
    fn known_index(&self, index: &ElementIndex, state: &State) -> Option<i64> {
        let mut at = Some(0_i64);
        for dimension in index {
            let i = self.peek(&dimension.index, state).word();
            let i = i.filter(|i| (0..i64::from(dimension.len)).contains(i));
            at = at.zip(i).map(|(at, i)| at + i * i64::from(dimension.stride));
        }
        at
    }

    /// Returns the global that an expression reads, if it is one cell.
    fn scalar(&self, e: &Expr) -> Option<GlobalId> {
        let ExprKind::Read { place, .. } = &e.kind else { return None };
        let Root::Global(id) = place.root else { return None };
        let global = self.program.globals.get(id.0 as usize)?;
        (place.index.is_empty() && global.cells == 1 && !matches!(global.ty, Type::List(_) | Type::Array(..)))
            .then_some(id)
    }

    /// Returns the known value of a global of a thread, looper or handler.
    pub(super) fn known_global(&self, e: &Expr) -> Val {
        match self.scalar(e).and_then(|id| self.known.get(&id)) {
            Some(Val::Thread(ctx, _)) => Val::Thread(*ctx, true),
            Some(Val::Handler(ctx, _)) => Val::Handler(*ctx, true),
            _ => Val::Unknown,
        }
    }

    /// Returns the value of an expression that has no operation in it; unknown for any other one.
    pub(super) fn peek(&self, e: &Expr, state: &State) -> Val {
        match &e.kind {
            ExprKind::Word(word) => self.word(*word, &e.ty),
            ExprKind::Local(local) => match state.locals.get(local.0 as usize) {
                Some(Slot::One(val)) => *val,
                _ => Val::Unknown,
            },
            ExprKind::LocalElement { local, index } => {
                match (state.locals.get(local.0 as usize), self.known_index(index, state)) {
                    (Some(Slot::Many(vals)), Some(at)) => vals.get(at as usize).copied().unwrap_or(Val::Unknown),
                    _ => Val::Unknown,
                }
            }
            ExprKind::SelfThread => self.this,
            ExprKind::Indexed { first, len, index, .. } => match self.peek(index, state) {
                Val::Word(i) if (0..i64::from(*len)).contains(&i) => self.word(first + i, &e.ty),
                _ => Val::Unknown,
            },
            ExprKind::Unary(op, operand) => match (op, self.peek(operand, state)) {
                (UnaryOp::Not, Val::Word(word)) => Val::Word(i64::from(word == 0)),
                (UnaryOp::Neg, Val::Word(word)) => Val::Word(word.wrapping_neg()),
                _ => Val::Unknown,
            },
            ExprKind::Binary { op, left, right, .. } => {
                self.combined(*op, self.peek(left, state), self.peek(right, state))
            }
            ExprKind::And(left, right) => match (self.peek(left, state), self.peek(right, state)) {
                (Val::Word(0), _) => Val::Word(0),
                (Val::Word(_), right) => right,
                _ => Val::Unknown,
            },
            ExprKind::Or(left, right) => match (self.peek(left, state), self.peek(right, state)) {
                (Val::Word(0), right) => right,
                (Val::Word(_), _) => Val::Word(1),
                _ => Val::Unknown,
            },
            _ => Val::Unknown,
        }
    }

    /// Returns the result of an operator.
    pub(super) fn combined(&self, op: BinaryOp, left: Val, right: Val) -> Val {
        let equal = match (left, right) {
            (Val::Word(a), Val::Word(b)) => return op.value(a, b).map_or(Val::Unknown, Val::Word),
            (Val::Thread(_, false) | Val::Handler(_, false), Val::NULL) => Some(false),
            (Val::NULL, Val::Thread(_, false) | Val::Handler(_, false)) => Some(false),
            _ => None,
        };
        match (op, equal) {
            (BinaryOp::Eq, Some(equal)) => Val::Word(i64::from(equal)),
            (BinaryOp::Ne, Some(equal)) => Val::Word(i64::from(!equal)),
            _ => Val::Unknown,
        }
    }

    /// Returns the value of a word of this type.
    pub(super) fn word(&self, word: i64, ty: &Type) -> Val {
        match ty {
            _ if word == NULL && !matches!(ty, Type::Int | Type::Bool) => Val::NULL,
            Type::Thread | Type::Looper => {
                let ctx = self.threads.get(word as usize).copied().flatten();
                ctx.map_or(Val::Unknown, |ctx| Val::Thread(ctx, false))
            }
            Type::Handler => {
                let looper = self.program.handlers.get(word as usize).map(|(_, looper)| *looper);
                let ctx = looper.and_then(|looper| self.threads.get(looper).copied().flatten());
                ctx.map_or(Val::Unknown, |ctx| Val::Handler(ctx, false))
            }
            Type::Pool | Type::Message | Type::Job(_) | Type::Channel(_) | Type::Request | Type::Fence => Val::Unknown,
            _ => Val::Word(word),
        }
    }
}
