//! `raceflip fmt`: formats models in place.

use crate::cli::io::exit::ExitStatus;
use crate::cli::io::{files, load};
use crate::cli::{CommandContext, Refusal};
use crate::lang::{MAX_SOURCE, Source, format, render};
use similar::udiff::UnifiedHunkHeader;
use similar::{DiffOp, group_diff_ops};
use std::fmt::Write;
use std::io::Read;
use std::path::{Path, PathBuf};

const ABOUT: &str = "\
Formats models: four spaces for each open block, at most one space between words and signs, at most one blank line. Line \
breaks and comments stay where they are; comments after code keep their column where there is room. The meaning of the model does not change.

Files are formatted in place. A file is written only if it changes, and its name is printed. A file that does not parse is reported and not changed. A changed file is replaced as a whole, so a hard link to it keeps the old text.";

const AFTER: &str = "\
Examples:
  raceflip fmt app.race
  raceflip fmt models                    every .race file below a directory
  raceflip fmt --check models            print the changes without making them; exit with 1 if there are any
  raceflip fmt - < app.race              from stdin to stdout";

/// Format models
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_help = AFTER)]
pub(in crate::cli) struct Args {
    /// Models and folders of models, or `-` for stdin to stdout
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Print the changes without making them; exit with 1 if there are any
    #[arg(long, help_heading = crate::cli::args::head::RESULT)]
    check: bool,
}

pub(in crate::cli) fn run(args: Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
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
        (true, _) => ExitStatus::Refused,
        (false, true) => ExitStatus::Found,
        (false, false) => ExitStatus::Nothing,
    })
}

/// Formats one file, or only prints the changes. Returns whether formatting changes it.
fn one(path: &Path, check: bool, context: &mut CommandContext) -> Result<bool, Refusal> {
    let stdin = path == Path::new("-");
    let bytes = if stdin { standard_input()? } else { load::bytes(path)? };
    let name = if stdin { "<stdin>".to_owned() } else { path.to_string_lossy().into_owned() };
    let source = Source::from_bytes(name.clone(), &bytes).map_err(Refusal::new)?;
    let colour = context.out.paints_errors();
    let laid_out = format(&source).map_err(|errors| Refusal::Rendered(render(&source, &errors, colour)))?;
    if laid_out.len() > MAX_SOURCE {
        let size = laid_out.len();
        return Err(Refusal::new(format_args!("{name}: formatted it has {size} bytes; the limit is {MAX_SOURCE}")));
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
            .map_err(|error| Refusal::new(format_args!("cannot write `{name}`, which was not changed: {error}")))?;
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

/// Prints the changes as a unified diff.
fn show(name: &str, old: &str, new: &str, context: &mut CommandContext) {
    if old == new {
        writeln!(context.out, "{name}: line ends other than LF, or a byte order mark");
        return;
    }
    for line in unified(name, old, new).lines() {
        writeln!(context.out, "{}", line);
    }
}

/// Number of context lines around each change.
const AROUND: usize = 3;

/// Returns the changes as a unified diff.
fn unified(name: &str, old: &str, new: &str) -> String {
    let lines = |text| str::split_inclusive(text, '\n').collect::<Vec<&str>>();
    let (old, new) = (lines(old), lines(new));
    let mut text = format!("--- {name}\n+++ {name} (formatted)\n");
    for hunk in group_diff_ops(changes(&old, &new), AROUND) {
        let _ = writeln!(text, "{}", UnifiedHunkHeader::new(&hunk));
        for op in hunk {
            let gone = old[op.old_range()].iter().map(|line| (if is_kept(&op) { ' ' } else { '-' }, line));
            let come = new[if is_kept(&op) { 0..0 } else { op.new_range() }].iter().map(|line| ('+', line));
            for (sign, line) in gone.chain(come) {
                let end = if line.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
                let _ = write!(text, "{sign}{line}{end}");
            }
        }
    }
    text
}

fn is_kept(op: &DiffOp) -> bool {
    matches!(op, DiffOp::Equal { .. })
}

/// Finds the changes. Formatting keeps all lines except blank ones, in their order. So one pass finds the changes,
/// while a search for the fewest changes would take quadratic time.
pub(in crate::cli) fn changes(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let blank = |line: Option<&&str>| line.is_some_and(|line| line.trim().is_empty());
    let (mut ops, mut i, mut j): (Vec<DiffOp>, usize, usize) = (Vec::new(), 0, 0);
    while i < old.len() || j < new.len() {
        let (left, right) = (blank(old.get(i)), blank(new.get(j)));
        let goes = i < old.len() && (j == new.len() || left && !right);
        let comes = !goes && j < new.len() && (i == old.len() || right && !left);
        let (gone, come) = (usize::from(!comes), usize::from(!goes));
        let equal = !goes && !comes && old[i] == new[j];
        match ops.last_mut() {
            Some(DiffOp::Equal { len, .. }) if equal => *len += 1,
            Some(DiffOp::Replace { old_len, new_len, .. }) if !equal => {
                *old_len += gone;
                *new_len += come;
            }
            _ if equal => ops.push(DiffOp::Equal { old_index: i, new_index: j, len: 1 }),
            _ => ops.push(DiffOp::Replace { old_index: i, old_len: gone, new_index: j, new_len: come }),
        }
        (i, j) = (i + gone, j + come);
    }
    ops
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_lead_from_the_old_text_to_the_new_one() {
        let texts = [
            "thread t {\n  // counts\n      x+=1\n}",
            "\n\n\nvar x=0\n \n\n\nvar y = 0\n\n\n",
            "var x = 0\n\n// c\n\n\nthread t {\n\n  x=1 // d\n\n}\n",
            "var x = 0",
        ];
        for old in texts {
            let new = format(&Source::new("a.race", old).unwrap()).unwrap_or_else(|_| old.replace("  ", ""));
            let (before, after): (Vec<&str>, Vec<&str>) =
                (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
            let (mut from, mut made) = (0, Vec::new());
            for op in changes(&before, &after) {
                assert_eq!((op.old_range().start, op.new_range().start), (from, made.len()), "{old:?}");
                from = op.old_range().end;
                made.extend(if is_kept(&op) { &before[op.old_range()] } else { &after[op.new_range()] });
            }
            assert_eq!((from, made), (before.len(), after), "{old:?}");
        }
    }

    #[test]
    fn a_diff_shows_only_what_changes() {
        let (old, new) = ("a\nb\nc\nd\n\n\n e\nf", "a\nb\nc\nd\n\ne\nf\n");
        let expected =
            "--- n\n+++ n (formatted)\n@@ -3,6 +3,5 @@\n c\n d\n \n-\n- e\n-f\n\\ No newline at end of file\n+e\n+f\n";
        assert_eq!(unified("n", old, new), expected);
    }
}
