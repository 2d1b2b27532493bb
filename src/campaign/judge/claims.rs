//! Decides which failures an order of a pair is to blame for. An order is to blame for a failure if the other order
//! does not have it *from the same state*. That is decided in one of two ways:
//!
//! - By a search, if few states follow. It finds all ends that the other order can reach (*exhaustive*).
//! - Otherwise by fresh runs of the other order from that state. None of them may have the failure, and there must be
//!   so many of them that its probability there is below [`BELOW`], and below its probability with the first order. The
//!   probability of a wrong claim about a pair is at most [`CHANCE`], however many failures, states and looks there
//!   are: each of them gets an equal share of it (Bonferroni).
//!
//! The runs that made a failure suspect are not used for that. A failure that was chosen because it looked rare is
//! rarer in the runs by which it was chosen than it really is.

use super::continuations::{Continuations, ForcedPair, Point};
use crate::base::{all_in_one, at_most_by};
use crate::campaign::order::First;
use crate::campaign::report::Claim;
use crate::campaign::runs::alike::{are_twins, key, swapped};
use crate::campaign::runs::observations::touched;
use crate::campaign::runs::trial::{AllChoices, StepPrefix};
use crate::campaign::{CampaignPlan, Explore};
use crate::event::{Actor, Choice, Event, EventKind};
use crate::exec::{EndKind, run};
use crate::explore::{self, Bounds, Monitor, NoMonitor, NoSearchProgress, SearchEnd, exhaust_ends, write_progress};
use crate::sched::Rerun;
use crate::world::{Canonicalizer, Program, Search, Snapshot, World};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

/// Upper bound of the probability that runs wrongly blame an order of a pair for some failure.
pub const CHANCE: f64 = 0.001;

/// Upper bound of the probability that the other order has a failure, if runs have decided that it does not.
pub const BELOW: f64 = 1.0 / 64.0;

// Minimum number of runs of the other order: with one look's share of CHANCE it gives a bound below BELOW. A quarter as
// many runs of the first order show that it fails more often.
const RUNS: u64 = 832;

// Number of looks. After each of them the number of runs is doubled, where the first order fails seldom.
const LOOKS: u32 = 4;

// Maximum number of failures of a pair that are decided, and of states by whose runs each of them is.
const MOST_SUSPECTS: usize = 16;
const MOST_BY_RUNS: usize = 4;

// Maximum number of runs, for each run of the other order that is wanted, before a state is given up.
const MOST_OF_ONE: u64 = 8;

// Share of CHANCE of a single look.
const PART: f64 = CHANCE / (MOST_SUSPECTS * MOST_BY_RUNS * LOOKS as usize) as f64;

// Share of the plan's states that a search from one state may visit (the divisor), and number of cut searches after
// which a pair is decided by runs alone.
const PART_OF_STATES: u64 = 4;
const MOST_CUT: u32 = 2;
const MEMORY: u64 = 1 << 30;

/// Decision on one failure: the claim that blames its order, and the point that it holds for. `None` if no order is to
/// blame.
pub(in crate::campaign) type Decision = Option<(Claim, usize)>;

/// Blamed failures by order and [`key`], each with its claim and the point that it holds for.
pub(super) type BlamedFailures = BTreeMap<(First, String), (Claim, usize)>;

// Failure that one order has and the other one was not seen to have, with the points for which that is true.
struct SuspectFailure {
    first: First,
    key: String,
    at: Vec<usize>,
}

// Ends that one order can reach from a point, as a search has found them.
struct ReachableEnds {
    states: u64,
    // Whether any run from the point has this order.
    possible: bool,
    failures: BTreeSet<String>,
}

/// Decides the suspect failures of a pair.
pub(super) struct Claims<'k, 'c, 'd, P: Program> {
    continuing: &'k mut Continuations<'c, 'd, P>,
    // Results of complete searches, by point and order.
    searched: BTreeMap<(usize, First), ReachableEnds>,
    cut: u32,
    either: BTreeSet<(First, String)>,
}

