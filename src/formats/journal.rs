//! Reads and writes the journal of a campaign: the finished variants, line by line, so that a campaign continues after
//! a crash without repeating work (`docs/formats.md`).
//!
//! A line is a checksum (xxHash3, 64 bits, 16 hexadecimal digits), a space and a JSON object. The first object is the
//! [`Header`], each other one an [`Entry`]. A program that is killed while it writes leaves half a line at the end,
//! which is cut off. Any other line that does not match its checksum is damaged, and the journal is rejected.

use super::campaign::ConfirmReport;
use super::campaigns::{Settings, TrialLine};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// Version of the format. It increases when a line changes its meaning.
pub const VERSION: u32 = 1;

/// The first line of a journal.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Header {
    pub format: String,
    pub version: u32,
    /// The version of raceflip. Another version may have other results.
    pub raceflip: String,
    #[serde(flatten)]
    pub settings: Settings,
    /// Whether entries contain their trials.
    pub trials_out: bool,
}

impl Header {
    /// Returns the header of a campaign that this version of raceflip performs.
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

    /// Returns why a campaign with this header cannot continue the journal with the header `there`, or `None` if it
    /// can.
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

/// The results of a finished variant.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Entry {
    pub report: ConfirmReport,
    pub trials: Vec<TrialLine>,
}

/// The content of a journal.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Journal {
    /// The header; `None` if the program was killed before it had written one.
    pub header: Option<Header>,
    /// The finished variants, in the order in which they were finished.
    pub entries: Vec<Entry>,
    /// Length of the whole lines, in bytes.
    pub whole: usize,
}

/// Returns the line for a JSON object, with its newline.
pub(super) fn line(json: &str) -> String {
    format!("{:016x} {json}\n", xxh3_64(json.as_bytes()))
}

/// Returns the JSON object of a line, or why the line is damaged.
pub(super) fn object(line: &str) -> Result<&str, String> {
    let (sum, json) = line.split_once(' ').ok_or_else(|| "it has no checksum".to_owned())?;
    if format!("{:016x}", xxh3_64(json.as_bytes())) != sum {
        return Err("its checksum is another one".to_owned());
    }
    Ok(json)
}

impl Header {
    /// Returns the header as a line of the journal.
    #[must_use]
    pub fn to_line(&self) -> String {
        line(&serde_json::to_string(self).expect("texts and numbers can be written"))
    }
}

impl Entry {
    /// Returns the entry as a line of the journal.
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
    /// Returns a message with the line and the reason if the file is not a journal, or if one of its lines is damaged.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        // An unfinished line at the end is ignored: a kill leaves it.
        let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |end| end + 1);
        let mut journal = Journal { whole, ..Journal::default() };
        let text = std::str::from_utf8(&bytes[..journal.whole]).map_err(|_| "it is not UTF-8 text".to_owned())?;
        for (i, line) in text.lines().enumerate() {
            let damaged = |why: String| format!("line {} is damaged: {why}", i + 1);
            let json = match object(line) {
                Ok(json) => json,
                Err(_) if i == 0 && line.contains(' ') => return Err("it is not the journal of a campaign".to_owned()),
                Err(why) => return Err(damaged(why)),
            };
            if i == 0 {
                journal.header = Some(serde_json::from_str(json).map_err(|e| damaged(e.to_string()))?);
            } else {
                journal.entries.push(serde_json::from_str(json).map_err(|e| damaged(e.to_string()))?);
            }
        }
        Ok(journal)
    }
}
