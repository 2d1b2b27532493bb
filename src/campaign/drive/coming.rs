//! Decides by searches whether a run has cut off an order that no run shows: whether the other access was still to
//! come.
//!
//! The search begins in the state right before the first access, with the task of that access abandoned (`cuts`). It
//! visits everything that follows, in a product with the instance of the other access. So its answer is exact for that
//! state, unless a bound cuts it or semaphores leave it open.

use super::cuts::{CutContext, CutSuspect, before, gives_back};
use super::pair_trials::PairTrials;
use crate::campaign::order::{First, Flip, InstancePair};
use crate::campaign::runs::names::names_of_objects;
use crate::campaign::runs::observations::touched;
use crate::campaign::runs::states::{PRODUCT, search};
use crate::campaign::runs::trial::{AllChoices, Worker};
use crate::campaign::verdict::UndecidedReason;
use crate::event::{Event, EventKind, SemaphoreId};
use crate::exec::{NoObserver, Observer};
use crate::explore::{
    AbandonedTask, Monitor, NoSearchProgress, SearchContext, SearchPlan, StatementInstance, is_accepted, write_progress,
};
use crate::sched::Guide;
use crate::world::{Canonicalizer, Program, Snapshot, World};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// Whether the other access still comes after the first one, without it and the rest of its task.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Coming {
    /// It comes in no run: it had been settled before that it would not come.
    Never,
    /// It comes in some run, so that the first access has cut it off.
    Comes,
    /// It comes only if units of semaphores are given back that the task has taken and kept. Whether they are a lock or
    /// a signal is not known.
    WithUnits,
    /// A bound has cut the search.
    Unknown,
}

/// Answers of the searches for one pair.
#[derive(Default)]
pub(super) struct ComingAnswers {
    // By the state of the product right before the first access.
    known: BTreeMap<(InstancePair, First, u128), Coming>,
    // Number of states that were visited.
    states: u64,
    /// The flip that a search has proved, if one did.
    pub(super) proved: Option<Flip>,
}

