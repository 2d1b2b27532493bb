//! The nodes of a trace, its conflicts, and the order that every run with its operations has.

use super::rules::{Rules, Section, TaskNodes};
use super::{Conflict, ConflictOver, MOST_NODES, NoClasses, OrderOptions};
use crate::base::{Id, IndexVec};
use crate::trace::{Action, LocationNo, OpNo, TaskNo, ThreadNo, Trace};
use std::collections::BTreeMap;

// A thread's own code, or a task.
type Context = (ThreadNo, Option<TaskNo>);

// The acquisition and the release of a section of a lock. A trace may end inside it.
type SectionOps = (OpNo, Option<OpNo>);

/// The operations that rules and conflicts name, with their order.
pub(super) struct Graph {
    /// For each node the nodes after it.
    pub(super) rows: Vec<Vec<u64>>,
    pub(super) rules: Rules,
    parts: Parts,
    node_of: Vec<usize>,
}

// The parts of a trace that matter, by their operations.
struct Parts {
    contexts: Vec<Context>,
    // By thread the tasks, each with its last operation, and whether it has ended.
    tasks: BTreeMap<ThreadNo, Vec<(TaskNo, OpNo, bool)>>,
    sections: Vec<(Action, ThreadNo, OpNo, Option<OpNo>)>,
    accesses: BTreeMap<LocationNo, Vec<(OpNo, bool)>>,
}

impl Graph {
    pub(super) fn new(trace: &Trace, options: &OrderOptions<'_>) -> Result<Self, NoClasses> {
        let parts = Parts::new(trace, options);
        let mut used: Vec<OpNo> = parts.accesses.values().flatten().map(|(op, _)| *op).collect();
        for (task, last, _) in parts.tasks.values().flatten() {
            let about = &trace.tasks[*task];
            used.extend(about.post.into_iter().chain(about.begin).chain([*last]));
        }
        used.extend(parts.sections.iter().flat_map(|(_, _, acquire, release)| [Some(*acquire), *release]).flatten());
        used.sort_unstable();
        used.dedup();
        if used.len() > MOST_NODES {
            return Err(NoClasses::Operations(used.len()));
        }
        let mut node_of = vec![usize::MAX; trace.ops.len()];
        used.iter().enumerate().for_each(|(node, op)| node_of[op.index()] = node);
        let node = |op: OpNo| node_of[op.index()];
        let mut edges = edges(trace);
        let (rules, forced) = parts.rules(trace, &node);
        edges.extend(forced);
        edges.extend(options.known);
        if edges.iter().any(|(a, b)| a >= b) {
            return Err(NoClasses::Contradiction);
        }
        let rows = closure(trace, &parts.contexts, edges, &used);
        Ok(Self { rows, rules, parts, node_of })
    }

    /// Passes each conflict with its nodes to `each`.
    pub(super) fn conflicts(&self, trace: &Trace, mut each: impl FnMut(Conflict, (usize, usize))) {
        self.parts.conflicts(trace, &mut |first, second, over| {
            let [(_, task), (_, other)] = [first, second].map(|op| self.parts.contexts[op.index()]);
            let nodes = (self.node_of[first.index()], self.node_of[second.index()]);
            each(Conflict { first, second, tasks: (task, other), over }, nodes);
        });
    }
}

