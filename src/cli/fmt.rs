//! `raceflip fmt`: puts the layout of models right, in place.

use super::exit::Status;
use super::{Context, Refusal, files, load};
use crate::lang::{MAX_SOURCE, Source, format, render};
use similar::TextDiff;
use std::io::Read;
use std::path::{Path, PathBuf};

const ABOUT: &str = "\
Lays out models: four spaces for each open block, one space or none between words and signs, at most one blank line. Lines stay as \
their author broke them, and comments where they are: behind their code, in the same column where there is room. The model stays the same.

Files are changed in place, and only if they change; each that did is named. A file that does not parse is left alone, and told about. A file that changes is replaced as a whole, so a hard link to it keeps the old text.";

const AFTER: &str = "\
Examples:
  raceflip fmt app.race
  raceflip fmt models                    every .race file below a directory
  raceflip fmt --check models            changes nothing; prints what would change, and exits with 1 if anything would
  raceflip fmt - < app.race              from stdin to stdout";

/// Put the layout of models right
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_help = AFTER)]
pub(super) struct Args {
    /// Models, directories with models in them, or `-` for stdin to stdout
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Change nothing: print the differences, and exit with 1 if there are any
    #[arg(long, help_heading = super::args::head::RESULT)]
    check: bool,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<Status, Refusal> {
    let (mut changed, mut refused) = (false, false);
    for path in &args.paths {
        let named = path == Path::new("-") || !path.is_dir();
        let below = if named { Ok((vec![path.clone()], Vec::new())) } else { files::models(path) };
        let (files, unread) = below.unwrap_or_else(|refusal| (Vec::new(), vec![refusal]));
        refused |= !unread.is_empty();
        unread.iter().for_each(|refusal| context.out.refuse(refusal));
        for file in files {
            match one(&file, args.check, context) {
                Ok(differs) => changed |= differs,
                Err(refusal) => {
                    context.out.refuse(&refusal);
                    refused = true;
                }
            }
        }
    }
    Ok(match (refused, changed && args.check) {
        (true, _) => Status::Refused,
        (false, true) => Status::Found,
        (false, false) => Status::Nothing,
    })
}

/// Lays out one file, or only shows how; whether that changes it.
fn one(path: &Path, check: bool, context: &mut Context) -> Result<bool, Refusal> {
    let stdin = path == Path::new("-");
    let bytes = if stdin { standard_input()? } else { load::bytes(path)? };
    let name = if stdin { "<stdin>".to_owned() } else { path.to_string_lossy().into_owned() };
    let source = Source::from_bytes(name.clone(), &bytes).map_err(Refusal::new)?;
    let colour = context.out.paints_errors();
    let laid_out = format(&source).map_err(|errors| Refusal::Rendered(render(&source, &errors, colour)))?;
    if laid_out.len() > MAX_SOURCE {
        let size = laid_out.len();
        return Err(Refusal::new(format_args!("{name}: laid out it has {size} bytes; the limit is {MAX_SOURCE}")));
    }
    let changes = bytes != laid_out.as_bytes();
    if check {
        if changes {
            show(&name, source.text(), &laid_out, context);
        }
    } else if stdin {
        context.out.file(&laid_out);
    } else if changes {
        files::replace(path, &laid_out)
            .map_err(|error| Refusal::new(format_args!("cannot write `{name}`, which is unchanged: {error}")))?;
        writeln!(context.out, "{name}: formatted");
    }
    Ok(changes)
}

fn standard_input() -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(MAX_SOURCE as u64 + 4).read_to_end(&mut bytes);
    read.map_err(|error| Refusal::new(format_args!("cannot read stdin: {error}")))?;
    Ok(bytes)
}

/// A unified diff.
fn show(name: &str, old: &str, new: &str, context: &mut Context) {
    if old == new {
        writeln!(context.out, "{name}: ends of lines that are not LF, or a byte order mark");
        return;
    }
    let diff = TextDiff::from_lines(old, new);
    let (from, to) = (name, format!("{name} (formatted)"));
    for line in diff.unified_diff().context_radius(3).header(from, &to).to_string().lines() {
        writeln!(context.out, "{}", line);
    }
}
