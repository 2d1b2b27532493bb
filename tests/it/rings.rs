//! Tests of deadlock rings: which ones detection finds, that trials close them, and that searches refute the others.

use crate::load::load_bytes;
use crate::ring_models::{nested, ring};
use crate::ring_naive::compare;
use crate::support::read;
use raceflip::campaign::{
    CampaignContext, CampaignPlan, Confirmation, Explore, NoProgress, PairFacts, RingFacts, RingProof, StatePlan,
    Subject, TrialPlan, Verdict, confirm, detect, holds,
};
use raceflip::detect::RingCandidate;
use raceflip::event::{DeadlockReport, Outcome, SiteId};
use raceflip::exec::{LoopEnd, NoObserver, run};
use raceflip::explore::{self, NoMonitor, NoSearchProgress, SearchContext, SearchPlan};
use raceflip::formats::campaign::ConfirmReport;
use raceflip::formats::report::{CommandEnd, NoReplays, github, junit, markdown, sarif};
use raceflip::sched::StrategySpec;
use raceflip::vm::Model;
use raceflip::world::Limits;
use std::sync::atomic::AtomicBool;

pub(crate) fn harness(path: &str, defines: &[(&str, i64)]) -> Model {
    let defines: Vec<(String, i64)> = defines.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    load_bytes(path, read(path).as_bytes(), &defines)
}

fn model(text: &str) -> Model {
    Model::from_text("rings.race", text, &[]).unwrap()
}

fn confirmed(plan: &CampaignPlan) -> Confirmation {
    confirm(plan, CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress })
}

pub(crate) fn detected(model: &Model) -> Vec<RingCandidate> {
    detect(&CampaignPlan::new(model), CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress }).rings
}

fn with_orders(model: &Model) -> CampaignPlan {
    let trials = TrialPlan { orders: true, ..TrialPlan::default() };
    CampaignPlan { trials, jobs: 2, ..CampaignPlan::new(model) }
}

