//! Exits from blocks: break, continue, return and exceptions. They have to run everything on their way that releases
//! something (`sync`, `finally`).
//!
//! The code that an exit has to run is compiled into it, as javac does. The instructions of such a copy are outside the
//! ranges that the blocks being left protect (`gaps`).

use super::super::code::Handler;
use super::super::instr::{Instr, LockRef, Reg, Visible};
use super::super::jobs::{CloseAt, SuspendAt};
use super::Compiler;
use crate::base::Id;
use crate::event::{BlockKind, SiteId};
use crate::lang::program::{ExceptionId, Stmt, TextId};
use crate::world::{ThrownException, WordKind};

/// A block that break, continue, return or an exception may leave.
#[derive(Clone)]
pub(super) enum Scope<'p> {
    /// A loop. `start` is the target of `continue`; if it is not known yet, `continues` collects the jumps to it.
    /// `breaks` collects the jumps to the end of the loop.
    Loop { start: Option<u32>, continues: Vec<u32>, breaks: Vec<u32> },
    /// A protected range: its exceptions go to a handler, and every exit from it has to run `exit`.
    Protected { from: u32, gaps: Vec<(u32, u32)>, exit: Exit<'p> },
}

/// The code that an exit from a protected block has to run.
#[derive(Clone, Copy)]
pub(super) enum Exit<'p> {
    /// No code (a `catch` without `finally`).
    Nothing,
    /// The release of a lock.
    Release(LockRef, SiteId),
    /// The release of one side of a reader-writer lock.
    Unlock { lock: Reg, write: bool, site: SiteId },
    /// The end of a block of an async task.
    CloseBlock { block: Reg, site: SiteId },
    /// A `finally` block.
    Finally(&'p [Stmt]),
    /// The end of a `transaction` block.
    Transaction(Option<TextId>),
}

impl<'p> Compiler<'p> {
    pub(super) fn run_exit(&mut self, exit: Exit<'p>) {
        match exit {
            Exit::Nothing => {}
            Exit::Release(lock, site) => {
                self.visible(Visible::Release(lock), WordKind::Word, site);
            }
            Exit::Unlock { lock, write, site } => {
                let op = if write { Visible::WriteUnlock(lock) } else { Visible::ReadUnlock(lock) };
                self.visible(op, WordKind::Word, site);
            }
            Exit::CloseBlock { block, site } => self.close_block(block, CloseAt::Normal, site),
            Exit::Finally(block) => self.block(block),
            Exit::Transaction(name) => {
                self.emit(Instr::Transaction { begins: false, name });
            }
        }
    }

    fn close_block(&mut self, block: Reg, end: CloseAt, site: SiteId) {
        self.visible(Visible::Suspend(SuspendAt::CloseBlock { block, end }), WordKind::Word, site);
    }

    /// Compiles a block of an async task. Its end knows how control has reached it. After an exception it throws
    /// that one or the first failure of a child, so that it is not passed.
    pub(super) fn job_block(&mut self, kind: BlockKind, body: &'p [Stmt], (open, close): (SiteId, SiteId)) {
        let block = self.visible(Visible::OpenBlock(kind), WordKind::Thread, open);
        self.protect(Exit::CloseBlock { block, site: close });
        self.block(body);
        let ranges = self.unprotect();
        self.close_block(block, CloseAt::Normal, close);
        let done = self.emit(Instr::Jump(0));
        let cancelled = self.program.exceptions.iter().position(|name| name == ThrownException::Cancelled.name());
        if let Some(cancelled) = cancelled {
            let save = self.handle(&ranges, Some(ExceptionId::new(cancelled)));
            self.close_block(block, CloseAt::Cancelled, close);
            self.emit(Instr::Rethrow(save));
        }
        let save = self.handle(&ranges, None);
        self.close_block(block, CloseAt::Failed(save), close);
        self.emit(Instr::Rethrow(save));
        self.land(done);
    }

    /// Emits the exit code of all scopes from the innermost one out to the one at `depth`, which is not included.
    pub(super) fn unwind_to(&mut self, depth: usize) {
        let mut left = Vec::new();
        let mut gaps = Vec::new();
        while self.scopes.len() > depth {
            let Some(scope) = self.scopes.pop() else { break };
            let from = self.here();
            if let Scope::Protected { exit, .. } = &scope {
                self.run_exit(*exit);
            }
            left.push(scope);
            gaps.push((from, self.here()));
        }
        // The i-th scope that was left is unprotected from its own exit code to the end of the last one: an exception
        // in the exit code of an outer scope must not run it again.
        let end = self.here();
        for (mut scope, (from, _)) in left.into_iter().zip(gaps).rev() {
            if let Scope::Protected { gaps, .. } = &mut scope {
                gaps.push((from, end));
            }
            self.scopes.push(scope);
        }
    }

