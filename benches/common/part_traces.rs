//! Synthetic traces for the analysis of atomicity: many instances, whose tasks are mixed.

use raceflip::base::Rng;
use raceflip::event::PostTime;
use raceflip::trace::{Action, Builder, LocationNo, SiteNo, ThreadNo, Trace};

/// What a synthetic trace consists of.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) operations: usize,
    pub(crate) locations: u32,
    pub(crate) tasks: u32,
    pub(crate) instances: u32,
    /// Number of instances whose tasks are mixed.
    pub(crate) open: u32,
    /// Accesses to locations that all instances share, of 1,000.
    pub(crate) shared: u32,
}

pub(crate) const BASE: Shape = Shape {
    name: "50 instances at once",
    operations: 1_000_000,
    locations: 10_000,
    tasks: 20_000,
    instances: 1_000,
    open: 50,
    shared: 20,
};

const LOOPERS: u32 = 4;
const THREADS: u32 = 8;

/// Tasks of instances on four loopers, between which eight threads act. Most accesses are to locations of the instance.
pub(crate) fn trace(shape: &Shape) -> Trace {
    let mut rng = Rng::seeded(1);
    let mut builder = Builder::new();
    let loopers: Vec<ThreadNo> = (0..LOOPERS).map(|i| builder.thread(&format!("looper{i}"))).collect();
    let threads: Vec<ThreadNo> = (0..THREADS).map(|i| builder.thread(&format!("thread{i}"))).collect();
    let instances: Vec<_> = (0..shape.instances).map(|i| builder.instance(&format!("Part#{i}"))).collect();
    let places: Vec<LocationNo> =
        (0..shape.locations).map(|i| builder.location(&format!("x{i}"), &format!("f{}", i % 50))).collect();
    let sites: Vec<SiteNo> = (0..200).map(|i| builder.site(&format!("{}:1 access", i + 1))).collect();
    let push = |builder: &mut Builder, thread, action, site| {
        builder.push(thread, action, site, 0).expect("the trace is well-formed");
    };
    for looper in &loopers {
        push(&mut builder, *looper, Action::AttachQueue, SiteNo::NONE);
        push(&mut builder, *looper, Action::Loop, SiteNo::NONE);
    }
    // A round runs one task on each looper, step by step in turn.
    let rounds = shape.tasks / LOOPERS;
    let each = (shape.operations / (shape.tasks as usize).max(1)).saturating_sub(3).max(1);
    let per_group = shape.instances.div_ceil(shape.open);
    let own = (shape.locations / shape.instances).max(1);
    for round in 0..rounds {
        let group = (u64::from(round) * u64::from(per_group) / u64::from(rounds.max(1))) as u32;
        let tasks: Vec<_> = loopers
            .iter()
            .map(|looper| {
                let instance = (group * shape.open + rng.below(shape.open)).min(shape.instances - 1);
                let task = builder.task(&format!("part{}#{round}", instance % 20), *looper, PostTime::Now, false);
                builder.belongs(task, instances[instance as usize]);
                push(&mut builder, threads[rng.below(THREADS) as usize], Action::Post(task), SiteNo::NONE);
                (*looper, task, instance)
            })
            .collect();
        tasks.iter().for_each(|(looper, task, _)| push(&mut builder, *looper, Action::Begin(*task), SiteNo::NONE));
        for _ in 0..each {
            for (looper, _, instance) in &tasks {
                let (thread, place) = if rng.below(1_000) < shape.shared {
                    (
                        if rng.coin() { *looper } else { threads[rng.below(THREADS) as usize] },
                        rng.below(shape.locations),
                    )
                } else {
                    (*looper, (instance * own + rng.below(own)) % shape.locations)
                };
                let place = places[place as usize];
                let action = if rng.below(4) == 0 { Action::Write(place) } else { Action::Read(place) };
                push(&mut builder, thread, action, sites[rng.below(200) as usize]);
            }
        }
        tasks.iter().for_each(|(looper, task, _)| push(&mut builder, *looper, Action::End(*task), SiteNo::NONE));
    }
    builder.finish()
}
