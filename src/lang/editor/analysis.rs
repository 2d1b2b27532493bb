//! One check of a text, with everything that an editor asks about it.

use super::super::ast::File;
use super::super::check::{check_recorded, unknown_names};
use super::super::diagnostic::Diagnostic;
use super::super::errors::with_unknown;
use super::super::parser::{PartialParse, recover};
use super::super::program::Program;
use super::super::source::Source;
use super::names::NameTable;

/// A text with its errors, its tree, and its names.
///
/// # Examples
///
/// ```
/// use raceflip::lang::{Source, editor::SourceAnalysis};
///
/// let text = "var count = 0\nthread t { count += 1 }\nthread u { count = }";
/// let analysis = SourceAnalysis::new(Source::new("a.race", text)?);
/// assert_eq!(analysis.errors().len(), 1);
/// let name = analysis.names().at(25).expect("the cursor is in `count`");
/// let places: Vec<u32> = analysis.names().of(name.symbol).map(|span| span.start).collect();
/// assert_eq!(places, [4, 25]);
/// # Ok::<(), raceflip::lang::SourceError>(())
/// ```
#[derive(Debug)]
pub struct SourceAnalysis {
    source: Source,
    file: File,
    parses: bool,
    errors: Vec<Diagnostic>,
    program: Option<Program>,
    names: NameTable,
}

impl SourceAnalysis {
    /// Parses and checks a text.
    #[must_use]
    pub fn new(source: Source) -> Self {
        let partial = recover(&source);
        let parses = partial.errors.is_empty();
        let (errors, program, recorded) = if parses {
            let (checked, recorded) = check_recorded(&partial.file, &source, &[]);
            match checked {
                Ok(program) => (Vec::new(), Some(program), recorded),
                Err(errors) => (errors.diagnostics, None, recorded),
            }
        } else {
            let (unknown, recorded) = unknown_names(&partial.file, &source);
            (with_unknown(&source, &partial, unknown), None, recorded)
        };
        let names = NameTable::new(&source, recorded);
        let PartialParse { file, .. } = partial;
        Self { source, file, parses, errors, program, names }
    }

    /// Returns the text.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Returns the tree; of a text with syntax errors the parts that parse.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns whether the text has no syntax error.
    #[must_use]
    pub fn parses(&self) -> bool {
        self.parses
    }

    /// Returns the errors, in source order, at most twenty: those that `raceflip check` prints.
    #[must_use]
    pub fn errors(&self) -> &[Diagnostic] {
        &self.errors
    }

    /// Returns the checked program. `None` if there are errors.
    #[must_use]
    pub fn program(&self) -> Option<&Program> {
        self.program.as_ref()
    }

    /// Returns the names of the text.
    #[must_use]
    pub fn names(&self) -> &NameTable {
        &self.names
    }

    /// Returns the text of a span in the file.
    pub(super) fn text_of(&self, span: super::super::ast::Span) -> &str {
        self.source.text().get(span.start as usize..span.end as usize).unwrap_or_default()
    }
}
