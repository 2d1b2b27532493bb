//! Tests of the table of uses and guards of references: each of its rules on a small body, and generated bodies against
//! the set of all facts that some way through the statements leads to.

use crate::uses_naive::{compare, generated};
use raceflip::vm::Model;

const PRELUDE: &str = "class Node { var next: Node = null; var other: Node = null; var v = 0 }; let root = new Node; var p: Node = new Node; \
    var q: Node = new Node; var a: Node[3]; var i = 0; var who: thread = null; var h: handler = null; var l: lock = null; lock m; \
    var c: channel[int] = null; var count = 0; listener heard; looper main; task clear() { p = null }; task clear_next(n: Node) { n.next = null }; \
    task both() { clear(); skip }; event tap on main initially 1 { heard_it() }; task heard_it() { perform heard() }; \
    thread starter { post body(q) to main; post body2() to main; register clear to heard }; async task pause() { sleep 1 }; async task calm() { skip }; ";

// The rows of the reads of a body, which starts in line 2: `line:column place`, `test`, `use`, and the guards of the
// use.
fn rows(body: &str) -> String {
    let (mode, body) = body.strip_prefix("async ").map_or(("task", body), |body| ("async task", body));
    let text = format!(
        "{PRELUDE}task body2() {{ skip }}; task body(n: Node) {{ {} }}",
        if mode == "task" { "skip" } else { "launch other(n)" }
    );
    let name = if mode == "task" { "task real(n: Node)" } else { "async task other(n: Node)" };
    let text = format!(
        "{text}; {name} {{\n{body}\n}}\nthread more {{ {} }}",
        if mode == "task" { "post real(q) to main" } else { "skip" }
    );
    let model = Model::from_text("uses.race", &text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let sites = &model.program.sites;
    let place = |site| format!("{}:{}", sites[site].line - 1, sites[site].column);
    let rows = model
        .program
        .uses
        .iter()
        .filter(|(site, _)| (2..=body.lines().count() as u32 + 1).contains(&sites[*site].line));
    let rows = rows.map(|(site, row)| {
        let mut words = vec![format!("{} {}", place(site), sites[site].place)];
        words.extend(row.tested.then(|| "test".to_owned()));
        words.extend(row.derefs.then(|| "use".to_owned()));
        words.extend(row.guards.iter().map(|guard| format!("by {}", place(*guard))));
        words.join(" ")
    });
    rows.collect::<Vec<_>>().join(", ")
}

#[test]
fn what_dereferences_a_value_in_the_same_expression_is_a_use() {
    for (body, expected) in [
        ("use p", "1:5 p use"),
        ("delete p", "1:8 p use"),
        ("count = p.v", "1:9 p use"),
        ("p.v = 1", "1:1 p use"),
        ("p.v += 1", "1:1 p use"),
        ("count = p.next.v", "1:9 p use, 1:9 p.next use"),
        ("sync p { skip }", "1:6 p use"),
        ("sync l { skip }", "1:6 l use"),
        ("sync p { wait p }", "1:6 p use, 1:15 p use"),
        ("sync p { notify p }", "1:6 p use, 1:17 p use"),
        ("post clear() to h", "1:17 h use"),
        ("join who", "1:6 who use"),
        ("interrupt who", "1:11 who use"),
        ("close c", "1:7 c use"),
        ("count = a[1].v", "1:9 a[] use"),
        ("clear_next(p.next)", "1:12 p use"),
        // The value is only copied, stored or compared with another one.
        ("q = p", ""),
        ("clear_next(p)", ""),
        ("if p == q { skip }", ""),
        // A receive from null waits, and does not fail.
        ("count = recv c", ""),
        // Reads of the condition are no steps.
        ("await p.v == 1", ""),
        // The value of a list element or a call is no read of a location of its own.
        ("use root", ""),
    ] {
        assert_eq!(rows(body), expected, "{body}");
    }
}

#[test]
fn a_local_that_is_assigned_once_passes_its_read_on() {
    for (body, expected) in [
        ("let k = p\nuse k", "1:9 p use"),
        ("let k = p\nif count == 1 { count = k.v }", "1:9 p use"),
        ("let k = p\nskip", ""),
        ("let k = p\nk = q\nuse k", ""),
        ("let k: Node\nk = p\nuse k", ""),
        ("let k = p.next\nuse k", "1:9 p use, 1:9 p.next use"),
        // A test of the local guards the read itself.
        ("let k = p\nif k != null { use k }", "1:9 p test use by 1:9"),
        ("let k = p\nif k == null { return }\np = null\nuse k", "1:9 p test use by 1:9"),
        ("let k = p\nif k != null { use k }\nuse k", "1:9 p test use"),
        ("let k = p\nif k != null { skip }", "1:9 p test"),
        ("loop { let k = p\nif k != null { use k; break } }", "1:16 p test use by 1:16"),
        // A test of the location guards the read.
        ("if p != null { let k = p\nuse k }", "1:4 p test, 1:24 p use by 1:4"),
    ] {
        assert_eq!(rows(body), expected, "{body}");
    }
}

#[test]
fn a_condition_guards_the_uses_that_it_dominates() {
    for (body, expected) in [
        ("if p != null { use p }", "1:4 p test, 1:20 p use by 1:4"),
        ("if null != p { use p }", "1:12 p test, 1:20 p use by 1:12"),
        ("if !(p == null) { use p }", "1:6 p test, 1:23 p use by 1:6"),
        ("if p == null { skip } else { use p }", "1:4 p test, 1:34 p use by 1:4"),
        ("if p == null { return }\nuse p", "1:4 p test, 2:5 p use by 1:4"),
        ("while p != null { use p; count += 1 }", "1:7 p test, 1:23 p use by 1:7"),
        ("while p == null { skip }\nuse p", "1:7 p test, 2:5 p use by 1:7"),
        ("if p != null && count == 1 { use p }", "1:4 p test, 1:34 p use by 1:4"),
        ("if count == 1 && p != null { use p }", "1:18 p test, 1:34 p use by 1:18"),
        ("if p != null && p.v == 1 { skip }", "1:4 p test, 1:17 p use by 1:4"),
        ("if p == null || p.v == 1 { skip }", "1:4 p test, 1:17 p use by 1:4"),
        ("if p == root { use p }", "1:4 p test, 1:20 p use by 1:4"),
        ("if who == self { join who }", "1:4 who test, 1:23 who use by 1:4"),
        ("if p != null { if q != null { use p } }", "1:4 p test, 1:19 q test, 1:35 p use by 1:4"),
        ("if p != null { if p != null { use p } }", "1:4 p test, 1:19 p test, 1:35 p use by 1:4 by 1:19"),
        // Not dominated, or it came out as null.
        ("if p != null { skip }\nuse p", "1:4 p test, 2:5 p use"),
        ("if p == null { use p }", "1:4 p test, 1:20 p use"),
        ("if p != null || count == 1 { use p }", "1:4 p test, 1:34 p use"),
        ("if count == 1 { if p == null { return } }\nuse p", "1:20 p test, 2:5 p use"),
        ("if p != root { use p }", "1:4 p test, 1:20 p use"),
        ("if p == q { use p }", "1:17 p use"),
        ("use p\nif p != null { skip }", "1:5 p use, 2:4 p test"),
        // Another location.
        ("if p != null { use q }", "1:4 p test, 1:20 q use"),
        ("assert p != null\nuse p", "2:5 p use"),
    ] {
        assert_eq!(rows(body), expected, "{body}");
    }
}

#[test]
fn a_guard_holds_until_its_location_is_written() {
    for (body, expected) in [
        ("if p != null { p = null\nuse p }", "1:4 p test, 2:5 p use"),
        ("if p != null { p = q\nuse p }", "1:4 p test, 2:5 p use"),
        ("if p != null { q = null\nuse p }", "1:4 p test, 2:5 p use by 1:4"),
        ("if p != null { if count == 1 { p = null }\nuse p }", "1:4 p test, 2:5 p use"),
        ("if p != null { if count == 1 { p = null; return }\nuse p }", "1:4 p test, 2:5 p use by 1:4"),
        ("if p != null { loop { use p\np = null } }", "1:4 p test, 1:27 p use"),
        ("if p != null { loop { use p\np = null; break } }", "1:4 p test, 1:27 p use by 1:4"),
        ("if p != null { for k in 0..2 { use p\nif k == 1 { continue }; p = null } }", "1:4 p test, 1:36 p use"),
        // Calls, and what they call.
        ("if p != null { clear()\nuse p }", "1:4 p test, 2:5 p use"),
        ("if p != null { both()\nuse p }", "1:4 p test, 2:5 p use"),
        ("if p != null { clear_next(q)\nuse p }", "1:4 p test, 2:5 p use by 1:4"),
        ("if p != null { perform heard()\nuse p }", "1:4 p test, 2:5 p use"),
        ("if p != null { post clear() to main or now\nuse p }", "1:4 p test, 2:5 p use"),
        ("if p != null { post clear() to main\nuse p }", "1:4 p test, 2:5 p use by 1:4"),
        // Exceptions.
        ("if p != null { try { skip; p = null } catch { use p } }", "1:4 p test, 1:51 p use"),
        ("if p != null { try { skip } catch { use p } }", "1:4 p test, 1:41 p use by 1:4"),
        ("try { if p == null { return }; skip } catch { use p }", "1:10 p test, 1:51 p use"),
        ("try { if p == null { return }; skip } finally { use p }", "1:10 p test, 1:53 p use"),
        ("if p != null { loop { try { break } finally { skip } }\nuse p }", "1:4 p test, 2:5 p use"),
    ] {
        assert_eq!(rows(body), expected, "{body}");
    }
}

#[test]
fn the_same_location_is_one_that_is_known_to_be_the_same() {
    for (body, expected) in [
        ("if a[1] != null { use a[1] }", "1:4 a[] test, 1:23 a[] use by 1:4"),
        ("if a[1] != null { use a[2] }", "1:4 a[] test, 1:23 a[] use"),
        ("if a[i] != null { use a[i] }", "1:4 a[] test, 1:23 a[] use"),
        ("if a[1] != null { a[2] = null\nuse a[1] }", "1:4 a[] test, 2:5 a[] use by 1:4"),
        ("if a[1] != null { a[i] = null\nuse a[1] }", "1:4 a[] test, 2:5 a[] use"),
        ("if n.next != null { use n.next }", "1:4 n.next test, 1:25 n.next use by 1:4"),
        ("if n.next != null { use n.other }", "1:4 n.next test, 1:25 n.other use"),
        ("if root.next != null { use root.next }", "1:4 root.next test, 1:28 root.next use by 1:4"),
        ("let k = n\nif k.next != null { k = root\nuse k.next }", "2:4 k.next test, 3:5 k.next use"),
        // A field of another object of the class may be the same location, so a write of it ends the guard.
        ("if n.next != null { root.next = null\nuse n.next }", "1:4 n.next test, 2:5 n.next use"),
        ("if n.next != null { root.other = null\nuse n.next }", "1:4 n.next test, 2:5 n.next use by 1:4"),
        ("if n.next != null { clear_next(root)\nuse n.next }", "1:4 n.next test, 2:5 n.next use"),
        // The object of a global may be another one at the second read.
        ("if p.next != null { use p.next }", "1:4 p use, 1:4 p.next test, 1:25 p use, 1:25 p.next use"),
    ] {
        assert_eq!(rows(body), expected, "{body}");
    }
}

#[test]
fn other_tasks_run_while_an_async_task_waits() {
    for (body, expected) in [
        ("async if p != null { use p }", "1:4 p test, 1:20 p use by 1:4"),
        ("async if p != null { sleep 1\nuse p }", "1:4 p test, 2:5 p use"),
        ("if p != null { sleep 1\nuse p }", "1:4 p test, 2:5 p use by 1:4"),
        ("async if p != null { pause()\nuse p }", "1:4 p test, 2:5 p use"),
        ("async if p != null { calm()\nuse p }", "1:4 p test, 2:5 p use by 1:4"),
        ("async let k = p\nsleep 1\nif k != null { use k }", "1:9 p test use by 1:9"),
    ] {
        assert_eq!(rows(body), expected, "{body}");
    }
}

/// The pass ends soon on texts that are not meant to be read: loops in loops, many tests, a long chain of calls.
#[test]
fn hostile_bodies_take_no_time() {
    let loops = format!("{}p = null{}", "while p != null { use p; ".repeat(30), " }".repeat(30));
    assert!(rows(&loops).starts_with("1:7 p test, 1:23 p use by 1:7"));
    let many: String = (0..5_000).map(|_| "if p == null { return }\n").collect();
    assert!(rows(&format!("{many}use p")).contains("5001:5 p use by 1:4"));
    let tasks: String =
        (0..5_000).map(|i| format!("var g{i}: Object = null; task f{i}() {{ g{i} = null; f{}() }}\n", i + 1)).collect();
    let text = format!("{tasks}task f5000() {{ skip }}\nthread t {{\nif g7 != null {{ f0()\nuse g7 }} }}");
    let model = Model::from_text("chain.race", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
    assert!(model.program.uses.iter().filter(|(_, row)| row.derefs).all(|(_, row)| row.guards.is_empty()));
}

/// The table of generated bodies has the guards that are on every way through the statements.
#[test]
fn generated_bodies_have_the_guards_of_all_ways() {
    let (mut guarded, mut unguarded) = (0, 0);
    for seed in 0..600 {
        let found = compare(&generated(seed));
        guarded += found.0;
        unguarded += found.1;
    }
    assert!(guarded > 100 && unguarded > 100, "{guarded} uses with a guard, {unguarded} without");
}
