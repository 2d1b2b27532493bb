//! RaceFuzzer, algorithms 1 and 2: postpone threads at the statements of a pair until two of them race, then resolve the race by a coin.
//!
//! As printed, with what the paper says beside it. A thread that is taken out of the postponed set because every enabled thread is in it
//! performs its statement when it is picked next ("it will execute the remaining statements", case 1). A thread that has been postponed for
//! long is released likewise (section 4, livelocks). The clock, events and the end of a run are actors besides the paper's threads: they are
//! picked as threads are, are never postponed, and the set of all enabled counts them.

use super::{Divergence, Strategy, View, random_argument};
use crate::base::{IdSet, Rng};
use crate::event::{Actor, Choice, SiteId, ThreadId};
use crate::world::Question;
use smallvec::SmallVec;

/// A race that a run brought about: two threads stood at these statements, at one location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hit {
    /// The step at which both were pending.
    pub step: u64,
    /// The statement that the coin let go first.
    pub first: SiteId,
    /// The other.
    pub second: SiteId,
    /// The threads that stood there, in the same order.
    pub threads: (ThreadId, ThreadId),
}

impl Hit {
    /// Whether it is a race of these two statements. Two threads at one statement of the race set race as well, and that proves nothing of the pair.
    #[must_use]
    pub fn is_of(&self, a: SiteId, b: SiteId) -> bool {
        (self.first, self.second) == (a, b) || (self.first, self.second) == (b, a)
    }
}

/// The directed scheduler.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::{Unobserved, run}, sched::Directed, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("flag.race", "var x = 0; thread a { skip; skip; @r: if x == 0 { fail \"early\" } }; thread b { @w: x = 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let labelled = |l: &str| model.program.sites.enumerate().find(|(_, s)| s.label.as_deref() == Some(l)).unwrap().0;
/// let (r, w) = (labelled("r"), labelled("w"));
/// let mut directed = Directed::new(vec![r, w], Directed::PATIENCE);
/// let mut machine = model.machine(Limits::default());
/// run(&mut machine, &mut directed, 1, &mut Unobserved, &stop);
/// assert!(directed.hit().is_some_and(|hit| hit.is_of(r, w)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Directed {
    race_set: Vec<SiteId>,
    patience: u64,
    rng: Rng,
    // Room for the instants of the clock.
    instants: Vec<u64>,
    // With the step at which each was postponed.
    postponed: SmallVec<[(ThreadId, u64); 4]>,
    // Taken out of `postponed` to perform what they stand at.
    released: IdSet<ThreadId>,
    // Threads of R that still have to be executed.
    burst: SmallVec<[ThreadId; 4]>,
    // The first race of each pair of statements.
    races: SmallVec<[Hit; 1]>,
    hits: u64,
    releases: u64,
    // How often each statement of the race set is visited in a run, where the first visits are to pass, in the order of the race set.
    counts: Option<Vec<u32>>,
    // Of this run: visits that have to pass, and those that have passed.
    passing: Vec<(u32, u32)>,
}

impl Directed {
    /// Steps after which a postponed thread is released unless told otherwise.
    pub const PATIENCE: u64 = 20_000;

    /// Directs at these statements (the paper's RaceSet), and releases a thread that has been postponed for `patience` steps.
    #[must_use]
    pub fn new(mut race_set: Vec<SiteId>, patience: u64) -> Self {
        race_set.sort_unstable();
        race_set.dedup();
        Self {
            race_set,
            patience,
            rng: Rng::seeded(0),
            instants: Vec::new(),
            postponed: SmallVec::new(),
            released: IdSet::new(),
            burst: SmallVec::new(),
            races: SmallVec::new(),
            hits: 0,
            releases: 0,
            counts: None,
            passing: Vec::new(),
        }
    }

    /// The same, and a statement is looked at from its k-th visit on; each run draws k for each, up to the visits that are given (at least 1).
    ///
    /// The paper postpones at the first visit. Where a statement is in a loop, and races in a later round only, threads would be postponed and released again and again.
    #[must_use]
    pub fn from_visit(mut self, visits: impl Fn(SiteId) -> u32) -> Self {
        self.counts = Some(self.race_set.iter().map(|site| visits(*site).max(1)).collect());
        self
    }

    /// The first race of this run.
    #[must_use]
    pub fn hit(&self) -> Option<Hit> {
        self.races.first().copied()
    }

    /// The first race of this run for each two statements that raced.
    #[must_use]
    pub fn races(&self) -> &[Hit] {
        &self.races
    }

