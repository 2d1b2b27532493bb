//! Loads a model from a path, and renders all errors for people.

use super::output::Output;
use crate::base::clean;
use crate::cli::{CommandContext, Refusal};
use crate::formats::shell;
use crate::lang::ast::{File, Span};
use crate::lang::variants::{Defines, variants};
use crate::lang::{self, Diagnostic, MAX_SOURCE, Program, Source, parse, render, render_warnings, syntax_errors};
use crate::statics::{StaticsOptions, analyze, idle, mistakes};
use crate::vm::{self, ModelError};
use std::collections::BTreeSet;
use std::io::{ErrorKind, Read};
use std::ops::Deref;
use std::path::{Path, PathBuf};

// Maximum number of errors that are printed for a file.
const MOST_ERRORS: usize = 20;

/// Model that is ready to run, with its path.
#[derive(Clone)]
pub(in crate::cli) struct Model {
    /// Path as the user typed it.
    pub(in crate::cli) path: PathBuf,
    model: vm::Model,
}

impl Deref for Model {
    type Target = vm::Model;

    fn deref(&self) -> &vm::Model {
        &self.model
    }
}

impl Model {
    /// Returns the path for messages.
    pub(in crate::cli) fn name(&self) -> &str {
        self.source.name()
    }

    /// Returns this model with other values of its constants.
    pub(in crate::cli) fn with(&self, model: vm::Model) -> Self {
        Self { path: self.path.clone(), model }
    }

    /// Returns the path as an argument of a shell.
    pub(in crate::cli) fn argument(&self) -> String {
        shell::path_bytes(self.path.as_os_str().as_encoded_bytes())
    }
}

/// Reads, parses, checks and compiles a model.
pub(in crate::cli) fn model(path: &Path, defines: &[(String, i64)], out: &Output) -> Result<Model, Refusal> {
    let source = source(path)?;
    let file = parsed(&source, out)?;
    checked(path, source, &file, defines, out)
}

/// Parses a source.
pub(in crate::cli) fn parsed(source: &Source, out: &Output) -> Result<File, Refusal> {
    parse(source).map_err(|_| {
        let errors = syntax_errors(source);
        Refusal::Rendered(render(source, &errors, out.paints_errors()) + &summary(source, errors.len()))
    })
}

/// Checks and compiles a parsed model.
pub(in crate::cli) fn checked(
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

/// Returns the refusal of a model that has errors.
pub(in crate::cli) fn refused(error: &ModelError, out: &Output) -> Refusal {
    let ModelError::Errors(source, errors) = error else { return Refusal::new(error) };
    let rendered = error.render(out.paints_errors()).unwrap_or_default();
    Refusal::Rendered(rendered + &summary(source, errors.defines.len() + errors.diagnostics.len()))
}

// Number of errors, if there are several: the first ones may have scrolled off the terminal.
fn summary(source: &Source, errors: usize) -> String {
    match errors {
        0 | 1 => String::new(),
        n @ 2..MOST_ERRORS => format!("\n{}: {n} errors\n", clean(source.name())),
        n => format!("\n{}: the first {n} errors; there may be more\n", clean(source.name())),
    }
}

/// Prints the warnings of a valid model. Returns their number.
pub(in crate::cli) fn warnings(model: &Model, context: &mut CommandContext) -> u64 {
    let warnings = warnings_of(model);
    if !warnings.is_empty() {
        let rendered = render_warnings(&model.source, &warnings, context.out.paints_errors());
        context.out.refuse(&Refusal::Rendered(rendered));
    }
    warnings.len() as u64
}

/// Returns the warnings of a valid model: about its text, and what static analysis knows.
pub(in crate::cli) fn warnings_of(model: &vm::Model) -> Vec<Diagnostic> {
    let source = &model.source;
    // The source was parsed before, so this cannot fail.
    let Ok(file) = parse(source) else { return Vec::new() };
    let mut warnings = lang::warnings(source, &file);
    warnings.extend(mistakes(&model.program, source, &analyze(&model.program, &StaticsOptions::explained())));
    // What the text never names has been reported, with a reason of its own.
    let known: BTreeSet<Span> = warnings.iter().map(|warning| warning.span).collect();
    let idle = idle_in_all_variants(model, &file);
    warnings.extend(idle.into_iter().filter(|warning| !known.contains(&warning.span)));
    warnings.sort_by_key(|warning| warning.span.start);
    warnings
}

// Returns what nothing runs or enables, whatever the `expect` lines set constants to.
fn idle_in_all_variants(model: &vm::Model, file: &File) -> Vec<Diagnostic> {
    let Ok(all) = variants(file, &model.program, &Vec::new()) else { return Vec::new() };
    let load = |defines: &Defines| vm::Model::from_tree(model.source.clone(), file, defines).ok();
    let Some(models) = all.iter().map(load).collect::<Option<Vec<vm::Model>>>() else { return Vec::new() };
    let programs: Vec<&Program> = std::iter::once(&model.program).chain(models.iter().map(|m| &m.program)).collect();
    idle(file, &model.source, &programs)
}

/// Reads the source of a model.
pub(in crate::cli) fn source(path: &Path) -> Result<Source, Refusal> {
    Source::from_bytes(path.to_string_lossy().into_owned(), &bytes(path)?).map_err(Refusal::new)
}

fn cannot(path: &Path, why: &dyn std::fmt::Display) -> Refusal {
    Refusal::new(format_args!("cannot read `{}`: {why}", path.to_string_lossy()))
}

/// Opens a file. For a directory the error says what to name instead.
pub(in crate::cli) fn open(path: &Path, instead: &dyn std::fmt::Display) -> Result<std::fs::File, Refusal> {
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

/// Reads a file, up to the maximum size of a source.
pub(in crate::cli) fn bytes(path: &Path) -> Result<Vec<u8>, Refusal> {
    let file = open(path, &format_args!("the models in it, as in `{}`", path.join("*.race").display()))?;
    let mut bytes = Vec::new();
    // A file may be too large or endless, such as a device: only enough is read to notice that. A byte order mark does
    // not count.
    file.take(MAX_SOURCE as u64 + 4).read_to_end(&mut bytes).map_err(|error| cannot(path, &error))?;
    Ok(bytes)
}
