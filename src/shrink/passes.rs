//! The passes of shrinking: each of them tries runs near the best one.
//!
//! - *truncate*: keeps only the first deviations, as few as suffice.
//! - *reduce*: leaves out half of the deviations, a quarter of them, and so on, down to single ones (`ddmin`, Zeller
//!   and Hildebrandt).
//! - *drop actors*: leaves out all deviations of one thread, of one event, or of the clock.
//! - *gather*: joins two segments of one actor into one (Jalbert and Sen, *A trace simplification technique for
//!   effective debugging of concurrent programs*, FSE 2010).
//! - *lower*: replaces an actor with one of a lower number, or an answer with the first one or another smaller one.
//! - *move later*: delays a deviation, so that the default scheduler runs longer. The later deviations stay at their
//!   steps or move as well.

use super::attempts::Attempts;
use super::deviation::{Deviation, Segment};
use crate::event::{Actor, Choice, EventId, ThreadId};
use crate::world::Guest;

impl<G: Guest> Attempts<'_, G> {
    /// Repeats all passes until none of them finds a better run, or the effort is used up. `truncate` runs only once,
    /// at the start.
    pub(super) fn passes(&mut self) {
        self.truncate();
        loop {
            let before = self.best.clone();
            self.reduce();
            self.drop_actors();
            self.gather();
            self.lower();
            self.move_later();
            let same = self.best.deviations == before.deviations && self.best.steps == before.steps;
            if same || self.spent() {
                return;
            }
        }
    }

    // Tries the first 0, 1, 2, 4 ... deviations, up to the first success. `reduce` then removes the superfluous ones.
    fn truncate(&mut self) {
        let all = self.best.deviations.clone();
        let mut kept = 0;
        while kept < all.len() && !self.spent() {
            if self.deviate(all[..kept].to_vec()) {
                return;
            }
            kept = (kept * 2).max(1);
        }
    }

    fn reduce(&mut self) {
        let mut size = self.best.deviations.len().div_ceil(2);
        while size > 0 {
            let mut at = 0;
            while at < self.best.deviations.len() && !self.spent() {
                if !self.without(at, size) {
                    at += size;
                }
            }
            size /= 2;
        }
    }

    // Leaves out `size` deviations from index `at` on. The remaining ones first keep their steps. If that does not
    // help, the later ones become earlier by as many steps as the left-out part took.
    fn without(&mut self, at: usize, size: usize) -> bool {
        let all = &self.best.deviations;
        let end = (at + size).min(all.len());
        let rest: Vec<Deviation> = all[..at].iter().chain(&all[end..]).copied().collect();
        let sooner = all.get(end).map(|next| {
            let by = next.step - all[at].step;
            let moved = all[end..].iter().map(|d| Deviation { step: d.step - by, ..*d });
            all[..at].iter().copied().chain(moved).collect()
        });
        self.deviate(rest) || sooner.is_some_and(|list| self.deviate(list))
    }

    fn drop_actors(&mut self) {
        let mut actors: Vec<Actor> = self.best.deviations.iter().map(|d| d.choice.actor).collect();
        actors.sort();
        actors.dedup();
        for actor in actors {
            let list = self.best.deviations.iter().filter(|d| d.choice.actor != actor);
            let list = list.copied().collect();
            self.deviate(list);
        }
    }

    fn gather(&mut self) {
        let mut i = 0;
        while i < self.best.segments.len() && !self.spent() {
            // After a success another segment has moved to this index.
            if !self.gather_at(i) {
                i += 1;
            }
        }
    }

    // Joins segment `i` with the next segment of its actor: first by moving that one here, then by moving this one
    // there.
    fn gather_at(&mut self, i: usize) -> bool {
        let all = &self.best.segments;
        let actor = all[i].choice.actor;
        let Some(j) = (i + 2..all.len()).find(|j| all[*j].choice.actor == actor) else { return false };
        let (here, there) = (all[i], all[j]);
        let mut sooner: Vec<Segment> = all.clone();
        sooner.remove(j);
        sooner.insert(i + 1, there);
        let mut later: Vec<Segment> = all.clone();
        later.insert(j, here);
        later.remove(i);
        self.follow(sooner) || self.follow(later)
    }

    fn lower(&mut self) {
        let mut i = 0;
        while i < self.best.deviations.len() && !self.spent() {
            let Choice { actor, argument } = self.best.deviations[i].choice;
            let sooner = |actor| Choice { actor, argument: 0 };
            let mut choices: Vec<Choice> = match actor {
                Actor::Thread(thread) => (0..thread.0).map(|t| sooner(Actor::Thread(ThreadId(t)))).collect(),
                Actor::Event(event) => (0..event.0).map(|e| sooner(Actor::Event(EventId(e)))).collect(),
                Actor::Clock | Actor::Stop => Vec::new(),
            };
            if argument > 0 {
                choices.insert(0, sooner(actor));
            }
            for choice in choices {
                let mut list = self.best.deviations.clone();
                let Some(place) = list.get_mut(i).filter(|_| !self.spent()) else { break };
                place.choice = choice;
                self.deviate(list);
            }
            if matches!(actor, Actor::Thread(_)) {
                self.lower_answer(i);
            }
            i += 1;
        }
    }

    // Makes the answer of a deviation smaller: by half of it, and by less after each failure, down to 1.
    fn lower_answer(&mut self, i: usize) {
        let mut by = None;
        while let Some(argument) = self.best.deviations.get(i).map(|d| d.choice.argument)
            && argument > 1
            && !self.spent()
        {
            let less = by.unwrap_or(argument / 2);
            let mut list = self.best.deviations.clone();
            list[i].choice.argument -= less;
            by = match self.deviate(list) {
                true => None,
                false if less > 1 => Some(less / 2),
                false => return,
            };
        }
    }

    fn move_later(&mut self) {
        // Goes from the last deviation to the first, so that the later ones already have their final steps. The
        // distance doubles after each success and halves after each failure.
        let mut i = self.best.deviations.len();
        while i > 0 && !self.spent() {
            i = (i - 1).min(self.best.deviations.len().saturating_sub(1));
            let mut by = 1;
            while i < self.best.deviations.len() && by < self.best.steps && !self.spent() {
                if self.moved(i, by) {
                    by *= 2;
                } else if by > 1 {
                    by /= 2;
                } else {
                    break;
                }
            }
        }
    }

    // Moves deviation `i` later by `by` steps, alone or with all later ones.
    fn moved(&mut self, i: usize, by: u64) -> bool {
        let all = &self.best.deviations;
        let mut one = all.clone();
        one[i].step += by;
        let mut rest = all.clone();
        rest[i..].iter_mut().for_each(|d| d.step += by);
        // A deviation must not pass the next one.
        let fits = all.get(i + 1).is_none_or(|next| one[i].step < next.step);
        (fits && self.deviate(one)) || self.deviate(rest)
    }
}
