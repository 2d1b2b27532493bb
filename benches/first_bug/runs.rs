//! raceflip's strategies: runs of a model until one fails. Strategies are named as on the command line.

use crate::tally::Tally;
use raceflip::base::mix;
use raceflip::campaign::in_order;
use raceflip::event::Outcome;
use raceflip::exec::{Unobserved, run};
use raceflip::sched::{Named, RoundRobin, StrategySpec};
use raceflip::vm::{Model, Vm};
use raceflip::world::{Limits, Machine};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The seed that all others are mixed from.
const SEED: u64 = 2026;

/// A model of the repository, by its path from the top.
pub(crate) fn load(path: &str, defines: &[(&str, i64)]) -> Result<Model, String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = std::fs::read_to_string(&file).map_err(|e| format!("{path}: {e}"))?;
    let defines: Vec<_> = defines.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    Model::from_text(path, &text, &defines).map_err(|e| e.to_string())
}

/// Whether the app fails by this; a limit is no failure.
pub(crate) fn fails(outcome: Option<&Outcome>) -> bool {
    matches!(outcome, Some(Outcome::Failure(_) | Outcome::Deadlock(_) | Outcome::Stuck { .. }))
}

/// A seed for each number.
pub(crate) fn seed(number: usize) -> u64 {
    mix(SEED, number as u64)
}

/// One search for each seed, by as many workers as there are cores, in the order of the seeds.
pub(crate) fn by_seed<W>(
    seeds: usize,
    cap: u64,
    state: impl Fn() -> W + Sync,
    search: impl Fn(&mut W, u64) -> Option<u64> + Sync,
) -> Tally {
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut firsts = vec![None; seeds];
    let never = AtomicBool::new(false);
    in_order(jobs, seeds, &never, state, |w, i| search(w, seed(i)), |i, first| firsts[i] = first);
    Tally { firsts, cap }
}

/// The strategy for a model. What it has to know of runs is taken from the round robin, as on the command line.
pub(crate) fn strategy(model: &Model, text: &str) -> Result<Named, String> {
    let spec: StrategySpec = text.parse().map_err(|e| format!("{text}: {e}"))?;
    let profile = || {
        let mut machine = model.machine(Limits::default());
        run(&mut machine, &mut RoundRobin::default(), 0, &mut Unobserved, &AtomicBool::new(false)).steps
    };
    spec.profiled(profile).build(&model.program.sites).map_err(|e| format!("{text}: {e}"))
}

/// For each seed the number of the first run that fails.
pub(crate) fn first_failures(model: &Model, text: &str, seeds: usize, cap: u64) -> Result<Tally, String> {
    let drawn = strategy(model, text)?;
    let state = || (model.machine(Limits::default()), drawn.clone());
    Ok(by_seed(seeds, cap, state, |(machine, strategy), seed| first_failure(machine, strategy, seed, cap)))
}

fn first_failure(machine: &mut Machine<Vm>, strategy: &mut Named, seed: u64, cap: u64) -> Option<u64> {
    let never = AtomicBool::new(false);
    (1..=cap).find(|i| fails(run(machine, strategy, mix(seed, *i), &mut Unobserved, &never).outcome()))
}
