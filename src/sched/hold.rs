//! Holds operations until others have been performed, so that accesses take place in the wanted order.
//!
//! This is how a campaign flips two tasks of one looper, or a thread and a task where the post has to be held. The held
//! operation is a cause of the access that has to come second: the access itself, the post, fork or firing of its task,
//! its wake-up, or an advance of the clock. All other choices are those of a random walk. A queued message never
//! overtakes another one: only actors are held, so the platform can produce every order that a run shows.
//!
//! One hold puts two operations in order. Several holds together bring about a longer order: a sequence of operations,
//! and other operations that are kept out of it, each of which has to come before the first or after the last one.
//!
//! An actor is held before it acquires the outermost lock that it would hold at the operation. Otherwise every thread
//! that needs that lock would be blocked as well.
//!
//! A held actor is released for one of three reasons, which is recorded ([`ReleaseReason`]):
//!
//! - The operation that it waits for has been performed.
//! - No other actor can do anything. The clock counts only if its advance can enable another thread. Of several holds
//!   that hold an actor then, the one whose operation stands latest in the order is released.
//! - It has been held for as many steps as the patience allows.

use super::guide::{Guide, GuideProgress};
use super::moment::Moment;
use super::release_reason::ReleaseReason;
use super::{Divergence, Strategy, View, random_argument};
use crate::base::Rng;
use crate::event::{Actor, Choice, Op, ThreadId};
use crate::world::{Question, TaskMessage, World};
use smallvec::SmallVec;
use std::sync::Arc;

/// One way to force an order of two operations: an operation to hold, and the operation that releases it.
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

/// The ways to force one order, sorted by distance: the way that holds an operation nearest to the second access comes
/// first.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct HoldOrders {
    /// The ways. Each of them is a set of holds, which are in force together, in the order of the operations that they
    /// hold. An order of two operations has one hold.
    pub ways: Vec<Vec<Hold>>,
    /// Number of steps after which a held actor is released.
    pub patience: u64,
    /// The run that shows the ways.
    pub guide: Guide,
    /// Whether a run goes on until it has performed the operations of the order, as long as the patience allows. If
    /// false, it may end at rest once nothing is held, although the last operation is still to come.
    pub to_the_last: bool,
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
/// let mut holding = Holding::new(Arc::new(HoldOrders { ways: vec![vec![way]], patience: 1_000, ..HoldOrders::default() }), None);
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
    // Progress of the holds of the way.
    progress: Vec<HoldProgress>,
    engaged: Option<u64>,
}

// How far a run is with one hold.
#[derive(Clone, Default)]
struct HoldProgress {
    // Number of steps so far at the statement of each moment of the hold, in the order of `moments`: `what`,
    // `outermost`, `until`, `second`.
    visits: [u32; 4],
    // Whether the operation that has to come second has been performed.
    over: bool,
    // Step at which the hold first held an actor.
    since: Option<u64>,
    released: Option<ReleaseReason>,
}

