//! Compares the verdicts of campaigns on many small models with the enumeration of all runs: a confirmed pair happens
//! in some run, and a refuted pair happens in none.
//!
//! Normal test runs use some of the models; `cargo test --release --test it verdicts -- --ignored --nocapture` uses all
//! of them.

use crate::complete::all_variants;
use crate::load::load;
use crate::small;
use crate::stateless::{Facts, MOST_INSTANCES, enumerate, facts};
use raceflip::base::{Rng, mix};
use raceflip::campaign::{
    CampaignContext, CampaignPlan, Confirmation, DetectionPlan, Explore, First, Flip, Instance, NeverClaim, NoProgress,
    PairReport, Proof, Refutation, StatePlan, TrialPlan, confirm,
};
use raceflip::detect::Pair;
use raceflip::event::SiteId;
use raceflip::vm::Model;
use raceflip::world::{CreationKind, Setup};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Bound on the steps of all runs of a model together; models above it are skipped.
const MOST_STEPS: u64 = 3_000;

/// Statements of one or two steps that use only plain memory.
const PLAIN: [&str; 14] = [
    "x = 1",
    "x = 2",
    "x += 1",
    "y = x",
    "y = 1",
    "x = y",
    "fixed.v = 2",
    "y = fixed.v",
    "use fixed",
    "delete fixed",
    "o = fixed",
    "use o",
    "if x == 0 { throw Oops }",
    "assert x != 1, \"one\"",
];

/// Statements of threads. `$p` stands for a statement on plain memory, `$t` for a task.
const STATEMENTS: [&str; 16] = [
    "$p",
    "$p",
    "post $t to main",
    "post $t to main",
    "post $t to main",
    "post $t to h after 2",
    "post $t to main after 2",
    "post $t to main at front",
    "post $t to other",
    "sync m { $p }",
    "sync m { post $t to main }",
    "enable e()",
    "join (fork t())",
    "await x == 1; $p",
    "sleep 2; $p",
    "cancel u on h",
];

/// Returns the random model of a seed, most of whose statements race. The models of `small` have every kind of
/// operation, but few races between tasks.
pub(crate) fn racy(seed: u64) -> String {
    let mut rng = Rng::seeded(mix(seed, 0xace));
    let mut text =
        "var x = 0\nvar y = 0\nclass Box { var v = 0 }\nvar o: Box = null\nlet fixed = new Box\nlock m\nlooper main\n\
                    looper other\nhandler h on main\ntask t() { $p }\ntask u() { $p }\nevent e() on main { $p }\n\
                    thread a { $s; $s }\nthread b { $s"
            .to_owned();
    text += if rng.coin() { " }\n" } else { "; $s }\n" };
    for (hole, fillings) in [("$s", &STATEMENTS[..]), ("$p", &PLAIN), ("$t", &["t()", "u()"])] {
        while text.contains(hole) {
            text = text.replacen(hole, fillings[rng.below(fillings.len() as u32) as usize], 1);
        }
    }
    let uncaught = if rng.coin() { "app" } else { "thread" };
    format!("app \"racy\" {{ uncaught = {uncaught} }}\n{text}")
}

/// Returns the campaigns of a model whose verdicts are compared.
fn plans(model: &Model, seed: u64) -> Vec<CampaignPlan> {
    let plan = CampaignPlan {
        seed,
        detection: DetectionPlan { runs: 8, ..DetectionPlan::default() },
        trials: TrialPlan { count: 8, ..TrialPlan::default() },
        ..CampaignPlan::new(model)
    };
    // A campaign over the pairs of detection, one over pairs that a wrong detector could report, and a search of the
    // latter without trials.
    let mut lies = plan.clone();
    lies.trials.pairs = Some(any_pairs(model, seed));
    let mut searched = lies.clone();
    searched.search.explore = Explore::Only;
    vec![plan, lies, searched]
}

fn campaign(plan: &CampaignPlan) -> Confirmation {
    confirm(plan, CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress })
}

/// Returns pairs that a detector without any knowledge could report: a few random pairs of statements of which one may
/// write a location that the other may touch.
fn any_pairs(model: &Model, seed: u64) -> Vec<Pair> {
    let all: Vec<Pair> = all_pairs(model).into_iter().collect();
    let mut rng = Rng::seeded(mix(seed, 0x11e));
    let draw = |_| Some(all[rng.below(u32::try_from(all.len()).ok().filter(|n| *n > 0)?) as usize]);
    let drawn: BTreeSet<Pair> = (0..6).filter_map(draw).collect();
    drawn.into_iter().collect()
}

