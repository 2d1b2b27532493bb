//! Judges a variant by a search of all its states, if it has few. What a line misses can never happen then, and what it
//! forbids comes with a shortest run.

use super::ends::named;
use super::order::{OrderTally, OrderWatch};
use super::test_result::TestPlan;
use crate::campaign::runs::trial::remake;
use crate::event::Outcome;
use crate::exec::RunResult;
use crate::explore::{
    self, Bounds, Monitor, NoMonitor, RunChoices, SearchEnd, SearchReport, Stubbornness, exhaust, livelocks,
};
use crate::lang::program::ExpectationKind;
use crate::world::{Canonicalizer, World, signature};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

/// What a complete search has visited.
pub(in crate::campaign) struct SearchedStates {
    /// Number of states.
    pub(in crate::campaign) count: u64,
    /// Whether other states were left out, with no end among them.
    pub(in crate::campaign) reduced: bool,
    /// Whether some run may continue forever; `None` if no line asks for it.
    pub(in crate::campaign) livelock: Option<bool>,
}

/// Result of a complete search.
pub(in crate::campaign) struct SearchResult {
    pub(in crate::campaign) states: SearchedStates,
    /// All ends, each with its outcome, its signature and the token of a run.
    pub(in crate::campaign) ends: Vec<(RunResult, Outcome, String, String)>,
    /// Tallies of the lines about order, in the order of the lines.
    pub(in crate::campaign) orders: Vec<OrderTally>,
}

// Memory of a search beside other work, in bytes.
const MEMORY: u64 = 1 << 30;

/// Searches all states of the variant; if there are more than the plan allows, those that stubborn sets leave. Returns
/// `None` if these are too many as well, or do not tell what a line asks for, if the model has no `expect` lines, if
/// there are too many lines about order to follow, or if the search was interrupted.
pub(in crate::campaign) fn search(plan: &TestPlan<'_>, stop: &AtomicBool) -> Option<SearchResult> {
    // Without expectations there is nothing to search for.
    if plan.states == 0 || plan.model.program.expectations.is_empty() {
        return None;
    }
    let bounds = Bounds { states: plan.states, memory: MEMORY, ..Bounds::default() };
    let model = plan.model;
    let expectations = &model.program.expectations;
    let watch = OrderWatch::new(expectations);
    if !watch.fits_a_word() {
        return None;
    }
    let reduce = watch.is_idle();
    let (limits, jobs, observe) = (plan.campaign.limits, plan.campaign.jobs, named(&model.program));
    let plan = explore::SearchPlan { limits, jobs, bounds, reduce, observe, ..explore::SearchPlan::new(model) };
    let context = explore::SearchContext { stop, progress: &explore::NoSearchProgress };
    let asks = expectations.iter().any(|e| matches!(e.kind, ExpectationKind::Livelock { .. }));
    let found = if reduce { exhaust(&plan, &NoMonitor, context) } else { exhaust(&plan, &watch, context) };
    let found = match found {
        Ok(found) => found,
        // Orders of accesses and livelocks need all states.
        Err(_) if reduce && !asks => reduced(&plan, context)?,
        Err(_) => return None,
    };
    let livelock = match asks.then(|| livelocks(&plan, context)) {
        Some((_, Some(_))) => return None,
        livelocks => livelocks.map(|(found, _)| !found.is_empty()),
    };
    let orders = tallies(&watch, &plan, &found);
    // Ends that differ only in the lines about order are one end.
    let mut seen = BTreeSet::new();
    let distinct = found.ends.iter().filter(|(end, _)| seen.insert(end.ended.clone()));
    let end_of = |(end, way): (&SearchEnd, &RunChoices)| {
        let token = remake(model, &limits, way).token;
        (end.ended.clone(), way.outcome.clone(), token.signature.clone(), token.to_string())
    };
    let ends = distinct.map(end_of).collect();
    let states = SearchedStates { count: found.states, reduced: found.reduced.is_some(), livelock };
    Some(SearchResult { states, ends, orders })
}

// Searches the states that stubborn sets leave. Returns `None` if there are too many, if the text of the model does not
// show what its threads may do, or if a run fails and a line asks for the values of variables at that moment: the
// search finds all failures, but not all of these values.
fn reduced(plan: &explore::SearchPlan<'_>, context: explore::SearchContext<'_>) -> Option<SearchReport> {
    let plan = explore::SearchPlan { reduce: false, stubborn: Some(Stubbornness::default()), ..plan.clone() };
    let found = exhaust(&plan, &NoMonitor, context).ok()?;
    let fails = |way: &RunChoices| matches!(way.outcome, Outcome::Failure(_) | Outcome::Limit(..));
    let lacks_values = !plan.observe.is_empty() && found.ends.values().any(fails);
    (found.reduced.is_some() && !lacks_values).then_some(found)
}

// Counts the ends for each line about order. The marks show the orders of runs that never end.
fn tallies(watch: &OrderWatch<'_>, plan: &explore::SearchPlan<'_>, found: &SearchReport) -> Vec<OrderTally> {
    let mut anywhere = vec![false; watch.questions()];
    for mark in &found.marks {
        anywhere.iter_mut().zip(watch.at(*mark).finish(None)).for_each(|(any, shows)| *any |= shows);
    }
    let mut tallies: Vec<OrderTally> = anywhere.into_iter().map(OrderTally::of_ends).collect();
    for (end, way) in &found.ends {
        let failure = match &way.outcome {
            Outcome::Failure(_) | Outcome::Deadlock(_) | Outcome::Stuck { .. } => {
                Some(signature(&plan.program.code.setup, &way.outcome))
            }
            Outcome::Ok | Outcome::Limit(..) => None,
        };
        let shown = watch.at(end.mark).finish(Some(&way.outcome));
        for (tally, shows) in tallies.iter_mut().zip(shown) {
            tally.add(shows, failure.as_deref());
        }
    }
    tallies
}

impl Monitor for OrderWatch<'_> {
    const WATCHES: bool = true;

    fn event(&mut self, world: &World, event: &crate::event::Event) {
        crate::exec::Observer::event(self, world, event);
    }

    fn write(&self, _: &World, state: &mut Canonicalizer) {
        state.distinguish(self.code());
    }

    fn mark(&self) -> u64 {
        self.code()
    }
}
