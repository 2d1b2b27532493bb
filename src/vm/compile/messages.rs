//! Compiles posts.

use super::super::blame::{Blame, IllegalValue};
use super::super::instr::{Instr, PostMore, Reg, Time, Visible};
use super::Compiler;
use crate::lang::program::{Expr, ExprKind, PostOptionsExpr, PostTimeExpr};
use crate::world::WordKind;

impl<'p> Compiler<'p> {
    /// Compiles a post. Its value says whether the looper has accepted the message.
    pub(super) fn post(&mut self, e: &'p Expr) -> Reg {
        let ExprKind::Post { body, args, target, time, is_async, options, instance, site } = &e.kind else {
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
                let dst = self.regs.temp(WordKind::Message);
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
        let more = self.post_options(options);
        let time = match time {
            // The first run of a message that returns is due after its period, too.
            PostTimeExpr::Now if more.is_some_and(|more| more.every.is_some()) => {
                more.and_then(|more| more.every).map_or(Time::Now, Time::After)
            }
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
        let (body, is_async, instance) = (*body, *is_async, *instance);
        let op = match more {
            None => Visible::Post { target, body, args, time, is_async, instance },
            Some(more) => Visible::PostMore { target, body, args, time, is_async, more, instance },
        };
        let accepted = self.visible(op, WordKind::Message, *site);
        self.blame(blame);
        let Some((dst, done)) = call else { return accepted };
        self.emit(Instr::Move { dst, src: accepted });
        self.land(done);
        dst
    }

    // Returns `None` for a post without any of the options.
    fn post_options(&mut self, options: &'p PostOptionsExpr) -> Option<PostMore> {
        let PostOptionsExpr { with, every, daemon, handle } = options;
        let with = with.as_ref().map(|token| self.expr(token));
        let every = every.as_ref().map(|period| self.delay(period));
        let more = PostMore { with, every, daemon: *daemon, handle: *handle };
        (with.is_some() || every.is_some() || *daemon || *handle).then_some(more)
    }
}
