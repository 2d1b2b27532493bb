//! The unfolded program: contexts, and one control-flow graph for each of them.

use crate::event::{BodyId, EventId, ListenerId, NULL, SiteId};
use crate::lang::ast::BinaryOp;
use crate::lang::program::{ClassId, GlobalId};
use crate::world::PostClass;
use smallvec::SmallVec;
use std::collections::BTreeSet;
use std::ops::Range;

crate::define_id! {
    #[allow(unreachable_pub, reason = "the macro makes public types")]
    /// A context: a thread, or one task, by who made it and where.
    Ctx,
    #[allow(unreachable_pub, reason = "the macro makes public types")]
    /// A node of a graph. The nodes of one context have consecutive numbers.
    Node,
}

/// The context that stands for the start of the app.
pub(super) const APP: Ctx = Ctx(0);

/// A value, as far as it is known without memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Val {
    Unknown,
    /// A number, a truth value, null, or the index of a lock, an object ... of the program.
    Word(i64),
    /// A thread of this context, or (`true`) null.
    Thread(Ctx, bool),
    /// A handler on a looper of this context, or (`true`) null.
    Handler(Ctx, bool),
}

impl Val {
    pub(super) const NULL: Self = Self::Word(NULL);

    pub(super) fn word(self) -> Option<i64> {
        if let Self::Word(word) = self { Some(word) } else { None }
    }

    /// Returns the thread that a post to this value reaches.
    pub(super) fn looper(self) -> Option<Ctx> {
        if let Self::Thread(ctx, _) | Self::Handler(ctx, _) = self { Some(ctx) } else { None }
    }

    /// Returns what is known of a value that is one of the two.
    pub(super) fn merged(self, other: Self) -> Self {
        match (self, other) {
            _ if self == other => self,
            (Self::Thread(a, _), Self::Thread(b, _)) if a == b => Self::Thread(a, true),
            (Self::Handler(a, _), Self::Handler(b, _)) if a == b => Self::Handler(a, true),
            (Self::Thread(a, _), Self::NULL) | (Self::NULL, Self::Thread(a, _)) => Self::Thread(a, true),
            (Self::Handler(a, _), Self::NULL) | (Self::NULL, Self::Handler(a, _)) => Self::Handler(a, true),
            _ => Self::Unknown,
        }
    }
}

/// What a context is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum ContextKind {
    App,
    Thread,
    Task,
    Firing(EventId),
    /// A part of an async task: from its begin, or from a suspension point, up to the next ones. Nothing else runs on
    /// its looper meanwhile, as for a task.
    Job,
    /// A callback of a component: a message of its looper. Nothing is known of when it comes.
    Row,
}

/// How a context begins on its looper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Start {
    /// With a message that the maker posts.
    Message,
    /// With a message that is posted some time behind the maker.
    Later,
    /// Inside the operation that makes it, which goes on when this context is over.
    Called,
    /// With a message, or at once behind the maker.
    Either,
}

/// A suspension point of an async task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pause {
    /// The rest is queued at once.
    Yield,
    /// The rest is queued after some time, which is more than 0.
    Sleep,
    /// The rest goes on at another place.
    Switch,
    /// The task waits, unless what it waits for has happened.
    Other,
}

/// A context.
#[derive(Clone, Debug)]
pub(super) struct Context {
    pub(super) kind: ContextKind,
    pub(super) start: Start,
    /// The first part of the async task that this one is a part of; the context itself for all others.
    pub(super) whole: Ctx,
    /// Whether the job belongs to the one that launches it, and ends before that one.
    pub(super) belongs: bool,
    /// `None` for the app, and for a looper without a block.
    pub(super) body: Option<BodyId>,
    pub(super) args: Vec<Val>,
    /// The nodes that make it. More than one only if it is folded.
    pub(super) makers: Vec<Node>,
    /// The thread that runs it, if that is one known context. Of a task or firing only.
    pub(super) looper: Option<Ctx>,
    /// The place of its message in the queue, if known.
    pub(super) class: Option<PostClass>,
    /// Whether one maker may make several tasks of it: a message that returns to its queue.
    pub(super) returns: bool,
    /// Whether it runs the messages of its queue when its body has ended.
    pub(super) loops: bool,
    /// Whether it stands for contexts that were not unfolded one by one.
    pub(super) folded: bool,
    /// Whether a run has at most one instance of it.
    pub(super) unique: bool,
    pub(super) nodes: Range<u32>,
    /// The last node. `None` if control never comes to the end.
    pub(super) exit: Option<Node>,
    /// The contexts that it makes, in order and without repetition.
    pub(super) children: Vec<Ctx>,
}

impl Context {
    /// Returns the first node.
    pub(super) fn entry(&self) -> Node {
        Node(self.nodes.start)
    }
}

