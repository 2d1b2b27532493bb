//! Events in words: who did what, where, one line for each.

use super::output::{DIM, ODD, Output, paint};
use super::values::{Types, handler};
use crate::event::{AccessPlace, Event, Happening, Location, Op, PostTime, SiteId, Target, ThreadId, Value, WaitSet};
use crate::exec::Observer;
use crate::world::World;

/// An event in words.
pub(super) struct Line {
    /// The pedigree of the thread or task that acts.
    pub(super) who: String,
    /// What it does.
    pub(super) what: String,
    /// Where that stands in the model.
    pub(super) site: Option<SiteId>,
    /// Whether it is the step itself, not one of its consequences.
    pub(super) is_step: bool,
}

/// Says events in words.
pub(super) struct Words {
    types: Types,
}

impl Words {
    pub(super) fn new(types: Types) -> Self {
        Self { types }
    }

    /// The line of an event; `None` for what another line says already.
    pub(super) fn line(&self, world: &World, event: &Event) -> Option<Line> {
        let who = event.context.map(|c| world.contexts().short_name(world.setup(), c));
        let consequence = |what: &str| Some((who.clone().unwrap_or_default(), what.to_owned(), false));
        let (who, what, is_step) = match &event.what {
            // The fork, or the declaration, says that it starts; the post, that it was refused.
            Happening::ThreadInit => None,
            Happening::Refused if event.thread.is_some() => None,
            Happening::Refused => consequence("refused: the looper has quit"),
            Happening::ThreadExit => consequence("ends"),
            Happening::End => consequence("ends"),
            Happening::Thrown(name) => consequence(&format!("throws {name}")),
            Happening::Fire(id, context) => {
                let fired = &world.setup().events[*id];
                let name = world.contexts().short_name(world.setup(), *context);
                let looper = thread_name(world, fired.looper);
                Some(("environment".to_owned(), format!("fire {name} to {looper}"), true))
            }
            Happening::Tick => Some(("clock".to_owned(), format!("to {} ms", event.now), true)),
            Happening::Performed { op, value, made } => {
                let made = made.map(|c| world.contexts().short_name(world.setup(), c));
                // A looper begins a task: until then it is the looper that acts.
                let who = match (op, event.thread) {
                    (Op::Begin, Some(thread)) => thread_name(world, thread),
                    _ => who.unwrap_or_default(),
                };
                Some((who, self.operation(world, op, *value, made.as_deref()), true))
            }
        }?;
        Some(Line { who, what, site: event.site, is_step })
    }

