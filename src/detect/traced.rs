//! Runs the detectors that read a trace ([`happens_before`], [`fasttrack`]) on one run: records it, and analyzes the
//! trace when the run has ended.

use super::candidate::{Candidate, Place};
use super::found::Found;
use super::record::Recorder;
use super::watch::{Act, Watch};
use super::{Rank, fasttrack, happens_before};
use crate::event::{AccessPlace, Event};
use crate::exec::Observer;
use crate::trace::OpNo;
use crate::world::World;
use std::sync::atomic::AtomicBool;

/// Detectors that find potential pairs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Detector {
    /// Lock sets and the edges that every run has: [`Hybrid`](super::Hybrid).
    #[default]
    Hybrid,
    /// DroidRacer's relation, as printed in the paper: [`happens_before`].
    DroidRacer,
    /// FastTrack: [`fasttrack`].
    FastTrack,
    /// No detector of one run: a search of all states, which has found the two accesses side by side.
    Search,
}

impl Detector {
    /// All detectors that look at runs.
    pub const ALL: [Detector; 3] = [Detector::Hybrid, Detector::DroidRacer, Detector::FastTrack];

    /// Returns the detector's name: `hybrid`, `droidracer`, `fasttrack`, `exhaustive search`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Detector::Hybrid => "hybrid",
            Detector::DroidRacer => "droidracer",
            Detector::FastTrack => "fasttrack",
            Detector::Search => "exhaustive search",
        }
    }
}

/// Records a run for the detectors that read a trace: an [`Observer`] that must receive every event from the start of
/// the app.
///
/// # Examples
///
/// ```
/// use raceflip::{detect::{Detector, Traced}, exec::run, sched::RoundRobin, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let mut traced = Traced::new();
/// let mut machine = model.machine(Limits::default());
/// run(&mut machine, &mut RoundRobin::default(), 0, &mut traced, &stop);
/// // Each read with the other write, and the two writes.
/// assert_eq!(traced.finish(&machine.world, &[Detector::DroidRacer]).len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Traced {
    watch: Watch,
    recorder: Recorder,
    // Recorded operations with their acts. invariant: ascending
    acts: Vec<(OpNo, Act, AccessPlace)>,
}

impl Default for Traced {
    fn default() -> Self {
        Self::new()
    }
}

impl Traced {
    /// Returns a recorder that has seen no event.
    #[must_use]
    pub fn new() -> Self {
        Self { watch: Watch::new(false), recorder: Recorder::nameless(), acts: Vec::new() }
    }

    /// Processes the next event. `world` is the state after its step. The first event must be the first one of the
    /// run (the start of a thread).
    pub fn observe(&mut self, world: &World, event: &Event) {
        self.watch.observe(world, event);
        let first = self.recorder.len();
        self.recorder.observe(world, event);
        if let Some((op, _, act)) = self.watch.act(world, event)
            && let Some(access) = op.access()
        {
            // An access may be recorded as two operations: on the cell, and on the life of its object.
            for op in first..self.recorder.len() {
                self.acts.push((OpNo(op as u32), act, access.place));
            }
        }
        self.watch.close(world, event);
    }

    /// Returns the pairs that these detectors find, in the order of the pairs. [`Detector::Hybrid`] and
    /// [`Detector::Search`] read no trace and find nothing here. `world` is the state after the run.
    #[must_use]
    pub fn finish(self, world: &World, detectors: &[Detector]) -> Vec<Candidate> {
        let Self { watch, recorder, acts } = self;
        let trace = recorder.finish();
        let stop = AtomicBool::new(false);
        let races = detectors.iter().flat_map(|by| {
            let races = match by {
                Detector::DroidRacer => {
                    let options = happens_before::Options { coverage: false, ..happens_before::Options::default() };
                    happens_before::analyze(&trace, options, &stop).map(|found| found.races)
                }
                Detector::FastTrack => fasttrack(&trace, &stop),
                Detector::Hybrid | Detector::Search => None,
            };
            races.into_iter().flatten().map(|race| (*by, race))
        });
        let mut found = Found::default();
        let act = |op: OpNo| acts.binary_search_by_key(&op, |(op, ..)| *op).ok().map(|at| &acts[at]);
        for (by, race) in races {
            let (Some((_, old, old_place)), Some((_, new, new_place))) = (act(race.first), act(race.second)) else {
                continue;
            };
            let place = (*old_place).max(*new_place);
            let at = || (Place::of(world, place), world.place_name(place));
            found.count(new, (&watch, race.rank, by), (&old.by, &old.when), world, at);
        }
        let (found, _) = found.finish();
        debug_assert!(found.iter().all(|candidate| candidate.rank != Rank::Order));
        found
    }
}

impl Observer for Traced {
    fn event(&mut self, world: &World, event: &Event) {
        self.observe(world, event);
    }
}
