//! Compares symmetric searches with full ones: their ends must be the same up to a renaming, with shortest runs of the
//! same length, and a symmetric search must visit at least as many states as there are classes of states up to a
//! renaming. The renaming of ends is done here, on the values of variables; that of states is tried for every
//! permutation.

use crate::agree::{rerun, search};
use crate::stateless::{choices, next_instants, words};
use raceflip::event::{EndValue, SiteId};
use raceflip::exec::RunResult;
use raceflip::explore::{NoSearchProgress, SearchContext, SearchPlan, SearchReport, explore_symmetric};
use raceflip::lang::Alike;
use raceflip::vm::Model;
use raceflip::world::{CellDimension, Limits, Symmetry};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Searches a model up to a renaming. `None` if no threads of it are alike, or if it makes things while it runs.
pub(crate) fn search_alike(plan: &SearchPlan<'_>) -> Option<(SearchReport, Alike)> {
    let alike = Alike::of(&plan.program.program);
    if alike.threads.is_empty() {
        return None;
    }
    let symmetric = plan.program.with_symmetry(&alike).expect("the models are small");
    let symmetry = Some(Arc::new(alike.symmetry.clone()));
    let SearchPlan { jobs, first, bounds, .. } = *plan;
    let plan =
        SearchPlan { symmetry, jobs, first, bounds, observe: plan.observe.clone(), ..SearchPlan::new(&symmetric) };
    let stop = AtomicBool::new(false);
    let found = explore_symmetric(&plan, SearchContext { stop: &stop, progress: &NoSearchProgress })?;
    Some((found, alike))
}

/// Returns all permutations of `0..n`.
fn permutations(n: usize) -> Vec<Vec<usize>> {
    let Some(last) = n.checked_sub(1) else { return vec![Vec::new()] };
    let shorter = permutations(last);
    let places = (0..n).flat_map(|at| shorter.iter().map(move |p| (at, p)));
    places
        .map(|(at, p)| {
            let mut p = p.clone();
            p.insert(at, last);
            p
        })
        .collect()
}

/// Returns the new elements of each class, for every combination of permutations.
pub(crate) fn renamings(symmetry: &Symmetry) -> Vec<Vec<Vec<i64>>> {
    let mut all = vec![Vec::new()];
    for range in &symmetry.classes {
        let of_class = permutations(range.count());
        let with = |start: &Vec<Vec<i64>>, p: &Vec<usize>| {
            let elements = p.iter().map(|new| range.from + *new as i64).collect();
            start.iter().cloned().chain([elements]).collect()
        };
        all = all.iter().flat_map(|start| of_class.iter().map(move |p| with(start, p))).collect();
    }
    all
}

type End = (RunResult, Vec<Option<SiteId>>);

// Renames the values of an end.
fn renamed(end: &End, model: &Model, alike: &Alike, by: &[Vec<i64>]) -> End {
    let (mut run, blocked) = end.clone();
    let element = |class: u16, value: i64| {
        let range = alike.symmetry.classes[usize::from(class)];
        if range.contains(value) { by[usize::from(class)][(value - range.from) as usize] } else { value }
    };
    for (id, value) in &mut run.values {
        let global = &model.program.globals[*id];
        let array = alike.symmetry.cells.iter().find(|array| array.first == global.offset);
        let dimensions = array.map_or(&[][..], |array| &array.dimensions);
        *value = renamed_value(value, dimensions, alike.global(*id), &element);
    }
    (run, blocked)
}

// The value of an array lists its cells in their order.
fn renamed_value(
    value: &EndValue,
    dimensions: &[CellDimension],
    class: Option<u16>,
    element: &impl Fn(u16, i64) -> i64,
) -> EndValue {
    match value {
        EndValue::Word(word) => EndValue::Word(class.map_or(*word, |class| element(class, *word))),
        EndValue::List(items) => {
            let mut new = items.clone();
            for (cell, item) in items.iter().enumerate() {
                let at = |d: &CellDimension| {
                    let index = i64::from(cell as u32 / d.stride % d.len);
                    d.class.map_or(index, |class| element(class, index)) as usize * d.stride as usize
                };
                let to = if dimensions.is_empty() { cell } else { dimensions.iter().map(at).sum() };
                new[to] = renamed_value(item, &[], class, element);
            }
            EndValue::List(new)
        }
        other => other.clone(),
    }
}

/// The ends of a search up to a renaming, each with the steps of a shortest run to it.
fn ends(found: &SearchReport, model: &Model, alike: &Alike, all: &[Vec<Vec<i64>>]) -> BTreeMap<End, u64> {
    let mut ends = BTreeMap::new();
    for (end, way) in &found.ends {
        let end = (end.ended.clone(), end.blocked.clone());
        if let Some(least) = all.iter().map(|by| renamed(&end, model, alike, by)).min() {
            let steps = ends.entry(least).or_insert(way.steps);
            *steps = way.steps.min(*steps);
        }
    }
    ends
}

/// Returns the number of states of a model that go on, up to a renaming, by trying all permutations on each state. The
/// model must have no clock.
pub(crate) fn orbits(model: &Model, alike: &Alike) -> usize {
    let symmetric = model.with_symmetry(alike).expect("the models are small");
    let mut first = symmetric.machine(Limits::default());
    first.start(false);
    let slots = first.clone().slots().expect("a model of alike threads has slots");
    let renamings: Vec<_> =
        renamings(&alike.symmetry).iter().map(|by| first.world.renaming(&alike.symmetry, by)).collect();
    let (mut seen, mut orbits, mut open) = (BTreeSet::new(), BTreeSet::new(), vec![first]);
    while let Some(mut machine) = open.pop() {
        let Ok(choices) = choices(&mut machine, next_instants) else { continue };
        if !seen.insert(machine.canonical().digest()) {
            continue;
        }
        let least = renamings.iter().map(|by| {
            let mut renamed = machine.clone();
            renamed.rename(&slots, by);
            renamed.canonical().digest()
        });
        orbits.extend(least.min());
        for choice in choices {
            let mut next = machine.clone();
            next.step(choice);
            open.push(next);
        }
    }
    orbits.len()
}

/// What a comparison has found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Compared {
    /// Number of states of the full search.
    pub(crate) full: u64,
    /// Number of states of the symmetric search.
    pub(crate) symmetric: u64,
}

/// Compares the symmetric search of a model with its full search. Returns the numbers of states, `None` if the model
/// has no alike threads or more states than `most`, or the first difference in words.
pub(crate) fn compare_alike(model: &Model, most: u64) -> Result<Option<Compared>, String> {
    let plan = SearchPlan { observe: words(&model.program), ..SearchPlan::new(model) };
    let Some((found, alike)) = search_alike(&plan) else { return Ok(None) };
    let bounds = raceflip::explore::Bounds { states: most, ..plan.bounds };
    let full = search(&SearchPlan { bounds, ..plan.clone() });
    if !full.complete() {
        return Ok(None);
    }
    if !found.complete() || found.states > full.states || found.transitions > full.transitions {
        return Err(format!("{} states, up to a renaming {} ({:?})", full.states, found.states, found.cut));
    }
    let all = renamings(&alike.symmetry);
    let (there, here) = (ends(&full, model, &alike, &all), ends(&found, model, &alike, &all));
    if there != here {
        return Err(format!("ends {there:?}\nup to a renaming {here:?}"));
    }
    // Each run is one of the model itself, without symmetry.
    for (end, way) in &found.ends {
        rerun(model, &plan.observe, &(end.ended.clone(), end.blocked.clone()), way)?;
    }
    Ok(Some(Compared { full: full.states, symmetric: found.states }))
}
