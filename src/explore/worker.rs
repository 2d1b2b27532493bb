//! The work of one worker on one state: records its findings and follows every choice that is open there.

use super::choices::{OpenChoices, numbered_by_themselves};
use super::end_watch::EndWatch;
use super::ends::{EndCondition, SearchEnd, end_condition};
use super::monitor::{Monitor, ProductState};
use super::searched::SearchStorage;
use super::table::{FreshState, StateId, StateWay, Table, VisitTime};
use super::{ClockMode, SearchPlan};
use crate::base::mutant::{self, Mutant};
use crate::detect::Pair;
use crate::event::{Actor, Choice, EventId, Op, Outcome, ThreadId};
use crate::world::{Canonicalizer, Program, Scale, Snapshot, ThreadStage, World, independent, is_quiet};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

/// The place at which something was found first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Sight {
    /// Fewest steps to it.
    pub(super) depth: u32,
    /// Least way among those with the fewest steps.
    pub(super) rank: u64,
    /// State in which it was found.
    pub(super) at: StateId,
}

/// A transition of the state graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Edge {
    pub(super) from: StateId,
    pub(super) to: StateId,
    /// Bit of the actor that acts.
    pub(super) by: u64,
    /// Whether the transition begins a task.
    pub(super) begins: bool,
}

/// Findings of workers. Merging them gives the same result in any order.
#[derive(Clone, Default)]
pub(super) struct Finds {
    pub(super) transitions: u64,
    pub(super) ends: BTreeMap<SearchEnd, Sight>,
    pub(super) adjacent: BTreeMap<Pair, Sight>,
    /// The first state that the monitor accepts.
    pub(super) accepted: Option<Sight>,
    /// Marks of the monitor in all states, if it watches.
    pub(super) marks: BTreeSet<u64>,
    /// Edges of the state graph, if it is kept. Actors have the bits of sleep sets; no two actors share a bit, and an
    /// actor without a bit has 0.
    pub(super) edges: Vec<Edge>,
    /// Actors that are open in each state, in the same bits as `edges`.
    pub(super) open: Vec<(StateId, u64)>,
    /// Number of states at the bound of depth whose successors were not visited.
    pub(super) cut_by_depth: u64,
    /// Number of choices that the monitor refused.
    pub(super) refused: u64,
    /// Largest number of deadlines that were ahead at once.
    pub(super) deadlines: usize,
    /// Greatest common divisor of all durations that were used. If it is less than that of the scale, the scale does
    /// not fit.
    pub(super) fits: u64,
}

impl Finds {
    pub(super) fn merge(&mut self, other: &mut Finds) {
        self.transitions += std::mem::take(&mut other.transitions);
        self.cut_by_depth += std::mem::take(&mut other.cut_by_depth);
        self.refused += std::mem::take(&mut other.refused);
        self.deadlines = self.deadlines.max(other.deadlines);
        self.fits = crate::world::divisor(self.fits, other.fits);
        self.accepted = self.accepted.into_iter().chain(other.accepted.take()).min();
        self.marks.append(&mut other.marks);
        self.edges.append(&mut other.edges);
        self.open.append(&mut other.open);
        merge(&mut self.ends, &mut other.ends);
        merge(&mut self.adjacent, &mut other.adjacent);
    }
}

fn merge<K: Ord>(into: &mut BTreeMap<K, Sight>, from: &mut BTreeMap<K, Sight>) {
    for (key, first) in std::mem::take(from) {
        note(into, key, first);
    }
}

fn note<K: Ord>(into: &mut BTreeMap<K, Sight>, key: K, first: Sight) {
    let known = into.entry(key).or_insert(first);
    *known = first.min(*known);
}

