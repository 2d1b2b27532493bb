//! Tests of `docs/race.tmLanguage.json`: it contains exactly the words of the language, and its patterns compile and
//! color lines as they should.

use crate::language::REFERENCE;
use crate::support::read;
use fancy_regex::Regex;
use raceflip::lang::ast::{AccessSelector, LockKind, Storage, SyncMode, Verb};
use raceflip::lang::words::{EXPECTATIONS, ITEMS, PARTICLES, RESERVED, STATEMENTS, TYPES};
use std::collections::BTreeSet;

/// Returns the words of the language, from the tables that the parser and the printer use.
fn language() -> BTreeSet<String> {
    let lists: [&[&str]; 6] = [&RESERVED, &ITEMS, &STATEMENTS, &EXPECTATIONS, &PARTICLES, &TYPES];
    let mut all: BTreeSet<String> = lists.concat().into_iter().map(str::to_owned).collect();
    all.extend(Verb::WORDS.iter().map(|(w, _)| (*w).to_owned()));
    all.extend(LockKind::WORDS.iter().map(|(w, _)| (*w).to_owned()));
    all.extend(Storage::WORDS.iter().map(|(w, _)| (*w).to_owned()));
    all.extend(SyncMode::WORDS.iter().map(|(w, _)| (*w).to_owned()));
    // `spawn` is the only operation that no statement begins with.
    all.insert("spawn".to_owned());
    all.extend(AccessSelector::WORDS.iter().map(|(w, _)| (*w).to_owned()));
    all
}

struct Rule {
    pattern: String,
    regex: Regex,
    scope: Option<String>,
    captures: Vec<(usize, String)>,
}

/// Returns the rules in the order of the file. If several rules match at one place, an editor takes the first.
fn rules() -> Vec<Rule> {
    let grammar: serde_json::Value = serde_json::from_str(&read("docs/race.tmLanguage.json")).expect("JSON");
    assert_eq!((&grammar["scopeName"], &grammar["fileTypes"][0]), (&"source.race".into(), &"race".into()));
    let repository = grammar["repository"].as_object().expect("rules");
    let included: Vec<&str> = grammar["patterns"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|p| p["include"].as_str().and_then(|i| i.strip_prefix('#')).expect("a name"))
        .collect();
    assert_eq!(included.iter().collect::<BTreeSet<_>>().len(), repository.len(), "a rule is left out, or twice in");
    let rule = |name: &str| {
        let rule = &repository[name];
        let pattern = rule["match"].as_str().expect("a pattern").to_owned();
        let regex = Regex::new(&pattern).unwrap_or_else(|e| panic!("{name}: {e}"));
        let captures = rule["captures"].as_object().into_iter().flatten();
        let captures = captures
            .map(|(n, c)| (n.parse().expect("a number"), c["name"].as_str().expect("a scope").to_owned()))
            .collect();
        Rule { pattern, regex, scope: rule["name"].as_str().map(str::to_owned), captures }
    };
    included.into_iter().map(rule).collect()
}

/// Returns the words that a pattern spells out.
fn words(pattern: &str) -> Vec<String> {
    let syntax = Regex::new(r"\\.|\[[^\]]*\]").expect("a pattern");
    let bare = syntax.replace_all(pattern, " ");
    let words = bare.split(|c: char| !c.is_ascii_alphabetic() && c != '_').filter(|w| w.len() > 1);
    words.map(str::to_owned).collect()
}

#[test]
fn the_words_of_the_grammar_are_those_of_the_language() {
    let coloured: BTreeSet<String> = rules().iter().flat_map(|r| words(&r.pattern)).collect();
    let language = language();
    let missing: Vec<_> = language.difference(&coloured).collect();
    let foreign: Vec<_> = coloured.difference(&language).collect();
    assert!(missing.is_empty() && foreign.is_empty(), "not coloured: {missing:?}; not of the language: {foreign:?}");
}

/// The tables of words match the grammar in the language reference, which quotes each word.
#[test]
fn the_words_of_the_language_are_those_of_its_reference() {
    let reference = REFERENCE.map(read).concat();
    let grammar = reference.split("## The grammar").nth(1).and_then(|t| t.split("```").nth(1)).expect("the grammar");
    let quoted = Regex::new("\"([a-z_]{2,})\"").expect("a pattern");
    let mut there: BTreeSet<String> =
        quoted.captures_iter(grammar).map(|c| c.expect("no limit")[1].to_owned()).collect();
    // The grammar treats types as names, so they occur only in the text; `this` belongs to components.
    let types = TYPES.iter().filter(|t| reference.contains(&format!("`{t}`"))).map(|t| (*t).to_owned());
    there.extend(types.chain(["this".to_owned()]));
    let (language, none) = (language(), BTreeSet::new());
    let differ: BTreeSet<&String> = language.symmetric_difference(&there).collect();
    assert_eq!(differ, none);
}

