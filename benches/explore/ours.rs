//! The workloads in raceflip: models of `benches/models/explore`, searched by one worker without reduction.

use crate::tools::peak_memory;
use crate::workloads::{Counts, Memory, Searched, Workload};
use raceflip::explore::{
    Bounds, MOST_STATES, NoSearchProgress, SearchContext, SearchPlan, Stubbornness, explore, explore_symmetric,
    explore_with_livelocks,
};
use raceflip::lang::Alike;
use raceflip::vm::Model;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

fn model(workload: Workload) -> Result<Model, String> {
    let defines: Vec<_> = workload.defines().iter().map(|(name, value)| ((*name).to_owned(), *value as i64)).collect();
    Model::from_text(&workload.to_string(), workload.race(), &defines).map_err(|e| e.to_string())
}

const BOUNDS: Bounds = Bounds { states: MOST_STATES, depth: u32::MAX, memory: u64::MAX };

/// Returns what the search with stubborn sets visits.
///
/// # Errors
///
/// The model is wrong.
pub(crate) fn reduced(workload: Workload) -> Result<Counts, String> {
    let (model, stop) = (model(workload)?, AtomicBool::new(false));
    let plan = SearchPlan { bounds: BOUNDS, stubborn: Some(Stubbornness::default()), ..SearchPlan::new(&model) };
    let found = explore(&plan, SearchContext { stop: &stop, progress: &NoSearchProgress });
    Ok(Counts { states: found.states, transitions: found.transitions })
}

/// Returns what the search up to renamings of alike threads visits; `None` if no threads are alike.
///
/// # Errors
///
/// The model is wrong.
pub(crate) fn symmetric(workload: Workload) -> Result<Option<Counts>, String> {
    let (model, stop) = (model(workload)?, AtomicBool::new(false));
    let alike = Alike::of(&model.program);
    if alike.threads.is_empty() {
        return Ok(None);
    }
    let renamed = model.with_symmetry(&alike).map_err(|e| e.to_string())?;
    let symmetry = Some(Arc::new(alike.symmetry.clone()));
    let plan = SearchPlan { bounds: BOUNDS, symmetry, ..SearchPlan::new(&renamed) };
    let found = explore_symmetric(&plan, SearchContext { stop: &stop, progress: &NoSearchProgress });
    Ok(found.map(|found| Counts { states: found.states, transitions: found.transitions }))
}

/// Loads a model and searches all its states; with `livelocks`, for livelocks as well.
///
/// # Errors
///
/// The model is wrong, or the search reached a bound.
pub(crate) fn search(workload: Workload, livelocks: bool) -> Result<Searched, String> {
    let model = model(workload)?;
    let start = Instant::now();
    let stop = AtomicBool::new(false);
    let plan = SearchPlan { bounds: BOUNDS, ..SearchPlan::new(&model) };
    let context = SearchContext { stop: &stop, progress: &NoSearchProgress };
    let found = if livelocks { explore_with_livelocks(&plan, context, || {}).0 } else { explore(&plan, context) };
    if let Some(cut) = found.cut {
        return Err(format!("the search of {workload} was cut: {cut:?}"));
    }
    let counts = Counts { states: found.states, transitions: found.transitions };
    let memory = Memory { visited: Some(found.table_bytes), peak: peak_memory() };
    Ok(Searched { counts, took: start.elapsed(), memory })
}
