//! Judges pairs by a search of all states: it finds runs that confirm them, or proves that they are false.
//!
//! A pair is false if it is nowhere side by side, an order of it never happens, and no run has cut that order off. The
//! first two are questions to all runs. The third one is decided for the runs that are known, after the trials, unless
//! it follows from the first two.

use super::instances::{AskedPair, OrderedInstances, is_never_cut, new_order, order_of_operations, orders_of};
use super::rounds::take_turns;
use crate::campaign::drive::pair_trials::PairTrials;
use crate::campaign::order::First;
use crate::campaign::report::{NeverClaim, Refutation};
use crate::campaign::runs::states::{PRODUCT, States, run_of, search};
use crate::campaign::verdict::UndecidedReason;
use crate::detect::{Instance, Pair};
use crate::event::SiteId;
use crate::explore::{self, NoSearchProgress, OrderResult, RunChoices, SearchContext, instance_order, site_order};
use crate::world::{Program, Search, Snapshot};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

// Maximum number of states of the product with instances that one search visits for an order pair, as a multiple of the
// program's states.
const MORE_BY_INSTANCES: u64 = 8;

// Maximum number of pairs of instances whose other order is asked for if there are too many states with all of them.
const MOST_TURNED: usize = 4;

// Maximum number of ends that are checked for a cut.
const MOST_ENDS: usize = 64;

/// What a search of all states says about the orders of a pair.
#[derive(Clone, Copy, Debug)]
pub(in crate::campaign) enum OrdersFound {
    /// Runs that the search has found confirm the pair.
    Confirmed,
    /// No run has this.
    Never {
        claim: NeverClaim,
        /// Whether no run can cut off the order, so that nothing else is to be proved.
        is_never_cut: bool,
    },
}

// Search for the orders of one pair.
struct Asking<'j, 'd, P: Program> {
    states: &'j States,
    pair_trials: &'j mut PairTrials<'d, P>,
    is_race: bool,
}

impl<P: Program> Search<P> for Asking<'_, '_, P> {
    type Answer = Result<OrdersFound, UndecidedReason>;

    fn perform(self, _: &P) -> Self::Answer
    where
        P::Guest: Snapshot,
    {
        let Self { states, pair_trials, is_race } = self;
        let (plan, pair) = (pair_trials.plan, pair_trials.pair);
        // The free of a use-free race has to be read by the use.
        let direct = pair_trials.orders.direct().map(|write| if write == First::A { pair.a } else { pair.b });
        let asked = AskedPair::new(&*plan.program, pair, direct);
        let most = plan.search.states.saturating_mul(PRODUCT);
        let left = if is_race { &Cell::new(most) } else { &states.left };
        let mut known = BTreeSet::new();
        pair_trials.orders.collect_orders(&mut known);
        let stop = pair_trials.context.stop;
        let context = SearchContext { stop, progress: &NoSearchProgress };
        let of_one = if is_race { most } else { most.min(states.len().saturating_mul(MORE_BY_INSTANCES)) };
        let mut judgment =
            PairJudgment { states, pair_trials, asked, is_race, known, ways: Vec::new(), left, of_one, context };
        let found = judgment.judge();
        judgment.add_ways();
        found
    }
}

// Decision whether some known run has cut off an order that never happens.
struct DecidingCuts<'j, 'd, P: Program> {
    states: &'j States,
    pair_trials: &'j mut PairTrials<'d, P>,
}

impl<P: Program> Search<P> for DecidingCuts<'_, '_, P> {
    type Answer = Result<(), UndecidedReason>;

    fn perform(self, _: &P) -> Self::Answer
    where
        P::Guest: Snapshot,
    {
        let Self { states, pair_trials } = self;
        for way in states.found.ends.values().take(MOST_ENDS) {
            pair_trials.look_at(run_of(way), &[]);
        }
        if pair_trials.flip().is_some() { Ok(()) } else { pair_trials.decide_cuts() }
    }
}

