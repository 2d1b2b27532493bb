//! Tests of hovers, outlines, definitions and references, as a client asks for them.

use crate::client::{Client, marked, place, read};
use crate::names::analysis;
use serde_json::{Value, json};

/// Returns what is shown at the mark: the code, and the lines.
fn hover(text: &str) -> (String, String) {
    let (plain, at) = marked(text);
    let hover = analysis("a.race", &plain).hover(at as u32).unwrap_or_else(|| panic!("nothing is shown: {text}"));
    (hover.code, hover.lines.join("\n"))
}

#[test]
fn names_have_their_declarations() {
    let check =
        |text: &str, code: &str, lines: &str| assert_eq!(hover(text), (code.to_owned(), lines.to_owned()), "{text}");
    check("var x = 0\nthread t { |x = 1 }", "var x: int", "a variable");
    check("atomic x = true\nthread t { x| = false }", "atomic x: bool", "an atomic variable");
    check("const N = 2 + 3\nvar a: int[|N]", "const N: int = 5", "a constant");
    check("class A { var next: A }\nvar a: A\nthread t { a.n|ext = null }", "A.next: A", "a field");
    check(
        "class A { var next: A; var n = 1 }\nvar a: |A\nthread t { a = null }",
        "class A { next: A; n: int }",
        "a class",
    );
    check(
        "task f(a: int, b: bool): int { return 1 }\nthread t { let y = f|(1, true) }",
        "task f(a: int, b: bool): int",
        "a task",
    );
    check("thread t { let y = true; assert |y }", "y: bool", "a local");
    check("lock l\nthread t { sync |l { skip } }", "l: lock", "a lock");
    check("lock l[4]\nthread t { sync |l[0] { skip } }", "l: lock[4]", "a lock");
}

#[test]
fn labels_tell_what_they_select() {
    let text = "var x = 0\nvar y = 0\ntask f() { y = 1 }\nthread t { @a: x += 1; @b: f(); @c: let z = 1 }\nexpect race @|a ~ @a";
    let (code, lines) = hover(text);
    assert_eq!(code, "@a");
    assert_eq!(lines, "a label\nit selects 2 steps:\n- read `x` (4:16)\n- write `x` (4:16)");
    let (_, lines) = hover(&text.replace("@|a", "@a").replace("@b", "@|b"));
    assert_eq!(lines, "a label\nit selects 1 step:\n- write `y` (3:12)");
    let (_, lines) = hover(&text.replace("@|a", "@a").replace("@c", "@|c"));
    assert_eq!(lines, "a label\nit selects no step");
}

#[test]
fn statements_tell_their_steps() {
    let (code, lines) = hover("var x = 0\nlock l\nthread t { x |=   x + 1 }");
    assert_eq!(code, "x = x + 1");
    assert_eq!(lines, "the statement performs 2 steps:\n- read `x` (3:18)\n- write `x` (3:12)");
    let (_, lines) = hover("thread t { as|sert true }");
    assert_eq!(lines, "no step of its own\nit can fail, or calls what can fail");
}

// The lines of locations.
fn lines(locations: &Value) -> Vec<u64> {
    locations.as_array().unwrap().iter().map(|one| one["range"]["start"]["line"].as_u64().unwrap()).collect()
}

