//! Symmetric search: of all states that differ only by a renaming of threads that are alike, one stands for all
//! (Ip and Dill, *Better verification through symmetry*, 1996).
//!
//! The representative of a state gives the elements of each class new numbers by what they see of it ([`Lens`]): where
//! their thread stands, their own cells and locks, who owns what. Elements that see the same keep their order. They may
//! still differ in how they refer to one another. Then a state may have several representatives, which costs states,
//! but no end is missed, and different states never have the same one unless a renaming joins them.
//!
//! A way goes through representatives. The run that it stands for is found by renaming each choice back
//! ([`through`]).

use super::choices::OpenChoices;
use super::components::{NO_CONTENT, Scratch, Shared};
use super::ends::SearchEnd;
use super::finds::Sight;
use super::level::StateNode;
use super::monitor::{Monitor, NoMonitor, ProductState, kept};
use super::path::{self, RunChoices};
use super::searched::{SearchState, SearchStorage};
use super::table::{StateId, StateWay, TableAccess, VisitTime};
use super::vectors::VectorWorker;
use super::worker::Worker;
use super::{ClockMode, SearchContext, SearchPlan, SearchReport};
use crate::base::Id;
use crate::event::{Actor, Choice, ThreadId};
use crate::world::{Canonicalizer, Lens, Program, Renaming, Scale, Snapshot, Symmetry};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Visits a representative of every state that can be reached, within the bounds. The program must be one whose
/// machines can rename ([`Model::with_symmetry`](crate::vm::Model::with_symmetry)), and the plan must have its
/// symmetry.
///
/// The report has each end up to a renaming, with a real run to it. Its ways are shortest ways. The plan may ask
/// neither for reduction nor for pairs, and its clock must be exact.
///
/// Returns `None` if some state does not fit into the slots of the program, so that it cannot be renamed.
#[must_use]
pub fn explore_symmetric<P: Program<Guest: Snapshot>>(
    plan: &SearchPlan<'_, P>,
    context: SearchContext<'_>,
) -> Option<SearchReport> {
    let plan = SearchPlan { reduce: false, pairs: false, clock: ClockMode::Exact, ..plan.clone() };
    let (scale, searched) = super::search(&plan, &NoMonitor, SearchStorage::States, context);
    let fits = !searched.finds.unfit && searched.vectors.is_some();
    fits.then(|| super::explored(&plan, scale, searched, context))
}

/// What a worker needs to find the representatives of states.
pub(super) struct Orbits<G: Snapshot> {
    symmetry: Arc<Symmetry>,
    // One for each element, class by class.
    lenses: Vec<Lens>,
    scratch: Scratch<G>,
    // What each element sees of each content, by the number of the content.
    seen: Vec<Option<Box<[u64]>>>,
    // What each element sees of the state.
    keys: Vec<u64>,
    room: Canonicalizer,
    renamed: Vec<u32>,
    // What each renaming makes of a content: the new slot and the new content.
    moved: BTreeMap<Elements, BTreeMap<u32, (u32, u32)>>,
    // Number of contents in `moved`.
    entries: usize,
    // Number of renamings; debug builds check some of them.
    #[cfg(debug_assertions)]
    count: u64,
}

/// The new element of each element, class by class.
type Elements = Vec<Vec<i64>>;

// Contents whose renamings a worker remembers. With more of them it begins anew.
const MOST_MOVED: usize = 1 << 18;

// A debug build checks every `CHECKED`-th renaming.
#[cfg(debug_assertions)]
const CHECKED: u64 = 17;

impl<G: Snapshot> Orbits<G> {
    pub(super) fn new(symmetry: &Arc<Symmetry>, shared: &Shared<G>, scratch: &Scratch<G>) -> Self {
        let scratch = scratch.another(shared);
        Self {
            symmetry: symmetry.clone(),
            lenses: scratch.machine.world.lenses(symmetry),
            scratch,
            seen: Vec::new(),
            keys: Vec::new(),
            room: Canonicalizer::new(),
            renamed: Vec::new(),
            moved: BTreeMap::new(),
            entries: 0,
            #[cfg(debug_assertions)]
            count: 0,
        }
    }

