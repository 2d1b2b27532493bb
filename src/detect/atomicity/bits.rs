//! Finds the transactions that are violated, in passes over the steps, without vector clocks.
//!
//! A slot (bit) stands for each transaction that something can learn of at the moment ([`Lifetimes`]). The last step of
//! a context, the last write of a location, its reads since then, a message, an event, a channel or a lock carries two
//! sets of slots: `own` has the transactions that its steps belong to, and `after` those that a path has left that
//! leads to it. A step joins the sets of everything from which an edge leads to it. If it belongs to A and `after` has
//! A, a path comes back here.
//!
//! **Passes.** A unit (a task that A cannot interrupt: none of its steps belongs to A) that learns of A late must have
//! known it from its begin. So what each unit knows is kept, and the steps are gone through again until no unit learns
//! anything that its earlier steps did not know. Sets only grow, so passes end. For joint blame each declared
//! transaction is a unit as well.
//!
//! **Slots are used again.** A slot has the step at which it was last given back, and a set the step at which it was
//! last joined: bits of slots that were given back since then are dropped when the set is read.

use super::EdgeRules;
use super::lifetime::{Lifetimes, changes};
use super::sets::{Carried, GivenBack, Slots, Table, has, insert, join, remove};
use super::spec::{TransactionNo, Transactions};
use super::steps::{ContextNo, StepKind, StepNo, Steps};
use crate::base::mutant::{self, Mutant};
use crate::base::{Id, IndexVec};
use crate::trace::{EventNo, TaskNo, ThreadNo};
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of words of a set in one analysis. Transactions with more slots take several analyses.
const MOST_WORDS: usize = 16;

/// Number of steps between two checks of the stop flag.
const ROUND: u32 = 4096;

/// The steps at which a path comes back to their transaction, ascending.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Hits {
    pub(super) steps: Vec<(StepNo, TransactionNo)>,
    pub(super) passes: u32,
}

/// Finds the steps at which a path comes back. With `joint`, each declared transaction counts as one node. `None` if
/// `stop` was set.
pub(super) fn hits(
    steps: &Steps<'_>,
    transactions: &Transactions,
    edges: EdgeRules,
    joint: bool,
    stop: &AtomicBool,
) -> Option<Hits> {
    let (lifetimes, in_tasks) = (Lifetimes::of(steps, transactions, joint), in_tasks(steps, transactions));
    let analysis = Analysis { steps, transactions, lifetimes, in_tasks, edges, joint };
    let changes = changes(&analysis.lifetimes);
    let mut all = Hits::default();
    let slots = analysis.lifetimes.slots as usize;
    let width = 64 * MOST_WORDS;
    for first in (0..slots).step_by(width) {
        let more = match (slots - first).min(width).div_ceil(64) {
            1 => analysis.passes::<1>(first, &changes, stop)?,
            2 => analysis.passes::<2>(first, &changes, stop)?,
            3 | 4 => analysis.passes::<4>(first, &changes, stop)?,
            5..=8 => analysis.passes::<8>(first, &changes, stop)?,
            _ => analysis.passes::<MOST_WORDS>(first, &changes, stop)?,
        };
        all.passes = all.passes.max(more.passes);
        all.steps.extend(more.steps);
    }
    all.steps.sort_unstable();
    Some(all)
}

// The begin or the end of a lifetime.
type LifetimeChange = (StepNo, bool, TransactionNo);

struct Analysis<'a> {
    steps: &'a Steps<'a>,
    transactions: &'a Transactions,
    lifetimes: Lifetimes,
    in_tasks: Vec<(TaskNo, TransactionNo)>,
    edges: EdgeRules,
    joint: bool,
}

// The transactions that have a step in each task, ascending.
fn in_tasks(steps: &Steps<'_>, transactions: &Transactions) -> Vec<(TaskNo, TransactionNo)> {
    let mut all: Vec<(TaskNo, TransactionNo)> = Vec::new();
    let mut last: IndexVec<ThreadNo, Option<(TaskNo, TransactionNo)>> =
        steps.trace.threads.iter().map(|_| None).collect();
    for (at, step) in steps.all.enumerate() {
        let task = if step.context == ContextNo::NONE { None } else { steps.task_of(step.context) };
        if let Some(found) = task.zip(transactions.of_step(at)) {
            let before = &mut last[steps.trace.tasks[found.0].looper];
            if *before != Some(found) {
                *before = Some(found);
                all.push(found);
            }
        }
    }
    all.sort_unstable_by_key(|(task, transaction)| (task.index(), transaction.index()));
    all.dedup();
    all
}

