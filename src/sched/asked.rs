//! Asks a run for one reads-from pair (w, r): that statement r touches a location that statement w of another context
//! was the last to write. It only prefers: at each choice the open actors fall into three tiers, and those of the
//! highest tier that is not empty are open to a base strategy.
//!
//! 1. *taken*: the actor is about to do r, and w was the last to write here, in another context;
//! 2. *as it comes*: all other actors, and those that are both taken and avoided;
//! 3. *avoided*: the actor is about to do r, and w (a statement) was not the last to write; or it is about to write
//!    from another statement than w, and w was the last to write; or it is the end of the run.
//!
//! Reads-from pairs and a scheduler that prefers and never forbids are RFF's (Wolff et al., ASPLOS 2024). Here all
//! instances of the two statements are meant. With the first value as w, no other statement writes a location before r
//! has read it, however many threads are about to do so.
//!
//! The first visits of r may pass before the run is asked. The ask can be over once the pair has come. It is also
//! dropped after a number of choices in which an actor was avoided: a spinning thread does not keep others waiting
//! forever.

use super::{Divergence, Pct, Pos, RandomWalk, Strategy, View};
use crate::base::mutant::{self, Mutant};
use crate::event::{Actor, Choice, SiteId};
use crate::world::{Question, Statement, TouchContext, TouchMap, TouchedPlace, World};
use std::sync::Arc;

/// The strategy that chooses among the actors of a tier.
#[derive(Clone)]
pub enum AskedBase {
    /// PCT.
    Pct(Pct),
    /// A random walk.
    Random(RandomWalk),
    /// Partial order sampling.
    Pos(Pos),
}

/// What a run is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ask {
    /// The statements that count as w; [`Statement::FIRST`] alone for the first value.
    pub writers: Vec<Statement>,
    /// The statements that count as r.
    pub readers: Vec<Statement>,
    /// The locations that count.
    pub scope: AskedScope,
    /// Whether the ask stays when the pair has come.
    pub stays: bool,
    /// Number of visits of r that pass first.
    pub passes: u32,
    /// Number of choices in which an actor is avoided, after which the ask is dropped.
    pub patience: u64,
}

/// The locations that count for a pair.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AskedScope {
    /// These, sorted.
    Places(Arc<[TouchedPlace]>),
    /// Whatever these sites touch, sorted.
    Sites(Arc<[SiteId]>),
}

