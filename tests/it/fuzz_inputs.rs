//! Tests of `raceflip fuzz --vary`: a search over the values of constants and over orders at once.

use crate::cli::{FOUND, REFUSED, call, file, scratch, token};
use raceflip::formats::fuzz::FuzzReport;
use std::collections::BTreeSet;
use std::path::Path;

// Two users lose an update; one does not. The room of one element more is never used.
const USERS: &str = "const USERS = 1\nconst ROOM = 4\nvar total = 0\nvar room: int[ROOM]\n\
    thread user(i in 0..USERS) { if i < ROOM { @put: room[i] = 1 }; @add: total += 1 }\n\
    property all at end { total == USERS }\n";

// The failure needs one value of 200, and then one order of two writes.
const RARE: &str = "const KEY = 0\nvar x = 0\n\
    thread a { @one: x = 1; if KEY == 137 { @two: x = 2 }; @three: x = 3 }\n\
    thread b { @read: assert x != 2 }\n";

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_string_lossy().into_owned()
}

fn report(args: &[&str]) -> FuzzReport {
    let ran = call(&[&["fuzz", "--format", "json"], args].concat());
    serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {} {}", ran.out, ran.err))
}

#[test]
fn values_are_drawn_and_the_failure_is_shown_with_the_smallest() {
    let folder = scratch("fuzz_vary");
    let model = file(&folder, "users.race", USERS);
    assert_eq!(call(&["fuzz", &model, "--runs", "300"]).status, 0, "one user loses nothing");
    let ran = call(&["fuzz", &model, "--vary", "USERS=1..9"]);
    assert_eq!(ran.status, FOUND, "{}", ran.err);
    assert!(ran.out.contains(" fails with USERS = "), "{}", ran.out);
    // The token has the values, so the command that replays it needs none.
    let again = call(&["replay", &model, &token(&ran), "-q"]);
    assert!(again.status == FOUND && again.out.contains("property all"), "{}{}", again.out, again.err);
    for seed in ["1", "2", "3", "4"] {
        let found = report(&[&model, "--vary", "USERS=1..9", "--seed", seed]);
        let failure = &found.failures[0];
        let shown = failure.smaller_input.as_ref().unwrap_or(&failure.input);
        assert_eq!((shown["USERS"], failure.input["USERS"] >= 2), (2, true), "{failure:?}");
        // Without shrinking the input stays as well.
        let plain = report(&[&model, "--vary", "USERS=1..9", "--seed", seed, "--no-shrink"]);
        assert_eq!((plain.failures[0].smaller_input.as_ref(), &plain.failures[0].input), (None, &failure.input));
    }
}

#[test]
fn a_rare_value_is_found() {
    let folder = scratch("fuzz_rare_value");
    let model = file(&folder, "rare.race", RARE);
    for seed in ["0", "1", "2"] {
        let found = report(&[&model, "--vary", "KEY=0..200", "--seed", seed]);
        assert_eq!(found.failures[0].input["KEY"], 137);
        assert_eq!(found.failures[0].smaller_input, None, "no smaller value fails");
    }
}

#[test]
fn what_one_value_has_shown_counts_for_the_others() {
    let folder = scratch("fuzz_common");
    let model = file(&folder, "rare.race", &RARE.replace("assert x != 2", "if x == 2 { skip }"));
    let one = report(&[&model, "-D", "KEY=137", "--runs", "100"]);
    let all = report(&[&model, "--vary", "KEY=130..140", "--runs", "400"]);
    let names = |found: &FuzzReport| {
        found.pairs.iter().map(|pair| (pair.writer.clone(), pair.reader.clone())).collect::<BTreeSet<_>>()
    };
    // The pairs of the only program with all statements, each once.
    assert_eq!((names(&all), all.statements), (names(&one), one.statements));
    assert_eq!(all.pairs.len(), one.pairs.len());
    let inputs = all.inputs.expect("constants were varied");
    assert_eq!((inputs.possible, inputs.run, inputs.varied["KEY"]), (10, 10, (130, 140)));
    assert!(all.pairs.iter().map(|pair| pair.seen).sum::<u32>() >= 400);
}

#[test]
fn values_that_the_model_cannot_have_are_told() {
    let folder = scratch("fuzz_refused_value");
    let model = file(&folder, "users.race", USERS);
    let found = report(&[&model, "--vary", "ROOM=-1..6", "--runs", "100"]);
    let inputs = found.inputs.expect("constants were varied");
    let refused: Vec<i64> = inputs.refused.iter().map(|refused| refused.values["ROOM"]).collect();
    assert!(refused.contains(&-1) && refused.iter().all(|room| *room < 1), "{:?}", inputs.refused);
    assert_eq!((inputs.run + refused.len() as u64, found.runs), (7, 100));
    let ran = call(&["fuzz", &model, "--vary", "ROOM=-1..6", "--runs", "100"]);
    assert!(ran.out.contains("ROOM in -1..6; the model cannot have "), "{}", ran.out);
}

#[test]
fn the_result_is_the_same_for_all_workers_and_after_an_interruption() {
    let folder = scratch("fuzz_vary_same");
    let model = file(&folder, "users.race", USERS);
    let options = ["--vary", "USERS=1..7", "--vary", "ROOM=0..5", "--keep-going", "--seed", "5"];
    for format in ["text", "json"] {
        let run = |runs, more: &[&str]| {
            call(&[&["fuzz", &model, "--runs", runs, "--format", format], &options[..], more].concat())
        };
        let whole = run("400", &["--jobs", "1"]);
        assert_eq!(whole.status, FOUND, "{}", whole.err);
        assert_eq!(run("400", &["--jobs", "3"]).out, whole.out);
        let journal = path(&folder, format);
        let keep = ["--journal", &journal, "--jobs", "2"];
        assert_eq!(run("90", &keep).status, FOUND);
        for part in ["251", "400"] {
            let ran = run(part, &[&keep[..], &["--resume"]].concat());
            assert!(ran.err.contains("already in the journal"), "{}", ran.err);
            if part == "400" {
                assert_eq!(ran.out, whole.out);
            }
        }
        let other = ["fuzz", &model, "--vary", "USERS=1..8", "--keep-going", "--seed", "5"];
        let other = call(&[&other[..], &keep, &["--resume"]].concat());
        assert!(
            other.status == REFUSED && other.err.contains("it is with --vary ROOM=0..5 --vary USERS=1..7"),
            "{}",
            other.err
        );
    }
}

