//! Open files: their texts, the edits of the client, and what is known about each.

use super::judge::Mark;
use super::positions::LineIndex;
use crate::lang::ast::Span;
use crate::lang::editor::SourceAnalysis;
use crate::lang::{Diagnostic, Source, SourceError};
use lsp_types::{Position, Range, TextDocumentContentChangeEvent, Uri};
use std::path::PathBuf;

/// Maximum length of an open text in bytes. A longer one keeps its beginning; it is no model anyway.
const MOST_BYTES: usize = 16 << 20;

/// An open file.
pub(super) struct Document {
    pub(super) uri: Uri,
    /// Number of this text, given by the client.
    pub(super) version: i32,
    /// Number of this text among all texts of the server. Results of background work name it.
    pub(super) number: u64,
    // The text of the client, with its line ends and its byte order mark.
    raw: String,
    known: Option<Known>,
    /// The warnings of this text, once they are known; or the error that only the compiler finds.
    pub(super) late: Option<Late>,
    /// The verdicts of commands about this text.
    pub(super) marks: Vec<Mark>,
    /// Whether the client shows errors or verdicts of this file.
    pub(super) shows_errors: bool,
    /// Whether the client does not have the diagnostics of this text yet.
    pub(super) is_stale: bool,
}

/// What is known about a text after longer work.
#[derive(Clone, Debug)]
pub(super) enum Late {
    /// The warnings of a valid model.
    Warnings(Vec<Diagnostic>),
    /// Why the model cannot be compiled.
    Refused(String),
}

/// What is known about a text as soon as it is read.
pub(super) struct Known {
    /// The lines of the text without a byte order mark and with one kind of line end.
    pub(super) lines: LineIndex,
    /// The analysis, or why the text is no source.
    pub(super) analysis: Result<SourceAnalysis, SourceError>,
}

impl Known {
    /// Returns the text that spans are about; empty if the text is no source.
    pub(super) fn text(&self) -> &str {
        self.analysis.as_ref().map_or("", |analysis| analysis.source().text())
    }

    /// Returns the range of a span in the file.
    pub(super) fn range(&self, span: Span) -> Range {
        self.lines.range(self.text(), span)
    }

    /// Returns the offset of a place.
    pub(super) fn offset(&self, place: Position) -> u32 {
        self.lines.offset(self.text(), place)
    }
}

impl Document {
    pub(super) fn new(uri: Uri, version: i32, text: String, number: u64) -> Self {
        let mut document = Self {
            uri,
            version,
            number,
            raw: String::new(),
            known: None,
            late: None,
            marks: Vec::new(),
            shows_errors: false,
            is_stale: true,
        };
        document.set(text);
        document
    }

    fn set(&mut self, mut text: String) {
        if text.len() > MOST_BYTES {
            text.truncate(text.floor_char_boundary(MOST_BYTES));
        }
        self.raw = text;
    }

    /// Applies the edits of the client, one after another. `number` is the number of the new text.
    pub(super) fn change(&mut self, version: i32, changes: Vec<TextDocumentContentChangeEvent>, number: u64) {
        for TextDocumentContentChangeEvent { range, text, .. } in changes {
            let Some(range) = range else {
                self.set(text);
                continue;
            };
            let lines = LineIndex::new(&self.raw, false);
            let [start, end] = [range.start, range.end].map(|place| lines.offset(&self.raw, place) as usize);
            let mut changed = std::mem::take(&mut self.raw);
            changed.replace_range(start.min(end)..end.max(start), &text);
            self.set(changed);
        }
        (self.version, self.number, self.is_stale) = (version, number, true);
        // Verdicts are about the text that was judged.
        self.known = None;
        self.late = None;
        self.marks.clear();
    }

    /// Returns what is known about the text. The first call after a change analyzes it.
    pub(super) fn known(&mut self) -> &Known {
        let (raw, uri) = (&self.raw, &self.uri);
        self.known.get_or_insert_with(|| {
            let source = Source::new(name(uri), raw);
            let text = source.as_ref().map_or("", Source::text);
            let lines = LineIndex::new(text, raw.starts_with('\u{feff}'));
            Known { lines, analysis: source.map(SourceAnalysis::new) }
        })
    }

    /// Returns whether the text of the client is the one that spans are about, byte for byte.
    pub(super) fn is_plain(&mut self) -> bool {
        self.known();
        self.known.as_ref().is_some_and(|known| known.text() == self.raw)
    }

    /// Adds the verdicts of a command. They replace those of the same command: on one line, if they are on one.
    pub(super) fn judge(&mut self, marks: Vec<Mark>) {
        let replaced = |old: &Mark| {
            let same_line = || marks.iter().any(|new| new.line == old.line);
            marks.iter().any(|new| new.command == old.command) && (marks.len() > 1 || same_line())
        };
        self.marks.retain(|old| !replaced(old));
        self.marks.extend(marks);
        self.marks.sort_by_key(|mark| mark.line);
    }
}

fn name(uri: &Uri) -> String {
    path(uri).map_or_else(|| uri.as_str().to_owned(), |path| path.to_string_lossy().into_owned())
}

/// Returns the path of a `file:` address.
fn path(uri: &Uri) -> Option<PathBuf> {
    let path = uri.as_str().strip_prefix("file://")?;
    let path = path.get(path.find('/')?..)?;
    let mut bytes = Vec::new();
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
    }
    Some(PathBuf::from(String::from_utf8(bytes).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::str::FromStr;

    fn uri(text: &str) -> Uri {
        Uri::from_str(text).unwrap()
    }

    #[test]
    fn names_are_paths() {
        let check = |text: &str, expected: &str| assert_eq!(name(&uri(text)), expected);
        check("file:///a/b%20c.race", "/a/b c.race");
        check("file://host/a.race", "/a.race");
        check("untitled:Untitled-1", "untitled:Untitled-1");
    }

    #[test]
    fn edits_are_those_of_the_client() {
        let mut document = Document::new(uri("file:///a.race"), 1, "a\r\nb\u{1f600}c".to_owned(), 1);
        let edit = |range: Option<(u32, u32, u32, u32)>, text: &str| TextDocumentContentChangeEvent {
            range: range.map(|(a, b, c, d)| Range { start: Position::new(a, b), end: Position::new(c, d) }),
            range_length: None,
            text: text.to_owned(),
        };
        document.change(2, vec![edit(Some((1, 1, 1, 3)), "xy")], 2);
        assert_eq!(document.raw, "a\r\nbxyc");
        document.change(3, vec![edit(Some((0, 1, 1, 0)), ""), edit(Some((0, 1, 0, 0)), "_")], 3);
        assert_eq!(document.raw, "_bxyc");
        document.change(4, vec![edit(Some((9, 9, 99, 99)), "!"), edit(Some((0, 0, 0, 0)), "?")], 4);
        assert_eq!(document.raw, "?_bxyc!");
        document.change(5, vec![edit(None, "all")], 5);
        assert_eq!((document.raw.as_str(), document.version), ("all", 5));
    }
}
