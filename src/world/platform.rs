//! Platform memory: the states of the app, and the instances of components with their stages, fields and requests.
//!
//! It belongs to the system process, so that reading and writing it is neither a step nor an access: a change rides on
//! the step before. The guest changes it through the methods here, and then asks for the open rows again
//! ([`World::settle_rows`]).

use super::contexts::CreationKind;
use super::kind::WordKind;
use super::perform::ThrownException;
use super::{Memory, World};
use crate::base::{IndexVec, Pool};
use crate::event::{
    Args, Cause, ComponentId, ContextId, EventId, EventKind, InstanceId, NULL, ObjectId, RequestId, ThreadId, Value,
};
use std::collections::VecDeque;

/// Declarations of components, as the guest provides them. All are empty for a program without components.
#[derive(Clone, Debug, Default)]
pub struct PlatformSetup {
    /// Components.
    pub components: IndexVec<ComponentId, ComponentSetup>,
    /// The row that each event is. `None` for an event that threads enable; empty if there is no component.
    pub rows: IndexVec<EventId, Option<RowSetup>>,
    /// Initial value and meaning of each state of the app.
    pub states: Vec<(Value, WordKind)>,
}

/// Declaration of a component.
#[derive(Clone, Debug)]
pub struct ComponentSetup {
    /// Name of the component.
    pub name: String,
    /// Number of its kind.
    pub kind: u32,
    /// Names of the stages of its kind.
    pub stages: Vec<String>,
    /// Class of its instances.
    pub class: u32,
    /// Meaning of each parameter.
    pub params: Vec<WordKind>,
    /// Initial value and meaning of each state field.
    pub fields: Vec<(Value, WordKind)>,
    /// Rows of the component. The index of a row here is its index in each instance.
    pub rows: Vec<EventId>,
    /// For a component with one instance at a time: the stages after which the next verb makes another one.
    pub single: Option<u64>,
    /// The declared thread that makes all instances that no task makes, if it is only one. Their names leave it out.
    pub maker: Option<ThreadId>,
}

/// Declaration of a row.
#[derive(Clone, Debug)]
pub struct RowSetup {
    /// Name of the row in its component.
    pub name: String,
    /// Component of the row.
    pub component: ComponentId,
    /// Index of the row in its component.
    pub index: usize,
    /// Stages in which the row may be fired, as bits.
    pub from: u64,
    /// Stage at the end of the row, if the row changes the stage.
    pub to: Option<u32>,
    /// Whether each firing needs a request.
    pub by_request: bool,
    /// Whether the row has a condition, which the guest evaluates.
    pub has_condition: bool,
    /// Maximum number of firings for one instance.
    pub at_most: Option<u32>,
}

impl PlatformSetup {
    /// Returns whether the program has no component.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.components.is_empty()
    }

    /// Returns the row that an event is, if it is one.
    #[must_use]
    pub fn row(&self, event: EventId) -> Option<&RowSetup> {
        self.rows.get(event.0 as usize)?.as_ref()
    }
}

/// Platform memory of a run.
#[derive(Default)]
pub struct Platform {
    pub(super) states: Vec<Value>,
    pub(super) instances: Pool<InstanceId, Instance>,
    pub(super) requests: Pool<RequestId, Request>,
    /// Rows that have been fired and whose messages have not ended, in the order of their firings.
    pub(super) under_way: Vec<Firing>,
    /// Instances for which each row is open, in the order of their creation.
    pub(super) open: IndexVec<EventId, Vec<InstanceId>>,
    /// Number of times that threads have used platform memory. The difference shows whether a step has used it.
    pub(super) uses: u64,
}

crate::clone_in_place!(Platform { states, instances, requests, under_way, open, uses });

/// An instance of a component.
#[derive(Debug)]
pub struct Instance {
    /// Object of the instance.
    pub object: ObjectId,
    /// Component of the instance.
    pub component: ComponentId,
    /// Context that names the instance. The firings of its rows are created by it.
    pub context: ContextId,
    /// Stage of the instance.
    pub stage: u32,
    /// Stage at the end of the row that is under way, if that row changes the stage.
    pub target: Option<u32>,
    /// Values of the parameters of the component.
    pub params: Vec<Value>,
    /// Values of the state fields.
    pub fields: Vec<Value>,
    /// Rows of the instance, by their index in the component.
    pub(super) rows: Vec<RowState>,
    // The instance as the only argument of a row.
    pub(super) as_args: Args,
}

