//! What becomes of the threads of a run that is over.

use super::{Guest, Machine};
use crate::event::{Actor, Choice, Outcome};

// Minimum number of steps for which the threads of a run may go on when it is over.
const AFTERWARDS: u64 = 1_000;

impl<G: Guest> Machine<G> {
    /// Brings the threads of a run that is over to their ends: they run on for as many steps as the run had, and at
    /// least `AFTERWARDS` steps, in turn. No observer sees that, and the world stays as it is. What is left then is
    /// given up.
    #[cold]
    pub(crate) fn close(&mut self) {
        let ended_well = matches!(self.world.outcome, Some(Outcome::Ok));
        let kept = self.world.clone();
        self.world.outcome = None;
        self.world.recording = false;
        for turn in 0..self.world.steps.max(AFTERWARDS) {
            let openings = self.world.openings();
            if openings.total() == 0 || openings.stop() || !self.guest.has_unfinished() {
                break;
            }
            let actor = self.world.open_actor(&openings, (turn % openings.total() as u64) as usize);
            let argument = if actor == Actor::Clock { self.world.next_deadline() } else { 0 };
            self.step(Choice { actor, argument });
            if self.world.outcome.is_some() {
                break;
            }
        }
        self.guest.leave(&mut self.world, ended_well);
        self.world = kept;
    }
}
