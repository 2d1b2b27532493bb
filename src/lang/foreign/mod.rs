//! Help for words of other languages. The author of a first model uses words of Java, Kotlin, Go, C++, JavaScript or
//! Dart. A table ([`FOREIGN`]) says what to write in a model instead, and `explain` adds this help to the errors that
//! such words cause.
//!
//! The parser and the checker do not know these words. They report an error, and the position of the error leads to the
//! word.

mod table;

pub use table::{FOREIGN, Foreign, Form};

use super::diagnostic::Diagnostic;
use super::library::library_at;
use super::words::ITEMS;
use std::collections::BTreeSet;

/// Adds the help of the table to each diagnostic that a foreign word has caused.
///
/// A word exactly at the error replaces existing help, because its help is more specific. A word near the error (the
/// object of a method, the word before, the first word of the statement) only adds help if there is none. Names that
/// the file declares are never foreign.
pub(super) fn explain(text: &str, diagnostics: &mut [Diagnostic]) {
    if diagnostics.is_empty() {
        return;
    }
    let declared = declared(text);
    // A library contains no foreign words.
    for diagnostic in diagnostics.iter_mut().filter(|one| library_at(one.span).is_none()) {
        let at = floor(text, diagnostic.span.start as usize);
        // For `x := 1` and `std::move` the error is at the word before the operator.
        let behind = &text[floor(text, diagnostic.span.end as usize)..];
        let behind = text.len() - behind.trim_start_matches(' ').len();
        // After "did you mean `names`?" a similar name of this file is more likely than a foreign word.
        let suggested =
            diagnostic.help.as_deref().and_then(|help| help.strip_prefix("did you mean `")?.strip_suffix("`?"));
        let own = suggested.is_some_and(|name| declared.contains(name));
        // The help "write `i += 1`" is more specific than the row of the table for `++`.
        let written = diagnostic.help.as_ref().is_some_and(|help| help.starts_with("write `"));
        let operator = || symbol_from(text, behind).filter(|_| !written);
        let row = match exactly(text, at, &declared).or_else(operator) {
            Some(row) if !own => Some(row),
            _ if diagnostic.help.is_none() => near(text, at, &declared),
            _ => None,
        };
        if let Some(row) = row {
            diagnostic.help = Some(row.here.to_owned());
        }
    }
}

// The names after the words that begin items: `task print() { }` declares `print`.
fn declared(text: &str) -> BTreeSet<&str> {
    let words: Vec<&str> = text.split(|c: char| !is_letter(c)).filter(|word| !word.is_empty()).collect();
    words.windows(2).filter(|pair| ITEMS.contains(&pair[0])).map(|pair| pair[1]).collect()
}

fn is_letter(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric()
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

// The word that begins here; may be empty.
fn word_from(text: &str, at: usize) -> &str {
    let rest = &text[at..];
    &rest[..rest.find(|c: char| !is_letter(c)).unwrap_or(rest.len())]
}

// The word that ends here, and its start.
fn word_before(text: &str, at: usize) -> (usize, &str) {
    let before = &text[..at];
    let start = before.rfind(|c: char| !is_letter(c)).map_or(0, |last| last + 1);
    // The last character that is not a letter can take more than one byte.
    let start = (start..=at).find(|at| text.is_char_boundary(*at)).unwrap_or(at);
    (start, &text[start..at])
}

fn row_of(form: Form, word: &str) -> Option<&'static Foreign> {
    FOREIGN.iter().find(|row| row.form == form && row.words.contains(&word))
}

// Finds the row of a word that the file does not declare. `starts` says whether the word begins a statement or an item,
// or is the object of a method.
fn word_row(word: &str, declared: &BTreeSet<&str>, starts: bool) -> Option<&'static Foreign> {
    let start = || row_of(Form::Start, word).filter(|_| starts);
    start().or_else(|| row_of(Form::Word, word)).filter(|_| !declared.contains(word))
}

