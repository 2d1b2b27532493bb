//! Holds one operation until another one has been performed, so that two accesses take place in the wanted order.
//!
//! This is how a campaign flips two tasks of one looper, or a thread and a task where the post has to be held. The held
//! operation is a cause of the access that has to come second: the access itself, the post, fork or firing of its task,
//! its wake-up, or an advance of the clock. All other choices are those of a random walk. A queued message never
//! overtakes another one: only actors are held, so the platform can produce every order that a run shows.
//!
//! An actor is held before it acquires the outermost lock that it would hold at the operation. Otherwise every thread
//! that needs that lock would be blocked as well.
//!
//! A held actor is released for one of three reasons, which is recorded ([`ReleaseReason`]):
//!
//! - The operation that it waits for has been performed.
//! - No other actor can do anything. The clock counts only if its advance can enable another thread.
//! - It has been held for as many steps as the patience allows.

use super::error::SpecError;
use super::guide::{Guide, GuideProgress};
use super::moment::Moment;
use super::release_reason::ReleaseReason;
use super::spec::{ProfileNeed, Spec};
use super::{Divergence, SiteSpec, Strategy, View, random_argument};
use crate::base::{IndexVec, Rng};
use crate::event::{Actor, Choice, Op, Site, SiteId, ThreadId};
use crate::world::{Question, TaskMessage, World};
use std::fmt;
use std::sync::Arc;

/// One way to force an order: an operation to hold, and the operation that releases it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hold {
    /// The operation that is held.
    pub what: Moment,
    /// The acquisition of the outermost lock that the actor holds at `what`. The actor is held before it.
    pub outermost: Option<Moment>,
    /// The operation that releases `what`.
    pub until: Moment,
    /// The operation that has to come second. A guide is followed up to this operation.
    pub second: Moment,
}

/// Parameters of the `hold` strategy: an order, and the way to force it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HoldSpec {
    /// The statement that has to come first.
    pub first: SiteSpec,
    /// The statement that has to come second.
    pub then: SiteSpec,
    /// Ordinal of the way to use, from 1. If `None`, each run draws one.
    pub way: Option<u32>,
    /// `guided`: whether all other actors follow the run that shows the ways. If false, they are chosen at random.
    pub guided: bool,
    /// The run that shows causes and ways: the seed of a detection run, or 0 for round robin.
    pub profile: u64,
    /// Which pair of instances of the statements is meant: 0 for the first pair that the run performs on one location,
    /// n for the n-th later pair.
    pub later: u32,
    /// The ways, once the profile run has been performed
    /// ([`StrategySpec::with_holds`](super::StrategySpec::with_holds)).
    pub holds: Option<Arc<HoldOrders>>,
}

// The options, for errors.
const OPTIONS: &str = "`way=2` (from 1), `guided`, `later=1` or `profile=SEED`";

impl Spec for HoldSpec {
    type Strategy = Holding;

    const NAME: &'static str = "hold";
    const SYNTAX: &'static str = "hold:FIRST<THEN[,way=N][,guided][,later=N][,profile=SEED]";
    const EXAMPLES: &'static [&'static str] = &["hold:SITE<SITE"];

    fn parse(text: Option<&str>) -> Result<Option<Self>, SpecError> {
        let Some(text) = text else { return Ok(None) };
        let (order, options) = text.split_once(',').map_or((text, None), |(order, options)| (order, Some(options)));
        let Some((first, then)) = order.split_once('<') else { return Ok(None) };
        let (first, then) = (first.trim().parse()?, then.trim().parse()?);
        let mut spec = Self { first, then, way: None, guided: false, profile: 0, later: 0, holds: None };
        for option in options.iter().flat_map(|o| o.split(',')) {
            let bad = || Self::no_option(option, OPTIONS);
            match option.split_once('=') {
                None if option == "guided" => spec.guided = true,
                Some(("way", n)) => spec.way = Some(n.parse().ok().filter(|n| *n > 0).ok_or_else(bad)?),
                Some(("later", n)) => spec.later = n.parse().map_err(|_| bad())?,
                Some(("profile", n)) => spec.profile = n.parse().map_err(|_| bad())?,
                _ => return Err(bad()),
            }
        }
        Ok(Some(spec))
    }

    fn profile(&mut self) -> ProfileNeed<'_> {
        ProfileNeed::Holds(self)
    }

    fn targets(&self) -> Vec<SiteSpec> {
        vec![self.first.clone(), self.then.clone()]
    }

    fn build(&self, sites: &IndexVec<SiteId, Site>) -> Result<Holding, SpecError> {
        self.first.resolve(sites)?;
        self.then.resolve(sites)?;
        let holds = self.holds.clone();
        let holds = holds.ok_or_else(|| self.missing("a run that shows how the order can be forced"))?;
        let ways = holds.ways.len();
        let way = self.way.map(|way| way as usize - 1);
        if way.map_or(ways == 0, |way| way >= ways) {
            return Err(Self::wrong(&self.to_string(), format!("not possible: {}", no_way(ways))));
        }
        let holding = Holding::new(holds, way);
        Ok(if self.guided { holding.guided() } else { holding })
    }
}

