//! The text of one `.race` file: decoded, with one kind of newline, and small enough that offsets fit a `u32`.

use thiserror::Error;

/// The largest source text that is accepted, in bytes. A model has pages, not megabytes, so a larger file is a mistake.
pub const MAX_SOURCE: usize = 1 << 20;

/// A source text. Spans are byte offsets into [`Source::text`].
///
/// # Examples
///
/// ```
/// use raceflip::lang::{SourcePlace, Source};
///
/// let source = Source::from_bytes("a.race", b"var x = 0\r\nvar y = 0\r\n")?;
/// assert_eq!(source.text(), "var x = 0\nvar y = 0\n");
/// assert_eq!(source.place(14), SourcePlace { line: 2, column: 5 });
/// # Ok::<(), raceflip::lang::SourceError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    name: String,
    // Invariant: at most MAX_SOURCE bytes, no BOM at the start, no carriage return.
    text: String,
    // For each piece of PIECE bytes the place of its start. If a piece starts inside a character, the place is that of
    // the character.
    pieces: Vec<SourcePlace>,
}

// Number of bytes per piece. A look-up of a place reads at most one piece, so its cost does not depend on the length of
// the text or of the line.
const PIECE: usize = 256;

/// Why bytes are not a source text.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum SourceError {
    /// The file is larger than [`MAX_SOURCE`].
    #[error("{name}: it has more than {limit} bytes ({} KiB), the most that a model may have", .limit / 1024)]
    TooLarge {
        /// The name of the file.
        name: String,
        /// The limit in bytes.
        limit: usize,
    },
    /// The file is not UTF-8.
    #[error("{name}:{line}:{column}: byte 0x{byte:02x} is not UTF-8; save the file as UTF-8")]
    NotUtf8 {
        /// The name of the file.
        name: String,
        /// The line of the first bad byte, from 1.
        line: usize,
        /// The column of the first bad byte in characters, from 1.
        column: usize,
        /// The first bad byte.
        byte: u8,
    },
}

/// A place in a source, by line and column.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SourcePlace {
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
}

impl Source {
    /// Decodes a file. Drops a UTF-8 byte order mark, and turns CRLF and a lone CR into LF.
    ///
    /// # Errors
    ///
    /// Returns a [`SourceError`] if the file is too long, or if a byte of it is not UTF-8.
    pub fn from_bytes(name: impl Into<String>, bytes: &[u8]) -> Result<Self, SourceError> {
        let name = name.into();
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if bytes.len() > MAX_SOURCE {
            return Err(SourceError::TooLarge { name, limit: MAX_SOURCE });
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => {
                let text = one_newline(text);
                let pieces = pieces(&text);
                Ok(Self { name, text, pieces })
            }
            Err(error) => {
                let bad = error.valid_up_to();
                let before = String::from_utf8_lossy(&bytes[..bad]);
                let SourcePlace { line, column } = START.after(&one_newline(&before));
                Err(SourceError::NotUtf8 { name, line, column, byte: bytes[bad] })
            }
        }
    }

    /// Makes a source from a string, normalized as by [`Source::from_bytes`].
    ///
    /// # Errors
    ///
    /// Returns a [`SourceError`] if the text is too long.
    pub fn new(name: impl Into<String>, text: &str) -> Result<Self, SourceError> {
        Self::from_bytes(name, text.as_bytes())
    }

    /// Returns the name for messages, usually a path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the text that spans refer to.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the offset in bytes of a line and column, in characters, both counted from 1. `None` if the text has no
    /// such place.
    #[must_use]
    pub fn offset(&self, line: u32, column: u32) -> Option<u32> {
        let line = (line as usize).checked_sub(1)?;
        let mut lines = self.text().split_inclusive('\n');
        let start: usize = lines.by_ref().take(line).map(str::len).sum();
        let text = lines.next()?;
        let inside: usize = text.chars().take((column as usize).checked_sub(1)?).map(char::len_utf8).sum();
        u32::try_from(start + inside).ok()
    }

    /// Returns the place of a byte offset. An offset past the end maps to the end; an offset inside a character maps to
    /// that character.
    pub fn place(&self, offset: u32) -> SourcePlace {
        let (start, rest) = self.in_piece(offset);
        start.after(rest)
    }

