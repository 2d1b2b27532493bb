//! Compares the verdicts of campaigns on models of real bugs with `tests/data/bugs.json`.

use crate::complete::all_variants;
use crate::load::{Model, load};
use raceflip::campaign::{CampaignContext, CampaignPlan, Confirmation, NoProgress, PairReport, Verdict, confirm};
use serde::Deserialize;
use std::path::Path;
use std::sync::atomic::AtomicBool;

#[derive(Deserialize)]
struct Bug {
    id: String,
    verdict: String,
    kind: String,
    expected_outcomes: Vec<String>,
    expected_fixed: Option<Vec<String>>,
    race: Option<Race>,
}

#[derive(Deserialize)]
struct Race {
    a: String,
    b: String,
}

fn bugs() -> Vec<Bug> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/bugs.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn campaign(model: &Model) -> Confirmation {
    confirm(
        &CampaignPlan { jobs: 2, ..CampaignPlan::new(model) },
        CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress },
    )
}

/// Returns the first trial that fails, and whether any run fails at all.
fn failure(found: &Confirmation) -> (Option<u32>, bool) {
    let first = found.pairs.iter().filter_map(|p| p.trials.first_failure).min();
    let of_pairs = found.pairs.iter().flat_map(|p| &p.comparison.orders).any(|o| o.failed() > 0);
    (first, of_pairs || !found.phase1.failures.is_empty() || !found.unexplained.is_empty())
}

// Returns the labels of the two accesses. The data writes them with one letter each: `#A`, `msgIdle use (#A)`,
// `#A..#C`.
fn labels(race: &Race) -> Option<(&str, &str)> {
    Some((label(&race.a)?, label(&race.b)?))
}

fn label(text: &str) -> Option<&str> {
    let at = text.find('#')? + 1;
    text.get(at..=at)
}

// Returns whether a pair has these labels; without labels every pair qualifies.
fn is_of(model: &Model, pair: &PairReport, of: Option<(&str, &str)>) -> bool {
    let label = |site| model.code.setup.sites[site].label.as_deref();
    let labels = (label(pair.pair.a), label(pair.pair.b));
    of.is_none_or(|(a, b)| labels == (Some(a), Some(b)) || labels == (Some(b), Some(a)))
}

fn is_harmful(model: &Model, found: &Confirmation, of: Option<(&str, &str)>) -> bool {
    found.pairs.iter().any(|p| is_of(model, p, of) && p.verdict() == Verdict::Harmful)
}

#[test]
fn real_bugs_are_harmful_and_repairs_are_not() {
    let bugs = bugs();
    let (mut harmful, mut repaired, mut real_repairs, mut firsts, mut wrong) = (0, 0, 0, Vec::new(), Vec::new());
    for (path, defines) in all_variants().into_iter().filter(|(p, _)| p.starts_with("harnesses/bugs/")) {
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&path)).unwrap();
        let of_file = bugs.iter().find(|b| text.trim_start_matches("// ").starts_with(&b.id));
        let bug = of_file.unwrap_or_else(|| panic!("{path} begins with the number of a bug"));
        let model = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join(&path), &defines);
        let found = campaign(&model);
        let (first, fails) = failure(&found);
        let fixed = defines.iter().find(|(name, _)| name == "FIXED").map_or(0, |(_, value)| *value);
        let confirmed = found.pairs.iter().filter(|p| p.proof.confirmed()).count();
        let mut must = |holds: bool, what: &str| {
            if !holds {
                wrong.push(format!("{} {path} {defines:?}: {what}", bug.id));
            }
        };
        match (bug.verdict.as_str(), fixed) {
            (_, 1) => {
                repaired += 1;
                real_repairs += usize::from(confirmed > 0);
                must(!is_harmful(&model, &found, None), "a repair is harmful");
                must(!fails, "a repair fails");
            }
            ("infeasible", _) => {
                let race = bug.race.as_ref().and_then(labels);
                let of_race = found.pairs.iter().filter(|p| is_of(&model, p, race) && p.proof.confirmed()).count();
                must(race.is_some() && of_race == 0 && !fails, "what cannot be is confirmed");
            }
            ("benign", _) => must(!is_harmful(&model, &found, None) && !fails, "what is benign hurts"),
            // A repair that does not help is also a bug.
            _ => {
                must(fails || bug.expected_outcomes == ["ok"], "a bug does not fail");
                firsts.extend(first);
                let race = bug.race.as_ref().and_then(labels).filter(|_| bug.verdict == "harmful" && fixed == 0);
                // A deadlock or an order of other operations is no race of two accesses.
                let is_race = !["deadlock", "post/remove", "re-entrancy"].iter().any(|w| bug.kind.contains(w));
                if race.is_some() && is_race {
                    harmful += 1;
                    must(is_harmful(&model, &found, race), "its race is not harmful");
                }
            }
        }
        assert!(bug.expected_fixed.is_some() || fixed == 0);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    firsts.sort_unstable();
    let median = firsts[firsts.len() / 2];
    println!(
        "{harmful} races harmful, {repaired} repairs ({real_repairs} with a real pair), median of the first failing trial {median}"
    );
    assert!(median <= 3 && harmful >= 25 && repaired >= 35, "{median}, {harmful}, {repaired}");
}
