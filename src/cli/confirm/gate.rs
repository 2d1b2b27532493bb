//! Implements gates (`--fail-on`): the conditions that decide the exit status, which a build depends on.

use crate::campaign::{PairFacts, RingFacts, Verdict, ViolationFacts, same_failure};
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::output::Output;
use crate::formats::campaign::ConfirmReport;
use crate::formats::campaigns::CampaignReport;
use crate::formats::gate::{GateFailure, GateReport};
use clap::ValueEnum;
use std::collections::BTreeSet;

/// Help text about gates in `confirm` and `merge`.
pub(in crate::cli) const CONFIRM: &str = "\
In CI:
  By default every confirmed pair and every failure gives exit status 1, which suits a search for races. A
  correct model may have harmless races, so a gate needs weaker conditions. Most gates use
    --fail-on any-failure,limits   no run fails in any order, and no run is cut by a limit
  A gate against new races alone uses
    --fail-on harmful              failures that occur in both orders pass";

/// Conditions on which a campaign fails: the values of `--fail-on`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::cli) enum FailOn {
    /// A harmful pair or order (runs fail with one order and not with the other), a confirmed deadlock ring, or a
    /// harmful violation of atomicity
    Harmful,
    /// A pair that was confirmed, harmful or not; a violation of atomicity (see --strict)
    Real,
    /// A pair, a deadlock ring or a declared transaction that was neither confirmed nor refuted
    Unconfirmed,
    /// A failing run, whatever the verdicts: also if both orders of a pair fail, or if no pair explains the failure
    AnyFailure,
    /// A run that reached a limit: later steps are unknown
    Limits,
    /// A possible livelock; it is then searched for even if no run reached a limit (in all states, up to
    /// --explore-limit; if there are more, the answer is unknown, and the gate fails)
    Livelock,
    /// Nothing: only report. It cannot be combined
    Nothing,
}

/// Option `--fail-on` of campaigns.
#[derive(clap::Args, Clone, Debug)]
pub(in crate::cli) struct GateArgs {
    /// Exit with 1 in these cases, separated by commas; for a gate in CI, use `any-failure,limits` [default:
    /// harmful,real,any-failure]
    #[arg(long, value_enum, value_name = "WHAT,...", value_delimiter = ',', help_heading = "Gate")]
    fail_on: Vec<FailOn>,
    /// Let `real` count each violation of atomicity: also one that the transaction itself has caused (priority 3), and
    /// one that several transactions are only jointly to blame for
    #[arg(long, help_heading = "Gate")]
    pub(in crate::cli) strict: bool,
}

impl GateArgs {
    /// Returns the gate. It is an error if `nothing` is combined with another condition.
    pub(in crate::cli) fn resolve(&self) -> Result<Gate, super::Refusal> {
        let on: BTreeSet<FailOn> = self.fail_on.iter().copied().collect();
        if on.contains(&FailOn::Nothing) && on.len() > 1 {
            return Err(super::Refusal::new(
                "`--fail-on nothing` cannot be combined: remove the other conditions, or `nothing`",
            ));
        }
        let usual = on.is_empty();
        let on = if usual { BTreeSet::from([FailOn::Harmful, FailOn::Real, FailOn::AnyFailure]) } else { on };
        Ok(Gate { on, usual, strict: self.strict })
    }
}

/// Conditions that decide the exit status.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Gate {
    on: BTreeSet<FailOn>,
    // Whether the gate is the default one, because none was asked for.
    usual: bool,
    // Whether each violation of atomicity counts.
    strict: bool,
}

impl Gate {
    /// Returns whether an option has changed the gate.
    pub(in crate::cli) fn is_given(&self) -> bool {
        !self.usual || self.strict
    }

    /// Returns whether the campaign must look for possible livelocks.
    pub(in crate::cli) fn wants_livelocks(&self) -> bool {
        self.on.contains(&FailOn::Livelock)
    }

