//! Tests of models without an end or a bound: a run and a campaign of each one end at a reported limit, in bounded time
//! and memory.

use raceflip::campaign::{CampaignContext, CampaignPlan, DetectionPlan, NoProgress, TrialPlan, confirm};
use raceflip::event::{LimitKind, Outcome};
use raceflip::exec::{NoObserver, run};
use raceflip::sched::RandomWalk;
use raceflip::world::Limits;
use std::sync::atomic::AtomicBool;

const STEPS: u64 = 2_000;

const CASES: [(&str, &str, Option<LimitKind>); 11] = [
    ("a loop without a step", "thread t { loop { } }", Some(LimitKind::LocalSteps)),
    ("spinning", "var x = 0\nthread t { while x == 0 { yield } }", Some(LimitKind::Steps)),
    ("livelock", "var x = 0\nthread a { loop { x = 1 } }\nthread b { loop { x = 2 } }", Some(LimitKind::Steps)),
    (
        "posts",
        "var x = 0\nlooper main\ntask t(i) { x = i; post t(i + 1) to main; post t(i) to main }\nthread a { post t(0) to main }",
        Some(LimitKind::Steps),
    ),
    (
        "forks",
        "var x = 0\ntask t(i) { x = i; fork t(i + 1); fork t(i) }\nthread a { fork t(0) }",
        Some(LimitKind::Steps),
    ),
    (
        "objects",
        "class N { var a: int[10000] }\nvar n: N = null\nthread t { loop { n = new N } }",
        Some(LimitKind::Cells),
    ),
    (
        "objects of objects",
        "class A { var b = new B }\nclass B { var c: int[1000]; var d = new Object }\nthread t { loop { let a = new A } }",
        Some(LimitKind::Cells),
    ),
    (
        "stacks",
        "var x = 0\ntask f(n): int { let a: int[10000]; return f(n + 1) + a[0] }\nthread t(i in 0..100) { try { x = f(0) } catch { x = 1 } }",
        Some(LimitKind::Cells),
    ),
    ("recursion that is caught", "task f() { f() }\nvar x = 0\nthread t { try { f() } catch { x = 1 } }", None),
    ("threads of a loop", "task f() { skip }\nthread t { loop { fork f() } }", Some(LimitKind::Threads)),
    ("init", "var l: list[int]\ninit { loop { l.push(1) } }", Some(LimitKind::Steps)),
];

#[test]
fn every_model_comes_to_an_end() {
    for (name, text, expected) in CASES {
        let model = super::load::load_bytes(name, text.as_bytes(), &[]);
        let limits = Limits { steps: STEPS, threads: 1_000, ..Limits::default() };
        let stop = AtomicBool::new(false);
        let mut machine = model.machine(limits);
        let ended = run(&mut machine, &mut RandomWalk::new(), 1, &mut NoObserver, &stop);
        let limit = match ended.outcome() {
            Some(Outcome::Limit(kind, _)) => Some(*kind),
            other => {
                assert_eq!(other, Some(&Outcome::Ok), "{name}");
                None
            }
        };
        // A model that forks may reach the limit on threads first.
        assert!(limit == expected || limit == Some(LimitKind::Threads), "{name}: {limit:?}");
        let plan = CampaignPlan {
            limits,
            seed: 1,
            jobs: 2,
            detection: DetectionPlan { runs: 2, ..DetectionPlan::default() },
            trials: TrialPlan { count: 2, ..TrialPlan::default() },
            ..CampaignPlan::new(&model)
        };
        let found = confirm(&plan, CampaignContext { stop: &stop, progress: &NoProgress });
        let cut: u32 = found.phase1.coverage.limits.values().sum();
        assert_eq!(
            cut,
            if expected.is_some() { found.phase1.runs } else { 0 },
            "{name}: {:?}",
            found.phase1.coverage.limits
        );
    }
}
