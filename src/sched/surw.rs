//! SURW: each order of the interesting events is equally likely (Zhao, Wolff, Mathur, Roychoudhury, *Selectively
//! Uniform Concurrency Testing*, ASPLOS 2025).
//!
//! The strategy draws the actor of the next interesting event, with the number of interesting events that each actor
//! has left as its weight. This is the *intended* actor. An actor that is pending at an interesting event and is not
//! intended waits. All others, the intended one among them, are chosen at random. Once the intended event has been
//! performed, the next intended actor is drawn. If all events are interesting, this is the paper's uniform random walk.
//! In a plain random walk, by contrast, the actor with fewer other steps comes first nearly always.
//!
//! The numbers of events come from one profile run, by pedigrees; the strategy does not learn from other runs. The
//! weight of a context includes the contexts that it will create. When it creates one, the weight moves there, and if
//! the creator was intended, a new draw decides between the two. So events of forked threads, which form a forest, are
//! also ordered uniformly (the probability of the next root is the size of its tree). Joins, locks and conditions make
//! orders that are not forests; there the result is an approximation.
//!
//! Draws are among actors. A thread has the weight of its context; a looper that of its task and of all tasks in its
//! queue; an event that of its enabled firings. The clock and the end of a run have no interesting events and are among
//! the others. A run does not end while an actor waits for the intended one.
//!
//! Beyond the paper: an actor can be intended if it can act now or after an advance of the clock. The intended actor is
//! drawn anew among the waiting actors if all open actors wait, or if an actor has waited for as many steps as the
//! profile run took (plus a hundred): then the counts were wrong, or one of the waiting actors blocks the intended one.
//! Uninteresting events are drawn uniformly.

use super::counts::ProfileCounts;
use super::{Divergence, Strategy, View, random_argument};
use crate::base::{Id, IndexVec, Rng};
use crate::event::{Actor, Choice, ContextId, EventId, Op, SiteId, ThreadId};
use crate::world::{CreationKind, Question, ThreadStage, World};
use std::sync::Arc;

/// The scheduler of the `surw` strategy.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::{NoObserver, run}, sched::{EventCounter, RoundRobin, StrategySpec, SurwSpec}, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// let text = "var x = 0; thread a { for i in 0..20 { skip }; x = 1 }; thread b { x = 2 }";
/// let model = Model::from_text("late.race", text, &[])?;
/// # let stop = AtomicBool::new(false);
/// let sites = &model.program.sites;
/// let mut machine = model.machine(Limits::default());
/// let spec = "surw".parse::<StrategySpec>()?.with_counts(|surw: &SurwSpec| {
///     let mut counter = EventCounter::new(surw.interesting(sites)?);
///     run(&mut machine, &mut RoundRobin::default(), 0, &mut counter, &stop);
///     Ok::<_, raceflip::sched::SpecError>(counter.counts(&machine.world))
/// })?;
/// let mut surw = spec.build(sites)?;
/// // Both orders of the two writes are as likely, however much there is to do before.
/// let first = (0..200).filter(|seed| {
///     run(&mut machine, &mut surw, *seed, &mut NoObserver, &stop);
///     machine.world.memory().cell(0) == 2
/// });
/// assert!((70..=130).contains(&first.count()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Surw {
    interesting: IndexVec<SiteId, bool>,
    counts: Arc<ProfileCounts>,
    rng: Rng,
    // Scratch space for the instants of the clock.
    instants: Vec<u64>,
    // For each context its node in the profile, and its weight left.
    contexts: Vec<(Option<u32>, u32)>,
    threads: Vec<Load>,
    events: Vec<u32>,
    intended: Option<Actor>,
    // Weight that moved since the intended actor was last looked at.
    moved: Vec<WeightTransfer>,
    started: bool,
    last: LastEffects,
    // The step since which an actor waits.
    since: Option<u64>,
}

#[derive(Clone, Copy)]
struct Load {
    weight: u32,
    // The context in which the thread ran after its last step.
    running: ContextId,
}

// A transfer of weight between actors: `weight` out of the `of` that `from` had left.
#[derive(Clone, Copy)]
struct WeightTransfer {
    from: Actor,
    to: Actor,
    weight: u32,
    of: u32,
}

