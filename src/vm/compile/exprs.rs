//! Compiles expressions: from left to right, with one register for each value.

use super::super::blame::Blame;
use super::super::instr::{Instr, ListGet, ListPut, Reg, Regs, Visible, WaitRef};
use super::super::jobs::{LaunchAt, ParentRef, SuspendAt};
use super::places::{of_list, owner};
use super::{Compiler, kind};
use crate::event::LaunchKind;
use crate::lang::ast::{BinaryOp, TaskMode, UnaryOp};
use crate::lang::program::{Expr, ExprKind, LaunchParentExpr, LaunchPlaceExpr, Type};
use crate::world::WordKind;

impl<'p> Compiler<'p> {
    /// Evaluates an expression. The register that it returns holds the value until the statement ends. A local needs no
    /// copy, since nothing assigns to it inside an expression.
    pub(super) fn expr(&mut self, e: &'p Expr) -> Reg {
        let ty = &e.ty;
        match &e.kind {
            ExprKind::Word(value) => self.constant(kind(ty), *value),
            ExprKind::Local(local) => self.locals[*local].0,
            ExprKind::LocalElement { local, index } => {
                let (array, index) = self.element(*local, index);
                let dst = self.regs.temp(self.kind_of(e));
                self.emit(Instr::LoadElement { dst, array, index });
                dst
            }
            ExprKind::SelfThread => {
                let dst = self.regs.temp(WordKind::Thread);
                self.emit(Instr::SelfThread { dst });
                dst
            }
            ExprKind::Indexed { first, len, index, site, of } => {
                let blame = Blame { index: index.at, of: *of, ..Blame::default() };
                let of_index = self.kind_of(index);
                let index = self.expr(index);
                let bound = self.regs.temp(of_index);
                self.emit(Instr::Bound { dst: bound, index, len: *len, site: *site });
                self.blame(blame);
                let kind = self.kind_of(e);
                let base = self.constant(kind, *first);
                let dst = self.regs.temp(kind);
                self.emit(Instr::Step { dst, base, index: bound, stride: 1 });
                dst
            }
            ExprKind::Read { place, site } => {
                let at = self.address(place);
                let value = self.read(at, self.kind_of(e), place.atomic, *site);
                self.blame(owner(place));
                value
            }
            ExprKind::Unary(op, operand) => {
                let src = self.expr(operand);
                let dst = self.regs.temp(WordKind::Word);
                self.emit(Instr::Unary { op: *op, dst, src });
                dst
            }
            ExprKind::Binary { op, left, right, site } => {
                let divisor = right.at;
                let (left, right) = (self.expr(left), self.expr(right));
                let dst = self.regs.temp(WordKind::Word);
                self.emit(Instr::Binary { op: *op, dst, left, right, site: *site });
                if matches!(op, BinaryOp::Div | BinaryOp::Rem) {
                    self.blame(Blame::of(divisor));
                }
                dst
            }
            ExprKind::And(left, right) => self.short_circuit(left, right, true),
            ExprKind::Or(left, right) => self.short_circuit(left, right, false),
            ExprKind::New(class) => {
                let dst = self.regs.temp(WordKind::Object);
                self.emit(Instr::New { dst, class: class.0 });
                dst
            }
            ExprKind::Call { body, args, site } => {
                let args = self.args(args);
                let dst = self.regs.temp(self.kind_of(e));
                self.emit(Instr::Call { body: *body, args, dst, site: *site });
                dst
            }
            ExprKind::ListLen { list, site } => {
                let at = self.address(list);
                let value = self.list_get(at, ListGet::Len, ty, *site);
                self.blame(of_list(list, None));
                value
            }
            ExprKind::ListGet { list, index, site } => {
                let at = self.address(list);
                let blame = of_list(list, Some(index));
                let index = self.expr(index);
                let value = self.list_get(at, ListGet::Get(index), ty, *site);
                self.blame(blame);
                value
            }
            ExprKind::ListPush { list, value, site } => {
                let at = self.address(list);
                let value = self.expr(value);
                let done = self.list_put(at, ListPut::Push(value), ty, *site);
                self.blame(of_list(list, None));
                done
            }
            ExprKind::ListPop { list, site } => {
                let at = self.address(list);
                let done = self.list_put(at, ListPut::Pop, ty, *site);
                self.blame(of_list(list, None));
                done
            }
            ExprKind::ListRemove { list, index, site } => {
                let at = self.address(list);
                let blame = of_list(list, Some(index));
                let index = self.expr(index);
                let done = self.list_put(at, ListPut::Remove(index), ty, *site);
                self.blame(blame);
                done
            }
            ExprKind::ListClear { list, site } => {
                let at = self.address(list);
                let done = self.list_put(at, ListPut::Clear, ty, *site);
                self.blame(of_list(list, None));
                done
            }
            ExprKind::Cas { place, old, new, site } => {
                let at = self.address(place);
                let (old, new) = (self.expr(old), self.expr(new));
                let value = self.visible(Visible::Cas { at, old, new }, WordKind::Word, *site);
                self.blame(owner(place));
                value
            }
            ExprKind::FetchAdd { place, delta, site } => {
                let at = self.address(place);
                let delta = self.expr(delta);
                let value = self.visible(Visible::FetchAdd(at, delta), WordKind::Word, *site);
                self.blame(owner(place));
                value
            }
            ExprKind::Exchange { place, value, site } => {
                let at = self.address(place);
                let value = self.expr(value);
                let old = self.visible(Visible::Exchange(at, value), self.kind_of(e), *site);
                self.blame(owner(place));
                old
            }
            ExprKind::Star { site } => self.visible(Visible::Branch, WordKind::Word, *site),
            ExprKind::Choose { from, values, site } => {
                let from = self.constant(WordKind::Word, *from);
                self.visible(Visible::Choose { from, values: *values }, WordKind::Word, *site)
            }
            ExprKind::Post { .. } => self.post(e),
            ExprKind::CancelMessage { message, site } => {
                let message = self.expr(message);
                self.visible(Visible::CancelMessage(message), WordKind::Word, *site)
            }
            ExprKind::Accepted(message) => {
                let src = self.expr(message);
                let dst = self.regs.temp(WordKind::Word);
                self.emit(Instr::Unary { op: UnaryOp::Not, dst, src });
                self.emit(Instr::Unary { op: UnaryOp::Not, dst, src: dst });
                dst
            }
            ExprKind::Fork { body, args, site } => {
                let args = self.args(args);
                self.visible(Visible::Fork { body: *body, args }, WordKind::Thread, *site)
            }
            ExprKind::Launch { body, args, place, parent, site } => {
                let args = self.args(args);
                let blame = match (place, parent) {
                    (LaunchPlaceExpr::On(to), _) => Blame::of(to.at),
                    (_, LaunchParentExpr::In(job)) => Blame::of(job.at),
                    _ => Blame::default(),
                };
                let place = match place {
                    LaunchPlaceExpr::On(to) => LaunchAt::Posted(self.target_ref(to)),
                    LaunchPlaceExpr::Here => LaunchAt::Here,
                    LaunchPlaceExpr::Now => LaunchAt::Now,
                };
                let parent = match parent {
                    LaunchParentExpr::Caller => ParentRef::Caller,
                    LaunchParentExpr::NoParent => ParentRef::NoParent,
                    LaunchParentExpr::In(job) => ParentRef::Job(self.expr(job)),
                };
                let task = &self.program.bodies[*body];
                let micro = task.mode == TaskMode::AsyncMicro;
                let keeps_failure = micro || task.result != Type::Void;
                let kind = LaunchKind { daemon: task.mode == TaskMode::AsyncDaemon, keeps_failure, micro };
                let job =
                    self.visible(Visible::Launch { body: *body, args, place, parent, kind }, WordKind::Thread, *site);
                self.blame(blame);
                job
            }
            ExprKind::SpawnScope { site } => self.visible(Visible::SpawnScope, WordKind::Thread, *site),
            ExprKind::AskJob { job, what, site } => {
                let blame = Blame::of(job.at);
                let job = self.expr(job);
                let answer = self.visible(Visible::AskJob { job, what: *what }, kind(ty), *site);
                self.blame(blame);
                answer
            }
            ExprKind::SpawnLooper { site } => self.visible(Visible::SpawnLooper, WordKind::Thread, *site),
            ExprKind::Fence { looper, site } => {
                let blame = Blame::of(looper.at);
                let looper = self.expr(looper);
                let token = self.visible(Visible::Fence(looper), WordKind::Fence, *site);
                self.blame(blame);
                token
            }
            ExprKind::NewHandler { looper, site } => {
                let blame = Blame::of(looper.at);
                let looper = self.expr(looper);
                let handler = self.visible(Visible::NewHandler(looper), WordKind::Handler, *site);
                self.blame(blame);
                handler
            }
            ExprKind::Wait { object, with, timeout, site } => {
                let blame = Blame::of(with.as_ref().unwrap_or(object).at);
                let (on, lock) = match with {
                    Some(with) => {
                        let condition = self.expr(object);
                        (WaitRef::Condition(condition), self.lock_ref(with))
                    }
                    None => {
                        let lock = self.lock_ref(object);
                        (WaitRef::Lock(lock), lock)
                    }
                };
                let timeout = timeout.as_deref().map(|d| self.delay(d));
                let notified = self.visible(Visible::Wait { on, lock, timeout }, WordKind::Word, *site);
                self.blame(blame);
                notified
            }
            ExprKind::DownFor { semaphore, timeout, site } => {
                let semaphore = self.expr(semaphore);
                let timeout = self.delay(timeout);
                let op = if self.is_async {
                    Visible::Suspend(SuspendAt::DownFor { semaphore, timeout })
                } else {
                    Visible::DownFor { semaphore, timeout }
                };
                self.visible(op, WordKind::Word, *site)
            }
            ExprKind::Platform(platform) => self.platform_expr(platform, ty),
            ExprKind::AcquireFor { mode, lock, timeout, site } => {
                let blame = Blame::of(lock.at);
                let reg = self.keep(lock);
                let acquired = self.acquire_for(*mode, (reg, &lock.ty), timeout, *site);
                self.blame(blame);
                acquired
            }
            ExprKind::GroupAdd { group, delta, site } => {
                let group = self.expr(group);
                let delta = self.expr(delta);
                self.visible(Visible::GroupAdd { group, delta }, WordKind::Word, *site)
            }
            ExprKind::GroupWait { group, site } => {
                let group = self.expr(group);
                self.visible(Visible::GroupWait(group), WordKind::Word, *site)
            }
            ExprKind::ReadInterrupt { thread, site } => {
                let blame = Blame::of(thread.at);
                let thread = self.expr(thread);
                let flag = self.visible(Visible::ReadInterrupt(thread), WordKind::Word, *site);
                self.blame(blame);
                flag
            }
            ExprKind::Now { site } => {
                self.shared.times.reads_clock();
                self.visible(Visible::Now, WordKind::Word, *site)
            }
            ExprKind::Receive { channel, site } => {
                let channel = self.expr(channel);
                let op = self.receive(channel, None);
                self.visible(op, kind(ty), *site)
            }
            ExprKind::ChannelRead { channel, what, site } => {
                let blame = Blame::of(channel.at);
                let channel = self.expr(channel);
                let value = self.visible(Visible::ChannelRead { channel, what: *what }, WordKind::Word, *site);
                self.blame(blame);
                value
            }
            ExprKind::Await { cond, timeout, site } => {
                let timeout = timeout.as_deref().map(|d| self.delay(d));
                let condition = self.fragment(cond);
                let op = if self.is_async {
                    Visible::Suspend(SuspendAt::Await { condition, timeout })
                } else {
                    Visible::Await { condition, timeout }
                };
                self.visible(op, WordKind::Word, *site)
            }
        }
    }

