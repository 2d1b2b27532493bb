//! Stubborn sets of actors: which actors a search follows in a state, so that it leaves orders out and no end.
//!
//! A set is stubborn if each of its open actors commutes with everything that actors outside of it may still do, and if
//! none outside can open one of its blocked actors (Valmari, *Stubborn sets for reduced state space generation*; here
//! an actor stands still until it acts, so that it is one process). Then every run from the state to a last state
//! contains a step of the set, which may as well come first. What an actor may still do comes from the text of the
//! program ([`Futures`](crate::world::Futures)), and ends where it needs a lock that the set holds.
//!
//! Three things end a run without being the end of everything, and have rules of their own. A step that ends the run
//! (a failure, a ring of locks, a limit) lets nothing follow: a state with such a step is expanded in full
//! (`Worker::expand`). A ring is closed by several threads: see `vm::future::order`. And a run may stop at rest: a set
//! contains a thread that keeps the run going, and a state at rest is expanded in full.

use crate::base::Id;
use crate::base::mutant::{self, Mutant};
use crate::event::{Actor, EventId, Op, ThreadId};
use crate::world::{Act, ActSet, Machine, Manner, SharedFutures, Snapshot, Thing, World};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How a search with stubborn sets works. The defaults are the best ones; tests switch parts off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stubbornness {
    /// Whether the future of an actor ends where it needs a lock that the set holds.
    pub guards: bool,
    /// Whether states are expanded in full so that no actor is left out forever. Without it failures may be missing.
    pub proviso: bool,
}

impl Default for Stubbornness {
    fn default() -> Self {
        Self { guards: true, proviso: true }
    }
}

/// What all workers know of the acts of a program.
pub(super) struct ActRelations<G> {
    futures: SharedFutures<G>,
    // For each act those that do not commute with it, and those that may open what is blocked because of it.
    conflicts: Vec<ActSet>,
    openers: Vec<ActSet>,
}

/// Chooses stubborn sets.
pub(super) struct StubbornSets<G> {
    relations: Arc<ActRelations<G>>,
    guards: bool,
    // Futures by thread, place and guards; rests of steps by thread, place and whether a task begins.
    futures: BTreeMap<(u32, u32, u64), Arc<ActSet>>,
    rests: BTreeMap<(u32, u32, bool), Arc<ActSet>>,
    // The declared threads, the events and the clock, and the numbers of the first two.
    actors: Vec<ActorAt>,
    counts: (usize, usize),
    set: Vec<bool>,
    best: Vec<bool>,
    to_do: Vec<usize>,
}

// What an actor can do in the state.
#[derive(Default)]
struct ActorAt {
    is_open: bool,
    // Whether it can ever act again.
    is_alive: bool,
    // Whether it keeps the run going.
    keeps: bool,
    // Of a thread: where it stands.
    place: Option<u32>,
    // Acts of its next step, if that is open; what has to happen before, if it is blocked.
    acts: ActSet,
    // The only actor that can open it, if it is blocked at a lock.
    owner: Option<usize>,
    // Guards that it holds.
    holds: u64,
}

impl<G: Snapshot> ActRelations<G> {
    /// Returns the relations of the acts of a program; `None` if nothing is known of its futures. `first` is a machine
    /// at the start.
    pub(super) fn new(first: &Machine<G>) -> Option<Self> {
        let futures = first.guest.futures(&first.world)?;
        let all = futures.acts();
        let set = |is: &dyn Fn(Act) -> bool| {
            let mut set = ActSet::default();
            (0..).zip(all).filter(|(_, act)| is(**act)).for_each(|(number, _)| set.insert(number));
            set
        };
        let conflicts = all.iter().map(|act| set(&|later| !act.commutes(later))).collect();
        let openers = all.iter().map(|act| set(&|other| act.is_opened_by(other))).collect();
        Some(Self { futures, conflicts, openers })
    }
}

impl<G: Snapshot> StubbornSets<G> {
    pub(super) fn new(relations: Arc<ActRelations<G>>, how: Stubbornness) -> Self {
        Self {
            relations,
            guards: how.guards,
            futures: BTreeMap::new(),
            rests: BTreeMap::new(),
            actors: Vec::new(),
            counts: (0, 0),
            set: Vec::new(),
            best: Vec::new(),
            to_do: Vec::new(),
        }
    }