// Actors that are held, each with the index of the hold.
type Held = SmallVec<[(usize, Actor); 4]>;

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
            progress: Vec::new(),
            engaged: None,
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

    /// Returns the reason why the held actors were released, if all were. Of several reasons one that is not
    /// [`ReleaseReason::Reached`] counts.
    #[must_use]
    pub fn released(&self) -> Option<ReleaseReason> {
        let mut all: Option<ReleaseReason> = None;
        for progress in &self.progress {
            let reason = progress.released?;
            all = all.filter(|reason| *reason != ReleaseReason::Reached).or(Some(reason));
        }
        all
    }

    fn holds(&self) -> &[Hold] {
        self.holds.ways.get(self.way).map_or(&[], Vec::as_slice)
    }

    // Whether all operations of the order have been performed.
    fn over(&self) -> bool {
        self.progress.iter().all(|progress| progress.over)
    }

    // Whether the run must not end yet, although nothing is held.
    fn goes_on(&self, view: &View<'_>) -> bool {
        self.holds.to_the_last && !self.over() && view.world.steps() < self.holds.patience
    }

    fn moments(hold: &Hold) -> [Option<&Moment>; 4] {
        [Some(&hold.what), hold.outermost.as_ref(), Some(&hold.until), Some(&hold.second)]
    }

    // The open actors that are held now.
    fn held(&self, view: &View<'_>) -> Held {
        let mut all = Held::new();
        for (i, (hold, progress)) in self.holds().iter().zip(&self.progress).enumerate() {
            if progress.released.is_some() {
                continue;
            }
            let [what, outermost, ..] = Self::moments(hold);
            let is = |actor: &Actor| {
                let at = |moment: Option<&Moment>, i: usize| {
                    moment.is_some_and(|m| m.is_next(view.world, *actor, progress.visits[i]))
                };
                at(what, 0) || at(outermost, 1)
            };
            all.extend(view.world.open_actors(view.openings).find(is).map(|actor| (i, actor)));
        }
        all
    }

    // The different actors that are held.
    fn actors(held: &Held) -> SmallVec<[Actor; 4]> {
        let mut actors = SmallVec::<[Actor; 4]>::new();
        for (_, actor) in held {
            if !actors.contains(actor) {
                actors.push(*actor);
            }
        }
        actors
    }

    // Whether an actor that is not held can act, now or after an advance of the clock.
    fn others(view: &View<'_>, held: &[Actor]) -> bool {
        let count = |is: fn(&Actor) -> bool| held.iter().filter(|actor| is(actor)).count();
        let threads = view.openings.threads() - count(|actor| matches!(actor, Actor::Thread(_)));
        let events = view.openings.events() - count(|actor| matches!(actor, Actor::Event(_)));
        if threads + events > 0 {
            return true;
        }
        let later = |t: ThreadId| !held.contains(&Actor::Thread(t)) && resumes_later(view.world, t);
        view.openings.clock() && !held.contains(&Actor::Clock) && view.world.threads().ids().any(later)
    }

    // Releases the holds that have held for too long, and those without which no actor could act. Returns the actors
    // that are still held.
    fn still_held(&mut self, view: &View<'_>) -> SmallVec<[Actor; 4]> {
        loop {
            let held = self.held(view);
            let Some((last, _)) = held.last() else { return SmallVec::new() };
            let now = view.world.steps();
            // The patience counts from the first step at which the hold held an actor.
            self.engaged.get_or_insert(now);
            let mut impatient = None;
            for (i, _) in &held {
                let since = *self.progress[*i].since.get_or_insert(now);
                if now - since >= self.holds.patience {
                    impatient.get_or_insert(*i);
                }
            }
            let actors = Self::actors(&held);
            let (at, reason) = match impatient {
                Some(at) => (at, ReleaseReason::Patience),
                None if Self::others(view, &actors) => return actors,
                None => (*last, Self::obstacle(view, &self.holds()[*last].until)),
            };
            self.progress[at].released = Some(reason);
        }
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
        self.engaged = None;
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
        self.progress.clear();
        self.progress.resize_with(self.holds().len(), HoldProgress::default);
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        let held = self.still_held(view);
        // A guided run follows the guide up to the last operation of the order; then it is a random walk.
        let follows = self.guided && !self.over();
        if let Some(actor) = follows.then(|| self.following.next(&self.holds.guide, view, &held)).flatten() {
            return Ok(actor);
        }
        // The choice is among the other actors. The end of the run is left out: a run must not end while an actor is
        // held.
        let free = view.openings.total() - held.len() - usize::from(view.openings.stop());
        if held.is_empty() && (free == 0 || !view.openings.stop() || !self.goes_on(view)) {
            return Ok(super::random_actor(&mut self.rng, view));
        }
        let k = self.rng.below(free as u32) as usize;
        let is_free = |actor: &Actor| !held.contains(actor) && *actor != Actor::Stop;
        let actor = view.world.open_actors(view.openings).filter(is_free).nth(k);
        Ok(actor.unwrap_or_else(|| held.first().copied().unwrap_or(Actor::Stop)))
    }

    fn argument(&mut self, view: &View<'_>, actor: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        if self.guided
            && !self.over()
            && let Some(recorded) = self.following.argument(&self.holds.guide, view.world, actor)
        {
            let fits = match question.answers() {
                Some(n) => recorded < n,
                None => {
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
        if self.guided && !self.over() {
            self.following.observe(&self.holds.guide, view.world, choice.actor);
        }
        let Some(holds) = self.holds.ways.get(self.way) else { return };
        for (hold, progress) in holds.iter().zip(&mut self.progress) {
            progress.observe(hold, self.guided || self.holds.to_the_last, view.world, choice.actor);
        }
    }
}

impl HoldProgress {
    // Follows the choice of an actor. If it matters when the order is over (`to_the_end`), the operations are counted
    // after a release as well.
    fn observe(&mut self, hold: &Hold, to_the_end: bool, world: &World, actor: Actor) {
        if self.released.is_some() && (self.over || !to_the_end) {
            return;
        }
        self.over |= hold.second.is_next(world, actor, self.visits[3]);
        if self.released.is_none() && hold.until.is_next(world, actor, self.visits[2]) {
            self.released = Some(ReleaseReason::Reached);
        }
        let Actor::Thread(thread) = actor else { return };
        let t = world.thread(thread);
        for (moment, visits) in Holding::moments(hold).into_iter().zip(&mut self.visits) {
            if let Some(Moment::Step { context, site, .. }) = moment
                && t.site == Some(*site)
                && world.contexts().is(t.context, context)
            {
                *visits += 1;
            }
        }
    }
}
