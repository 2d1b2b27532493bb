//! Finds the transactions that are violated, in passes over the steps, without vector clocks.
//!
//! A slot (bit) stands for each transaction that something can learn of at the moment ([`Lifetimes`]). The last step of
//! a context, the last write of a location, its reads since then, a message, an event, a channel or a lock carries two
//! sets of slots: `own` has the transactions that its steps belong to, and `after` those that a path has left that leads
//! to it. A step joins the sets of everything from which an edge leads to it. If it belongs to A and `after` has A, a
//! path comes back here.
//!
//! **Passes.** A unit (a task that A cannot interrupt) that learns of A late must have known it from its begin. So what
//! each unit knows is kept, and the steps are gone through again until no unit learns anything that its earlier steps
//! did not know. Sets only grow, so passes end. For joint blame each declared transaction is a unit as well.
//!
//! **Slots are used again.** A slot has the step at which it was last given back, and a set the step at which it was
//! last joined: bits of slots that were given back since then are dropped when the set is read.

use super::EdgeRules;
use super::lifetime::{Lifetimes, changes};
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
    let lifetimes = Lifetimes::of(steps, transactions, joint);
    let changes = changes(&lifetimes);
    let mut all = Hits::default();
    let slots = lifetimes.slots as usize;
    let width = 64 * MOST_WORDS;
    for first in (0..slots).step_by(width) {
        let words = (slots - first).min(width).div_ceil(64);
        let mut pass = Pass::new(steps, transactions, &lifetimes, (first as u32, words), edges, joint);
        let mut passes = 0;
        loop {
            pass.run(&changes, stop)?;
            passes += 1;
            if !pass.changed || mutant::is(Mutant::OnePassOfMates) {
                break;
            }
        }
        all.passes = all.passes.max(passes);
        all.steps.append(&mut pass.hits);
    }
    all.steps.sort_unstable();
    Some(all)
}

// A table of sets: for each row the words of `own`, and then those of `after`.
struct Sets {
    words: Vec<u64>,
    // The step at which each row was last joined.
    stamps: Vec<u32>,
    row: usize,
}

impl Sets {
    fn new(rows: usize, words: usize) -> Self {
        Self { words: vec![0; rows * 2 * words], stamps: vec![0; rows], row: 2 * words }
    }

    fn clear(&mut self) {
        self.words.fill(0);
        self.stamps.fill(0);
    }

    fn row(&self, at: usize) -> &[u64] {
        &self.words[at * self.row..][..self.row]
    }

    fn row_mut(&mut self, at: usize) -> &mut [u64] {
        &mut self.words[at * self.row..][..self.row]
    }
}

// When slots were given back.
struct Slots {
    given_back: Vec<u32>,
    last: u32,
}

impl Slots {
    // Drops the bits of slots that were given back since a row was last joined.
    fn refresh(&self, sets: &mut Sets, at: usize, now: u32) {
        let stamp = sets.stamps[at];
        if stamp < self.last && !mutant::is(Mutant::SlotNotCleared) {
            let half = sets.row / 2;
            for (i, word) in sets.row_mut(at).iter_mut().enumerate() {
                let mut left = *word;
                while left != 0 {
                    let bit = left.trailing_zeros();
                    left &= left - 1;
                    if self.given_back[(i % half) * 64 + bit as usize] > stamp {
                        *word &= !(1 << bit);
                    }
                }
            }
        }
        sets.stamps[at] = now;
    }

    // Joins a set to what flows into a step.
    fn take(&self, incoming: &mut [u64], sets: &mut Sets, at: usize, now: u32) {
        self.refresh(sets, at, now);
        incoming.iter_mut().zip(sets.row(at)).for_each(|(to, from)| *to |= from);
    }

    // Replaces a set by what a step leaves behind.
    fn put(&self, left: &[u64], sets: &mut Sets, at: usize, now: u32) {
        sets.row_mut(at).copy_from_slice(left);
        sets.stamps[at] = now;
    }