    pub(super) fn return_value(&mut self, value: Option<Reg>) {
        self.unwind_to(0);
        if self.is_row {
            self.end_row(true);
        }
        self.emit(Instr::Return(value));
    }

    /// Emits a `break` or (`again`) a `continue` of the innermost loop. The checker ensures that there is one.
    pub(super) fn leave_loop(&mut self, again: bool) {
        let Some(depth) = self.scopes.iter().rposition(|s| matches!(s, Scope::Loop { .. })) else { return };
        self.unwind_to(depth + 1);
        let jump = self.emit(Instr::Jump(0));
        let mut to = None;
        if let Scope::Loop { start, continues, breaks } = &mut self.scopes[depth] {
            match (again, *start) {
                (true, Some(start)) => to = Some(start),
                (true, None) => continues.push(jump),
                (false, _) => breaks.push(jump),
            }
        }
        if let (Some(to), Some(Instr::Jump(target))) = (to, self.code.get_mut(jump as usize)) {
            *target = to;
        }
    }

    /// Opens the scope of a loop. `start` is the target of `continue`; with `None`, [`Self::continue_here`] sets it
    /// later.
    pub(super) fn enter_loop(&mut self, start: Option<u32>) {
        self.scopes.push(Scope::Loop { start, continues: Vec::new(), breaks: Vec::new() });
    }

    pub(super) fn continue_here(&mut self) {
        if let Some(Scope::Loop { continues, .. }) = self.scopes.last_mut() {
            for jump in std::mem::take(continues) {
                self.land(jump);
            }
        }
    }

    pub(super) fn exit_loop(&mut self) {
        if let Some(Scope::Loop { breaks, .. }) = self.scopes.pop() {
            for jump in breaks {
                self.land(jump);
            }
        }
    }

    pub(super) fn protect(&mut self, exit: Exit<'p>) {
        let from = self.here();
        self.scopes.push(Scope::Protected { from, gaps: Vec::new(), exit });
    }

    /// Closes a protected scope. Returns the ranges that it protects, for [`Self::handle`].
    pub(super) fn unprotect(&mut self) -> Vec<(u32, u32)> {
        let Some(Scope::Protected { from, gaps, .. }) = self.scopes.pop() else { return Vec::new() };
        let mut ranges = Vec::new();
        let mut at = from;
        // The protected ranges are the parts of the block between its gaps.
        for (gap_from, gap_to) in gaps {
            ranges.push((at, gap_from));
            at = gap_to;
        }
        ranges.push((at, self.here()));
        ranges.retain(|(from, to)| from < to);
        ranges
    }

    /// Starts a handler that throws the exception again: exceptions of the ranges that match `catch` continue here.
    /// Returns the register that keeps the exception.
    pub(super) fn handle(&mut self, ranges: &[(u32, u32)], catch: Option<ExceptionId>) -> Reg {
        self.handler(ranges, catch, false)
    }

    /// Starts a `catch`: exceptions of the ranges that match `catch` continue here.
    pub(super) fn catch(&mut self, ranges: &[(u32, u32)], catch: Option<ExceptionId>) {
        self.handler(ranges, catch, true);
    }

    fn handler(&mut self, ranges: &[(u32, u32)], catch: Option<ExceptionId>, catches: bool) -> Reg {
        let save = self.regs.temp(WordKind::Word);
        let target = self.here();
        let of = |(from, to): &(u32, u32)| Handler { from: *from, to: *to, target, catch, save, catches };
        self.handlers.extend(ranges.iter().map(of));
        save
    }

    /// Emits `body`, followed by `exit` on every way out of it.
    pub(super) fn guarded(&mut self, exit: Exit<'p>, body: impl FnOnce(&mut Self)) {
        self.protect(exit);
        body(self);
        let ranges = self.unprotect();
        self.run_exit(exit);
        // The exit code is emitted twice: above for the end of the body, below for exceptions, which are then thrown
        // again.
        let done = self.emit(Instr::Jump(0));
        let save = self.handle(&ranges, None);
        self.run_exit(exit);
        self.emit(Instr::Rethrow(save));
        self.land(done);
    }
}
