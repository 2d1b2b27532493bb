//! Answers about names, hovers and layout.

use super::diagnostics::location;
use super::documents::Document;
use super::libraries::LibraryFiles;
use crate::cli::models::fmt;
use crate::lang::editor::library_place;
use crate::lang::{MAX_SOURCE, format};
use lsp_types::{
    DocumentHighlight, Hover, HoverContents, Location, MarkupContent, MarkupKind, Position, PrepareRenameResponse,
    TextEdit,
};
use serde_json::{Value, json};
use similar::DiffOp;

/// Returns where the name at a place is declared.
pub(super) fn definition(document: &mut Document, place: Position, libraries: &mut LibraryFiles) -> Vec<Location> {
    let uri = document.uri.clone();
    let known = document.known();
    let Ok(analysis) = &known.analysis else { return Vec::new() };
    let names = analysis.names();
    let Some(found) = names.at(known.offset(place)) else { return Vec::new() };
    let mut spans: Vec<_> = names.definitions(found.span).collect();
    if spans.is_empty() {
        spans.push(names.symbols()[found.symbol].definition);
    }
    spans.into_iter().filter_map(|span| location(span, known, &uri, libraries)).collect()
}

/// Returns the places that name what the name at a place names, in source order. Without `declares` the declaration is
/// left out.
pub(super) fn references(document: &mut Document, place: Position, declares: bool) -> Vec<Location> {
    let uri = document.uri.clone();
    let known = document.known();
    let Ok(analysis) = &known.analysis else { return Vec::new() };
    let names = analysis.names();
    let Some(found) = names.at(known.offset(place)) else { return Vec::new() };
    let declaration = names.symbols()[found.symbol].definition;
    let spans = names.of(found.symbol).filter(|span| declares || *span != declaration);
    spans.map(|span| Location { uri: uri.clone(), range: known.range(span) }).collect()
}

/// Returns the same places in this file, for the editor to mark.
pub(super) fn highlights(document: &mut Document, place: Position) -> Vec<DocumentHighlight> {
    let all = references(document, place, true).into_iter();
    all.map(|location| DocumentHighlight { range: location.range, kind: None }).collect()
}

/// Returns the name that would be renamed, or why it cannot be.
pub(super) fn prepare_rename(document: &mut Document, place: Position) -> Result<PrepareRenameResponse, String> {
    let known = document.known();
    let analysis = known.analysis.as_ref().map_err(ToString::to_string)?;
    let (span, symbol) = analysis.renamed_at(known.offset(place)).map_err(|error| error.to_string())?;
    let placeholder = symbol.name.clone();
    Ok(PrepareRenameResponse::RangeWithPlaceholder { range: known.range(span), placeholder })
}

/// Returns the edits of a renaming, or why it is refused.
pub(super) fn rename(document: &mut Document, place: Position, new: &str) -> Result<Value, String> {
    let uri = document.uri.clone();
    let known = document.known();
    let analysis = known.analysis.as_ref().map_err(ToString::to_string)?;
    let spans = analysis.rename(known.offset(place), new).map_err(|error| error.to_string())?;
    let edit = |span| TextEdit { range: known.range(span), new_text: new.to_owned() };
    let edits: Vec<TextEdit> = spans.into_iter().map(edit).collect();
    // The type of the protocol is a hash table, whose order would not be that of the files.
    Ok(json!({ "changes": { uri.as_str(): edits } }))
}

/// Returns what is known about the name or statement at a place.
pub(super) fn hover(document: &mut Document, place: Position) -> Option<Hover> {
    let known = document.known();
    let analysis = known.analysis.as_ref().ok()?;
    let hover = analysis.hover(known.offset(place)).filter(|hover| library_place(hover.span).is_none())?;
    // A fence of one more backquote than the text has in a row cannot be closed by it.
    let longest = hover.code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let value = format!("{fence}race\n{}\n{fence}\n\n{}", hover.code, hover.lines.join("\n"));
    let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value });
    Some(Hover { contents, range: Some(known.range(hover.span)) })
}

/// Returns the edits that format a document; none if it does not parse.
pub(super) fn formatting(document: &mut Document) -> Option<Vec<TextEdit>> {
    let is_plain = document.is_plain();
    let known = document.known();
    let analysis = known.analysis.as_ref().ok()?;
    let (old, new) = (analysis.source().text(), format(analysis.source()).ok()?);
    if new.len() > MAX_SOURCE {
        return None;
    }
    if !is_plain {
        // The line ends change as well, so that the text is replaced as a whole.
        return Some(vec![TextEdit { range: known.lines.whole(known.text()), new_text: new }]);
    }
    let (before, after) = (lines(old), lines(&new));
    let edits = fmt::changes(&before, &after).into_iter().filter(|op| !matches!(op, DiffOp::Equal { .. }));
    // The line behind the last one begins at the end of the text.
    let end = known.lines.whole(old).end;
    let at = |line: usize| Position::new(u32::try_from(line).unwrap_or(u32::MAX), 0).min(end);
    let edit = |op: DiffOp| TextEdit {
        range: lsp_types::Range { start: at(op.old_range().start), end: at(op.old_range().end) },
        new_text: after[op.new_range()].concat(),
    };
    Some(edits.map(edit).collect())
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}
