//! Options that commands share: constants, formats, workers, the seed.

use super::head;
use crate::cli::io::reports::ReportFormat;
use crate::lang::program::CAUGHT;
use clap::{Args, ValueEnum};
use std::ops::Range;

/// Option `-D NAME=VALUE`.
#[derive(Args, Clone, Debug, Default)]
pub(in crate::cli) struct DefineArgs {
    /// Set a constant of the model, as in `-D FIXED=1` (may be repeated)
    ///
    /// VALUE is an integer, `true` or `false`. If a constant is set more than once, the last value counts.
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = define, help_heading = head::MODEL)]
    defines: Vec<(String, i64)>,
    /// A NullPointer or UseAfterFree is a failure also where a handler catches it
    ///
    /// Without this option an exception that the app catches is no failure of the app. The option is short for
    /// `-D app.caught=1`, so that tokens know it.
    #[arg(long, help_heading = head::MODEL)]
    caught: bool,
}

impl DefineArgs {
    /// Returns the given constants, sorted by name. The last value of a constant counts.
    pub(in crate::cli) fn resolve(&self) -> Vec<(String, i64)> {
        let caught = self.caught.then(|| (CAUGHT.to_owned(), 1));
        let last: std::collections::BTreeMap<_, _> = self.defines.iter().cloned().chain(caught).collect();
        last.into_iter().collect()
    }
}

/// Format of the result, and whether it is brief, for commands with two formats.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct ResultArgs {
    /// Format of the result on stdout
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = head::RESULT)]
    pub(in crate::cli) format: Format,
    /// Print only a summary
    #[arg(short, long, help_heading = head::RESULT)]
    pub(in crate::cli) quiet: bool,
}

/// Format of the result, and whether it is brief, for commands with reports for other tools.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct ToolArgs {
    /// Format of the result on stdout
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = head::RESULT)]
    pub(in crate::cli) format: ReportFormat,
    /// Print only a summary
    #[arg(short, long, help_heading = head::RESULT)]
    pub(in crate::cli) quiet: bool,
}

/// Number of workers.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct JobArgs {
    /// Number of workers; the result is the same for any number [default: one for each core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256), help_heading = head::EFFORT)]
    pub(in crate::cli) jobs: Option<u16>,
}

/// Seed of all choices that are drawn.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct SeedArgs {
    /// Seed of the random choices
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = head::EFFORT)]
    pub(in crate::cli) seed: u64,
}

/// Constants whose values are drawn.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct VaryArgs {
    /// Draw the value of a constant for each run, as in `--vary N=1..4` for 1, 2 and 3 (may be repeated)
    ///
    /// A constant with a range of its own, as in `const N in 1..4 = 2`, is drawn as well, unless -D gives it a value.
    #[arg(long, value_name = "NAME=A..B", value_parser = vary, help_heading = head::MODEL)]
    pub(in crate::cli) vary: Vec<(String, Range<i64>)>,
}

fn vary(text: &str) -> Result<(String, Range<i64>), String> {
    const FORM: &str = "write NAME=A..B, as in `--vary N=1..4` for 1, 2 and 3";
    let (name, range) = text.split_once('=').ok_or(FORM)?;
    let (start, end) = range.split_once("..").ok_or(FORM)?;
    let name = constant(name, FORM)?;
    let number = |text: &str| {
        let text = text.trim();
        text.parse::<i64>().map_err(|_| format!("`{text}` is not a 64-bit integer: {FORM}"))
    };
    let range = number(start)?..number(end)?;
    if range.is_empty() {
        return Err(format!(
            "the range {}..{} has no value, because its end does not belong to it: {FORM}",
            range.start, range.end
        ));
    }
    Ok((name, range))
}

fn define(text: &str) -> Result<(String, i64), String> {
    const FORM: &str = "write NAME=VALUE, as in `-D FIXED=1`";
    let (name, value) = text.split_once('=').ok_or(FORM)?;
    let (name, value) = (constant(name, FORM)?, value.trim());
    let value = match value {
        "true" => 1,
        "false" => 0,
        number => number
            .parse()
            .map_err(|_| format!("`{number}` is not a 64-bit integer: write NAME=VALUE, as in `-D {name}=1`"))?,
    };
    Ok((name, value))
}

// Returns the name of a constant. `form` says how the argument is written.
fn constant(name: &str, form: &str) -> Result<String, String> {
    let name = name.trim();
    // The constant of a library has a name of two parts: `android.rounds`.
    let is_name = |name: &str| {
        name.chars().all(|c| c == '_' || c.is_alphanumeric())
            && !name.is_empty()
            && !name.starts_with(|c: char| c.is_numeric())
    };
    if !name.splitn(2, '.').all(is_name) {
        return Err(format!("`{name}` is not the name of a constant: {form}"));
    }
    Ok(name.to_owned())
}

/// Format of a result.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(in crate::cli) enum Format {
    /// Text for people
    #[default]
    Text,
    /// One JSON object (docs/formats.md)
    Json,
}
