//! Tests of `raceflip explore`.

use crate::cli::{FOUND, REFUSED, call, file, scratch};
use raceflip::formats::explore::ExploreReport;

const MUSIC: &str = "harnesses/papers/music_player.race";
const STACK: &str = "harnesses/sctbench/stack.race";

fn report(args: &[&str]) -> ExploreReport {
    let ran = call(&[&["explore"], args, &["--format", "json"]].concat());
    serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {} {}", ran.out, ran.err))
}

#[test]
fn every_end_has_a_token_that_replays() {
    let ran = call(&["explore", MUSIC]);
    assert_eq!((ran.status, ran.err.as_str()), (FOUND, ""));
    assert!(ran.out.contains("from the start: all of them\n\n3 ends:\n  ok  in "), "{}", ran.out);
    let all = report(&[MUSIC]);
    assert!(all.complete && all.proves && all.reproducible && all.cut.is_none() && all.estimate.is_none());
    assert_eq!(all.ends.len(), 3);
    for end in &all.ends {
        let again = call(&["replay", MUSIC, &end.token, "-q"]);
        assert_eq!(again.status, if end.text == "ok" { 0 } else { FOUND }, "{}{}", again.out, again.err);
        assert!(ran.out.contains(&end.token));
    }
    assert_eq!(all.livelocks, Some(Vec::new()));
}

#[test]
fn the_number_of_workers_changes_nothing() {
    for args in [
        &["explore", MUSIC, "--pairs"][..],
        &["explore", MUSIC, "--reduce"],
        &["explore", MUSIC, "--preemptions", "1"],
        &["explore", STACK, "--states", "3000"],
        &["explore", STACK, "--most-steps", "12"],
    ] {
        for format in ["text", "json"] {
            let run = |jobs| call(&[args, &["--format", format, "--jobs", jobs]].concat());
            let [one, two] = ["1", "2"].map(run);
            assert!(one.status < REFUSED && one.err.is_empty(), "{args:?}: {}", one.err);
            assert_eq!((one.out, one.status), (two.out, two.status), "{args:?}");
        }
    }
}

#[test]
fn pairs_are_told_with_their_orders() {
    let fig1 = report(&["harnesses/papers/racefuzzer_fig1.race", "--pairs"]);
    let pairs = fig1.pairs.expect("they were asked for");
    let label = |at: &raceflip::formats::result::At| at.label.clone().unwrap_or_default();
    let of = |a: &str, b: &str| {
        pairs.iter().find(|p| label(&p.a) == a && label(&p.b) == b).unwrap_or_else(|| panic!("{a} ~ {b}"))
    };
    // RaceFuzzer, figure 1: the pair (5, 7) is real, the pair (1, 10) is not.
    let (real, not) = (of("s5", "s7"), of("s1", "s10"));
    assert!(real.adjacent.is_some() && real.orders.iter().all(|o| o.verdict == "happens"));
    assert_eq!(real.flips.as_deref(), Some("happens"));
    let verdicts: Vec<&str> = not.orders.iter().map(|o| o.verdict.as_str()).collect();
    assert!(not.adjacent.is_none() && verdicts == ["happens", "never"] && not.flips.is_none());
}

#[test]
fn quiet_pairs_have_a_line_each() {
    let ran = call(&["explore", "harnesses/papers/racefuzzer_fig1.race", "--pairs", "--quiet"]);
    for line in [":19 read @s5 ~ :25 write @s7: side by side, 2 orders seen", "@s10: never side by side, 1 order seen"]
    {
        assert!(ran.out.contains(line), "{line}: {}", ran.out);
    }
    assert!(!ran.out.contains("raceflip replay"), "{}", ran.out);
}

#[test]
fn delays_without_a_common_unit_are_named_where_they_cut_a_search() {
    let timed = |delays: [u32; 2]| {
        let [a, b] = delays;
        let text = format!(
            "var x = 0\nthread a {{ for i in 0..9 {{ sleep {a}\n x += 1 }} }}\nthread b {{ for i in 0..9 {{ sleep {b}\n x += 1 }} }}\n"
        );
        call(&["explore", &file(&scratch("units"), "timed.race", &text), "--states", "50"])
    };
    let hint = "the longest delay is 1009 ms: delays with a larger common divisor have fewer states";
    let odd = timed([1000, 1009]);
    assert!(odd.out.replace('\n', " ").contains(hint), "{}", odd.out);
    assert!(!timed([1000, 2000]).out.contains("the longest delay"));
}

