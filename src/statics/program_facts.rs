//! What the rules ask of the program as a whole: who runs on which looper, who writes a flag, what is cancelled.

use super::bits::Bits;
use super::flow::Flow;
use super::graph::{ContextKind, Ctx, Graph, Held, LockId, Monitor, Node, NodeKind, Place, Reader, Start, Sync, Test};
use super::locksets::released_inside;
use super::sections::ends_of_section;
use crate::base::mutant::{self, Mutant};
use crate::event::{BodyId, EventId, ListenerId};
use crate::lang::Program;
use crate::lang::program::{ExceptionScope, GlobalId, Init, Type};
use crate::world::{PostClass, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Tables over the whole program.
#[derive(Default, Debug)]
pub(super) struct ProgramFacts {
    /// Contexts with at most one instance.
    pub(super) unique: Bits,
    /// Tasks and firings of each looper.
    pub(super) on: BTreeMap<Ctx, Bits>,
    /// Those that are posted at the front, and microtasks.
    pub(super) front: BTreeMap<Ctx, Bits>,
    /// Those that begin inside of another one.
    pub(super) called: BTreeMap<Ctx, Bits>,
    /// Those that a quit drops: all but microtasks and idle handlers.
    pub(super) dropped: BTreeMap<Ctx, Bits>,
    /// Tasks that run once they are posted, unless their looper quits.
    pub(super) kept: Bits,
    /// For each looper and class: the posted tasks that begin before a message of this class that is posted later.
    pub(super) preceding: BTreeMap<(Ctx, PostClass), Bits>,
    /// The firings of each event that are unique.
    pub(super) firings: BTreeMap<EventId, Bits>,
    /// The node at which a thread runs its messages, if it does so once.
    pub(super) loops: BTreeMap<Ctx, Node>,
    /// The nodes one of which has happened at a place where the facts grow.
    pub(super) one_of: BTreeMap<Sync, Vec<Node>>,
    /// The writes one of which has made a condition true, for reasons.
    pub(super) writers: BTreeMap<Sync, Vec<Node>>,
    /// The nodes all of which have happened there.
    pub(super) all_of: BTreeMap<Sync, Vec<Node>>,
    /// For each job that is joined: its parts, and those of all jobs that belong to it.
    pub(super) families: BTreeMap<Ctx, Bits>,
    /// The writes of each global.
    pub(super) writes: BTreeMap<GlobalId, Vec<Node>>,
    /// Whether no statement quits a looper safely, and every looper that a statement quits is known.
    pub(super) quits_plainly: bool,
    /// Whether an uncaught exception ends a thread alone, so that one may end anywhere.
    pub(super) ends_anywhere: bool,
    /// Whether the block of a write is over where its lock is free again.
    locked_flags: bool,
    /// Whether a message can be held back by a fence.
    pub(super) has_fences: bool,
}

impl ProgramFacts {
    pub(super) fn of(program: &Program, graph: &Graph, flow: &Flow, locked_flags: bool) -> Self {
        let ends_anywhere = program.uncaught == ExceptionScope::Thread;
        let mut facts = Self { quits_plainly: true, ends_anywhere, locked_flags, ..Self::default() };
        let mut seen = Seen::default();
        for ctx in graph.ids() {
            for node in flow.order(graph, ctx) {
                facts.note(graph, node, &mut seen);
            }
        }
        facts.contexts(graph, &seen);
        facts.sources(program, graph, flow, &seen);
        facts.writes = seen.writes;
        facts
    }

    // Notes what one node contributes.
    fn note(&mut self, graph: &Graph, node: Node, seen: &mut Seen) {
        match graph.node(node).kind {
            NodeKind::Quit { looper, safely } => {
                let known = looper.is_some_and(|looper| graph.context(looper).unique);
                let plain = !safely || mutant::is(Mutant::StaticQuitSafelyIgnored);
                self.quits_plainly &= known && plain;
            }
            NodeKind::Cancel(body) => drop(seen.cancelled.insert(body)),
            NodeKind::Fence => self.has_fences = true,
            NodeKind::LoopQueue => seen.loops.entry(graph.node(node).ctx).or_default().push(node),
            NodeKind::Up(semaphore) => seen.ups.entry(semaphore).or_default().push(node),
            NodeKind::Arrive(barrier) => seen.arrives.entry(barrier).or_default().push(node),
            NodeKind::Notify(monitor) => seen.notifies.entry(monitor).or_default().push(node),
            NodeKind::Register(listener, body) => seen.registers.entry((listener, body)).or_default().push(node),
            NodeKind::Sync(sync) => drop(seen.syncs.insert(sync)),
            NodeKind::Access(_) => {
                if let Some(access) = graph.access(node)
                    && let Place::Global { id, .. } = access.place
                    && access.writes
                {
                    seen.writes.entry(id).or_default().push(node);
                }
            }
            NodeKind::Release(_) => seen.released.extend(released_inside(graph, node)),
            _ => {}
        }
    }

    fn contexts(&mut self, graph: &Graph, seen: &Seen) {
        let cancelled =
            |body: Option<BodyId>| seen.cancelled.contains(&None) || (body.is_some() && seen.cancelled.contains(&body));
        for ctx in graph.ids() {
            let context = graph.context(ctx);
            let bit = ctx.0 as usize;
            if context.unique {
                self.unique.add(bit);
                if let ContextKind::Firing(event) = context.kind {
                    self.firings.entry(event).or_default().add(bit);
                }
            }
            let Some(looper) = context.looper else { continue };
            self.on.entry(looper).or_default().add(bit);
            let time = context.class.map(|class| class.time);
            // A part of a job whose message is not known may be a microtask, or go on without one.
            let is_known = context.kind != ContextKind::Job || time.is_some();
            if !matches!(time, Some(Time::Micro | Time::Idle)) && is_known {
                self.dropped.entry(looper).or_default().add(bit);
            }
            if matches!(time, Some(Time::Front | Time::Micro)) {
                self.front.entry(looper).or_default().add(bit);
            }
            if context.start == Start::Called {
                self.called.entry(looper).or_default().add(bit);
            }
            // A job may be cancelled by the failure of another one.
            if context.kind == ContextKind::Job {
                continue;
            }
            if !cancelled(context.body) || mutant::is(Mutant::StaticCancelsIgnored) {
                self.kept.add(bit);
            }
        }
        let mut classes: BTreeMap<Ctx, BTreeSet<PostClass>> = BTreeMap::new();
        for context in &graph.contexts {
            if let (Some(looper), Some(class)) = (context.looper, context.class) {
                classes.entry(looper).or_default().insert(class);
            }
        }
        for (looper, classes) in classes {
            let Some(on) = self.on.get(&looper) else { continue };
            for later in &classes {
                let precedes = |bit: &usize| {
                    let context = &graph.contexts[*bit];
                    // Of a firing only its enable is known, which says nothing of when it is posted.
                    let is_posted = match context.kind {
                        ContextKind::Job => context.start == Start::Message,
                        kind => kind == ContextKind::Task,
                    };
                    is_posted && context.class.is_some_and(|class| self.precedes(class, *later))
                };
                self.preceding.insert((looper, *later), on.iter().filter(precedes).collect());
            }
        }
    }

    fn precedes(&self, earlier: PostClass, later: PostClass) -> bool {
        let class = |class: PostClass| PostClass {
            time: match class.time {
                Time::Delay(_) if mutant::is(Mutant::StaticDelaysIgnored) => Time::Delay(0),
                time => time,
            },
            // Without fences it does not matter whether a message is asynchronous.
            is_async: class.is_async || !self.has_fences,
        };
        class(earlier).precedes(class(later))
    }

    // Finds the nodes from which the facts at a place come.
    fn sources(&mut self, program: &Program, graph: &Graph, flow: &Flow, seen: &Seen) {
        for (ctx, nodes) in &seen.loops {
            let context = graph.context(*ctx);
            if let ([node], ContextKind::Thread, true) = (&nodes[..], context.kind, context.unique)
                && !flow.cyclic(*node)
            {
                self.loops.insert(*ctx, *node);
            }
        }
        for sync in &seen.syncs {
            let one_of = match sync {
                Sync::Flag(test, reader) => writers(program, graph, flow, *test, seen).map(|writers| {
                    let ends =
                        writers.iter().flat_map(|write| self.behind_write(program, graph, seen, *write, *reader));
                    let ends = ends.collect();
                    self.writers.insert(*sync, writers);
                    ends
                }),
                Sync::Down(semaphore) => {
                    let empty = usize::try_from(*semaphore).ok().and_then(|i| program.semaphores.get(i));
                    let empty = empty.is_some_and(|(_, count)| *count == 0);
                    of_known(&seen.ups, semaphore).filter(|_| empty)
                }
                Sync::Woken(monitor) => of_known(&seen.notifies, monitor),
                Sync::Callback(listener, body) => seen.registers.get(&(*listener, *body)).cloned(),
                Sync::Arrived(barrier) => {
                    let parties = usize::try_from(*barrier).ok().and_then(|i| program.barriers.get(i));
                    let once = |node: &Node| graph.context(graph.node(*node).ctx).unique && !flow.cyclic(*node);
                    let all = of_known(&seen.arrives, barrier).filter(|nodes| {
                        nodes.iter().all(once) && parties.is_some_and(|(_, parties)| *parties == nodes.len() as i64)
                    });
                    if let Some(all) = all {
                        self.all_of.insert(*sync, all);
                    }
                    None
                }
                Sync::Join(job) if graph.context(*job).kind == ContextKind::Job => {
                    self.families.insert(*job, family(graph, *job));
                    None
                }
                Sync::Join(_) | Sync::Called(_) | Sync::LoopLeft | Sync::HasQuit(_) => None,
            };
            if let Some(one_of) = one_of.filter(|nodes| !nodes.is_empty()) {
                self.one_of.insert(*sync, one_of);
            }
        }
    }
}

impl ProgramFacts {
    // Returns the nodes one of which is behind a condition that a write has made true: if read and write are in blocks
    // of one lock, the writer's block is over.
    fn behind_write(&self, program: &Program, graph: &Graph, seen: &Seen, write: Node, reader: Reader) -> Vec<Node> {
        let read = graph.around.get(reader.around as usize).map_or(&[][..], |blocks| &blocks.locks);
        let any = mutant::is(Mutant::StaticReadsUnderLocks);
        let common = graph.held(write).iter().find(|held| any || read.iter().any(|other| excludes(held, other)));
        let is_kept = |lock: LockId| !seen.released.contains(&None) && !seen.released.contains(&Some(lock));
        // An exception that ends a thread or a job alone leaves a block without a node.
        let writer = graph.node(write).ctx;
        let leaves = !self.locked_flags || self.ends_anywhere || graph.context(writer).kind == ContextKind::Job;
        // The thread of the writer may read the condition in the same block.
        let leaves = leaves || graph.may_run_inside(reader.ctx, writer);
        let ends = common
            .filter(|(lock, _)| is_kept(*lock) && !leaves)
            .map_or_else(Vec::new, |(lock, _)| ends_of_section(program, graph, write, *lock));
        if ends.is_empty() { vec![write] } else { ends }
    }
}

// Returns the writes one of which must have come before a condition came out so. `None` if its first value may already
// satisfy it.
fn writers(program: &Program, graph: &Graph, flow: &Flow, test: Test, seen: &Seen) -> Option<Vec<Node>> {
    let global = program.globals.get(test.global.0 as usize)?;
    let first = match global.init.get(usize::try_from(test.cell).ok()?)? {
        Init::Word(word) if !graph.init_writes.contains(&test.global) => *word,
        _ => return None,
    };
    let mut element = &global.ty;
    while let Type::Array(of, _) = element {
        element = of;
    }
    // The words of references are not values of the program, except null.
    let plain = matches!(element, Type::Int | Type::Bool) || test.constant == crate::event::NULL;
    if test.holds(first) || !plain {
        return None;
    }
    // The first write that satisfies the condition is not behind the same condition.
    let is_later = |node: &Node| {
        let mut above = std::iter::successors(flow.idom(*node), |node| flow.idom(*node));
        above.any(|node| matches!(graph.node(node).kind, NodeKind::Sync(Sync::Flag(other, _)) if other.implies(test)))
    };
    let writes = seen.writes.get(&test.global)?.iter().filter(|write| may_satisfy(graph, **write, test));
    let mut nodes: Vec<Node> = writes.copied().filter(|node| !is_later(node)).collect();
    if mutant::is(Mutant::StaticOneWriter) {
        nodes.truncate(1);
    }
    Some(nodes)
}

/// Whether a write may write the cell of a condition, and satisfy it.
pub(super) fn may_satisfy(graph: &Graph, write: Node, test: Test) -> bool {
    graph.access(write).is_some_and(|access| {
        let is_cell = matches!(access.place, Place::Global { id, cell } if id == test.global
            && cell.is_none_or(|cell| cell == test.cell));
        is_cell && access.writes && access.value.is_none_or(|value| test.holds(value))
    })
}

// Returns the parts of a job and of all jobs that belong to it, by their launches.
fn family(graph: &Graph, job: Ctx) -> Bits {
    let mut family = Bits::default();
    let mut open = vec![job];
    while let Some(ctx) = open.pop() {
        if family.has(ctx.0 as usize) {
            continue;
        }
        family.add(ctx.0 as usize);
        let is_member = |child: &Ctx| {
            let child = graph.context(*child);
            child.whole == graph.context(ctx).whole || (child.belongs && !child.folded)
        };
        open.extend(graph.context(ctx).children.iter().copied().filter(is_member));
    }
    family
}

// What has been seen in the graphs of all contexts.
#[derive(Default)]
struct Seen {
    cancelled: BTreeSet<Option<BodyId>>,
    loops: BTreeMap<Ctx, Vec<Node>>,
    ups: BTreeMap<Option<i64>, Vec<Node>>,
    arrives: BTreeMap<Option<i64>, Vec<Node>>,
    notifies: BTreeMap<Option<Monitor>, Vec<Node>>,
    registers: BTreeMap<(ListenerId, BodyId), Vec<Node>>,
    writes: BTreeMap<GlobalId, Vec<Node>>,
    /// Locks that some statement may release by hand inside a block that holds them. `None` for any lock.
    released: BTreeSet<Option<LockId>>,
    syncs: BTreeSet<Sync>,
}

// The nodes of a known operand, if all operands are known.
fn of_known<K: Ord + Clone>(nodes: &BTreeMap<Option<K>, Vec<Node>>, operand: &K) -> Option<Vec<Node>> {
    if nodes.contains_key(&None) { None } else { nodes.get(&Some(operand.clone())).cloned() }
}

/// Returns whether two holds of locks exclude each other.
pub(super) fn excludes(a: &Held, b: &Held) -> bool {
    a.0 == b.0 && (a.1 || b.1)
}
