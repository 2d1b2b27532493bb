//! Tests of gates: which findings fail, in every report format, and the effect of `--fail-on`.

use crate::cli::{FOUND, MENU, REFUSED, call, file, scratch};
use crate::reports::elements;
use crate::schema::{sarif_schema, valid};
use serde_json::Value;

const CRASHES: &str = "tests/data/faults/always_crashes_green.race";
const LIVELOCK: &str = "tests/data/faults/livelock_exit_0.race";
const TWINS: &str = "tests/data/faults/treiber_twins.race";

// A model with a race that is not harmful.
const HARMLESS: &str = "var x = 0\nthread a { x = 1 }\nthread b { x = 1 }\n";

fn out(args: &[&str]) -> String {
    call(args).out
}

#[test]
fn what_fails_in_both_orders_fails_in_every_form() {
    let confirm = |form: &str| out(&["confirm", CRASHES, "--format", form]);
    let text = call(&["confirm", CRASHES]);
    assert_eq!(text.status, FOUND);
    assert!(
        text.out.contains("1 failure that no pair's order explains:\n  NullPointer (a is null) at "),
        "{}",
        text.out
    );
    assert!(text.out.contains("\n    in either order of :"), "{}", text.out);
    assert!(text.out.ends_with("1 failure: not caused by one order\n"), "{}", text.out);
    let junit = confirm("junit");
    assert_eq!(elements(&junit, "failure"), 1, "{junit}");
    assert!(junit.contains("type=\"failure/either-order\"") && junit.contains("failures=\"1\""), "{junit}");
    let github = confirm("github");
    assert_eq!(github.lines().filter(|l| l.starts_with("::error ")).count(), 1, "{github}");
    let markdown = confirm("markdown");
    assert!(markdown.starts_with("## raceflip: 1 failure, 0 harmful pairs, 2 runs at a limit\n"), "{markdown}");
    let sarif = valid(&sarif_schema(), &confirm("sarif"));
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let failures: Vec<&Value> = results.iter().filter(|r| r["ruleId"] == "failure/either-order").collect();
    assert_eq!((failures.len(), &failures[0]["level"]), (1, &"error".into()), "{sarif}");
    let json: Value = serde_json::from_str(&confirm("json")).unwrap();
    assert!(json["detection_failures"].as_array().is_some_and(|f| !f.is_empty()), "{json}");
    // The failure is also reported with all variants.
    let folder = out(&["confirm", CRASHES, "--all-variants"]);
    assert!(folder.contains("1 failure that no pair's order explains"), "{folder}");
    for gate in ["any-failure", "any-failure,limits"] {
        assert_eq!(call(&["confirm", CRASHES, "--fail-on", gate]).status, FOUND, "{gate}");
    }
    assert_eq!(call(&["confirm", CRASHES, "--fail-on", "harmful"]).status, 0);
}

#[test]
fn pairs_of_one_failure_are_one_finding() {
    let junit = out(&["confirm", TWINS, "--format", "junit"]);
    let json: Value = serde_json::from_str(&out(&["confirm", TWINS, "--format", "json"])).unwrap();
    let of = |list: &str| {
        json[list].as_array().unwrap().iter().filter(|p| p["harm"] == "harmful").cloned().collect::<Vec<_>>()
    };
    let harmful = [of("pairs"), of("order_pairs")].concat();
    let mut signatures: Vec<&str> =
        harmful.iter().flat_map(|p| p["harms"].as_array().unwrap()).map(|h| h["signature"].as_str().unwrap()).collect();
    signatures.sort_unstable();
    signatures.dedup();
    assert!(elements(&junit, "failure") <= signatures.len().max(1) + 1, "{junit}");
    let text = out(&["confirm", TWINS, "--all"]);
    let same = text.lines().filter(|l| l.starts_with("  the same cause as with ")).count();
    let told = text.lines().filter(|l| l.starts_with("HARMFUL")).count();
    assert_eq!(told, harmful.len(), "{text}");
    assert!(told == 0 || told - same <= signatures.len(), "{text}");
}