impl States {
    /// Asks for the orders of a pair. The runs that the search finds are added to those of the pair. `is_race` is false
    /// for an order pair.
    ///
    /// # Errors
    ///
    /// Returns the reason if the search neither confirms the pair nor shows what never happens.
    pub(in crate::campaign) fn orders<P: Program>(
        &self,
        pair_trials: &mut PairTrials<'_, P>,
        is_race: bool,
    ) -> Result<OrdersFound, UndecidedReason> {
        let program = &pair_trials.plan.program;
        program.search(Asking { states: self, pair_trials, is_race }).unwrap_or(Err(UndecidedReason::Cut))
    }

    /// Returns the proof that a pair is false, from what its orders never do. `None` if some run has cut off an order,
    /// which confirms the pair.
    ///
    /// # Errors
    ///
    /// Returns the reason if some run may have cut off an order.
    pub(in crate::campaign) fn refute<P: Program>(
        &self,
        pair_trials: &mut PairTrials<'_, P>,
        claim: NeverClaim,
    ) -> Result<Option<Refutation>, UndecidedReason> {
        let program = &pair_trials.plan.program;
        program.search(DecidingCuts { states: self, pair_trials }).unwrap_or(Err(UndecidedReason::Cut))?;
        Ok(pair_trials.flip().is_none().then_some(self.refutation(claim)))
    }

    /// Returns the proof that a pair is false because of what its orders never do.
    pub(in crate::campaign) fn refutation(&self, never: NeverClaim) -> Refutation {
        Refutation { states: self.len(), never }
    }
}

// Judgment of a pair in progress.
struct PairJudgment<'j, 'd, P: Program> {
    states: &'j States,
    pair_trials: &'j mut PairTrials<'d, P>,
    asked: AskedPair,
    is_race: bool,
    // Orders of instances that some run has.
    known: BTreeSet<OrderedInstances>,
    // Runs that searches have found, each with its orders.
    ways: Vec<(RunChoices, BTreeSet<OrderedInstances>)>,
    // Number of states of products with instances that may be visited in all, and by one search.
    left: &'j Cell<u64>,
    of_one: u64,
    context: SearchContext<'d>,
}

