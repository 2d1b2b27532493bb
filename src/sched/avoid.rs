//! Avoid: whoever stands at one of a few statements waits there as long as anybody else can act.
//!
//! It is for runs that would fail early. A statement at which runs fail is held back until all the others have done what they can: so the run comes to what lies behind the
//! failure, and often the failure does not come at all, since what the statement needs has been done by then. All else is a random walk. No queued message overtakes
//! another one: only those who act are held, so that every run is one that a random walk can make as well.
//!
//! Whoever is held is let go, for one step, when nobody else can act (the clock counts only while it may let somebody else go on); or after some patience, since another thread may
//! wait busily for the one that is held. Of several the one that goes is drawn.

use super::hold::goes_on_later;
use super::{Divergence, SiteSpec, SpecError, Strategy, View, random_actor, random_argument};
use crate::base::Rng;
use crate::event::{Actor, SiteId, ThreadId};
use crate::world::Question;
use std::fmt;
use std::str::FromStr;

/// The statements that are held back, at least one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AvoidSpec {
    /// The statements.
    pub sites: Vec<SiteSpec>,
}

impl FromStr for AvoidSpec {
    type Err = SpecError;

    // What follows `avoid:`.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        Ok(Self { sites: text.split(',').map(|site| site.trim().parse()).collect::<Result<_, _>>()? })
    }
}

impl fmt::Display for AvoidSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, site) in self.sites.iter().enumerate() {
            write!(f, "{}{site}", if i == 0 { "avoid:" } else { "," })?;
        }
        Ok(())
    }
}

/// The scheduler.
///
/// # Examples
///
/// ```
/// use raceflip::{event::Outcome, exec::{Unobserved, run}, sched::StrategySpec, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("init.race", "var o: Object; thread a { skip; skip; skip; o = new Object }; thread b { @use: use o }", &[])?;
/// // The use comes when all else has been done: after the initialization, whatever the seed.
/// let mut avoiding = "avoid:@use.read".parse::<StrategySpec>()?.build(&model.program.sites)?;
/// let mut machine = model.machine(Limits::default());
/// for seed in 0..20 {
///     let summary = run(&mut machine, &mut avoiding, seed, &mut Unobserved, &AtomicBool::new(false));
///     assert!(summary.outcome().is_some_and(|outcome| *outcome == Outcome::Ok));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Avoiding {
    // Sorted.
    sites: Vec<SiteId>,
    rng: Rng,
    // Room for the instants of the clock.
    instants: Vec<u64>,
    // Room for who is held.
    held: Vec<ThreadId>,
    // Steps since somebody was held and nobody was let go.
    waited: u64,
}

impl Avoiding {
    /// Steps after which one of those that are held is let go.
    pub const PATIENCE: u64 = 1_000;

    /// Holds whoever stands at one of these statements.
    #[must_use]
    pub fn new(mut sites: Vec<SiteId>) -> Self {
        sites.sort_unstable();
        sites.dedup();
        Self { sites, rng: Rng::seeded(0), instants: Vec::new(), held: Vec::new(), waited: 0 }
    }

    // Whether somebody who is not held can act, or will be able to once the clock has moved.
    fn others(&self, view: &View<'_>) -> bool {
        let View { world, openings } = *view;
        let act = openings.threads() - self.held.len() + openings.events();
        act > 0 || openings.clock() && world.threads().ids().any(|t| !self.held.contains(&t) && goes_on_later(world, t))
    }
}

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
        // Among the others; the run does not end while somebody is held.
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
