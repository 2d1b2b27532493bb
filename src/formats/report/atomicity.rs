//! Formats verdicts on declared transactions in words, from a report alone. All forms share these texts.

use super::line::ReportLine;
use super::words::{Example, access, commands, fails, more_of_cause};
use super::{Replays, Subject, counted};
use crate::base::clean;
use crate::campaign::{Finding, RunKind, ViolationFacts};
use crate::formats::campaign::{Access, ConfirmReport, Pair};
use crate::formats::violations::{JudgedViolation, verdict_counts};

/// Formats what a verdict is about: `atomicity of Player`.
pub(crate) fn name(of: &JudgedViolation) -> String {
    clean(&format!("atomicity of {}", of.transaction))
}

/// Formats the operations of the cycle, one line each, in their order: `onBind#1 on main  write val  12:4`. Those of
/// the transaction have a smaller indent.
pub(super) fn cycle(of: &JudgedViolation) -> Vec<String> {
    let moments = of.cycle().map(|cycle| cycle.moments()).unwrap_or_default();
    moments.into_iter().map(|(moment, about)| clean(&moment.text(about))).collect()
}

/// Formats the statements of the cycle: `:12 write @bind, :30 write @receive, :34 read`. Empty if no run shows one.
pub(super) fn statements(of: &JudgedViolation) -> String {
    of.statements().into_iter().map(access).collect::<Vec<_>>().join(", ")
}

/// Describes priority, blame and proof in one line.
pub(super) fn proof(of: &JudgedViolation) -> String {
    let finding = of.finding.iter().flat_map(|finding| {
        let seen = finding.runs.map(|runs| format!("seen in {}", counted(u64::from(runs), "run")));
        std::iter::once(finding.headline()).chain(seen)
    });
    clean(&finding.chain(of.facts()).collect::<Vec<_>>().join("; "))
}

/// Describes the violation, with a run that shows it: one that fails, if it is harmful.
pub(super) fn examples<'r>(
    report: &ConfirmReport,
    of: &'r JudgedViolation,
    replays: &mut dyn Replays,
) -> Vec<Example<'r>> {
    if let Some(failure) = of.harm() {
        return vec![fails(report, failure, RunKind::Continuation, replays)];
    }
    let shown = of.shown().map(|again| Example {
        head: ReportLine::new("a run that violates it"),
        commands: commands(report, again, replays),
        failing: None,
    });
    shown.into_iter().collect()
}

/// Returns the statement that stands for the violation: the first one of its cycle that is known.
pub(super) fn place(of: &JudgedViolation) -> Option<&Access> {
    of.statements().into_iter().next()
}

/// Formats the verdict in small letters.
pub(super) fn verdict(of: &JudgedViolation) -> String {
    of.verdict().word().to_lowercase()
}

/// Counts the pairs that a violation of atomicity leads, for a list that leaves them out. `None` if there are none.
pub(crate) fn more_of_violation(report: &ConfirmReport, violation: &JudgedViolation) -> Option<String> {
    let is_its = |f: &&Finding<'_, Pair>| matches!(f.subject, Subject::Violation(own) if std::ptr::eq(own, violation));
    report.findings().iter().find(is_its).and_then(more_of_cause)
}

/// Counts the verdicts of a report: `atomicity: 1 harmful, 2 refuted`. `None` if nothing was judged.
pub(super) fn counts<'r>(reports: impl IntoIterator<Item = &'r ConfirmReport>) -> Option<String> {
    let all = reports.into_iter().filter_map(|report| report.atomicity.as_ref()).flat_map(|of| &of.violations);
    let counts = verdict_counts(all).join(", ").to_lowercase();
    (!counts.is_empty()).then(|| format!("atomicity: {counts}"))
}
