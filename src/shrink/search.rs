//! What is left of the effort goes into trying all runs with few deviations, the fewest first.

use super::attempts::Attempts;
use super::deviation::Deviation;
use crate::world::Guest;

impl<G: Guest> Attempts<'_, G> {
    /// Tries every run with no deviation, with one, and so on, up to as many as the best has. Whether all those with fewer were tried: then none of
    /// these reaches the goal (in as many steps as a run may take).
    pub(super) fn search(&mut self) -> bool {
        let mut level: Vec<Vec<Deviation>> = vec![Vec::new()];
        // Whether the lists of this level are all there are, and those of the levels before were tried.
        let mut complete = true;
        for deviations in 0.. {
            let mut next: Vec<Vec<Deviation>> = Vec::new();
            let mut whole = true;
            for list in &level {
                if self.spent() {
                    return complete && self.best.deviations.len() <= deviations;
                }
                // What there is no time to try need not be kept.
                let left = (self.left() as usize).saturating_sub(next.len());
                let deeper = deviations < self.best.deviations.len();
                let (others, all) = self.survey(list, if deeper { left } else { 0 });
                whole &= all;
                next.extend(others.iter().map(|other| list.iter().chain([other]).copied().collect()));
            }
            if self.best.deviations.len() <= deviations {
                return complete;
            }
            complete &= whole;
            level = next;
        }
        false
    }
}