    /// Chooses a stubborn set with the fewest open actors. Returns false if all open actors have to be followed; else
    /// [`has`](Self::has) tells the set.
    pub(super) fn choose(&mut self, machine: &Machine<G>) -> bool {
        if !self.look(machine) {
            return false;
        }
        let open = self.actors.iter().filter(|actor| actor.is_open).count();
        let mut fewest = open;
        for first in 0..self.actors.len() {
            if !self.actors[first].is_open {
                continue;
            }
            if let Some(count) = self.close(machine, first, fewest) {
                fewest = count;
                std::mem::swap(&mut self.set, &mut self.best);
                if fewest == 1 {
                    break;
                }
            }
        }
        fewest < open
    }

    /// Returns whether an actor is in the set that was chosen.
    pub(super) fn has(&self, actor: Actor) -> bool {
        let (declared, events) = self.counts;
        let number = match actor {
            Actor::Thread(thread) => Some(thread.index()).filter(|thread| *thread < declared),
            Actor::Event(event) => Some(declared + event.index()),
            Actor::Clock => Some(declared + events),
            Actor::Stop => None,
        };
        number.is_some_and(|number| self.best[number])
    }

    // Looks at all actors of a state. Returns false if the state has to be expanded in full.
    fn look(&mut self, machine: &Machine<G>) -> bool {
        let world = &machine.world;
        let declared = world.setup().threads.len();
        let is_alive = |thread: ThreadId| !world.finished(thread);
        let is_plain = world.outcome().is_none()
            && world.has_plain_futures()
            && !world.rests()
            && !(machine.guest.watches_rest() && world.may_rest_with_open_actors())
            && declared <= MOST_THREADS
            && world.setup().events.len() <= MOST_EVENTS
            && world.threads().ids().skip(declared).all(|thread| !is_alive(thread));
        if !is_plain {
            return false;
        }
        self.actors.clear();
        self.counts = (declared, world.setup().events.len());
        for thread in (0..declared).map(ThreadId::new) {
            let actor = if is_alive(thread) { self.thread(machine, thread) } else { ActorAt::default() };
            self.actors.push(actor);
        }
        for thread in world.busy() {
            self.actors[thread.index()].keeps = true;
        }
        let futures = &self.relations.futures;
        for event in world.setup().events.ids() {
            let is_open = world.fireable().contains(event);
            let acts = match is_open {
                true => event_acts(event, world, futures.has_clock()),
                false => vec![enabled(event)],
            };
            self.actors.push(ActorAt { is_open, is_alive: true, acts: numbers(futures, &acts), ..ActorAt::default() });
        }
        let acts = numbers(futures, &[Act::Clock]);
        let (is_open, is_alive) = (world.clock_open(), futures.has_clock());
        self.actors.push(ActorAt { is_open, is_alive, acts, ..ActorAt::default() });
        debug_assert!(is_alive || !is_open, "the clock moves although nothing begins a deadline");
        true
    }

    fn thread(&mut self, machine: &Machine<G>, thread: ThreadId) -> ActorAt {
        let Machine { world, guest } = machine;
        let futures = self.relations.futures.clone();
        let is_open = world.enabled().contains(thread);
        let place = futures.place(guest, thread);
        let op = &world.thread(thread).pending;
        let mut actor = ActorAt { is_open, is_alive: true, place, ..ActorAt::default() };
        actor.holds = match self.guards {
            true => world.declared_holds(thread).fold(0, |all, hold| all | futures.guard(hold)),
            false => 0,
        };
        let Some(place) = place else {
            actor.acts.insert(ANYTHING);
            return actor;
        };
        let begins = world.begins_surely(thread);
        if matches!(op, Op::Await { .. }) {
            actor.acts = futures.operation(thread, place);
        } else {
            let mut acts = Vec::new();
            world.acts(thread, op, futures.has_clock(), |cell| guest.watches_cell(cell), &mut acts);
            for act in acts {
                let known = match act {
                    Act::Touches(thing, Manner::Begin) if !begins || futures.number(act) == ANYTHING => {
                        Act::Touches(thing, Manner::Other)
                    }
                    act => act,
                };
                actor.acts.insert(futures.number(known));
            }
        }
        if is_open {
            let rest = self
                .rests
                .entry((thread.0, place, begins))
                .or_insert_with(|| Arc::new(futures.rest(thread, place, begins)));
            actor.acts.add_all(rest);
        } else if let Op::Acquire(lock) = op {
            actor.owner = world.owner(*lock).map(Id::index);
        }
        actor
    }

