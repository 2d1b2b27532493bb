//! Manages the folder of saved failures: reads it, finds the failures of a model, and saves new ones.
//!
//! As in proptest, a failure is tried first once it has been saved, and the files belong under version control. A model
//! is named relative to the parent of the `seeds` folder, so that the files mean the same on another machine.

use super::suite::Case;
use crate::base::clean;
use crate::campaign::{LineVerdict, Origin, SavedSeed, SeedResult, ShownEnds, TestPlan, TestResult};
use crate::cli::Refusal;
use crate::cli::io::files;
use crate::cli::io::load::Model;
use crate::event::Outcome;
use crate::formats::seed::SeedFile;
use crate::formats::shell;
use crate::lang::variants::Defines;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// Saved failure of a test.
pub(in crate::cli) struct StoredFailure {
    signature: String,
    /// Token of its run.
    pub(in crate::cli) token: String,
    /// Name of its file.
    pub(in crate::cli) name: String,
}

pub(in crate::cli) type Files = Vec<StoredFailure>;

/// Failure to save.
pub(in crate::cli) struct Kept<'a> {
    pub(in crate::cli) signature: &'a str,
    pub(in crate::cli) token: &'a str,
    /// The failure in words.
    pub(in crate::cli) what: &'a str,
    /// The command that has found it.
    pub(in crate::cli) by: &'a str,
}

/// Folder of saved failures, with its contents.
pub(in crate::cli) struct Seeds {
    folder: PathBuf,
    // Folder that names of models are relative to.
    root: PathBuf,
    files: Vec<(SeedFile, SavedSeed)>,
    refused: Vec<Refusal>,
}

impl Seeds {
    /// Returns an empty collection without a folder.
    pub(in crate::cli) fn none() -> Self {
        Seeds { folder: PathBuf::new(), root: PathBuf::new(), files: Vec::new(), refused: Vec::new() }
    }

