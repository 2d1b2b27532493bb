//! Strategies: who acts next.
//!
//! One file for each, and a row in `spec` for each that can be named. A strategy knows the world and nothing of the guest; it draws only from its own generator.
//!
//! | strategy | chooses |
//! |---|---|
//! | [`RandomWalk`] | every open actor as likely as any other |
//! | [`RoundRobin`] | threads in turn: no chance at all |
//! | [`Steady`] | the thread that acted last, as long as it can: what shrinking calls the default |
//! | [`Pct`] | by random priorities; a bound on finding bugs of a given depth |
//! | [`Pctcp`] | the same, with a priority for each chain of threads and tasks that have an order |
//! | [`Pos`] | by random priorities, drawn anew for what conflicts with the last operation |
//! | [`Surw`] | so that each order of the interesting statements is as likely as any other |
//! | [`DelayBounded`] | a deterministic schedule, delayed a few times |
//! | [`Directed`] | RaceFuzzer: two statements that race are brought side by side |
//! | [`Holding`] | one operation waits for another: an order is brought about |
//! | [`Avoiding`] | a few statements wait as long as anybody else can act |
//! | [`Replay`] | what was recorded; stops where it does not fit |
//! | [`Tolerant`] | what was recorded, as far as it fits |
//! | [`Rerun`] | raw choices of the same program |
//! | [`Prefixed`] | the beginning of such a run, and then another strategy |
//!
//! [`StrategySpec`] names one on a command line. [`Recorder`] and [`ChoiceLog`] wrap any of them and keep what it chose.
//! How to write one: [the tutorial](crate#9-a-strategy-of-ones-own).

mod avoid;
mod chains;
mod counts;
mod decompose;
mod delay;
mod directed;
mod guide;
mod hold;
mod log;
mod names;
mod pct;
mod pctcp;
mod pos;
mod prefix;
mod random;
mod recorder;
mod replay;
mod round_robin;
mod schedule;
mod sites;
mod spec;
mod steady;
mod surw;
mod tolerant;

pub use avoid::{AvoidSpec, Avoiding};
pub use counts::{Counting, Counts, SurwSpec};
pub use delay::DelayBounded;
pub use directed::{Directed, Hit};
pub use guide::{Guide, Guiding};
pub use hold::{Hold, HoldSpec, Holding, Holds, Moment, Pedigree, Released};
pub use log::{ChoiceLog, RawChoices, Rerun};
pub use names::{ContextNames, NameId, Names};
pub use pct::Pct;
pub use pctcp::Pctcp;
pub use pos::Pos;
pub use prefix::Prefixed;
pub use random::RandomWalk;
pub use recorder::Recorder;
pub use replay::{Divergence, Replay};
pub use round_robin::RoundRobin;
pub use schedule::{ActorName, Schedule, Scheduled, describe};
pub use sites::{SiteSpec, site_text};
pub use spec::{Missing, Named, SpecError, StrategySpec};
pub use steady::{Steady, answer};
pub use surw::Surw;
pub use tolerant::{Tolerance, Tolerant};

use crate::event::{Actor, Choice};
use crate::world::{Openings, Question, World};

/// What a strategy sees: open choices and pending operations, never mutable state.
#[derive(Clone, Copy)]
pub struct View<'w> {
    /// The state. Its enabled threads and their pending operations are the choices.
    pub world: &'w World,
    /// The open actors, counted; at least one.
    pub openings: Openings,
}

/// How choices are made in one run.
///
/// The contract: after [`begin`](Self::begin), for each step [`choose`](Self::choose) names an actor that is open in the
/// view, [`argument`](Self::argument) answers that actor's question if it has one, and [`observe`](Self::observe) is told of the
/// choice before it is performed. Where only one answer is possible a strategy is asked all the same, and must draw nothing.
/// What it does depends on its seed and on what it was shown, on nothing else. Only a replay refuses to answer.
pub trait Strategy {
    /// A new run with this seed.
    fn begin(&mut self, seed: u64);

    /// Who acts next.
    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>>;

    /// The argument of that actor: a waiter's number, a branch, or an instant out of [`World::instants`].
    fn argument(&mut self, view: &View<'_>, actor: Actor, question: Question) -> Result<u64, Box<Divergence>>;

    /// Whether it does without being asked and told where one thread is open and nothing else: a run may then go through such steps at once.
    /// To be the same for the whole of a run.
    fn passes_over_forced(&self) -> bool {
        false
    }

    /// The choice that was made.
    fn observe(&mut self, view: &View<'_>, choice: Choice) {
        let _ = (view, choice);
    }
}

impl<S: Strategy + ?Sized> Strategy for Box<S> {
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

/// Draws an open actor uniformly.
#[inline(always)]
fn random_actor(rng: &mut crate::base::Rng, view: &View<'_>) -> Actor {
    let k = rng.below(view.openings.total() as u32);
    view.world.open_actor(&view.openings, k as usize)
}

/// Draws a priority: 64 bits, so that one that is drawn later is as likely at any rank.
fn random_priority(rng: &mut crate::base::Rng) -> u64 {
    u64::from(rng.below(u32::MAX)) << 32 | u64::from(rng.below(u32::MAX))
}

/// Draws an argument uniformly. `instants` is room that is used again and again.
fn random_argument(rng: &mut crate::base::Rng, instants: &mut Vec<u64>, view: &View<'_>, question: Question) -> u64 {
    match question {
        Question::Waiter(n) => u64::from(rng.below(n as u32)),
        Question::Branch => u64::from(rng.coin()),
        Question::Instant => {
            view.world.instants_into(instants);
            instants[rng.below(instants.len() as u32) as usize]
        }
    }
}