/// Decides all suspect failures of a pair.
///
/// Returns the failures that an order is to blame for, by order and [`key`]. Also returns the failures of one order
/// that a search has shown for the other order as well, although no run of it from the same state had them.
pub(in crate::campaign) fn claims<P: Program>(
    continuing: &mut Continuations<'_, '_, P>,
) -> (BlamedFailures, BTreeSet<(First, String)>) {
    let mut claims = Claims { continuing, searched: BTreeMap::new(), cut: 0, either: BTreeSet::new() };
    let mut decided: BTreeMap<(First, String), Decision> = BTreeMap::new();
    // The suspects are computed again each time: the runs that decide one failure may show others.
    while decided.len() < MOST_SUSPECTS && !claims.continuing.is_stopped() {
        let Some(suspect) = claims.suspects(&decided).into_iter().next() else { break };
        let claim = claims.decide(&suspect);
        decided.insert((suspect.first, suspect.key), claim);
    }
    let either = claims.either;
    (decided.into_iter().filter_map(|(failure, claim)| Some((failure, claim?))).collect(), either)
}

// Point from which one order was seen to fail and the other one was not.
struct Suspicion {
    // Rank of the point. Points with a lower rank are tried first.
    last: u8,
    // Runs of the order from the point that had the failure, and all runs of the order from there.
    hits: u32,
    runs: u32,
    // Index of the point.
    at: usize,
}