    /// Returns the digest of a state.
    pub(super) fn digest(&self, shared: &Shared<G>, vector: &[u32]) -> u128 {
        kept(self.scratch.digest_of(shared, vector))
    }

    /// Replaces a state by its representative. Returns the new elements, class by class; `None` if the state is its own
    /// representative.
    pub(super) fn represent(&mut self, shared: &Shared<G>, vector: &mut Vec<u32>) -> Option<Elements> {
        self.scratch.learn(shared);
        self.look(shared, vector);
        let elements = self.order()?;
        if !self.recall(vector, &elements) {
            let renaming = self.renaming(&elements);
            self.scratch.load(shared, vector);
            self.rename(shared, &renaming, vector);
            self.remember(shared, vector, &elements, &renaming);
        }
        #[cfg(debug_assertions)]
        self.check(shared, vector, &elements);
        std::mem::swap(vector, &mut self.renamed);
        Some(elements)
    }

    // Returns the renaming with these new elements.
    fn renaming(&self, elements: &Elements) -> Renaming {
        self.scratch.machine.world.renaming(&self.symmetry, elements)
    }

    // Renames a state by the contents that are known under this renaming. Returns false if some are not.
    fn recall(&mut self, vector: &[u32], elements: &Elements) -> bool {
        let Some(known) = self.moved.get(elements) else { return false };
        self.renamed.clear();
        self.renamed.resize(vector.len(), NO_CONTENT);
        let moved = vector.iter().enumerate().all(|(slot, number)| {
            // The content of the clock is the same, and says nothing of its slot.
            let place =
                if slot + 1 == vector.len() { Some((slot as u32, *number)) } else { known.get(number).copied() };
            place.is_some_and(|(slot, number)| {
                self.renamed[slot as usize] = number;
                true
            })
        });
        moved && !self.renamed.contains(&NO_CONTENT)
    }

    // Remembers what a renaming has made of the contents of a state. The result is in `renamed`.
    fn remember(&mut self, shared: &Shared<G>, vector: &[u32], elements: &Elements, renaming: &Renaming) {
        if self.entries >= MOST_MOVED {
            self.moved.clear();
            self.entries = 0;
        }
        let known = self.moved.entry(elements.clone()).or_default();
        for (slot, number) in vector.iter().enumerate() {
            let Some(to) = self.scratch.machine.renamed_slot(&shared.slots, slot, renaming) else { continue };
            let added = known.insert(*number, (to as u32, self.renamed[to])).is_none();
            self.entries += usize::from(added);
        }
    }

    // Computes what each element sees of a state.
    fn look(&mut self, shared: &Shared<G>, vector: &[u32]) {
        let known = |seen: &[Option<Box<[u64]>>], number: u32| seen.get(number as usize).is_some_and(Option::is_some);
        if !vector.iter().all(|number| known(&self.seen, *number)) {
            self.scratch.load(shared, vector);
            for (slot, number) in vector.iter().enumerate() {
                if known(&self.seen, *number) {
                    continue;
                }
                let (machine, room) = (&self.scratch.machine, &mut self.room);
                let by_lens = self.lenses.iter().map(|lens| machine.seen(&shared.slots, slot, lens, room)).collect();
                if self.seen.len() <= *number as usize {
                    self.seen.resize(*number as usize + 1, None);
                }
                self.seen[*number as usize] = Some(by_lens);
            }
        }
        self.keys.clear();
        self.keys.resize(self.lenses.len(), 0);
        for seen in vector.iter().filter_map(|number| self.seen[*number as usize].as_ref()) {
            self.keys.iter_mut().zip(seen).for_each(|(key, seen)| *key = key.wrapping_add(*seen));
        }
    }