crate::clone_in_place!(Instance { object, component, context, stage, target, params, fields, rows, as_args });

impl Default for Instance {
    fn default() -> Self {
        Self {
            object: ObjectId(0),
            component: ComponentId(0),
            context: ContextId(0),
            stage: 0,
            target: None,
            params: Vec::new(),
            fields: Vec::new(),
            rows: Vec::new(),
            as_args: Args::default(),
        }
    }
}

/// State of a row of an instance.
#[derive(Default, Debug)]
pub(super) struct RowState {
    pub(super) fired: u32,
    /// Requests that have not been served, in the order in which they were asked.
    pub(super) waiting: VecDeque<RequestId>,
    /// Whether the stage lets the row be fired, and no row that changes it is under way.
    pub(super) in_stage: bool,
    /// Whether the condition of the row holds.
    pub(super) holds: bool,
}

crate::clone_in_place!(RowState { fired, waiting, in_stage, holds });

/// A request to the platform.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Request {
    /// Arguments of the row, the instance first.
    pub(super) args: Args,
    pub(super) progress: Progress,
    pub(super) withdrawn: bool,
}

/// Progress of a request.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Progress {
    /// The request waits in a row of an instance.
    #[default]
    Waits,
    /// The row has been fired for it, and its message has not begun.
    Fired,
    /// The message has begun, or the request was withdrawn before it was fired.
    Through,
}

/// A row that is under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Firing {
    /// Context of the message.
    pub(super) context: ContextId,
    pub(super) row: EventId,
    pub(super) instance: InstanceId,
    pub(super) request: Option<RequestId>,
}

impl Platform {
    /// Resets the platform to the start of the app. Keeps allocated memory.
    pub(super) fn renew(&mut self, setup: &PlatformSetup) {
        self.states.clear();
        self.states.extend(setup.states.iter().map(|(value, _)| *value));
        self.instances.clear();
        self.requests.clear();
        self.under_way.clear();
        self.open.resize_with(setup.rows.len(), Vec::new);
        self.open.iter_mut().for_each(Vec::clear);
        self.uses = 0;
    }

    /// Returns the instances of all components, in the order of their creation.
    #[must_use]
    pub fn instances(&self) -> &Pool<InstanceId, Instance> {
        &self.instances
    }

    /// Returns the value of a state of the app.
    #[must_use]
    pub fn state(&self, state: usize) -> Value {
        self.states[state]
    }

    /// Returns the instance that a reference means. Fails with `NullPointer` for null.
    pub fn instance_of(&self, reference: Value) -> Result<InstanceId, ThrownException> {
        let object = Memory::object_of(reference).ok_or(ThrownException::NullPointer)?;
        // Objects and instances are created in the same order.
        self.instances
            .binary_search_by_key(&object, |i| i.object)
            .map(|at| InstanceId(at as u32))
            .map_err(|_| ThrownException::NullPointer)
    }

    /// Returns the instances of a component, in the order of their creation.
    pub fn of_component(&self, component: ComponentId) -> impl DoubleEndedIterator<Item = (InstanceId, &Instance)> {
        self.instances.enumerate().filter(move |(_, i)| i.component == component)
    }

    /// Returns whether a request of the row waits.
    #[must_use]
    pub fn is_asked(&self, instance: InstanceId, row: usize) -> bool {
        !self.instances[instance].rows[row].waiting.is_empty()
    }

    /// Returns the place of a request that waits: the number of its instance, the index of its row there, and its place
    /// among the requests of the row. `None` for one that does not wait.
    #[must_use]
    pub fn waiting_at(&self, id: RequestId) -> Option<[u64; 3]> {
        self.instances.enumerate().find_map(|(instance, of)| {
            let mut rows = of.rows.iter().enumerate();
            let (row, at) = rows.find_map(|(row, state)| Some((row, state.waiting.iter().position(|w| *w == id)?)))?;
            Some([u64::from(instance.0), row as u64, at as u64])
        })
    }

