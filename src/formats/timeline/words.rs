//! Describes operations in words, with the values that were read and written.

use super::record::last;
use crate::event::{
    AccessPlace, Args, BodyId, CANCELLED, ChannelId, ChannelRead, ContextId, JobQuestion, LaunchPlace, Location,
    ObjectId, Op, PostOptions, PostTime, SemaphoreId, Suspension, Target, ThreadId, Transfer, Value, WaitSet,
};
use crate::formats::values::{Types, handler};
use crate::world::{Exchanged, Memory, WordKind, World};

/// Describes operations, with values formatted by their types.
#[derive(Default)]
pub(super) struct Words {
    pub(super) types: Types,
}

/// Returns the last part of a pedigree: `onStart#1`. The row that created it shows the rest. A job has its whole
/// last_part, because one row can name several jobs: the timeline shortens it, if no other one ends so.
pub(super) fn last_part(world: &World, context: ContextId) -> String {
    let name = world.contexts().short_name(world.setup(), context);
    if world.job_of(context).is_some() { name } else { last(&name).to_owned() }
}

impl Words {
    /// Describes an operation with its value `value` and the task or thread `made` that it created or began.
    pub(super) fn operation(&self, world: &World, op: &Op, value: Value, made: Option<ContextId>) -> String {
        let setup = world.setup();
        let word = op.word();
        let cell = |at: &Location| world.place_name(AccessPlace::Cell(*at));
        let of = |at: &Location, value: Value| self.types.value(world, *at, value);
        let body = |b: &BodyId| setup.bodies[*b].clone();
        let made = made.map(|context| last_part(world, context));
        let child = |b: &BodyId| made.clone().unwrap_or_else(|| body(b));
        let thread = |t: &ThreadId| thread_name(world, *t);
        let wait_set = |on: &WaitSet| match on {
            WaitSet::Lock(lock) => world.lock_name(*lock),
            WaitSet::Condition(c) => format!("condition {}", world.condition_name(*c)),
        };
        let timeout = |t: &Option<i64>| t.map_or(String::new(), |t| format!(" for at most {t} ms"));
        match op {
            Op::Read(at) | Op::AtomicRead(at) => format!("{word} {}: {}", cell(at), of(at, value)),
            Op::Write(at, new) | Op::AtomicWrite(at, new) => format!("{word} {} = {}", cell(at), of(at, *new)),
            Op::ListRead { at, what, .. } => {
                use crate::event::ListRead::{Get, Iterate, Len, Next};
                let result = match what {
                    Len => format!(": {value}"),
                    Get(_) | Next { .. } => format!(": {}", of(at, value)),
                    Iterate => String::new(),
                };
                format!("{word} {}{}{result}", cell(at), what.text())
            }
            Op::ListWrite { at, what, .. } => {
                use crate::event::ListWrite::{Clear, Pop, Push, Remove, Set};
                let text = match what {
                    Push(v) => format!(".push({})", of(at, *v)),
                    Set(i, v) => format!("[{i}] = {}", of(at, *v)),
                    Pop | Remove(_) => format!("{}: {}", what.text(), of(at, value)),
                    Clear => what.text(),
                };
                format!("{word} {}{text}", cell(at))
            }
            Op::Cas { at, old, new } => {
                let done = if value != 0 { "done" } else { "not done" };
                format!("{word} {}, {} -> {}: {done}", cell(at), of(at, *old), of(at, *new))
            }
            Op::FetchAdd(at, d) => format!("{word} {}, {d}: was {value}", cell(at)),
            Op::Exchange(at, new) => format!("{word} {} = {}: was {}", cell(at), of(at, *new), of(at, value)),
            Op::Use(object) | Op::Free(object) => format!("{word} {}", world.object_name(*object)),
            Op::Acquire(lock) | Op::Release(lock) => format!("{word} {}", world.lock_name(*lock)),
            Op::Wait { on, timeout: t, .. } => format!("{word} on {}{}", wait_set(on), timeout(t)),
            Op::Reacquire { on, .. } => {
                format!("{word} on {}: {}", wait_set(on), if value != 0 { "notified" } else { "not notified" })
            }
            Op::Notify { on: on @ WaitSet::Lock(_), .. } => format!("{word} {}", wait_set(on)),
            Op::Notify { on, all } => format!("signal{} {}", if *all { " all" } else { "" }, wait_set(on)),
            Op::ReadLock(id) | Op::Announce(id) | Op::WriteLock(id) | Op::ReadUnlock(id) | Op::WriteUnlock(id) => {
                format!("{word} {}", world.rwlock_name(*id))
            }
            Op::Down(id) | Op::Up(id) => format!("{word} {}", world.semaphore_name(*id)),
            Op::DownFor { semaphore, timeout: t } => {
                let result = if value != 0 { "taken" } else { "timed out" };
                format!("{word} {}{}: {result}", world.semaphore_name(*semaphore), timeout(&Some(*t)))
            }
            Op::Arrive(id) | Op::Pass { barrier: id, .. } => format!("{word} {}", world.barrier_name(*id)),
            Op::AcquireFor { of, timeout: t } => {
                let what = self.operation(world, &of.plain(), value, None);
                format!("{what}{}: timed out", timeout(&Some(*t)))
            }
            Op::GroupAdd { group, delta } => format!("{word} {delta} to {}", setup.groups[group.0 as usize]),
            Op::GroupWait(group) | Op::GroupPass { group, .. } => {
                format!("{word} {}", setup.groups[group.0 as usize])
            }
            Op::ReadInterrupt(t) => format!("{word} of {}: {}", thread(t), value != 0),
            Op::Now => format!("{word}: {value}"),
            Op::Send { channel, value: sent } => {
                let sent = channel.map_or_else(String::new, |c| channel_value(world, c, *sent));
                format!("{word} {} {sent}{}", world.channel_name(*channel), parked(world))
            }
            Op::Sent { channel } => format!("{word} on {}", world.channel_name(Some(*channel))),
            Op::Receive { channel: Some(channel), .. } | Op::Received { channel, .. } => {
                format!("{word} {}{}", world.channel_name(Some(*channel)), received(world, *channel))
            }
            Op::Receive { channel: None, .. } => format!("{word} null"),
            Op::Close(channel) => format!("{word} {}", world.channel_name(Some(*channel))),
            Op::ChannelRead { channel, what } => {
                let name = world.channel_name(Some(*channel));
                match what {
                    ChannelRead::Closed => format!("read {name}.closed: {}", value != 0),
                    ChannelRead::Len => format!("read {name}.len: {value}"),
                }
            }
            Op::Select { cases, timeout: t, .. } => select(world, word, *cases, value, &timeout(t)),
            Op::Selected { cases } => select(world, word, *cases, value, ""),
            Op::Await { timeout: t } => {
                let result = if value != 0 { "it holds" } else { "timed out" };
                format!("{word}{}: {result}", timeout(t))
            }
            Op::Join(t) | Op::Interrupt(t) => format!("{word} {}", thread(t)),
            Op::Fork { body: b, args } => format!("{word} {}{}", child(b), self.types.arguments(world, *b, *args)),
            Op::SpawnLooper => format!("{word} {}", made.clone().unwrap_or_default()),
            Op::Post { target, body: b, args, time, is_async, options, .. } => {
                let token =
                    world.token_of(*args, *options).map(|object| format!(" with {}", world.object_name(object)));
                let period = world.period_of(*args, *options).map(|period| format!(", every {period} ms"));
                let more = token.unwrap_or_default() + &period.unwrap_or_default();
                let daemon = if options.has(PostOptions::DAEMON) { ", daemon" } else { "" };
                let args = self.types.arguments(world, *b, *args);
                let time = match time {
                    PostTime::Now => String::new(),
                    PostTime::After(d) => format!(" after {d} ms"),
                    PostTime::Front => " at the front".to_owned(),
                    PostTime::At(t) => format!(" at {t} ms"),
                    PostTime::Micro => " as a microtask".to_owned(),
                    PostTime::Idle { keep: false } => " when idle".to_owned(),
                    PostTime::Idle { keep: true } => " whenever idle".to_owned(),
                };
                let is_async = if *is_async { ", async" } else { "" };
                let refused = if value == 0 { ": refused, it has quit" } else { "" };
                format!(
                    "{word} {}{args} to {}{time}{more}{daemon}{is_async}{refused}",
                    child(b),
                    target_name(world, *target)
                )
            }
            Op::Begin => made.map_or_else(|| "leave the loop".to_owned(), |task| format!("{word} {task}")),
            Op::Fence(looper) => format!("{word} in the queue of {}", thread(looper)),
            Op::Lift(_) => "lift a fence".to_owned(),
            Op::Cancel { target, body: b, token } => {
                let what = b.as_ref().map_or_else(|| "all".to_owned(), body);
                let token = Memory::object_of(*token).map(|object| format!(" with {}", world.object_name(object)));
                format!("{word} {what}{} on {}", token.unwrap_or_default(), target_name(world, *target))
            }
            Op::CancelMessage(_) => {
                format!("{word} a message: {}", if value != 0 { "removed" } else { "it was not queued" })
            }
            Op::Quit { looper, .. } => format!("{word} {}", queue_name(world, *looper)),
            Op::NewHandler(looper) => format!("new handler on {}", thread(looper)),
            Op::Enable { event, args, .. } => {
                let event = &setup.events[*event];
                format!("{word} {}{}", event.name, self.types.arguments(world, event.body, *args))
            }
            Op::Disable(event) => format!("{word} {}", setup.events[*event].name),
            Op::Unregister { listener, body: b } => format!("{word} {} from {}", body(b), setup.listeners[*listener]),
            Op::Register { listener, body: b } => format!("{word} {} to {}", body(b), setup.listeners[*listener]),
            Op::Perform(listener) => format!("{word} {}", setup.listeners[*listener]),
            Op::Sleep(d) => format!("{word} {d} ms"),
            Op::Choose { from, values } => {
                format!("{word} {from}..{}: {value}", from.saturating_add(i64::from(*values)))
            }
            Op::Branch => format!("{word} {}", if value != 0 { "*: true" } else { "*: false" }),
            Op::AttachQueue | Op::Request | Op::Wake | Op::Skip | Op::Yield | Op::SpawnScope => word.to_owned(),
            Op::Launch { body: b, args, place, .. } => {
                let args = self.types.arguments(world, *b, *args);
                let place = match place {
                    LaunchPlace::Posted(target) => format!(" on {}", target_name(world, *target)),
                    LaunchPlace::Here => String::new(),
                    LaunchPlace::Now => " now".to_owned(),
                };
                format!("{word} {}{args}{place}", child(b))
            }
            Op::Suspend { on: Suspension::Transfer(transfer), .. } => {
                self.operation(world, &transfer.first_half(), value, None)
            }
            Op::Suspend { on, .. } => suspension(world, *on),
            Op::Resume(on) => {
                let result = match (value, on) {
                    (CANCELLED, _) => ": cancelled".to_owned(),
                    (0, Suspension::Await { .. } | Suspension::DownFor { .. }) => ": timed out".to_owned(),
                    (_, Suspension::Transfer(transfer)) => transferred(world, *transfer, value),
                    _ => String::new(),
                };
                format!("go on after {}{result}", suspension(world, *on))
            }
            Op::OpenBlock(kind) => format!("open {}", kind.word()),
            Op::CancelJob(job) => format!("cancel {}", thread(job)),
            Op::AskJob { job, what } => {
                let name = thread(job);
                match what {
                    JobQuestion::Done => format!("{name}.done: {}", value != 0),
                    JobQuestion::Cancelled => format!("{name}.cancelled: {}", value != 0),
                    JobQuestion::Result => format!("{name}.result: {}", self.types.result(world, *job, value)),
                }
            }
        }
    }
}

