//! The workloads in raceflip: models of `benches/models/explore`, searched through.
//!
//! For now with a reference search of a few lines; it stands here alone, so that another one can take its place.

use crate::tools::peak_memory;
use crate::workloads::{Counts, Memory, Searched, Workload};
use raceflip::event::{Actor, Choice};
use raceflip::vm::{Model, Vm};
use raceflip::world::{Limits, Machine, Question};
use std::collections::{HashSet, VecDeque};
use std::time::Instant;

/// Loads a model and searches through all its states.
///
/// # Errors
///
/// The model is wrong, or some run of it ends in another way than by resting.
pub(crate) fn search(workload: Workload) -> Result<Searched, String> {
    let defines: Vec<_> = workload.defines().iter().map(|(name, value)| ((*name).to_owned(), *value as i64)).collect();
    let model = Model::from_text(&workload.to_string(), workload.race(), &defines).map_err(|e| e.to_string())?;
    let start = Instant::now();
    let (counts, visited) = reference(&model)?;
    Ok(Searched { counts, took: start.elapsed(), memory: Memory { visited, peak: peak_memory() } })
}

// Breadth first, over digests of canonical states; whole machines wait in the queue. Counts, and the bytes of the set if they are known.
fn reference(model: &Model) -> Result<(Counts, Option<u64>), String> {
    let mut machine = model.machine(Limits { steps: u64::MAX, ..Limits::default() });
    machine.start(false);
    let mut met = HashSet::from([machine.canonical().digest()]);
    let mut open = VecDeque::from([machine]);
    let mut transitions = 0;
    while let Some(mut machine) = open.pop_front() {
        for choice in choices(&mut machine)? {
            transitions += 1;
            let mut next = machine.clone();
            next.step(choice);
            if met.insert(next.canonical().digest()) {
                open.push_back(next);
            }
        }
    }
    Ok((Counts { states: met.len() as u64, transitions }, None))
}

// Every choice that is open with every argument that it can have, but not to stop where a run rests.
fn choices(machine: &mut Machine<Vm>) -> Result<Vec<Choice>, String> {
    let world = &machine.world;
    if let Some(outcome) = world.outcome() {
        return Err(format!("a run of the workload ends: {outcome:?}"));
    }
    let openings = world.openings();
    let mut all = Vec::new();
    for k in 0..openings.total() {
        let actor = world.open_actor(&openings, k);
        let arguments = match world.question(actor) {
            _ if actor == Actor::Stop => continue,
            None => vec![0],
            Some(Question::Branch) => vec![0, 1],
            Some(Question::Waiter(waiters)) => (0..waiters as u64).collect(),
            Some(Question::Instant) => world.instants(),
        };
        all.extend(arguments.into_iter().map(|argument| Choice { actor, argument }));
    }
    Ok(all)
}