/// A lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum LockId {
    Lock(i64),
    /// The monitor of an object that a top-level `let` names.
    Object(i64),
    Rw(i64),
}

/// A lock that is held, and whether it excludes its readers too.
pub(super) type Held = (LockId, bool);

/// What notifications wake.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Monitor {
    Lock(LockId),
    Condition(i64),
}

/// A place in memory. `None` for an index or object that is not known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Place {
    Global {
        id: GlobalId,
        cell: Option<i64>,
    },
    Field {
        class: ClassId,
        field: u32,
        cell: Option<i64>,
        object: Option<i64>,
    },
    /// An object as a whole. Class 0 is any object.
    Object {
        class: ClassId,
        object: Option<i64>,
    },
}

/// An access to memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccessData {
    pub(super) place: Place,
    pub(super) writes: bool,
    /// The value that it writes, if known.
    pub(super) value: Option<i64>,
    /// Whether it is an operation on an atomic.
    pub(super) atomic: bool,
    /// Whether it can race at all.
    pub(super) races: bool,
}

/// A condition on the value of a cell of a global: `global[cell] op constant` is `wanted`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Test {
    pub(super) global: GlobalId,
    /// The number of the cell: 0 if the global has only one.
    pub(super) cell: i64,
    pub(super) op: TestOp,
    pub(super) constant: i64,
    pub(super) wanted: bool,
}

/// An operator of a [`Test`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum TestOp {
    Eq,
    Lt,
    Gt,
}

impl TestOp {
    /// Returns the operator, and whether its result is the one of `op`.
    pub(super) fn of(op: BinaryOp) -> Option<(Self, bool)> {
        Some(match op {
            BinaryOp::Eq => (Self::Eq, true),
            BinaryOp::Ne => (Self::Eq, false),
            BinaryOp::Lt => (Self::Lt, true),
            BinaryOp::Ge => (Self::Lt, false),
            BinaryOp::Gt => (Self::Gt, true),
            BinaryOp::Le => (Self::Gt, false),
            _ => return None,
        })
    }

    /// Returns the operator with its sides exchanged.
    pub(super) fn mirrored(self) -> Self {
        match self {
            Self::Eq => Self::Eq,
            Self::Lt => Self::Gt,
            Self::Gt => Self::Lt,
        }
    }
}

impl Test {
    /// Returns whether every value that satisfies this condition satisfies the other one.
    pub(super) fn implies(self, other: Self) -> bool {
        let exact = self.op == TestOp::Eq && self.wanted && (self.global, self.cell) == (other.global, other.cell);
        self == other || (exact && other.holds(self.constant))
    }

    /// Returns whether the condition comes out as wanted for this value.
    pub(super) fn holds(self, value: i64) -> bool {
        let result = match self.op {
            TestOp::Eq => value == self.constant,
            TestOp::Lt => value < self.constant,
            TestOp::Gt => value > self.constant,
        };
        result == self.wanted
    }
}

/// Who reads a condition, as far as it matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Reader {
    /// The blocks around the read, an index in [`Graph::around`].
    pub(super) around: u32,
    /// The context. The app if no block holds a lock, so that equal conditions are one.
    pub(super) ctx: Ctx,
    /// Whether others may have run since the condition came out.
    pub(super) is_stale: bool,
}

/// What has happened where the facts about a context grow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Sync {
    /// A thread or job has been joined.
    Join(Ctx),
    /// A job has run up to its first suspension point.
    Called(Ctx),
    /// A condition has come out.
    Flag(Test, Reader),
    /// The queue of this thread has been left.
    LoopLeft,
    /// This looper has been told to quit.
    HasQuit(Ctx),
    /// A permit of a semaphore has been taken.
    Down(i64),
    /// All have arrived at a barrier.
    Arrived(i64),
    /// A wait was notified.
    Woken(Monitor),
    /// A callback begins.
    Callback(ListenerId, BodyId),
}

/// What a node does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NodeKind {
    /// An entry, an exit, a join of ways, or an operation that no rule names.
    Plain,
    /// An access, by its index in [`Graph::accesses`].
    Access(u32),
    Make(Ctx),
    /// A suspension point. Only while a job is unfolded: then it makes the next part of the job.
    Suspend(Pause),
    Quit {
        looper: Option<Ctx>,
        safely: bool,
    },
    LoopQueue,
    Up(Option<i64>),
    Arrive(Option<i64>),
    Notify(Option<Monitor>),
    Register(ListenerId, BodyId),
    /// Acquires a lock by hand. `None` if the lock is not known.
    Acquire(Option<Held>),
    /// Releases a lock by hand.
    Release(Option<Held>),
    /// Removes the messages of a task, or of any task.
    Cancel(Option<BodyId>),
    Fence,
    /// Not an operation: the facts grow here.
    Sync(Sync),
}

