//! Measures the growth of detection: each shape of model and of trace at sizes n, 2n and 4n, with events per second and
//! the exponent that fits the times.
//!
//! `cargo bench --bench detect` writes `docs/results/detect.md`. With `--quick`, or if a test run starts it, it takes
//! seconds and writes meaningless numbers below `target/tmp`. The shapes are those of the tests
//! (`tests/it/scaling.rs`), which bound the growth of allocations; this benchmark measures time.

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
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/it/scaling_models.rs"]
mod scaling_models;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/it/scaling_traces.rs"]
mod scaling_traces;

use clap::Parser;
use mode::Mode;
use numbers::{grouped, short};
use raceflip::detect::happens_before::{Options, SourceOrder, analyze};
use raceflip::detect::{Findings, Hybrid};
use raceflip::event::Event;
use raceflip::exec::{Observer, run};
use raceflip::formats::traces;
use raceflip::sched::RandomWalk;
use raceflip::vm::{Model, Vm};
use raceflip::world::{Limits, Machine, World};
use std::fmt::Write;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

#[derive(Parser)]
#[command(about = "Measures how detection grows")]
struct Args {
    #[command(flatten)]
    mode: Mode,
    /// Names of benchmarks, which cargo hands to all of them
    #[arg(hide = true)]
    filters: Vec<String>,
}

/// Models with their smallest sizes, chosen so that 4n stays within the default limits.
const MODELS: &[(&str, usize)] = &[
    ("events", 100),
    ("tasks", 1_000),
    ("stmts", 2_500),
    ("manysites", 100),
    ("threads", 250),
    ("forks", 1_000),
    ("forkchain", 500),
    ("timerthreads", 500),
    ("locks", 1_000),
    ("delays", 1_000),
    ("posts", 2_000),
    ("front", 1_000),
    ("chainpost", 1_000),
    ("list", 5_000),
    ("labels", 250),
    ("objects", 2_500),
    ("objread", 1_000),
    ("deadlockring", 250),
    ("barrier", 250),
    ("monitor", 240),
    ("interleaved", 2_500),
    ("listeners", 1_000),
    ("cancel", 1_000),
    ("fences", 1_000),
];

/// Traces with their smallest sizes.
const TRACES: &[(&str, usize)] = &[
    ("posts_one_loc", 1_000),
    ("posts_locs", 1_000),
    ("delayposts", 1_000),
    ("delaypost_chain", 1_000),
    ("delay_alternate", 1_000),
    ("threads", 1_000),
    ("threads_locs", 1_000),
    ("threads_locked", 1_000),
    ("forkchain", 1_000),
    ("locks", 4_000),
    ("accesses", 10_000),
    ("events", 4_000),
    ("loopers", 500),
    ("notify", 2_000),
    ("post_chain_two", 1_000),
];

/// Seeds of the random walks.
const SEEDS: [u64; 3] = [1, 2, 3];

/// Maximum number of pairs that are kept per location. Without it, the pairs themselves could grow quadratically.
const MOST_PAIRS: u32 = 1_000;

/// Cost of one size.
struct Cost {
    n: usize,
    events: u64,
    // The least time of the rounds, because other load can only add to it.
    seconds: f64,
}

/// Costs of a shape at its sizes.
struct Growth {
    name: &'static str,
    costs: Vec<Cost>,
}

impl Growth {
    fn of(name: &'static str, n: usize, rounds: u32, mut once: impl FnMut(usize) -> (u64, f64)) -> Self {
        let costs = [n, 2 * n, 4 * n].map(|n| {
            let runs: Vec<(u64, f64)> = (0..rounds).map(|_| once(n)).collect();
            let seconds = runs.iter().map(|(_, seconds)| *seconds).fold(f64::INFINITY, f64::min);
            Cost { n, events: runs[0].0, seconds }
        });
        let growth = Self { name, costs: costs.into() };
        eprintln!("{name}: exponent {:.2}", growth.exponent());
        growth
    }

    /// Returns the exponent of growth: the slope of the line that fits the logarithms of the times over those of the
    /// sizes best. The sizes are evenly spaced on that scale, so the middle one has no weight.
    fn exponent(&self) -> f64 {
        let seconds = |i: usize| self.costs[i].seconds.max(f64::MIN_POSITIVE);
        (seconds(2) / seconds(0)).log2() / 2.0
    }

    fn row(&self) -> String {
        let mut row = format!("| {} | {}", self.name, grouped(self.costs[0].n as u64));
        for Cost { events, seconds, .. } in &self.costs {
            let _ = write!(row, " | {:.1}", seconds * 1e3);
            let _ = write!(row, " | {}", short(*events as f64 / seconds));
        }
        format!("{row} | {:.2} |\n", self.exponent())
    }
}

