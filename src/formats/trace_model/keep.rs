//! Decides which operations of a trace the model has.
//!
//! A run of the model is a run of the trace's operations without those that are left out. So an operation may be left
//! out only if no other context can notice it: otherwise an order would be lost or gained.

use super::contexts::{ContextKind, ContextNo, Contexts, MustOrder, Runner};
use super::left_out::LeftOut;
use super::sections::Sections;
use super::statements::{InitialReference, references};
use super::times::Times;
use super::{ModelOptions, NoModel};
use crate::base::IndexVec;
use crate::event::PostTime;
use crate::lang::near;
use crate::trace::{Action, EventNo, LocationNo, OpNo, Task, TaskNo, ThreadNo, Trace};
use std::collections::{BTreeMap, BTreeSet};

/// The operations that a model has, and what realizes the must-order among them.
pub(super) struct Kept<'t> {
    pub(super) trace: &'t Trace,
    pub(super) contexts: Contexts,
    pub(super) must: MustOrder,
    pub(super) alive: IndexVec<OpNo, bool>,
    /// For an access that repeats another one, that one.
    pub(super) same: BTreeMap<OpNo, OpNo>,
    pub(super) sections: Sections,
    /// The edges that the model makes with statements of its own: from an enable to a post, or from the fork of a
    /// thread that does nothing to its join.
    pub(super) needs: BTreeSet<(OpNo, OpNo)>,
    /// For a receive, the numbers of sends that it waits for, by their runner.
    pub(super) awaits: BTreeMap<OpNo, BTreeMap<Runner, u32>>,
    pub(super) left_out: BTreeMap<LeftOut, u64>,
    /// The locations that hold references.
    pub(super) references: BTreeMap<LocationNo, InitialReference>,
    pub(super) times: Times,
    pub(super) all: bool,
    has_idle: IndexVec<ThreadNo, bool>,
}

impl<'t> Kept<'t> {
    pub(super) fn new(trace: &'t Trace, options: &ModelOptions) -> Result<Self, NoModel> {
        let contexts = Contexts::new(trace);
        let must = MustOrder::new(trace, &contexts);
        let sections = Sections::new(trace, &contexts);
        let mut has_idle: IndexVec<ThreadNo, bool> = trace.threads.iter().map(|_| false).collect();
        for task in trace.tasks.iter().filter(|task| matches!(task.time, PostTime::Idle { .. })) {
            has_idle[task.looper] = true;
        }
        let mut kept = Self {
            trace,
            contexts,
            must,
            alive: trace.ops.iter().map(|_| true).collect(),
            same: BTreeMap::new(),
            sections,
            needs: BTreeSet::new(),
            awaits: BTreeMap::new(),
            left_out: BTreeMap::new(),
            references: references(trace),
            times: Times::new(trace),
            all: options.all,
            has_idle,
        };
        kept.without_statements();
        kept.locations(options)?;
        kept.enables();
        while kept.round() {}
        kept.count_fences();
        Ok(kept)
    }

    /// Returns the operations of a context that are left, in their order.
    pub(super) fn ops(&self, context: ContextNo) -> impl DoubleEndedIterator<Item = OpNo> {
        self.contexts.list[context].ops.iter().copied().filter(|op| self.alive[*op])
    }

    pub(super) fn action(&self, op: OpNo) -> Action {
        self.trace.ops[op].action
    }

    fn last_op(&self, context: ContextNo) -> Option<OpNo> {
        self.ops(context).next_back()
    }

    /// Whether the context has operations that are left.
    pub(super) fn has_ops(&self, context: ContextNo) -> bool {
        self.ops(context).next().is_some()
    }

    /// Returns the tasks of a looper that are left.
    pub(super) fn tasks(&self, looper: ThreadNo) -> impl Iterator<Item = TaskNo> {
        self.contexts.of_looper[looper].iter().copied().filter(|task| self.is_left(*task))
    }

    /// Whether the model has the task.
    pub(super) fn is_left(&self, task: TaskNo) -> bool {
        match self.trace.tasks[task].post {
            Some(post) => self.contexts.tasks[task].is_some() && self.alive[post],
            None => self.contexts.tasks[task].is_some_and(|context| self.has_ops(context)),
        }
    }

    /// Returns the operations that join a thread.
    pub(super) fn joins(&self, thread: ThreadNo) -> impl Iterator<Item = OpNo> {
        self.contexts.joins[thread].iter().copied().filter(|op| self.alive[*op])
    }

