//! Tests of CAFA on runs of models: the marks of recorded accesses, the figures of the paper, the pairs of
//! `--detector cafa` with their classes and filters, and that no filtered pair fails.

use crate::complete::all_variants;
use crate::load::{Model, load};
use raceflip::campaign::{
    CampaignContext, CampaignPlan, Confirmation, DetectionPlan, Explore, NeverClaim, NoProgress, PairReport, Proof,
    Refutation, StatePlan, TrialPlan, Verdict, confirm,
};
use raceflip::detect::happens_before::Options;
use raceflip::detect::{Candidate, DetectorId, Rank, TraceRecorder, UseFreeClass, UseFreeFilter};
use raceflip::event::{Event, Outcome, SiteId};
use raceflip::exec::{Observer, run};
use raceflip::sched::{RandomWalk, RoundRobin, Strategy};
use raceflip::trace::{OpNo, Trace};
use raceflip::world::{Limits, World};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;

struct Recorder(TraceRecorder);

impl Observer for Recorder {
    fn event(&mut self, world: &World, event: &Event) {
        self.0.observe(world, event);
    }
}

fn recorded(model: &Model, strategy: &mut impl Strategy, seed: u64) -> Trace {
    let mut recorder = Recorder(TraceRecorder::new());
    run(&mut model.machine(Limits::default()), strategy, seed, &mut recorder, &AtomicBool::new(false));
    recorder.0.finish()
}

fn harness(path: &str, defines: &[(&str, i64)]) -> Model {
    let defines: Vec<(String, i64)> = defines.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("harnesses").join(path), &defines)
}

fn cafa() -> DetectorId {
    DetectorId::named("cafa").expect("there is such a detector")
}

// What the marks of a trace say, in its order: the location, and `use`, `test`, `free`, `by` with the guarding read.
fn marks(text: &str) -> Vec<String> {
    let model = Model::from_text("marks.race", text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let trace = recorded(&model, &mut RoundRobin::default(), 0);
    let order: Vec<OpNo> = trace.marks.iter().map(|(op, _)| op).collect();
    let number =
        |op: OpNo| order.iter().position(|other| *other == op).map_or_else(|| "?".to_owned(), |n| n.to_string());
    let one = |(op, mark): (OpNo, raceflip::trace::Mark)| {
        let (at, _) = trace.ops[op].action.access().expect("only accesses are marked");
        let mut words = vec![trace.places[at].name.clone()];
        words.extend(
            [(mark.uses, "use"), (mark.tested, "test"), (mark.frees, "free")]
                .into_iter()
                .filter(|(is, _)| *is)
                .map(|(_, word)| word.to_owned()),
        );
        words.extend(mark.guard.map(|guard| format!("by {}", number(guard))));
        words.join(" ")
    };
    trace.marks.iter().map(one).collect()
}

#[test]
fn recorded_accesses_have_marks() {
    let one = |body: &str| {
        marks(&format!("class C {{ var f: C = null; var n = 0 }}; var p: C = new C; var x = 0; thread t {{ {body} }}"))
    };
    assert_eq!(one("use p"), ["p use"]);
    assert_eq!(one("p = null; x = -1; p = new C"), ["p free"]);
    assert_eq!(one("if p != null { use p }"), ["p test", "p use by 0"]);
    assert_eq!(one("if p != null { skip }; use p"), ["p test", "p use"]);
    // A test that came out as null guards nothing.
    assert_eq!(one("p = null; if p == null { p = new C }; use p"), ["p free", "p test", "p use"]);
    assert_eq!(one("let k = p; if k != null { use k }"), ["p use test by 0"]);
    assert_eq!(one("p = null; let k = p; if k != null { use k }"), ["p free", "p use test by 1"]);
    // Lives of objects are marked where a statement deletes one.
    assert_eq!(one("x = p.n; delete p"), ["p use", "init-block/C#1 use", "p use", "init-block/C#1 free"]);
    // The guard is of the same task, also if the thread has tested before.
    let tasks = "var p: Object = new Object; looper main; thread t { post a() to main; post b() to main }\n\
                 task a() { if p != null { skip } }; task b() { if p != null { use p } }";
    assert_eq!(marks(tasks), ["p test", "p test", "p use by 1"]);
    // An inner call of the same body tests too, and finds null.
    let inner = "var p: Object = new Object; var n = 0; thread t { f(n) }; task f(k) { if p != null { if k == 0 { g() }; use p } }; task g() { skip }";
    assert_eq!(marks(inner), ["p test", "p use by 0"]);
}

/// A pair by its labels, with the class and the filter; `-` if it passes all filters.
type Found = BTreeSet<String>;

fn text(a: &str, b: &str, class: &str, filter: Option<UseFreeFilter>) -> String {
    let (a, b) = if a < b { (a, b) } else { (b, a) };
    format!("{a} ~ {b}: {class}, {}", filter.map_or("-", UseFreeFilter::text))
}

// The label on a line, or else its number.
fn label_of(model: &Model, line: u32) -> String {
    let sites = model.program.sites.iter().filter(|site| site.line == line);
    sites.filter_map(|site| site.label.clone()).next().unwrap_or_else(|| format!(":{line}"))
}

// The races of many runs of a model by these rules.
fn analyzed(model: &Model, rules: &str) -> Found {
    let rules = DetectorId::named(rules).and_then(DetectorId::rules).expect("there are such rules");
    let mut all = Found::new();
    for seed in 0..60 {
        let trace = recorded(model, &mut RandomWalk::new(), seed);
        let found = rules.analyze(&trace, Options::default(), &AtomicBool::new(false)).unwrap().unwrap();
        for race in &found.races {
            let label = |op: OpNo| {
                let name = &trace.sites[trace.ops[op].site];
                let line: u32 = name.split(':').next().unwrap().parse().unwrap();
                label_of(model, line)
            };
            all.insert(text(
                &label(race.first),
                &label(race.second),
                race.class.name(),
                race.filter.map(|filter| filter.kind),
            ));
        }
    }
    all
}

fn plan(model: &Model) -> CampaignPlan {
    let detection = DetectionPlan { detectors: vec![cafa()], ..DetectionPlan::default() };
    CampaignPlan { jobs: 2, detection, ..CampaignPlan::new(model) }
}

fn campaign(plan: &CampaignPlan) -> Confirmation {
    confirm(plan, CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress })
}