impl Analysis<'_> {
    // Goes through the steps for the slots from the first one on, until nothing changes.
    fn passes<const W: usize>(&self, first: usize, changes: &[LifetimeChange], stop: &AtomicBool) -> Option<Hits> {
        let mut pass = Pass::<W>::new(self, first as u32);
        let mut passes = 0;
        loop {
            pass.run(changes, stop)?;
            passes += 1;
            if !pass.changed || mutant::is(Mutant::OnePassOfMates) {
                return Some(Hits { steps: pass.hits, passes });
            }
        }
    }
}

struct Pass<'a, const W: usize> {
    of: &'a Analysis<'a>,
    first_slot: u32,
    slots: GivenBack,
    begun: Vec<bool>,
    contexts: Table<W>,
    writes: Table<W>,
    reads: Table<W>,
    forks: Table<W>,
    posts: Table<W>,
    events: Table<W>,
    channels: Table<W>,
    locks: Table<W>,
    // The slots of transactions that have a task on each looper, and of those that have a step in the running task.
    on_looper: Vec<Slots<W>>,
    inside: Vec<Slots<W>>,
    // What each unit knows, kept over passes: the row of each task and each transaction. Row 0 is empty and stands for
    // no row.
    known_of_task: IndexVec<TaskNo, u32>,
    known_of_transaction: IndexVec<TransactionNo, u32>,
    known: Vec<Slots<W>>,
    // What flows into the current step.
    incoming: Carried<W>,
    hits: Vec<(StepNo, TransactionNo)>,
    changed: bool,
}

impl<'a, const W: usize> Pass<'a, W> {
    fn new(of: &'a Analysis<'a>, first_slot: u32) -> Self {
        let (steps, trace) = (of.steps, of.steps.trace);
        Self {
            of,
            first_slot,
            slots: GivenBack::new(64 * W),
            begun: vec![false; steps.contexts()],
            contexts: Table::new(steps.contexts()),
            writes: Table::new(steps.locations()),
            reads: Table::new(steps.locations()),
            forks: Table::new(trace.threads.len()),
            posts: Table::new(trace.tasks.len()),
            events: Table::new(trace.events.len()),
            channels: Table::new(trace.channels as usize),
            locks: Table::new(trace.locks.len()),
            on_looper: vec![[0; W]; trace.threads.len()],
            inside: vec![[0; W]; trace.threads.len()],
            known_of_task: trace.tasks.iter().map(|_| 0).collect(),
            known_of_transaction: of.transactions.all.iter().map(|_| 0).collect(),
            known: vec![[0; W]],
            incoming: Carried::EMPTY,
            hits: Vec::new(),
            changed: false,
        }
    }

    // Goes through all steps once. `None` if it was stopped.
    fn run(&mut self, changes: &[LifetimeChange], stop: &AtomicBool) -> Option<()> {
        for table in [
            &mut self.contexts,
            &mut self.writes,
            &mut self.reads,
            &mut self.forks,
            &mut self.posts,
            &mut self.events,
            &mut self.channels,
            &mut self.locks,
        ] {
            table.clear();
        }
        self.begun.fill(false);
        self.slots.clear();
        self.on_looper.fill([0; W]);
        self.inside.fill([0; W]);
        self.hits.clear();
        self.changed = false;
        let mut changes = changes.iter().peekable();
        for at in self.of.steps.all.ids() {
            if at.0.is_multiple_of(ROUND) && stop.load(Ordering::Relaxed) {
                return None;
            }
            while let Some((_, begins, transaction)) = changes.next_if(|(step, ..)| *step <= at) {
                self.change(at, *begins, *transaction);
            }
            self.step(at);
        }
        Some(())
    }

    // The slot of a transaction in this analysis.
    fn slot(&self, transaction: TransactionNo) -> Option<usize> {
        let slot = self.of.lifetimes.of[transaction].slot.checked_sub(self.first_slot)? as usize;
        (slot < 64 * W).then_some(slot)
    }

