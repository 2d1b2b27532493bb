//! Runs the detectors that read a trace on one run: records it, and analyzes the trace when the run has ended.

use crate::detect::pairs::candidate::{Candidate, ConflictPlace, join};
use crate::detect::pairs::findings::PairFindings;
use crate::detect::pairs::watch::{Act, RunState};
use crate::detect::relation::signals::EventChannels;
use crate::detect::traces::happens_before::{Options, Race, RaceClass};
use crate::detect::traces::record::TraceRecorder;
use crate::detect::{DetectorId, Rank, UseFree};
use crate::event::{AccessPlace, Event};
use crate::trace::OpNo;
use crate::world::World;
use std::sync::atomic::AtomicBool;

/// The trace of a run, with the accesses that its operations come from.
pub(in crate::detect) struct Tape {
    detectors: Vec<DetectorId>,
    recorder: TraceRecorder,
    // Recorded operations with their acts. invariant: ascending
    acts: Vec<(OpNo, Act, AccessPlace)>,
}

impl Tape {
    /// Returns a tape for these detectors that has seen no event.
    pub(in crate::detect) fn new(detectors: Vec<DetectorId>) -> Self {
        Self { detectors, recorder: TraceRecorder::nameless(), acts: Vec::new() }
    }

    /// Records the next event, with the channels on which it receives and sends. `act` is its access, if it is one.
    pub(in crate::detect) fn observe(
        &mut self,
        world: &World,
        event: &Event,
        passed: &EventChannels,
        act: Option<(Act, AccessPlace)>,
    ) {
        let first = self.recorder.len();
        self.recorder.record(world, event, passed);
        // An access may be recorded as two operations: on the cell, and on the life of its object.
        let ops = (first..self.recorder.len()).map(|op| OpNo(op as u32));
        self.acts
            .extend(ops.zip(std::iter::repeat(act)).filter_map(|(op, act)| act.map(|(act, place)| (op, act, place))));
    }

    /// Returns the pairs that the detectors find, in the order of the pairs. `world` is the state after the run.
    pub(in crate::detect) fn finish(self, watch: &RunState, world: &World) -> Vec<Candidate> {
        let Self { detectors, recorder, acts } = self;
        let trace = recorder.finish();
        let stop = AtomicBool::new(false);
        let options = Options { coverage: false, ..Options::default() };
        let races = detectors.iter().filter_map(|by| Some((*by, by.rules()?))).flat_map(|(by, rules)| {
            let found = rules.analyze(&trace, options, &stop).ok().flatten();
            // A detector of use-free races finds others in a trace without references.
            let found = found.filter(|found| found.is_use_free == rules.has_filters);
            found.into_iter().flat_map(|found| found.races).map(move |race| (by, race))
        });
        let mut found = PairFindings::default();
        let act = |op: OpNo| acts.binary_search_by_key(&op, |(op, ..)| *op).ok().map(|at| &acts[at]);
        for (by, race) in races {
            let (Some((_, old, old_place)), Some((_, new, new_place))) = (act(race.first), act(race.second)) else {
                continue;
            };
            let place = (*old_place).max(*new_place);
            let at = || (ConflictPlace::of(world, place), world.place_name(place));
            let candidate = found.count(new, (watch, race.rank, by), (&old.by, &old.when), world, at);
            join(&mut candidate.use_free, use_free(&race));
        }
        let (found, _) = found.finish();
        debug_assert!(found.iter().all(|candidate| candidate.rank != Rank::Order));
        found
    }
}

// What a race says about a use and a free; `None` if it is about other accesses.
fn use_free(race: &Race) -> Option<UseFree> {
    let RaceClass::Causal(class) = race.class else { return None };
    Some(UseFree { class, filters: race.filter.iter().map(|filter| filter.kind).collect() })
}