    /// Returns the place of the start of the piece that contains the offset, and the text from there to the offset.
    fn in_piece(&self, offset: u32) -> (SourcePlace, &str) {
        let end = self.floor(offset);
        let piece = end / PIECE;
        (self.pieces[piece], &self.text[self.floor((piece * PIECE) as u32)..end])
    }

    /// Returns the offset rounded down to the start of a character, at most the length of the text.
    pub(super) fn floor(&self, offset: u32) -> usize {
        let mut offset = (offset as usize).min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        offset
    }
}

fn one_newline(text: &str) -> String {
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text.to_owned() }
}

const START: SourcePlace = SourcePlace { line: 1, column: 1 };

impl SourcePlace {
    /// Returns the place just after a text that begins at this place.
    fn after(self, text: &str) -> SourcePlace {
        let lines = text.bytes().filter(|&b| b == b'\n').count();
        match text.rfind('\n') {
            Some(at) => SourcePlace { line: self.line + lines, column: text[at + 1..].chars().count() + 1 },
            None => SourcePlace { line: self.line, column: self.column + text.chars().count() },
        }
    }
}

fn pieces(text: &str) -> Vec<SourcePlace> {
    let (mut pieces, mut place, mut from) = (vec![START], START, 0);
    for start in (PIECE..=text.len()).step_by(PIECE) {
        let start = text.floor_char_boundary(start);
        place = place.after(&text[from..start]);
        pieces.push(place);
        from = start;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newlines_and_marks() {
        let check = |bytes: &[u8], expected: &str| {
            assert_eq!(Source::from_bytes("a.race", bytes).unwrap().text(), expected);
        };
        check(b"", "");
        check(b"\xef\xbb\xbf", "");
        check(b"\xef\xbb\xbfvar a", "var a");
        check(b"a\r\nb\rc\n\r\n", "a\nb\nc\n\n");
    }

    #[test]
    fn places() {
        let source = Source::new("a.race", "ab\n\u{e9}x\r\ny").unwrap();
        let check =
            |offset, line, column| assert_eq!(source.place(offset), SourcePlace { line, column }, "at {offset}");
        check(0, 1, 1);
        check(2, 1, 3);
        check(3, 2, 1);
        check(4, 2, 1); // inside the two bytes of one character
        check(5, 2, 2);
        check(7, 3, 1);
        check(u32::MAX, 3, 2);
    }

    #[test]
    fn a_place_is_found_from_the_piece_before_it() {
        let texts = [
            "skip; ".repeat(200),
            "\u{e9}".repeat(400),
            "a\u{1f600}\n".repeat(150),
            format!("{}\n{}", "x".repeat(PIECE - 1), "y".repeat(3 * PIECE)),
            "z".repeat(PIECE),
            "\n".repeat(2 * PIECE),
        ];
        for text in texts {
            let source = Source::new("a.race", &text).unwrap();
            for offset in 0..=text.len() as u32 + 3 {
                let before = &text[..source.floor(offset)];
                let line = before.matches('\n').count() + 1;
                let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
                assert_eq!(source.place(offset), SourcePlace { line, column }, "at {offset} of {text:.20}");
                // The text to read is bounded by the piece, whatever the length of the text. A piece may begin inside a
                // character.
                assert!(source.in_piece(offset).1.len() < PIECE + 4, "at {offset} of {text:.20}");
            }
        }
    }

    #[test]
    fn refused() {
        let error = |bytes: &[u8]| Source::from_bytes("a.race", bytes).unwrap_err().to_string();
        assert_eq!(error(b"ab\n\xc3\xa9\xff"), "a.race:2:2: byte 0xff is not UTF-8; save the file as UTF-8");
        assert_eq!(error(b"\r\n\r\xc3"), "a.race:3:1: byte 0xc3 is not UTF-8; save the file as UTF-8");
        assert_eq!(
            error(&vec![b' '; MAX_SOURCE + 1]),
            "a.race: it has more than 1048576 bytes (1024 KiB), the most that a model may have"
        );
    }
}
