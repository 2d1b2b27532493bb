//! The work of one worker on one state: records its findings and follows every choice that is open there.

use super::choices::{OpenChoices, numbered_by_themselves};
use super::end_watch::EndWatch;
use super::ends::{EndCondition, SearchEnd, end_condition};
use super::finds::{Finds, Sight, note};
use super::level::{Arena, StateNode};
use super::monitor::{Monitor, ProductState};
use super::searched::{SearchState, SearchStorage, Until};
use super::sleep::bit;
use super::stubborn::StubbornSets;
use super::table::{FreshState, StateId, StateWay, TableAccess, VisitTime};
use super::vectors::VectorWorker;
use super::{ClockMode, SearchPlan};
use crate::base::mutant::{self, Mutant};
use crate::detect::Pair;
use crate::event::{Actor, Choice, Op, Outcome, ThreadId};
use crate::world::{Canonicalizer, Machine, Program, Scale, Snapshot, ThreadStage, World, independent, is_quiet};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

/// A worker, with its buffers.
pub(super) struct Worker<'p, P: Program<Guest: Snapshot>, M> {
    pub(super) plan: &'p SearchPlan<'p, P>,
    pub(super) reduces: bool,
    pub(super) keeps_graph: bool,
    pub(super) finds: Finds,
    /// What the worker needs for states that are vectors, if the search stores such states.
    pub(super) vectors: Option<Box<VectorWorker<P::Guest>>>,
    /// Bytes of the largest node that was expanded, approximately.
    pub(super) node_bytes: u64,
    /// Nodes that are kept only to reuse their memory.
    pub(super) spare: Vec<Box<ProductState<P::Guest, M>>>,
    /// Largest number of spare nodes to keep.
    pub(super) most_spare: usize,
    /// The worker follows no more choices once these bounds are reached.
    pub(super) until: Option<Until<P::Guest>>,
    pub(super) choices: OpenChoices,
    /// Monitor of a search whose monitor has no state.
    pub(super) monitor: M,
    scratch: Box<ProductState<P::Guest, M>>,
    // Canonical numbers of the state that is expanded, and of one of its successors.
    pub(super) here: Canonicalizer,
    pub(super) there: Canonicalizer,
    // Actors in the sleep set of the state that is expanded; grows as its actors are followed.
    pub(super) asleep: Vec<Actor>,
    /// Chooses the actors that are followed, if not all are.
    pub(super) stubborn: Option<StubbornSets<P::Guest>>,
    /// States that are expanded in full all the same.
    pub(super) in_full: BTreeSet<StateId>,
    /// Whether a step from the state that is expanded has ended the run.
    pub(super) ended: bool,
}

/// Rank of the first choice of a state that is not a tick. Smaller ranks belong to ticks in a row.
pub(super) const AFTER_TICKS: u64 = 1 << 20;
const RANK_BITS: u32 = 32;

/// Returns the rank of the choice with this number of the state at this place of its level.
pub(super) fn rank(place: u64, choice: u64) -> u64 {
    place << RANK_BITS | (AFTER_TICKS + choice)
}

/// Returns the place of the parent of a state with this rank.
pub(super) fn place_of(rank: u64) -> usize {
    (rank >> RANK_BITS) as usize
}

/// The visit of a state.
#[derive(Clone, Copy)]
pub(super) struct Visit {
    pub(super) id: StateId,
    /// How it was found first.
    pub(super) first: Sight,
    pub(super) sleep: u64,
    pub(super) depth: u32,
    /// Place of the state in its level.
    pub(super) place: u64,
}

impl<'p, P: Program<Guest: Snapshot>, M: Monitor> Worker<'p, P, M> {
    pub(super) fn new(plan: &'p SearchPlan<'p, P>, scale: Scale, searched: &SearchState<P::Guest, M>) -> Self {
        let vectors =
            searched.vectors.as_ref().map(|(shared, scratch)| Box::new(VectorWorker::new(plan, shared, scratch)));
        Self {
            vectors,
            monitor: searched.first.monitor.clone(),
            plan,
            reduces: plan.reduces(),
            keeps_graph: searched.storage != SearchStorage::States,
            finds: Finds { fits: scale.down, ..Finds::default() },
            node_bytes: 0,
            spare: Vec::new(),
            most_spare: 0,
            until: None,
            choices: OpenChoices::default(),
            scratch: Box::new(searched.first.clone()),
            here: Canonicalizer::new(),
            there: Canonicalizer::new(),
            asleep: Vec::new(),
            stubborn: searched
                .relations
                .as_ref()
                .map(|relations| StubbornSets::new(relations.clone(), plan.stubbornness().unwrap_or_default())),
            in_full: BTreeSet::new(),
            ended: false,
        }
    }

