//! Measures the analysis of atomicity on synthetic traces: speed, memory, growth.
//!
//! `cargo bench --bench atomicity` writes `docs/results/atomicity_speed.md`. With `--quick`, or if a test run starts
//! it, it takes seconds and writes meaningless numbers below `target/tmp`.

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
#[path = "../common/part_traces.rs"]
mod part_traces;

use clap::Parser;
use mode::Mode;
use numbers::Spread;
use part_traces::{BASE, Shape, trace};
use raceflip::detect::atomicity::{Atomicity, AtomicityOptions, Specification, analyze};
use raceflip::trace::Trace;
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
        "# Atomicity: speed of the analysis\n\nMade by `cargo bench --bench atomicity` on {} Synthetic traces of 10,000 locations, 20,000 tasks on 4 loopers and 1,000 instances, unless the row says otherwise; 2 % of the accesses are to locations of other instances. \
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
