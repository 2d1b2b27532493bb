//! Generates `docs/results/racefuzzer.md`: RaceFuzzer's table 1 for the kernels of its programs.

use crate::Effort;
use crate::published::Published;
use crate::runs::{fails, load, seed};
use crate::table::{columns, goals, head, row};
use raceflip::base::mix;
use raceflip::campaign::{CampaignContext, CampaignPlan, Confirmation, NoProgress, TrialPlan, Verdict, confirm};
use raceflip::detect::Pair;
use raceflip::exec::{NoObserver, run};
use raceflip::sched::Directed;
use raceflip::vm::Model;
use raceflip::world::Limits;
use std::sync::atomic::AtomicBool;

/// The programs in the order of the table.
const PROGRAMS: [&str; 14] = [
    "moldyn",
    "raytracer",
    "montecarlo",
    "cache4j",
    "sor",
    "hedc",
    "weblech",
    "jspider",
    "jigsaw",
    "vector",
    "linkedlist",
    "arraylist",
    "hashset",
    "treeset",
];

/// Result of RaceFuzzer's second phase for a pair.
struct Fuzzed {
    // Number of runs in which both accesses were side by side.
    hits: u32,
    // Number of runs that failed.
    failed: u32,
}

struct Kernel {
    confirmed: Confirmation,
    pairs: Vec<Fuzzed>,
}

// Performs phase 2 as in the paper: one pair, with `trials` seeds, and nothing else.
fn fuzz(model: &Model, pair: Pair, trials: u32) -> Fuzzed {
    let mut directed = Directed::new(vec![pair.a, pair.b], Directed::PATIENCE);
    let mut machine = model.machine(Limits::default());
    let mut fuzzed = Fuzzed { hits: 0, failed: 0 };
    for trial in 0..u64::from(trials) {
        let summary = run(&mut machine, &mut directed, mix(seed(0), trial), &mut NoObserver, &AtomicBool::new(false));
        fuzzed.hits += u32::from(directed.races().iter().any(|hit| hit.is_of(pair.a, pair.b)));
        fuzzed.failed += u32::from(fails(summary.outcome()));
    }
    fuzzed
}

fn kernel(model: &Model, trials: u32) -> Kernel {
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let plan = CampaignPlan {
        seed: seed(0),
        jobs,
        trials: TrialPlan { count: trials.max(10), ..TrialPlan::default() },
        ..CampaignPlan::new(model)
    };
    let confirmed = confirm(&plan, CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress });
    let pairs = confirmed.pairs.iter().map(|p| fuzz(model, p.pair, trials)).collect();
    Kernel { confirmed, pairs }
}

// Returns the mean hit rate over the pairs that were hit at least once.
fn probability(pairs: &[Fuzzed], trials: u32) -> Option<f64> {
    let real: Vec<f64> = pairs.iter().filter(|p| p.hits > 0).map(|p| f64::from(p.hits) / f64::from(trials)).collect();
    (!real.is_empty()).then(|| real.iter().sum::<f64>() / real.len() as f64)
}