impl Words {
    /// Describes an operation that was refused: it has no result.
    pub(super) fn refused(&self, world: &World, op: &Op) -> String {
        let what = match op {
            Op::Begin => "take a message".to_owned(),
            op => self.operation(world, op, 0, None),
        };
        what.rsplit_once(": ").map_or(what.clone(), |(before, _)| before.to_owned())
    }

    /// Returns the value that an operation wrote, in words.
    pub(super) fn written(&self, world: &World, op: &Op) -> Option<String> {
        match op {
            Op::Write(at, new) | Op::AtomicWrite(at, new) | Op::Cas { at, new, .. } | Op::Exchange(at, new) => {
                Some(self.types.value(world, *at, *new))
            }
            Op::FetchAdd(at, _) => Some(self.types.value(world, *at, world.memory().cell(at.cell))),
            Op::ListWrite { what, .. } => Some(what.text()),
            _ => None,
        }
    }
}

// Describes a value that a channel carries.
fn channel_value(world: &World, channel: ChannelId, value: Value) -> String {
    match (world.setup().channels[channel].kind, u32::try_from(value)) {
        (WordKind::Object, Ok(object)) => world.object_name(ObjectId(object)),
        (WordKind::Thread, Ok(thread)) => thread_name(world, ThreadId(thread)),
        (WordKind::Object | WordKind::Thread, Err(_)) => "null".to_owned(),
        _ => value.to_string(),
    }
}

