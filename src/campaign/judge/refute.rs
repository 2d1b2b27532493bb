//! Judges pairs that no run confirmed by a search of all states: it proves that they are false, or finds runs that
//! confirm them.

use super::instances::new_order;
use crate::campaign::drive::pair_trials::PairTrials;
use crate::campaign::order::First;
use crate::campaign::report::{NeverClaim, Refutation, UndecidedReason};
use crate::campaign::run::{RunSource, SEARCHED};
use crate::campaign::runs::states::{PRODUCT, States, search};
use crate::detect::Pair;
use crate::explore::{self, NoSearchProgress, OrderResult, RunChoices, instance_order, site_order, witness};
use crate::world::{Program, Search, Snapshot};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

// Maximum number of states of the product with instances that one search visits for an order pair, as a multiple of the
// program's states.
const MORE_BY_INSTANCES: u64 = 8;

// Maximum number of ends that are checked for a cut.
const MOST_ENDS: usize = 64;

// Judgment of one pair by a search.
struct Judgment<'j, 'd, P: Program> {
    states: &'j States,
    pair_trials: &'j mut PairTrials<'d, P>,
    is_race: bool,
}

impl<P: Program> Search<P> for Judgment<'_, '_, P> {
    type Answer = Result<Refutation, UndecidedReason>;

    fn perform(self, _: &P) -> Result<Refutation, UndecidedReason>
    where
        P::Guest: Snapshot,
    {
        if self.is_race { self.states.judge_race(self.pair_trials) } else { self.states.judge_order(self.pair_trials) }
    }
}

impl States {
    /// Judges a pair: returns a proof that it is false, or the reason why there is none. The runs that the search finds
    /// are added to those of the pair, and may confirm it. `is_race` is false for an order pair.
    pub(in crate::campaign) fn judge<P: Program>(
        &self,
        pair_trials: &mut PairTrials<'_, P>,
        is_race: bool,
    ) -> Result<Refutation, UndecidedReason> {
        let program = &pair_trials.plan.program;
        program.search(Judgment { states: self, pair_trials, is_race }).unwrap_or(Err(UndecidedReason::Cut))
    }

    // Judges a race by the orders of its statements, then by those of its instances.
    fn judge_race<P: Program<Guest: Snapshot>>(
        &self,
        pair_trials: &mut PairTrials<'_, P>,
    ) -> Result<Refutation, UndecidedReason> {
        let Pair { a, b } = pair_trials.pair;
        if let Some(way) = self.found.adjacent.get(&pair_trials.pair) {
            add(pair_trials, way);
            return Err(UndecidedReason::BothOrders);
        }
        let most = pair_trials.plan.search.states.saturating_mul(PRODUCT);
        if a != b {
            let plan = search(pair_trials.plan, most);
            let context = explore::SearchContext { stop: pair_trials.context.stop, progress: &NoSearchProgress };
            // The free of a use-free race has to be read by the use.
            let written = pair_trials.orders.direct().map(|write| if write == First::A { a } else { b });
            let orders = [(a, b), (b, a)].map(|(first, then)| {
                let is_direct = written == Some(first);
                (first, then, site_order(&plan, (first, then), is_direct, context))
            });
            if let Some((first, then, _)) = orders.iter().find(|o| matches!(o.2, OrderResult::Never)) {
                let order = |direct| site_order(&plan, (*first, *then), direct, context);
                let direct = written == Some(*first) && !matches!(order(false), OrderResult::Never);
                return self.unless_cut_off(pair_trials, NeverClaim::Order { first: *first, then: *then, direct });
            }
            if orders.iter().any(|o| matches!(o.2, OrderResult::Unknown(_))) {
                return Err(UndecidedReason::Cut);
            }
            for (first, then, order) in &orders {
                let OrderResult::Happens(way) = order else { continue };
                add(pair_trials, way);
                // The other order of the same two instances, if some run has it, makes a flip.
                if pair_trials.flip().is_none()
                    && let Some((one, other)) = witness(&plan, *first, *then, way)
                    && let OrderResult::Happens(way) = instance_order(&plan, &other, &one, context)
                {
                    add(pair_trials, &way);
                }
            }
            if pair_trials.flip().is_some() {
                return Err(UndecidedReason::BothOrders);
            }
        }
        self.by_instances(pair_trials, &Cell::new(most), most)
    }

    // Judges an order pair by the orders of its instances: returns a proof that no two of them come in both orders, or
    // the reason why there is none.
    fn judge_order<P: Program<Guest: Snapshot>>(
        &self,
        pair_trials: &mut PairTrials<'_, P>,
    ) -> Result<Refutation, UndecidedReason> {
        self.by_instances(pair_trials, &self.left, self.len().saturating_mul(MORE_BY_INSTANCES))
    }

    // Collects the orders in which instances come, run by run, until all are known. `left` is the number of states that
    // may be visited in all, `most` that of one search.
    fn by_instances<P: Program<Guest: Snapshot>>(
        &self,
        pair_trials: &mut PairTrials<'_, P>,
        left: &Cell<u64>,
        most: u64,
    ) -> Result<Refutation, UndecidedReason> {
        let mut known = BTreeSet::new();
        pair_trials.orders.collect_orders(&mut known);
        loop {
            if known.iter().any(|(x, y)| known.contains(&(y.clone(), x.clone()))) {
                return Err(UndecidedReason::BothOrders);
            }
            if left.get() == 0 {
                return Err(UndecidedReason::Cut);
            }
            let plan = search(pair_trials.plan, most.min(left.get()));
            let context = explore::SearchContext { stop: pair_trials.context.stop, progress: &NoSearchProgress };
            let (order, states) = new_order(&plan, pair_trials.pair, &known, context);
            left.set(left.get().saturating_sub(states.max(1)));
            match order {
                OrderResult::Unknown(_) => return Err(UndecidedReason::Cut),
                OrderResult::Happens(way) => add(pair_trials, &way),
                OrderResult::Never => {
                    let Pair { a, b } = pair_trials.pair;
                    let never = known.is_empty().then_some(NeverClaim::Order { first: a, then: b, direct: false });
                    return self.unless_cut_off(pair_trials, never.unwrap_or(NeverClaim::Turned));
                }
            }
            let before = known.len();
            pair_trials.orders.collect_orders(&mut known);
            // The run shows no new order, since only some instances of a run are kept.
            if known.len() == before {
                return Err(UndecidedReason::Cut);
            }
        }
    }

    // Returns the proof unless some known run may be a cut. A run that cut off the other access proves nothing about
    // the missing order.
    fn unless_cut_off<P: Program<Guest: Snapshot>>(
        &self,
        pair_trials: &mut PairTrials<'_, P>,
        never: NeverClaim,
    ) -> Result<Refutation, UndecidedReason> {
        for way in self.found.ends.values().take(MOST_ENDS) {
            add(pair_trials, way);
        }
        if pair_trials.flip().is_some() {
            return Err(UndecidedReason::BothOrders);
        }
        if pair_trials.may_be_cut() {
            return Err(UndecidedReason::CutOff);
        }
        Ok(Refutation { states: self.len(), never })
    }
}

// Performs the run that the search has found, and adds it to those of the pair.
fn add<P: Program>(pair_trials: &mut PairTrials<'_, P>, way: &RunChoices) {
    pair_trials.look_at(RunSource::Made { choices: Arc::new(way.choices.clone()), by: SEARCHED });
}
