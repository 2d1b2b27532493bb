//! Instructions, which no other load of the machine changes: this program runs itself under valgrind, with two numbers of runs. The difference is
//! what the runs between them cost; what starting costs cancels out.

use crate::measure::Tool;
use crate::workloads::Workload;
use std::process::{Command, Stdio};

/// What some runs cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instructions {
    pub(crate) a_run: f64,
    /// Of raceflip; the peers' points are not told.
    pub(crate) a_point: Option<f64>,
}

/// Whether there is a valgrind.
pub(crate) fn is_there() -> bool {
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Counts the instructions of so many runs after some others, which have the buffers grow.
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
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["--only", &workload.to_string(), "--tool", tool.name(), "--runs", &runs.to_string()])
        .output()
        .map_err(|e| format!("valgrind: {e}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("valgrind, {tool:?}, {workload}: {}\n{said}", output.status));
    }
    let collected = said.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    let instructions = collected.ok_or_else(|| format!("callgrind has not said what it collected:\n{said}"))?;
    Ok(Measured { instructions, points: String::from_utf8_lossy(&output.stdout).trim().parse().ok() })
}

/// What the program does under valgrind: runs, and for raceflip the number of their points on the standard output.
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
