//! RaceFuzzer, algorithms 1 and 2: postpones threads at the statements of a pair until two of them race, then resolves
//! the race by a coin.
//!
//! The code follows the printed algorithms and the paper's remarks beside them:
//!
//! - When all enabled threads are postponed, one of them is removed from the postponed set. It performs its statement
//!   when it is picked next ("it will execute the remaining statements", case 1).
//! - A thread that has been postponed for too long is released in the same way (section 4, livelocks).
//! - The clock, events and the end of a run are actors beside the paper's threads. They are picked as threads are and
//!   are never postponed. They count in the set of all enabled actors.

use super::error::SpecError;
use super::spec::Spec;
use super::{Divergence, SiteSpec, Strategy, View, random_argument};
use crate::base::{IdSet, IndexVec, Rng};
use crate::event::{Actor, Choice, Site, SiteId, ThreadId};
use crate::world::Question;
use smallvec::SmallVec;
use std::fmt;

/// Parameters of the `directed` strategy: the pair, and when its threads are postponed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DirectedSpec {
    /// One statement of the pair.
    pub a: SiteSpec,
    /// The other statement of the pair.
    pub b: SiteSpec,
    /// Number of steps after which a postponed thread is released.
    pub patience: u64,
    /// `visits=40/3`: the number of visits of each statement in a run. Each run lets a random number of the first
    /// visits pass.
    pub visits: Option<(u32, u32)>,
}

impl Spec for DirectedSpec {
    type Strategy = Directed;

    const NAME: &'static str = "directed";
    const SYNTAX: &'static str = "directed:SITE~SITE[,patience=N][,visits=N/M]";
    const EXAMPLES: &'static [&'static str] = &["directed:SITE~SITE"];

    fn parse(text: Option<&str>) -> Result<Option<Self>, SpecError> {
        let Some(text) = text else { return Ok(None) };
        let (pair, options) = text.split_once(',').map_or((text, None), |(pair, options)| (pair, Some(options)));
        let (mut patience, mut visits) = (Directed::PATIENCE, None);
        for option in options.iter().flat_map(|o| o.split(',')) {
            match option.split_once('=') {
                Some(("patience", n)) => {
                    let wrong = |_| Self::wrong(n, "not a number of steps: use `patience=20000`");
                    patience = n.parse().map_err(wrong)?;
                }
                Some(("visits", n)) => visits = Some(parse_visits(n)?),
                _ => return Err(Self::no_option(option, "`patience=20000` or `visits=40/3`")),
            }
        }
        let Some((a, b)) = pair.split_once('~') else { return Ok(None) };
        Ok(Some(Self { a: a.trim().parse()?, b: b.trim().parse()?, patience, visits }))
    }

    fn targets(&self) -> Vec<SiteSpec> {
        vec![self.a.clone(), self.b.clone()]
    }

    fn build(&self, sites: &IndexVec<SiteId, Site>) -> Result<Directed, SpecError> {
        let (a, b) = (self.a.resolve(sites)?, self.b.resolve(sites)?);
        let directed = Directed::new([a.as_slice(), &b].concat(), self.patience);
        Ok(match self.visits {
            None => directed,
            Some((of_a, of_b)) => directed.from_visit(|s| if a.contains(&s) { of_a } else { of_b }),
        })
    }
}

fn parse_visits(text: &str) -> Result<(u32, u32), SpecError> {
    let both = text.split_once('/').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    let wrong = || DirectedSpec::wrong(text, "not how often two statements are visited: use `visits=40/3`");
    both.filter(|(a, b)| *a > 0 && *b > 0).ok_or_else(wrong)
}

impl fmt::Display for DirectedSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}~{}", Self::NAME, self.a, self.b)?;
        if self.patience != Directed::PATIENCE {
            write!(f, ",patience={}", self.patience)?;
        }
        self.visits.map_or(Ok(()), |(a, b)| write!(f, ",visits={a}/{b}"))
    }
}

/// A race that a run has reached: two threads are pending at these statements and access one location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hit {
    /// The step at which both statements were pending.
    pub step: u64,
    /// The statement that the coin chose to be performed first.
    pub first: SiteId,
    /// The statement that is performed second.
    pub second: SiteId,
    /// The threads that were pending at the statements, in the same order.
    pub threads: (ThreadId, ThreadId),
}

impl Hit {
    /// Returns whether the race is between these two statements. Two threads that race at one and the same statement of
    /// the race set are no evidence for the pair.
    #[must_use]
    pub fn is_of(&self, a: SiteId, b: SiteId) -> bool {
        (self.first, self.second) == (a, b) || (self.first, self.second) == (b, a)
    }
}

