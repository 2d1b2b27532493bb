//! Rows of components: which rows are open for which instances, their firings, and their ends.
//!
//! A row is *under way* from its firing to the end of its message. A row is open for an instance if
//!
//! - the stage of the instance is one of its stages, and no row that changes the stage is under way;
//! - its condition holds;
//! - it has been fired fewer times than it may be;
//! - a row that neither changes the stage nor serves requests is not under way itself;
//! - a row that serves requests has one that waits.

use super::contexts::CreationKind;
use super::platform::{Firing, Progress};
use super::queue::{MessageKind, TaskMessage};
use super::{EventSetup, RowSetup, World};
use crate::base::mutant::{self, Mutant};
use crate::event::{Cause, ContextId, EventId, EventKind, InstanceId, ObjectId, PostOptions, Target, ThreadId};

impl World {
    /// Decides again which rows are open for which instances. `holds` evaluates the condition of a row for an instance,
    /// which it gets as an object. `by` is the thread and context of the change; the environment has only a context.
    pub fn settle_rows(
        &mut self,
        by: (Option<ThreadId>, ContextId),
        mut holds: impl FnMut(&World, EventId, ObjectId) -> bool,
    ) {
        let setup = self.setup.clone();
        self.known_platform_mut().open.iter_mut().for_each(Vec::clear);
        for id in self.known_platform().instances.ids() {
            let component = self.known_platform().instances[id].component;
            for (index, event) in setup.platform.components[component].rows.iter().copied().enumerate() {
                let Some(row) = setup.platform.row(event) else { continue };
                self.settle_row((id, event, index), row, by, &mut holds);
            }
        }
        for (event, row) in setup.platform.rows.enumerate() {
            if row.is_some() {
                let is_open = !self.known_platform().open[event].is_empty();
                self.fireable.set(event, is_open);
            }
        }
    }

    fn settle_row(
        &mut self,
        (id, event, index): (InstanceId, EventId, usize),
        row: &RowSetup,
        (thread, context): (Option<ThreadId>, ContextId),
        holds: &mut impl FnMut(&World, EventId, ObjectId) -> bool,
    ) {
        let instance = &self.known_platform().instances[id];
        let changes = instance.target.is_some() && !mutant::is(Mutant::UnderWayForgotten);
        let in_stage = row.from >> instance.stage & 1 == 1 && !changes;
        let holds = !row.has_condition || holds(self, event, instance.object);
        let state = &mut self.known_platform_mut().instances[id].rows[index];
        let came_in = in_stage && !std::mem::replace(&mut state.in_stage, in_stage);
        let came_true = holds && !std::mem::replace(&mut state.holds, holds);
        if came_in {
            self.record(thread, Some(context), None, || EventKind::Lets(Cause::Stage(event, id)));
        }
        if came_true && row.has_condition {
            self.record(thread, Some(context), None, || EventKind::Lets(Cause::Condition(event, id)));
        }
        if in_stage && holds && self.is_due(id, event, row) {
            self.known_platform_mut().open[event].push(id);
        }
    }

    // Whether a row whose stage and condition let it be fired may be fired once more now.
    fn is_due(&self, id: InstanceId, event: EventId, row: &RowSetup) -> bool {
        let platform = self.known_platform();
        let state = &platform.instances[id].rows[row.index];
        let left = row.at_most.is_none_or(|most| state.fired < most);
        let is_under_way = || platform.under_way.iter().any(|f| f.row == event && f.instance == id);
        let missed = mutant::is(Mutant::OpenRowMissed) && !row.by_request && row.to.is_none();
        left && !missed && if row.by_request { !state.waiting.is_empty() } else { row.to.is_some() || !is_under_way() }
    }

    pub(super) fn known_platform_mut(&mut self) -> &mut super::Platform {
        self.platform.as_deref_mut().expect("only a program with components has rows")
    }

    /// Returns the instances for which a row is open, in the order of their creation. Empty for an event that threads
    /// enable.
    #[inline]
    #[must_use]
    pub fn open_for(&self, event: EventId) -> &[InstanceId] {
        match &self.platform {
            Some(platform) => &platform.open[event],
            None => &[],
        }
    }

    /// Returns whether an event is a row of a component.
    #[inline]
    #[must_use]
    pub fn is_row(&self, event: EventId) -> bool {
        self.setup.platform.row(event).is_some()
    }

    /// Fires an open row for an instance: posts its body.
    pub(super) fn fire_row(&mut self, event: EventId, id: InstanceId) {
        let setup = self.setup.clone();
        let (Some(row), EventSetup { body, looper, .. }) = (setup.platform.row(event), &setup.events[event]) else {
            debug_assert!(false, "only a row is fired for an instance");
            return;
        };
        let platform = self.known_platform_mut();
        let instance = &mut platform.instances[id];
        let (of, as_args) = (instance.context, instance.as_args);
        let state = &mut instance.rows[row.index];
        state.fired += 1;
        let request = if row.by_request {
            if mutant::is(Mutant::RequestsOutOfOrder) { state.waiting.pop_back() } else { state.waiting.pop_front() }
        } else {
            None
        };
        if row.to.is_some() {
            instance.target = row.to;
        }
        let args = request.map_or(as_args, |request| platform.requests[request].args);
        if let Some(request) = request {
            platform.requests[request].progress = Progress::Fired;
        }
        let context = self.contexts.child(of, CreationKind::Event(event));
        self.known_platform_mut().under_way.push(Firing { context, row: event, instance: id, request });
        self.record(None, None, None, || EventKind::Fire(event, context));
        let (body, looper) = (*body, *looper);
        let target = Target::Thread(looper);
        let message = TaskMessage {
            body,
            args,
            context,
            target,
            is_async: false,
            options: PostOptions::default(),
            first: context,
            instance: None,
            job: None,
        };
        let when = self.now;
        self.enqueue(looper, when, MessageKind::Task(message));
    }

