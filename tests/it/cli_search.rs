//! Tests of `raceflip explore`: its results in words and as JSON, its tokens, and its early ends.

use crate::cli::{ENDLESS, FOUND, MENU, REFUSED, Ran, call, file, raceflip, scratch, steady};
use raceflip::formats::explore::ExploreReport;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

const ADD: &str = "var x = 0\nthread a { x += 1 }\nthread b { x += 1 }\nexpect outcomes of x: ok 1, ok 2\n";
const RING: &str =
    "lock a\nlock b\nthread t1 { sync a { sync b { skip } } }\nthread t2 { sync b { sync a { skip } } }\n";
const LATE: &str = "var x = 0\nlooper main\ntask late() { if x == 0 { fail \"late\" } }\nthread a { post late() to main after 10; x = 1 }\n";
const SPIN: &str = "var stop = false\nthread a { while !stop { skip } }\nthread b { skip }\n";
// This model has far more states than any test can visit.
const LARGE: &str = "var x = 0\nthread a(i in 0..3) { for n in 0..300 { x += 1 } }\n";

// Returns a folder with all of these models, so that paths in outputs are short.
fn models(test: &str) -> PathBuf {
    let folder = scratch(test);
    let all = [("add", ADD), ("ring", RING), ("late", LATE), ("spin", SPIN), ("large", LARGE), ("endless", ENDLESS)];
    all.iter().for_each(|(name, text)| _ = file(&folder, &format!("{name}.race"), text));
    folder
}

fn explore(folder: &PathBuf, args: &[&str]) -> Ran {
    let out = raceflip().current_dir(folder).arg("explore").args(args).stdin(Stdio::null()).output();
    crate::cli::ran(out.expect("it starts"))
}

fn report(folder: &PathBuf, args: &[&str]) -> ExploreReport {
    let ran = explore(folder, &[args, &["--format", "json"]].concat());
    serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{args:?}: {e}\n{}{}", ran.out, ran.err))
}