    /// Returns the rows that are under way, by instance and row; those of one row in the order of their firings, which
    /// is that of their messages. The order of the others is that of the queue.
    pub(super) fn firings(&self) -> Vec<Firing> {
        let mut all = self.under_way.clone();
        all.sort_by_key(|firing| (firing.instance, firing.row));
        all
    }

    /// Returns the index of a firing in [`firings`](Self::firings).
    pub(super) fn firing_number(&self, is: impl Fn(&Firing) -> bool) -> u64 {
        self.firings().iter().position(is).map_or(u64::MAX, |at| at as u64)
    }

    /// Returns the approximate size of platform memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        let of_rows = |i: &Instance| {
            size_of_val(&*i.rows) + i.rows.iter().map(|r| r.waiting.len() * size_of::<RequestId>()).sum::<usize>()
        };
        let of_instances: usize = self.instances.iter().map(|i| size_of_val(i) + of_rows(i)).sum();
        size_of::<Self>() + of_instances + size_of_val(&*self.requests) + size_of_val(&*self.under_way)
    }
}

impl Instance {
    /// Returns whether the instance is in one of the stages, or on the way to one.
    #[must_use]
    pub fn is_in(&self, stages: u64) -> bool {
        std::iter::once(self.stage).chain(self.target).any(|stage| stages >> stage & 1 == 1)
    }
}

impl World {
    /// Returns platform memory. `None` if the program has no component.
    #[must_use]
    pub fn platform(&self) -> Option<&Platform> {
        self.platform.as_deref()
    }

    // Returns platform memory for a program with components.
    pub(super) fn known_platform(&self) -> &Platform {
        self.platform.as_deref().expect("only a program with components uses platform memory")
    }

    /// Returns platform memory for a change by a thread, or for a read on which its further steps depend.
    pub(super) fn platform_mut(&mut self) -> &mut Platform {
        let platform = self.platform.as_deref_mut().expect("only a program with components uses platform memory");
        platform.uses += 1;
        platform
    }

    /// Notes that a thread has read platform memory.
    pub fn use_platform(&mut self) {
        self.platform_mut();
    }

    /// Sets a state of the app.
    pub fn set_state(&mut self, state: usize, value: Value) {
        self.platform_mut().states[state] = value;
    }

    /// Sets a state field of an instance.
    pub fn set_field(&mut self, instance: InstanceId, field: usize, value: Value) {
        self.platform_mut().instances[instance].fields[field] = value;
    }

    /// Assigns to the stage of an instance. While a row that changes its stage is under way, the assignment says which
    /// stage the row ends in.
    pub fn set_stage(&mut self, instance: InstanceId, stage: u32) {
        let instance = &mut self.platform_mut().instances[instance];
        match &mut instance.target {
            Some(target) => *target = stage,
            None => instance.stage = stage,
        }
    }

    /// Returns whether another instance of this kind is in one of the stages, or on the way to one.
    #[must_use]
    pub fn some_in(&self, kind: u32, stages: u64, than: InstanceId) -> bool {
        let components = &self.setup.platform.components;
        let all = self.known_platform().instances.enumerate();
        all.filter(|(id, i)| *id != than && components[i.component].kind == kind).any(|(_, i)| i.is_in(stages))
    }

    /// Makes an instance, in the first stage of its kind, with these values of its parameters. Returns its object.
    /// Ends the run and returns null at the limit of objects or cells.
    pub fn make_instance(&mut self, component: ComponentId, params: &[Value], maker: ContextId) -> Value {
        let value = self.allocate(self.setup.platform.components[component].class, maker);
        let Some(object) = Memory::object_of(value) else { return NULL };
        let context = self.instance_context(component, maker);
        let as_args = self.keep_args(&[value]);
        let setup = self.setup.clone();
        let of = &setup.platform.components[component];
        self.platform_mut().instances.add(|i| {
            (i.object, i.component, i.context, i.as_args) = (object, component, context, as_args);
            (i.stage, i.target) = (0, None);
            i.params.clear();
            i.params.extend_from_slice(params);
            i.fields.clear();
            i.fields.extend(of.fields.iter().map(|(value, _)| *value));
            i.rows.resize_with(of.rows.len(), RowState::default);
            for row in &mut i.rows {
                (row.fired, row.in_stage, row.holds) = (0, false, false);
                row.waiting.clear();
            }
        });
        value
    }

