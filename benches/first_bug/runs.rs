//! Runs a model under raceflip's strategies until a run fails. Strategies are named as on the command line.

use crate::tally::Tally;
use raceflip::base::mix;
use raceflip::campaign::in_order;
use raceflip::event::{ContextId, Event, Outcome};
use raceflip::exec::{NoObserver, Observer, run};
use raceflip::sched::{EventCounter, NamedStrategy, RoundRobin, SpecError, StrategySpec, SurwSpec, site_text};
use raceflip::vm::{Model, Vm};
use raceflip::world::{Limits, Machine, World};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The seed from which all others are derived.
const SEED: u64 = 2026;

/// Loads a model of the repository, by its path from the top.
pub(crate) fn load(path: &str, defines: &[(&str, i64)]) -> Result<Model, String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = std::fs::read_to_string(&file).map_err(|e| format!("{path}: {e}"))?;
    let defines: Vec<_> = defines.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    Model::from_text(path, &text, &defines).map_err(|e| e.to_string())
}

/// Returns whether the outcome is a failure of the app; a limit is not.
pub(crate) fn fails(outcome: Option<&Outcome>) -> bool {
    matches!(outcome, Some(Outcome::Failure(_) | Outcome::Deadlock(_) | Outcome::Stuck { .. }))
}

/// Returns the seed with this number.
pub(crate) fn seed(number: usize) -> u64 {
    mix(SEED, number as u64)
}

/// Numbers of seeds, and of schedules per seed.
#[derive(Clone, Copy)]
pub(crate) struct Budget {
    /// Number of seeds.
    pub(crate) seeds: usize,
    /// Maximum number of schedules per seed.
    pub(crate) cap: u64,
    /// Number of seeds that run first; if none of them finds anything, the other seeds are skipped. 0 means that all
    /// seeds run.
    pub(crate) first: usize,
}

impl Budget {
    /// Returns a budget in which all seeds run, whatever they find.
    pub(crate) fn all(seeds: usize, cap: u64) -> Self {
        Self { seeds, cap, first: 0 }
    }
}

/// Performs one search per seed, with as many workers as there are cores. The results are in the order of the seeds.
pub(crate) fn by_seed<W>(
    budget: Budget,
    state: impl Fn() -> W + Sync,
    search: impl Fn(&mut W, u64) -> Option<u64> + Sync,
) -> Tally {
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let never = AtomicBool::new(false);
    let mut firsts = Vec::new();
    for to in [budget.first.min(budget.seeds), budget.seeds] {
        let from = firsts.len();
        if from > 0 && firsts.iter().all(Option::is_none) {
            break;
        }
        firsts.resize(to, None);
        let found = |i: usize, first| firsts[from + i] = first;
        in_order(jobs, to - from, &never, &state, |w, i| search(w, seed(from + i)), found);
    }
    Tally { firsts, cap: budget.cap }
}

/// Strategy `surw` with the events of one variable or lock as the interesting ones. Each run draws the variable or lock
/// among those that several threads or tasks touch. This is our reading of how the paper's tool chooses; it was not
/// compared with that tool. No strategy of the command line has this name; each run is one of `surw:SITE,SITE`.
pub(crate) const SURW_OF_ONE: &str = "surw of one variable";

// Performs the profile run, under round robin as on the command line.
fn profile<O: Observer>(model: &Model, observer: &mut O) -> (u64, Machine<Vm>) {
    let mut machine = model.machine(Limits::default());
    let summary = run(&mut machine, &mut RoundRobin::default(), 0, observer, &AtomicBool::new(false));
    (summary.steps, machine)
}

/// Returns the strategies that a name means for a model: one, or several of which each run draws one.
pub(crate) fn strategies(model: &Model, text: &str) -> Result<Vec<NamedStrategy>, String> {
    let spec = |text: &str| text.parse::<StrategySpec>().map_err(|e| format!("{text}: {e}"));
    let specs = if text == SURW_OF_ONE { surw_of_one(model) } else { vec![spec(text)?] };
    specs.into_iter().map(|spec| built(model, spec).map_err(|e| format!("{text}: {e}"))).collect()
}

fn built(model: &Model, spec: StrategySpec) -> Result<NamedStrategy, SpecError> {
    let sites = &model.program.sites;
    let spec = spec.profiled(|| profile(model, &mut NoObserver).0);
    let counted = spec.with_counts(|surw| {
        let mut counter = EventCounter::new(surw.interesting(sites)?);
        let (_, machine) = profile(model, &mut counter);
        Ok::<_, SpecError>(counter.counts(&machine.world))
    })?;
    counted.build(sites)
}

// Observer that collects the contexts that touch each variable or lock, by its name in the text.
struct Touches<'m> {
    model: &'m Model,
    by: BTreeMap<String, Vec<ContextId>>,
}

impl Observer for Touches<'_> {
    fn event(&mut self, _: &World, event: &Event) {
        if let (Some(site), Some(context)) = (event.site, event.context) {
            let by = self.by.entry(self.model.program.sites[site].place.clone()).or_default();
            if !by.contains(&context) {
                by.push(context);
            }
        }
    }
}

// Returns a `surw` strategy for each variable or lock that several contexts touch in the profile run; plain `surw` if
// there is none.
fn surw_of_one(model: &Model) -> Vec<StrategySpec> {
    let sites = &model.program.sites;
    let all = SurwSpec { sites: Vec::new(), counts: None };
    let mut touches = Touches { model, by: BTreeMap::new() };
    profile(model, &mut touches);
    let interesting = all.interesting(sites).unwrap_or_default();
    let of = |place: &str| -> Vec<_> {
        let here = sites.enumerate().filter(|(id, s)| interesting[*id] && s.place == place);
        here.filter_map(|(id, _)| site_text(sites, id).parse().ok()).collect()
    };
    let shared = touches.by.iter().filter(|(place, by)| !place.is_empty() && by.len() > 1);
    let groups = shared.map(|(place, _)| of(place)).filter(|group| !group.is_empty());
    let specs: Vec<_> = groups.map(|sites| StrategySpec::Surw(SurwSpec { sites, counts: None })).collect();
    if specs.is_empty() { vec![StrategySpec::Surw(all)] } else { specs }
}

/// Returns for each seed the number of the first run that fails.
pub(crate) fn first_failures(model: &Model, text: &str, budget: Budget) -> Result<Tally, String> {
    let drawn = strategies(model, text)?;
    let state = || (model.machine(Limits::default()), drawn.clone());
    Ok(by_seed(budget, state, |(machine, strategies), seed| first_failure(machine, strategies, seed, budget.cap)))
}

/// Returns the number of the first run that fails with one seed.
pub(crate) fn first_failure_of(model: &Model, text: &str, seed: u64, cap: u64) -> Result<Option<u64>, String> {
    Ok(first_failure(&mut model.machine(Limits::default()), &mut strategies(model, text)?, seed, cap))
}

fn first_failure(machine: &mut Machine<Vm>, strategies: &mut [NamedStrategy], seed: u64, cap: u64) -> Option<u64> {
    let never = AtomicBool::new(false);
    (1..=cap).find(|i| {
        let seed = mix(seed, *i);
        let which = mix(seed, WHICH) % strategies.len() as u64;
        fails(run(machine, &mut strategies[which as usize], seed, &mut NoObserver, &never).outcome())
    })
}

// Mixed into the seed of a run to draw one of several strategies.
const WHICH: u64 = 1 << 32;