#[test]
fn gates_fail_on_what_they_name() {
    let folder = scratch("gates");
    let harmless = file(&folder, "harmless.race", HARMLESS);
    for (model, gate, status, says) in [
        // A race that is not harmful gives the status "found" without a gate, but does not fail a gate on failures.
        (harmless.as_str(), None, FOUND, ""),
        (&harmless, Some("any-failure"), 0, "gate: passed"),
        (&harmless, Some("harmful,any-failure,limits"), 0, "gate: passed"),
        (&harmless, Some("real"), FOUND, "gate: failed on real (1)"),
        (&harmless, Some("nothing"), 0, "gate: passed"),
        (MENU, Some("harmful"), FOUND, "gate: failed on harmful (1)"),
        (MENU, Some("any-failure"), FOUND, "gate: failed on any-failure (1)"),
        (MENU, Some("nothing"), 0, "gate: passed"),
        (LIVELOCK, None, 0, ""),
        (LIVELOCK, Some("any-failure"), 0, "gate: passed"),
        (LIVELOCK, Some("limits"), FOUND, "gate: failed on limits ("),
        (LIVELOCK, Some("livelock"), FOUND, "gate: failed on livelock (1)"),
        (&harmless, Some("livelock"), 0, "gate: passed"),
    ] {
        let mut args = vec!["confirm", model, "--quiet", "--steps", "2000"];
        args.extend(gate.iter().flat_map(|gate| ["--fail-on", gate]));
        let run = call(&args);
        assert_eq!(run.status, status, "{args:?}: {}{}", run.out, run.err);
        assert!(run.err.contains(says), "{args:?}: {}", run.err);
    }
    let both = call(&["confirm", MENU, "--fail-on", "nothing,harmful"]);
    assert_eq!((both.status, both.out.as_str()), (REFUSED, ""));
    assert!(both.err.contains("cannot be combined"), "{}", both.err);
    // Merged parts pass through the same gate.
    let part = folder.join("part.json").display().to_string();
    let made = call(&["confirm", &harmless, "--partition", "1/1", "--out", &part, "--fail-on", "any-failure"]);
    assert_eq!(made.status, 0, "{}", made.err);
    assert_eq!(call(&["merge", &part]).status, FOUND);
    assert_eq!(call(&["merge", &part, "--fail-on", "any-failure"]).status, 0);
}

#[test]
fn limits_and_livelocks_are_in_the_headline() {
    let text = out(&["confirm", LIVELOCK, "--steps", "2000", "--quiet"]);
    assert!(text.contains(" reached the limit of 2000 steps"), "{text}");
    assert!(text.contains("possible livelock: a never ends\n"), "{text}");
    let markdown = out(&["confirm", LIVELOCK, "--steps", "2000", "--format", "markdown"]);
    let first = markdown.lines().next().unwrap_or_default();
    assert!(first.contains(" at a limit, 1 possible livelock"), "{first}");
    assert!(
        out(&["confirm", LIVELOCK, "--steps", "2000", "--format", "github"])
            .contains("possible livelock: a never ends")
    );
    assert!(
        out(&["confirm", LIVELOCK, "--steps", "2000", "--format", "junit"]).contains("possible livelock: a never ends")
    );
    assert!(out(&["confirm", LIVELOCK, "--steps", "2000", "--all-variants"]).contains("1 possible livelock"));
    let json: Value =
        serde_json::from_str(&out(&["confirm", LIVELOCK, "--steps", "2000", "--format", "json"])).unwrap();
    assert_eq!(json["livelocks"][0]["threads"], serde_json::json!(["a"]));
    // The run of a livelock can be replayed.
    let again = call(&["replay", LIVELOCK, "-q", json["livelocks"][0]["again"]["token"].as_str().unwrap()]);
    assert!(again.out.starts_with("limit: "), "{}", again.out);
}