    /// Chooses the actors that are followed from a state. Returns whether some open ones are left out; then
    /// `stubborn` knows which.
    pub(super) fn chooses(&mut self, id: StateId, machine: &Machine<P::Guest>) -> bool {
        self.ended = false;
        let Some(sets) = &mut self.stubborn else { return false };
        let chosen = !self.in_full.contains(&id) && sets.choose(machine);
        self.finds.reduced += u64::from(chosen);
        #[cfg(debug_assertions)]
        if chosen {
            super::stubborn_check::check(sets, machine, self.finds.reduced);
        }
        chosen
    }

    /// Returns whether an actor is followed at once, in a state where `chosen` are.
    pub(super) fn is_chosen(&self, chosen: bool, actor: Actor) -> bool {
        !chosen || self.stubborn.as_ref().is_none_or(|sets| sets.has(actor))
    }

    /// Learns what other workers have found out in earlier batches.
    pub(super) fn learn(&mut self) {
        if let Some(vectors) = &mut self.vectors {
            vectors.learn();
        }
    }

    /// Keeps a node so that its memory can be reused.
    pub(super) fn keep(&mut self, node: StateNode<P::Guest, M>) {
        let StateNode::Whole(node) = node else { return };
        self.spare.truncate(self.most_spare);
        if self.spare.len() < self.most_spare {
            self.spare.push(node);
        }
    }

    /// Expands a state of this level: records its findings and adds its successors to the table. Returns false if
    /// some successors are missing because there is no room for more states ([`until`](Self::until)) or the search
    /// was stopped. `arena` has the vectors of the level.
    pub(super) fn expand(
        &mut self,
        table: &mut TableAccess<'_, StateNode<P::Guest, M>>,
        at: &mut FreshState<StateNode<P::Guest, M>>,
        arena: &Arena,
        (depth, place): (u32, u64),
        stop: &AtomicBool,
    ) -> bool {
        let first = Sight { depth, rank: at.rank, at: at.id };
        let visit = Visit { id: at.id, first, sleep: at.sleep, depth, place };
        let (mut vectors, node) = (self.vectors.take(), &mut at.node);
        let whole = match (node, &mut vectors) {
            (StateNode::Whole(node), _) => self.expand_whole(table, node, visit, stop),
            (StateNode::Vector(vector), Some(vectors)) => self.expand_vector(table, vectors, vector, visit, stop),
            (StateNode::Stored(number), Some(vectors)) => {
                self.expand_vector(table, vectors, arena.get(*number), visit, stop)
            }
            _ => unreachable!("a state is completed before it is visited, and only a search with slots has vectors"),
        };
        self.vectors = vectors;
        whole
    }