/// A worker, with its buffers.
pub(super) struct Worker<'p, P: Program, M> {
    plan: &'p SearchPlan<'p, P>,
    reduces: bool,
    keeps_graph: bool,
    pub(super) finds: Finds,
    /// Bytes of the largest node that was expanded, approximately.
    pub(super) node_bytes: u64,
    /// Nodes that are kept only to reuse their memory.
    pub(super) spare: Vec<Box<ProductState<P::Guest, M>>>,
    /// Largest number of spare nodes to keep.
    pub(super) most_spare: usize,
    /// The worker follows no more choices once the table has this many states.
    pub(super) until: u64,
    choices: OpenChoices,
    scratch: Box<ProductState<P::Guest, M>>,
    // Canonical numbers of the state that is expanded, and of one of its successors.
    here: Canonicalizer,
    there: Canonicalizer,
    // Actors in the sleep set of the state that is expanded; grows as its actors are followed.
    asleep: Vec<Actor>,
}

/// Rank of the first choice of a state that is not a tick. Smaller ranks belong to ticks in a row.
pub(super) const AFTER_TICKS: u64 = 1 << 20;
const RANK_BITS: u32 = 32;

impl<'p, P: Program<Guest: Snapshot>, M: Monitor> Worker<'p, P, M> {
    pub(super) fn new(
        plan: &'p SearchPlan<'p, P>,
        scale: Scale,
        first: &ProductState<P::Guest, M>,
        keep: SearchStorage,
    ) -> Self {
        Self {
            plan,
            reduces: plan.reduces(),
            keeps_graph: keep == SearchStorage::Graph,
            finds: Finds { fits: scale.down, ..Finds::default() },
            node_bytes: 0,
            spare: Vec::new(),
            most_spare: 0,
            until: u64::MAX,
            choices: OpenChoices::default(),
            scratch: Box::new(first.clone()),
            here: Canonicalizer::new(),
            there: Canonicalizer::new(),
            asleep: Vec::new(),
        }
    }

    /// Keeps a node so that its memory can be reused.
    pub(super) fn keep(&mut self, node: Box<ProductState<P::Guest, M>>) {
        self.spare.truncate(self.most_spare);
        if self.spare.len() < self.most_spare {
            self.spare.push(node);
        }
    }

