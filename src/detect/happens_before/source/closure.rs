//! Computes the least relation that contains the direct edges and is closed under the rules.
//!
//! The computation repeats rounds until nothing changes. A round processes the nodes from the last of the run to the
//! first, since nearly all edges lead forward, and closes each row under transitivity; then it applies the rules for
//! tasks. Within a context a row contains the row of the next node. Therefore only nodes that are new to it are
//! expanded, and of those only the first node of each context: the later ones add nothing to it. The exception are
//! the effects of single edges: an enable, or a signal, comes before an operation of another task of its looper even
//! if nothing else of its own task does.

use super::direct::IntentSend;
use super::nodes::{Context, Node, Nodes};
use super::rows::{Rows, Words, clear_all, has, members, set, set_all};
use crate::base::{Id, IndexVec};
use crate::event::PostTime;
use crate::trace::{Action, TaskNo, ThreadNo, Trace};
use std::sync::atomic::{AtomicBool, Ordering};

// The nodes of a task.
#[derive(Clone, Copy, Debug)]
struct TaskNodes {
    task: TaskNo,
    looper: ThreadNo,
    context: Context,
    post: Node,
    begin: Node,
    end: Option<Node>,
}

struct Closure<'t> {
    trace: &'t Trace,
    nodes: &'t Nodes,
    rows: Rows,
    sent: Vec<IntentSend>,
    // Tasks that were posted and that ran, in the order of their posts.
    runs: Vec<TaskNodes>,
    // Indices in `runs`: by task, by the node of the post, by the node of the begin.
    of_task: IndexVec<TaskNo, Option<usize>>,
    posted: IndexVec<Node, Option<usize>>,
    begun: IndexVec<Node, Option<usize>>,
    // The posts to each looper, and the begins on it.
    posts: Vec<Words>,
    begins: Vec<Words>,
    // Nodes with an edge into another task of their looper.
    lone: Words,
    // For each task of `runs`, the nodes that its own nodes may come before: all except those of unordered tasks of
    // the same looper.
    allowed: Rows,
}

/// Closes the relation under the rules. `None` if `stop` was set.
pub(super) fn close(
    trace: &Trace,
    nodes: &Nodes,
    rows: Rows,
    sent: Vec<IntentSend>,
    stop: &AtomicBool,
) -> Option<Rows> {
    let mut closure = Closure::new(trace, nodes, rows, sent, stop);
    let mut order: Vec<Node> = nodes.op.ids().collect();
    order.sort_by_key(|node| std::cmp::Reverse(nodes.op[*node]));
    while closure.transitive(&order, stop) | closure.rules(stop) {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
    }
    Some(closure.rows)
}

impl<'t> Closure<'t> {
    fn new(trace: &'t Trace, nodes: &'t Nodes, rows: Rows, sent: Vec<IntentSend>, stop: &AtomicBool) -> Self {
        let none = || trace.threads.ids().map(|_| vec![0; nodes.len().div_ceil(64)]).collect();
        let mut of = Self {
            trace,
            nodes,
            rows,
            sent,
            runs: runs(trace, nodes),
            of_task: trace.tasks.ids().map(|_| None).collect(),
            posted: nodes.op.ids().map(|_| None).collect(),
            begun: nodes.op.ids().map(|_| None).collect(),
            posts: none(),
            begins: none(),
            lone: vec![0; nodes.len().div_ceil(64)],
            allowed: Rows::new(0, 0),
        };
        for (at, run) in of.runs.iter().enumerate() {
            of.of_task[run.task] = Some(at);
            of.posted[run.post] = Some(at);
            of.begun[run.begin] = Some(at);
            set(&mut of.posts[run.looper.index()], run.post);
            set(&mut of.begins[run.looper.index()], run.begin);
        }
        of.allowed = Rows::new(of.runs.len(), nodes.len());
        for (at, run) in of.runs.iter().enumerate() {
            // A stopped computation does not need the rest.
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let row = of.allowed.row_mut(at);
            row.fill(u64::MAX);
            for (_, piece) in nodes.pieces.enumerate() {
                if piece.task.is_some() && piece.thread == run.looper {
                    clear_all(row, piece.first, piece.end);
                }
            }
            let own = &nodes.pieces[run.context];
            set_all(row, own.first, own.end);
            for node in (own.first.index()..own.end.index()).map(Node::new) {
                let (to, posted) = (of.rows.of(node), of.posted[node].map(|posted| of.runs[posted].begin));
                if members(to, to, Some(of.allowed.row(at))).into_iter().any(|to| Some(to) != posted) {
                    set(&mut of.lone, node);
                }
            }
        }
        of
    }

