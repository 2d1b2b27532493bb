//! The libraries that ship inside the program: texts of the model language with kinds of components, classes and tasks.
//! `use name` brings one in. A new library is a file and a row in [`LIBRARIES`].
//!
//! The spans of a library's text lie above those of every file, so that a span says which text it is in.

use super::ast::Span;
use super::lexer::lex;
use super::source::{MAX_SOURCE, Source};
use super::token::{Token, TokenKind};
use super::words::{is_item_word, is_verb_word};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The libraries: name and text.
const LIBRARIES: [(&str, &str); 2] =
    [("android", include_str!("library/android.race")), ("coroutines", include_str!("library/coroutines.race"))];

// The offset of the first library, and the distance between two. A text has at most `MAX_SOURCE` bytes.
const FIRST: u32 = 1 << 24;
const DISTANCE: u32 = 2 * MAX_SOURCE as u32;

/// A library.
#[derive(Clone, Copy, Debug)]
pub(super) struct Library {
    /// The name after `use`.
    pub(super) name: &'static str,
    /// The text.
    pub(super) text: &'static str,
    /// The offset at which the spans of the text begin.
    pub(super) base: u32,
}

/// Returns all libraries.
pub(super) fn libraries() -> impl Iterator<Item = Library> {
    (FIRST..).step_by(DISTANCE as usize).zip(LIBRARIES).map(|(base, (name, text))| Library { name, text, base })
}

/// Returns the library with this name.
pub(super) fn library(name: &str) -> Option<Library> {
    libraries().find(|library| library.name == name)
}

/// Returns the full names of the constants of a library.
pub(super) fn settings(name: &str) -> Vec<String> {
    let Some(library) = library(name) else { return Vec::new() };
    let pairs = word_pairs(library.text, &lex(library.text).tokens, 0);
    let constants = pairs.into_iter().filter(|(at, pair)| at.outside && pair[0] == "const");
    constants.map(|(_, [_, constant])| qualified(name, constant)).collect()
}

/// Returns the full name of an item of a library.
pub(super) fn qualified(library: &str, name: &str) -> String {
    format!("{library}.{name}")
}

/// Returns the library that a span is in, and the span in its text. Returns `None` for a span in the user's file.
pub(super) fn library_at(span: Span) -> Option<(Library, Span)> {
    let library = libraries().filter(|library| library.base <= span.start).last()?;
    let inside = Span { start: span.start - library.base, end: span.end.saturating_sub(library.base) };
    Some((library, inside))
}

/// Returns the text at a span in a library. Returns `None` for a span in the user's file.
pub(crate) fn library_text(span: Span) -> Option<&'static str> {
    let (library, inside) = library_at(span)?;
    library.text.get(inside.start as usize..inside.end as usize)
}

/// Returns the text that a span is in, and the span in it: that of a library, or `source`.
pub(super) fn text_at(source: &Source, span: Span) -> (Cow<'_, Source>, Span) {
    match library_at(span) {
        Some((library, inside)) => match Source::new(format!("library {}", library.name), library.text) {
            Ok(source) => (Cow::Owned(source), inside),
            Err(_) => (Cow::Borrowed(source), span),
        },
        None => (Cow::Borrowed(source), span),
    }
}

/// Returns the library that has a kind of this name.
pub(super) fn library_of_kind(kind: &str) -> Option<&'static str> {
    WORDS.iter().find(|(_, words)| words.kinds.contains(kind)).map(|(name, _)| *name)
}

/// Returns the kinds of all libraries.
pub(super) fn library_kinds() -> impl Iterator<Item = &'static str> {
    WORDS.iter().flat_map(|(_, words)| words.kinds.iter().copied())
}

static WORDS: LazyLock<Vec<(&str, ComponentWords<'static>)>> = LazyLock::new(|| {
    let words = |text| ComponentWords::declared(&word_pairs(text, &lex(text).tokens, 0));
    libraries().map(|library| (library.name, words(library.text))).collect()
});

/// The names that begin components and statements of verbs.
#[derive(Clone, Default, Debug)]
pub(super) struct ComponentWords<'t> {
    /// The names of kinds, which begin components.
    pub(super) kinds: BTreeSet<&'t str>,
    /// The verbs of the kinds, which begin statements.
    pub(super) verbs: BTreeSet<&'t str>,
}

impl<'t> ComponentWords<'t> {
    // The words that a text with these pairs of words declares.
    fn declared(pairs: &[WordPair<'t>]) -> Self {
        let mut words = Self::default();
        for (at, pair) in pairs {
            match *pair {
                // The checker refuses other names, and the words keep their own meaning.
                ["kind", name] if at.outside && !is_item_word(name) => words.kinds.insert(name),
                ["verb", name] if !at.outside && !is_verb_word(name) => words.verbs.insert(name),
                _ => false,
            };
        }
        words
    }

    /// Returns the words that begin components and verbs in a text: its own kinds and verbs, the kinds of all
    /// libraries, and the verbs of those libraries that it uses. A text without components and kinds has no verbs. The
    /// tokens are those of the text, with offsets from `base`.
    pub(super) fn of(text: &'t str, tokens: &[Token], base: u32) -> Self {
        let pairs = word_pairs(text, tokens, base);
        let mut words = Self::declared(&pairs);
        let begin = || pairs.iter().filter(|(at, _)| at.begins);
        // Most files have no components. For them the texts of the libraries need not be read.
        let may_be_kind = |word: &str| !is_item_word(word) && !is_verb_word(word);
        let is_kind = |word: &str| may_be_kind(word) && library_kinds().any(|kind| kind == word);
        if !begin().any(|(_, [word, _])| matches!(*word, "use" | "kind") || is_kind(word)) {
            words.verbs.clear();
            return words;
        }
        for kind in library_kinds() {
            words.kinds.insert(kind);
        }
        let items = || begin().filter(|(at, _)| at.outside).map(|(_, pair)| pair);
        if !items().any(|[word, _]| matches!(*word, "use" | "kind") || words.kinds.contains(word)) {
            words.verbs.clear();
        }
        for (library, of_library) in WORDS.iter() {
            // A kind of the file's own does not say whether a verb of a library was meant, so all of them count.
            let counts = |[word, name]: &[&str; 2]| match *word {
                "use" => name == library,
                word => word == "kind" || of_library.kinds.contains(word),
            };
            if items().any(counts) {
                words.verbs.extend(&of_library.verbs);
            }
        }
        words
    }
}

struct PairPlace {
    // Whether the words stand outside all braces.
    outside: bool,
    // Whether an item can begin with the first word: it begins a line, or follows another item.
    begins: bool,
}

type WordPair<'t> = (PairPlace, [&'t str; 2]);

// The pairs of words that stand next to each other on one line.
fn word_pairs<'t>(text: &'t str, tokens: &[Token], base: u32) -> Vec<WordPair<'t>> {
    let (mut depth, mut pairs) = (0u32, Vec::new());
    let word = |span: Span| &text[(span.start - base) as usize..(span.end - base) as usize];
    for (i, two) in tokens.windows(2).enumerate() {
        match two[0].kind {
            TokenKind::LeftBrace => depth += 1,
            TokenKind::RightBrace => depth = depth.saturating_sub(1),
            TokenKind::Word if two[1].kind == TokenKind::Word && !two[1].first => {
                let after = i.checked_sub(1).map(|before| tokens[before].kind);
                let begins = two[0].first || matches!(after, None | Some(TokenKind::Semi | TokenKind::RightBrace));
                pairs.push((PairPlace { outside: depth == 0, begins }, [word(two[0].span), word(two[1].span)]));
            }
            _ => {}
        }
    }
    pairs
}
