//! Tests that PCT and delay bounding keep the probability bounds of their papers on the papers' kinds of bugs, and miss
//! bugs that are too deep for them.

use crate::chance::least_hits;
use crate::load::{Model, load, load_bytes};
use crate::surw::named as named_strategy;
use raceflip::event::Outcome;
use raceflip::exec::{NoObserver, run};
use raceflip::sched::{DelayBounded, RandomWalk, RoundRobin, SpecError, Strategy, StrategySpec};
use raceflip::vm::Vm;
use raceflip::world::{Limits, Machine};
use std::path::Path;
use std::sync::atomic::AtomicBool;

const SEEDS: u64 = 4_000;

/// Models with a bug: the name, the number of actors, the depth in PCT's sense, and the number of delays that the bug
/// needs.
const BUGS: [(&str, u32, u32, u32); 6] = [
    ("pct_ordering", 2, 1, 1),
    ("pct_atomicity", 2, 2, 1),
    ("pct_deadlock", 2, 2, 1),
    ("pct_depth3", 2, 3, 2),
    // The bug of `pct_depth3` with the threads declared in the other order: the thread that is lowered first must stay
    // above the one that is lowered later.
    ("pct_depth3_turned", 2, 3, 3),
    // The actors are main, worker, the clock, the event, and the end of the run. One delay passes over the clock to the
    // event.
    ("pct_actors", 5, 1, 1),
];

