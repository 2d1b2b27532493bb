//! The commands above the lines of a model, and the verdicts beside them.

use super::documents::Document;
use super::judge::JobKind;
use crate::lang::ast::ItemKind;
use lsp_types::{CodeLens, Command, InlayHint, InlayHintLabel, InlayHintTooltip, Position, Range};
use serde_json::json;

/// Returns the commands of a file: all of them above its first line, and `confirm` above each `expect` line.
pub(super) fn lenses(document: &mut Document) -> Vec<CodeLens> {
    let uri = document.uri.clone();
    let known = document.known();
    let Ok(analysis) = &known.analysis else { return Vec::new() };
    let lens = |range: Range, kind: JobKind, line: Option<u32>| {
        let mut argument = json!({ "uri": uri });
        if let Some(line) = line {
            argument["line"] = json!(line);
        }
        let command =
            Command { title: kind.word().to_owned(), command: kind.command(), arguments: Some(vec![argument]) };
        CodeLens { range, command: Some(command), data: None }
    };
    let top = Range { start: Position::new(0, 0), end: Position::new(0, 0) };
    let mut all: Vec<CodeLens> = JobKind::ALL.into_iter().map(|kind| lens(top, kind, None)).collect();
    for item in &analysis.file().items {
        if matches!(item.kind, ItemKind::Expect { .. }) {
            let range = known.range(item.at.0);
            all.push(lens(range, JobKind::Confirm, Some(range.start.line + 1)));
        }
    }
    all
}

/// Returns the verdicts at the ends of the lines in a range.
pub(super) fn hints(document: &mut Document, range: Range) -> Vec<InlayHint> {
    let marks = document.marks.clone();
    let known = document.known();
    let hint = |mark: &super::judge::Mark| InlayHint {
        position: known.lines.line_range(known.text(), mark.line).end,
        label: InlayHintLabel::String(mark.text.clone()),
        kind: None,
        text_edits: None,
        tooltip: Some(InlayHintTooltip::String(mark.detail.clone())),
        padding_left: Some(true),
        padding_right: None,
        data: None,
    };
    let inside = |hint: &InlayHint| range.start.line <= hint.position.line && hint.position.line <= range.end.line;
    marks.iter().map(hint).filter(inside).collect()
}