#[test]
fn findings_lead_to_the_real_source() {
    let folder = scratch("sources");
    let text = "var f = null\nclass C { var n = 0 }\nlooper main\nthread s { f = new C; post a() to main; fork w() }\n\
                task a() { @use from \"app/src/Main.java:12\": f.n += 1 }\ntask w() { @clear from \"Menu.java:30\": f = null }\n";
    let text = text.replace("var f = null\nclass C { var n = 0 }", "class C { var n = 0 }\nvar f: C = null");
    let model = file(&folder, "m.race", &text);
    let said = out(&["confirm", &model]);
    assert!(said.contains("\n  app/src/Main.java:12 ~ Menu.java:30\n"), "{said}");
    let github = out(&["confirm", &model, "--format", "github"]);
    let first = github.lines().next().unwrap_or_default();
    assert!(first.starts_with("::error file=app/src/Main.java,line=12,title=harmful race on f"), "{github}");
    assert!(first.contains("%0Ain the model: "), "{github}");
    let sarif = valid(&sarif_schema(), &out(&["confirm", &model, "--format", "sarif"]));
    let result = &sarif["runs"][0]["results"][0];
    let at = |list: &str, i: usize| {
        let place = &result[list][i]["physicalLocation"];
        (place["artifactLocation"]["uri"].as_str().unwrap_or_default().to_owned(), place["region"]["startLine"].clone())
    };
    assert_eq!(at("locations", 0), ("app/src/Main.java".to_owned(), 12.into()));
    assert!(at("locations", 1).0.ends_with("m.race"));
    assert_eq!(at("relatedLocations", 0), ("Menu.java".to_owned(), 30.into()));
    assert!(at("relatedLocations", 1).0.ends_with("m.race"));
}

#[test]
fn tests_have_all_forms_and_a_gate() {
    let folder = scratch("test-forms");
    let model = file(&folder, "m.race", &format!("{HARMLESS}expect deadlock\nexpect no failure\n"));
    let test = |more: &[&str]| call(&[&["test", &model, "--no-save"][..], more].concat());
    assert_eq!(test(&[]).status, FOUND);
    let junit = test(&["--format", "junit"]);
    assert_eq!(
        (junit.status, elements(&junit.out, "failure"), elements(&junit.out, "testcase")),
        (FOUND, 1, 2),
        "{}",
        junit.out
    );
    let github = test(&["--format", "github"]).out;
    assert!(github.starts_with("::error file=") && github.contains(",line=4,title=not met%3A "), "{github}");
    assert!(test(&["--format", "markdown"]).out.starts_with("## raceflip test: 1 variant: 0 passed, 1 failed\n"));
    let sarif = valid(&sarif_schema(), &test(&["--format", "sarif"]).out);
    assert_eq!(sarif["runs"][0]["results"].as_array().map(Vec::len), Some(1), "{sarif}");
    let json: Value = serde_json::from_str(&test(&["--format", "json"]).out).unwrap();
    assert_eq!(json["failed"], 1);
    // A line that does not hold fails every test, whatever gate is given.
    let unmet = serde_json::json!({ "on": "unmet", "count": 1, "why": "variants fail" });
    assert_eq!(
        json["gate"],
        serde_json::json!({ "fail_on": ["unmet"], "default": true, "passed": false, "failed": [unmet] })
    );
    assert_eq!((&sarif["runs"][0]["properties"]["gate"], FOUND), (&json["gate"], test(&[]).status));
    assert_eq!(sarif["runs"][0]["invocations"][0]["exitCode"], FOUND);
    // The next model has runs that a limit cuts.
    let cut = file(
        &folder,
        "cut.race",
        "var x = 0\nthread a { x = 1 }\nthread b { if * { loop { x = 2 } } }\nexpect no failure\n",
    );
    let test = |more: &[&str]| {
        call(&[&["test", &cut, "--explore-limit", "0", "--walks", "20", "--steps", "100"][..], more].concat())
    };
    let run = test(&[]);
    assert!(run.status == 0 && run.out.contains(" reached a limit"), "{}", run.out);
    let gate = test(&["--fail-on", "limits"]);
    assert!(gate.status == FOUND && gate.err.contains("gate: failed on limits ("), "{}", gate.err);
    assert_eq!(test(&["--fail-on", "unchecked"]).status, 0);
}

