//! Compiles posts.

use super::super::blame::{Blame, IllegalValue};
use super::super::instr::{Instr, Reg, Time, Visible};
use super::Compiler;
use crate::lang::program::{Expr, ExprKind, PostTimeExpr};
use crate::world::WordKind;

impl<'p> Compiler<'p> {
    /// Compiles a post. Its value says whether the looper has accepted the message.
    pub(super) fn post(&mut self, e: &'p Expr) -> Reg {
        let ExprKind::Post { body, args, target, time, is_async, instance, site } = &e.kind else {
            unreachable!("the caller has a post")
        };
        let args = self.args(args);
        let illegal = match time {
            PostTimeExpr::Micro => IllegalValue::IsNotTheRunningLooper,
            _ => IllegalValue::HasNoQueue,
        };
        let blame = Blame { illegal, ..Blame::of(target.at) };
        let target = self.target_ref(target);
        // On the looper itself the post is a call.
        let call = match time {
            PostTimeExpr::OrNow(call) => {
                let dst = self.regs.temp(WordKind::Word);
                let is_looper = self.regs.temp(WordKind::Word);
                self.emit(Instr::IsLooper { dst: is_looper, target, site: *site });
                self.blame(blame);
                let elsewhere = self.emit(Instr::JumpUnless { cond: is_looper, to: 0 });
                let nothing = self.regs.temp(WordKind::Word);
                self.emit(Instr::Call { body: *body, args, dst: nothing, site: *call });
                self.emit(Instr::Const { dst, value: 1 });
                let done = self.emit(Instr::Jump(0));
                self.land(elsewhere);
                Some((dst, done))
            }
            _ => None,
        };
        let time = match time {
            PostTimeExpr::Now | PostTimeExpr::OrNow(_) => Time::Now,
            PostTimeExpr::After(d) => Time::After(self.delay(d)),
            PostTimeExpr::Front => Time::Front,
            PostTimeExpr::At(t) => {
                self.shared.times.instant(t);
                Time::At(self.expr(t))
            }
            PostTimeExpr::Micro => Time::Micro,
            PostTimeExpr::Idle { keep } => Time::Idle { keep: *keep },
        };
        let op = Visible::Post { target, body: *body, args, time, is_async: *is_async, instance: *instance };
        let accepted = self.visible(op, WordKind::Word, *site);
        self.blame(blame);
        let Some((dst, done)) = call else { return accepted };
        self.emit(Instr::Move { dst, src: accepted });
        self.land(done);
        dst
    }
}
