//! Operations in terms that are the same in every run.

use crate::event::{Actor, ContextId, Op, SiteId};
use crate::world::{CreationKind, World};

/// The pedigree of a thread, task or firing: for each context from the outermost creator on, its kind and its ordinal
/// among those of its kind. It is the same in every run.
pub type Pedigree = Vec<(CreationKind, u32)>;

/// An operation, identified in a way that is the same in every run and known before it is performed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Moment {
    /// A step at a statement.
    Step {
        /// The thread or task that performs it.
        context: Pedigree,
        /// The statement.
        site: SiteId,
        /// Ordinal of the step at this statement in this thread or task, from 1. Both halves of an operation count.
        nth: u32,
    },
    /// The post or fork that creates the thread or task of this pedigree, or the firing of the event.
    Makes(Pedigree),
    /// Any advance of the clock.
    Tick,
}

impl Moment {
    /// Returns whether the actor is about to perform this operation. `visits` is the number of steps at its statement
    /// so far.
    pub(super) fn is_next(&self, world: &World, actor: Actor, visits: u32) -> bool {
        match (self, actor) {
            (Self::Step { context, site, nth }, Actor::Thread(thread)) => {
                let t = world.thread(thread);
                t.site == Some(*site) && visits + 1 == *nth && world.contexts().is(t.context, context)
            }
            (Self::Makes(made), _) => makes(world, actor, made),
            (Self::Tick, Actor::Clock) => true,
            _ => false,
        }
    }
}

// Whether the actor's next operation creates the context of this pedigree.
fn makes(world: &World, actor: Actor, pedigree: &[(CreationKind, u32)]) -> bool {
    let Some(((made, nth), parent)) = pedigree.split_last() else { return false };
    let contexts = world.contexts();
    let next = |context: Option<ContextId>| contexts.counted(context, *made) + 1 == *nth;
    match (actor, made) {
        (Actor::Event(event), CreationKind::Event(e)) if world.is_row(event) => {
            // The firing of a row is created by the context of an instance.
            let mut open = world.open_for(event).iter().filter_map(|i| Some(world.platform()?.instances()[*i].context));
            event == *e && open.any(|instance| contexts.is(instance, parent) && next(Some(instance)))
        }
        (Actor::Event(event), CreationKind::Event(e)) => event == *e && next(None),
        (Actor::Thread(thread), _) => {
            let t = world.thread(thread);
            let what = match t.pending {
                Op::Post { body, .. } | Op::Fork { body, .. } => CreationKind::Body(body),
                Op::SpawnLooper => CreationKind::Looper,
                _ => return false,
            };
            what == *made && contexts.is(t.context, parent) && next(Some(t.context))
        }
        _ => false,
    }
}
