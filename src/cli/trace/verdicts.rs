//! From the races of a trace to verdicts: makes the model of the trace and confirms the pairs on it.

use crate::campaign::{CampaignContext, CampaignPlan, PairFacts, PairReport, StatePlan, TrialPlan, Verdict, confirm};
use crate::cli::args::workers;
use crate::cli::io::bar::CampaignBar;
use crate::cli::trace::analyze::is_aside;
use crate::cli::trace::to_model;
use crate::detect::Pair;
use crate::formats::analysis::{AnalysisReport, FoundRace};
use crate::formats::trace_model::{ModelOptions, TraceModel};
use crate::formats::{pairs, shell};
use crate::trace::{OpNo, Trace};
use crate::vm::Model;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

// Maximum number of operations of a trace of which a model is made only to name a pair in it.
const MOST_OPERATIONS: usize = 100_000;

// Maximum number of states that a search visits for a pair that no run confirms. A model of a trace has more states
// than one by hand.
const STATES: u64 = 200_000;

/// The word for a race that the campaign has not reached, in the place of a verdict.
pub(super) const NOT_DRIVEN: &str = "not driven";

/// The way to the verdict on a race by hand.
pub(super) struct NextStep {
    /// Command line that makes a model and confirms the race on it.
    pub(super) command: String,
    /// Whether the model has all races of the trace, so that `--confirm` can decide them.
    pub(super) all: bool,
}

/// Returns how to confirm the first race of a report; `None` if it has none, or if no model has it.
///
/// If the model of the whole trace is too large, the command makes one of the location of the race. `is_too_large` says
/// that this is known.
pub(super) fn next_step(trace: &Trace, file: &Path, report: &AnalysisReport, is_too_large: bool) -> Option<NextStep> {
    let race = report.races.iter().find(|race| !is_aside(race))?;
    if file == Path::new("-") {
        return None;
    }
    let (mut model, mut all, mut only) = (None, !is_too_large, String::new());
    if all && trace.ops.len() <= MOST_OPERATIONS {
        model = to_model::make(trace, file, &ModelOptions::default()).ok();
        all = model.is_some();
    }
    if !all {
        // A comma separates the values of this option.
        let location = Some(&race.location).filter(|location| !location.contains(','))?;
        let options = ModelOptions { only: vec![location.clone()], ..ModelOptions::default() };
        model = Some(to_model::make(trace, file, &options).ok()?);
        only = format!(" --only={}", shell::quote(location));
    }
    let pair = model.and_then(|model| pair_in(&model, race)).map_or_else(String::new, |pair| format!(" --pair {pair}"));
    let argument = shell::path_bytes(file.as_os_str().as_encoded_bytes());
    // The model of `app.jsonl` is not `app.race`: that is the user's own model, if the trace is of a run of it.
    let out = shell::path_bytes(file.with_extension("trace.race").as_os_str().as_encoded_bytes());
    let command = format!("raceflip trace to-model {argument}{only} -o {out} && raceflip confirm {out}{pair}");
    Some(NextStep { command, all })
}

// Returns the pair of a race in a model.
fn pair_in(model: &TraceModel, race: &FoundRace) -> Option<String> {
    let label = |operation: u32| model.label(OpNo(operation));
    label(race.first.operation).zip(label(race.second.operation)).map(|(a, b)| format!("{a}~{b}"))
}

