//! Errors in a source text: position, reason and advice. [`render`] formats them.

use super::ast::Span;

/// One error in a source text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// The error in one line, lower case, no full stop: "unknown name `destroyd`".
    pub message: String,
    /// The position of the error.
    pub span: Span,
    /// The reason, shown under the caret; may be empty.
    pub reason: String,
    /// Other positions that matter, each with a text: "first used here".
    pub notes: Vec<(Span, String)>,
    /// Advice, if there is any: "did you mean `destroyed`?"
    pub help: Option<String>,
    /// The word by which a comment of the model silences a warning; empty for an error.
    pub word: &'static str,
}

impl Diagnostic {
    /// Returns an error at `span` with a reason for the caret line.
    pub fn new(span: Span, message: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { message: message.into(), span, reason: reason.into(), notes: Vec::new(), help: None, word: "" }
    }

    /// Returns the diagnostic with advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Returns the warning with the word that silences it.
    #[must_use]
    pub fn silenced_by(mut self, word: &'static str) -> Self {
        self.word = word;
        self
    }

    /// Returns the diagnostic with a note at another position.
    #[must_use]
    pub fn note(mut self, span: Span, text: impl Into<String>) -> Self {
        self.notes.push((span, text.into()));
        self
    }
}
