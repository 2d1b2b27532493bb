//! The least relation that has the direct edges and is closed under the rules.
//!
//! Rounds until nothing changes. A round goes through the nodes from the last of the run to the first, since nearly all edges lead onwards, and makes each row
//! closed under transitivity; then it applies the rules for tasks. Within a context a row has all that the row of the next node has, so that only what is new
//! there is looked at, and of that only the first node of each context: the others bring nothing that this one does not. Except for what an edge alone says: an enable, or a signal, comes
//! before an operation of another task of its looper also if nothing else of its own task does.

use super::direct::Sent;
use super::nodes::{Context, Node, Nodes};
use super::rows::{Rows, Words, clear_all, has, members, set, set_all};
use crate::base::{Id, IndexVec};
use crate::event::PostTime;
use crate::trace::{Action, TaskNo, ThreadNo, Trace};
use std::sync::atomic::{AtomicBool, Ordering};

// The nodes of a task.
#[derive(Clone, Copy, Debug)]
struct Run {
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
    sent: Vec<Sent>,
    // The tasks that were posted and that ran, in the order of their posts.
    runs: Vec<Run>,
    // Their places there, by the task, by the node of the post and of the begin.
    of_task: IndexVec<TaskNo, Option<usize>>,
    posted: IndexVec<Node, Option<usize>>,
    begun: IndexVec<Node, Option<usize>>,
    // The posts to a looper, and the begins there.
    posts: Vec<Words>,
    begins: Vec<Words>,
    // Nodes with an edge into another task of their looper.
    lone: Words,
    // For each of the tasks the nodes that its own may come before: all but those of tasks of the same looper that have no order with it.
    allowed: Rows,
}

/// Closes the relation. `None` if it was interrupted.
pub(super) fn close(trace: &Trace, nodes: &Nodes, rows: Rows, sent: Vec<Sent>, stop: &AtomicBool) -> Option<Rows> {
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
    fn new(trace: &'t Trace, nodes: &'t Nodes, rows: Rows, sent: Vec<Sent>, stop: &AtomicBool) -> Self {
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
            // Then nobody asks for the rest.
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

    // One round of transitivity; says whether anything is new, or it was interrupted.
    fn transitive(&mut self, order: &[Node], stop: &AtomicBool) -> bool {
        let mut changed = false;
        let (mut row, mut done) = (Words::new(), Words::new());
        for node in order.iter().copied() {
            if stop.load(Ordering::Relaxed) {
                return true;
            }
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
            // What the end of a task comes before, all of the task does.
            if let Some(at) = self.ends(node) {
                for begin in members(&row, &self.begins[self.runs[at].looper.index()], None) {
                    self.allow(at, begin);
                }
            }
        }
        changed
    }

    // The task that ends here.
    fn ends(&self, node: Node) -> Option<usize> {
        let at = self.of_task[self.nodes.task(node)?]?;
        (self.runs[at].end == Some(node)).then_some(at)
    }

    // Of what comes after a node what comes after its whole task, so far as is known; and what it posts.
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

    // Adds what comes after the nodes of a row that are not done yet.
    fn expand(&self, node: Node, row: &mut [u64], done: &mut [u64]) {
        let allowed = self.nodes.task(node).and_then(|task| self.of_task[task]).map(|at| self.allowed.row(at));
        loop {
            let mut more = false;
            for at in 0..row.len() {
                while row[at] & !done[at] != 0 {
                    let next = Node::new(at * 64 + (row[at] & !done[at]).trailing_zeros() as usize);
                    set(done, next);
                    more = true;
                    // Also into a task that has no order with this one: the rule for tasks makes one of it.
                    if let Some(run) = self.posted[next].map(|at| &self.runs[at]) {
                        set(row, run.begin);
                    }
                    let first = self.nodes.pieces[self.nodes.context[next]].first;
                    if next > first && has(row, Node::new(next.index() - 1)) && !has(&self.lone, next) {
                        continue;
                    }
                    let from = self.rows.of(next);
                    match allowed {
                        None => {
                            row.iter_mut().zip(from).for_each(|(to, from)| *to |= from);
                            // This round has closed its row already, and there was no rule of tasks: what comes after that is in it.
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

    // The task at `at` ends before another begins.
    fn allow(&mut self, at: usize, begin: Node) {
        let piece = self.nodes.piece(begin);
        set_all(self.allowed.row_mut(at), piece.first, piece.end);
    }

    // One round of the rules; says whether anything is new, or it was interrupted.
    fn rules(&mut self, stop: &AtomicBool) -> bool {
        let mut changed = false;
        for at in 0..self.runs.len() {
            if stop.load(Ordering::Relaxed) {
                return true;
            }
            let run = self.runs[at];
            let Some(end) = run.end else { continue };
            // FIFO: of two posts with an order.
            for post in members(self.rows.of(run.post), &self.posts[run.looper.index()], None) {
                if let Some(other) = self.posted[post].filter(|other| self.keeps_order(at, *other)) {
                    changed |= self.order(at, end, self.runs[other].begin);
                }
            }
            // NOPRE: what has an operation before a begin ends before it.
            for begin in members(self.rows.of(run.begin), &self.begins[run.looper.index()], Some(self.rows.of(end))) {
                changed |= self.order(at, end, begin);
            }
        }
        // What intents start is posted in their order.
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

    // Orders two tasks as they ran. An order against the run would be none.
    fn order(&mut self, at: usize, end: Node, begin: Node) -> bool {
        if self.nodes.op[begin] < self.nodes.op[end] {
            return false;
        }
        self.allow(at, begin);
        self.rows.add(end, begin)
    }

    // Whether a task that was posted before another runs before it.
    fn keeps_order(&self, first: usize, second: usize) -> bool {
        let (run, other) = (&self.runs[first], &self.runs[second]);
        let Some(end) = run.end else { return false };
        let time = |run: &Run| self.trace.tasks[run.task].time;
        let by_time = match (time(run), time(other)) {
            (_, PostTime::Front) => false,
            (PostTime::Now | PostTime::Front | PostTime::After(..=0), _) => true,
            (PostTime::After(one), PostTime::After(two)) => two > 0 && one <= two,
            (PostTime::At(one), PostTime::At(two)) => one <= two,
            _ => false,
        };
        // Or the second was posted by a task that began after the first had ended.
        let parent = || self.nodes.task(other.post).and_then(|task| self.of_task[task]);
        by_time || parent().is_some_and(|at| self.rows.contains(end, self.runs[at].begin))
    }
}

// The tasks that were posted and that ran.
fn runs(trace: &Trace, nodes: &Nodes) -> Vec<Run> {
    let mut ends: IndexVec<TaskNo, Option<Node>> = trace.tasks.ids().map(|_| None).collect();
    for (op, operation) in trace.ops.enumerate() {
        if let Action::End(task) = operation.action {
            ends[task] = Some(nodes.of[op]);
        }
    }
    let of = |(no, task): (TaskNo, &crate::trace::Task)| {
        let (post, begin) = (nodes.of[task.post?], nodes.of[task.begin?]);
        Some(Run { task: no, looper: task.looper, context: nodes.context[begin], post, begin, end: ends[no] })
    };
    let mut runs: Vec<Run> = trace.tasks.enumerate().filter_map(of).collect();
    runs.sort_by_key(|run| nodes.op[run.post]);
    runs
}
