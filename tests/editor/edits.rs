//! Tests of diagnostics while a text is edited: they are those of `raceflip check` for the same text.

use crate::client::{Client, models, place, raceflip, read};
use crate::names::{analysis, belong_together};
use raceflip::base::Rng;
use raceflip::lang::{Source, render};
use raceflip::vm::{Model, ModelError};
use serde_json::{Value, json};

/// What is likely to cause trouble.
const TROUBLE: [&str; 26] = [
    "0",
    "-1",
    "null",
    "{",
    "}",
    "(",
    "\"",
    "@",
    "@a:",
    ".",
    ":",
    "=",
    "while",
    "thread t {",
    "expect",
    "\u{1f600}",
    "\n",
    "\r\n",
    "// \u{e9}\n",
    "post",
    "x",
    "var x = 0",
    "kind",
    "use android",
    "9223372036854775808",
    " ",
];

// A place that is the start of a character.
fn somewhere(rng: &mut Rng, text: &str) -> usize {
    text.floor_char_boundary(rng.below(text.len() as u32 + 1) as usize)
}

// Changes a text a little.
fn edit(rng: &mut Rng, text: &str) -> (usize, usize, String) {
    let start = somewhere(rng, text);
    let end =
        if rng.chance(50) { start } else { text.floor_char_boundary((start + rng.below(30) as usize).min(text.len())) };
    let new = if rng.chance(30) { String::new() } else { rng.pick(&TROUBLE).to_owned() };
    (start, end.max(start), new)
}

/// An error or warning: its line and column in characters, and its first line.
type Found = (String, u64, u64, String);

// What `raceflip check` prints about a text.
fn checked(path: &std::path::Path) -> Vec<Found> {
    let ran = raceflip().arg("check").arg(path).output().unwrap();
    let text = String::from_utf8(ran.stderr).unwrap();
    let (mut found, mut head): (Vec<Found>, Option<(&str, String)>) = (Vec::new(), None);
    for line in text.lines() {
        let word = ["error", "warning"].into_iter().find(|word| line.starts_with(&format!("{word}: ")));
        if let Some(word) = word {
            head = Some((word, line[word.len() + 2..].to_owned()));
        } else if let Some((_, place)) = line.split_once("--> ")
            && let Some((word, message)) = head.take()
        {
            let mut parts = place.rsplit(':');
            let column = parts.next().unwrap().parse().unwrap();
            found.push((word.to_owned(), parts.next().unwrap().parse().unwrap(), column, message));
        }
    }
    found
}

// The diagnostics of the server in the same form.
fn of_server(text: &str, diagnostics: &[Value]) -> Vec<Found> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let convert = |one: &Value| {
        let start = &one["range"]["start"];
        let line = start["line"].as_u64().unwrap();
        let written = text.split('\n').nth(line as usize).unwrap_or_default();
        let units = start["character"].as_u64().unwrap();
        let mut column = 1;
        let mut at = 0;
        for c in written.chars() {
            if at >= units {
                break;
            }
            at += c.len_utf16() as u64;
            column += 1;
        }
        let word = if one["severity"] == 1 { "error" } else { "warning" };
        let message = one["message"].as_str().unwrap().lines().next().unwrap().to_owned();
        (word.to_owned(), line + 1, column, message)
    };
    diagnostics.iter().map(convert).collect()
}

/// Texts with random edits, sent as ranges: what the server reports is what the command prints.
#[test]
fn diagnostics_are_those_of_check() {
    let mut client = Client::start();
    let mut rng = Rng::seeded(5);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("edited.race");
    let all = models(&["tests/models", "harnesses/bugs"]);
    let (mut clean, mut wrong) = (0, 0);
    for case in 0..30 {
        let uri = format!("file:///edited{case}.race");
        let mut text = read(&all[rng.below(all.len() as u32) as usize]);
        client.open(&uri, &text);
        for version in 2..5 {
            let mut changes = Vec::new();
            for _ in 0..=rng.below(3) {
                let (start, end, new) = edit(&mut rng, &text);
                let [from, to] = [start, end].map(|at| {
                    let (line, character) = place(&text, at);
                    json!({ "line": line, "character": character })
                });
                text.replace_range(start..end, &new);
                changes.push(json!({ "range": { "start": from, "end": to }, "text": new }));
                // Places are counted here for line ends of one kind.
                if text.contains('\r') {
                    text = text.replace("\r\n", "\n").replace('\r', "\n");
                    changes.push(json!({ "text": text }));
                }
            }
            client.edit(&uri, version, Value::Array(changes));
            std::fs::write(&file, &text).unwrap();
            let expected = checked(&file);
            if expected.is_empty() {
                clean += 1
            } else {
                wrong += 1
            }
            client.diagnostics(&uri, version, |found| of_server(&text, found) == expected);
        }
        client.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
    }
    assert!(clean > 2 && wrong > 10, "{clean} {wrong}");
    client.finish();
}

