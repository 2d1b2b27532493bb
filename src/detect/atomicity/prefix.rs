//! What a prefix of a run means for one transaction: whether it is violated already, and which later steps could
//! violate it. A search keeps this with each state, so that it finds every violation, or that there is none.
//!
//! It is the analysis of `bits` for one transaction A, without its end. `bits` goes through the trace again if a task
//! that A cannot interrupt learns of A late. A prefix does not know that task's later steps. So everything that flows
//! out of a task that runs is marked with its looper. If the task learns of A, everything marked does too. When the
//! task ends, the mark is dropped. One task of a looper runs at a time, so a looper is enough of a mark.
//!
//! Paths of causes only are no violation (priority 4). So a path has a level: 0 if all its edges are causes.

use super::spec::{TransactionNo, Transactions};
use super::steps::{BlockMark, ContextNo, StepKind, StepNo, Steps};
use super::{Specification, is_named};
use crate::base::{Id, IndexVec};
use crate::trace::{Action, ChannelNo, EventNo, TaskNo, ThreadNo, Trace};
use std::collections::BTreeMap;

/// What a step carries: how paths from the transaction, and from tasks that run, lead to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Carried {
    /// Whether the step belongs to the transaction.
    pub own: bool,
    /// Whether a path from the transaction leads here, by level.
    pub after: [bool; 2],
    /// The loopers whose running tasks have a path that leads here: bits of thread numbers, by level.
    pub from: [u64; 2],
}

impl Carried {
    /// Whether nothing leads here.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Carried::default()
    }

    fn join(&mut self, other: Carried) {
        self.own |= other.own;
        for level in 0..2 {
            self.after[level] |= other.after[level];
            self.from[level] |= other.from[level];
        }
    }

    // The same behind an edge to a step of the transaction (`into_own`) or of another: `raises` if it is no cause. An
    // edge within the transaction does not leave it.
    fn along(self, raises: bool, into_own: bool) -> Carried {
        if into_own && self.own {
            return Carried { own: false, ..self }.along(raises, false);
        }
        if raises {
            let after = [false, self.own || self.after[0] || self.after[1]];
            return Carried { own: false, after, from: [0, self.from[0] | self.from[1]] };
        }
        Carried { own: false, after: [self.after[0] || self.own, self.after[1]], from: self.from }
    }

    fn forget(&mut self, looper: u64) {
        self.from = self.from.map(|from| from & !looper);
    }
}

/// Which transaction is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nth<'n> {
    /// The specification.
    pub specification: Specification,
    /// The name without numbers; `None` for any.
    pub name: Option<&'n str>,
    /// The transaction's number, from 1, among those that match, in the order of their first steps.
    pub nth: u32,
    /// The loopers on which tasks count as wholes: those on which the transaction has a task in the end. `None` for
    /// all loopers, which finds a violation at least wherever there is one.
    pub loopers: Option<u64>,
}

/// The last accesses of a location.
#[derive(Clone, Default, Debug)]
pub struct Accesses {
    /// The last write, with its context.
    pub write: Option<(ContextNo, Carried)>,
    /// The reads since then, by context.
    pub reads: BTreeMap<ContextNo, Carried>,
}

/// The state of the analysis after a prefix of a run.
#[derive(Clone, Debug)]
pub struct PrefixState {
    /// Whether the transaction is violated.
    pub violated: bool,
    /// Whether the transaction has ended for certain and cannot be violated any more.
    pub over: bool,
    /// The name of the transaction with its number, once it has begun.
    pub name: Option<String>,
    /// The loopers on which the transaction has had a task: bits of thread numbers.
    pub loopers: u64,
    /// What the last step of each context carries. Contexts are threads, and then tasks.
    pub contexts: Vec<Carried>,
    /// What the fork of each thread carries.
    pub forks: Vec<Carried>,
    /// What the post of each task carries.
    pub posts: Vec<Carried>,
    /// What the enable of each event carries.
    pub events: Vec<Carried>,
    /// What the sends on each channel carry.
    pub channels: Vec<Carried>,
    /// The accesses of each location; atomics behind the others.
    pub places: Vec<Accesses>,
    /// What the running tasks of loopers know.
    pub known: BTreeMap<ThreadNo, Carried>,
    /// What has led to the steps of the transaction.
    pub taken: Carried,
    /// For each task: the name of what it belongs to, and whether that has begun; `None` if it belongs to nothing.
    pub owners: IndexVec<TaskNo, Option<(String, bool)>>,
    /// The names of all transactions that match and have begun, in their order.
    pub names: Vec<String>,
}

