//! Reads traces of several forms into a [`Trace`] (`docs/formats.md` describes the forms).
//!
//! | form | recognized by | remark |
//! |---|---|---|
//! | JSON lines, `raceflip-trace` | the first line that is not blank begins with `{` | [`write()`] writes this form |
//! | STD, the form of RAPID | that line has exactly two `\|` | [`write_std()`] writes this form |
//! | a log of DroidRacer (`abc_log`), a trace of EM-Explorer (`trace.txt`) | everything else | |
//!
//! A file is read line by line, and its text is never held as a whole. Unexpected input is an error with its place and
//! reason: a detector that guesses, or reads half a file, would miss races.

mod abc;
mod events;
mod grammar;
mod lines;
mod log_notes;
mod order_file;
mod rapid;
mod rows;
pub mod stat;
mod write;

pub use order_file::read_orders;
pub use rapid::write::{StdText, write as write_std};
pub use write::write;

use crate::trace::Trace;
use lines::Lines;
use std::io::BufRead;

/// An error in a trace file, with its place and an advice.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{name}:{line}:{column}: {reason}; {advice}")]
pub struct ReadError {
    /// The name of the file, as given on the command line.
    pub name: String,
    /// Line of the error, from 1.
    pub line: u32,
    /// Column of the error, in characters from 1.
    pub column: u32,
    /// The error.
    pub reason: String,
    /// A proposal to the user.
    pub advice: String,
}

/// An error in a line, at a byte offset of it.
#[derive(Debug)]
struct LineError {
    at: usize,
    reason: String,
    advice: &'static str,
}

impl LineError {
    fn new(at: usize, reason: impl Into<String>, advice: &'static str) -> Self {
        Self { at, reason: reason.into(), advice }
    }
}

/// The advice for operations that are not possible in this order.
const DISORDER: &str = "operations are missing before it, or out of order";

/// Reads a trace of any form. `name` is used in messages.
///
/// # Errors
///
/// Returns a [`ReadError`] if the text cannot be read, is not a trace, or contains operations that are not an
/// execution. The error names the first place at which this shows.
///
/// # Examples
///
/// ```
/// use raceflip::formats::traces;
///
/// let log = "1 START\n2 THREADINIT tid:1\n3 WRITE tid:1 obj:0x1 class:La; field:8\n";
/// let trace = traces::read("abc_log.txt", log.as_bytes())?;
/// assert_eq!((trace.ops.len(), trace.places.iter().next().unwrap().name.as_str()), (2, "0x1 La;.8"));
///
/// let error = traces::read("abc_log.txt", "1 START\n2 FLY tid:1\n".as_bytes()).unwrap_err();
/// assert_eq!((error.line, error.column), (2, 3));
/// # Ok::<(), traces::ReadError>(())
/// ```
pub fn read(name: &str, text: impl BufRead) -> Result<Trace, ReadError> {
    read_as(name, text, None)
}

/// A form of traces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceForm {
    /// JSON lines, the form of raceflip.
    Rows,
    /// A log of DroidRacer, or a trace of EM-Explorer.
    Log,
    /// STD, the form of RAPID and its relatives.
    Std,
}

impl TraceForm {
    /// All forms.
    pub const ALL: [TraceForm; 3] = [TraceForm::Rows, TraceForm::Log, TraceForm::Std];

    /// Returns the name of the form in options.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TraceForm::Rows => "jsonl",
            TraceForm::Log => "droidracer",
            TraceForm::Std => "std",
        }
    }

    /// Describes the form in a few words.
    #[must_use]
    pub fn help(self) -> &'static str {
        match self {
            TraceForm::Rows => "JSON lines, the form of raceflip",
            TraceForm::Log => "a log of DroidRacer, or a trace of EM-Explorer",
            TraceForm::Std => "STD, the form of RAPID",
        }
    }

    // Returns the form of a file by its first line that is not blank.
    fn of(first: &str) -> Self {
        match first {
            first if first.trim_start().starts_with('{') => TraceForm::Rows,
            first if first.matches('|').count() == 2 => TraceForm::Std,
            _ => TraceForm::Log,
        }
    }
}

/// Reads a trace of a given form, or of any form. `name` is used in messages.
///
/// # Errors
///
/// As for [`read`].
pub fn read_as(name: &str, text: impl BufRead, form: Option<TraceForm>) -> Result<Trace, ReadError> {
    let mut lines = Lines::new(name, text);
    while lines.advance()? {
        if lines.text().trim_start().is_empty() {
            continue;
        }
        return match form.unwrap_or_else(|| TraceForm::of(lines.text())) {
            TraceForm::Rows => rows::read(&mut lines),
            TraceForm::Log => abc::read(&mut lines),
            TraceForm::Std => rapid::read::read(&mut lines),
        };
    }
    Err(lines.error(LineError::new(0, "the file is empty", "give it a trace")))
}
