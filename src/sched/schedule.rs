//! A schedule: the choices of a run with actors by name, so that it keeps its meaning in another version of the
//! program.

use super::names::{DEEP, NameId, Names};
use crate::base::Digester;
use crate::event::{Actor, Choice, SiteId};
use crate::world::World;

/// The name of an actor.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ActorName {
    /// The pedigree of a thread, stored in [`Schedule::names`].
    Thread(NameId),
    /// The name of an event.
    Event(String),
    /// The clock.
    Clock,
    /// The end of a run that is at rest.
    Stop,
}

/// A number of equal choices in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScheduledChoice {
    /// Index into [`Schedule::actors`].
    pub actor: u32,
    /// Argument of the choice, as in [`Choice::argument`].
    pub argument: u64,
    /// Check byte: eight bits of a digest of the actor's name, the kind of its pending operation and the operation's
    /// site.
    pub check: u8,
    /// Number of equal choices, at least 1.
    pub count: u64,
}

/// All choices of a run, in order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Schedule {
    /// The names of the threads.
    pub names: Names,
    /// The actors, in the order of their first choice.
    pub actors: Vec<ActorName>,
    /// The choices, run-length encoded.
    pub choices: Vec<ScheduledChoice>,
    /// Whether check bytes are computed from whole names, even deep ones, as in tokens of version 1. Without deep names
    /// this makes no difference.
    // invariant: false if there are no deep names
    pub whole_checks: bool,
}

impl Schedule {
    /// Returns the number of choices. It saturates, because the counts of a forged token may overflow.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.choices.iter().fold(0, |sum: u64, c| sum.saturating_add(c.count))
    }

    /// Returns whether there are no choices.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.choices.is_empty()
    }

    /// Returns the name of an actor for messages: `thread main`. A deep name is shortened to its last parts.
    #[must_use]
    pub fn actor_name(&self, actor: u32) -> String {
        match &self.actors[actor as usize] {
            ActorName::Thread(name) => format!("thread {}", self.names.short_name(*name)),
            other => other.other(),
        }
    }

    /// Drops the names that no actor has.
    pub(crate) fn keep_names(&mut self) {
        // Copying the used names into a new table also renumbers them, so each actor gets its name's new number.
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

    // The name of an actor as it enters check bytes.
    fn checked(&self, actor: u32) -> String {
        match &self.actors[actor as usize] {
            ActorName::Thread(name) if self.whole_checks => format!("thread {}", self.names.name(*name)),
            _ => self.actor_name(actor),
        }
    }

    /// Appends `count` equal choices.
    pub(super) fn push(&mut self, actor: u32, argument: u64, check: u8, count: u64) {
        match self.choices.last_mut() {
            Some(last) if (last.actor, last.argument, last.check) == (actor, argument, check) => last.count += count,
            _ => self.choices.push(ScheduledChoice { actor, argument, check, count }),
        }
    }
}

impl ActorName {
    // The name of an actor that is not a thread.
    fn other(&self) -> String {
        match self {
            ActorName::Thread(_) => "a thread".to_owned(),
            ActorName::Event(name) => format!("event {name}"),
            ActorName::Clock => "the clock".to_owned(),
            ActorName::Stop => "the end of the run".to_owned(),
        }
    }
}

/// Returns the name of an actor of this run for messages.
pub(super) fn actor_name(world: &World, actor: Actor) -> String {
    match actor {
        Actor::Thread(thread) => {
            format!("thread {}", world.contexts().last_parts(world.setup(), world.thread(thread).home, DEEP))
        }
        Actor::Event(event) => ActorName::Event(world.setup().events[event].name.clone()).other(),
        Actor::Clock => ActorName::Clock.other(),
        Actor::Stop => ActorName::Stop.other(),
    }
}

/// Returns the site and the word of the operation that the actor is about to perform. Only threads have them.
#[inline]
pub(super) fn about_to(world: &World, actor: Actor) -> PendingSite {
    match actor {
        Actor::Thread(thread) => (world.thread(thread).site, world.thread(thread).pending.word()),
        _ => (None, ""),
    }
}

/// Returns the check byte of the operation that the schedule's actor is about to perform. It covers the actor's name
/// and, for a thread, the word of the operation and the site (its body and its ordinal there).
fn check_byte(world: &World, schedule: &Schedule, actor: u32, pending_site: PendingSite) -> u8 {
    check_byte_at(world, schedule, actor, pending_site, 0).expect("a site has its own number")
}

/// Returns the check byte that the operation would have with `shift` fewer sites before it in its body. `None` if the
/// site's ordinal is less than `shift`.
pub(super) fn check_byte_at(
    world: &World,
    schedule: &Schedule,
    actor: u32,
    (site, word): PendingSite,
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

/// Cache of check bytes: each one is computed once per actor and pending operation.
#[derive(Clone, Default)]
pub(super) struct CheckBytes {
    // For each actor, by its index in the schedule: the known check bytes.
    known: Vec<Vec<(PendingSite, u8)>>,
}

/// The site and the word of an actor's pending operation, as [`about_to`] returns them.
pub(super) type PendingSite = (Option<SiteId>, &'static str);

impl CheckBytes {
    pub(super) fn clear(&mut self) {
        self.known.clear();
    }

    /// Returns the [`check_byte`] of the schedule's actor with index `at`.
    pub(super) fn of(&mut self, at: usize, world: &World, schedule: &Schedule, pending_site: PendingSite) -> u8 {
        if self.known.len() <= at {
            self.known.resize(at + 1, Vec::new());
        }
        if let Some((_, check)) = self.known[at].iter().find(|(known, _)| *known == pending_site) {
            return *check;
        }
        let check = check_byte(world, schedule, at as u32, pending_site);
        self.known[at].push((pending_site, check));
        check
    }
}

/// Returns a description of an actor's next step for messages: "thread a at line 7: write x".
#[must_use]
pub fn describe(world: &World, choice: Choice) -> String {
    let name = actor_name(world, choice.actor);
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
        // The name of a row of a component says for which instance it is fired.
        Actor::Event(event) => match world.open_for(event).get(choice.argument as usize) {
            Some(instance) => ActorName::Event(world.row_name(event, *instance)).other(),
            None => name,
        },
        Actor::Stop => name,
    }
}
