//! Static executes-before on the harnesses, against searches of all their states, and `docs/results/static.md`:
//! `static_page` writes a page about them.

use crate::complete::all_variants;
use crate::load::load;
use crate::static_claims::{conflicting, contradiction, named};
use crate::static_truth::facts_by_search;
use raceflip::lang::program::ExpectationKind;
use raceflip::statics::{SitesClaim, Statics, StaticsOptions, analyze};
use raceflip::vm::Model;
use std::path::Path;

/// A variant of a harness.
pub(crate) struct Variant {
    pub(crate) name: String,
    pub(crate) model: Model,
    pub(crate) statics: Statics,
}

/// Returns all variants of all harnesses, analyzed.
pub(crate) fn variants() -> impl Iterator<Item = Variant> {
    all_variants().into_iter().map(|(path, defines)| {
        let model = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join(&path), &defines);
        let constants: String = defines.iter().map(|(n, v)| format!(" {n}={v}")).collect();
        let statics = analyze(&model.program, &StaticsOptions::default());
        Variant { name: format!("{}{constants}", path.trim_start_matches("harnesses/")), model, statics }
    })
}

/// The folder whose models have orders of which no rule speaks.
const UNKNOWN: &str = "components/";

/// Counts over variants.
#[derive(Default)]
pub(crate) struct HarnessTally {
    /// Variants that were searched.
    pub(crate) variants: u64,
    /// Pairs of sites that can conflict, in these.
    pub(crate) pairs: u64,
    /// Pairs with one order that are never side by side; of them those whose order W claims, and those it settles.
    pub(crate) one_order: u64,
    pub(crate) claimed: u64,
    pub(crate) settled: u64,
    /// Pairs with one order outside of the folder whose orders no rule knows, and those of them that are found.
    pub(crate) one_order_of_known: u64,
    pub(crate) found_of_known: u64,
    /// Those that are found if flags under a lock say no more than others.
    pub(crate) found_without_locked_flags: u64,
    pub(crate) wrong: Vec<String>,
    /// Pairs with one order of which nothing is claimed.
    pub(crate) missed: Vec<String>,
}

impl HarnessTally {
    pub(crate) fn counts(&self) -> String {
        let Self { variants, pairs, one_order, claimed, settled, wrong, .. } = self;
        format!(
            "{variants} variants, {pairs} pairs that can conflict; of {one_order} with one order {claimed} claimed, {settled} \
             settled; of {} without components {} found; {} without FLAG under a lock; {} wrong",
            self.one_order_of_known,
            self.found_of_known,
            self.found_without_locked_flags,
            wrong.len()
        )
    }
}

/// Compares the claims about all variants of at most `most` states with all their runs.
pub(crate) fn judge_harnesses(most: u64) -> HarnessTally {
    let mut all = HarnessTally::default();
    for Variant { name, model, statics } in variants() {
        let Some(facts) = facts_by_search(&model, most) else { continue };
        let without = StaticsOptions { locked_flags: false, ..StaticsOptions::default() };
        let without = analyze(&model.program, &without);
        all.variants += 1;
        for (a, b) in conflicting(&model.program) {
            let text = |what: &str| format!("{name}: {}: {what}", named(&model.program, a, b));
            all.pairs += 1;
            if let Some(what) = contradiction(&statics, &facts, a, b) {
                all.wrong.push(text(&what));
            }
            if !facts.has_one_order(a, b) {
                continue;
            }
            all.one_order += 1;
            let claim = statics.sites(a, b);
            let (claimed, settled) = (matches!(claim, SitesClaim::Ordered { .. }), statics.settled(a, b).is_some());
            all.claimed += u64::from(claimed);
            all.settled += u64::from(settled);
            let is_found = matches!(without.sites(a, b), SitesClaim::Ordered { .. }) || without.settled(a, b).is_some();
            all.found_without_locked_flags += u64::from(is_found);
            if !claimed && !settled {
                // One of the two accesses still comes where the task of the other one leaves.
                let order = if facts.orders.contains(&(a, b)) { (a, b) } else { (b, a) };
                let cut = if facts.remains.contains(&order) { " (cut)" } else { "" };
                all.missed.push(text(&format!("{claim:?}{cut}")));
            }
            let is_known = !name.starts_with(UNKNOWN);
            all.one_order_of_known += u64::from(is_known);
            all.found_of_known += u64::from(is_known && (claimed || settled));
        }
    }
    all
}

