//! The passes: each tries runs near the best one.
//!
//! - *truncate*: only the first deviations, as few as will do;
//! - *reduce*: Zeller and Hildebrandt's `ddmin`: without half of them, a quarter of them, ..., one of them;
//! - *drop actors*: without all of one thread, one event, the clock;
//! - *gather*: what a thread does in two places is done in one (Jalbert and Sen, *A trace simplification technique for effective debugging of concurrent programs*, FSE 2010);
//! - *lower*: another actor, one that comes before, or the first answer;
//! - *move later*: let the default go on for longer, with what comes after at its place or moved as well.

use super::attempts::Attempts;
use super::deviation::{Deviation, Segment};
use crate::event::{Actor, Choice, EventId, ThreadId};
use crate::world::Guest;

impl<G: Guest> Attempts<'_, G> {
    /// All passes, again and again, until none finds anything better.
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

    // Without `size` deviations, with the rest at its place; or without what they led to as well, so that the rest comes sooner.
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
            // After a success the same place is looked at again.
            if !self.gather_at(i) {
                i += 1;
            }
        }
    }

    // What the actor of this segment does next is done here, or this is done only then.
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
            i += 1;
        }
    }

    fn move_later(&mut self) {
        // The last first: what comes after one stands where it is to stay.
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

    fn moved(&mut self, i: usize, by: u64) -> bool {
        let all = &self.best.deviations;
        let mut one = all.clone();
        one[i].step += by;
        let mut rest = all.clone();
        rest[i..].iter_mut().for_each(|d| d.step += by);
        // Never past the next one.
        let fits = all.get(i + 1).is_none_or(|next| one[i].step < next.step);
        (fits && self.deviate(one)) || self.deviate(rest)
    }
}
