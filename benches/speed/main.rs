//! Measures speed: raceflip, shuttle and loom with the same workloads.
//!
//! `cargo bench --features peers --bench speed` writes `docs/results/speed.md` and `docs/results/speed.svg`. With
//! `-- --quick`, or if a test run starts it, it takes seconds and writes meaningless numbers below `target/tmp`.

#[path = "../common/callgrind.rs"]
mod callgrind;
mod instructions;
#[path = "../common/machine.rs"]
mod machine;
mod measure;
#[path = "../common/mode.rs"]
mod mode;
#[path = "../common/numbers.rs"]
mod numbers;
mod ours;
#[path = "../common/pages.rs"]
mod pages;
mod peers;
mod plot;
mod report;
#[allow(dead_code, reason = "other benchmarks use the rest")]
#[path = "../common/svg.rs"]
mod svg;
mod workloads;

use clap::Parser;
use instructions::Instructions;
use measure::{Counted, Effort, Tool};
use mode::Mode;
use report::Row;
use std::process::ExitCode;
use std::time::Duration;
use workloads::Workload;

#[derive(Parser)]
#[command(about = "Measures the speed of raceflip, shuttle and loom")]
struct Args {
    #[command(flatten)]
    mode: Mode,
    /// Performs runs of this workload and measures nothing: for callgrind
    #[arg(long, hide = true, requires = "runs")]
    only: Option<Workload>,
    #[arg(long, hide = true, default_value = "raceflip")]
    tool: Tool,
    #[arg(long, hide = true)]
    runs: Option<u64>,
    /// Names of benchmarks, which cargo hands to all of them
    #[arg(hide = true)]
    filters: Vec<String>,
}

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Self::Raceflip => "raceflip",
            Self::Shuttle => "shuttle",
            Self::Loom => "loom",
            Self::Native => "native",
        }
    }
}

const FULL: Effort =
    Effort { rounds: 9, turn: Duration::from_millis(400), counted: 1_000, endless: 5_000, points: 400_000 };
const QUICK: Effort = Effort { rounds: 2, turn: Duration::from_millis(2), counted: 10, endless: 100, points: 2_000 };

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match (args.only, args.runs) {
        (Some(workload), Some(runs)) => instructions::perform(args.tool, workload, runs),
        _ => everything(args.mode.is_quick()),
    };
    pages::exit(done)
}

fn everything(quick: bool) -> Result<(), String> {
    let effort = if quick { QUICK } else { FULL };
    let valgrind = callgrind::is_there();
    if !valgrind {
        eprintln!("there is no valgrind: instructions are not measured");
    }
    let mut rows = Vec::new();
    for timed in measure::all(effort) {
        let workload = timed.workload;
        eprintln!("counting: {workload}");
        let counted = measure::count(workload, effort);
        let (mut ours, mut shuttle, mut native) = (None, None, None);
        // The smallest workload suffices for a smoke test, because starting valgrind takes a second.
        if valgrind && (!quick || workload == Workload::Counter) {
            ours = Some(instructions(Tool::Raceflip, workload, &counted, effort)?);
            let of = |tool| workload.compared().then(|| instructions(tool, workload, &counted, effort)).transpose();
            (shuttle, native) = (of(Tool::Shuttle)?, of(Tool::Native)?);
        }
        rows.push(Row { timed, counted, ours, shuttle, native });
    }
    let files = [("speed.md", report::page(&rows, effort)), ("speed.svg", plot::svg(&rows))];
    pages::write(&pages::folder(quick, "speed"), &files)
}

fn instructions(tool: Tool, workload: Workload, counted: &Counted, effort: Effort) -> Result<Instructions, String> {
    // The other tools execute about ten times as many instructions per point.
    let points = if tool == Tool::Raceflip { effort.points } else { effort.points / 10 };
    instructions::instructions(tool, workload, (points as f64 / counted.points_a_run).ceil() as u64)
}