fn best(found: &Confirmation) -> Option<f64> {
    let rates = found.pairs.iter().filter(|p| p.proof.confirmed()).filter_map(|p| p.best_way());
    let rates: Vec<f64> = rates.map(|w| f64::from(w.hits) / f64::from(w.trials)).collect();
    (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
}

/// Performs both phases for all programs and returns the page.
///
/// # Errors
///
/// A model cannot be loaded.
pub(crate) fn page(effort: Effort) -> Result<String, String> {
    let published = Published::racefuzzer();
    let mut out = head("RaceFuzzer, table 1", "racefuzzer", &[]);
    out += &text(effort.trials);
    out += &columns(&[
        "program",
        "potential",
        "published",
        "real, directed",
        "real, `confirm`",
        "published",
        "with failures",
        "harmful, `confirm`",
        "published exceptions",
        "hit probability",
        "`confirm`",
        "published",
        "refuted",
        "open",
    ]);
    let rate = |n: Option<f64>| n.map_or("–".to_owned(), |n| format!("{n:.2}"));
    let (mut sum, mut real_missed, mut rates, mut lower) = ([0; 5], 0, 0, Vec::new());
    for name in PROGRAMS {
        let of = |column| published.text(name, column).to_owned();
        let theirs = || [of("potential"), of("real"), of("exceptions"), of("probability")];
        let [potential, real, exceptions, hits] = theirs();
        let hits = if hits.is_empty() { "–".to_owned() } else { hits };
        let path = format!("harnesses/racefuzzer/{name}.race");
        let Ok(model) = load(&path, &[]) else {
            let blank = String::new;
            out += &row(&[
                name.to_owned(),
                blank(),
                potential,
                blank(),
                blank(),
                real,
                blank(),
                blank(),
                exceptions,
                blank(),
                blank(),
                hits,
                blank(),
                blank(),
            ]);
            continue;
        };
        let Kernel { confirmed, pairs } = kernel(&model, effort.trials);
        let count =
            |of: &dyn Fn(&raceflip::campaign::PairReport) -> bool| confirmed.pairs.iter().filter(|p| of(p)).count();
        let directed = pairs.iter().filter(|p| p.hits > 0).count();
        let failing = pairs.iter().filter(|p| p.hits > 0 && p.failed > 0).count();
        let (proved, refuted) = (count(&|p| p.proof.confirmed()), count(&|p| p.proof.refuted()));
        let harmful = count(&|p| p.verdict() == Verdict::Harmful);
        let open = confirmed.pairs.len() - proved - refuted;
        for (sum, n) in sum.iter_mut().zip([confirmed.pairs.len(), directed, proved, harmful, refuted]) {
            *sum += n;
        }
        real_missed += proved - directed.min(proved);
        let probability = probability(&pairs, effort.trials);
        if let (Some(ours), Ok(theirs)) = (probability, hits.parse::<f64>()) {
            rates += 1;
            lower.extend((ours < theirs).then_some(name));
        }
        out += &row(&[
            format!("[{name}](../../{path})"),
            confirmed.pairs.len().to_string(),
            potential,
            directed.to_string(),
            proved.to_string(),
            real,
            failing.to_string(),
            harmful.to_string(),
            exceptions,
            rate(probability),
            rate(best(&confirmed)),
            hits,
            refuted.to_string(),
            open.to_string(),
        ]);
    }
    let [potential, directed, proved, harmful, refuted] = sum;
    out += &format!(
        "\nIn all: {potential} potential pairs, {directed} brought about by directed runs alone, {proved} by `confirm` ({real_missed} more), {harmful} harmful, {refuted} refuted.\n\n"
    );
    let but = if lower.is_empty() { String::new() } else { format!(" (not {})", lower.join(", ")) };
    let counted = format!("{} of {rates}{but}", rates - lower.len());
    out += &goals(&[("hit probability of directed runs as published or better", counted, lower.is_empty())]);
    out += "\nThe means are over different pairs: a kernel counts every pair of statements that races, also where the paper has few.\n\n## Sources\n\n";
    published.sources.iter().for_each(|s| out += &format!("- {s}\n"));
    Ok(out)
}

fn text(trials: u32) -> String {
    format!(
        "The models are kernels of the paper's programs: which kind of pair is real, and which hurts, is the same; counts of pairs belong to the kernels and are smaller, so only the shape can be \
         compared. jspider and jigsaw have no kernel: their pairs are itemized nowhere.\n\n\
         - *Potential*: pairs by hybrid detection. *Published*: the paper's column of the same meaning.\n\
         - *Real, directed*: pairs that one of {trials} runs of RaceFuzzer's algorithms 1 and 2 (`directed:A~B`, one seed each) brings side by side, as in the paper. *Real, `confirm`*: pairs that \
         a campaign with {trials} trials confirms; it also flips orders.\n\
         - *With failures*: real pairs in whose directed runs the app failed at least once, which is what the paper counts as exceptions; some of these failures have another cause. *Harmful, `confirm`*: \
         pairs that fail in one order and not in the other, from the same state.\n\
         - *Hit probability*: directed runs that bring the pair about, of {trials}, in the mean over the real pairs; *`confirm`*: the same of the best way that a campaign found to each pair.\n\
         - *Refuted*: proved false by a search of all states. *Open*: neither brought about nor refuted.\n\n"
    )
}
