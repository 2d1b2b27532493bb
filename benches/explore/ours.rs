//! The workloads in raceflip: models of `benches/models/explore`, searched by one worker without reduction.

use crate::tools::peak_memory;
use crate::workloads::{Counts, Memory, Searched, Workload};
use raceflip::explore::{Bounds, MOST_STATES, NoSearchProgress, SearchContext, SearchPlan, explore};
use raceflip::vm::Model;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Loads a model and searches all its states.
///
/// # Errors
///
/// The model is wrong, or the search reached a bound.
pub(crate) fn search(workload: Workload) -> Result<Searched, String> {
    let defines: Vec<_> = workload.defines().iter().map(|(name, value)| ((*name).to_owned(), *value as i64)).collect();
    let model = Model::from_text(&workload.to_string(), workload.race(), &defines).map_err(|e| e.to_string())?;
    let start = Instant::now();
    let bounds = Bounds { states: MOST_STATES, depth: u32::MAX, memory: u64::MAX };
    let stop = AtomicBool::new(false);
    let found = explore(
        &SearchPlan { bounds, ..SearchPlan::new(&model) },
        SearchContext { stop: &stop, progress: &NoSearchProgress },
    );
    if let Some(cut) = found.cut {
        return Err(format!("the search of {workload} was cut: {cut:?}"));
    }
    let counts = Counts { states: found.states, transitions: found.transitions };
    let memory = Memory { visited: Some(found.table_bytes), peak: peak_memory() };
    Ok(Searched { counts, took: start.elapsed(), memory })
}