    /// Expands a state of this level: records its findings and adds its successors to the table. Returns false if
    /// some successors are missing because there is no room for more states ([`until`](Self::until)) or the search
    /// was stopped.
    pub(super) fn expand(
        &mut self,
        table: &Table<Box<ProductState<P::Guest, M>>>,
        at: &mut FreshState<Box<ProductState<P::Guest, M>>>,
        depth: u32,
        place: u64,
        stop: &AtomicBool,
    ) -> bool {
        let node = &mut at.node;
        self.node_bytes = self.node_bytes.max(node.bytes());
        let first = Sight { depth, rank: at.rank, at: at.id };
        if node.monitor.accepts() {
            self.finds.accepted = self.finds.accepted.into_iter().chain([first]).min();
            return true;
        }
        if M::WATCHES {
            self.finds.marks.insert(node.monitor.mark());
        }
        match end_condition(&mut node.machine) {
            EndCondition::Ended(outcome) => {
                self.ended(node, &outcome, first);
                return true;
            }
            EndCondition::Rests(outcome) => self.ended(node, &outcome, first),
            EndCondition::Open => {}
        }
        let world = &node.machine.world;
        if self.plan.pairs {
            self.adjacent(world, first);
        }
        if world.clock_open() {
            self.finds.deadlines = self.finds.deadlines.max(world.deadlines_ahead());
        }
        if depth >= self.plan.bounds.depth {
            self.finds.cut_by_depth += 1;
            return true;
        }
        if self.reduces || self.keeps_graph || !numbered_by_themselves(world) {
            node.machine.canonical_in(&mut self.here);
        }
        (*self.scratch).clone_from(node);
        self.choices.list(world, &self.here, self.plan.clock);
        self.wake_up(world, at.sleep);
        if self.keeps_graph {
            let open = self.choices.all.iter().fold(0, |mask, c| mask | bit(&self.here, c.actor));
            self.finds.open.push((at.id, open));
        }
        let choices = std::mem::take(&mut self.choices.all);
        let mut i = 0;
        let mut all = true;
        // Sleep sets: once all choices of an actor have been followed, the later actors of this state need not try it
        // again as long as they are independent of it. This holds only if all its steps were quiet, since
        // independence is decided by operations alone.
        'choices: for of_actor in choices.chunk_by(|a, b| a.actor == b.actor) {
            let actor = of_actor[0].actor;
            let ticks = actor == Actor::Clock && self.plan.clock == ClockMode::Exact;
            let mut quiet = true;
            for choice in of_actor {
                if self.is_full(table) || stop.load(Ordering::Relaxed) {
                    all = false;
                    break 'choices;
                }
                let rank = place << RANK_BITS | (AFTER_TICKS + i);
                i += 1;
                if self.reduces && self.asleep.contains(&actor) {
                    continue;
                }
                let way = StateWay { digest: 0, parent: at.id, rank, sleep: 0 };
                if ticks {
                    let (has_room, all_quiet) = self.tick(table, node, *choice, way, stop);
                    (all, quiet) = (all && has_room, all_quiet);
                } else {
                    quiet &= self.follow(table, node, *choice, way);
                }
            }
            if quiet && self.reduces && !self.asleep.contains(&actor) {
                self.asleep.push(actor);
            }
        }
        self.choices.all = choices;
        all
    }

    fn is_full(&self, table: &Table<Box<ProductState<P::Guest, M>>>) -> bool {
        self.until != u64::MAX && table.len() >= self.until
    }

    fn ended(&mut self, node: &ProductState<P::Guest, M>, outcome: &Outcome, first: Sight) {
        let world = &node.machine.world;
        let end = SearchEnd::new(self.plan, outcome, world, node.monitor.mark());
        note(&mut self.finds.ends, end, first);
    }

    // Records which accesses are side by side (RaceFuzzer, algorithm 2). A plain access never blocks, so enabled
    // threads are enough.
    fn adjacent(&mut self, world: &World, first: Sight) {
        let pending_access = |id: ThreadId| {
            let t = world.thread(id);
            let access = (t.status == ThreadStage::Alive).then(|| world.access(&t.pending)).flatten()?;
            Some((t.site?, access))
        };
        for (i, a) in world.enabled().iter().enumerate() {
            let Some((site, access)) = pending_access(a) else { continue };
            for (other, second) in world.enabled().iter().skip(i + 1).filter_map(pending_access) {
                if access.races(&second) {
                    note(&mut self.finds.adjacent, Pair::new(site, other), first);
                }
            }
        }
    }

    // Follows one choice. Returns whether its step was quiet: whether it did nothing besides its operation. `scratch`
    // is a copy of the state before and after.
    fn follow(
        &mut self,
        table: &Table<Box<ProductState<P::Guest, M>>>,
        from: &ProductState<P::Guest, M>,
        choice: Choice,
        mut way: StateWay,
    ) -> bool {
        let touches = from.machine.world.touches(choice);
        if !self.scratch.follow(choice) {
            self.finds.refused += 1;
            self.scratch.monitor.clone_from(&from.monitor);
            return true;
        }
        self.finds.transitions += 1;
        self.fits();
        let touched = self.scratch.machine.changed(&from.machine, touches);
        way.digest = self.scratch.digest_after(touched, &mut self.there);
        let quiet = self.reduces
            && is_quiet(&from.machine.world, &self.scratch.machine.world, choice.actor)
            && !EndWatch::new(&from.machine, choice.actor).sees(&self.scratch.machine);
        if quiet {
            way.sleep = self.sleep_after(&from.machine.world, choice.actor);
        }
        let (_, to) = table.insert(way, &self.scratch, &mut self.spare);
        self.edge(&from.machine.world, way.parent, to, choice.actor);
        self.scratch.take_back(from, touched);
        quiet
    }

    // Moves the clock by one unit after another; all ticks in a row are one step. The loop ends at a state that was
    // visited before, since its ticks have been followed. Returns whether there was room for all of them, and whether
    // they were quiet.
    fn tick(
        &mut self,
        table: &Table<Box<ProductState<P::Guest, M>>>,
        from: &ProductState<P::Guest, M>,
        choice: Choice,
        mut way: StateWay,
        stop: &AtomicBool,
    ) -> (bool, bool) {
        let (mut all, mut quiet) = (true, true);
        let rank = way.rank;
        let last = from.machine.world.last_instant();
        let mut sleep = self.asleep.clone();
        // If there are more ticks in a row than states are allowed, the bound cuts the search anyway.
        for n in 0..AFTER_TICKS.min(self.plan.bounds.states) {
            if self.is_full(table) || stop.load(Ordering::Relaxed) {
                all = false;
                break;
            }
            let now = self.scratch.machine.world.now();
            let tick = Choice { actor: choice.actor, argument: now + 1 };
            sleep.retain(|a| independent(&self.scratch.machine.world, Actor::Clock, *a));
            let watch = EndWatch::new(&self.scratch.machine, Actor::Clock);
            if !self.scratch.follow(tick) {
                self.finds.refused += 1;
                break;
            }
            if watch.sees(&self.scratch.machine) {
                sleep.clear();
                quiet = false;
            }
            self.finds.transitions += u64::from(n == 0);
            let to_deadlines = mutant::is(Mutant::TicksToDeadlines);
            if to_deadlines && tick.argument < from.machine.world.next_deadline() {
                continue;
            }
            way.digest = self.scratch.digest(&mut self.there);
            way.rank = rank - AFTER_TICKS + n;
            way.sleep = sleep.iter().fold(0, |mask, a| mask | bit(&self.there, *a));
            let (seen, to) = table.insert(way, &self.scratch, &mut self.spare);
            if n == 0 {
                self.edge(&from.machine.world, way.parent, to, Actor::Clock);
            }
            // A run may end at rest here, and then has no further ticks.
            if self.scratch.machine.world.rests() {
                self.scratch.machine.check_rest();
            }
            let world = &self.scratch.machine.world;
            // A state that was visited before, and whose clock moves on, has had its own ticks.
            let had = seen == VisitTime::Before && world.clock_open();
            if had || world.outcome().is_some() || world.now() >= last || to_deadlines {
                break;
            }
        }
        (*self.scratch).clone_from(from);
        (all, quiet)
    }

    fn edge(&mut self, before: &World, from: StateId, to: StateId, actor: Actor) {
        if self.keeps_graph {
            let begins = matches!(actor, Actor::Thread(t) if matches!(before.thread(t).pending, Op::Begin));
            self.finds.edges.push(Edge { from, to, by: bit(&self.here, actor), begins });
        }
    }

    fn fits(&mut self) {
        let fits = self.scratch.machine.world.scale().fits;
        if fits != self.finds.fits {
            self.finds.fits = crate::world::divisor(self.finds.fits, fits);
        }
    }

    // Sets `asleep` to the open actors that are in the sleep set of this state.
    fn wake_up(&mut self, world: &World, sleep: u64) {
        self.asleep.clear();
        if !self.reduces || sleep == 0 {
            return;
        }
        for choice in &self.choices.all {
            if sleep & bit(&self.here, choice.actor) != 0 && self.asleep.last() != Some(&choice.actor) {
                self.asleep.push(choice.actor);
            }
        }
        debug_assert!(self.asleep.iter().all(|a| world.is_open(*a)));
    }

    // Returns the sleep set after a choice: those actors asleep before it that are independent of it.
    fn sleep_after(&self, before: &World, actor: Actor) -> u64 {
        let still =
            self.asleep.iter().filter(|a| independent(before, actor, **a) || mutant::is(Mutant::SleepersNeverWake));
        still.fold(0, |mask, a| mask | bit(&self.there, *a))
    }
}

pub(super) const CLOCK_BIT: u32 = 63;
pub(super) const FIRST_EVENT_BIT: u32 = 48;

/// Returns the bit of an actor in a sleep set of this state; 0 if its number is too large for one.
pub(super) fn bit(state: &Canonicalizer, actor: Actor) -> u64 {
    match actor {
        Actor::Clock => 1 << CLOCK_BIT,
        Actor::Event(EventId(e)) if FIRST_EVENT_BIT + e < CLOCK_BIT => 1 << (FIRST_EVENT_BIT + e),
        Actor::Thread(thread) => state.thread(thread).filter(|n| *n < FIRST_EVENT_BIT).map_or(0, |n| 1 << n),
        Actor::Event(_) | Actor::Stop => 0,
    }
}