fn no_way(ways: usize) -> String {
    match ways {
        0 => "the profile run shows no way to bring this order about: it does not perform both statements on one location, or nothing can wait; try another `profile=SEED`".to_owned(),
        1 => "there is one way: use `way=1`".to_owned(),
        n => format!("there are {n} ways: use `way=1` to `way={n}`"),
    }
}

impl fmt::Display for HoldSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}<{}", Self::NAME, self.first, self.then)?;
        if let Some(way) = self.way {
            write!(f, ",way={way}")?;
        }
        if self.guided {
            f.write_str(",guided")?;
        }
        if self.later != 0 {
            write!(f, ",later={}", self.later)?;
        }
        if self.profile != 0 { write!(f, ",profile={}", self.profile) } else { Ok(()) }
    }
}

/// The ways to force one order, sorted by distance: the way that holds an operation nearest to the second access comes
/// first.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct HoldOrders {
    /// The ways.
    pub ways: Vec<Hold>,
    /// Number of steps after which a held actor is released.
    pub patience: u64,
    /// The run that shows the ways.
    pub guide: Guide,
}

/// The scheduler of the `hold` strategy.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::{NoObserver, run}, sched::{Hold, Holding, HoldOrders, Moment}, vm::Model, world::{Limits, CreationKind}};
/// # use raceflip::event::ThreadId;
/// # use std::{sync::Arc, sync::atomic::AtomicBool};
/// # let model = Model::from_text("two.race", "var x = 0; thread a { x = 1 }; thread b { skip; skip; x = 2 }", &[])?;
/// let write = |thread: u32| Moment::Step {
///     context: vec![(CreationKind::Declared(ThreadId(thread)), 1)],
///     site: model.program.sites.enumerate().filter(|(_, s)| s.place == "x").map(|(id, _)| id).nth(thread as usize).unwrap(),
///     nth: 1,
/// };
/// // The write of a waits for that of b.
/// let way = Hold { what: write(0), outermost: None, until: write(1), second: write(0) };
/// let mut holding = Holding::new(Arc::new(HoldOrders { ways: vec![way], patience: 1_000, ..HoldOrders::default() }), None);
/// let mut machine = model.machine(Limits::default());
/// run(&mut machine, &mut holding, 7, &mut NoObserver, &AtomicBool::new(false));
/// assert_eq!(machine.world.memory().cell(0), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Holding {
    holds: Arc<HoldOrders>,
    fixed: Option<usize>,
    // Whether the run follows the guide. If false, it is a random walk.
    guided: bool,
    following: GuideProgress,
    rng: Rng,
    instants: Vec<u64>,
    // Index of the way that this run uses.
    way: usize,
    // Number of steps so far at the statement of each moment of the way, in the order of `moments`: `what`,
    // `outermost`, `until`, `second`.
    visits: [u32; 4],
    // Whether the operation that has to come second has been performed.
    over: bool,
    engaged: Option<u64>,
    released: Option<ReleaseReason>,
}