// Observer with hybrid detection, order pairs included, that counts the events.
struct Counted {
    hybrid: Hybrid,
    events: u64,
}

impl Observer for Counted {
    fn event(&mut self, world: &World, event: &Event) {
        self.events += 1;
        self.hybrid.observe(world, event);
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    pages::exit(everything(args.mode.is_quick()))
}

fn everything(quick: bool) -> Result<(), String> {
    let (rounds, divisor) = if quick { (1, 50) } else { (5, 1) };
    let mut page = format!(
        "# How detection grows\n\nWritten by `cargo bench --bench detect`. {}\n\n\
         Each shape has many of one thing: n of them, 2n and 4n. A row has the milliseconds and the events (of a trace: operations) per second of each size, the best of {rounds} rounds, and the exponent of \
         growth that fits the three times best: 1 is linear, 2 is quadratic. The shapes are texts of `tests/it/scaling_models.rs` and `tests/it/scaling_traces.rs`, whose names say what there are n of. \
         A time of a few milliseconds says little of an exponent.\n",
        machine::machine(&[])
    );
    models(&mut page, rounds, divisor)?;
    analyses(&mut page, rounds, divisor)?;
    pages::write(&pages::folder(quick, "detect"), &[("detect.md", page)])
}

const HEAD: &str = "| shape | n | n: ms | events/s | 2n: ms | events/s | 4n: ms | events/s | exponent |\n|---|---|---|---|---|---|---|---|---|\n";

fn models(page: &mut String, rounds: u32, divisor: usize) -> Result<(), String> {
    let _ = write!(
        page,
        "\n## Hybrid detection\n\nWhat phase 1 of `detect` and `confirm` does in a run, order pairs included: {} random walks, the run itself with it; {} pairs of a location are kept.\n\n{HEAD}",
        SEEDS.len(),
        grouped(u64::from(MOST_PAIRS))
    );
    for &(name, n) in MODELS {
        let mut failed = None;
        let growth = Growth::of(name, n.div_ceil(divisor), rounds, |n| {
            detect(name, n).unwrap_or_else(|reason| {
                failed = Some(reason);
                (0, f64::NAN)
            })
        });
        if let Some(reason) = failed {
            return Err(reason);
        }
        page.push_str(&growth.row());
    }
    Ok(())
}

fn detect(name: &str, n: usize) -> Result<(u64, f64), String> {
    let text = scaling_models::text(name, n);
    let model = Model::from_text(name, &text, &[]).map_err(|e| format!("{name}: {e}"))?;
    let mut machine = Machine::new(Vm::new(model.code), Limits::default());
    let stop = AtomicBool::new(false);
    let start = Instant::now();
    let mut events = 0;
    for seed in SEEDS {
        let hybrid = Hybrid::with_order_pairs().most_pairs(MOST_PAIRS);
        let mut counted = Counted { hybrid, events: 0 };
        run(&mut machine, &mut RandomWalk::new(), seed, &mut counted, &stop);
        events += counted.events;
        let Findings { .. } = counted.hybrid.finish_all();
    }
    Ok((events, start.elapsed().as_secs_f64()))
}

fn analyses(page: &mut String, rounds: u32, divisor: usize) -> Result<(), String> {
    let all = [
        (
            "DroidRacer's rules, as printed",
            "`raceflip analyze`: also what only locks and signals order, and coverage.",
            false,
        ),
        (
            "DroidRacer's rules, as in its source",
            "`raceflip analyze --rules source`: a bit for each pair of nodes, so that it is quadratic at least (`src/detect/traces/happens_before/source`). `--time` and Ctrl-C stop it.",
            true,
        ),
    ];
    for (heading, about, source) in all {
        let _ = write!(page, "\n## {heading}\n\n{about}\n\n{HEAD}");
        for &(name, n) in TRACES {
            // Smaller sizes suffice for the quadratic algorithm.
            let n = if source { n.div_ceil(4) } else { n };
            let growth = Growth::of(name, n.div_ceil(divisor), rounds, |n| analysis(name, n, source));
            page.push_str(&growth.row());
        }
    }
    Ok(())
}

fn analysis(name: &str, n: usize, source: bool) -> (u64, f64) {
    let text = scaling_traces::text(name, n);
    let trace = traces::read(name, text.as_bytes()).unwrap_or_else(|e| panic!("{name}: {e}"));
    let stop = AtomicBool::new(false);
    let start = Instant::now();
    if source {
        let order = SourceOrder::new(&trace).unwrap_or_else(|e| panic!("{name}: {e}"));
        drop(order.races());
    } else {
        drop(analyze(&trace, Options::default(), &stop));
    }
    (trace.ops.len() as u64, start.elapsed().as_secs_f64())
}