    // Adds what a step leaves behind to a set.
    fn add(&self, left: &[u64], sets: &mut Sets, at: usize, now: u32) {
        self.refresh(sets, at, now);
        sets.row_mut(at).iter_mut().zip(left).for_each(|(to, from)| *to |= from);
    }
}

struct Pass<'a> {
    steps: &'a Steps<'a>,
    transactions: &'a Transactions,
    lifetimes: &'a Lifetimes,
    first_slot: u32,
    words: usize,
    edges: EdgeRules,
    joint: bool,
    slots: Slots,
    begun: Vec<bool>,
    contexts: Sets,
    writes: Sets,
    reads: Sets,
    forks: Sets,
    posts: Sets,
    events: Sets,
    channels: Sets,
    locks: Sets,
    // The slots of transactions that have a task on each looper, and of those that the running task belongs to.
    on_looper: Vec<u64>,
    inside: Vec<u64>,
    // What each unit knows, kept over passes: the row of each task and each transaction. Row 0 is empty and stands for
    // no row.
    known_of_task: IndexVec<TaskNo, u32>,
    known_of_transaction: IndexVec<TransactionNo, u32>,
    known: Vec<u64>,
    // What flows into the current step.
    incoming: Vec<u64>,
    hits: Vec<(StepNo, TransactionNo)>,
    changed: bool,
}

impl<'a> Pass<'a> {
    fn new(
        steps: &'a Steps<'a>,
        transactions: &'a Transactions,
        lifetimes: &'a Lifetimes,
        (first_slot, words): (u32, usize),
        edges: EdgeRules,
        joint: bool,
    ) -> Self {
        let trace = steps.trace;
        let sets = |rows: usize| Sets::new(rows, words);
        Self {
            steps,
            transactions,
            lifetimes,
            first_slot,
            words,
            edges,
            joint,
            slots: Slots { given_back: vec![0; 64 * words], last: 0 },
            begun: vec![false; steps.contexts()],
            contexts: sets(steps.contexts()),
            writes: sets(steps.locations()),
            reads: sets(steps.locations()),
            forks: sets(trace.threads.len()),
            posts: sets(trace.tasks.len()),
            events: sets(trace.events.len()),
            channels: sets(trace.channels as usize),
            locks: sets(trace.locks.len()),
            on_looper: vec![0; trace.threads.len() * words],
            inside: vec![0; trace.threads.len() * words],
            known_of_task: trace.tasks.iter().map(|_| 0).collect(),
            known_of_transaction: transactions.all.iter().map(|_| 0).collect(),
            known: vec![0; words],
            incoming: vec![0; 2 * words],
            hits: Vec::new(),
            changed: false,
        }
    }

