//! Views of a state for reports: what each thread waits for, and which thread holds what. Nothing here changes the
//! state.

use super::World;
use super::queue::Queue;
use super::threads::ThreadStage;
use crate::event::{BlockedThread, Op, ThreadId, Value};

/// State of a lock, or of another thing at which threads can be blocked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyncObjectState {
    /// Name of the thing: `lock m`, `rwlock r`, `semaphore s`, `barrier b`, `condition c`, or a monitor.
    pub name: String,
    /// Threads that hold the thing. A reader of a reader-writer lock occurs once for each hold.
    pub owners: Vec<ThreadId>,
    /// Number of holds of a lock or a reader-writer lock (0 if it is free), count of a semaphore, or number of threads
    /// that have arrived at a barrier.
    pub count: i64,
    /// Number of threads that must arrive at the barrier. `None` for other things.
    pub parties: Option<i64>,
    /// Whether the owner is a writer of a reader-writer lock.
    pub writes: bool,
    /// Threads that are blocked at the thing, in order of their numbers.
    pub blocked: Vec<ThreadId>,
    /// Threads in the wait set, in the order in which they began to wait.
    pub waiters: Vec<ThreadId>,
}

impl World {
    /// Returns the approximate size of a clone of the world in bytes.
    #[must_use]
    pub(crate) fn bytes(&self) -> u64 {
        let of_queues: usize = self.queues().map(Queue::bytes).sum();
        let of_lists: usize =
            self.memory.lists.iter().map(|l| size_of_val(l) + l.items.len() * size_of::<Value>()).sum();
        let of_enables: usize = self.events.iter().map(|e| size_of_val(e) + e.enables.len() * 16).sum();
        let sum = size_of::<Self>()
            + size_of_val(&*self.threads)
            + of_queues
            + size_of_val(&*self.memory.cells)
            + size_of_val(self.memory.objects.as_slice())
            + of_lists
            + size_of_val(&*self.locks)
            + of_enables
            + self.platform().map_or(0, super::Platform::bytes)
            + self.contexts.bytes()
            + size_of_val(&*self.args)
            + self.channels.iter().map(|c| size_of_val(c) + c.items.len() * size_of::<Value>()).sum::<usize>();
        sum as u64
    }

    /// Iterates over the message queues of all threads, in the order of the threads.
    pub(crate) fn queues(&self) -> impl Iterator<Item = &Queue> {
        self.loopers.iter().filter_map(|looper| self.threads[looper].queue.as_deref())
    }

    /// Returns the deadline of the thread's pending sleep, wait, await or timed down. `None` if it has none.
    #[must_use]
    pub fn deadline(&self, thread: ThreadId) -> Option<u64> {
        self.threads[thread].deadline
    }

    /// Returns whether the thread is an idle looper: it has no message to begin, now or later.
    #[must_use]
    pub fn is_idle(&self, thread: ThreadId) -> bool {
        self.threads[thread].status == ThreadStage::Alive && self.idles(thread)
    }

    /// Returns what a blocked thread waits for, with the deadline if it has one. Unlike [`waiting`](Self::waiting), it
    /// includes loopers that wait for their next message. `None` if the thread is enabled or has ended.
    #[must_use]
    pub fn waits(&self, thread: ThreadId) -> Option<BlockedThread> {
        if !self.is_held_up(thread) {
            return None;
        }
        let t = &self.threads[thread];
        let mut blocked = self.blocked(thread);
        match (&t.pending, t.deadline) {
            (Op::Begin, _) => {
                let next = self.queue(thread).and_then(|q| q.next_when());
                blocked.waits_for =
                    next.map_or("a message".to_owned(), |when| format!("its next message, due at {when} ms"));
            }
            (Op::Wake, Some(at)) => blocked.waits_for = format!("the end of its sleep, at {at} ms"),
            (_, Some(at)) => blocked.waits_for.push_str(&format!(", or {at} ms")),
            _ => {}
        }
        Some(blocked)
    }

    /// Returns the state of all locks, conditions, reader-writer locks, semaphores and barriers. Monitors of objects
    /// are included only if a thread holds them, is blocked at them, or waits.
    #[must_use]
    pub fn sync_objects(&self) -> Vec<SyncObjectState> {
        let plain = |name: String| SyncObjectState {
            name,
            owners: Vec::new(),
            count: 0,
            parties: None,
            writes: false,
            blocked: Vec::new(),
            waiters: Vec::new(),
        };
        let setup = &self.setup;
        let blocked = |set: &super::sync::ThreadSet| -> Vec<ThreadId> {
            set.0.iter().filter(|t| !self.enabled.contains(*t)).collect()
        };
        let mut all = Vec::new();
        for (id, lock) in self.locks.enumerate() {
            let sync_object = SyncObjectState {
                owners: lock.owner.into_iter().collect(),
                count: i64::from(lock.depth),
                // A waiter that an interrupt or its deadline has woken stays in the wait set until it returns, and is
                // also pending at the lock. It is listed as a waiter only.
                blocked: blocked(&lock.pending_set).into_iter().filter(|t| !lock.waiters.contains(t)).collect(),
                waiters: lock.waiters.clone(),
                ..plain(self.lock_name(id))
            };
            let used = lock.owner.is_some() || !sync_object.blocked.is_empty() || !sync_object.waiters.is_empty();
            if lock.object.is_none() || used {
                all.push(sync_object);
            }
        }
        for (id, waiters) in self.conditions.enumerate() {
            let name = format!("condition {}", self.condition_name(id));
            all.push(SyncObjectState { waiters: waiters.clone(), ..plain(name) });
        }
        for (id, lock) in self.rwlocks.enumerate() {
            let owners: Vec<ThreadId> = lock.writer.into_iter().chain(lock.readers.iter().copied()).collect();
            all.push(SyncObjectState {
                count: owners.len() as i64,
                owners,
                writes: lock.writer.is_some(),
                blocked: blocked(&lock.pending_set),
                ..plain(format!("rwlock {}", self.rwlock_name(id)))
            });
        }
        for (id, semaphore) in self.semaphores.enumerate() {
            let name = format!("semaphore {}", self.semaphore_name(id));
            all.push(SyncObjectState {
                count: semaphore.count,
                blocked: blocked(&semaphore.pending_set),
                ..plain(name)
            });
        }
        for (id, barrier) in self.barriers.enumerate() {
            all.push(SyncObjectState {
                count: barrier.arrived,
                parties: Some(barrier.parties),
                blocked: blocked(&barrier.pending_set),
                ..plain(format!("barrier {}", self.barrier_name(id)))
            });
        }
        for (id, group) in self.groups.enumerate() {
            all.push(SyncObjectState {
                count: group.count,
                blocked: blocked(&group.pending_set),
                ..plain(format!("waitgroup {}", setup.groups[id.0 as usize]))
            });
        }
        for (id, channel) in self.channels.enumerate() {
            let parked = |list: &[super::channels::Parked]| list.iter().map(|p| p.thread).collect::<Vec<_>>();
            all.push(SyncObjectState {
                count: channel.items.len() as i64,
                blocked: blocked(&channel.pending_set),
                waiters: [parked(&channel.receivers), parked(&channel.senders)].concat(),
                ..plain(format!("{}channel {}", if channel.closed { "closed " } else { "" }, self.name_of_channel(id)))
            });
        }
        all
    }
}
