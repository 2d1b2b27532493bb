//! Compares the exhaustive search with the enumeration of all runs.

use crate::stateless::{End, Facts, words};
use raceflip::detect::Pair;
use raceflip::event::{EventKind, Outcome};
use raceflip::exec::{NoObserver, Observer, RunResult, run};
use raceflip::explore::{self, NoSearchProgress, RunChoices, SearchPlan, SearchReport};
use raceflip::lang::program::GlobalId;
use raceflip::sched::{Exhaustive, Rerun};
use raceflip::vm::Model;
use raceflip::world::{Limits, World};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Searches a model under a plan, without interruption.
pub(crate) fn search(plan: &SearchPlan<'_>) -> SearchReport {
    explore::explore(plan, explore::SearchContext { stop: &AtomicBool::new(false), progress: &NoSearchProgress })
}

/// Returns the ends of a search in the terms of the enumeration, each with a path to it.
fn ends(found: &SearchReport) -> BTreeMap<End, &RunChoices> {
    found.ends.iter().map(|(end, way)| ((end.ended.clone(), end.blocked.clone()), way)).collect()
}

/// Compares unreduced, reduced and pair searches with the facts. Returns the number of states, or the first difference
/// in words.
pub(crate) fn compare(model: &Model, facts: &Facts) -> Result<u64, String> {
    let plan = SearchPlan { reduce: false, observe: words(&model.program), ..SearchPlan::new(model) };
    let plain = search(&plan);
    same_ends("unreduced", &plain, facts)?;
    for (end, way) in ends(&plain) {
        let steps = rerun(model, &plan.observe, &end, way)?;
        if steps != facts.ends[&end] {
            return Err(format!("{} steps to {end:?}, there is a way with {}", steps, facts.ends[&end]));
        }
    }
    let reduced = search(&SearchPlan { reduce: true, ..plan.clone() });
    same_ends("reduced", &reduced, facts)?;
    for (end, way) in ends(&reduced) {
        rerun(model, &plan.observe, &end, way)?;
    }
    if reduced.states != plain.states {
        return Err(format!("{} states, reduced {}", plain.states, reduced.states));
    }
    let pairs = search(&SearchPlan { pairs: true, ..plan.clone() });
    same("adjacent", pairs.adjacent.keys(), facts.adjacent.iter())?;
    every_run(model, &plan.observe, facts)?;
    Ok(plain.states)
}

// Compares the runs that are performed one after the other, without those that only swap independent steps.
fn every_run(model: &Model, observe: &BTreeSet<GlobalId>, facts: &Facts) -> Result<(), String> {
    let (mut machine, mut all) = (model.machine(Limits::default()), Exhaustive::new(None));
    let mut ends = BTreeSet::new();
    loop {
        let summary = run(&mut machine, &mut all, 0, &mut NoObserver, &AtomicBool::new(false));
        match summary.outcome() {
            Some(outcome) => _ = ends.insert(end_of(model, observe, outcome, &machine.world)),
            None if all.is_redundant() => {}
            None => return Err(format!("every run: {:?}", summary.end)),
        }
        if !all.advance() {
            break;
        }
    }
    let adjacent: BTreeSet<Pair> = all.adjacent().iter().map(|(a, b)| Pair::new(*a, *b)).collect();
    if all.is_complete() {
        same("ends of every run", ends.iter(), facts.ends.keys())?;
        return same("neighbours in every run", adjacent.iter(), facts.adjacent.iter());
    }
    // It leaves out instants of the clock, and finds nothing that is not there.
    let surplus = ends.iter().find(|end| !facts.ends.contains_key(end));
    surplus.map_or(Ok(()), |end| Err(format!("no run ends with {end:?}")))?;
    let surplus = adjacent.iter().find(|pair| !facts.adjacent.contains(pair));
    surplus.map_or(Ok(()), |pair| Err(format!("no run has {pair:?} side by side")))
}

fn end_of(model: &Model, observe: &BTreeSet<GlobalId>, outcome: &Outcome, world: &World) -> End {
    let mut blocked: Vec<_> = match outcome {
        Outcome::Deadlock(report) => report.blocked.iter().map(|b| b.site).collect(),
        _ => Vec::new(),
    };
    blocked.sort_unstable();
    (RunResult::new(&model.program, observe, outcome, world), blocked)
}

fn same_ends(name: &str, found: &SearchReport, facts: &Facts) -> Result<(), String> {
    if !found.complete() {
        return Err(format!("{name}: cut by {:?}", found.cut));
    }
    same(name, ends(found).keys(), facts.ends.keys())
}

fn same<'a, T: Ord + std::fmt::Debug + 'a>(
    name: &str,
    found: impl Iterator<Item = &'a T>,
    there: impl Iterator<Item = &'a T>,
) -> Result<(), String> {
    let (found, there): (BTreeSet<&T>, BTreeSet<&T>) = (found.collect(), there.collect());
    if found == there {
        return Ok(());
    }
    let (missing, surplus) = (there.difference(&found), found.difference(&there));
    Err(format!("{name}: missing {:?}, too many {:?}", missing.collect::<Vec<_>>(), surplus.collect::<Vec<_>>()))
}

/// Observer that collects the steps at which the clock advances.
#[derive(Default)]
struct Ticks(BTreeSet<u64>);

impl Observer for Ticks {
    fn event(&mut self, _: &World, event: &raceflip::event::Event) {
        if event.what == EventKind::Tick {
            self.0.insert(event.step);
        }
    }
}

/// Reruns a path: it must have the end, the steps and the stall that the search reports. Returns its number of steps,
/// with consecutive advances of the clock counted as one.
pub(crate) fn rerun(model: &Model, observe: &BTreeSet<GlobalId>, end: &End, way: &RunChoices) -> Result<u64, String> {
    let mut machine = model.machine(Limits::default());
    let (mut strategy, mut ticks) = (Rerun::new(Arc::new(way.choices.clone())), Ticks::default());
    let summary = run(&mut machine, &mut strategy, 0, &mut ticks, &AtomicBool::new(false));
    let Some(outcome) = summary.outcome() else { return Err(format!("{end:?}: {:?}", summary.end)) };
    let came_to = end_of(model, observe, outcome, &machine.world);
    if came_to != *end || outcome != &way.outcome || summary.steps != way.steps || summary.stall != way.stall {
        return Err(format!("{way:?} of {end:?} comes to {came_to:?} by {summary:?}"));
    }
    let in_row = ticks.0.iter().filter(|step| ticks.0.contains(&(*step + 1))).count() as u64;
    Ok(summary.steps - in_row)
}
