//! The nodes of the graph: each operation is a node, except that neighboring accesses of one context share one.

use crate::base::{Id, IndexVec};
use crate::trace::{Action, OpNo, TaskNo, ThreadNo, Trace};

crate::define_id! {
    #[allow(unreachable_pub, reason = "the macro makes public types")]
    /// A node, by its index in the rows. The nodes of one context are neighbors, in the order of the run.
    Node,
    #[allow(unreachable_pub, reason = "the macro makes public types")]
    /// A context: one task, or a piece of a thread's own code.
    Context,
}

/// A piece of a thread whose operations are in program order.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) thread: ThreadNo,
    /// The task; `None` for code that is no posted task, to which the rules for tasks do not apply.
    pub(super) task: Option<TaskNo>,
    /// Nodes of the piece: from `first` up to, but without, `end`.
    pub(super) first: Node,
    pub(super) end: Node,
}

/// The nodes of a trace.
#[derive(Clone, Debug)]
pub(super) struct Nodes {
    /// The node of each operation.
    pub(super) of: IndexVec<OpNo, Node>,
    pub(super) context: IndexVec<Node, Context>,
    /// The first operation of each node.
    pub(super) op: IndexVec<Node, OpNo>,
    pub(super) pieces: IndexVec<Context, Piece>,
}

impl Nodes {
    pub(super) fn of(trace: &Trace) -> Self {
        let (contexts, pieces) = contexts(trace);
        let mut nodes = Self {
            of: trace.ops.ids().map(|_| Node(0)).collect(),
            context: IndexVec::new(),
            op: IndexVec::new(),
            pieces,
        };
        // Context by context, so that the nodes of each are neighbors.
        let mut members: IndexVec<Context, Vec<OpNo>> = nodes.pieces.ids().map(|_| Vec::new()).collect();
        for (op, context) in contexts.enumerate() {
            members[*context].push(op);
        }
        for (context, ops) in members.enumerate() {
            nodes.pieces[context].first = nodes.op.next_id();
            let mut accesses = false;
            for op in ops {
                let access = trace.ops[*op].action.access().is_some();
                if !(access && accesses) {
                    nodes.op.add(*op);
                    nodes.context.add(context);
                }
                accesses = access;
                nodes.of[*op] = Node::new(nodes.op.len() - 1);
            }
            nodes.pieces[context].end = nodes.op.next_id();
        }
        nodes
    }

    pub(super) fn len(&self) -> usize {
        self.op.len()
    }

    pub(super) fn piece(&self, node: Node) -> &Piece {
        &self.pieces[self.context[node]]
    }

    pub(super) fn task(&self, node: Node) -> Option<TaskNo> {
        self.piece(node).task
    }
}

// Returns the context of each operation, and the pieces.
fn contexts(trace: &Trace) -> (IndexVec<OpNo, Context>, IndexVec<Context, Piece>) {
    let mut pieces: IndexVec<Context, Piece> = IndexVec::new();
    let mut open: IndexVec<ThreadNo, Option<Context>> = trace.threads.ids().map(|_| None).collect();
    let mut contexts = IndexVec::new();
    for (_, op) in trace.ops.enumerate() {
        let alone = trace.threads[op.thread].environment;
        let task = match op.action {
            Action::Begin(task) => Some(trace.tasks[task].post.map(|_| task)),
            Action::Leave => Some(None),
            _ => None,
        };
        let context = match open[op.thread] {
            Some(context) if task.is_none() => context,
            _ => pieces.add(Piece { thread: op.thread, task: task.flatten(), first: Node(0), end: Node(0) }),
        };
        contexts.add(context);
        let closes = alone || matches!(op.action, Action::End(_) | Action::Loop | Action::ThreadExit);
        open[op.thread] = (!closes).then_some(context);
    }
    (contexts, pieces)
}