// Describes how the receive of the last step ended.
fn received(world: &World, channel: ChannelId) -> String {
    match world.exchanged() {
        Exchanged::Received(value) => format!(": {}", channel_value(world, channel, value)),
        Exchanged::Closed => ": closed".to_owned(),
        _ => parked(world).to_owned(),
    }
}

fn parked(world: &World) -> &'static str {
    if world.exchanged() == Exchanged::Parked { ", waits" } else { "" }
}

// Describes a select by the case that went.
fn select(world: &World, word: &str, cases: Args, value: Value, timeout: &str) -> String {
    let count = world.cases(cases).count() as Value;
    match world.case(cases, value) {
        Some(case) => {
            let name = world.channel_name(case.channel);
            match (case.sends, case.channel) {
                (Some(sent), Some(channel)) => format!("{word}: send {name} {}", channel_value(world, channel, sent)),
                (None, Some(channel)) => format!("{word}: recv {name}{}", received(world, channel)),
                (_, None) => word.to_owned(),
            }
        }
        None if value == count => format!("{word}{timeout}: timed out"),
        None if value > count => format!("{word}: else"),
        None => format!("{word}{timeout}, waits"),
    }
}

// Describes a send, a receive or a select without its end.
fn transferring(world: &World, transfer: Transfer) -> String {
    match transfer {
        Transfer::Send { channel, .. } => format!("send {}", world.channel_name(channel)),
        Transfer::Receive { channel, .. } => format!("recv {}", world.channel_name(channel)),
        Transfer::Select { .. } => "select".to_owned(),
    }
}

