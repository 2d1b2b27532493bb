//! Finds all errors of a text that does not parse: its syntax errors, and undeclared names in the parts that do parse.

use super::ast::Span;
use super::check::unknown_names;
use super::diagnostic::Diagnostic;
use super::foreign::explain;
use super::parser::{PartialParse, recover};
use super::source::Source;
use std::collections::BTreeSet;

/// The most errors that are reported.
const MOST: usize = 20;

/// Returns the errors of a text that does not parse, in source order, at most twenty; empty if the text parses.
///
/// A name that occurs in a part skipped by the parser may be declared there, so it is not reported as unknown.
///
/// # Examples
///
/// ```
/// use raceflip::lang::{Source, syntax_errors};
///
/// let source = Source::new("a.race", "thread t {\n    let a = = 1\n    use a\n    use b\n}")?;
/// let messages: Vec<String> = syntax_errors(&source).into_iter().map(|error| error.message).collect();
/// assert_eq!(messages, ["expected an expression, found `=`", "unknown name `b`"]);
/// # Ok::<(), raceflip::lang::SourceError>(())
/// ```
pub fn syntax_errors(source: &Source) -> Vec<Diagnostic> {
    let partial = recover(source);
    if partial.errors.is_empty() {
        return Vec::new();
    }
    let (unknown, _) = unknown_names(&partial.file, source);
    with_unknown(source, &partial, unknown)
}

/// Returns the errors of a text that does not parse: those of its parse, and those about unknown names in the parts
/// that do parse.
pub(super) fn with_unknown(source: &Source, partial: &PartialParse, mut unknown: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let lost = words_in(source.text(), &partial.lost);
    let mut errors = partial.errors.clone();
    unknown.retain(|error| !lost.contains(text_of(source.text(), error.span)));
    explain(source.text(), &mut unknown);
    errors.append(&mut unknown);
    errors.sort_by_key(|error| error.span.start);
    errors.truncate(MOST);
    errors
}

fn text_of(text: &str, span: Span) -> &str {
    text.get(span.start as usize..span.end as usize).unwrap_or_default()
}

fn words_in<'t>(text: &'t str, spans: &[Span]) -> BTreeSet<&'t str> {
    let words = |span: &Span| text_of(text, *span).split(|c: char| c != '_' && !c.is_ascii_alphanumeric());
    spans.iter().flat_map(words).collect()
}
