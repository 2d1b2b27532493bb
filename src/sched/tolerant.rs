//! Replays a schedule of a model that was edited since: it follows what it can, and tells where it could not.
//!
//! A recorded choice names its actor and holds eight bits of what that stood at: the operation, its body and its number there. The site itself
//! cannot be read back from these. But it can be recognized, also when sites before it in its body were added or removed: by how far the
//! numbers of that body have shifted. So a thread whose pending operation is not the recorded one stands, tried in this order,
//!
//! 1. at the recorded operation under another shift of its body: the choice is followed, and the shift kept;
//! 2. at what the recording has a little later for this thread: statements are gone, and the choice is skipped;
//! 3. at something new: the thread goes on, a step that is inserted, until it stands at the recorded operation. After [`INSERTED`] steps
//!    the choice is skipped after all.
//!
//! Equal choices in a row, an entry of the recording, are skipped together: nothing happens between them that would let the next one fit.
//!
//! A choice of an actor that cannot act waits while a later choice of another one fits; if none does, it is skipped. After the last choice
//! threads go on in turn. What it cannot tell: an operation of one word put in place of another with the same number, and (one time in 256 for
//! each shift that is tried) two that have the same eight bits.

use super::replay::Replay;
use super::schedule::{Schedule, Scheduled, about_to, check_byte_at, describe};
use super::{Divergence, RoundRobin, Strategy, View};
use crate::event::{Actor, BodyId, Choice, ThreadId};
use crate::world::{Question, World};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Steps that a thread makes on its way to a recorded operation before the choice is given up.
const INSERTED: u32 = 16;
// Recorded choices of a thread that are looked at for statements that are gone.
const AHEAD: usize = 8;
// Entries of the recording that are looked at for one that fits now.
const WINDOW: usize = 64;
// How much further a body may have shifted.
const SHIFTS: i64 = 4;
// Departures that are kept in words.
const TOLD: usize = 20;

/// How far a tolerant replay kept to its recording.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Tolerance {
    /// Recorded choices that were made.
    pub followed: u64,
    /// Of these, those that were made before an earlier one.
    pub moved: u64,
    /// Recorded choices that were not made.
    pub skipped: u64,
    /// Steps that the recording does not have.
    pub inserted: u64,
    /// The first departures: the step, counted from 0, and what happened there.
    pub departures: Vec<(u64, String)>,
    /// How many more there were.
    pub untold: u64,
}

/// A replay that goes on where it does not fit.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::{Unobserved, run}, sched::{Recorder, RoundRobin, Tolerant}, vm::Model, world::Limits};
/// # use std::sync::{Arc, atomic::AtomicBool};
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let mut recorder = Recorder::new(RoundRobin::default());
/// let mut machine = model.machine(Limits::default());
/// run(&mut machine, &mut recorder, 0, &mut Unobserved, &stop);
/// let mut tolerant = Tolerant::new(Arc::new(recorder.schedule(&machine.world)));
///
/// let edited = "var x = 0; thread a { skip; x += 1 }; thread b { x += 1 }";
/// let edited = Model::from_text("add.race", edited, &[])?;
/// let summary = run(&mut edited.machine(Limits::default()), &mut tolerant, 0, &mut Unobserved, &stop);
/// assert!(summary.outcome().is_some());
/// let told = tolerant.finish();
/// assert_eq!((told.skipped, told.inserted), (0, 1), "{told:?}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Tolerant {
    schedule: Arc<Schedule>,
    // Choices left of each entry of the schedule.
    left: Vec<u64>,
    // The next entry of the same actor; past the end if there is none.
    later: Vec<usize>,
    at: usize,
    argument: u64,
    names: Replay,
    shifts: BTreeMap<BodyId, i64>,
    // Steps inserted in a row for the choice at hand.
    inserted: u32,
    rest: RoundRobin,
    // Whether it was told that the recording is over.
    over: bool,
    told: Tolerance,
}

