//! Replays a schedule of a model that was edited since: follows the choices that still fit, and reports the others.
//!
//! A recorded choice names its actor and has a check byte: eight bits of a digest of the pending operation, its body
//! and its ordinal there. The site itself cannot be recovered from these bits. But it can be recognized, even if sites
//! before it in its body were added or removed: the ordinals of that body have shifted by some number. If a thread's
//! pending operation is not the recorded one, these cases are tried in order:
//!
//! 1. The operation is the recorded one under another shift of its body: the choice is followed, and the shift is kept.
//! 2. The operation is one that the recording has a little later for this thread: statements were removed, and the
//!    choice is skipped.
//! 3. The operation is new: the thread performs it as an inserted step, and so on until it is pending at the recorded
//!    operation. After [`INSERTED`] such steps the choice is skipped after all.
//!
//! Equal choices in a row (one entry of the recording) are skipped together: nothing happens between them that would
//! make the next one fit.
//!
//! If the actor of a choice cannot act, a later choice of another actor is followed first if one fits; if none does,
//! the choice is skipped. After the last choice threads take turns, until the run is at rest.
//!
//! Two cases are not recognized: an operation that was replaced by another one with the same word and ordinal, and
//! (with probability 1/256 for each shift that is tried) two operations with the same eight bits.

use super::replay::Replay;
use super::schedule::{Schedule, ScheduledChoice, about_to, check_byte_at, describe};
use super::{Divergence, RoundRobin, Strategy, View};
use crate::event::{Actor, BodyId, Choice, ThreadId};
use crate::world::{Question, World};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of steps that a thread performs on its way to a recorded operation before the choice is skipped.
const INSERTED: u32 = 16;
// Number of recorded choices of a thread to search for a later one that fits, after a statement was removed.
const AHEAD: usize = 8;
// Number of entries of the recording to search for one that fits now.
const WINDOW: usize = 64;
// Maximum distance between the known shift of a body and one that is tried.
const SHIFTS: i64 = 4;
// Number of departures that are kept as text.
const MOST_DEPARTURES: usize = 20;

/// A report on how far a tolerant replay followed its recording.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Tolerance {
    /// Number of recorded choices that were followed.
    pub followed: u64,
    /// Number of followed choices that came before an earlier one of the recording.
    pub moved: u64,
    /// Number of recorded choices that were skipped.
    pub skipped: u64,
    /// Number of steps that are not in the recording.
    pub inserted: u64,
    /// The first departures from the recording: the step (from 0) and what happened there.
    pub departures: Vec<(u64, String)>,
    /// Number of further departures, without text.
    pub unlisted_departures: u64,
}

/// A replay that continues where a choice does not fit.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::{NoObserver, run}, sched::{ScheduleRecorder, RoundRobin, Tolerant}, vm::Model, world::Limits};
/// # use std::sync::{Arc, atomic::AtomicBool};
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let mut recorder = ScheduleRecorder::new();
/// let mut machine = model.machine(Limits::default());
/// run(&mut machine, &mut RoundRobin::default(), 0, &mut recorder, &stop);
/// let mut tolerant = Tolerant::new(Arc::new(recorder.schedule(&machine.world)));
///
/// let edited = "var x = 0; thread a { skip; x += 1 }; thread b { x += 1 }";
/// let edited = Model::from_text("add.race", edited, &[])?;
/// let summary = run(&mut edited.machine(Limits::default()), &mut tolerant, 0, &mut NoObserver, &stop);
/// assert!(summary.outcome().is_some());
/// let tolerance = tolerant.finish();
/// assert_eq!((tolerance.skipped, tolerance.inserted), (0, 1), "{tolerance:?}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Tolerant {
    schedule: Arc<Schedule>,
    // Number of choices left in each entry of the schedule.
    left: Vec<u64>,
    // For each entry the next entry of the same actor. An index past the end if there is none.
    later: Vec<usize>,
    at: usize,
    argument: u64,
    names: Replay,
    shifts: BTreeMap<BodyId, i64>,
    // Number of steps in a row that were inserted for the current choice.
    inserted: u32,
    rest: RoundRobin,
    // Whether the end of the recording has been reported.
    over: bool,
    tolerance: Tolerance,
}

