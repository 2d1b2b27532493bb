//! Every run of a program, one after the other, without keeping states: for guests whose states cannot be copied.
//!
//! Each run repeats the choices of the one before it up to the last choice that has an alternative, takes that, and
//! goes on with the first choices. Sleep sets leave out runs that only swap independent steps of runs before them
//! (Godefroid, *Partial-Order Methods*, chapter 5). They lead to the same states, so ends and neighbours are the same.

use super::{Divergence, Strategy, View};
use crate::event::{Actor, Choice, Op, SiteId, ThreadId};
use crate::world::{Question, StepMark, ThreadStage, World, independent};
use std::collections::BTreeSet;

// Maximum number of answers to one question that are tried. A random number of 32 bits has four billion.
const MOST_ANSWERS: u64 = 10_000;

/// A strategy that performs another run of a program each time, until there is none left.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::{NoObserver, run}, sched::Exhaustive, vm::Model, world::Limits};
/// # use std::{collections::BTreeSet, sync::atomic::AtomicBool};
/// # let stop = AtomicBool::new(false);
/// let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// let (mut machine, mut all) = (model.machine(Limits::default()), Exhaustive::new(None));
/// let mut ends = BTreeSet::new();
/// loop {
///     let summary = run(&mut machine, &mut all, 0, &mut NoObserver, &stop);
///     if summary.outcome().is_some() {
///         ends.insert(machine.world.memory().cell(0));
///     }
///     if !all.advance() {
///         break;
///     }
/// }
/// assert_eq!(ends, [1, 2].into());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Exhaustive {
    // The choices of the run at hand, with their alternatives.
    frames: Vec<Frame>,
    // Number of choices that the run has made.
    at: usize,
    // Maximum number of preemptions of a run.
    preemptions: Option<u32>,
    adjacent: BTreeSet<(SiteId, SiteId)>,
    // Actors that are asleep after the choice that was made last, if its step is quiet.
    drowsy: Vec<Actor>,
    is_redundant: bool,
    is_complete: bool,
}

#[derive(Clone, Debug)]
struct Frame {
    // All choices that are not asleep, those of one actor in a row.
    choices: Vec<Choice>,
    // Index of the choice that the run makes.
    now: usize,
    asleep: Vec<Actor>,
    mark: StepMark,
    // Preemptions of the run so far.
    preempted: u32,
    // The steps of the thread that has acted last.
    stretch: Stretch,
    // Whether the step of the choice that the run makes is quiet.
    is_quiet: bool,
    // The site of the choice that the run makes, if the thread only yields there.
    yields: Option<SiteId>,
    // Actors of earlier choices whose steps are not quiet: they do more than their operations, so their order matters.
    loud: Vec<Actor>,
}

// The steps of one thread since another one has acted.
#[derive(Clone, Copy, Default, Debug)]
struct Stretch {
    thread: Option<ThreadId>,
    // Where it has yielded last.
    yielded: Option<SiteId>,
    // Whether it has yielded there twice: it waits for another thread in a loop.
    spins: bool,
}

impl Exhaustive {
    /// Creates a strategy that begins with the first run. With `preemptions`, only runs with at most that many
    /// preemptions are performed: steps at which a thread is left that could go on.
    #[must_use]
    pub fn new(preemptions: Option<u32>) -> Self {
        Self {
            frames: Vec::new(),
            at: 0,
            preemptions,
            adjacent: BTreeSet::new(),
            drowsy: Vec::new(),
            is_redundant: false,
            is_complete: preemptions.is_none(),
        }
    }

    /// Moves on to the next run. Returns false if all of them were performed.
    pub fn advance(&mut self) -> bool {
        (self.at, self.is_redundant) = (0, false);
        while let Some(frame) = self.frames.last_mut() {
            if !frame.is_quiet {
                frame.loud.push(frame.choices[frame.now].actor);
            }
            (frame.now, frame.is_quiet) = (frame.now + 1, false);
            if frame.now < frame.choices.len() {
                return true;
            }
            self.frames.pop();
        }
        false
    }

    /// Returns whether the last run was left because it only swaps independent steps of an earlier one.
    #[must_use]
    pub fn is_redundant(&self) -> bool {
        self.is_redundant
    }

    /// Returns whether nothing was left out so far. What is left out: preemptions above the bound, answers to a
    /// question with more than 10,000 of them, instants of the clock at which a thread could go on, and further rounds
    /// of a loop that yields while other threads could act.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Returns the pairs of sites whose conflicting plain accesses were side by side in some state: each of them can be
    /// performed next (RaceFuzzer, algorithm 2). The lower site comes first.
    #[must_use]
    pub fn adjacent(&self) -> &BTreeSet<(SiteId, SiteId)> {
        &self.adjacent
    }

    fn note_adjacent(&mut self, world: &World) {
        let pending_access = |id: ThreadId| {
            let thread = world.thread(id);
            let access = (thread.status == ThreadStage::Alive).then(|| world.access(&thread.pending)).flatten()?;
            Some((thread.site?, access))
        };
        for (i, a) in world.enabled().iter().enumerate() {
            let Some((site, access)) = pending_access(a) else { continue };
            for (other, second) in world.enabled().iter().skip(i + 1).filter_map(pending_access) {
                if access.races(&second) {
                    self.adjacent.insert((site.min(other), site.max(other)));
                }
            }
        }
    }