    // Returns the new elements, class by class: in the order of what they see. `None` if they are in that order
    // already.
    fn order(&self) -> Option<Elements> {
        let mut keys = self.keys.as_slice();
        let (mut all, mut sorted) = (Vec::new(), true);
        for range in &self.symmetry.classes {
            let (of_class, rest) = keys.split_at(range.count());
            keys = rest;
            sorted &= of_class.is_sorted();
            let mut order: Vec<usize> = (0..of_class.len()).collect();
            order.sort_by_key(|place| of_class[*place]);
            let mut elements = vec![0; of_class.len()];
            for (new, old) in order.into_iter().enumerate() {
                elements[old] = range.from + new as i64;
            }
            all.push(elements);
        }
        (!sorted).then_some(all)
    }

    // Renames the state of the machine, which is `vector`. The result is in `renamed`.
    fn rename(&mut self, shared: &Shared<G>, renaming: &Renaming, vector: &[u32]) {
        self.scratch.machine.rename(&shared.slots, renaming);
        let fits = self.scratch.intern_all(shared, vector, &mut self.renamed);
        assert!(fits, "a renamed state fits into slots if the state does");
        self.scratch.forget_all();
    }

    // Checks the definition of a symmetry: each step of a state, renamed, is a step of the renamed state, and leads to
    // the renamed next state. The renamed state is in `renamed`.
    #[cfg(debug_assertions)]
    fn check(&mut self, shared: &Shared<G>, vector: &[u32], elements: &Elements) {
        self.count += 1;
        if !self.count.is_multiple_of(CHECKED) {
            return;
        }
        let (renamed, renaming) = (self.renamed.clone(), &self.renaming(elements));
        self.scratch.load(shared, vector);
        self.rename(shared, renaming, vector);
        assert_eq!(self.renamed, renamed, "a renaming makes other contents than it did");
        self.scratch.load(shared, &renamed);
        self.rename(shared, &renaming.inverse(), &renamed);
        assert_eq!(self.renamed, vector, "a renaming and its inverse lead to another state");
        let (mut open, mut open_renamed) = (OpenChoices::default(), OpenChoices::default());
        self.scratch.load(shared, vector);
        open.list(&self.scratch.machine.world, &self.room, ClockMode::Exact);
        self.scratch.load(shared, &renamed);
        open_renamed.list(&self.scratch.machine.world, &self.room, ClockMode::Exact);
        let mut expected: Vec<Choice> = open.all.iter().map(|choice| renamed_choice(renaming, *choice)).collect();
        expected.sort_by_key(|choice| (choice.actor, choice.argument));
        open_renamed.all.sort_by_key(|choice| (choice.actor, choice.argument));
        assert_eq!(open_renamed.all, expected, "a renamed state has other choices");
        for choice in &open.all {
            self.scratch.load(shared, vector);
            self.scratch.machine.step(*choice);
            let ended = self.scratch.machine.world.outcome().is_some();
            let next = (!ended && self.scratch.machine.fits(&shared.slots)).then(|| {
                self.scratch.machine.rename(&shared.slots, renaming);
                self.scratch.machine.canonical().digest()
            });
            self.scratch.forget_all();
            self.scratch.load(shared, &renamed);
            self.scratch.machine.step(renamed_choice(renaming, *choice));
            let machine = &self.scratch.machine;
            assert_eq!(machine.world.outcome().is_some(), ended, "{choice:?} ends only one of two alike runs");
            let is_same = next.is_none_or(|digest| digest == machine.canonical().digest());
            assert!(is_same, "{choice:?} and a renaming do not commute");
            self.scratch.forget_all();
        }
        self.renamed = renamed;
    }
}

fn renamed_choice(renaming: &Renaming, choice: Choice) -> Choice {
    match choice.actor {
        Actor::Thread(thread) => {
            Choice { actor: Actor::Thread(ThreadId::new(renaming.thread(thread.index()))), ..choice }
        }
        _ => choice,
    }
}

