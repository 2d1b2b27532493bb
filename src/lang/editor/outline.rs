//! The outline of a text: its items, with the names that are declared inside them.

use super::super::ast::{ItemKind, Name, Span};
use super::super::check::name_of;
use super::analysis::SourceAnalysis;
use super::names::NameScope;

/// An entry of an outline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutlineItem {
    /// The name, or the text of an item without one.
    pub name: String,
    /// What it is, with its article: "a lock".
    pub what: &'static str,
    /// The declaration in one line. May be empty.
    pub detail: String,
    /// The position of the whole.
    pub span: Span,
    /// The position of the name. It lies in `span`.
    pub selection: Span,
    /// What is declared inside: labels and members.
    pub children: Vec<OutlineItem>,
}

impl SourceAnalysis {
    /// Returns the items of the text that parse, in source order.
    #[must_use]
    pub fn outline(&self) -> Vec<OutlineItem> {
        let symbols = self.names().symbols();
        let inside = |symbol: &&super::Symbol| {
            matches!(symbol.scope, NameScope::Label | NameScope::Member) || symbol.what.ends_with("of a component")
        };
        let mut inner: Vec<&super::Symbol> = symbols.iter().filter(inside).collect();
        inner.sort_by_key(|symbol| symbol.definition);
        let items = self.file().items.iter().filter_map(|item| {
            let span = item.at.0;
            let (name, what) = self.head(&item.kind, span)?;
            let from = inner.partition_point(|symbol| symbol.definition.start < span.start);
            let own = inner[from..].iter().take_while(|symbol| symbol.definition.end <= span.end);
            let selection = if contains(span, name.at.0) { name.at.0 } else { span };
            let children = own.filter(|symbol| symbol.definition != selection).map(|symbol| OutlineItem {
                name: if symbol.scope == NameScope::Label { symbol.detail.clone() } else { symbol.name.clone() },
                what: symbol.what,
                detail: symbol.detail.clone(),
                span: symbol.definition,
                selection: symbol.definition,
                children: Vec::new(),
            });
            let detail = self.names().at(selection.start).filter(|found| found.span == selection);
            let detail = detail.map_or(String::new(), |found| symbols[found.symbol].detail.clone());
            Some(OutlineItem { name: name.text, what, detail, span, selection, children: children.collect() })
        });
        items.collect()
    }

    // The name of an item and what it is. An item without a name has its text.
    fn head(&self, kind: &ItemKind, span: Span) -> Option<(Name, &'static str)> {
        let whole = |text: &str| Name { text: text.to_owned(), at: super::super::ast::At(span) };
        Some(match kind {
            ItemKind::App { title, .. } => (Name { text: title.text.clone(), at: title.at }, "the app"),
            ItemKind::Init { .. } => (whole("init"), "the first statements"),
            ItemKind::Expect { .. } => {
                let text: Vec<&str> = self.text_of(span).split_whitespace().collect();
                (whole(&text.join(" ")), "an expectation")
            }
            ItemKind::Use { library, .. } => (library.clone(), "a library"),
            ItemKind::Kind(kind) => (kind.name.clone(), "a kind"),
            ItemKind::Component(component) => (component.name.clone(), "a component"),
            _ => name_of(kind).map(|(name, what)| (name.clone(), what))?,
        })
    }
}

fn contains(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}
