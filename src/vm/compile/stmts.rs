//! Compiles statements.

use super::super::blame::{Blame, IllegalValue};
use super::super::instr::{Instr, ListGet, ListPut, Reg, Regs, Visible, WaitRef};
use super::super::jobs::SuspendAt;
use super::Compiler;
use super::control::Exit;
use super::places::{lock_in, of_list, owner};
use crate::event::SiteId;
use crate::lang::ast::{BinaryOp, Span};
use crate::lang::program::{Expr, LocalId, MemoryPlace, Simple, Stmt, Type};
use crate::world::WordKind;

impl<'p> Compiler<'p> {
    pub(super) fn block(&mut self, block: &'p [Stmt]) {
        for stmt in block {
            let mark = self.regs.mark();
            self.stmt(stmt);
            self.regs.release(mark);
        }
    }

    fn stmt(&mut self, stmt: &'p Stmt) {
        match stmt {
            Stmt::SetLocal(local, value) => {
                let src = self.expr(value);
                let dst = self.locals[*local].0;
                self.emit(Instr::Move { dst, src });
            }
            Stmt::ClearLocal(local) => self.clear(*local),
            Stmt::SetLocalElement { local, index, value } => {
                let (array, index) = self.element(*local, index);
                let src = self.expr(value);
                self.emit(Instr::StoreElement { first: array.first, index, src });
            }
            Stmt::Write { place, value, site } => {
                let at = self.address(place);
                let value = self.expr(value);
                self.write(at, value, place.atomic, *site);
                self.blame(owner(place));
            }
            Stmt::Update { place, op, value, read, write } => {
                let at = self.address(place);
                let left = self.read(at, super::kind(&place.ty), place.atomic, *read);
                self.blame(owner(place));
                let value = self.combine(*op, left, value, *read);
                self.write(at, value, place.atomic, *write);
                self.blame(owner(place));
            }
            Stmt::ListSet { list, index, value, site } => {
                let at = self.address(list);
                let blame = of_list(list, Some(index));
                let (index, value) = (self.expr(index), self.expr(value));
                self.list_put(at, ListPut::Set(index, value), &Type::Void, *site);
                self.blame(blame);
            }
            Stmt::ListUpdate { list, index, op, value, read, write } => {
                let at = self.address(list);
                let blame = of_list(list, Some(index));
                let index = self.expr(index);
                let left = self.list_get(at, ListGet::Get(index), &Type::Int, *read);
                self.blame(blame);
                let value = self.combine(*op, left, value, *read);
                self.list_put(at, ListPut::Set(index, value), &Type::Void, *write);
                self.blame(blame);
            }
            Stmt::Expr(e) => {
                self.expr(e);
            }
            Stmt::If { cond, then, other } => self.if_else(cond, then, other),
            Stmt::While { cond, body } => {
                let start = self.here();
                self.enter_loop(Some(start));
                let mark = self.regs.mark();
                let cond = self.expr(cond);
                let out = self.emit(Instr::JumpUnless { cond, to: 0 });
                self.regs.release(mark);
                self.block(body);
                self.emit(Instr::Jump(start));
                self.land(out);
                self.exit_loop();
            }
            Stmt::Loop { body } => {
                let start = self.here();
                self.enter_loop(Some(start));
                self.block(body);
                self.emit(Instr::Jump(start));
                self.exit_loop();
            }
            Stmt::ForRange { local, from, to, body } => self.for_range(*local, from, to, body),
            Stmt::ForList { local, list, body, site } => self.for_list(*local, list, body, *site),
            Stmt::ForChannel { local, channel, body, site } => self.for_channel(*local, channel, body, *site),
            Stmt::SyncFor(sync) => self.sync_for(sync),
            Stmt::Select(select, site) => self.select(select, *site),
            Stmt::Break => self.leave_loop(false),
            Stmt::Continue => self.leave_loop(true),
            Stmt::Return(value) => {
                let value = value.as_ref().map(|e| {
                    // A copy is returned, because the code that the exit runs may assign to a local.
                    let src = self.expr(e);
                    let dst = self.regs.temp(self.kind_of(e));
                    self.emit(Instr::Move { dst, src });
                    dst
                });
                self.return_value(value);
            }
            Stmt::Assert { cond, message, site } => {
                let blame = Blame::of(cond.at);
                let cond = self.expr(cond);
                let ok = self.emit(Instr::JumpIf { cond, to: 0 });
                self.emit(Instr::Fail { assert: true, message: *message, site: *site });
                self.blame(blame);
                self.land(ok);
            }
            Stmt::Fail { message, site } => {
                self.emit(Instr::Fail { assert: false, message: Some(*message), site: *site });
            }
            Stmt::Throw { exception, message, site } => {
                self.emit(Instr::Throw { exception: *exception, message: *message, site: *site });
            }
            Stmt::Try { body, catch, finally } => match finally {
                Some(finally) => self.guarded(Exit::Finally(finally), |c| c.try_catch(body, catch)),
                None => self.try_catch(body, catch),
            },
            Stmt::Sync { object, body, acquire, release } => {
                let lock = lock_in(self.keep(object), &object.ty);
                self.visible(Visible::Acquire(lock), WordKind::Word, *acquire);
                self.blame(Blame::of(object.at));
                self.guarded(Exit::Release(lock, *release), |c| c.block(body));
            }
            Stmt::Rw { object, write, body, announce, acquire, release } => {
                let lock = self.keep(object);
                if let Some(announce) = announce {
                    self.visible(Visible::Announce(lock), WordKind::Word, *announce);
                }
                let op = if *write { Visible::WriteLock(lock) } else { Visible::ReadLock(lock) };
                self.visible(op, WordKind::Word, *acquire);
                self.guarded(Exit::Unlock { lock, write: *write, site: *release }, |c| c.block(body));
            }
            Stmt::Transaction { body, .. } if !self.shared.marks_blocks => self.block(body),
            Stmt::Transaction { name, body, unit } => {
                let (name, unit) = (*name, *unit);
                self.emit(Instr::Transaction { begins: true, name, unit });
                self.guarded(Exit::Transaction { name, unit }, |c| c.block(body));
            }
            Stmt::Block(body) => self.block(body),
            Stmt::JobBlock { kind, body, open, close } => self.job_block(*kind, body, (*open, *close)),
            Stmt::Do { op, site } => self.simple(op, *site),
            Stmt::Platform(stmt) => self.platform_stmt(stmt),
        }
    }

