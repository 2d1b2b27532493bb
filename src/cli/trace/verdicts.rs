//! From the races of a trace to verdicts: makes the model of the trace and confirms the pairs on it.

use crate::campaign::{CampaignContext, CampaignPlan, PairFacts, PairReport, StatePlan, TrialPlan, Verdict, confirm};
use crate::cli::Refusal;
use crate::cli::args::workers;
use crate::cli::io::bar::CampaignBar;
use crate::cli::trace::to_model;
use crate::detect::Pair;
use crate::formats::analysis::{AnalysisReport, FoundRace};
use crate::formats::trace_model::{ModelOptions, TraceModel};
use crate::formats::{pairs, shell};
use crate::trace::{OpNo, Trace};
use crate::vm::Model;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

// Maximum number of operations of a trace of which a model is made only to name a pair in it.
const MOST_OPERATIONS: usize = 100_000;

// Maximum number of states that a search visits for a pair that no run confirms. A model of a trace has more states
// than one by hand.
const STATES: u64 = 200_000;

/// Notes for each race its pair in the model of the trace.
pub(super) fn name_pairs(model: &TraceModel, report: &mut AnalysisReport) {
    for race in &mut report.races {
        let label = |operation: u32| model.label(OpNo(operation));
        race.pair = label(race.first.operation).zip(label(race.second.operation)).map(|(a, b)| format!("{a}~{b}"));
    }
}

/// Returns the command line that makes the model of a trace and confirms its first race; `None` if it has none.
pub(super) fn next_step(trace: &Trace, file: &Path, report: &AnalysisReport) -> Option<String> {
    let race = report.races.iter().find(|race| race.rank != 'B')?;
    if file == Path::new("-") {
        return None;
    }
    let argument = shell::path_bytes(file.as_os_str().as_encoded_bytes());
    // The model of `app.jsonl` is not `app.race`: that is the user's own model, if the trace is of a run of it.
    let out = shell::path_bytes(file.with_extension("trace.race").as_os_str().as_encoded_bytes());
    let model = match trace.ops.len() {
        ..=MOST_OPERATIONS => to_model::make(trace, file, &ModelOptions::default()).ok(),
        _ => None,
    };
    let label = |operation: u32| model.as_ref().and_then(|model| model.label(OpNo(operation)));
    let pair = label(race.first.operation).zip(label(race.second.operation));
    let pair = pair.map_or_else(String::new, |(a, b)| format!(" --pair {a}~{b}"));
    Some(format!("raceflip trace to-model {argument} -o {out} && raceflip confirm {out}{pair}"))
}

/// Confirms the races of a report on the model of the trace, and notes the verdicts in the report. `wanted` says which
/// races.
pub(super) fn confirm_races(
    (trace, file): (&Trace, &Path),
    report: &mut AnalysisReport,
    wanted: impl Fn(&FoundRace) -> bool,
    stop: &Arc<AtomicBool>,
) -> Result<TraceModel, Refusal> {
    let made = to_model::make(trace, file, &ModelOptions::default())?;
    name_pairs(&made, report);
    let cannot =
        |why: &dyn std::fmt::Display| Refusal::new(format_args!("the model of the trace cannot be run: {why}"));
    let model = Model::from_text("trace.race", &made.text, &[]).map_err(|error| cannot(&error))?;
    let mut by_text: BTreeMap<String, Pair> = BTreeMap::new();
    for race in report.races.iter().filter(|race| wanted(race)) {
        let Some(text) = &race.pair else { continue };
        let listed = pairs::read(&text.replace('~', " ~ "), &model.code.setup.sites).map_err(|error| cannot(&error))?;
        by_text.extend(listed.pairs.first().map(|pair| (text.clone(), *pair)));
    }
    let all: Vec<Pair> = by_text.values().copied().collect::<std::collections::BTreeSet<_>>().into_iter().collect();
    if all.is_empty() {
        return Ok(made);
    }
    // Without uses and frees nothing in the model can fail but by a deadlock, which is no harm to the app.
    let trials = TrialPlan { pairs: Some(all), compare: !trace.marks.is_empty(), ..TrialPlan::default() };
    let search = StatePlan { states: STATES, ..StatePlan::default() };
    let plan = CampaignPlan { trials, search, jobs: workers(None), ..CampaignPlan::new(&model) };
    let bar = CampaignBar::new("run");
    let found = confirm(&plan, CampaignContext { stop, progress: &bar });
    bar.finish();
    let verdicts: BTreeMap<Pair, Verdict> = found.pairs.iter().map(|pair| (pair.pair, verdict(pair))).collect();
    for race in report.races.iter_mut() {
        let pair = race.pair.as_ref().and_then(|text| by_text.get(text));
        race.verdict = pair.map(|pair| verdicts.get(pair).copied().unwrap_or(Verdict::Unconfirmed).word().to_owned());
    }
    Ok(made)
}

// A deadlock of the model does no harm to the app: it is an order of the model that the trace excludes.
fn verdict(pair: &PairReport) -> Verdict {
    let fails = pair.harms().iter().any(|signature| signature.starts_with("failure "));
    match pair.verdict() {
        Verdict::Harmful if !fails => Verdict::Real,
        verdict => verdict,
    }
}
