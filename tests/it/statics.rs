//! Static executes-before against exhaustive search.
//!
//! Claims of the analysis are compared with all runs of random programs, with a plain fixpoint of its rules, and with
//! the rules of the paper. The mistakes in the rules that `static_rules` knows must be noticed by the same programs.
//! `cargo test --release --test it statics -- --ignored --nocapture` takes many more of them.

use crate::static_claims::{MOST_STATES, Tally, contradicted, judge, judge_fixpoint, judge_texts, judge_with, notice};
use crate::static_directed::{DIRECTED, NOTICED, SETTLED};
use crate::static_models::{of_paper, random, with_cancels, with_delays, with_fronts, with_quits};
use crate::static_printed::Reading;
use crate::static_rules::Mistake;
use crate::static_tasks::{TaskTally, count_printed, of_printed};
use crate::static_tree::Random;
use crate::static_truth::order_facts;
use crate::{component_models, small_jobs, truth_jobs, truth_models};
use raceflip::event::Site;
use raceflip::statics::{SitesClaim, StaticsOptions, analyze};
use raceflip::vm::Model;
use std::ops::Range;

fn no_claim_is_wrong(seeds: Range<u64>, make: fn(u64) -> Random) -> Tally {
    let all = judge(seeds, make, true);
    println!("{}", all.counts());
    for (what, list) in [("wrong", &all.wrong), ("not claimed", &all.lacking), ("beyond the rules", &all.beyond)] {
        let first: Vec<&str> = list.iter().take(3).map(String::as_str).collect();
        assert!(list.is_empty(), "{} are {what}:\n{}\n{}", list.len(), first.join("\n"), all.counts());
    }
    all
}

/// No run of random programs contradicts a claim, the claims are those of the plain fixpoint, and most pairs that have
/// one order are found.
#[test]
fn no_claim_about_random_programs_is_wrong() {
    let all = no_claim_is_wrong(0..200, random);
    assert!(all.programs > 150 && all.claims > 1_000 && all.recall() > 0.8, "{}", all.counts());
}

#[test]
#[ignore = "minutes"]
fn no_claim_about_ten_thousand_random_programs_is_wrong() {
    let all = no_claim_is_wrong(1_000..12_500, random);
    assert!(all.programs >= 10_000, "{}", all.counts());
    assert!(all.recall() >= 0.85, "{} {}", all.recall(), all.counts());
}

/// Limits that fold most contexts lose claims, and make none wrong.
fn no_claim_within_limits_is_wrong(seeds: Range<u64>) {
    let options =
        |seed| StaticsOptions { contexts: 3 + seed as usize % 9, operations: 400, ..StaticsOptions::default() };
    let all = judge_with(seeds, random, false, options);
    println!("{} folded; {}", all.folded, all.counts());
    assert!(all.wrong.is_empty(), "{}\n{}", all.wrong.join("\n"), all.counts());
    assert!(all.folded * 5 > all.programs && all.claims > 500, "{} {}", all.folded, all.counts());
}

#[test]
fn no_claim_about_folded_programs_is_wrong() {
    no_claim_within_limits_is_wrong(400..550);
}

#[test]
#[ignore = "minutes"]
fn no_claim_about_thousands_of_folded_programs_is_wrong() {
    no_claim_within_limits_is_wrong(30_000..33_000);
}

/// No run of models with async tasks, promises, channels, timers, microtasks and idle handlers contradicts a claim.
fn no_claim_about_models_is_wrong(seeds: Range<u64>, make: fn(u64) -> String) -> Tally {
    no_claim_about_small_models_is_wrong(seeds, make, MOST_STATES)
}

// Leaves models with more than `most` states out.
fn no_claim_about_small_models_is_wrong(seeds: Range<u64>, make: fn(u64) -> String, most: usize) -> Tally {
    let all = judge_texts(seeds, make, most);
    println!("{}", all.counts());
    let first: Vec<&str> = all.wrong.iter().take(3).map(String::as_str).collect();
    assert!(all.wrong.is_empty(), "{}\n{}", first.join("\n"), all.counts());
    all
}

#[test]
fn no_claim_about_async_tasks_is_wrong() {
    let all = no_claim_about_models_is_wrong(0..200, small_jobs::model);
    assert!(all.programs > 150 && all.claims > 600 && all.recall() > 0.25, "{}", all.counts());
    let all = no_claim_about_models_is_wrong(0..3, truth_jobs::model);
    assert!(all.programs > 1 && all.claims > 25, "{}", all.counts());
}

#[test]
#[ignore = "minutes"]
fn no_claim_about_two_hundred_models_with_async_tasks_is_wrong() {
    // A state of these models takes some 100 KB.
    let all = no_claim_about_small_models_is_wrong(10_000..10_200, truth_jobs::model, 1_000);
    assert!(all.programs > 20, "{}", all.counts());
}

#[test]
#[ignore = "minutes"]
fn no_claim_about_thousands_of_small_models_with_async_tasks_is_wrong() {
    let all = no_claim_about_models_is_wrong(10_000..14_000, small_jobs::model);
    assert!(all.one_order > 500 && all.recall() > 0.33, "{}", all.counts());
}

/// No run of models with components contradicts a claim.
#[test]
fn no_claim_about_components_is_wrong() {
    let all = no_claim_about_models_is_wrong(0..40, |seed| component_models::generate(seed).text());
    assert!(all.programs > 20, "{}", all.counts());
}

