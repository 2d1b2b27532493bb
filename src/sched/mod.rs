//! Strategies: they choose the next actor at each point of a run.
//!
//! Each strategy has a file of its own, and each one that a command line can name has a row in `spec`. A strategy reads
//! the world, but does not depend on the guest. It draws random numbers only from its own generator.
//!
//! | strategy | chooses |
//! |---|---|
//! | [`RandomWalk`] | each open actor with the same probability |
//! | [`RoundRobin`] | threads in turn, without any random choice |
//! | [`Steady`] | the thread that acted last, as long as it is enabled: the default choice of shrinking |
//! | [`Pct`] | by random priorities, with a bound on the probability of finding a bug of a given depth |
//! | [`Pctcp`] | as PCT, with one priority per chain of ordered threads and tasks |
//! | [`Pos`] | by random priorities, drawn anew for operations that conflict with the last one |
//! | [`Surw`] | such that each order of the interesting statements is equally likely |
//! | [`DelayBounded`] | by a deterministic schedule with a few delays |
//! | [`Exhaustive`] | every run, one after the other |
//! | [`Directed`] | as RaceFuzzer: it brings two racing statements side by side |
//! | [`Holding`] | at random, but holds one operation until another one has been performed, to force an order |
//! | [`Asked`] | as a random walk or POS, but prefers that one statement reads what another one has written |
//! | [`Avoiding`] | at random, but postpones a few statements while any other actor can act |
//! | [`Replay`] | the recorded choices; it stops where one does not fit |
//! | [`Tolerant`] | the recorded choices as far as they fit |
//! | [`Rerun`] | the raw choices of an earlier run of the same program |
//! | [`Prefixed`] | the beginning of such a run, then as another strategy |
//!
//! [`StrategySpec`] names a strategy on a command line. [`ScheduleRecorder`] and [`ChoiceLog`] are observers that
//! record the choices of any strategy. [The tutorial](crate#9-a-strategy-of-ones-own) shows how to write a strategy.

mod asked;
mod asked_spec;
mod avoid;
mod bounded;
mod chains;
mod counts;
mod decompose;
mod delay;
mod directed;
mod error;
mod exhaustive;
mod guide;
mod hold;
mod hold_spec;
mod log;
mod moment;
mod names;
pub(crate) mod observer;
mod pct;
mod pctcp;
mod pos;
mod prefix;
mod random;
mod recorder;
mod release_reason;
mod replay;
mod round_robin;
mod schedule;
mod sites;
mod spec;
mod steady;
mod surw;
mod tolerant;

pub use asked::{Ask, Asked, AskedBase, AskedScope};
pub use asked_spec::{AskedSpec, AskedWriter};
pub use avoid::{AvoidSpec, Avoiding};
pub use counts::{EventCounter, ProfileCounts, SurwSpec};
pub use delay::{DelayBounded, DelaySpec};
pub use directed::{Directed, DirectedSpec, Hit};
pub use error::{MissingSite, SpecError};
pub use exhaustive::Exhaustive;
pub use guide::{Guide, GuideRecorder};
pub use hold::{Hold, HoldOrders, Holding};
pub use hold_spec::HoldSpec;
pub use log::{ChoiceLog, RawChoices, Rerun};
pub use moment::{Moment, Pedigree};
pub use names::{ContextNames, NameId, Names};
pub use pct::{Pct, PctSpec};
pub use pctcp::{Pctcp, PctcpSpec};
pub use pos::{Pos, PosSpec};
pub use prefix::Prefixed;
pub use random::{RandomSpec, RandomWalk};
pub use recorder::ScheduleRecorder;
pub use release_reason::ReleaseReason;
pub use replay::{Divergence, Replay};
pub use round_robin::{RoundRobin, RoundRobinSpec};
pub use schedule::{ActorName, Schedule, ScheduledChoice, describe};
pub use sites::{SiteSpec, site_text};
pub use spec::{NamedStrategy, StrategySpec};
pub use steady::{Steady, answer};
pub use surw::Surw;
pub use tolerant::{Tolerance, Tolerant};

use crate::event::{Actor, Choice};
use crate::world::{Openings, Question, World};

/// The view of a strategy: open actors and pending operations, without mutable access.
#[derive(Clone, Copy)]
pub struct View<'w> {
    /// The state. It determines the open actors and their pending operations.
    pub world: &'w World,
    /// The open actors, counted by kind. At least one actor is open.
    pub openings: Openings,
}

