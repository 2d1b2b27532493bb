//! The violations of atomicity of `raceflip confirm`: of a model that declares transactions, and with
//! `--detector atomicity` alone.

use super::Args;
use crate::campaign::{CampaignContext, CampaignPlan, confirm_violations};
use crate::cli::args::DetectorArg;
use crate::cli::io::bar::CampaignBar;
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::files;
use crate::cli::io::load::Model;
use crate::cli::io::output::Output;
use crate::cli::io::reports::ReportFormat;
use crate::cli::{CommandContext, Refusal};
use crate::detect::atomicity::EdgeRules;
use crate::formats::violations::ViolationsReport;
use std::sync::atomic::AtomicBool;

/// Refuses options that contradict each other.
pub(super) fn refuse(args: &Args) -> Result<(), Refusal> {
    if args.atomic.options().edges == EdgeRules::Paper {
        return Err(Refusal::new("violations are confirmed by the edges of data: leave `--edges paper` out"));
    }
    if args.campaign.detector != DetectorArg::Atomicity {
        return Ok(());
    }
    if args.is_of_many() {
        return Err(Refusal::new("`confirm --detector atomicity` needs exactly one model: give one file"));
    }
    if !matches!(args.result.format, ReportFormat::Text | ReportFormat::Json) {
        return Err(Refusal::new("`confirm --detector atomicity` has the formats text and json: use one of these"));
    }
    let of_pairs = [
        ("--pair", !args.pair.is_empty()),
        ("--pairs-from", args.pairs_from.is_some()),
        ("--trials-out", args.trials_out.is_some()),
        ("--save", args.save),
        ("--timeline", args.timeline),
        ("--fail-on", args.gate.is_given()),
        ("--time", args.time.is_some()),
    ];
    match of_pairs.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Refusal::new(format!(
            "`{option}` is about pairs, and `--detector atomicity` has none: remove one of the two"
        ))),
        None => Ok(()),
    }
}

/// Judges the transactions of a model beside its pairs. `None` if it declares none.
pub(super) fn of_model(args: &Args, model: &Model, plan: &CampaignPlan, stop: &AtomicBool) -> Option<ViolationsReport> {
    let asked = args.atomic.specifications();
    (model.program.declares_transactions || !asked.is_empty()).then(|| judge(args, model, plan, stop))
}

fn judge(args: &Args, model: &Model, plan: &CampaignPlan, stop: &AtomicBool) -> ViolationsReport {
    let bar = CampaignBar::new("run");
    let context = CampaignContext { stop, progress: &bar };
    let found = confirm_violations(plan, &args.atomic.wanted(), args.atomic.options(), context);
    bar.finish();
    ViolationsReport::new(model.name(), &found)
}

/// Prints the verdicts, if there are any.
pub(super) fn print(args: &Args, model: &Model, report: Option<&ViolationsReport>, out: &mut Output) {
    let replay = |token: &str| format!("raceflip replay {} {token}", model.argument());
    let Some(report) = report else { return };
    let lines = report.text(args.group.all, &replay);
    let shown = if args.result.quiet { 1 } else { lines.len() };
    lines.iter().take(shown).for_each(|line| writeln!(out, "{line}"));
}

/// Performs `confirm --detector atomicity`.
pub(super) fn only(
    args: &Args,
    model: &Model,
    plan: &CampaignPlan,
    stop: &AtomicBool,
    context: &mut CommandContext,
) -> Result<ExitStatus, Refusal> {
    let report = judge(args, model, plan, stop);
    if let Some(path) = &args.out {
        files::write(path, &format!("{}\n", report.to_json()))?;
    }
    if args.result.format == ReportFormat::Json {
        context.out.json(&report.to_json());
    } else {
        print(args, model, Some(&report), &mut context.out);
    }
    Ok(match (report.complete, report.violated() > 0) {
        (false, _) => ExitStatus::Interrupted,
        (true, true) => ExitStatus::Found,
        (true, false) => ExitStatus::Nothing,
    })
}
