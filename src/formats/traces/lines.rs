//! Reads the lines of a file, one at a time.

use super::{LineError, ReadError};
use std::io::{BufRead, Read};

/// Maximum length of a line, in bytes.
const LONGEST: usize = 1 << 20;

/// The current line of a file.
pub(super) struct Lines<'n, R> {
    name: &'n str,
    from: R,
    number: u32,
    bytes: Vec<u8>,
    text: String,
    // Whether the current line ends with the file and not with a newline.
    is_cut: bool,
}

impl<'n, R: BufRead> Lines<'n, R> {
    pub(super) fn new(name: &'n str, from: R) -> Self {
        Self { name, from, number: 0, bytes: Vec::new(), text: String::new(), is_cut: false }
    }

    /// Returns the name of the file, for messages.
    pub(super) fn name(&self) -> &'n str {
        self.name
    }

    /// Returns the number of the current line, from 1.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Returns the current line, without its end.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the file ends in the middle of the current line, or at least without a newline behind it.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Reads the next line. Returns false at the end of the file.
    pub(super) fn advance(&mut self) -> Result<bool, ReadError> {
        self.bytes.clear();
        let limit = LONGEST as u64 + 2;
        if let Err(error) = self.from.by_ref().take(limit).read_until(b'\n', &mut self.bytes) {
            let wrong = LineError::new(0, format!("cannot read on: {error}"), "try again, or copy the file first");
            return Err(self.error_on(self.number.saturating_add(1), &wrong, ""));
        }
        if self.bytes.is_empty() {
            return Ok(false);
        }
        let Some(number) = self.number.checked_add(1) else {
            return Err(self.error(LineError::new(0, format!("more than {} lines", u32::MAX), "cut the file")));
        };
        self.number = number;
        self.text.clear();
        let whole = self.bytes.strip_suffix(b"\n");
        self.is_cut = whole.is_none();
        let line = whole.unwrap_or(&self.bytes);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > LONGEST {
            return Err(self.error(LineError::new(
                0,
                format!("the line is longer than {LONGEST} bytes"),
                "no trace has such lines: give another file",
            )));
        }
        match std::str::from_utf8(line) {
            Ok(text) => {
                let mark = if number == 1 { text.strip_prefix('\u{feff}') } else { None };
                self.text.push_str(mark.unwrap_or(text));
                Ok(true)
            }
            Err(error) => {
                let at = error.valid_up_to();
                let reason = format!("byte {} of the line, 0x{:02x}, is not UTF-8", at + 1, line[at]);
                let before = String::from_utf8_lossy(&line[..at]).into_owned();
                Err(self.error_on(number, &LineError::new(at, reason, "traces are text: give another file"), &before))
            }
        }
    }

    /// Returns an error in the current line.
    pub(super) fn error(&self, wrong: LineError) -> ReadError {
        self.error_on(self.number.max(1), &wrong, &self.text)
    }

    fn error_on(&self, line: u32, wrong: &LineError, text: &str) -> ReadError {
        error(self.name, line, column(text, wrong.at), wrong.reason.clone(), wrong.advice)
    }
}

/// Returns the column of a byte offset in a line, in characters from 1.
pub(super) fn column(text: &str, at: usize) -> u32 {
    let before = text.char_indices().take_while(|(i, _)| *i < at).count();
    u32::try_from(before + 1).unwrap_or(u32::MAX)
}

/// Returns an error at a place.
pub(super) fn error(name: &str, line: u32, column: u32, reason: String, advice: &str) -> ReadError {
    ReadError { name: name.to_owned(), line, column, reason, advice: advice.to_owned() }
}
