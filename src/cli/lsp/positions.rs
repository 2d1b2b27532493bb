//! Converts between offsets in bytes and places by line and UTF-16 unit, both counted from 0, as the protocol has them.

use crate::lang::ast::Span;
use lsp_types::{Position, Range};

/// The starts of the lines of a text. A line ends with LF, CRLF or CR.
#[derive(Clone, Debug)]
pub(super) struct LineIndex {
    starts: Vec<u32>,
    length: u32,
    // Number of UTF-16 units of a byte order mark, which the text here does not have, but that of the client does.
    mark: u32,
}

impl LineIndex {
    /// Finds the lines of a text, which must be shorter than 4 GiB. `has_mark` says that the text of the client begins
    /// with a byte order mark, which `text` lacks.
    pub(super) fn new(text: &str, has_mark: bool) -> Self {
        let bytes = text.as_bytes();
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let ends = bytes.iter().enumerate().filter(|(at, byte)| match byte {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        });
        let starts = std::iter::once(0).chain(ends.map(|(at, _)| offset(at + 1))).collect();
        Self { starts, length: offset(bytes.len()), mark: u32::from(has_mark) }
    }

    // The offsets of a line, without its end.
    fn line(&self, text: &str, line: usize) -> (usize, usize) {
        let start = self.starts[line] as usize;
        let end = self.starts.get(line + 1).map_or(self.length, |next| *next) as usize;
        let inside = text.get(start..end).unwrap_or_default();
        (start, start + inside.trim_end_matches(['\r', '\n']).len())
    }

    fn mark_in(&self, line: usize) -> u32 {
        if line == 0 { self.mark } else { 0 }
    }

    /// Returns the offset of a place. A place behind the end of its line is that end, and one behind the text is the
    /// end of the text.
    pub(super) fn offset(&self, text: &str, place: Position) -> u32 {
        let line = place.line as usize;
        if line >= self.starts.len() {
            return self.length;
        }
        let (start, end) = self.line(text, line);
        let wanted = place.character.saturating_sub(self.mark_in(line));
        let (mut units, mut at) = (0u32, start);
        for c in text.get(start..end).unwrap_or_default().chars() {
            units += c.len_utf16() as u32;
            // The middle of a pair of units is the start of its character.
            if units > wanted {
                break;
            }
            at += c.len_utf8();
        }
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// Returns the place of an offset. An offset inside a character is the start of it.
    pub(super) fn position(&self, text: &str, offset: u32) -> Position {
        let offset = text.floor_char_boundary(offset.min(self.length) as usize);
        let line = self.starts.partition_point(|start| *start as usize <= offset).saturating_sub(1);
        let (start, end) = self.line(text, line);
        let before = text.get(start..offset.min(end).max(start)).unwrap_or_default();
        let units: usize = before.chars().map(char::len_utf16).sum();
        Position {
            line: u32::try_from(line).unwrap_or(u32::MAX),
            character: u32::try_from(units).unwrap_or(u32::MAX).saturating_add(self.mark_in(line)),
        }
    }

    /// Returns the range of a span.
    pub(super) fn range(&self, text: &str, span: Span) -> Range {
        Range { start: self.position(text, span.start), end: self.position(text, span.end.max(span.start)) }
    }

    /// Returns the range of a line without its end, counted from 1. A line that is not there is the last one.
    pub(super) fn line_range(&self, text: &str, line: u32) -> Range {
        let line = (line.saturating_sub(1) as usize).min(self.starts.len() - 1);
        let (start, end) = self.line(text, line);
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        self.range(text, Span { start: offset(start), end: offset(end) })
    }

    /// Returns the range of the whole text.
    pub(super) fn whole(&self, text: &str) -> Range {
        Range { start: Position::new(0, 0), end: self.position(text, self.length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 6] = ["", "a", "ab\ncd\n", "\u{e9}x\r\ny\r\rz", "\u{1f600}a\u{1f600}\n\u{1f600}", "\r\n\r\n"];

    // The places of all characters, counted one by one.
    fn slow(text: &str) -> Vec<(u32, Position)> {
        let (mut places, mut line, mut units) = (Vec::new(), 0, 0);
        let mut last = ' ';
        for (at, c) in text.char_indices() {
            if !(c == '\n' && last == '\r') {
                places.push((at as u32, Position::new(line, units)));
            }
            units += c.len_utf16() as u32;
            let ends = c == '\n' || c == '\r' && text.as_bytes().get(at + 1) != Some(&b'\n');
            if ends {
                (line, units) = (line + 1, 0);
            }
            last = c;
        }
        places.push((text.len() as u32, Position::new(line, units)));
        places
    }

    #[test]
    fn offsets_and_places_are_inverse() {
        for text in TEXTS {
            let index = LineIndex::new(text, false);
            for (offset, place) in slow(text) {
                assert_eq!(index.position(text, offset), place, "{text:?} at {offset}");
                assert_eq!(index.offset(text, place), offset, "{text:?} at {place:?}");
            }
        }
    }

    #[test]
    fn places_outside_are_moved_inside() {
        let text = "a\u{1f600}b\r\nc";
        let index = LineIndex::new(text, false);
        let check =
            |line, character, expected| assert_eq!(index.offset(text, Position::new(line, character)), expected);
        check(0, 2, 1); // inside the pair of units
        check(0, 3, 5);
        check(0, 99, 6);
        check(1, u32::MAX, 9);
        check(7, 0, 9);
        check(u32::MAX, u32::MAX, 9);
        assert_eq!(index.position(text, 3), Position::new(0, 1));
        assert_eq!(index.position(text, u32::MAX), Position::new(1, 1));
        // Behind a byte order mark the first line is one unit longer.
        let marked = LineIndex::new(text, true);
        assert_eq!(marked.position(text, 1), Position::new(0, 2));
        assert_eq!(marked.offset(text, Position::new(0, 2)), 1);
        assert_eq!(marked.offset(text, Position::new(0, 0)), 0);
        assert_eq!(marked.position(text, 8), Position::new(1, 0));
    }
}