    // Returns the frame of a state that the run has reached for the first time.
    fn frame(&mut self, view: &View<'_>) -> Frame {
        self.note_adjacent(view.world);
        let mark = StepMark::of(view.world);
        let (mut asleep, mut preempted, mut stretch) = (Vec::new(), 0, Stretch::default());
        if let Some(before) = self.frames.last_mut() {
            let actor = before.choices[before.now].actor;
            before.is_quiet = before.mark.is_quiet(view.world, actor);
            if before.is_quiet {
                asleep.clone_from(&self.drowsy);
            }
            (preempted, stretch) = before.after(actor);
        }
        let choices = self.choices(view, &asleep, (preempted, stretch));
        Frame { choices, now: 0, asleep, mark, preempted, stretch, is_quiet: false, yields: None, loud: Vec::new() }
    }

    fn choices(&mut self, view: &View<'_>, asleep: &[Actor], (preempted, stretch): (u32, Stretch)) -> Vec<Choice> {
        let (world, mut all) = (view.world, Vec::new());
        let last = stretch.thread.map(Actor::Thread).filter(|last| world.is_open(*last));
        let is_bound = !stretch.spins && self.preemptions.is_some_and(|most| preempted >= most);
        let only = last.filter(|_| is_bound);
        // A thread that waits in a loop lets others act first.
        let spinning = last.filter(|_| stretch.spins && view.openings.total() > 1);
        self.is_complete &= spinning.is_none();
        for actor in world.open_actors(view.openings) {
            if asleep.contains(&actor) || spinning == Some(actor) || only.is_some_and(|only| only != actor) {
                continue;
            }
            match world.question(actor) {
                None => all.push(Choice { actor, argument: 0 }),
                Some(Question::Instant) => {
                    self.is_complete &= world.enabled().is_empty();
                    all.extend(world.instants().into_iter().map(|argument| Choice { actor, argument }));
                }
                Some(question) => {
                    let answers = question.answers().expect("only the clock has no number of answers");
                    self.is_complete &= answers <= MOST_ANSWERS;
                    all.extend((0..answers.min(MOST_ANSWERS)).map(|argument| Choice { actor, argument }));
                }
            }
        }
        all
    }

    // Computes the actors that may be asleep after the choice that is made now.
    fn fall_asleep(&mut self, world: &World) {
        self.drowsy.clear();
        // With a bound, the run before may have been left out because of it.
        if self.preemptions.is_some() {
            return;
        }
        let frame = self.frames.last().expect("a choice is being made");
        let actor = frame.choices[frame.now].actor;
        let done = frame.choices[..frame.now].iter().map(|choice| choice.actor);
        let done = done.filter(|done| *done != actor && !frame.loud.contains(done));
        for other in frame.asleep.iter().copied().chain(done) {
            if !self.drowsy.contains(&other) && independent(world, other, actor) {
                self.drowsy.push(other);
            }
        }
    }

    fn diverged(view: &View<'_>, expected: &str) -> Box<Divergence> {
        Box::new(Divergence {
            step: view.world.steps(),
            expected: expected.to_owned(),
            found: "a state in which that is not open".to_owned(),
        })
    }
}

impl Frame {
    // Returns the number of preemptions after the choice of this frame, and the steps of the thread that has acted.
    fn after(&self, actor: Actor) -> (u32, Stretch) {
        let Actor::Thread(thread) = actor else { return (self.preempted, self.stretch) };
        let goes_on = self.stretch.thread == Some(thread);
        let could_go_on = |last| self.choices.iter().any(|choice| choice.actor == Actor::Thread(last));
        let leaves = !goes_on && self.stretch.thread.is_some_and(could_go_on);
        let before = self.stretch.yielded.filter(|_| goes_on);
        let spins = self.yields.is_some() && self.yields == before;
        let stretch = Stretch { thread: Some(thread), yielded: self.yields.or(before), spins };
        (self.preempted + u32::from(leaves), stretch)
    }
}

// Every step has a frame, forced ones as well: what is asleep depends on them.
impl Strategy for Exhaustive {
    fn begin(&mut self, _: u64) {
        self.at = 0;
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        if self.at == self.frames.len() {
            let frame = self.frame(view);
            if frame.choices.is_empty() {
                self.is_redundant = true;
                return Err(Self::diverged(view, "a choice that no run before has made"));
            }
            self.frames.push(frame);
        }
        let Choice { actor, .. } = self.frames[self.at].choices[self.frames[self.at].now];
        if !view.world.is_open(actor) {
            return Err(Self::diverged(view, "the choice of the run before"));
        }
        self.at += 1;
        if self.at == self.frames.len() {
            self.fall_asleep(view.world);
            let frame = self.frames.last_mut().expect("a choice is being made");
            frame.yields = match actor {
                Actor::Thread(thread) if view.world.thread(thread).pending == Op::Yield => {
                    view.world.thread(thread).site
                }
                _ => None,
            };
        }
        Ok(actor)
    }

    fn argument(&mut self, _: &View<'_>, _: Actor, _: Question) -> Result<u64, Box<Divergence>> {
        let frame = &self.frames[self.at - 1];
        Ok(frame.choices[frame.now].argument)
    }
}
