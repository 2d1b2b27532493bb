//! Counts the instructions of processes, which do not depend on other load of the machine: a program runs itself under
//! valgrind.

use std::process::{Command, Stdio};

/// Returns whether valgrind is installed.
pub(crate) fn is_there() -> bool {
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Runs this program with some arguments under valgrind. Returns the instructions, and what it has said on stdout.
///
/// # Errors
///
/// The program fails, or valgrind says something else than what is expected.
pub(crate) fn collected(args: &[&str]) -> Result<(u64, String), String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(args)
        .output()
        .map_err(|e| format!("valgrind: {e}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("valgrind, {}: {}\n{said}", args.join(" "), output.status));
    }
    let instructions = said.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    let instructions = instructions.ok_or_else(|| format!("callgrind has not said what it collected:\n{said}"))?;
    Ok((instructions, String::from_utf8_lossy(&output.stdout).into_owned()))
}
