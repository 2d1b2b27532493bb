//! Compiles selects, and iterations over channels.

use super::super::instr::{Instr, Reg, Visible};
use super::super::jobs::SuspendAt;
use super::{Compiler, kind};
use crate::event::SiteId;
use crate::lang::ast::BinaryOp;
use crate::lang::program::{Expr, LocalId, SelectStmt, Stmt, Type};
use crate::world::WordKind;

impl<'p> Compiler<'p> {
    /// Compiles a select: its operands from top to bottom, the operation, then a jump to the block of the case.
    pub(super) fn select(&mut self, select: &'p SelectStmt, site: SiteId) {
        let mut operands = Vec::new();
        for case in &select.cases {
            let channel = self.keep(&case.channel);
            let value = case.sends.as_ref().map(|value| self.keep(value));
            operands.push((channel, value));
        }
        let timeout = select.after.as_ref().map(|(delay, _)| self.delay(delay));
        let kinds = select.cases.iter().flat_map(|case| {
            [WordKind::Word, WordKind::Word, case.sends.as_ref().map_or(WordKind::Word, |value| kind(&value.ty))]
        });
        let cases = self.regs.temps(kinds.collect());
        for (i, (channel, value)) in operands.into_iter().enumerate() {
            let first = cases.first + 3 * i as Reg;
            self.emit(Instr::Move { dst: first, src: channel });
            self.emit(Instr::Const { dst: first + 1, value: i64::from(value.is_some()) });
            match value {
                Some(src) => self.emit(Instr::Move { dst: first + 2, src }),
                None => self.emit(Instr::Const { dst: first + 2, value: 0 }),
            };
        }
        let kinds = select.cases.iter().map(|case| match &case.channel.ty {
            Type::Channel(of) => kind(of),
            _ => WordKind::Word,
        });
        let values = self.regs.temps(kinds.collect());
        let received = self.regs.temp(WordKind::Word);
        let otherwise = select.otherwise.is_some();
        let op = if self.is_async {
            Visible::Suspend(SuspendAt::Select { cases, timeout, otherwise, values, received })
        } else {
            Visible::Select { cases, timeout, otherwise, values, received }
        };
        let chosen = self.visible(op, WordKind::Word, site);
        let mut ends = Vec::new();
        for (i, case) in select.cases.iter().enumerate() {
            let next = self.unless(chosen, i as i64);
            if let Some(local) = case.value {
                let dst = self.locals[local].0;
                self.emit(Instr::Move { dst, src: values.first + i as Reg });
            }
            if let Some(local) = case.received {
                let dst = self.locals[local].0;
                self.emit(Instr::Move { dst, src: received });
            }
            self.block(&case.body);
            ends.push(self.emit(Instr::Jump(0)));
            self.land(next);
        }
        // At most one of the two is there, and everything else has been ruled out.
        if let Some((_, body)) = &select.after {
            self.block(body);
        }
        if let Some(body) = &select.otherwise {
            self.block(body);
        }
        for end in ends {
            self.land(end);
        }
    }

    // Emits a jump that is taken unless the case with this index was performed.
    fn unless(&mut self, chosen: Reg, index: i64) -> u32 {
        let wanted = self.constant(WordKind::Word, index);
        let same = self.regs.temp(WordKind::Word);
        let site = crate::lang::program::NO_SITE;
        self.emit(Instr::Binary { op: BinaryOp::Eq, dst: same, left: chosen, right: wanted, site });
        self.emit(Instr::JumpUnless { cond: same, to: 0 })
    }

    /// Returns the instruction of a receive. With `exit` it is the head of an iteration.
    pub(super) fn receive(&self, channel: Reg, exit: Option<u32>) -> Visible {
        match self.is_async {
            true => Visible::Suspend(SuspendAt::Receive { channel, exit }),
            false => Visible::Receive { channel, exit },
        }
    }

    /// Compiles `for v in c`: a receive before each round, which leaves the loop at the end of the channel.
    pub(super) fn for_channel(&mut self, local: LocalId, channel: &'p Expr, body: &'p [Stmt], site: SiteId) {
        let channel = self.keep(channel);
        let start = self.here();
        self.enter_loop(Some(start));
        let dst = self.locals[local].0;
        let op = self.receive(channel, Some(0));
        let next = self.emit(Instr::Visible { op, dst, site: Some(site) });
        self.block(body);
        self.emit(Instr::Jump(start));
        self.land(next);
        self.exit_loop();
    }
}