impl Tolerant {
    /// Creates a tolerant replay of this schedule.
    #[must_use]
    pub fn new(schedule: Arc<Schedule>) -> Self {
        Self {
            names: Replay::new(schedule.clone()),
            left: Vec::new(),
            later: Vec::new(),
            at: 0,
            argument: 0,
            shifts: BTreeMap::new(),
            inserted: 0,
            rest: RoundRobin::default(),
            over: false,
            tolerance: Tolerance::default(),
            schedule,
        }
    }

    /// Returns the report. Choices that are left when the run has ended count as skipped.
    #[must_use]
    pub fn finish(mut self) -> Tolerance {
        self.tolerance.skipped = self.left.iter().fold(self.tolerance.skipped, |sum, left| sum.saturating_add(*left));
        self.tolerance
    }

    fn note_departure(&mut self, world: &World, what: impl FnOnce() -> String) {
        if self.tolerance.departures.len() < MOST_DEPARTURES {
            self.tolerance.departures.push((world.steps(), what()));
        } else {
            self.tolerance.unlisted_departures += 1;
        }
    }

    fn follow(&mut self, entry: usize, argument: u64) {
        self.left[entry] -= 1;
        self.argument = argument;
        self.tolerance.followed += 1;
        self.inserted = 0;
    }

    // The shift of the body under which the actor's pending operation is this choice. `shifts` are tried in order, the
    // known one first.
    fn fits(&self, world: &World, choice: &ScheduledChoice, actor: Actor, shifts: &[i64]) -> Option<i64> {
        let pending_site = about_to(world, actor);
        let check = |shift: &i64| check_byte_at(world, &self.schedule, choice.actor, pending_site, *shift);
        shifts.iter().copied().find(|shift| check(shift) == Some(choice.check))
    }

    fn body(world: &World, actor: Actor) -> Option<BodyId> {
        let Actor::Thread(thread) = actor else { return None };
        world.thread(thread).site.map(|s| world.setup().sites[s].body)
    }

    fn shift(&self, world: &World, actor: Actor) -> i64 {
        Self::body(world, actor).and_then(|b| self.shifts.get(&b)).copied().unwrap_or(0)
    }

    // Whether the actor's pending operation is this choice, under the known shift of its body or, with `guess`, a near
    // one. A shift that fits is kept.
    fn is_pending_at(&mut self, world: &World, choice: &ScheduledChoice, actor: Actor, guess: bool) -> bool {
        let known = self.shift(world, actor);
        let mut shifts = vec![known];
        if guess {
            shifts.push(known + i64::from(self.inserted));
            shifts.extend((1..=SHIFTS).flat_map(|d| [known + d, known - d]));
        }
        let Some(shift) = self.fits(world, choice, actor, &shifts) else { return false };
        if let (Some(body), true) = (Self::body(world, actor), shift != known) {
            self.shifts.insert(body, shift);
        }
        true
    }

    // Whether the actor's pending operation is a choice that the recording has for it after the entry `from`. If so,
    // the statements in between were removed.
    fn is_ahead(&self, world: &World, from: usize, actor: Actor) -> bool {
        let known = self.shift(world, actor);
        let own = std::iter::successors(self.later.get(from), |i| self.later.get(**i)).copied();
        let own = own.take_while(|i| *i < self.left.len()).filter(|i| self.left[*i] > 0).take(AHEAD);
        (1i64..).zip(own).any(|(gone, later)| {
            self.fits(world, &self.schedule.choices[later], actor, &[known, known - gone]).is_some()
        })
    }

    // The argument of a recorded entry in this run. `None` if its row is not open for its instance. The actor of
    // the entry must have been looked up.
    fn argument_at(&self, world: &World, entry: usize) -> Option<u64> {
        let choice = &self.schedule.choices[entry];
        self.names.argument_of(world, choice.actor as usize, choice.argument)
    }

    // Whether the actor of an entry of the recording can make this choice.
    fn is_open(&self, world: &World, actor: Actor, entry: usize) -> bool {
        world.is_open(actor) && self.argument_at(world, entry).is_some()
    }

    // A later choice that fits now and is its actor's first one from here on.
    fn other(&mut self, view: &View<'_>) -> Option<(usize, Actor)> {
        let choices = self.schedule.clone();
        let mut passed = vec![choices.choices[self.at].actor];
        for (i, choice) in choices.choices.iter().enumerate().skip(self.at + 1).take(WINDOW) {
            if self.left[i] == 0 || passed.contains(&choice.actor) {
                continue;
            }
            passed.push(choice.actor);
            let actor = self.names.actor_of(view.world, choice.actor as usize);
            // Only threads and events qualify: the end of a run or an advance of the clock would not help the run to
            // continue.
            let thread =
                actor.filter(|a| matches!(a, Actor::Thread(_) | Actor::Event(_)) && self.is_open(view.world, *a, i));
            if let Some(actor) = thread
                && self.is_pending_at(view.world, choice, actor, false)
            {
                return Some((i, actor));
            }
        }
        None
    }

