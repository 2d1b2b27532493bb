//! Counts schedules to the first bug: raceflip's strategies and campaigns are compared with published figures, and with
//! shuttle and loom on the same programs.
//!
//! `cargo bench --features peers --bench first_bug -- TABLE` writes one page of `docs/results` ([`Table`] says which);
//! without a table it writes all five, in about fifteen minutes on two cores. With `--quick`, or if a test run starts
//! it, it takes seconds, its numbers are meaningless, and nothing is written. The numbers depend on seeds alone, not
//! on the number of workers or the clock.

mod bugs;
mod campaign;
mod learning;
#[path = "../common/machine.rs"]
mod machine;
#[path = "../common/pages.rs"]
mod pages;
mod peers;
mod planted;
#[path = "../common/planted/mod.rs"]
mod planted_apps;
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
    /// Of SCTBench and ConVul only the programs whose names have this, of the planted bugs the app of this name;
    /// nothing is written
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
    /// `planted.md`: generated apps with planted order bugs
    Planted,
}

const ALL: [Table; 5] = [Table::Racefuzzer, Table::Sctbench, Table::Bugs, Table::Window, Table::Planted];

/// Extent of the runs.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    /// Number of seeds per cell.
    pub(crate) seeds: usize,
    /// Number of schedules after which a seed counts as having found nothing.
    pub(crate) cap: u64,
    /// Value of `cap` for the hardest program, SafeStack.
    pub(crate) hard_cap: u64,
    /// Maximum number of accesses on each side of a window.
    pub(crate) most_accesses: u64,
    /// Number of directed runs per pair of RaceFuzzer's programs.
    pub(crate) trials: u32,
    /// Number of generated apps per depth, and their size.
    pub(crate) apps: usize,
    pub(crate) size: planted_apps::Size,
}

const FULL: Effort = Effort {
    seeds: 20,
    cap: 10_000,
    hard_cap: 100_000,
    most_accesses: 5_000,
    trials: 100,
    apps: 20,
    size: planted_apps::FULL,
};
const QUICK: Effort =
    Effort { seeds: 2, cap: 40, hard_cap: 40, most_accesses: 50, trials: 5, apps: 2, size: planted_apps::small(3) };

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
        Table::Planted => ("planted.md", planted::page(effort, program.unwrap_or_default())?),
    };
    eprintln!("{name}: {:.0} seconds", start.elapsed().as_secs_f64());
    if program.is_some() {
        print!("{page}");
    }
    // The numbers of a smoke test are meaningless, so they are not written.
    if quick || program.is_some() { Ok(()) } else { pages::write(&pages::folder(false, "first_bug"), &[(name, page)]) }
}
