//! Tests of the forms of a result of `fuzz` that other tools read.

use crate::cli::{FOUND, REFUSED, call, file, scratch};
use crate::reports::elements;
use crate::schema::{sarif_schema, valid};
use std::path::Path;

const TWO: &str = "const N in 1..4 = 1\nvar x = 0\nvar y = 0\n\
    thread a { x = N; @late: assert y == 0, \"late\" }\n\
    thread b { y = 1; @three: assert x != 3, \"three\" }\n";
const NONE: &str = "var x = 0\nthread a { x = 1 }\nthread b { if x == 2 { skip } }\n";

fn fuzzed(folder: &Path, models: &[&str], options: &[&str]) -> crate::cli::Ran {
    let models: Vec<String> = models.iter().map(|m| folder.join(m).to_string_lossy().into_owned()).collect();
    let models: Vec<&str> = models.iter().map(String::as_str).collect();
    call(&[&["fuzz"], &models[..], &["--runs", "300", "--keep-going"], options].concat())
}

fn workplace(name: &str) -> std::path::PathBuf {
    let folder = scratch(name);
    file(&folder, "two.race", TWO);
    file(&folder, "none.race", NONE);
    folder
}

// The failures of the two values are cases of two suites, each with a command that replays it.
#[test]
fn junit_has_a_case_for_each_failure() {
    let folder = workplace("fuzz_junit");
    let ran = fuzzed(&folder, &["two.race", "none.race"], &["--format", "junit"]);
    assert_eq!(ran.status, FOUND, "{}", ran.err);
    assert_eq!(elements(&ran.out, "failure"), 2, "{}", ran.out);
    assert_eq!(elements(&ran.out, "testsuite"), 3, "{}", ran.out);
    assert!(ran.out.contains("<testsuites name=\"raceflip fuzz\""), "{}", ran.out);
    assert!(ran.out.contains("late") && ran.out.contains("three"), "{}", ran.out);
    // The command of each failure replays it.
    let commands: Vec<&str> = ran.out.lines().filter(|line| line.contains("raceflip replay")).collect();
    assert_eq!(commands.len(), 2, "{}", ran.out);
    for command in commands {
        let words: Vec<&str> = command.split_whitespace().skip_while(|word| *word != "replay").collect();
        let words: Vec<&str> = words.iter().map(|word| word.trim_end_matches("</failure>")).collect();
        assert_eq!(call(&words).status, FOUND, "{command}");
    }
    let quiet = fuzzed(&folder, &["none.race"], &["--format", "junit"]);
    assert_eq!((quiet.status, elements(&quiet.out, "failure")), (0, 0), "{}", quiet.out);
}

// Time that is up ends a search, and is no interruption.
#[test]
fn a_search_whose_time_is_up_is_complete() {
    let folder = workplace("fuzz_junit_time");
    let none = folder.join("none.race").to_string_lossy().into_owned();
    let ran = call(&["fuzz", &none, "--runs", "1000000000", "--time", "100ms", "--format", "junit"]);
    assert_eq!((ran.status, elements(&ran.out, "error")), (0, 0), "{}{}", ran.out, ran.err);
}

#[test]
fn sarif_has_a_result_with_steps_for_each_failure() {
    let folder = workplace("fuzz_sarif");
    let ran = fuzzed(&folder, &["two.race"], &["--format", "sarif"]);
    let log = valid(&sarif_schema(), &ran.out);
    let run = &log["runs"][0];
    assert_eq!(run["automationDetails"]["id"], "raceflip-fuzz/");
    assert_eq!(run["invocations"][0]["exitCode"], FOUND);
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    for result in results {
        assert_eq!(result["level"], "error");
        assert!(result["codeFlows"].as_array().is_some_and(|flows| !flows.is_empty()), "{result}");
    }
}

#[test]
fn annotations_and_markdown_name_each_failure() {
    let folder = workplace("fuzz_github");
    let ran = fuzzed(&folder, &["two.race", "none.race"], &["--format", "github"]);
    assert_eq!(ran.out.lines().filter(|line| line.starts_with("::error file=")).count(), 2, "{}", ran.out);
    assert!(ran.out.contains("line=4") && ran.out.contains("line=5"), "{}", ran.out);
    let ran = fuzzed(&folder, &["two.race", "none.race"], &["--format", "markdown"]);
    assert!(ran.out.starts_with("## raceflip: 2 failures\n"), "{}", ran.out);
    assert!(ran.out.contains("| model | runs | failures |"), "{}", ran.out);
    let ran = fuzzed(&folder, &["none.race"], &["--format", "markdown"]);
    assert!(ran.out.starts_with("## raceflip: 0 failures\n"), "{}", ran.out);
}

