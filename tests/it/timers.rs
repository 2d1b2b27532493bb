//! Tests of apps with timers that repeat: runs that never rest are bounded, and runs that rest are not.

use crate::load::load_bytes;
use raceflip::campaign::{CampaignContext, CampaignPlan, Confirmation, NoProgress, Verdict, confirm};
use raceflip::event::LimitKind;
use raceflip::world::Limits;
use std::sync::atomic::AtomicBool;

/// A timer that never stops, and a thread that sets what it uses to null.
const PERMANENT: &str = "
    class Box { var v = 0 }
    var box: Box = new Box
    looper main
    task tick() { @tick: box.v = 1; post tick() to main after 1000 }
    thread env { post tick() to main; @drop: box = null }";

fn campaign(text: &str, limits: Limits, jobs: usize) -> Confirmation {
    let model = load_bytes("timers", text.as_bytes(), &[]);
    let plan = CampaignPlan { limits, jobs, ..CampaignPlan::new(&model) };
    confirm(&plan, CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress })
}

/// Returns a timer whose task counts, and never fails.
fn counting() -> String {
    PERMANENT.replace("box = null", "box = new Box")
}

#[test]
fn a_permanent_timer_bounds_the_runs() {
    let found = campaign(&counting(), Limits::default(), 1);
    let limits: Vec<_> = found.phase1.coverage.limits.keys().copied().collect();
    let [(LimitKind::Steps, steps)] = limits[..] else { panic!("{limits:?}") };
    assert!((1_000..20_000).contains(&steps), "{steps}");
    assert_eq!(found.phase1.longest, steps);
    assert!(found.pairs.iter().any(|pair| pair.verdict() == Verdict::Real), "{:?}", found.pairs.len());
}

#[test]
fn the_bound_does_not_depend_on_the_workers() {
    let all = [1, 2].map(|jobs| {
        let found = campaign(&counting(), Limits::default(), jobs);
        let verdicts: Vec<_> = found.pairs.iter().map(|pair| (pair.pair, pair.verdict())).collect();
        (found.phase1.coverage.limits, found.phase1.runs, verdicts)
    });
    assert_eq!(all[0], all[1]);
}

#[test]
fn a_limit_that_is_asked_for_is_kept() {
    let limits = Limits { steps: 3_000, ..Limits::default() };
    let found = campaign(&counting(), limits, 1);
    assert_eq!(found.phase1.coverage.limits.keys().copied().collect::<Vec<_>>(), [(LimitKind::Steps, 3_000)]);
}

#[test]
fn a_timer_that_fails_keeps_the_limit() {
    let found = campaign(PERMANENT, Limits::default(), 1);
    assert!(!found.phase1.failures.is_empty());
    let limits = found.phase1.coverage.limits;
    assert!(limits.keys().all(|limit| *limit == (LimitKind::Steps, Limits::default().steps)), "{limits:?}");
}

#[test]
fn a_daemon_timer_lets_the_runs_rest() {
    let text = counting().replace("post tick() to main after 1000 }", "post tick() to main after 1000 daemon }");
    let found = campaign(&text, Limits::default(), 1);
    // Some schedulers prefer the clock to the end of the run.
    let cut: u32 = found.phase1.coverage.limits.values().sum();
    assert!(cut < found.phase1.runs / 4, "{cut} of {}", found.phase1.runs);
}
