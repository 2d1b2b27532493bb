//! The common base of both kinds of detection (races and order pairs): the relations, the lock sets, and the
//! properties of an operation that they need.

use super::candidate::{ConflictPlace, ContextKind, FirstOccurrence, Instance, Rank};
use crate::detect::relation::awaits::{Awaits, ConditionChange};
use crate::detect::relation::clock::{ChainId, Point};
use crate::detect::relation::contexts::{ContextClock, RelationEdges};
use crate::detect::relation::held::{HeldLocksets, LocksetId};
use crate::detect::relation::order::EventOrder;
use crate::detect::relation::signals::{EventChannels, Signals};
use crate::event::{ContextId, Event, EventKind, Op, SiteId, ThreadId};
use crate::world::World;
use std::collections::BTreeMap;

/// State of a run as far as its events determine it.
pub(in crate::detect) struct RunState {
    hybrid: EventOrder,
    // The precise relation and the queued relation, if ranks are wanted.
    finer: Option<(EventOrder, EventOrder)>,
    pub(in crate::detect) held: HeldLocksets,
    awaits: Awaits,
    // The signals, if ranks are wanted, and those of the latest event.
    signals: Option<Signals>,
    passed: EventChannels,
    // Points of the event's context before the event. An operation that sends begins a new epoch and belongs to the
    // one before.
    before: Option<Points>,
    // Number of executions by running context and site.
    visits: BTreeMap<ContextId, BTreeMap<SiteId, u32>>,
}

/// An operation with a site.
#[derive(Clone, Copy)]
pub(in crate::detect) struct Act {
    pub(in crate::detect) thread: ThreadId,
    /// Whether the operation was refused: it threw and changed nothing.
    pub(in crate::detect) refused: bool,
    pub(in crate::detect) by: OperationKey,
    pub(in crate::detect) when: ExecutionTime,
}

/// The properties of an operation that decide whether it can make a pair with another one, besides its kind and its
/// order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::detect) struct OperationKey {
    pub(in crate::detect) site: SiteId,
    /// Looper of the task; `None` for a thread's own code, whose thread does not matter: it is ordered with
    /// everything else on its thread. `None` for a task of a pool as well, which is like a thread of its own.
    pub(in crate::detect) looper: Option<ThreadId>,
    pub(in crate::detect) lockset: LocksetId,
}

impl OperationKey {
    /// Whether both operations belong to tasks of one looper, which never run at once.
    pub(in crate::detect) fn is_same_looper(&self, other: &OperationKey) -> bool {
        self.kind(other) == ContextKind::SameLooper
    }

    pub(in crate::detect) fn kind(&self, other: &OperationKey) -> ContextKind {
        match (self.looper, other.looper) {
            (None, None) => ContextKind::ThreadThread,
            (Some(a), Some(b)) if a == b => ContextKind::SameLooper,
            (Some(_), Some(_)) => ContextKind::TaskTask,
            _ => ContextKind::ThreadTask,
        }
    }
}

/// One execution of a statement.
#[derive(Clone, Copy)]
pub(in crate::detect) struct ExecutionTime {
    pub(in crate::detect) at: Points,
    pub(in crate::detect) context: ContextId,
    pub(in crate::detect) step: u64,
    pub(in crate::detect) visit: u32,
}

/// Points of an execution in each relation.
#[derive(Clone, Copy)]
pub(in crate::detect) struct Points {
    hybrid: Point,
    finer: Option<(Point, Point)>,
}

impl Points {
    /// Chain of the execution in the hybrid relation.
    pub(in crate::detect) fn chain(&self) -> ChainId {
        self.hybrid.chain
    }

    /// Point of the execution in the hybrid relation.
    pub(in crate::detect) fn hybrid(&self) -> Point {
        self.hybrid
    }

    /// Whether the execution is before the next operation of this context in the hybrid relation.
    pub(in crate::detect) fn is_before(&self, now: &ContextClock) -> bool {
        now.has(self.hybrid)
    }
}

impl RunState {
    /// Returns the state at the start of a run. `ranks`: whether the relations for ranks are computed.
    pub(in crate::detect) fn new(ranks: bool) -> Self {
        Self {
            hybrid: EventOrder::new(RelationEdges::Hybrid),
            finer: ranks.then(|| (EventOrder::new(RelationEdges::Precise), EventOrder::new(RelationEdges::Queued))),
            held: HeldLocksets::new(),
            awaits: Awaits::default(),
            signals: ranks.then(Signals::new),
            passed: EventChannels::default(),
            before: None,
            visits: BTreeMap::new(),
        }
    }

    /// Processes the next event, except for its effect on lock sets ([`close`](Self::close)). Returns the awaits that
    /// it has turned.
    pub(in crate::detect) fn observe(&mut self, world: &World, event: &Event) -> Vec<ConditionChange> {
        let changes = self.awaits.observe(world, event);
        self.before = event.context.and_then(|context| self.points(context));
        if let Some(signals) = &mut self.signals {
            self.passed = signals.pass(world, event, &changes);
        }
        self.hybrid.observe(world, event, &self.passed);
        if let Some((precise, queued)) = &mut self.finer {
            precise.observe(world, event, &self.passed);
            queued.observe(world, event, &self.passed);
        }
        changes
    }

