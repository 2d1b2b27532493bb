//! Describes the software and the machine of a benchmark.

use std::process::Command;

/// Returns raceflip's version, the compiler, other tools with their versions, and the processor.
pub(crate) fn machine(others: &[String]) -> String {
    let compiler = Command::new("rustc").arg("--version").output().ok();
    let compiler = compiler.and_then(|o| String::from_utf8(o.stdout).ok()).unwrap_or_default();
    let compiler = compiler.split(" (").next().unwrap_or_default().trim().to_owned();
    let processor = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let processor = processor.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let processor = processor.map_or(std::env::consts::ARCH, |(_, name)| name.trim());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let tools: String = others.iter().map(|other| format!(", {other}")).collect();
    format!(
        "raceflip {}{tools}; {compiler}, `bench` profile; {processor}, {cores} cores, {}.",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
    )
}

/// Returns the version of a package in the lock file.
pub(crate) fn locked(package: &str) -> &'static str {
    let lock = include_str!("../../Cargo.lock");
    let entry = lock.split_once(&format!("name = \"{package}\"\nversion = \"")).map(|(_, rest)| rest);
    entry.and_then(|rest| rest.split('"').next()).unwrap_or("?")
}
