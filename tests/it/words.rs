//! Words of the language: which sites labels select, how ends are printed, and what is refused with which reason.

use crate::cli::{FOUND, REFUSED, call, file, scratch};
use crate::load::load_bytes;
use raceflip::event::labelled;
use raceflip::sched::SiteSpec;

const FAULTS: &str = "tests/data/faults";

#[test]
fn models_end_as_they_say() {
    for name in ["order_of_label_without_operation", "stuck_behind_a_property", "assignment_null_first", "lift_null"] {
        let run = call(&["test", &format!("{FAULTS}/{name}.race")]);
        assert!(run.out.contains("1 passed"), "{name}: {}", run.out);
    }
}

#[test]
fn a_label_selects_the_same_sites_everywhere() {
    let text = "listener l(); var x = 0; var y = 0; task f() { g(); y = 1 }; task g() { x = 1 }; task h() { x = 2 }
thread a { @own: x = 3; @call: f(); @value: y = v(); register h to l; @both: perform l() }
task v(): int { return x }
thread b { @in_try: try { @thrown: throw Oops } catch { skip }; @cond: if y == 0 { @inner: x = 4 } }";
    let model = load_bytes("m.race", text.as_bytes(), &[]);
    let sites = &model.program.sites;
    let selected = |label: &str| -> Vec<String> {
        let all = labelled(sites, label);
        let all = all.into_iter().filter(|id| sites[*id].kind.word() != "check");
        all.map(|id| format!("{} {}", sites[id].kind.word(), sites[id].place)).collect()
    };
    assert_eq!(selected("own"), ["write x"]);
    assert_eq!(selected("call"), ["write y", "write x"], "what is called, and what that calls");
    assert_eq!(selected("value"), ["write y", "read x"]);
    assert_eq!(selected("both"), ["write x", "perform l"], "callbacks");
    assert_eq!(selected("cond"), ["read y"], "the head alone");
    assert!(selected("thrown").is_empty() && selected("in_try").is_empty());
    // On the command line, a label stands for the accesses among the same sites.
    for (label, accesses) in [("own", 1), ("call", 2), ("value", 2), ("both", 1), ("cond", 1)] {
        let found = format!("@{label}").parse::<SiteSpec>().unwrap().resolve(sites).unwrap();
        let of = labelled(sites, label).into_iter().filter(|id| sites[*id].kind.access().is_some());
        assert_eq!((found.len(), found), (accesses, of.collect()), "@{label}");
    }
}

#[test]
fn a_label_without_a_step_is_refused() {
    let folder = scratch("label-without-step");
    let head = "var x = 0\nthread b { @b: x = 2 }\nthread a { let y = 1; try { @t: throw Oops } catch { x = 3 }; @s: assert y != 7, \"seven\" }\n";
    for (line, label) in [("order @t, @b: never", "@t"), ("order @b, @s: never", "@s"), ("race @t ~ @b", "@t")] {
        let path = file(&folder, "m.race", &format!("{head}expect {line}\n"));
        let run = call(&["check", &path]);
        assert_eq!(run.status, REFUSED, "{line}");
        assert!(
            run.err.contains(&format!("`{label}` selects nothing")) && run.err.contains("label the statement"),
            "{}",
            run.err
        );
    }
    let path =
        file(&folder, "m.race", &format!("{head}expect no failure \"seven\" at @s\nexpect no failure Oops at @t\n"));
    assert_eq!(call(&["check", &path]).status, 0, "where something fails is no matter of steps");
}

#[test]
fn ends_are_told_as_lines_have_them() {
    let path = format!("{FAULTS}/truth_values_as_numbers.race");
    let text = call(&["explore", &path]).out;
    for end in ["b = true", "b = false", "o = null", "o = not null", "l = [true]", "l = []"] {
        assert!(text.contains(end), "{end}: {text}");
    }
    let test = call(&["test", &path]);
    assert_eq!(test.status, FOUND, "the second line leaves an end out");
    assert!(test.out.contains("ok not null"), "{}", test.out);
    // An outcome whose threads have ended but that is stuck behind a property says both.
    let json = call(&["explore", &format!("{FAULTS}/stuck_behind_a_property.race"), "--format", "json"]).out;
    assert!(json.contains("\"text\": \"done (and stuck)\""), "{json}");
}

#[test]
fn null_that_is_lifted_is_no_step() {
    let run = call(&["run", &format!("{FAULTS}/lift_null.race"), "--strategy", "round-robin"]);
    assert!(run.out.contains("steps 1,"), "{}", run.out);
    assert!(!run.out.contains("lift a fence"), "{}", run.out);
    assert!(run.out.contains("NullPointer (f is null) at"), "{}", run.out);
}

#[test]
fn the_timeline_has_whole_statements() {
    let folder = scratch("from-with-a-colon");
    let text = "var x = 0\nthread a { @a from \"Main.java:12\": x = 1 }\nthread b {\n    @b from \"B.java:3\": x = 2\n    assert x == 1, \"one\"\n}\n";
    let path = file(&folder, "m.race", text);
    let run = call(&["run", &path, "--strategy", "round-robin", "--no-shrink"]);
    assert!(run.out.contains(":2 @a from \"Main.java:12\": x = 1"), "{}", run.out);
    assert!(run.out.contains("@b from \"B.java:3\": x = 2"), "{}", run.out);
}