    // The context that names an instance. Its creator is the instance whose row makes it, or else the context that
    // makes it. The name of a component with one instance at a time has no creator, since any verb may be the first.
    fn instance_context(&mut self, component: ComponentId, maker: ContextId) -> ContextId {
        let made = CreationKind::Instance(component);
        let of = &self.setup.platform.components[component];
        let is_home = of.maker.is_some_and(|thread| self.threads[thread].home == maker);
        if of.single.is_some() || is_home {
            return self.contexts.root(made);
        }
        let by = self.contexts.instance_of(maker).unwrap_or(maker);
        self.contexts.child(by, made)
    }

    /// Returns the name of an instance: `Player#1`, `Player#1/Player#1`.
    #[must_use]
    pub fn instance_name(&self, instance: InstanceId) -> String {
        self.contexts.name(&self.setup, self.known_platform().instances[instance].context)
    }

    /// Returns the instance with this name, if it exists.
    #[must_use]
    pub fn instance_named(&self, name: &str) -> Option<InstanceId> {
        let is = |i: &Instance| self.contexts.is_named(&self.setup, i.context, name);
        self.platform()?.instances.enumerate().find(|(_, i)| is(i)).map(|(id, _)| id)
    }

    /// Makes an instance of the same component, with the same values of its parameters.
    pub fn make_again(&mut self, instance: InstanceId, maker: ContextId) -> Value {
        let of = &self.known_platform().instances[instance];
        let (component, params) = (of.component, of.params.clone());
        self.make_instance(component, &params, maker)
    }

    /// Returns the object of the instance that the verbs of a component with one instance at a time mean. Makes it if
    /// there is none yet, or if the last one is in a stage after which another one is made, or on the way there.
    pub fn single_instance(&mut self, component: ComponentId, maker: ContextId) -> Value {
        let until = self.setup.platform.components[component].single.unwrap_or(0);
        let platform = self.platform_mut();
        let last = platform.of_component(component).next_back().filter(|(_, i)| !i.is_in(until));
        match last.map(|(_, i)| i.object) {
            Some(object) => i64::from(object.0),
            None => self.make_instance(component, &[], maker),
        }
    }

    /// Adds a request to a row of an instance. `args` are the arguments of the row, the instance first.
    pub fn ask(&mut self, thread: ThreadId, instance: InstanceId, row: EventId, args: &[Value]) -> Value {
        let args = self.keep_args(args);
        let index = self.setup.platform.row(row).map_or(0, |row| row.index);
        let platform = self.platform_mut();
        let request = platform.requests.add(|r| *r = Request { args, ..Request::default() });
        platform.instances[instance].rows[index].waiting.push_back(request);
        let context = self.threads[thread].context;
        self.record(Some(thread), Some(context), None, || EventKind::Lets(Cause::Request(request)));
        i64::from(request.0)
    }

    /// Withdraws a request. Returns false if it has been withdrawn before, and fails with `NullPointer` for null.
    pub fn withdraw(&mut self, request: Value) -> Result<bool, ThrownException> {
        let id = u32::try_from(request).map(RequestId).map_err(|_| ThrownException::NullPointer)?;
        let platform = self.platform_mut();
        let request = &mut platform.requests[id];
        if std::mem::replace(&mut request.withdrawn, true) {
            return Ok(false);
        }
        if request.progress == Progress::Waits {
            request.progress = Progress::Through;
            for instance in 0..platform.instances.len() {
                let rows = &mut platform.instances[InstanceId(instance as u32)].rows;
                rows.iter_mut().for_each(|row| row.waiting.retain(|waits| *waits != id));
            }
        }
        Ok(true)
    }
}
