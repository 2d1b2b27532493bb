//! Keeps the journal of a campaign on disk. A resumed campaign reads its finished variants from it. A variant counts as
//! finished only once it is on the disk.

use crate::cli::Refusal;
use crate::cli::io::files;
use crate::formats::journal::{Entry, Header, Journal};
use parking_lot::Mutex;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Open journal, which no other process has open.
pub(in crate::cli) struct OpenJournal {
    name: String,
    // Journal file, and the first error of writing it.
    file: Mutex<(File, Option<String>)>,
}

impl OpenJournal {
    /// Opens a journal, a new one or one to resume, and reads the finished variants.
    pub(in crate::cli) fn open(path: &Path, header: &Header, resumes: bool) -> Result<(Self, Vec<Entry>), Refusal> {
        let name = path.to_string_lossy().into_owned();
        let cannot = |why: &dyn std::fmt::Display| Refusal::new(format_args!("cannot use the journal `{name}`: {why}"));
        files::claim(path, &header.to_line(), resumes).map_err(|why| cannot(&why))?;
        let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(|e| cannot(&e))?;
        if file.try_lock().is_err() {
            return Err(cannot(&"it is open in another process"));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|e| cannot(&e))?;
        let journal = Journal::read(&bytes).map_err(|why| cannot(&why))?;
        let Some(there) = &journal.header else { return Err(cannot(&"it is not the journal of a campaign")) };
        if let Some(difference) = header.difference(there) {
            return Err(cannot(&format_args!("{difference}; continue with the original options")));
        }
        let end = journal.whole as u64;
        file.set_len(end).and_then(|()| file.seek(SeekFrom::Start(end))).map_err(|e| cannot(&e))?;
        Ok((Self { name, file: Mutex::new((file, None)) }, journal.entries))
    }

    /// Adds a finished variant. Returns whether it is on the disk.
    pub(in crate::cli) fn add(&self, entry: &Entry) -> bool {
        let mut file = self.file.lock();
        let (file, wrong) = &mut *file;
        if wrong.is_none() {
            let written = file.write_all(entry.to_line().as_bytes()).and_then(|()| file.sync_data());
            *wrong = written.err().map(|e| e.to_string());
        }
        wrong.is_none()
    }

    /// Returns the error that kept a variant from the disk, if there was one.
    pub(in crate::cli) fn refusal(&self) -> Option<Refusal> {
        let file = self.file.lock();
        let why = file.1.as_ref()?;
        Some(Refusal::new(format_args!(
            "cannot write the journal `{}`: {why}; its contents are valid, and --resume continues from them",
            self.name
        )))
    }
}
