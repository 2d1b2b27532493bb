//! Observes whether both accesses of a pair are pending side by side at some step of a run.

use crate::detect::Pair;
use crate::event::{Event, SiteId, ThreadId};
use crate::exec::Observer;
use crate::sched::Hit;
use crate::world::World;

/// Observer that finds the first step at which both accesses of a pair are pending and enabled, of different threads
/// and on one location. RaceFuzzer calls that a race.
pub(in crate::campaign) struct SideBySide {
    pair: Pair,
    pub(in crate::campaign) hit: Option<Hit>,
}

impl SideBySide {
    pub(in crate::campaign) fn new(pair: Pair) -> Self {
        Self { pair, hit: None }
    }

    fn look(&mut self, world: &World) {
        let at = |site: SiteId| {
            world.enabled().iter().filter_map(move |t| {
                let thread = world.thread(t);
                (thread.site == Some(site)).then(|| world.access(&thread.pending).map(|access| (t, access)))?
            })
        };
        let conflicting =
            |x: (ThreadId, _)| at(self.pair.b).find(|y| x.0 != y.0 && crate::event::Access::races(&x.1, &y.1));
        self.hit = at(self.pair.a).find_map(|x| conflicting(x).map(|y| (x.0, y.0))).map(|threads| Hit {
            step: world.steps(),
            first: self.pair.a,
            second: self.pair.b,
            threads,
        });
    }
}

impl Observer for SideBySide {
    fn event(&mut self, world: &World, _: &Event) {
        if self.hit.is_none() && world.outcome().is_none() {
            self.look(world);
        }
    }
}
