//! Unfolds a program into contexts: each body is walked once for each context that runs it, with the values of its
//! arguments, and what it makes are further contexts.
//!
//! Values are known as far as they need no memory. A global of a thread, looper or handler is known too if it is only
//! ever given one value besides null: a first unfolding finds these values, and a second one uses them.

mod calls;
mod conditions;
mod exprs;
mod loops;
mod makers;
mod operations;
mod parts;
mod scopes;
mod start;
mod state;
mod stmts;

use super::StaticsOptions;
use super::flow::Flow;
use super::graph::{APP, Blocks, Context, ContextKind, Ctx, Graph, Node, NodeData, NodeKind, Val};
use crate::event::{BodyId, SiteId, SiteKind};
use crate::lang::Program;
use crate::lang::program::{GlobalId, LocalId, NO_SITE};
use scopes::Scope;
use smallvec::SmallVec;
use state::State;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of rounds of a loop that are unfolded one by one.
const MOST_ROUNDS: i64 = 64;

/// Maximum number of calls around a node. Deeper calls of a context share one copy of each body.
const DEEPEST_CALL: usize = 40;

/// Maximum number of calls of one body around a node.
const DEEPEST_RECURSION: usize = 30;

/// Maximum number of contexts above a context that run the same body with other arguments.
const MOST_CLONES: usize = 40;

/// The body, kind, looper and class by which contexts are folded.
type FoldKey = (ContextKind, Option<BodyId>, Option<Ctx>, Option<crate::world::PostClass>);

/// A call, or the body of a context.
struct Frame {
    body: BodyId,
    args: Vec<Val>,
    /// The number of scopes around the call.
    scopes: usize,
    /// The ends of the call, with its value.
    ends: Vec<State>,
    value: Option<Val>,
}

/// The unfolding of a program.
pub(super) struct Unfolder<'p> {
    program: &'p Program,
    options: StaticsOptions,
    graph: Graph,
    /// The values of globals that are only given one value besides null.
    known: BTreeMap<GlobalId, Val>,
    /// The values that globals are given, merged.
    given: BTreeMap<GlobalId, Val>,
    /// The context of each declared thread. `None` for a worker of a pool.
    threads: Vec<Option<Ctx>>,
    /// The context that is walked now.
    ctx: Ctx,
    /// The value of `self` there.
    this: Val,
    frames: Vec<Frame>,
    scopes: Vec<Scope<'p>>,
    /// The blocks around the present place.
    blocks: Blocks,
    /// The number of `blocks` in [`Graph::around`].
    around: u32,
    all_blocks: BTreeMap<Blocks, u32>,
    /// The shared copies of bodies in the present context: begin and end.
    copies: BTreeMap<BodyId, (Node, Node)>,
    /// Copies that have not been walked.
    open: Vec<(BodyId, Node, Node)>,
    /// Contexts of each body.
    of_body: BTreeMap<BodyId, Vec<Ctx>>,
    folded: BTreeMap<FoldKey, Ctx>,
    /// Whether some statement makes a job go on at another place.
    switches: bool,
    /// Contexts whose graph exists already: later parts of jobs.
    walked: BTreeSet<Ctx>,
}

/// Unfolds a program.
pub(super) fn unfold(program: &Program, options: &StaticsOptions) -> Graph {
    let mut first = Unfolder::new(program, options, BTreeMap::new());
    first.run();
    let known = first.single_values();
    if known.is_empty() {
        return first.graph;
    }
    let mut second = Unfolder::new(program, options, known);
    second.run();
    // The values name contexts of the first unfolding.
    let same = |a: &Context, b: &Context| (a.kind, a.body, &a.makers) == (b.kind, b.body, &b.makers);
    let (old, new) = (&first.graph, &second.graph);
    let agree =
        old.contexts.len() == new.contexts.len() && old.contexts.iter().zip(&new.contexts).all(|(a, b)| same(a, b));
    if agree { second.graph } else { first.graph }
}

