//! Compares models of bugs that post life cycles by hand with models of the same bugs that use components: a pair of
//! twins has the same failures and the same verdicts, and the one with components is shorter.

use crate::explore::search;
use crate::load::{Model, load};
use crate::support::read;
use raceflip::campaign::{CampaignContext, CampaignPlan, DetectionPlan, EndKind, NoProgress, Verdict, confirm};
use raceflip::event::SiteId;
use raceflip::explore::{Bounds, SearchPlan, SearchReport};
use raceflip::lang::program::ExpectationKind;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The twins: a model in `harnesses/bugs`, and its version in `harnesses/components`.
const TWINS: [(&str, &str); 8] = [
    ("tomdroid_back", "tomdroid_back"),
    ("music_service", "music_service"),
    ("aard_lookup", "aard_lookup"),
    ("connectbot_menu", "connectbot"),
    ("magisk_receiver", "magisk_receiver"),
    ("seriesguide_job", "seriesguide_job"),
    ("timer_lifecycle", "timer_lifecycle"),
    ("oi_file_manager", "oi_file_manager"),
];

// Bound on the states of a model in this test.
const STATES: u64 = 200_000;

// Detection runs of a campaign. The events of an activity are rare in some of them.
const RUNS: u32 = 400;

type Pair = (String, String);

fn loaded(path: &str, fixed: i64) -> Model {
    load(&Path::new(env!("CARGO_MANIFEST_DIR")).join(path), &[("FIXED".to_owned(), fixed)])
}

// The pairs of labels that the lines `expect race` of a model name.
fn pairs(model: &Model) -> BTreeSet<Pair> {
    let named = |expectation: &ExpectationKind| match expectation {
        ExpectationKind::Race { order: false, left, right, .. } => {
            let label = |sites: &[SiteId]| model.program.sites[sites[0]].label.clone();
            Some(ordered(label(&left.sites)?, label(&right.sites)?))
        }
        _ => None,
    };
    model.program.expectations.iter().filter_map(|expectation| named(&expectation.kind)).collect()
}

fn ordered(a: String, b: String) -> Pair {
    if a <= b { (a, b) } else { (b, a) }
}

fn failures(path: &str, model: &Model) -> BTreeSet<String> {
    let bounds = Bounds { states: STATES, ..Bounds::default() };
    let found = search(&SearchPlan { bounds, reduce: true, ..SearchPlan::new(model) });
    assert!(SearchReport::complete(&found), "{path} has too many states");
    let fails = found.ends.keys().map(|end| &end.ended).filter(|ended| !matches!(ended.kind, EndKind::Ok));
    fails.map(|ended| ended.text()).collect()
}

// The verdict on each pair of labels that a campaign confirms.
fn verdicts(model: &Model) -> BTreeMap<Pair, &'static str> {
    let detection = DetectionPlan { runs: RUNS, ..DetectionPlan::default() };
    let plan = CampaignPlan { jobs: 2, detection, ..CampaignPlan::new(model) };
    let found = confirm(&plan, CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress });
    let mut verdicts = BTreeMap::new();
    for pair in found.pairs.iter().filter(|pair| pair.proof.confirmed()) {
        let label = |site| model.code.setup.sites[site].label.clone();
        let (Some(a), Some(b)) = (label(pair.pair.a), label(pair.pair.b)) else { continue };
        let verdict = verdicts.entry(ordered(a, b)).or_insert("real");
        if pair.verdict() == Verdict::Harmful {
            *verdict = "harmful";
        }
    }
    verdicts
}

// The lines of a model that are neither blank nor a comment.
fn length(path: &str) -> usize {
    let text = read(path);
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

#[test]
fn twins_have_the_same_failures_and_verdicts() {
    let mut wrong = Vec::new();
    for (by_hand, with_components) in TWINS {
        let by_hand = format!("harnesses/bugs/{by_hand}.race");
        let with_components = format!("harnesses/components/{with_components}.race");
        for fixed in [0, 1] {
            let (first, second) = (loaded(&by_hand, fixed), loaded(&with_components, fixed));
            let fails = (failures(&by_hand, &first), failures(&with_components, &second));
            let (mut found, mut with) = (verdicts(&first), verdicts(&second));
            let named = pairs(&first);
            found.retain(|pair, _| named.contains(pair));
            with.retain(|pair, _| named.contains(pair));
            // The bug fails and hurts, and its repair does neither.
            assert_eq!(fails.0.is_empty(), fixed == 1, "{by_hand} {fixed}: {fails:?}");
            assert_eq!(found.values().any(|verdict| *verdict == "harmful"), fixed == 0, "{by_hand} {fixed}: {found:?}");
            if fails.0 != fails.1 || found != with {
                wrong.push(format!("{with_components} {fixed}: {fails:?}, {with:?}, and by hand {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn twins_with_components_are_shorter() {
    for (by_hand, with_components) in TWINS {
        let by_hand = length(&format!("harnesses/bugs/{by_hand}.race"));
        let with = length(&format!("harnesses/components/{with_components}.race"));
        assert!(with < by_hand, "{with_components}: {with} lines, and {by_hand} by hand");
    }
}