#[test]
fn a_model_without_lines_expects_no_failure() {
    let folder = scratch("no-lines");
    let seeds = folder.join("seeds").display().to_string();
    let run = call(&["test", CRASHES, "--walks", "50", "--saved", &seeds]);
    assert_eq!(run.status, FOUND);
    assert!(run.out.contains("no failure (it has no `expect` lines, so no run may fail)"), "{}", run.out);
    assert!(run.out.contains("no `expect` lines: no run may fail, 50 walks"), "{}", run.out);
    let ok = file(&folder, "ok.race", HARMLESS);
    let run = call(&["test", &ok, "--walks", "50"]);
    assert!(run.status == 0 && run.out.starts_with("PASS  "), "{}", run.out);
    let locks = "lock a\nlock b\nthread s { sync a { sync b { skip } } }\nthread t { sync b { sync a { skip } } }\n";
    let locks = file(&folder, "locks.race", locks);
    let run = call(&["test", &locks, "--no-save"]);
    assert!(run.status == FOUND && run.out.contains("no deadlock"), "{}", run.out);
}

#[test]
fn one_rule_for_variants() {
    let folder = scratch("variants");
    let text = "const FIXED = 0\nvar x = 0\nthread a { x = 1 }\nthread b { x = 2; assert FIXED == 1 || x == 2 }\n\
                expect failure if FIXED == 0\nexpect no failure if FIXED == 1\n";
    let one = file(&folder, "m.race", text);
    let dir = folder.display().to_string();
    let names = |args: &[&str]| {
        let json: Value = serde_json::from_str(&out(&[args, &["--format", "json"]].concat())).unwrap();
        let of = |r: &Value| r["defines"].to_string();
        json["results"].as_array().map_or_else(|| vec![of(&json)], |all| all.iter().map(of).collect())
    };
    // A file and a folder follow the same rule: one variant with the model's own constants, or all variants.
    assert_eq!(names(&["confirm", &one]), ["{}"]);
    assert_eq!(names(&["confirm", &dir]), ["{}"]);
    let both = ["{\"FIXED\":0}", "{\"FIXED\":1}"];
    assert_eq!(names(&["confirm", &one, "--all-variants"]), both);
    assert_eq!(names(&["confirm", &dir, "--all-variants"]), both);
    assert_eq!(names(&["confirm", &dir, "-D", "FIXED=1"]), ["{\"FIXED\":1}"]);
    for path in [&one, &dir] {
        let said = out(&["confirm", path]);
        assert!(said.ends_with("1 variant with other constants not tested (--all-variants)\n"), "{said}");
    }
}

#[test]
fn folders_are_taken_where_they_make_sense() {
    let folder = scratch("folders");
    file(&folder, "a.race", HARMLESS);
    file(&folder, "b.race", HARMLESS);
    std::fs::create_dir(folder.join(".hidden")).unwrap();
    file(&folder.join(".hidden"), "c.race", "no model");
    let dir = folder.display().to_string();
    let check = call(&["check", &dir]);
    assert_eq!((check.status, check.out.lines().count()), (0, 2), "{}{}", check.out, check.err);
    for command in ["detect", "explore"] {
        let text = call(&[command, &dir]);
        assert_eq!(text.out.lines().filter(|l| l.ends_with(".race:")).count(), 2, "{}", text.out);
        let json: Value = serde_json::from_str(&out(&[command, &dir, "--format", "json"])).unwrap();
        assert_eq!(json.as_array().map(Vec::len), Some(2), "{command}");
    }
    let run = call(&["run", &dir]);
    assert!(run.status == REFUSED && run.err.contains("performs one run of one model"), "{}", run.err);
    let out_of_many = call(&["detect", &dir, "--out", "x.json"]);
    assert!(
        out_of_many.status == REFUSED && out_of_many.err.contains("`--out` needs exactly one model"),
        "{}",
        out_of_many.err
    );
}

