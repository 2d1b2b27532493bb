//! The rules of AndRacer as printed ("Static Executes-Before Analysis for Event Driven Programs", 2021, section 5): C1
//! to C3 and I1 to I3 on the task post graph of a random program in the paper's own language.
//!
//! Task 1 is the paper's main task. A looper is a *unique thread* if it is declared, or if one statement of a unique
//! task that is in no loop makes it.

use crate::static_rules::{Fixpoint, fixpoint};
use crate::static_tree::{BodyIndex, Random};
use crate::static_unfold::{ContextIndex, NodeIndex};
use std::collections::{BTreeMap, BTreeSet};

/// Which reading of the rules.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Reading {
    /// C1, C2, C3, I1 and I2, where c of C3 is another task than x.
    #[default]
    Corrected,
    /// The same, but c of C3 may be x, as nothing in the paper excludes it.
    Printed,
    /// Corrected, and closed under I3.
    Closed,
}

/// An edge of the task post graph: all posts of a task to one looper by another task.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Edge {
    from: BodyIndex,
    to: BodyIndex,
    looper: ContextIndex,
    posts: Vec<NodeIndex>,
    /// There is one post, in no loop.
    is_unique: bool,
}

type Path<'g> = Vec<&'g Edge>;

/// The main task.
const MAIN: BodyIndex = 1;

struct PostGraph {
    facts: Fixpoint,
    edges: Vec<Edge>,
    tasks: Vec<BodyIndex>,
}

/// Returns the pairs of tasks of which the rules say that the first one executes before the other one; `None` if the
/// program is too large.
pub(crate) fn printed(program: &Random, reading: Reading) -> Option<BTreeSet<(BodyIndex, BodyIndex)>> {
    let graph = PostGraph::new(fixpoint(program)?);
    let pairs: Vec<(BodyIndex, BodyIndex)> =
        graph.tasks.iter().flat_map(|a| graph.tasks.iter().map(move |c| (*a, *c))).filter(|(a, c)| a != c).collect();
    let base = pairs.iter().copied().filter(|(a, c)| graph.c1(*a, *c) || graph.c2(*a, *c) || graph.c3(*a, *c, reading));
    let mut found: BTreeSet<(BodyIndex, BodyIndex)> = base.collect();
    loop {
        let is_new = |(a, c): &(BodyIndex, BodyIndex)| {
            let by_third = || graph.tasks.iter().any(|d| found.contains(&(*a, *d)) && found.contains(&(*d, *c)));
            let infers =
                graph.i1(&found, *a, *c) || graph.i2(&found, *a, *c) || reading == Reading::Closed && by_third();
            !found.contains(&(*a, *c)) && infers
        };
        let new: Vec<_> = pairs.iter().copied().filter(is_new).collect();
        if new.is_empty() {
            return Some(found);
        }
        found.extend(new);
    }
}

impl PostGraph {
    fn new(facts: Fixpoint) -> Self {
        let mut all: BTreeMap<(BodyIndex, BodyIndex, ContextIndex), Vec<NodeIndex>> = BTreeMap::new();
        // The first context of a body stands for the text of the body.
        let mut first: BTreeMap<BodyIndex, ContextIndex> = BTreeMap::new();
        for (i, context) in facts.contexts().iter().enumerate() {
            if let Some(body) = context.body.filter(|b| *b >= MAIN) {
                first.entry(body).or_insert(i);
            }
        }
        for (body, context) in &first {
            for (node, made) in facts.makers(*context) {
                let made = &facts.contexts()[made];
                if let Some((to, looper)) = made.body.zip(made.looper) {
                    all.entry((*body, to, looper)).or_default().push(node);
                }
            }
        }
        let edges = all.into_iter().map(|((from, to, looper), posts)| {
            let is_unique = posts.len() == 1 && !facts.comes_again(posts[0]);
            Edge { from, to, looper, posts, is_unique }
        });
        Self { edges: edges.collect(), tasks: first.into_keys().collect(), facts }
    }

