//! Finds the models below a folder, and writes files atomically. Several commands use it.

use crate::cli::Refusal;
use std::fs::{File, Permissions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Returns the models below a folder, sorted by name, and the errors of folders that cannot be read. It is an error if
/// there are neither models nor such errors.
///
/// Hidden folders are skipped. Links to folders are not followed, so that the search ends; links to files are. Only a
/// regular file is a model, not a pipe for example.
pub(in crate::cli) fn models(folder: &Path) -> Result<(Vec<PathBuf>, Vec<Refusal>), Refusal> {
    let (mut found, mut refused, mut open) = (Vec::new(), Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        if let Err(error) = list(&folder, &mut found, &mut open) {
            let name = folder.to_string_lossy().into_owned();
            refused.push(Refusal::new(format_args!("cannot read the folder `{name}`: {error}")));
        }
    }
    if found.is_empty() && refused.is_empty() {
        let name = folder.to_string_lossy().into_owned();
        return Err(Refusal::new(format_args!("there is no `.race` file in `{name}` or below it")));
    }
    found.sort();
    Ok((found, refused))
}

fn list(folder: &Path, found: &mut Vec<PathBuf>, open: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            // Hidden folders contain data of other tools: histories, caches, environments.
            if !entry.file_name().to_string_lossy().starts_with('.') {
                open.push(path);
            }
        } else if path.extension().is_some_and(|e| e == "race")
            // A link to nothing counts as a model, so that its reader reports it.
            && std::fs::metadata(&path).map_or(true, |about| about.is_file())
        {
            found.push(path);
        }
    }
    Ok(())
}

/// Replaces the text of a file atomically: a reader sees the old text or the new one.
pub(in crate::cli) fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    replace_and_hold(path, text).map(drop)
}

/// Replaces a file like [`replace`], and returns the new file, which is locked until it is closed.
pub(in crate::cli) fn replace_and_hold(path: &Path, text: &str) -> std::io::Result<File> {
    // The target of a link is replaced, not the link.
    let path = path.canonicalize()?;
    let permissions = std::fs::metadata(&path)?.permissions();
    if permissions.readonly() {
        return Err(std::io::Error::other("it is read-only"));
    }
    let file = beside(&path, text, None)?;
    file.as_file().set_permissions(permissions)?;
    Ok(file.persist(&path)?)
}

/// Writes a result to a file atomically. An existing file is replaced.
pub(in crate::cli) fn write(path: &Path, text: &str) -> Result<(), Refusal> {
    // A pipe or a device is written to and not replaced.
    let special = std::fs::metadata(path).is_ok_and(|about| !about.is_file());
    let write = || match path.exists() {
        _ if special => std::fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes()),
        true => replace(path, text),
        false => create(path, text),
    };
    write().map_err(|error| cannot_write(path, &error))
}

/// File that is written in parts, and gets its name only when it is complete. Until then an existing file with this
/// name stays. An error leaves nothing behind.
pub(in crate::cli) struct PartialFile {
    // `None` for a pipe or a device, which is written to directly.
    file: Option<(tempfile::NamedTempFile, PathBuf)>,
}

impl PartialFile {
    /// Begins a file. The second result is the file to write to.
    pub(in crate::cli) fn new(path: &Path) -> std::io::Result<(Self, std::fs::File)> {
        let there = std::fs::metadata(path);
        if there.as_ref().is_ok_and(|about| !about.is_file()) {
            return Ok((Self { file: None }, std::fs::OpenOptions::new().write(true).open(path)?));
        }
        // The target of a link is replaced, not the link.
        let (path, permissions) = match there {
            Ok(about) if about.permissions().readonly() => return Err(std::io::Error::other("it is read-only")),
            Ok(about) => (path.canonicalize()?, Some(about.permissions())),
            Err(_) => (path.to_owned(), ordinary()),
        };
        let file = beside(&path, "", permissions)?;
        let to = file.as_file().try_clone()?;
        Ok((Self { file: Some((file, path)) }, to))
    }

    /// Gives the file its name, after all of it was written.
    pub(in crate::cli) fn finish(self) -> std::io::Result<()> {
        let Some((file, path)) = self.file else { return Ok(()) };
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }
}

