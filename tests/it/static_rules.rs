//! The rules of static executes-before as a plain fixpoint over sets of nodes, without any of the representation of
//! `raceflip::statics`: the oracle of that analysis.
//!
//! `behind` are the nodes of which some instance has been performed when a node is pending, `over` the contexts of
//! which all instances are over by then. Both start with everything, and shrink until they are what the rules derive
//! from them: the greatest facts that the rules uphold.

use crate::static_tree::{Random, Step, When};
use crate::static_unfold::{ContextIndex, Does, Kind, NodeIndex, Nodes, RuleContext, Unfolded, unfold};
use std::collections::BTreeSet;

// Both programs of tests include this file by a path of their own.
#[path = "static_waits.rs"]
mod waits;

/// A mistake that can be made in the rules on purpose, to see that the search of random programs notices it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mistake {
    /// A message precedes a later one whatever their delays.
    DelaysIgnored,
    /// Loops are performed at most once.
    LoopsIgnored,
    /// NOPRE also for contexts with several instances.
    NoPreemptionOfAny,
    /// SURE also for tasks that may be cancelled.
    CancelsIgnored,
    /// FLAG takes one write of several.
    OneWriter,
    /// FRONT without the condition that the message is posted before the other one begins.
    FrontAnytime,
    /// Orders of contexts are closed as if they were transitive (I3).
    WeakClosed,
    /// QUIT also where some looper quits safely.
    QuitSafelyIgnored,
    /// FLAG takes the block of the write to be over also for a read without its lock.
    ReadsUnderLocks,
}

impl Mistake {
    pub(crate) const ALL: [Self; 9] = [
        Self::DelaysIgnored,
        Self::LoopsIgnored,
        Self::NoPreemptionOfAny,
        Self::CancelsIgnored,
        Self::OneWriter,
        Self::FrontAnytime,
        Self::WeakClosed,
        Self::QuitSafelyIgnored,
        Self::ReadsUnderLocks,
    ];
}

/// The facts at the greatest fixpoint.
pub(crate) struct Fixpoint {
    of: Unfolded,
    unique: Vec<bool>,
    /// For each node the nodes that may come after it.
    later: Vec<Nodes>,
    /// For each node x the nodes of its context after which x cannot come.
    excludes: Vec<Nodes>,
    /// For each node the nodes that are behind it, those of its own context included.
    behind: Vec<Nodes>,
    /// For each node the contexts that are over, as bits.
    over: Vec<u64>,
    /// For each node those right before it.
    before: Vec<Vec<NodeIndex>>,
    /// Whether a run can come to the node, as far as its graph says.
    reached: Vec<bool>,
    /// For each node its dominators, without itself.
    above: Vec<Nodes>,
    context_nodes: Vec<Nodes>,
    /// Contexts whose body, or all tasks, some statement cancels; whether some `quit` is a safe one.
    cancelled: Vec<bool>,
    has_safe_quit: bool,
    thread_ends: bool,
    mistake: Option<Mistake>,
}

/// Which parts of the program cancel and quit.
struct Statements {
    cancels: Vec<Option<usize>>,
    has_safe_quit: bool,
    recurs: bool,
}

fn collect(steps: &[Step], into: &mut Statements) {
    for step in steps {
        match step {
            Step::Cancel { task, .. } => into.cancels.push(*task),
            Step::Quit { safely: true, .. } => into.has_safe_quit = true,
            Step::Recur { .. } => into.recurs = true,
            Step::If(_, a, b) | Step::Try(a, b) => {
                collect(a, into);
                collect(b, into);
            }
            Step::Loop { body, .. } | Step::Twice { body, .. } | Step::Lock(_, body) => collect(body, into),
            _ => {}
        }
    }
}

/// Returns the facts of a program; `None` if it has too many nodes, or tasks that post themselves without a bound.
pub(crate) fn fixpoint(program: &Random) -> Option<Fixpoint> {
    with_mistake(program, None)
}

