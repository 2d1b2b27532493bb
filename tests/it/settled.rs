//! Tests that a search of all states decides every pair: a pair stays unconfirmed only if there are more states than
//! the search may visit, or for a reason that the result names.
//!
//! Whether the decisions are right is what `judged` and `verdicts` test; here it counts that there is one.

use crate::cli::{FOUND, call, file, scratch};
use crate::complete::all_variants;
use crate::load::{load, load_bytes};
use crate::{small, truth_jobs, truth_models};
use raceflip::base::{Rng, mix};
use raceflip::campaign::{
    CampaignContext, CampaignPlan, Confirmation, DetectionPlan, Explore, NeverClaim, NoProgress, Proof, TrialPlan,
    UndecidedReason, confirm,
};
use raceflip::detect::Pair;
use raceflip::vm::Model;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn campaign(plan: &CampaignPlan) -> Confirmation {
    confirm(plan, CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress })
}

/// Returns the reasons of all pairs that are unconfirmed although all states were searched, with the pairs.
fn open(found: &Confirmation) -> Vec<(Option<UndecidedReason>, Pair)> {
    let complete = found.searched.is_some_and(|s| s.complete);
    let all = found.pairs.iter().chain(&found.orders).filter(|p| complete && p.proof == Proof::Unconfirmed);
    all.map(|p| (p.undecided_by_search, p.pair)).collect()
}

/// No pair of a harness stays open after a search of all its states.
#[test]
fn every_pair_of_a_harness_is_decided_if_its_states_are_searched() {
    let (mut searched, mut left) = (0, BTreeMap::new());
    for (path, defines) in all_variants() {
        let model = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join(&path), &defines);
        let mut plan = CampaignPlan { jobs: 2, ..CampaignPlan::new(&model) };
        plan.trials.orders = true;
        plan.trials.compare = false;
        let found = campaign(&plan);
        searched += u32::from(found.searched.is_some_and(|s| s.complete));
        for (why, pair) in open(&found) {
            left.entry(format!("{path} {defines:?}")).or_insert_with(Vec::new).push((why, pair));
        }
    }
    assert!(left.is_empty(), "{left:#?}");
    assert!(searched > 60, "{searched}");
}

// Returns pairs of statements that may touch the same, whatever orders them.
fn any_pairs(model: &Model, seed: u64) -> Vec<Pair> {
    let sites = &model.program.sites;
    let pairs = sites.ids().flat_map(|a| sites.ids().map(move |b| Pair::new(a, b)));
    let all: Vec<Pair> = pairs.filter(|p| sites[p.a].can_be_paired(&sites[p.b])).collect();
    let mut rng = Rng::seeded(mix(seed, 0x5e_771e));
    let drawn: BTreeSet<Pair> =
        (0..8).filter(|_| !all.is_empty()).map(|_| all[rng.below(all.len() as u32) as usize]).collect();
    drawn.into_iter().collect()
}

/// Counts of pairs by what decided them.
#[derive(Default, Debug)]
struct Settled {
    models: u32,
    pairs: u32,
    refuted: u32,
    unshown: u32,
    open: Vec<String>,
}

// Confirms pairs that no detector would report, so that most are false, with few trials, so that the search decides.
fn settled(text: fn(u64) -> String, numbers: Range<u64>) -> Settled {
    let mut all = Settled::default();
    for number in numbers {
        let text = text(mix(0x5e_771e, number));
        let model = load_bytes("settled.race", text.as_bytes(), &[]);
        for explore in [Explore::Auto, Explore::Only] {
            let mut plan = CampaignPlan {
                seed: number,
                detection: DetectionPlan { runs: 4, ..DetectionPlan::default() },
                trials: TrialPlan { count: 4, orders: true, compare: false, pairs: Some(any_pairs(&model, number)) },
                ..CampaignPlan::new(&model)
            };
            plan.search.explore = explore;
            plan.search.states = 3_000;
            let found = campaign(&plan);
            all.models += 1;
            for report in found.pairs.iter().chain(&found.orders) {
                all.pairs += 1;
                all.refuted += u32::from(report.proof.refuted());
                all.unshown += u32::from(report.undecided_by_search == Some(UndecidedReason::Units));
            }
            let left = open(&found).into_iter().filter(|(why, _)| *why != Some(UndecidedReason::Units));
            all.open.extend(left.map(|(why, pair)| format!("{number} {explore:?}: {why:?} {pair:?}\n{text}")));
        }
    }
    all
}

#[test]
fn every_pair_of_a_generated_model_is_decided_if_its_states_are_searched() {
    decided([20, 15, 8]);
}

#[test]
#[ignore = "the long version of the one above"]
fn every_pair_of_many_generated_models_is_decided_if_its_states_are_searched() {
    decided([60, 60, 60]);
}

// Compares so many models of each generator.
fn decided([small, truth, jobs]: [u64; 3]) {
    let all = [(small::model as fn(u64) -> String, small), (truth_models::model, truth), (truth_jobs::model, jobs)];
    for (generate, models) in all {
        let all = settled(generate, 0..models);
        println!(
            "{} campaigns, {} pairs, {} refuted, {} open by units",
            all.models, all.pairs, all.refuted, all.unshown
        );
        assert!(all.open.is_empty(), "{}", all.open.join("\n"));
        assert!(all.pairs > 2 * models as u32 && all.refuted > models as u32 / 4, "{all:?}");
    }
}

