//! The journal of a campaign on disk: who continues it reads what is there, and each finished variant is on the disk before it counts as done.

use super::{Refusal, files};
use crate::formats::journal::{Entry, Header, Journal};
use parking_lot::Mutex;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// An open journal; no other process has it open.
pub(super) struct OpenJournal {
    name: String,
    // And what was wrong with it, once something was.
    file: Mutex<(File, Option<String>)>,
}

impl OpenJournal {
    /// Opens a journal, new or to be continued, and reads the variants that are finished.
    pub(super) fn open(path: &Path, header: &Header, resumes: bool) -> Result<(Self, Vec<Entry>), Refusal> {
        let name = path.to_string_lossy().into_owned();
        let cannot = |why: &dyn std::fmt::Display| Refusal::new(format_args!("cannot use the journal `{name}`: {why}"));
        match files::create(path, &header.to_line()) {
            Ok(()) => {}
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(cannot(&error)),
            Err(_) if !resumes => {
                return Err(cannot(&"it exists; continue it with --resume, or give another name"));
            }
            Err(_) => {}
        }
        let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(|e| cannot(&e))?;
        if file.try_lock().is_err() {
            return Err(cannot(&"another process has it open"));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|e| cannot(&e))?;
        let journal = Journal::read(&bytes).map_err(|why| cannot(&why))?;
        let Some(there) = &journal.header else { return Err(cannot(&"it is no journal of a campaign")) };
        if let Some(difference) = header.difference(there) {
            return Err(cannot(&format_args!("{difference}; continue with the options that it was begun with")));
        }
        let end = journal.whole as u64;
        file.set_len(end).and_then(|()| file.seek(SeekFrom::Start(end))).map_err(|e| cannot(&e))?;
        Ok((Self { name, file: Mutex::new((file, None)) }, journal.entries))
    }

    /// Adds a variant that is finished; whether it is on the disk.
    pub(super) fn add(&self, entry: &Entry) -> bool {
        let mut file = self.file.lock();
        let (file, wrong) = &mut *file;
        if wrong.is_none() {
            let written = file.write_all(entry.to_line().as_bytes()).and_then(|()| file.sync_data());
            *wrong = written.err().map(|e| e.to_string());
        }
        wrong.is_none()
    }

    /// What kept a variant from the disk, if something did.
    pub(super) fn refusal(&self) -> Option<Refusal> {
        let file = self.file.lock();
        let why = file.1.as_ref()?;
        Some(Refusal::new(format_args!(
            "cannot write the journal `{}`: {why}; what it has is good, and --resume goes on from there",
            self.name
        )))
    }
}
