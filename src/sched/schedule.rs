//! A schedule: the choices of a run by name, so that it means the same in another version of the program.

use super::names::{DEEP, NameId, Names};
use crate::base::Digester;
use crate::event::{Actor, Choice, SiteId};
use crate::world::World;

/// An actor by name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ActorName {
    /// A thread by its pedigree, in [`Schedule::names`].
    Thread(NameId),
    /// An event by its name.
    Event(String),
    /// The clock.
    Clock,
    /// The end of a run that rests.
    Stop,
}

/// `count` equal choices in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scheduled {
    /// Index into [`Schedule::actors`].
    pub actor: u32,
    /// As in [`Choice::argument`].
    pub argument: u64,
    /// Eight bits of what was pending: actor, kind of operation, site.
    pub check: u8,
    /// How often, at least 1.
    pub count: u64,
}

/// The choices of a run.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Schedule {
    /// The names of threads.
    pub names: Names,
    /// Actors in the order of their first choice.
    pub actors: Vec<ActorName>,
    /// Choices, run-length coded.
    pub choices: Vec<Scheduled>,
    /// Check bytes are of whole names, also where these are deep: so in tokens of version 1. Without deep names it makes no difference.
    // invariant: false without deep names
    pub whole_checks: bool,
}

impl Schedule {
    /// The number of choices; of a token that somebody made up there may be more than can be counted.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.choices.iter().fold(0, |sum: u64, c| sum.saturating_add(c.count))
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.choices.is_empty()
    }

    /// The name of an actor, for people: `thread main`; of a deep name the end.
    #[must_use]
    pub fn told(&self, actor: u32) -> String {
        match &self.actors[actor as usize] {
            ActorName::Thread(name) => format!("thread {}", self.names.short_name(*name)),
            other => other.other(),
        }
    }

    /// Forgets the names that no actor has.
    pub(crate) fn keep_names(&mut self) {
        let thread = |actor: &ActorName| if let ActorName::Thread(name) = actor { Some(*name) } else { None };
        let mut names = Names::default();
        let ids = names.add_all(&self.names, self.actors.iter().filter_map(thread));
        self.names = names;
        let mut ids = ids.into_iter();
        for actor in &mut self.actors {
            if let ActorName::Thread(name) = actor
                && let Some(id) = ids.next()
            {
                *name = id;
            }
        }
    }

    // What check bytes are made of.
    fn checked(&self, actor: u32) -> String {
        match &self.actors[actor as usize] {
            ActorName::Thread(name) if self.whole_checks => format!("thread {}", self.names.name(*name)),
            _ => self.told(actor),
        }
    }

    /// Appends equal choices.
    pub(super) fn push(&mut self, actor: u32, argument: u64, check: u8, count: u64) {
        match self.choices.last_mut() {
            Some(last) if (last.actor, last.argument, last.check) == (actor, argument, check) => last.count += count,
            _ => self.choices.push(Scheduled { actor, argument, check, count }),
        }
    }
}

impl ActorName {
    // The name of what is no thread.
    fn other(&self) -> String {
        match self {
            ActorName::Thread(_) => "a thread".to_owned(),
            ActorName::Event(name) => format!("event {name}"),
            ActorName::Clock => "the clock".to_owned(),
            ActorName::Stop => "the end of the run".to_owned(),
        }
    }
}

/// The name of an actor of this run, for people.
pub(super) fn told(world: &World, actor: Actor) -> String {
    match actor {
        Actor::Thread(thread) => {
            format!("thread {}", world.contexts().last_parts(world.setup(), world.thread(thread).home, DEEP))
        }
        Actor::Event(event) => ActorName::Event(world.setup().events[event].name.clone()).other(),
        Actor::Clock => ActorName::Clock.other(),
        Actor::Stop => ActorName::Stop.other(),
    }
}

/// The site and the word of what the actor is about to do; nothing but for threads.
#[inline]
pub(super) fn about_to(world: &World, actor: Actor) -> Stand {
    match actor {
        Actor::Thread(thread) => (world.thread(thread).site, world.thread(thread).pending.word()),
        _ => (None, ""),
    }
}

/// Eight bits of what the schedule's actor is about to do: its name, the word of its operation (none but for threads), the site by its body and number there.
fn check_byte(world: &World, schedule: &Schedule, actor: u32, stand: Stand) -> u8 {
    check_byte_at(world, schedule, actor, stand, 0).expect("a site has its own number")
}

/// The same as if there were `shift` sites less before it in its body; `None` if there are not so many.
pub(super) fn check_byte_at(
    world: &World,
    schedule: &Schedule,
    actor: u32,
    (site, word): Stand,
    shift: i64,
) -> Option<u8> {
    let mut digest = Digester::new();
    digest.text(&schedule.checked(actor));
    if let ActorName::Thread(_) = &schedule.actors[actor as usize] {
        digest.text(word);
        if let Some(site) = site {
            let site = &world.setup().sites[site];
            let ordinal = u64::try_from(i64::from(site.ordinal) - shift).ok()?;
            digest.text(&world.setup().bodies[site.body]).word(ordinal);
        }
    }
    Some(digest.finish() as u8)
}

/// Check bytes, computed once for each operation of each site that an actor stands at.
#[derive(Clone, Default)]
pub(super) struct CheckBytes {
    // By the actor's index in the schedule.
    known: Vec<Vec<(Stand, u8)>>,
}

/// Where an actor stands, as [`about_to`] says.
pub(super) type Stand = (Option<SiteId>, &'static str);

impl CheckBytes {
    pub(super) fn clear(&mut self) {
        self.known.clear();
    }

    /// [`check_byte`] of the schedule's actor number `at`.
    pub(super) fn of(&mut self, at: usize, world: &World, schedule: &Schedule, stand: Stand) -> u8 {
        if self.known.len() <= at {
            self.known.resize(at + 1, Vec::new());
        }
        if let Some((_, check)) = self.known[at].iter().find(|(known, _)| *known == stand) {
            return *check;
        }
        let check = check_byte(world, schedule, at as u32, stand);
        self.known[at].push((stand, check));
        check
    }
}

/// What an actor is about to do, for a message: "thread a at line 7: write x".
#[must_use]
pub fn describe(world: &World, choice: Choice) -> String {
    let name = told(world, choice.actor);
    match choice.actor {
        Actor::Thread(thread) => {
            let t = world.thread(thread);
            let site = t.site.map(|s| &world.setup().sites[s]);
            let place = site.map_or("", |s| s.place.as_str());
            let line = site.map_or(String::new(), |s| format!(" at line {}", s.line));
            let gap = if place.is_empty() { "" } else { " " };
            format!("{name}{line}: {}{gap}{place}", t.pending.word())
        }
        Actor::Clock => format!("{name} to {} ms", choice.argument),
        _ => name,
    }
}
