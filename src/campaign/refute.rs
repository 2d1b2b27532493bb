//! What a search of all states says of pairs that no run confirmed: that they are false, or that they are real after all.

use super::drive::Driven;
use super::report::{Refutation, Undecided};
use super::trial::{Run, SEARCHED};
use super::{Context, Plan};
use crate::detect::Pair;
use crate::event::{Event, SiteId, ThreadId};
use crate::exec::Observer;
use crate::explore::{self, Bounds, Explored, Order, Silent, Way, instance_order, site_order, witness};
use crate::sched::Hit;
use crate::world::World;
use std::sync::Arc;

// States of the product with an order, for each state that the plan allows; memory of a search beside other work.
const PRODUCT: u64 = 10;
const MEMORY: u64 = 1 << 30;

// Ends that are looked at for an order that is cut off.
const MOST_ENDS: usize = 64;

/// All states of a program, with the pairs that can stand side by side.
pub(super) struct States {
    found: Explored,
}

/// Searches all states; how many there are at least, if there are too many.
pub(super) fn states(plan: &Plan, context: Context<'_>) -> Result<States, u64> {
    context.progress.phase("searching all states", 0);
    let searched = explore::Plan { pairs: true, ..search(plan, plan.states) };
    let found = explore::explore(&searched, explore::Context { stop: context.stop, progress: &Silent });
    if found.complete() { Ok(States { found }) } else { Err(found.states) }
}

fn search(plan: &Plan, states: u64) -> explore::Plan<'_> {
    let bounds = Bounds { states, memory: MEMORY, ..Bounds::default() };
    explore::Plan { limits: plan.limits, jobs: plan.jobs, bounds, ..explore::Plan::new(&plan.model) }
}

impl States {
    /// How many.
    pub(super) fn len(&self) -> u64 {
        self.found.states
    }

    /// What it says of a pair: proof that it is false; else the runs that it has found are added to those of the pair, and may confirm it.
    pub(super) fn judge(&self, driven: &mut Driven<'_>) -> Result<Refutation, Undecided> {
        let Pair { a, b } = driven.pair;
        if let Some(way) = self.found.adjacent.get(&driven.pair) {
            add(driven, way);
            return Err(Undecided::BothOrders);
        }
        let plan = search(driven.plan, driven.plan.states.saturating_mul(PRODUCT));
        let context = explore::Context { stop: driven.context.stop, progress: &Silent };
        let order = |first, then| site_order(&plan, first, then, context);
        let orders = if a == b { vec![(a, a, order(a, a))] } else { vec![(a, b, order(a, b)), (b, a, order(b, a))] };
        if let Some((first, then, _)) = orders.iter().find(|o| matches!(o.2, Order::Never)) {
            // An order also counts that is cut off: then it is no proof that the other access never comes after this one.
            for way in self.found.ends.values().take(MOST_ENDS) {
                add(driven, way);
            }
            if driven.flip().is_some() {
                return Err(Undecided::BothOrders);
            }
            return Ok(Refutation { states: self.len(), first: *first, then: *then });
        }
        for (first, then, order) in &orders {
            let Order::Happens(way) = order else { continue };
            add(driven, way);
            if driven.flip().is_none()
                && let Some((one, other)) = witness(&plan, *first, *then, way)
                && let Order::Happens(way) = instance_order(&plan, &other, &one, context)
            {
                add(driven, &way);
            }
        }
        let cut = orders.iter().any(|o| matches!(o.2, Order::Unknown(_)));
        Err(if cut { Undecided::Cut } else { Undecided::BothOrders })
    }
}

// Adds the run to those of the pair.
fn add(driven: &mut Driven<'_>, way: &Way) {
    driven.look_at(Run::Made { choices: Arc::new(way.choices.clone()), by: SEARCHED });
}

/// Watches for the first step at which both accesses of a pair are pending, enabled, of different threads and on one location: what RaceFuzzer calls a race.
pub(super) struct SideBySide {
    pair: Pair,
    pub(super) hit: Option<Hit>,
}

impl SideBySide {
    pub(super) fn new(pair: Pair) -> Self {
        Self { pair, hit: None }
    }

    fn look(&mut self, world: &World) {
        let at = |site: SiteId| {
            world.enabled().iter().filter_map(move |t| {
                let thread = world.thread(t);
                (thread.site == Some(site)).then(|| thread.pending.access().map(|access| (t, access)))?
            })
        };
        let meet =
            |x: (ThreadId, _)| at(self.pair.b).find(|y| x.0 != y.0 && crate::event::Access::conflicts(&x.1, &y.1));
        self.hit = at(self.pair.a).find_map(|x| meet(x).map(|y| (x.0, y.0))).map(|threads| Hit {
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