    fn operation(&self, world: &World, op: &Op, value: Value, made: Option<&str>) -> String {
        let setup = world.setup();
        let word = op.word();
        let cell = |at: &Location| world.place_name(AccessPlace::Cell(*at));
        let of = |at: &Location, value: Value| self.types.value(world, *at, value);
        let body = |b: &crate::event::BodyId| setup.bodies[*b].clone();
        // `onStart#1`: who made it stands at the start of the line.
        let child = |b: &crate::event::BodyId| {
            made.and_then(|name| name.rsplit('/').next()).map_or_else(|| body(b), str::to_owned)
        };
        let thread = |t: &ThreadId| thread_name(world, *t);
        let wait_set = |on: &WaitSet| match on {
            WaitSet::Lock(lock) => world.lock_name(*lock),
            WaitSet::Condition(c) => format!("condition {}", setup.conditions[c.0 as usize]),
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
                format!("{word} {}", setup.rwlocks[id.0 as usize].0)
            }
            Op::Down(id) | Op::Up(id) => format!("{word} {}", setup.semaphores[id.0 as usize].0),
            Op::Arrive(id) | Op::Pass { barrier: id, .. } => format!("{word} {}", setup.barriers[id.0 as usize].0),
            Op::Await { timeout: t } => {
                let result = if value != 0 { "it holds" } else { "timed out" };
                format!("{word}{}: {result}", timeout(t))
            }
            Op::Join(t) | Op::Interrupt(t) => format!("{word} {}", thread(t)),
            Op::Fork { body: b, args } => format!("{word} {}{}", child(b), self.types.arguments(world, *b, *args)),
            Op::SpawnLooper => format!("{word} {}", made.unwrap_or_default()),
            Op::Post { target, body: b, args, time, is_async, .. } => {
                let args = self.types.arguments(world, *b, *args);
                let time = match time {
                    PostTime::Now => String::new(),
                    PostTime::After(d) => format!(" after {d} ms"),
                    PostTime::Front => " at the front".to_owned(),
                    PostTime::At(t) => format!(" at {t} ms"),
                };
                let is_async = if *is_async { ", async" } else { "" };
                let refused = if value == 0 { ": refused, it has quit" } else { "" };
                format!("{word} {}{args} to {}{time}{is_async}{refused}", child(b), name_of(world, *target))
            }
            Op::Begin => made.map_or_else(|| "leave the loop".to_owned(), |task| format!("{word} {task}")),
            Op::Fence(looper) => format!("{word} in the queue of {}", thread(looper)),
            Op::Lift(_) => "lift a fence".to_owned(),
            Op::Cancel { target, body: b } => {
                let what = b.as_ref().map_or_else(|| "all".to_owned(), body);
                format!("{word} {what} on {}", name_of(world, *target))
            }
            Op::Quit { looper, .. } => format!("{word} {}", thread(looper)),
            Op::NewHandler(looper) => format!("new handler on {}", thread(looper)),
            Op::Enable { event, args, .. } => {
                let event = &setup.events[*event];
                format!("{word} {}{}", event.name, self.types.arguments(world, event.body, *args))
            }
            Op::Disable(event) => format!("{word} {}", setup.events[*event].name),
            Op::Register { listener, body: b } => format!("{word} {} to {}", body(b), setup.listeners[*listener]),
            Op::Perform(listener) => format!("{word} {}", setup.listeners[*listener]),
            Op::Sleep(d) => format!("{word} {d} ms"),
            Op::Branch => format!("{word} {}", if value != 0 { "*: true" } else { "*: false" }),
            Op::AttachQueue | Op::Wake | Op::Skip | Op::Yield => word.to_owned(),
        }
    }
}

fn thread_name(world: &World, thread: ThreadId) -> String {
    world.contexts().short_name(world.setup(), world.thread(thread).home)
}

/// The name of whom a post reaches.
pub(super) fn name_of(world: &World, target: Target) -> String {
    match target {
        Target::Thread(thread) => thread_name(world, thread),
        Target::Handler(id) => handler(world, id),
    }
}

/// Prints a run while it goes on.
pub(super) struct StepList<'o> {
    out: &'o mut Output,
    words: Words,
}

impl<'o> StepList<'o> {
    pub(super) fn new(out: &'o mut Output, words: Words) -> Self {
        Self { out, words }
    }
}

// Wide enough for most names; a longer one takes room from what stands beside it.
const WHO: usize = 26;
const LINE: usize = WHO + 2 + 38;

impl Observer for StepList<'_> {
    fn event(&mut self, world: &World, event: &Event) {
        let Some(line) = self.words.line(world, event) else { return };
        let number = if line.is_step { world.steps().to_string() } else { String::new() };
        let mut text = format!("{:<WHO$}  {}", line.who, line.what);
        let performed = matches!(event.what, Happening::Performed { .. });
        if let Some(site) = line.site.filter(|_| performed).map(|s| &world.setup().sites[s]) {
            text = format!("{text:<LINE$}  {}", paint(DIM, format_args!(":{}", site.line)));
            if let Some(label) = &site.label {
                text.push_str(&format!(" {}", paint(ODD, format_args!("@{label}"))));
            }
        }
        writeln!(self.out, "{}  {text}", paint(DIM, format_args!("{number:>5}")));
    }
}
