//! SURW: each order of the interesting events is as likely as any other (Zhao, Wolff, Mathur, Roychoudhury, *Selectively Uniform Concurrency Testing*, ASPLOS 2025).
//!
//! Whose interesting event comes next is drawn with the number of interesting events as weights that each has left; it is the *intended* one. Who stands at an interesting event and is not intended
//! waits; all others, the intended one among them, go on at random, and once the intended event has been performed the next one is drawn. Where all events are interesting this is the paper's
//! uniform random walk. In a random walk it is the one with less to do besides that comes first nearly always.
//!
//! What is left is known from one profile run, by pedigrees; nothing is learnt from other runs. A context's weight includes what it will make: where it makes that, the weight goes over,
//! and if it was intended it is drawn anew which of both is. So threads that are forked, of which the events make a forest, come in uniform order as well (the chance of the next root is
//! the size of its tree). Joins, locks and conditions make orders that are no forests: there it is an approximation.
//!
//! Who acts is drawn by actor. A thread's weight is that of its context; a looper's that of its task and of all that stand in its queue; an event's that of its enabled firings. The clock
//! and the end of a run have no interesting events and are among the others. A run does not end while somebody waits for the intended one.
//!
//! Beyond the paper: those can be intended that can act now, or once the clock has moved. If all who can act wait, or somebody has waited for as many steps as the profile run took (and a
//! hundred), the intended one is drawn anew among those who wait: the counts were wrong, or it is blocked by one of them. Uninteresting events are drawn evenly.

use super::counts::Counts;
use super::{Divergence, Strategy, View, random_argument};
use crate::base::{Id, IndexVec, Rng};
use crate::event::{Actor, Choice, ContextId, EventId, Op, SiteId, ThreadId};
use crate::world::{Made, MessageKind, Question, Status, World};
use std::sync::Arc;

/// The scheduler.
///
/// # Examples
///
/// ```
/// use raceflip::{exec::{Unobserved, run}, sched::{Counting, RoundRobin, StrategySpec, SurwSpec}, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// let text = "var x = 0; thread a { for i in 0..20 { skip }; x = 1 }; thread b { x = 2 }";
/// let model = Model::from_text("late.race", text, &[])?;
/// # let stop = AtomicBool::new(false);
/// let sites = &model.program.sites;
/// let mut machine = model.machine(Limits::default());
/// let spec = "surw".parse::<StrategySpec>()?.with_counts(|surw: &SurwSpec| {
///     let mut counting = Counting::new(RoundRobin::default(), surw.interesting(sites)?);
///     run(&mut machine, &mut counting, 0, &mut Unobserved, &stop);
///     Ok::<_, raceflip::sched::SpecError>(counting.counts(&machine.world))
/// })?;
/// let mut surw = spec.build(sites)?;
/// // Both orders of the two writes are as likely, however much there is to do before.
/// let first = (0..200).filter(|seed| {
///     run(&mut machine, &mut surw, *seed, &mut Unobserved, &stop);
///     machine.world.memory().cell(0) == 2
/// });
/// assert!((70..=130).contains(&first.count()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Surw {
    interesting: IndexVec<SiteId, bool>,
    counts: Arc<Counts>,
    rng: Rng,
    // Room for the instants of the clock.
    instants: Vec<u64>,
    // By context: its number in the profile, and what it has left.
    contexts: Vec<(Option<u32>, u32)>,
    threads: Vec<Load>,
    events: Vec<u32>,
    intended: Option<Actor>,
    // Weight that went over since the intended one was last asked for.
    moved: Vec<Moved>,
    started: bool,
    last: Last,
    // The step since which somebody waits.
    since: Option<u64>,
}

#[derive(Clone, Copy)]
struct Load {
    weight: u32,
    // The context that it ran in after its last step.
    running: ContextId,
}

// So much of what this actor had left goes over to that one.
#[derive(Clone, Copy)]
struct Moved {
    from: Actor,
    to: Actor,
    weight: u32,
    of: u32,
}

// The last step.
#[derive(Clone, Copy, Default)]
struct Last {
    actor: Option<Actor>,
    // The looper that it posted to.
    posted_to: Option<ThreadId>,
    enabled: Option<EventId>,
    // A queue of which something was removed.
    emptied: Option<ThreadId>,
}