    // Expands a state that is a whole machine.
    fn expand_whole(
        &mut self,
        table: &mut TableAccess<'_, StateNode<P::Guest, M>>,
        node: &mut ProductState<P::Guest, M>,
        visit: Visit,
        stop: &AtomicBool,
    ) -> bool {
        let Visit { first, depth, .. } = visit;
        self.node_bytes = self.node_bytes.max(node.bytes());
        if node.monitor.accepts() {
            self.finds.accepted = self.finds.accepted.into_iter().chain([first]).min();
            return true;
        }
        if M::WATCHES {
            self.finds.marks.insert(node.monitor.mark());
        }
        match end_condition(&mut node.machine) {
            EndCondition::Ended(outcome) => {
                self.ended(&node.machine.world, &outcome, node.monitor.mark(), first);
                return true;
            }
            EndCondition::Rests(outcome) => {
                self.ended(&node.machine.world, &outcome, node.monitor.mark(), first);
            }
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
        self.wake_up(visit.sleep);
        debug_assert!(self.asleep.iter().all(|actor| world.is_open(*actor)));
        let chosen = self.chooses(visit.id, &node.machine);
        let choices = std::mem::take(&mut self.choices.all);
        self.begin_transitions(visit.id, chosen, choices.iter().map(|choice| choice.actor));
        let mut all = true;
        // After a step that ends the run nothing follows, so that no other actor may wait for it.
        for at_once in [true, false] {
            if at_once || chosen && self.ended && all {
                all &= self.follow_all(table, node, &choices, (visit, chosen, at_once), stop);
            }
        }
        self.choices.all = choices;
        all
    }

    // Follows the choices of the actors that are chosen to be followed at once, or of the others. Returns false if some
    // successors are missing.
    fn follow_all(
        &mut self,
        table: &mut TableAccess<'_, StateNode<P::Guest, M>>,
        node: &ProductState<P::Guest, M>,
        choices: &[Choice],
        (visit, chosen, at_once): (Visit, bool, bool),
        stop: &AtomicBool,
    ) -> bool {
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
                let rank = rank(visit.place, i);
                i += 1;
                if self.reduces && self.asleep.contains(&actor) || self.is_chosen(chosen, actor) != at_once {
                    continue;
                }
                let way = StateWay { digest: 0, parent: visit.id, rank, sleep: 0 };
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
        all
    }

    pub(super) fn is_full(&self, table: &TableAccess<'_, StateNode<P::Guest, M>>) -> bool {
        self.until.as_ref().is_some_and(|until| until.is_reached(table, self.node_bytes))
    }

    /// Records an end with the mark of the monitor.
    pub(super) fn ended(&mut self, world: &World, outcome: &Outcome, mark: u64, first: Sight) {
        let end = SearchEnd::new(self.plan, outcome, world, mark);
        note(&mut self.finds.ends, end, first);
    }

    // Records which accesses are side by side (RaceFuzzer, algorithm 2). A plain access never blocks, so enabled
    // threads are enough.
    pub(super) fn adjacent(&mut self, world: &World, first: Sight) {
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
        table: &mut TableAccess<'_, StateNode<P::Guest, M>>,
        from: &ProductState<P::Guest, M>,
        choice: Choice,
        mut way: StateWay,
    ) -> bool {
        if !self.scratch.follow(choice) {
            self.finds.refused += 1;
            self.scratch.monitor.clone_from(&from.monitor);
            return true;
        }
        self.finds.transitions += 1;
        self.fits(self.scratch.machine.world.scale().fits);
        self.ended |= self.scratch.machine.world.outcome().is_some();
        way.digest = self.scratch.digest(&mut self.there);
        let quiet = self.reduces
            && is_quiet(&from.machine.world, &self.scratch.machine.world, choice.actor)
            && !EndWatch::new(&from.machine, choice.actor).sees(&self.scratch.machine);
        if quiet {
            way.sleep = self.sleep_after(&from.machine.world, choice.actor);
        }
        let (seen, to) = table.insert(way, || StateNode::Whole(copied(&self.scratch, &mut self.spare)));
        self.finds.goes_back |= seen == VisitTime::Before;
        self.transition(&from.machine.world, to, choice.actor);
        (*self.scratch).clone_from(from);
        quiet
    }

    // Moves the clock by one unit after another; all ticks in a row are one step. The loop ends at a state that was
    // visited before, since its ticks have been followed. Returns whether there was room for all of them, and whether
    // they were quiet.
    fn tick(
        &mut self,
        table: &mut TableAccess<'_, StateNode<P::Guest, M>>,
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
            let (seen, to) = table.insert(way, || StateNode::Whole(copied(&self.scratch, &mut self.spare)));
            self.finds.goes_back |= seen == VisitTime::Before;
            if n == 0 {
                self.transition(&from.machine.world, to, Actor::Clock);
            }
            self.ended |= self.scratch.machine.world.outcome().is_some();
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

    /// Begins the transitions of a state, if the graph is kept. `here` has the numbers of the state, and `open` are the
    /// actors that are open in it. `chosen`: whether some of them are left out.
    pub(super) fn begin_transitions(&mut self, id: StateId, chosen: bool, open: impl Iterator<Item = Actor>) {
        if self.keeps_graph {
            let left_out = open.filter(|actor| !self.is_chosen(chosen, *actor));
            let left_out = left_out.fold(0, |mask, actor| mask | bit(&self.here, actor));
            self.finds.graph.begin(id, left_out);
        }
    }

    // Records a transition of the state that was begun last, if the graph is kept.
    fn transition(&mut self, before: &World, to: StateId, actor: Actor) {
        if self.keeps_graph {
            let begins = matches!(actor, Actor::Thread(t) if matches!(before.thread(t).pending, Op::Begin));
            self.finds.graph.add(to, bit(&self.here, actor), begins);
        }
    }

    /// Records the divisor of all durations that the steps of a machine have used.
    pub(super) fn fits(&mut self, fits: u64) {
        if fits != self.finds.fits {
            self.finds.fits = crate::world::divisor(self.finds.fits, fits);
        }
    }
}

// Copies a node, into a spare one if there is one.
fn copied<N: Clone>(node: &N, spare: &mut Vec<Box<N>>) -> Box<N> {
    match spare.pop() {
        Some(mut old) => {
            (*old).clone_from(node);
            old
        }
        None => Box::new(node.clone()),
    }
}