impl<'d, P: Program<Guest: Snapshot>> PairJudgment<'_, 'd, P> {
    fn judge(&mut self) -> Result<OrdersFound, UndecidedReason> {
        let Pair { a, b } = self.asked.pair;
        if let Some(way) = self.states.found.adjacent.get(&self.asked.pair).filter(|_| self.is_race) {
            self.pair_trials.look_at(run_of(way), &[]);
            return self.confirmed();
        }
        if a != b {
            for order in [(a, b), (b, a)] {
                if self.known.iter().any(|(x, ..)| x.site == order.0) {
                    continue;
                }
                match self.order(order, self.asked.direct == Some(order.0)) {
                    OrderResult::Never => return Ok(self.never(order)),
                    OrderResult::Unknown(_) => return Err(UndecidedReason::Instances),
                    OrderResult::Happens(way) => self.learn(way)?,
                }
            }
        }
        match self.by_instances() {
            Err(UndecidedReason::Instances) if a != b && take_turns(&self.product(), (a, b), self.context) => {
                Ok(OrdersFound::Never { claim: NeverClaim::Turned, is_never_cut: false })
            }
            Err(UndecidedReason::Instances) if self.is_race && self.turns() => Ok(OrdersFound::Confirmed),
            judgment => judgment,
        }
    }

    fn plan(&self, states: u64) -> explore::SearchPlan<'d, P> {
        search(self.pair_trials.plan, states)
    }

    // Returns the plan of a search of a product without names.
    fn product(&self) -> explore::SearchPlan<'d, P> {
        self.plan(self.pair_trials.plan.search.states.saturating_mul(PRODUCT))
    }

    // Returns whether some instance of one statement comes before one of the other, whatever their names are.
    fn order(&self, order: (SiteId, SiteId), direct: bool) -> OrderResult {
        let plan = self.product();
        match self.is_race {
            true => site_order(&plan, order, direct, self.context),
            false => order_of_operations(&plan, order, self.context),
        }
    }

    // Returns what is claimed of an order that never happens.
    fn never(&self, (first, then): (SiteId, SiteId)) -> OrdersFound {
        let of_a_read = self.asked.direct == Some(first);
        let direct = of_a_read && !matches!(self.order((first, then), false), OrderResult::Never);
        let is_never_cut = !direct && is_never_cut(&self.product(), (first, then), self.context);
        OrdersFound::Never { claim: NeverClaim::Order { first, then, direct }, is_never_cut }
    }

    // Collects the orders in which instances come, run by run, until all are known.
    fn by_instances(&mut self) -> Result<OrdersFound, UndecidedReason> {
        loop {
            if let Some(turned) = self.known.iter().find(|(x, y, at)| self.known.contains(&turn(x, y, at))).cloned() {
                return self.flip(&turned);
            }
            if self.left.get() == 0 {
                return Err(UndecidedReason::Instances);
            }
            let plan = self.plan(self.of_one.min(self.left.get()));
            let (order, states) = new_order(&plan, self.asked, &self.known, self.context);
            self.left.set(self.left.get().saturating_sub(states.max(1)));
            match order {
                OrderResult::Unknown(_) => return Err(UndecidedReason::Instances),
                OrderResult::Happens(way) => self.learn(way)?,
                OrderResult::Never => {
                    let Pair { a, b } = self.asked.pair;
                    let is_empty = self.known.is_empty();
                    let never = is_empty.then_some(NeverClaim::Order { first: a, then: b, direct: false });
                    let claim = never.unwrap_or(NeverClaim::Turned);
                    // Without any order there is none to cut off.
                    return Ok(OrdersFound::Never { claim, is_never_cut: is_empty });
                }
            }
        }
    }

    // Learns the orders of a run that a search has found. If it shows none that is new, a limit cuts it before: its
    // loops have no end that runs reach.
    fn learn(&mut self, way: RunChoices) -> Result<(), UndecidedReason> {
        let orders = orders_of(&self.plan(0), self.asked, &way).ok_or(UndecidedReason::Instances)?;
        if orders.is_subset(&self.known) {
            return Err(UndecidedReason::Instances);
        }
        self.known.extend(orders.iter().cloned());
        self.ways.push((way, orders));
        Ok(())
    }

    // Confirms the pair by two known runs that have two instances in both orders.
    fn flip(&mut self, (x, y, at): &OrderedInstances) -> Result<OrdersFound, UndecidedReason> {
        for order in [(x.clone(), y.clone(), at.clone()), turn(x, y, at)] {
            // A run of the pair has every order that none of the search has.
            if let Some((way, _)) = self.ways.iter().find(|(_, orders)| orders.contains(&order)) {
                self.pair_trials.look_at(run_of(way), &[x, y]);
            }
        }
        self.confirmed()
    }

    // The runs that the search has found confirm the pair, unless a limit cuts them.
    fn confirmed(&mut self) -> Result<OrdersFound, UndecidedReason> {
        if self.pair_trials.is_confirmed() { Ok(OrdersFound::Confirmed) } else { Err(UndecidedReason::Limit) }
    }

    // Adds the runs that the search has found to those of the pair.
    fn add_ways(&mut self) {
        for (way, _) in std::mem::take(&mut self.ways) {
            self.pair_trials.look_at(run_of(&way), &[]);
        }
    }

    // Looks for the other order of some two instances of known runs, one by one. That takes fewer states than all
    // instances. Returns whether it has confirmed the pair.
    fn turns(&mut self) -> bool {
        self.add_ways();
        let plan = self.plan(self.of_one.min(self.states.len().saturating_mul(MORE_BY_INSTANCES)));
        for (instances, missing) in self.pair_trials.orders.of_one_order().into_iter().take(MOST_TURNED) {
            let Some([a, b]) = self.pair_trials.pedigrees(&instances) else { continue };
            let (first, then) = if missing == First::A { (a, b) } else { (b, a) };
            if let OrderResult::Happens(way) = instance_order(&plan, &first, &then, self.context) {
                self.pair_trials.look_at(run_of(&way), &[&instances.a, &instances.b]);
            }
            if self.pair_trials.flip().is_some() {
                return true;
            }
        }
        false
    }
}

// Returns the other order of two instances.
fn turn(x: &Arc<Instance>, y: &Arc<Instance>, at: &str) -> OrderedInstances {
    (y.clone(), x.clone(), at.to_owned())
}
