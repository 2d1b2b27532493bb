//! Tests that runs after the first one do not allocate: a machine and a strategy keep their buffers.

use crate::load::{all_models, load};
use crate::surw::named;
use allocation_counter::measure;
use raceflip::event::Outcome;
use raceflip::exec::{NoObserver, Observer, RunSummary, run};
use raceflip::sched::{ChoiceLog, RandomWalk, Strategy};
use raceflip::vm::Vm;
use raceflip::world::{Limits, Machine};
use std::sync::atomic::AtomicBool;

const SEEDS: u64 = 20;

/// Returns whether a run ended without building texts. A run that fails or deadlocks builds names, messages and the
/// report of blocked threads. That happens once per failure found, so it does not matter for a campaign.
fn wordless(summary: &RunSummary) -> bool {
    matches!(summary.outcome(), Some(Outcome::Ok | Outcome::Stuck { .. }))
}

fn perform(
    machine: &mut Machine<Vm>,
    strategy: &mut impl Strategy,
    observer: &mut impl Observer,
    seed: u64,
) -> RunSummary {
    run(machine, strategy, seed, observer, &AtomicBool::new(false))
}

/// Performs each seed twice: the first run grows the buffers that its schedule needs, and the second run must not
/// allocate. Returns the number of runs that were checked.
fn allocating(
    name: &str,
    machine: &mut Machine<Vm>,
    strategy: &mut impl Strategy,
    observer: &mut impl Observer,
    wrong: &mut Vec<String>,
) -> u64 {
    let mut looked_at = 0;
    for seed in 0..SEEDS {
        if !wordless(&perform(machine, strategy, observer, seed)) {
            continue;
        }
        looked_at += 1;
        let info = measure(|| {
            perform(machine, strategy, observer, seed);
        });
        if info.count_total > 0 {
            wrong.push(format!("{name}, seed {seed}: {} allocations, {} bytes", info.count_total, info.bytes_total));
        }
    }
    looked_at
}

#[test]
fn a_run_after_the_first_allocates_nothing() {
    let mut wrong = Vec::new();
    let (mut looked_at, mut never) = (0, Vec::new());
    let paths = all_models();
    // A job that suspends sets its frames aside, and a looper has room for idle handlers only while it has some.
    let without_jobs = |path: &&std::path::PathBuf| {
        let path = path.to_string_lossy();
        !path.contains("/coroutines/") && !path.contains("idle")
    };
    for path in paths.iter().filter(without_jobs) {
        let name = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(path).display().to_string();
        let code = load(path, &[]).code;
        let mut machine = Machine::new(Vm::new(code), Limits::default());
        let plain = allocating(&name, &mut machine, &mut RandomWalk::new(), &mut NoObserver, &mut wrong);
        let logged = format!("{name}, choices recorded");
        allocating(&logged, &mut machine, &mut RandomWalk::new(), &mut ChoiceLog::new(), &mut wrong);
        let model = load(path, &[]);
        for strategy in ["pos", "surw", "pctcp:3,steps=100"] {
            let mut strategy_of = named(&model, strategy, Limits::default());
            allocating(&format!("{name}, {strategy}"), &mut machine, &mut strategy_of, &mut NoObserver, &mut wrong);
        }
        looked_at += plain;
        if plain == 0 {
            never.push(name);
        }
    }
    assert!(wrong.is_empty(), "{} runs allocate:\n{}", wrong.len(), wrong.join("\n"));
    // Ensures that the test checks enough runs.
    assert!(never.len() * 4 < paths.len(), "of these no run ended without words: {never:?}");
    assert!(looked_at > 1_000, "{looked_at} runs");
}

#[test]
fn the_counter_of_allocations_counts() {
    let info = measure(|| drop(std::hint::black_box(Box::new(1))));
    assert_eq!(info.count_total, 1);
}
