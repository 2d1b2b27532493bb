//! Implements gates (`--fail-on`): the conditions that decide the exit status, which a build depends on.

use crate::campaign::{PairFacts, Verdict, same_failure};
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::output::Output;
use crate::formats::campaign::ConfirmReport;
use crate::formats::report::GateFailure;
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
    /// A harmful pair or order: runs fail with one order and not with the other
    Harmful,
    /// A pair that was confirmed, harmful or not
    Real,
    /// A pair that was neither confirmed nor refuted
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
        Ok(Gate { on, usual })
    }
}

/// Conditions that decide the exit status.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Gate {
    on: BTreeSet<FailOn>,
    // Whether the gate is the default one, because none was asked for.
    usual: bool,
}

impl Gate {
    /// Returns whether the campaign must look for possible livelocks.
    pub(in crate::cli) fn wants_livelocks(&self) -> bool {
        self.on.contains(&FailOn::Livelock)
    }

    // Number of findings in a report that meet one condition.
    fn count(&self, on: FailOn, report: &ConfirmReport) -> u64 {
        let pairs = || report.pairs.iter().chain(&report.order_pairs);
        let cut = || {
            report.detection_limits.iter().map(|c| u64::from(c.runs)).sum::<u64>()
                + pairs().map(|p| u64::from(p.limits)).sum::<u64>()
        };
        match on {
            FailOn::Harmful => {
                let harmful = report.findings().into_iter().filter(|f| f.verdict() == Some(Verdict::Harmful));
                harmful.map(|f| f.count()).sum()
            }
            FailOn::Real => report.pairs.iter().filter(|p| p.verdict().confirmed()).count() as u64,
            FailOn::Unconfirmed => report.pairs.iter().filter(|p| p.verdict() == Verdict::Unconfirmed).count() as u64,
            FailOn::AnyFailure => {
                let of_pairs = pairs().flat_map(|p| p.failures());
                let all = report.detection_failures.iter().chain(&report.unexplained).chain(of_pairs);
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

    /// Returns the conditions that some report meets, each with the number of findings.
    fn failed<'r>(&self, reports: impl Iterator<Item = &'r ConfirmReport> + Clone) -> Vec<(FailOn, u64)> {
        let all = self.on.iter().map(|on| (*on, reports.clone().map(|r| self.count(*on, r)).sum()));
        all.filter(|(_, n)| *n > 0).collect()
    }

    /// Returns the conditions that some report meets in words, for reports that other tools read. Empty if no gate was
    /// asked for.
    pub(in crate::cli) fn failures(&self, reports: &[ConfirmReport]) -> Vec<GateFailure> {
        let mut failed = if self.usual { Vec::new() } else { self.failed(reports.iter()) };
        // Such reports already contain each harmful pair and each failure.
        failed.retain(|(on, _)| !matches!(on, FailOn::Harmful | FailOn::AnyFailure));
        let searched = reports.iter().any(|r| r.livelocks.as_ref().is_some_and(|all| !all.is_empty()));
        let why = |on: FailOn| match on {
            FailOn::Real => "a pair was confirmed",
            FailOn::Unconfirmed => "a pair was neither confirmed nor refuted",
            FailOn::Limits => "runs reached a limit, so later steps are unknown",
            FailOn::Livelock if searched => "a run can continue forever",
            FailOn::Livelock => "whether a run can continue forever is unknown",
            FailOn::Harmful | FailOn::AnyFailure | FailOn::Nothing => "",
        };
        failed.into_iter().map(|(on, count)| GateFailure { on: name(on), count, why: why(on).to_owned() }).collect()
    }

    /// Returns the exit status. If a gate was asked for, a note says which conditions failed it.
    pub(in crate::cli) fn status<'r>(
        &self,
        reports: impl Iterator<Item = &'r ConfirmReport> + Clone,
        out: &mut Output,
    ) -> ExitStatus {
        let failed = self.failed(reports.clone());
        let unknown = self.wants_livelocks() && reports.clone().any(|r| r.livelocks.is_none() && r.about.complete);
        if unknown {
            out.note("whether a livelock is possible is unknown (too many states, or --explore off), which fails `--fail-on livelock`; a larger --explore-limit or a bounded counter in the model may decide it; `--fail-on any-failure,limits` does not check livelocks");
        }
        if !self.usual {
            let words: Vec<String> = failed.iter().map(|(on, n)| format!("{} ({n})", name(*on))).collect();
            let says = if words.is_empty() { "passed".to_owned() } else { format!("failed on {}", words.join(", ")) };
            out.note(format_args!("gate: {says}"));
        }
        if failed.is_empty() { ExitStatus::Nothing } else { ExitStatus::Found }
    }
}

// Name of a condition on the command line.
fn name(on: FailOn) -> String {
    on.to_possible_value().map_or(String::new(), |v| v.get_name().to_owned())
}