/// The blocks around a node that hold locks.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Blocks {
    /// The known locks that are held.
    pub(super) locks: Vec<Held>,
    /// The sites that acquire, from outside, and whether the lock of each is known.
    pub(super) sites: Vec<(SiteId, bool)>,
}

/// A node.
#[derive(Clone, Debug)]
pub(super) struct NodeData {
    pub(super) ctx: Ctx,
    /// The site of the operation, or [`NO_SITE`](crate::lang::program::NO_SITE).
    pub(super) site: SiteId,
    pub(super) kind: NodeKind,
    /// The blocks around it, an index in [`Graph::around`].
    pub(super) around: u32,
}

/// All contexts with their graphs.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    pub(super) contexts: Vec<Context>,
    pub(super) nodes: Vec<NodeData>,
    pub(super) succ: Vec<SmallVec<[u32; 2]>>,
    pub(super) accesses: Vec<AccessData>,
    /// The different sets of blocks around nodes. The first one is empty.
    pub(super) around: Vec<Blocks>,
    /// Acquisitions of blocks of which the nodes inside are not all known.
    pub(super) busy: BTreeSet<SiteId>,
    /// Contexts in which calls share a copy of a body. The locks around these calls are not known inside of the copy.
    pub(super) shares: BTreeSet<Ctx>,
    /// Bodies that something runs, or registers as a callback.
    pub(super) runs: BTreeSet<BodyId>,
    /// Globals that `init` writes.
    pub(super) init_writes: BTreeSet<GlobalId>,
    /// Whether something was folded because of a limit.
    pub(super) is_cut: bool,
}

impl Graph {
    pub(super) fn context(&self, ctx: Ctx) -> &Context {
        &self.contexts[ctx.0 as usize]
    }

    pub(super) fn node(&self, node: Node) -> &NodeData {
        &self.nodes[node.0 as usize]
    }

    pub(super) fn successors(&self, node: Node) -> impl Iterator<Item = Node> + '_ {
        self.succ[node.0 as usize].iter().map(|n| Node(*n))
    }

    pub(super) fn access(&self, node: Node) -> Option<&AccessData> {
        if let NodeKind::Access(i) = self.node(node).kind { self.accesses.get(i as usize) } else { None }
    }

    /// Returns the known locks of the blocks around a node.
    pub(super) fn held(&self, node: Node) -> &[Held] {
        self.around.get(self.node(node).around as usize).map_or(&[], |blocks| &blocks.locks)
    }

    /// Whether an operation of one context may be performed while another one is in the middle of its own on the same
    /// thread: it is the same context, or may be called by it.
    pub(super) fn may_run_inside(&self, inner: Ctx, outer: Ctx) -> bool {
        let mut open = vec![inner];
        let mut seen = BTreeSet::from([inner]);
        while let Some(ctx) = open.pop() {
            if ctx == outer {
                return true;
            }
            let context = self.context(ctx);
            let is_called = match context.kind {
                ContextKind::Job => matches!(context.start, Start::Called | Start::Either) || context.looper.is_none(),
                ContextKind::Task => context.looper.is_none() && context.class.is_none(),
                _ => false,
            };
            if is_called {
                open.extend(context.makers.iter().map(|maker| self.node(*maker).ctx).filter(|ctx| seen.insert(*ctx)));
            }
        }
        false
    }

    /// Returns the contexts that may be in the middle of an operation on the same thread when this one runs.
    pub(super) fn around_start(&self, ctx: Ctx) -> BTreeSet<Ctx> {
        let (mut open, mut seen, mut around) = (vec![ctx], BTreeSet::from([ctx]), BTreeSet::new());
        while let Some(ctx) = open.pop() {
            let context = self.context(ctx);
            if matches!(context.start, Start::Message | Start::Later) {
                continue;
            }
            for maker in context.makers.iter().map(|maker| self.node(*maker).ctx) {
                // An earlier part of the job has come to its end.
                if context.start == Start::Called {
                    around.insert(maker);
                }
                if seen.insert(maker) {
                    open.push(maker);
                }
            }
        }
        around
    }

    /// Whether all operations of two contexts are of one instance of one thread, task or job, so that they are in the
    /// order of its program.
    pub(super) fn are_one(&self, a: Ctx, b: Ctx) -> bool {
        let whole = self.context(a).whole;
        whole == self.context(b).whole && self.context(whole).unique
    }

    /// Iterates over all contexts.
    pub(super) fn ids(&self) -> impl DoubleEndedIterator<Item = Ctx> + use<> {
        (0..self.contexts.len() as u32).map(Ctx)
    }

    /// Iterates over the nodes of a context.
    pub(super) fn nodes_of(&self, ctx: Ctx) -> impl DoubleEndedIterator<Item = Node> + use<> {
        self.context(ctx).nodes.clone().map(Node)
    }
}
