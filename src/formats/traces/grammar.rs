//! Parses a line of a DroidRacer log: `12 POST src:1 msg:4 dest:-1 delay:0`.
//!
//! Blanks or tabs separate the fields, but no separator precedes `thread-name:`. A text value has no delimiter of its
//! own, because a class or a component may contain any characters: it ends before the next field.

use super::LineError;

/// An operation whose fields are not parsed yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct OperationLine<'t> {
    /// The whole line.
    pub(super) text: &'t str,
    /// Whether the line begins with `rwId:` and a number, not with a plain number.
    pub(super) is_access: bool,
    /// The word of the operation.
    pub(super) word: &'t str,
    /// Byte offset of the word in the line.
    pub(super) at: usize,
}

/// The value of a field, with its byte offset in the line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'t> {
    key: &'static str,
    pub(super) text: &'t str,
    at: usize,
}

/// Parses the start of a line: its number and its word. Returns `None` if no operation has this form.
pub(super) fn line(text: &str) -> Option<OperationLine<'_>> {
    let start = text.len() - text.trim_start().len();
    let first = word(text, start);
    let is_access = first.starts_with("rwId:");
    let number = first.strip_prefix("rwId:").unwrap_or(first);
    if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let rest = &text[start + first.len()..];
    let at = text.len() - rest.trim_start().len();
    let word = word(text, at);
    let starts = word.bytes().next().is_some_and(|b| b.is_ascii_uppercase());
    starts.then_some(OperationLine { text, is_access, word, at })
}

// Returns the text from an offset up to the next blank or tab.
fn word(text: &str, at: usize) -> &str {
    text[at..].split([' ', '\t']).next().unwrap_or_default()
}

impl<'t> OperationLine<'t> {
    /// Returns whether the line has a field of this name.
    pub(super) fn has(&self, key: &str) -> bool {
        find(self.text, self.at + self.word.len(), key).is_some()
    }

    /// Parses the values of the fields, which must be exactly these, in this order.
    pub(super) fn fields<const N: usize>(&self, keys: [&'static str; N]) -> Result<[Field<'t>; N], LineError> {
        let mut at = self.at + self.word.len();
        let mut fields = [Field { key: "", text: "", at }; N];
        for (i, key) in keys.into_iter().enumerate() {
            let rest = &self.text[at..];
            at = self.text.len() - rest.trim_start().len();
            let value = self.text[at..].strip_prefix(key).and_then(|r| r.strip_prefix(':'));
            let Some(value) = value else { return Err(self.lacks(at, key)) };
            let start = self.text.len() - value.len();
            let end = match keys.get(i + 1) {
                Some(next) => match find(self.text, start, next) {
                    Some(end) => end,
                    None => return Err(self.lacks(start + word(self.text, start).len(), next)),
                },
                None => self.text.len(),
            };
            let text = &self.text[start..end];
            let trimmed = text.trim();
            fields[i] = Field { key, text: trimmed, at: start + (text.len() - text.trim_start().len()) };
            at = end;
        }
        if N == 0 && !self.text[at..].trim().is_empty() {
            let reason = format!("`{}` has no fields", self.word);
            return Err(LineError::new(at, reason, "the line is damaged, or of another version"));
        }
        Ok(fields)
    }

    fn lacks(&self, at: usize, key: &str) -> LineError {
        let at = self.text.len() - self.text[at..].trim_start().len();
        let reason = format!("`{key}:` of `{}` is missing here", self.word);
        LineError::new(at, reason, "the line is damaged, or of another version")
    }
}

// Returns the byte offset of a field.
fn find(text: &str, from: usize, key: &str) -> Option<usize> {
    let glued = key == "thread-name";
    text[from..]
        .match_indices(key)
        .map(|(i, _)| from + i)
        .find(|at| text[at + key.len()..].starts_with(':') && (glued || text[..*at].ends_with([' ', '\t'])))
}

impl Field<'_> {
    /// Parses the value as a number.
    pub(super) fn number<N: std::str::FromStr>(&self) -> Result<N, LineError> {
        self.text.parse().map_err(|_| {
            let reason = format!("`{}:` takes a whole number, not `{}`", self.key, self.short());
            LineError::new(self.at, reason, "the line is damaged, or of another version")
        })
    }

    // Returns the value for a message.
    fn short(&self) -> String {
        short(self.text)
    }
}

/// Shortens a long text for a message.
pub(super) fn short(text: &str) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