/// Confirms the races of a report on the model of the trace, and notes pairs and verdicts in the report; a race that
/// was not driven gets neither. `wanted` says which races. Returns what the model leaves out, one line each.
///
/// # Errors
///
/// Returns why no race can be driven.
pub(super) fn confirm_races(
    (trace, file): (&Trace, &Path),
    report: &mut AnalysisReport,
    wanted: impl Fn(&FoundRace) -> bool,
    stop: &Arc<AtomicBool>,
) -> Result<Vec<String>, String> {
    let made = to_model::make(trace, file, &ModelOptions::default()).map_err(|error| error.to_string())?;
    let cannot = |why: &dyn std::fmt::Display| format!("the model of the trace cannot be run: {why}");
    let model = Model::from_text("trace.race", &made.text, &[]).map_err(|error| cannot(&error))?;
    let mut by_race: BTreeMap<usize, (String, Pair)> = BTreeMap::new();
    for (i, race) in report.races.iter().enumerate().filter(|(_, race)| wanted(race)) {
        let Some(text) = pair_in(&made, race) else { continue };
        let listed = pairs::read(&text.replace('~', " ~ "), &model.code.setup.sites).map_err(|error| cannot(&error))?;
        by_race.extend(listed.pairs.first().map(|pair| (i, (text, *pair))));
    }
    let all: BTreeSet<Pair> = by_race.values().map(|(_, pair)| *pair).collect();
    if all.is_empty() {
        return Ok(made.notes);
    }
    // Without uses and frees nothing in the model can fail but by a deadlock, which is no harm to the app.
    let pairs = Some(all.into_iter().collect());
    let trials = TrialPlan { pairs, compare: !trace.marks.is_empty(), ..TrialPlan::default() };
    let search = StatePlan { states: STATES, ..StatePlan::default() };
    let plan = CampaignPlan { trials, search, jobs: workers(None), ..CampaignPlan::new(&model) };
    let bar = CampaignBar::new("run");
    let found = confirm(&plan, CampaignContext { stop, progress: &bar });
    bar.finish();
    report.interrupted = found.interrupted;
    let driven = found.pairs.iter().filter(|pair| was_driven(pair));
    let verdicts: BTreeMap<Pair, Verdict> = driven.map(|pair| (pair.pair, verdict(pair))).collect();
    for (i, (text, pair)) in by_race {
        // A campaign that was stopped has no result for the pairs that it has not reached.
        let undecided = (!found.interrupted).then_some(Verdict::Unconfirmed);
        if let Some(verdict) = verdicts.get(&pair).copied().or(undecided) {
            (report.races[i].pair, report.races[i].verdict) = (Some(text), Some(verdict.word().to_owned()));
        }
    }
    Ok(made.notes)
}

// Whether a campaign has done anything about a pair.
fn was_driven(pair: &PairReport) -> bool {
    pair.trials.complete || pair.trials.count > 0 || pair.verdict() != Verdict::Unconfirmed
}

/// Counts the verdicts on these races in one line: `2 real, 1 refuted, 3 unconfirmed`.
pub(super) fn summary<'r>(races: impl Iterator<Item = &'r FoundRace>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    races.for_each(|race| *counts.entry(race.verdict.as_deref().unwrap_or(NOT_DRIVEN)).or_default() += 1);
    let verdicts = [Verdict::Harmful, Verdict::Real, Verdict::Refuted, Verdict::Unconfirmed].map(Verdict::word);
    let words = verdicts.into_iter().chain([NOT_DRIVEN]);
    let parts: Vec<String> = words.filter_map(|word| Some(format!("{} {word}", counts.get(word)?))).collect();
    parts.join(", ")
}

// A deadlock of the model does no harm to the app: it is an order of the model that the trace excludes.
fn verdict(pair: &PairReport) -> Verdict {
    let fails = pair.harms().iter().any(|signature| signature.starts_with("failure "));
    match pair.verdict() {
        Verdict::Harmful if !fails => Verdict::Real,
        verdict => verdict,
    }
}

#[cfg(test)]
mod tests {
    use super::{NOT_DRIVEN, confirm_races, summary};
    use crate::detect::happens_before::{Options, analyze};
    use crate::formats::{analysis::AnalysisReport, traces};
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    /// Confirms the only race of a trace.
    fn confirmed(is_stopped: bool) -> AnalysisReport {
        let trace = traces::read("t.std", "A|w(x)|1\nB|w(x)|2\n".as_bytes()).unwrap();
        let found = analyze(&trace, Options::default(), &AtomicBool::new(false)).unwrap();
        let mut report = AnalysisReport::new("t.std", "rules", &trace, &found);
        assert_eq!(report.races.len(), 1);
        let stop = Arc::new(AtomicBool::new(is_stopped));
        confirm_races((&trace, Path::new("t.std")), &mut report, |_| true, &stop).unwrap();
        report
    }

    #[test]
    fn a_race_that_was_not_driven_has_no_verdict() {
        let mut report = confirmed(true);
        let race = &report.races[0];
        assert_eq!((report.interrupted, &race.pair, &race.verdict), (true, &None, &None));
        assert_eq!(summary(report.races.iter()), format!("1 {NOT_DRIVEN}"));
        report.races.extend(confirmed(false).races);
        assert_eq!(summary(report.races.iter()), "1 real, 1 not driven");
        assert!(!confirmed(false).interrupted);
    }
}
