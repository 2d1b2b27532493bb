//! Tests of the operand of a failure: its expression with line and column, in the short form that all commands use.

use crate::load::load_bytes;
use raceflip::exec::{NoObserver, run};
use raceflip::formats::failure_place::ending;
use raceflip::sched::RoundRobin;
use raceflip::world::Limits;
use std::sync::atomic::AtomicBool;

/// Asserts how a round robin run ends.
#[track_caller]
fn check(text: &str, expected: &str) {
    let model = load_bytes("m.race", text.as_bytes(), &[]);
    let mut machine = model.machine(Limits::default());
    let summary = run(&mut machine, &mut RoundRobin::default(), 0, &mut NoObserver, &AtomicBool::new(false));
    let told = summary.outcome().and_then(|outcome| ending(&model, outcome));
    assert_eq!(told.as_deref(), Some(expected), "{text}");
}

const BOX: &str =
    "class Box { var v = 0; var next: Box; var l: list[int]; atomic n = 0 }\nvar o = new Box\nvar p: Box\nvar i = 5\n";

#[track_caller]
fn in_thread(statement: &str, expected: &str) {
    check(&format!("{BOX}thread t {{ {statement} }}"), &format!("{expected} in t"));
}

#[test]
fn null() {
    in_thread("use p", "NullPointer (p is null) at :5:16");
    in_thread("i = o.next.v", "NullPointer (o.next is null) at :5:18");
    in_thread("i = o.v + p.v", "NullPointer (p is null) at :5:22");
    in_thread("p.v = 1", "NullPointer (p is null) at :5:12");
    in_thread("p.v += 1", "NullPointer (p is null) at :5:12");
    in_thread("p.l.push(1)", "NullPointer (p is null) at :5:12");
    in_thread("fetch_add(p.n, 1)", "NullPointer (p is null) at :5:22");
    in_thread("sync p { skip }", "NullPointer (p is null) at :5:17");
    in_thread("sync o { wait p }", "NullPointer (p is null) at :5:26");
    in_thread("let f: fence = null; lift f", "NullPointer (f is null) at :5:38");
    in_thread("let j: thread = null; join j", "NullPointer (j is null) at :5:39");
    in_thread("await p.v == 1", "NullPointer (p is null) at :5:18");
    in_thread("for x in p.l { skip }", "NullPointer (p is null) at :5:21");
    check(
        "looper main\ntask f() { skip }\nthread t { let l: looper = null\n post f() to l }",
        "NullPointer (l is null) at :4:14 in t",
    );
}

#[test]
fn an_index() {
    in_thread("let a: int[3]; i = a[i]", "IndexOutOfBounds (i is no index of a) at :5:33");
    in_thread("i = o.l[i - 1]", "IndexOutOfBounds (i - 1 is no index of o.l) at :5:20");
    in_thread("i = o.l.pop()", "IndexOutOfBounds (o.l is empty) at :5:18");
    in_thread("o.l[i] = 1", "IndexOutOfBounds (i is no index of o.l) at :5:16");
    in_thread("o.l[i] += 1", "IndexOutOfBounds (i is no index of o.l) at :5:16");
    let grid = "var g: int[2][2]\nvar i = 1\nvar j = 7\n";
    check(&format!("{grid}thread t {{ g[i][j] = 1 }}"), "IndexOutOfBounds (j is no index of g[i]) at :4:17 in t");
    check(&format!("{grid}thread t {{ g[j][i] = 1 }}"), "IndexOutOfBounds (j is no index of g) at :4:14 in t");
    check(
        &format!("{grid}lock m[2]\nthread t {{ sync m[j] {{ skip }} }}"),
        "IndexOutOfBounds (j is no index of m) at :5:19 in t",
    );
}

#[test]
fn others() {
    in_thread("i = 1 / (i - 5) + 2 / i", "Arithmetic ((i - 5) is 0) at :5:20");
    in_thread("i /= o.v", "Arithmetic (o.v is 0) at :5:19");
    in_thread("delete o; use o", "UseAfterFree (o is deleted) at :5:26");
    in_thread("delete o; o.v = 1", "UseAfterFree (o is deleted) at :5:22");
    in_thread("delete o; delete o", "DoubleFree (o is deleted) at :5:29");
    in_thread("notify o", "IllegalMonitorState (o is not held) at :5:19");
    in_thread("quit self", "IllegalState (self has no queue) at :5:17");
    check(
        "looper main\nthread t { let f = fence main\n lift f; lift f }",
        "IllegalState (f is in no queue) at :3:15 in t",
    );
    check(
        "var l: list[int] = [1, 2]\nthread t { for x in l { l.push(x) } }",
        "ConcurrentModification (l was changed) at :2:21 in t",
    );
    in_thread("assert i == 4", "assert (i == 4 is false) at :5:12");
    in_thread("assert i == 4, \"four\"", "four at :5:12");
    in_thread("throw Oops, \"so\"", "Oops: so at :5:12");
    in_thread("throw NullPointer", "NullPointer at :5:12");
    // A `finally` that an exception passes through preserves the exception's operand.
    in_thread("try { use p } finally { skip; i = 1 }", "NullPointer (p is null) at :5:22");
    check(
        &format!("{BOX}property q always {{ p.v == 0 }}\nthread t {{ skip }}"),
        "property q (it throws NullPointer: p is null)",
    );
    // A longer expression is cut after sixty characters.
    let long = format!("i = 1 / ({}0)", "o.v + ".repeat(30));
    let cut: String = format!("({}", "o.v + ".repeat(30)).chars().take(60).collect();
    in_thread(&long, &format!("Arithmetic ({cut} ... is 0) at :5:20"));
}