    pub(super) fn leave_out(&mut self, op: OpNo, why: LeftOut) {
        if std::mem::replace(&mut self.alive[op], false) {
            self.count(why, 1);
        }
    }

    fn count(&mut self, why: LeftOut, n: u64) {
        *self.left_out.entry(why).or_default() += n;
    }

    // Removes the operations for which a model has no statement.
    fn without_statements(&mut self) {
        let trace = self.trace;
        let mut loops: IndexVec<ThreadNo, bool> = trace.threads.iter().map(|_| false).collect();
        for (op, operation) in trace.ops.enumerate() {
            let environment = trace.threads[operation.thread].environment;
            let to_itself = |task: TaskNo| trace.tasks[task].looper == operation.thread;
            match operation.action {
                Action::ThreadInit | Action::ThreadExit | Action::Begin(_) | Action::End(_) => self.alive[op] = false,
                Action::Post(task) if trace.threads[trace.tasks[task].looper].environment => {
                    self.leave_out(op, LeftOut::Environment);
                }
                Action::Post(task) if self.contexts.tasks[task].is_none() => self.leave_out(op, LeftOut::Unbegun),
                Action::Post(task) if trace.tasks[task].time == PostTime::Micro && !to_itself(task) => {
                    self.count(LeftOut::Microtasks, 1);
                }
                Action::Post(_) => {}
                _ if environment => self.leave_out(op, LeftOut::Environment),
                Action::Loop if std::mem::replace(&mut loops[operation.thread], true) => {
                    self.leave_out(op, LeftOut::Loops);
                }
                _ => {}
            }
        }
        for op in self.sections.lone.clone() {
            self.leave_out(op, LeftOut::LoneReleases);
        }
        self.count_if(LeftOut::OpenSections, self.sections.open);
    }

    fn count_if(&mut self, why: LeftOut, n: u64) {
        if n > 0 {
            self.count(why, n);
        }
    }

    // Removes the accesses of locations that are not selected, and of those that cannot have a race.
    fn locations(&mut self, options: &ModelOptions) -> Result<(), NoModel> {
        let trace = self.trace;
        let names = |at: LocationNo| [trace.places[at].name.as_str(), &trace.fields[trace.places[at].field]];
        for wanted in &options.only {
            if !trace.places.ids().any(|at| names(at).contains(&wanted.as_str())) {
                let known = trace.places.ids().flat_map(names);
                let near = near(wanted, known).map(|near| format!("; do you mean `{near}`?"));
                let advice =
                    near.unwrap_or_else(|| "; `raceflip analyze` prints the names of those with races".to_owned());
                return Err(NoModel::Location { wanted: wanted.clone(), advice });
            }
        }
        let is_selected =
            |at| options.only.is_empty() || options.only.iter().any(|only| names(at).contains(&only.as_str()));
        // The first context that accesses each location, whether another one does, and whether it is written.
        let mut seen: IndexVec<LocationNo, (Option<ContextNo>, bool, bool)> =
            trace.places.iter().map(|_| (None, false, false)).collect();
        let accesses = || trace.ops.enumerate().filter_map(|(op, operation)| Some((op, operation.action.access()?)));
        for (op, (at, writes)) in accesses() {
            let (first, shared, written) = &mut seen[at];
            let context = self.contexts.of[op];
            *shared |= *first.get_or_insert(context) != context;
            *written |= writes;
        }
        for (op, (at, _)) in accesses() {
            let (_, shared, written) = seen[at];
            if !is_selected(at) {
                self.leave_out(op, LeftOut::Unselected);
            } else if !(self.all || shared && written) {
                self.leave_out(op, LeftOut::Unshared);
            }
        }
        Ok(())
    }

    // Notes for each post the enables that it comes after: the last one of each event that its task handles. A log
    // names an event that comes again as it did before, and an earlier enable has allowed an earlier post.
    fn enables(&mut self) {
        let trace = self.trace;
        let mut last: IndexVec<EventNo, Option<OpNo>> = (0..trace.events.len()).map(|_| None).collect();
        for (op, operation) in trace.ops.enumerate() {
            match operation.action {
                Action::Enable(event) if self.alive[op] => last[event] = Some(op),
                Action::Post(task) if self.alive[op] => {
                    let enables = trace.tasks[task].events.iter().filter_map(|event| last[*event]);
                    enables.for_each(|enable| self.need(enable, self.behind(enable, op)));
                }
                _ => {}
            }
        }
        // The redundant ones are known only when all are there.
        let needs: Vec<_> = self.needs.iter().copied().collect();
        needs.into_iter().for_each(|(from, to)| self.drop_redundant(from, to));
    }

