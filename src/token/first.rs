//! Version 1 of a schedule: whole names, and every choice with its actor, argument, count and check byte.

use super::TokenError;
use super::bytes::{ByteWriter, Reader};
use crate::sched::{ActorName, Schedule, ScheduledChoice};

pub(super) fn write(schedule: &Schedule, w: &mut ByteWriter) {
    w.number(schedule.actors.len() as u64);
    for actor in &schedule.actors {
        match actor {
            ActorName::Clock => w.number(0),
            ActorName::Stop => w.number(1),
            ActorName::Thread(name) => {
                w.number(2);
                w.text(&schedule.names.name(*name));
            }
            ActorName::Event(name) => {
                w.number(3);
                w.text(name);
            }
        }
    }
    w.number(schedule.choices.len() as u64);
    for c in &schedule.choices {
        // Two flags: whether there is an argument, and whether there is a count.
        let flags = u64::from(c.argument != 0) | u64::from(c.count != 1) << 1;
        w.number(u64::from(c.actor) << 2 | flags);
        if c.argument != 0 {
            w.number(c.argument);
        }
        if c.count != 1 {
            w.number(c.count);
        }
        w.byte(c.check);
    }
}

pub(super) fn read(r: &mut Reader<'_>) -> Result<Schedule, TokenError> {
    let mut schedule = Schedule::default();
    for _ in 0..r.count()? {
        let actor = match r.number()? {
            0 => ActorName::Clock,
            1 => ActorName::Stop,
            2 => {
                let name = r.text()?;
                super::may_have(schedule.names.parts().len() as u64 + name.split('/').count() as u64)?;
                ActorName::Thread(schedule.names.add(&name))
            }
            3 => ActorName::Event(r.text()?),
            _ => return Err(TokenError::Malformed("an unknown kind of actor")),
        };
        schedule.actors.push(actor);
    }
    schedule.whole_checks = schedule.names.has_deep();
    for _ in 0..r.count()? {
        let head = r.number()?;
        let argument = if head & 1 != 0 { r.number()? } else { 0 };
        let count = if head & 2 != 0 { r.number()? } else { 1 };
        let check = r.byte()?;
        let actor = u32::try_from(head >> 2).ok().filter(|a| (*a as usize) < schedule.actors.len());
        let actor = actor.ok_or(TokenError::Malformed("a choice of an actor that is not listed"))?;
        if count == 0 {
            return Err(TokenError::Malformed("a choice that is made no times"));
        }
        schedule.choices.push(ScheduledChoice { actor, argument, check, count });
    }
    Ok(schedule)
}