impl<P: Program> Claims<'_, '_, '_, P> {
    // Returns the failures that are suspect and not decided yet, by order and key.
    fn suspects(&self, decided: &BTreeMap<(First, String), Decision>) -> Vec<SuspectFailure> {
        let (points, pair) = (&self.continuing.points, self.continuing.pair_trials.pair);
        let both: Vec<_> = self
            .continuing
            .of_points
            .iter()
            .zip(points)
            .map(|(of, point)| {
                let mut all = of.clone();
                all.join(point.before.clone());
                all
            })
            .collect();
        let mut found: BTreeMap<(First, String), Vec<Suspicion>> = BTreeMap::new();
        for (at, (tallies, point)) in both.iter().zip(points).enumerate() {
            for (first, signature, hits) in tallies.lacking(&point.roles) {
                // Two threads of one array at one statement: with both threads exchanged the other order does what this
                // one does here, so that the failure says nothing about the order.
                let mirrored = || {
                    let mirror = swapped(signature, &point.roles);
                    let other = first.other() as usize;
                    both.iter().any(|of| of.of[other].keys().contains(&mirror))
                };
                let failure = (first, key(signature));
                if decided.contains_key(&failure) || pair.a == pair.b && are_twins(&point.roles) && mirrored() {
                    continue;
                }
                let runs = tallies.of[first as usize].runs;
                let of_other = tallies.of[first.other() as usize].runs;
                // From the start of the program the most states follow. Where the other order is rare, it cannot be
                // forced often enough.
                let last = if point.is_start { 1 } else { 2 * u8::from(of_other * 4 < runs) };
                found.entry(failure).or_default().push(Suspicion { last, hits, runs, at });
            }
        }
        let suspect = |((first, key), mut suspicions): ((First, String), Vec<Suspicion>)| {
            // The point with the highest failure rate comes first: it needs the fewest runs.
            suspicions.sort_by(|x, y| {
                let rate = |p: &Suspicion, q: &Suspicion| u64::from(p.hits) * u64::from(q.runs);
                x.last.cmp(&y.last).then(rate(y, x).cmp(&rate(x, y))).then(x.at.cmp(&y.at))
            });
            SuspectFailure { first, key, at: suspicions.into_iter().map(|suspicion| suspicion.at).collect() }
        };
        found.into_iter().map(suspect).collect()
    }

    // Decides a failure at its points in turn. A complete search decides a point. Where the search is cut, fresh runs
    // decide, for a limited number of points.
    fn decide(&mut self, suspect: &SuspectFailure) -> Decision {
        let mut by_runs = 0;
        for &at in &suspect.at {
            if self.continuing.is_stopped() {
                return None;
            }
            self.search(at, suspect.first.other());
            match self.searched.get(&(at, suspect.first.other())) {
                Some(reached) => {
                    let mirror = swapped(&suspect.key, &self.continuing.points[at].roles);
                    let lacks = !reached.failures.contains(&suspect.key) && !reached.failures.contains(&mirror);
                    if reached.possible && lacks {
                        return Some((Claim::Exhaustive { states: reached.states }, at));
                    }
                    if !lacks {
                        self.either.insert((suspect.first, suspect.key.clone()));
                    }
                }
                None if by_runs < MOST_BY_RUNS => {
                    by_runs += 1;
                    if let Some(claim) = self.by_runs(at, suspect) {
                        return Some((claim, at));
                    }
                }
                None => {}
            }
        }
        None
    }

    // Decides a failure by fresh runs of both orders from one point. There is a claim if no run of the other order has
    // the failure, and significantly more runs of this order have it.
    fn by_runs(&mut self, at: usize, suspect: &SuspectFailure) -> Option<Claim> {
        let (this, other) = (suspect.first, suspect.first.other());
        let mirror = swapped(&suspect.key, &self.continuing.points[at].roles);
        let is_it = |signature: &str| key(signature) == suspect.key;
        let fails_too = |signature: &str| key(signature) == suspect.key || key(signature) == mirror;
        let (mut wanted, mut tried, mut of_other, mut of_this, mut hits) = (RUNS, 0, 0, 0, 0);
        for _ in 0..LOOKS {
            // The first 64 runs sort out most of the failures that come with either order.
            for most in [64, wanted, wanted, wanted] {
                // Only a share of the runs has the wanted order: more of them are made accordingly.
                let missing = wanted.min(most).saturating_sub(of_other);
                let n = (missing * tried).checked_div(of_other).unwrap_or(missing);
                if n > MOST_OF_ONE * wanted {
                    return None;
                }
                tried += n;
                let made = if n > 0 { self.continuing.further(at, other, n) } else { Vec::new() };
                let made: Vec<_> = made.iter().filter(|c| c.first == Some(other)).collect();
                of_other += made.len() as u64;
                if self.continuing.is_stopped() || made.iter().any(|c| fails_too(&c.trial.signature)) {
                    return None;
                }
            }
            let made = self.continuing.further(at, this, (wanted / 4).saturating_sub(of_this));
            let made: Vec<_> = made.iter().filter(|c| c.first == Some(this)).collect();
            of_this += made.len() as u64;
            hits += made.iter().filter(|c| is_it(&c.trial.signature)).count() as u32;
            // The other order cannot be forced often enough from here.
            if self.continuing.is_stopped() || of_other < wanted {
                return None;
            }
            let at_most = at_most_by(of_other as u32, PART);
            if at_most < BELOW && all_in_one(hits, of_this as u32, of_other as u32) < PART {
                return Some(Claim::Runs { runs: of_other as u32, at_most, fails: hits, of: of_this as u32 });
            }
            wanted *= 2;
        }
        None
    }

    // Searches all ends that an order can reach from a point, unless searches are off or impossible, or too many were
    // cut.
    fn search(&mut self, at: usize, order: First) {
        let plan = self.continuing.pair_trials.plan;
        if plan.search.explore == Explore::Off || self.cut >= MOST_CUT || self.searched.contains_key(&(at, order)) {
            return;
        }
        let point = &self.continuing.points[at];
        let (scene, stop) = (&self.continuing.scenes[point.scene], self.continuing.pair_trials.context.stop);
        let Some(found) = plan.program.search(EndsFrom { plan, point, scene, order, stop }).flatten() else { return };
        let Some((states, ends)) = found else {
            self.cut += 1;
            return;
        };
        // A search from two threads that are side by side covers one order. A search with a monitor covers both.
        let orders = if point.threads.is_some() { vec![order] } else { vec![First::A, First::B] };
        for order in orders {
            let of_order = ends.iter().filter(|end| point.threads.is_some() || end.mark == order as u64 + 1);
            let fails = of_order.clone().filter(|end| is_failure(&end.ended.kind));
            let failures = fails.map(|end| key(&end.signature)).collect();
            let possible = of_order.count() > 0;
            self.searched.insert((at, order), ReachableEnds { states, possible, failures });
        }
    }
}

// Search of all ends that an order can reach from a point.
struct EndsFrom<'s, P> {
    plan: &'s CampaignPlan<P>,
    point: &'s Point,
    scene: &'s ForcedPair,
    order: First,
    stop: &'s AtomicBool,
}