    // Number of findings in a report that meet one condition.
    fn count(&self, on: FailOn, report: &ConfirmReport) -> u64 {
        let pairs = || report.pairs.iter().chain(&report.order_pairs);
        let violations = || report.atomicity.iter().flat_map(|of| &of.violations);
        let cut = || {
            report.detection_limits.iter().map(|c| u64::from(c.runs)).sum::<u64>()
                + pairs().map(|p| u64::from(p.limits)).sum::<u64>()
        };
        match on {
            FailOn::Harmful => {
                let harmful = report.findings().into_iter().filter(|f| f.verdict() == Some(Verdict::Harmful));
                harmful.map(|f| f.count()).sum::<u64>()
            }
            FailOn::Real => {
                let violated = report.atomicity.as_ref().map_or(0, |found| found.counting(self.strict));
                report.pairs.iter().filter(|p| p.verdict().confirmed()).count() as u64 + violated
            }
            FailOn::Unconfirmed => {
                let pairs = report.pairs.iter().map(PairFacts::verdict);
                let rings = report.rings.iter().map(RingFacts::verdict);
                let violations = violations().map(|of| of.verdict().weight());
                pairs.chain(rings).chain(violations).filter(|verdict| *verdict == Verdict::Unconfirmed).count() as u64
            }
            FailOn::AnyFailure => {
                let of_pairs = pairs().flat_map(|p| p.failures());
                let all = report.detection_failures.iter().chain(&report.unexplained).chain(of_pairs);
                let all = all.chain(report.rings.iter().flat_map(RingFacts::deadlocks));
                let all = all.chain(violations().filter_map(ViolationFacts::harm));
                all.map(|f| same_failure(&f.signature)).collect::<BTreeSet<_>>().len() as u64
            }
            FailOn::Limits => cut(),
            // If the gate is about livelocks and no search could decide, it fails.
            FailOn::Livelock => {
                report.livelocks.as_ref().map_or(u64::from(report.about.complete), |all| all.len() as u64)
            }
            FailOn::Nothing => 0,
        }
    }

    /// Returns the judgment of the gate on these reports.
    pub(in crate::cli) fn judge<'r>(&self, reports: impl Iterator<Item = &'r ConfirmReport> + Clone) -> GateReport {
        let searched = reports.clone().any(|r| r.livelocks.as_ref().is_some_and(|all| !all.is_empty()));
        let rings = reports.clone().flat_map(|r| &r.rings).any(|ring| ring.verdict() == Verdict::Harmful);
        let violated = reports.clone().any(|r| r.atomicity.as_ref().is_some_and(|of| of.counting(self.strict) > 0));
        let why = |on: FailOn| match on {
            FailOn::Harmful if violated => {
                "one order of a pair, a deadlock ring, or a violation of atomicity causes a failure"
            }
            FailOn::Harmful if rings => "one order of a pair causes a failure, or a deadlock ring closes",
            FailOn::Harmful => "one order of a pair causes a failure",
            FailOn::Real if violated => "a pair or a violation of atomicity was confirmed",
            FailOn::Real => "a pair was confirmed",
            FailOn::Unconfirmed => "a pair was neither confirmed nor refuted",
            FailOn::AnyFailure => "a run failed",
            FailOn::Limits => "runs reached a limit, so later steps are unknown",
            FailOn::Livelock if searched => "a run can continue forever",
            FailOn::Livelock => "whether a run can continue forever is unknown",
            FailOn::Nothing => "",
        };
        let all = self.on.iter().map(|on| (*on, reports.clone().map(|r| self.count(*on, r)).sum::<u64>()));
        let failure = |(on, count)| GateFailure { on: name(on), count, why: why(on).to_owned() };
        let failed = all.filter(|(_, count)| *count > 0).map(failure).collect();
        let judged = GateReport::new(self.on.iter().copied().map(name).collect(), self.usual, failed);
        GateReport { strict: self.strict, ..judged }
    }

    /// Judges a campaign: each of its variants alone, and all of them together. Returns the judgment on all.
    pub(in crate::cli) fn judge_all(&self, campaign: &mut CampaignReport) -> GateReport {
        for result in &mut campaign.results {
            result.report.gate = Some(self.judge(std::iter::once(&result.report)));
        }
        let judged = self.judge(campaign.results.iter().map(|result| &result.report));
        campaign.gate = Some(judged.clone());
        judged
    }

    /// Prints why the gate failed or could not decide, and returns the exit status. `judged` is its judgment on these
    /// reports. If no gate was given, the status is the only sign of it.
    pub(in crate::cli) fn status<'r>(
        &self,
        judged: &GateReport,
        mut reports: impl Iterator<Item = &'r ConfirmReport>,
        out: &mut Output,
    ) -> ExitStatus {
        if self.wants_livelocks() && reports.any(|r| r.livelocks.is_none() && r.about.complete) {
            out.note("whether a livelock is possible is unknown (too many states, or --explore off), which fails `--fail-on livelock`; a larger --explore-limit or a bounded counter in the model may decide it; `--fail-on any-failure,limits` does not check livelocks");
        }
        note(judged, out);
        status(judged)
    }
}

/// Prints the judgment of a gate that was given.
pub(in crate::cli) fn note(judged: &GateReport, out: &mut Output) {
    if !judged.default {
        out.note(format_args!("gate: {}", judged.words()));
    }
}

/// Returns the exit status of a command that was neither interrupted nor refused anything.
pub(in crate::cli) fn status(judged: &GateReport) -> ExitStatus {
    if judged.passed { ExitStatus::Nothing } else { ExitStatus::Found }
}

// Name of a condition on the command line.
fn name(on: FailOn) -> String {
    on.to_possible_value().map_or(String::new(), |v| v.get_name().to_owned())
}
