//! Keeps the journal of a learning campaign on disk: its state after a whole round, at most once a minute, and at the
//! end.

use crate::campaign::{CampaignPlan, FuzzKeeper, FuzzMemory, InputSpace, ModelInputs};
use crate::cli::Refusal;
use crate::cli::io::files;
use crate::formats::fuzz_journal::{FuzzHeader, read, text};
use std::fs::{File, TryLockError};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time between two states that are kept.
const PAUSE: Duration = Duration::from_secs(60);

/// Journal of a campaign that is performed.
pub(super) struct FuzzJournal {
    path: PathBuf,
    header: FuzzHeader,
    // The file of the last state, locked so that no other process uses the journal at the same time.
    held: File,
    kept: Instant,
    // The last error of writing it.
    wrong: Option<String>,
}

impl FuzzJournal {
    /// Opens a journal, a new one or one to resume, and reads the state that it has kept.
    pub(super) fn open(
        path: &Path,
        plan: &CampaignPlan,
        inputs: Option<&ModelInputs>,
        resumes: bool,
    ) -> Result<(Self, Option<FuzzMemory>), Refusal> {
        let header = FuzzHeader::new(plan, inputs.map_or(&[], |inputs| inputs.ranges()));
        files::claim(path, &header.to_line(), resumes).map_err(|why| cannot(path, &why))?;
        files::may_write(path)?;
        let mut held = File::open(path).map_err(|e| cannot(path, &e))?;
        if let Err(TryLockError::WouldBlock) = held.try_lock() {
            return Err(cannot(path, &"it is open in another process"));
        }
        let mut bytes = Vec::new();
        held.read_to_end(&mut bytes).map_err(|e| cannot(path, &e))?;
        let memory = read(&bytes, &header).map_err(|why| cannot(path, &why))?;
        Ok((Self { path: path.to_owned(), header, held, kept: Instant::now(), wrong: None }, memory))
    }

    /// Returns the error that kept the last state from the disk, if there was one.
    pub(super) fn refusal(&self) -> Option<Refusal> {
        let why = self.wrong.as_ref()?;
        let name = self.path.to_string_lossy().into_owned();
        Some(Refusal::new(format_args!(
            "cannot write the journal `{name}`: {why}; its contents are valid, and --resume continues from them"
        )))
    }
}

/// Returns the refusal of a journal that cannot be used.
pub(super) fn cannot(path: &Path, why: &dyn std::fmt::Display) -> Refusal {
    let name = path.to_string_lossy().into_owned();
    Refusal::new(format_args!("cannot use the journal `{name}`: {why}"))
}

impl FuzzKeeper for FuzzJournal {
    fn is_due(&mut self) -> bool {
        self.kept.elapsed() >= PAUSE
    }

    fn keep(&mut self, memory: &FuzzMemory) {
        match files::replace_and_hold(&self.path, &text(&self.header, memory)) {
            Ok(held) => (self.held, self.wrong) = (held, None),
            Err(e) => self.wrong = Some(e.to_string()),
        }
        self.kept = Instant::now();
    }
}