/// Analyzes a prefix of a run for one transaction. `None` if a looper has a number above 63.
#[must_use]
pub fn prefix_state(trace: &Trace, which: Nth<'_>) -> Option<PrefixState> {
    let loopers = trace.tasks.iter().map(|task| task.looper.0).max().unwrap_or(0);
    if loopers >= 64 {
        return None;
    }
    let steps = Steps::of(trace);
    let transactions = Transactions::of(&steps, which.specification);
    let matches = |declared: &str| which.name.is_none_or(|name| is_named(declared, name));
    let matching: Vec<TransactionNo> =
        transactions.all.enumerate().filter(|(_, own)| matches(&own.declared)).map(|(number, _)| number).collect();
    let own = matching.get(which.nth as usize - 1).copied();
    let names: Vec<String> = matching.iter().map(|number| transactions.all[*number].name.clone()).collect();
    let state = PrefixState {
        violated: false,
        over: own.is_some_and(|own| is_over(&steps, &transactions, own)),
        name: own.map(|own| transactions.all[own].name.clone()),
        loopers: own.map_or(0, |own| transactions.all[own].loopers.iter().fold(0, |all, l| all | 1 << l.0)),
        contexts: vec![Carried::default(); steps.contexts()],
        forks: vec![Carried::default(); trace.threads.len()],
        posts: vec![Carried::default(); trace.tasks.len()],
        events: vec![Carried::default(); trace.events.len()],
        channels: vec![Carried::default(); trace.channels as usize],
        places: vec![Accesses::default(); steps.locations()],
        known: BTreeMap::new(),
        taken: Carried::default(),
        owners: trace.tasks.ids().map(|task| transactions.owner(&steps, task)).collect(),
        names,
    };
    let begun = vec![false; steps.contexts()];
    let mut scan = Scan { steps: &steps, transactions: &transactions, which, own, state, begun };
    steps.all.ids().for_each(|at| scan.step(at));
    Some(scan.state)
}

// Whether a block has ended.
fn is_over(steps: &Steps<'_>, transactions: &Transactions, own: TransactionNo) -> bool {
    if transactions.specification != Specification::Blocks {
        return false;
    }
    let own = &transactions.all[own];
    let context = steps.all[own.first].context;
    let mut depth = 0;
    let is_block = |mark: &&BlockMark| mark.context == context && !steps.trace.transactions[mark.mark].unit;
    steps.marks.iter().filter(is_block).any(|mark| {
        let begins = steps.trace.transactions[mark.mark].begins;
        depth += if begins { 1 } else { -1 };
        depth == 0 && mark.before > own.last
    })
}

struct Scan<'a> {
    steps: &'a Steps<'a>,
    transactions: &'a Transactions,
    which: Nth<'a>,
    own: Option<TransactionNo>,
    state: PrefixState,
    begun: Vec<bool>,
}