/// Refuses results that would overwrite each other, or an input. `what` is the word for an input: `model` or `trace`.
pub(in crate::cli) fn distinct(
    results: &[(&str, Option<&Path>)],
    (what, inputs): (&str, &[&Path]),
) -> Result<(), Refusal> {
    // The file need not exist, so its folder is resolved. For a link its target counts.
    let real = |path: &Path| {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let there = folder.canonicalize().ok().zip(path.file_name()).map(|(folder, name)| folder.join(name));
        path.canonicalize().ok().or(there).unwrap_or_else(|| path.to_owned())
    };
    let given: Vec<(&str, PathBuf)> = results.iter().filter_map(|(o, p)| Some((*o, real((*p)?)))).collect();
    for (i, (option, path)) in given.iter().enumerate() {
        if std::fs::metadata(path).is_ok_and(|about| !about.is_file()) {
            continue;
        }
        let name = path.to_string_lossy().into_owned();
        if let Some((other, _)) = given[..i].iter().find(|(_, p)| p == path) {
            return Err(Refusal::new(format_args!(
                "{other} and {option} name the same file, `{name}`: give different files"
            )));
        }
        if inputs.iter().any(|input| real(input) == *path) {
            return Err(Refusal::new(format_args!(
                "{option} would overwrite the {what} `{name}`: give another file to {option}"
            )));
        }
    }
    Ok(())
}

/// Refuses a file that cannot be written, before there is a result to write.
pub(in crate::cli) fn may_write(path: &Path) -> Result<(), Refusal> {
    let probe = || match std::fs::metadata(path) {
        Ok(about) if about.is_dir() => Err(std::io::Error::other("it is a folder")),
        Ok(about) if about.permissions().readonly() => Err(std::io::Error::other("it is read-only")),
        Ok(about) if !about.is_file() => Ok(()),
        // The probe is a temporary file, which is removed again.
        _ => beside(path, "", ordinary()).map(drop),
    };
    probe().map_err(|error| cannot_write(path, &error))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::new(format_args!("cannot write `{}`: {error}", path.to_string_lossy()))
}

/// Writes a new file atomically. It is an error if the file exists.
pub(in crate::cli) fn create(path: &Path, text: &str) -> std::io::Result<()> {
    beside(path, text, ordinary())?.persist_noclobber(path)?;
    Ok(())
}

/// Begins the journal of a campaign with its first line, or finds one to resume. Returns why it cannot be used.
pub(in crate::cli) fn claim(path: &Path, first: &str, resumes: bool) -> Result<(), String> {
    match create(path, first) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error.to_string()),
        Err(_) if !resumes => Err("it already exists; continue it with --resume, or give another name".to_owned()),
        Ok(()) | Err(_) => Ok(()),
    }
}

// Start and end of the names of temporary files.
const BEGINS: &str = ".raceflip-";
const ENDS: &str = ".tmp";

// Writes a text to a temporary file in the folder of `path`. An error removes the file. It is locked while it is
// written to. A file that a killed process has left has no lock any more, so that the next process that writes in this
// folder recognizes and removes it.
fn beside(path: &Path, text: &str, permissions: Option<Permissions>) -> std::io::Result<tempfile::NamedTempFile> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    tidy(folder);
    let mut builder = tempfile::Builder::new();
    if let Some(permissions) = permissions {
        builder.permissions(permissions);
    }
    builder.prefix(BEGINS).suffix(ENDS);
    let mut file = loop {
        let file = builder.tempfile_in(folder).map_err(|error| without_path(&error))?;
        // Another process may have taken the file for a leftover before it was locked. Then a new one is made.
        let ours = file.as_file().try_lock().is_ok() && file.path().exists();
        if ours || !can_lock(folder) {
            break file;
        }
    };
    file.as_file_mut().write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    Ok(file)
}

// Some file systems have no locks. Leftovers are not removed there either.
fn can_lock(folder: &Path) -> bool {
    let probe = tempfile::tempfile_in(folder);
    probe.is_ok_and(|file| !matches!(file.try_lock(), Err(std::fs::TryLockError::Error(_))))
}

// Removes the temporary files of killed processes. Those that cannot be removed stay, which does no harm.
fn tidy(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_ours = name.to_str().is_some_and(|n| n.starts_with(BEGINS) && n.ends_with(ENDS));
        if !is_ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let open = std::fs::OpenOptions::new().write(true).open(entry.path());
        if open.is_ok_and(|file| file.try_lock().is_ok()) {
            std::fs::remove_file(entry.path()).ok();
        }
    }
}

// Removes the path of the temporary file from an error, since the user did not name that file.
fn without_path(error: &std::io::Error) -> std::io::Error {
    let message = error.to_string();
    let plain = message.split(" at path ").next().unwrap_or_default();
    std::io::Error::new(error.kind(), plain.to_owned())
}

// Permissions of an ordinary new file before the umask. Temporary files would be private otherwise.
#[cfg(unix)]
fn ordinary() -> Option<Permissions> {
    use std::os::unix::fs::PermissionsExt;
    Some(Permissions::from_mode(0o666))
}

#[cfg(not(unix))]
fn ordinary() -> Option<Permissions> {
    None
}