#[test]
#[ignore = "minutes"]
fn no_claim_about_hundreds_of_models_with_components_is_wrong() {
    no_claim_about_models_is_wrong(1_000..1_800, |seed| component_models::generate(seed).text());
}

#[test]
#[ignore = "minutes"]
fn no_claim_about_models_of_threads_and_messages_is_wrong() {
    no_claim_about_models_is_wrong(10_000..11_000, truth_models::model);
}

/// The fixpoint itself is right about random programs, so that agreement with it means something.
#[test]
#[ignore = "minutes"]
fn no_claim_of_the_fixpoint_is_wrong() {
    let all = judge_fixpoint(20_000..23_000, random);
    println!("{}", all.counts());
    assert!(all.wrong.is_empty(), "{}", all.wrong.join("\n"));
}

/// One random program for each mistake in the rules notices it.
#[test]
fn a_random_program_notices_each_mistake_in_the_rules() {
    for (mistake, seed) in Mistake::ALL.into_iter().zip(NOTICED) {
        let (all, _) = notice(seed..seed + 1, random);
        let noticed = all.iter().any(|(of, seeds)| *of == mistake && !seeds.is_empty());
        assert!(noticed, "{mistake:?} is not noticed by program {seed}");
    }
}

/// Random programs notice each mistake in the rules.
#[test]
#[ignore = "minutes"]
fn five_thousand_programs_notice_each_mistake_in_the_rules() {
    let (all, searched) = notice(0..5_000, random);
    println!("{searched} programs were searched");
    all.iter()
        .for_each(|(mistake, seeds)| println!("{mistake:?}: {} programs, first {:?}", seeds.len(), seeds.first()));
    let missed: Vec<_> = all.iter().filter(|(_, seeds)| seeds.is_empty()).map(|(mistake, _)| mistake).collect();
    assert!(missed.is_empty(), "not noticed: {missed:?}");
}

/// The claims about the short programs that mistakes would make wrong are right.
#[test]
fn no_claim_about_a_directed_program_is_wrong() {
    for (name, text) in DIRECTED {
        let model = Model::from_text(name, text, &[]).unwrap_or_else(|e| panic!("{e}"));
        let facts = order_facts(&model, 4_000).expect("few states");
        assert_eq!(contradicted(&model, &facts), None, "{name}");
    }
}

/// Settled orders hold in every run, and would be wrong refutations: the first access still comes where the task of the
/// other one leaves.
#[test]
fn settled_orders_are_no_refutations() {
    for (name, text) in SETTLED {
        let model = Model::from_text(name, text, &[]).unwrap_or_else(|e| panic!("{e}"));
        let facts = order_facts(&model, 4_000).expect("few states");
        let statics = analyze(&model.program, &StaticsOptions::default());
        let labelled = |label: &str| {
            let is = |s: &Site| s.label.as_deref() == Some(label) && s.place == "p" && s.kind.access().is_some();
            let found = model.program.sites.enumerate().find(|(_, s)| is(s));
            found.map(|(id, _)| id).expect("a labelled access")
        };
        let [first, then] = ["first", "then"].map(labelled);
        assert_eq!(statics.settled(first, then).map(|s| s.first), Some(first), "{name}");
        assert_eq!(statics.sites(first, then), SitesClaim::OrderOnly, "{name}");
        assert!(facts.orders.contains(&(first, then)) && !facts.orders.contains(&(then, first)), "{name}");
        assert!(facts.remains.contains(&(first, then)), "{name}");
    }
}

fn tasks_are_in_order(seeds: Range<u64>, make: fn(u64) -> Random) -> TaskTally {
    let all = count_printed(seeds, make);
    println!("{}", all.counts());
    assert!(all.wrong.is_empty(), "{}", all.wrong.join("\n"));
    all
}

/// What the printed rules claim of programs in the paper's language, ours claims, and it finds all orders of tasks.
#[test]
fn our_rules_contain_the_printed_ones() {
    let all = tasks_are_in_order(0..100, of_paper);
    contains_the_printed(&all);
}

fn contains_the_printed(all: &TaskTally) {
    assert!(all.lacking.is_empty(), "{}", all.lacking.join("\n"));
    assert!(all.missed.is_empty(), "{} are missed:\n{}", all.missed.len(), all.missed[0]);
    assert_eq!(of_printed(all, Reading::Corrected)[1], 0);
    // Claims of C3 with c = x are wrong.
    assert!(of_printed(all, Reading::Printed)[1] > 0);
}

#[test]
#[ignore = "minutes"]
fn our_rules_contain_the_printed_ones_on_two_thousand_programs() {
    contains_the_printed(&tasks_are_in_order(1_000..3_500, of_paper));
}

/// Delays and posts to the front break the printed rules, cancels and quits do not, and ours hold for all.
#[test]
#[ignore = "minutes"]
fn delays_and_fronts_break_the_printed_rules() {
    for (make, is_broken) in
        [(with_delays as fn(u64) -> Random, true), (with_fronts, true), (with_cancels, false), (with_quits, false)]
    {
        let all = tasks_are_in_order(0..600, make);
        assert_eq!(of_printed(&all, Reading::Corrected)[1] > 0, is_broken);
    }
}