impl<P: Program> PairTrials<'_, P> {
    /// Decides whether some known run has cut off an order that no run shows. If one has, the pair has a flip
    /// ([`flip`](Self::flip)).
    ///
    /// # Errors
    ///
    /// Returns the reason if this is open for some run.
    pub(in crate::campaign) fn decide_cuts(&mut self) -> Result<(), UndecidedReason>
    where
        P::Guest: Snapshot,
    {
        let mut decided = Ok(());
        for (instances, first) in self.orders.of_one_order() {
            let Some(pedigrees) = self.pedigrees(&instances) else { continue };
            let then = &pedigrees[first.other() as usize];
            for (i, step) in self.suspects(&instances, first) {
                let run = self.trials[i].run.clone();
                let suspect = CutSuspect { run: &run, pair: &instances, first, step };
                match self.coming(&suspect, then) {
                    Coming::Never => {}
                    Coming::Comes => {
                        let cut_context = CutContext { plan: self.plan, sites: &self.sites, stop: self.context.stop };
                        self.cuts.note(&cut_context, &suspect);
                        let Some(known) = self.orders.known(&instances) else { continue };
                        let known = self.trials[known].run.clone();
                        let runs = if first == First::A { [run, known] } else { [known, run] };
                        self.coming.proved = Some(Flip { instances, runs, cut: Some(first) });
                        return Ok(());
                    }
                    Coming::WithUnits if decided.is_ok() => decided = Err(UndecidedReason::Units),
                    Coming::WithUnits => {}
                    Coming::Unknown => decided = Err(UndecidedReason::CutOff),
                }
            }
        }
        decided
    }

    /// Returns two instances with their pedigrees, as a search needs them. A run that performed both has the pedigrees
    /// for the names.
    pub(in crate::campaign) fn pedigrees(&self, pair: &InstancePair) -> Option<[StatementInstance; 2]> {
        let run = self.trials[self.orders.known(pair)?].run.clone();
        let mut worker = Worker::new(self.plan);
        // The run must reach its end even after Ctrl-C: an interrupted run may lack these threads.
        worker.perform(&run, &mut NoObserver, &AtomicBool::new(false));
        let world = &worker.machine.world;
        let [a, b] = [&pair.a, &pair.b].map(|instance| {
            let context = world.contexts().named(world.setup(), &instance.context)?;
            let pedigree = world.contexts().chain(context);
            Some(StatementInstance { site: instance.site, pedigree, visit: instance.visit })
        });
        Some([a?, b?])
    }

    // Searches for the other access of a suspect, which is `then`.
    fn coming(&mut self, suspect: &CutSuspect<'_>, then: &StatementInstance) -> Coming
    where
        P::Guest: Snapshot,
    {
        let cut_context = CutContext { plan: self.plan, sites: &self.sites, stop: self.context.stop };
        let monitor = Comes { instance: then, place: &suspect.pair.place, visits: 0, found: false };
        let (mut watch, mut choices) = (Watch(monitor.clone()), AllChoices::default());
        let prefix = before(&cut_context, suspect, Guide::default(), &mut (&mut watch, &mut choices));
        let mut state = Canonicalizer::new();
        prefix.machine.canonical_in(&mut state);
        watch.0.write(&prefix.machine.world, &mut state);
        let key = (suspect.pair.clone(), suspect.first, state.digest());
        if let Some(known) = self.coming.known.get(&key) {
            return *known;
        }
        let Some(thread) = prefix.thread else { return Coming::Unknown };
        let task = prefix.machine.world.thread(thread).context;
        let (plan, stop, states) = (self.plan, self.context.stop, &mut self.coming.states);
        let mut comes = |units: &[(SemaphoreId, u64)]| {
            let left = plan.search.states.saturating_mul(PRODUCT).saturating_sub(*states);
            let abandoned = Some(AbandonedTask { thread, units: units.to_vec() });
            let plan = SearchPlan { from: choices.0.clone(), abandoned, ..search(plan, left) };
            let (comes, visited) = is_accepted(&plan, &monitor, SearchContext { stop, progress: &NoSearchProgress });
            *states = states.saturating_add(visited);
            comes
        };
        let coming = match comes(&[]) {
            None => Coming::Unknown,
            Some(true) => Coming::Comes,
            Some(false) if prefix.taken.is_empty() => Coming::Never,
            Some(false) if gives_back(&cut_context, suspect, task, &prefix.taken) => Coming::Never,
            Some(false) => match comes(&prefix.taken) {
                None => Coming::Unknown,
                Some(true) => Coming::WithUnits,
                Some(false) => Coming::Never,
            },
        };
        self.coming.known.insert(key, coming);
        coming
    }
}

// Monitor that accepts a state in which an instance has been performed at a location.
#[derive(Clone)]
struct Comes<'p> {
    instance: &'p StatementInstance,
    place: &'p str,
    visits: u32,
    found: bool,
}

impl Monitor for Comes<'_> {
    const WATCHES: bool = true;

    fn event(&mut self, world: &World, event: &Event) {
        let (Some(site), Some(context)) = (event.site, event.context) else { return };
        if site != self.instance.site || !world.contexts().is(context, &self.instance.pedigree) {
            return;
        }
        let EventKind::Performed { op, value, .. } = &event.what else { return };
        let Some((touch, place)) = touched(world, event.thread, op, *value) else { return };
        self.visits = (self.visits + 1).min(self.instance.visit + 1);
        self.found |= self.visits == self.instance.visit && touch.is_at(&place, self.place);
    }

    fn write(&self, world: &World, state: &mut Canonicalizer) {
        state.distinguish(u64::from(self.found));
        write_progress(world, state, self.instance, self.visits);
        names_of_objects(world, state);
    }

    fn accepts(&self) -> bool {
        self.found
    }
}

// Lets a monitor follow a run.
struct Watch<M>(M);

impl<M: Monitor> Observer for Watch<M> {
    fn event(&mut self, world: &World, event: &Event) {
        self.0.event(world, event);
    }
}
