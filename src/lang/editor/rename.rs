//! Renames a symbol, if the text means the same afterwards.

use super::super::ast::Span;
use super::super::program::{BUILT_IN_EXCEPTIONS, CLOSED, GROUP_EXCEPTIONS};
use super::super::source::Source;
use super::super::words::is_reserved;
use super::analysis::SourceAnalysis;
use super::names::{NameScope, Symbol};
use crate::event::{Site, SiteKind};
use std::collections::BTreeMap;
use thiserror::Error;

/// Why a name cannot be changed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RenameError {
    /// There is no name at the place.
    #[error("there is no name here that the model declares")]
    NoName,
    /// The name belongs to a library.
    #[error("`{name}` is a name of the library `{library}`, whose text cannot be changed")]
    OfLibrary {
        /// The name.
        name: String,
        /// The library.
        library: &'static str,
    },
    /// The new name is no name.
    #[error("`{0}` is not a name: a name has letters, digits and `_`, and does not begin with a digit")]
    NotAName(String),
    /// The new name is a reserved word.
    #[error("`{0}` is a reserved word")]
    Reserved(String),
    /// The new name has a meaning already.
    #[error("`{new}` has another meaning here: {why}")]
    Clash {
        /// The new name.
        new: String,
        /// What would be different.
        why: String,
    },
}

impl SourceAnalysis {
    /// Returns the symbol that can be renamed at an offset, and the position of its name there.
    ///
    /// # Errors
    ///
    /// Returns a [`RenameError`] if there is no name, or if a library declares it.
    pub fn renamed_at(&self, offset: u32) -> Result<(Span, &Symbol), RenameError> {
        let found = self.names().at(offset).ok_or(RenameError::NoName)?;
        let symbol = &self.names().symbols()[found.symbol];
        match symbol.library {
            Some(library) => Err(RenameError::OfLibrary { name: symbol.name.clone(), library }),
            None => Ok((found.span, symbol)),
        }
    }

    /// Returns the positions at which `new` has to be written, in source order. The renamed text has been checked: it
    /// has the same errors, the same steps, and each of its names means what it meant before.
    ///
    /// # Errors
    ///
    /// Returns a [`RenameError`] if the name cannot be changed, or not to `new`.
    pub fn rename(&self, offset: u32, new: &str) -> Result<Vec<Span>, RenameError> {
        let (_, symbol) = self.renamed_at(offset)?;
        is_name(new)?;
        let index = self.names().at(offset).ok_or(RenameError::NoName)?.symbol;
        let places: Vec<Span> = self.names().of(index).collect();
        if symbol.name == new {
            return Ok(Vec::new());
        }
        let clash = |why: String| RenameError::Clash { new: new.to_owned(), why };
        // Operations throw these as well, and no place in the text says so.
        let is_built_in = |name: &&str| {
            BUILT_IN_EXCEPTIONS.iter().chain(&GROUP_EXCEPTIONS).chain([&CLOSED]).any(|known| known == name)
        };
        if symbol.scope == NameScope::Exception
            && let Some(name) = [symbol.name.as_str(), new].into_iter().find(is_built_in)
        {
            return Err(clash(format!("`{name}` is a built-in exception")));
        }
        let renamed = Source::new(self.source().name(), &replaced(self.source().text(), &places, new));
        let renamed = SourceAnalysis::new(renamed.map_err(|error| clash(error.to_string()))?);
        self.compare(&renamed, &places, new).map_err(clash)?;
        Ok(places)
    }

    // Compares this text with the one in which `new` is written at these places.
    fn compare(&self, renamed: &SourceAnalysis, places: &[Span], new: &str) -> Result<(), String> {
        if renamed.errors().len() != self.errors().len() {
            let first = renamed.errors().iter().find(|error| !self.errors().contains(error));
            return Err(first.map_or_else(|| "an error would go away".to_owned(), |error| error.message.clone()));
        }
        let moved = Moved { places, length: new.len() };
        let (old, now) = (self.names(), renamed.names());
        let same_statements =
            old.statements().iter().map(|span| moved.span(*span)).eq(now.statements().iter().copied());
        let kinds = |of: &SourceAnalysis| -> Vec<SiteKind> {
            of.program().iter().flat_map(|program| program.sites.iter()).map(|site: &Site| site.kind).collect()
        };
        if !same_statements || kinds(self) != kinds(renamed) {
            return Err("the text would be read in another way".to_owned());
        }
        // Symbols are numbered by their first places, which renaming does not reorder.
        let places = |of: &super::NameTable, moved: &dyn Fn(Span) -> Span| -> Vec<(Span, usize)> {
            let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
            let mut number = |symbol: usize| {
                let next = numbers.len();
                *numbers.entry(symbol).or_insert(next)
            };
            of.occurrences().iter().map(|one| (moved(one.span), number(one.symbol))).collect()
        };
        if places(old, &|span| moved.span(span)) != places(now, &|span| span) {
            return Err("names would mean something else".to_owned());
        }
        Ok(())
    }
}

fn is_name(text: &str) -> Result<(), RenameError> {
    let mut bytes = text.bytes();
    let begins = bytes.next().is_some_and(|first| first == b'_' || first.is_ascii_alphabetic());
    if !begins || !bytes.all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()) {
        return Err(RenameError::NotAName(text.chars().take(60).collect()));
    }
    if is_reserved(text) { Err(RenameError::Reserved(text.to_owned())) } else { Ok(()) }
}

// The text with `new` at these places, which are sorted and apart.
fn replaced(text: &str, places: &[Span], new: &str) -> String {
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    for place in places {
        out += text.get(from..place.start as usize).unwrap_or_default();
        out += new;
        from = place.end as usize;
    }
    out + text.get(from..).unwrap_or_default()
}

// Where positions are after a renaming.
struct Moved<'p> {
    // Invariant: sorted, and of one length.
    places: &'p [Span],
    length: usize,
}

impl Moved<'_> {
    fn offset(&self, offset: u32, is_end: bool) -> u32 {
        let before =
            self.places.partition_point(|place| if is_end { place.end <= offset } else { place.start < offset });
        let old = self.places.first().map_or(0, |place| (place.end - place.start) as usize);
        let moved = offset as usize + before * self.length - before * old;
        u32::try_from(moved).unwrap_or(u32::MAX)
    }

    fn span(&self, span: Span) -> Span {
        Span { start: self.offset(span.start, false), end: self.offset(span.end, true) }
    }
}
