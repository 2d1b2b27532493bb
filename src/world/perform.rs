//! Performs the visible operations of threads: each operation's effect on the world, and the reply to its thread.

use super::World;
use super::contexts::CreationKind;
use super::queue::{fence_of, fence_value};
use crate::event::{
    Args, BodyId, ContextId, EventKind, LimitKind, ListWrite, ListenerId, NULL, Op, Outcome, Suspension, ThreadId,
    Value, WaitSet,
};

/// Reply to a thread after its operation has been performed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reply {
    /// The operation is complete, with this value.
    Value(Value),
    /// An await is over, with this value: 1 if its condition holds or threw, 0 if its deadline has passed.
    Awaited(Value),
    /// The operation threw an exception.
    Throw(ThrownException),
    /// The operation has a second half (wait, arrive, sleep), which is pending now.
    Again,
    /// The looper has begun a task, with this body and these arguments.
    Task(BodyId, Args),
    /// The looper has quit. Its thread continues after the loop.
    LeaveLoop,
    /// The thread has to run the callbacks of this listener, in order of registration ([`World::callbacks`]).
    Callbacks(ListenerId),
    /// The iterator is at the end of its list, or of what its channel will ever give.
    Exhausted,
    /// A select has performed this case: its index, the value that it received (if it has received, null or 0 of a
    /// closed channel), and whether that value was sent.
    Selected {
        /// Index of the case; the number of cases if the deadline has passed, and one more for the `else`.
        case: u32,
        /// Received value.
        value: Value,
        /// Whether a value was received from the channel.
        received: bool,
    },
    /// The thread has to run a job from its start, with this body and these arguments. If the thread has launched it,
    /// the launch is complete, and its value is the job.
    Start {
        /// The job.
        job: ThreadId,
        /// Its body.
        body: BodyId,
        /// Its arguments.
        args: Args,
        /// Whether the thread has launched it, and has not begun its message.
        launched: bool,
    },
    /// The thread has given up the job that it ran.
    Suspended(ThreadId),
    /// The thread has to go on with a job, whose suspension has this value ([`CANCELLED`](crate::event::CANCELLED) if
    /// it throws `Cancelled`).
    Continue {
        /// The job.
        job: ThreadId,
        /// The value of the suspension.
        value: Value,
    },
    /// The message that the looper has begun was that of a cancelled job, which has ended.
    Skipped,
    /// The operation throws an exception again that the guest has handed to the world.
    Rethrow(Value),
}

/// Exceptions that operations throw without a `throw` statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "named in the language's reference")]
pub enum ThrownException {
    NullPointer,
    IndexOutOfBounds,
    Arithmetic,
    IllegalMonitorState,
    IllegalState,
    Interrupted,
    UseAfterFree,
    DoubleFree,
    ConcurrentModification,
    StackOverflow,
    Closed,
    NegativeCounter,
    GroupReused,
    Cancelled,
}

/// The names of the exceptions of an operation on a reference that is null, or whose object has been deleted.
pub(crate) const REFERENCE_EXCEPTIONS: [&str; 2] = ["NullPointer", "UseAfterFree"];

impl World {
    /// Performs the pending operation of an enabled thread. `argument` answers the operation's
    /// [`Question`](super::Question), if it has one.
    pub(crate) fn perform(&mut self, thread: ThreadId, argument: u64) -> Reply {
        if self.recording { self.perform_recorded(thread, argument) } else { self.act(thread, argument, &mut None) }
    }