impl<P: Program> Search<P> for EndsFrom<'_, P> {
    // Number of states, and the ends. The inner `None` means that the search was cut, the outer one that the order
    // cannot be searched from this point.
    type Answer = Option<Option<(u64, BTreeSet<SearchEnd>)>>;

    fn perform(self, program: &P) -> Self::Answer
    where
        P::Guest: Snapshot,
    {
        let Self { plan, point, scene, order, stop } = self;
        let search = explore::SearchPlan {
            limits: plan.limits,
            jobs: plan.jobs,
            bounds: Bounds { states: plan.search.states / PART_OF_STATES, memory: MEMORY, ..Bounds::default() },
            from: prefix(plan, point, order)?,
            signatures: true,
            reduce: point.threads.is_some(),
            ..explore::SearchPlan::new(program)
        };
        let context = explore::SearchContext { stop, progress: &NoSearchProgress };
        match (&point.threads, &scene.pedigrees, &scene.instances) {
            (Some(_), ..) => Some(exhaust_ends(&search, &NoMonitor, context)),
            (None, Some(instances), Some(pair)) => {
                let monitor = FirstOf { instances, place: &pair.place, visits: [0, 0], performed_first: 0 };
                Some(exhaust_ends(&search, &monitor, context))
            }
            _ => None,
        }
    }
}

fn is_failure(kind: &EndKind) -> bool {
    matches!(kind, EndKind::Failure { .. } | EndKind::Deadlock | EndKind::Stuck)
}

// Returns the choices that lead to a point, with clock arguments in milliseconds. If threads are side by side there,
// their next steps follow in the given order, as far as each is enabled. `None` if one of these steps needs an
// argument.
fn prefix<P: Program>(plan: &CampaignPlan<P>, point: &Point, order: First) -> Option<Vec<Choice>> {
    let mut beginning = StepPrefix::new(Rerun::new(point.choices.clone()), point.steps);
    let mut machine = plan.program.machine(plan.limits);
    let mut choices = AllChoices::default();
    run(&mut machine, &mut beginning, 0, &mut choices, &AtomicBool::new(false));
    let mut made = choices.0;
    for thread in point.in_order(order).into_iter().flatten() {
        let actor = Actor::Thread(thread);
        if machine.world.outcome().is_some() || !machine.world.is_open(actor) {
            continue;
        }
        if machine.world.question(actor).is_some() {
            return None;
        }
        let choice = Choice { actor, argument: 0 };
        machine.step(choice);
        made.push(choice);
    }
    Some(made)
}

// Monitor that records which of two instances comes first. The other one need not follow, since a failure may prevent
// it.
#[derive(Clone)]
struct FirstOf<'p> {
    instances: &'p [explore::StatementInstance; 2],
    place: &'p str,
    visits: [u32; 2],
    // Instance that came first, from 1; 0 if none has come yet.
    performed_first: u64,
}

impl Monitor for FirstOf<'_> {
    const WATCHES: bool = true;

    fn event(&mut self, world: &World, event: &Event) {
        let (Some(site), Some(context)) = (event.site, event.context) else { return };
        let EventKind::Performed { op, value, .. } = &event.what else { return };
        if self.performed_first != 0 {
            return;
        }
        for (i, instance) in self.instances.iter().enumerate() {
            if site != instance.site || !world.contexts().is(context, &instance.pedigree) {
                continue;
            }
            let Some((touch, place)) = touched(world, event.thread, op, *value) else { continue };
            self.visits[i] += 1;
            if self.visits[i] == instance.visit && touch.is_at(&place, self.place) {
                self.performed_first = i as u64 + 1;
            }
        }
    }

    fn write(&self, world: &World, state: &mut Canonicalizer) {
        state.distinguish(self.performed_first);
        if self.performed_first == 0 {
            let both = self.instances.iter().zip(self.visits);
            both.for_each(|(instance, visits)| write_progress(world, state, instance, visits));
        }
    }

    fn mark(&self) -> u64 {
        self.performed_first
    }
}

#[cfg(test)]
mod tests {
    use super::{PART, RUNS};
    use crate::base::at_most_by;

    #[test]
    fn the_page_on_verdicts_has_the_bound_that_is_printed() {
        // To four decimals, as the bound is printed.
        let bound = (at_most_by(RUNS as u32, PART) * 1e4).round() / 1e4;
        let says = format!("below 1/{} at 99.9 %", (1.0 / bound).floor());
        assert!(include_str!("../../../docs/verdicts.md").contains(&says), "{says}");
    }
}
