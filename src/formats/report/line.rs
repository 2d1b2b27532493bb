//! Defines a line of a report for people: parts with roles. The roles determine the colors, which only the command line
//! knows.

/// A line of text.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ReportLine {
    /// The parts of the line, from left to right.
    pub spans: Vec<ReportSpan>,
    /// Whether the line is prose, which may be broken between words.
    pub prose: bool,
}

/// A part of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReportSpan {
    /// The role of the part.
    pub role: Role,
    /// The text of the part. It may contain control characters of a model.
    pub text: String,
}

/// The role of a part of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Text without emphasis.
    Plain,
    /// The name of the subject: a location, a model.
    Name,
    /// A failure or a harmful pair.
    Bad,
    /// A result that leaves a question open.
    Open,
    /// A good result.
    Good,
}

impl ReportLine {
    /// Creates a line without emphasis.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self::default().and(text)
    }

    /// Returns the line with a further part without emphasis.
    pub(crate) fn and(self, text: impl Into<String>) -> Self {
        self.with(Role::Plain, text)
    }

    /// Returns the line with a further part.
    pub(crate) fn with(mut self, role: Role, text: impl Into<String>) -> Self {
        self.spans.push(ReportSpan { role, text: text.into() });
        self
    }

    /// Returns this line, followed by the parts of another one.
    pub(crate) fn join(mut self, other: ReportLine) -> Self {
        self.spans.extend(other.spans);
        self
    }

    /// Returns the line as prose.
    pub(crate) fn prose(self) -> Self {
        Self { prose: true, ..self }
    }

    /// Returns the text of the line without roles.
    #[must_use]
    pub fn plain(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }
}