/// A strategy: it makes the choices of a run.
///
/// The contract: [`begin`](Self::begin) is called once per run. Then, for each step, [`choose`](Self::choose) returns
/// an actor that is open in the view, [`argument`](Self::argument) answers the actor's question if it has one, and
/// [`observe`](Self::observe) receives the choice before it is performed. A strategy is also called where only one
/// answer is possible, and must not draw a random number there. The choices may depend only on the seed and on what the
/// strategy has been shown. Only a replay may return an error.
pub trait Strategy {
    /// Starts a new run with this seed.
    fn begin(&mut self, seed: u64);

    /// Returns the actor that performs the next step.
    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>>;

    /// Returns the argument of the actor's step: the index of a waiter, a branch (0 or 1), or an instant out of
    /// [`World::instants`].
    fn argument(&mut self, view: &View<'_>, actor: Actor, question: Question) -> Result<u64, Box<Divergence>>;

    /// Whether `choose` and `observe` may be skipped for forced steps (exactly one open actor, a thread). The engine
    /// then performs such steps in a burst. Must not change during a run.
    ///
    /// `false` is always correct, and costs only speed. `true` is correct if a forced step leaves the strategy as it
    /// was: the step draws nothing, counts nothing, and is remembered at most as the thread that acted last, which a
    /// burst does not change. Every strategy of this library of which that is true answers `true`. The others must
    /// answer `false`; each of them says why.
    fn passes_over_forced(&self) -> bool {
        false
    }

    /// Receives the choice of the next step, before the step is performed.
    fn observe(&mut self, view: &View<'_>, choice: Choice) {
        let _ = (view, choice);
    }
}

// A box of a strategy and a reference to a strategy are strategies, too.
macro_rules! forwards {
    ($($to:ty),*) => {$(
        impl<S: Strategy + ?Sized> Strategy for $to {
            fn begin(&mut self, seed: u64) {
                (**self).begin(seed);
            }

            fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
                (**self).choose(view)
            }

            fn argument(&mut self, view: &View<'_>, actor: Actor, question: Question) -> Result<u64, Box<Divergence>> {
                (**self).argument(view, actor, question)
            }

            fn observe(&mut self, view: &View<'_>, choice: Choice) {
                (**self).observe(view, choice);
            }

            fn passes_over_forced(&self) -> bool {
                (**self).passes_over_forced()
            }
        }
    )*};
}

forwards!(Box<S>, &mut S);

/// Draws an open actor. Each one has the same probability; only the end of a run with components is rarer.
#[inline(always)]
fn random_actor(rng: &mut crate::base::Rng, view: &View<'_>) -> Actor {
    let k = rng.below(view.openings.total() as u32);
    match view.world.open_actor(&view.openings, k as usize) {
        Actor::Stop if view.world.platform().is_some() => later_stop(rng, view),
        actor => actor,
    }
}

/// One of this many draws of the end of a run with components ends it. A life cycle is a chain of rows, and the run
/// rests between any two of them: a walk that ends there with an even chance would rarely see the end of the chain.
const STOP_ONE_IN: u32 = 64;

#[inline(never)]
fn later_stop(rng: &mut crate::base::Rng, view: &View<'_>) -> Actor {
    let others = view.openings.total() as u32 - 1;
    if others == 0 || rng.below(STOP_ONE_IN) == 0 {
        return Actor::Stop;
    }
    // The end of the run is the last of the open actors.
    let k = rng.below(others);
    view.world.open_actor(&view.openings, k as usize)
}

/// Draws a priority of 64 bits: enough that two priorities are almost never equal, so that a priority that is drawn
/// later is equally likely to take any rank.
fn random_priority(rng: &mut crate::base::Rng) -> u64 {
    u64::from(rng.below(u32::MAX)) << 32 | u64::from(rng.below(u32::MAX))
}

/// Draws an argument uniformly. `instants` is scratch space that is reused between calls.
fn random_argument(rng: &mut crate::base::Rng, instants: &mut Vec<u64>, view: &View<'_>, question: Question) -> u64 {
    match question.answers() {
        // A coin is not drawn like a number below 2, and a seed has to go on meaning the same run.
        Some(_) if question == Question::Branch => u64::from(rng.coin()),
        Some(n) => u64::from(rng.below(n as u32)),
        None => {
            view.world.instants_into(instants);
            instants[rng.below(instants.len() as u32) as usize]
        }
    }
}
