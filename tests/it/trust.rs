//! Compares the exhaustive search with the enumeration of all runs, on many small models.
//!
//! Normal test runs use some of the models; `cargo test --release --test it trust -- --ignored --nocapture` uses all of
//! them.

use crate::agree::{compare, search};
use crate::explore::context;
use crate::small;
use crate::stateless::{Facts, MOST_INSTANCES, facts, words};
use raceflip::event::SiteKind;
use raceflip::explore::{OrderResult, SearchPlan, SearchReport, instance_order, site_orders};
use raceflip::vm::Model;
use std::collections::{BTreeMap, BTreeSet};

/// Bound of the long test on the steps of all runs of a model together; models above it are skipped.
const MOST_STEPS: u64 = 30_000;
/// Number of models of the long test; about one in five is too large.
const MODELS: u64 = 6_500;

/// Returns the results of a search that must not depend on the number of workers.
fn text(found: &SearchReport) -> String {
    let SearchReport { states, transitions, depth, cut, frontier, scale, ends, adjacent, .. } = found;
    format!("{states} {transitions} {depth} {cut:?} {frontier} {scale:?} {ends:?} {adjacent:?}")
}

/// Compares searches with one worker and with two workers.
fn compare_jobs(model: &Model) -> Result<(), String> {
    for (reduce, pairs) in [(false, true), (true, false)] {
        let plan = SearchPlan { reduce, pairs, observe: words(&model.program), ..SearchPlan::new(model) };
        let one = search(&plan);
        let two = search(&SearchPlan { jobs: 2, ..plan });
        if text(&one) != text(&two) {
            return Err(format!("one worker: {}\ntwo: {}", text(&one), text(&two)));
        }
    }
    Ok(())
}

/// Compares the orders in which conflicting accesses of two statements can be performed.
fn compare_orders(model: &Model, facts: &Facts) -> Result<(), String> {
    let plan = SearchPlan { pairs: true, ..SearchPlan::new(model) };
    let orders = site_orders(&plan, &search(&plan), context());
    let all = orders.values().flat_map(|pair| &pair.orders);
    let happen: BTreeSet<_> =
        all.filter(|o| matches!(o.2, OrderResult::Happens(_))).map(|(first, then, _)| (*first, *then)).collect();
    if happen == facts.orders {
        return Ok(());
    }
    let missing: Vec<_> = facts.orders.difference(&happen).collect();
    Err(format!("orders: missing {missing:?}, too many {:?}", happen.difference(&facts.orders).collect::<Vec<_>>()))
}

/// Compares the orders of instances. Asks the search for both directions of a few orders that happen.
fn compare_instances(model: &Model, facts: &Facts) -> Result<(), String> {
    if facts.instance_orders.len() >= MOST_INSTANCES {
        return Ok(());
    }
    let plan = SearchPlan::new(model);
    for (first, then) in facts.instance_orders.values().take(4) {
        for (a, b) in [(first, then), (then, first)] {
            // Whether a compare-and-swap writes depends on the order. The search asks for the order alone.
            if [a, b].iter().any(|i| model.program.sites[i.site].kind == SiteKind::MixedUpdate) {
                continue;
            }
            let happens = facts.instance_orders.contains_key(&format!("{:?}", (a, b)));
            let found = instance_order(&plan, a, b, context());
            if matches!(found, OrderResult::Happens(_)) != happens || matches!(found, OrderResult::Unknown(_)) {
                return Err(format!("{a:?} before {b:?}: happens {happens}, found {found:?}"));
            }
        }
    }
    Ok(())
}

/// Counts of what was compared.
#[derive(Default, Debug)]
pub(crate) struct Compared {
    pub(crate) models: u64,
    too_large: u64,
    steps: u64,
    states: u64,
    ends: usize,
    adjacent: usize,
    orders: usize,
}

fn compared(model: &Model, facts: &Facts) -> Result<u64, String> {
    let states = compare(model, facts)?;
    compare_jobs(model)?;
    compare_orders(model, facts)?;
    compare_instances(model, facts)?;
    Ok(states)
}

/// Compares the models of these seeds. Panics with all models whose results differ. `made` is a generator
/// with its name.
pub(crate) fn compare_models(
    (name, made): (&str, fn(u64) -> String),
    seeds: std::ops::Range<u64>,
    most_steps: u64,
) -> Compared {
    let (mut all, mut wrong) = (Compared::default(), BTreeMap::new());
    for seed in seeds {
        let text = made(seed);
        let model = Model::from_text(&format!("{name} {seed}"), &text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let Some(facts) = facts(&model, &words(&model.program), most_steps) else {
            all.too_large += 1;
            continue;
        };
        match compared(&model, &facts) {
            Ok(states) => all.states += states,
            Err(difference) => _ = wrong.insert(seed, format!("{name} {seed}: {difference}\n{text}")),
        }
        all.models += 1;
        all.steps += facts.steps;
        all.ends += facts.ends.len();
        all.adjacent += facts.adjacent.len();
        all.orders += facts.orders.len();
    }
    println!("{all:?}");
    let texts: Vec<&str> = wrong.values().take(3).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} models differ: {:?}\n{}", wrong.len(), wrong.keys(), texts.join("\n"));
    all
}

/// The search has the same ends, pairs and orders as the enumeration of all runs, with one worker and with two.
#[test]
fn it_finds_what_all_runs_come_to() {
    let all = compare_models(("small", small::model), 0..2_500, 3_000);
    assert!(all.models > 1_500, "{all:?}");
}

#[test]
#[ignore = "takes minutes; see above"]
fn it_finds_what_all_runs_of_five_thousand_models_come_to() {
    let all = compare_models(("small", small::model), 0..MODELS, MOST_STEPS);
    assert!(all.models >= 5_000, "{all:?}");
}
