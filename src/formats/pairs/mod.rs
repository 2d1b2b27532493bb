//! Reads and writes lists of potential pairs: `raceflip-pairs` version 1, as JSON or as plain lines
//! (`docs/formats.md`).
//!
//! `raceflip detect --out FILE` writes a list, and so can other tools; [`read`] takes both forms. A list of another
//! tool may name places of the real app that the model leaves out. These are distinguished from mistakes.

mod read;
mod select;

pub use read::read;
pub use select::{IgnoreReason, NoConflict, PairMistake};

use super::campaign::context;
use crate::base::IndexVec;
use crate::detect::{Candidate, Pair};
use crate::event::{Site, SiteId};
use crate::sched::site_text;
use serde::Serialize;

/// Version of the format. It increases when a field changes its meaning or is removed, not when a field is added.
pub const VERSION: u32 = 1;

const FORMAT: &str = "raceflip-pairs";

/// A list of potential pairs, in the form that is written.
///
/// # Examples
///
/// ```
/// use raceflip::campaign::{CampaignContext, CampaignPlan, NoProgress, detect};
/// use raceflip::formats::pairs::{PairsFile, read};
/// # use raceflip::vm::Model;
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("add.race", "var x = 0; thread a { @up: x += 1 }; thread b { x += 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let found = detect(&CampaignPlan::new(&model), CampaignContext { stop: &stop, progress: &NoProgress });
/// let sites = &model.program.sites;
/// let text = PairsFile::new("add.race", model.digest(), sites, &found.candidates).to_json();
/// assert_eq!(read(&text, sites)?.pairs.len(), 3);
/// // Its statements can be written by hand as well.
/// assert_eq!(read("@up ~ 1:49", sites)?.pairs.len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct PairsFile {
    pub format: String,
    pub version: u32,
    pub file: String,
    pub program: String,
    pub pairs: Vec<PairEntry>,
}

/// A potential pair, in the form that is written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct PairEntry {
    pub a: String,
    pub b: String,
    /// The rank that the detector gives to the pair, if it gives one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<String>,
    pub location: String,
    pub contexts: Vec<String>,
    pub seen: u64,
}

impl PairsFile {
    /// Returns the list of the pairs that detection reports in the model `file`, whose program has this digest and
    /// these sites.
    #[must_use]
    pub fn new(file: &str, program: u64, sites: &IndexVec<SiteId, Site>, found: &[Candidate]) -> Self {
        let entry = |c: &Candidate| PairEntry {
            a: site_text(sites, c.pair.a),
            b: site_text(sites, c.pair.b),
            rank: Some(c.rank.letter().to_string()),
            location: c.evidence.location.clone(),
            contexts: c.kinds.iter().map(context).collect(),
            seen: c.count,
        };
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            file: file.to_owned(),
            program: format!("{program:016x}"),
            pairs: found.iter().map(entry).collect(),
        }
    }

    /// Returns the list as JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts and numbers can be written")
    }
}

/// The part of a list that applies to a model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedPairs {
    /// The pairs, sorted and without duplicates. A text that selects several accesses stands for all combinations of
    /// them that can conflict.
    pub pairs: Vec<Pair>,
    /// The entries that select nothing in this model, in the order of the list.
    pub unmatched: Vec<UnmatchedPlace>,
    /// The digest of the program that the list was made for, if the list has one: 16 hexadecimal digits. In another
    /// program a `LINE:COLUMN` may select another statement.
    pub program: Option<String>,
}

/// A place of the real app that selects nothing in this model, or a pair of places that cannot conflict there.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {}: {why}", select::shown(.text))]
pub struct UnmatchedPlace {
    /// The line in the list, from 1.
    pub line: usize,
    /// The place as written in the list; for a whole pair, `A ~ B`.
    pub text: String,
    /// The reason why the entry is ignored.
    pub why: IgnoreReason,
}

/// Reasons why a text is not a list of pairs of a model.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PairsError {
    /// The text is not JSON, or a field is missing or has another type.
    #[error(
        "line {line}, column {column}: {reason}; a list is `{{\"format\": \"{FORMAT}\", \"version\": {VERSION}, \"pairs\": [{{\"a\": \"@x\", \"b\": \"@y\"}}]}}`"
    )]
    Json {
        /// The line of the error, from 1.
        line: usize,
        /// The column of the error, in characters from 1.
        column: usize,
        /// Description of the error.
        reason: String,
    },
    /// The text has another `format`.
    #[error("its `format` is {:?}, not \"{FORMAT}\": `raceflip detect --out FILE` writes such a list", select::shown(.0))]
    Foreign(String),
    /// The list has another version.
    #[error("its `version` is {0}; this raceflip reads version {VERSION}")]
    Version(u64),
    /// An entry is not a pair.
    #[error("line {line}: {wrong}")]
    Pair {
        /// The line in the list, from 1.
        line: usize,
        /// The mistake in the pair.
        wrong: PairMistake,
    },
    /// The list has no entries, only comments.
    #[error("it lists no pair: a line is `SITE SITE` or `SITE ~ SITE`")]
    Empty,
    /// None of the pairs selects statements of this model.
    #[error(
        "none of its {listed} pairs is in this model (the first: {first}); `@label from \"File.java:41\":` says which line a statement models"
    )]
    Nothing {
        /// Number of pairs in the list.
        listed: usize,
        /// The first entry that selects nothing.
        first: UnmatchedPlace,
    },
}
