//! Adds names to the states of a search, where its answer depends on them: two states that differ only in names are
//! otherwise one.

use crate::base::{Digester, Id};
use crate::event::{ContextId, ObjectId};
use crate::world::{Canonicalizer, CreationKind, World};
use std::collections::BTreeSet;

/// Adds to the state the names of all contexts that can still act, and how many contexts each of them has made. Returns
/// these contexts.
pub(in crate::campaign) fn names_of_contexts(world: &World, state: &mut Canonicalizer) -> BTreeSet<ContextId> {
    let contexts = world.contexts();
    let mut threads: Vec<_> = world.threads().enumerate().filter_map(|(id, t)| Some((state.thread(id)?, t))).collect();
    threads.sort_unstable_by_key(|(number, _)| *number);
    let mut all = Vec::new();
    for (_, thread) in threads {
        all.extend([thread.home, thread.context]);
        all.extend(thread.queue.iter().flat_map(|queue| queue.waiting_tasks()).map(|task| task.context));
    }
    let mut digester = Digester::new();
    for context in &all {
        digester.text(&contexts.name(world.setup(), *context));
        let mut makes: Vec<(u64, u64, u32)> = contexts
            .makes(*context)
            .map(|(made, n)| {
                let (kind, id) = word(made);
                (kind, id, n)
            })
            .collect();
        makes.sort_unstable();
        digester.word(makes.len() as u64);
        for (kind, id, n) in makes {
            digester.word(kind).word(id).word(u64::from(n));
        }
    }
    for event in world.setup().events.ids() {
        digester.word(u64::from(contexts.counted(None, CreationKind::Event(event))));
    }
    mix_digest(state, digester.finish());
    all.into_iter().collect()
}

fn word(made: CreationKind) -> (u64, u64) {
    match made {
        CreationKind::Declared(thread) => (0, u64::from(thread.0)),
        CreationKind::Init => (1, 0),
        CreationKind::Event(event) => (2, u64::from(event.0)),
        CreationKind::Body(body) => (3, u64::from(body.0)),
        CreationKind::Looper => (4, 0),
        CreationKind::Class(class) => (5, u64::from(class)),
        CreationKind::Instance(component) => (6, u64::from(component.0)),
        CreationKind::Scope => (7, 0),
    }
}

/// Adds the names of all threads to the state: queues, jobs and interrupts are named by them.
pub(in crate::campaign) fn names_of_threads(world: &World, state: &mut Canonicalizer) {
    let mut threads: Vec<_> =
        world.threads().enumerate().filter_map(|(id, t)| Some((state.thread(id)?, t.home))).collect();
    threads.sort_unstable();
    let mut digester = Digester::new();
    threads.into_iter().for_each(|(_, home)| _ = digester.text(&world.contexts().name(world.setup(), home)));
    mix_digest(state, digester.finish());
}

/// Adds the names of all objects to the state: the locations of accesses to fields and the locks of objects are named
/// by them.
pub(in crate::campaign) fn names_of_objects(world: &World, state: &mut Canonicalizer) {
    let ids = (0..world.memory().objects_len()).map(ObjectId::new);
    let mut objects: Vec<_> = ids.filter_map(|object| Some((state.object(object)?, object))).collect();
    objects.sort_unstable();
    let mut digester = Digester::new();
    objects.into_iter().for_each(|(_, object)| _ = digester.text(&world.object_name(object)));
    mix_digest(state, digester.finish());
}

// Adds a digest to the state.
fn mix_digest(state: &mut Canonicalizer, digest: u128) {
    state.distinguish(digest as u64);
    state.distinguish((digest >> 64) as u64);
}
