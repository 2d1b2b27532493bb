//! Measures the analysis of atomicity on synthetic traces: speed, memory, growth.
//!
//! `cargo bench --bench atomicity` writes `docs/results/atomicity_speed.md`. With `--quick`, or if a test run starts it, it
//! takes seconds and writes meaningless numbers below `target/tmp`.

#[allow(dead_code, reason = "other benchmarks use the rest")]
#[path = "../common/machine.rs"]
mod machine;
#[path = "../common/mode.rs"]
mod mode;
#[allow(dead_code, reason = "other benchmarks use the rest")]
#[path = "../common/numbers.rs"]
mod numbers;
#[path = "../common/pages.rs"]
mod pages;

use clap::Parser;
use mode::Mode;
use numbers::Spread;
use raceflip::base::Rng;
use raceflip::detect::atomicity::{Atomicity, AtomicityOptions, Specification, analyze};
use raceflip::event::PostTime;
use raceflip::trace::{Action, Builder, LocationNo, SiteNo, ThreadNo, Trace};
use std::fmt::Write;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

#[derive(Parser)]
#[command(about = "Measures the analysis of atomicity")]
struct Args {
    #[command(flatten)]
    mode: Mode,
    /// Names of benchmarks, which cargo hands to all of them
    #[arg(hide = true)]
    filters: Vec<String>,
}

/// What a synthetic trace consists of.
#[derive(Clone, Copy)]
struct Shape {
    name: &'static str,
    operations: usize,
    locations: u32,
    tasks: u32,
    instances: u32,
    // Number of instances whose tasks are mixed.
    open: u32,
    // Accesses to locations that all instances share, of 1,000.
    shared: u32,
}

const BASE: Shape = Shape {
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
fn trace(shape: &Shape) -> Trace {
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

/// Cost of one analysis.
struct Cost {
    operations: usize,
    found: Atomicity,
    seconds: Spread,
    // Peak of bytes, without the trace itself.
    peak: u64,
}

impl Cost {
    fn of(trace: &Trace, options: AtomicityOptions, rounds: usize) -> Self {
        let stop = AtomicBool::new(false);
        let run = || analyze(trace, Specification::Lifecycle, options, &stop).expect("nothing stops it");
        let mut found = None;
        let info = allocation_counter::measure(|| found = Some(run()));
        let seconds = Spread::of((0..rounds).map(|_| {
            let start = Instant::now();
            let again = run();
            let seconds = start.elapsed().as_secs_f64();
            drop(again);
            seconds
        }));
        let found = found.expect("the analysis was measured");
        Self { operations: trace.ops.len(), found, seconds, peak: info.bytes_max }
    }

    fn cells(&self) -> String {
        let Atomicity { transactions, violated, joint, findings, passes, .. } = &self.found;
        let (ops, seconds) = (self.operations as f64, self.seconds.median);
        format!(
            "{} | {transactions} | {violated} | {joint} | {} | {passes} | {:.0} | {:.1} | {:.0}",
            self.operations,
            findings.len(),
            seconds * 1e3,
            ops * f64::from(*passes) / seconds / 1e6,
            self.peak as f64 / ops,
        )
    }
}

fn page(quick: bool) -> String {
    let scale = if quick { 100 } else { 1 };
    let rounds = if quick { 1 } else { 5 };
    let shapes = [
        BASE,
        Shape { name: "four times as long", operations: 4 * BASE.operations, tasks: 4 * BASE.tasks, ..BASE },
        Shape { name: "all instances at once", open: BASE.instances, ..BASE },
        Shape { name: "nothing shared", shared: 0, ..BASE },
    ];
    let mut page = format!(
        "# Atomicity: speed of the analysis\n\nMade by `cargo bench --bench atomicity` on {}. Synthetic traces of 10,000 locations, 20,000 tasks on 4 loopers and 1,000 instances, unless the row says otherwise; 2 % of the accesses are to locations of other instances. \
         The time is that of the whole analysis of life cycles, alone and joint, with the search for cycles. `M/s` counts operations in each pass.\n\n\
         | trace | operations | transactions | violated | joint | findings | passes | ms | M/s | bytes an operation |\n|---|---|---|---|---|---|---|---|---|---|\n",
        machine::machine(&[])
    );
    for shape in shapes {
        let shape = Shape {
            operations: shape.operations / scale,
            tasks: shape.tasks / scale as u32,
            instances: shape.instances / scale as u32,
            open: shape.open.div_ceil(scale as u32),
            ..shape
        };
        let trace = trace(&shape);
        for (how, most) in [("", 16), (", no cycles", 0)] {
            let options = AtomicityOptions { most_transactions: most, ..AtomicityOptions::default() };
            let cost = Cost::of(&trace, options, rounds);
            let _ = writeln!(page, "| {}{how} | {} |", shape.name, cost.cells());
            if !quick {
                eprintln!("{}{how}: {}", shape.name, cost.cells());
            }
        }
    }
    page
}

fn main() -> ExitCode {
    let quick = Args::parse().mode.is_quick();
    pages::exit(pages::write(&pages::folder(quick, "atomicity"), &[("atomicity_speed.md", page(quick))]))
}
