//! Tests of `raceflip shrink`, and of shrinking in `run` and `test`.

use crate::cli::{FOUND, MENU, REFUSED, call, call_with, file, scratch, token};
use raceflip::formats::result::RunReport;
use raceflip::formats::seed::SeedFile;
use raceflip::formats::shrink::{ShrinkReport, Sizes};

const TIMER: &str = "harnesses/bugs/timer_lifecycle.race";
const SIZES: Sizes = Sizes { steps: 11, deviations: 3, steps_before: 11, deviations_before: 5 };

fn run(args: &[&str]) -> crate::cli::Ran {
    call(&[&["run", TIMER, "--seed", "3"], args].concat())
}

#[test]
fn what_fails_is_shrunk() {
    let (shrunk, drawn) = (run(&[]), run(&["--no-shrink"]));
    assert_eq!((shrunk.status, drawn.status, shrunk.err.as_str()), (FOUND, FOUND, ""));
    let line = "shrunk from 5 deviations and 11 steps to 3 and 11; --no-shrink shows the run as it was found\n";
    assert!(shrunk.out.contains(line), "{}", shrunk.out);
    assert!(!drawn.out.contains("shrunk"), "{}", drawn.out);
    assert_ne!(token(&shrunk), token(&drawn));
    // A replay prints the same output except for that line.
    assert_eq!(call(&["replay", TIMER, &token(&shrunk)]).out, shrunk.out.replace(line, ""));
    assert_eq!(call(&["replay", TIMER, &token(&drawn)]).out, drawn.out);
    // The brief output has the outcome and the token of the shrunk run.
    let brief = run(&["-q"]);
    assert_eq!((token(&brief), brief.out.contains("shrunk")), (token(&shrunk), false));
    let report: RunReport = serde_json::from_str(&run(&["--format", "json"]).out).expect("a report");
    assert_eq!(report.token, Some(token(&drawn)));
    let smaller = report.shrunk.expect("it is smaller");
    assert_eq!((smaller.token, smaller.sizes), (token(&shrunk), SIZES));
    let report: RunReport = serde_json::from_str(&run(&["--format", "json", "--no-shrink"]).out).expect("a report");
    assert_eq!(report.shrunk, None);
    // A diagram shows the shrunk run as well.
    assert_ne!(run(&["--format", "mermaid"]).out, run(&["--format", "mermaid", "--no-shrink"]).out);
}

/// Options that inspect a run show the run as drawn, not a shrunk one.
#[test]
fn what_is_looked_into_is_not_shrunk() {
    let folder = scratch("shrink-looks");
    let path = folder.join("out").display().to_string();
    let drawn = token(&run(&["--no-shrink"]));
    for looks in [&["--trace", &path][..], &["--perfetto", &path], &["--state"], &["--until", "5000"]] {
        let ran = run(looks);
        assert_eq!((token(&ran), ran.out.contains("shrunk")), (drawn.clone(), false), "{looks:?}");
    }
    assert!(!call(&["run", MENU, "-D", "FIXED=1"]).out.contains("shrunk"), "it does not fail");
}

#[test]
fn a_token_is_shrunk() {
    let drawn = run(&["-q", "--no-shrink"]);
    let shrunk = call(&["shrink", TIMER, &token(&drawn)]);
    assert_eq!((shrunk.status, shrunk.err.as_str()), (FOUND, ""));
    for part in [
        "NullPointer (f is null) at harnesses/bugs/timer_lifecycle.race:31:17",
        "shrunk from 5 deviations and 11 steps to 3 and 11 (",
        " runs tried; minimal: no run with fewer deviations ends this way)\n  step 6: the clock to 101 ms, instead of thread main at line 42: cancel tick",
        "replay: raceflip replay harnesses/bugs/timer_lifecycle.race rf1-",
    ] {
        assert!(shrunk.out.contains(part), "no {part:?} in {}", shrunk.out);
    }
    assert_eq!(token(&shrunk), token(&run(&[])));
    let again = call(&["shrink", TIMER, &token(&shrunk), "-q"]);
    assert!(again.out.contains("\nnot shrunk: 3 deviations and 11 steps; no smaller run was found ("), "{}", again.out);
    assert_eq!((again.status, token(&again)), (FOUND, token(&shrunk)));
    let piped = call_with(&["shrink", TIMER, "-", "--format", "json"], &drawn.out);
    let report: ShrinkReport = serde_json::from_str(&piped.out).expect("a report");
    assert_eq!((report.sizes, report.fewest, report.complete, report.departures.len()), (SIZES, true, true, 3));
    assert_eq!((report.run.token, report.run.steps), (Some(token(&shrunk)), 11));
    // A run that ends well shrinks to the shortest such run.
    let good = call(&["run", MENU, "-D", "FIXED=1", "-q"]);
    let shrunk = call(&["shrink", MENU, &token(&good), "-q"]);
    assert!(shrunk.status == 0 && shrunk.out.starts_with("ok\n"), "{}{}", shrunk.out, shrunk.err);
}