/// The library agrees with itself on many more texts: the errors of an analysis are those of a model, and its names
/// belong together, whatever does not parse.
#[test]
fn analyses_of_broken_texts_are_sound() {
    let mut rng = Rng::seeded(17);
    let all = models(&["tests/models", "harnesses/bugs", "harnesses/papers"]);
    let (mut clean, mut wrong, mut names) = (0, 0, 0);
    for _ in 0..400 {
        let mut text = read(&all[rng.below(all.len() as u32) as usize]);
        for _ in 0..=rng.below(4) {
            let (start, end, new) = edit(&mut rng, &text);
            text.replace_range(start..end, &new);
        }
        let source = Source::new("a.race", &text).unwrap();
        let analysis = analysis("a.race", &text);
        match Model::from_source(source.clone(), &[]) {
            Ok(_) | Err(ModelError::Compile(..)) => {
                assert!(analysis.errors().is_empty(), "{text}");
                clean += 1;
            }
            Err(ModelError::Errors(_, errors)) => {
                let [own, theirs] =
                    [analysis.errors(), &errors.diagnostics].map(|errors| render(&source, errors, false));
                assert_eq!(own, theirs, "{text}");
                wrong += 1;
            }
            Err(error) => panic!("{error}"),
        }
        names += belong_together("edited", &analysis);
        // Questions about any place have an answer, or none.
        for _ in 0..20 {
            let offset = rng.below(text.len() as u32 + 3);
            let (word, _) = analysis.complete(offset);
            assert!(word.start <= word.end);
            let _ = analysis.hover(offset);
            let _ = analysis.renamed_at(offset);
        }
        for item in analysis.outline() {
            assert!(item.span.start <= item.selection.start && item.selection.end <= item.span.end, "{item:?}");
        }
    }
    assert!(clean > 40 && wrong > 100 && names > 5_000, "{clean} {wrong} {names}");
}

#[test]
fn places_are_counted_in_utf16() {
    let mut client = Client::start();
    let uri = "file:///utf16.race";
    // The emoji has two units, and the letter with an accent one.
    client.open(uri, "thread t { assert true, \"\u{1f600}\u{e9}\"; y = 1 }\r\nthread u { z = 1 }");
    let found = client.diagnostics(uri, 1, |found| found.len() == 2);
    assert_eq!(
        found[0]["range"],
        json!({ "start": { "line": 0, "character": 31 }, "end": { "line": 0, "character": 32 } })
    );
    assert_eq!(found[1]["range"]["start"], json!({ "line": 1, "character": 11 }));
    assert_eq!(found[0]["message"], "unknown name `y`\nthis name is not declared");
    client.finish();
}

#[test]
fn notes_and_warnings_have_their_places() {
    let mut client = Client::start();
    let uri = "file:///notes.race";
    client.open(uri, "lock l\nlock l\nthread t { skip }");
    let found = client.diagnostics(uri, 1, |found| found.len() == 1);
    let note = &found[0]["relatedInformation"][0];
    assert_eq!(
        (note["message"].as_str(), &note["location"]["range"]["start"]["line"]),
        (Some("first declared here"), &json!(0))
    );
    assert!(found[0]["message"].as_str().unwrap().contains("\nhelp: top-level names share one namespace"), "{found:?}");
    client.set(uri, 2, "lock l\nthread t { skip }");
    let found = client.diagnostics(uri, 2, |found| found.len() == 1);
    assert_eq!((&found[0]["severity"], &found[0]["code"]), (&json!(2), &json!("unused")));
    client.set(uri, 3, "thread t { skip }");
    client.diagnostics(uri, 3, |found| found.is_empty());
    client.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
    client.wait(|message| {
        message["method"] == "textDocument/publishDiagnostics" && message["params"]["version"].is_null()
    });
    client.finish();
}

#[test]
fn formatting_is_that_of_fmt() {
    let mut client = Client::start();
    let mut rng = Rng::seeded(2);
    for (i, path) in models(&["tests/models", "harnesses/bugs"]).into_iter().enumerate().filter(|(i, _)| i % 9 == 0) {
        let mut text = read(&path);
        // Blanks are changed at the ends of lines, where they mean nothing.
        for _ in 0..8 {
            let lines: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
            let at = rng.pick(&lines);
            text.insert_str(at + 1, rng.pick(&["   ", "\t", "\n", "\n\n"]));
        }
        let expected = raceflip::lang::format(&Source::new("a.race", &text).unwrap()).unwrap();
        for (end, text) in [("lf", text.clone()), ("crlf", text.replace('\n', "\r\n"))] {
            let uri = format!("file:///{i}{end}.race");
            client.open(&uri, &text);
            let options = json!({ "tabSize": 4, "insertSpaces": true });
            let edits = client
                .request("textDocument/formatting", json!({ "textDocument": { "uri": uri }, "options": options }));
            let plain = text.replace("\r\n", "\n");
            assert_eq!(crate::client::applied(&plain, &edits.unwrap()), expected, "{path}");
        }
    }
    client.open("file:///broken.race", "thread {");
    let params =
        json!({ "textDocument": { "uri": "file:///broken.race" }, "options": { "tabSize": 4, "insertSpaces": true } });
    assert_eq!(client.request("textDocument/formatting", params), Ok(Value::Null), "a text that does not parse stays");
    client.finish();
}
