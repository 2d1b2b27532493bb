//! The names of a text: each symbol with the places where it is declared and used.

use super::super::ast::Span;
use super::super::check::Recorder;
use super::super::library::{library_at, library_text};
use super::super::source::Source;
use crate::event::SiteId;
use std::collections::{BTreeMap, BTreeSet};

/// The declaration of a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::lang) struct NameDefinition {
    /// The full name, such as `Player.create`.
    pub(in crate::lang) name: String,
    /// What is declared, with its article: "a lock".
    pub(in crate::lang) what: &'static str,
    /// The declaration in one line.
    pub(in crate::lang) detail: String,
    /// Where the name counts.
    pub(in crate::lang) scope: NameScope,
}

/// Where a name counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NameScope {
    /// In the whole file.
    File,
    /// After a dot, or inside a kind or component.
    Member,
    /// In a body, from its declaration on.
    Local,
    /// A label.
    Label,
    /// An exception, which its first `throw` declares.
    Exception,
}

/// A symbol: everything that a name stands for. Names that can only change together are one symbol, such as a callback
/// of a kind and those of its components.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// The name as it is written.
    pub name: String,
    /// What it is, with its article: "a lock".
    pub what: &'static str,
    /// The declaration in one line: `var x: int`, `task f(a: int)`.
    pub detail: String,
    /// Where the name counts.
    pub scope: NameScope,
    /// The position of the declaration. It may be in a library.
    pub definition: Span,
    /// The library that declares the symbol, or a part of it.
    pub library: Option<&'static str>,
}

/// A place in the file where a symbol is named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Occurrence {
    /// The position of the name.
    pub span: Span,
    /// The index of the symbol in [`NameTable::symbols`].
    pub symbol: usize,
}

/// The names of a text.
#[derive(Clone, Default, Debug)]
pub struct NameTable {
    symbols: Vec<Symbol>,
    // Invariant: sorted by position. Those in libraries are left out.
    occurrences: Vec<Occurrence>,
    // Uses and what each of them means. Invariant: sorted.
    uses: Vec<(Span, Span)>,
    // Invariant: sorted.
    statements: Vec<Span>,
    // The position of each site of the program.
    sites: Vec<(SiteId, Span)>,
}

impl NameTable {
    pub(super) fn new(source: &Source, recorded: Recorder) -> Self {
        let text = |span: Span| {
            let own = || source.text().get(span.start as usize..span.end as usize);
            library_text(span).or_else(own).unwrap_or_default()
        };
        let Recorder { mut definitions, uses, mut statements, sites, .. } = recorded;
        // The expander makes names at places that have another text, such as the implicit fields of components.
        definitions.retain(|span, definition| {
            let written = text(*span);
            !written.is_empty() && definition.name.split(['.', ' ']).any(|part| part == written)
        });
        let uses: Vec<(Span, Span)> =
            uses.into_iter().filter(|(from, to)| text(*from) == text(*to) && definitions.contains_key(to)).collect();
        statements.retain(|span| library_at(*span).is_none());
        statements.sort_unstable();
        statements.dedup();
        let groups = groups(&definitions, &uses);
        let mut table = Self { symbols: Vec::new(), occurrences: Vec::new(), uses, statements, sites };
        for spans in groups {
            table.add(&spans, &definitions, text);
        }
        table.occurrences.sort_unstable_by_key(|one| one.span);
        table
    }

    // Adds the symbol that these places name.
    fn add<'t>(
        &mut self,
        spans: &[Span],
        definitions: &BTreeMap<Span, NameDefinition>,
        text: impl Fn(Span) -> &'t str,
    ) {
        let declared = || spans.iter().filter_map(|span| Some((*span, definitions.get(span)?)));
        // A declaration that names another one, as a callback of a component names that of its kind, is not the first.
        let first = declared().min_by_key(|(span, _)| (self.definitions(*span).next().is_some(), *span));
        let Some((definition, NameDefinition { what, detail, scope, .. })) = first else { return };
        let library = declared().find_map(|(span, _)| Some(library_at(span)?.0.name));
        let symbol = self.symbols.len();
        let own = spans.iter().filter(|span| library_at(**span).is_none());
        self.occurrences.extend(own.map(|span| Occurrence { span: *span, symbol }));
        let (name, detail) = (text(definition).to_owned(), detail.clone());
        self.symbols.push(Symbol { name, what, detail, scope: *scope, definition, library });
    }

    /// Returns all symbols.
    #[must_use]
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// Returns all places in the file where symbols are named, in source order.
    #[must_use]
    pub fn occurrences(&self) -> &[Occurrence] {
        &self.occurrences
    }

    /// Returns the name at an offset: the one that contains it, or ends there.
    #[must_use]
    pub fn at(&self, offset: u32) -> Option<Occurrence> {
        let after = self.occurrences.partition_point(|one| one.span.start <= offset);
        let last = self.occurrences.get(after.checked_sub(1)?)?;
        (offset <= last.span.end).then_some(*last)
    }

    /// Returns the declarations that the name at a position means. A name that declares without naming another
    /// declaration has none.
    pub fn definitions(&self, span: Span) -> impl Iterator<Item = Span> + '_ {
        let from = self.uses.partition_point(|(used, _)| *used < span);
        self.uses[from..].iter().take_while(move |(used, _)| *used == span).map(|(_, declared)| *declared)
    }

    /// Returns the places in the file that name a symbol, in source order.
    pub fn of(&self, symbol: usize) -> impl Iterator<Item = Span> + '_ {
        self.occurrences.iter().filter(move |one| one.symbol == symbol).map(|one| one.span)
    }

    /// Returns the innermost statement at an offset. Of a compound statement that is its head.
    #[must_use]
    pub fn statement_at(&self, offset: u32) -> Option<Span> {
        let before = &self.statements[..self.statements.partition_point(|span| span.start <= offset)];
        before.iter().rev().find(|span| offset <= span.end).copied()
    }

    /// Returns the positions of all statements, in source order.
    #[must_use]
    pub fn statements(&self) -> &[Span] {
        &self.statements
    }

    /// Returns the sites of the program with their positions.
    #[must_use]
    pub fn sites(&self) -> &[(SiteId, Span)] {
        &self.sites
    }
}

// The groups of places that name one symbol: places are connected by uses.
fn groups(definitions: &BTreeMap<Span, NameDefinition>, uses: &[(Span, Span)]) -> Vec<Vec<Span>> {
    let places: BTreeSet<Span> =
        definitions.keys().copied().chain(uses.iter().flat_map(|(from, to)| [*from, *to])).collect();
    let places: Vec<Span> = places.into_iter().collect();
    let number = |span: &Span| places.binary_search(span).unwrap_or_default();
    let mut parent: Vec<usize> = (0..places.len()).collect();
    for (from, to) in uses {
        let (a, b) = (root(&mut parent, number(from)), root(&mut parent, number(to)));
        // The smaller number is the root, so that symbols are in source order.
        parent[a.max(b)] = a.min(b);
    }
    let mut groups: BTreeMap<usize, Vec<Span>> = BTreeMap::new();
    for (i, span) in places.iter().enumerate() {
        groups.entry(root(&mut parent, i)).or_default().push(*span);
    }
    groups.into_values().collect()
}

fn root(parent: &mut [usize], mut of: usize) -> usize {
    while parent[of] != of {
        parent[of] = parent[parent[of]];
        of = parent[of];
    }
    of
}
