//! Tests of layout: formatting is idempotent, the model stays the same, and no comment is lost or moved.

use crate::load::models;
use proptest::prelude::*;
use raceflip::lang::ast::Span;
use raceflip::lang::{Source, check, comments, format, parse, print};
use raceflip::vm::compile;
use std::path::PathBuf;

fn source(text: &str) -> Source {
    Source::new("m.race", text).expect("a readable source")
}

fn laid_out(text: &str) -> String {
    format(&source(text)).unwrap_or_else(|e| panic!("{e:?}\n{text}"))
}

fn sources() -> Vec<(PathBuf, Source)> {
    let paths = models("harnesses").into_iter().chain(models("tests/models"));
    let read = |p: PathBuf| {
        let bytes = std::fs::read(&p).expect("a readable model");
        let source = Source::from_bytes(p.display().to_string(), &bytes).expect("a readable source");
        (p, source)
    };
    paths.map(read).collect()
}

/// Returns the comments, each with the number of characters before it that are neither white space nor comments, which
/// gives its place in any layout.
fn placed_comments(source: &Source) -> Vec<(usize, String)> {
    let text = source.text();
    let mut bare = 0;
    let mut end = 0;
    let mut all = Vec::new();
    for Span { start, end: to } in comments(source) {
        bare += text[end..start as usize].chars().filter(|c| !c.is_whitespace()).count();
        end = to as usize;
        all.push((bare, text[start as usize..end].trim_end().to_owned()));
    }
    all
}

/// Asserts the properties that hold for every text that parses.
fn holds(source: &Source) {
    let name = source.name();
    let once = format(source).unwrap_or_else(|e| panic!("{name}: {e:?}"));
    let after = Source::new(name, &once).expect("a readable source");
    let twice = format(&after).unwrap_or_else(|e| panic!("{name}: {e:?}\n{once}"));
    assert_eq!(once, twice, "{name}");
    assert_eq!(parse(source).expect("it parses"), parse(&after).expect("it parses"), "{name}");
    assert_eq!(placed_comments(source), placed_comments(&after), "{name}");
    let bare = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    assert_eq!(bare(source.text()), bare(&once), "{name}");
    let untidy = once.lines().find(|l| l.ends_with(' ') || l.contains('\t') && !l.contains("//") && !l.contains('"'));
    assert!(untidy.is_none() && !once.contains("\n\n\n") && !once.ends_with("\n\n"), "{name}: {untidy:?}\n{once}");
    assert!(once.is_empty() || once.ends_with('\n'), "{name}");
}

fn digest(source: &Source) -> Option<u128> {
    let program = check(&parse(source).ok()?, source, &[]).ok()?;
    Some(compile(&program).ok()?.digest())
}

#[test]
fn layout_changes_nothing_but_layout() {
    let mut digests = 0;
    for (_, source) in sources() {
        holds(&source);
        let after = Source::new(source.name(), &format(&source).expect("it parses")).expect("a readable source");
        assert_eq!(digest(&source), digest(&after), "{}", source.name());
        digests += usize::from(digest(&source).is_some());
        // The printer's own layout leaves nothing to format, so printer and formatter must agree.
        let printed = print(&parse(&source).expect("it parses"));
        assert_eq!(format(&self::source(&printed)).expect("it parses"), printed, "{}", source.name());
    }
    assert!(digests > 200, "{digests}");
}

#[test]
fn a_tab_in_a_string_takes_its_columns() {
    holds(&source("app \"a\tb\"        // here\nvar x = \"\t\t\"  // and here\n"));
    let app = source("app \"a,  \tb\"   // one\n               // two\nvar x = 0\n");
    holds(&app);
}

/// Returns where tokens begin and end, computed without the lexer.
fn boundaries(text: &str) -> Vec<usize> {
    let mut found = vec![0];
    let mut chars = text.char_indices().peekable();
    while let Some((_, c)) = chars.next() {
        if c == '"' {
            let mut escaped = false;
            for (_, c) in chars.by_ref() {
                if c == '"' && !escaped {
                    break;
                }
                escaped = c == '\\' && !escaped;
            }
        } else if c.is_alphanumeric() || c == '_' {
            while chars.next_if(|(_, c)| c.is_alphanumeric() || *c == '_').is_some() {}
        }
        found.push(chars.peek().map_or(text.len(), |(at, _)| *at));
    }
    found
}

