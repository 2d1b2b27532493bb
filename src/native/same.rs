//! Whether a run is the same when its choices are repeated: whether the scheduler controls all that decides.

use super::checked::CheckFailure;
use super::program::NativeProgram;
use super::report::{self, Step};
use crate::base::mix;
use crate::event::{Event, EventKind, SiteId, ThreadId};
use crate::exec::{LoopEnd, Observer, run};
use crate::sched::{RandomWalk, Replay, ScheduleRecorder};
use crate::world::{Limits, Program, World};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

// Numbers of the runs that are repeated, from 0.
const REPEATED: [u64; 5] = [0, 1, 3, 7, 15];

// An operation, as far as it must be the same: its thread, its word and its statement.
type Trace = Vec<(ThreadId, &'static str, SiteId)>;

// Records the operations of a run.
#[derive(Default)]
struct Recorded {
    all: Trace,
    // The operations in words.
    steps: Vec<Step>,
}

impl Observer for Recorded {
    fn event(&mut self, world: &World, event: &Event) {
        if let (Some(thread), EventKind::Performed { op, .. }) = (event.thread, &event.what) {
            self.all.push((thread, op.word(), event.site.unwrap_or(SiteId(0))));
            self.steps.extend(Step::of(world, event));
        }
    }
}

/// Performs some random runs twice, the second time by the choices of the first. Fails if the two differ.
pub(super) fn repeats(program: &NativeProgram, limits: Limits, seed: u64) -> Result<(), Box<CheckFailure>> {
    let never = AtomicBool::new(false);
    let mut machine = program.machine(limits);
    for number in REPEATED {
        let seed = mix(seed, number);
        let (mut recorder, mut first) = (ScheduleRecorder::new(), Recorded::default());
        let once = run(&mut machine, &mut RandomWalk::new(), seed, &mut (&mut recorder, &mut first), &never);
        let mut replay = Replay::new(Arc::new(recorder.schedule(&machine.world)));
        let mut second = Recorded::default();
        let again = run(&mut machine, &mut replay, seed, &mut second, &never);
        let differs = first.all.iter().zip(&second.all).position(|(a, b)| a != b);
        let at = differs.unwrap_or(first.all.len().min(second.all.len()));
        let same = matches!((&once.end, &again.end), (LoopEnd::Outcome(a), LoopEnd::Outcome(b)) if a == b);
        if same && first.all == second.all {
            continue;
        }
        let step = |steps: &[Step]| steps.get(at).map_or("the run ends".to_owned(), Step::text);
        let now = match &again.end {
            // The choice of the first run is not open: this says what is.
            LoopEnd::Diverged(divergence) if second.steps.len() <= at => divergence.found.clone(),
            _ => step(&second.steps),
        };
        return Err(Box::new(report::differs(number + 1, at, &step(&first.steps), &now)));
    }
    Ok(())
}
