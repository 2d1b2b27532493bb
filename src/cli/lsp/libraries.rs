//! Files with the texts of libraries, so that an editor can open what a name of a library means.

use crate::lang::editor::LibraryPlace;
use lsp_types::Uri;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::str::FromStr;
use tempfile::TempDir;

/// The files of libraries that were asked for. They are removed with the server.
#[derive(Default)]
pub(super) struct LibraryFiles {
    folder: Option<TempDir>,
    known: BTreeMap<&'static str, Option<Uri>>,
}

impl LibraryFiles {
    /// Returns the address of a file with the text of a library. `None` if it cannot be written.
    pub(super) fn of(&mut self, place: LibraryPlace) -> Option<Uri> {
        if let Some(known) = self.known.get(place.name) {
            return known.clone();
        }
        let written = self.write(place);
        self.known.insert(place.name, written.clone());
        written
    }

    fn write(&mut self, place: LibraryPlace) -> Option<Uri> {
        if self.folder.is_none() {
            self.folder = tempfile::Builder::new().prefix("raceflip-library-").tempdir().ok();
        }
        let path = self.folder.as_ref()?.path().join(format!("{}.race", place.name));
        std::fs::write(&path, place.text).ok()?;
        // An edit of the copy would have no effect.
        let mut permissions = std::fs::metadata(&path).ok()?.permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(&path, permissions).ok();
        let mut text = "file://".to_owned();
        for byte in path.to_str()?.bytes() {
            if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
                text.push(char::from(byte));
            } else {
                write!(text, "%{byte:02X}").ok()?;
            }
        }
        Uri::from_str(&text).ok()
    }
}