    // Closes a set that begins with one actor. Returns the number of its open actors if that is less than `fewest`.
    fn close(&mut self, machine: &Machine<G>, first: usize, fewest: usize) -> Option<usize> {
        self.set.clear();
        self.set.resize(self.actors.len(), false);
        self.to_do.clear();
        let (mut open, mut held) = (0, 0);
        self.add(first);
        loop {
            let Some(member) = self.to_do.pop() else {
                // Without a thread that keeps the run going, it might stop before the set acts.
                let keepers = || (0..self.actors.len()).filter(|actor| self.actors[*actor].keeps);
                match keepers().any(|actor| self.set[actor]) {
                    true => return Some(open),
                    false => {
                        let keeper = keepers().next()?;
                        self.add(keeper);
                        continue;
                    }
                }
            };
            held |= self.actors[member].holds;
            open += usize::from(self.actors[member].is_open);
            if open >= fewest {
                return None;
            }
            self.add_what_meets(machine, member, held);
        }
    }

    fn add(&mut self, actor: usize) {
        if !std::mem::replace(&mut self.set[actor], true) {
            self.to_do.push(actor);
        }
    }

    // Adds the actors that a member of the set makes necessary.
    fn add_what_meets(&mut self, machine: &Machine<G>, member: usize, held: u64) {
        let relations = self.relations.clone();
        let of = &self.actors[member];
        if !of.is_alive {
            return;
        }
        if let Some(owner) = of.owner {
            // A thread beyond the declared ones has ended, and so has the lock: nothing opens it.
            if owner < machine.world.setup().threads.len() && !mutant::is(Mutant::OwnersForgotten) {
                self.add(owner);
            }
            return;
        }
        let table = if of.is_open { &relations.conflicts } else { &relations.openers };
        let mut met = ActSet::default();
        of.acts.iter().for_each(|act| met.add_all(&table[act as usize]));
        for other in 0..self.actors.len() {
            if !self.set[other] && self.actors[other].is_alive && self.may_do(machine, other, held).intersects(&met) {
                self.add(other);
            }
        }
    }

    // Returns what an actor may still do while others have these guards.
    fn may_do(&mut self, machine: &Machine<G>, actor: usize, held: u64) -> Arc<ActSet> {
        let futures = &self.relations.futures;
        let world = &machine.world;
        let declared = world.setup().threads.len();
        if actor >= declared {
            let event = world.setup().events.ids().nth(actor - declared);
            let acts = event.map_or_else(|| vec![Act::Clock], |event| event_acts(event, world, futures.has_clock()));
            return Arc::new(numbers(futures, &acts));
        }
        let Some(place) = self.actors[actor].place else { return Arc::new(anything()) };
        let thread = ThreadId::new(actor);
        // Its own locks do not block it.
        let kept = held & !self.actors[actor].holds & futures.guards(thread);
        let key = (thread.0, place, kept);
        self.futures.entry(key).or_insert_with(|| Arc::new(futures.future(thread, place, kept))).clone()
    }
}

// Actors have bits of their own in the graph of states up to these numbers.
const MOST_THREADS: usize = super::sleep::FIRST_EVENT_BIT as usize - 1;
const MOST_EVENTS: usize = (super::sleep::CLOCK_BIT - super::sleep::FIRST_EVENT_BIT) as usize;

// Number of the act that may be anything.
const ANYTHING: u32 = 0;

fn anything() -> ActSet {
    let mut set = ActSet::default();
    set.insert(ANYTHING);
    set
}

fn numbers<G>(futures: &SharedFutures<G>, acts: &[Act]) -> ActSet {
    let mut set = ActSet::default();
    acts.iter().for_each(|act| set.insert(futures.number(*act)));
    set
}

fn enabled(event: EventId) -> Act {
    Act::Touches(Thing::Event(event), Manner::Other)
}

// The acts of a firing: it posts, and all firings keep their order.
fn event_acts(event: EventId, world: &World, has_clock: bool) -> Vec<Act> {
    let queue = Thing::Queue(world.setup().events[event].looper);
    let touches = [queue, Thing::Numbers].map(|thing| Act::Touches(thing, Manner::Other));
    let clock = has_clock.then_some(Act::Clock);
    touches.into_iter().chain([enabled(event)]).chain(clock).collect()
}