// The pairs that `detect --detector cafa --guarded` prints.
fn detected(model: &Model) -> Found {
    let context = CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress };
    let found = raceflip::campaign::detect(&plan(model), context);
    let label = |site: SiteId| label_of(model, model.program.sites[site].line);
    let one = |pair: &Candidate| {
        let about = pair.use_free.as_ref().expect("a use-free pair");
        assert_eq!(pair.rank == Rank::Filtered, !about.filters.is_empty());
        text(&label(pair.pair.a), &label(pair.pair.b), about.class.name(), about.filters.first().copied())
    };
    found.candidates.iter().chain(&found.filtered).map(one).collect()
}

fn set(pairs: &[&str]) -> Found {
    pairs.iter().map(|pair| (*pair).to_owned()).collect()
}

/// The figures give the answers of the paper, by `analyze --rules cafa` of recorded runs and by `--detector cafa`.
#[test]
fn figures_have_the_answers_of_the_paper() {
    let intra = |pair: &str, why: &str| format!("{pair}: intra-thread, {why}");
    let (guarded, before) = ("guarded", "allocated before the use");
    for (name, defines, use_free) in [
        ("cafa_fig1", &[][..], vec![intra("free ~ use", "-")]),
        ("cafa_fig1", &[("FIXED", 1)], vec![intra("free ~ use", guarded)]),
        ("cafa_fig5", &[], vec![intra("free ~ use_resume", before), intra("free ~ use_focus", guarded)]),
        (
            "cafa_fig6",
            &[],
            vec![
                intra("free ~ use_forward", guarded),
                intra("free ~ use_branch", guarded),
                intra("free ~ use_backward", guarded),
                intra("free ~ use_outside", "-"),
            ],
        ),
    ] {
        let model = harness(&format!("papers/{name}.race"), defines);
        let expected: Found = use_free.into_iter().collect();
        assert_eq!(analyzed(&model, "cafa"), expected, "{name}, analyze");
        assert_eq!(detected(&model), expected, "{name}, detect");
    }
    // The other figures are about the order alone: their models have no references.
    for (name, races) in [
        ("cafa_fig2", &["check ~ pause: intra-thread, -"][..]),
        ("cafa_fig4a", &[]),
        ("cafa_fig4b", &[]),
        ("cafa_fig4c", &["a ~ b: intra-thread, -"]),
        ("cafa_fig4d", &[]),
        ("cafa_fig4e_f", &["a ~ b: intra-thread, -"]),
    ] {
        let model = harness(&format!("papers/{name}.race"), &[]);
        assert_eq!(analyzed(&model, "cafa"), set(races), "{name}, analyze");
        assert_eq!(detected(&model), Found::new(), "{name}, detect");
    }
}