    fn change(&mut self, at: StepNo, begins: bool, transaction: TransactionNo) {
        let Some(slot) = self.slot(transaction) else { return };
        for looper in &self.of.transactions.all[transaction].loopers {
            let set = &mut self.on_looper[looper.index()];
            if begins { insert(set, slot) } else { remove(set, slot) }
        }
        if !begins {
            // Stamps count from 1, so that a slot that was never given back is older than all.
            self.slots.add(slot, at.0 + 1);
        }
    }

    fn step(&mut self, at: StepNo) {
        let steps = self.of.steps;
        let (step, now) = (steps.all[at], at.0 + 1);
        self.incoming = Carried::EMPTY;
        let context = (step.context != ContextNo::NONE).then_some(step.context);
        let mut is_first = false;
        if let Some(context) = context {
            is_first = !std::mem::replace(&mut self.begun[context.index()], true);
            if !is_first {
                self.contexts.take(&mut self.incoming, context.index(), now, &self.slots);
            } else if context.index() < steps.trace.threads.len() {
                self.forks.take(&mut self.incoming, context.index(), now, &self.slots);
            } else if mutant::is(Mutant::TasksInProgramOrder) {
                let looper = steps.thread_of(at);
                self.contexts.take(&mut self.incoming, looper.index(), now, &self.slots);
            }
        }
        self.takes(step.kind, now);
        let transaction = self.of.transactions.of_step(at);
        let task = context.and_then(|context| steps.task_of(context));
        let slot = transaction.and_then(|transaction| self.slot(transaction));
        if let (Some(slot), Some(transaction)) = (slot, transaction)
            && has(&self.incoming.after, slot)
        {
            self.hits.push((at, transaction));
        }
        self.pass_on(slot);
        if let Some(task) = task {
            let looper = steps.trace.tasks[task].looper;
            if is_first {
                self.inside[looper.index()] = self.inside(task);
            }
            self.know_in_task((task, looper), is_first);
        }
        if let (true, Some(transaction)) = (self.of.joint && !mutant::is(Mutant::JointAlone), transaction) {
            let is_first = self.of.transactions.all[transaction].first == at;
            self.know_in_transaction(transaction, is_first);
        }
        if let Some(context) = context {
            self.contexts.put(&self.incoming, context.index(), now);
            if task.is_some() && mutant::is(Mutant::TasksInProgramOrder) {
                let looper = steps.thread_of(at);
                self.contexts.put(&self.incoming, looper.index(), now);
            }
        }
        self.gives(step.kind, now);
    }

    // What a step takes over from steps of other contexts.
    fn takes(&mut self, kind: StepKind, now: u32) {
        match kind {
            StepKind::Read(place) => self.writes.take(&mut self.incoming, place as usize, now, &self.slots),
            StepKind::Write(place) => {
                self.writes.take(&mut self.incoming, place as usize, now, &self.slots);
                if !mutant::is(Mutant::ReadsNotSeen) {
                    self.reads.take(&mut self.incoming, place as usize, now, &self.slots);
                }
            }
            StepKind::Join(thread) => self.contexts.take(&mut self.incoming, thread as usize, now, &self.slots),
            StepKind::Post(task) => self.take_events(TaskNo(task), now),
            StepKind::Begin(task) if !mutant::is(Mutant::PostsNotSeen) => {
                self.posts.take(&mut self.incoming, task as usize, now, &self.slots);
                if self.of.steps.trace.tasks[TaskNo(task)].post.is_none() {
                    self.take_events(TaskNo(task), now);
                }
            }
            StepKind::Receive(channel) if self.has_channel(channel) => {
                self.channels.take(&mut self.incoming, channel as usize, now, &self.slots);
            }
            StepKind::Acquire(lock) if self.of.edges == EdgeRules::Paper => {
                self.locks.take(&mut self.incoming, lock as usize, now, &self.slots);
            }
            _ => {}
        }
    }

    fn take_events(&mut self, task: TaskNo, now: u32) {
        let events: &[EventNo] = &self.of.steps.trace.tasks[task].events;
        for event in events {
            self.events.take(&mut self.incoming, event.index(), now, &self.slots);
        }
    }

