//! Walks operations that have no value.

use super::super::graph::{LockId, NodeKind, Pause, Sync, Val};
use super::Unfolder;
use super::state::State;
use crate::event::{GlobalId, SiteId};
use crate::lang::ast::SyncMode;
use crate::lang::program::{NO_SITE, Simple, Type};

impl<'p> Unfolder<'p> {
    pub(super) fn simple(&mut self, op: &'p Simple, site: SiteId, state: &mut State) {
        let kind = match op {
            Simple::Use(e) => {
                let at = self.object(e, state);
                self.access(at, false, None, site)
            }
            Simple::Delete(e) => {
                let at = self.object(e, state);
                self.access(at, true, None, site)
            }
            Simple::Join(e) => {
                let joined = self.expr(e, state);
                self.pause(Pause::Other, site, state);
                match joined {
                    Val::Thread(ctx, _) => NodeKind::Sync(Sync::Join(ctx)),
                    _ => return,
                }
            }
            Simple::Acquire(e) => NodeKind::Acquire(self.lock(e, SyncMode::Sync, state)),
            Simple::Release(e) => NodeKind::Release(self.lock(e, SyncMode::Sync, state)),
            Simple::Side { acquire, write, lock } => {
                let word = self.expr(lock, state).word();
                let held = word.map(|word| (LockId::Rw(word), *write));
                if *acquire { NodeKind::Acquire(held) } else { NodeKind::Release(held) }
            }
            Simple::Notify { object: e, .. } | Simple::Signal { condition: e, .. } => {
                NodeKind::Notify(self.monitor(e, state))
            }
            Simple::Arrive(e) => {
                let barrier = self.expr(e, state).word();
                self.emit(state, NodeKind::Arrive(barrier), site);
                match barrier {
                    Some(barrier) => NodeKind::Sync(Sync::Arrived(barrier)),
                    None => return,
                }
            }
            Simple::Down(e) => {
                let semaphore = self.expr(e, state).word();
                self.pause(Pause::Other, site, state);
                match semaphore {
                    Some(semaphore) => NodeKind::Sync(Sync::Down(semaphore)),
                    None => return,
                }
            }
            Simple::Up(e) => NodeKind::Up(self.expr(e, state).word()),
            Simple::Send { channel, value } => {
                self.expr(channel, state);
                self.expr(value, state);
                self.pause(Pause::Other, site, state);
                return;
            }
            Simple::LoopQueue => {
                self.emit(state, NodeKind::LoopQueue, site);
                NodeKind::Sync(Sync::LoopLeft)
            }
            Simple::Quit { looper, safely } => {
                let pool = looper.ty == Type::Pool;
                let looper = self.expr(looper, state).looper();
                // The queue of a pool is not that of a looper.
                let kind = if pool { NodeKind::Plain } else { NodeKind::Quit { looper, safely: *safely } };
                self.emit(state, kind, site);
                match looper {
                    Some(looper) if !safely && !pool => NodeKind::Sync(Sync::HasQuit(looper)),
                    _ => return,
                }
            }
            Simple::Cancel { body, token, target } => {
                self.expr(target, state);
                token.iter().for_each(|token| self.evaluate(token, state));
                NodeKind::Cancel(*body)
            }
            Simple::Enable { event, args, .. } => {
                let args = self.args(args, state);
                self.enable(*event, args, site, state);
                return;
            }
            Simple::Register { body, listener } => {
                self.graph.runs.insert(*body);
                NodeKind::Register(*listener, *body)
            }
            Simple::Perform { listener, args } => {
                let args = self.args(args, state);
                return self.perform(*listener, &args, site, state);
            }
            Simple::Lift(e) | Simple::Interrupt(e) | Simple::Announce(e) | Simple::Close(e) | Simple::CancelJob(e) => {
                self.expr(e, state);
                NodeKind::Plain
            }
            Simple::Sleep(e) => {
                let lasts = self.expr(e, state).word().is_some_and(|delay| delay > 0);
                self.pause(if lasts { Pause::Sleep } else { Pause::Other }, site, state);
                return;
            }
            Simple::Switch(e) => {
                self.expr(e, state);
                self.pause(Pause::Switch, site, state);
                return;
            }
            Simple::Yield => {
                self.pause(Pause::Yield, site, state);
                return;
            }
            Simple::Skip | Simple::AttachQueue | Simple::Disable(_) | Simple::Unregister { .. } => NodeKind::Plain,
        };
        let site = if let NodeKind::Sync(_) = kind { NO_SITE } else { site };
        self.emit(state, kind, site);
    }

    /// Notes a value that a global is given.
    pub(super) fn give(&mut self, id: GlobalId, value: Val) {
        let Some(global) = self.program.globals.get(id.0 as usize) else { return };
        if matches!(global.ty, Type::Thread | Type::Looper | Type::Handler) {
            let given = self.given.get(&id).map_or(value, |given| given.merged(value));
            self.given.insert(id, given);
        }
    }
}
