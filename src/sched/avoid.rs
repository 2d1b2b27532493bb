//! Holds every thread that is pending at one of a few statements, as long as another actor can act.
//!
//! The strategy is for models whose runs would fail early. A statement at which runs fail is held until all other
//! actors have no step left. So the run reaches the code behind the failure. Often the failure does not happen at all,
//! since by then the preconditions of the statement are met. All other choices are those of a random walk. A queued
//! message never overtakes another one: only actors are held, so a random walk can produce every such run as well.
//!
//! A held thread is released for one step when no other actor can act (the clock counts only if its advance can enable
//! another thread). It is also released after some patience, since another thread may wait busily for it. If several
//! threads are held, one of them is drawn.

use super::error::SpecError;
use super::hold::resumes_later;
use super::spec::{Spec, parse_sites, write_sites};
use super::{Divergence, SiteSpec, Strategy, View, random_actor, random_argument};
use crate::base::{IndexVec, Rng};
use crate::event::{Actor, Site, SiteId, ThreadId};
use crate::world::Question;
use std::fmt;

/// Parameters of the `avoid` strategy: the statements to hold threads at, at least one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AvoidSpec {
    /// The statements.
    pub sites: Vec<SiteSpec>,
}

impl Spec for AvoidSpec {
    type Strategy = Avoiding;

    const NAME: &'static str = "avoid";
    const SYNTAX: &'static str = "avoid:SITE,...";
    const EXAMPLES: &'static [&'static str] = &["avoid:SITE,SITE"];

    fn parse(text: Option<&str>) -> Result<Option<Self>, SpecError> {
        let Some(text) = text else { return Ok(None) };
        Ok(Some(Self { sites: parse_sites(text)? }))
    }

    fn targets(&self) -> Vec<SiteSpec> {
        self.sites.clone()
    }

    fn build(&self, sites: &IndexVec<SiteId, Site>) -> Result<Avoiding, SpecError> {
        let all: Result<Vec<_>, _> = self.sites.iter().map(|site| site.resolve(sites)).collect();
        Ok(Avoiding::new(all?.concat()))
    }
}

impl fmt::Display for AvoidSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_sites(f, Self::NAME, &self.sites)
    }
}

/// The scheduler of the `avoid` strategy.
///
/// # Examples
///
/// ```
/// use raceflip::{event::Outcome, exec::{NoObserver, run}, sched::StrategySpec, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("init.race", "var o: Object; thread a { skip; skip; skip; o = new Object }; thread b { @use: use o }", &[])?;
/// // The use comes when all else has been done: after the initialization, whatever the seed.
/// let mut avoiding = "avoid:@use.read".parse::<StrategySpec>()?.build(&model.program.sites)?;
/// let mut machine = model.machine(Limits::default());
/// for seed in 0..20 {
///     let summary = run(&mut machine, &mut avoiding, seed, &mut NoObserver, &AtomicBool::new(false));
///     assert!(summary.outcome().is_some_and(|outcome| *outcome == Outcome::Ok));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Avoiding {
    // The statements, sorted.
    sites: Vec<SiteId>,
    rng: Rng,
    // Scratch space for the instants of the clock.
    instants: Vec<u64>,
    // The threads that are held at this step.
    held: Vec<ThreadId>,
    // Number of steps at which a thread was held, since the last release.
    waited: u64,
}

impl Avoiding {
    /// Number of steps after which one of the held threads is released.
    pub const PATIENCE: u64 = 1_000;

    /// Creates a scheduler that holds every thread that is pending at one of these statements.
    #[must_use]
    pub fn new(mut sites: Vec<SiteId>) -> Self {
        sites.sort_unstable();
        sites.dedup();
        Self { sites, rng: Rng::seeded(0), instants: Vec::new(), held: Vec::new(), waited: 0 }
    }

    // Whether an actor that is not held can act, now or after an advance of the clock.
    fn others(&self, view: &View<'_>) -> bool {
        let View { world, openings } = *view;
        let act = openings.threads() - self.held.len() + openings.events();
        act > 0 || openings.clock() && world.threads().ids().any(|t| !self.held.contains(&t) && resumes_later(world, t))
    }
}

// The scheduler must see forced steps: one that performs an avoided statement ends the wait.
impl Strategy for Avoiding {
    fn begin(&mut self, seed: u64) {
        self.rng = Rng::seeded(seed);
        self.waited = 0;
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        let world = view.world;
        let at = |t: &ThreadId| world.thread(*t).site.is_some_and(|site| self.sites.binary_search(&site).is_ok());
        let mut held = std::mem::take(&mut self.held);
        held.clear();
        held.extend(world.enabled().iter().filter(at));
        self.held = held;
        if self.held.is_empty() {
            return Ok(random_actor(&mut self.rng, view));
        }
        if self.waited >= Self::PATIENCE || !self.others(view) {
            self.waited = 0;
            let k = self.rng.below(self.held.len() as u32) as usize;
            return Ok(Actor::Thread(self.held[k]));
        }
        self.waited += 1;
        // The choice is among the other actors. The end of the run is left out: a run must not end while a thread is
        // held.
        let is_free = |actor: &Actor| match actor {
            Actor::Thread(thread) => !self.held.contains(thread),
            Actor::Stop => false,
            Actor::Clock | Actor::Event(_) => true,
        };
        let free = view.openings.total() - self.held.len() - usize::from(view.openings.stop());
        let k = self.rng.below(free as u32) as usize;
        let mut all = world.open_actors(view.openings).filter(is_free);
        Ok(all.nth(k).unwrap_or(Actor::Thread(self.held[0])))
    }

    fn argument(&mut self, view: &View<'_>, _: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        Ok(random_argument(&mut self.rng, &mut self.instants, view, question))
    }
}