impl Holding {
    /// Creates a scheduler for these ways. It uses the way with index `fixed`. Without one each run draws a way: the
    /// first one has half of the weight, the next one half of the rest, and so on.
    #[must_use]
    pub fn new(holds: Arc<HoldOrders>, fixed: Option<usize>) -> Self {
        Self {
            holds,
            fixed,
            guided: false,
            following: GuideProgress::default(),
            rng: Rng::seeded(0),
            instants: Vec::new(),
            way: 0,
            visits: [0; 4],
            over: false,
            engaged: None,
            released: None,
        }
    }

    /// Lets all other actors follow the run that shows the ways, as far as they can. That run reaches both operations,
    /// which only few random walks may do.
    #[must_use]
    pub fn guided(mut self) -> Self {
        self.guided = true;
        self
    }

    /// Returns the step at which this run first held an actor. Up to this step the run is the same as without the hold.
    #[must_use]
    pub fn engaged(&self) -> Option<u64> {
        self.engaged
    }

    /// Returns the reason why the actor was released, if it was.
    #[must_use]
    pub fn released(&self) -> Option<ReleaseReason> {
        self.released
    }

    fn moments(hold: &Hold) -> [Option<&Moment>; 4] {
        [Some(&hold.what), hold.outermost.as_ref(), Some(&hold.until), Some(&hold.second)]
    }

    // The open actor that is held now.
    fn held(&self, view: &View<'_>) -> Option<Actor> {
        if self.released.is_some() {
            return None;
        }
        let hold = self.holds.ways.get(self.way)?;
        let mut open = view.world.open_actors(view.openings);
        let [what, outermost, ..] = Self::moments(hold);
        let is = |actor: &Actor| {
            let at = |moment: Option<&Moment>, i: usize| {
                moment.is_some_and(|m| m.is_next(view.world, *actor, self.visits[i]))
            };
            at(what, 0) || at(outermost, 1)
        };
        open.find(is)
    }

    // Whether an actor other than the held one can act, now or after an advance of the clock.
    fn others(view: &View<'_>, held: Actor) -> bool {
        let threads = view.openings.threads() - usize::from(matches!(held, Actor::Thread(_)));
        let events = view.openings.events() - usize::from(matches!(held, Actor::Event(_)));
        if threads + events > 0 {
            return true;
        }
        let later = |t: ThreadId| Actor::Thread(t) != held && resumes_later(view.world, t);
        view.openings.clock() && held != Actor::Clock && view.world.threads().ids().any(later)
    }

    // The blocker of the operation `until`, as a reason for the release: what blocks the thread or task that has to
    // perform it.
    fn obstacle(view: &View<'_>, until: &Moment) -> ReleaseReason {
        let (Moment::Step { context, .. } | Moment::Makes(context)) = until else { return ReleaseReason::NeverReached };
        let world = view.world;
        let owner =
            if matches!(until, Moment::Makes(_)) { &context[..context.len().saturating_sub(1)] } else { context };
        let runs = world.threads().ids().find(|t| world.contexts().is(world.thread(*t).context, owner));
        if let Some(thread) = runs {
            return match world.thread(thread).pending {
                Op::Acquire(_) | Op::AcquireFor { .. } | Op::ReadLock(_) | Op::WriteLock(_) => ReleaseReason::Lock,
                Op::Await { .. }
                | Op::Reacquire { .. }
                | Op::Down(_)
                | Op::DownFor { .. }
                | Op::Pass { .. }
                | Op::GroupPass { .. }
                | Op::Send { .. }
                | Op::Sent { .. }
                | Op::Receive { .. }
                | Op::Received { .. }
                | Op::Select { .. }
                | Op::Selected { .. } => ReleaseReason::Await,
                Op::Join(_) => ReleaseReason::Join,
                Op::Begin => ReleaseReason::Queue,
                _ => ReleaseReason::NeverReached,
            };
        }
        let waits = |task: &TaskMessage| world.contexts().is(task.context, owner);
        let queued = world.queues().any(|q| q.waiting_tasks().any(waits));
        if queued { ReleaseReason::Queue } else { ReleaseReason::NeverReached }
    }
}