/// Splits a line as an editor does; returns each colored text with the first two parts of its scope.
fn tokens<'l>(rules: &[Rule], line: &'l str) -> Vec<(&'l str, String)> {
    let (mut at, mut found) = (0, Vec::new());
    while at < line.len() {
        let all = rules.iter().filter_map(|r| Some((r, r.regex.captures_from_pos(line, at).expect("no limit")?)));
        // `min_by_key` returns the first of equal elements, so the order of the rules counts.
        let Some((rule, hit)) = all.min_by_key(|(_, c)| c.get(0).expect("a match").start()) else { break };
        let whole = hit.get(0).expect("a match");
        assert!(whole.end() > whole.start(), "{} matches nothing", rule.pattern);
        let short = |scope: &str| scope.split('.').take(2).collect::<Vec<_>>().join(".");
        if let Some(scope) = &rule.scope {
            found.push((whole.as_str().trim(), short(scope)));
        }
        for (n, scope) in &rule.captures {
            if let Some(part) = hit.get(*n) {
                found.push((&line[part.start()..part.end()], short(scope)));
            }
        }
        at = whole.end();
    }
    found
}

#[test]
fn lines_are_coloured() {
    let rules = rules();
    let check = |line: &str, expected: &[(&str, &str)]| {
        let found = tokens(&rules, line);
        let found: Vec<(&str, &str)> = found.iter().map(|(t, s)| (*t, s.as_str())).collect();
        assert_eq!(found, expected, "{line}");
    };
    let (control, other, item) = ("keyword.control", "keyword.other", "storage.type");
    let (name, operator, number) = ("entity.name", "keyword.operator", "constant.numeric");
    check("task load() { // if", &[("task", item), ("load", name), ("// if", "comment.line")]);
    check(
        "    @check: assert !closed, \"a \\\" task\"",
        &[("@check", name), ("assert", control), ("!", operator), ("\"a \\\" task\"", "string.quoted")],
    );
    check(
        "post open() to main after 0x2a",
        &[("post", other), ("open", name), ("to", other), ("after", other), ("0x2a", number)],
    );
    check("const FIXED = 0", &[("const", item), ("=", operator), ("0", number)]);
    check(
        "var x: list[int] = null",
        &[("var", item), ("list", item), ("int", item), ("=", operator), ("null", "constant.language")],
    );
    check(
        "expect no race @a.read ~ @b: real, harmful if A == 0",
        &[
            ("expect", other),
            ("no", other),
            ("race", other),
            ("@a", name),
            ("read", other),
            ("~", operator),
            ("@b", name),
            ("real", other),
            ("harmful", other),
            ("if", control),
            ("==", operator),
            ("0", number),
        ],
    );
    check(
        "expect outcomes: ok, deadlock",
        &[("expect", other), ("outcomes", other), ("ok", other), ("deadlock", other)],
    );
    // Words of the language are names in these lines.
    check("post = lift + 1", &[("=", operator), ("+", operator), ("1", number)]);
    check("o.use = x", &[("=", operator)]);
    check("sync m { skip }", &[("sync", control), ("skip", other)]);
    check(
        "for i in 0..N { up s }",
        &[("for", control), ("in", control), ("0", number), ("..", operator), ("up", other)],
    );
}

/// The grammar colors exactly the comments that the lexer finds in real models.
#[test]
fn comments_of_the_harnesses_are_comments() {
    let rules = rules();
    let mut comments = 0;
    for path in crate::load::models("harnesses").iter().step_by(4) {
        let text = std::fs::read_to_string(path).expect("a readable model");
        let source = raceflip::lang::Source::new("m.race", &text).expect("a readable source");
        let lexed: Vec<String> = raceflip::lang::comments(&source)
            .iter()
            .map(|s| source.text()[s.start as usize..s.end as usize].trim().to_owned())
            .collect();
        let coloured: Vec<String> = source
            .text()
            .lines()
            .flat_map(|l| tokens(&rules, l))
            .filter(|(_, scope)| scope == "comment.line")
            .map(|(t, _)| t.to_owned())
            .collect();
        assert_eq!(coloured, lexed, "{}", path.display());
        comments += lexed.len();
    }
    assert!(comments > 200, "{comments}");
}
