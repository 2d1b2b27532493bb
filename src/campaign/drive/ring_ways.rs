//! Finds the ways to close a deadlock ring, from one run that performs all of its acquisitions.

use super::causes::Causes;
use super::holds::Goal;
use super::ways::patience;
use crate::campaign::CampaignPlan;
use crate::campaign::runs::stream::Stream;
use crate::campaign::runs::trial::Worker;
use crate::detect::{Ring, RingCandidate, Rings};
use crate::event::SiteId;
use crate::sched::{HoldOrders, HoldSpec};
use crate::world::{Change, Program, World};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Returns the `hold` strategies that close a ring, the nearest ways first, as its run shows them. Each thread acquires
/// its lock before the thread in front of it wants that lock.
pub(super) fn prepare_ring<P: Program>(
    plan: &CampaignPlan<P>,
    stream: &Stream,
    ring: &Ring,
    profile: u64,
    stop: &AtomicBool,
) -> Vec<HoldSpec> {
    let Some(holds) = ring_holds(plan, stream, |known| known == ring, profile, stop) else { return Vec::new() };
    let holds = Arc::new(holds);
    let way = |i: usize| HoldSpec {
        sequences: ring.orders().map(|order| order.map(|site| plan.site(site)).to_vec()).collect(),
        without: Vec::new(),
        way: Some(i as u32 + 1),
        guided: false,
        profile,
        later: 0,
        ring: true,
        holds: Some(holds.clone()),
    };
    (0..holds.ways.len()).map(way).collect()
}

/// Returns the ways to close the first of these rings whose acquisitions the run with the seed `profile` performs.
pub(super) fn ring_holds<P: Program>(
    plan: &CampaignPlan<P>,
    stream: &Stream,
    is_it: impl Fn(&Ring) -> bool,
    profile: u64,
    stop: &AtomicBool,
) -> Option<HoldOrders> {
    let (mut causes, mut rings, mut worker) = (Causes::default(), Rings::new(), Worker::new(plan));
    let profiled = stream.run(profile);
    let guide = worker.guide(&profiled);
    let trial = worker.perform(&profiled, &mut (&mut causes, &mut rings), stop);
    let world = &worker.machine.world;
    let found = rings.finish(world).into_iter().find(|ring| ring.performed && is_it(&ring.ring))?;
    let orders = orders(&found).map(|steps| causes.at_steps(steps)).collect::<Option<Vec<_>>>()?;
    let goal = |early: Vec<(usize, usize)>| Goal {
        sequences: orders.iter().chain(&early).map(|(first, then)| vec![*first, *then]).collect(),
        without: Vec::new(),
    };
    let early = causes.earlier_sections(world, &orders);
    let mut ways = causes.ways(world, &goal(early.clone()));
    if !early.is_empty() {
        ways.extend(causes.ways(world, &goal(Vec::new())));
    }
    Some(HoldOrders { ways, patience: patience(trial.summary.steps), guide, to_the_last: false })
}

impl Causes {
    // Returns further orders without which a ring may not close. A thread that needs the lock of another one for a
    // section before its place in the ring would be blocked there, if the other one had that lock already: it releases
    // the lock before. `orders` has the acquisition of a lock by each thread, and the one at which the thread in front
    // of it wants that lock.
    fn earlier_sections(&self, world: &World, orders: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let lock = |at: usize, change: Change| {
            let (thread, _) = self.done[at].performer?;
            world.effects(thread, &self.done[at].op.as_ref()?.0).hold().filter(|(_, how)| *how == change)
        };
        let context = |at: usize| self.done[at].performer.map(|(_, context)| context);
        let mut all = Vec::new();
        for (holds, _) in orders {
            let Some((held, _)) = lock(*holds, Change::Taken) else { continue };
            for (_, wants) in orders.iter().filter(|(_, wants)| context(*wants) != context(*holds)) {
                let is_release = |at: &usize| {
                    let gives = lock(*at, Change::GivenUp).is_some_and(|(given, _)| given.excludes(held));
                    context(*at) == context(*wants) && gives
                };
                all.extend((0..*wants).rev().find(is_release).map(|release| (release, *holds)));
            }
        }
        all
    }
}

// Returns the steps of the acquisitions in each order of the ring, as `Ring::orders` has their statements.
fn orders(ring: &RingCandidate) -> impl Iterator<Item = (u64, u64)> + '_ {
    let next = ring.parts.iter().cycle().skip(1);
    ring.parts.iter().zip(next).map(|(part, next)| (next.steps.0, part.steps.1))
}

/// Whether the orders of a ring, from any of its threads on, are these sequences of statements. Each statement may
/// stand for several sites.
pub(super) fn is_ring_of(ring: &Ring, sequences: &[Vec<Vec<SiteId>>]) -> bool {
    let orders: Vec<[SiteId; 2]> = ring.orders().collect();
    let is = |order: &[SiteId; 2], sequence: &Vec<Vec<SiteId>>| {
        sequence.len() == 2 && order.iter().zip(sequence).all(|(site, names)| names.contains(site))
    };
    let from = |first: usize| orders.iter().cycle().skip(first).zip(sequences).all(|(order, named)| is(order, named));
    orders.len() == sequences.len() && (0..orders.len()).any(from)
}
