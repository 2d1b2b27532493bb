//! Defines the result of `raceflip explore` as a JSON object, `raceflip-explore` version 3 (`docs/formats.md`).

use super::result::{At, Ending, ending};
use crate::campaign::remake;
use crate::event::{Outcome, SiteId};
use crate::exec::{LoopEnd, RunResult, value_text};
use crate::explore::{
    ClockMode, Cut, Livelock, OrderResult, RunChoices, SearchEnd, SearchPlan, SearchReport, SiteOrders,
};
use crate::lang::Program;
use crate::world::Limits;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the format. It increases when a field changes its meaning or is removed, not when a field is added.
pub const VERSION: u32 = 3;

/// The output of `raceflip explore --format json`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct ExploreReport {
    pub format: String,
    pub version: u32,
    pub file: String,
    pub program: String,
    pub defines: BTreeMap<String, i64>,
    pub clock: String,
    pub unit: [u64; 2],
    pub preemptions: Option<u32>,
    pub states: u64,
    pub transitions: u64,
    pub depth: u32,
    pub frontier: u64,
    pub complete: bool,
    pub proves: bool,
    pub cut: Option<String>,
    pub reproducible: bool,
    /// Settings that bound what the environment does.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bounds: BTreeMap<String, i64>,
    /// What the search has left out. Absent if it has visited all states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduction: Option<ReductionReport>,
    /// Arrays of threads that the search renames, each with the number of its threads.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub alike: BTreeMap<String, usize>,
    pub estimate: Option<SizeEstimate>,
    pub ends: Vec<EndReport>,
    pub livelocks: Option<Vec<LivelockReport>>,
    pub pairs: Option<Vec<SiteOrdersReport>>,
}

/// What a reduced search has left out.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct ReductionReport {
    pub states: u64,
    pub not_told: Vec<String>,
}

/// What a reduced search does not tell.
pub const NOT_TOLD: [&str; 5] =
    ["shortest runs", "livelocks", "least stalls", "limits of runs", "all values of variables where a run fails"];

/// Returns whether other runs may end in the same way with other values, which the search has left out. It has left
/// out none of the runs that stop at rest, or where nothing can move.
#[must_use]
pub fn has_some_values(found: &SearchReport, way: &RunChoices) -> bool {
    found.reduced.is_some() && matches!(way.outcome, Outcome::Failure(_) | Outcome::Deadlock(_) | Outcome::Limit(..))
}

/// An estimate of the total size of a search that was cut.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct SizeEstimate {
    pub states_at_least: u64,
    pub schedules: Option<f64>,
    pub schedules_error: Option<f64>,
    pub probes: u64,
    #[serde(default)]
    pub endless: u64,
    #[serde(default)]
    pub growing: u64,
}

/// A way in which runs can end.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct EndReport {
    pub text: String,
    pub outcome: Ending,
    pub signature: String,
    pub values: BTreeMap<String, String>,
    /// Whether other runs may end in the same way with other values.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub some_values: bool,
    pub steps: u64,
    /// Stall of the run of `token`, in milliseconds.
    pub stall: u64,
    /// Least stall of all runs that end in this way, in milliseconds, if it is known.
    pub least_stall: Option<u64>,
    pub token: String,
}

/// A possible livelock: a run that can continue forever.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct LivelockReport {
    pub threads: Vec<String>,
    pub states: usize,
    pub round: [u64; 2],
    pub token: String,
}

/// The orders of two statements.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct SiteOrdersReport {
    pub a: At,
    pub b: At,
    pub adjacent: Option<String>,
    pub orders: Vec<SiteOrderReport>,
    pub flips: Option<String>,
}

/// One order of two statements.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct SiteOrderReport {
    pub first: At,
    pub then: At,
    pub verdict: String,
    pub token: Option<String>,
}

/// The parts of which [`ExploreReport::new`] builds a report.
#[allow(missing_docs, reason = "named as in the report")]
pub struct ExploreParts<'a> {
    pub file: &'a str,
    pub plan: &'a SearchPlan<'a>,
    pub found: &'a SearchReport,
    pub preemptions: Option<u32>,
    pub stalls: &'a BTreeMap<SearchEnd, u64>,
    pub livelocks: Option<&'a [Livelock]>,
    pub orders: Option<&'a SiteOrders>,
    pub alike: &'a [(String, usize)],
    pub stopped: bool,
    pub timed_out: bool,
}

