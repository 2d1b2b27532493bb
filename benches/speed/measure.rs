//! The clock: tools take turns, round by round, so that what else the machine does meets all of them; ratios are taken within a round.

use crate::numbers::Spread;
use crate::ours::Ours;
use crate::peers::{self, Batch};
use crate::workloads::{self, Workload};
use allocation_counter::{measure, opt_out};
use std::time::{Duration, Instant};

/// Who runs a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Tool {
    Raceflip,
    Shuttle,
    Loom,
}

pub(crate) const TOOLS: [Tool; 3] = [Tool::Raceflip, Tool::Shuttle, Tool::Loom];

/// How long to measure.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) rounds: usize,
    /// Of one tool with one workload in one round, about.
    pub(crate) turn: Duration,
    /// Runs after the first whose allocations are counted; fewer where runs are long.
    pub(crate) counted: u64,
    /// Runs after which a search of loom counts as endless.
    pub(crate) endless: u64,
    /// Scheduling points whose instructions are counted, about.
    pub(crate) points: u64,
}

/// One tool with one workload.
pub(crate) struct Cell {
    batch: Batch,
    // Runs of a turn.
    runs: u64,
    // Runs a second, by round.
    rates: Vec<f64>,
}

/// What came out for one workload.
pub(crate) struct Timed {
    pub(crate) workload: Workload,
    /// By tool; `Err` with the reason why there is none.
    pub(crate) cells: Vec<Result<Spread, String>>,
    /// Runs a second of raceflip over those of the tool, by tool.
    pub(crate) ratios: Vec<Option<Spread>>,
}

/// What performs runs of a workload with a tool, or why nothing does.
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
    }
}

impl Cell {
    // Doubles the runs until they take a good part of a turn, which warms everything up as well.
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

// The program's allocator counts, for the table of allocations; not here, where it would cost the tools that allocate.
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
    Timed {
        workload,
        ratios: rates.iter().map(|theirs| theirs.as_ref().ok().map(ratio)).collect(),
        cells: rates.into_iter().map(|rates| Ok(Spread::of(rates?))).collect(),
    }
}

/// What does not depend on the clock: raceflip's scheduling points and allocations, the length of loom's search.
pub(crate) struct Counted {
    pub(crate) points_a_run: f64,
    /// Runs after the first that ended well. A run that fails allocates: the words of its failure.
    pub(crate) runs: u64,
    /// All allocations of those.
    pub(crate) allocations: u64,
    /// How many runs loom's search has in all, if it is not endless.
    pub(crate) loom_search: Option<u64>,
}

/// Counts runs after the first.
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