/// The directed scheduler of RaceFuzzer.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::{NoObserver, run}, sched::Directed, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("flag.race", "var x = 0; thread a { skip; skip; @r: if x == 0 { fail \"early\" } }; thread b { @w: x = 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let labelled = |l: &str| model.program.sites.enumerate().find(|(_, s)| s.label.as_deref() == Some(l)).unwrap().0;
/// let (r, w) = (labelled("r"), labelled("w"));
/// let mut directed = Directed::new(vec![r, w], Directed::PATIENCE);
/// let mut machine = model.machine(Limits::default());
/// run(&mut machine, &mut directed, 1, &mut NoObserver, &stop);
/// assert!(directed.hit().is_some_and(|hit| hit.is_of(r, w)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Directed {
    race_set: Vec<SiteId>,
    patience: u64,
    rng: Rng,
    // Scratch space for the instants of the clock.
    instants: Vec<u64>,
    // Each postponed thread with the step at which it was postponed.
    postponed: SmallVec<[(ThreadId, u64); 4]>,
    // Threads that were removed from `postponed` and perform their pending statement when they are picked next.
    released: IdSet<ThreadId>,
    // Threads of R (the threads that race with the picked one) that still have to perform their statement.
    burst: SmallVec<[ThreadId; 4]>,
    // The first race of each pair of statements.
    races: SmallVec<[Hit; 1]>,
    hits: u64,
    releases: u64,
    // For each statement of the race set, in the same order, the number of its visits in a run. `None` if threads are
    // postponed from the first visit on.
    counts: Option<Vec<u32>>,
    // For each statement, in the same order: the visit from which this run postpones, and the number of visits so far.
    passing: Vec<(u32, u32)>,
}

impl Directed {
    /// Default number of steps after which a postponed thread is released.
    pub const PATIENCE: u64 = 20_000;

    /// Creates a scheduler for these statements (the paper's RaceSet). It releases a thread that has been postponed for
    /// `patience` steps.
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

    /// Lets each run postpone threads at a statement only from its k-th visit on. The run draws k for each statement,
    /// from 1 to the given number of visits (at least 1).
    ///
    /// The paper postpones from the first visit on. A statement in a loop may race only in a later iteration; its
    /// threads would be postponed and released again and again before.
    #[must_use]
    pub fn from_visit(mut self, visits: impl Fn(SiteId) -> u32) -> Self {
        self.counts = Some(self.race_set.iter().map(|site| visits(*site).max(1)).collect());
        self
    }

    /// Returns the first race of this run.
    #[must_use]
    pub fn hit(&self) -> Option<Hit> {
        self.races.first().copied()
    }

    /// Returns the first race of this run for each pair of statements that raced.
    #[must_use]
    pub fn races(&self) -> &[Hit] {
        &self.races
    }

    /// Returns the number of races in this run.
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.hits
    }

    /// Returns the number of threads that were released without a race.
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

    // Removes one thread from the postponed set so that it performs its statement.
    fn release(&mut self, at: usize) {
        let (thread, _) = self.postponed.remove(at);
        self.released.set(thread, true);
        self.releases += 1;
    }

    // Algorithm 2: the postponed threads whose pending access conflicts with that of `thread`.
    fn racing(&self, view: &View<'_>, thread: ThreadId) -> SmallVec<[ThreadId; 4]> {
        let pending = |thread: ThreadId| view.world.access(&view.world.thread(thread).pending);
        let Some(access) = pending(thread) else { return SmallVec::new() };
        let races = |other: ThreadId| pending(other).is_some_and(|theirs| access.races(&theirs));
        self.postponed.iter().map(|(t, _)| *t).filter(|t| *t != thread && races(*t)).collect()
    }

    fn in_race_set(&self, view: &View<'_>, thread: ThreadId) -> bool {
        let at = view.world.thread(thread).site.and_then(|s| self.race_set.binary_search(&s).ok());
        at.is_some_and(|at| self.passing.get(at).is_none_or(|(first, passed)| passed + 1 >= *first))
            && view.world.access(&view.world.thread(thread).pending).is_some()
    }

    // Line 9 of algorithm 1: records the race of `thread` with each thread of R. `goes_first` is the coin's result for
    // `thread`.
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

    // Line 26 of algorithm 1, and the monitor thread of section 4.
    fn break_waits(&mut self, view: &View<'_>) {
        let now = view.world.steps();
        if let Some(at) = self.postponed.iter().position(|(_, since)| now - since >= self.patience) {
            self.release(at);
        }
        let others = view.openings.total() - view.openings.threads();
        // A postponed thread is pending at an access, which never blocks, so every postponed thread is enabled.
        if !self.postponed.is_empty() && others == 0 && self.postponed.len() == view.openings.threads() {
            let at = self.rng.below(self.postponed.len() as u32) as usize;
            self.release(at);
        }
    }

    // Line 5 of algorithm 1: a random actor that is open and not postponed.
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

// The scheduler must see forced steps: they release threads and count visits.
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
        // Threads of R perform their statements one after another, before any other actor is picked.
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
                // The threads of R perform their statements in the order in which they were postponed. The vector is
                // reversed because `pop` takes its last element.
                self.burst = racing.into_iter().rev().collect();
                let first = self.burst.pop().unwrap_or(other);
                return Ok(Actor::Thread(first));
            }
            // A released thread performs its statement, although it is in the race set.
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
