//! The events of the file system, and which models they change.

use crate::base::Digester;
use crate::cli::Refusal;
use crate::cli::io::{files, load};
use crate::cli::models::seeds::Seeds;
use notify_debouncer_full::notify::{self, RecommendedWatcher, RecursiveMode};
use notify_debouncer_full::{DebounceEventResult, Debouncer, RecommendedCache, new_debouncer};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Time in which the events of one change come. An editor that replaces a file makes several.
const TOGETHER: Duration = Duration::from_millis(120);
/// Time between two looks for an interruption.
const TICK: Duration = Duration::from_millis(100);

/// Tells when something has changed.
pub(super) struct Changes {
    changes: Receiver<()>,
    // Whether a change has come that no call has returned yet.
    has_come: Cell<bool>,
}

impl Changes {
    /// Returns whether something has changed since the last call.
    pub(super) fn come(&self) -> bool {
        let new = self.changes.try_iter().count() > 0;
        self.has_come.replace(false) || new
    }

    /// Waits a moment for a change, and returns as soon as one comes.
    pub(super) fn wait(&self) {
        match self.changes.recv_timeout(TICK) {
            Ok(()) => self.has_come.set(true),
            Err(RecvTimeoutError::Timeout) => {}
            // The watcher has ended. What is left to wait for is an interruption.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(TICK),
        }
    }
}

/// The paths that are watched.
pub(super) struct WatchedFiles {
    paths: Vec<PathBuf>,
    saved: PathBuf,
    // It stops when it is dropped.
    _watcher: Debouncer<RecommendedWatcher, RecommendedCache>,
}

impl WatchedFiles {
    /// Begins to watch paths, and the folder of saved failures. A change sets `stop`.
    pub(super) fn start(paths: &[PathBuf], saved: &Path, stop: Arc<AtomicBool>) -> Result<(Self, Changes), Refusal> {
        let (sender, changes) = channel();
        let handler = move |events: DebounceEventResult| {
            // An error may be a lost event, so that everything is read again.
            let matters = events.map_or(true, |events| {
                events.iter().any(|event| !event.kind.is_access() && event.paths.iter().any(|path| may_matter(path)))
            });
            if matters {
                stop.store(true, Ordering::Relaxed);
                sender.send(()).ok();
            }
        };
        let mut watcher = new_debouncer(TOGETHER, None, handler).map_err(|error| refused(Path::new("."), &error))?;
        for path in paths {
            let about = std::fs::metadata(path)
                .map_err(|error| Refusal::new(format_args!("cannot watch `{}`: {error}", path.to_string_lossy())))?;
            // A file that is replaced is another file, so its folder is watched.
            let (folder, mode) = match about.is_dir() {
                true => (path.as_path(), RecursiveMode::Recursive),
                false => (folder_of(path), RecursiveMode::NonRecursive),
            };
            watcher.watch(folder, mode).map_err(|error| refused(path, &error))?;
        }
        // The folder of saved failures may come later, or lie below a path that is watched.
        let folder = if saved.is_dir() { saved } else { folder_of(saved) };
        if folder.is_dir() {
            watcher.watch(folder, RecursiveMode::NonRecursive).ok();
        }
        Ok((
            Self { paths: paths.to_vec(), saved: saved.to_owned(), _watcher: watcher },
            Changes { changes, has_come: Cell::new(false) },
        ))
    }

    /// Returns the models that exist, each with a digest of its text and its saved failures. A file that cannot be read
    /// counts as one text.
    pub(super) fn scan(&self) -> BTreeMap<PathBuf, u128> {
        let seeds = Seeds::open(&self.saved).unwrap_or_else(|_| Seeds::none());
        let mut found = BTreeMap::new();
        for path in &self.paths {
            let below = if path.is_dir() {
                // A folder without models is no error: they may come.
                files::models(path).map_or_else(|_| Vec::new(), |(models, _)| models)
            } else if path.exists() {
                vec![path.clone()]
            } else {
                Vec::new()
            };
            for model in below {
                let digest = digest(&model, &seeds);
                found.insert(model, digest);
            }
        }
        // One file with two names is one model.
        let mut real = BTreeMap::new();
        found.retain(|path: &PathBuf, _| {
            let name = path.canonicalize().unwrap_or_else(|_| path.clone());
            real.insert(name, ()).is_none()
        });
        found
    }
}

fn refused(path: &Path, error: &notify::Error) -> Refusal {
    Refusal::new(format_args!("cannot watch `{}`: {error}", path.to_string_lossy()))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

// Whether an event about a path may change a model: it is a model, a saved failure, or perhaps a folder.
fn may_matter(path: &Path) -> bool {
    path.extension().is_none_or(|extension| extension == "race" || extension == "toml")
}

fn digest(model: &Path, seeds: &Seeds) -> u128 {
    let mut digester = Digester::new();
    match load::bytes(model) {
        Ok(bytes) => digester.text(&String::from_utf8_lossy(&bytes)).word(bytes.len() as u64),
        Err(refusal) => digester.text(&refusal.plain()),
    };
    for (defines, saved) in seeds.of(model) {
        digester.text(&saved.name).text(&saved.token.to_string());
        defines.iter().for_each(|(name, value)| _ = digester.text(name).word(*value as u64));
    }
    digester.finish()
}
