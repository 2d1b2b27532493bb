//! Each search is a process of its own: so its memory is its own, and its processor time is what the shell says of it.
//!
//! raceflip and stateright are searched with by this very program, started anew; SPIN makes a program.

use crate::workloads::{Counts, Memory, Searched, Workload};
use crate::{ours, spin, stateright};
use clap::ValueEnum;
use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Who searches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Tool {
    Raceflip,
    /// Depth first, as SPIN does unless it is asked.
    Spin,
    /// Breadth first.
    SpinBreadth,
    Stateright,
}

pub(crate) const TOOLS: [Tool; 4] = [Tool::Raceflip, Tool::Spin, Tool::SpinBreadth, Tool::Stateright];

impl Tool {
    /// For people, and for the classes of the plot.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Raceflip => "raceflip",
            Self::Spin => "SPIN",
            Self::SpinBreadth => "SPIN, breadth first",
            Self::Stateright => "stateright",
        }
    }
}

/// A search and the seconds of processor time that its process took, user and system, from its start to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub(crate) searched: Searched,
    pub(crate) processor: f64,
}

/// Searches in a new process. About how many `states` there are is for SPIN, which makes room before it begins.
///
/// # Errors
///
/// The process cannot be started, fails, or says something else than what is expected.
pub(crate) fn search(tool: Tool, workload: Workload, states: u64) -> Result<Turn, String> {
    let (said, processor) = match tool {
        Tool::Spin | Tool::SpinBreadth => spin::run(workload, tool == Tool::SpinBreadth, states)?,
        Tool::Raceflip | Tool::Stateright => {
            let this = std::env::current_exe().map_err(|e| e.to_string())?;
            let (n, second) = (workload.n.to_string(), workload.second.to_string());
            let (tool, program) = (name_of(tool), name_of(workload.program));
            let args = ["--only", &tool, "--program", &program, "--n", &n, "--second", &second];
            let (text, processor) = timed(this.as_os_str(), &args)?;
            (parse(&text).ok_or_else(|| format!("{workload}: a search said `{text}`"))?, processor)
        }
    };
    Ok(Turn { searched: said, processor: processor.unwrap_or(said.took.as_secs_f64()) })
}

// The name of a value on the command line.
fn name_of(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
}

/// What such a process does: searches, and says what came out in one line.
pub(crate) fn perform(tool: Tool, workload: Workload) -> Result<(), String> {
    let searched = match tool {
        Tool::Raceflip => ours::search(workload)?,
        Tool::Stateright => stateright::search(workload),
        Tool::Spin | Tool::SpinBreadth => return Err("SPIN makes programs of its own".to_owned()),
    };
    let Searched { counts, took, memory } = searched;
    let [visited, peak] = [memory.visited, memory.peak].map(|bytes| bytes.map_or("-".to_owned(), |b| b.to_string()));
    println!("{} {} {} {visited} {peak}", counts.states, counts.transitions, took.as_nanos());
    Ok(())
}

fn parse(line: &str) -> Option<Searched> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [states, transitions, nanos, visited, peak] = words[..] else { return None };
    Some(Searched {
        counts: Counts { states: states.parse().ok()?, transitions: transitions.parse().ok()? },
        took: Duration::from_nanos(nanos.parse().ok()?),
        memory: Memory { visited: visited.parse().ok(), peak: peak.parse().ok() },
    })
}

/// Runs a program by way of the shell: what it said, and the seconds of processor time that it took, where there is a shell.
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
    // The shell's own times, then those of what it started.
    let lines: Vec<&str> = said.lines().collect();
    let [before @ .., _, last] = &lines[..] else { return Err(format!("the shell said `{said}`")) };
    let seconds = last.split_whitespace().map(seconds).sum::<Option<f64>>();
    Ok((before.join("\n"), Some(seconds.ok_or_else(|| format!("the shell said `{last}`"))?)))
}

// `1m2.34s`
fn seconds(time: &str) -> Option<f64> {
    let (minutes, seconds) = time.strip_suffix('s')?.split_once('m')?;
    Some(60.0 * minutes.parse::<f64>().ok()? + seconds.replace(',', ".").parse::<f64>().ok()?)
}

/// The most memory that this process has had so far, in bytes; `None` where the system does not tell in `/proc`.
pub(crate) fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(1024 * line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?)
}
