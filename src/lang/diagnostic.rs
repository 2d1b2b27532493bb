//! What is wrong with a source text: where, why, and what to do. Rendered elsewhere ([`render`]).

use super::ast::Span;

/// One error in a source text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// What is wrong, in one line, lower case, no full stop: "unknown name `destroyd`".
    pub message: String,
    /// Where.
    pub span: Span,
    /// The reason, under the caret; may be empty.
    pub reason: String,
    /// Other places that matter: "first used here".
    pub notes: Vec<(Span, String)>,
    /// What to do: "did you mean `destroyed`?"
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at `span` with a reason for the caret line.
    pub fn new(span: Span, message: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { message: message.into(), span, reason: reason.into(), notes: Vec::new(), help: None }
    }

    /// The same with advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same with another place.
    #[must_use]
    pub fn note(mut self, span: Span, text: impl Into<String>) -> Self {
        self.notes.push((span, text.into()));
        self
    }
}