// The effects of the last step that `welcome` needs.
#[derive(Clone, Copy, Default)]
struct LastEffects {
    actor: Option<Actor>,
    // The looper that it posted to.
    posted_to: Option<ThreadId>,
    enabled: Option<EventId>,
    // A queue from which it may have removed messages.
    emptied: Option<ThreadId>,
}

impl Surw {
    /// Creates a scheduler that orders the events at the interesting sites uniformly. `counts` comes from a profile
    /// run.
    #[must_use]
    pub fn new(interesting: IndexVec<SiteId, bool>, counts: Arc<ProfileCounts>) -> Self {
        Self {
            interesting,
            counts,
            rng: Rng::seeded(0),
            instants: Vec::new(),
            contexts: Vec::new(),
            threads: Vec::new(),
            events: Vec::new(),
            intended: None,
            moved: Vec::new(),
            started: false,
            last: LastEffects::default(),
            since: None,
        }
    }

    fn is_interesting(&self, world: &World, actor: Actor) -> bool {
        matches!(actor, Actor::Thread(thread) if world.thread(thread).site.is_some_and(|site| self.interesting[site]))
    }

    // The weight left of an actor that can act now or after an advance of the clock; 0 for all others.
    fn weight(&self, world: &World, actor: Actor) -> u32 {
        match actor {
            Actor::Thread(thread) => {
                let enabled = world.enabled().contains(thread);
                let t = world.thread(thread);
                let later = || match t.pending {
                    Op::Begin => world.queue(thread).is_some_and(|queue| !queue.is_empty()),
                    _ => world.deadline(thread).is_some(),
                };
                if t.status != ThreadStage::Alive || !enabled && !later() {
                    return 0;
                }
                // A thread that is pending at an interesting event has at least this one event left, even if the counts
                // do not know it.
                let is_counted = enabled && self.is_interesting(world, actor);
                self.threads[thread.index()].weight.max(u32::from(is_counted))
            }
            // The profile does not know what the firings of a row lead to.
            Actor::Event(event) if world.fireable().contains(event) => {
                self.events[event.index()].max(u32::from(world.is_row(event)))
            }
            _ => 0,
        }
    }

    // Whether the actor has events left but is blocked now.
    fn is_blocked(&self, world: &World, actor: Actor) -> bool {
        let Actor::Thread(thread) = actor else { return false };
        let alive = world.thread(thread).status == ThreadStage::Alive;
        alive && !world.enabled().contains(thread) && self.threads[thread.index()].weight > 0
    }

    fn draw(&mut self, world: &World, counts: impl Fn(&Self, Actor) -> bool) -> Option<Actor> {
        let threads = world.threads().len();
        let all = threads + self.events.len();
        let actor = |i: usize| match i.checked_sub(threads) {
            None => Actor::Thread(ThreadId::new(i)),
            Some(event) => Actor::Event(EventId::new(event)),
        };
        let weight = |this: &Self, actor| if counts(this, actor) { this.weight(world, actor) } else { 0 };
        let total = (0..all).map(|i| u64::from(weight(self, actor(i)))).sum::<u64>();
        // A run does not have more events than 32 bits can count.
        let total = u32::try_from(total).unwrap_or(u32::MAX);
        if total == 0 {
            return None;
        }
        let mut left = u64::from(self.rng.below(total));
        (0..all).map(actor).find(|actor| {
            let weight = u64::from(weight(self, *actor));
            let found = left < weight;
            left = left.saturating_sub(weight);
            found
        })
    }

    // Moves the intention along with the weight, with the probability that the intended event is among those that
    // moved.
    fn follow(&mut self) {
        for i in 0..self.moved.len() {
            let WeightTransfer { from, to, weight, of } = self.moved[i];
            if self.intended == Some(from) && weight > 0 && self.rng.below(of.max(weight)) < weight {
                self.intended = Some(to);
            }
        }
        self.moved.clear();
    }