fn all_pairs(model: &Model) -> BTreeSet<Pair> {
    let sites = &model.program.sites;
    let pairs = sites.ids().flat_map(|a| sites.ids().map(move |b| Pair::new(a, b)));
    pairs.filter(|p| sites[p.a].can_conflict(&sites[p.b])).collect()
}

/// Counts of the models and verdicts that were compared.
#[derive(Default, Debug)]
struct Compared {
    models: u64,
    too_large: u64,
    pairs: u64,
    adjacent: u64,
    flipped: u64,
    /// Flips of which one order is a cut; a part of `flipped`.
    cut: u64,
    refuted: u64,
    /// Pairs that occur in both orders although no two of their instances do; a part of `refuted`.
    never_turned: u64,
    unconfirmed: u64,
    /// Pairs that are real; a part of `unconfirmed`.
    missed: u64,
    /// Pairs that are side by side in some run, but that detection did not report.
    unreported: u64,
}

/// Returns whether conflicting accesses of the pair's statements are side by side in some run.
fn is_adjacent(facts: &Facts, pair: Pair) -> bool {
    facts.adjacent.contains(&pair)
}

/// Returns whether conflicting accesses of the pair's statements occur in both orders, each in some run.
fn has_both_orders(facts: &Facts, Pair { a, b }: Pair) -> bool {
    facts.orders.contains(&(a, b)) && facts.orders.contains(&(b, a))
}

fn pedigree(setup: &Setup, parts: &[(CreationKind, u32)]) -> String {
    let name = |(made, nth): &(CreationKind, u32)| match made {
        CreationKind::Declared(thread) => setup.threads[*thread].name.clone(),
        CreationKind::Init => "init-block".to_owned(),
        CreationKind::Event(event) => format!("{}#{nth}", setup.events[*event].name),
        CreationKind::Body(body) => format!("{}#{nth}", setup.bodies[*body]),
        CreationKind::Looper => format!("spawned-looper#{nth}"),
        CreationKind::Scope | CreationKind::Class(_) | CreationKind::Instance(_) => {
            unreachable!("it performs nothing")
        }
    };
    parts.iter().map(name).collect::<Vec<_>>().join("/")
}

/// Checks a flip: its two instances are performed in both orders, each in some run. An order that is a cut is not
/// checked, because no run shows it whole. Returns the contradiction as an error.
fn flip_is_true(model: &Model, facts: &Facts, pair: Pair, flip: &Flip) -> Result<(), String> {
    let (a, b) = (&flip.instances.a, &flip.instances.b);
    let setup = &model.code.setup;
    let mut instances = BTreeSet::new();
    for (x, y) in facts.instance_orders.values() {
        let [x, y] = [x, y].map(|i| Instance { site: i.site, context: pedigree(setup, &i.pedigree), visit: i.visit });
        instances.insert((x, y));
    }
    for (order, x, y) in [(First::A, a, b), (First::B, b, a)] {
        if flip.cut == Some(order) {
            continue;
        }
        let known = instances.len() < MOST_INSTANCES;
        if !facts.orders.contains(&(x.site, y.site)) || known && !instances.contains(&(x.clone(), y.clone())) {
            return Err(format!("{pair:?} is said to flip, and no run has {x:?} before {y:?}"));
        }
    }
    Ok(())
}

/// Returns whether two instances of the pair are performed in both orders.
fn turns(facts: &Facts, pair: Pair) -> bool {
    let of = |x: SiteId, y: SiteId| Pair::new(x, y) == pair;
    let orders: Vec<_> = facts.instance_orders.values().filter(|(x, y)| of(x.site, y.site)).collect();
    orders.iter().any(|(x, y)| orders.iter().any(|(v, w)| x == w && y == v))
}

/// Compares a verdict with the facts about all runs; returns the contradiction as an error.
fn compare(model: &Model, facts: &Facts, report: &PairReport, all: &mut Compared) -> Result<(), String> {
    let pair = report.pair;
    let (adjacent, both) = (is_adjacent(facts, pair), has_both_orders(facts, pair));
    all.pairs += 1;
    match &report.proof {
        Proof::Refuted(Refutation { never, .. }) => {
            all.refuted += 1;
            let happens = match *never {
                NeverClaim::Order { first, then, .. } => facts.orders.contains(&(first, then)),
                NeverClaim::Turned => {
                    all.never_turned += 1;
                    turns(facts, pair)
                }
            };
            if adjacent || happens {
                return Err(format!(
                    "{pair:?} is refuted by {never:?}: adjacent {adjacent}, and that happens: {happens}"
                ));
            }
        }
        Proof::Adjacent => {
            all.adjacent += 1;
            if !adjacent {
                return Err(format!("{pair:?} is said to be adjacent, and no run has that"));
            }
        }
        Proof::Flipped(flip) => {
            all.flipped += 1;
            all.cut += u64::from(flip.cut.is_some());
            flip_is_true(model, facts, pair, flip)?;
        }
        _ => {
            all.unconfirmed += 1;
            all.missed += u64::from(adjacent || both);
        }
    }
    Ok(())
}

