//! What an editor asks about a text: its names, where each is declared and used, what completes a word, an outline, the
//! steps of a statement, a checked renaming. A text with errors has all of it for the parts that parse.
//!
//! [`SourceAnalysis`] is one check of a text. The names come from the checker, which records them while it resolves
//! them; nothing here resolves a name again.

mod analysis;
mod complete;
mod context;
mod hover;
mod names;
mod outline;
mod rename;

pub use analysis::SourceAnalysis;
pub use complete::{Completion, CompletionKind};
pub use hover::Hover;
pub(super) use names::NameDefinition;
pub use names::{NameScope, NameTable, Occurrence, Symbol};
pub use outline::OutlineItem;
pub use rename::RenameError;

use super::ast::Span;
use super::library::library_at;

/// A place in the text of a library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LibraryPlace {
    /// The name of the library.
    pub name: &'static str,
    /// The text of the library.
    pub text: &'static str,
    /// The position in that text.
    pub span: Span,
}

/// Returns the place of a span in a library. Returns `None` for a span in the user's file.
#[must_use]
pub fn library_place(span: Span) -> Option<LibraryPlace> {
    let (library, span) = library_at(span)?;
    Some(LibraryPlace { name: library.name, text: library.text, span })
}