#[test]
fn what_is_typed_wrong_is_explained() {
    let token = crate::cli::token(&call(&["run", MENU, "-q"]));
    let turned = call(&["replay", &token, MENU]);
    assert!(
        turned.status == REFUSED && turned.err.contains(&format!("`raceflip replay {MENU} TOKEN`")),
        "{}",
        turned.err
    );
    let bare = call(&["run", MENU, "--virtual-time", "5"]);
    assert!(bare.status == REFUSED && bare.err.contains("`5` has no unit: write 5ms, 5s or 5m"), "{}", bare.err);
    assert_eq!(call(&["run", MENU, "--virtual-time", "5s", "-q"]).status, FOUND);
    // Failures that no order explains are saved, too.
    let seeds = scratch("keep").join("seeds").display().to_string();
    assert!(call(&["confirm", CRASHES, "--save", "--saved", &seeds]).err.contains("saved "));
    // Old names of options are still accepted.
    for args in [
        &["test", MENU, "--runs", "10", "--seeds", &seeds][..],
        &["explore", MENU, "--most-steps", "3"],
        &["confirm", MENU, "--pairs", "no-such-list"],
    ] {
        let run = call(args);
        assert!(!run.err.contains("unexpected argument"), "{args:?}: {}", run.err);
    }
}

#[test]
fn timelines_can_be_ascii() {
    let run = call(&["run", MENU, "--ascii"]);
    assert!(run.status == FOUND && run.out.is_ascii() && run.out.contains("begin onStart#1"), "{}", run.out);
    let drawn = call(&["run", MENU]);
    assert_eq!(run.out.lines().count(), drawn.out.lines().count());
}

/// If limits, pairs or livelocks fail the requested gate, every format has a failure with the reason.
#[test]
fn what_fails_the_gate_fails_in_every_form() {
    let folder = scratch("gate-forms");
    let harmless = file(&folder, "ok.race", HARMLESS);
    let cut = "var x = 0\nthread a { x = 1 }\nthread b { if * { loop { x = 2 } } }\nexpect no failure\n";
    let cut = file(&folder, "cut.race", cut);
    let walks = ["--explore-limit", "0", "--walks", "20", "--steps", "100"];
    let test = [&["test", &cut][..], &walks].concat();
    let spin = file(&folder, "spin.race", "var go = 0\nthread a { while go == 0 { skip } }\nthread b { go = 0 }\n");
    let confirm = |more: &[&'static str]| {
        let few = ["--steps", "50", "--runs", "3", "--trials", "2"];
        ["confirm", &spin].into_iter().chain(few).chain(more.iter().copied()).collect::<Vec<_>>()
    };
    for (args, on) in [
        (confirm(&[]), "limits"),
        (confirm(&[]), "livelock"),
        (confirm(&["--all-variants"]), "limits"),
        (vec!["confirm", &harmless, "--runs", "3", "--trials", "2"], "real"),
        (test, "limits"),
    ] {
        let told = |form: &str, gate: &[&str]| call(&[&args[..], &["--format", form], gate].concat());
        let wanted = format!("the gate failed on {on} (");
        for form in ["junit", "github", "markdown"] {
            let ran = told(form, &["--fail-on", on]);
            assert_eq!((ran.status, ran.out.matches(&wanted).count()), (FOUND, 1), "{args:?} {form}: {}", ran.out);
            assert!(!told(form, &[]).out.contains("the gate failed"), "{args:?} {form}");
        }
        let junit = told("junit", &["--fail-on", on]).out;
        assert!(junit.contains(&format!("type=\"gate/{on}\"")), "{junit}");
        let failures = |gate: &[&str]| elements(&told("junit", gate).out, "failure");
        assert_eq!(failures(&["--fail-on", on]), 1 + failures(&[]), "{junit}");
        // The JSON and the SARIF have the whole gate, also if it was not given.
        for gate in [&["--fail-on", on][..], &[]] {
            let json: Value = serde_json::from_str(&told("json", gate).out).unwrap();
            let ran = told("sarif", gate);
            let log = valid(&sarif_schema(), &ran.out);
            let (log, judged) = (&log["runs"][0], &json["gate"]);
            assert_eq!((&log["properties"]["gate"], &log["invocations"][0]["exitCode"]), (judged, &ran.status.into()));
            assert_eq!(log["invocations"][0]["executionSuccessful"], true);
            assert_eq!((&judged["default"], &judged["passed"]), (&gate.is_empty().into(), &(ran.status == 0).into()));
            let failed = judged["failed"].as_array().unwrap();
            let is_on = |f: &Value| f["on"] == on && f["count"].as_u64() > Some(0) && f["why"].is_string();
            assert!(gate.is_empty() || failed.iter().any(is_on), "{args:?} {judged}");
            let said = log["invocations"][0]["exitCodeDescription"].as_str().unwrap();
            assert!(gate.is_empty() || said.starts_with(&format!("gate: failed on {on} (")), "{said}");
        }
        let github = told("github", &["--fail-on", on]).out;
        assert!(github.starts_with("::error title=raceflip%3A gate::"), "{github}");
    }
}

