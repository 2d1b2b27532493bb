//! Version 2 of a schedule. Its length is linear in the length of the run, also if each thread has a longer name than
//! the one that made it.
//!
//! Names are stored as shared parts, each with the distance back to the part of its maker. A choice names its actor by
//! how recently that actor has acted, and the argument of the clock is the time that passes. A periodic run therefore
//! has periodic bytes, which are stored once ([`repeats`]). For the same reason the check bytes of deep names cover
//! only their last parts.

use super::TokenError;
use super::bytes::{ByteWriter, Reader};
use super::repeats;
use crate::sched::{ActorName, Names, Schedule, ScheduledChoice};

/// Writes a schedule and returns true. Writes nothing and returns false if the bytes are more than can be read again,
/// unless `must` is set.
pub(super) fn write(schedule: &Schedule, must: bool, w: &mut ByteWriter) -> bool {
    let mut own = ByteWriter::default();
    own.number(schedule.names.texts().len() as u64);
    schedule.names.texts().for_each(|text| own.text(text));
    own.number(schedule.names.parts().len() as u64);
    for (back, text) in schedule.names.parts() {
        own.number(u64::from(back));
        own.number(u64::from(text));
    }
    own.number(schedule.actors.len() as u64);
    let mut last = 0;
    for actor in &schedule.actors {
        match actor {
            ActorName::Clock => own.number(0),
            ActorName::Stop => own.number(1),
            ActorName::Thread(name) => {
                own.number(2);
                own.signed(Names::number(*name) as i64 - last);
                last = Names::number(*name) as i64;
            }
            ActorName::Event(name) => {
                own.number(3);
                own.text(name);
            }
        }
    }
    own.number(schedule.choices.len() as u64);
    let mut recent = RecentActors::default();
    let mut clock = 0u64;
    for c in &schedule.choices {
        let mut argument = c.argument;
        if schedule.actors[c.actor as usize] == ActorName::Clock {
            argument = c.argument.wrapping_sub(clock);
            clock = c.argument;
        }
        // Two flags: whether there is an argument, and whether there is a count.
        let flags = u64::from(argument != 0) | u64::from(c.count != 1) << 1;
        own.number(recent.code(c.actor) << 2 | flags);
        if argument != 0 {
            own.number(argument);
        }
        if c.count != 1 {
            own.number(c.count);
        }
        own.byte(c.check);
    }
    let bytes = own.into_bytes();
    let fits = must || bytes.len() as u64 <= repeats::MOST;
    if fits {
        repeats::write(&bytes, w);
    }
    fits
}

pub(super) fn read(r: &mut Reader<'_>) -> Result<Schedule, TokenError> {
    let bytes = repeats::read(r)?;
    let r = &mut Reader::new(&bytes);
    let mut schedule = Schedule::default();
    let mut texts = Vec::new();
    for _ in 0..r.count()? {
        let text = r.text()?;
        // A part of a name has no slash: it is what joins the parts.
        if text.contains('/') {
            return Err(TokenError::Malformed("a part of a name that cannot be"));
        }
        texts.push(text);
    }
    let parts = r.count()?;
    super::may_have(parts)?;
    for _ in 0..parts {
        let back = u32::try_from(r.number()?).unwrap_or(u32::MAX);
        let text = usize::try_from(r.number()?).ok().and_then(|text| texts.get(text));
        let added = text.and_then(|text| schedule.names.add_back(back, text));
        added.ok_or(TokenError::Malformed("a part of a name that cannot be"))?;
    }
    let mut last = 0i64;
    for _ in 0..r.count()? {
        let actor = match r.number()? {
            0 => ActorName::Clock,
            1 => ActorName::Stop,
            2 => {
                last = last.wrapping_add(r.signed()?);
                let name = u64::try_from(last).ok().and_then(|n| schedule.names.at(n));
                ActorName::Thread(name.ok_or(TokenError::Malformed("a thread without a name"))?)
            }
            3 => ActorName::Event(r.text()?),
            _ => return Err(TokenError::Malformed("an unknown kind of actor")),
        };
        schedule.actors.push(actor);
    }
    // Names without an actor are dropped, so that a schedule does not depend on the version that it was read from.
    schedule.keep_names();
    let mut recent = RecentActors::default();
    let mut clock = 0u64;
    let choices = r.count()?;
    // Each choice takes at least two bytes, so a wrong count cannot reserve much memory.
    schedule.choices.reserve_exact(choices.min(r.rest().len() as u64 / 2) as usize);
    for _ in 0..choices {
        let head = r.number()?;
        let mut argument = if head & 1 != 0 { r.number()? } else { 0 };
        let count = if head & 2 != 0 { r.number()? } else { 1 };
        let check = r.byte()?;
        let actor = recent.actor(head >> 2, schedule.actors.len());
        let actor = actor.ok_or(TokenError::Malformed("a choice of an actor that is not listed"))?;
        if schedule.actors[actor as usize] == ActorName::Clock {
            argument = clock.wrapping_add(argument);
            clock = argument;
        }
        if count == 0 {
            return Err(TokenError::Malformed("a choice that is made no times"));
        }
        schedule.choices.push(ScheduledChoice { actor, argument, check, count });
    }
    r.end()?;
    Ok(schedule)
}

/// Encodes actors by how recently they have acted. With n actors that have acted:
///
/// - Code 0 is the first actor of the list that has not acted.
/// - Code k in 1..=n is the k-th most recent actor.
/// - Code n + 1 + i is actor i of the list, for an actor that acts out of turn.
#[derive(Default)]
struct RecentActors {
    // The actors that have acted, the most recent one last.
    acted: Vec<u32>,
    has: Vec<bool>,
    // The first actor that has not acted.
    next: usize,
}

impl RecentActors {
    fn code(&mut self, actor: u32) -> u64 {
        let n = self.acted.len() as u64;
        let code = if self.has.get(actor as usize) == Some(&true) {
            self.acted.iter().rev().position(|a| *a == actor).map_or(0, |rank| rank as u64 + 1)
        } else if actor as usize == self.next {
            0
        } else {
            n + 1 + u64::from(actor)
        };
        self.act(actor);
        code
    }

    fn actor(&mut self, code: u64, actors: usize) -> Option<u32> {
        let n = self.acted.len() as u64;
        let actor = match code {
            0 => self.next as u32,
            code if code <= n => self.acted[(n - code) as usize],
            code => u32::try_from(code - n - 1).ok()?,
        };
        if actor as usize >= actors {
            return None;
        }
        self.act(actor);
        Some(actor)
    }

    fn act(&mut self, actor: u32) {
        let at = actor as usize;
        if self.has.len() <= at {
            self.has.resize(at + 1, false);
        }
        if std::mem::replace(&mut self.has[at], true) {
            let rank = self.acted.iter().rposition(|a| *a == actor);
            rank.map(|rank| self.acted.remove(rank));
        }
        self.acted.push(actor);
        while self.has.get(self.next) == Some(&true) {
            self.next += 1;
        }
    }
}
