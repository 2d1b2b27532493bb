//! Files and folders as several commands need them: the models below a folder, and texts written all or nothing.

use super::Refusal;
use std::fs::Permissions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The models below a folder, by name, and what keeps folders there from being read; an error if there is neither. Hidden folders are not looked into, and links to folders not
/// followed, so that there is an end; links to files are. What is no regular file, say a pipe, is no model.
pub(super) fn models(folder: &Path) -> Result<(Vec<PathBuf>, Vec<Refusal>), Refusal> {
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
            // Hidden folders hold what other tools keep: histories, caches, environments.
            if !entry.file_name().to_string_lossy().starts_with('.') {
                open.push(path);
            }
        } else if path.extension().is_some_and(|e| e == "race")
            // Of a link to nothing its reader says so.
            && std::fs::metadata(&path).map_or(true, |about| about.is_file())
        {
            found.push(path);
        }
    }
    Ok(())
}

/// Writes a file anew, all or nothing: a reader sees the old text or the new one.
pub(super) fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    // What a link points to, not the link.
    let path = path.canonicalize()?;
    let permissions = std::fs::metadata(&path)?.permissions();
    if permissions.readonly() {
        return Err(std::io::Error::other("it is read-only"));
    }
    let file = beside(&path, text, None)?;
    file.as_file().set_permissions(permissions)?;
    file.persist(&path)?;
    Ok(())
}

/// Writes a result to a file, all or nothing; what has this name already is replaced.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Refusal> {
    // A pipe or a device is written to; it is no file to be replaced.
    let special = std::fs::metadata(path).is_ok_and(|about| !about.is_file());
    let write = || match path.exists() {
        _ if special => std::fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes()),
        true => replace(path, text),
        false => create(path, text),
    };
    write().map_err(|error| cannot_write(path, &error))
}

/// A file that is written to bit by bit, and has its name only when it is whole: what has this name already stays until then, and an error leaves nothing.
pub(super) struct Begun {
    // `None` of a pipe or a device, which is written to as it is.
    file: Option<(tempfile::NamedTempFile, PathBuf)>,
}

impl Begun {
    /// Begins a file; what is written goes to the second.
    pub(super) fn new(path: &Path) -> std::io::Result<(Self, std::fs::File)> {
        let there = std::fs::metadata(path);
        if there.as_ref().is_ok_and(|about| !about.is_file()) {
            return Ok((Self { file: None }, std::fs::OpenOptions::new().write(true).open(path)?));
        }
        // What a link points to, not the link.
        let (path, permissions) = match there {
            Ok(about) if about.permissions().readonly() => return Err(std::io::Error::other("it is read-only")),
            Ok(about) => (path.canonicalize()?, Some(about.permissions())),
            Err(_) => (path.to_owned(), ordinary()),
        };
        let file = beside(&path, "", permissions)?;
        let to = file.as_file().try_clone()?;
        Ok((Self { file: Some((file, path)) }, to))
    }

    /// It is whole, and all of it was written.
    pub(super) fn finish(self) -> std::io::Result<()> {
        let Some((file, path)) = self.file else { return Ok(()) };
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }
}

/// Refuses results that would be written over each other, or over a model.
pub(super) fn distinct(results: &[(&str, Option<&Path>)], models: &[&Path]) -> Result<(), Refusal> {
    // By the real folder, as the file need not exist; of a link, what it points to.
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
            return Err(Refusal::new(format_args!("{other} and {option} are one file, `{name}`: give each its own")));
        }
        if models.iter().any(|model| real(model) == *path) {
            return Err(Refusal::new(format_args!("{option} would be written over the model `{name}`")));
        }
    }
    Ok(())
}

/// Refuses a file that cannot be written, before there is anything to write to it.
pub(super) fn may_write(path: &Path) -> Result<(), Refusal> {
    let probe = || match std::fs::metadata(path) {
        Ok(about) if about.is_dir() => Err(std::io::Error::other("it is a folder")),
        Ok(about) if about.permissions().readonly() => Err(std::io::Error::other("it is read-only")),
        Ok(about) if !about.is_file() => Ok(()),
        // A file without a name, which goes away.
        _ => beside(path, "", ordinary()).map(drop),
    };
    probe().map_err(|error| cannot_write(path, &error))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::new(format_args!("cannot write `{}`: {error}", path.to_string_lossy()))
}

/// Writes a new file, all or nothing; what has this name already stays, and is an error.
pub(super) fn create(path: &Path, text: &str) -> std::io::Result<()> {
    beside(path, text, ordinary())?.persist_noclobber(path)?;
    Ok(())
}

// What the names of files begin and end with that have no name of their own yet.
const BEGINS: &str = ".raceflip-";
const ENDS: &str = ".tmp";

// The text in a file without a name of its own yet, which an error removes. It is locked as long as it is written to, so that one that a killed process has left is
// known by its lock, which is gone, and taken away by the next that writes in this folder.
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
        // Between its making and its locking another process may have taken it for one that was left.
        let ours = file.as_file().try_lock().is_ok() && file.path().exists();
        if ours || !can_lock(folder) {
            break file;
        }
    };
    file.as_file_mut().write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    Ok(file)
}

// Some file systems have no locks: then nothing that was left is taken away there either.
fn can_lock(folder: &Path) -> bool {
    let probe = tempfile::tempfile_in(folder);
    probe.is_ok_and(|file| !matches!(file.try_lock(), Err(std::fs::TryLockError::Error(_))))
}

// Takes away what processes that were killed have left. What cannot be taken away stays: it is in nobody's way.
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

// An error of a file that the user did not name, without its name.
fn without_path(error: &std::io::Error) -> std::io::Error {
    let told = error.to_string();
    let plain = told.split(" at path ").next().unwrap_or_default();
    std::io::Error::new(error.kind(), plain.to_owned())
}

// Those of a new file, less what the umask takes; temporary files are private otherwise.
#[cfg(unix)]
fn ordinary() -> Option<Permissions> {
    use std::os::unix::fs::PermissionsExt;
    Some(Permissions::from_mode(0o666))
}

#[cfg(not(unix))]
fn ordinary() -> Option<Permissions> {
    None
}
