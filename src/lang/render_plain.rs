//! Renders diagnostics as plain lines, without excerpts of the source: for a library without the feature `cli`, which
//! draws them.

use super::ast::Span;
use super::diagnostic::Diagnostic;
use super::library::text_at;
use super::source::Source;
use crate::base::clean;
use std::fmt::Write;

/// Renders the diagnostics of a source, one after another. Each has a line with its place and message, a line with the
/// reason, a line for each note, and a line with advice if there is some. `colour` has no effect.
pub fn render(source: &Source, diagnostics: &[Diagnostic], colour: bool) -> String {
    lines("error", source, diagnostics, colour)
}

/// Renders diagnostics that are warnings, in the format of [`render`].
pub fn render_warnings(source: &Source, diagnostics: &[Diagnostic], colour: bool) -> String {
    lines("warning", source, diagnostics, colour)
}

fn lines(level: &str, source: &Source, diagnostics: &[Diagnostic], _: bool) -> String {
    let mut out = String::new();
    let place = |span: Span| {
        let (source, span) = text_at(source, span);
        let place = source.place(span.start);
        format!("{}:{}:{}", clean(source.name()), place.line, place.column)
    };
    for Diagnostic { span, message, reason, notes, help, word: _ } in diagnostics {
        let _ = writeln!(out, "{level}: {}\n  --> {}", clean(message), place(*span));
        let reasons = [(span, reason)].into_iter().chain(notes.iter().map(|(span, text)| (span, text)));
        for (span, text) in reasons.filter(|(_, text)| !text.is_empty()) {
            let _ = writeln!(out, "  {}: {}", place(*span), clean(text));
        }
        if let Some(help) = help {
            let _ = writeln!(out, "  help: {}", clean(help));
        }
    }
    out
}