    // What a step leaves behind for steps of other contexts.
    fn gives(&mut self, kind: StepKind, now: u32) {
        match kind {
            StepKind::Read(place) => self.reads.add(&self.incoming, place as usize, now, &self.slots),
            StepKind::Write(place) => {
                if mutant::is(Mutant::WritesJoined) {
                    self.writes.add(&self.incoming, place as usize, now, &self.slots);
                } else {
                    self.writes.put(&self.incoming, place as usize, now);
                }
                if !mutant::is(Mutant::ReadsKept) {
                    self.reads.put(&Carried::EMPTY, place as usize, now);
                }
            }
            StepKind::Fork(thread) => self.forks.add(&self.incoming, thread as usize, now, &self.slots),
            StepKind::Post(task) => self.posts.put(&self.incoming, task as usize, now),
            StepKind::Enable(event) => self.events.put(&self.incoming, event as usize, now),
            StepKind::Send(channel) if self.has_channel(channel) => {
                self.channels.add(&self.incoming, channel as usize, now, &self.slots);
            }
            StepKind::Release(lock) if self.of.edges == EdgeRules::Paper => {
                self.locks.put(&self.incoming, lock as usize, now);
            }
            _ => {}
        }
    }

    // Whether a channel makes edges: one that stands for a lock does so only by the rules of the paper.
    fn has_channel(&self, channel: u32) -> bool {
        let is_lock = || self.of.steps.trace.lock_channels.binary_search(&crate::trace::ChannelNo(channel)).is_ok();
        self.of.edges == EdgeRules::Paper || !is_lock()
    }

    // Turns what flows into the step into what it leaves behind: the transactions of the steps before it have been
    // left, except its own.
    fn pass_on(&mut self, slot: Option<usize>) {
        let Carried { own, after } = &mut self.incoming;
        join(after, own);
        *own = [0; W];
        if let Some(slot) = slot {
            if !mutant::is(Mutant::OwnNotDropped) {
                remove(after, slot);
            }
            if !mutant::is(Mutant::OwnForgotten) {
                insert(own, slot);
            }
        }
    }

    // The slots of the transactions that have a step in a task, also a later one: they may interrupt it.
    fn inside(&self, task: TaskNo) -> Slots<W> {
        let mut inside = [0; W];
        let all = &self.of.in_tasks;
        let first = all.partition_point(|(other, _)| other.index() < task.index());
        let own = all[first..].iter().take_while(|(other, _)| *other == task);
        own.filter_map(|(_, transaction)| self.slot(*transaction)).for_each(|slot| insert(&mut inside, slot));
        inside
    }

    // A task that transactions of its looper cannot interrupt knows from its begin what it learns of them.
    fn know_in_task(&mut self, (task, looper): (TaskNo, ThreadNo), is_first: bool) {
        if mutant::is(Mutant::MatesNotWhole) {
            return;
        }
        let inside = &self.inside[looper.index()];
        let on_looper = &self.on_looper[looper.index()];
        let (mut row, mut learns) = (self.known_of_task[task] as usize, false);
        let before = self.known[row];
        for i in 0..W {
            let about = if mutant::is(Mutant::MateOfAll) { u64::MAX } else { on_looper[i] };
            let after = self.incoming.after[i] & about & !inside[i];
            self.incoming.after[i] |= before[i] & !inside[i];
            if after & !before[i] != 0 {
                if row == 0 {
                    row = self.known.len();
                    self.known.push([0; W]);
                    self.known_of_task[task] = row as u32;
                }
                self.known[row][i] |= after;
                learns = true;
            }
        }
        self.changed |= learns && !is_first;
    }

    // The same for a declared transaction and all others.
    fn know_in_transaction(&mut self, transaction: TransactionNo, is_first: bool) {
        let row = &mut self.known_of_transaction[transaction];
        if *row == 0 {
            *row = self.known.len() as u32;
            self.known.push([0; W]);
        }
        let known = &mut self.known[*row as usize];
        let mut learns = false;
        for (known, after) in known.iter_mut().zip(&mut self.incoming.after) {
            learns |= *after & !*known != 0;
            *known |= *after;
            *after |= *known;
        }
        self.changed |= learns && !is_first;
    }
}