    // Performs one round of transitivity. Returns whether anything is new, or `stop` was set.
    fn transitive(&mut self, order: &[Node], stop: &AtomicBool) -> bool {
        let mut changed = false;
        let (mut row, mut done) = (Words::new(), Words::new());
        for node in order.iter().copied() {
            if stop.load(Ordering::Relaxed) {
                return true;
            }
            // `done` contains the nodes whose successors the row already has. The row of the next node of the context
            // is closed, so that everything in it is done.
            row.clear();
            row.extend_from_slice(self.rows.of(node));
            done.clear();
            done.resize(row.len(), 0);
            if node.index() + 1 < self.nodes.piece(node).end.index() {
                let next = Node::new(node.index() + 1);
                done.copy_from_slice(self.rows.of(next));
                if has(&self.lone, next) {
                    self.keep_allowed(next, &mut done);
                }
                set(&mut done, next);
                row.iter_mut().zip(&done).for_each(|(to, from)| *to |= from);
            }
            self.expand(node, &mut row, &mut done);
            if self.rows.of(node) != row {
                self.rows.row_mut(node.index()).copy_from_slice(&row);
                changed = true;
            }
            // If the end of a task comes before a begin, all of the task may.
            if let Some(at) = self.ends(node) {
                for begin in members(&row, &self.begins[self.runs[at].looper.index()], None) {
                    self.allow(at, begin);
                }
            }
        }
        changed
    }

    // Returns the index of the task that ends at this node.
    fn ends(&self, node: Node) -> Option<usize> {
        let at = self.of_task[self.nodes.task(node)?]?;
        (self.runs[at].end == Some(node)).then_some(at)
    }

    // Reduces the successors of a node to those of its whole task, as far as they are known, and the begins of tasks
    // that it posts.
    fn keep_allowed(&self, node: Node, row: &mut [u64]) {
        let Some(at) = self.nodes.task(node).and_then(|task| self.of_task[task]) else { return };
        let begins = members(row, &self.begins[self.runs[at].looper.index()], Some(self.allowed.row(at)));
        let is_posted = |begin: &Node| {
            let post = self.begun[*begin].map(|at| self.runs[at].post);
            post.is_some_and(|post| post == node || has(row, post))
        };
        let posted: Vec<Node> = begins.into_iter().filter(is_posted).collect();
        row.iter_mut().zip(self.allowed.row(at)).for_each(|(to, allowed)| *to &= allowed);
        for begin in posted {
            set(row, begin);
        }
    }

    // Adds the successors of those nodes of a row that are not done yet.
    fn expand(&self, node: Node, row: &mut [u64], done: &mut [u64]) {
        let allowed = self.nodes.task(node).and_then(|task| self.of_task[task]).map(|at| self.allowed.row(at));
        loop {
            let mut more = false;
            for at in 0..row.len() {
                while row[at] & !done[at] != 0 {
                    let next = Node::new(at * 64 + (row[at] & !done[at]).trailing_zeros() as usize);
                    set(done, next);
                    more = true;
                    // A post leads to its begin even if the two tasks have no order; the rules for tasks order them
                    // then.
                    if let Some(run) = self.posted[next].map(|at| &self.runs[at]) {
                        set(row, run.begin);
                    }
                    // The previous node of this context is in the row, and adds everything that this one does.
                    let first = self.nodes.pieces[self.nodes.context[next]].first;
                    if next > first && has(row, Node::new(next.index() - 1)) && !has(&self.lone, next) {
                        continue;
                    }
                    let from = self.rows.of(next);
                    match allowed {
                        None => {
                            row.iter_mut().zip(from).for_each(|(to, from)| *to |= from);
                            // This round has closed the row of `next` already, and without a mask, so that it
                            // contains everything after `next`.
                            if self.nodes.task(next).is_none() && self.nodes.op[next] > self.nodes.op[node] {
                                done.iter_mut().zip(from).for_each(|(to, from)| *to |= from);
                            }
                        }
                        Some(mask) => {
                            row.iter_mut().zip(from).zip(mask).for_each(|((to, from), mask)| *to |= from & mask);
                        }
                    }
                }
            }
            if !more {
                return;
            }
        }
    }

