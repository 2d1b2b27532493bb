//! Writes the results of a benchmark, and ends its process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Returns the folder of the results; for a smoke test, whose numbers are meaningless, a folder below `target/tmp`.
pub(crate) fn folder(quick: bool, benchmark: &str) -> PathBuf {
    if quick {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(benchmark)
    } else {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/results")
    }
}

/// Writes files by name, and prints their paths.
pub(crate) fn write(folder: &Path, files: &[(&str, String)]) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for (name, text) in files {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        eprintln!("written: {}", path.display());
    }
    Ok(())
}

/// Converts a result into the exit code of the program; prints the error.
pub(crate) fn exit(done: Result<(), String>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}