    fn move_weight(&mut self, world: &World, from: Actor, to: Actor, weight: u32) {
        let of = match from {
            Actor::Thread(thread) => {
                let context = world.thread(thread).context.index();
                let of_context = &mut self.contexts[context].1;
                *of_context = of_context.saturating_sub(weight);
                let load = &mut self.threads[thread.index()].weight;
                std::mem::replace(load, load.saturating_sub(weight))
            }
            Actor::Event(event) => {
                let load = &mut self.events[event.index()];
                std::mem::replace(load, load.saturating_sub(weight))
            }
            Actor::Clock | Actor::Stop => 0,
        };
        match to {
            Actor::Thread(thread) => {
                let load = &mut self.threads[thread.index()].weight;
                *load = load.saturating_add(weight);
            }
            Actor::Event(event) => {
                let load = &mut self.events[event.index()];
                *load = load.saturating_add(weight);
            }
            Actor::Clock | Actor::Stop => {}
        }
        if self.intended == Some(from) {
            self.moved.push(WeightTransfer { from, to, weight, of });
        }
    }

    // Adds the contexts that the last step created, and removes the weight of contexts that have ended.
    fn welcome(&mut self, world: &World) {
        let start = !std::mem::replace(&mut self.started, true);
        let known = self.contexts.len();
        for i in known..world.contexts().len() {
            let context = ContextId::new(i);
            let maker = world.contexts().parent(context).map(|maker| self.contexts[maker.index()].0);
            let made = world.contexts().made(context);
            // The profile does not know the children of an unknown context.
            let node = match maker {
                Some(None) => None,
                maker => self.counts.find(maker.flatten(), made, world.contexts().nth(context)),
            };
            self.contexts.push((node, self.counts.weight(node)));
        }
        for i in self.threads.len()..world.threads().len() {
            let running = world.thread(ThreadId::new(i)).home;
            self.threads.push(Load { weight: 0, running });
        }
        if start {
            for thread in world.threads().ids() {
                self.add_up(world, thread);
            }
            for event in world.setup().events.ids() {
                self.events.push(0);
                for nth in 1..=world.enables_left(event) {
                    let weight = self.firing(event, nth as u32);
                    let load = &mut self.events[event.index()];
                    *load = load.saturating_add(weight);
                }
            }
            return;
        }
        let LastEffects { actor: Some(actor), posted_to, enabled, emptied } = std::mem::take(&mut self.last) else {
            return;
        };
        for i in known..world.contexts().len() {
            let weight = self.contexts[i].1;
            let to = match world.contexts().made(ContextId::new(i)) {
                CreationKind::Event(event) => Some(world.setup().events[event].looper),
                CreationKind::Body(_) | CreationKind::Looper => posted_to.or_else(|| world.threads().ids().last()),
                _ => None,
            };
            if let Some(to) = to {
                self.move_weight(world, actor, Actor::Thread(to), weight);
            }
        }
        if let Some(event) = enabled {
            let before = world.contexts().counted(None, CreationKind::Event(event)) as usize;
            let weight = self.firing(event, (before + world.enables_left(event)) as u32);
            self.move_weight(world, actor, Actor::Event(event), weight);
        }
        if let Actor::Thread(thread) = actor {
            self.leave(world, thread);
        }
        if let Some(thread) = emptied {
            self.add_up(world, thread);
        }
    }

    fn firing(&self, event: EventId, nth: u32) -> u32 {
        self.counts.weight(self.counts.find(None, CreationKind::Event(event), nth))
    }

    // Removes the rest of a task's weight when the task has ended, since the profile may have counted more events.
    fn leave(&mut self, world: &World, thread: ThreadId) {
        let t = world.thread(thread);
        let load = &mut self.threads[thread.index()];
        if load.running != t.context && load.running != t.home {
            let left = std::mem::take(&mut self.contexts[load.running.index()].1);
            load.weight = load.weight.saturating_sub(left);
        }
        let begins = load.running != t.context && t.context != t.home;
        load.running = t.context;
        // A worker of a pool takes over the weight of its task from the thread that has the queue.
        let owner = world.queue_owner(thread);
        if begins && owner != thread {
            let weight = self.contexts[t.context.index()].1;
            let load = &mut self.threads[owner.index()].weight;
            let of = std::mem::replace(load, load.saturating_sub(weight));
            let own = &mut self.threads[thread.index()].weight;
            *own = own.saturating_add(weight);
            if self.intended == Some(Actor::Thread(owner)) {
                self.moved.push(WeightTransfer { from: Actor::Thread(owner), to: Actor::Thread(thread), weight, of });
            }
        }
    }