impl<'p> Unfolder<'p> {
    fn new(program: &'p Program, options: &StaticsOptions, known: BTreeMap<GlobalId, Val>) -> Self {
        Self {
            program,
            options: *options,
            graph: Graph { around: vec![Blocks::default()], ..Graph::default() },
            known,
            given: BTreeMap::new(),
            threads: Vec::new(),
            ctx: APP,
            this: Val::Unknown,
            frames: Vec::new(),
            scopes: Vec::new(),
            blocks: Blocks::default(),
            around: 0,
            all_blocks: BTreeMap::from([(Blocks::default(), 0)]),
            copies: BTreeMap::new(),
            open: Vec::new(),
            of_body: BTreeMap::new(),
            folded: BTreeMap::new(),
            switches: program.sites.iter().any(|site| site.kind == SiteKind::Switch),
            walked: BTreeSet::new(),
        }
    }

    fn run(&mut self) {
        self.init();
        self.app();
        let mut next = 1;
        while next < self.graph.contexts.len() {
            let ctx = Ctx(next as u32);
            if !self.walked.contains(&ctx) {
                self.walk(ctx);
                self.split(ctx);
            }
            next += 1;
        }
        Flow::settle(&mut self.graph);
    }

    /// Returns whether a limit is reached, so that nothing is unfolded one by one any more.
    fn is_full(&self) -> bool {
        self.graph.contexts.len() >= self.options.contexts || self.graph.nodes.len() >= self.options.operations
    }

    /// Adds a node without a way to it.
    fn node(&mut self, kind: NodeKind, site: SiteId) -> Node {
        let node = Node(self.graph.nodes.len() as u32);
        self.graph.nodes.push(NodeData { ctx: self.ctx, site, kind, around: self.around });
        // After the operation, what follows in the same step may throw.
        let mut succ = SmallVec::new();
        for scope in &self.scopes {
            if let Scope::Handler(head) = scope
                && !succ.contains(&head.0)
            {
                succ.push(head.0);
            }
        }
        self.graph.succ.push(succ);
        node
    }

    fn edge(&mut self, from: Node, to: Node) {
        let succ = &mut self.graph.succ[from.0 as usize];
        // The end of a shared copy has as many successors as calls; the same edge twice does no harm.
        if !succ.iter().rev().take(8).any(|known| *known == to.0) {
            succ.push(to.0);
        }
    }

    /// Adds a node behind the present one, if control comes there.
    fn emit(&mut self, state: &mut State, kind: NodeKind, site: SiteId) -> Option<Node> {
        let from = state.node?;
        let node = self.node(kind, site);
        self.edge(from, node);
        state.node = Some(node);
        Some(node)
    }

    /// Adds a node that is no operation.
    fn mark(&mut self, state: &mut State) -> Option<Node> {
        self.emit(state, NodeKind::Plain, NO_SITE)
    }

    /// Returns the state at which two ways come together.
    fn join(&mut self, a: State, b: State) -> State {
        let (Some(x), Some(y)) = (a.node, b.node) else { return if a.node.is_some() { a } else { b } };
        let mut joined = a.merged(b);
        if x != y {
            let node = self.node(NodeKind::Plain, NO_SITE);
            self.edge(x, node);
            self.edge(y, node);
            joined.node = Some(node);
        }
        joined
    }

    fn join_all(&mut self, mut state: State, others: Vec<State>) -> State {
        for other in others {
            state = self.join(state, other);
        }
        state
    }

    fn local_type(&self, local: LocalId) -> Option<&'p crate::lang::program::Type> {
        let program: &'p Program = self.program;
        let body = self.frames.last()?.body;
        program.bodies.get(body.0 as usize)?.locals.get(local.0 as usize).map(|(_, ty)| ty)
    }

    /// Returns the globals of threads, loopers and handlers that are given one value besides null.
    fn single_values(&self) -> BTreeMap<GlobalId, Val> {
        let known = |val: &Val| match *val {
            Val::Thread(ctx, _) | Val::Handler(ctx, _) => self.graph.context(ctx).unique,
            _ => false,
        };
        self.given.iter().filter(|(_, val)| known(val)).map(|(id, val)| (*id, *val)).collect()
    }
}
