//! Measures exhaustive search: raceflip, SPIN and stateright with the same workloads.
//!
//! `cargo bench --features peers --bench explore` writes `docs/results/explore.md` and its two plots. With `--
//! --quick`, or if a test run starts it, it takes seconds and writes meaningless numbers below `target/tmp`. SPIN (the
//! Debian package `spin`) and gcc are left out if they are not installed.

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
mod plot;
mod report;
mod spin;
mod stateright;
#[path = "../common/svg.rs"]
mod svg;
mod tools;
mod workloads;

use clap::Parser;
use mode::Mode;
use report::Results;
use std::process::ExitCode;
use tools::Tool;
use workloads::{Program, Workload};

#[derive(Parser)]
#[command(about = "Measures exhaustive search of raceflip, SPIN and stateright")]
struct Args {
    #[command(flatten)]
    mode: Mode,
    /// Searches once with this tool, says what came out, and measures nothing else
    #[arg(long, hide = true, requires = "program")]
    only: Option<Tool>,
    #[arg(long, hide = true)]
    program: Option<Program>,
    #[arg(long, hide = true, default_value_t = 1)]
    n: u64,
    #[arg(long, hide = true, default_value_t = 0)]
    second: u64,
    /// Names of benchmarks, which cargo hands to all of them
    #[arg(hide = true)]
    filters: Vec<String>,
}

/// Extent of the measurements.
#[derive(Clone, Copy)]
struct Effort {
    rounds: usize,
    /// Maximum number of threads in the growth by threads.
    threads: u64,
    /// Maximum number of tasks per poster in the growth by tasks.
    tasks: u64,
}

const FULL: Effort = Effort { rounds: 5, threads: 11, tasks: 9 };
const QUICK: Effort = Effort { rounds: 2, threads: 4, tasks: 3 };

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match (args.only, args.program) {
        (Some(tool), Some(program)) => tools::perform(tool, Workload { program, n: args.n, second: args.second }),
        _ => everything(args.mode.is_quick()),
    };
    pages::exit(done)
}

fn everything(quick: bool) -> Result<(), String> {
    let effort = if quick { QUICK } else { FULL };
    let spin = spin::versions();
    if let Err(reason) = &spin {
        eprintln!("{reason}: SPIN is not measured");
    }
    let equal = measure::compare(spin.is_ok())?;
    // The small workloads suffice for a smoke test.
    let these: Vec<Workload> = if quick { workloads::SMALL[3..].into() } else { workloads::LARGE.into() };
    let compared = measure::all(&these, effort, spin.is_ok())?;
    let threads = measure::all(&workloads::threads(effort.threads), effort, false)?;
    let tasks = measure::all(&workloads::tasks(effort.tasks), effort, false)?;
    let left_out = measure::left_out(compared.iter().chain(threads.last()).chain(tasks.last()))?;
    let results = Results {
        compared,
        threads,
        tasks,
        left_out,
        instructions: if callgrind::is_there() { Some(instructions::all()?) } else { None },
        equal,
        spin,
        rounds: effort.rounds,
    };
    let files = [
        ("explore.md", report::page(&results)),
        ("explore.svg", plot::compared(&results.compared)),
        ("explore_growth.svg", plot::growth(&results)),
    ];
    pages::write(&pages::folder(quick, "explore"), &files)
}
