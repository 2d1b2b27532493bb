//! Tries all runs with few deviations, the fewest first, with what is left of the effort.

use super::attempts::Attempts;
use super::deviation::Deviation;
use crate::world::Guest;

impl<G: Guest> Attempts<'_, G> {
    /// Tries every run with no deviation, then with one, and so on, up to the number that the best run has. Returns
    /// whether all runs with fewer deviations than the best were tried: then none of them reaches the goal within the
    /// permitted number of steps.
    pub(super) fn search(&mut self) -> bool {
        // The lists with `deviations` entries. Each one is run, and extended by every alternative after its last entry,
        // so that the next level has each longer list once.
        let mut level: Vec<Vec<Deviation>> = vec![Vec::new()];
        // Invariant: true if `level` has every list of its length, and all lists of the earlier levels were tried.
        let mut complete = true;
        for deviations in 0.. {
            let mut next: Vec<Vec<Deviation>> = Vec::new();
            let mut whole = true;
            for list in &level {
                if self.spent() {
                    return complete && self.best.deviations.len() <= deviations;
                }
                // A list for which no tries would be left is not kept.
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