/// A comment is inserted at every boundary of tokens, one at a time. Where the text still parses, the comment keeps its
/// place.
#[test]
fn a_comment_may_stand_anywhere() {
    let mut inserted = 0;
    for name in ["qsort_mt", "cafa_fig1", "music_player", "AB29", "moldyn", "pct_deadlock"] {
        let path = format!("{}/tests/models/{name}.race", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).expect("a readable model");
        let without: String = text.lines().map(|l| format!("{}\n", l.split("//").next().unwrap_or(l))).collect();
        for at in boundaries(&without) {
            let with = format!("{}// here, {at}\n{}", &without[..at], &without[at..]);
            if parse(&source(&with)).is_ok() {
                holds(&source(&with));
                inserted += 1;
            }
        }
    }
    assert!(inserted > 1_500, "{inserted}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Texts with random white space, and with comments in many places at once, can be formatted.
    #[test]
    fn any_layout_is_laid_out(seed in any::<prop::sample::Index>(), noise in prop::collection::vec(0..14usize, 1..60)) {
        let all = sources();
        let text = all[seed.index(all.len())].1.text();
        let mut messy = String::new();
        for (i, part) in text.split_inclusive([' ', '\n']).enumerate() {
            messy.push_str(part);
            // More white space is harmless wherever there is some; a comment may be inserted only at the end of a line.
            messy.push_str(match (noise[i % noise.len()], part.ends_with('\n')) {
                (0, _) => "  ",
                (1, _) => "\t",
                (2, true) => "\n\n\n",
                (3, true) => "// own line\n",
                (4, true) => "      //indented   \n",
                (5, true) => "\r\n",
                _ => "",
            });
        }
        if parse(&source(&messy)).is_ok() {
            holds(&source(&messy));
        }
    }
}

#[test]
fn layouts() {
    let check = |text: &str, expected: &str| assert_eq!(laid_out(text), expected);
    check("", "");
    check("\n\n// only\n\n\n// this\n\n", "// only\n\n// this\n");
    check("var  x=-1\nvar y = x-1", "var x = -1\nvar y = x - 1\n");
    check("thread a{\nx+=1;y=  [1,2]\n\n}", "thread a {\n    x += 1; y = [1, 2]\n}\n");
    check(
        "thread a {\n\n\nif x==1{skip}\nelse{yield}\n}",
        "thread a {\n    if x == 1 { skip }\n    else { yield }\n}\n",
    );
    check("thread a { sync m {\nskip\n} }", "thread a { sync m {\n    skip\n} }\n");
    check("thread a { @ s :x=f( 1,-2 ) }", "thread a { @s: x = f(1, -2) }\n");
    check("task f(): int { return -x - -1 }", "task f(): int { return -x - -1 }\n");
    check(
        "thread a { sleep (5) ; for i in 0 .. N { b[ i ] = !c } }",
        "thread a { sleep (5); for i in 0..N { b[i] = !c } }\n",
    );
    // A statement may continue on the next line, even below a comment, or in parentheses.
    check(
        "expect outcomes: ok,\n// or\nstuck\nvar x = 1 +\n2",
        "expect outcomes: ok,\n    // or\n    stuck\nvar x = 1 +\n    2\n",
    );
    check("thread a {\nf(1,\n2\n)\n}", "thread a {\n    f(1,\n        2\n    )\n}\n");
    // A comment before a closing brace belongs inside the block.
    check("thread a {\nskip\n// end\n}", "thread a {\n    skip\n    // end\n}\n");
    // The columns of comments are kept, moved together, and followed by continuation comments below.
    check("const A = 0     // a\nconst B  = 1    // b", "const A = 0     // a\nconst B = 1     // b\n");
    check("var x=1// a\nvar y=x+1// b", "var x = 1 // a\nvar y = x + 1 // b\n");
    check("var x=1  // a\nvar yy=2 // b\n         // more", "var x = 1  // a\nvar yy = 2 // b\n           // more\n");
}

#[test]
fn what_does_not_parse_is_not_laid_out() {
    assert!(format(&source("thread a {")).is_err());
}
