//! Finds what a command tests or confirms: the models below the given paths, and the variants of each model.

use super::seeds::Seeds;
use crate::base::clean;
use crate::campaign::SavedSeed;
use crate::cli::Refusal;
use crate::cli::io::files;
use crate::cli::io::load::{self, Model};
use crate::cli::io::output::Output;
use crate::lang::near;
use crate::lang::variants::{self, Defines, InputCount, constants, variants};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Variants to test or confirm, with the errors of what could not be read.
pub(in crate::cli) struct Suite {
    pub(in crate::cli) cases: Vec<Case>,
    pub(in crate::cli) refused: Vec<Refusal>,
    /// Number of variants that are left out, because only the models as they stand were asked for.
    pub(in crate::cli) left_out: usize,
    /// Models with inputs (constants with a declared range), and how many of these are among the variants.
    pub(in crate::cli) inputs: Vec<(String, InputCount)>,
    /// Inputs that their models cannot have, each with the reason.
    pub(in crate::cli) impossible: Vec<String>,
}

/// Choice of the variants of a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::cli) enum Variants {
    /// All variants that the conditions of its `expect` lines name.
    All,
    /// One variant: the model's own constants, with the given values.
    AsWritten,
}

/// Arguments that select models and variants.
pub(in crate::cli) struct SuiteSelection<'g> {
    pub(in crate::cli) paths: &'g [PathBuf],
    pub(in crate::cli) defines: &'g Defines,
    pub(in crate::cli) filter: &'g [String],
    pub(in crate::cli) which: Variants,
}

/// Variant of a model.
pub(in crate::cli) struct Case {
    pub(in crate::cli) model: Model,
    /// Saved failures of the variant.
    pub(in crate::cli) saved: Vec<SavedSeed>,
}

impl Case {
    /// Returns the name of the variant, as in `app.race FIXED=1`.
    pub(in crate::cli) fn name(&self) -> String {
        self.model.defines.iter().fold(self.model.name().to_owned(), |name, (c, v)| format!("{name} {c}={v}"))
    }
}

impl Suite {
    pub(in crate::cli) fn load(asked: &SuiteSelection<'_>, seeds: &Seeds, out: &Output) -> Result<Self, Refusal> {
        let SuiteSelection { paths, defines: given, filter, which } = *asked;
        let mut suite =
            Suite { cases: Vec::new(), refused: Vec::new(), left_out: 0, inputs: Vec::new(), impossible: Vec::new() };
        let mut unused: BTreeSet<&str> = given.iter().map(|(name, _)| name.as_str()).collect();
        let mut all_constants = BTreeSet::new();
        let (paths, unread) = models(paths)?;
        suite.refused.extend(unread);
        for path in paths {
            match suite.model(&path, (given, which), seeds, out) {
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
                "no variant has {} in its name; a run without --filter prints all names{}",
                filter.iter().map(|f| format!("`{f}`")).collect::<Vec<_>>().join(" or "),
                if suite.left_out > 0 { ", and --all-variants adds more" } else { "" },
            )));
        }
        Ok(suite)
    }

    // Adds the variants of a model, including those of its saved failures. Returns the names of its constants.
    fn model(
        &mut self,
        path: &Path,
        (given, which): (&Defines, Variants),
        seeds: &Seeds,
        out: &Output,
    ) -> Result<BTreeSet<String>, Refusal> {
        let source = load::source(path)?;
        let file = load::parsed(&source, out)?;
        let names = constants(&file);
        let known = |all: &Defines| all.iter().filter(|(name, _)| names.contains(name)).cloned().collect::<Defines>();
        let own = known(given);
        let model = load::checked(path, source.clone(), &file, &own, out)?;
        let mut all = variants(&file, &model.program, &own)
            .map_err(|error| Refusal::new(format_args!("{}: {error}", source.name())))?;
        if which == Variants::AsWritten {
            self.left_out += others(&all, &model);
            all = vec![own.clone()];
        }
        let inputs = variants::inputs(&model.program, &own, &all).filter(|_| which == Variants::All);
        self.inputs.extend(inputs.map(|count| (model.name().to_owned(), count)));
        let variant = |defines: &Defines, note: &str| {
            // The model was checked before with its own constants, so an error here belongs to this variant.
            load::checked(path, source.clone(), &file, defines, out).map_err(|refusal| {
                let values: Vec<String> = defines.iter().map(|(name, value)| format!("{name}={value}")).collect();
                let text =
                    format!("{}\nnote: {} with {}{note}\n", refusal.plain(), clean(source.name()), values.join(" "));
                Refusal::Rendered(text)
            })
        };
        // Values of an input that the model cannot have.
        let open: Vec<String> = variants::open_ranges(&model.program, &own).map(|(name, _)| name.clone()).collect();
        let varies = |defines: &Defines| defines.iter().any(|(name, _)| open.contains(name));
        let mut cases: Vec<Case> = Vec::new();
        for defines in all {
            match variant(&defines, "") {
                Ok(model) => cases.push(Case { model, saved: Vec::new() }),
                Err(refusal) if varies(&defines) => self.impossible.push(refusal.plain()),
                Err(refusal) => self.refused.push(refusal),
            }
        }
        for (defines, saved) in seeds.of(path) {
            // Variants with other values than the given ones are not asked for.
            let other = |(name, value): &(String, i64)| own.iter().any(|(n, v)| n == name && v != value);
            if defines.iter().any(other) {
                continue;
            }
            // A saved failure may name constants that no longer exist. Its run is performed with the remaining ones.
            match variant(&known(&defines), &format!(", which {} is of", saved.name)) {
                Ok(model) if own.iter().all(|value| model.program.consts.contains(value)) => {
                    match cases.iter_mut().find(|case| case.model.program.consts == model.program.consts) {
                        Some(case) => case.saved.push(saved),
                        None => cases.push(Case { model, saved: vec![saved] }),
                    }
                }
                Ok(_) => {}
                Err(refusal) => self.refused.push(refusal),
            }
        }
        self.cases.extend(cases);
        Ok(names)
    }
}