/// No run of a harness with few states contradicts a claim.
#[test]
fn no_claim_about_small_harnesses_is_wrong() {
    let all = judge_harnesses(400);
    println!("{}", all.counts());
    assert!(all.wrong.is_empty(), "{}", all.wrong.join("\n"));
    assert!(all.variants > 50 && all.claimed > 20, "{}", all.counts());
}

/// Of the paper's figures, every order of tasks and every pair without a race is found, and one pair of figure 1a is
/// left.
#[test]
fn the_figures_of_the_paper_are_as_it_says() {
    let (mut orders, mut pairs, mut left) = (0, 0, Vec::new());
    for Variant { name, model, statics } in variants().filter(|v| v.name.starts_with("papers/andracer_")) {
        let is_reported =
            |a, b| matches!(statics.sites(a, b), SitesClaim::MayRace | SitesClaim::OrderOnly | SitesClaim::Locked);
        for expected in &model.program.expectations {
            match &expected.kind {
                ExpectationKind::ExecutesBefore(first, then) => {
                    orders += 1;
                    assert!(statics.bodies().contains(&(*first, *then)), "{name}: {}", expected.text);
                }
                ExpectationKind::Race { no: true, order: false, left, right, .. } => {
                    pairs += 1;
                    let mut all = left.sites.iter().flat_map(|a| right.sites.iter().map(move |b| (*a, *b)));
                    assert!(!all.any(|(a, b)| is_reported(a, b)), "{name}: {}", expected.text);
                }
                _ => {}
            }
        }
        if name.contains("_fig") {
            let reported = conflicting(&model.program).into_iter().filter(|(a, b)| is_reported(*a, *b));
            left.extend(reported.map(|(a, b)| format!("{name}: {}", named(&model.program, a, b))));
        }
    }
    assert!(orders >= 15 && pairs >= 11, "{orders} {pairs}");
    assert!(matches!(left.as_slice(), [pair] if pair.contains("fig1a")), "{left:?}");
}

/// Every order that is claimed of a harness has a reason.
#[test]
fn claims_about_harnesses_have_reasons() {
    let mut claims = 0;
    for Variant { name, model, .. } in variants() {
        let statics = analyze(&model.program, &StaticsOptions::explained());
        for (a, b) in conflicting(&model.program) {
            if matches!(statics.sites(a, b), SitesClaim::Ordered { .. } | SitesClaim::BothOrders) {
                claims += 1;
                let why = statics.why(a, b);
                assert!(
                    !why.is_empty() && why.iter().all(|line| !line.is_empty()),
                    "{name}: {}",
                    named(&model.program, a, b)
                );
            }
        }
        for (first, then) in statics.bodies() {
            assert!(!statics.why_bodies(first, then).is_empty(), "{name}: {first:?} {then:?}");
        }
    }
    assert!(claims > 100, "{claims}");
}

#[test]
#[ignore = "minutes"]
fn no_claim_about_harnesses_is_wrong() {
    let all = judge_harnesses(20_000);
    println!("{}\nmissed:\n{}", all.counts(), all.missed.join("\n"));
    assert!(all.wrong.is_empty(), "{}", all.wrong.join("\n"));
    assert!(all.found_of_known * 100 >= all.one_order_of_known * 56, "{}", all.counts());
    assert!((all.claimed + all.settled) * 100 >= all.one_order * 50, "{}", all.counts());
}