#[test]
fn a_token_that_does_not_fit() {
    let folder = scratch("shrink-edited");
    let text = "var x = 0\nthread a { x += 1; x += 1 }\nthread b { x += 1 }\nproperty all at end { x == 3 }\n";
    let model = file(&folder, "a.race", text);
    let runs = (0..50).map(|seed: u32| call(&["run", &model, "-q", "--no-shrink", "--seed", &seed.to_string()]));
    let fails = runs.into_iter().find(|r| r.status == FOUND).expect("an increment is lost");
    for edited in [text.replace("a { x += 1;", "a { skip; x += 1;"), text.replace("x == 3", "x > 0")] {
        let edited = file(&folder, "b.race", &edited);
        let refused = call(&["shrink", &edited, &token(&fails)]);
        assert_eq!((refused.status, refused.out.as_str()), (3, ""), "{}", refused.err);
        for part in ["expected: ", "found:    ", "--tolerant"] {
            assert!(refused.err.contains(part), "no {part:?} in {}", refused.err);
        }
    }
    assert_eq!(call(&["shrink", &model, "rf1-AAAA"]).status, REFUSED);
    assert_eq!(call(&["shrink", &model]).status, REFUSED);
}

#[test]
fn what_a_test_shows_and_saves_is_shrunk() {
    let folder = scratch("shrink-test");
    let text = "var x = 0\nthread a { x += 1; x += 1; x += 1 }\nthread b { x += 1; x += 1 }\n\
        property all at end { x == 5 }\nexpect no failure\nexpect outcomes of x: ok 5\n";
    let model = file(&folder, "m.race", text);
    let seeds = folder.join("seeds").display().to_string();
    let test = |args: &[&str]| {
        call(&[&["test", &model, "--explore-limit", "0", "--runs", "50", "--seeds", &seeds], args].concat())
    };
    let drawn = test(&["--no-shrink", "--no-save"]);
    assert!(drawn.status == FOUND && !drawn.out.contains("shrunk"), "{}", drawn.out);
    let one = test(&["--no-save", "--jobs", "1"]);
    assert_eq!(test(&["--no-save", "--jobs", "2"]).out, one.out);
    assert!(one.out.contains(", shrunk from "), "{}", one.out);
    let saved = test(&[]);
    let mut files = std::fs::read_dir(&seeds).expect("a folder").map(|e| e.expect("a file").path());
    let text = std::fs::read_to_string(files.next().expect("a saved failure")).expect("a text");
    assert!(text.contains(" and was shrunk."), "{text}");
    let (seed, _) = SeedFile::read(&text).expect("a saved failure");
    assert_eq!(seed.token, token(&saved));
    assert_eq!(seed.token, token(&one));
    // A saved failure cannot be shrunk further.
    let again = call(&["shrink", &model, &seed.token, "-q"]);
    assert!(again.out.contains("not shrunk: "), "{}", again.out);
    // A saved failure is replayed as it was saved.
    let next = test(&[]);
    assert!(next.out.contains("still fails") && next.out.contains(&seed.token), "{}", next.out);
}

/// A run that is too long for the effort of `run` is shrunk with the effort of `raceflip shrink`.
#[test]
fn a_long_run_takes_more_effort() {
    let folder = scratch("shrink-long");
    let locked = "for i in 0..200 { sync l { n += 1 } }";
    let model = file(
        &folder,
        "long.race",
        &format!(
            "var x = 0\nvar n = 0\nlock l\n\
             thread a {{ {locked}; x = 1; for i in 0..50 {{ n += 1 }}; x = 0 }}\n\
             thread b {{ {locked}; if x == 1 {{ for i in 0..20 {{ n += 1 }}; assert x == 1, \"gone\" }} }}\n\
             thread c {{ {locked} }}\n"
        ),
    );
    let run = |args: &[&str]| call(&[&["run", &model, "--seed", "2"], args].concat());
    let quick = run(&[]);
    assert!(quick.out.contains(" shows the run as it was found; `raceflip shrink` tries harder\n"), "{}", quick.out);
    let drawn = run(&["--no-shrink", "-q"]);
    assert_eq!(call(&["shrink", &model, "-"]).status, REFUSED, "stdin is empty");
    let shrunk = call_with(&["shrink", &model, "-", "--format", "json"], &drawn.out);
    let report: ShrinkReport = serde_json::from_str(&shrunk.out).expect("a report");
    assert_eq!((report.sizes.deviations_before, report.sizes.deviations), (485, 2), "{}", shrunk.out);
}