/// Every format gives the line, column, operand and thread of a failure, as the text does. Test cases of `test` and
/// `confirm` have the same class name.
#[test]
fn the_forms_of_a_test_tell_the_failure() {
    let folder = scratch("test-told");
    let text = "class C { var n = 0 }\nvar o: C = null\nthread a { let y = o.n }\nexpect no failure\nexpect race x\n";
    let path = file(&folder, "m.race", text.trim_end_matches("expect race x\n"));
    let test = |form: &str| out(&["test", &path, "--no-save", "--format", form]);
    let says = "NullPointer (o is null) at :3:20 in a";
    for form in ["text", "junit", "github", "markdown", "json"] {
        assert!(test(form).contains(says), "{form}: {}", test(form));
    }
    let json: Value = serde_json::from_str(&test("json")).unwrap();
    let shown = &json["variants"][0]["expectations"][0]["shown"][0];
    assert_eq!((&shown["text"], &shown["thread"], &shown["at"]["line"]), (&says.into(), &"a".into(), &3.into()));
    assert_eq!((&shown["operand"]["text"], &shown["operand"]["column"]), (&"o is null".into(), &20.into()), "{shown}");
    let class = |junit: &str| {
        let (_, rest) = junit.split_once("classname=\"").unwrap_or_else(|| panic!("{junit}"));
        rest.split_once('"').unwrap().0.to_owned()
    };
    assert_eq!(class(&test("junit")), class(&out(&["confirm", &path, "--format", "junit"])));
}

/// Deadlocks of different threads of one array count as one failure, in the headline and for the gate.
#[test]
fn threads_of_one_array_fail_as_one() {
    let text = "lock a\nlock b\nthread t(i in 0..3) { if i % 2 == 0 { sync a { sync b { skip } } } else { sync b { sync a { skip } } } }\n";
    let path = file(&scratch("gate-twins"), "m.race", text);
    let run = call(&["confirm", &path, "--runs", "200", "--trials", "30", "--fail-on", "any-failure"]);
    assert_eq!(run.status, FOUND, "{}", run.err);
    assert!(run.err.contains("any-failure (1)"), "{}", run.err);
    assert!(run.out.contains("\n1 deadlock ring: 1 harmful"), "{}", run.out);
}

/// A failure that only trials of an unconfirmed pair have fails the gate, and each form of the report shows it.
#[test]
fn a_failure_of_an_unconfirmed_pair_is_in_each_form() {
    let few = ["--runs", "1", "--trials", "2", "--seed", "1", "--explore", "off", "--fail-on", "any-failure"];
    let confirm =
        |form: &str| call(&[&["confirm", "harnesses/sctbench/stack.race"], &few[..], &["--format", form]].concat());
    let json: Value = serde_json::from_str(&confirm("json").out).unwrap();
    let pairs = json["pairs"].as_array().unwrap();
    assert!(pairs.iter().all(|p| p["harm"] == "unknown"), "the pairs are not confirmed: {json}");
    for (form, part) in [("text", "underflow"), ("junit", "<failure"), ("github", "::error"), ("markdown", "underflow")]
    {
        let ran = confirm(form);
        assert!(ran.status == FOUND && ran.out.contains(part), "{form}: {}", ran.out);
    }
}