fn model(name: &str) -> Model {
    load(&Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/models/{name}.race")), &[])
}

fn failed(outcome: Option<&Outcome>) -> bool {
    matches!(outcome, Some(Outcome::Failure(_) | Outcome::Deadlock(_)))
}

/// Returns the number of seeds that find the bug, and the length of the longest run in steps.
fn hits(model: &Model, strategy: &mut impl Strategy, seeds: u64) -> (u64, u64) {
    let mut machine = Machine::new(Vm::new(model.code.clone()), Limits::default());
    let (mut hits, mut longest) = (0, 0);
    for seed in 0..seeds {
        let summary = run(&mut machine, strategy, seed, &mut NoObserver, &AtomicBool::new(false));
        hits += u64::from(failed(summary.outcome()));
        longest = longest.max(summary.steps);
    }
    (hits, longest)
}

/// Returns the number of seeds that find the bug under a strategy given by name, in runs of at most `k` steps.
fn named(model: &Model, spec: &str, k: u64) -> u64 {
    let spec: StrategySpec = spec.parse().expect("a strategy");
    let mut strategy = spec.profiled(|| k).build(&model.code.setup.sites).expect("steps are given");
    let (hits, most) = hits(model, &mut strategy, SEEDS);
    assert!(most <= k, "a run of {most} steps, where the bound is for {k}");
    hits
}

/// Returns the bound k of the theorems, which no run may exceed in steps: the longest run under a scheduler without
/// delays, under round robin, and in many random walks.
fn longest(model: &Model) -> u64 {
    let one_by_one = hits(model, &mut DelayBounded::new(0, u32::MAX), 1).1;
    let in_turn = hits(model, &mut RoundRobin::default(), 1).1;
    hits(model, &mut RandomWalk::new(), 1_000).1.max(one_by_one).max(in_turn)
}

/// PCT finds a bug of depth d at least with the probability 1 / (n k^(d - 1)) of its theorem (Burckhardt et al., 2010).
#[test]
fn pct_finds_a_bug_of_depth_d_as_often_as_it_promises() {
    for (name, n, depth, _) in BUGS {
        let model = model(name);
        let k = longest(&model);
        for d in depth..=depth + 1 {
            // In the theorem, a priority change point beyond the depth only costs its own factor of k.
            let bound = 1.0 / (f64::from(n) * (k as f64).powi(d as i32 - 1));
            let (found, least) = (named(&model, &format!("pct:{d}"), k), least_hits(SEEDS, bound));
            assert!(
                found >= least,
                "{name}, depth {d}: {found} of {SEEDS} seeds, the bound is {bound} with k = {k}: {least}"
            );
            if d == depth {
                // A bound of 0 hits would make the comparison above meaningless.
                assert!(least > 0, "{name}, depth {d}: bound {bound}, k = {k}");
            }
        }
    }
}

/// At depth 1 only the initial priorities matter, and a thread that is forked later is above or below its parent with
/// equal probability.
#[test]
fn a_newcomer_has_any_rank() {
    let model = model("pct_ordering");
    let (found, least) = (named(&model, "pct:1", longest(&model)), least_hits(SEEDS, 0.5));
    assert!((least..=SEEDS - least).contains(&found), "{found} of {SEEDS} seeds");
}

/// Delay bounding finds a bug that needs d delays at least with the probability 1 / k^d.
#[test]
fn delays_find_a_bug_of_d_delays_as_often_as_they_promise() {
    for (name, _, _, delays) in BUGS {
        let model = model(name);
        let k = longest(&model);
        let bound = (1.0 / k as f64).powi(delays as i32);
        let (found, least) = (named(&model, &format!("delay:{delays}"), k), least_hits(SEEDS, bound));
        assert!(found >= least, "{name}: {found} of {SEEDS} seeds, the bound is {bound} with k = {k}: {least}");
        assert!(found > 0, "{name}");
    }
}

/// PCT of a lower depth and delay bounding with fewer delays never find the bugs, so the depths in [`BUGS`] are right.
#[test]
fn what_is_too_deep_is_never_found() {
    for (name, _, depth, delays) in BUGS {
        let model = model(name);
        let k = longest(&model);
        if depth > 1 {
            assert_eq!(named(&model, &format!("pct:{}", depth - 1), k), 0, "{name} is not of depth {depth}");
        }
        assert_eq!(named(&model, &format!("delay:{}", delays - 1), k), 0, "{name} needs fewer than {delays} delays");
    }
}

/// The motivation of the PCT paper: a random walk is less likely to find the bug with every step of work in the child,
/// and round robin always misses it.
#[test]
fn other_strategies_miss_a_bug_behind_much_work() {
    for name in ["pct_ordering", "pct_atomicity", "pct_deadlock"] {
        let model = model(name);
        assert_eq!(hits(&model, &mut RoundRobin::default(), 1).0, 0, "{name}");
        // For a hit, each step of the work must go the right way, so a seed hits with a probability of at most 2^-20,
        // and all 4,000 seeds together with 0.4%. These seeds do not hit.
        assert_eq!(hits(&model, &mut RandomWalk::new(), SEEDS).0, 0, "{name}");
    }
}

/// A thread of the highest priority may wait busily for another one. The strategies switch to a random walk after k
/// steps, which ends the wait.
#[test]
fn busy_waiting_ends() {
    let text = b"var flag = 0\nthread waiter { while flag == 0 { skip } }\nthread setter { flag = 1 }";
    let model = load_bytes("busy.race", text, &[]);
    let mut waited = 0;
    for name in
        ["pct:1,steps=50", "pct:3,steps=50", "delay:0,steps=50", "delay:2,steps=50", "pctcp:1,steps=50", "pos", "surw"]
    {
        let mut strategy = named_strategy(&model, name, Limits::default());
        let mut machine = Machine::new(Vm::new(model.code.clone()), Limits::default());
        for seed in 0..200 {
            let summary = run(&mut machine, &mut strategy, seed, &mut NoObserver, &AtomicBool::new(false));
            assert_eq!(summary.outcome(), Some(&Outcome::Ok), "{name}, seed {seed}");
            waited += u64::from(summary.steps > 50);
        }
    }
    // Without delays, the waiter comes first and spins until the random walk begins.
    assert!(waited >= 200, "{waited}");
}

#[test]
fn names_read_and_print() {
    let check = |text: &str, printed: &str| assert_eq!(text.parse::<StrategySpec>().expect(text).to_string(), printed);
    check("pct", "pct:3");
    check("pct:1", "pct:1");
    check("pct:2,steps=200", "pct:2,steps=200");
    check("delay", "delay:2");
    check("delay:0,steps=1", "delay:0,steps=1");
    let refuse = |text: &str, says: &str| {
        let error = text.parse::<StrategySpec>().expect_err(text).to_string();
        assert!(error.contains(says), "{text}: {error}");
    };
    refuse("pct:0", "`0` is not a number from 1 to 1000");
    refuse("pct:", "`` is not a number");
    refuse("delay:1001", "`1001` is not a number from 0 to 1000");
    refuse("pct:3,k=4", "`k=4` is not a number of steps");
    refuse("pct:3,steps=0", "`steps=0` is not a number of steps");
    refuse("pct3", "unknown strategy `pct3`");
    refuse("delayed", "unknown strategy `delayed`");
    let unknown = "pct".parse::<StrategySpec>().expect("a strategy").build(&model("pct_depth3").code.setup.sites);
    let error = unknown.err().expect("no profile run");
    assert!(matches!(error, SpecError::Profile { .. }));
    assert_eq!(error.to_string(), "`pct:3` needs the number of steps that a run takes: use `pct:3,steps=1000`");
}