impl AskedScope {
    fn has(&self, place: TouchedPlace, by: Statement) -> bool {
        match self {
            Self::Places(places) => places.binary_search(&place).is_ok(),
            Self::Sites(sites) => by.site().is_some_and(|site| sites.binary_search(&site).is_ok()),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Tier {
    Avoided,
    AsItComes,
    Taken,
}

/// Who was the last to write a location.
#[derive(Clone, Copy)]
struct LastWrite {
    by: Statement,
    context: TouchContext,
}

/// The scheduler of the `asked` strategy. Without an [`Ask`] it chooses as its base does.
///
/// # Examples
///
/// ```
/// use raceflip::{event::Outcome, exec::{NoObserver, run}, sched::StrategySpec, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// let text = "var x = 0; thread a { for i in 0..20 { skip }; @w: x = 1 }; thread b { @r: assert x == 0 }";
/// let model = Model::from_text("late.race", text, &[])?;
/// // The read waits for the write, whatever the seed.
/// let mut asked = "asked:@w>@r".parse::<StrategySpec>()?.build(&model.program.sites)?;
/// let mut machine = model.machine(Limits::default());
/// for seed in 0..20 {
///     let summary = run(&mut machine, &mut asked, seed, &mut NoObserver, &AtomicBool::new(false));
///     assert!(matches!(summary.outcome(), Some(Outcome::Failure(_))));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Asked {
    base: AskedBase,
    ask: Option<Ask>,
    // Whether the run is still asked.
    is_open: bool,
    // Visits of r that still pass.
    passes: u32,
    // Choices so far in which an actor was avoided.
    avoided: u64,
    last: TouchMap<LastWrite>,
    // Scratch space: the actors of the highest tier.
    highest: Vec<Actor>,
}

impl Asked {
    /// Creates a scheduler that asks each run for the same.
    #[must_use]
    pub fn new(base: AskedBase, ask: Option<Ask>) -> Self {
        let is_open = ask.is_some();
        Self { base, ask, is_open, passes: 0, avoided: 0, last: TouchMap::new(), highest: Vec::new() }
    }

    /// Sets the depth and the number of steps of the next run, if the base is PCT.
    pub fn shape(&mut self, depth: u32, steps: u32) {
        if let AskedBase::Pct(pct) = &mut self.base {
            pct.reshape(depth, steps);
        }
    }

    /// Sets what the next run is asked for.
    pub fn ask(&mut self, ask: Option<Ask>) {
        self.ask = ask;
    }

    // The tier of an actor in a run that is asked.
    fn tier(&self, ask: &Ask, world: &World, actor: Actor) -> Tier {
        if actor == Actor::Stop {
            return Tier::Avoided;
        }
        if self.passes > 0 {
            return Tier::AsItComes;
        }
        let (mut takes, mut avoids) = (false, false);
        let by = world.statement(actor);
        world.touches(actor, |touch| {
            if !ask.scope.has(touch.place, by) {
                return;
            }
            let last = self.last.get(touch.place);
            let wrote = ask.writers.contains(&last.map_or(Statement::FIRST, |last| last.by));
            let does_r = touch.reads && ask.readers.contains(&by);
            if wrote {
                takes |= does_r && last.is_none_or(|last| Some(last.context) != world.touch_context(actor));
                avoids |= touch.writes && !ask.writers.contains(&by) && !mutant::is(Mutant::OtherWritersNotAvoided);
            } else {
                let early = does_r && !ask.writers.contains(&Statement::FIRST);
                avoids |= early && !mutant::is(Mutant::EarlyReadersNotAvoided);
            }
        });
        match (takes, avoids) {
            (true, false) => Tier::Taken,
            (false, true) => Tier::Avoided,
            _ => Tier::AsItComes,
        }
    }

    // Follows a step of a run that is asked: who writes last, and whether the pair has come.
    fn follow(&mut self, ask: &Ask, world: &World, actor: Actor) {
        let Some(context) = world.touch_context(actor) else { return };
        let by = world.statement(actor);
        let reads = ask.readers.contains(&by);
        let (mut came, mut visits) = (false, false);
        let last = &mut self.last;
        world.touches(actor, |touch| {
            let counts = ask.scope.has(touch.place, by);
            if counts && touch.reads && reads {
                visits = true;
                let before = last.get(touch.place);
                let foreign = before.is_none_or(|before| before.context != context);
                came |= foreign && ask.writers.contains(&before.map_or(Statement::FIRST, |before| before.by));
            }
            if touch.writes {
                last.set(touch.place, LastWrite { by, context });
            }
        });
        if visits && self.passes > 0 {
            self.passes -= 1;
        } else if came && !ask.stays {
            self.is_open = false;
        }
    }
}

impl AskedBase {
    fn strategy(&mut self) -> &mut dyn Strategy {
        match self {
            Self::Random(random) => random,
            Self::Pos(pos) => pos,
            Self::Pct(pct) => pct,
        }
    }

    // Chooses among some of the open actors, at least one.
    fn choose_among(&mut self, world: &World, actors: &[Actor]) -> Actor {
        match self {
            Self::Pct(pct) => pct.one_of(world, actors),
            Self::Random(random) => random.one_of(actors),
            Self::Pos(pos) => pos.highest(actors.iter().copied()).unwrap_or(actors[0]),
        }
    }
}

// The scheduler must see forced steps: each of them may be the last to write a location.
impl Strategy for Asked {
    fn begin(&mut self, seed: u64) {
        self.base.strategy().begin(seed);
        self.last.clear();
        self.is_open = self.ask.is_some();
        self.passes = self.ask.as_ref().map_or(0, |ask| ask.passes);
        self.avoided = 0;
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        let total = view.openings.total();
        let Some(ask) = self.ask.as_ref().filter(|_| self.is_open && total > 1) else {
            return self.base.strategy().choose(view);
        };
        let mut highest = std::mem::take(&mut self.highest);
        highest.clear();
        let (mut best, mut avoids) = (Tier::Avoided, false);
        for actor in view.world.open_actors(view.openings) {
            let tier = self.tier(ask, view.world, actor);
            avoids |= tier == Tier::Avoided;
            if tier > best {
                best = tier;
                highest.clear();
            }
            if tier == best {
                highest.push(actor);
            }
        }
        if avoids && best > Tier::Avoided {
            self.avoided += 1;
            self.is_open = self.avoided <= ask.patience;
        }
        let chosen = if highest.len() == total {
            self.base.strategy().choose(view)
        } else {
            Ok(self.base.choose_among(view.world, &highest))
        };
        self.highest = highest;
        chosen
    }

    fn argument(&mut self, view: &View<'_>, actor: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        self.base.strategy().argument(view, actor, question)
    }

    fn observe(&mut self, view: &View<'_>, choice: Choice) {
        if self.is_open
            && let Some(ask) = self.ask.take()
        {
            self.follow(&ask, view.world, choice.actor);
            self.ask = Some(ask);
        }
        self.base.strategy().observe(view, choice);
    }
}