    /// Reads all files of the folder, which need not exist yet.
    pub(in crate::cli) fn open(folder: &Path) -> Result<Self, Refusal> {
        let name = clean(&folder.to_string_lossy());
        let cannot =
            |error: &dyn std::fmt::Display| Refusal::new(format_args!("cannot read the folder `{name}`: {error}"));
        let root = match folder.parent() {
            Some(parent) if folder.file_name().is_some() => real(&Path::new(".").join(parent)),
            _ => real(&folder.join("..")),
        };
        let mut seeds = Seeds { folder: folder.to_owned(), root, files: Vec::new(), refused: Vec::new() };
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(seeds),
            Err(error) => return Err(cannot(&error)),
        };
        let mut paths = Vec::new();
        for entry in entries {
            paths.push(entry.map_err(|e| cannot(&e))?.path());
        }
        paths.retain(|p| p.extension().is_some_and(|e| e == "toml"));
        paths.sort();
        for path in paths {
            match read(&path) {
                Ok(file) => seeds.files.push(file),
                Err(refusal) => seeds.refused.push(refusal),
            }
        }
        Ok(seeds)
    }

    /// Reads all files of a folder that must be writable. Otherwise a command would begin whose results could not be
    /// kept.
    pub(in crate::cli) fn to_keep(folder: &Path) -> Result<Self, Refusal> {
        let seeds = Self::open(folder)?;
        // The folder need not exist yet; then the nearest existing folder above it must be writable.
        let there = folder.ancestors().find(|at| at.exists() || at.as_os_str().is_empty()).unwrap_or(folder);
        files::may_write(&there.join("seed.toml"))?;
        Ok(seeds)
    }

    /// Returns the errors of files that could not be read or written, once.
    pub(in crate::cli) fn refused(&mut self) -> Vec<Refusal> {
        std::mem::take(&mut self.refused)
    }

    /// Returns the saved failures of a model, each with the constants of its variant.
    pub(in crate::cli) fn of(&self, model: &Path) -> impl Iterator<Item = (Defines, SavedSeed)> {
        let name = self.name_of(model);
        let of_this = self.files.iter().filter(move |(file, _)| file.model == name);
        of_this.map(|(file, saved)| (file.defines.clone().into_iter().collect(), saved.clone()))
    }

    /// Returns the path of a model or of a saved failure relative to the root, with `/`.
    pub(in crate::cli) fn name_of(&self, path: &Path) -> String {
        let real = real(path);
        let (mut from, mut to) = (self.root.components().peekable(), real.components().peekable());
        while from.peek().is_some() && from.peek() == to.peek() {
            from.next();
            to.next();
        }
        let up = from.filter(|c| !matches!(c, Component::CurDir)).map(|_| "..".to_owned());
        let down = to.map(|c| c.as_os_str().to_string_lossy().into_owned());
        up.chain(down).collect::<Vec<_>>().join("/")
    }

    /// Saves each forbidden failure of a test, unless a saved run already shows it. Returns the saved ones.
    pub(in crate::cli) fn save(&mut self, case: &Case, plan: &TestPlan<'_>, tested: &TestResult) -> Files {
        let mut files = Files::new();
        let kept = |shown: &ShownEnds, name| StoredFailure {
            signature: shown.signature.clone(),
            token: shown.token.clone(),
            name,
        };
        let all = || {
            tested.lines.iter().filter_map(|l| match &l.verdict {
                LineVerdict::Unmet(_, shown, _) => Some((l, shown)),
                _ => None,
            })
        };
        // Failures that a saved run still shows count as saved. Their signature may have another site number by now.
        for shown in all().flat_map(|(_, shown)| shown) {
            if let Origin::Saved(n) = shown.origin
                && tested.saved[n] == SeedResult::Fails
            {
                files.push(kept(shown, plan.saved[n].name.clone()));
            }
        }
        for (line, shown) in all() {
            for shown in shown.iter().filter(|s| !matches!(s.outcome, Outcome::Ok | Outcome::Limit(..))) {
                if files.iter().any(|kept| kept.signature == shown.signature) {
                    continue;
                }
                match self.write(case, &line.text, line.line, shown) {
                    Ok(name) => files.push(kept(shown, name)),
                    Err(refusal) => self.refused.push(refusal),
                }
            }
        }
        files
    }

    // Saves one failure against a line.
    fn write(&self, case: &Case, expectation: &str, line: u32, shown: &ShownEnds) -> Result<String, Refusal> {
        let expectation = expectation.split_whitespace().collect::<Vec<_>>().join(" ");
        let seed = self.seed(&case.model, expectation, &shown.signature, &shown.token);
        self.create(&seed, |path| self.comment(&seed, case, line, shown, path))
    }

    /// Saves a failure that no test has found. `expectation` is the text of a matching `expect` line. Returns the name
    /// of the file.
    pub(in crate::cli) fn keep(&self, model: &Model, expectation: String, kept: &Kept<'_>) -> Result<String, Refusal> {
        let Kept { signature, token, what, by } = kept;
        let seed = self.seed(model, expectation, signature, token);
        self.create(&seed, |path| {
            let again = self.replay_text(&seed, path);
            let lines = [
                format!("A failure, saved by `raceflip {by}`:"),
                format!("    {what}"),
                "Replay it step by step, in the parent folder of this file's folder, with".to_owned(),
                again,
                "Keep this file under version control: every test of the model replays this run first. Delete it when the".to_owned(),
                "test reports that the failure is fixed.".to_owned(),
            ];
            lines.iter().map(|l| clean(l)).collect()
        })
    }

    fn seed(&self, model: &Model, expectation: String, signature: &str, token: &str) -> SeedFile {
        let name = self.name_of(&model.path);
        SeedFile::new(name, &model.defines, expectation, signature.to_owned(), token.to_owned())
    }

    fn replay_text(&self, seed: &SeedFile, path: &Path) -> String {
        let file = shell::quote(&format!("@{}", self.name_of(path)));
        format!("    raceflip replay {} {file}", shell::path(&seed.model))
    }

    // Writes the file under the first name that is free or has the same token already.
    fn create(&self, seed: &SeedFile, comment: impl Fn(&Path) -> Vec<String>) -> Result<String, Refusal> {
        let cannot = |path: &Path, error: std::io::Error| {
            Refusal::new(format_args!("cannot save a failure in `{}`: {error}", clean(&path.to_string_lossy())))
        };
        std::fs::create_dir_all(&self.folder).map_err(|e| cannot(&self.folder, e))?;
        for nth in 1.. {
            let suffix = if nth == 1 { String::new() } else { format!("-{nth}") };
            let path = self.folder.join(format!("{}{suffix}.toml", seed.stem()));
            let text = seed.to_toml(&comment(&path));
            match files::create(&path, &text) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    let same = read(&path).is_ok_and(|(file, _)| file.token == seed.token);
                    if !same {
                        continue;
                    }
                }
                Err(error) => return Err(cannot(&path, error)),
            }
            return Ok(clean(&path.to_string_lossy()));
        }
        unreachable!("there are more names than files")
    }

    fn comment(&self, seed: &SeedFile, case: &Case, line: u32, shown: &ShownEnds, path: &Path) -> Vec<String> {
        let what =
            crate::formats::failure_place::ending(&case.model, &shown.outcome).unwrap_or_else(|| shown.text.clone());
        let drawn = match &shown.origin {
            Origin::Drawn { strategy, seed } => {
                let shrunk = shown.shrunk.map_or("", |_| ", and was shrunk");
                format!("It was found with strategy {strategy} and seed {seed}{shrunk}.")
            }
            Origin::Searched => "It was found by a search of all states.".to_owned(),
            Origin::Saved(_) => {
                "It was found by the replay of an older saved failure after an edit of the model.".to_owned()
            }
        };
        let lines = [
            "A forbidden failure, saved by `raceflip test`:".to_owned(),
            format!("    {what}"),
            match line {
                0 => format!("{} has no `expect` lines, so no run may fail.", seed.model),
                _ => format!("Line {line} of {} says: {}", seed.model, seed.expectation),
            },
            format!("{drawn} Replay it step by step, in the parent folder of this file's folder, with"),
            self.replay_text(seed, path),
            "Keep this file under version control: every test of the model replays this run first. Delete it when the"
                .to_owned(),
            "test reports that the failure is fixed.".to_owned(),
        ];
        lines.iter().map(|l| clean(l)).collect()
    }
}

// Absolute path without links, as far as the path exists.
fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match (path.canonicalize(), path.parent(), path.components().next_back()) {
        (Ok(real), ..) => real,
        (_, Some(parent), Some(Component::ParentDir)) => real(parent).parent().map(Path::to_owned).unwrap_or_default(),
        (_, Some(parent), Some(last)) => real(parent).join(last),
        _ => path,
    }
}

// Upper bound of the size in bytes; no saved file is larger.
const LARGEST: u64 = 64 << 20;

fn read(path: &Path) -> Result<(SeedFile, SavedSeed), Refusal> {
    let name = clean(&path.to_string_lossy());
    let cannot = |why: &dyn std::fmt::Display| {
        Refusal::new(format_args!("cannot read the saved failure `{name}`: {why}; repair or delete the file"))
    };
    if std::fs::metadata(path).map_err(|e| cannot(&e))?.len() > LARGEST {
        return Err(cannot(&"it is too large"));
    }
    let text = std::fs::read_to_string(path).map_err(|e| cannot(&e))?;
    let (file, token) = SeedFile::read(&text).map_err(|e| cannot(&e))?;
    Ok((file, SavedSeed { name, token }))
}