impl Parts {
    fn new(trace: &Trace, options: &OrderOptions<'_>) -> Self {
        let mut running: IndexVec<ThreadNo, Option<TaskNo>> = trace.threads.iter().map(|_| None).collect();
        let mut held = BTreeMap::new();
        let mut parts =
            Self { contexts: Vec::new(), tasks: BTreeMap::new(), sections: Vec::new(), accesses: BTreeMap::new() };
        for (op, operation) in trace.ops.enumerate() {
            let thread = operation.thread;
            if let Action::Begin(task) = operation.action {
                running[thread] = Some(task);
                parts.tasks.entry(thread).or_default().push((task, op, false));
            }
            parts.contexts.push((thread, running[thread]));
            if running[thread].is_some()
                && let Some((_, last, _)) = parts.tasks.get_mut(&thread).and_then(|tasks| tasks.last_mut())
            {
                *last = op;
            }
            match operation.action {
                Action::End(_) => {
                    running[thread] = None;
                    if let Some((.., ended)) = parts.tasks.get_mut(&thread).and_then(|tasks| tasks.last_mut()) {
                        *ended = true;
                    }
                }
                Action::Acquire(lock) => {
                    held.insert((thread, lock), parts.sections.len());
                    parts.sections.push((operation.action, thread, op, None));
                }
                Action::Release(lock) => {
                    if let Some(section) = held.remove(&(thread, lock)) {
                        parts.sections[section].3 = Some(op);
                    }
                }
                action => {
                    let access = action.access();
                    if let Some((at, writes)) =
                        access.filter(|(at, _)| options.only.is_none_or(|only| only.contains(at)))
                    {
                        parts.accesses.entry(at).or_default().push((op, writes));
                    }
                }
            }
        }
        // What only one context accesses, or what only readers access, has no conflicts.
        let Self { contexts, accesses, .. } = &mut parts;
        accesses.retain(|_, of| {
            let is_shared = of.iter().any(|(op, _)| contexts[op.index()] != contexts[of[0].0.index()]);
            is_shared && of.iter().any(|(_, writes)| *writes)
        });
        parts
    }

    fn conflicts(&self, trace: &Trace, each: &mut dyn FnMut(OpNo, OpNo, ConflictOver)) {
        for (at, accesses) in &self.accesses {
            let over = ConflictOver::Location(*at);
            for (i, (first, writes)) in accesses.iter().enumerate() {
                for (second, writes_too) in &accesses[i + 1..] {
                    let are_two = self.contexts[first.index()] != self.contexts[second.index()];
                    if are_two && (*writes || *writes_too) {
                        each(*first, *second, over);
                    }
                }
            }
        }
        for (first, second) in self.pairs_of_sections() {
            if let Action::Acquire(lock) = trace.ops[first.0].action {
                each(first.0, second.0, ConflictOver::Lock(lock));
            }
        }
    }

    // Returns each two sections of one lock on different threads.
    fn pairs_of_sections(&self) -> Vec<(SectionOps, SectionOps)> {
        let mut pairs = Vec::new();
        for (i, (lock, thread, acquire, release)) in self.sections.iter().enumerate() {
            let others = self.sections[i + 1..].iter().filter(|(of, by, ..)| of == lock && by != thread);
            pairs.extend(others.map(|(_, _, other, end)| ((*acquire, *release), (*other, *end))));
        }
        pairs
    }

    // Returns the rules, and the orders of what the trace leaves unfinished: nothing comes after a task that does not
    // end, or after the section of a lock that is not released.
    fn rules(&self, trace: &Trace, node: &impl Fn(OpNo) -> usize) -> (Rules, Vec<(OpNo, OpNo)>) {
        let mut forced = Vec::new();
        let mut rules = Rules::default();
        for tasks in self.tasks.values() {
            let mut nodes = Vec::new();
            for (task, last, _) in tasks {
                let about = &trace.tasks[*task];
                let Some(begin) = about.begin else { continue };
                let post = about.post.map(|post| (node(post), about.class()));
                nodes.push(TaskNodes { post, begin: node(begin), end: node(*last) });
            }
            if let Some((last, before)) = tasks.split_last().filter(|((.., ended), _)| !ended)
                && let Some(begin) = trace.tasks[last.0].begin
            {
                forced.extend(before.iter().map(|(_, end, _)| (*end, begin)));
            }
            rules.tasks.push(nodes);
        }
        for ((acquire, release), (other, end)) in self.pairs_of_sections() {
            match (release, end) {
                (Some(release), Some(end)) => rules.sections.push((
                    Section { acquire: node(acquire), release: node(release) },
                    Section { acquire: node(other), release: node(end) },
                )),
                (Some(release), None) => forced.push((release, other)),
                (None, Some(end)) => forced.push((end, acquire)),
                (None, None) => {}
            }
        }
        (rules, forced)
    }
}