impl Scan<'_> {
    fn step(&mut self, at: StepNo) {
        let step = self.steps.all[at];
        let context = (step.context != ContextNo::NONE).then_some(step.context);
        let is_own = self.own.is_some() && self.transactions.of_step(at) == self.own;
        if let StepKind::Begin(task) = step.kind {
            self.begin_task(TaskNo(task), is_own);
        }
        let incoming = self.incoming(step.context, step.kind, is_own);
        // What comes by program order carries the step's own transaction on without an edge.
        let out = if is_own {
            self.state.violated |= incoming.after[1];
            self.state.taken.join(Carried { own: false, ..incoming });
            self.close();
            Carried { own: true, ..Carried::default() }
        } else {
            self.learn(step.context, incoming.along(false, false))
        };
        if let Some(context) = context {
            self.state.contexts[context.index()] = out;
        }
        self.leave(step.context, step.kind, out);
        let ended = self.steps.op_of(at).map(|op| self.steps.trace.ops[op].action);
        if let Some(Action::End(task)) = ended {
            self.end_task(TaskNo(task.0));
        }
    }

    fn begin_task(&mut self, task: TaskNo, is_own: bool) {
        let looper = self.steps.trace.tasks[task].looper;
        // A block is a part of one task. No other task of the looper runs while the block does, and only then could one
        // learn of it and lead back to it.
        let is_block = self.which.specification == Specification::Blocks;
        let counts = self.which.loopers.is_none_or(|loopers| loopers >> looper.0 & 1 == 1);
        if !is_own && !is_block && counts {
            self.state.known.insert(looper, Carried::default());
        }
    }

    fn end_task(&mut self, task: TaskNo) {
        self.drop_mark(self.steps.trace.tasks[task].looper);
    }

    fn drop_mark(&mut self, looper: ThreadNo) {
        if self.state.known.remove(&looper).is_some() {
            self.each(|carried| carried.forget(1 << looper.0));
        }
    }

    // Joins what flows into a step. `own` is set only if the step before in the context is of the transaction.
    fn incoming(&mut self, context: ContextNo, kind: StepKind, is_own: bool) -> Carried {
        let mut all = Carried::default();
        if context != ContextNo::NONE {
            let is_first = !std::mem::replace(&mut self.begun[context.index()], true);
            if !is_first {
                all.join(self.state.contexts[context.index()]);
            } else if let Some(fork) = self.state.forks.get(context.index()) {
                all.join(fork.along(false, is_own));
            }
        }
        let trace = self.steps.trace;
        match kind {
            StepKind::Read(place) | StepKind::Write(place) => {
                let Accesses { write, reads } = &self.state.places[place as usize];
                let reads = reads.iter().map(|(of, carried)| (*of, *carried));
                let reads = reads.filter(|_| matches!(kind, StepKind::Write(_)));
                let others =
                    write.iter().copied().chain(reads).filter(|(of, _)| *of != context || context == ContextNo::NONE);
                others.for_each(|(_, carried)| all.join(carried.along(true, is_own)));
            }
            StepKind::Join(thread) => all.join(self.state.contexts[thread as usize].along(false, is_own)),
            StepKind::Post(task) => all.join(self.events_of(TaskNo(task), is_own)),
            StepKind::Begin(task) => {
                all.join(self.state.posts[task as usize].along(false, is_own));
                if trace.tasks[TaskNo(task)].post.is_none() {
                    all.join(self.events_of(TaskNo(task), is_own));
                }
            }
            StepKind::Receive(channel) if trace.lock_channels.binary_search(&ChannelNo(channel)).is_err() => {
                all.join(self.state.channels[channel as usize].along(true, is_own));
            }
            _ => {}
        }
        all
    }

    fn events_of(&self, task: TaskNo, is_own: bool) -> Carried {
        let mut all = Carried::default();
        let events: &[EventNo] = &self.steps.trace.tasks[task].events;
        events.iter().for_each(|event| all.join(self.state.events[event.index()].along(false, is_own)));
        all
    }

    // A task that runs and counts as a whole: all its steps are marked, and know what one of them knows.
    fn learn(&mut self, context: ContextNo, mut out: Carried) -> Carried {
        let Some(task) = self.steps.task_of(context) else { return out };
        let looper = self.steps.trace.tasks[task].looper;
        let Some(known) = self.state.known.get(&looper).copied() else { return out };
        out.join(known);
        out.forget(1 << looper.0);
        if out != known {
            self.state.known.insert(looper, out);
            self.close();
            out.join(self.state.known[&looper]);
        }
        out.from[0] |= 1 << looper.0;
        out
    }

    // Everything that is marked with a looper knows what the running task of that looper knows.
    fn close(&mut self) {
        loop {
            let known = self.state.known.clone();
            let mut changed = false;
            self.each(|carried| {
                let before = *carried;
                for (looper, knows) in &known {
                    for level in 0..2 {
                        if before.from[level] >> looper.0 & 1 == 1 {
                            carried.join(if level == 1 { knows.along(true, false) } else { *knows });
                        }
                    }
                }
                changed |= *carried != before;
            });
            if !changed {
                break;
            }
        }
        self.state.violated |= self.state.taken.after[1];
    }

    fn each(&mut self, mut change: impl FnMut(&mut Carried)) {
        let PrefixState { contexts, forks, posts, events, channels, places, known, taken, .. } = &mut self.state;
        [contexts, forks, posts, events, channels].into_iter().flatten().for_each(&mut change);
        for Accesses { write, reads } in places {
            write.iter_mut().map(|(_, carried)| carried).chain(reads.values_mut()).for_each(&mut change);
        }
        known.values_mut().for_each(&mut change);
        change(taken);
    }

    // What a step leaves behind for steps of other contexts.
    fn leave(&mut self, context: ContextNo, kind: StepKind, out: Carried) {
        let state = &mut self.state;
        match kind {
            StepKind::Read(place) => state.places[place as usize].reads.entry(context).or_default().join(out),
            StepKind::Write(place) => {
                state.places[place as usize] = Accesses { write: Some((context, out)), reads: BTreeMap::new() };
            }
            StepKind::Fork(thread) => state.forks[thread as usize].join(out),
            StepKind::Post(task) => state.posts[task as usize] = out,
            StepKind::Enable(event) => state.events[event as usize] = out,
            StepKind::Send(channel) => state.channels[channel as usize].join(out),
            _ => {}
        }
    }
}