    // Returns all paths between two tasks. Tasks post only later ones, so there is no cycle.
    fn paths(&self, from: BodyIndex, to: BodyIndex) -> Vec<Path<'_>> {
        if from == to {
            return vec![Vec::new()];
        }
        let outgoing = self.edges.iter().filter(|e| e.from == from);
        outgoing
            .flat_map(|e| {
                self.paths(e.to, to).into_iter().map(move |mut path| {
                    path.insert(0, e);
                    path
                })
            })
            .collect()
    }

    fn is_unique_path(paths: &[Path<'_>]) -> bool {
        paths.len() == 1 && paths[0].iter().all(|e| e.is_unique)
    }

    // There is a unique path of unique posts to the task.
    fn is_unique(&self, task: BodyIndex) -> bool {
        Self::is_unique_path(&self.paths(MAIN, task))
    }

    fn is_unique_thread(&self, looper: ContextIndex) -> bool {
        match self.facts.contexts()[looper].maker {
            Some((by, node)) => match self.facts.contexts()[by].body {
                Some(task) => self.is_unique(task) && !self.facts.comes_again(node),
                None => true,
            },
            None => true,
        }
    }

    // Returns the unique thread that all posts of the task go to.
    fn thread(&self, task: BodyIndex) -> Option<ContextIndex> {
        // Looper `main` is context 1.
        let main = (task == MAIN).then_some(1);
        let all: BTreeSet<ContextIndex> =
            self.edges.iter().filter(|e| e.to == task).map(|e| e.looper).chain(main).collect();
        let one = *all.first()?;
        (all.len() == 1 && self.is_unique_thread(one)).then_some(one)
    }

    // All paths from the main task to the task pass through `x`.
    fn dominates(&self, x: BodyIndex, task: BodyIndex) -> bool {
        x == task || x == MAIN || self.paths(MAIN, task).iter().all(|path| path.iter().any(|e| e.to == x))
    }

    fn length_on(path: &Path<'_>, thread: ContextIndex) -> usize {
        path.iter().filter(|e| e.looper == thread).count()
    }

    // `first` is ordered-before `then`.
    fn are_ordered(&self, first: &Path<'_>, then: &Path<'_>) -> bool {
        let common = first.iter().zip(then).take_while(|(a, b)| a == b).count();
        let (Some(y), Some(z)) = (first.get(common), then.get(common)) else { return false };
        let apart = first[common..].iter().all(|e| then[common..].iter().all(|other| other.to != e.to));
        let dominate = |from: BodyIndex, y: BodyIndex, z: BodyIndex| {
            let of = |task| self.edges.iter().filter(move |e| e.from == from && e.to == task).flat_map(|e| &e.posts);
            of(y).all(|p| of(z).all(|q| self.facts.dominates(*p, *q)))
        };
        y.to != z.to && apart && dominate(y.from, y.to, z.to)
    }

    fn c1(&self, a: BodyIndex, c: BodyIndex) -> bool {
        self.tasks.iter().any(|x| {
            let Some(thread) = self.thread(*x).filter(|_| self.is_unique(*x)) else { return false };
            let (to_a, to_c) = (self.paths(*x, a), self.paths(*x, c));
            let longest = to_a.iter().map(Vec::len).max();
            self.dominates(*x, a)
                && self.dominates(*x, c)
                && to_a.iter().flatten().all(|e| e.looper == thread)
                && longest.is_some_and(|d| to_c.iter().all(|path| Self::length_on(path, thread) > d))
        })
    }

    fn c2(&self, a: BodyIndex, c: BodyIndex) -> bool {
        self.tasks.iter().any(|x| {
            let (to_a, to_c) = (self.paths(*x, a), self.paths(*x, c));
            let Some(thread) = to_a.first().and_then(|path| path.first()).map(|e| e.looper) else { return false };
            Self::is_unique_path(&to_a)
                && self.is_unique(*x)
                && self.is_unique_thread(thread)
                && self.dominates(*x, a)
                && self.dominates(*x, c)
                && to_a[0].iter().all(|e| e.looper == thread)
                && to_c
                    .iter()
                    .all(|path| Self::length_on(path, thread) >= to_a[0].len() && self.are_ordered(&to_a[0], path))
        })
    }

    fn c3(&self, a: BodyIndex, c: BodyIndex, reading: Reading) -> bool {
        let incoming: Vec<&Edge> = self.edges.iter().filter(|e| e.to == a).collect();
        let [edge] = incoming.as_slice() else { return false };
        let (x, thread) = (edge.from, edge.looper);
        let is_first = |e: &Edge| {
            let posts = &self.facts;
            e.to == a || edge.posts.iter().all(|p| e.posts.iter().all(|q| posts.dominates(*p, *q)))
        };
        (c != x || reading == Reading::Printed)
            && self.is_unique(x)
            && edge.is_unique
            && self.is_unique_thread(thread)
            && self.edges.iter().filter(|e| e.from == x).all(is_first)
            && self.dominates(x, c)
            && self.thread(c) == Some(thread)
    }

    fn i1(&self, found: &BTreeSet<(BodyIndex, BodyIndex)>, a: BodyIndex, c: BodyIndex) -> bool {
        let mut parents = self.edges.iter().filter(|e| e.to == c).peekable();
        c != MAIN && parents.peek().is_some() && parents.all(|e| found.contains(&(a, e.from)))
    }

    fn i2(&self, found: &BTreeSet<(BodyIndex, BodyIndex)>, a: BodyIndex, c: BodyIndex) -> bool {
        let Some(thread) = self.thread(a).filter(|_| self.is_unique(a)) else { return false };
        let mut parents = self.edges.iter().filter(|e| e.to == c);
        c != MAIN
            && self.edges.iter().any(|e| (e.from, e.to) == (a, c))
            && parents.all(|e| if e.from == a { e.looper == thread } else { found.contains(&(a, e.from)) })
    }
}
