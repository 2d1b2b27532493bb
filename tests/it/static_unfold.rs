//! Unfolds a random program into contexts with their graphs, by the tree of the generator: the input of the plain
//! fixpoint in [`crate::static_rules`].

use crate::static_tree::{BodyIndex, Condition, Joined, LOOPERS, Random, Runs, Step, Target, When};
use std::collections::BTreeMap;

/// Index of a context, and of a node in the list of all nodes.
pub(crate) type ContextIndex = usize;
pub(crate) type NodeIndex = usize;

/// Bound on the nodes of a program; programs with more are skipped.
pub(crate) const MOST_NODES: usize = 512;

/// A set of nodes, as bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Nodes([u64; MOST_NODES / 64]);

impl Nodes {
    pub(crate) const NONE: Self = Self([0; MOST_NODES / 64]);
    pub(crate) const ALL: Self = Self([u64::MAX; MOST_NODES / 64]);

    pub(crate) fn insert(&mut self, node: NodeIndex) {
        self.0[node / 64] |= 1 << (node % 64);
    }

    pub(crate) fn contains(&self, node: NodeIndex) -> bool {
        self.0[node / 64] >> (node % 64) & 1 == 1
    }

    pub(crate) fn or(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] | other.0[i]))
    }

    pub(crate) fn and(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] & other.0[i]))
    }

    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }
}

/// What a node does, as far as the rules ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Does {
    Nothing,
    Mark(u32),
    Make(ContextIndex),
    Set(usize, bool),
    /// A condition on a flag has come out so.
    Holds(usize, bool),
    Up(usize),
    Down(usize),
    /// A join has returned.
    Joined(ContextIndex),
    /// A plain quit of this looper has been performed.
    Quit(ContextIndex),
    LoopQueue,
    /// `loop queue` has returned.
    Looped,
}

pub(crate) struct RuleNode {
    pub(crate) context: ContextIndex,
    pub(crate) does: Does,
    pub(crate) follows: Vec<NodeIndex>,
    /// The locks of the blocks around it.
    pub(crate) held: Vec<usize>,
}

/// What a context is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Thread,
    Task(When),
    /// A firing of this event.
    Firing(BodyIndex),
}

pub(crate) struct RuleContext {
    pub(crate) body: Option<BodyIndex>,
    pub(crate) kind: Kind,
    /// The context and the node that make it; `None` for the app.
    pub(crate) maker: Option<(ContextIndex, NodeIndex)>,
    /// The looper that it runs on, if that is known.
    pub(crate) looper: Option<ContextIndex>,
    /// Value of the parameter.
    argument: u32,
    pub(crate) entry: NodeIndex,
    pub(crate) exit: NodeIndex,
}

/// All contexts of a program.
pub(crate) struct Unfolded {
    pub(crate) contexts: Vec<RuleContext>,
    pub(crate) nodes: Vec<RuleNode>,
}

/// Local variables: the contexts that they stand for, if that is known.
type Locals = BTreeMap<u32, Option<ContextIndex>>;

/// Unfolds a program. Context 0 is the app, followed by the declared loopers. `once`: loops are performed at most once,
/// which is a mistake.
pub(crate) fn unfold(program: &Random, once: bool) -> Option<Unfolded> {
    let mut u = Unfolder {
        program,
        once,
        contexts: Vec::new(),
        nodes: Vec::new(),
        declared: BTreeMap::new(),
        all: Vec::new(),
        held: Vec::new(),
    };
    let app = u.context(None, Kind::Thread, None, None);
    // Loopers have the first numbers, so that targets are known; what events have from the start comes before threads.
    let loopers: Vec<ContextIndex> = (0..LOOPERS.len())
        .map(|i| {
            let block = program.bodies.iter().position(|b| i == 0 && b.runs == Runs::Looper);
            u.context(block, Kind::Thread, None, None)
        })
        .collect();
    let mut at = vec![u.contexts[app].entry];
    for (body, of) in program.bodies.iter().enumerate() {
        if let Runs::Event { looper, initially } = of.runs {
            for _ in 0..initially {
                at = u.make(app, &at, Some(body), Kind::Firing(body), Some(1 + looper)).1;
            }
        }
    }
    for looper in loopers {
        let node = u.node(app, Does::Make(looper), &at);
        u.contexts[looper].maker = Some((app, node));
        at = vec![node];
    }
    for (body, of) in program.bodies.iter().enumerate() {
        if of.runs == Runs::Thread {
            let (thread, next) = u.make(app, &at, Some(body), Kind::Thread, None);
            u.declared.insert(body, thread);
            at = next;
        }
    }
    let exit = u.contexts[app].exit;
    at.iter().for_each(|n| u.nodes[*n].follows.push(exit));
    let mut next = 1;
    while next < u.contexts.len() {
        u.walk(next);
        next += 1;
        if u.nodes.len() > MOST_NODES || u.contexts.len() > 64 {
            return None;
        }
    }
    Some(Unfolded { contexts: u.contexts, nodes: u.nodes })
}