#[test]
fn answers_in_words() {
    let folder = models("search-words");
    let words = |args: &[&str], status: i32| {
        let ran = explore(&folder, args);
        assert_eq!((ran.status, ran.err.as_str()), (status, ""), "{args:?}");
        steady(&ran.out)
    };
    insta::assert_snapshot!(words(&["ring.race"], FOUND), @r"
    23 states, 26 transitions, at most 10 steps from the start: all of them

    2 ends:
      ok  in 10 steps
        raceflip replay ring.race rf1-...
      deadlock t2 -> t1 -> t2  in 2 steps
        raceflip replay ring.race rf1-...
    no livelock is possible
    ");
    insta::assert_snapshot!(words(&["add.race"], 0), @r"
    12 states, 14 transitions, at most 4 steps from the start: all of them

    2 ends:
      ok  x = 1  in 4 steps
        raceflip replay add.race rf1-...
      ok  x = 2  in 4 steps
        raceflip replay add.race rf1-...
    no livelock is possible
    ");
    insta::assert_snapshot!(words(&["add.race", "--observe", "", "--preemptions", "0"], 0), @r"
    9 states, 8 transitions, at most 4 steps from the start: all of them with at most 0 preemptions

    1 end:
      ok  in 4 steps
        raceflip replay add.race rf1-...
    nothing bad was found so far, but bad ends may exist: runs with more preemptions were not followed
    ");
    insta::assert_snapshot!(words(&["late.race"], FOUND), @r"
    11 states, 13 transitions, at most 5 steps from the start: all of them
    the clock moves in units of 10/2 ms

    2 ends:
      ok  in 5 steps, stall 10 ms (least stall 0 ms, in another run)
        raceflip replay late.race rf1-...
      late at :3:27 in main  in 4 steps, stall 10 ms
        raceflip replay late.race rf1-...
    no livelock is possible
    ");
    insta::assert_snapshot!(words(&["late.race", "--clock", "fast"], FOUND), @r"
    9 states, 10 transitions, at most 5 steps from the start: all of them on the fast clock, which misses some

    2 ends:
      ok  in 5 steps, stall 10 ms in this run
        raceflip replay late.race rf1-...
      late at :3:27 in main  in 4 steps, stall 10 ms in this run
        raceflip replay late.race rf1-...
    other ends may exist: the fast clock misses some orders of deadlines
    ");
    insta::assert_snapshot!(words(&["spin.race"], FOUND), @r"
    4 states, 6 transitions, at most 2 steps from the start: all of them

    no run ever ends

    possible livelock: a never ends
      fair cycle in 2 states: steps 2 to 3 lead back to the state before them
        raceflip replay spin.race rf1-...
    ");
    insta::assert_snapshot!(words(&["large.race", "--states", "2000"], 0), @r"
    2,000 states, 3,393 transitions, 9 steps from the start: not all of them
      cut at 2,000 states (--states 4000 continues); it leaves 869 states that were found but not visited
      at least 25,660 states in all: 13 random runs reached 23,660 that the search did not visit
      more than 1e308 schedules (Knuth)

    no run was seen to end
    nothing bad was found so far, but bad ends may exist: the search was cut
    ");
    insta::assert_snapshot!(words(&["ring.race", "--most-steps", "3"], FOUND), @r"
    8 states, 8 transitions, 3 steps from the start: not all of them
      cut at 3 steps (--search-depth 6 continues); it leaves 2 states with unvisited successors
      at least 23 states in all: 400 random runs reached 15 that the search did not visit
      about 6 schedules, ± 0 (Knuth)

    1 end:
      deadlock t2 -> t1 -> t2  in 2 steps
        raceflip replay ring.race rf1-...
    other ends may exist: the search was cut
    ");
}

/// The JSON report says what a result proves, and can be read again.
#[test]
fn answers_as_json() {
    let folder = models("search-json");
    let check = |args: &[&str], complete: bool, proves: bool, cut: Option<&str>, texts: &[&str]| {
        let r = report(&folder, args);
        assert_eq!((r.format.as_str(), r.version, r.reproducible), ("raceflip-explore", 3, true));
        assert_eq!((r.complete, r.proves, r.cut.as_deref()), (complete, proves, cut), "{args:?}");
        let found: Vec<&str> = r.ends.iter().map(|e| e.text.as_str()).collect();
        assert_eq!(found, texts, "{args:?}");
        // A reduced search has no livelocks, and says so.
        let has_livelocks = proves && !args.contains(&"--reduce");
        assert_eq!((r.estimate.is_some(), r.livelocks.is_some()), (!complete, has_livelocks), "{args:?}");
        assert_eq!(r.frontier > 0, !complete, "{args:?}");
    };
    check(&["add.race"], true, true, None, &["ok 1", "ok 2"]);
    check(&["add.race", "--observe", ""], true, true, None, &["ok"]);
    check(&["add.race", "--reduce"], true, true, None, &["ok 1", "ok 2"]);
    check(&["add.race", "--search", "depth"], true, true, None, &["ok 1", "ok 2"]);
    check(&["add.race", "--clock", "fast"], true, false, None, &["ok 1", "ok 2"]);
    check(&["add.race", "--preemptions", "0"], true, false, None, &["ok 2"]);
    check(&["add.race", "--preemptions", "1"], true, false, None, &["ok 1", "ok 2"]);
    check(&["add.race", "--states", "5"], false, false, Some("states"), &[]);
    check(&["add.race", "--most-steps", "3"], false, false, Some("most-steps"), &[]);
    check(&["ring.race"], true, true, None, &["ok", "deadlock"]);
    assert_eq!(report(&folder, &["large.race", "--memory", "100K"]).cut.as_deref(), Some("memory"));
    let spin = report(&folder, &["spin.race"]).livelocks.expect("the search was complete");
    assert_eq!((spin.len(), spin[0].threads.join(" ").as_str()), (1, "a"));
    // A number of schedules that is too large for a float is omitted.
    let large = report(&folder, &["large.race", "--states", "100"]).estimate.expect("it was cut");
    assert_eq!((large.schedules, large.schedules_error), (None, None));
    let said = explore(&folder, &["large.race", "--states", "100"]).out;
    assert!(large.states_at_least > 100 && said.contains("  at least ") && !said.contains('±'), "{said}");
}

/// Every printed token replays to the run beside it, even if that run has more steps than the limit of a run.
#[test]
fn every_token_replays() {
    let folder = models("search-tokens");
    let harness = |name: &str| std::fs::canonicalize(name).expect("a harness").display().to_string();
    let mut replayed = 0;
    for (model, args) in [
        ("ring.race".to_owned(), &[][..]),
        ("ring.race".to_owned(), &["--steps", "2"]),
        ("late.race".to_owned(), &["--clock", "fast"]),
        ("add.race".to_owned(), &["--pairs", "--steps", "1"]),
        ("spin.race".to_owned(), &["--pairs"]),
        ("spin.race".to_owned(), &["--steps", "1"]),
        (harness(MENU), &["--pairs"]),
        (harness("harnesses/papers/music_player.race"), &["--pairs"]),
        (harness("harnesses/bugs/muzei_quit.race"), &["--reduce"]),
    ] {
        let r = report(&folder, &[&[model.as_str()], args].concat());
        let path = folder.join(&model).display().to_string();
        let replay = |token: &str| {
            let ran = call(&["replay", &path, token, "--format", "json"]);
            assert_eq!(ran.err, "", "{model} {args:?}");
            (ran.status, serde_json::from_str::<raceflip::formats::result::RunReport>(&ran.out).expect("a report"))
        };
        for end in &r.ends {
            let (status, ran) = replay(&end.token);
            replayed += 1;
            assert_eq!(status, i32::from(!end.text.starts_with("ok")), "{model} {args:?}: {}", end.text);
            assert_eq!(
                (ran.outcome, ran.steps, ran.signature),
                (end.outcome.clone(), end.steps, Some(end.signature.clone()))
            );
        }
        let pairs = r.pairs.iter().flatten();
        let orders = pairs.flat_map(|p| p.adjacent.iter().chain(p.orders.iter().filter_map(|o| o.token.as_ref())));
        let livelocks = r.livelocks.iter().flatten().map(|l| &l.token);
        for token in orders.chain(livelocks) {
            assert!(replay(token).0 < REFUSED, "{model} {args:?}");
            replayed += 1;
        }
    }
    assert!(replayed > 30, "{replayed}");
}

/// No seed draws a run that a search has found, and no message suggests one.
#[test]
fn a_token_of_a_search_is_the_only_way_to_its_run() {
    let folder = models("search-strategy");
    let ran = call(&["run", &folder.join("add.race").display().to_string(), "--strategy", "explore"]);
    assert_eq!(ran.status, REFUSED);
    assert!(ran.err.contains("`explore` draws no run: "), "{}", ran.err);
    // The model has changed since the token was made.
    let token = &report(&folder, &["ring.race"]).ends[0].token;
    let other = file(&folder, "other.race", &RING.replace("skip", "skip; skip"));
    let ran = call(&["replay", &other, token]);
    assert_eq!(ran.status, 3);
    let says = "other.race` searches its states again.\n";
    assert!(ran.err.contains("`raceflip explore ") && ran.err.ends_with(says), "{}", ran.err);
    // This token is too long for a command line.
    let letter = |i: u64| char::from(b'a' + (raceflip::base::mix(1, i) % 26) as u8);
    let name = |i: u64| (0..300).map(|n| letter(300 * i + n)).collect::<String>();
    let threads: String = (0..100).map(|i| format!("thread {} {{ await x == {i}; x = {i} + 1 }}\n", name(i))).collect();
    let long = file(&folder, "long.race", &format!("var x = 0\n{threads}"));
    let ran = call(&["explore", &long]);
    let says = "long.race --format json > found.json  # it contains the token, which is too long for an argument\n";
    assert!(ran.out.contains(says) && !ran.out.contains("rf1-"), "{}", ran.out);
}

#[test]
fn a_search_ends_when_its_time_is_up() {
    let folder = models("search-time");
    let asked = Instant::now();
    let ran = explore(&folder, &["large.race", "--time", "1s"]);
    assert!(asked.elapsed() < Duration::from_secs(60), "{:?}", asked.elapsed());
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    assert!(ran.out.contains("cut by --time, which is not reproducible (a longer --time continues)"), "{}", ran.out);
    assert!(
        ran.out.contains("\nnothing bad was found so far, but bad ends may exist: the search was cut\n"),
        "{}",
        ran.out
    );
    let r = report(&folder, &["large.race", "--time", "1s"]);
    assert_eq!((r.complete, r.proves, r.reproducible, r.cut.as_deref()), (false, false, false, Some("time")));
    // A search that completes within its time limit is reproducible.
    assert!(report(&folder, &["add.race", "--time", "1h"]).reproducible);
}

/// An interrupted search prints its result so far.
#[cfg(unix)]
#[test]
fn a_search_can_be_interrupted() {
    let folder = models("search-interrupted");
    let mut command = raceflip();
    command.current_dir(&folder).args(["explore", "large.race"]);
    let ran = crate::cli::interrupt(&mut command, 0, Duration::from_millis(1_500));
    assert_eq!(ran.status, 130, "{}", ran.err);
    assert!(ran.out.contains("  interrupted, which is not reproducible; it leaves "), "{}", ran.out);
}