    // Computes the weight of a thread anew from its contexts and its queue.
    fn add_up(&mut self, world: &World, thread: ThreadId) {
        let t = world.thread(thread);
        let of = |context: ContextId| self.contexts[context.index()].1;
        let mut weight = of(t.home);
        if t.context != t.home {
            weight = weight.saturating_add(of(t.context));
        }
        for task in t.queue.iter().flat_map(|queue| queue.waiting_tasks()) {
            weight = weight.saturating_add(of(task.context));
        }
        self.threads[thread.index()].weight = weight;
    }

    // The `k`-th of the actors that need not wait. With `None` the number of these actors is returned.
    fn free(&self, view: &View<'_>, k: Option<usize>) -> (usize, Option<Actor>) {
        let View { world, openings } = *view;
        let mut n = 0;
        for actor in world.open_actors(openings) {
            let waits = self.intended != Some(actor) && self.is_interesting(world, actor) || actor == Actor::Stop;
            if !waits {
                if Some(n) == k {
                    return (n, Some(actor));
                }
                n += 1;
            }
        }
        (n, None)
    }
}

// SURW must see forced steps: interesting events among them use up weight.
impl Strategy for Surw {
    fn begin(&mut self, seed: u64) {
        self.rng = Rng::seeded(seed);
        self.contexts.clear();
        self.threads.clear();
        self.events.clear();
        self.moved.clear();
        (self.intended, self.last, self.since) = (None, LastEffects::default(), None);
        self.started = false;
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        let View { world, openings } = *view;
        self.welcome(world);
        if openings.total() == 1 {
            return Ok(world.open_actor(&openings, 0));
        }
        self.follow();
        let mut open = world.enabled().iter();
        // Without a pending interesting event no actor waits, so the step is one of a random walk.
        if !open.any(|thread| self.is_interesting(world, Actor::Thread(thread))) {
            self.since = None;
            return Ok(super::random_actor(&mut self.rng, view));
        }
        let now = world.steps();
        let patient = now - *self.since.get_or_insert(now) < self.counts.steps + 100;
        // An intended actor without events left is given up. A blocked one with events left stays intended: it acts
        // after its wake-up.
        if self.intended.is_some_and(|actor| self.weight(world, actor) == 0 && !self.is_blocked(world, actor)) {
            self.intended = None;
        }
        if self.intended.is_none() {
            self.intended = self.draw(world, |_, _| true);
        }
        // If no actor is free, or the patience is used up, the intention moves to one of the waiting actors.
        if !patient || self.free(view, None).0 == 0 {
            let waits = |this: &Self, actor| world.is_open(actor) && this.is_interesting(world, actor);
            self.intended = self.draw(world, waits);
            self.since = Some(now);
        }
        let (n, _) = self.free(view, None);
        let k = self.rng.below(n.max(1) as u32) as usize;
        let (_, actor) = self.free(view, Some(k));
        Ok(actor.unwrap_or_else(|| world.open_actor(&openings, 0)))
    }

    fn argument(&mut self, view: &View<'_>, _: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        Ok(random_argument(&mut self.rng, &mut self.instants, view, question))
    }

    fn observe(&mut self, view: &View<'_>, choice: Choice) {
        let world = view.world;
        // If another strategy made the choice, `choose` was not called and this is the first view of the state.
        self.welcome(world);
        self.last = LastEffects { actor: Some(choice.actor), ..LastEffects::default() };
        let Actor::Thread(thread) = choice.actor else { return };
        if self.is_interesting(world, choice.actor) {
            let context = world.thread(thread).context.index();
            let left = &mut self.contexts[context].1;
            // An unexpected event must not reduce the weight of the thread's other contexts.
            if *left > 0 {
                *left -= 1;
                let load = &mut self.threads[thread.index()].weight;
                *load = load.saturating_sub(1);
            }
            // If another actor was intended, the step was forced. Also then a new intention has to be drawn.
            (self.intended, self.since) = (None, None);
            self.moved.clear();
        }
        match world.thread(thread).pending {
            Op::Post { target, .. } => self.last.posted_to = Some(world.thread_of(target)),
            Op::Enable { event, .. } => self.last.enabled = Some(event),
            Op::Disable(event) => self.events[event.index()] = 0,
            Op::Cancel { target, .. } => self.last.emptied = Some(world.thread_of(target)),
            Op::CancelMessage(message) => self.last.emptied = World::looper_of_message(message),
            Op::Quit { looper, .. } => self.last.emptied = Some(world.queue_owner(looper)),
            _ => {}
        }
    }
}