    // Records that the task at `at` ends before another one begins.
    fn allow(&mut self, at: usize, begin: Node) {
        let piece = self.nodes.piece(begin);
        set_all(self.allowed.row_mut(at), piece.first, piece.end);
    }

    // Performs one round of the rules for tasks. Returns whether anything is new, or `stop` was set.
    fn rules(&mut self, stop: &AtomicBool) -> bool {
        let mut changed = false;
        for at in 0..self.runs.len() {
            if stop.load(Ordering::Relaxed) {
                return true;
            }
            let run = self.runs[at];
            let Some(end) = run.end else { continue };
            // FIFO: if two posts are ordered.
            for post in members(self.rows.of(run.post), &self.posts[run.looper.index()], None) {
                if let Some(other) = self.posted[post].filter(|other| self.keeps_order(at, *other)) {
                    changed |= self.order(at, end, self.runs[other].begin);
                }
            }
            // NOPRE: a task with an operation before a begin ends before it.
            for begin in members(self.rows.of(run.begin), &self.begins[run.looper.index()], Some(self.rows.of(end))) {
                changed |= self.order(at, end, begin);
            }
        }
        // Intents: the tasks that they start are posted in the order in which they were sent.
        for first in &self.sent {
            if stop.load(Ordering::Relaxed) {
                return true;
            }
            for second in &self.sent {
                if first.sender != second.sender && self.rows.contains(first.sender, second.sender) {
                    changed |= self.rows.add(first.post, second.post);
                }
            }
        }
        changed
    }

    // Orders two tasks as they ran. An order against the run is ignored.
    fn order(&mut self, at: usize, end: Node, begin: Node) -> bool {
        if self.nodes.op[begin] < self.nodes.op[end] {
            return false;
        }
        self.allow(at, begin);
        self.rows.add(end, begin)
    }

    // Whether a task that was posted before another one runs before it.
    fn keeps_order(&self, first: usize, second: usize) -> bool {
        let (run, other) = (&self.runs[first], &self.runs[second]);
        let Some(end) = run.end else { return false };
        let time = |run: &TaskNodes| self.trace.tasks[run.task].time;
        let by_time = match (time(run), time(other)) {
            (PostTime::Micro, _) => true,
            (_, PostTime::Micro | PostTime::Front) | (PostTime::Idle { .. }, _) => false,
            (PostTime::Now | PostTime::Front | PostTime::After(..=0), _) => true,
            (PostTime::After(one), PostTime::After(two)) => two > 0 && one <= two,
            (PostTime::At(one), PostTime::At(two)) => one <= two,
            _ => false,
        };
        // Alternatively, the second was posted by a task that began after the first had ended.
        let parent = || self.nodes.task(other.post).and_then(|task| self.of_task[task]);
        by_time || parent().is_some_and(|at| self.rows.contains(end, self.runs[at].begin))
    }
}

// Returns the tasks that were posted and that ran, in the order of their posts.
fn runs(trace: &Trace, nodes: &Nodes) -> Vec<TaskNodes> {
    let mut ends: IndexVec<TaskNo, Option<Node>> = trace.tasks.ids().map(|_| None).collect();
    for (op, operation) in trace.ops.enumerate() {
        if let Action::End(task) = operation.action {
            ends[task] = Some(nodes.of[op]);
        }
    }
    let of = |(no, task): (TaskNo, &crate::trace::Task)| {
        let (post, begin) = (nodes.of[task.post?], nodes.of[task.begin?]);
        Some(TaskNodes { task: no, looper: task.looper, context: nodes.context[begin], post, begin, end: ends[no] })
    };
    let mut runs: Vec<TaskNodes> = trace.tasks.enumerate().filter_map(of).collect();
    runs.sort_by_key(|run| nodes.op[run.post]);
    runs
}
