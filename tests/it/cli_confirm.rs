//! Tests of `raceflip confirm`: the pairs that it accepts, where results are written, and how it reports bad input.

use crate::cli::{FOUND, MENU, REFUSED, call, file, scratch};
use serde_json::Value;
use std::fs;

const FIGURE: &str = "harnesses/papers/racefuzzer_fig1.race";

// Returns the lines of an output that name a pair, with its verdict and statements.
fn verdicts(out: &str) -> Vec<&str> {
    let words = ["HARMFUL", "REAL", "REFUTED", "UNCONFIRMED"];
    out.lines().filter(|l| words.iter().any(|w| l.starts_with(w))).collect()
}

#[test]
fn a_pair_can_be_asked_for() {
    let run = call(&["confirm", FIGURE, "--pair", "@s5~@s7"]);
    assert_eq!((run.status, verdicts(&run.out).len()), (FOUND, 1), "{}", run.out);
    assert!(verdicts(&run.out)[0].starts_with("HARMFUL  z  "), "{}", run.out);
    // A search alone reaches the same verdicts with other proofs.
    let both = call(&["confirm", FIGURE, "--explore", "only"]);
    let all: Vec<&str> = verdicts(&both.out).iter().map(|l| l.split("  ").next().unwrap()).collect();
    assert_eq!(all, ["HARMFUL", "REFUTED"], "{}", both.out);
    assert!(both.out.contains("side by side, by a search of all 33 states"), "{}", both.out);
    let without = call(&["confirm", FIGURE, "--explore", "off", "--no-static"]);
    assert!(verdicts(&without.out)[1].starts_with("UNCONFIRMED  x  "), "{}", without.out);
    let ordered = call(&["confirm", FIGURE, "--explore", "off"]);
    assert!(verdicts(&ordered.out)[1].starts_with("REFUTED  x  "), "{}", ordered.out);
    assert!(ordered.out.contains("ordered in every run: @s1 before @s10, as "), "{}", ordered.out);
    let few = call(&["confirm", FIGURE, "--explore-limit", "10", "--no-static"]);
    assert!(few.out.contains("there are more than 10 states, so it is not refuted"), "{}", few.out);
    for (pair, says) in [
        ("@s5", "it is not SITE~SITE"),
        ("@s5~@s77", "@s77"),
        ("@s5~@s5", "`@s5 ~ @s5` is not a pair: both only read\n"),
    ] {
        let bad = call(&["confirm", FIGURE, "--pair", pair]);
        assert_eq!((bad.status, bad.out.as_str()), (REFUSED, ""), "{pair}");
        assert!(bad.err.contains(says), "{pair}: {}", bad.err);
    }
}