#[test]
fn verbs_have_neither_values_nor_limits_of_time() {
    let folder = scratch("verbs-as-values");
    let cases = [
        ("let ok = down s", "`down` gives no value", "let ok = down s for 25"),
        ("if (down s) { skip }", "`down` gives no value", "let ok = down s for 25"),
        ("up s for 25", "`up` has no limit of time", "await CONDITION for 25"),
        ("let ok = join t", "`join` gives no value", "await done for 25"),
    ];
    for (statement, message, help) in cases {
        let text = format!("semaphore s = 0; lock m\nthread t {{ {statement} }}\n");
        let run = call(&["check", &file(&folder, "m.race", &text)]);
        assert_eq!(run.status, REFUSED, "{statement}");
        assert!(run.err.contains(message) && run.err.contains(help), "{statement}: {}", run.err);
    }
    // A name that is also a verb remains usable as a name.
    load_bytes("m.race", b"var down = 1; var x = 0; thread t { x = down\n x = down + 1; x = (down) }", &[]);
}

#[test]
fn a_property_may_have_ten_thousand_terms() {
    let text = "var a: int[10000]\nproperty p always { all i in 0..9999: a[i] < 5 }\nthread t { a[1] = 1; a[9998] = 5 }\nexpect failure p\n";
    let folder = scratch("ten-thousand-terms");
    let path = file(&folder, "m.race", text);
    let run = call(&["run", &path]);
    assert!(run.out.contains("property p"), "{}", run.out);
    let more = file(&folder, "more.race", &text.replace("9999", "10001").replace("10000", "10002"));
    let refused = call(&["check", &more]);
    assert_eq!(refused.status, REFUSED);
    assert!(refused.err.contains("a quantifier ranges over at most 10000 values"), "{}", refused.err);
    // The same property as one written-out expression is refused, with advice on how to write it.
    let long = vec!["x < 5"; 10_000].join(" && ");
    let long = file(&folder, "long.race", &format!("var x = 0\nproperty p always {{ {long} }}\n"));
    let refused = call(&["check", &long]);
    assert_eq!(refused.status, REFUSED);
    assert!(
        refused.err.contains("the expression is too long") && refused.err.contains("all i in 0..n"),
        "{}",
        refused.err
    );
}

#[test]
fn lines_that_are_not_met_say_what_is_meant() {
    let folder = scratch("hints");
    let text = "var x = 0\nlock m\nthread a { @send: sync m { fail \"X\" } }\nthread b { x = 1 }\nthread c { @c: x = 2 }\nexpect failure \"X\" at @send\n";
    let run = call(&["test", &file(&folder, "at.race", text)]);
    assert!(run.out.contains("runs fail in this way at :3:28, which `@send` does not cover"), "{}", run.out);
    let called = "task send() { fail \"X\" }\nthread a { @send: send() }\nexpect failure \"X\" at @send\n";
    let run = call(&["test", &file(&folder, "called.race", called)]);
    assert_eq!(run.status, 0, "a label covers what its statement calls: {}", run.out);
    let text = "var x = 0\nthread a { @a: x = 1 }\nthread b { @b: x = 2 }\nexpect no race @a ~ @b\n";
    let run = call(&["test", &file(&folder, "no.race", text)]);
    assert!(
        run.out.contains("`race @a ~ @b: false` says that the pair is reported, and never confirmed"),
        "{}",
        run.out
    );
}

/// A method call of another language is refused with the kind of its receiver and the statement to write instead.
#[test]
fn a_call_after_a_dot_says_what_has_none() {
    let declared =
        "looper main; handler h on main; lock m; var l: list[int]; var a: int[3]; atomic n = 0; task f() { skip }\n";
    let cases = [
        ("h.postDelayed(f, 100)", "this is a `handler`, and only lists", "write `post f() to h after 100`"),
        ("main.removeCallbacks(f)", "this is a `looper`, and only lists", "write `cancel f on h`"),
        ("m.lock()", "this is a `lock`, and only lists", "write `sync m"),
        ("n.incrementAndGet()", "this is an `int`, and only lists", "write `fetch_add(n, 1)`"),
        ("a.push(1)", "needs a list", "for i in 0..a.len"),
        ("a.sort()", "an array has `len`, and no operations", "call a task by its name alone"),
        ("l.add(1)", "lists have `push`", "write `l.push(e)`"),
        ("l.pushh(1)", "lists have `push`", "did you mean `push`?"),
        ("let x = l.len()", "not a call", "write it without parentheses"),
        ("timer.scheduleAtFixedRate(f, 100)", "only lists have operations", "post f() to h every 100"),
    ];
    for (statement, reason, help) in cases {
        let text = format!("{declared}thread t {{ {statement} }}\n");
        let told = raceflip::vm::Model::from_text("m.race", &text, &[]).unwrap_err().to_string();
        assert!(told.contains(reason) && told.contains(help), "{statement}: {told}");
    }
}
