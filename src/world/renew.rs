//! Resets a world for the next run.

use super::World;
use super::channels::Channel;
use super::contexts::CreationKind;
use super::pools::PoolState;
use super::sync::{Group, RwLock};

impl World {
    /// Resets the world to the start of the app: all declared things exist, and nothing has run. Keeps allocated
    /// memory.
    pub(crate) fn reset(&mut self) {
        self.contexts.clear();
        self.threads.clear();
        self.enabled.clear();
        self.fireable.clear();
        self.daemons.clear();
        self.awaiting.clear();
        self.selecting.clear();
        self.handovers.clear();
        self.timed.clear();
        self.loopers.clear();
        self.workers.clear();
        self.jobs.clear();
        self.newborn.clear();
        self.recorded.clear();
        self.delays.clear();
        self.args.clear();
        (self.now, self.horizon, self.stall, self.steps, self.refused_posts) = (1, 0, 0, 0, 0);
        (self.memory_changed, self.cells, self.outcome) = (false, 0, None);
        self.memory.cells.clear();
        self.memory.objects.clear();
        self.memory.lists.clear();
        self.forget_made();
        self.renew_declared();
    }

    fn renew_declared(&mut self) {
        let setup = &*self.setup;
        for (id, thread) in setup.threads.enumerate() {
            let home = self.contexts.root(CreationKind::Declared(id));
            // The first worker of a pool has the queue of all.
            let has_queue = thread.looper && setup.pools.iter().all(|pool| pool.workers().skip(1).all(|w| w != id));
            self.threads.add(|t| t.renew(home, thread.daemon, has_queue));
            self.daemons.set(id, thread.daemon);
            self.loopers.set(id, has_queue);
            self.workers.set(id, !thread.daemon);
        }
        self.locks.clear();
        for (_, reentrant) in &setup.locks {
            self.locks.add(|l| l.renew(*reentrant, None));
        }
        self.conditions.iter_mut().for_each(Vec::clear);
        self.rwlocks.iter_mut().for_each(RwLock::renew);
        for (semaphore, (_, count)) in self.semaphores.iter_mut().zip(&setup.semaphores) {
            semaphore.renew(*count);
        }
        for (barrier, (_, parties)) in self.barriers.iter_mut().zip(&setup.barriers) {
            barrier.renew(*parties);
        }
        self.groups.iter_mut().for_each(Group::renew);
        self.pools.iter_mut().for_each(PoolState::renew);
        self.channels.iter_mut().for_each(Channel::renew);
        self.handlers.clear();
        self.handlers.extend(setup.handlers.iter().map(|(_, looper)| *looper));
        self.listeners.iter_mut().for_each(Vec::clear);
        for (id, event) in setup.events.enumerate() {
            self.events[id].renew(event.initially);
            self.fireable.set(id, event.initially > 0);
        }
        if let Some(platform) = &mut self.platform {
            platform.renew(&setup.platform);
        }
    }
}
