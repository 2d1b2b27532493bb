//! From a path to a program that can run, with all errors as people read them.

use super::output::{Output, clean};
use super::{Refusal, shell};
use crate::lang::ast::File;
use crate::lang::{MAX_SOURCE, Source, parse, render};
use crate::vm::{self, ModelError};
use std::io::{ErrorKind, Read};
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// A model, ready to run, with its path.
pub(super) struct Model {
    /// As it was typed.
    pub(super) path: PathBuf,
    model: vm::Model,
}

impl Deref for Model {
    type Target = vm::Model;

    fn deref(&self) -> &vm::Model {
        &self.model
    }
}

impl Model {
    /// Its path, for messages.
    pub(super) fn name(&self) -> &str {
        self.source.name()
    }

    /// Its path, for a shell.
    pub(super) fn argument(&self) -> String {
        shell::path(&self.path.to_string_lossy())
    }
}

/// Reads, parses, checks and compiles.
pub(super) fn model(path: &Path, defines: &[(String, i64)], out: &Output) -> Result<Model, Refusal> {
    let source = source(path)?;
    let file = parsed(&source, out)?;
    checked(path, source, &file, defines, out)
}

/// Parses.
pub(super) fn parsed(source: &Source, out: &Output) -> Result<File, Refusal> {
    parse(source).map_err(|errors| Refusal::Rendered(render(source, &errors, out.paints_errors())))
}

/// Checks and compiles what was parsed.
pub(super) fn checked(
    path: &Path,
    source: Source,
    file: &File,
    defines: &[(String, i64)],
    out: &Output,
) -> Result<Model, Refusal> {
    let model = vm::Model::from_tree(source, file, defines).map_err(|error| refused(&error, out))?;
    let sites = model.program.sites.len();
    tracing::info!(path = %path.display(), sites, digest = format_args!("{:016x}", model.digest()), "model loaded");
    Ok(Model { path: path.to_owned(), model })
}

fn refused(error: &ModelError, out: &Output) -> Refusal {
    error.render(out.paints_errors()).map_or_else(|| Refusal::new(error), Refusal::Rendered)
}

/// Reads.
pub(super) fn source(path: &Path) -> Result<Source, Refusal> {
    Source::from_bytes(clean(&path.to_string_lossy()), &bytes(path)?).map_err(Refusal::new)
}

fn cannot(path: &Path, why: &dyn std::fmt::Display) -> Refusal {
    Refusal::new(format_args!("cannot read `{}`: {why}", clean(&path.to_string_lossy())))
}

/// Opens a file; of a directory it says what to name instead.
pub(super) fn open(path: &Path, instead: &dyn std::fmt::Display) -> Result<std::fs::File, Refusal> {
    let cannot = |why: &dyn std::fmt::Display| cannot(path, why);
    let file = std::fs::File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => cannot(&"there is no such file"),
        ErrorKind::PermissionDenied => cannot(&"permission denied"),
        _ => cannot(&error),
    })?;
    if file.metadata().map_err(|error| cannot(&error))?.is_dir() {
        return Err(cannot(&format_args!("it is a directory; name {instead}")));
    }
    Ok(file)
}

/// A file as it is, if it is not too large.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, Refusal> {
    let file = open(path, &format_args!("the models in it, as in `{}`", path.join("*.race").display()))?;
    let mut bytes = Vec::new();
    // Of a file that is too large, or without end, as a device, no more is read than tells so; a byte order mark does not count.
    file.take(MAX_SOURCE as u64 + 4).read_to_end(&mut bytes).map_err(|error| cannot(path, &error))?;
    Ok(bytes)
}