    fn perform_recorded(&mut self, thread: ThreadId, argument: u64) -> Reply {
        let op = self.threads[thread].pending;
        let (context, site) = (self.threads[thread].context, self.threads[thread].site);
        let slot = self.recorded.len();
        let mut made = None;
        // The value of a begin is the due time of its message. It has to be read before the begin removes the message.
        let begins = matches!(op, Op::Begin);
        self.jobs.note_actor(thread, context);
        let queue = self.queue(thread).filter(|_| begins);
        let when = queue.and_then(|q| q.when_of_begin(self.now));
        let reply = self.act(thread, argument, &mut made);
        let value = match reply {
            // Handles of messages differ from run to run.
            Reply::Value(value) if matches!(op, Op::Post { .. }) => i64::from(value != 0),
            Reply::Value(value) | Reply::Awaited(value) => value,
            Reply::Selected { case, .. } => Value::from(case),
            Reply::Again if matches!(op, Op::Select { .. }) => NULL,
            Reply::Suspended(job) if matches!(op, Op::Suspend { on: Suspension::Transfer(_), .. }) => {
                self.handover(job).map_or(NULL, |handover| i64::from(handover.case))
            }
            Reply::Task(..) | Reply::Continue { .. } | Reply::Skipped | Reply::Start { launched: false, .. } => {
                when.map_or(0, |when| when as Value)
            }
            Reply::Start { job, launched: true, .. } => i64::from(job.0),
            _ => 0,
        };
        // A timed acquisition that has acquired is recorded as the acquisition.
        let op = match op {
            Op::AcquireFor { of, .. } if value != 0 => of.plain(),
            op => op,
        };
        let refused = matches!(reply, Reply::Throw(thrown) if thrown != ThrownException::Interrupted);
        // The event of a begin belongs to the task that begins.
        let context = if begins { made.unwrap_or(context) } else { context };
        self.jobs.note_actor(thread, context);
        self.record(Some(thread), Some(context), site, || EventKind::Performed { op, value, made, refused });
        // Events that the operation itself recorded (a refusal) come after the event of the operation.
        self.recorded[slot..].rotate_right(1);
        reply
    }

    fn act(&mut self, thread: ThreadId, argument: u64, made: &mut Option<ContextId>) -> Reply {
        self.try_act(thread, argument, made).unwrap_or_else(Reply::Throw)
    }

