//! Tests of completion: what is offered at a place, and what is not.

use crate::client::{Client, marked, place};
use crate::names::analysis;

/// Checks what completes the word at the mark: `wanted` is offered, `unwanted` is not.
fn check(text: &str, wanted: &[&str], unwanted: &[&str]) {
    let (plain, at) = marked(text);
    let (_, all) = analysis("a.race", &plain).complete(at as u32);
    let offered: Vec<&str> = all.iter().map(|one| one.text.as_str()).collect();
    for one in wanted {
        assert!(offered.contains(one), "`{one}` is missing in {offered:?}:\n{text}");
    }
    for one in unwanted {
        assert!(!offered.contains(one), "`{one}` is offered:\n{text}");
    }
    assert!(offered.is_sorted());
}

const APP: &str = "class Node { var next: Node; var value = 0 }\nvar head: Node\nvar nodes: list[Node]\nvar table: Node[3]\nlock gate\nlooper main\nevent tick on main { skip }\ntask work(n: Node) { skip }\n";

#[test]
fn items_and_statements() {
    check("|", &["thread", "var", "expect", "use"], &["while", "sync"]);
    check("th|", &["thread"], &["while"]);
    check("thread t { | }", &["while", "sync", "post", "let", "acquire"], &["thread", "property"]);
    check("thread t { skip; wh| }", &["while"], &["property"]);
    check(&format!("{APP}thread t {{\n    |\n}}"), &["head", "work", "if"], &["t", "main"]);
    check("class C {\n    |\n}", &["var", "atomic"], &["while"]);
    check("expect |", &["race", "no", "deadlock", "outcomes"], &["while"]);
    check("use |", &["android", "coroutines"], &["var"]);
    check("use android\nlooper main\n|", &["activity", "thread"], &[]);
    check("var |", &[], &["while", "int"]);
}

#[test]
fn names_of_the_file() {
    check(&format!("{APP}thread t {{ post | }}"), &["work", "tick"], &["head", "gate", "main"]);
    check(&format!("{APP}thread t {{ post work(head) to | }}"), &["main"], &["work", "gate"]);
    check(&format!("{APP}thread t {{ enable | }}"), &["tick"], &["work"]);
    check(&format!("{APP}thread t {{ head = new | }}"), &["Node"], &["head"]);
    check(&format!("{APP}thread t {{ sync | }}"), &["gate", "head"], &["thread"]);
    check(&format!("{APP}var other: |"), &["Node", "int", "list"], &["head"]);
    check(&format!("{APP}thread t {{ @a: head = null }}\nexpect race @|"), &["a"], &["head"]);
    check(&format!("{APP}thread t {{ @a: head = null }}\nexpect race @a.| ~ @a"), &["read", "write"], &["a"]);
    check("thread t { @a: skip }\nexpect order @a ~ @a: |", &["real", "harmful"], &["int"]);
    check("thread t { throw Oops }\nthread u { try { skip } catch | }", &["Oops", "NullPointer"], &["u"]);
}

#[test]
fn members() {
    check(&format!("{APP}thread t {{ head.| }}"), &["next", "value"], &["head", "push", "while"]);
    check(&format!("{APP}thread t {{ head.next.va| = 1 }}"), &["next", "value"], &["len"]);
    check(&format!("{APP}thread t {{ nodes.| }}"), &["push", "len"], &["next"]);
    check(&format!("{APP}thread t {{ nodes[0].| }}"), &["next"], &["push"]);
    check(&format!("{APP}thread t {{ table[1].| }}"), &["value"], &["len"]);
    check(&format!("{APP}thread t {{ table.| }}"), &["len"], &["value", "push"]);
    check(&format!("{APP}task f(n: Node) {{ n.| }}"), &["next"], &["push"]);
    check(&format!("{APP}thread t {{ unknown.| }}"), &["next", "push"], &["head"]);
}

#[test]
fn locals_are_offered_where_they_are_visible() {
    check("task f(p: int) { let a = 1; { skip } | }", &["p", "a"], &[]);
    check("task f(p: int) { if true { let a = 1 }\n    | }", &["p"], &["a"]);
    check("task f(p: int) { skip }\ntask g(q: int) { | }", &["q"], &["p"]);
    check("thread t { for i in 0..3 { skip }\n | }", &[], &["i"]);
    check("thread t { for i in 0..3 { let b = | } }", &["i"], &["b"]);
    check("thread t { |; let late = 1 }", &[], &["late"]);
}

#[test]
fn nothing_in_comments_and_texts() {
    for text in ["// a|", "thread t { fail \"a| b\" }", "var x = 12|", "thread t { skip } // |"] {
        let (plain, at) = marked(text);
        assert!(analysis("a.race", &plain).complete(at as u32).1.is_empty(), "{text}");
    }
}

/// The word that is typed is replaced, not doubled.
#[test]
fn a_client_replaces_the_word() {
    let mut client = Client::start();
    let (text, at) = marked(
        "// \u{1f600}\nvar counter = 0\nthread t { /* \u{1f600} */ cou|nt = 1 }"
            .replace("/* \u{1f600} */ ", "")
            .as_str(),
    );
    let uri = "file:///c.race";
    client.open(uri, &text);
    let found = client.at("textDocument/completion", uri, place(&text, at)).unwrap();
    let item = found.as_array().unwrap().iter().find(|item| item["label"] == "counter").expect("the variable");
    assert_eq!(item["detail"], "var counter: int");
    let after = crate::client::applied(&text, &serde_json::json!([item["textEdit"]]));
    assert!(after.contains("{ counter = 1 }"), "{after}");
    client.finish();
}