struct Unfolder<'p> {
    program: &'p Random,
    once: bool,
    contexts: Vec<RuleContext>,
    nodes: Vec<RuleNode>,
    /// Contexts of the declared threads.
    declared: BTreeMap<BodyIndex, ContextIndex>,
    /// Heads of the handlers of the enclosing `try`s.
    all: Vec<NodeIndex>,
    /// The locks of the blocks around.
    held: Vec<usize>,
}

impl Unfolder<'_> {
    fn node(&mut self, context: ContextIndex, does: Does, from: &[NodeIndex]) -> NodeIndex {
        let node = self.nodes.len();
        self.nodes.push(RuleNode { context, does, follows: self.all.clone(), held: self.held.clone() });
        from.iter().for_each(|f| self.nodes[*f].follows.push(node));
        node
    }

    fn context(
        &mut self,
        body: Option<BodyIndex>,
        kind: Kind,
        looper: Option<ContextIndex>,
        maker: Option<(ContextIndex, NodeIndex)>,
    ) -> ContextIndex {
        let context = self.contexts.len();
        let outer = (std::mem::take(&mut self.all), std::mem::take(&mut self.held));
        let entry = self.node(context, Does::Nothing, &[]);
        let exit = self.node(context, Does::Nothing, &[]);
        (self.all, self.held) = outer;
        self.contexts.push(RuleContext { body, kind, maker, looper, argument: 0, entry, exit });
        context
    }

    // Adds a node that makes a context. Returns the context, and where control goes on.
    fn make(
        &mut self,
        by: ContextIndex,
        at: &[NodeIndex],
        body: Option<BodyIndex>,
        kind: Kind,
        looper: Option<ContextIndex>,
    ) -> (ContextIndex, Vec<NodeIndex>) {
        let node = self.node(by, Does::Nothing, at);
        let made = self.context(body, kind, looper, Some((by, node)));
        self.nodes[node].does = Does::Make(made);
        (made, vec![node])
    }

    fn walk(&mut self, context: ContextIndex) {
        let RuleContext { body, kind, entry, exit, .. } = self.contexts[context];
        let mut at = vec![entry];
        let mut locals = Locals::new();
        if let Some(body) = body {
            at = self.steps(context, &self.program.bodies[body].steps, at, &mut locals);
        }
        // Threads without a body are loopers, and so is the one whose body is a block.
        let is_looper = |b: BodyIndex| self.program.bodies[b].runs == Runs::Looper;
        if kind == Kind::Thread && body.is_none_or(is_looper) {
            let queue = self.node(context, Does::LoopQueue, &at);
            at = vec![self.node(context, Does::Looped, &[queue])];
        }
        at.iter().for_each(|n| self.nodes[*n].follows.push(exit));
    }

    // Adds the nodes of statements. `at`: the nodes after which they come; empty if control does not come here.
    fn steps(
        &mut self,
        context: ContextIndex,
        steps: &[Step],
        mut at: Vec<NodeIndex>,
        locals: &mut Locals,
    ) -> Vec<NodeIndex> {
        for step in steps {
            at = self.step(context, step, at, locals);
        }
        at
    }

    fn target(to: Target, locals: &Locals) -> Option<ContextIndex> {
        match to {
            Target::Declared(i) => Some(1 + i),
            Target::Local(local) => locals.get(&local).copied().flatten(),
        }
    }

    fn step(&mut self, context: ContextIndex, step: &Step, at: Vec<NodeIndex>, locals: &mut Locals) -> Vec<NodeIndex> {
        let mut one = |does| vec![self.node(context, does, &at)];
        match step {
            Step::Mark(mark) => one(Does::Mark(*mark)),
            Step::Post { task, to, when, .. } => {
                self.make(context, &at, Some(*task), Kind::Task(*when), Self::target(*to, locals)).1
            }
            // The fixpoint leaves such programs out.
            Step::Recur { .. } => one(Does::Nothing),
            Step::Again { to, when } => {
                if self.contexts[context].argument > 0 {
                    return at;
                }
                let body = self.contexts[context].body;
                let (made, next) = self.make(context, &at, body, Kind::Task(*when), Self::target(*to, locals));
                self.contexts[made].argument = 1;
                next
            }
            Step::Fork { task, local } => {
                let (made, next) = self.make(context, &at, Some(*task), Kind::Thread, None);
                locals.insert(*local, Some(made));
                next
            }
            Step::Spawn { local } => {
                let (made, next) = self.make(context, &at, None, Kind::Thread, None);
                locals.insert(*local, Some(made));
                next
            }
            Step::Join(of) => {
                let thread = match of {
                    Joined::Local(local) => locals.get(local).copied().flatten(),
                    Joined::Declared(body) => self.declared.get(body).copied(),
                    Joined::Looper(i) => Some(1 + i),
                };
                let waits = self.node(context, Does::Nothing, &at);
                vec![self.node(context, thread.map_or(Does::Nothing, Does::Joined), &[waits])]
            }
            Step::If(condition, then, other) => {
                let head = self.node(context, Does::Nothing, &at);
                let way = |value: bool| match condition {
                    Condition::Any => Does::Nothing,
                    Condition::Flag(flag, wanted) => Does::Holds(*flag, *wanted == value),
                };
                let mut ends = Vec::new();
                for (value, steps) in [(true, then), (false, other)] {
                    let first = self.node(context, way(value), &[head]);
                    ends.extend(self.steps(context, steps, vec![first], &mut locals.clone()));
                }
                ends
            }
            Step::Await(flag, value) | Step::Assert(flag, value) => {
                let reads = self.node(context, Does::Nothing, &at);
                vec![self.node(context, Does::Holds(*flag, *value), &[reads])]
            }
            Step::Loop { body, .. } => {
                let head = self.node(context, Does::Nothing, &at);
                let ends = self.steps(context, body, vec![head], &mut locals.clone());
                if self.once {
                    return [vec![head], ends].concat();
                }
                ends.iter().for_each(|n| self.nodes[*n].follows.push(head));
                vec![head]
            }
            Step::Twice { body, .. } => {
                let first = self.steps(context, body, at, &mut locals.clone());
                self.steps(context, body, first, &mut locals.clone())
            }
            Step::Try(body, handler) => {
                let head = self.node(context, Does::Nothing, &[]);
                self.all.push(head);
                let first = self.node(context, Does::Nothing, &at);
                let mut ends = self.steps(context, body, vec![first], &mut locals.clone());
                self.all.pop();
                locals.values_mut().for_each(|known| *known = None);
                ends.extend(self.steps(context, handler, vec![head], &mut locals.clone()));
                ends
            }
            Step::Throw => {
                one(Does::Nothing);
                Vec::new()
            }
            Step::Return => {
                let exit = self.contexts[context].exit;
                let node = self.node(context, Does::Nothing, &at);
                self.nodes[node].follows.push(exit);
                Vec::new()
            }
            Step::Lock(lock, body) => {
                let first = self.node(context, Does::Nothing, &at);
                self.held.push(*lock);
                let ends = self.steps(context, body, vec![first], locals);
                let released = self.node(context, Does::Nothing, &ends);
                self.held.pop();
                if ends.is_empty() { Vec::new() } else { vec![released] }
            }
            Step::Set(flag, value) => one(Does::Set(*flag, *value)),
            Step::Up(of) => one(Does::Up(*of)),
            Step::Down(of) => {
                let waits = self.node(context, Does::Nothing, &at);
                vec![self.node(context, Does::Down(*of), &[waits])]
            }
            Step::Quit { looper, safely } => {
                let quits = self.node(context, Does::Nothing, &at);
                let does = if *safely { Does::Nothing } else { Does::Quit(1 + looper) };
                vec![self.node(context, does, &[quits])]
            }
            Step::Enable(event) => {
                let Runs::Event { looper, .. } = self.program.bodies[*event].runs else { unreachable!("an event") };
                self.make(context, &at, Some(*event), Kind::Firing(*event), Some(1 + looper)).1
            }
            Step::Cancel { .. } | Step::Disable(_) => one(Does::Nothing),
        }
    }
}
