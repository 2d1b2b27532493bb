//! Tests of the names of all models of the repository: declarations and references belong together, and no name is
//! missed.

use crate::client::models;
use raceflip::lang::Source;
use raceflip::lang::ast::Span;
use raceflip::lang::editor::{SourceAnalysis, library_place};
use std::collections::BTreeSet;

/// All folders with models.
pub(crate) const FOLDERS: [&str; 8] = [
    "tests/models",
    "harnesses/bugs",
    "harnesses/calfuzzer",
    "harnesses/convul",
    "harnesses/papers",
    "harnesses/queue",
    "harnesses/racefuzzer",
    "harnesses/sctbench",
];

pub(crate) fn analysis(name: &str, text: &str) -> SourceAnalysis {
    SourceAnalysis::new(Source::new(name, text).unwrap())
}

fn text_of(analysis: &SourceAnalysis, span: Span) -> &str {
    &analysis.source().text()[span.start as usize..span.end as usize]
}

/// The text at each place is the name, the places of a symbol are those of its declaration, and each place finds
/// itself.
pub(crate) fn belong_together(path: &str, analysis: &SourceAnalysis) -> usize {
    let names = analysis.names();
    let mut last = None;
    for one in names.occurrences() {
        let symbol = &names.symbols()[one.symbol];
        assert_eq!(text_of(analysis, one.span), symbol.name, "{path}: {symbol:?}");
        assert!(last.is_none_or(|end| end <= one.span.start), "{path}: two names at {:?}", one.span);
        last = Some(one.span.end);
        for offset in one.span.start..=one.span.end {
            let found = names.at(offset).unwrap();
            // The next name may begin where this one ends.
            assert!(found == *one || found.span.start == offset, "{path}: {offset}");
        }
        let places: BTreeSet<Span> = names.of(one.symbol).collect();
        assert!(places.contains(&one.span), "{path}");
        // A reference is among the references of its declaration.
        let mut declared: Vec<Span> = names.definitions(one.span).collect();
        declared.push(symbol.definition);
        for declaration in declared {
            if library_place(declaration).is_none() {
                let of = names.at(declaration.start).filter(|found| found.span == declaration);
                assert_eq!(of.map(|of| of.symbol), Some(one.symbol), "{path}: `{}` at {:?}", symbol.name, one.span);
            }
        }
    }
    names.occurrences().len()
}

#[test]
fn declarations_and_references_belong_together() {
    let mut all = 0;
    for path in models(&FOLDERS) {
        let analysis = analysis(&path, &crate::client::read(&path));
        assert!(analysis.errors().is_empty(), "{path}");
        all += belong_together(&path, &analysis);
    }
    assert!(all > 10_000, "{all}");
}

/// The words of a text that are not reserved, outside of comments and texts, with their places.
fn words(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let length = rest.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if let Some(inside) = rest.strip_prefix('"') {
            let mut escaped = false;
            let end = inside.find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            at += end.map_or(rest.len(), |end| end + 2);
        } else if length > 0 {
            if !rest.starts_with(|c: char| c.is_ascii_digit()) {
                found.push((at, &rest[..length]));
            }
            at += length;
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    found
}

/// A word with the text of a symbol that occurs once as a declaration is one of its places, unless it is a word of the
/// language there. So no use is missed.
#[test]
fn no_place_is_missed() {
    let (mut missed, mut checked) = (Vec::new(), 0);
    for path in models(&FOLDERS) {
        let text = crate::client::read(&path);
        let analysis = analysis(&path, &text);
        let names = analysis.names();
        let known: BTreeSet<&str> = names.symbols().iter().map(|symbol| symbol.name.as_str()).collect();
        for (at, word) in words(&text) {
            let is_word = raceflip::lang::words::STATEMENTS.contains(&word)
                || raceflip::lang::words::ITEMS.contains(&word)
                || raceflip::lang::words::PARTICLES.contains(&word)
                || raceflip::lang::words::TYPES.contains(&word)
                || raceflip::lang::words::EXPECTATIONS.contains(&word)
                || raceflip::lang::words::is_verb_word(word);
            if !known.contains(word) || is_word {
                continue;
            }
            checked += 1;
            if names.at(at as u32).is_none_or(|found| found.span.start != at as u32) {
                let place = analysis.source().place(at as u32);
                missed.push(format!("{path}:{}:{}: {word}", place.line, place.column));
            }
        }
    }
    assert!(checked > 9_000, "{checked}");
    assert!(missed.is_empty(), "{} of {checked}:\n{}", missed.len(), missed.join("\n"));
}
