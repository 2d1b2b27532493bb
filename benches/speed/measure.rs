//! Measures time: tools take turns, round by round, so that other load of the machine affects all of them. Ratios are
//! taken within a round.

use crate::numbers::Spread;
use crate::ours::Ours;
use crate::peers::{self, Batch};
use crate::workloads::{self, Workload};
use allocation_counter::{measure, opt_out};
use std::time::{Duration, Instant};

/// A tool that runs a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Tool {
    Raceflip,
    Shuttle,
    Loom,
    /// raceflip over Rust code.
    Native,
}

pub(crate) const TOOLS: [Tool; 4] = [Tool::Raceflip, Tool::Shuttle, Tool::Loom, Tool::Native];

/// The tools whose runs of a workload are compared with those of its model.
pub(crate) const COMPARED: [Tool; 3] = [Tool::Raceflip, Tool::Shuttle, Tool::Loom];

/// Extent of the measurements.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) rounds: usize,
    /// Approximate duration of one tool with one workload in one round.
    pub(crate) turn: Duration,
    /// Number of runs after the first whose allocations are counted; fewer if runs are long.
    pub(crate) counted: u64,
    /// Number of runs after which a search of loom counts as endless.
    pub(crate) endless: u64,
    /// Approximate number of scheduling points whose instructions are counted.
    pub(crate) points: u64,
}

/// Measurements of one tool with one workload.
pub(crate) struct Cell {
    batch: Batch,
    // Number of runs per turn.
    runs: u64,
    // Runs per second, by round.
    rates: Vec<f64>,
}

/// Measurements of one workload.
pub(crate) struct Timed {
    pub(crate) workload: Workload,
    /// Runs per second by tool; `Err` with the reason if the tool does not run the workload.
    pub(crate) cells: Vec<Result<Spread, String>>,
    /// Runs per second of raceflip divided by those of the tool, by tool.
    pub(crate) ratios: Vec<Option<Spread>>,
    /// Runs per second of raceflip over Rust code divided by those of shuttle.
    pub(crate) native: Option<Spread>,
}

/// Returns a function that performs runs of a workload with a tool, or the reason why there is none.
pub(crate) fn prepare(tool: Tool, workload: Workload) -> Result<Batch, String> {
    if tool != Tool::Raceflip && !workload.compared() {
        return Err("not compared".to_owned());
    }
    match tool {
        Tool::Raceflip => {
            let mut ours = Ours::new(workload);
            Ok(Box::new(move |runs| ours.batch(runs)))
        }
        Tool::Shuttle => Ok(peers::shuttle(workload)),
        Tool::Loom => peers::loom(workload),
        Tool::Native => Ok(peers::native(workload)),
    }
}

impl Cell {
    // Doubles the number of runs until they take a third of a turn. This also warms everything up.
    fn calibrated(mut batch: Batch, turn: Duration) -> Self {
        let mut runs = 1;
        loop {
            let took = time(&mut batch, runs);
            if took * 3 >= turn {
                let rate = runs as f64 / took.as_secs_f64();
                let runs = ((rate * turn.as_secs_f64()) as u64).max(1);
                return Self { batch, runs, rates: Vec::new() };
            }
            runs *= 2;
        }
    }
}

// Measures the duration of runs. The program's allocator counts allocations for a table; that is off here, because it
// would slow down the tools that allocate.
fn time(batch: &mut Batch, runs: u64) -> Duration {
    let mut took = Duration::ZERO;
    opt_out(|| {
        let start = Instant::now();
        batch(runs);
        took = start.elapsed();
    });
    took
}

/// Measures all workloads with all tools.
pub(crate) fn all(effort: Effort) -> Vec<Timed> {
    let mut cells: Vec<Vec<Result<Cell, String>>> = workloads::ALL
        .iter()
        .map(|&workload| {
            eprintln!("warming up: {workload}");
            TOOLS.map(|tool| prepare(tool, workload).map(|batch| Cell::calibrated(batch, effort.turn))).into()
        })
        .collect();
    for round in 1..=effort.rounds {
        eprintln!("round {round} of {}", effort.rounds);
        for cell in cells.iter_mut().flatten().flatten() {
            let took = time(&mut cell.batch, cell.runs);
            cell.rates.push(cell.runs as f64 / took.as_secs_f64());
        }
    }
    workloads::ALL.iter().zip(cells).map(|(&workload, cells)| timed(workload, cells)).collect()
}

fn timed(workload: Workload, cells: Vec<Result<Cell, String>>) -> Timed {
    let rates: Vec<Result<Vec<f64>, String>> = cells.into_iter().map(|cell| Ok(cell?.rates)).collect();
    let ours = rates[0].clone().expect("raceflip runs everything");
    let ratio = |theirs: &Vec<f64>| Spread::of(ours.iter().zip(theirs).map(|(a, b)| a / b));
    let of = |tool: Tool| rates[tool as usize].as_ref().ok();
    let native = of(Tool::Native).zip(of(Tool::Shuttle));
    let native = native.map(|(ours, theirs)| Spread::of(ours.iter().zip(theirs).map(|(a, b)| a / b)));
    Timed {
        workload,
        native,
        ratios: rates.iter().map(|theirs| theirs.as_ref().ok().map(ratio)).collect(),
        cells: rates.into_iter().map(|rates| Ok(Spread::of(rates?))).collect(),
    }
}

/// Counts that do not depend on the clock: raceflip's scheduling points and allocations, and the length of loom's
/// search.
pub(crate) struct Counted {
    pub(crate) points_a_run: f64,
    /// Number of runs after the first that ended well. A run that fails allocates the texts of its failure, so it does
    /// not count.
    pub(crate) runs: u64,
    /// Number of allocations of these runs together.
    pub(crate) allocations: u64,
    /// Number of runs of loom's complete search; `None` if it is endless.
    pub(crate) loom_search: Option<u64>,
}

/// Counts a workload in runs after the first.
pub(crate) fn count(workload: Workload, effort: Effort) -> Counted {
    let mut ours = Ours::new(workload);
    ours.one();
    ours.points = 0;
    let todo = (1_000_000 / workload.iterations()).clamp(3, effort.counted);
    let (mut runs, mut allocations) = (0, 0);
    for _ in 0..todo {
        let mut ended_well = false;
        let info = measure(|| ended_well = ours.one());
        if ended_well {
            runs += 1;
            allocations += info.count_total;
        }
    }
    let searches = prepare(Tool::Loom, workload).is_ok();
    let loom_search = if searches { peers::loom_is_through(workload, effort.endless) } else { None };
    Counted { points_a_run: ours.points as f64 / todo as f64, runs, allocations, loom_search }
}
