//! Runs each search in a process of its own, so that memory and processor time (reported by the shell) belong to that
//! search alone.
//!
//! For raceflip and stateright, the process is this program, started again; for SPIN, it is the verifier.

use crate::workloads::{Counts, Memory, Searched, Workload};
use crate::{ours, spin, stateright};
use clap::ValueEnum;
use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::time::Duration;

/// A tool that searches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
pub(crate) enum Tool {
    Raceflip,
    /// What `raceflip explore` does: it looks for livelocks as well.
    RaceflipLivelocks,
    /// Depth first, as SPIN does unless it is asked.
    Spin,
    /// Breadth first.
    SpinBreadth,
    Stateright,
}

/// The tools that are compared. What looking for livelocks costs is counted in instructions alone.
pub(crate) const TOOLS: [Tool; 4] = [Tool::Raceflip, Tool::Spin, Tool::SpinBreadth, Tool::Stateright];

impl Tool {
    /// Returns the name for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Raceflip => "raceflip",
            Self::RaceflipLivelocks => "raceflip, with livelocks",
            Self::Spin => "SPIN",
            Self::SpinBreadth => "SPIN, breadth first",
            Self::Stateright => "stateright",
        }
    }
}

/// A search, and the processor time of its process in seconds, user and system, from start to end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub(crate) searched: Searched,
    pub(crate) processor: f64,
}

/// Searches in a new process. SPIN reserves memory at its start for the given number of `states`.
///
/// # Errors
///
/// The process cannot be started, fails, or says something else than what is expected.
pub(crate) fn search(tool: Tool, workload: Workload, states: u64) -> Result<Turn, String> {
    let (said, processor) = match tool {
        Tool::Spin | Tool::SpinBreadth => spin::run(workload, tool == Tool::SpinBreadth, states)?,
        Tool::Raceflip | Tool::RaceflipLivelocks | Tool::Stateright => {
            let this = std::env::current_exe().map_err(|e| e.to_string())?;
            let args = arguments(tool, workload);
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let (text, processor) = timed(this.as_os_str(), &args)?;
            (parse(&text).ok_or_else(|| format!("{workload}: a search said `{text}`"))?, processor)
        }
    };
    Ok(Turn { searched: said, processor: processor.unwrap_or(said.took.as_secs_f64()) })
}

/// Returns the arguments with which this program makes one search.
pub(crate) fn arguments(tool: Tool, workload: Workload) -> [String; 8] {
    let (n, second) = (workload.n.to_string(), workload.second.to_string());
    let option = str::to_owned;
    [
        option("--only"),
        name_of(tool),
        option("--program"),
        name_of(workload.program),
        option("--n"),
        n,
        option("--second"),
        second,
    ]
}

// Returns the name of a value on the command line.
fn name_of(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
}

/// Main function of such a process: searches, and prints the result on one line.
pub(crate) fn perform(tool: Tool, workload: Workload) -> Result<(), String> {
    let searched = match tool {
        Tool::Raceflip => ours::search(workload, false)?,
        Tool::RaceflipLivelocks => ours::search(workload, true)?,
        Tool::Stateright => stateright::search(workload),
        Tool::Spin | Tool::SpinBreadth => return Err("SPIN makes programs of its own".to_owned()),
    };
    let Searched { counts, took, memory } = searched;
    let [visited, peak] = [memory.visited, memory.peak].map(|bytes| bytes.map_or("-".to_owned(), |b| b.to_string()));
    println!("{} {} {} {visited} {peak}", counts.states, counts.transitions, took.as_nanos());
    Ok(())
}

pub(crate) fn parse(line: &str) -> Option<Searched> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [states, transitions, nanos, visited, peak] = words[..] else { return None };
    Some(Searched {
        counts: Counts { states: states.parse().ok()?, transitions: transitions.parse().ok()? },
        took: Duration::from_nanos(nanos.parse().ok()?),
        memory: Memory { visited: visited.parse().ok(), peak: peak.parse().ok() },
    })
}

/// Runs a program through the shell. Returns its output, and its processor time in seconds if there is a shell.
pub(crate) fn timed(program: &OsStr, args: &[&str]) -> Result<(String, Option<f64>), String> {
    let failed = |e: std::io::Error| format!("{}: {e}", program.display());
    let script = "\"$@\"; status=$?; times; exit $status";
    let mut command = if cfg!(unix) {
        let mut shell = Command::new("sh");
        shell.args(["-c", script, "sh"]).arg(program);
        shell
    } else {
        Command::new(program)
    };
    let output = command.args(args).stderr(Stdio::inherit()).output().map_err(failed)?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        return Err(format!("{} {}: {}", program.display(), args.join(" "), output.status));
    }
    if !cfg!(unix) {
        return Ok((said, None));
    }
    // The last two lines are the times of the shell itself and of its children.
    let lines: Vec<&str> = said.lines().collect();
    let [before @ .., _, last] = &lines[..] else { return Err(format!("the shell said `{said}`")) };
    let seconds = last.split_whitespace().map(seconds).sum::<Option<f64>>();
    Ok((before.join("\n"), Some(seconds.ok_or_else(|| format!("the shell said `{last}`"))?)))
}

// Parses a time such as `1m2.34s` into seconds.
fn seconds(time: &str) -> Option<f64> {
    let (minutes, seconds) = time.strip_suffix('s')?.split_once('m')?;
    Some(60.0 * minutes.parse::<f64>().ok()? + seconds.replace(',', ".").parse::<f64>().ok()?)
}

/// Returns the peak memory of this process so far, in bytes; `None` if `/proc` does not give it.
pub(crate) fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(1024 * line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?)
}
