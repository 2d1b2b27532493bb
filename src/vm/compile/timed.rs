//! Compiles acquisitions with a limit of time.

use super::super::blame::Blame;
use super::super::instr::{Instr, Reg, Visible};
use super::Compiler;
use super::control::Exit;
use super::places::lock_in;
use crate::event::SiteId;
use crate::lang::ast::SyncMode;
use crate::lang::program::{Expr, SyncForStmt, Type};
use crate::world::WordKind;

impl<'p> Compiler<'p> {
    /// Compiles an acquisition of the lock in a register. The register that it returns holds whether it has acquired.
    pub(super) fn acquire_for(
        &mut self,
        mode: SyncMode,
        (lock, ty): (Reg, &Type),
        timeout: &'p Expr,
        site: SiteId,
    ) -> Reg {
        let timeout = self.delay(timeout);
        let op = match mode {
            SyncMode::Sync => Visible::AcquireFor { lock: lock_in(lock, ty), timeout },
            SyncMode::Read | SyncMode::Write => Visible::SideFor { lock, write: mode == SyncMode::Write, timeout },
        };
        self.visible(op, WordKind::Word, site)
    }

    /// Compiles a block that holds a lock if it could be acquired in time.
    pub(super) fn sync_for(&mut self, sync: &'p SyncForStmt) {
        let lock = self.keep(&sync.object);
        let acquired = self.acquire_for(sync.mode, (lock, &sync.object.ty), &sync.timeout, sync.acquire);
        self.blame(Blame::of(sync.object.at));
        let no = self.emit(Instr::JumpUnless { cond: acquired, to: 0 });
        let exit = match sync.mode {
            SyncMode::Sync => Exit::Release(lock_in(lock, &sync.object.ty), sync.release),
            SyncMode::Read | SyncMode::Write => {
                Exit::Unlock { lock, write: sync.mode == SyncMode::Write, site: sync.release }
            }
        };
        self.guarded(exit, |c| c.block(&sync.body));
        let done = self.emit(Instr::Jump(0));
        self.land(no);
        self.block(&sync.other);
        self.land(done);
    }
}
