//! The violations of atomicity of `raceflip confirm`: of a model that declares transactions, and with
//! `--detector atomicity` alone.

use super::Args;
use crate::base::counted;
use crate::campaign::{CampaignContext, CampaignPlan, Confirmation, confirm, confirm_violations};
use crate::cli::Refusal;
use crate::cli::io::load::Model;
use crate::cli::io::output::Output;
use crate::cli::io::replay_command;
use crate::cli::run::timeline::{self, TimelineView};
use crate::detect::atomicity::EdgeRules;
use crate::formats::campaign::{ConfirmReport, Evidence};
use crate::formats::campaigns::TrialLine;
use crate::formats::report::atomicity::more_of_violation;
use crate::formats::violations::ViolationsReport;
use crate::world::Limits;

/// Refuses options that contradict each other.
pub(super) fn refuse(args: &Args) -> Result<(), Refusal> {
    if args.atomic.options().edges == EdgeRules::Paper {
        return Err(Refusal::new("violations are confirmed by the edges of data: leave `--edges paper` out"));
    }
    if !args.is_of_atomicity() {
        return Ok(());
    }
    let of_pairs = [
        ("--pair", !args.pair.is_empty()),
        ("--pairs-from", args.pairs_from.is_some()),
        ("--no-orders", args.no_orders),
    ];
    match of_pairs.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Refusal::new(format!(
            "`{option}` is about pairs, and `--detector atomicity` has none: remove one of the two"
        ))),
        None => Ok(()),
    }
}

/// Performs the campaign of a model, and returns its result with its report and the lines of its trials: pairs, and the
/// transactions that the model declares; or the latter alone, with `--detector atomicity`. After an interruption
/// nothing more is begun.
pub(super) fn campaign(
    args: &Args,
    model: &Model,
    plan: &CampaignPlan,
    context: CampaignContext<'_>,
) -> (Confirmation, ConfirmReport, Vec<TrialLine>) {
    let alone = args.is_of_atomicity();
    let found = if alone { Confirmation::empty() } else { confirm(plan, context) };
    let mut report = ConfirmReport::new(model.name(), model.digest(), plan, &found);
    let asked = alone || !args.atomic.specifications().is_empty();
    let mut judged = None;
    if plan.trials.pairs.is_none() && found.complete() && (asked || model.program.declares_transactions) {
        let all = confirm_violations(plan, &args.atomic.wanted(), args.atomic.options(), context);
        report.about.complete &= all.complete;
        report = report.with_atomicity(ViolationsReport::new(model.name(), plan, &all));
        judged = Some(all);
    }
    let wants_trials = args.trials_out.is_some();
    let trials = wants_trials.then(|| TrialLine::all(model.name(), plan, &found, judged.as_ref()));
    (found, report, trials.unwrap_or_default())
}

/// Prints the verdicts on transactions, if there are any, each with a timeline if that is asked for. `allowed` are the
/// limits of the campaign.
pub(super) fn print(
    args: &Args,
    model: &Model,
    report: &ConfirmReport,
    allowed: &Limits,
    out: &mut Output,
) -> Result<(), Refusal> {
    let Some(found) = &report.atomicity else { return Ok(()) };
    writeln!(out, "{}", found.headline());
    let mut replay =
        |Evidence { token, strategy, seed }: &Evidence| replay_command::replay(model, token, strategy, *seed, allowed);
    if args.result.quiet {
        return Ok(());
    }
    let listed = found.listed(args.group.all);
    for (i, of) in listed.iter().enumerate() {
        of.text(i + 1, args.group.all, &mut replay).iter().for_each(|line| writeln!(out, "{line}"));
        let leads = if args.group.all { None } else { more_of_violation(report, of) };
        leads.into_iter().for_each(|more| writeln!(out, "   {more}"));
        if let Some((again, marks)) = of.shown().filter(|_| args.timeline).zip(of.marks(model, allowed)) {
            writeln!(out);
            timeline::print_token(out, model, &again.token, marks, &TimelineView::default())?;
        }
    }
    let of_others = found.violations.iter().filter(|of| of.leader.is_some()).count();
    let left_out = if args.group.all { 0 } else { (found.violations.len() - of_others - listed.len()) as u64 };
    if left_out > 0 {
        let findings = counted(left_out, "finding");
        writeln!(out);
        writeln!(out, "{findings} of the same names left out: joint, of priority 3, or likely harmless (--all)");
    }
    Ok(())
}