    fn clear(&mut self, local: LocalId) {
        let (first, count) = self.locals[local];
        let kinds = &self.regs.kinds[usize::from(first)..usize::from(first) + usize::from(count)];
        let value = if kinds.first().is_some_and(|k| !k.is_plain()) { crate::event::NULL } else { 0 };
        self.emit(Instr::Fill { regs: Regs { first, count }, value });
    }

    fn combine(&mut self, op: BinaryOp, left: Reg, value: &'p Expr, site: SiteId) -> Reg {
        let right = self.expr(value);
        let dst = self.regs.temp(WordKind::Word);
        self.emit(Instr::Binary { op, dst, left, right, site });
        self.blame(Blame::of(value.at));
        dst
    }

    fn if_else(&mut self, cond: &'p Expr, then: &'p [Stmt], other: &'p [Stmt]) {
        let mark = self.regs.mark();
        let cond = self.expr(cond);
        let no = self.emit(Instr::JumpUnless { cond, to: 0 });
        self.regs.release(mark);
        self.block(then);
        if other.is_empty() {
            self.land(no);
            return;
        }
        let done = self.emit(Instr::Jump(0));
        self.land(no);
        self.block(other);
        self.land(done);
    }

    fn for_range(&mut self, local: LocalId, from: &'p Expr, to: &'p Expr, body: &'p [Stmt]) {
        let (from, to) = (self.expr(from), self.expr(to));
        // The counter and the end have registers of their own, because the body may assign to the loop variable.
        let (counter, end) = (self.regs.temp(WordKind::Word), self.regs.temp(WordKind::Word));
        self.emit(Instr::Move { dst: counter, src: from });
        self.emit(Instr::Move { dst: end, src: to });
        let test = self.emit(Instr::Jump(0));
        let start = self.here();
        self.enter_loop(None);
        self.block(body);
        self.continue_here();
        self.land(test);
        self.emit(Instr::ForNext { counter, end, local: self.locals[local].0, body: start });
        self.exit_loop();
    }

    fn for_list(&mut self, local: LocalId, list: &'p MemoryPlace, body: &'p [Stmt], site: SiteId) {
        let at = self.address(list);
        let version = self.visible(Visible::ListRead(at, ListGet::Iterate), WordKind::Iterator, site);
        self.blame(of_list(list, None));
        let index = self.regs.temp(WordKind::Word);
        self.emit(Instr::Const { dst: index, value: 0 });
        let start = self.here();
        self.enter_loop(None);
        let dst = self.locals[local].0;
        let what = ListGet::Next { index, version, exit: 0 };
        let next = self.emit(Instr::Visible { op: Visible::ListRead(at, what), dst, site: Some(site) });
        self.blame(of_list(list, None));
        self.block(body);
        self.continue_here();
        let one = self.constant(WordKind::Word, 1);
        self.emit(Instr::Binary { op: BinaryOp::Add, dst: index, left: index, right: one, site });
        self.emit(Instr::Jump(start));
        self.land(next);
        self.exit_loop();
    }