impl Surw {
    /// Makes events at these statements come in uniform order, whose numbers one run has shown.
    #[must_use]
    pub fn new(interesting: IndexVec<SiteId, bool>, counts: Arc<Counts>) -> Self {
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
            last: Last::default(),
            since: None,
        }
    }

    fn is_interesting(&self, world: &World, actor: Actor) -> bool {
        matches!(actor, Actor::Thread(thread) if world.thread(thread).site.is_some_and(|site| self.interesting[site]))
    }

    // What is left, of one that can act now or once the clock has moved.
    fn weight(&self, world: &World, actor: Actor) -> u32 {
        match actor {
            Actor::Thread(thread) => {
                let enabled = world.enabled().contains(thread);
                let t = world.thread(thread);
                let later = || match t.pending {
                    Op::Begin => t.queue.as_ref().is_some_and(|queue| !queue.is_empty()),
                    _ => world.deadline(thread).is_some(),
                };
                if t.status != Status::Alive || !enabled && !later() {
                    return 0;
                }
                // Who stands at one has one.
                let stands = enabled && self.is_interesting(world, actor);
                self.threads[thread.index()].weight.max(u32::from(stands))
            }
            Actor::Event(event) if world.fireable().contains(event) => self.events[event.index()],
            _ => 0,
        }
    }

    // Whether it has something left and cannot act now.
    fn is_blocked(&self, world: &World, actor: Actor) -> bool {
        let Actor::Thread(thread) = actor else { return false };
        let alive = world.thread(thread).status == Status::Alive;
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
        // More than 32 bits can tell are more events than a run has.
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

    // Follows the intention to where the weight went.
    fn follow(&mut self) {
        for i in 0..self.moved.len() {
            let Moved { from, to, weight, of } = self.moved[i];
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
            self.moved.push(Moved { from, to, weight, of });
        }
    }

    // Takes in what the last step has made and ended.
    fn welcome(&mut self, world: &World) {
        let start = !std::mem::replace(&mut self.started, true);
        let known = self.contexts.len();
        for i in known..world.contexts().len() {
            let context = ContextId::new(i);
            let maker = world.contexts().parent(context).map(|maker| self.contexts[maker.index()].0);
            let made = world.contexts().made(context);
            // What an unknown context makes is unknown.
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
        let Last { actor: Some(actor), posted_to, enabled, emptied } = std::mem::take(&mut self.last) else { return };
        for i in known..world.contexts().len() {
            let weight = self.contexts[i].1;
            let to = match world.contexts().made(ContextId::new(i)) {
                Made::Event(event) => Some(world.setup().events[event].looper),
                Made::Body(_) | Made::Looper => posted_to.or_else(|| world.threads().ids().last()),
                _ => None,
            };
            if let Some(to) = to {
                self.move_weight(world, actor, Actor::Thread(to), weight);
            }
        }
        if let Some(event) = enabled {
            let before = world.contexts().counted(None, Made::Event(event)) as usize;
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
        self.counts.weight(self.counts.find(None, Made::Event(event), nth))
    }

    // A task that has ended has nothing left, whatever the profile says.
    fn leave(&mut self, world: &World, thread: ThreadId) {
        let t = world.thread(thread);
        let load = &mut self.threads[thread.index()];
        if load.running != t.context && load.running != t.home {
            let left = std::mem::take(&mut self.contexts[load.running.index()].1);
            load.weight = load.weight.saturating_sub(left);
        }
        load.running = t.context;
    }

    // The weight of a thread from what it is made of.
    fn add_up(&mut self, world: &World, thread: ThreadId) {
        let t = world.thread(thread);
        let of = |context: ContextId| self.contexts[context.index()].1;
        let mut weight = of(t.home);
        if t.context != t.home {
            weight = weight.saturating_add(of(t.context));
        }
        for message in t.queue.iter().flat_map(|queue| queue.messages()) {
            if let MessageKind::Task(task) = &message.kind {
                weight = weight.saturating_add(of(task.context));
            }
        }
        self.threads[thread.index()].weight = weight;
    }

    // Among all who need not wait, the `k`-th; `None` counts them.
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

impl Strategy for Surw {
    fn begin(&mut self, seed: u64) {
        self.rng = Rng::seeded(seed);
        self.contexts.clear();
        self.threads.clear();
        self.events.clear();
        self.moved.clear();
        (self.intended, self.last, self.since) = (None, Last::default(), None);
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
        if !open.any(|thread| self.is_interesting(world, Actor::Thread(thread))) {
            self.since = None;
            return Ok(super::random_actor(&mut self.rng, view));
        }
        let now = world.steps();
        let patient = now - *self.since.get_or_insert(now) < self.counts.steps + 100;
        if self.intended.is_some_and(|actor| self.weight(world, actor) == 0 && !self.is_blocked(world, actor)) {
            self.intended = None;
        }
        if self.intended.is_none() {
            self.intended = self.draw(world, |_, _| true);
        }
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
        // Where somebody else has chosen this is the first that is heard of the state.
        self.welcome(world);
        self.last = Last { actor: Some(choice.actor), ..Last::default() };
        let Actor::Thread(thread) = choice.actor else { return };
        if self.is_interesting(world, choice.actor) {
            let context = world.thread(thread).context.index();
            let left = &mut self.contexts[context].1;
            // What was not expected takes nothing from what else is expected of this thread.
            if *left > 0 {
                *left -= 1;
                let load = &mut self.threads[thread.index()].weight;
                *load = load.saturating_sub(1);
            }
            // It is forced, if it was not intended.
            (self.intended, self.since) = (None, None);
            self.moved.clear();
        }
        match world.thread(thread).pending {
            Op::Post { target, .. } => self.last.posted_to = Some(world.thread_of(target)),
            Op::Enable { event, .. } => self.last.enabled = Some(event),
            Op::Disable(event) => self.events[event.index()] = 0,
            Op::Cancel { target, .. } => self.last.emptied = Some(world.thread_of(target)),
            Op::Quit { looper, .. } => self.last.emptied = Some(looper),
            _ => {}
        }
    }
}