    // Performs the pending operation. An error is the exception that the operation throws. The thread first leaves the
    // set of threads that are pending at the same thing; `Machine::arrive` adds it to the set of its next operation. An
    // arm that changes a thing refreshes the threads that may be blocked at it, so the set of enabled threads stays
    // exact.
    fn try_act(
        &mut self,
        thread: ThreadId,
        argument: u64,
        made: &mut Option<ContextId>,
    ) -> Result<Reply, ThrownException> {
        if self.threads[thread].pending.may_block() {
            self.leave(thread);
        }
        let value = match self.threads[thread].pending {
            Op::Read(at) | Op::AtomicRead(at) => self.read(at)?,
            Op::Write(at, value) | Op::AtomicWrite(at, value) => self.write(at, value)?,
            Op::ListRead { at, list, what } => {
                self.memory.check_live(at)?;
                match self.memory.list_read(list, what)? {
                    Some(value) => value,
                    None => return Ok(Reply::Exhausted),
                }
            }
            Op::ListWrite { at, list, what } => {
                self.memory.check_live(at)?;
                if matches!(what, ListWrite::Push(_))
                    && self.memory.list(list).items.len() as u64 >= u64::from(self.limits.list)
                {
                    self.end(Outcome::Limit(LimitKind::ListLength, u64::from(self.limits.list)));
                    return Ok(Reply::Value(0));
                }
                self.anything_changed();
                self.memory.list_write(list, what)?
            }
            Op::Cas { at, old, new } => {
                self.memory.check_live(at)?;
                let swaps = self.memory.cell(at.cell) == old;
                if swaps {
                    self.store(at.cell, new);
                }
                i64::from(swaps)
            }
            Op::FetchAdd(at, delta) => {
                self.memory.check_live(at)?;
                let old = self.memory.cell(at.cell);
                self.store(at.cell, old.wrapping_add(delta));
                old
            }
            Op::Exchange(at, value) => {
                self.memory.check_live(at)?;
                let old = self.memory.cell(at.cell);
                self.store(at.cell, value);
                old
            }
            Op::Use(object) => {
                self.check_object(object, ThrownException::UseAfterFree)?;
                0
            }
            Op::Free(object) => {
                self.check_object(object, ThrownException::DoubleFree)?;
                self.memory.objects[object].freed = true;
                self.anything_changed();
                0
            }
            Op::Acquire(lock) => self.acquire(thread, lock)?,
            Op::Release(lock) => self.release(thread, lock)?,
            Op::Wait { on, lock, timeout } => return self.wait(thread, on, lock, timeout),
            Op::Reacquire { on, lock } => {
                let t = &mut self.threads[thread];
                let (notified, depth) = (t.notified, std::mem::take(&mut t.saved_depth));
                t.deadline = None;
                t.notified = false;
                // A notify has already removed the thread from the wait set. A deadline or an interrupt has not.
                if !notified {
                    self.waiters_mut(on).retain(|w| *w != thread);
                }
                let l = &mut self.locks[lock];
                (l.owner, l.depth) = (Some(thread), depth);
                self.lock_is_taken(lock);
                if !notified && self.threads[thread].interrupted {
                    self.threads[thread].interrupted = false;
                    return Err(ThrownException::Interrupted);
                }
                i64::from(notified)
            }
            Op::Notify { on, all } => {
                if let WaitSet::Lock(lock) = on {
                    self.check_owner(thread, lock)?;
                }
                self.wake(on, all, argument as usize);
                0
            }
            Op::ReadLock(id) => {
                self.rwlocks[id].readers.push(thread);
                self.refresh_all(|w| &w.rwlocks[id].pending_set);
                0
            }
            Op::Announce(id) => {
                self.rwlocks[id].announced.push(thread);
                self.refresh_all(|w| &w.rwlocks[id].pending_set);
                0
            }
            Op::WriteLock(id) => {
                let l = &mut self.rwlocks[id];
                l.announced.retain(|t| *t != thread);
                l.writer = Some(thread);
                self.refresh_all(|w| &w.rwlocks[id].pending_set);
                0
            }
            Op::ReadUnlock(id) => {
                let l = &mut self.rwlocks[id];
                let hold = l.readers.iter().rposition(|t| *t == thread).ok_or(ThrownException::IllegalMonitorState)?;
                l.readers.remove(hold);
                self.refresh_all(|w| &w.rwlocks[id].pending_set);
                0
            }
            Op::WriteUnlock(id) => {
                if self.rwlocks[id].writer != Some(thread) {
                    return Err(ThrownException::IllegalMonitorState);
                }
                self.rwlocks[id].writer = None;
                self.refresh_all(|w| &w.rwlocks[id].pending_set);
                0
            }
            Op::Down(id) => {
                self.semaphores[id].count -= 1;
                self.refresh_all(|w| &w.semaphores[id].pending_set);
                0
            }
            Op::DownFor { semaphore, .. } => {
                self.threads[thread].deadline = None;
                let takes = self.semaphores[semaphore].count > 0;
                if takes {
                    self.semaphores[semaphore].count -= 1;
                    self.refresh_all(|w| &w.semaphores[semaphore].pending_set);
                }
                i64::from(takes)
            }
            Op::Up(id) => {
                self.semaphores[id].count = self.semaphores[id].count.saturating_add(1);
                self.refresh_all(|w| &w.semaphores[id].pending_set);
                0
            }
            Op::Arrive(id) => {
                let b = &mut self.barriers[id];
                let generation = b.generation;
                b.arrived += 1;
                if b.arrived < b.parties {
                    self.threads[thread].pending = Op::Pass { barrier: id, generation };
                    return Ok(Reply::Again);
                }
                (b.arrived, b.generation) = (0, generation.wrapping_add(1));
                self.refresh_all(|w| &w.barriers[id].pending_set);
                0
            }
            Op::Await { .. } => {
                let t = &mut self.threads[thread];
                t.deadline = None;
                return Ok(Reply::Awaited(i64::from(t.condition)));
            }
            Op::Fork { body, args } => {
                match self.add_thread(self.threads[thread].context, CreationKind::Body(body), false) {
                    Some(id) => {
                        *made = Some(self.threads[id].home);
                        self.threads[id].pending = Op::Fork { body, args };
                        i64::from(id.0)
                    }
                    None => NULL,
                }
            }
            Op::SpawnLooper => match self.add_thread(self.threads[thread].context, CreationKind::Looper, true) {
                Some(id) => {
                    *made = Some(self.threads[id].home);
                    self.threads[id].pending = Op::SpawnLooper;
                    i64::from(id.0)
                }
                None => NULL,
            },
            Op::Post { .. } => self.post(thread, argument != 0, made)?,
            Op::Begin => return self.begin(thread, made),
            Op::AttachQueue => {
                if self.queue(thread).is_some() {
                    return Err(ThrownException::IllegalState);
                }
                self.threads[thread].attach_queue();
                self.loopers.set(thread, true);
                self.refresh_pending_at_thread(thread);
                0
            }
            Op::Fence(looper) => {
                let (now, in_pool) = (self.now, self.pool(looper).is_some());
                let queue = self.threads[looper].queue.as_mut().filter(|_| !in_pool);
                let queue = queue.ok_or(ThrownException::IllegalState)?;
                let token = queue.fence(now);
                self.refresh_looper(looper);
                fence_value(looper, token)
            }
            Op::Lift(value) => {
                if value == NULL {
                    return Err(ThrownException::NullPointer);
                }
                let (looper, token) = fence_of(value);
                let queue = self.threads[looper].queue.as_mut().ok_or(ThrownException::IllegalState)?;
                if !queue.lift(token) {
                    return Err(ThrownException::IllegalState);
                }
                self.refresh_looper(looper);
                0
            }
            Op::Cancel { target, body, token } => self.cancel(target, body, token)?,
            Op::CancelMessage(message) => self.cancel_message(message),
            Op::Quit { looper, safely } => {
                let (looper, now) = (self.queue_owner(looper), self.now);
                self.threads[looper].queue.as_mut().ok_or(ThrownException::IllegalState)?.quit(safely, now);
                self.jobs.dropped = true;
                self.refresh_looper(looper);
                0
            }
            Op::NewHandler(looper) => i64::from(self.handlers.add(looper).0),
            Op::Enable { event, args, instance } => {
                self.enable(event, args, instance);
                0
            }
            Op::Disable(event) => {
                self.disable(event);
                0
            }
            Op::Register { listener, body } => {
                self.listeners[listener].push(body);
                0
            }
            Op::Unregister { listener, body } => {
                let callbacks = &mut self.listeners[listener];
                if let Some(first) = callbacks.iter().position(|callback| *callback == body) {
                    callbacks.remove(first);
                }
                0
            }
            Op::Perform(listener) => return Ok(Reply::Callbacks(listener)),
            Op::Interrupt(other) => {
                self.interrupt(other);
                0
            }
            Op::Sleep(delay) => {
                if std::mem::take(&mut self.threads[thread].interrupted) {
                    return Err(ThrownException::Interrupted);
                }
                if delay <= 0 {
                    return Ok(Reply::Value(0));
                }
                let deadline = self.after(delay);
                self.threads[thread].deadline = Some(deadline);
                self.threads[thread].pending = Op::Wake;
                return Ok(Reply::Again);
            }
            Op::Wake => {
                let t = &mut self.threads[thread];
                t.deadline = None;
                if std::mem::take(&mut t.interrupted) {
                    return Err(ThrownException::Interrupted);
                }
                0
            }
            Op::AcquireFor { of, .. } => {
                if !self.gets(thread, of) {
                    return Ok(Reply::Value(0));
                }
                self.try_act(thread, argument, made)?;
                1
            }
            Op::GroupAdd { group, delta } => self.count(group, delta)?,
            Op::GroupWait(group) => return Ok(self.wait_for_group(thread, group)),
            Op::GroupPass { group, .. } => self.pass_group(group)?,
            Op::ReadInterrupt(other) => i64::from(self.threads[other].interrupted),
            Op::Now => self.read_clock(),
            Op::Send { .. }
            | Op::Sent { .. }
            | Op::Receive { .. }
            | Op::Received { .. }
            | Op::Close(_)
            | Op::ChannelRead { .. }
            | Op::Select { .. }
            | Op::Selected { .. } => return self.act_on_channel(thread, argument),
            Op::Branch => i64::from(argument != 0),
            Op::Choose { from, values } => from.saturating_add_unsigned(argument.min(u64::from(values) - 1)),
            Op::Launch { body, args, place, parent, kind } => {
                return self.launch(thread, (body, args), (place, parent, kind), made);
            }
            Op::Suspend { on, .. } => return self.suspend(thread, on, argument),
            Op::CancelJob(job) => {
                self.request_cancel(job, None);
                0
            }
            Op::AskJob { job, what } => return self.ask_job(job, what),
            Op::SpawnScope => self.spawn_scope(thread, made),
            Op::OpenBlock(kind) => return self.open_block(thread, kind, made),
            Op::Join(other) => {
                self.handle_failure(other);
                0
            }
            Op::Pass { .. } | Op::Request | Op::Skip | Op::Yield | Op::Resume(_) => 0,
        };
        Ok(Reply::Value(value))
    }
}
