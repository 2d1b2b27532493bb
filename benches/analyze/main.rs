//! Measures the speed of `analyze` (parsing, DroidRacer's relation, races) on real logs, and on synthetic traces with
//! the statistics of DroidRacer's table 2.
//!
//! `cargo bench --bench analyze` writes `docs/results/analyze.md`. With `--quick`, or if a test run starts it, it takes
//! seconds and writes meaningless numbers below `target/tmp`.

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
mod plot;
#[allow(dead_code, reason = "other benchmarks use the rest")]
#[path = "../common/svg.rs"]
mod svg;
mod synthetic;

use clap::Parser;
use mode::Mode;
use numbers::Spread;
use plot::{Point, Series};
use raceflip::detect::DetectorId;
use raceflip::detect::happens_before::{Options, SourceOrder};
use raceflip::formats::traces;
use raceflip::trace::Trace;
use std::fmt::Write;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use synthetic::{APPS, CAFA_APPS, LOOSE, Shape, published_seconds};

#[derive(Parser)]
#[command(about = "Measures the analysis of traces")]
struct Args {
    #[command(flatten)]
    mode: Mode,
    /// Only the growth, told on stderr; nothing is written
    #[arg(long)]
    growth: bool,
    /// With --growth or --causal: only the shapes with this many tasks
    #[arg(long, value_name = "N")]
    tasks: Option<u32>,
    /// Only CAFA's order, told on stderr; nothing is written
    #[arg(long)]
    causal: bool,
    /// Names of benchmarks, which cargo hands to all of them
    #[arg(hide = true)]
    filters: Vec<String>,
}

/// Options for the races of the relation alone, which is what DroidRacer computes.
const RACES: Options = Options { merging: true, forced: false, coverage: false, external: None };

const LOGS: [(&str, &str, u32); 3] = [
    ("Remind Me", "RemindMe/abc_log.txt1", 66),
    ("Twitter", "twitter/abc_log.txt1", 945),
    ("Adobe Reader", "adobe-reader/abc_log.txt1", 1_151),
];

/// Cost of one analysis.
struct Cost {
    operations: usize,
    seconds: Spread,
    // Peak of bytes, without the trace itself.
    peak: u64,
    races: usize,
}

impl Cost {
    fn of(trace: &Trace, options: Options, rounds: usize) -> Self {
        Self::of_rules("printed", trace, options, rounds)
    }

    fn of_rules(rules: &str, trace: &Trace, options: Options, rounds: usize) -> Self {
        let stop = AtomicBool::new(false);
        let mut all = DetectorId::all().filter_map(DetectorId::rules);
        let rules = all.find(|of| of.name == rules).expect("the rules exist");
        let analyze = |trace| rules.analyze(trace, options, &stop).ok().flatten();
        let mut races = 0;
        let info = allocation_counter::measure(|| {
            races = analyze(trace).map_or(0, |found| found.races.len());
        });
        let seconds = Spread::of((0..rounds).map(|_| {
            let start = Instant::now();
            let found = analyze(trace);
            let seconds = start.elapsed().as_secs_f64();
            drop(found);
            seconds
        }));
        Self { operations: trace.ops.len(), seconds, peak: info.bytes_max, races }
    }

    fn rate(&self) -> f64 {
        self.operations as f64 / self.seconds.median / 1e6
    }

    fn bytes(&self) -> f64 {
        // An operation takes 16 bytes, and its line number takes 4.
        20.0 + self.peak as f64 / self.operations as f64
    }

