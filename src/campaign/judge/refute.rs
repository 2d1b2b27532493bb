//! Judges pairs that no run confirmed by a search of all states: it proves that they are false, or finds runs that
//! confirm them.

use super::instances::new_order;
use crate::campaign::drive::driven::Driven;
use crate::campaign::report::{Never, Refutation, Undecided};
use crate::campaign::run::{Run, SEARCHED};
use crate::campaign::runs::states::{PRODUCT, States, search};
use crate::detect::Pair;
use crate::explore::{self, Order, Silent, Way, instance_order, site_order, witness};
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
    driven: &'j mut Driven<'d, P>,
    is_race: bool,
}

impl<P: Program> Search<P> for Judgment<'_, '_, P> {
    type Answer = Result<Refutation, Undecided>;

    fn perform(self, _: &P) -> Result<Refutation, Undecided>
    where
        P::Guest: Snapshot,
    {
        if self.is_race { self.states.judge_race(self.driven) } else { self.states.judge_order(self.driven) }
    }
}

impl States {
    /// Judges a pair: returns a proof that it is false, or the reason why there is none. The runs that the search finds
    /// are added to those of the pair, and may confirm it. `is_race` is false for an order pair.
    pub(in crate::campaign) fn judge<P: Program>(
        &self,
        driven: &mut Driven<'_, P>,
        is_race: bool,
    ) -> Result<Refutation, Undecided> {
        let program = &driven.plan.program;
        program.search(Judgment { states: self, driven, is_race }).unwrap_or(Err(Undecided::Cut))
    }

    // Judges a race by the orders of its statements, then by those of its instances.
    fn judge_race<P: Program<Guest: Snapshot>>(&self, driven: &mut Driven<'_, P>) -> Result<Refutation, Undecided> {
        let Pair { a, b } = driven.pair;
        if let Some(way) = self.found.adjacent.get(&driven.pair) {
            add(driven, way);
            return Err(Undecided::BothOrders);
        }
        let most = driven.plan.states.saturating_mul(PRODUCT);
        if a != b {
            let plan = search(driven.plan, most);
            let context = explore::Context { stop: driven.context.stop, progress: &Silent };
            let orders = [(a, b), (b, a)].map(|(first, then)| (first, then, site_order(&plan, first, then, context)));
            if let Some((first, then, _)) = orders.iter().find(|o| matches!(o.2, Order::Never)) {
                return self.unless_cut_off(driven, Never::Order { first: *first, then: *then });
            }
            if orders.iter().any(|o| matches!(o.2, Order::Unknown(_))) {
                return Err(Undecided::Cut);
            }
            for (first, then, order) in &orders {
                let Order::Happens(way) = order else { continue };
                add(driven, way);
                // The other order of the same two instances, if some run has it, makes a flip.
                if driven.flip().is_none()
                    && let Some((one, other)) = witness(&plan, *first, *then, way)
                    && let Order::Happens(way) = instance_order(&plan, &other, &one, context)
                {
                    add(driven, &way);
                }
            }
            if driven.flip().is_some() {
                return Err(Undecided::BothOrders);
            }
        }
        self.by_instances(driven, &Cell::new(most), most)
    }

    // Judges an order pair by the orders of its instances: returns a proof that no two of them come in both orders, or
    // the reason why there is none.
    fn judge_order<P: Program<Guest: Snapshot>>(&self, driven: &mut Driven<'_, P>) -> Result<Refutation, Undecided> {
        self.by_instances(driven, &self.left, self.len().saturating_mul(MORE_BY_INSTANCES))
    }

    // Collects the orders in which instances come, run by run, until all are known. `left` is the number of states that
    // may be visited in all, `most` that of one search.
    fn by_instances<P: Program<Guest: Snapshot>>(
        &self,
        driven: &mut Driven<'_, P>,
        left: &Cell<u64>,
        most: u64,
    ) -> Result<Refutation, Undecided> {
        let mut known = BTreeSet::new();
        driven.orders.came(&mut known);
        loop {
            if known.iter().any(|(x, y)| known.contains(&(y.clone(), x.clone()))) {
                return Err(Undecided::BothOrders);
            }
            if left.get() == 0 {
                return Err(Undecided::Cut);
            }
            let plan = search(driven.plan, most.min(left.get()));
            let context = explore::Context { stop: driven.context.stop, progress: &Silent };
            let (order, states) = new_order(&plan, driven.pair, &known, context);
            left.set(left.get().saturating_sub(states.max(1)));
            match order {
                Order::Unknown(_) => return Err(Undecided::Cut),
                Order::Happens(way) => add(driven, &way),
                Order::Never => {
                    let Pair { a, b } = driven.pair;
                    let never = known.is_empty().then_some(Never::Order { first: a, then: b });
                    return self.unless_cut_off(driven, never.unwrap_or(Never::Turned));
                }
            }
            let before = known.len();
            driven.orders.came(&mut known);
            // The run shows no new order, since only some instances of a run are kept.
            if known.len() == before {
                return Err(Undecided::Cut);
            }
        }
    }

    // Returns the proof unless some known run may be a cut. A run that cut off the other access proves nothing about
    // the missing order.
    fn unless_cut_off<P: Program<Guest: Snapshot>>(
        &self,
        driven: &mut Driven<'_, P>,
        never: Never,
    ) -> Result<Refutation, Undecided> {
        for way in self.found.ends.values().take(MOST_ENDS) {
            add(driven, way);
        }
        if driven.flip().is_some() {
            return Err(Undecided::BothOrders);
        }
        if driven.may_be_cut() {
            return Err(Undecided::CutOff);
        }
        Ok(Refutation { states: self.len(), never })
    }
}

// Performs the run that the search has found, and adds it to those of the pair.
fn add<P: Program>(driven: &mut Driven<'_, P>, way: &Way) {
    driven.look_at(Run::Made { choices: Arc::new(way.choices.clone()), by: SEARCHED });
}