// Returns the edges between contexts that every run has.
fn edges(trace: &Trace) -> Vec<(OpNo, OpNo)> {
    let mut edges = Vec::new();
    let threads = trace.threads.len();
    let [mut forks, mut exits, mut attached, mut looped] = [(); 4].map(|()| vec![None; threads]);
    let mut sends: Vec<Vec<OpNo>> = vec![Vec::new(); trace.channels as usize];
    let mut enables: Vec<Vec<OpNo>> = vec![Vec::new(); trace.events.len()];
    let mut ends: Vec<Vec<OpNo>> = vec![Vec::new(); threads];
    for (op, operation) in trace.ops.enumerate() {
        let thread = operation.thread.index();
        // The first operation of a thread, whatever it is.
        edges.extend(forks[thread].take().map(|fork| (fork, op)));
        match operation.action {
            Action::Fork(child) => forks[child.index()] = Some(op),
            Action::ThreadExit => exits[thread] = Some(op),
            Action::Join(other) => edges.extend(exits[other.index()].map(|exit| (exit, op))),
            Action::AttachQueue => attached[thread] = Some(op),
            Action::Loop => looped[thread] = Some(op),
            Action::Leave => edges.extend(ends[thread].iter().map(|end| (*end, op))),
            Action::Post(task) => {
                let about = &trace.tasks[task];
                edges.extend(attached[about.looper.index()].map(|attach| (attach, op)));
                edges.extend(about.events.iter().flat_map(|event| &enables[event.index()]).map(|enable| (*enable, op)));
            }
            Action::Begin(task) => {
                edges.extend(trace.tasks[task].post.map(|post| (post, op)));
                edges.extend(looped[thread].map(|looped| (looped, op)));
            }
            Action::End(_) => ends[thread].push(op),
            Action::Send(channel) => sends[channel.index()].push(op),
            Action::Receive(channel) => edges.extend(sends[channel.index()].iter().map(|send| (*send, op))),
            Action::Enable(event) => enables[event.index()].push(op),
            Action::ThreadInit | Action::Acquire(_) | Action::Release(_) | Action::Read(_) | Action::Write(_) => {}
        }
    }
    edges
}

// Returns for each operation in use those in use that come after it, by the edges and by the order of each context.
fn closure(trace: &Trace, contexts: &[Context], mut edges: Vec<(OpNo, OpNo)>, used: &[OpNo]) -> Vec<Vec<u64>> {
    edges.sort_unstable();
    edges.dedup();
    let words = used.len().div_ceil(64);
    let mut is_target = vec![false; trace.ops.len()];
    edges.iter().for_each(|(_, to)| is_target[to.index()] = true);
    // What is after the operations of each context so far, and after those that edges lead to, themselves included.
    let mut after: BTreeMap<Context, Vec<u64>> = BTreeMap::new();
    let mut targets: BTreeMap<OpNo, Vec<u64>> = BTreeMap::new();
    let mut rows = vec![Vec::new(); used.len()];
    let (mut left, mut node) = (edges.as_slice(), used.len());
    for op in trace.ops.ids().rev() {
        let context = contexts[op.index()];
        let mut row = match trace.threads[context.0].environment {
            // Each act of the environment is a context.
            true => vec![0; words],
            false => after.remove(&context).unwrap_or_else(|| vec![0; words]),
        };
        while let Some(((from, to), rest)) = left.split_last().filter(|((from, _), _)| *from == op) {
            debug_assert!(from < to, "edges lead forward");
            targets[to].iter().zip(&mut row).for_each(|(news, word)| *word |= news);
            left = rest;
        }
        if node > 0 && used[node - 1] == op {
            node -= 1;
            rows[node].clone_from(&row);
            row[node / 64] |= 1 << (node % 64);
        }
        if is_target[op.index()] {
            targets.insert(op, row.clone());
        }
        after.insert(context, row);
    }
    rows
}
