//! Errors, warnings and verdicts of a text as diagnostics of the protocol.

use super::documents::{Document, Known, Late};
use super::judge::Mark;
use super::libraries::LibraryFiles;
use super::positions::LineIndex;
use crate::lang::Diagnostic;
use crate::lang::ast::Span;
use crate::lang::editor::library_place;
use lsp_types::{
    DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString, PublishDiagnosticsParams, Range, Uri,
};

/// Returns the diagnostics of a document: the errors and warnings of `raceflip check`, and the verdicts of commands.
pub(super) fn published(document: &mut Document, libraries: &mut LibraryFiles) -> PublishDiagnosticsParams {
    let (uri, version) = (document.uri.clone(), document.version);
    let (late, marks) = (document.late.clone(), document.marks.clone());
    let known = document.known();
    let mut all = Vec::new();
    let mut convert = |found: &[Diagnostic], severity| {
        all.extend(found.iter().map(|one| converted(one, severity, known, &uri, libraries)));
    };
    match (&known.analysis, late) {
        (Err(error), _) => all.push(of_file(error.to_string())),
        (Ok(analysis), _) if !analysis.errors().is_empty() => convert(analysis.errors(), DiagnosticSeverity::ERROR),
        (Ok(_), Some(Late::Warnings(warnings))) => convert(&warnings, DiagnosticSeverity::WARNING),
        (Ok(_), Some(Late::Refused(why))) => all.push(of_file(why)),
        (Ok(_), None) => {}
    }
    all.extend(marks.iter().map(|mark| verdict(mark, known)));
    PublishDiagnosticsParams { uri, diagnostics: all, version: Some(version) }
}

// A diagnostic about the whole file.
fn of_file(message: String) -> lsp_types::Diagnostic {
    let severity = Some(DiagnosticSeverity::ERROR);
    lsp_types::Diagnostic { severity, message, source: Some(SOURCE.to_owned()), ..lsp_types::Diagnostic::default() }
}

const SOURCE: &str = "raceflip";

fn converted(
    found: &Diagnostic,
    severity: DiagnosticSeverity,
    known: &Known,
    uri: &Uri,
    libraries: &mut LibraryFiles,
) -> lsp_types::Diagnostic {
    let mut related = Vec::new();
    let mut note = |location: Option<Location>, message: &str| {
        related.extend(location.map(|location| DiagnosticRelatedInformation { location, message: message.to_owned() }));
    };
    // An error in the text of a library is shown where the file begins, with a link to the library.
    let own = library_place(found.span).is_none();
    if !own {
        note(location(found.span, known, uri, libraries), &found.message);
    }
    for (span, text) in &found.notes {
        note(location(*span, known, uri, libraries), text);
    }
    let help = found.help.as_ref().map(|help| format!("help: {help}"));
    let reason = Some(found.reason.clone()).filter(|reason| !reason.is_empty());
    let lines: Vec<String> = [Some(found.message.clone()), reason, help].into_iter().flatten().collect();
    lsp_types::Diagnostic {
        range: if own { known.range(found.span) } else { Range::default() },
        severity: Some(severity),
        code: (!found.word.is_empty()).then(|| NumberOrString::String(found.word.to_owned())),
        source: Some(SOURCE.to_owned()),
        message: lines.join("\n"),
        related_information: (!related.is_empty()).then_some(related),
        ..lsp_types::Diagnostic::default()
    }
}

/// Returns the location of a span: in the file, or in a library.
pub(super) fn location(span: Span, known: &Known, uri: &Uri, libraries: &mut LibraryFiles) -> Option<Location> {
    let Some(place) = library_place(span) else {
        return Some(Location { uri: uri.clone(), range: known.range(span) });
    };
    let range = LineIndex::new(place.text, false).range(place.text, place.span);
    Some(Location { uri: libraries.of(place)?, range })
}

fn verdict(mark: &Mark, known: &Known) -> lsp_types::Diagnostic {
    lsp_types::Diagnostic {
        range: known.lines.line_range(known.text(), mark.line),
        severity: Some(DiagnosticSeverity::HINT),
        source: Some(format!("{SOURCE} {}", mark.command)),
        message: mark.detail.clone(),
        ..lsp_types::Diagnostic::default()
    }
}
