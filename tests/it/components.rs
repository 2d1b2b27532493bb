//! Components at run time: rows, requests, names, detection, tokens.

use crate::agree::{compare, search};
use crate::component_models::{compare_ends, generate};
use crate::explore::context;
use crate::stateless::{facts, words};
use raceflip::explore::{OrderResult, SearchPlan, site_orders};
use raceflip::vm::Model;
use std::collections::BTreeSet;

/// Compares models of these seeds with the interpreter of the test and with the enumeration of all runs. Returns how
/// many were compared with each.
fn compare_models(seeds: std::ops::Range<u64>) -> (u64, u64) {
    let (mut interpreted, mut enumerated, mut wrong) = (0, 0, Vec::new());
    for seed in seeds {
        let model_of = generate(seed);
        let text = model_of.text();
        let model =
            Model::from_text(&format!("component {seed}"), &text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let Some(ends) = model_of.ends(20_000) else { continue };
        interpreted += 1;
        let mut result = compare_ends(&model, &ends);
        if let (Ok(()), Some(facts)) = (&result, facts(&model, &words(&model.program), 2_000)) {
            enumerated += 1;
            result = compare(&model, &facts).and_then(|_| same_orders(&model, &facts.orders));
        }
        if let Err(difference) = result {
            wrong.push(format!("{seed}: {difference}\n{text}"));
        }
    }
    let shown = wrong.iter().take(2).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} models differ:\n{shown}", wrong.len());
    (interpreted, enumerated)
}

fn same_orders(
    model: &Model,
    happen: &BTreeSet<(raceflip::event::SiteId, raceflip::event::SiteId)>,
) -> Result<(), String> {
    let plan = SearchPlan { pairs: true, ..SearchPlan::new(model) };
    let orders = site_orders(&plan, &search(&plan), context());
    let all = orders.values().flat_map(|pair| &pair.orders);
    let found: BTreeSet<_> =
        all.filter(|o| matches!(o.2, OrderResult::Happens(_))).map(|(first, then, _)| (*first, *then)).collect();
    if found == *happen { Ok(()) } else { Err(format!("orders: {found:?}, all runs {happen:?}")) }
}

/// The search agrees with an interpreter that shares nothing with the machine, and with the enumeration of all runs.
#[test]
fn rows_are_what_they_mean() {
    let (interpreted, enumerated) = compare_models(0..300);
    assert!(interpreted > 250 && enumerated > 60, "{interpreted} {enumerated}");
}

#[test]
#[ignore = "takes minutes: cargo test --release --test it components -- --ignored"]
fn rows_of_two_thousand_models_are_what_they_mean() {
    let (interpreted, enumerated) = compare_models(0..2_200);
    assert!(interpreted > 2_000 && enumerated > 400, "{interpreted} {enumerated}");
}