/// The models beyond the figures: what the filters and the order must and must not say.
#[test]
fn filters_are_for_tasks_of_one_looper() {
    for (name, expected) in [
        ("guard_thread", &["free_p ~ use_p: conventional, -", "free_q ~ use_q: conventional, -"][..]),
        (
            "free_realloc",
            &[
                "free_p ~ use_p: intra-thread, allocated after the free",
                "free_q ~ use_q: intra-thread, allocated before the use",
                "early ~ free_r: intra-thread, -",
            ],
        ),
        ("between", &["free ~ use: intra-thread, -"]),
        ("front_seen", &[]),
    ] {
        let model = harness(&format!("cafa/{name}.race"), &[]);
        assert_eq!(analyzed(&model, "cafa"), set(expected), "{name}, analyze");
        assert_eq!(detected(&model), set(expected), "{name}, detect");
    }
    let printed = analyzed(&harness("cafa/front_seen.race", &[]), "cafa-printed");
    assert_eq!(printed, set(&["b ~ c: intra-thread, -"]));
}

/// A filtered pair is not driven, and a pair that passes the filters is driven as any other.
#[test]
fn only_pairs_that_pass_the_filters_are_driven() {
    let model = harness("cafa/free_realloc.race", &[]);
    let found = campaign(&plan(&model));
    assert_eq!((found.pairs.len(), found.phase1.filtered.len()), (1, 2));
    let pair = &found.pairs[0];
    assert_eq!((pair.verdict(), pair.discovery.rank), (Verdict::Harmful, Rank::Unordered));
    assert_eq!(pair.discovery.use_free.as_ref().map(|about| about.class), Some(UseFreeClass::IntraThread));
    let report =
        raceflip::formats::campaign::ConfirmReport::new("m.race", model.digest(), &plan(&model), &found).to_json();
    assert!(report.contains("\"kind\": \"use-free\"") && report.contains("\"class\": \"intra-thread\""), "{report}");
    // A pair that the user names is driven, filtered or not.
    let mut named = plan(&model);
    named.trials.pairs = Some(found.phase1.filtered.iter().map(|filtered| filtered.pair).collect());
    let found = campaign(&named);
    assert_eq!(found.pairs.len(), 2);
    // Both accesses come in both orders, but the use never meets the null of the free.
    let is_refuted = |proof: &Proof| {
        matches!(proof, Proof::Refuted(Refutation { never: NeverClaim::Order { direct: true, .. }, .. }))
    };
    assert!(found.pairs.iter().all(|pair| is_refuted(&pair.proof) && pair.discovery.rank == Rank::Filtered));
}

