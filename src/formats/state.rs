//! Defines the state of a run at one instant: the field `state` of `raceflip-run` (`docs/formats.md`).

use super::result::At;
use super::values::Types;
use crate::event::{EventId, InstanceId, Location, ObjectId, Op, Outcome, ThreadId};
use crate::lang::Program;
use crate::world::{FirstValue, MessageKind, Queue, World};
use serde::{Deserialize, Serialize};

/// The state of a run at one instant.
///
/// # Examples
///
/// ```
/// use raceflip::{formats::state::State, vm::Model, world::Limits};
///
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// let mut machine = model.machine(Limits::default());
/// machine.start(false);
/// let state = State::of(&machine.world, &model.program);
/// assert_eq!(state.threads[0].operation.as_deref(), Some("read x"));
/// assert_eq!(state.variables[0].name, "x");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct State {
    pub steps: u64,
    pub virtual_time: u64,
    pub threads: Vec<ThreadState>,
    pub locks: Vec<LockState>,
    pub variables: Vec<Variable>,
    pub objects: Vec<ObjectState>,
    /// Number of objects that are left out.
    pub more_objects: usize,
    pub events: Vec<EventState>,
    /// The instances of components, in the order in which they were made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<InstanceState>,
}

/// The state of an instance of a component.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct InstanceState {
    pub name: String,
    pub stage: String,
    /// The stage at the end of the row that is under way, if that row changes the stage.
    pub leads_to: Option<String>,
    /// The rows that the environment may fire.
    pub open: Vec<String>,
}

/// The state of a thread.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct ThreadState {
    pub name: String,
    pub task: Option<String>,
    pub daemon: bool,
    pub standing: ThreadCondition,
    pub operation: Option<String>,
    pub at: Option<At>,
    pub waits_for: Option<String>,
    pub held_by: Option<String>,
    /// The messages in the queue, if the thread has a queue.
    pub queue: Option<Vec<MessageState>>,
}

/// The condition of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "docs/formats.md describes the words")]
pub enum ThreadCondition {
    Ready,
    Waits,
    Idle,
    Ended,
    Failed,
}

/// A message in a queue.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct MessageState {
    pub due: u64,
    /// The task; `None` for a synchronization barrier (`fence`).
    pub task: Option<String>,
    #[serde(rename = "async")]
    pub is_async: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub micro: bool,
}

/// The state of a lock, or of another object that threads block on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct LockState {
    pub name: String,
    pub owners: Vec<String>,
    pub count: i64,
    pub parties: Option<i64>,
    pub writes: bool,
    pub blocked: Vec<String>,
    pub waiters: Vec<String>,
}

/// A memory location with its value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Variable {
    pub name: String,
    pub value: String,
}

/// The state of an object.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct ObjectState {
    pub name: String,
    pub freed: bool,
    pub fields: Vec<Variable>,
}

/// The state of an event of the environment.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct EventState {
    pub name: String,
    pub enables: usize,
}

// Maximum number of objects that are shown. The remaining ones of a long run are only counted.
const MOST_OBJECTS: usize = 200;

impl State {
    /// Returns the current state of a world.
    #[must_use]
    pub fn of(world: &World, program: &Program) -> Self {
        let words = &Types::of(program);
        let setup = world.setup();
        let global = |cell: usize| Location { cell: cell as u32, object: None };
        let variables = setup.cells.iter().enumerate().map(|(cell, first)| Variable {
            name: setup.cell_names[cell].clone(),
            value: value(world, words, global(cell), first),
        });
        let objects = (0..world.memory().objects_len() as u32).map(ObjectId);
        let events = (0..setup.events.len() as u32).map(EventId);
        Self {
            steps: world.steps(),
            virtual_time: world.now(),
            threads: world.threads().ids().filter(|t| !is_init(world, *t)).map(|t| thread(world, words, t)).collect(),
            locks: world.sync_objects().into_iter().map(|s| lock(world, s)).collect(),
            variables: variables.collect(),
            objects: objects.clone().take(MOST_OBJECTS).map(|o| object(world, words, o)).collect(),
            more_objects: objects.skip(MOST_OBJECTS).count(),
            instances: instances(world),
            events: events
                .filter(|e| !world.is_row(*e))
                .map(|e| EventState { name: setup.events[e].name.clone(), enables: world.enables_left(e) })
                .collect(),
        }
    }
}

