//! Finds, loads and compiles models.

use raceflip::lang::Source;
pub(crate) use raceflip::vm::Model;
use std::path::{Path, PathBuf};

/// Returns all `.race` files below a folder of the project, sorted.
pub(crate) fn models(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = todo.pop() {
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() {
                todo.push(path);
            } else if path.extension().is_some_and(|e| e == "race") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Returns every harness, and every model of the test tree.
pub(crate) fn all_models() -> Vec<PathBuf> {
    let mut all = models("harnesses");
    all.extend(models("tests/models"));
    all
}

/// Loads a model from a file; panics if it has errors.
pub(crate) fn load(path: &Path, defines: &[(String, i64)]) -> Model {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    load_bytes(&path.display().to_string(), &bytes, defines)
}

/// Loads a model from a text; panics if it has errors.
pub(crate) fn load_bytes(name: &str, bytes: &[u8], defines: &[(String, i64)]) -> Model {
    let source = Source::from_bytes(name, bytes).expect("a readable source");
    Model::from_source(source, defines).unwrap_or_else(|e| panic!("{e}"))
}