    /// How many races this run brought about.
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.hits
    }

    /// How many threads were let go without a race.
    #[must_use]
    pub fn releases(&self) -> u64 {
        self.releases
    }

    fn is_postponed(&self, thread: ThreadId) -> bool {
        self.postponed.iter().any(|(t, _)| *t == thread)
    }

    fn postpone(&mut self, thread: ThreadId, step: u64) {
        if !self.is_postponed(thread) {
            self.postponed.push((thread, step));
        }
    }

    // Takes one out, to perform its statement.
    fn release(&mut self, at: usize) {
        let (thread, _) = self.postponed.remove(at);
        self.released.set(thread, true);
        self.releases += 1;
    }

    // Algorithm 2.
    fn racing(&self, view: &View<'_>, thread: ThreadId) -> SmallVec<[ThreadId; 4]> {
        let Some(access) = view.world.thread(thread).pending.access() else { return SmallVec::new() };
        let races =
            |other: ThreadId| view.world.thread(other).pending.access().is_some_and(|theirs| access.conflicts(&theirs));
        self.postponed.iter().map(|(t, _)| *t).filter(|t| *t != thread && races(*t)).collect()
    }

    fn in_race_set(&self, view: &View<'_>, thread: ThreadId) -> bool {
        let at = view.world.thread(thread).site.and_then(|s| self.race_set.binary_search(&s).ok());
        at.is_some_and(|at| self.passing.get(at).is_none_or(|(first, passed)| passed + 1 >= *first))
            && view.world.thread(thread).pending.access().is_some()
    }

    // Line 9, for `thread` and each of R; the coin has said whether `thread` goes first.
    fn found(&mut self, view: &View<'_>, thread: ThreadId, racing: &[ThreadId], goes_first: bool) {
        self.hits += 1;
        let site = |t: ThreadId| view.world.thread(t).site;
        for other in racing {
            let (first, second) = if goes_first { (thread, *other) } else { (*other, thread) };
            let (Some(first), Some(second)) = (site(first), site(second)) else { continue };
            if !self.races.iter().any(|h| h.is_of(first, second)) {
                let threads = if goes_first { (thread, *other) } else { (*other, thread) };
                self.races.push(Hit { step: view.world.steps(), first, second, threads });
            }
        }
    }

    // Line 26, and the monitor thread of section 4.
    fn break_waits(&mut self, view: &View<'_>) {
        let now = view.world.steps();
        if let Some(at) = self.postponed.iter().position(|(_, since)| now - since >= self.patience) {
            self.release(at);
        }
        let others = view.openings.total() - view.openings.threads();
        // A postponed thread stands at an access and so stays enabled.
        if !self.postponed.is_empty() && others == 0 && self.postponed.len() == view.openings.threads() {
            let at = self.rng.below(self.postponed.len() as u32) as usize;
            self.release(at);
        }
    }

    // Line 5: a random actor that is enabled and not postponed.
    fn pick(&mut self, view: &View<'_>) -> Actor {
        let free = view.openings.total() - self.postponed.len();
        let mut k = self.rng.below(free as u32) as usize;
        for thread in view.world.enabled().iter() {
            if self.is_postponed(thread) {
                continue;
            }
            if k == 0 {
                return Actor::Thread(thread);
            }
            k -= 1;
        }
        view.world.open_actor(&view.openings, view.openings.threads() + k)
    }
}

impl Strategy for Directed {
    fn begin(&mut self, seed: u64) {
        self.rng = Rng::seeded(seed);
        self.postponed.clear();
        self.released.clear();
        self.burst.clear();
        self.races.clear();
        (self.hits, self.releases) = (0, 0);
        self.passing.clear();
        for count in self.counts.iter().flatten() {
            self.passing.push((1 + self.rng.below(*count), 0));
        }
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        if let Some(thread) = self.burst.pop() {
            return Ok(Actor::Thread(thread));
        }
        loop {
            self.break_waits(view);
            let actor = self.pick(view);
            let Actor::Thread(thread) = actor else { return Ok(actor) };
            if !self.in_race_set(view, thread) {
                return Ok(actor);
            }
            let racing = self.racing(view, thread);
            if let Some(other) = racing.first().copied() {
                let goes_first = self.rng.coin();
                self.found(view, thread, &racing, goes_first);
                if goes_first {
                    return Ok(actor);
                }
                self.postpone(thread, view.world.steps());
                self.postponed.retain(|(t, _)| !racing.contains(t));
                // Executed in the order in which they were postponed.
                self.burst = racing.into_iter().rev().collect();
                let first = self.burst.pop().unwrap_or(other);
                return Ok(Actor::Thread(first));
            }
            if self.released.contains(thread) {
                return Ok(actor);
            }
            self.postpone(thread, view.world.steps());
        }
    }

    fn argument(&mut self, view: &View<'_>, _: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        Ok(random_argument(&mut self.rng, &mut self.instants, view, question))
    }

    fn observe(&mut self, view: &View<'_>, choice: Choice) {
        if let Actor::Thread(thread) = choice.actor {
            self.released.set(thread, false);
            if self.counts.is_some() {
                let at = view.world.thread(thread).site.and_then(|s| self.race_set.binary_search(&s).ok());
                at.and_then(|at| self.passing.get_mut(at)).into_iter().for_each(|(_, passed)| *passed += 1);
            }
        }
    }
}
