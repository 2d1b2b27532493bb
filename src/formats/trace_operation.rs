//! The fields of a trace row that describe an operation.

use super::trace::Row;
use crate::event::{AccessPlace, LaunchPlace, Op, Suspension, Target, ThreadId, WaitSet};
use crate::world::World;

/// Returns the kind of an operation as one word, with hyphens.
pub(super) fn kind(op: &Op) -> String {
    match op {
        Op::AttachQueue => "attachq".to_owned(),
        Op::Begin => "begin".to_owned(),
        op => kind_of_word(op.word()),
    }
}

/// Returns the kind of a row for the word of an operation.
pub(super) fn kind_of_word(word: &str) -> String {
    word.replace([' ', '_'], "-")
}

/// Returns the name of the queue from which a thread takes its tasks. The tasks of a single worker are those of a
/// thread in a trace, so its pool is called like the worker.
pub(super) fn queue_of(world: &World, thread: ThreadId) -> String {
    if world.shares_queue(thread) { world.queue_name(thread) } else { world.thread_name(world.queue_owner(thread)) }
}

/// Fills the fields of a row that describe an operation.
pub(super) fn operation(world: &World, op: &Op, value: i64, row: &mut Row) {
    let setup = world.setup();
    let cell = |at| Some(world.place_name(AccessPlace::Cell(at)));
    let target = |t| Some(queue_of(world, world.thread_of(t)));
    let handler = |t| match t {
        Target::Handler(id) => setup.handlers.get(id.0 as usize).map(|(name, _)| name.clone()),
        Target::Thread(_) => None,
    };
    let wait_set = |on: &WaitSet| match on {
        WaitSet::Lock(lock) => world.lock_name(*lock),
        WaitSet::Condition(c) => format!("condition {}", world.condition_name(*c)),
    };
    let besides = |on: &WaitSet, lock| matches!(on, WaitSet::Condition(_)).then(|| world.lock_name(lock));
    let body = |b| Some(setup.bodies[b].clone());
    match op {
        Op::Read(at) | Op::AtomicRead(at) => {
            (row.place, row.value) = (cell(*at), Some(value));
        }
        Op::Write(at, new) | Op::AtomicWrite(at, new) => (row.place, row.value) = (cell(*at), Some(*new)),
        Op::Cas { at, old, new } => {
            (row.place, row.value, row.detail) = (cell(*at), Some(value), Some(format!("{old} -> {new}")));
        }
        Op::FetchAdd(at, d) => (row.place, row.value, row.detail) = (cell(*at), Some(value), Some(format!("+ {d}"))),
        Op::Exchange(at, new) => (row.place, row.value, row.detail) = (cell(*at), Some(value), Some(new.to_string())),
        Op::ListRead { at, what, .. } => {
            (row.place, row.value, row.detail) = (cell(*at), Some(value), Some(what.text()));
        }
        Op::ListWrite { at, what, .. } => {
            (row.place, row.value, row.detail) = (cell(*at), Some(value), Some(what.text()));
        }
        Op::Begin if row.made.is_some() => row.value = Some(value),
        Op::Use(object) | Op::Free(object) => row.place = Some(world.object_name(*object)),
        Op::Acquire(lock) | Op::Release(lock) => row.place = Some(world.lock_name(*lock)),
        Op::Wait { on, lock, timeout } => {
            (row.place, row.delay, row.detail) = (Some(wait_set(on)), *timeout, besides(on, *lock));
        }
        Op::Reacquire { on, lock } => {
            (row.place, row.value, row.detail) = (Some(wait_set(on)), Some(value), besides(on, *lock));
        }
        Op::Notify { on, .. } => row.place = Some(wait_set(on)),
        Op::ReadLock(id) | Op::Announce(id) | Op::WriteLock(id) | Op::ReadUnlock(id) | Op::WriteUnlock(id) => {
            row.place = Some(world.rwlock_name(*id));
        }
        Op::Down(id) | Op::Up(id) => row.place = Some(world.semaphore_name(*id)),
        Op::DownFor { semaphore, timeout } => {
            let name = world.semaphore_name(*semaphore);
            (row.place, row.delay, row.value) = (Some(name), Some(*timeout), Some(value));
        }
        Op::Arrive(id) | Op::Pass { barrier: id, .. } => row.place = Some(world.barrier_name(*id)),
        Op::AcquireFor { of, timeout } => {
            operation(world, &of.plain(), value, row);
            (row.delay, row.value) = (Some(*timeout), Some(value));
        }
        Op::GroupAdd { group, delta } => {
            (row.place, row.detail) = (Some(setup.groups[group.0 as usize].clone()), Some(delta.to_string()));
        }
        Op::GroupWait(group) | Op::GroupPass { group, .. } => row.place = Some(setup.groups[group.0 as usize].clone()),
        Op::ReadInterrupt(t) => (row.place, row.value) = (Some(world.thread_name(*t)), Some(value)),
        Op::Now => row.value = Some(value),
        Op::Send { channel, value } => {
            (row.place, row.detail) = (Some(world.channel_name(*channel)), Some(value.to_string()));
        }
        Op::Receive { channel, .. } => {
            (row.place, row.value) = (Some(world.channel_name(*channel)), Some(value));
        }
        Op::Received { channel, .. } | Op::ChannelRead { channel, .. } => {
            (row.place, row.value) = (Some(world.channel_name(Some(*channel))), Some(value));
        }
        Op::Sent { channel } | Op::Close(channel) => {
            row.place = Some(world.channel_name(Some(*channel)));
        }
        Op::Select { cases, .. } | Op::Selected { cases } => {
            row.place = world.case(*cases, value).map(|case| world.channel_name(case.channel));
            row.value = Some(value);
        }
        Op::Await { timeout } => (row.delay, row.value) = (*timeout, Some(value)),
        Op::Join(t) | Op::Interrupt(t) => row.place = Some(world.thread_name(*t)),
        Op::Fork { body: b, .. } => row.body = body(*b),
        Op::Post { target: t, body: b, time, is_async, instance, .. } => {
            (row.target, row.place, row.body) = (target(*t), handler(*t), body(*b));
            (row.value, row.is_async) = (Some(value), *is_async);
            row.due(*time);
            row.instance = world.instance_text(*instance);
        }
        Op::Fence(looper) | Op::Quit { looper, .. } | Op::NewHandler(looper) => {
            row.target = Some(queue_of(world, *looper));
        }
        Op::CancelMessage(message) => {
            row.target = World::looper_of_message(*message).map(|looper| queue_of(world, looper));
            row.value = Some(value);
        }
        Op::Cancel { target: t, body: b, .. } => {
            (row.target, row.place, row.body) = (target(*t), handler(*t), b.and_then(body));
        }
        Op::Enable { event, instance, .. } => {
            (row.place, row.instance) = (Some(setup.events[*event].name.clone()), world.instance_text(*instance));
        }
        Op::Disable(event) => row.place = Some(setup.events[*event].name.clone()),
        Op::Register { listener, body: b } | Op::Unregister { listener, body: b } => {
            (row.place, row.body) = (Some(setup.listeners[*listener].clone()), body(*b));
        }
        Op::Perform(listener) => row.place = Some(setup.listeners[*listener].clone()),
        Op::Sleep(d) => row.delay = Some(*d),
        Op::Branch | Op::Choose { .. } => row.value = Some(value),
        Op::Launch { body: b, place, .. } => {
            row.body = body(*b);
            (row.value, row.is_async) = (Some(value), *place != LaunchPlace::Now);
            row.target = match place {
                LaunchPlace::Posted(to) => target(*to),
                // The caller knows the thread.
                LaunchPlace::Here | LaunchPlace::Now => None,
            };
        }
        Op::Suspend { on, .. } | Op::Resume(on) => {
            row.detail = Some(on.blocking().word().to_owned());
            row.value = matches!(op, Op::Resume(_)).then_some(value);
            match on {
                Suspension::Sleep(delay) => row.delay = Some(*delay),
                Suspension::Await { timeout } => row.delay = *timeout,
                Suspension::Join(other) | Suspension::CloseBlock { block: other, .. } => {
                    row.place = Some(world.thread_name(*other))
                }
                Suspension::Down(id) => row.place = Some(world.semaphore_name(*id)),
                Suspension::DownFor { semaphore, timeout } => {
                    let name = world.semaphore_name(*semaphore);
                    (row.place, row.delay) = (Some(name), Some(*timeout));
                }
                Suspension::Yield => {}
                Suspension::Transfer(transfer) => {
                    let (first, result) = (transfer.first_half(), row.value);
                    operation(world, &first, value, row);
                    (row.detail, row.value) = (Some(first.word().to_owned()), result);
                }
                Suspension::Switch(to) => {
                    (row.detail, row.target) = (Some("switch".to_owned()), Some(queue_of(world, *to)));
                }
            }
        }
        Op::OpenBlock(kind) => row.detail = Some(kind.word().to_owned()),
        Op::CancelJob(job) => row.place = Some(world.thread_name(*job)),
        Op::AskJob { job, .. } => (row.place, row.value) = (Some(world.thread_name(*job)), Some(value)),
        Op::SpawnLooper
        | Op::SpawnScope
        | Op::Begin
        | Op::AttachQueue
        | Op::Lift(_)
        | Op::Request
        | Op::Wake
        | Op::Skip
        | Op::Yield => {}
    }
}