    // Goes through all steps once. `None` if it was stopped.
    fn run(&mut self, changes: &[(StepNo, bool, TransactionNo)], stop: &AtomicBool) -> Option<()> {
        for sets in [
            &mut self.contexts,
            &mut self.writes,
            &mut self.reads,
            &mut self.forks,
            &mut self.posts,
            &mut self.events,
            &mut self.channels,
            &mut self.locks,
        ] {
            sets.clear();
        }
        self.begun.fill(false);
        self.slots.given_back.fill(0);
        self.slots.last = 0;
        self.on_looper.fill(0);
        self.inside.fill(0);
        self.hits.clear();
        self.changed = false;
        let mut changes = changes.iter().peekable();
        for at in self.steps.all.ids() {
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
        let slot = self.lifetimes.of[transaction].slot.checked_sub(self.first_slot)? as usize;
        (slot < 64 * self.words).then_some(slot)
    }

    fn change(&mut self, at: StepNo, begins: bool, transaction: TransactionNo) {
        let Some(slot) = self.slot(transaction) else { return };
        for looper in &self.transactions.all[transaction].loopers {
            let word = &mut self.on_looper[looper.index() * self.words + slot / 64];
            if begins { *word |= 1 << (slot % 64) } else { *word &= !(1 << (slot % 64)) }
        }
        if !begins {
            // Stamps count from 1, so that a slot that was never given back is older than all.
            self.slots.given_back[slot] = at.0 + 1;
            self.slots.last = at.0 + 1;
        }
    }

    fn step(&mut self, at: StepNo) {
        let (step, now) = (self.steps.all[at], at.0 + 1);
        self.incoming.fill(0);
        let context = (step.context != ContextNo::NONE).then_some(step.context);
        let mut is_first = false;
        if let Some(context) = context {
            is_first = !std::mem::replace(&mut self.begun[context.index()], true);
            if !is_first {
                self.slots.take(&mut self.incoming, &mut self.contexts, context.index(), now);
            } else if context.index() < self.steps.trace.threads.len() {
                self.slots.take(&mut self.incoming, &mut self.forks, context.index(), now);
            } else if mutant::is(Mutant::TasksInProgramOrder) {
                let looper = self.steps.thread_of(at);
                self.slots.take(&mut self.incoming, &mut self.contexts, looper.index(), now);
            }
        }
        self.takes(step.kind, now);
        let transaction = self.transactions.of_step(at);
        let task = context.and_then(|context| self.steps.task_of(context));
        let slot = transaction.and_then(|transaction| self.slot(transaction));
        if let (Some(slot), Some(transaction)) = (slot, transaction)
            && self.incoming[self.words + slot / 64] >> (slot % 64) & 1 == 1
        {
            self.hits.push((at, transaction));
        }
        self.pass_on(slot);
        if let Some(task) = task {
            let looper = self.steps.trace.tasks[task].looper;
            self.know_in_task((task, looper), slot, is_first);
        }
        if let (true, Some(transaction)) = (self.joint && !mutant::is(Mutant::JointAlone), transaction) {
            let is_first = self.transactions.all[transaction].first == at;
            self.know_in_transaction(transaction, is_first);
        }
        if let Some(context) = context {
            self.slots.put(&self.incoming, &mut self.contexts, context.index(), now);
            if task.is_some() && mutant::is(Mutant::TasksInProgramOrder) {
                let looper = self.steps.thread_of(at);
                self.slots.put(&self.incoming, &mut self.contexts, looper.index(), now);
            }
        }
        self.gives(step.kind, now);
    }

    // What a step takes over from steps of other contexts.
    fn takes(&mut self, kind: StepKind, now: u32) {
        match kind {
            StepKind::Read(place) => self.slots.take(&mut self.incoming, &mut self.writes, place as usize, now),
            StepKind::Write(place) => {
                self.slots.take(&mut self.incoming, &mut self.writes, place as usize, now);
                if !mutant::is(Mutant::ReadsNotSeen) {
                    self.slots.take(&mut self.incoming, &mut self.reads, place as usize, now);
                }
            }
            StepKind::Join(thread) => self.slots.take(&mut self.incoming, &mut self.contexts, thread as usize, now),
            StepKind::Post(task) => self.take_events(TaskNo(task), now),
            StepKind::Begin(task) if !mutant::is(Mutant::PostsNotSeen) => {
                self.slots.take(&mut self.incoming, &mut self.posts, task as usize, now);
                if self.steps.trace.tasks[TaskNo(task)].post.is_none() {
                    self.take_events(TaskNo(task), now);
                }
            }
            StepKind::Receive(channel) if self.has_channel(channel) => {
                self.slots.take(&mut self.incoming, &mut self.channels, channel as usize, now);
            }
            StepKind::Acquire(lock) if self.edges == EdgeRules::Paper => {
                self.slots.take(&mut self.incoming, &mut self.locks, lock as usize, now);
            }
            _ => {}
        }
    }

    fn take_events(&mut self, task: TaskNo, now: u32) {
        let events: &[EventNo] = &self.steps.trace.tasks[task].events;
        for event in events {
            self.slots.take(&mut self.incoming, &mut self.events, event.index(), now);
        }
    }

    // What a step leaves behind for steps of other contexts.
    fn gives(&mut self, kind: StepKind, now: u32) {
        match kind {
            StepKind::Read(place) => self.slots.add(&self.incoming, &mut self.reads, place as usize, now),
            StepKind::Write(place) => {
                if mutant::is(Mutant::WritesJoined) {
                    self.slots.add(&self.incoming, &mut self.writes, place as usize, now);
                } else {
                    self.slots.put(&self.incoming, &mut self.writes, place as usize, now);
                }
                if !mutant::is(Mutant::ReadsKept) {
                    self.reads.row_mut(place as usize).fill(0);
                    self.reads.stamps[place as usize] = now;
                }
            }
            StepKind::Fork(thread) => self.slots.add(&self.incoming, &mut self.forks, thread as usize, now),
            StepKind::Post(task) => self.slots.put(&self.incoming, &mut self.posts, task as usize, now),
            StepKind::Enable(event) => self.slots.put(&self.incoming, &mut self.events, event as usize, now),
            StepKind::Send(channel) if self.has_channel(channel) => {
                self.slots.add(&self.incoming, &mut self.channels, channel as usize, now);
            }
            StepKind::Release(lock) if self.edges == EdgeRules::Paper => {
                self.slots.put(&self.incoming, &mut self.locks, lock as usize, now);
            }
            _ => {}
        }
    }

    // Whether a channel makes edges: one that stands for a lock does so only by the rules of the paper.
    fn has_channel(&self, channel: u32) -> bool {
        let is_lock = || self.steps.trace.lock_channels.binary_search(&crate::trace::ChannelNo(channel)).is_ok();
        self.edges == EdgeRules::Paper || !is_lock()
    }

    // Turns what flows into the step into what it leaves behind: the transactions of the steps before it have been left,
    // except its own.
    fn pass_on(&mut self, slot: Option<usize>) {
        let (own, after) = self.incoming.split_at_mut(self.words);
        after.iter_mut().zip(own.iter()).for_each(|(after, own)| *after |= own);
        own.fill(0);
        if let Some(slot) = slot {
            let bit = 1 << (slot % 64);
            if !mutant::is(Mutant::OwnNotDropped) {
                after[slot / 64] &= !bit;
            }
            if !mutant::is(Mutant::OwnForgotten) {
                own[slot / 64] |= bit;
            }
        }
    }

    // A task that transactions of its looper cannot interrupt knows from its begin what it learns of them.
    fn know_in_task(&mut self, (task, looper): (TaskNo, ThreadNo), slot: Option<usize>, is_first: bool) {
        if mutant::is(Mutant::MatesNotWhole) {
            return;
        }
        let words = self.words;
        let rows = looper.index() * words..(looper.index() + 1) * words;
        if is_first {
            self.inside[rows.clone()].fill(0);
        }
        if let Some(slot) = slot {
            self.inside[rows.start + slot / 64] |= 1 << (slot % 64);
        }
        let (mut row, mut learns) = (self.known_of_task[task] as usize, false);
        for i in 0..words {
            let mut about = self.on_looper[rows.start + i];
            if mutant::is(Mutant::MateOfAll) {
                about = u64::MAX;
            }
            let after = self.incoming[words + i] & about & !self.inside[rows.start + i];
            let before = self.known[row * words + i];
            self.incoming[words + i] |= before & !self.inside[rows.start + i];
            if after & !before != 0 {
                if row == 0 {
                    row = self.known.len() / words;
                    self.known.resize((row + 1) * words, 0);
                }
                self.known[row * words + i] |= after;
                learns = true;
            }
        }
        self.known_of_task[task] = row as u32;
        self.changed |= learns && !is_first;
    }

    // The same for a declared transaction and all others.
    fn know_in_transaction(&mut self, transaction: TransactionNo, is_first: bool) {
        let words = self.words;
        let (mut row, mut learns) = (self.known_of_transaction[transaction] as usize, false);
        if row == 0 {
            row = self.known.len() / words;
            self.known.resize((row + 1) * words, 0);
            self.known_of_transaction[transaction] = row as u32;
        }
        for i in 0..words {
            let (known, after) = (&mut self.known[row * words + i], &mut self.incoming[words + i]);
            learns |= *after & !*known != 0;
            *known |= *after;
            *after |= *known;
        }
        self.changed |= learns && !is_first;
    }
}