#[test]
fn a_client_finds_declarations_and_references() {
    let mut client = Client::start();
    let (text, at) = marked("var x = 0\nthread t { x = 1 }\n// x\nthread u { @a: |x = 2 }\nexpect race @a of x ~ @a\n");
    let uri = "file:///d.race";
    client.open(uri, &text);
    let found = client.at("textDocument/definition", uri, place(&text, at)).unwrap();
    assert_eq!((lines(&found), &found[0]["uri"]), (vec![0], &json!(uri)));
    let position = json!({ "line": 3, "character": 15 });
    for (declares, expected) in [(true, vec![0, 1, 3, 4]), (false, vec![1, 3, 4])] {
        let params = json!({ "textDocument": { "uri": uri }, "position": position, "context": { "includeDeclaration": declares } });
        assert_eq!(lines(&client.request("textDocument/references", params).unwrap()), expected);
    }
    let label = client.at("textDocument/definition", uri, (4, 14)).unwrap();
    assert_eq!(label[0]["range"]["start"], json!({ "line": 3, "character": 12 }));
    assert_eq!(client.at("textDocument/definition", uri, (2, 3)).unwrap(), json!([]), "a comment");
    let marks = client.at("textDocument/documentHighlight", uri, (1, 11)).unwrap();
    assert_eq!(marks.as_array().unwrap().len(), 4);
    let shown = client.at("textDocument/hover", uri, (1, 11)).unwrap();
    assert_eq!(shown["contents"]["value"], "```race\nvar x: int\n```\n\na variable");
    client.finish();
}

/// A name of a library leads to a file with its text, which is gone afterwards.
#[test]
fn names_of_libraries_lead_to_their_texts() {
    let mut client = Client::start();
    let text =
        "use android\nlooper main\nactivity Player on main {\n    on create { skip }\n}\nthread t { start Player }\n";
    let uri = "file:///l.race";
    client.open(uri, text);
    let kind = client.at("textDocument/definition", uri, (2, 3)).unwrap();
    let path = kind[0]["uri"].as_str().unwrap().strip_prefix("file://").unwrap().to_owned();
    let library = std::fs::read_to_string(&path).unwrap();
    let line = kind[0]["range"]["start"]["line"].as_u64().unwrap() as usize;
    assert!(library.lines().nth(line).unwrap().starts_with("kind activity"), "{kind}");
    let callback = client.at("textDocument/definition", uri, (3, 8)).unwrap();
    let line = callback[0]["range"]["start"]["line"].as_u64().unwrap() as usize;
    assert!(library.lines().nth(line).unwrap().contains("create"), "{callback}");
    let shown = client.at("textDocument/hover", uri, (2, 3)).unwrap();
    assert!(shown["contents"]["value"].as_str().unwrap().contains("a kind of the library android"), "{shown}");
    // The file of the client stays open beside that of the library.
    client.open(kind[0]["uri"].as_str().unwrap(), &library);
    client.diagnostics(kind[0]["uri"].as_str().unwrap(), 1, |_| true);
    client.finish();
    assert!(!std::path::Path::new(&path).exists());
}

#[test]
fn outlines_have_items_and_labels() {
    let mut client = Client::start();
    let text = "app \"demo\"\nclass A { var n = 0 }\nthread t {\n    @a: skip\n}\nthread {\nexpect no failure\n";
    let uri = "file:///o.race";
    client.open(uri, text);
    let found = client.request("textDocument/documentSymbol", json!({ "textDocument": { "uri": uri } })).unwrap();
    let names: Vec<&str> = found.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["demo", "A", "t", "expect no failure"], "one item does not parse");
    assert_eq!(found[1]["children"][0]["name"], "n");
    assert_eq!(found[2]["children"][0]["name"], "@a");
    client.finish();
}

/// Several files are open, and each has its own answers.
#[test]
fn files_do_not_mix() {
    let mut client = Client::start();
    let texts = ["var a = 0\nthread t { a = 1 }", "atomic a = true\nthread t { a = false }", &read("README.md")];
    for (i, text) in texts.iter().enumerate() {
        client.open(&format!("file:///{i}.race"), text);
    }
    let mut shown = |i: usize| client.at("textDocument/hover", &format!("file:///{i}.race"), (1, 11)).unwrap();
    assert!(shown(0)["contents"]["value"].as_str().unwrap().contains("var a: int"));
    assert!(shown(1)["contents"]["value"].as_str().unwrap().contains("atomic a: bool"));
    assert_eq!(shown(2), Value::Null);
    client.finish();
}