impl ExploreReport {
    /// Builds the report of a search.
    #[must_use]
    pub fn new(about: &ExploreParts<'_>) -> Self {
        let ExploreParts { plan, found, .. } = about;
        let exact = plan.clock == ClockMode::Exact;
        Self {
            format: "raceflip-explore".to_owned(),
            version: VERSION,
            file: about.file.to_owned(),
            program: format!("{:016x}", plan.program.digest()),
            defines: plan.program.defines.iter().cloned().collect(),
            clock: if exact { "exact" } else { "fast" }.to_owned(),
            unit: [found.scale.down, found.scale.up],
            preemptions: about.preemptions,
            states: found.states,
            transitions: found.transitions,
            depth: found.depth,
            frontier: found.frontier,
            complete: found.complete(),
            proves: found.complete() && exact && about.preemptions.is_none(),
            cut: found.cut.map(|cut| word(cut, about.timed_out).to_owned()),
            reproducible: !about.stopped && found.cut != Some(Cut::Memory),
            bounds: plan.program.program.components.bounds.iter().cloned().collect(),
            reduction: found
                .reduced
                .map(|states| ReductionReport { states, not_told: NOT_TOLD.map(str::to_owned).to_vec() }),
            alike: about.alike.iter().cloned().collect(),
            estimate: found.estimate.map(|e| SizeEstimate {
                states_at_least: e.at_least(found.states),
                schedules: finite(e.schedules),
                schedules_error: e.error(),
                probes: e.probes,
                endless: e.endless,
                growing: e.growing,
            }),
            ends: found.ends.iter().map(|(end, way)| about.end(end, way)).collect(),
            livelocks: about.livelocks.map(|all| all.iter().map(|l| about.livelock(l)).collect()),
            pairs: about.orders.map(|orders| about.pairs(orders)),
        }
    }

    /// Returns the report as JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts and numbers can be written")
    }
}

// JSON has no infinity, so an infinite number becomes null.
fn finite(n: f64) -> Option<f64> {
    n.is_finite().then_some(n)
}

fn word(cut: Cut, timed_out: bool) -> &'static str {
    match cut {
        Cut::States => "states",
        Cut::Depth => "most-steps",
        Cut::Memory => "memory",
        Cut::Stopped if timed_out => "time",
        Cut::Stopped => "interrupted",
    }
}

impl ExploreParts<'_> {
    fn token(&self, way: &RunChoices) -> String {
        remake(self.plan.program, &self.plan.limits, way).token.to_string()
    }

    fn end(&self, end: &SearchEnd, way: &RunChoices) -> EndReport {
        let remade = remake(self.plan.program, &self.plan.limits, way);
        let program = &self.plan.program.program;
        let values = end.ended.values.iter().map(|(id, v)| (program.globals[*id].name.clone(), value_text(v)));
        EndReport {
            text: end.ended.text(),
            outcome: ending(&remade.machine.world, &LoopEnd::Outcome(way.outcome.clone())),
            signature: remade.token.signature.clone(),
            values: values.collect(),
            some_values: has_some_values(self.found, way),
            steps: way.steps,
            stall: way.stall,
            least_stall: self.stalls.get(end).copied(),
            token: remade.token.to_string(),
        }
    }

    fn livelock(&self, livelock: &Livelock) -> LivelockReport {
        let limits = Limits { steps: livelock.way.steps, ..self.plan.limits };
        let remade = remake(self.plan.program, &limits, &livelock.way);
        LivelockReport {
            threads: livelock.threads.iter().map(|t| remade.machine.world.thread_name(*t)).collect(),
            states: livelock.states,
            round: [livelock.round.0 + 1, livelock.round.1],
            token: remade.token.to_string(),
        }
    }

    fn pairs(&self, orders: &SiteOrders) -> Vec<SiteOrdersReport> {
        let machine = self.plan.program.machine(self.plan.limits);
        let at = |site: SiteId| At::of(machine.world.setup(), site);
        let verdict = |order: &OrderResult| match order {
            OrderResult::Happens(_) => "happens",
            OrderResult::Never if self.plan.clock == ClockMode::Exact => "never",
            OrderResult::Never | OrderResult::Unknown(_) => "unknown",
        };
        let order = |(first, then, order): &(SiteId, SiteId, OrderResult)| SiteOrderReport {
            first: at(*first),
            then: at(*then),
            verdict: verdict(order).to_owned(),
            token: if let OrderResult::Happens(way) = order { Some(self.token(way)) } else { None },
        };
        let pair = |(pair, table): (&crate::detect::Pair, &crate::explore::PairOrders)| SiteOrdersReport {
            a: at(pair.a),
            b: at(pair.b),
            adjacent: self.found.adjacent.get(pair).map(|way| self.token(way)),
            orders: table.orders.iter().map(order).collect(),
            flips: table.flips.as_ref().map(|order| verdict(order).to_owned()),
        };
        orders.iter().map(pair).collect()
    }
}

/// Formats the observed values of an end: `total = 3`.
#[must_use]
pub fn values(program: &Program, ended: &RunResult) -> Vec<String> {
    ended.values.iter().map(|(id, v)| format!("{} = {}", program.globals[*id].name, value_text(v))).collect()
}
