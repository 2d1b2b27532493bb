//! The outline of a text, and completions, in the types of the protocol.

use super::documents::{Document, Known};
use crate::lang::editor::{CompletionKind, OutlineItem};
use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionTextEdit, DocumentSymbol, Position, SymbolKind, TextEdit,
};

/// Kinds of names, each with its kind in outlines and in completions. All others are variables.
const KINDS: [(&str, SymbolKind, CompletionItemKind); 20] = [
    ("a constant", SymbolKind::CONSTANT, CompletionItemKind::CONSTANT),
    ("a `let`", SymbolKind::CONSTANT, CompletionItemKind::CONSTANT),
    ("a class", SymbolKind::CLASS, CompletionItemKind::CLASS),
    ("a component", SymbolKind::CLASS, CompletionItemKind::CLASS),
    ("a kind", SymbolKind::INTERFACE, CompletionItemKind::INTERFACE),
    ("a field", SymbolKind::FIELD, CompletionItemKind::FIELD),
    ("a task", SymbolKind::FUNCTION, CompletionItemKind::FUNCTION),
    ("a task of a component", SymbolKind::METHOD, CompletionItemKind::METHOD),
    ("a row of a component", SymbolKind::METHOD, CompletionItemKind::METHOD),
    ("a verb", SymbolKind::METHOD, CompletionItemKind::METHOD),
    ("a callback", SymbolKind::METHOD, CompletionItemKind::METHOD),
    ("a stage", SymbolKind::ENUM_MEMBER, CompletionItemKind::ENUM_MEMBER),
    ("an event", SymbolKind::EVENT, CompletionItemKind::EVENT),
    ("a listener", SymbolKind::EVENT, CompletionItemKind::EVENT),
    ("a thread", SymbolKind::MODULE, CompletionItemKind::MODULE),
    ("a looper", SymbolKind::MODULE, CompletionItemKind::MODULE),
    ("a pool", SymbolKind::MODULE, CompletionItemKind::MODULE),
    ("a label", SymbolKind::KEY, CompletionItemKind::REFERENCE),
    ("a property", SymbolKind::BOOLEAN, CompletionItemKind::PROPERTY),
    ("an expectation", SymbolKind::STRING, CompletionItemKind::TEXT),
];

/// Returns the outline of a document.
pub(super) fn outline(document: &mut Document) -> Vec<DocumentSymbol> {
    let known = document.known();
    let Ok(analysis) = &known.analysis else { return Vec::new() };
    analysis.outline().into_iter().map(|item| symbol(item, known)).collect()
}

#[allow(deprecated, reason = "the protocol's type has a field that is not used any more")]
fn symbol(item: OutlineItem, known: &Known) -> DocumentSymbol {
    let kind = KINDS.iter().find(|(what, ..)| *what == item.what).map_or(SymbolKind::VARIABLE, |(_, kind, _)| *kind);
    let children: Vec<DocumentSymbol> = item.children.into_iter().map(|child| symbol(child, known)).collect();
    DocumentSymbol {
        // The protocol forbids empty names.
        name: if item.name.trim().is_empty() { item.what.to_owned() } else { item.name },
        detail: Some(if item.detail.is_empty() { item.what.to_owned() } else { item.detail }),
        kind,
        tags: None,
        deprecated: None,
        range: known.range(item.span),
        selection_range: known.range(item.selection),
        children: (!children.is_empty()).then_some(children),
    }
}

/// Returns what completes the word at a place.
pub(super) fn completions(document: &mut Document, place: Position) -> Vec<CompletionItem> {
    let known = document.known();
    let Ok(analysis) = &known.analysis else { return Vec::new() };
    let (word, completions) = analysis.complete(known.offset(place));
    let range = known.range(word);
    let item = |completion: crate::lang::editor::Completion| {
        // Names come before words, because a model has few of them.
        let (kind, order, what) = match completion.kind {
            CompletionKind::Name(what) => {
                let known = KINDS.iter().find(|(known, ..)| *known == what);
                (known.map_or(CompletionItemKind::VARIABLE, |(.., kind)| *kind), '0', what)
            }
            CompletionKind::Member => (CompletionItemKind::METHOD, '0', ""),
            CompletionKind::BuiltIn => (CompletionItemKind::STRUCT, '1', "built in"),
            CompletionKind::Word => (CompletionItemKind::KEYWORD, '2', ""),
        };
        let detail = if completion.detail.is_empty() { what.to_owned() } else { completion.detail };
        CompletionItem {
            kind: Some(kind),
            detail: Some(detail).filter(|detail| !detail.is_empty()),
            sort_text: Some(format!("{order}{}", completion.text)),
            text_edit: Some(CompletionTextEdit::Edit(TextEdit { range, new_text: completion.text.clone() })),
            label: completion.text,
            ..CompletionItem::default()
        }
    };
    completions.into_iter().map(item).collect()
}
