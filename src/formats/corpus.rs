//! Defines the corpus of a model, `raceflip-corpus` version 1: runs that together show all pairs that `raceflip fuzz`
//! has seen, as TOML (`docs/formats.md`).

use super::toml_file::{self, TomlFileError};
use crate::campaign::{CampaignPlan, FuzzReport, statement_text};
use crate::token::Token;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Version of the format. It increases when a field changes its meaning or is removed, not when a field is added.
pub const VERSION: u32 = 1;

const FORMAT: &str = "raceflip-corpus";

/// The corpus of a model with one set of constants.
///
/// # Examples
///
/// ```
/// use raceflip::formats::corpus::{Corpus, CorpusError};
///
/// let text = "format = \"raceflip-corpus\"\nversion = 9\n";
/// assert_eq!(Corpus::read(text), Err(CorpusError::Version(9)));
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Corpus {
    pub format: String,
    pub version: u32,
    pub model: String,
    pub program: String,
    #[serde(default)]
    pub defines: BTreeMap<String, i64>,
    #[serde(default)]
    pub runs: Vec<CorpusRun>,
}

/// A run, and the pairs that it shows: `@b > @check.read`, `first > 12:5`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct CorpusRun {
    pub token: String,
    pub shows: Vec<String>,
}

/// Reasons why a text is not a corpus, or why two of them cannot be joined.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CorpusError {
    /// The text is not TOML, or a field is missing.
    #[error("{0}")]
    Toml(String),
    /// The text has another `format`.
    #[error("its `format` is {0:?}, not \"{FORMAT}\"")]
    Foreign(String),
    /// The file has another version.
    #[error("its `version` is {0}; this raceflip reads version {VERSION}")]
    Version(u32),
    /// The token of the run with this number, from 1, is invalid.
    #[error("the `token` of its run {0} cannot be used: {1}")]
    Token(usize, String),
    /// Two files are of different models or have different constants.
    #[error("its `{0}` is another one: only files of one model with the same constants can be joined")]
    Other(&'static str),
}

impl From<TomlFileError> for CorpusError {
    fn from(error: TomlFileError) -> Self {
        match error {
            TomlFileError::Toml(why) => Self::Toml(why),
            TomlFileError::Foreign(format) => Self::Foreign(format),
            TomlFileError::Version(version) => Self::Version(version),
        }
    }
}

impl Corpus {
    /// Creates the corpus of a campaign: of its runs those that are needed. `model` is the name of the model, and
    /// `plan_of` returns the plan with the program of an input.
    #[must_use]
    pub fn new(
        model: String,
        plan: &CampaignPlan,
        found: &FuzzReport,
        plan_of: impl Fn(&[i64]) -> CampaignPlan,
    ) -> Self {
        let name = |statement| statement_text(&found.inputs.setup, statement);
        // Made once for each input that shows something.
        let mut plans = BTreeMap::new();
        let run = |run: &crate::campaign::CoveringRun| {
            let shows = run.shows.iter().map(|(writer, reader)| format!("{} > {}", name(*writer), name(*reader)));
            let plan = plans.entry(run.input).or_insert_with(|| plan_of(&found.inputs.known[run.input]));
            CorpusRun { token: run.token(plan).to_string(), shows: shows.collect() }
        };
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            model,
            program: format!("{:016x}", plan.program.digest()),
            defines: plan.program.defines.iter().cloned().collect(),
            runs: reduced(found.covering.iter().map(run).collect()),
        }
    }

    /// Returns the name of the file in its folder: the name of the model.
    #[must_use]
    pub fn file_name(model: &str) -> String {
        let file = model.rsplit('/').next().unwrap_or_default();
        format!("{}.corpus", file.strip_suffix(".race").unwrap_or(file))
    }

    /// Returns the text of the file.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("texts and numbers can be written")
    }

    /// Reads a file, and parses its tokens, in the order of its runs. Runs that are not needed are dropped, so the
    /// order of the runs in the file means nothing.
    ///
    /// # Errors
    ///
    /// Returns a [`CorpusError`] if the text is not a corpus of a known version, or if a token is damaged.
    pub fn read(text: &str) -> Result<(Self, Vec<Token>), CorpusError> {
        let mut corpus: Corpus = toml_file::read(text, FORMAT, VERSION)?;
        let damaged = |(i, run): (usize, &CorpusRun)| {
            run.token.parse::<Token>().err().map(|e| CorpusError::Token(i + 1, e.to_string()))
        };
        if let Some(error) = corpus.runs.iter().enumerate().find_map(damaged) {
            return Err(error);
        }
        corpus.runs = reduced(corpus.runs);
        let tokens = corpus.runs.iter().filter_map(|run| run.token.parse().ok()).collect();
        Ok((corpus, tokens))
    }

    /// Joins files: their runs, reduced again. The order of the files changes nothing: they are not joined one after
    /// the other, since what the first two do not need may be what the third one would.
    ///
    /// # Errors
    ///
    /// Returns a [`CorpusError`] if another file is of another model, program or set of constants.
    pub fn merged(mut self, others: Vec<Corpus>) -> Result<Self, CorpusError> {
        for other in others {
            self.check(&other)?;
            self.runs.extend(other.runs);
        }
        self.runs = reduced(self.runs);
        Ok(self)
    }

    /// Checks that the other file is of the same program.
    ///
    /// # Errors
    ///
    /// Returns a [`CorpusError`] if it is of another model, program or set of constants.
    pub fn check(&self, other: &Corpus) -> Result<(), CorpusError> {
        let fields = [
            ("model", self.model == other.model),
            ("program", self.program == other.program),
            ("defines", self.defines == other.defines),
        ];
        let differs = fields.iter().find(|(_, same)| !same);
        differs.map_or(Ok(()), |(field, _)| Err(CorpusError::Other(field)))
    }
}

// Returns the runs that are needed to show all pairs, sorted: the run that shows most pairs that no kept one shows, the
// first one by its token if equal, until all are shown.
fn reduced(runs: Vec<CorpusRun>) -> Vec<CorpusRun> {
    let mut left: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for run in runs {
        left.entry(run.token).or_default().extend(run.shows);
    }
    let (mut kept, mut shown) = (Vec::new(), BTreeSet::new());
    loop {
        let mut best: Option<(&String, usize)> = None;
        for (token, shows) in &left {
            let new = shows.difference(&shown).count();
            if new > best.map_or(0, |(_, most)| most) {
                best = Some((token, new));
            }
        }
        let Some(token) = best.map(|(token, _)| token.clone()) else { break };
        let shows = left.remove(&token).unwrap_or_default();
        shown.extend(shows.iter().cloned());
        kept.push(CorpusRun { token, shows: shows.into_iter().collect() });
    }
    kept.sort();
    kept
}