// Number of these variants that differ from this model.
fn others(all: &[Defines], model: &Model) -> usize {
    let is = |defines: &&Defines| defines.iter().all(|value| model.program.consts.contains(value));
    all.iter().filter(|defines| !is(defines)).count()
}

/// Returns the number of variants that a model has besides the one that was loaded with these constants.
pub(in crate::cli) fn left_out(model: &Model, given: &Defines, out: &Output) -> Result<usize, Refusal> {
    let file = load::parsed(&model.source, out)?;
    // With too many variants to list, the model as it stands is still valid.
    Ok(variants(&file, &model.program, given).map_or(0, |all| others(&all, model)))
}

/// Returns the models that the paths stand for, and whether there may be several. A single file is not checked here,
/// since its reader reports what is wrong with it.
pub(in crate::cli) fn one_or_many(paths: &[PathBuf]) -> Result<(Vec<PathBuf>, Vec<Refusal>, bool), Refusal> {
    match paths {
        [one] if !one.is_dir() => Ok((vec![one.clone()], Vec::new(), false)),
        _ => models(paths).map(|(all, unread)| (all.into_iter().collect(), unread, true)),
    }
}

/// Returns the models that the paths stand for, sorted and without duplicates, and the errors of folders that cannot be
/// read.
pub(in crate::cli) fn models(paths: &[PathBuf]) -> Result<(BTreeSet<PathBuf>, Vec<Refusal>), Refusal> {
    let (mut all, mut refused) = (BTreeSet::new(), Vec::new());
    for path in paths {
        let about = std::fs::metadata(path).map_err(|error| missing(path, &error))?;
        if !about.is_dir() {
            all.insert(path.clone());
            continue;
        }
        let (found, unread) = files::models(path)?;
        tracing::info!(path = %path.display(), models = found.len(), "folder");
        all.extend(found);
        refused.extend(unread);
    }
    // One file with two names is one model.
    let mut known = BTreeSet::new();
    all.retain(|path| path.canonicalize().map_or(true, |real| known.insert(real)));
    Ok((all, refused))
}

// Returns the error for a path that does not exist, with the name of a similar file.
fn missing(path: &Path, error: &std::io::Error) -> Refusal {
    let name = path.to_string_lossy().into_owned();
    if error.kind() != std::io::ErrorKind::NotFound {
        return Refusal::new(format_args!("cannot read `{name}`: {error}"));
    }
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let mut siblings: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    siblings.sort();
    let typed = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let near = near(&typed, siblings.iter().map(String::as_str));
    let near =
        near.map_or(String::new(), |n| format!("; did you mean `{}`?", path.with_file_name(n).to_string_lossy()));
    Refusal::new(format_args!("cannot read `{name}`: there is no such file or folder{near}"))
}