// The filtered pairs of a variant that fail at their use in one order only, by runs and by searches of all states. Also
// returns the number of filtered pairs.
fn failing_filtered(model: &Model) -> (Vec<String>, usize) {
    let context = CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress };
    let filtered = raceflip::campaign::detect(&plan(model), context).filtered;
    if filtered.is_empty() {
        return (Vec::new(), 0);
    }
    let trials = TrialPlan { pairs: Some(filtered.iter().map(|pair| pair.pair).collect()), ..TrialPlan::default() };
    let search = StatePlan { explore: Explore::Auto, ..StatePlan::default() };
    let found = campaign(&CampaignPlan { trials, search, ..plan(model) });
    let sites = &model.program.sites;
    let fails = |pair: &PairReport| {
        let lines = [pair.pair.a, pair.pair.b].map(|site| sites[site].line);
        let at_use = pair.hurts().iter().any(|(_, failure)| match &failure.outcome {
            Outcome::Failure(failure) => {
                let at = failure.site.map(|site| sites[site].line);
                ["NullPointer", "UseAfterFree"].contains(&failure.name.as_str())
                    && lines.iter().any(|line| at == Some(*line))
            }
            _ => false,
        });
        at_use.then(|| format!("{lines:?} in {}", model.source.name()))
    };
    (found.pairs.iter().filter_map(fails).collect(), filtered.len())
}

/// No filtered pair of any harness fails at its use in one order only.
#[test]
fn no_filtered_pair_fails() {
    let mut pairs = 0;
    for (path, defines) in all_variants() {
        let (failing, filtered) = failing_filtered(&load(&Path::new(env!("CARGO_MANIFEST_DIR")).join(&path), &defines));
        assert!(failing.is_empty(), "{failing:?}");
        pairs += filtered;
    }
    assert!(pairs >= 8, "{pairs} filtered pairs");
}

const HEAD: &str = "\
# Use-free races of the harnesses

Written by `cargo test --release --test it cafa_table -- --ignored`: `raceflip confirm --detector cafa` with seed 0 and its usual limits, on every variant of every harness. *Reported* are the pairs of a use and a free without an order
that pass the filters; *filtered* are those that do not, by reason. *Confirmed* are the harmful and the real ones.

CAFA (Hsiao et al., PLDI 2014, table 1) reported 115 use-free races in ten apps. 69 of them (60 %) were harmful: 13 intra-thread, 25 inter-thread and 31 conventional ones. The other 46 were false positives.

";

/// Numbers of pairs: reported, harmful, real, unconfirmed, refuted.
type Counts = [usize; 5];

#[test]
#[ignore = "it writes a file"]
fn cafa_table() {
    let mut classes: BTreeMap<UseFreeClass, Counts> = BTreeMap::new();
    let mut filters: BTreeMap<UseFreeFilter, usize> = BTreeMap::new();
    let (mut variants, mut with) = (0, 0);
    for (path, defines) in all_variants() {
        let model = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join(&path), &defines);
        let found = campaign(&plan(&model));
        variants += 1;
        with += usize::from(!found.pairs.is_empty() || !found.phase1.filtered.is_empty());
        for pair in &found.pairs {
            let Some(about) = &pair.discovery.use_free else { continue };
            let counts = classes.entry(about.class).or_default();
            counts[0] += 1;
            counts[match pair.verdict() {
                Verdict::Harmful => 1,
                Verdict::Real => 2,
                Verdict::Unconfirmed => 3,
                Verdict::Refuted => 4,
            }] += 1;
        }
        let about = found.phase1.filtered.iter().flat_map(|pair| &pair.use_free);
        about.flat_map(|about| &about.filters).for_each(|filter| *filters.entry(*filter).or_default() += 1);
    }
    let mut text = HEAD.to_owned();
    writeln!(text, "{with} of {variants} variants have such pairs.\n").unwrap();
    text += "| class | reported | confirmed | harmful | real | unconfirmed | refuted | harmful, % |\n|---|---|---|---|---|---|---|---|\n";
    let mut total = Counts::default();
    let mut row = |name: &str, [all, harmful, real, open, refuted]: Counts| {
        let percent = if all == 0 { String::new() } else { format!("{:.0}", 100.0 * harmful as f64 / all as f64) };
        writeln!(text, "| {name} | {all} | {} | {harmful} | {real} | {open} | {refuted} | {percent} |", harmful + real)
            .unwrap();
    };
    for (class, counts) in &classes {
        row(class.name(), *counts);
        (0..5).for_each(|i| total[i] += counts[i]);
    }
    row("all", total);
    text += "\n| filtered | pairs |\n|---|---|\n";
    for (filter, n) in &filters {
        writeln!(text, "| {} | {n} |", filter.text()).unwrap();
    }
    std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/results/cafa.md"), text).unwrap();
}