/// The same with a mistake in the rules.
pub(crate) fn with_mistake(program: &Random, mistake: Option<Mistake>) -> Option<Fixpoint> {
    let of = unfold(program, mistake == Some(Mistake::LoopsIgnored))?;
    let count = of.nodes.len();
    let mut statements = Statements { cancels: Vec::new(), has_safe_quit: false, recurs: false };
    // What no thread or task runs cancels and quits nothing.
    let runs: BTreeSet<usize> = of.contexts.iter().filter_map(|c| c.body).collect();
    runs.into_iter().for_each(|body| collect(&program.bodies[body].steps, &mut statements));
    if statements.recurs {
        return None;
    }
    let is_cancelled = |c: &RuleContext| statements.cancels.iter().any(|b| b.is_none() || *b == c.body);
    let cancelled = of.contexts.iter().map(is_cancelled).collect();
    let mut f = Fixpoint {
        unique: vec![true; of.contexts.len()],
        later: vec![Nodes::NONE; count],
        excludes: vec![Nodes::NONE; count],
        behind: vec![Nodes::ALL; count],
        over: vec![u64::MAX; count],
        before: vec![Vec::new(); count],
        reached: vec![false; count],
        above: vec![Nodes::NONE; count],
        context_nodes: vec![Nodes::NONE; of.contexts.len()],
        cancelled,
        has_safe_quit: statements.has_safe_quit,
        thread_ends: program.thread_ends,
        mistake,
        of,
    };
    f.graphs();
    // Each round visits all nodes, whatever the first ones do.
    while (0..count).filter(|node| f.derive(*node)).count() > 0 {}
    Some(f)
}

