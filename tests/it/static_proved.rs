//! Tests of `expect` lines that static analysis proves where no search judges them.

use crate::cli::{call, file, scratch};
use crate::load::{Model, all_models};
use raceflip::campaign::{CampaignContext, CampaignPlan, LineVerdict, NoProgress, TestPlan, TestResult, test};
use std::sync::atomic::AtomicBool;

fn tested(model: &Model, states: u64) -> TestResult {
    let stop = AtomicBool::new(false);
    let plan = TestPlan { model, campaign: CampaignPlan::new(model), walks: 30, states, saved: &[], shrinks: false };
    test(&plan, CampaignContext { stop: &stop, progress: &NoProgress })
}

/// A search and the analysis answer the same lines of all harnesses. A proved line that a walk breaks stops the test.
#[test]
fn what_is_proved_holds_in_all_states() {
    let mut proved = 0;
    for path in all_models() {
        let text = std::fs::read_to_string(&path).unwrap();
        // Campaigns take long; these lines need none.
        if !text.contains("expect executes_before") || text.contains("expect race") && text.len() > 4_000 {
            continue;
        }
        let model = crate::load::load(&path, &[]);
        let without = tested(&model, 0);
        let lines: Vec<_> = without.lines.iter().filter(|line| line.proof.is_some()).collect();
        if lines.is_empty() {
            continue;
        }
        let searched = tested(&model, 20_000);
        if searched.states.is_none() {
            continue;
        }
        for line in lines {
            let of_search = searched.lines.iter().find(|other| other.line == line.line).unwrap();
            assert!(of_search.proof.is_none(), "{}: a search has judged {}", path.display(), line.text);
            assert!(matches!(of_search.verdict, LineVerdict::Met), "{}: {}", path.display(), line.text);
            assert!(matches!(line.verdict, LineVerdict::Met), "{}: {}", path.display(), line.text);
            assert!(line.proof.iter().flatten().count() > 0, "{}: {} has no reason", path.display(), line.text);
            proved += 1;
        }
    }
    assert!(proved >= 8, "{proved}");
}

/// A model whose counter has more states than a search visits, so that only the analysis can say `in every run`.
const LARGE: &str = "var n = 0; var p = 0; looper main
thread env { post first() to main; post second() to main }
task first() { @one: p = 1 }
task second() { @two: p = 2 }
thread a { for i in 0..40 { n += 1 } }
thread b { for i in 0..40 { n += 1 } }
thread c { for i in 0..40 { n += 1 } }
expect executes_before first, second
expect order @two, @one: never
expect no race @one ~ @two
expect executes_before second, first
";

#[test]
fn lines_are_proved_where_the_states_are_too_many() {
    let model = Model::from_text("large.race", LARGE, &[]).unwrap_or_else(|e| panic!("{e}"));
    let found = tested(&model, 1_000);
    assert!(found.states.is_none());
    let proofs: Vec<bool> = found.lines.iter().map(|line| line.proof.is_some()).collect();
    assert_eq!(proofs, [true, true, true, false]);
    let is_met: Vec<bool> = found.lines.iter().map(|line| matches!(line.verdict, LineVerdict::Met)).collect();
    assert_eq!(is_met, [true, true, true, false]);
}

#[test]
fn the_command_prints_the_reason() {
    let folder = scratch("static-proved");
    let path = file(&folder, "large.race", LARGE.split("expect executes_before second").next().unwrap());
    let ran = call(&["test", &path, "--explore-limit", "1000", "--walks", "30"]);
    assert!(
        ran.out.contains("`expect executes_before first, second` holds in every run (no search needed): "),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("FIFO"), "{}", ran.out);
    let ran = call(&["test", &path, "--explore-limit", "1000", "--walks", "30", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.out));
    let lines = report["variants"][0]["expectations"].as_array().unwrap();
    assert!(lines.iter().all(|line| line["proof"].as_array().is_some_and(|why| !why.is_empty())), "{lines:?}");
}
