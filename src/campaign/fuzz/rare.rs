//! The states that runs have come to, and the choice of a rare one, from which a run can go on.

use super::memory::StateMemory;
use super::shown::{Digests, VIEWS};
use crate::base::Rng;
use crate::base::mutant::{self, Mutant};
use crate::sched::RawChoices;
use indexmap::IndexMap;
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3Builder;

/// Maximum number of states of a view, in all inputs together.
pub(super) const MOST_STATES: usize = 100_000;

/// Number of states that are drawn to find a rare one.
const DRAWN: u32 = 32;

/// A state, and the run that first came to it.
#[derive(Clone, Debug)]
pub struct RareState {
    /// Number of times that runs came there.
    pub visits: u32,
    /// Number of runs that began there.
    pub tries: u32,
    /// Choices of the run that first came there.
    pub run: Arc<RawChoices>,
    /// Number of steps of that run before the state.
    pub steps: u64,
}

/// The states of one view, by their digests, in the order in which runs came to them.
pub type RareView = IndexMap<u64, RareState, Xxh3Builder>;

/// The beginning of a run.
#[derive(Clone, Debug)]
pub(super) struct Beginning {
    /// Choices to repeat.
    pub(super) choices: Arc<RawChoices>,
    /// Number of steps to repeat.
    pub(super) steps: u64,
    // The view and the index of the state.
    state: (usize, usize),
}

/// The states of all views.
#[derive(Default)]
pub(super) struct RareStates {
    views: [RareView; VIEWS],
    // The runs that came to new states of the coarsest view, each as often as it did.
    new_coarse: Vec<u64>,
}

/// The states that a run came to: how often it came to each known one, and the new ones.
#[derive(Default)]
pub(super) struct StateNews {
    // For each view, the index of each known state that the run came to.
    known: [Vec<u32>; VIEWS],
    // All others, with the number of steps before.
    new: Vec<(usize, u64, u64)>,
}

impl StateNews {
    /// Returns whether a state is new, so that the choices of the run are needed.
    pub(super) fn is_new(&self) -> bool {
        !self.new.is_empty()
    }
}

impl RareStates {
    /// Returns what a run adds. It changes nothing, so several workers can ask at the same time. `elsewhere` are the
    /// numbers of states of the other inputs.
    pub(super) fn news(&self, states: &[(u64, Digests)], elsewhere: [usize; VIEWS]) -> StateNews {
        let mut news = StateNews::default();
        for (steps, digests) in states {
            for (view, digest) in digests.iter().enumerate() {
                match self.views[view].get_index_of(digest) {
                    Some(index) => news.known[view].push(index as u32),
                    None if self.views[view].len() + elsewhere[view] < MOST_STATES => {
                        news.new.push((view, *digest, *steps))
                    }
                    None => {}
                }
            }
        }
        news
    }

    /// Learns from run number `number`. `run` are its choices, which are needed if a state is new. `elsewhere` is as in
    /// [`news`](Self::news).
    pub(super) fn learn(
        &mut self,
        number: u64,
        news: &StateNews,
        run: Option<&Arc<RawChoices>>,
        elsewhere: [usize; VIEWS],
    ) {
        for (view, known) in self.views.iter_mut().zip(&news.known) {
            for index in known {
                if let Some((_, state)) = view.get_index_mut(*index as usize) {
                    state.visits = state.visits.saturating_add(1);
                }
            }
        }
        let Some(run) = run else { return };
        for (view, digest, steps) in &news.new {
            let states = &mut self.views[*view];
            if let Some(state) = states.get_mut(digest) {
                state.visits = state.visits.saturating_add(1);
            } else if states.len() + elsewhere[*view] < MOST_STATES {
                states.insert(*digest, RareState { visits: 1, tries: 0, run: run.clone(), steps: *steps });
                if *view == 0 {
                    self.new_coarse.push(number);
                }
            }
        }
    }

    /// Draws a view and some of its states, takes the one where the fewest runs have been, and counts one more run that
    /// begins there. `None` if the view has no state.
    pub(super) fn begin(&mut self, rng: &mut Rng) -> Option<Beginning> {
        let number = rng.below(VIEWS as u32) as usize;
        let view = &self.views[number];
        let count = view.len() as u32;
        if count == 0 {
            return None;
        }
        let mut rarest = (u32::MAX, 0);
        for _ in 0..DRAWN {
            let index = rng.below(count) as usize;
            let been = view[index].visits.saturating_add(view[index].tries);
            // Of equal ones the first that was drawn.
            if been < rarest.0 || mutant::is(Mutant::LastDrawnState) {
                rarest = (been, index);
            }
        }
        let state = &view[rarest.1];
        let (choices, steps) = (state.run.clone(), state.steps);
        let beginning = Beginning { choices, steps, state: (number, rarest.1) };
        self.count(&beginning);
        Some(beginning)
    }

    /// Counts a run that begins there.
    pub(super) fn count(&mut self, beginning: &Beginning) {
        let tries = &mut self.views[beginning.state.0][beginning.state.1].tries;
        *tries = tries.saturating_add(1);
    }

    /// Takes back what [`begin`](Self::begin) has counted.
    pub(super) fn take_back(&mut self, beginning: &Beginning) {
        let tries = &mut self.views[beginning.state.0][beginning.state.1].tries;
        *tries = tries.saturating_sub(1);
    }

    /// Returns what is known of states. Of the runs that came to new ones only those after `run` are kept.
    pub(super) fn memory(&self, run: u64) -> StateMemory {
        let mut new_coarse: Vec<u64> = self.new_coarse.iter().copied().filter(|number| *number > run).collect();
        new_coarse.dedup();
        StateMemory { views: self.views.clone(), new_coarse }
    }

    /// Returns the states of a [`memory`](Self::memory).
    pub(super) fn of_memory(memory: StateMemory) -> Self {
        Self { views: memory.views, new_coarse: memory.new_coarse }
    }

    /// Returns all states: the view, the digest, and the beginning that leads there.
    #[cfg(test)]
    pub(super) fn all(&self) -> impl Iterator<Item = (usize, u64, Beginning)> {
        let of = |(view, states): (usize, &IndexMap<u64, RareState, Xxh3Builder>)| {
            let begins = |(i, (digest, state)): (usize, (&u64, &RareState))| {
                (view, *digest, Beginning { choices: state.run.clone(), steps: state.steps, state: (view, i) })
            };
            states.iter().enumerate().map(begins).collect::<Vec<_>>()
        };
        self.views.iter().enumerate().flat_map(of)
    }

    /// Returns the number of states of each view, from the coarsest.
    pub(super) fn counts(&self) -> [usize; VIEWS] {
        self.views.each_ref().map(IndexMap::len)
    }

    /// Returns the number of states of the coarsest view to which runs came once.
    pub(super) fn once(&self) -> usize {
        self.views[0].values().filter(|state| state.visits == 1).count()
    }

    /// Returns how many of the runs after this one came to a new state of the coarsest view.
    pub(super) fn new_since(&self, run: u64) -> u64 {
        let mut runs: Vec<u64> = self.new_coarse.iter().copied().filter(|number| *number > run).collect();
        runs.dedup();
        runs.len() as u64
    }
}
