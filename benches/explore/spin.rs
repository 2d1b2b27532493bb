//! The workloads in SPIN: SPIN generates the source of a verifier from a Promela model, gcc compiles it, and the
//! verifier searches.
//!
//! The verifier uses no partial order reduction and checks safety only, which is its fastest mode. Its hash table has
//! room for twice the states from the beginning, and its stack for as many steps as there are states, so neither has to
//! grow. The options that lose states (`-DHC`, `-DBITSTATE`) are not used, and those that pack states more tightly
//! (`-DCOLLAPSE`) make it slower.

use crate::tools::timed;
use crate::workloads::{Counts, Memory, Searched, Workload};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Options of the compiler.
pub(crate) const OPTIONS: [&str; 5] = ["-O2", "-DNOREDUCE", "-DSAFETY", "-DNOFAIR", "-DMEMLIM=8000"];

/// Returns the versions of both programs, or an error that says which one is missing.
pub(crate) fn versions() -> Result<Vec<String>, String> {
    let said = |program: &str, option: &str| {
        let output = Command::new(program).arg(option).stderr(Stdio::null()).output();
        let output = output.ok().filter(|o| o.status.success()).ok_or_else(|| format!("there is no {program}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().next().map(str::to_owned).ok_or_else(|| format!("{program} does not tell its version"))
    };
    let spin = said("spin", "-V")?;
    let number = spin.split_whitespace().nth(2).unwrap_or("?").to_owned();
    let gcc = said("gcc", "-dumpfullversion")?;
    Ok(vec![format!("SPIN {number}"), format!("gcc {gcc}")])
}

fn folder(workload: Workload, breadth: bool) -> PathBuf {
    let Workload { program, n, second } = workload;
    let order = if breadth { "breadth" } else { "depth" };
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("explore/spin/{program:?}-{n}-{second}-{order}"))
}

/// Builds the verifier of a workload.
///
/// # Errors
///
/// The model is not compared, a program is not there, or does not like its input.
pub(crate) fn build(workload: Workload, breadth: bool) -> Result<(), String> {
    let text = workload.promela().ok_or_else(|| format!("{workload} is not written in Promela"))?;
    let folder = folder(workload, breadth);
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join("model.pml"), text))
        .map_err(|e| format!("{}: {e}", folder.display()))?;
    let defines = workload.defines().into_iter().map(|(name, value)| format!("-D{name}={value}"));
    perform(&folder, "spin", ["-a".to_owned()].into_iter().chain(defines).chain(["model.pml".to_owned()]))?;
    let order = breadth.then_some("-DBFS");
    perform(&folder, "gcc", OPTIONS.into_iter().chain(order).chain(["-w", "-o", "pan", "pan.c"]).map(str::to_owned))
}

fn perform(folder: &Path, program: &str, args: impl Iterator<Item = String>) -> Result<(), String> {
    let output =
        Command::new(program).args(args).current_dir(folder).output().map_err(|e| format!("{program}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{program}: {}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
}

/// Runs a verifier that has been built, with room for this number of states.
pub(crate) fn run(workload: Workload, breadth: bool, states: u64) -> Result<(Searched, Option<f64>), String> {
    let depth = format!("-m{}", states.max(10_000));
    let slots = format!("-w{}", (states.max(1_000) * 2 - 1).ilog2() + 1);
    let program = folder(workload, breadth).join("pan");
    let (said, processor) = timed(program.as_os_str(), &["-n", &depth, &slots])?;
    Ok((parse(&said).map_err(|e| format!("{workload}: pan: {e} in\n{said}"))?, processor))
}

// Parses the report of a verifier.
fn parse(said: &str) -> Result<Searched, String> {
    // Finds the number before some words.
    let find = |words: &str| {
        let before = said.lines().find_map(|line| line.split_once(words).map(|(before, _)| before));
        before.and_then(|before| before.split_whitespace().last()?.parse::<f64>().ok())
    };
    let need = |words: &str| find(words).ok_or_else(|| format!("there is no `{words}`"));
    if !said.contains("errors: 0") || said.contains("max search depth too small") {
        return Err("the search did not end well".to_owned());
    }
    let states = need(" states, stored")?;
    // SPIN counts the initial state as the result of a step.
    let transitions = need(" transitions (= stored+matched)")? - 1.0;
    let took = said.split_once("elapsed time ").and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok());
    let megabytes = |n: f64| (n * 1024.0 * 1024.0) as u64;
    let total = need("total actual memory usage")?;
    // The memory for states is the hash table and the states in it, without the stack and the program.
    let visited = find("actual memory usage for states").zip(find("memory used for hash table")).map(|(a, b)| a + b);
    Ok(Searched {
        counts: Counts { states: states as u64, transitions: transitions as u64 },
        // SPIN's clock has a resolution of hundredths of a second.
        took: Duration::from_secs_f64(f64::max(took.ok_or("there is no elapsed time")?, 0.01)),
        memory: Memory { visited: visited.map(megabytes), peak: Some(megabytes(total)) },
    })
}