#[test]
fn a_corpus_is_joined_without_a_gate() {
    let folder = workplace("fuzz_merge_gate");
    let corpus = folder.join("seeds").to_string_lossy().into_owned();
    assert_eq!(fuzzed(&folder, &["none.race"], &["--corpus", &corpus]).status, 0);
    let saved = folder.join("seeds/none.corpus").to_string_lossy().into_owned();
    assert_eq!(call(&["merge", &saved]).status, 0);
    for option in [&["--fail-on", "limits"][..], &["--format", "json"], &["--strict"], &["--all"]] {
        let ran = call(&[&["merge", &saved], option].concat());
        assert_eq!(ran.status, REFUSED);
        assert!(ran.err.contains("a corpus is no result"), "{}", ran.err);
    }
}

// Two searches would overwrite what the other one has learned.
#[test]
fn a_journal_belongs_to_one_process() {
    let folder = workplace("fuzz_locked");
    let none = folder.join("none.race").to_string_lossy().into_owned();
    let journal = folder.join("none.journal");
    let name = journal.to_string_lossy().into_owned();
    assert_eq!(call(&["fuzz", &none, "--runs", "50", "--journal", &name]).status, 0);
    let before = std::fs::read(&journal).unwrap();
    let held = std::fs::File::open(&journal).unwrap();
    held.try_lock().unwrap();
    let ran = call(&["fuzz", &none, "--runs", "100", "--journal", &name, "--resume"]);
    assert_eq!(ran.status, REFUSED);
    assert!(ran.err.contains("it is open in another process"), "{}", ran.err);
    assert_eq!(std::fs::read(&journal).unwrap(), before);
    drop(held);
    assert_eq!(call(&["fuzz", &none, "--runs", "100", "--journal", &name, "--resume"]).status, 0);
}

// What could not be read is in every report, also if it is the only model.
#[test]
fn models_that_cannot_be_read_are_in_the_reports() {
    let folder = workplace("fuzz_unread");
    file(&folder, "bad.race", "thread a { x = 1 }\n");
    for models in [&["two.race", "bad.race"][..], &["bad.race"]] {
        let of = |format| {
            let ran = fuzzed(&folder, models, &["--format", format]);
            assert_eq!(ran.status, REFUSED, "{format}: {}", ran.out);
            assert!(ran.err.contains("bad.race"), "{}", ran.err);
            ran.out
        };
        let junit = of("junit");
        assert_eq!(elements(&junit, "error"), 1, "{junit}");
        assert!(junit.contains("what could not be read"), "{junit}");
        let log = valid(&sarif_schema(), &of("sarif"));
        assert_eq!(log["runs"][0]["invocations"][0]["executionSuccessful"], false);
        let notes = &log["runs"][0]["invocations"][0]["toolExecutionNotifications"];
        assert!(notes.to_string().contains("bad.race"), "{notes}");
        assert!(of("github").lines().any(|line| line.starts_with("::error title=raceflip::")));
        assert!(of("markdown").contains("bad.race") || of("markdown").contains("error"));
    }
}

// A model that never ends leaves time for those behind it.
#[test]
fn all_models_of_a_folder_get_some_of_the_time() {
    let folder = scratch("fuzz_shares");
    file(
        &folder,
        "a.race",
        "var x = 0\nthread a { while (choose 0..1) == 0 { x += 1 } }\nthread b { loop { x = choose 0..3 } }\n",
    );
    file(&folder, "b.race", TWO);
    let path = folder.to_string_lossy().into_owned();
    let time = ["--time", "2s", "--runs", "1000000000", "--keep-going", "--format", "markdown"];
    let ran = call(&[&["fuzz", &path], &time[..]].concat());
    assert_eq!(ran.status, FOUND, "{}{}", ran.out, ran.err);
    assert!(ran.out.starts_with("## raceflip: 2 failures"), "{}", ran.out);
    assert!(ran.out.contains("a.race") && ran.out.contains("b.race"), "{}", ran.out);
}

#[test]
fn corpora_are_joined_in_any_order() {
    let folder = scratch("fuzz_merge_order");
    let model = file(
        &folder,
        "sm.race",
        "var x = 0\nthread a { x = 1; x = 2 }\nthread b { x += 3 }\nthread c { if x == 3 { x = 5 } }\n",
    );
    let saved = |seed: usize| {
        let corpus = folder.join(seed.to_string()).to_string_lossy().into_owned();
        let seed = seed.to_string();
        call(&["fuzz", &model, "--runs", "20", "--keep-going", "-q", "--corpus", &corpus, "--seed", &seed]);
        folder.join(format!("{seed}/sm.corpus")).to_string_lossy().into_owned()
    };
    let all: Vec<String> = (1..7).map(saved).collect();
    let joined = |order: [usize; 3]| {
        let [a, b, c] = order.map(|i| all[i].as_str());
        let ran = call(&["merge", a, b, c]);
        assert_eq!(ran.status, 0, "{}", ran.err);
        ran.out
    };
    for a in 0..6 {
        for b in 0..a {
            for c in 0..b {
                assert_eq!(joined([a, b, c]), joined([c, b, a]), "{a} {b} {c}");
                assert_eq!(joined([a, b, c]), joined([b, a, c]), "{a} {b} {c}");
            }
        }
    }
}
