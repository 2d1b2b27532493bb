//! Where a benchmark writes what it has measured, and how it ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The folder of the results; of a smoke test, whose numbers mean nothing, one below `target/tmp`.
pub(crate) fn folder(quick: bool, benchmark: &str) -> PathBuf {
    if quick {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(benchmark)
    } else {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/results")
    }
}

/// Writes files by name, and says so.
pub(crate) fn write(folder: &Path, files: &[(&str, String)]) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for (name, text) in files {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        eprintln!("written: {}", path.display());
    }
    Ok(())
}

/// How the program ends.
pub(crate) fn exit(done: Result<(), String>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}
