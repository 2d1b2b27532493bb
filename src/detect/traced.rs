//! Detection by the detectors that read a trace ([`happens_before`], [`fasttrack`]), over one run: the run is recorded, and analysed when it has ended.

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

/// Which detector finds potential pairs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Detector {
    /// Locksets and the edges that every run has: [`Hybrid`](super::Hybrid).
    #[default]
    Hybrid,
    /// DroidRacer's relation, as printed: [`happens_before`].
    DroidRacer,
    /// FastTrack: [`fasttrack`].
    FastTrack,
    /// No detector of one run: a search of all states, which has found the two side by side.
    Search,
}

impl Detector {
    /// All that look at runs.
    pub const ALL: [Detector; 3] = [Detector::Hybrid, Detector::DroidRacer, Detector::FastTrack];

    /// Its name: `hybrid`, `droidracer`, `fasttrack`, `exhaustive search`.
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

/// Records a run for the detectors that read a trace: an [`Observer`] that is shown every event from the start of the app.
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
    // By operation. invariant: ascending
    acts: Vec<(OpNo, Act, AccessPlace)>,
}

impl Default for Traced {
    fn default() -> Self {
        Self::new()
    }
}

impl Traced {
    /// Has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self { watch: Watch::new(false), recorder: Recorder::nameless(), acts: Vec::new() }
    }

    /// Takes the next event. The world is the state after its step. The first event must be the first of the run (a thread's start).
    pub fn observe(&mut self, world: &World, event: &Event) {
        self.watch.observe(world, event);
        let first = self.recorder.len();
        self.recorder.observe(world, event);
        if let Some((op, _, act)) = self.watch.act(world, event)
            && let Some(access) = op.access()
        {
            // It may be two operations: the cell, and the life of its object.
            for op in first..self.recorder.len() {
                self.acts.push((OpNo(op as u32), act, access.place));
            }
        }
        self.watch.close(world, event);
    }

    /// The pairs that these detectors find, in the order of the pairs; the hybrid one is not among those that read a trace. `world` is the state after the run.
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
