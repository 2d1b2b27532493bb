//! Schedules to the first bug: raceflip's strategies and campaigns beside published figures, and beside shuttle and loom with the same programs.
//!
//! `cargo bench --bench first_bug -- TABLE` writes one page of `docs/results` ([`Table`] says which), without a table all four: about ten minutes on two cores. With `--quick`, and where a
//! test run starts it, the same happens in seconds, with numbers that mean nothing, and nothing is written. What comes out depends on seeds alone, not on the number of workers or the clock.

mod bugs;
mod campaign;
#[path = "../common/machine.rs"]
mod machine;
#[path = "../common/pages.rs"]
mod pages;
mod peers;
mod programs;
mod published;
mod racefuzzer;
mod ratios;
mod runs;
mod sctbench;
mod table;
mod tally;
mod window;

use clap::Parser;
use std::process::ExitCode;
use std::time::Instant;

#[derive(Parser)]
#[command(about = "Counts schedules to the first bug")]
struct Args {
    /// The table to make; all of them if none is named
    tables: Vec<Table>,
    /// Of SCTBench and ConVul only the programs whose names have this; nothing is written
    #[arg(long, value_name = "TEXT")]
    program: Option<String>,
    /// Only to see that it works
    #[arg(long)]
    quick: bool,
    /// Given by `cargo bench`, not by `cargo test`
    #[arg(long, hide = true)]
    bench: bool,
}

/// A table, by the page that it is on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Table {
    /// `racefuzzer.md`: RaceFuzzer's table 1
    Racefuzzer,
    /// `first_bug.md`: SCTBench and ConVul
    Sctbench,
    /// `first_bug_models.md`: the models of real bugs
    Bugs,
    /// `window.md`: a failure between two accesses, and RaceFuzzer's figure 2
    Window,
}

const ALL: [Table; 4] = [Table::Racefuzzer, Table::Sctbench, Table::Bugs, Table::Window];

/// How much is run.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    /// Seeds of each cell.
    pub(crate) seeds: usize,
    /// Schedules after which a seed has found nothing.
    pub(crate) cap: u64,
    /// The same for the hardest program, SafeStack.
    pub(crate) hard_cap: u64,
    /// The most accesses on each side of a window.
    pub(crate) most_accesses: u64,
    /// Directed runs of each pair of RaceFuzzer's programs.
    pub(crate) trials: u32,
}

const FULL: Effort = Effort { seeds: 20, cap: 10_000, hard_cap: 100_000, most_accesses: 5_000, trials: 100 };
const QUICK: Effort = Effort { seeds: 2, cap: 40, hard_cap: 40, most_accesses: 50, trials: 5 };

fn main() -> ExitCode {
    let args = Args::parse();
    let quick = args.quick || !args.bench;
    let tables = if args.tables.is_empty() { ALL.to_vec() } else { args.tables };
    pages::exit(tables.into_iter().try_for_each(|table| make(table, quick, args.program.as_deref())))
}

fn make(table: Table, quick: bool, program: Option<&str>) -> Result<(), String> {
    let effort = if quick { QUICK } else { FULL };
    let start = Instant::now();
    let (name, page) = match table {
        Table::Racefuzzer => ("racefuzzer.md", racefuzzer::page(effort)?),
        Table::Sctbench => ("first_bug.md", sctbench::page(effort, program.unwrap_or_default())?),
        Table::Bugs => ("first_bug_models.md", bugs::page(effort)?),
        Table::Window => ("window.md", window::page(effort)?),
    };
    eprintln!("{name}: {:.0} seconds", start.elapsed().as_secs_f64());
    if program.is_some() {
        print!("{page}");
    }
    // The numbers of a smoke test mean nothing.
    if quick || program.is_some() { Ok(()) } else { pages::write(&pages::folder(false, "first_bug"), &[(name, page)]) }
}