    fn firing(&self, context: ContextId) -> Option<&Firing> {
        self.platform.as_ref()?.under_way.iter().find(|firing| firing.context == context)
    }

    /// Returns what has let the environment fire the row whose message has this context, while the row is under way:
    /// what [`EventKind::Lets`] said before.
    pub fn causes(&self, context: ContextId) -> impl Iterator<Item = Cause> + use<> {
        let firing = self.firing(context).copied();
        let condition = firing.filter(|f| self.setup.platform.row(f.row).is_some_and(|row| row.has_condition));
        let stage = firing.map(|f| Cause::Stage(f.row, f.instance));
        let condition = condition.map(|f| Cause::Condition(f.row, f.instance));
        let request = firing.and_then(|f| f.request).map(Cause::Request);
        stage.into_iter().chain(condition).chain(request)
    }

    /// Returns the instance of a row that is under way, by the context of its message.
    #[must_use]
    pub fn instance_of_firing(&self, context: ContextId) -> Option<InstanceId> {
        self.firing(context).map(|firing| firing.instance)
    }

    /// Returns the name and the stage of the instance for which the message of a context was or is a row: `Player#1 is
    /// paused`, `Player#1 goes from front to paused`.
    #[must_use]
    pub fn stage_text(&self, context: ContextId) -> Option<String> {
        let named = self.contexts.instance_of(context)?;
        let platform = self.platform()?;
        let (id, of) = platform.instances.enumerate().find(|(_, i)| i.context == named)?;
        let stages = &self.setup.platform.components[of.component].stages;
        let (name, stage) = (self.instance_name(id), &stages[of.stage as usize]);
        Some(match of.target {
            Some(to) => format!("{name} goes from {stage} to {}", stages[to as usize]),
            None => format!("{name} is {stage}"),
        })
    }

    /// Returns the name of a row of an instance: `Player#1.hide`.
    #[must_use]
    pub fn row_name(&self, row: EventId, instance: InstanceId) -> String {
        let own = self.setup.platform.row(row).map_or("", |row| row.name.as_str());
        format!("{}.{own}", self.instance_name(instance))
    }

    /// Returns the name of an event: with an instance, that of a row of it.
    #[must_use]
    pub fn event_name(&self, event: EventId, instance: Option<InstanceId>) -> String {
        match instance {
            Some(instance) => self.row_name(event, instance),
            None => self.setup.events[event].name.clone(),
        }
    }

    /// Returns the row and the instance with this [`row_name`](Self::row_name), if the instance exists.
    #[must_use]
    pub fn row_named(&self, name: &str) -> Option<(EventId, InstanceId)> {
        let (of, own) = name.rsplit_once('.')?;
        let instance = self.instance_named(of)?;
        let component = self.known_platform().instances[instance].component;
        let setup = &self.setup.platform;
        let is = |event: &&EventId| setup.row(**event).is_some_and(|row| row.name == own);
        setup.components[component].rows.iter().find(is).map(|event| (*event, instance))
    }

    /// Returns the name of a cause in traces: `Player#1.hide by stage`, `request 3`.
    #[must_use]
    pub fn cause_name(&self, cause: Cause) -> String {
        match cause {
            Cause::Stage(row, instance) => format!("{} by stage", self.row_name(row, instance)),
            Cause::Condition(row, instance) => format!("{} by condition", self.row_name(row, instance)),
            Cause::Request(request) => format!("request {}", request.0),
        }
    }

    /// Begins the message of a row in this context. Returns false if its request has been withdrawn: then the message
    /// does nothing.
    pub fn begin_row(&mut self, context: ContextId) -> bool {
        let request = self.firing(context).and_then(|firing| firing.request);
        let platform = self.platform_mut();
        let Some(request) = request.map(|id| &mut platform.requests[id]) else { return true };
        request.progress = Progress::Through;
        !request.withdrawn
    }

    /// Returns the context of the message of the row that was fired last, if it is under way.
    #[must_use]
    pub fn last_firing(&self) -> Option<ContextId> {
        self.platform()?.under_way.last().map(|firing| firing.context)
    }

    /// Ends the message of a row in this context. A row that changes the stage does so now, unless its request was
    /// withdrawn before the message began (`done` is false). Returns false if the context is no message of a row.
    pub fn end_row(&mut self, context: ContextId, done: bool) -> bool {
        let is = |firing: &Firing| firing.context == context;
        let Some(at) = self.platform().and_then(|p| p.under_way.iter().position(is)) else { return false };
        let platform = self.platform_mut();
        let Firing { row, instance, .. } = platform.under_way.remove(at);
        if self.setup.platform.row(row).is_some_and(|row| row.to.is_some()) {
            let instance = &mut self.platform_mut().instances[instance];
            if let Some(target) = instance.target.take().filter(|_| done) {
                instance.stage = target;
            }
        }
        true
    }
}