impl Fixpoint {
    fn makes(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    // Computes what follows what, dominators, and which contexts are unique.
    fn graphs(&mut self) {
        let count = self.of.nodes.len();
        for node in 0..count {
            self.later[node] = self.reach(node, None);
            self.context_nodes[self.of.nodes[node].context].insert(node);
            for next in self.of.nodes[node].follows.clone() {
                self.before[next].push(node);
            }
        }
        for context in 0..self.of.contexts.len() {
            let entry = self.of.contexts[context].entry;
            let mut all = self.later[entry];
            all.insert(entry);
            for node in (0..count).filter(|n| self.of.nodes[*n].context == context) {
                self.reached[node] = all.contains(node);
            }
            for node in (0..count).filter(|n| all.contains(*n)) {
                // A node dominates what cannot be reached without it.
                let without = if node == entry { Nodes::NONE } else { self.reach(entry, Some(node)) };
                for other in (0..count).filter(|n| *n != node && *n != entry && all.contains(*n)) {
                    if !without.contains(other) {
                        self.above[other].insert(node);
                    }
                }
            }
            for x in (0..count).filter(|n| self.of.nodes[*n].context == context) {
                for p in (0..count).filter(|n| self.of.nodes[*n].context == context) {
                    if !self.later[p].contains(x) {
                        self.excludes[x].insert(p);
                    }
                }
            }
            if let Some((by, node)) = self.of.contexts[context].maker {
                self.unique[context] = self.unique[by] && !self.later[node].contains(node);
            }
        }
    }

    // Returns the nodes that can be reached by at least one edge, without going through a node.
    fn reach(&self, from: NodeIndex, without: Option<NodeIndex>) -> Nodes {
        let (mut all, mut open) = (Nodes::NONE, vec![from]);
        while let Some(node) = open.pop() {
            for next in &self.of.nodes[node].follows {
                if Some(*next) != without && !all.contains(*next) {
                    all.insert(*next);
                    open.push(*next);
                }
            }
        }
        all
    }

    pub(crate) fn contexts(&self) -> &[RuleContext] {
        &self.of.contexts
    }

    /// Returns the nodes of a context that make another one, each with that one.
    pub(crate) fn makers(&self, context: ContextIndex) -> Vec<(NodeIndex, ContextIndex)> {
        let nodes = self.of.nodes.iter().enumerate().filter(|(i, n)| n.context == context && self.reached[*i]);
        let made = nodes.filter_map(|(i, n)| match n.does {
            Does::Make(made) => Some((i, made)),
            _ => None,
        });
        made.collect()
    }

    /// Returns whether the node lies on a cycle.
    pub(crate) fn comes_again(&self, node: NodeIndex) -> bool {
        self.later[node].contains(node)
    }

    /// Returns whether every way to a node of one context goes through another one.
    pub(crate) fn dominates(&self, by: NodeIndex, node: NodeIndex) -> bool {
        self.above[node].contains(by)
    }

    fn context(&self, node: NodeIndex) -> ContextIndex {
        self.of.nodes[node].context
    }

    /// W: all instances of x are past before one of y is pending.
    pub(crate) fn is_past(&self, x: NodeIndex, y: NodeIndex) -> bool {
        let [a, b] = [self.context(x), self.context(y)];
        if a == b {
            return self.unique[a] && !self.later[y].contains(x);
        }
        let by_point = self.unique[a] && self.behind[y].meets(&self.excludes[x]);
        let is_closed = |c: ContextIndex| {
            let entry = self.of.contexts[c].entry;
            c != a && self.over[y] >> c & 1 == 1 && self.over[entry] >> a & 1 == 1
        };
        if self.makes(Mistake::WeakClosed) && (0..self.of.contexts.len()).any(is_closed) {
            return true;
        }
        self.over[y] >> a & 1 == 1 || by_point || self.are_exclusive(x, y)
    }

    // Whether the ways to two nodes part in one instance of a context, at statements of which neither can come after
    // the other.
    fn are_exclusive(&self, x: NodeIndex, y: NodeIndex) -> bool {
        let line = |node: NodeIndex| {
            let mut of = self.context(node);
            let mut all = vec![(of, node)];
            while let Some((by, node)) = self.of.contexts[of].maker {
                all.push((by, node));
                of = by;
            }
            all
        };
        let [of_a, of_b] = [line(x), line(y)];
        let parts = of_a.iter().find_map(|(by, node)| {
            let other = of_b.iter().find(|(context, _)| context == by)?;
            Some((*by, *node, other.1))
        });
        parts.is_some_and(|(by, p, q)| {
            self.unique[by] && p != q && !self.later[p].contains(q) && !self.later[q].contains(p)
        })
    }

    // Adds a node, and what is behind it or over there.
    fn absorb(&self, node: NodeIndex, behind: &mut Nodes, over: &mut u64) {
        if self.reached[node] {
            *behind = behind.or(&self.behind[node]);
            behind.insert(node);
            *over |= self.over[node];
        }
    }

    // Derives the facts at a node from those at others. Returns whether they are different from what they were.
    fn derive(&mut self, node: NodeIndex) -> bool {
        if !self.reached[node] {
            return false;
        }
        let old = (self.behind[node], self.over[node]);
        // WAYS: what all ways to a node know.
        let (mut behind, mut over) = self.common(self.before[node].iter().copied());
        let context = self.context(node);
        let c = &self.of.contexts[context];
        let (is_entry, looper) = (c.entry == node, c.looper.filter(|l| self.unique[*l]));
        // MADE
        if let Some((_, maker)) = c.maker.filter(|_| is_entry) {
            self.absorb(maker, &mut behind, &mut over);
        }
        loop {
            (self.behind[node], self.over[node]) = (behind, over);
            if let Some(looper) = looper {
                self.queue_rules(node, looper, &mut behind, &mut over);
            }
            self.awaited(node, &mut behind, &mut over);
            if (self.behind[node], self.over[node]) == (behind, over) {
                return old != (behind, over);
            }
        }
    }

    // The rules about a task of a looper.
    fn queue_rules(&self, node: NodeIndex, looper: ContextIndex, behind: &mut Nodes, over: &mut u64) {
        let context = self.context(node);
        let is_entry = self.of.contexts[context].entry == node;
        for a in (0..self.of.contexts.len()).filter(|a| *a != context && self.of.contexts[*a].looper == Some(looper)) {
            let began = behind.meets(&self.context_nodes[a]);
            // NOPRE
            if (self.unique[a] || self.makes(Mistake::NoPreemptionOfAny)) && began
                || is_entry && self.queue_orders(a, context)
            {
                *over |= 1 << a;
            }
            // ENDED, SURE
            if is_entry && (began || self.is_sure(a, context)) {
                self.absorb(self.of.contexts[a].exit, behind, over);
            }
        }
        // LOOP
        if let Some(queue) = self.queue_of(looper).filter(|_| is_entry) {
            self.absorb(queue, behind, over);
        }
    }

    // Returns the `loop queue` of a looper, if it has one only, on no cycle.
    fn queue_of(&self, looper: ContextIndex) -> Option<NodeIndex> {
        let is_queue = |n: &NodeIndex| self.context(*n) == looper && self.of.nodes[*n].does == Does::LoopQueue;
        let mut all = (0..self.of.nodes.len()).filter(is_queue);
        let first = all.next()?;
        (all.next().is_none() && !self.later[first].contains(first)).then_some(first)
    }

    // FIFO, FRONT, FIRINGS: whether the queue has all of context a before b.
    fn queue_orders(&self, a: ContextIndex, b: ContextIndex) -> bool {
        let [of_a, of_b] = [a, b].map(|i| &self.of.contexts[i]);
        let ((_, by_a), (_, by_b)) = of_a.maker.zip(of_b.maker).expect("a task has a maker");
        let posts_first = self.is_past(by_a, by_b);
        let (a_kind, b_kind) = (of_a.kind, of_b.kind);
        if let (Kind::Firing(one), Kind::Firing(other)) = (a_kind, b_kind) {
            return one == other && self.unique[a] && self.unique[b] && posts_first;
        }
        let is_front = |kind| kind == Kind::Task(When::Front) || kind == Kind::Task(When::At(0));
        let front = is_front(a_kind)
            && (self.makes(Mistake::FrontAnytime) || self.is_past(by_a, of_b.entry))
            && (!is_front(b_kind) || self.is_past(by_b, by_a));
        front || self.precedes(a_kind, b_kind) && posts_first
    }

    fn is_sure(&self, a: ContextIndex, b: ContextIndex) -> bool {
        let [of_a, of_b] = [a, b].map(|i| &self.of.contexts[i]);
        let ((_, by_a), (_, by_b)) = of_a.maker.zip(of_b.maker).expect("a task has a maker");
        let is_cancelled = self.cancelled[a] && !self.makes(Mistake::CancelsIgnored);
        self.precedes(of_a.kind, of_b.kind) && !is_cancelled && self.behind[by_b].contains(by_a)
    }

    /// Returns the nodes of a mark that a run may come to.
    pub(crate) fn marks(&self, mark: u32) -> Vec<NodeIndex> {
        let is = |n: &NodeIndex| self.reached[*n] && self.of.nodes[*n].does == Does::Mark(mark);
        (0..self.of.nodes.len()).filter(is).collect()
    }

    /// Returns whether the facts say that no run comes to a node: its own context, or one that makes it, is over.
    pub(crate) fn is_dead(&self, node: NodeIndex) -> bool {
        let context = self.context(node);
        let maker = self.of.contexts[context].maker;
        self.over[node] >> context & 1 == 1 || maker.is_some_and(|(_, maker)| self.is_dead(maker))
    }

    /// Returns whether two accesses of one location conflict: they may be of two contexts.
    pub(crate) fn may_conflict(&self, x: NodeIndex, y: NodeIndex) -> bool {
        self.context(x) != self.context(y) || !self.unique[self.context(x)]
    }

    // Whether a message precedes one that is posted later (`docs/detectors.md`). A firing is a post without delay of
    // which only the enable is known, so it is never the first one.
    fn precedes(&self, first: Kind, then: Kind) -> bool {
        let Kind::Task(first) = first else { return false };
        let then = match then {
            Kind::Task(When::At(0)) => When::Front,
            Kind::Task(when) => when,
            Kind::Firing(_) => When::After(0),
            Kind::Thread => return false,
        };
        match (first, then) {
            (_, When::Front) => false,
            (When::Front | When::At(0), _) => true,
            (When::After(d1), When::After(d2)) => d1 <= d2 || self.makes(Mistake::DelaysIgnored),
            (When::After(_), When::At(_)) => false,
            (When::At(t1), When::After(d2)) => t1 <= d2 + 1,
            (When::At(t1), When::At(t2)) => t1 <= t2,
        }
    }
}
