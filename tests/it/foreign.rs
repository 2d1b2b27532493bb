//! Tests of the words of other languages: each one is an error in a model, with the help of its table row. The page of
//! the manual is generated from the table.

use raceflip::lang::foreign::{FOREIGN, Foreign, page};
use raceflip::vm::Model;
use std::collections::BTreeSet;
use std::path::Path;

/// Declarations that the examples may use.
const DECLARED: &str = "\
class Node { var v = 0 }
var x = 0
var ok = false
var o: Node
var l: list[int]
atomic head: Node = null
lock m
condition c
semaphore s = 1
looper main
handler h on main
task f() { x = 1 }
";

fn text(row: &Foreign, word: &str) -> String {
    let example = row.example.replace("{}", word);
    match example.strip_prefix('^') {
        Some(item) => format!("{DECLARED}{item}\n"),
        None => format!("{DECLARED}thread t {{\n    {example}\n}}\n"),
    }
}

#[test]
fn each_word_is_explained() {
    let mut wrong = Vec::new();
    for row in FOREIGN {
        for word in row.words {
            let text = text(row, word);
            match Model::from_text("a.race", &text, &[]) {
                Ok(_) => wrong.push(format!("`{word}` is no error in: {text}")),
                Err(errors) => {
                    let errors = errors.to_string();
                    if !errors.contains(&format!("= help: {}\n", row.here)) {
                        wrong.push(format!("`{word}`, expected: {}\n{errors}", row.here));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} words:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn no_word_stands_twice_in_one_form() {
    let mut seen = BTreeSet::new();
    for row in FOREIGN {
        for word in row.words {
            assert!(seen.insert((format!("{:?}", row.form), *word)), "{word}");
        }
    }
}

/// A name that the model declares is never explained as a foreign word.
#[test]
fn names_of_the_model_are_not_explained() {
    let help = |text: &str| Model::from_text("a.race", text, &[]).unwrap_err().to_string();
    let errors = help("task print(n) { skip }\nthread t { print(y) }");
    assert!(errors.contains("unknown name `y`") && !errors.contains("help"), "{errors}");
    let errors = help("var sizes = 0\nthread t { size = 1 }");
    assert!(errors.contains("did you mean `sizes`?"), "{errors}");
    // In the place of a value, a word that begins statements in other languages is an ordinary name.
    let errors = help("var x = 0\nthread t { x = print }");
    assert!(errors.contains("unknown name `print`") && !errors.contains("help"), "{errors}");
}

#[test]
fn the_page_of_the_manual_is_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/other_languages.md");
    let now = std::fs::read_to_string(&path).unwrap_or_default();
    let head = now.find("| elsewhere |").map_or(now.as_str(), |at| &now[..at]);
    let wanted = format!("{head}{}", page());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    assert!(now == wanted, "BLESS=1 cargo test --test it the_page_of_the_manual");
}