    // The next choice of the recording, or an inserted step on the way to it. `None` if no choice is left.
    fn next(&mut self, view: &View<'_>) -> Option<Actor> {
        let world = view.world;
        let schedule = self.schedule.clone();
        loop {
            while self.left.get(self.at) == Some(&0) {
                self.at += 1;
            }
            let choice = schedule.choices.get(self.at)?;
            let wanted = || schedule.actor_name(choice.actor);
            let named = self.names.actor_of(world, choice.actor as usize);
            let argument = self.argument_at(world, self.at).unwrap_or(0);
            let why = match named.filter(|a| self.is_open(world, *a, self.at)) {
                // If the instant has already passed, the advance is not needed.
                Some(Actor::Clock) if choice.argument <= world.now() => "the clock is there already",
                Some(actor @ Actor::Thread(thread)) => {
                    if self.is_pending_at(world, choice, actor, true) {
                        self.follow(self.at, argument);
                        return Some(actor);
                    }
                    if self.is_ahead(world, self.at, actor) {
                        "the thread is pending at a later operation"
                    } else if self.inserted < INSERTED {
                        return Some(self.insert(world, thread));
                    } else {
                        "the thread does not reach it"
                    }
                }
                Some(actor) => {
                    self.follow(self.at, argument);
                    return Some(actor);
                }
                None if matches!(named, Some(Actor::Thread(t)) if world.finished(t)) => "the thread has ended",
                None => {
                    if let Some((entry, actor)) = self.other(view) {
                        let first = || schedule.actor_name(schedule.choices[entry].actor);
                        self.note_departure(world, || {
                            format!("{} cannot go on yet; {} comes first", wanted(), first())
                        });
                        let argument = self.argument_at(world, entry).unwrap_or(0);
                        self.follow(entry, argument);
                        self.tolerance.moved += 1;
                        return Some(actor);
                    }
                    "it is not open, nor is what follows"
                }
            };
            let skipped = std::mem::take(&mut self.left[self.at]);
            self.note_departure(world, || match skipped {
                1 => format!("a choice of {} is skipped: {why}", wanted()),
                n => format!("{n} equal choices of {} are skipped: {why}", wanted()),
            });
            self.tolerance.skipped = self.tolerance.skipped.saturating_add(skipped);
            self.inserted = 0;
        }
    }

    fn insert(&mut self, world: &World, thread: ThreadId) -> Actor {
        let actor = Actor::Thread(thread);
        self.note_departure(world, || {
            format!("a step is inserted: {}", describe(world, Choice { actor, argument: 0 }))
        });
        self.tolerance.inserted += 1;
        self.inserted += 1;
        self.argument = 0;
        actor
    }
}

// A replay must see forced steps: the recording contains them.
impl Strategy for Tolerant {
    fn begin(&mut self, seed: u64) {
        self.names.begin(seed);
        self.rest.begin(seed);
        let choices = &self.schedule.choices;
        self.left = choices.iter().map(|c| c.count).collect();
        self.later = vec![choices.len(); choices.len()];
        let mut next = vec![choices.len(); self.schedule.actors.len()];
        for (i, choice) in choices.iter().enumerate().rev() {
            self.later[i] = std::mem::replace(&mut next[choice.actor as usize], i);
        }
        (self.at, self.argument, self.inserted, self.over) = (0, 0, 0, false);
        self.shifts.clear();
        self.tolerance = Tolerance::default();
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        if let Some(actor) = self.next(view) {
            return Ok(actor);
        }
        let actor = if view.openings.stop() { Actor::Stop } else { self.rest.choose(view)? };
        if !std::mem::replace(&mut self.over, true) {
            self.note_departure(view.world, || "the recording has ended, and the run continues".to_owned());
        }
        self.tolerance.inserted += 1;
        self.argument = 0;
        Ok(actor)
    }

    fn argument(&mut self, view: &View<'_>, actor: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        let fits = question.fits(self.argument, view.world.now());
        if fits { Ok(self.argument) } else { self.rest.argument(view, actor, question) }
    }
}