    fn try_catch(&mut self, body: &'p [Stmt], catch: &'p [(Option<crate::lang::program::ExceptionId>, Vec<Stmt>)]) {
        if catch.is_empty() {
            self.block(body);
            return;
        }
        self.protect(Exit::Nothing);
        self.block(body);
        let ranges = self.unprotect();
        let mut ends = vec![self.emit(Instr::Jump(0))];
        for (name, block) in catch {
            self.catch(&ranges, *name);
            self.block(block);
            ends.push(self.emit(Instr::Jump(0)));
        }
        for end in ends {
            self.land(end);
        }
    }

    fn simple(&mut self, op: &'p Simple, site: SiteId) {
        let blame = Blame {
            illegal: if matches!(op, Simple::Lift(_)) { IllegalValue::InNoQueue } else { IllegalValue::HasNoQueue },
            ..Blame::of(op.operand().map_or_else(Span::default, |e| e.at))
        };
        let op = match op {
            Simple::Use(e) => Visible::Use(self.expr(e)),
            Simple::Delete(e) => Visible::Free(self.expr(e)),
            Simple::Lift(e) => Visible::Lift(self.expr(e)),
            Simple::Join(e) if self.is_async => Visible::Suspend(SuspendAt::Join(self.expr(e))),
            Simple::Join(e) => Visible::Join(self.expr(e)),
            Simple::Switch(e) => Visible::Suspend(SuspendAt::Switch(self.expr(e))),
            Simple::CancelJob(e) => Visible::CancelJob(self.expr(e)),
            Simple::Interrupt(e) => Visible::Interrupt(self.expr(e)),
            Simple::Acquire(e) => Visible::Acquire(self.lock_ref(e)),
            Simple::Release(e) => Visible::Release(self.lock_ref(e)),
            Simple::Notify { object, all } => Visible::Notify { on: WaitRef::Lock(self.lock_ref(object)), all: *all },
            Simple::Signal { condition, all } => {
                Visible::Notify { on: WaitRef::Condition(self.expr(condition)), all: *all }
            }
            Simple::Arrive(e) => Visible::Arrive(self.expr(e)),
            Simple::Down(e) if self.is_async => Visible::Suspend(SuspendAt::Down(self.expr(e))),
            Simple::Down(e) => Visible::Down(self.expr(e)),
            Simple::Up(e) => Visible::Up(self.expr(e)),
            Simple::Send { channel, value } => {
                let channel = self.expr(channel);
                let value = self.expr(value);
                match self.is_async {
                    true => Visible::Suspend(SuspendAt::Send { channel, value }),
                    false => Visible::Send { channel, value },
                }
            }
            Simple::Announce(e) => Visible::Announce(self.expr(e)),
            Simple::Side { acquire, write, lock } => {
                let lock = self.expr(lock);
                match (acquire, write) {
                    (true, true) => Visible::WriteLock(lock),
                    (true, false) => Visible::ReadLock(lock),
                    (false, true) => Visible::WriteUnlock(lock),
                    (false, false) => Visible::ReadUnlock(lock),
                }
            }
            Simple::Close(e) => Visible::Close(self.expr(e)),
            Simple::Sleep(e) if self.is_async => Visible::Suspend(SuspendAt::Sleep(self.delay(e))),
            Simple::Sleep(e) => Visible::Sleep(self.delay(e)),
            Simple::Skip => Visible::Skip,
            Simple::Yield if self.is_async => Visible::Suspend(SuspendAt::Yield),
            Simple::Yield => Visible::Yield,
            Simple::AttachQueue => Visible::AttachQueue,
            Simple::LoopQueue => Visible::Begin,
            Simple::Quit { looper, safely } => Visible::Quit { looper: self.expr(looper), safely: *safely },
            Simple::Cancel { body, token: None, target } => {
                Visible::Cancel { target: self.target_ref(target), body: *body }
            }
            Simple::Cancel { body, token: Some(token), target } => {
                Visible::CancelWith { target: self.target_ref(target), body: *body, token: self.expr(token) }
            }
            Simple::Enable { event, args, instance } => {
                Visible::Enable { event: *event, args: self.args(args), instance: *instance }
            }
            Simple::Disable(event) => Visible::Disable(*event),
            Simple::Unregister { body, listener } => Visible::Unregister { listener: *listener, body: *body },
            Simple::Register { body, listener } => Visible::Register { listener: *listener, body: *body },
            Simple::Perform { listener, args } => Visible::Perform { listener: *listener, args: self.args(args) },
        };
        self.visible(op, WordKind::Word, site);
        self.blame(blame);
    }
}