    fn cells(&self) -> String {
        let Self { operations, seconds, races, .. } = self;
        format!("{operations} | {races} | {:.2} | {:.1} | {:.0}", seconds.median * 1e3, self.rate(), self.bytes())
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    if args.causal {
        causal(&mut String::new(), false, args.tasks);
        return ExitCode::SUCCESS;
    }
    if args.growth {
        growth(&mut String::new(), false, args.tasks);
        return ExitCode::SUCCESS;
    }
    pages::exit(everything(args.mode.is_quick()))
}

fn everything(quick: bool) -> Result<(), String> {
    let mut page = format!(
        "# Analysis of traces\n\nWritten by `cargo bench --bench analyze`. {}\n\n\
         An operation is what a trace has: a fork, a post, a read. \"M/s\" is millions of operations a second, after parsing, in the middle of some rounds; \"bytes\" is memory for each operation at the peak, \
         the trace (20 bytes) included. Only races of the relation are asked for, as DroidRacer does, if nothing else is said.\n",
        machine::machine(&[])
    );
    let rounds = if quick { 1 } else { 15 };
    logs(&mut page, rounds)?;
    apps(&mut page, rounds);
    causal(&mut page, quick, None);
    let plot = plot::growth(&growth(&mut page, quick, None));
    pages::write(&pages::folder(quick, "analyze"), &[("analyze.md", page), ("analyze_growth.svg", plot)])
}

fn logs(page: &mut String, rounds: usize) -> Result<(), String> {
    let _ = writeln!(
        page,
        "\n## Real logs\n\n`everything` is what `raceflip analyze` does: also pairs that only locks order, and coverage. `source` are the rules of DroidRacer's source. `DroidRacer` are its own seconds, in an emulator of 2013 \
         (`pldi-race.log`).\n\n| log | MB | parsing MB/s | operations | races | ms | M/s | bytes | no merging M/s | everything ms | source ms | DroidRacer s |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
    );
    for (name, file, published) in LOGS {
        let path = format!("tests/it/traces/droidracer/pldi-2014-tested-apps/{file}");
        let text = std::fs::read(&path).map_err(|e| format!("{path}: {e}"))?;
        let parse = || traces::read(file, text.as_slice()).map_err(|e| e.to_string());
        let trace = parse()?;
        let parsing = Spread::of((0..rounds).map(|_| {
            let start = Instant::now();
            let read = parse();
            let seconds = start.elapsed().as_secs_f64();
            drop(read);
            seconds
        }));
        let megabytes = text.len() as f64 / 1e6;
        let cost = Cost::of(&trace, RACES, rounds);
        let apart = Cost::of(&trace, Options { merging: false, ..RACES }, rounds);
        let all = Cost::of(&trace, Options::default(), rounds);
        let source = Spread::of((0..rounds.min(5)).map(|_| {
            let start = Instant::now();
            let races = SourceOrder::new(&trace).map(|order| order.races().len());
            let seconds = start.elapsed().as_secs_f64();
            drop(races);
            seconds
        }));
        let _ = writeln!(
            page,
            "| {name} | {megabytes:.2} | {:.0} | {} | {:.1} | {:.1} | {:.0} | {published} |",
            megabytes / parsing.median,
            cost.cells(),
            apart.rate(),
            all.seconds.median * 1e3,
            source.median * 1e3,
        );
    }
    Ok(())
}

fn apps(page: &mut String, rounds: usize) {
    let _ = writeln!(
        page,
        "\n## Synthetic traces with the statistics of DroidRacer's table 2\n\nNo app has made these: `benches/analyze/synthetic.rs` draws traces with as many operations, fields, threads, loopers and tasks as the table has. \
         `DroidRacer` are its seconds for the app's own trace, where they are public.\n\n| like | operations | races | ms | M/s | bytes | DroidRacer s |\n|---|---|---|---|---|---|---|"
    );
    for shape in &APPS {
        let cost = Cost::of(&synthetic::trace(shape, 1), RACES, rounds);
        let published = published_seconds(shape.name).map_or("".to_owned(), |s| s.to_string());
        let _ = writeln!(page, "| {} | {} | {published} |", shape.name, cost.cells());
    }
}

fn causal(page: &mut String, quick: bool, tasks: Option<u32>) {
    let _ = writeln!(
        page,
        "\n## CAFA's order\n\nSynthetic traces with as many events as the traces of CAFA's table 1 have (10 to 30 seconds of an app each), which its offline analysis took 30 minutes to a day for; and larger ones. \
         Their accesses have no marks, so that the races are all conflicting accesses without an order.\n\n| like | events | operations | races | ms | M/s | bytes |\n|---|---|---|---|---|---|---|"
    );
    let large = |operations, tasks| Shape { operations, threads: 30, loopers: 4, tasks, ..CAFA_APPS[0] };
    let large = [large(1_000_000, 2_000), large(1_000_000, 20_000), large(10_000_000, 20_000)];
    let large = large.into_iter().map(|shape| Shape { name: "a larger app", ..shape });
    let is_asked = |shape: &Shape| tasks.is_none_or(|tasks| tasks == shape.tasks);
    for shape in CAFA_APPS.into_iter().chain(large).filter(is_asked) {
        let scale = if quick { 100 } else { 1 };
        let shape = Shape { operations: shape.operations / scale, tasks: shape.tasks / scale as u32, ..shape };
        let trace = synthetic::trace(&shape, 1);
        let cost = Cost::of_rules("cafa", &trace, Options::default(), if quick { 1 } else { 3 });
        let _ = writeln!(page, "| {} | {} | {} |", shape.name, shape.tasks, cost.cells());
        if !quick {
            eprintln!("CAFA: {shape:?}: {:.1} M/s, {:.0} bytes", cost.rate(), cost.bytes());
        }
    }
}

// Names of the curves of the growth.
const SERIES: [&str; 3] = ["1 M operations", "10 M operations", "1 M, most tasks in order"];

// Returns what is in the plot: the traces that differ in their number of tasks.
fn growth(page: &mut String, quick: bool, tasks: Option<u32>) -> Vec<Series> {
    let base = Shape {
        name: "base",
        operations: 1_000_000,
        fields: 2_000,
        threads: 30,
        loopers: 4,
        tasks: 2_000,
        joined: 300,
        loose: LOOSE,
    };
    // In this shape, one in a hundred tasks is an event, one is posted by another thread, and one is delayed.
    let tight = Shape { loose: [10, 10, 10], ..base };
    let scale = if quick { 100 } else { 1 };
    let rounds = if quick { 1 } else { 3 };
    let shapes = [
        (
            "operations",
            vec![Shape { operations: 100_000, tasks: 200, ..base }, base, Shape { operations: 10_000_000, ..base }],
        ),
        (
            "tasks",
            vec![
                Shape { tasks: 200, ..base },
                base,
                Shape { tasks: 20_000, ..base },
                Shape { operations: 10_000_000, tasks: 20_000, ..base },
                Shape { operations: 10_000_000, tasks: 200_000, ..base },
            ],
        ),
        (
            "tasks, most of them in order",
            vec![Shape { tasks: 200, ..tight }, Shape { tasks: 2_000, ..tight }, Shape { tasks: 20_000, ..tight }],
        ),
        ("loopers", vec![Shape { loopers: 1, ..base }, base, Shape { loopers: 20, ..base }]),
        (
            "threads that nobody joins",
            vec![
                Shape { threads: 100, joined: 0, ..base },
                Shape { threads: 1_000, joined: 0, ..base },
                Shape { threads: 10_000, joined: 0, ..base },
            ],
        ),
    ];
    let _ = writeln!(
        page,
        "\n## Growth\n\nSynthetic traces, of which one number grows. The rest is 1 M operations, 2,000 fields, 30 threads, 4 loopers, 2,000 tasks, a fifth of them events, a fifth from another thread, a tenth delayed. What grows with tasks is the number of those that have no order: each has to be known by itself.\n\n![Operations a second and bytes an operation, by tasks](analyze_growth.svg)\n\n| what grows | operations | tasks | loopers | threads | races | ms | M/s | bytes | no merging M/s |\n|---|---|---|---|---|---|---|---|---|---|"
    );
    let [few, many, tight] = SERIES;
    let mut series: Vec<Series> = SERIES.map(|name| Series { name, points: Vec::new() }).into();
    for (what, shapes) in shapes {
        for shape in shapes.into_iter().filter(|shape| tasks.is_none_or(|tasks| tasks == shape.tasks)) {
            let shape = Shape {
                operations: shape.operations / scale,
                tasks: shape.tasks / scale as u32,
                threads: shape.threads.div_ceil(scale as u32),
                ..shape
            };
            let trace = synthetic::trace(&shape, 1);
            // This size takes a minute per round.
            let rounds = if shape.tasks > 100_000 { 1 } else { rounds };
            let cost = Cost::of(&trace, RACES, rounds);
            let apart = Cost::of(&trace, Options { merging: false, ..RACES }, 1);
            let Shape { tasks, loopers, threads, .. } = shape;
            let Cost { operations, seconds, races, .. } = &cost;
            let of = match what {
                "tasks" if shape.operations > base.operations / scale => many,
                "tasks" => few,
                "tasks, most of them in order" => tight,
                _ => "",
            };
            let point = Point { tasks, rate: cost.rate(), bytes: cost.bytes() };
            series.iter_mut().filter(|series| series.name == of).for_each(|series| series.points.push(point));
            let _ = writeln!(
                page,
                "| {what} | {operations} | {tasks} | {loopers} | {threads} | {races} | {:.1} | {:.1} | {:.0} | {:.1} |",
                seconds.median * 1e3,
                cost.rate(),
                cost.bytes(),
                apart.rate(),
            );
            if !quick {
                eprintln!("{what} {shape:?}: {:.1} M/s, {:.0} bytes", cost.rate(), cost.bytes());
            }
        }
    }
    series
}