    // Returns the operation that comes after the enable: the post, or the begin of a section that makes the post.
    // Tasks of one looper do not interleave, so that a section behind the enable of another task is behind it from its
    // begin on. A wait in the middle of the section would keep its looper from the task that ends the wait.
    fn behind(&self, enable: OpNo, post: OpNo) -> OpNo {
        let (from, to) = (self.contexts.of[enable], self.contexts.of[post]);
        match self.task_of(to).map(|task| &self.trace.tasks[task]) {
            Some(Task { post: None, begin: Some(begin), .. })
                if from != to
                    && self.task_of(from).is_some()
                    && self.contexts.runner(from) == self.contexts.runner(to) =>
            {
                *begin
            }
            _ => post,
        }
    }

    // Whether the model has the later operation of an edge.
    fn has_target(&self, to: OpNo) -> bool {
        match self.action(to) {
            Action::Begin(task) => self.is_left(task),
            _ => self.alive[to],
        }
    }

    fn need(&mut self, from: OpNo, to: OpNo) {
        self.needs.insert((from, to));
        self.must.add(&self.contexts, from, to);
    }

    // Removes an edge that follows from the other edges.
    fn drop_redundant(&mut self, from: OpNo, to: OpNo) {
        self.must.remove(&self.contexts, from, to);
        if self.must.is_before(&self.contexts, from, to) {
            self.needs.remove(&(from, to));
        } else {
            self.must.add(&self.contexts, from, to);
        }
    }

    // Looks once for what can be left out now. Returns whether anything was.
    fn round(&mut self) -> bool {
        let before = self.alive.iter().filter(|alive| **alive).count();
        self.signals();
        if !self.all {
            self.locks();
            self.accesses();
        }
        self.bodies();
        self.enables_without_use();
        before != self.alive.iter().filter(|alive| **alive).count()
    }

    // An enable has a statement only where something waits for it.
    fn enables_without_use(&mut self) {
        let trace = self.trace;
        let dead: Vec<_> = self.needs.iter().copied().filter(|(_, to)| !self.has_target(*to)).collect();
        for need in dead {
            self.needs.remove(&need);
        }
        let used: BTreeSet<OpNo> = self.needs.iter().map(|(from, _)| *from).collect();
        for (op, operation) in trace.ops.enumerate() {
            if matches!(operation.action, Action::Enable(_)) && !used.contains(&op) {
                self.alive[op] = false;
            }
        }
    }

    // Removes locks that never make a thread wait, and sections that are empty now.
    fn locks(&mut self) {
        let mut runners: BTreeMap<_, BTreeSet<Runner>> = BTreeMap::new();
        let sections: Vec<_> = self.sections.all().filter(|section| self.alive[section.acquire]).collect();
        for section in &sections {
            runners.entry(section.lock).or_default().insert(self.contexts.runner(section.context));
        }
        for section in sections {
            let is_empty = || {
                let next = self.ops(section.context).find(|op| *op > section.acquire);
                next == section.release
            };
            let why = match () {
                () if runners[&section.lock].len() < 2 => LeftOut::LocksOfOneThread,
                () if is_empty() => LeftOut::EmptySections,
                () => continue,
            };
            self.leave_out(section.acquire, why);
            section.release.into_iter().for_each(|release| self.leave_out(release, why));
        }
    }

    // Removes an access right behind one of the same location in the same context that conflicts with as much.
    fn accesses(&mut self) {
        let trace = self.trace;
        for context in self.contexts.list.ids() {
            let mut reads: BTreeMap<LocationNo, OpNo> = BTreeMap::new();
            let mut writes: BTreeMap<LocationNo, OpNo> = BTreeMap::new();
            for op in self.ops(context).collect::<Vec<_>>() {
                match trace.ops[op].action {
                    // Each access of a reference may fail or decide something by itself.
                    Action::Read(at) | Action::Write(at) if self.references.contains_key(&at) => {}
                    Action::Read(at) | Action::Write(at) if writes.contains_key(&at) => self.repeats(op, writes[&at]),
                    Action::Read(at) if reads.contains_key(&at) => self.repeats(op, reads[&at]),
                    Action::Read(at) => drop(reads.insert(at, op)),
                    Action::Write(at) => drop(writes.insert(at, op)),
                    _ => {
                        reads.clear();
                        writes.clear();
                    }
                }
            }
        }
    }