impl<P: Program<Guest: Snapshot>, M: Monitor> Worker<'_, P, M> {
    /// Adds the representative of the state in `vectors.next` to the table.
    pub(super) fn found_alike(
        &mut self,
        table: &mut TableAccess<'_, StateNode<P::Guest, M>>,
        vectors: &mut VectorWorker<P::Guest>,
        mut way: StateWay,
    ) -> (VisitTime, StateId) {
        let VectorWorker { shared, scratch, next, orbits, .. } = vectors;
        if let Some(orbits) = orbits {
            if orbits.represent(shared, next).is_some() {
                scratch.learn(shared);
            }
            way.digest = orbits.digest(shared, next);
        }
        let found = table.insert(way, || StateNode::Vector(next.as_slice().into()));
        self.finds.goes_back |= found.0 == VisitTime::Before;
        found
    }
}

/// Returns the ends that a search has found, each with a run to it. Those of a symmetric search are as the run has
/// them.
pub(super) fn ends<P: Program<Guest: Snapshot>, M: Monitor>(
    plan: &SearchPlan<'_, P>,
    scale: Scale,
    searched: &SearchState<P::Guest, M>,
) -> BTreeMap<SearchEnd, RunChoices> {
    if plan.symmetry.is_none() {
        return super::path::ways(plan, scale, searched, &searched.finds.ends);
    }
    let mut sights: Vec<Sight> = searched.finds.ends.values().copied().collect();
    sights.sort();
    let mut ends = BTreeMap::new();
    for sight in sights {
        let way = through(plan, searched, &searched.table.way(sight.at))
            .expect("a search finds its way again to what it has visited");
        let (end, run) =
            path::end_of(plan, scale, &way).expect("a way of representatives is one of a run when it is renamed back");
        ends.entry(end).or_insert(run);
    }
    ends
}

// Returns the choices of a real run, in units of the clock, whose states have representatives with these digests.
fn through<P: Program<Guest: Snapshot>, M: Monitor>(
    plan: &SearchPlan<'_, P>,
    searched: &SearchState<P::Guest, M>,
    digests: &[u128],
) -> Option<Vec<Choice>> {
    let (shared, scratch) = searched.vectors.as_ref()?;
    let mut orbits = Orbits::new(plan.symmetry.as_ref()?, shared, scratch);
    let mut scratch = scratch.another(shared);
    let mut at = scratch.vector_of(shared, &searched.first.machine)?;
    // The renamings that lead from the representatives back to the states of the run, the last one first.
    let mut back: Vec<Renaming> = Vec::new();
    back.extend(orbits.represent(shared, &mut at).map(|elements| orbits.renaming(&elements).inverse()));
    let (mut choices, mut numbers, mut next) = (OpenChoices::default(), Canonicalizer::new(), Vec::new());
    let mut way = Vec::new();
    for digest in digests.get(1..)? {
        scratch.learn(shared);
        scratch.load(shared, &at);
        scratch.machine.world.number_declared(&mut numbers);
        choices.list(&scratch.machine.world, &numbers, plan.clock);
        let last = scratch.machine.world.last_instant();
        let mut found = None;
        'choices: for choice in &choices.all {
            let mut choice = *choice;
            scratch.load(shared, &at);
            loop {
                scratch.machine.step(choice);
                let (reached, elements) = match scratch.intern_all(shared, &at, &mut next) {
                    true => {
                        let elements = orbits.represent(shared, &mut next);
                        (orbits.digest(shared, &next), elements)
                    }
                    false => {
                        let node = ProductState::new(scratch.machine.clone(), searched.first.monitor.clone());
                        (node.digest(&mut numbers), None)
                    }
                };
                scratch.forget_all();
                if reached == *digest {
                    found = Some((choice, elements));
                    break 'choices;
                }
                // All ticks in a row are one step.
                let world = &scratch.machine.world;
                if choice.actor != Actor::Clock || world.outcome().is_some() || world.now() >= last {
                    break;
                }
                choice.argument += 1;
            }
        }
        let (choice, elements) = found?;
        way.push(back.iter().rev().fold(choice, |choice, back| renamed_choice(back, choice)));
        back.extend(elements.map(|elements| orbits.renaming(&elements).inverse()));
        std::mem::swap(&mut at, &mut next);
    }
    Some(way)
}
