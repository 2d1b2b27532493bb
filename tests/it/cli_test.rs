//! Tests of `raceflip test`: variants, verdicts, saved failures, bad input; and all lines of the harnesses must hold.

use crate::cli::{FOUND, REFUSED, Ran, call, file, interrupt, raceflip, scratch};
use raceflip::formats::test::TestReport;
use std::path::Path;
use std::time::Duration;

const COUNTER: &str = "\
const FIXED = 0
var x = 0
lock m
thread a { if FIXED == 1 { sync m { x += 1 } } else { x += 1 } }
thread b { if FIXED == 1 { sync m { x += 1 } } else { x += 1 } }
property both at end { x == 2 }
expect race @none ~ @none if FIXED == 9
";

/// Returns a model in which two threads lose an update unless FIXED is 1, with these `expect` lines.
pub(crate) fn counter(lines: &str) -> String {
    COUNTER.replace("expect race @none ~ @none if FIXED == 9\n", lines)
}

pub(crate) const RIGHT: &str = "expect failure both if FIXED == 0\nexpect outcomes of x: ok 2 if FIXED == 1\n";
pub(crate) const WRONG: &str = "expect no failure if FIXED == 0\nexpect no deadlock\n";

/// Runs the program in a folder.
pub(crate) fn within(folder: &Path, args: &[&str]) -> Ran {
    let output = raceflip().current_dir(folder).args(args).output().expect("it starts");
    Ran {
        status: output.status.code().expect("an exit status"),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

pub(crate) fn seeds(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder.join("seeds")).into_iter().flatten();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The command that README and CI name passes. Rare ends get up to 200,000 walks. All of them miss the rarest end that
/// a line requires (`work_steal_queue`, about one in 9,000) with probability 1e-9, and the seed is fixed.
#[test]
fn the_harnesses_hold_what_they_say() {
    let ran = call(&["test", "harnesses", "--no-save", "--format", "json"]);
    let report: TestReport = serde_json::from_str(&ran.out).expect("a report");
    let failed: Vec<_> = report.variants.iter().filter(|v| v.verdict == "failed").collect();
    assert!(failed.is_empty(), "{}", serde_json::to_string_pretty(&failed).expect("JSON"));
    assert_eq!((ran.status, ran.err.as_str(), report.complete), (0, "", true));
    let files: std::collections::BTreeSet<&str> = report.variants.iter().map(|v| v.file.as_str()).collect();
    assert_eq!(files.len(), crate::load::models("harnesses").len());
    // No variant is skipped: a model without `expect` lines expects no failure. `safestack` is such a model; it has a
    // failure, but so few walks do not see it.
    let skipped: Vec<&str> =
        report.variants.iter().filter(|v| v.verdict == "skipped").map(|v| v.file.as_str()).collect();
    assert!(skipped.is_empty(), "{skipped:?}");
    let lines = report.variants.iter().flat_map(|v| &v.expectations);
    assert!(lines.clone().filter(|e| e.verdict == "met").count() > 900);
    let unchecked: Vec<&str> = lines.filter(|e| e.verdict == "unchecked").map(|e| e.text.as_str()).collect();
    assert!(unchecked.is_empty(), "{unchecked:?}");
}

#[test]
fn the_number_of_workers_changes_nothing() {
    for format in ["text", "json"] {
        let with = |jobs| {
            let paths = ["harnesses/papers", "harnesses/racefuzzer"];
            let options = ["--no-save", "--runs", "100", "--format", format, "--jobs", jobs];
            call(&[&["test"][..], &paths, &options].concat())
        };
        let (one, two, nine) = (with("1"), with("2"), with("9"));
        assert_eq!((one.status, &one.out), (two.status, &two.out));
        assert_eq!((one.status, &one.out), (nine.status, &nine.out));
    }
}

#[test]
fn a_green_model_is_tested_in_each_variant() {
    let folder = scratch("test-green");
    file(&folder, "m.race", &counter(RIGHT));
    let ran = within(&folder, &["test", "m.race"]);
    let expected = "PASS  m.race FIXED=0  1 expectation, all 12 states\nPASS  m.race FIXED=1  1 expectation, all 16 states\n\n\
                    Summary: 2 variants: 2 passed\n2 expectations: 2 met\n";
    assert_eq!((ran.status, ran.out.as_str(), ran.err.as_str()), (0, expected, ""));
    assert!(seeds(&folder).is_empty());
    // A constant that is given is fixed. A filter selects among the printed names.
    for args in [["-D", "FIXED=1"], ["--filter", "FIXED=1"], ["--filter", "race FIXED=1"]] {
        let ran = within(&folder, &[&["test", "m.race"][..], &args].concat());
        assert!(ran.out.starts_with("PASS  m.race FIXED=1  1 expectation"), "{}", ran.out);
        assert!(ran.out.contains("Summary: 1 variant: 1 passed\n"), "{}", ran.out);
    }
    // No line holds for this value, so the variant is skipped.
    let ran = within(&folder, &["test", "m.race", "-D", "FIXED=7"]);
    assert!(
        ran.status == 0 && ran.out.starts_with("SKIP  m.race FIXED=7  no expectations with these constants\n"),
        "{}",
        ran.out
    );
}

#[test]
fn what_must_be_and_is_not_fails() {
    let folder = scratch("test-missing");
    let lines = "expect deadlock if FIXED == 0\nexpect failure both if FIXED == 1\nexpect atomicity violation\n";
    file(&folder, "m.race", &counter(lines));
    let ran = within(&folder, &["test", "m.race", "--explore-limit", "0", "--runs", "100"]);
    assert_eq!(ran.status, FOUND);
    assert!(
        ran.out.contains("  m.race:7: expect deadlock if FIXED == 0\n    `deadlock` did not happen in any run ("),
        "{}",
        ran.out
    );
    assert!(
        ran.out
            .contains("  m.race:8: expect failure both if FIXED == 1\n    `failure both` did not happen in any run ("),
        "{}",
        ran.out
    );
    let line = "  m.race:9: expect atomicity violation\n    none of 400 walks violates it (";
    assert!(ran.out.contains(line), "{}", ran.out);
    let ran = within(&folder, &["test", "m.race"]);
    assert!(ran.out.contains("    no run can violate it (a search of "), "{}", ran.out);
    assert!(ran.out.contains("    `deadlock` can never happen (all 12 states"), "{}", ran.out);
    // No failure was seen, so none is saved.
    assert!(seeds(&folder).is_empty());
}

#[test]
fn a_limit_is_no_end_that_a_model_can_name() {
    let folder = scratch("test-limit");
    file(&folder, "m.race", "var x = 0\nthread t { loop { x = 1 } }\nexpect outcomes: ok\n");
    let ran = within(&folder, &["test", "m.race", "--explore-limit", "0", "--runs", "5", "--steps", "100"]);
    assert_eq!(ran.status, FOUND);
    assert!(ran.out.contains("runs end this way: the limit of 100 steps; --steps 200 raises it"), "{}", ran.out);
    assert!(seeds(&folder).is_empty());
}

/// Lines about a model whose runs do not end are judged by the search.
#[test]
fn lines_about_runs_without_end_are_judged_by_search() {
    let folder = scratch("test-endless");
    let lines = "expect order @a, @b: real\nexpect order @b, @c: never\nexpect no failure\nexpect livelock\n";
    let text = format!(
        "var x = 0\nthread t {{ loop {{ @a: x = 1; @b: x = 2 }} }}\nthread u {{ await x == 3; @c: skip }}\n{lines}"
    );
    file(&folder, "m.race", &text);
    let ran = within(&folder, &["test", "m.race"]);
    assert!(ran.status == 0 && ran.out.contains("4 expectations: 4 met"), "{}", ran.out);
    file(&folder, "m.race", &text.replace("expect livelock", "expect no livelock").replace("@c: never", "@c: real"));
    let ran = within(&folder, &["test", "m.race"]);
    assert!(ran.status == FOUND && ran.out.contains("some run may continue forever"), "{}", ran.out);
    assert!(ran.out.contains("none of 0 ends has this order"), "{}", ran.out);
}

/// A search can track the progress of at most 40 lines about order; with more lines, walks judge them.
#[test]
fn a_reduced_search_decides_where_there_are_too_many_states() {
    let folder = scratch("test-reduced");
    let threads = "var own: int[8]\nthread t(i in 0..8) { for n in 0..3 { own[i] = n } }\n";
    let bad = "thread bad { skip; assert own[0] < 2, \"late\" }\n";
    let test = |name: &str, lines: &str| {
        let path = file(&folder, &format!("{name}.race"), &format!("{threads}{bad}{lines}"));
        call(&["test", &path, "--explore-limit", "1000", "--walks", "50", "--no-save"])
    };
    let decided = test("decided", "expect outcomes: ok, failure \"late\"\nexpect no deadlock\n");
    assert!(decided.status == 0 && decided.out.contains("states of a reduced search"), "{}", decided.out);
    let surplus = test("surplus", "expect no failure\n");
    assert!(surplus.status == FOUND && surplus.out.contains("states of a reduced search"), "{}", surplus.out);
    let missing = test("missing", "expect deadlock\n");
    assert!(missing.status == FOUND && missing.out.contains("can never happen"), "{}", missing.out);
    // Values where a run fails, orders and livelocks need all states.
    for line in ["expect outcomes of own: ok", "expect livelock"] {
        let left = test("left", &format!("{line}\n"));
        assert!(!left.out.contains("reduced search"), "{line}: {}", left.out);
    }
}

#[test]
fn many_order_lines_are_left_to_walks() {
    let folder = scratch("test-many-orders");
    for (lines, by) in [(40, "all 5 states"), (41, "2000 walks")] {
        let text = format!(
            "var x = 0\nthread p {{ @p: skip }}\nthread q {{ @q: skip }}\n{}",
            "expect order @p, @q: real\n".repeat(lines) + "expect no deadlock\n"
        );
        file(&folder, "m.race", &text);
        let ran = within(&folder, &["test", "m.race"]);
        let expected = format!("PASS  m.race  {} expectations, {by}", lines + 1);
        assert!(ran.status == 0 && ran.out.starts_with(&expected), "{}", ran.out);
    }
}

/// If a limit cuts every run, a line about what must not happen counts as not checked.
#[test]
fn what_must_not_be_is_not_checked_by_runs_without_end() {
    let folder = scratch("test-cut");
    let lines = "expect no failure\nexpect order @a, @b: never\nexpect order @a, @a: real\n";
    let model =
        format!("var x = 0\nthread a {{ loop {{ @a: x += 1 }} }}\nthread b {{ await x < 0; @b: skip }}\n{lines}");
    file(&folder, "m.race", &model);
    let ran = within(&folder, &["test", "m.race", "--runs", "5", "--steps", "100"]);
    assert!(ran.status == FOUND && ran.out.starts_with("FAIL  m.race  3 expectations"), "{}", ran.out);
    for line in ["4: expect no failure", "5: expect order @a, @b: never"] {
        let why =
            format!("  m.race:{line}\n    not checked: no run ended before a limit: a limit cut all of them (5 walks");
        assert!(ran.out.contains(&why), "{}", ran.out);
    }
    assert!(ran.out.contains("3 expectations: 1 met, 2 could not be checked (no run ended"), "{}", ran.out);
    let ran = within(&folder, &["test", "m.race", "--runs", "5", "--steps", "100", "--format", "json"]);
    let report: TestReport = serde_json::from_str(&ran.out).expect("a report");
    assert_eq!(
        (ran.status, report.failed, report.variants[0].expectations[0].verdict.as_str()),
        (FOUND, 1, "unchecked")
    );
    let args = ["test", "m.race", "--runs", "5", "--steps", "100", "--format", "junit", "--fail-on", "limits"];
    let ran = within(&folder, &args);
    assert_eq!(ran.out.matches("type=\"expect/unchecked\"").count(), 2, "{}", ran.out);
    assert!(!ran.out.contains("expect/unmet"), "{}", ran.out);
    assert!(ran.err.contains("gate: failed on limits ("), "{}", ran.err);
    // A single run that ends is enough to check the line.
    file(&folder, "m.race", "thread a { while * { skip } }\nexpect no failure\n");
    let ran = within(&folder, &["test", "m.race", "--runs", "50", "--steps", "5"]);
    assert_eq!(ran.status, 0, "{}", ran.out);
}

#[test]
fn order_lines_are_judged() {
    let folder = scratch("test-order");
    let model = |lines: &str| {
        format!(
            "var x = 0\nlooper main\nthread t {{ post one() to main; post two() to main }}\ntask one() {{ @one: x = 1 }}\n\
             task two() {{ @two: x = 2 }}\nthread u {{ @u: x = 3 }}\nproperty p at end {{ x != 3 }}\n{lines}"
        )
    };
    let good = "expect order @one, @two: real\nexpect order @two, @one: never\nexpect order @two, @u: harmful\n\
                expect order @one, @u: real\nexpect executes_before one, two\n";
    file(&folder, "good.race", &model(good));
    let bad = "expect order @one, @two: never\nexpect order @two, @one: real\nexpect order @u, @two: harmful\n\
               expect executes_before two, one\n";
    file(&folder, "bad.race", &model(bad));
    let ran = within(&folder, &["test", "."]);
    assert!(ran.out.contains("PASS  ./good.race  5 expectations"), "{}", ran.out);
    for (line, text) in
        [(8, "ends have this order"), (9, "none of"), (10, "no failure needs it"), (11, "the second task begins")]
    {
        let told = ran.out.split(&format!("./bad.race:{line}: ")).nth(1).unwrap_or_else(|| panic!("{}", ran.out));
        assert!(told.lines().nth(1).is_some_and(|l| l.contains(text)), "{told}");
    }
}

#[test]
fn a_broken_model_does_not_keep_the_others_from_being_tested() {
    let folder = scratch("test-broken");
    std::fs::create_dir_all(folder.join("app/deep")).unwrap();
    file(&folder, "app/broken.race", "thread t {");
    file(&folder, "app/deep/m.race", &counter(RIGHT));
    file(&folder, "app/notes.txt", "no model");
    let variant = "const N = 1\nconst M = 4 / N\nthread t { skip }\nexpect outcomes: ok if N == 0\n";
    file(&folder, "app/variant.race", variant);
    let ran = within(&folder, &["test", "app"]);
    assert_eq!(ran.status, REFUSED);
    assert!(ran.out.contains("PASS  app/deep/m.race FIXED=1"), "{}", ran.out);
    assert!(ran.out.contains("2 models could not be read"), "{}", ran.out);
    assert!(ran.err.contains("app/broken.race:1:10") && ran.err.contains("app/variant.race with N=0"), "{}", ran.err);
    let ran = within(&folder, &["test", "app", "--format", "json"]);
    let report: TestReport = serde_json::from_str(&ran.out).expect("a report");
    assert_eq!((report.refused.len(), report.failed), (2, 0));
}

#[test]
fn a_broken_variant_does_not_keep_the_others_from_being_tested() {
    let folder = scratch("test-broken-variant");
    let model = "const N = 1\nthread t { if N == 1 { @a: skip } }\nexpect order @a: real if N < 9\nexpect outcomes: ok if N == 0\n\
                 expect outcomes: ok if N == 2\nexpect outcomes: ok if N == 9\n";
    file(&folder, "m.race", &model.replace("@a: real", "@a, @a: never"));
    let ran = within(&folder, &["test", "m.race"]);
    assert_eq!(ran.status, REFUSED);
    assert!(ran.out.contains("PASS  m.race N=1  ") && ran.out.contains("PASS  m.race N=9  "), "{}", ran.out);
    assert!(ran.out.contains("2 variants: 2 passed, 2 models could not be read"), "{}", ran.out);
    assert!(ran.err.contains("m.race with N=0\n") && ran.err.contains("m.race with N=2\n"), "{}", ran.err);
    // The line already has an `if`, so the advice is to narrow it.
    assert!(ran.err.contains("narrow it") && !ran.err.contains("say when it holds"), "{}", ran.err);
}

/// Pipes are not models. A file that cannot be read does not prevent the rest from being tested or formatted.
#[cfg(unix)]
#[test]
fn folders_are_walked_as_far_as_they_can_be() {
    let folder = scratch("test-walk");
    file(&folder, "m.race", "thread t { skip }\nexpect outcomes: ok\n");
    std::os::unix::fs::symlink("m.race", folder.join("link.race")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(folder.join("pipe.race")).status().expect("mkfifo");
    assert!(made.success());
    for (args, status) in [(["test", "."], 0), (["fmt", "--check"], 0)] {
        let ran = within(&folder, &[&args[..], &["."]].concat());
        assert_eq!((ran.status, ran.err.as_str()), (status, ""), "{args:?}: {}", ran.out);
    }
    // No process can read a path that is too long for the system.
    let long: std::path::PathBuf = std::iter::repeat_n("d".repeat(250), 9).collect();
    std::fs::create_dir_all(folder.join("other").join(&long)).unwrap();
    std::fs::create_dir_all(folder.join(&long)).unwrap();
    std::fs::rename(folder.join("other"), folder.join(&long).join("other")).unwrap();
    let tested = within(&folder, &["test", "."]);
    assert!(tested.status == REFUSED && tested.out.contains("PASS  ./"), "{}{}", tested.out, tested.err);
    assert!(tested.err.contains("cannot read the folder `./ddd"), "{}", tested.err);
    std::fs::write(folder.join("m.race"), "thread t {skip}").unwrap();
    let laid_out = within(&folder, &["fmt", "."]);
    assert!(laid_out.status == REFUSED && laid_out.err.contains("cannot read the folder"), "{}", laid_out.err);
    assert_eq!(std::fs::read_to_string(folder.join("m.race")).unwrap(), "thread t { skip }\n");
}

#[test]
fn what_cannot_be_tested_is_refused_with_advice() {
    let folder = scratch("test-refused");
    std::fs::create_dir_all(folder.join("empty/folder")).unwrap();
    file(&folder, "model.race", &counter(RIGHT));
    let check = |args: &[&str], expected: &str| {
        let ran = within(&folder, &[&["test"], args].concat());
        assert_eq!((ran.status, ran.out.as_str()), (REFUSED, ""), "{args:?}");
        assert!(ran.err.contains(expected), "{args:?}: {}", ran.err);
    };
    check(&["modle.race"], "there is no such file or folder; did you mean `model.race`?");
    check(&["empty"], "there is no `.race` file in `empty` or below it");
    check(&["model.race", "empty"], "there is no `.race` file in `empty`");
    check(&["model.race", "-D", "FIXD=1"], "no model has a constant `FIXD`; did you mean `FIXED`?");
    check(&["model.race", "--filter", "other"], "no variant has `other` in its name");
    check(&["model.race", "--walks", "0"], "--walks");
    // `--runs` is the old name of `--walks`.
    check(&["model.race", "--runs", "0"], "--walks");
    check(&[], "PATH");
    // A constant that only one of several models has is given to that one.
    file(&folder, "other.race", "thread t { skip }\nexpect outcomes: ok\n");
    let ran = within(&folder, &["test", ".", "-D", "FIXED=1"]);
    assert!(ran.status == 0 && ran.out.contains("PASS  ./other.race  1"), "{}{}", ran.out, ran.err);
    let many =
        (0..9).fold(String::new(), |text, i| format!("{text}const C{i} = 0\nexpect outcomes: ok if C{i} == 1\n"));
    file(&folder, "many.race", &format!("{many}thread t {{ skip }}\n"));
    let ran = within(&folder, &["test", "many.race"]);
    assert!(ran.status == REFUSED && ran.err.contains("name 512 variants"), "{}", ran.err);
}

/// Ends that differ only in variables that a line does not name are listed as one.
#[test]
fn ends_are_listed_as_the_line_tells_them_apart() {
    let folder = scratch("test-ends");
    let bits: String = [1, 2, 4, 8, 16].iter().map(|bit| format!("if * {{ y += {bit} }}; ")).collect();
    let threads = format!("var y = 0\n\n\nthread a {{ {bits} assert y > 40, \"low\" }}\n");
    let lines = "expect no failure\nexpect outcomes of y: ok 77\nexpect outcomes of y: failure \"low\" 77\n";
    file(&folder, "m.race", &format!("{threads}{lines}"));
    let ran = within(&folder, &["test", "m.race", "--runs", "300"]);
    let [name] = &seeds(&folder)[..] else { panic!("{}", ran.out) };
    let part = |from: &str, to: &str| {
        let rest = ran.out.split(from).nth(1).unwrap_or_else(|| panic!("{}", ran.out));
        rest.split(to).next().expect("a part").to_owned()
    };
    let first = part("m.race:5:", "m.race:6:");
    assert_eq!(first.matches("runs end this way").count(), 1, "{first}");
    let second = part("m.race:6:", "m.race:7:");
    assert_eq!(second.matches("runs end this way").count(), 1, "{second}");
    // `y` takes all values from 0 to 31, and three of these ends are shown.
    let third = part("m.race:7:", "Summary");
    assert!(third.contains("and 29 more forbidden ends"), "{third}");
    assert_eq!(ran.out.matches(&format!("saved as seeds/{name}")).count(), 1, "{}", ran.out);
    let ran = within(&folder, &["test", "m.race", "--runs", "300", "--no-save", "--format", "json"]);
    let report: TestReport = serde_json::from_str(&ran.out).expect("a report");
    let line = &report.variants[0].expectations[2];
    assert_eq!(line.shown.len(), 20);
    assert_eq!(line.why.last().map(String::as_str), Some("32 different ends are forbidden, and 20 of them are shown"));
}

/// Ctrl-C during a test prints the results so far.
#[cfg(unix)]
#[test]
fn an_interrupted_test_keeps_what_it_has() {
    let folder = scratch("test-interrupted");
    file(&folder, "a.race", &counter(RIGHT));
    file(
        &folder,
        "b.race",
        &counter(&format!("{RIGHT}expect no deadlock\n")).replace("x += 1", "x += 1; for i in 0..90000 { skip }"),
    );
    let mut command = raceflip();
    command.current_dir(&folder).args(["test", ".", "--runs", "100000", "--jobs", "1", "--steps", "1000000"]).args([
        "--filter",
        "a.race FIXED=0",
        "--filter",
        "b.race",
    ]);
    // After the first line, the second model is being tested.
    let said = interrupt(&mut command, 40, Duration::ZERO);
    assert_eq!(said.status, 130, "{}", said.err);
    assert!(said.out.contains("Summary: 1 variant: 1 passed, 2 not tested\n"), "{}", said.out);
    assert!(said.err.contains("interrupted: 1 of 3 variants were tested"), "{}", said.err);
}

/// The summary and the note of an interruption give the same number: a variant that failed before it was complete
/// counts in both.
#[cfg(unix)]
#[test]
fn an_interrupted_test_counts_once() {
    let folder = scratch("test-interrupted-counts");
    file(&folder, "a.race", "var x = 0\nthread a { x = 1 }\nexpect no failure\n");
    let fails =
        "var x = 0\nthread a { for i in 0..20000 { skip }; assert x == 0 }\nthread b { x = 1 }\nexpect no failure\n";
    file(&folder, "b.race", fails);
    file(&folder, "c.race", fails);
    let mut command = raceflip();
    command
        .current_dir(&folder)
        .args(["test", ".", "--walks", "100000", "--explore-limit", "1000", "--jobs", "1", "--no-save", "--no-shrink"])
        .args(["--filter", "a.race", "--filter", "b.race", "--filter", "c.race"]);
    let said = interrupt(&mut command, 4, Duration::from_secs(3));
    assert_eq!(said.status, 130, "{}", said.err);
    assert!(said.out.contains("Summary: 2 variants: 1 passed, 1 failed, 1 not tested\n"), "{}", said.out);
    assert!(said.err.contains("interrupted: 2 of 3 variants were tested, 1 of them incompletely"), "{}", said.err);
}
