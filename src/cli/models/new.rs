//! `raceflip new`: writes a first model for the user to change.

use crate::base::clean;
use crate::cli::io::exit::ExitStatus;
use crate::cli::{CommandContext, Refusal};
use crate::formats::shell;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

const SKELETON: &str = include_str!("skeleton.race");

const ABOUT: &str = "\
Writes a small model with comments, for you to edit. It has a looper, a thread, a harmful race, its repair, and `expect` lines.

A path without an extension gets the extension `.race`. The app gets the name of the file. An existing file is not overwritten.";

const AFTER: &str = "\
Examples:
  raceflip new                           model.race
  raceflip new login                     login.race, with the app \"login\"
  raceflip confirm login.race            find its race";

/// Write a first model
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_help = AFTER)]
pub(in crate::cli) struct Args {
    /// Path of the new file
    #[arg(value_name = "PATH", default_value = "model.race")]
    path: PathBuf,
}

pub(in crate::cli) fn run(args: Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    let path = if args.path.extension().is_some() { args.path } else { args.path.with_extension("race") };
    let name = clean(&path.to_string_lossy());
    let cannot = |why: &dyn std::fmt::Display| Refusal::new(format_args!("cannot write `{name}`: {why}"));
    let text = SKELETON.replace("NAME", &title(&path));
    // An existing file is never overwritten, not even one that another program has just created.
    let file = OpenOptions::new().write(true).create_new(true).open(&path);
    let mut file = file.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => cannot(&"it already exists; give another name, or delete it first"),
        ErrorKind::NotFound => cannot(&"there is no such directory"),
        _ => cannot(&error),
    })?;
    if let Err(error) = file.write_all(text.as_bytes()) {
        // A partly written model is of no use.
        std::fs::remove_file(&path).ok();
        return Err(cannot(&error));
    }
    let argument = shell::path_bytes(path.as_os_str().as_encoded_bytes());
    writeln!(context.out, "{name}: a model with a race; next: raceflip confirm {argument}");
    Ok(ExitStatus::Nothing)
}

/// Returns the name of the file as a string of the language.
fn title(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    clean(&stem).replace('\\', "\\\\").replace('"', "\\\"")
}
