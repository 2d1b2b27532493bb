//! The journal of a campaign: what has been finished so far, line by line, so that nothing is done twice after a crash (`docs/formats.md`).
//!
//! A line is a checksum (xxHash3, 64 bits, 16 hexadecimal digits), a space and a JSON object; the first is the [`Header`], each other one an [`Entry`]. A program that is
//! killed while it writes leaves half a line at the end: that is cut off. Anything else that does not fit its checksum is damage, and refused.

use super::campaign::ConfirmReport;
use super::campaigns::{Settings, TrialLine};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// Raised when a line changes its meaning.
pub const VERSION: u32 = 1;

/// The first line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Header {
    pub format: String,
    pub version: u32,
    /// The version of the program: another one may come to other results.
    pub raceflip: String,
    #[serde(flatten)]
    pub settings: Settings,
    /// Whether entries have their trials.
    pub trials_out: bool,
}

impl Header {
    /// The header of a campaign by this version of the program.
    #[must_use]
    pub fn new(settings: Settings, trials_out: bool) -> Self {
        Self {
            format: "raceflip-journal".to_owned(),
            version: VERSION,
            raceflip: env!("CARGO_PKG_VERSION").to_owned(),
            settings,
            trials_out,
        }
    }

    /// Why a campaign with this header cannot continue one with that.
    #[must_use]
    pub fn difference(&self, there: &Header) -> Option<String> {
        if (there.version, &there.raceflip) != (self.version, &self.raceflip) {
            return Some(format!(
                "it was written by version {} of raceflip, and this is {}",
                there.raceflip, self.raceflip
            ));
        }
        if there.trials_out != self.trials_out {
            let was = if there.trials_out { "was" } else { "was not" };
            return Some(format!("--trials-out {was} given there"));
        }
        self.settings.difference(&there.settings)
    }
}

/// A variant that is finished.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Entry {
    pub report: ConfirmReport,
    pub trials: Vec<TrialLine>,
}

/// What a journal holds.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Journal {
    /// Nothing, if the program was killed before it was written.
    pub header: Option<Header>,
    /// In the order in which they were finished.
    pub entries: Vec<Entry>,
    /// So many bytes are whole lines.
    pub whole: usize,
}

/// A line with its end.
fn line(json: &str) -> String {
    format!("{:016x} {json}\n", xxh3_64(json.as_bytes()))
}

impl Header {
    /// Its line.
    #[must_use]
    pub fn to_line(&self) -> String {
        line(&serde_json::to_string(self).expect("texts and numbers can be written"))
    }
}

impl Entry {
    /// Its line.
    #[must_use]
    pub fn to_line(&self) -> String {
        line(&serde_json::to_string(self).expect("texts and numbers can be written"))
    }
}

impl Journal {
    /// Reads a journal.
    ///
    /// # Errors
    ///
    /// If it is none, or damaged: the line, and why.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        // Half a line at the end is left out.
        let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |end| end + 1);
        let mut journal = Journal { whole, ..Journal::default() };
        let text = std::str::from_utf8(&bytes[..journal.whole]).map_err(|_| "it is no text".to_owned())?;
        for (i, line) in text.lines().enumerate() {
            let damaged = |why: String| format!("line {} is damaged: {why}", i + 1);
            let (sum, json) = line.split_once(' ').ok_or_else(|| damaged("it has no checksum".to_owned()))?;
            if format!("{:016x}", xxh3_64(json.as_bytes())) != sum {
                return Err(if i == 0 {
                    "it is no journal of a campaign".to_owned()
                } else {
                    damaged("its checksum is another one".to_owned())
                });
            }
            if i == 0 {
                journal.header = Some(serde_json::from_str(json).map_err(|e| damaged(e.to_string()))?);
            } else {
                journal.entries.push(serde_json::from_str(json).map_err(|e| damaged(e.to_string()))?);
            }
        }
        Ok(journal)
    }
}
