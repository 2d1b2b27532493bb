//! Which instances of a pair's statements a run performed, and in which order.

use crate::event::{AccessPlace, ContextId, Event, Happening, SiteId};
use crate::exec::Observer;
use crate::world::World;
use std::collections::BTreeMap;

/// An instance (algorithms, section 0): a statement, in the thread or task of this pedigree, at its how-manieth visit there. It means the same in every run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Instance {
    /// The statement.
    pub site: SiteId,
    /// The pedigree of its thread or task.
    pub context: String,
    /// Counted from 1.
    pub visit: u32,
}

/// An instance that was performed.
#[derive(Clone, Debug)]
pub(super) struct Sighting {
    pub(super) instance: Instance,
    pub(super) place: String,
    pub(super) step: u64,
    access: crate::event::Access,
}

impl Sighting {
    /// Whether two of one run are of different contexts and touch the same memory, one writing.
    pub(super) fn conflicts(&self, other: &Sighting) -> bool {
        self.instance.context != other.instance.context && self.access.conflicts(&other.access)
    }
}

/// What one run showed of some statements.
#[derive(Clone, Debug, Default)]
pub(super) struct Sightings {
    /// In the order of performance.
    pub(super) seen: Vec<Sighting>,
    /// Pedigrees of threads and tasks that ended, with the step at which each did.
    pub(super) ended: BTreeMap<String, u64>,
}

// Of each statement of a run this many instances are kept, the first ones: a hot loop tells nothing new after that.
const MOST_OF_A_SITE: usize = 32;
// Threads and tasks of a run whose end is kept.
const MOST_ENDED: usize = 512;

/// Watches a run for some statements.
pub(super) struct Watch<'s> {
    sites: &'s [SiteId],
    raw: Vec<(SiteId, ContextId, u32, crate::event::Access, u64)>,
    counts: Vec<usize>,
    visits: Vec<((SiteId, ContextId), u32)>,
    ended: Vec<(ContextId, u64)>,
}

impl<'s> Watch<'s> {
    /// Watches for these statements, which are sorted.
    pub(super) fn new(sites: &'s [SiteId]) -> Self {
        Self { sites, raw: Vec::new(), counts: vec![0; sites.len()], visits: Vec::new(), ended: Vec::new() }
    }

    /// What was seen, by name.
    pub(super) fn finish(self, world: &World) -> Sightings {
        let name = |context: ContextId| world.contexts().name(world.setup(), context);
        let seen = self
            .raw
            .into_iter()
            .map(|(site, context, visit, access, step)| Sighting {
                instance: Instance { site, context: name(context), visit },
                place: match access.place {
                    // The end of an object and an access to its field are on one location: the object.
                    AccessPlace::Life(object) => world.object_name(object),
                    place => world.place_name(place),
                },
                step,
                access,
            })
            .collect();
        Sightings { seen, ended: self.ended.into_iter().map(|(c, step)| (name(c), step)).collect() }
    }
}

impl Observer for Watch<'_> {
    fn event(&mut self, _: &World, event: &Event) {
        match (&event.what, event.context) {
            (Happening::Performed { op, .. }, Some(context)) => {
                let Some(site) = event.site else { return };
                let (Ok(at), Some(access)) = (self.sites.binary_search(&site), op.access()) else { return };
                if self.counts[at] >= MOST_OF_A_SITE {
                    return;
                }
                self.counts[at] += 1;
                let key = (site, context);
                let visit = match self.visits.iter_mut().find(|(k, _)| *k == key) {
                    Some((_, n)) => {
                        *n += 1;
                        *n
                    }
                    None => {
                        self.visits.push((key, 1));
                        1
                    }
                };
                self.raw.push((site, context, visit, access, event.step));
            }
            (Happening::End | Happening::ThreadExit, Some(context)) if self.ended.len() < MOST_ENDED => {
                self.ended.push((context, event.step));
            }
            _ => {}
        }
    }
}
