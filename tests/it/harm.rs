//! Tests of the verdict HARMFUL, which says that the other order does not have the failure from the same state. It is
//! never given to a failure that is only rarer in the other order, and always to one that does not occur there at all.

use crate::load::{Model, load};
use raceflip::campaign::{
    CHANCE, CampaignContext, CampaignPlan, Claim, Confirmation, Explore, First, NoProgress, PairReport, StatePlan,
    TrialPlan, confirm, same_failure,
};
use raceflip::vm;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn campaign(model: &Model, seed: u64, explore: Explore) -> Confirmation {
    let plan = CampaignPlan {
        seed,
        search: StatePlan { explore, ..StatePlan::default() },
        trials: TrialPlan { orders: true, ..TrialPlan::default() },
        ..CampaignPlan::new(model)
    };
    confirm(&plan, CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress })
}

fn fault(name: &str) -> Model {
    load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/faults").join(name), &[])
}

fn harmful(found: &Confirmation) -> Vec<&PairReport> {
    found.pairs.iter().chain(&found.orders).filter(|p| !p.hurts().is_empty()).collect()
}

/// Returns a statement that is reached in one of 2^`halvings` runs.
fn sometimes(halvings: u32, statement: &str) -> String {
    (0..halvings).fold(statement.to_owned(), |inner, _| format!("if * {{ {inner} }}"))
}

/// Models with two accesses of one pair. `$f` stands for the statement that makes the model fail in both orders or in
/// one. The flag says whether few states follow each state.
const SHAPES: [(&str, bool); 5] = [
    ("thread a { @w: x = 1 }\nthread b { @r: let r = x; let bad = false; $f; assert !bad, \"F\" }", true),
    (
        "thread a { @w: x = 1 }\nthread b { @r: let r = x; let bad = false; $f; assert !bad, \"F\" }\n\
         thread c(i in 0..3) { for k in 0..40 { z[i] += 1 } }",
        false,
    ),
    (
        "looper main\nthread a { post set() to main }\nthread b { post look() to main }\ntask set() { @w: x = 1 }\n\
      task look() { @r: let r = x; let bad = false; $f; assert !bad, \"F\" }",
        true,
    ),
    (
        "looper main\nthread a { @w: x = 1 }\nthread b { post look() to main }\n\
      task look() { @r: let r = x; let bad = false; $f; assert !bad, \"F\" }",
        true,
    ),
    (
        "lock m\nthread a { sync m { @w: x = 1 } }\nthread b { sync m { @r: let r = x; let bad = false; $f; assert !bad, \"F\" } }",
        true,
    ),
];

/// Rates of a failure in the two orders of the accesses.
#[derive(Clone, Copy, Debug)]
enum Rates {
    /// A rate of 2^-n in both orders.
    Equal(u32),
    /// Always if the read comes first, and a rate of 2^-n otherwise.
    OneAlways(u32),
    /// A rate of 2^-n if the read comes first, and never otherwise.
    OneOnly(u32),
}