    fn repeats(&mut self, op: OpNo, other: OpNo) {
        self.leave_out(op, LeftOut::Repeated);
        self.same.insert(op, other);
    }

    // Removes tasks and threads that no other context can notice.
    fn bodies(&mut self) {
        let trace = self.trace;
        // A task is behind the task that posts it, so that this order finds whole chains.
        let all = self.all;
        for (task, about) in trace.tasks.enumerate().rev().filter(|_| !all) {
            let (Some(context), Some(post)) = (self.contexts.tasks[task], about.post) else { continue };
            // An idle handler runs when its looper has just run a message, so there every message has an effect.
            if self.alive[post] && !self.has_idle[about.looper] && !self.has_ops(context) {
                self.leave_out(post, LeftOut::Tasks);
            }
        }
        trace.threads.ids().for_each(|thread| self.thread(thread));
    }

    fn thread(&mut self, thread: ThreadNo) {
        let trace = self.trace;
        let joins: Vec<OpNo> = self.joins(thread).collect();
        let home = self.contexts.home[thread];
        let runs_tasks = self.contexts.is_looper[thread] && self.tasks(thread).next().is_some();
        if !runs_tasks {
            let queue = |op: &OpNo| matches!(self.action(*op), Action::AttachQueue | Action::Loop | Action::Leave);
            let queue: Vec<OpNo> = self.ops(home).filter(queue).collect();
            queue.into_iter().for_each(|op| self.alive[op] = false);
        } else if joins.is_empty() && self.last_op(home).is_some_and(|op| self.action(op) == Action::Leave) {
            // Nothing comes after the loop, so that its end has no effect.
            let leave = self.last_op(home);
            leave.into_iter().for_each(|op| self.alive[op] = false);
        }
        let sections = self.contexts.of_looper[thread].iter().filter_map(|task| self.contexts.tasks[*task]);
        let is_section = |context: &ContextNo| matches!(self.contexts.runner(*context), Runner::Section(_));
        let mut ends: Vec<ContextNo> = sections.filter(is_section).collect();
        if !runs_tasks && joins.is_empty() {
            ends.push(home);
        }
        // A wait at the end of a thread has no effect.
        let all = self.all;
        for context in ends.into_iter().filter(|_| !all) {
            while let Some(op) = self.last_op(context)
                && matches!(trace.ops[op].action, Action::Receive(_) | Action::Join(_))
            {
                self.leave_out(op, LeftOut::Signals);
            }
        }
        if runs_tasks || self.has_ops(home) {
            return;
        }
        // The thread does nothing. A join of it still comes after its fork.
        for join in &joins {
            self.alive[*join] = false;
            if let Some(fork) = self.contexts.forks[thread].filter(|fork| *fork < *join) {
                self.need(fork, *join);
                self.drop_redundant(fork, *join);
                // The join is where the model waits for the fork.
                self.alive[*join] = self.needs.contains(&(fork, *join));
            }
        }
        let is_used = |fork: OpNo| self.needs.range((fork, OpNo(0))..=(fork, OpNo(u32::MAX))).next().is_some();
        if let Some(fork) = self.contexts.forks[thread].filter(|fork| self.alive[*fork] && !is_used(*fork)) {
            self.leave_out(fork, LeftOut::Threads);
        }
    }

    fn count_fences(&mut self) {
        let mut asynchronous = BTreeSet::new();
        let mut others = BTreeSet::new();
        for (_, about) in self.trace.tasks.enumerate().filter(|(task, _)| self.is_left(*task)) {
            if about.is_async { &mut asynchronous } else { &mut others }.insert(about.looper);
        }
        let n = asynchronous.intersection(&others).count() as u64;
        self.count_if(LeftOut::Fences, n);
        let fronts = self.times.overtaking.iter().filter(|task| self.is_left(**task)).count() as u64;
        self.count_if(LeftOut::Fronts, fronts);
    }
}

impl Kept<'_> {
    /// Returns the task that a context is.
    pub(super) fn task_of(&self, context: ContextNo) -> Option<TaskNo> {
        match self.contexts.list[context].kind {
            ContextKind::Task(task) => Some(task),
            ContextKind::Home(_) => None,
        }
    }
}
