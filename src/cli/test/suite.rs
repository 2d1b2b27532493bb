//! What is to be tested: the models below the paths, and the variants of each.

use super::super::Refusal;
use super::super::load::{self, Model};
use super::super::output::{Output, clean};
use super::seeds::Seeds;
use crate::campaign::Saved;
use crate::lang::near;
use crate::lang::variants::{Defines, constants, variants};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// All that is to be tested, and what could not be read.
pub(super) struct Suite {
    pub(super) cases: Vec<Case>,
    pub(super) refused: Vec<Refusal>,
    /// Saved failures of these models in variants that they do not have any more.
    pub(super) strays: Vec<(String, String)>,
}

/// A variant of a model.
pub(super) struct Case {
    pub(super) model: Model,
    /// Its saved failures.
    pub(super) saved: Vec<Saved>,
}

impl Case {
    /// `app.race FIXED=1`
    pub(super) fn name(&self) -> String {
        self.model.defines.iter().fold(self.model.name().to_owned(), |name, (c, v)| format!("{name} {c}={v}"))
    }
}

impl Suite {
    pub(super) fn load(
        paths: &[PathBuf],
        given: &Defines,
        filter: &[String],
        seeds: &Seeds,
        out: &Output,
    ) -> Result<Self, Refusal> {
        let mut suite = Suite { cases: Vec::new(), refused: Vec::new(), strays: Vec::new() };
        let mut unused: BTreeSet<&str> = given.iter().map(|(name, _)| name.as_str()).collect();
        let mut all_constants = BTreeSet::new();
        for path in models(paths)? {
            match suite.model(&path, given, seeds, out) {
                Ok(names) => {
                    unused.retain(|name| !names.contains(*name));
                    all_constants.extend(names);
                }
                Err(refusal) => suite.refused.push(refusal),
            }
        }
        if let Some(name) = unused.first().filter(|_| suite.refused.is_empty()) {
            let near = near(name, all_constants.iter().map(String::as_str));
            let near = near.map_or(String::new(), |n| format!("; did you mean `{n}`?"));
            return Err(Refusal::new(format_args!("-D {name}: no model has a constant `{name}`{near}")));
        }
        suite.cases.retain(|case| {
            let name = case.name();
            filter.is_empty() || filter.iter().any(|text| name.contains(text.as_str()))
        });
        if suite.cases.is_empty() && suite.refused.is_empty() {
            return Err(Refusal::new(format_args!(
                "no variant has {} in its name; without --filter all names are printed",
                filter.iter().map(|f| format!("`{f}`")).collect::<Vec<_>>().join(" or "),
            )));
        }
        Ok(suite)
    }

    // Adds the variants of a model; returns the names of its constants.
    fn model(
        &mut self,
        path: &Path,
        given: &Defines,
        seeds: &Seeds,
        out: &Output,
    ) -> Result<BTreeSet<String>, Refusal> {
        let source = load::source(path)?;
        let file = load::parsed(&source, out)?;
        let names: BTreeSet<String> = constants(&file).map(str::to_owned).collect();
        let own: Defines = given.iter().filter(|(name, _)| names.contains(name)).cloned().collect();
        let model = load::checked(path, source.clone(), &file, &own, out)?;
        let all = variants(&file, &model.program, &own)
            .map_err(|error| Refusal::new(format_args!("{}: {error}", source.name())))?;
        let mut saved: BTreeMap<Defines, Vec<Saved>> = seeds.of(path);
        for defines in all {
            let saved = saved.remove(&defines).unwrap_or_default();
            // What the first check does not find is wrong with this variant.
            let model = load::checked(path, source.clone(), &file, &defines, out).map_err(|refusal| {
                let variant: Vec<String> = defines.iter().map(|(name, value)| format!("{name}={value}")).collect();
                let text = format!("{}\nnote: {} with {}\n", refusal.plain(), source.name(), variant.join(" "));
                Refusal::Rendered(text)
            })?;
            self.cases.push(Case { model, saved });
        }
        if own.is_empty() {
            let stray = saved.into_values().flatten().map(|s| (s.name, source.name().to_owned()));
            self.strays.extend(stray);
        }
        Ok(names)
    }
}

/// The models that paths stand for, sorted, each once.
fn models(paths: &[PathBuf]) -> Result<BTreeSet<PathBuf>, Refusal> {
    let mut all = BTreeSet::new();
    for path in paths {
        let about = std::fs::metadata(path).map_err(|error| missing(path, &error))?;
        if !about.is_dir() {
            all.insert(path.clone());
            continue;
        }
        let before = all.len();
        let mut found = BTreeSet::new();
        walk(path, &mut found)?;
        if found.is_empty() {
            let name = clean(&path.to_string_lossy());
            return Err(Refusal::new(format_args!("there is no `.race` file in `{name}` or below it")));
        }
        all.extend(found);
        tracing::info!(path = %path.display(), models = all.len() - before, "folder");
    }
    // One file under two names is one model.
    let mut known = BTreeSet::new();
    all.retain(|path| path.canonicalize().map_or(true, |real| known.insert(real)));
    Ok(all)
}

// Links to folders are not followed, so that this ends.
fn walk(folder: &Path, found: &mut BTreeSet<PathBuf>) -> Result<(), Refusal> {
    let cannot = |error: std::io::Error| {
        Refusal::new(format_args!("cannot read the folder `{}`: {error}", clean(&folder.to_string_lossy())))
    };
    for entry in std::fs::read_dir(folder).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let path = entry.path();
        if entry.file_type().map_err(cannot)?.is_dir() {
            walk(&path, found)?;
        } else if path.extension().is_some_and(|e| e == "race") {
            found.insert(path);
        }
    }
    Ok(())
}

// What is there instead of a path that is not.
fn missing(path: &Path, error: &std::io::Error) -> Refusal {
    let name = clean(&path.to_string_lossy());
    if error.kind() != std::io::ErrorKind::NotFound {
        return Refusal::new(format_args!("cannot read `{name}`: {error}"));
    }
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let mut siblings: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    siblings.sort();
    let typed = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let near = near(&typed, siblings.iter().map(String::as_str));
    let near = near
        .map_or(String::new(), |n| format!("; did you mean `{}`?", clean(&path.with_file_name(n).to_string_lossy())));
    Refusal::new(format_args!("cannot read `{name}`: there is no such file or folder{near}"))
}