fn model(shape: usize, rates: Rates) -> Model {
    let fails = match rates {
        Rates::Equal(n) => sometimes(n, "bad = true"),
        Rates::OneAlways(n) => format!("if r == 0 {{ bad = true }} else {{ {} }}", sometimes(n, "bad = true")),
        Rates::OneOnly(n) => format!("if r == 0 {{ {} }}", sometimes(n, "bad = true")),
    };
    let text = format!("var x = 0\nvar z: int[3]\n{}\n", SHAPES[shape].0.replace("$f", &fails));
    vm::Model::from_text("shape", &text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Runs campaigns on models in which both orders can fail. Returns the number of campaigns, and those that call a pair
/// harmful.
fn without_effect(seeds: Range<u64>) -> (u32, Vec<String>) {
    let (mut made, mut wrong) = (0, Vec::new());
    for seed in seeds {
        for n in 1..=4 {
            for shape in 0..SHAPES.len() {
                let rates = if (seed + shape as u64).is_multiple_of(2) { Rates::Equal(n) } else { Rates::OneAlways(n) };
                let explore = if seed.is_multiple_of(3) { Explore::Auto } else { Explore::Off };
                let found = campaign(&model(shape, rates), seed, explore);
                made += 1;
                for pair in harmful(&found) {
                    wrong.push(format!(
                        "shape {shape}, {rates:?}, seed {seed}, {explore:?}: {:?}",
                        pair.comparison.harms
                    ));
                }
            }
        }
    }
    (made, wrong)
}

#[test]
fn what_comes_in_both_orders_is_no_harm() {
    let (made, wrong) = without_effect(0..2);
    assert!(wrong.is_empty() && made == 40, "{made} campaigns\n{}", wrong.join("\n"));
}

#[test]
#[ignore = "takes minutes"]
fn what_comes_in_both_orders_is_no_harm_in_460_campaigns() {
    let (made, wrong) = without_effect(100..123);
    assert!(wrong.is_empty() && made == 460, "{made} campaigns\n{}", wrong.join("\n"));
}

/// Runs campaigns on models in which only one order can fail. Each campaign must find that: by search if few states
/// follow, by runs otherwise.
fn with_effect(seeds: Range<u64>) {
    for seed in seeds {
        for n in 0..=4 {
            for (shape, (_, is_small)) in SHAPES.into_iter().enumerate() {
                for explore in [Explore::Auto, Explore::Off] {
                    let found = campaign(&model(shape, Rates::OneOnly(n)), seed, explore);
                    let all = harmful(&found);
                    assert!(!all.is_empty(), "shape {shape}, rate 1/{}, seed {seed}, {explore:?}", 1 << n);
                    for claim in all.iter().flat_map(|p| p.comparison.harms.values()) {
                        let searched = matches!(claim, Claim::Exhaustive { .. });
                        // Late states of a large model have few successors as well, so a search may decide those.
                        let either = !is_small && explore == Explore::Auto;
                        assert!(either || searched == (explore == Explore::Auto), "shape {shape}: {claim:?}");
                        if let Claim::Runs { runs, at_most, fails, of } = claim {
                            assert!(*at_most < 1.0 / 64.0 && *runs > 800 && fails <= of, "{claim:?}");
                            // At a rate of `at_most`, so many runs without the failure would be less likely than
                            // `CHANCE`, the error that is promised for all claims of a pair.
                            assert!((1.0 - at_most).powi(*runs as i32) < CHANCE, "{claim:?}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn what_one_order_alone_does_is_found() {
    with_effect(0..1);
}

#[test]
#[ignore = "takes minutes"]
fn what_one_order_alone_does_is_found_with_every_seed() {
    with_effect(1..12);
}

fn harm_by_rate(seeds: Range<u64>) {
    let model = fault("harm_by_rate.race");
    for seed in seeds {
        for explore in [Explore::Auto, Explore::Off] {
            let found = campaign(&model, seed, explore);
            let [pair] = found.pairs.as_slice() else { panic!("one pair") };
            assert!(pair.proof.confirmed() && pair.hurts().is_empty(), "seed {seed}: {:?}", pair.comparison.harms);
            let [more] = pair.comparison.more_often.as_slice() else {
                panic!("seed {seed}: {:?}", pair.comparison.more_often)
            };
            // The order in which the read `@r` comes first is order B, because `@r` is the second statement of the
            // pair.
            assert_eq!((more.first, more.this.0), (First::B, more.this.1), "{more:?}");
            assert!(more.other.0 * 2 < more.other.1 && more.chance < CHANCE, "{more:?}");
        }
    }
    let model = fault("harm_by_rate_generated.race");
    for seed in 0..5 {
        let found = campaign(&model, seed, Explore::Auto);
        let lines = |p: &&PairReport| {
            let line = |site| model.program.sites[site].line;
            (line(p.pair.a), line(p.pair.b)) == (9, 18)
        };
        let pair = found.pairs.iter().find(lines).expect("the pair is found");
        assert!(pair.proof.confirmed() && pair.hurts().is_empty(), "seed {seed}: {:?}", pair.comparison.harms);
    }
}

#[test]
fn a_failure_that_is_rarer_in_one_order_comes_more_often_in_the_other() {
    harm_by_rate(0..20);
}

#[test]
#[ignore = "takes minutes"]
fn a_failure_that_is_rarer_in_one_order_is_no_harm_with_fifty_seeds() {
    harm_by_rate(0..50);
}

#[test]
fn failures_of_twins_are_one() {
    let (symmetric, twins) = (fault("harmful_by_symmetry.race"), fault("treiber_twins.race"));
    for seed in 0..5 {
        let found = campaign(&symmetric, seed, Explore::Auto);
        assert!(harmful(&found).is_empty() && !found.orders.is_empty(), "seed {seed}");
        let found = campaign(&twins, seed, Explore::Auto);
        let itself: Vec<_> = harmful(&found).into_iter().filter(|p| p.pair.a == p.pair.b).map(|p| p.pair).collect();
        assert!(itself.is_empty(), "seed {seed}: {itself:?}");
        // All harmful pairs show one and the same failure.
        let failures = harmful(&found).into_iter().flat_map(|p| p.hurts()).map(|(_, f)| same_failure(&f.signature));
        assert!(failures.collect::<std::collections::BTreeSet<_>>().len() <= 1, "seed {seed}");
    }
}

#[test]
fn harm_with_a_later_task_is_found() {
    for name in ["later_task_posts_itself.race", "later_task_third_post.race"] {
        let model = fault(name);
        for seed in 0..20 {
            for explore in [Explore::Auto, Explore::Off] {
                let found = campaign(&model, seed, explore);
                let hurts: Vec<First> = found.pairs.iter().flat_map(|p| p.hurts()).map(|(first, _)| first).collect();
                assert_eq!(hurts.len(), 1, "{name}, seed {seed}, {explore:?}");
            }
        }
    }
}

/// An interrupted campaign claims nothing about orders that it has not compared: neither that an order is harmful, nor
/// that none is.
#[test]
fn what_is_interrupted_claims_nothing() {
    struct After(std::sync::atomic::AtomicU32, AtomicBool);
    impl raceflip::campaign::CampaignProgress for After {
        fn phase(&self, _: &str, _: u64) {}
        fn done(&self) {
            if self.0.fetch_sub(1, std::sync::atomic::Ordering::Relaxed) == 1 {
                self.1.store(true, std::sync::atomic::Ordering::Relaxed);
            }
        }
    }
    let model = fault("harm_by_rate.race");
    for runs in (100..1_400).step_by(100) {
        let after = After(runs.into(), AtomicBool::new(false));
        let plan = CampaignPlan {
            seed: 0,
            search: StatePlan { explore: Explore::Off, ..StatePlan::default() },
            ..CampaignPlan::new(&model)
        };
        let found = confirm(&plan, CampaignContext { stop: &after.1, progress: &after });
        assert!(harmful(&found).is_empty(), "after {runs} runs");
        let report = raceflip::formats::campaign::ConfirmReport::new("x.race", 0, &plan, &found);
        let words: Vec<_> = report.pairs.iter().map(|p| p.harm).collect();
        let stopped = found.interrupted;
        assert!(!stopped || words.iter().all(|w| *w == raceflip::formats::campaign::Harm::Interrupted), "{words:?}");
    }
}
