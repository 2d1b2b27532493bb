//! The corpus of a model: the folder of saved failures, and beside them the runs that show all pairs.

use super::Fuzzed;
use crate::base::clean;
use crate::campaign::{CampaignPlan, InputSpace, ModelInputs, RunBase};
use crate::cli::Refusal;
use crate::cli::io::files;
use crate::cli::io::load::Model;
use crate::cli::models::seeds::{Kept, Seeds};
use crate::formats::corpus::Corpus;
use crate::formats::failure_place::ending;
use crate::token::Token;
use crate::world::alike;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Corpus of a model, as it was before a campaign.
pub(super) struct OpenCorpus {
    seeds: Seeds,
    path: PathBuf,
    // Name of the model in the files.
    model: String,
    there: Option<Corpus>,
    // Saved failures, then the runs of the corpus.
    saved: Vec<Token>,
    failures: usize,
}

/// What a campaign has saved.
pub(super) struct SavedCorpus {
    /// Name of the file with the runs.
    pub(super) name: String,
    /// Number of its runs.
    pub(super) runs: usize,
    /// Names of the files of the failures that were not saved before.
    pub(super) failures: Vec<String>,
}

impl OpenCorpus {
    /// Reads the saved failures and the corpus of a model. The folder need not exist yet.
    /// Runs with varied constants count whatever values they have.
    pub(super) fn open(folder: &Path, model: &Model, inputs: Option<&ModelInputs>) -> Result<Self, Refusal> {
        let mut seeds = Seeds::to_keep(folder)?;
        if let Some(refusal) = seeds.refused().into_iter().next() {
            return Err(refusal);
        }
        let defines: BTreeMap<String, i64> = model.defines.iter().cloned().collect();
        let varied = |name: &str| inputs.is_some_and(|inputs| inputs.varies(name));
        let of_this = seeds.of(&model.path).filter(|(of, _)| {
            let given = of.iter().map(|(name, n)| (name, n)).filter(|(name, _)| !varied(name));
            defines.iter().eq(given)
        });
        let mut saved: Vec<Token> = of_this.map(|(_, saved)| saved.token).collect();
        let failures = saved.len();
        let name = seeds.name_of(&model.path);
        let path = folder.join(Corpus::file_name(&name));
        let there = read(&path)?;
        let there = match there {
            None => None,
            Some((corpus, _)) if corpus.model != name || corpus.defines != defines => {
                let of = corpus.defines.iter().map(|(name, n)| format!(" -D {name}={n}")).collect::<String>();
                let what = if corpus.model == name { "with other constants" } else { "another model" };
                return Err(Refusal::new(format_args!(
                    "the corpus `{}` is of `{}{of}`, {what}: give another folder to --corpus",
                    clean(&path.to_string_lossy()),
                    corpus.model
                )));
            }
            Some((corpus, tokens)) => {
                saved.extend(tokens);
                Some(corpus)
            }
        };
        Ok(Self { seeds, path, model: name, there, saved, failures })
    }

    /// Returns the runs with which a campaign begins.
    pub(super) fn saved(&self) -> &[Token] {
        &self.saved
    }

    /// Saves the failures of a campaign, and the runs that show all pairs.
    pub(super) fn save(&self, fuzzed: &Fuzzed<'_>) -> Result<SavedCorpus, Refusal> {
        let mut failures = Vec::new();
        for ((found, smaller), model) in fuzzed.found.failures.iter().zip(&fuzzed.smaller).zip(&fuzzed.models) {
            let report = &found.report;
            let is_known = |token: &Token| alike(&token.signature, &report.signature);
            // A failure that a saved run still shows is saved already.
            if found.made.base == RunBase::Saved && self.saved[..self.failures].iter().any(is_known) {
                continue;
            }
            let text = ending(model, &report.outcome).unwrap_or_else(|| report.signature.clone());
            let token = smaller.as_ref().map_or_else(|| report.evidence.token.clone(), |s| s.token.to_string());
            let signature = smaller.as_ref().map_or(&report.signature, |smaller| &smaller.token.signature);
            let kept = Kept { signature, token: &token, what: &text, by: "fuzz" };
            failures.push(self.seeds.keep(model, "no failure".to_owned(), &kept)?);
        }
        let corpus = self.joined(fuzzed);
        if !corpus.runs.is_empty() {
            let folder = self.path.parent().unwrap_or(Path::new("."));
            std::fs::create_dir_all(folder).map_err(|e| {
                Refusal::new(format_args!("cannot make the folder `{}`: {e}", clean(&folder.to_string_lossy())))
            })?;
            files::write(&self.path, &corpus.to_toml())?;
        }
        Ok(SavedCorpus { name: clean(&self.path.to_string_lossy()), runs: corpus.runs.len(), failures })
    }

    // The runs of the campaign, with those that were there. Runs of another version of the model were performed again,
    // and are among those of the campaign as far as they are needed. If not all were, the old ones stay.
    fn joined(&self, Fuzzed { plan, found, inputs, .. }: &Fuzzed<'_>) -> Corpus {
        let plan_of = |input: &[i64]| {
            let program = inputs.and_then(|inputs| inputs.program(input).ok());
            CampaignPlan { program: program.unwrap_or_else(|| plan.program.clone()), ..(*plan).clone() }
        };
        let new = Corpus::new(self.model.clone(), plan, found, plan_of);
        let Some(there) = self.there.clone() else { return new };
        let all_were_performed = found.began as usize >= self.saved.len();
        match new.clone().merged(vec![there.clone()]) {
            Ok(joined) => joined,
            Err(_) if all_were_performed => new,
            Err(_) => there,
        }
    }
}

// Upper bound of the size in bytes; no corpus is larger.
const LARGEST: u64 = 256 << 20;

/// Reads the file of a corpus. `None` if there is no file.
fn read(path: &Path) -> Result<Option<(Corpus, Vec<Token>)>, Refusal> {
    let name = clean(&path.to_string_lossy());
    let cannot = |why: &dyn std::fmt::Display| {
        Refusal::new(format_args!("cannot read the corpus `{name}`: {why}; repair or delete the file"))
    };
    match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(cannot(&error)),
        Ok(about) if about.len() > LARGEST => return Err(cannot(&"it is too large")),
        Ok(_) => {}
    }
    let text = std::fs::read_to_string(path).map_err(|e| cannot(&e))?;
    Corpus::read(&text).map(Some).map_err(|e| cannot(&e))
}