/// Returns the row for a name that other languages give to an exception which operations of a model throw.
pub(super) fn thrown(word: &str) -> Option<&'static Foreign> {
    let exceptions = |row: &&Foreign| row.form == Form::Word && row.example.contains("catch {}");
    FOREIGN.iter().filter(exceptions).find(|row| row.words.contains(&word))
}

// The row of the longest operator that begins here.
fn symbol_from(text: &str, at: usize) -> Option<&'static Foreign> {
    let symbols = FOREIGN.iter().filter(|row| row.form == Form::Symbol);
    let symbols = symbols.flat_map(|row| row.words.iter().map(move |word| (row, *word)));
    symbols.filter(|(_, word)| text[at..].starts_with(word)).max_by_key(|(_, word)| word.len()).map(|(row, _)| row)
}

// The row of an operator that begins here or up to two characters before: for `!==` the parser reports the last
// character.
fn symbol_around(text: &str, at: usize) -> Option<&'static Foreign> {
    let ends_after = |start: usize| {
        let rows = FOREIGN.iter().filter(|row| row.form == Form::Symbol);
        let mut words = rows.flat_map(|row| row.words.iter().map(move |word| (row, *word)));
        words.find(|(_, word)| start + word.len() > at && text[start..].starts_with(word)).map(|(row, _)| row)
    };
    let before = (1..=2).rev().filter_map(|back| at.checked_sub(back)).filter(|start| text.is_char_boundary(*start));
    before.into_iter().find_map(ends_after).or_else(|| symbol_from(text, at))
}

// The row of the word or operator at the error.
fn exactly(text: &str, at: usize, declared: &BTreeSet<&str>) -> Option<&'static Foreign> {
    let word = word_from(text, at);
    if word.is_empty() {
        return symbol_around(text, at);
    }
    if word.starts_with(|c: char| c.is_ascii_digit()) {
        return row_of(Form::Unit, word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_'));
    }
    if text[..at].ends_with('.') {
        return row_of(Form::Method, word);
    }
    word_row(word, declared, first_word(text, at).0 == at)
}

// The row of a word near the error.
fn near(text: &str, at: usize, declared: &BTreeSet<&str>) -> Option<&'static Foreign> {
    // For example `Log.d` and `if not ok`.
    let before = || {
        let (start, word) = word_before(text, text[..at].trim_end_matches(['.', ' ', '!']).len());
        word_row(word, declared, first_word(text, at).0 == start)
    };
    let method = || {
        let (start, word) = word_before(text, text[..at].trim_end().len());
        row_of(Form::Method, word).filter(|_| text[..start].ends_with('.'))
    };
    // For example `synchronized(m) {`.
    let first = || word_row(first_word(text, at).1, declared, true);
    before().or_else(method).or_else(first)
}

// The first word of the statement or item around this place, on its line, and its start.
fn first_word(text: &str, at: usize) -> (usize, &str) {
    let start = text[..at].rfind(['\n', ';', '{', '}']).map_or(0, |last| last + 1);
    let start = text.len() - text[start..].trim_start().len();
    (start, word_from(text, start))
}

/// Returns the table as Markdown for the manual. `|` is escaped in the cells.
#[must_use]
pub fn page() -> String {
    let mut page = String::from("| elsewhere | in | in a model |\n|---|---|---|\n");
    for row in FOREIGN {
        let words: Vec<String> = row
            .words
            .iter()
            .map(|word| match row.form {
                Form::Method => format!("`.{word}()`"),
                Form::Unit => format!("`500{word}`"),
                Form::Start | Form::Word | Form::Symbol => format!("`{word}`"),
            })
            .collect();
        let cells = [words.join(", "), row.from.to_owned(), row.here.to_owned()].map(|cell| cell.replace('|', "\\|"));
        page += &format!("| {} |\n", cells.join(" | "));
    }
    page
}
