//! Prints operations such as `post`.

use super::super::ast::{Expr, ExprKind, InstanceName, Op, PostOptionsAst, PostTimeAst, SyncMode};
use super::super::words::CANCEL;
use super::TreePrinter;

impl TreePrinter {
    pub(super) fn op(&mut self, op: &Op) {
        match op {
            Op::Post { object, task, args, target, time, is_async, options, instance } => {
                self.push("post ");
                if let Some(object) = object {
                    self.place(object);
                    self.push(".");
                }
                self.name(task);
                self.args(args);
                self.push(" to ");
                self.place(target);
                self.time(time);
                if *is_async {
                    self.push(" async");
                }
                self.post_options(options);
                self.instance(instance.as_ref());
            }
            Op::Fork { task, args } => {
                self.push("fork ");
                self.name(task);
                self.args(args);
            }
            Op::Cancel { message } => {
                self.push("cancel ");
                self.message_to_cancel(message);
            }
            Op::Launch { task, args, words } => {
                self.push("launch ");
                self.name(task);
                self.args(args);
                if let Some(place) = &words.on {
                    self.push(" on ");
                    self.place(place);
                }
                if words.now {
                    self.push(" now");
                }
                if let Some(job) = &words.within {
                    self.push(" in ");
                    self.place(job);
                }
                if words.detached {
                    self.push(" detached");
                }
            }
            Op::SpawnLooper => self.push("spawn looper"),
            Op::SpawnScope => self.push("spawn scope"),
            Op::Fence { target } => {
                self.push("fence ");
                self.place(target);
            }
            Op::HandlerOn { target } => {
                self.push("handler on ");
                self.place(target);
            }
            Op::Wait { object, with, timeout } => {
                self.push("wait ");
                self.place(object);
                if let Some(lock) = with {
                    self.push(" with ");
                    self.place(lock);
                }
                self.timeout(timeout.as_ref());
            }
            Op::Down { semaphore, timeout } => {
                self.push("down ");
                self.place(semaphore);
                self.timeout(Some(timeout));
            }
            Op::Acquire { mode, object, timeout } => {
                self.push("acquire ");
                if *mode != SyncMode::Sync {
                    self.push(mode.word());
                    self.push(" ");
                }
                self.place(object);
                self.timeout(Some(timeout));
            }
            Op::Receive { channel } => {
                self.push("recv ");
                self.place(channel);
            }
            Op::Choose(range) => {
                self.push("choose ");
                self.range(range);
            }
            Op::Await { cond, timeout } => {
                self.push("await ");
                self.expr(cond);
                self.timeout(timeout.as_ref());
            }
            Op::Component { verb, target, args } => {
                self.name(verb);
                self.push(" ");
                self.place(target);
                // Without arguments, `cancel` is what its operand makes of it.
                if !args.is_empty() || verb.text == CANCEL {
                    self.args(args);
                }
            }
            Op::Ask { row, args } => {
                self.push("ask ");
                self.name(row);
                self.args(args);
            }
        }
    }

    fn post_options(&mut self, options: &PostOptionsAst) {
        if let Some(token) = &options.with {
            self.push(" with ");
            self.place(token);
        }
        if let Some(period) = &options.every {
            self.push(" every ");
            self.expr(period);
        }
        if options.daemon {
            self.push(" daemon");
        }
    }

    pub(super) fn timeout(&mut self, timeout: Option<&Expr>) {
        if let Some(timeout) = timeout {
            self.push(" for ");
            self.expr(timeout);
        }
    }

    fn time(&mut self, time: &PostTimeAst) {
        match time {
            PostTimeAst::Now => {}
            PostTimeAst::After(delay) => {
                self.push(" after ");
                self.expr(delay);
            }
            PostTimeAst::Front => self.push(" at front"),
            PostTimeAst::Micro => self.push(" micro"),
            PostTimeAst::Idle { keep } => self.push(if *keep { " idle keep" } else { " idle" }),
            PostTimeAst::OrNow => self.push(" or now"),
            // A variable can be called `front`, so it needs parentheses here.
            PostTimeAst::At(when) if matches!(&when.kind, ExprKind::Name(name) if name == "front") => {
                self.push(" at (front)");
            }
            PostTimeAst::At(when) => {
                self.push(" at ");
                self.expr(when);
            }
        }
    }

    pub(super) fn instance(&mut self, instance: Option<&InstanceName>) {
        match instance {
            None => {}
            Some(InstanceName::Name(text)) => self.message(" as ", Some(text)),
            Some(InstanceName::Expr(expr)) => {
                self.push(" as ");
                self.expr(expr);
            }
        }
    }
}