/// A loop performs its statements more often than a run of a campaign keeps: their orders are still known, whether they
/// turn or not.
#[test]
fn orders_of_long_loops_are_decided() {
    let rounds = |of_b: &str| {
        format!(
            "var x = 0\nsemaphore go = 0\nsemaphore back = 0\n\
             thread a {{ for i in 0..50 {{ @a: x = i; up go; down back }} }}\n\
             thread b {{ for i in 0..50 {{ down go; @b: x = 0 - i; {of_b} }} }}\n"
        )
    };
    let proofs = |text: &str| {
        let model = load_bytes("rounds.race", text.as_bytes(), &[]);
        let found = campaign(&CampaignPlan { jobs: 1, ..CampaignPlan::new(&model) });
        found.pairs.iter().map(|p| (p.proof.clone(), p.undecided_by_search)).collect::<Vec<_>>()
    };
    let never = proofs(&rounds("up back"));
    let is_turned = |p: &(Proof, Option<UndecidedReason>)| matches!(&p.0, Proof::Refuted(refutation) if refutation.never == NeverClaim::Turned);
    assert!(!never.is_empty() && never.iter().all(is_turned), "{never:?}");
    // In the fortieth round b does not wait.
    let late = rounds("up back").replace("down go;", "if i != 40 { down go };");
    let turned = proofs(&late);
    assert!(!turned.is_empty() && turned.iter().all(|p| p.0.confirmed()), "{turned:?}");
}

/// Without an end the executions of a loop have no bound. What no execution does is refuted without their names.
#[test]
fn what_repeats_without_end_is_refuted_if_it_needs_no_names() {
    let text = "var stop = false\nlooper main\nlock m\n\
        thread rule { @first: post tick() to main; sync m { stop = true; @cancel: cancel tick on main } }\n\
        task tick() { sync m { if !stop { @again: post tick() to main after 10 daemon } } }\n";
    let model = load_bytes("again.race", text.as_bytes(), &[]);
    let mut plan = CampaignPlan { jobs: 1, ..CampaignPlan::new(&model) };
    plan.trials.orders = true;
    let found = campaign(&plan);
    assert!(found.searched.is_some_and(|s| s.complete), "{:?}", found.searched);
    assert!(found.orders.iter().any(|p| p.proof.refuted()), "{:?}", found.orders.len());
    assert!(open(&found).is_empty(), "{:?}", open(&found));
}

/// Two threads that take turns without end are refuted. If each round has more executions, the reason is named.
#[test]
fn turns_without_end_are_refuted() {
    let text = |times: u32, of_b: &str| {
        format!(
            "var x = 0\nsemaphore go = 0\nsemaphore back = 0\n\
             thread a {{ loop {{ for i in 0..{times} {{ @a: x = 1 }}; up go; down back }} }}\n\
             thread b {{ loop {{ {of_b}; @b: x = 2; up back }} }}\n"
        )
    };
    let proofs = |text: &str| {
        let model = load_bytes("turns.race", text.as_bytes(), &[]);
        let mut plan = CampaignPlan { jobs: 1, ..CampaignPlan::new(&model) };
        plan.limits.steps = 400;
        plan.search.states = 500;
        let found = campaign(&plan);
        found.pairs.iter().map(|p| (p.proof.clone(), p.undecided_by_search)).collect::<Vec<_>>()
    };
    let turns = proofs(&text(1, "down go"));
    let is_turned =
        |proof: &Proof| matches!(proof, Proof::Refuted(refutation) if refutation.never == NeverClaim::Turned);
    assert!(!turns.is_empty() && turns.iter().all(|p| is_turned(&p.0)), "{turns:?}");
    let more = proofs(&text(2, "down go"));
    let is_open = |p: &(Proof, Option<UndecidedReason>)| *p == (Proof::Unconfirmed, Some(UndecidedReason::Instances));
    assert!(!more.is_empty() && more.iter().all(is_open), "{more:?}");
    // If b does not always wait, some executions come in both orders.
    let real = proofs(&text(1, "if * { down go }"));
    assert!(!real.is_empty() && real.iter().all(|p| p.0.confirmed()), "{real:?}");
}

/// A failure that needs fourteen answers in a row is in no run of the campaign. The search that refutes a pair of its
/// model finds it, and the campaign reports it.
#[test]
fn failures_that_only_the_search_finds_are_reported() {
    let text = "var x = 0\nvar y = 0\nthread a { await y == 1; x = 1; let n = true; \
        for i in 0..14 { if * { skip } else { n = false } }; if n { fail \"rare\" } }\nthread b { x = 2; y = 1 }\n";
    let model = load_bytes("rare.race", text.as_bytes(), &[]);
    let found = campaign(&CampaignPlan { jobs: 1, ..CampaignPlan::new(&model) });
    assert!(found.phase1.failures.is_empty() && found.searched.is_some_and(|s| s.complete));
    let [rare] = found.unexplained.as_slice() else { panic!("{:?}", found.unexplained) };
    assert_eq!((rare.signature.as_str(), rare.evidence.strategy.as_str()), ("failure \"rare\" a:5", "explore"));
    let path = file(&scratch("rare"), "rare.race", text);
    let said = call(&["confirm", &path]);
    assert!(said.out.contains("found by a search of all states"), "{}", said.out);
    assert_eq!(said.status, FOUND);
}