/// Returns whether an advance of the clock can enable the thread: it waits for a deadline, or it has a message that is
/// due later.
pub(super) fn resumes_later(world: &World, thread: ThreadId) -> bool {
    let due = world.queue(thread).and_then(|q| q.messages().map(|m| m.when).min());
    world.deadline(thread).is_some() || due.is_some_and(|when| when > world.now())
}

// The scheduler must see forced steps: they count as visits of the statements of the way, and one of them may be the
// awaited operation.
impl Strategy for Holding {
    fn begin(&mut self, seed: u64) {
        self.rng = Rng::seeded(seed);
        (self.visits, self.engaged, self.released) = ([0; 4], None, None);
        self.over = false;
        if self.guided {
            self.following.begin(&self.holds.guide);
        }
        let last = self.holds.ways.len().saturating_sub(1);
        self.way = match self.fixed {
            Some(way) => way,
            None => {
                let mut way = 0;
                while way < last && self.rng.coin() {
                    way += 1;
                }
                way
            }
        };
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        let mut held = self.held(view);
        if let Some(actor) = held {
            let now = view.world.steps();
            // The patience counts from the first step at which the actor was held.
            let since = *self.engaged.get_or_insert(now);
            let hold = &self.holds.ways[self.way];
            if now - since >= self.holds.patience {
                self.released = Some(ReleaseReason::Patience);
                held = None;
            } else if !Self::others(view, actor) {
                self.released = Some(Self::obstacle(view, &hold.until));
                held = None;
            }
        }
        // A guided run follows the guide up to the second operation; then it is a random walk.
        let follows = self.guided && !self.over;
        if let Some(actor) = follows.then(|| self.following.next(&self.holds.guide, view, held)).flatten() {
            return Ok(actor);
        }
        let Some(held) = held else {
            return Ok(super::random_actor(&mut self.rng, view));
        };
        // The choice is among the other actors. The end of the run is left out: a run must not end while an actor is
        // held.
        let free = view.openings.total() - 1 - usize::from(view.openings.stop());
        let k = self.rng.below(free as u32) as usize;
        let actor = view.world.open_actors(view.openings).filter(|a| *a != held && *a != Actor::Stop).nth(k);
        Ok(actor.unwrap_or(held))
    }

    fn argument(&mut self, view: &View<'_>, actor: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        if self.guided
            && !self.over
            && let Some(recorded) = self.following.argument(&self.holds.guide, view.world, actor)
        {
            let fits = match question {
                Question::Waiter(n) | Question::Instance(n) | Question::Case(n) => recorded < n as u64,
                Question::Branch => recorded < 2,
                Question::Instant => {
                    view.world.instants_into(&mut self.instants);
                    self.instants.contains(&recorded)
                }
            };
            if fits {
                return Ok(recorded);
            }
        }
        Ok(random_argument(&mut self.rng, &mut self.instants, view, question))
    }

    fn observe(&mut self, view: &View<'_>, choice: Choice) {
        if self.guided && !self.over {
            self.following.observe(&self.holds.guide, view.world, choice.actor);
        }
        let Some(hold) = self.holds.ways.get(self.way) else { return };
        if self.released.is_some() && (self.over || !self.guided) {
            return;
        }
        self.over |= hold.second.is_next(view.world, choice.actor, self.visits[3]);
        if self.released.is_none() && hold.until.is_next(view.world, choice.actor, self.visits[2]) {
            self.released = Some(ReleaseReason::Reached);
        }
        let Actor::Thread(thread) = choice.actor else { return };
        let t = view.world.thread(thread);
        for (moment, visits) in Self::moments(hold).into_iter().zip(&mut self.visits) {
            if let Some(Moment::Step { context, site, .. }) = moment
                && t.site == Some(*site)
                && view.world.contexts().is(t.context, context)
            {
                *visits += 1;
            }
        }
    }
}