    /// Returns the channels on which the latest event receives and sends; none if no ranks are wanted.
    pub(in crate::detect) fn passed(&self) -> &EventChannels {
        &self.passed
    }

    /// Applies the effect of an event on lock sets.
    pub(in crate::detect) fn close(&mut self, world: &World, event: &Event) {
        if let Some(thread) = event.thread {
            self.held.observe(world, thread, &event.what);
        }
    }

    /// Returns the operation of an event, its value, and its properties; `None` if the event is no operation with a
    /// site.
    pub(in crate::detect) fn act<'e>(&mut self, world: &World, event: &'e Event) -> Option<(&'e Op, i64, Act)> {
        let (thread, context) = event.thread.zip(event.context)?;
        if matches!(event.what, EventKind::End | EventKind::ThreadExit) {
            self.visits.remove(&context);
        }
        let EventKind::Performed { op, value, refused, .. } = &event.what else { return None };
        let site = event.site?;
        let visits = self.visits.entry(context).or_default().entry(site).or_default();
        if !op.is_second_half() {
            *visits += 1;
        }
        let visit = *visits;
        let looper = Self::looper(world, thread, context);
        let by = OperationKey { site, looper, lockset: self.held.lockset(thread) };
        let at = self.before.or_else(|| self.points(context))?;
        let when = ExecutionTime { at, context, step: event.step, visit };
        Some((op, *value, Act { thread, refused: *refused, by, when }))
    }

    /// Returns the looper of a task, as in [`OperationKey::looper`].
    pub(in crate::detect) fn looper(world: &World, thread: ThreadId, context: ContextId) -> Option<ThreadId> {
        (world.thread(thread).home != context && !world.shares_queue(thread)).then_some(thread)
    }

    fn points(&self, context: ContextId) -> Option<Points> {
        let point = |order: &EventOrder| order.context(context).map(|c| c.at());
        let finer = match &self.finer {
            Some((precise, queued)) => Some((point(precise)?, point(queued)?)),
            None => None,
        };
        Some(Points { hybrid: point(&self.hybrid)?, finer })
    }

    /// Returns a running context in the hybrid relation.
    pub(in crate::detect) fn now(&self, context: ContextId) -> Option<&ContextClock> {
        self.hybrid.context(context)
    }

    /// Returns the rank of two conflicting accesses that the hybrid relation does not order.
    pub(in crate::detect) fn rank(&self, old: &ExecutionTime, now: ContextId) -> Rank {
        let (Some((precise, queued)), Some((in_precise, in_queued))) = (&self.finer, old.at.finer) else {
            return Rank::Unordered;
        };
        let has = |order: &EventOrder, point| order.context(now).is_some_and(|now| now.has(point));
        Rank::of_race(has(precise, in_precise), || has(queued, in_queued))
    }

    /// Whether a lock keeps the two operations apart. Locks never order tasks of one looper.
    pub(in crate::detect) fn guarded(&self, a: &OperationKey, b: &OperationKey) -> bool {
        a.kind(b) != ContextKind::SameLooper && self.held.exclude(a.lockset, b.lockset)
    }

    /// Returns the evidence of two conflicting executions; `old` is the earlier one.
    fn evidence(
        &self,
        world: &World,
        (place, location): (ConflictPlace, String),
        (old, new): ((&OperationKey, &ExecutionTime), (&OperationKey, &ExecutionTime)),
    ) -> FirstOccurrence {
        let ((a, a_when), (b, b_when)) = if old.0.site <= new.0.site { (old, new) } else { (new, old) };
        let name = |context| world.contexts().name(world.setup(), context);
        let instance = |by: &OperationKey, when: &ExecutionTime| Instance {
            site: by.site,
            context: name(when.context),
            visit: when.visit,
        };
        let instances = (instance(a, a_when), instance(b, b_when));
        FirstOccurrence {
            run: 0,
            place: Some(place),
            location,
            steps: (a_when.step, b_when.step),
            contexts: (instances.0.context.clone(), instances.1.context.clone()),
            instances,
            parted: parted(world, a_when.context, b_when.context).map_or_else(String::new, name),
            locksets: (self.held.names(world, a.lockset), self.held.names(world, b.lockset)),
        }
    }
}

// Returns the nearest common ancestor of two contexts, which may be one of them.
fn parted(world: &World, a: ContextId, b: ContextId) -> Option<ContextId> {
    let line = |from| std::iter::successors(Some(from), |at| world.contexts().parent(*at));
    // A creator has a smaller id than the contexts that it creates.
    let (mut a, mut b) = (line(a).peekable(), line(b).peekable());
    loop {
        match (*a.peek()?, *b.peek()?) {
            (x, y) if x == y => return Some(x),
            (x, y) if x > y => a.next(),
            _ => b.next(),
        };
    }
}

impl Act {
    /// Returns the evidence of this operation and an earlier one that conflicts with it.
    pub(in crate::detect) fn evidence(
        &self,
        watch: &RunState,
        world: &World,
        place: (ConflictPlace, String),
        (old, was): (&OperationKey, &ExecutionTime),
    ) -> FirstOccurrence {
        watch.evidence(world, place, ((old, was), (&self.by, &self.when)))
    }
}
