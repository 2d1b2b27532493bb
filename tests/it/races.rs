//! Tests that the `expect race` lines of papers and bugs hold, and that campaigns are reproducible.

use crate::load::{Model, load, models};
use raceflip::campaign::{
    CampaignContext, CampaignPlan, Confirmation, DetectionPlan, NoProgress, confirm, judge_pairs,
};
use raceflip::formats::campaign::ConfirmReport;
use raceflip::lang::program::ExpectationKind;
use raceflip::world::Limits;
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn plan(model: &Model, jobs: usize) -> CampaignPlan {
    CampaignPlan {
        limits: Limits { steps: 20_000, ..Limits::default() },
        seed: 1,
        jobs,
        detection: DetectionPlan { runs: 20, ..DetectionPlan::default() },
        ..CampaignPlan::new(model)
    }
}

fn campaign(plan: &CampaignPlan) -> Confirmation {
    confirm(plan, CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress })
}

fn check(path: &Path, defines: &[(String, i64)]) -> usize {
    let model = load(path, defines);
    let found = campaign(&plan(&model, 2));
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut checked = 0;
    for expectation in &model.program.expectations {
        let ExpectationKind::Race { .. } = &expectation.kind else { continue };
        let text = format!("{name}:{}: {} ({defines:?})", expectation.line, expectation.text);
        checked += 1;
        if let Some(broken) = judge_pairs(&expectation.kind, &model.program.sites, &found) {
            panic!("{text}: {}", broken.why);
        }
    }
    checked
}

#[test]
fn race_expectations_of_the_papers_hold() {
    let checked: usize = models("harnesses/papers").iter().map(|p| check(p, &[])).sum();
    assert!(checked >= 20, "{checked} lines");
}

#[test]
fn race_expectations_of_the_bugs_hold_in_every_variant() {
    let mut checked = 0;
    for path in models("harnesses/bugs") {
        let text = std::fs::read_to_string(&path).expect("a readable model");
        // A bug without a known repair has no constant `FIXED`; some bugs also have a repair that did not help (value
        // 2).
        if !text.contains("\nconst FIXED") {
            checked += check(&path, &[]);
            continue;
        }
        let last = if text.contains("; 2: ") { 2 } else { 1 };
        for fixed in 0..=last {
            checked += check(&path, &[("FIXED".to_owned(), fixed)]);
        }
    }
    assert!(checked >= 70, "{checked} lines");
}

/// The result of a campaign does not depend on the number of workers, nor on earlier runs.
#[test]
fn campaigns_are_the_same_for_any_number_of_workers() {
    for path in models("harnesses") {
        let model = load(&path, &[]);
        let json = |jobs| {
            let plan = plan(&model, jobs);
            ConfirmReport::new("m", 0, &plan, &campaign(&plan)).to_json()
        };
        assert_eq!(json(1), json(3), "{} with 3 workers", path.display());
    }
}

/// Every token of a failing or passing order replays to the outcome that is reported for it.
#[test]
fn tokens_of_a_campaign_replay() {
    use raceflip::exec::{NoObserver, run};
    use raceflip::sched::Replay;
    use raceflip::token::Token;
    use raceflip::vm::Vm;
    use raceflip::world::{Machine, signature};
    use std::sync::Arc;
    let mut replayed = 0;
    for path in models("harnesses/bugs").iter().chain(&models("harnesses/papers")) {
        let model = load(path, &[]);
        let plan = plan(&model, 2);
        let found = campaign(&plan);
        let failures = found.pairs.iter().flat_map(|p| &p.comparison.orders).flat_map(|o| &o.failures);
        let failing = failures.chain(&found.phase1.failures).map(|f| (&f.evidence, Some(f.signature.as_str())));
        let passing =
            found.pairs.iter().flat_map(|p| &p.comparison.orders).filter_map(|o| o.passes.as_ref()).map(|e| (e, None));
        for (evidence, wanted) in failing.chain(passing) {
            let token: Token = evidence.token.parse().unwrap();
            let mut machine = Machine::new(Vm::new(model.code.clone()), token.limits);
            let mut replay = Replay::new(Arc::new(token.schedule));
            let summary = run(&mut machine, &mut replay, 0, &mut NoObserver, &AtomicBool::new(false));
            let outcome = summary.outcome().unwrap_or_else(|| panic!("{}: {:?}", path.display(), summary.end));
            let ended = signature(&model.code.setup, outcome);
            assert_eq!(ended, token.signature);
            assert!(wanted.is_none_or(|w| w == ended));
            replayed += 1;
        }
    }
    assert!(replayed > 60, "{replayed}");
}
