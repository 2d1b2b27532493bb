//! Counts instructions, which do not depend on other load of the machine. This program runs itself under valgrind with
//! two numbers of runs. The difference is the cost of the runs in between; the cost of starting cancels out.

use crate::callgrind;
use crate::measure::Tool;
use crate::workloads::Workload;

/// Instructions of some runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instructions {
    pub(crate) a_run: f64,
    /// Instructions per scheduling point of raceflip; the other tools do not report their points.
    pub(crate) a_point: Option<f64>,
}

/// Counts the instructions of `runs` runs, after some others that let the buffers grow.
pub(crate) fn instructions(tool: Tool, workload: Workload, runs: u64) -> Result<Instructions, String> {
    let before = (runs / 10).clamp(2, 100);
    let (few, many) = (measured(tool, workload, before)?, measured(tool, workload, before + runs)?);
    let collected = many.instructions.saturating_sub(few.instructions) as f64;
    let points = many.points.zip(few.points).map(|(many, few)| (many - few) as f64);
    Ok(Instructions { a_run: collected / runs as f64, a_point: points.map(|points| collected / points) })
}

struct Measured {
    instructions: u64,
    points: Option<u64>,
}

fn measured(tool: Tool, workload: Workload, runs: u64) -> Result<Measured, String> {
    let args = ["--only", &workload.to_string(), "--tool", tool.name(), "--runs", &runs.to_string()];
    let (instructions, said) = callgrind::collected(&args)?;
    Ok(Measured { instructions, points: said.trim().parse().ok() })
}

/// Main function under valgrind: performs runs, and for raceflip prints the number of their scheduling points to
/// stdout.
pub(crate) fn perform(tool: Tool, workload: Workload, runs: u64) -> Result<(), String> {
    if tool == Tool::Raceflip {
        let mut ours = crate::ours::Ours::new(workload);
        ours.batch(runs);
        println!("{}", ours.points);
    } else {
        crate::measure::prepare(tool, workload)?(runs);
    }
    Ok(())
}