#[test]
fn a_search_that_was_cut_says_so() {
    let ran = call(&["explore", STACK, "--states", "3000"]);
    for part in
        ["not all of them", "cut at 3,000 states (--states 6000 continues)", "states in all", "schedules", "(Knuth)"]
    {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    let cut = report(&[STACK, "--states", "3000"]);
    assert!(!cut.complete && !cut.proves && cut.reproducible && cut.frontier > 0 && cut.estimate.is_some());
    assert_eq!((cut.cut.as_deref(), cut.livelocks), (Some("states"), None));
    assert_eq!(report(&[MUSIC, "--most-steps", "5"]).cut.as_deref(), Some("most-steps"));
    let late = report(&[STACK, "-D", "SIZE=40", "--time", "1s", "--states", "900000000"]);
    assert!(late.cut.as_deref() == Some("time") && !late.reproducible);
    let small = report(&[STACK, "--memory", "1M"]);
    assert!(small.cut.as_deref() == Some("memory") && !small.reproducible);
}

#[test]
fn what_is_not_exact_proves_nothing() {
    let fast = report(&[MUSIC, "--clock", "fast"]);
    assert!(fast.complete && !fast.proves && fast.clock == "fast");
    let few = report(&[MUSIC, "--preemptions", "0"]);
    assert!(few.complete && !few.proves && few.preemptions == Some(0));
    let reduced = report(&[MUSIC, "--reduce"]);
    let all = report(&[MUSIC]);
    assert!(reduced.states <= all.states && reduced.transitions <= all.transitions && reduced.proves);
    assert_eq!(reduced.ends.len(), all.ends.len());
    // What it does not tell is named.
    assert!(reduced.livelocks.is_none() && all.livelocks.is_some() && all.reduction.is_none());
    let not_told = reduced.reduction.expect("it was reduced").not_told;
    assert!(not_told.iter().any(|what| what == "livelocks"), "{not_told:?}");
    let deep = report(&[MUSIC, "--search", "depth"]);
    assert_eq!((deep.states, deep.transitions, deep.ends.len()), (all.states, all.transitions, all.ends.len()));
}

#[test]
fn livelocks_deadlocks_and_values_are_told() {
    let folder = scratch("explore");
    let spin = file(&folder, "spin.race", "var f = 0; thread a { while f == 0 { skip } }; thread b { skip }");
    let ran = call(&["explore", &spin]);
    assert!(ran.status == FOUND && ran.out.contains("possible livelock: a never ends"), "{}", ran.out);
    let livelock = &report(&[&spin]).livelocks.expect("it was searched")[0];
    let again = call(&["replay", &spin, &livelock.token, "-q"]);
    assert!(again.out.contains("limit"), "{}{}", again.out, again.err);
    let text = "lock m; lock n; var x = 0
        thread a { sync m { sync n { x = 1 } } }
        thread b { sync n { sync m { x = 2 } } }";
    let ring = file(&folder, "ring.race", text);
    let ran = call(&["explore", &ring, "--observe", "x"]);
    assert!(ran.out.contains("deadlock a -> b -> a") || ran.out.contains("deadlock b -> a -> b"), "{}", ran.out);
    assert!(ran.out.contains("ok  x = 1") && ran.out.contains("ok  x = 2"), "{}", ran.out);
}

#[test]
fn a_reduced_search_says_what_it_does_not_tell() {
    let folder = scratch("explore-reduced");
    let text = "var x = 0; var y = 0; thread a { x = 1; assert y < 0 }; thread b { x = 2 }; thread c { skip; skip }";
    let fails = file(&folder, "fails.race", text);
    let ran = call(&["explore", &fails, "--reduce", "--observe", "x"]);
    assert!(ran.status == FOUND && ran.out.contains("  some values: x = "), "{}", ran.out);
    assert!(ran.out.contains("not told: shortest runs, livelocks") && !ran.out.contains("livelock is"), "{}", ran.out);
    let told = report(&[&fails, "--reduce", "--observe", "x"]);
    assert!(told.ends.iter().all(|end| end.some_values) && told.reduction.is_some_and(|of| of.states > 0));
    // Where nothing can be left out, the answer is whole.
    let jobs = file(&folder, "jobs.race", "looper main; async task w() { skip }; thread t { launch w() on main }");
    let ran = call(&["explore", &jobs, "--reduce"]);
    assert!(
        ran.out.contains("--reduce leaves nothing out: the model has") && ran.out.contains("no livelock is possible")
    );
    let ran = call(&["explore", &fails, "--reduce", "--clock", "fast"]);
    assert!(ran.out.contains("--reduce leaves nothing out with --clock fast"), "{}", ran.out);
}

#[test]
fn alike_threads_are_renamed_or_the_reason_is_told() {
    let folder = scratch("explore_symmetry");
    let text = "var x = 0; var own: int[3]
        thread t(i in 0..3) { own[i] = 1; x = own[i] }
        thread u(i in 0..2) { x = i + 1 }";
    let alike = file(&folder, "alike.race", text);
    let ran = call(&["explore", &alike, "--symmetry", "--observe", "x"]);
    for part in [
        "the 3 threads of `t` are alike",
        "the threads `u[0]` to `u[1]` are not alike: it is computed with, so that its value counts (line 3)",
        "2 ends, each up to a renaming:",
        "`--symmetry` does not look for any",
    ] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    let found = report(&[&alike, "--symmetry", "--observe", "x"]);
    assert!(found.proves && found.alike.iter().eq([(&"t".to_owned(), &3)]) && found.livelocks.is_none());
    for end in &found.ends {
        let again = call(&["replay", &alike, &end.token, "-q"]);
        assert_eq!(again.err, "", "{}", again.out);
    }
    let other = file(&folder, "other.race", "var x = 0\nthread u(i in 0..2) {\n    x = i + 1\n}\n");
    let ran = call(&["explore", &other, "--symmetry"]);
    assert!(ran.status == REFUSED && ran.out.is_empty(), "{}", ran.out);
    for part in ["the threads `u[0]` to `u[1]` are not alike", "other.race:3:9", "its value counts"] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
}

#[test]
fn bad_input_is_refused() {
    for (args, part) in [
        (&["--observe", "activty"][..], "has no variable `activty`"),
        (&["--observe", "destroyed,destroyd"], "has no variable `destroyd`; there is `destroyed`"),
        (&["--memory", "4Q"], "`Q` is not a unit of memory: write 512M or 8G"),
        (&["--memory", "0"], "`0` is out of range"),
        (&["--memory", "99999999999G"], "`99999999999G` is out of range"),
        (&["--memory", "much"], "is not a unit of memory"),
        (&["--time", "soon"], "write 30s"),
        (&["--time", "0s"], "`0s` is out of range"),
        (&["--time", "5w"], "`w` is not a unit of time: write 30s, 10m, 1h, 2d or 500ms"),
        (&["--time", "5"], "`5` has no unit: write 5ms, 5s or 5m"),
        (&["--memory", "4"], "`4` means bytes: write 4M or 4G; a search needs at least 64K"),
        (&["--memory", "1K"], "`1K` is too little: a search needs at least 64K"),
        (&["--time", "m"], "write a number and a unit"),
        (&["--time", "1.5ms"], "`1.5ms` is not a whole number of milliseconds"),
        (&["--states", "0"], "0 is not in 1..="),
        (&["--jobs", "0"], "0 is not in 1..=256"),
        (&["--preemptions", "few"], "invalid value 'few'"),
        (&["--pairs", "--reduce"], "cannot be used with"),
        (&["--pairs", "--preemptions", "1"], "cannot be used with"),
        (&["--reduce", "--preemptions", "1"], "cannot be used with"),
        (&["--symmetry", "--reduce"], "cannot be used with"),
        (&["--symmetry", "--pairs"], "cannot be used with"),
        (&["--symmetry", "--preemptions", "1"], "cannot be used with"),
        (&["--symmetry", "--clock", "fast"], "--symmetry needs the exact clock"),
        (&["--symmetry"], "has no threads that are alike: `--symmetry` needs an array of threads"),
        (&["-D", "NOTHING=1"], "`NOTHING`"),
    ] {
        let ran = call(&[&["explore", MUSIC], args].concat());
        assert!(ran.status == REFUSED && ran.out.is_empty() && ran.err.contains(part), "{args:?}: {}", ran.err);
    }
}
