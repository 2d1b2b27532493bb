//! The edges that exist before any rule derives edges from others.

use super::nodes::{Context, Node, Nodes};
use super::rows::Rows;
use crate::base::IndexVec;
use crate::trace::{Action, ChannelNo, EventNo, LockNo, OpNo, TaskNo, ThreadNo, Trace};
use std::collections::BTreeMap;

/// Prefix of the events of intents that the app sends. The order of two such intents is the order of the posts that
/// they start.
pub(super) const SENT: &str = "broadcast intent ";

/// An intent that was sent, and the post that it started.
#[derive(Clone, Copy, Debug)]
pub(super) struct IntentSend {
    pub(super) sender: Node,
    pub(super) post: Node,
}

// The releases of a lock, as DroidRacer's program keeps them.
#[derive(Clone, Default, Debug)]
struct Releases {
    // The thread that released last.
    last: Option<ThreadNo>,
    // For each thread the last release outside of tasks, or the last releases of its tasks since then.
    of: BTreeMap<ThreadNo, Vec<(Context, Node)>>,
    // The releases of another thread that the last acquisition by a task came after.
    found: Vec<Node>,
}

struct DirectEdges<'t> {
    trace: &'t Trace,
    nodes: &'t Nodes,
    rows: Rows,
    forked: IndexVec<ThreadNo, Option<Node>>,
    ended: IndexVec<ThreadNo, Option<Node>>,
    seen: IndexVec<ThreadNo, bool>,
    queue: IndexVec<ThreadNo, Option<Node>>,
    looping: IndexVec<ThreadNo, Option<Node>>,
    ends: IndexVec<ThreadNo, Vec<Node>>,
    end_of: IndexVec<TaskNo, Option<Node>>,
    locks: BTreeMap<LockNo, Releases>,
    channels: BTreeMap<ChannelNo, Vec<Node>>,
    enabled: BTreeMap<EventNo, Node>,
    sent: Vec<IntentSend>,
}

/// Returns all direct edges except program order, and the intents.
pub(super) fn direct(trace: &Trace, nodes: &Nodes) -> (Rows, Vec<IntentSend>) {
    let mut edges = DirectEdges {
        trace,
        nodes,
        rows: Rows::new(nodes.len(), nodes.len()),
        forked: trace.threads.ids().map(|_| None).collect(),
        ended: trace.threads.ids().map(|_| None).collect(),
        seen: trace.threads.ids().map(|_| false).collect(),
        queue: trace.threads.ids().map(|_| None).collect(),
        looping: trace.threads.ids().map(|_| None).collect(),
        ends: trace.threads.ids().map(|_| Vec::new()).collect(),
        end_of: trace.tasks.ids().map(|_| None).collect(),
        locks: BTreeMap::new(),
        channels: BTreeMap::new(),
        enabled: BTreeMap::new(),
        sent: Vec::new(),
    };
    for op in trace.ops.ids() {
        edges.operation(op);
    }
    (edges.rows, edges.sent)
}

impl DirectEdges<'_> {
    fn add(&mut self, from: Option<Node>, to: Node) {
        if let Some(from) = from {
            self.rows.add(from, to);
        }
    }

    fn operation(&mut self, op: OpNo) {
        let (thread, action) = (self.trace.ops[op].thread, self.trace.ops[op].action);
        let node = self.nodes.of[op];
        if !self.seen[thread] {
            self.seen[thread] = true;
            self.add(self.forked[thread], node);
        }
        match action {
            Action::Fork(child) => self.forked[child] = Some(node),
            Action::ThreadExit => self.ended[thread] = Some(node),
            Action::Join(child) => self.add(self.ended[child], node),
            Action::AttachQueue => self.queue[thread] = Some(node),
            Action::Loop => {
                self.add(self.queue[thread], node);
                self.looping[thread] = Some(node);
            }
            Action::Leave => {
                for end in &self.ends[thread] {
                    self.rows.add(*end, node);
                }
            }
            Action::Post(_) if self.nodes.task(node).is_none() => self.add(self.queue[thread], node),
            Action::Begin(task) => self.begin(task, node),
            Action::End(task) => {
                self.end_of[task] = Some(node);
                self.ends[thread].push(node);
            }
            Action::Acquire(lock) => self.acquire(lock, thread, node),
            Action::Release(lock) => self.release(lock, thread, node),
            Action::Enable(event) => _ = self.enabled.insert(event, node),
            Action::Send(channel) => self.channels.entry(channel).or_default().push(node),
            Action::Receive(channel) => {
                for from in self.channels.get(&channel).cloned().unwrap_or_default() {
                    self.add(Some(from), node);
                }
            }
            Action::Post(_) | Action::ThreadInit | Action::Read(_) | Action::Write(_) => {}
        }
    }

    fn begin(&mut self, task: TaskNo, node: Node) {
        let (trace, looper) = (self.trace, self.trace.tasks[task].looper);
        let post = trace.tasks[task].post.map(|post| self.nodes.of[post]);
        if let Some(post) = post {
            self.add(Some(post), node);
            self.add(self.looping[looper], node);
            // The task that has posted it, if it ran on the same looper.
            if let Some(parent) = self.nodes.task(post).filter(|parent| trace.tasks[*parent].looper == looper) {
                self.add(self.end_of[parent], node);
            }
        }
        // The edge leads to the post even if the post came earlier: DroidRacer's program ignores the order of the run
        // here.
        for event in &trace.tasks[task].events {
            let Some(enable) = self.enabled.get(event).copied() else { continue };
            self.add(Some(enable), post.unwrap_or(node));
            if let (Some(post), true) = (post, trace.events[*event].starts_with(SENT)) {
                self.sent.push(IntentSend { sender: enable, post });
            }
        }
    }

    fn acquire(&mut self, lock: LockNo, thread: ThreadNo, node: Node) {
        let in_task = self.nodes.task(node).is_some();
        let Some(releases) = self.locks.get_mut(&lock) else { return };
        let from: Vec<Node> = match releases.last {
            Some(last) if last != thread => {
                let from: Vec<Node> = releases.of.get(&last).into_iter().flatten().map(|(_, node)| *node).collect();
                releases.found = if in_task { from.clone() } else { Vec::new() };
                from
            }
            Some(_) if in_task => releases.found.clone(),
            _ => Vec::new(),
        };
        for from in from {
            self.add(Some(from), node);
        }
    }

    fn release(&mut self, lock: LockNo, thread: ThreadNo, node: Node) {
        let context = self.nodes.context[node];
        let releases = self.locks.entry(lock).or_default();
        releases.last = Some(thread);
        let of = releases.of.entry(thread).or_default();
        if self.nodes.task(node).is_none() {
            of.clear();
        } else {
            of.retain(|(other, _)| *other != context && self.nodes.pieces[*other].task.is_some());
        }
        of.push((context, node));
    }
}