/// Compares the verdicts of all campaigns of one model with the facts about all its runs.
fn compare_model(model: &Model, facts: &Facts, seed: u64, all: &mut Compared) -> Result<(), String> {
    let known = all_pairs(model);
    let orders = facts.orders.iter().map(|(first, then)| Pair::new(*first, *then));
    if let Some(pair) = facts.adjacent.iter().copied().chain(orders).find(|p| !known.contains(p)) {
        return Err(format!("{pair:?} conflicts in some run, and its sites say that it cannot"));
    }
    for plan in plans(model, seed) {
        let found = campaign(&plan);
        let reported: BTreeSet<Pair> = found.pairs.iter().map(|p| p.pair).collect();
        if plan.trials.pairs.is_none() {
            all.unreported += facts.adjacent.difference(&reported).count() as u64;
        }
        for report in &found.pairs {
            compare(model, facts, report, all)?;
        }
    }
    Ok(())
}

/// Compares the models that a generator returns for these seeds. Panics with all models whose verdicts contradict the
/// facts.
fn compare_models(name: &str, generate: fn(u64) -> String, seeds: Range<u64>) -> Compared {
    let (mut all, mut wrong) = (Compared::default(), BTreeMap::new());
    for seed in seeds {
        let text = generate(seed);
        let model = Model::from_text(&format!("{name} {seed}"), &text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let Some(facts) = facts(&model, &BTreeSet::new(), MOST_STEPS) else {
            all.too_large += 1;
            continue;
        };
        all.models += 1;
        if let Err(difference) = compare_model(&model, &facts, seed, &mut all) {
            wrong.insert(seed, format!("{name} {seed}: {difference}\n{text}"));
        }
    }
    println!("{name}: {all:?}");
    let texts: Vec<&str> = wrong.values().take(3).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} models differ: {:?}\n{}", wrong.len(), wrong.keys(), texts.join("\n"));
    all
}

/// Verdicts of campaigns agree with the enumeration of all runs.
#[test]
fn they_are_true_of_all_runs() {
    let all = compare_models("small", small::model, 0..1_500);
    assert!(all.models > 1_000 && all.adjacent > 300 && all.unreported == 0 && all.never_turned > 5, "{all:?}");
    let all = compare_models("racy", racy, 0..2_000);
    assert!(all.models > 1_000 && all.adjacent > 300 && all.flipped > 100 && all.cut > 5, "{all:?}");
}

/// A refuted order pair has its instances in one order only, and a flipped one has them in both, by the enumeration of
/// all runs.
#[test]
fn refuted_order_pairs_turn_in_no_run() {
    let (mut refuted, mut flipped, mut open) = (0, 0, 0);
    for (seed, text) in (0..400).flat_map(|seed| [(seed, small::model(seed)), (seed, racy(seed))]) {
        let model = Model::from_text("orders", &text, &[]).unwrap();
        let Some(facts) = enumerate(&model, &BTreeSet::new(), MOST_STEPS, true) else { continue };
        let found = campaign(&CampaignPlan {
            seed,
            detection: DetectionPlan { runs: 8, ..DetectionPlan::default() },
            trials: TrialPlan { count: 4, orders: true, ..TrialPlan::default() },
            ..CampaignPlan::new(&model)
        });
        for report in &found.orders {
            let of = |x: SiteId, y: SiteId| Pair::new(x, y) == report.pair;
            let mut orders = facts.deed_orders.iter().filter(|(x, y)| of(x.site, y.site));
            let turns = orders.any(|(x, y)| facts.deed_orders.contains(&(y.clone(), x.clone())));
            match &report.proof {
                Proof::Refuted(_) => {
                    refuted += 1;
                    assert!(!turns, "{:?} is refuted, and turns\n{text}", report.pair);
                }
                Proof::Flipped(flip) => {
                    flipped += 1;
                    assert!(turns || flip.cut.is_some(), "{:?} is said to turn\n{text}", report.pair);
                }
                _ => open += u32::from(turns),
            }
        }
    }
    println!("order pairs: {refuted} refuted, {flipped} flipped, {open} that turn are open");
    assert!(refuted > 10 && flipped > 20, "{refuted} refuted, {flipped} flipped");
}