/// The text lists harmful pairs first, then real ones, then the rest, and equal verdicts in the order of the
/// statements. The JSON has all pairs in the order of the statements.
#[test]
fn the_worst_pairs_come_first_in_the_text() {
    let text = "lock m\nvar w = 0\nvar x = 0\nvar y = 0\nvar z = 0\nvar go = false\n\
        thread a { w = 1; go = true; x = 1; y = 1; z = 1 }\n\
        thread b { await go; w = 1; x = 1; assert y == 0; z = 1 }\n";
    let model = file(&scratch("worst-first"), "m.race", text);
    let json: Value = serde_json::from_str(&call(&["confirm", &model, "--format", "json"]).out).unwrap();
    let places = json["pairs"].as_array().unwrap().iter().map(|pair| pair["location"].as_str().unwrap());
    assert_eq!(places.collect::<Vec<_>>(), ["w", "x", "y", "z"], "{json}");
    let run = call(&["confirm", &model]);
    let heads = verdicts(&run.out).into_iter().filter(|line| !line.contains(" order  "));
    let heads: Vec<String> = heads.map(|l| l.split("  ").take(2).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(heads, ["HARMFUL y", "REAL x", "REAL z", "REFUTED w"], "{}", run.out);
}

#[test]
fn lists_of_pairs_go_from_detect_to_confirm() {
    let folder = scratch("pair-lists");
    let list = folder.join("pairs.json").display().to_string();
    let detected = call(&["detect", FIGURE, "--out", &list]);
    assert_eq!(detected.status, FOUND, "{}", detected.err);
    let listed = call(&["confirm", FIGURE, "--pairs", &list]);
    let all = call(&["confirm", FIGURE]);
    assert_eq!(verdicts(&listed.out), verdicts(&all.out), "{}", listed.err);
    // A list of another tool names places in the real app.
    let model = "var x = 0\nthread a { @read from \"Menu.java:12\": if x == 0 { skip } }\nthread b { @write from \"Menu.java:30\": x = 1 }";
    let model = file(&folder, "m.race", model);
    let lines = file(&folder, "lines.txt", "# of a detector\nMenu.java:12 Menu.java:30\nOther.java:1 Menu.java:30\n");
    let run = call(&["confirm", &model, "--pairs", &lines]);
    assert!(verdicts(&run.out)[0].starts_with("REAL  x  :2 read @read ~ :3 write @write"), "{}", run.out);
    assert!(run.err.contains("Other.java:1"), "{}", run.err);
    let bad = file(&folder, "bad.json", "{\"format\": \"raceflip-pairs\", \"version\": 9, \"pairs\": []}");
    for (path, says) in [(bad.as_str(), "reads version 1"), ("no such file", "cannot use `no such file`")] {
        let run = call(&["confirm", &model, "--pairs", path]);
        assert_eq!((run.status, run.out.as_str()), (REFUSED, ""));
        assert!(run.err.contains(says), "{}", run.err);
    }
}

#[test]
fn results_go_to_a_file_as_well() {
    let folder = scratch("confirm-out");
    let path = folder.join("result.json").display().to_string();
    let text = call(&["confirm", MENU, "--out", &path]);
    let json = call(&["confirm", MENU, "--format", "json"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), json.out);
    assert!(text.out.contains("HARMFUL"), "{}", text.out);
    let report: Value = serde_json::from_str(&json.out).unwrap();
    let pair = &report["pairs"][0];
    assert_eq!((&pair["harm"], &pair["rank"]), (&"harmful".into(), &"C".into()));
    assert_eq!(pair["proof"].as_array().map(Vec::len), Some(2));
    assert_eq!(pair["harms"][0]["first"], "b");
    // The token of a harm replays to the failure that is reported.
    let token = pair["orders"][1]["failures"][0]["again"]["token"].as_str().unwrap();
    assert!(call(&["replay", MENU, token]).out.contains("NullPointer"));
    let nowhere = call(&["confirm", MENU, "--out", "no/such/folder/result.json"]);
    assert_eq!((nowhere.status, nowhere.out.as_str()), (REFUSED, ""));
    assert!(nowhere.err.contains("cannot write `no/such/folder/result.json`"), "{}", nowhere.err);
}

#[test]
fn harmful_runs_are_saved_and_made_first() {
    let folder = scratch("confirm-save");
    let seeds = folder.join("seeds").display().to_string();
    let model = file(&folder, "m.race", &fs::read_to_string(MENU).unwrap());
    let run = call(&["confirm", &model, "--save", "--seeds", &seeds]);
    assert!(run.err.contains("saved "), "{}", run.err);
    let saved: Vec<_> = fs::read_dir(&seeds).unwrap().collect();
    assert_eq!(saved.len(), 1);
    let again = call(&["confirm", &model, "--save", "--seeds", &seeds]);
    assert_eq!((again.out, fs::read_dir(&seeds).unwrap().count()), (run.out, 1));
    let tested = call(&["test", &model, "--seeds", &seeds]);
    assert_eq!(tested.status, 0, "{}{}", tested.out, tested.err);
}

/// A wait in a loop is one execution of its statement for detection, for trials and for reports, although it has two
/// halves: held trials recognize the second execution that they aim at.
#[test]
fn a_wait_in_a_loop_is_confirmed_by_held_trials() {
    let text = "lock m\nthread w { sync m { for i in 0..2 { @wait: wait m for 100 } } }\nthread n { sync m { @n1: notify m }; sync m { @notify: notify m } }\n";
    let path = file(&scratch("wait-in-a-loop"), "m.race", text);
    let ran = call(&["confirm", &path, "--pair", "@wait~@notify", "--explore", "off"]);
    let held = "the same two accesses in both orders, forced in 30 of 30 held trials";
    assert!(ran.out.contains(held), "{}{}", ran.out, ran.err);
}

/// A wait touches its wait set and the interrupts of its thread: with an interrupt it shares the latter, and both
/// orders are compared.
#[test]
fn a_wait_and_an_interrupt_are_compared() {
    let text = "app \"small\" { uncaught = app }\nlock m\nvar y = 0\nvar x = 0\nthread b { x = 1; sync m { @wait: wait m for 5 }; y = x }\nthread a { if * { @interrupt: interrupt b } else { release m } }\n";
    let path = file(&scratch("wait-and-interrupt"), "m.race", text);
    let ran = call(&["confirm", &path, "--pair", "@wait~@interrupt"]);
    assert!(ran.out.contains("order  thread b  :5 wait @wait ~ :6 interrupt @interrupt"), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("@wait first: ") && !ran.out.contains("there is nothing to compare"), "{}", ran.out);
}

/// If one access cancels the task of the other, an order has no failure because the other access never comes. The
/// report says so.
#[test]
fn runs_that_cut_the_other_access_off_are_counted() {
    let text = "class Box {}
looper ui
var adapter: Box = new Box
thread env { post onCreate() to ui; post onDestroy() to ui after 100 }
task onCreate() { post refresh() to ui }
task refresh() { @use: use adapter }
task onDestroy() { @clear: adapter = null; @cancel: cancel refresh on ui }
";
    let folder = scratch("cut-off");
    let ran = call(&["confirm", &file(&folder, "m.race", text)]);
    assert!(ran.out.contains("(in all of them @use was never reached), none fails"), "{}{}", ran.out, ran.err);
    let ran = call(&["confirm", &file(&folder, "m.race", text), "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    let order = &report["pairs"][0]["orders"];
    let of_clear = order.as_array().expect("two").iter().find(|o| o["cut_off"].is_u64()).expect("one is cut off");
    assert_eq!(of_clear["cut_off"], of_clear["runs"]);
}
