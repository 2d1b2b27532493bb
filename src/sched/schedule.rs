//! A schedule: the choices of a run by name, so that it means the same in another version of the program.

use crate::base::Digester;
use crate::event::{Actor, Choice, SiteId};
use crate::world::World;

/// An actor by name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ActorName {
    /// A thread by its pedigree.
    Thread(String),
    /// An event by its name.
    Event(String),
    /// The clock.
    Clock,
    /// The end of a run that rests.
    Stop,
}

impl std::fmt::Display for ActorName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ActorName::Thread(name) => write!(f, "thread {name}"),
            ActorName::Event(name) => write!(f, "event {name}"),
            ActorName::Clock => f.write_str("the clock"),
            ActorName::Stop => f.write_str("the end of the run"),
        }
    }
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
    /// Actors in the order of their first choice.
    pub actors: Vec<ActorName>,
    /// Choices, run-length coded.
    pub choices: Vec<Scheduled>,
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

    /// Appends equal choices.
    pub(super) fn push(&mut self, actor: u32, argument: u64, check: u8, count: u64) {
        match self.choices.last_mut() {
            Some(last) if (last.actor, last.argument, last.check) == (actor, argument, check) => last.count += count,
            _ => self.choices.push(Scheduled { actor, argument, check, count }),
        }
    }
}

/// The name of an actor.
pub(super) fn name(world: &World, actor: Actor) -> ActorName {
    match actor {
        Actor::Thread(thread) => ActorName::Thread(world.thread_name(thread)),
        Actor::Event(event) => ActorName::Event(world.setup().events[event].name.clone()),
        Actor::Clock => ActorName::Clock,
        Actor::Stop => ActorName::Stop,
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

/// Eight bits of what the actor is about to do: its name, the word of its operation (none but for threads), the site by its body and number there.
fn check_byte(world: &World, name: &ActorName, site: Option<SiteId>, word: &str) -> u8 {
    check_byte_at(world, name, site, word, 0).expect("a site has its own number")
}

/// The same as if there were `shift` sites less before it in its body; `None` if there are not so many.
pub(super) fn check_byte_at(
    world: &World,
    name: &ActorName,
    site: Option<SiteId>,
    word: &str,
    shift: i64,
) -> Option<u8> {
    let mut digest = Digester::new();
    digest.text(&name.to_string());
    if let ActorName::Thread(_) = name {
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
type Stand = (Option<SiteId>, &'static str);

impl CheckBytes {
    pub(super) fn clear(&mut self) {
        self.known.clear();
    }

    /// [`check_byte`] of the schedule's actor number `at`, which has this name.
    pub(super) fn of(&mut self, at: usize, world: &World, name: &ActorName, stand: Stand) -> u8 {
        if self.known.len() <= at {
            self.known.resize(at + 1, Vec::new());
        }
        if let Some((_, check)) = self.known[at].iter().find(|(known, _)| *known == stand) {
            return *check;
        }
        let check = check_byte(world, name, stand.0, stand.1);
        self.known[at].push((stand, check));
        check
    }
}

/// What an actor is about to do, for a message: "thread a at line 7: write x".
#[must_use]
pub fn describe(world: &World, choice: Choice) -> String {
    let name = name(world, choice.actor);
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
        _ => name.to_string(),
    }
}