/// Verdicts of campaigns agree with the enumeration of all runs on five thousand models of each generator.
#[test]
#[ignore = "takes minutes; see above"]
fn they_are_true_of_all_runs_of_five_thousand_models() {
    let all = compare_models("small", small::model, 0..7_500);
    assert!(all.models >= 5_000, "{all:?}");
    let all = compare_models("racy", racy, 0..9_000);
    assert!(all.models >= 5_000, "{all:?}");
}

/// The random pairs of the wrong detector are reproducible and contain many real and many false pairs, so both kinds of
/// verdicts are compared.
#[test]
fn a_detector_that_lies_says_what_is_true_and_what_is_not() {
    let (mut real, mut not) = (0, 0);
    for seed in 0..300 {
        let model = Model::from_text("racy", &racy(seed), &[]).unwrap();
        let Some(facts) = facts(&model, &BTreeSet::new(), MOST_STEPS) else { continue };
        let drawn = any_pairs(&model, seed);
        assert_eq!(drawn, any_pairs(&model, seed));
        let is_real = |pair: &&Pair| is_adjacent(&facts, **pair) || has_both_orders(&facts, **pair);
        let of_these = drawn.iter().filter(is_real).count();
        real += of_these;
        not += drawn.len() - of_these;
    }
    assert!(real > 50 && not > 100, "{real} real, {not} not");
}

/// The comparison notices wrong verdicts: against facts without any run, every confirmed verdict is an error.
#[test]
fn no_confirmed_verdict_is_true_of_a_model_without_runs() {
    let (mut confirmed, none) = (0, Facts::default());
    for seed in 0..100 {
        let model = Model::from_text("racy", &racy(seed), &[]).unwrap();
        for report in plans(&model, seed).iter().flat_map(|plan| campaign(plan).pairs) {
            if report.proof.confirmed() {
                confirmed += 1;
                let compared = compare(&model, &none, &report, &mut Compared::default());
                assert!(compared.is_err(), "{report:?}");
            }
        }
    }
    assert!(confirmed > 20, "{confirmed}");
}

/// On every variant of every harness, no pair is both confirmed by trials and refuted by the search of all states.
#[test]
fn trials_and_searches_of_the_harnesses_agree() {
    let (mut confirmed, mut refuted) = (0, 0);
    for (path, defines) in all_variants() {
        let model = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join(&path), &defines);
        let off = CampaignPlan {
            search: StatePlan { explore: Explore::Off, ..StatePlan::default() },
            ..CampaignPlan::new(&model)
        };
        let only = CampaignPlan {
            search: StatePlan { explore: Explore::Only, states: 2_000, ..StatePlan::default() },
            ..CampaignPlan::new(&model)
        };
        let (tried, searched) = (campaign(&off), campaign(&only));
        for by_trials in &tried.pairs {
            // The search may report pairs that no run of detection shows. It lacks those that only learning runs of
            // detection report, which are not made behind a complete search. These pairs are never side by side: at
            // most, two tasks have both orders.
            let by_search = searched.pairs.iter().find(|p| p.pair == by_trials.pair);
            let Some(by_search) = by_search else {
                let is_flip = matches!(&by_trials.proof, Proof::Flipped(_));
                assert!(searched.phase1.coverage.searched.is_some_and(|s| s.complete), "{path} {defines:?}");
                assert!(is_flip || !by_trials.proof.confirmed(), "{path} {defines:?}: {:?}", by_trials.pair);
                continue;
            };
            // A cut counts as an order for trials, but not for a search.
            let is_cut = matches!(&by_trials.proof, Proof::Flipped(flip) if flip.cut.is_some());
            let both = (by_trials.proof.confirmed() && !is_cut, by_search.proof.refuted());
            assert_ne!(both, (true, true), "{path} {defines:?}: {:?}", by_trials.pair);
            assert!(!by_trials.proof.refuted(), "no search was made");
            confirmed += usize::from(both.0 && by_search.proof.confirmed());
            refuted += usize::from(both.1);
        }
    }
    assert!(confirmed > 150 && refuted > 40, "{confirmed} confirmed by both, {refuted} refuted");
}