#[test]
fn a_corpus_has_runs_of_several_inputs() {
    let folder = scratch("fuzz_vary_corpus");
    let model = file(&folder, "rare.race", &RARE.replace("assert x != 2", "if x == 2 { skip }"));
    let seeds = path(&folder, "seeds");
    let search = |runs: &str, seed: &str| {
        report(&[&model, "--vary", "KEY=136..139", "--runs", runs, "--seed", seed, "--corpus", &seeds])
    };
    let first = search("200", "0");
    let seen = |found: &FuzzReport| found.pairs.iter().filter(|pair| pair.seen > 0).count();
    let second = search("1", "1");
    assert!(second.began > 1 && seen(&second) == seen(&first), "{second:?}");
    // A search with a single value leaves out the runs with other values.
    let fixed = report(&[&model, "--runs", "1", "--corpus", &seeds]);
    assert_eq!(fixed.began, 0);
}

// More inputs than the number of programs that a search keeps.
#[test]
fn many_inputs_give_the_same_corpus_for_all_workers() {
    let folder = scratch("fuzz_vary_many");
    let model = file(&folder, "rare.race", &RARE.replace("assert x != 2", "if x == 2 { skip }"));
    let corpus = |jobs: &str| {
        let seeds = path(&folder, jobs);
        let found = report(&[&model, "--vary", "KEY=0..600", "--runs", "1200", "--corpus", &seeds, "--jobs", jobs]);
        assert!(found.inputs.is_some_and(|inputs| inputs.run > 256));
        std::fs::read_to_string(path(&folder, &format!("{jobs}/rare.corpus"))).unwrap()
    };
    assert_eq!(corpus("1"), corpus("3"));
}

#[test]
fn wrong_ranges_are_refused() {
    let folder = scratch("fuzz_vary_wrong");
    let model = file(&folder, "users.race", USERS);
    for (args, why) in [
        (&["--vary", "USERS=3..3"][..], "has no value"),
        (&["--vary", "USERS"], "write NAME=A..B"),
        (&["--vary", "USERS=1"], "write NAME=A..B"),
        (&["--vary", "USERS=1..many"], "`many` is not a 64-bit integer"),
        (&["--vary", "3=1..4"], "is not the name of a constant"),
        (&["--vary", "USER=1..4"], "--vary USER: the model has no constant `USER`; did you mean `USERS`?"),
        (&["--vary", "USERS=1..4", "-D", "USERS=2"], "leave out one of them"),
        (&["--vary", "ROOM=-9..0"], "ROOM"),
    ] {
        let ran = call(&[&["fuzz", &model], args].concat());
        assert!(ran.status == REFUSED && ran.err.contains(why) && ran.out.is_empty(), "{args:?}: {}", ran.err);
    }
    let many = call(&["fuzz", "harnesses/papers", "--vary", "N=1..3"]);
    assert!(many.status == REFUSED && many.err.contains("--vary needs a single model"), "{}", many.err);
}

// The programs that are kept have a common bound, whatever their sizes.
#[test]
fn large_inputs_take_bounded_memory() {
    let folder = scratch("fuzz_vary_large");
    let text =
        "const N in 0..300000 = 1\nvar a: int[N]\nvar x = 0\nthread t { x = 1 }\nthread u { if x == 2 { skip } }\n";
    let model = file(&folder, "large.race", text);
    let command = "ulimit -v 1500000; exec \"$@\"";
    let output = std::process::Command::new("sh")
        .args(["-c", command, "sh", env!("CARGO_BIN_EXE_raceflip"), "fuzz", &model, "--runs", "60", "-q", "-j", "1"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_range_ends_at_constants_without_a_range() {
    let folder = scratch("fuzz_vary_open");
    for (text, says) in [
        ("const C in 1..5 = 2\nconst A in 0..C = 0\n", Some("depends on `C`")),
        ("const C in 1..5 = 2\nconst D = C + 1\nconst A in 0..D = 0\n", Some("depends on `C`")),
        ("const C = 5\nconst A in 0..C = 0\n", None),
    ] {
        let model = file(&folder, "open.race", &format!("{text}var x = A\nthread t {{ x = 1 }}\n"));
        let ran = call(&["check", &model]);
        assert_eq!(ran.status == REFUSED, says.is_some(), "{text}: {}", ran.err);
        assert!(ran.err.contains(says.unwrap_or_default()), "{}", ran.err);
    }
}

// As `fuzz` does, `test` leaves out the inputs that a model cannot have, and says so.
#[test]
fn a_test_leaves_out_what_the_model_cannot_have() {
    let folder = scratch("test_impossible");
    let text =
        "const N in 0..100000000 = 1\nvar a: int[N]\nvar x = 0\nthread t { x = 1 }\nexpect outcomes of x: ok 1\n";
    let model = file(&folder, "huge.race", text);
    let ran = call(&["test", "--no-save", &model]);
    assert_eq!(ran.status, 0, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("1 input left out, because the model cannot have it"), "{}", ran.err);
}
