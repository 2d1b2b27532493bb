//! The random walk: chooses each open actor with the same probability, then each argument.

use super::error::SpecError;
use super::spec::Spec;
use super::{Divergence, Strategy, View, random_actor, random_argument};
use crate::base::{IndexVec, Rng};
use crate::event::{Actor, Site, SiteId};
use crate::world::Question;
use std::fmt;

/// Parameters of the `random` strategy: there are none.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RandomSpec;

impl Spec for RandomSpec {
    type Strategy = RandomWalk;

    const NAME: &'static str = "random";
    const SYNTAX: &'static str = "random";
    const EXAMPLES: &'static [&'static str] = &["random"];

    fn parse(text: Option<&str>) -> Result<Option<Self>, SpecError> {
        Ok(text.is_none().then_some(Self))
    }

    fn build(&self, _: &IndexVec<SiteId, Site>) -> Result<RandomWalk, SpecError> {
        Ok(RandomWalk::new())
    }
}

impl fmt::Display for RandomSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAME)
    }
}

/// A uniform random walk over open actors.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::{NoObserver, run}, sched::RandomWalk, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let mut machine = model.machine(Limits::default());
/// let mut walk = RandomWalk::new();
/// // The second increment may overwrite the first: what was read then is old.
/// let mut ends = std::collections::BTreeSet::new();
/// for seed in 0..50 {
///     run(&mut machine, &mut walk, seed, &mut NoObserver, &stop);
///     ends.insert(machine.world.memory().cell(0));
/// }
/// assert_eq!(ends, [1, 2].into());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct RandomWalk {
    rng: Rng,
    // Scratch space for the instants of the clock.
    instants: Vec<u64>,
}

impl RandomWalk {
    /// Creates a random walk. [`Strategy::begin`] seeds it.
    #[must_use]
    pub fn new() -> Self {
        Self { rng: Rng::seeded(0), instants: Vec::new() }
    }

    /// Draws one of these actors, each with the same probability. There is at least one.
    pub(super) fn one_of(&mut self, actors: &[Actor]) -> Actor {
        self.rng.pick(actors)
    }
}

impl Default for RandomWalk {
    fn default() -> Self {
        Self::new()
    }
}

impl Strategy for RandomWalk {
    fn begin(&mut self, seed: u64) {
        self.rng = Rng::seeded(seed);
    }

    // A draw from one actor takes nothing from the generator (`Rng::below`), so a skipped step changes no later choice.
    #[inline]
    fn passes_over_forced(&self) -> bool {
        true
    }

    #[inline(always)]
    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        Ok(random_actor(&mut self.rng, view))
    }

    #[inline]
    fn argument(&mut self, view: &View<'_>, _: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        Ok(random_argument(&mut self.rng, &mut self.instants, view, question))
    }
}