impl Tolerant {
    /// A replay of this schedule.
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
            told: Tolerance::default(),
            schedule,
        }
    }

    /// How far it kept to the recording; what is left of that when the run has ended counts as skipped.
    #[must_use]
    pub fn finish(mut self) -> Tolerance {
        self.told.skipped = self.left.iter().fold(self.told.skipped, |sum, left| sum.saturating_add(*left));
        self.told
    }

    fn tell(&mut self, world: &World, what: impl FnOnce() -> String) {
        if self.told.departures.len() < TOLD {
            self.told.departures.push((world.steps(), what()));
        } else {
            self.told.untold += 1;
        }
    }

    fn follow(&mut self, entry: usize) {
        self.left[entry] -= 1;
        self.argument = self.schedule.choices[entry].argument;
        self.told.followed += 1;
        self.inserted = 0;
    }

    // How far the numbers of the thread's body have shifted, if what it stands at is this choice; the shift that is known already first.
    fn fits(&self, world: &World, choice: &Scheduled, actor: Actor, shifts: &[i64]) -> Option<i64> {
        let stand = about_to(world, actor);
        let check = |shift: &i64| check_byte_at(world, &self.schedule, choice.actor, stand, *shift);
        shifts.iter().copied().find(|shift| check(shift) == Some(choice.check))
    }

    fn body(world: &World, actor: Actor) -> Option<BodyId> {
        let Actor::Thread(thread) = actor else { return None };
        world.thread(thread).site.map(|s| world.setup().sites[s].body)
    }

    fn shift(&self, world: &World, actor: Actor) -> i64 {
        Self::body(world, actor).and_then(|b| self.shifts.get(&b)).copied().unwrap_or(0)
    }

    // Whether the actor stands at this choice, as far as is known or can be guessed. A guess is kept.
    fn stands_at(&mut self, world: &World, choice: &Scheduled, actor: Actor, guess: bool) -> bool {
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

    // Whether the actor stands at what the recording has for it after the entry `from`; then statements in between are gone.
    fn is_ahead(&self, world: &World, from: usize, actor: Actor) -> bool {
        let known = self.shift(world, actor);
        let own = std::iter::successors(self.later.get(from), |i| self.later.get(**i)).copied();
        let own = own.take_while(|i| *i < self.left.len()).filter(|i| self.left[*i] > 0).take(AHEAD);
        (1i64..).zip(own).any(|(gone, later)| {
            self.fits(world, &self.schedule.choices[later], actor, &[known, known - gone]).is_some()
        })
    }

    // A later choice that fits now, of an actor that has none before it.
    fn other(&mut self, view: &View<'_>) -> Option<(usize, Actor)> {
        let choices = self.schedule.clone();
        let mut passed = vec![choices.choices[self.at].actor];
        for (i, choice) in choices.choices.iter().enumerate().skip(self.at + 1).take(WINDOW) {
            if self.left[i] == 0 || passed.contains(&choice.actor) {
                continue;
            }
            passed.push(choice.actor);
            let actor = self.names.actor_of(view.world, choice.actor as usize);
            // The end of a run and the clock are no way to get on.
            let thread = actor.filter(|a| matches!(a, Actor::Thread(_) | Actor::Event(_)) && view.world.is_open(*a));
            if let Some(actor) = thread
                && self.stands_at(view.world, choice, actor, false)
            {
                return Some((i, actor));
            }
        }
        None
    }

    // The next choice out of the recording, or a step on the way to it; `None` when nothing is left.
    fn next(&mut self, view: &View<'_>) -> Option<Actor> {
        let world = view.world;
        let schedule = self.schedule.clone();
        loop {
            while self.left.get(self.at) == Some(&0) {
                self.at += 1;
            }
            let choice = schedule.choices.get(self.at)?;
            let wanted = || schedule.told(choice.actor);
            let named = self.names.actor_of(world, choice.actor as usize);
            let why = match named.filter(|a| world.is_open(*a)) {
                // An instant that has passed already needs no tick.
                Some(Actor::Clock) if choice.argument <= world.now() => "the clock is there already",
                Some(actor @ Actor::Thread(thread)) => {
                    if self.stands_at(world, choice, actor, true) {
                        self.follow(self.at);
                        return Some(actor);
                    }
                    if self.is_ahead(world, self.at, actor) {
                        "the thread stands at what comes after it"
                    } else if self.inserted < INSERTED {
                        return Some(self.insert(world, thread));
                    } else {
                        "the thread does not come to it"
                    }
                }
                Some(actor) => {
                    self.follow(self.at);
                    return Some(actor);
                }
                None if matches!(named, Some(Actor::Thread(t)) if world.finished(t)) => "the thread has ended",
                None => {
                    if let Some((entry, actor)) = self.other(view) {
                        let first = || schedule.told(schedule.choices[entry].actor);
                        self.tell(world, || format!("{} cannot go on yet; {} comes first", wanted(), first()));
                        self.follow(entry);
                        self.told.moved += 1;
                        return Some(actor);
                    }
                    "it is not open, nor is what follows"
                }
            };
            let skipped = std::mem::take(&mut self.left[self.at]);
            self.tell(world, || match skipped {
                1 => format!("a choice of {} is skipped: {why}", wanted()),
                n => format!("{n} equal choices of {} are skipped: {why}", wanted()),
            });
            self.told.skipped = self.told.skipped.saturating_add(skipped);
            self.inserted = 0;
        }
    }

    fn insert(&mut self, world: &World, thread: ThreadId) -> Actor {
        let actor = Actor::Thread(thread);
        self.tell(world, || format!("a step is inserted: {}", describe(world, Choice { actor, argument: 0 })));
        self.told.inserted += 1;
        self.inserted += 1;
        self.argument = 0;
        actor
    }
}

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
        self.told = Tolerance::default();
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        if let Some(actor) = self.next(view) {
            return Ok(actor);
        }
        let actor = if view.openings.stop() { Actor::Stop } else { self.rest.choose(view)? };
        if !std::mem::replace(&mut self.over, true) {
            self.tell(view.world, || "the recording is over, and the run goes on".to_owned());
        }
        self.told.inserted += 1;
        self.argument = 0;
        Ok(actor)
    }

    fn argument(&mut self, view: &View<'_>, actor: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        let fits = match question {
            Question::Waiter(n) => self.argument < n as u64,
            Question::Branch => self.argument < 2,
            Question::Instant => self.argument > view.world.now(),
        };
        if fits { Ok(self.argument) } else { self.rest.argument(view, actor, question) }
    }
}