/// A harness with a ring: its path, definitions, and the number of threads of the ring.
pub(crate) type RingRow = (&'static str, &'static [(&'static str, i64)], usize);

/// The harnesses whose ring directed trials close.
pub(crate) const HARNESSES: [RingRow; 7] = [
    ("harnesses/calfuzzer/testdeadlock1.race", &[], 2),
    ("harnesses/calfuzzer/testdeadlock7.race", &[], 2),
    ("harnesses/calfuzzer/testdeadlock6.race", &[], 4),
    ("harnesses/sctbench/deadlock01.race", &[], 2),
    ("harnesses/locks/three_locks.race", &[], 3),
    ("harnesses/locks/philosophers.race", &[], 3),
    ("harnesses/locks/philosophers.race", &[("N", 5)], 5),
];

/// Returns what a campaign without a search finds, with 100 trials of each way.
pub(crate) fn directed(model: &Model) -> Confirmation {
    let trials = TrialPlan { count: 100, ..TrialPlan::default() };
    let search = StatePlan { explore: Explore::Off, ..StatePlan::default() };
    confirmed(&CampaignPlan { trials, search, jobs: 2, seed: 5, ..CampaignPlan::new(model) })
}

/// The ring closes in at least 95 of 100 trials of its best way. A walk closes it far less often.
#[test]
fn directed_trials_close_the_rings_of_harnesses() {
    for (path, defines, threads) in HARNESSES {
        let found = directed(&harness(path, defines));
        let [ring] = found.rings.as_slice() else { panic!("{path}: {:?}", found.rings) };
        assert_eq!((ring.parts.len(), ring.proof), (threads, RingProof::Closed), "{path}");
        let best = ring.ways.iter().max_by_key(|way| way.hits).unwrap();
        assert!(best.trials == 100 && best.hits >= 95, "{path}: {:?}", ring.ways);
        for deadlock in &ring.deadlocks {
            let Outcome::Deadlock(report) = &deadlock.outcome else { panic!("{path}: {:?}", deadlock.outcome) };
            assert_eq!(report.cycle.len(), threads, "{path}");
        }
    }
}

#[test]
fn the_repaired_harnesses_have_no_ring() {
    for (path, n) in [("three_locks", None), ("philosophers", Some(3)), ("philosophers", Some(5))] {
        let defines: Vec<(&str, i64)> = [("FIXED", 1)].into_iter().chain(n.map(|n| ("N", n))).collect();
        assert!(detected(&harness(&format!("harnesses/locks/{path}.race"), &defines)).is_empty(), "{path} {n:?}");
    }
    // The forks are acquired under a common lock.
    for n in [2, 4, 6] {
        assert!(detected(&harness("harnesses/sctbench/din_phil.race", &[("N", n)])).is_empty());
    }
    // Some ring of locks there needs one thread twice, and the other one is under a common lock.
    assert!(detected(&harness("harnesses/calfuzzer/testdeadlock2.race", &[])).is_empty());
}

/// Declarations and threads of a model, with the numbers of threads of its rings.
const SHAPES: [(&str, &str, &[usize]); 16] = [
    ("two locks", "lock l; lock m; thread a { sync l { sync m { skip } } }; thread b { sync m { sync l { skip } } }", &[2]),
    ("one order", "lock l; lock m; thread a { sync l { sync m { skip } } }; thread b { sync l { sync m { skip } } }", &[]),
    (
        "a common outer lock",
        "lock g; lock l; lock m; thread a { sync g { sync l { sync m { skip } } } }
         thread b { sync g { sync m { sync l { skip } } } }",
        &[],
    ),
    (
        "a common outer lock of two of three threads",
        "lock g; lock l; lock m; lock n; thread a { sync g { sync l { sync m { skip } } } }
         thread b { sync m { sync n { skip } } }; thread c { sync g { sync n { sync l { skip } } } }",
        &[],
    ),
    (
        "readers of an outer lock do not exclude each other",
        "rwlock g; lock l; lock m; thread a { read g { sync l { sync m { skip } } } }
         thread b { read g { sync m { sync l { skip } } } }",
        &[2],
    ),
    (
        "a join",
        "lock l; lock m; task other() { sync m { sync l { skip } } }
         thread a { join (fork other()); sync l { sync m { skip } } }",
        &[],
    ),
    (
        "a join after the first lock",
        "lock l; lock m; task other() { sync m { skip }; sync l { skip } }
         thread a { let t = fork other(); sync l { sync m { skip } }; join t }",
        &[],
    ),
    (
        "a fork that holds the first lock",
        "lock l; lock m; task other() { sync m { sync l { skip } } }
         thread a { sync l { fork other(); sync m { skip } } }",
        &[2],
    ),
    (
        "a posted task after the poster's section",
        "lock l; lock m; looper main; task other() { sync m { sync l { skip } } }
         thread a { sync l { sync m { skip } }; post other() to main }",
        &[],
    ),
    (
        "two tasks of one looper",
        "lock l; lock m; looper main; task one() { sync l { sync m { skip } } }; task two() { sync m { sync l { skip } } }
         thread a { post one() to main }; thread b { post two() to main }",
        &[],
    ),
    (
        "tasks of two loopers",
        "lock l; lock m; looper main; looper other; task one() { sync l { sync m { skip } } }
         task two() { sync m { sync l { skip } } }; thread a { post one() to main }; thread b { post two() to other }",
        &[2],
    ),
    (
        "a timed acquisition gives up",
        "lock l; lock m; thread a { sync l { sync m for 5 { skip } } }; thread b { sync m { sync l { skip } } }",
        &[],
    ),
    (
        "a read lock and a write lock",
        "rwlock r; lock m; thread a { read r { sync m { skip } } }; thread b { sync m { write r { skip } } }",
        &[2],
    ),
    (
        "two readers",
        "rwlock r; lock m; thread a { read r { sync m { skip } } }; thread b { sync m { read r { skip } } }",
        &[],
    ),
    (
        "a monitor that a wait returns to",
        "lock l; lock m; thread a { sync m { sync l { wait m for 2 } } }; thread b { sync m { sync l { skip } } }",
        &[2],
    ),
    (
        "the same lock again",
        "lock l; lock m; thread a { sync l { sync m { sync l { skip } } } }; thread b { sync l { sync m { skip } } }",
        &[],
    ),
];

#[test]
fn detection_finds_the_rings_that_may_close() {
    for (name, text, rings) in SHAPES {
        let found: Vec<usize> = detected(&model(text)).iter().map(|ring| ring.parts.len()).collect();
        assert_eq!(found, rings, "{name}");
    }
}

/// A writer that has announced itself keeps a second read out, so that two readers make a ring with it.
#[test]
fn an_announced_writer_is_part_of_a_ring() {
    let found = confirmed(&CampaignPlan::new(&harness("harnesses/sctbench/radbench_bug6.race", &[])));
    let [ring] = found.rings.as_slice() else { panic!("{:?}", found.rings) };
    assert_eq!((ring.proof, ring.parts[1].holds.as_str()), (RingProof::Closed, "announced write rw"));
}

const SIGNALLED: &str = "lock l; lock m; semaphore s = 0
    thread a { sync l { sync m { skip } }; up s }; thread b { down s; sync m { sync l { skip } } }";

const FLAGGED: &str = "lock l; lock m; var done = false
    thread a { sync l { sync m { skip } }; done = true }
    thread b { skip; skip; if done { sync m { sync l { skip } } } }";

/// A semaphore or a variable orders the two sections. Only a search knows that no run turns them.
#[test]
fn a_search_refutes_a_ring_that_cannot_close() {
    for text in [SIGNALLED, FLAGGED] {
        let found = confirmed(&CampaignPlan::new(&model(text)));
        let [ring] = found.rings.as_slice() else { panic!("{:?}", found.rings) };
        assert!(matches!(ring.proof, RingProof::Refuted { states: 10.. }), "{:?}", ring.proof);
        assert!(ring.deadlocks.is_empty() && found.complete());
    }
    let model = model(FLAGGED);
    let search = StatePlan { explore: Explore::Off, ..StatePlan::default() };
    let plan = CampaignPlan { search, ..CampaignPlan::new(&model) };
    let report = ConfirmReport::new("rings.race", 0, &plan, &confirmed(&plan));
    assert_eq!(report.rings[0].verdict(), Verdict::Unconfirmed);
    assert!(report.rings[0].at_most.is_some_and(|p| p > 0.0 && p < 1.0));
    // With a search alone a ring is decided as well.
    let search = StatePlan { explore: Explore::Only, ..StatePlan::default() };
    let closes = self::model(SHAPES[0].1);
    let found = confirmed(&CampaignPlan { search, ..CampaignPlan::new(&closes) });
    assert_eq!((found.rings[0].proof, found.rings[0].trials()), (RingProof::Closed, 0));
}

/// The order pairs of two neighbours are reported with their ring, the deadlock is the finding of the ring, and every
/// form of the report has it once.
#[test]
fn a_ring_and_its_order_pairs_are_told_once() {
    let model = harness("harnesses/calfuzzer/testdeadlock1.race", &[]);
    let plan = with_orders(&model);
    let found = confirmed(&plan);
    assert_eq!(found.orders.iter().map(|pair| pair.ring).collect::<Vec<_>>(), [Some(0), Some(0)]);
    assert!(found.orders.iter().any(|pair| pair.verdict() == Verdict::Harmful));
    let findings = found.findings();
    assert!(matches!(findings.as_slice(), [one] if matches!(one.subject, Subject::Ring(_))), "{findings:?}");
    let report = ConfirmReport::new("one.race", 0, &plan, &found);
    assert!(report.order_pairs.iter().all(PairFacts::is_of_ring));
    let read: ConfirmReport = serde_json::from_str(&report.to_json()).unwrap();
    assert_eq!(read, report);
    let reports = [report];
    let junit = junit::render(&reports, &CommandEnd::default(), &mut NoReplays);
    assert!(junit.contains("type=\"ring/harmful\"") && junit.matches("<testcase").count() == 1, "{junit}");
    let sarif = sarif::render(&reports, &CommandEnd::default(), &mut NoReplays);
    assert_eq!(sarif.matches("\"ruleId\": \"ring/harmful\"").count(), 1, "{sarif}");
    assert!(
        github::render(&reports, &CommandEnd::default(), &mut NoReplays).starts_with("::error file=one.race,line=12")
    );
    let page = markdown::render(&reports, &CommandEnd::default(), &mut NoReplays);
    assert!(page.starts_with("## raceflip: 1 deadlock ring, 0 harmful pairs\n"), "{page}");
}

/// The strategy that a report names draws the same trials again, although all orders have the same two statements.
#[test]
fn a_strategy_names_its_ring() {
    let model = harness("harnesses/locks/philosophers.race", &[("N", 4)]);
    let plan = CampaignPlan::new(&model);
    let found = confirmed(&plan);
    let way = found.rings[0].ways.iter().max_by_key(|way| way.hits).unwrap();
    assert!(way.strategy.contains(",ring"), "{}", way.strategy);
    let spec: StrategySpec = way.strategy.parse().unwrap();
    let spec = spec.with_holds(|hold| holds(&plan, hold)).unwrap();
    let mut strategy = spec.build(&model.program.sites).unwrap();
    let mut machine = model.machine(Limits::default());
    let mut is_deadlock = |seed| {
        let summary = run(&mut machine, &mut strategy, seed, &mut NoObserver, &AtomicBool::new(false));
        matches!(summary.end, LoopEnd::Outcome(Outcome::Deadlock(_)))
    };
    assert!((0..100).filter(|seed| is_deadlock(*seed)).count() >= 95);
    // Without the ring the names stand for the first two operations only.
    let spec: StrategySpec = way.strategy.replace(",ring", "").parse().unwrap();
    let spec = spec.with_holds(|hold| holds(&plan, hold)).unwrap();
    strategy = spec.build(&model.program.sites).unwrap();
    let mut is_deadlock = |seed| {
        let summary = run(&mut machine, &mut strategy, seed, &mut NoObserver, &AtomicBool::new(false));
        matches!(summary.end, LoopEnd::Outcome(Outcome::Deadlock(_)))
    };
    assert!((0..100).filter(|seed| is_deadlock(*seed)).count() < 60);
}

#[test]
fn rings_do_not_depend_on_the_number_of_workers() {
    let model = harness("harnesses/sctbench/carter01.race", &[]);
    let report = |jobs| {
        let plan = CampaignPlan { jobs, ..with_orders(&model) };
        ConfirmReport::new("carter01.race", 0, &plan, &confirmed(&plan)).to_json()
    };
    let one = report(1);
    assert!(one.matches("\"kind\": \"closed\"").count() == 2);
    assert_eq!(one, report(2));
}

/// Returns the statements at which the threads of the cycle are blocked, sorted, if each of them waits for a lock.
fn cycle_of_locks(report: &DeadlockReport) -> Option<Vec<SiteId>> {
    let of = |name: &String| report.blocked.iter().find(|blocked| blocked.thread == *name);
    let is_lock = |waits: &str| waits.starts_with("lock ") || waits.contains(" side of rwlock ");
    let sites = report.cycle.iter().map(|name| of(name).filter(|b| is_lock(&b.waits_for))?.site);
    let mut sites = sites.collect::<Option<Vec<SiteId>>>()?;
    sites.sort_unstable();
    (sites.len() > 1).then_some(sites)
}

/// Every cycle of locks in the end of a run that an exhaustive search finds is a ring that detection reports, and the
/// campaign confirms it. Every ring that it confirms is such an end, and no ring that it refutes is one.
#[test]
fn rings_are_the_deadlocks_of_an_exhaustive_search() {
    let (mut deadlocks, mut closed, mut refuted) = (0, 0, 0);
    for (number, text) in (0..150).map(|n| (n, nested(n))).chain((0..200).map(|n| (n, ring(n)))) {
        let model = model(&text);
        let context = SearchContext { stop: &AtomicBool::new(false), progress: &NoSearchProgress };
        let Ok(found) = explore::exhaust(&SearchPlan::new(&model), &NoMonitor, context) else { continue };
        let ends: Vec<&DeadlockReport> = found
            .ends
            .values()
            .filter_map(|way| if let Outcome::Deadlock(report) = &way.outcome { Some(report) } else { None })
            .collect();
        let plan = CampaignPlan { trials: TrialPlan { count: 8, ..TrialPlan::default() }, ..CampaignPlan::new(&model) };
        let rings = confirmed(&plan).rings;
        let wants = |ring: &raceflip::campaign::RingReport| {
            let mut sites: Vec<SiteId> = ring.ring.parts().iter().map(|part| part.wants).collect();
            sites.sort_unstable();
            sites
        };
        for cycle in ends.iter().filter_map(|end| cycle_of_locks(end)) {
            let ring = rings.iter().find(|ring| wants(ring) == cycle && ring.proof == RingProof::Closed);
            assert!(ring.is_some(), "model {number} has a deadlock at {cycle:?}, and the rings {rings:?}\n{text}");
            deadlocks += 1;
        }
        for ring in &rings {
            let mut blocked = ends.iter().map(|end| end.blocked.iter().filter_map(|b| b.site).collect::<Vec<_>>());
            let is_end = blocked.any(|sites| wants(ring).iter().all(|site| sites.contains(site)));
            match ring.proof {
                RingProof::Closed => {
                    assert!(is_end, "model {number} confirms {ring:?}\n{text}");
                    closed += 1;
                }
                RingProof::Refuted { .. } => {
                    assert!(!is_end, "model {number} refutes {ring:?}\n{text}");
                    refuted += 1;
                }
                RingProof::Unconfirmed => {}
            }
        }
    }
    println!("{deadlocks} deadlocks, {closed} closed, {refuted} refuted");
    assert!(deadlocks > 20 && closed > 20 && refuted > 20, "{deadlocks} deadlocks, {closed} closed, {refuted} refuted");
}

/// The rings of a run are those of the definition, in generated models.
#[test]
fn rings_of_a_run_are_those_of_the_definition() {
    let texts =
        (0..300).map(|n| (format!("nested {n}"), nested(n))).chain((0..300).map(|n| (format!("ring {n}"), ring(n))));
    let found: usize =
        texts.map(|(name, text)| compare(&name, &text, 8).unwrap_or_else(|wrong| panic!("{wrong}"))).sum();
    assert!(found > 500, "{found} rings");
}