/// Describes what a job has received or sent with which it goes on: `: 5`, `: closed`.
pub(super) fn transferred(world: &World, transfer: Transfer, value: Value) -> String {
    match transfer {
        Transfer::Send { .. } if value == 0 => ": closed".to_owned(),
        Transfer::Receive { channel: Some(channel), .. } => received(world, channel),
        Transfer::Select { cases, .. } => select(world, "", cases, value, ""),
        Transfer::Send { .. } | Transfer::Receive { .. } => String::new(),
    }
}

/// Describes a suspension point.
pub(super) fn suspension(world: &World, on: Suspension) -> String {
    let semaphore = |id: SemaphoreId| world.setup().semaphores[id.0 as usize].0.clone();
    match on {
        Suspension::Sleep(delay) => format!("sleep {delay} ms"),
        Suspension::Await { timeout: None } => "await".to_owned(),
        Suspension::Await { timeout: Some(t) } => format!("await for at most {t} ms"),
        Suspension::Join(other) => format!("join {}", thread_name(world, other)),
        Suspension::Down(id) => format!("down {}", semaphore(id)),
        Suspension::DownFor { semaphore: id, timeout } => format!("down {} for at most {timeout} ms", semaphore(id)),
        Suspension::Yield => "yield".to_owned(),
        Suspension::Switch(to) => format!("switch to {}", queue_name(world, to)),
        Suspension::CloseBlock { block, .. } => format!("end {}", thread_name(world, block)),
        Suspension::Transfer(transfer) => transferring(world, transfer),
    }
}

fn thread_name(world: &World, thread: ThreadId) -> String {
    last_part(world, world.thread(thread).home)
}

// Returns the name of what has a queue: a looper or a pool.
fn queue_name(world: &World, thread: ThreadId) -> String {
    world.pool(thread).map_or_else(|| thread_name(world, thread), |pool| pool.name.clone())
}

// Returns the name of the recipient of a post.
fn target_name(world: &World, target: Target) -> String {
    match target {
        Target::Thread(thread) => queue_name(world, thread),
        Target::Handler(id) => handler(world, id),
    }
}