fn instances(world: &World) -> Vec<InstanceState> {
    let Some(platform) = world.platform() else { return Vec::new() };
    let setup = &world.setup().platform;
    let instance = |(id, of): (InstanceId, &crate::world::Instance)| {
        let component = &setup.components[of.component];
        let stage = |stage: u32| component.stages[stage as usize].clone();
        let open = component.rows.iter().filter(|row| world.open_for(**row).contains(&id));
        InstanceState {
            name: world.instance_name(id),
            stage: stage(of.stage),
            leads_to: of.target.map(stage),
            open: open.filter_map(|row| Some(setup.row(*row)?.name.clone())).collect(),
        }
    };
    platform.instances().enumerate().map(instance).collect()
}

// Returns whether the thread ran `init`: that one is not a thread of the app.
fn is_init(world: &World, thread: ThreadId) -> bool {
    world.contexts().made(world.thread(thread).home) == crate::world::CreationKind::Init
}

fn value(world: &World, words: &Types, at: Location, first: &FirstValue) -> String {
    if let FirstValue::List(_) = first {
        let list = world.memory().list(world.memory().list_in(at.cell));
        let items: Vec<String> = list.items.iter().map(|v| words.value(world, at, *v)).collect();
        return format!("[{}]", items.join(", "));
    }
    words.value(world, at, world.memory().cell(at.cell))
}

fn object(world: &World, words: &Types, id: ObjectId) -> ObjectState {
    let (object, setup) = (world.memory().object(id), world.setup());
    let firsts = &setup.classes[object.class as usize].1;
    let fields = firsts.iter().enumerate().map(|(i, first)| Variable {
        name: setup.field_names[object.class as usize][i].clone(),
        value: value(world, words, Location { cell: object.base + i as u32, object: Some(id) }, first),
    });
    ObjectState { name: world.object_name(id), freed: object.freed, fields: fields.collect() }
}

fn lock(world: &World, standing: crate::world::SyncObjectState) -> LockState {
    let names = |all: &[ThreadId]| all.iter().map(|t| world.thread_name(*t)).collect();
    LockState {
        owners: names(&standing.owners),
        count: standing.count,
        parties: standing.parties,
        writes: standing.writes,
        blocked: names(&standing.blocked),
        waiters: names(&standing.waiters),
        name: standing.name,
    }
}

fn thread(world: &World, words: &Types, id: ThreadId) -> ThreadState {
    let t = world.thread(id);
    let ended = world.finished(id);
    let blocked = world.waits(id);
    let failure = match world.outcome() {
        Some(Outcome::Failure(f)) if world.contexts().is_named(world.setup(), t.home, &f.thread) => Some(f),
        _ => None,
    };
    let standing = match &blocked {
        _ if failure.is_some() => ThreadCondition::Failed,
        _ if ended => ThreadCondition::Ended,
        _ if world.is_idle(id) => ThreadCondition::Idle,
        Some(_) => ThreadCondition::Waits,
        None => ThreadCondition::Ready,
    };
    // A job that does not wait is pending nowhere: its looper acts for it.
    let is_job = world.job(id).is_some() && blocked.is_none();
    let is_pending = matches!(standing, ThreadCondition::Ready | ThreadCondition::Waits) && !is_job;
    let site = if is_pending { t.site } else { failure.and_then(|f| f.site) };
    let place = t.site.map_or("", |s| world.setup().sites[s].place.as_str());
    let operation = match &t.pending {
        // These operations have no place of their own; `waits_for` says what they need, if anything.
        Op::Begin | Op::Wake | Op::Reacquire { .. } => t.pending.word().to_owned(),
        pending => format!("{} {place}", pending.word()).trim_end().to_owned(),
    };
    ThreadState {
        name: world.thread_name(id),
        task: (t.context != t.home).then(|| world.contexts().name(world.setup(), t.context)),
        daemon: t.daemon,
        standing,
        operation: is_pending.then_some(operation),
        at: site.map(|s| At::of(world.setup(), s)),
        waits_for: blocked.as_ref().filter(|_| is_pending).map(|b| b.waits_for.clone()),
        held_by: blocked.and_then(|b| b.held_by),
        queue: t.queue.as_ref().map(|q| queue(world, words, q)),
    }
}

fn queue(world: &World, words: &Types, queue: &Queue) -> Vec<MessageState> {
    let message = |m: &crate::world::Message| match &m.kind {
        MessageKind::Fence(_) => MessageState { due: m.when, task: None, is_async: false, micro: false },
        MessageKind::Task(task) => {
            let name = world.contexts().name(world.setup(), task.context);
            let args = words.arguments(world, task.body, task.args);
            MessageState { due: m.when, task: Some(name + &args), is_async: task.is_async, micro: m.is_micro() }
        }
    };
    queue.messages().map(message).collect()
}