    pub(super) fn delay(&mut self, e: &'p Expr) -> Reg {
        self.shared.times.delay(e);
        self.expr(e)
    }

    fn short_circuit(&mut self, left: &'p Expr, right: &'p Expr, and: bool) -> Reg {
        let dst = self.regs.temp(WordKind::Word);
        let mark = self.regs.mark();
        let src = self.expr(left);
        self.emit(Instr::Move { dst, src });
        if self.thrifty {
            self.regs.release(mark);
        }
        let skip =
            self.emit(if and { Instr::JumpUnless { cond: dst, to: 0 } } else { Instr::JumpIf { cond: dst, to: 0 } });
        let mark = self.regs.mark();
        let src = self.expr(right);
        self.emit(Instr::Move { dst, src });
        if self.thrifty {
            self.regs.release(mark);
        }
        self.land(skip);
        dst
    }

    /// Evaluates arguments from left to right into consecutive registers.
    pub(super) fn args(&mut self, args: &'p [Expr]) -> Regs {
        let values: Vec<Reg> = args.iter().map(|a| self.expr(a)).collect();
        let kinds = args.iter().map(|a| self.kind_of(a)).collect();
        self.gather(&values, kinds)
    }

    /// Copies values into consecutive registers of these kinds.
    pub(super) fn gather(&mut self, values: &[Reg], kinds: Vec<WordKind>) -> Regs {
        let regs = self.regs.temps(kinds);
        for (i, src) in values.iter().enumerate() {
            self.emit(Instr::Move { dst: regs.first + i as Reg, src: *src });
        }
        regs
    }
}
