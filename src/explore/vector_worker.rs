//! The work of a worker on a state that is a vector of numbers.

use super::end_watch::EndWatch;
use super::ends::{EndCondition, end_condition};
use super::level::StateNode;
use super::monitor::{Monitor, ProductState, kept};
use super::sleep::bit;
use super::table::{FreshState, StateId, StateWay, TableAccess, VisitTime};
use super::vectors::{NearStep, VectorWorker};
use super::worker::{AFTER_TICKS, Visit, Worker, rank};
use crate::base::mutant::{self, Mutant};
use crate::event::{Actor, Choice};
use crate::world::{Program, Snapshot, independent};
use std::sync::atomic::{AtomicBool, Ordering};

impl<P: Program<Guest: Snapshot>, M: Monitor> Worker<'_, P, M> {
    // Expands a state that is a vector, as `expand_whole` does.
    pub(super) fn expand_vector(
        &mut self,
        table: &mut TableAccess<'_, StateNode<P::Guest, M>>,
        vectors: &mut VectorWorker<P::Guest>,
        vector: &[u32],
        visit: Visit,
        stop: &AtomicBool,
    ) -> bool {
        self.node_bytes =
            self.node_bytes.max(size_of_val(vector) as u64 + size_of::<FreshState<StateNode<P::Guest, M>>>() as u64);
        if self.is_plain(vectors, visit.depth)
            && let (false, true) = vectors.first_look(vector)
        {
            return self.follow_known(table, vectors, vector, visit, stop);
        }
        let look = vectors.look(vector, self.plan.pairs, &mut self.choices, &mut self.here);
        if look.may_end {
            vectors.scratch.load(&vectors.shared, vector);
            if self.end(vectors, visit) {
                vectors.scratch.forget_all();
                return true;
            }
        }
        if look.by_machine {
            let world = &vectors.scratch.machine.world;
            if self.plan.pairs {
                self.adjacent(world, visit.first);
            }
            if world.clock_open() {
                self.finds.deadlines = self.finds.deadlines.max(world.deadlines_ahead());
            }
        }
        if visit.depth >= self.plan.bounds.depth {
            self.finds.cut_by_depth += 1;
            return true;
        }
        if look.by_machine {
            vectors.take_over(vector, &self.choices);
        }
        let digest = table.digest(visit.id);
        let choices = std::mem::take(&mut vectors.choices);
        if self.reduces {
            let world = &vectors.scratch.machine.world;
            world.number_declared(&mut self.here);
            world.number_declared(&mut self.there);
            self.choices.all.clear();
            self.choices.all.extend(choices.iter().map(|(choice, _)| *choice));
            self.wake_up(visit.sleep);
        }
        let chosen = self.stubborn.is_some() && {
            vectors.scratch.load(&vectors.shared, vector);
            self.chooses(visit.id, &vectors.scratch.machine)
        };
        self.begin_of_vector(vectors, visit.id, chosen, choices.iter().map(|(choice, _)| choice.actor));
        let mut all = true;
        // As in `expand_whole`.
        for at_once in [true, false] {
            if at_once || chosen && self.ended && all {
                let follow = (visit, chosen, at_once);
                all &= self.follow_all_of_vector(table, vectors, vector, (&choices, digest), follow, stop);
            }
        }
        vectors.choices = choices;
        self.fits(vectors.scratch.machine.world.scale().fits);
        all
    }

    // Whether nothing but the successors of a state is asked for, and all of them.
    #[inline]
    fn is_plain(&self, vectors: &VectorWorker<P::Guest>, depth: u32) -> bool {
        let all = !self.reduces && self.stubborn.is_none() && vectors.orbits.is_none() && self.until.is_none();
        all && !self.plan.pairs && depth < self.plan.bounds.depth
    }

    // Follows the choices of a state in which only threads can act, some thread keeps the run going, and all steps have
    // known footprints: what `expand_vector` does for other states, without a list of the choices.
    fn follow_known(
        &mut self,
        table: &mut TableAccess<'_, StateNode<P::Guest, M>>,
        vectors: &mut VectorWorker<P::Guest>,
        vector: &[u32],
        visit: Visit,
        stop: &AtomicBool,
    ) -> bool {
        self.begin_of_vector(vectors, visit.id, false, std::iter::empty());
        let (digest, mut i) = (table.digest(visit.id), 0);
        let all = vectors.each_known(vector, |vectors, choice, near| {
            if stop.load(Ordering::Relaxed) {
                return false;
            }
            let mut way = StateWay { digest: 0, parent: visit.id, rank: rank(visit.place, i), sleep: 0 };
            i += 1;
            let to = match near {
                Some(near) => {
                    way.digest = kept(digest.wrapping_add(near.difference));
                    let (seen, to) = table.insert(way, || StateNode::Near(near.to));
                    self.finds.goes_back |= seen == VisitTime::Before;
                    to
                }
                None => self.perform(table, vectors, vector, choice, way).0,
            };
            self.transition_of_vector(vectors, vector, to, choice.actor);
            true
        });
        self.finds.transitions += i;
        if i == 0 {
            vectors.scratch.load(&vectors.shared, vector);
            self.end(vectors, visit);
            vectors.scratch.forget_all();
        }
        self.fits(vectors.scratch.machine.world.scale().fits);
        all
    }

    // Begins the transitions of a state, if the graph is kept: `begin_transitions`, with the numbers of the state.
    fn begin_of_vector(
        &mut self,
        vectors: &VectorWorker<P::Guest>,
        id: StateId,
        chosen: bool,
        open: impl Iterator<Item = Actor>,
    ) {
        if self.keeps_graph {
            vectors.scratch.machine.world.number_declared(&mut self.here);
            self.begin_transitions(id, chosen, open);
        }
    }

    // Records a transition of the state that was begun last, if the graph is kept.
    #[inline]
    fn transition_of_vector(&mut self, vectors: &VectorWorker<P::Guest>, vector: &[u32], to: StateId, actor: Actor) {
        if self.keeps_graph {
            let begins = matches!(actor, Actor::Thread(thread) if vectors.begins(vector, thread));
            self.finds.graph.add(to, bit(&self.here, actor), begins);
        }
    }

    // Follows the choices of a state, as `follow_all` does. `digest` is that of the state.
    fn follow_all_of_vector(
        &mut self,
        table: &mut TableAccess<'_, StateNode<P::Guest, M>>,
        vectors: &mut VectorWorker<P::Guest>,
        vector: &[u32],
        (choices, digest): (&[(Choice, Option<NearStep>)], u128),
        (visit, chosen, at_once): (Visit, bool, bool),
        stop: &AtomicBool,
    ) -> bool {
        let (mut all, mut i) = (true, 0);
        // Sleep sets as in `follow_all`.
        'choices: for of_actor in choices.chunk_by(|(a, _), (b, _)| a.actor == b.actor) {
            let actor = of_actor[0].0.actor;
            let mut quiet = true;
            for (choice, near) in of_actor {
                if self.is_full(table) || stop.load(Ordering::Relaxed) {
                    all = false;
                    break 'choices;
                }
                let way = StateWay { digest: 0, parent: visit.id, rank: rank(visit.place, i), sleep: 0 };
                i += 1;
                if self.reduces && self.asleep.contains(&actor) || self.is_chosen(chosen, actor) != at_once {
                    continue;
                }
                if actor == Actor::Clock {
                    let (has_room, all_quiet) = self.tick_vector(table, vectors, vector, *choice, way, stop);
                    (all, quiet) = (all && has_room, all_quiet);
                    continue;
                }
                self.finds.transitions += 1;
                let (to, is_quiet) = match near {
                    Some(near) if vectors.orbits.is_some() => {
                        vectors.next.clear();
                        vectors.next.extend_from_slice(vector);
                        near.to.apply(&mut vectors.next);
                        (self.found_alike(table, vectors, way).1, false)
                    }
                    Some(near) => {
                        let digest = kept(digest.wrapping_add(near.difference));
                        let is_quiet = self.reduces && vectors.scratch.facts(near.to.thread.1).is_quiet;
                        let sleep = if is_quiet { self.sleep_from(vectors, vector, actor) } else { 0 };
                        let way = StateWay { digest, sleep, ..way };
                        let (seen, to) = table.insert(way, || StateNode::Near(near.to));
                        self.finds.goes_back |= seen == VisitTime::Before;
                        (to, is_quiet)
                    }
                    None => self.perform(table, vectors, vector, *choice, way),
                };
                quiet &= is_quiet;
                self.transition_of_vector(vectors, vector, to, actor);
            }
            if quiet && self.reduces && !self.asleep.contains(&actor) {
                self.asleep.push(actor);
            }
        }
        all
    }

    // Performs a choice. Returns the state that it leads to, and whether its step was quiet.
    fn perform(
        &mut self,
        table: &mut TableAccess<'_, StateNode<P::Guest, M>>,
        vectors: &mut VectorWorker<P::Guest>,
        vector: &[u32],
        choice: Choice,
        mut way: StateWay,
    ) -> (StateId, bool) {
        vectors.scratch.load(&vectors.shared, vector);
        let watch = self.reduces.then(|| EndWatch::new(&vectors.scratch.machine, choice.actor));
        vectors.scratch.machine.step(choice);
        let machine = &vectors.scratch.machine;
        self.ended |= machine.world.outcome().is_some();
        let unseen = watch.is_some_and(|watch| !watch.sees(machine));
        let quiet = unseen && vectors.was_quiet(vector, choice.actor);
        if quiet {
            way.sleep = self.sleep_from(vectors, vector, choice.actor);
        }
        (self.found(table, vectors, vector, way).1, quiet)
    }

    // Returns the sleep set after a quiet step of an actor from this state.
    fn sleep_from(&self, vectors: &mut VectorWorker<P::Guest>, vector: &[u32], actor: Actor) -> u64 {
        if self.asleep.is_empty() { 0 } else { self.sleep_after(vectors.before(vector), actor) }
    }

    // Records how a run may end in the state of the machine. Returns whether every run ends there.
    fn end(&mut self, vectors: &mut VectorWorker<P::Guest>, visit: Visit) -> bool {
        let condition = end_condition(&mut vectors.scratch.machine);
        let world = &vectors.scratch.machine.world;
        match condition {
            EndCondition::Ended(outcome) => self.ended(world, &outcome, 0, visit.first),
            EndCondition::Rests(outcome) => {
                self.ended(world, &outcome, 0, visit.first);
                return false;
            }
            EndCondition::Open => return false,
        }
        true
    }

    // Adds the state of the machine to the table, after a step from the state `before`.
    fn found(
        &mut self,
        table: &mut TableAccess<'_, StateNode<P::Guest, M>>,
        vectors: &mut VectorWorker<P::Guest>,
        before: &[u32],
        mut way: StateWay,
    ) -> (VisitTime, StateId) {
        let VectorWorker { shared, scratch, next, .. } = vectors;
        let is_vector = scratch.intern_all(shared, before, next);
        scratch.forget_all();
        if is_vector && vectors.orbits.is_some() {
            return self.found_alike(table, vectors, way);
        }
        let VectorWorker { shared, scratch, next, .. } = vectors;
        self.finds.unfit |= !is_vector && self.plan.symmetry.is_some() && scratch.machine.world.outcome().is_none();
        let found = if is_vector {
            way.digest = kept(scratch.digest_of(shared, next));
            table.insert(way, || StateNode::Vector(next.as_slice().into()))
        } else {
            let node = ProductState::new(scratch.machine.clone(), self.monitor.clone());
            way.digest = node.digest(&mut self.there);
            table.insert(way, || StateNode::Whole(Box::new(node)))
        };
        self.finds.goes_back |= found.0 == VisitTime::Before;
        found
    }

    // Moves the clock from the state `from` by one unit after another, as `tick` does. Returns whether there was room
    // for all ticks, and whether they were quiet.
    fn tick_vector(
        &mut self,
        table: &mut TableAccess<'_, StateNode<P::Guest, M>>,
        vectors: &mut VectorWorker<P::Guest>,
        from: &[u32],
        choice: Choice,
        mut way: StateWay,
        stop: &AtomicBool,
    ) -> (bool, bool) {
        let rank = way.rank;
        let (mut quiet, mut sleep) = (true, self.asleep.clone());
        vectors.scratch.load(&vectors.shared, from);
        let last = vectors.scratch.machine.world.last_instant();
        let to_deadlines = mutant::is(Mutant::TicksToDeadlines);
        let first_deadline = vectors.scratch.machine.world.next_deadline();
        // If there are more ticks in a row than states are allowed, the bound cuts the search anyway.
        for n in 0..AFTER_TICKS.min(self.plan.bounds.states) {
            if self.is_full(table) || stop.load(Ordering::Relaxed) {
                return (false, quiet);
            }
            let machine = &mut vectors.scratch.machine;
            let argument = machine.world.now() + 1;
            if self.reduces {
                sleep.retain(|a| independent(&machine.world, Actor::Clock, *a));
                let watch = EndWatch::new(machine, Actor::Clock);
                machine.step(Choice { argument, ..choice });
                if watch.sees(machine) {
                    sleep.clear();
                    quiet = false;
                }
                way.sleep = sleep.iter().fold(0, |mask, a| mask | bit(&self.there, *a));
            } else {
                machine.step(Choice { argument, ..choice });
            }
            self.finds.transitions += u64::from(n == 0);
            if to_deadlines && argument < first_deadline {
                continue;
            }
            way.rank = rank - AFTER_TICKS + n;
            let (seen, to) = self.found(table, vectors, from, way);
            if n == 0 {
                self.transition_of_vector(vectors, from, to, Actor::Clock);
            }
            let machine = &mut vectors.scratch.machine;
            self.ended |= machine.world.outcome().is_some();
            // A run may end at rest here, and then has no further ticks.
            if machine.world.rests() {
                machine.check_rest();
            }
            let world = &machine.world;
            // A state that was visited before, and whose clock moves on, has had its own ticks.
            let had = seen == VisitTime::Before && world.clock_open();
            if had || world.outcome().is_some() || world.now() >= last || to_deadlines {
                break;
            }
        }
        (true, quiet)
    }
}
