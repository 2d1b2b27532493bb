//! Checks that the ends printed beside tokens are the ends of their replays: in the text of `confirm` and `explore`,
//! and in their JSON.

use crate::cli::{call, file, scratch};
use crate::load::{Model, load};
use raceflip::event::{Failure, Outcome};
use raceflip::exec::{NoObserver, RunSummary, run};
use raceflip::formats::failure_place::{ending, place, stalls};
use raceflip::sched::Replay;
use raceflip::token::Token;
use raceflip::world::signature;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Models with failures of every kind, whose runs differ in time, in threads, and in the ways in which they fail alike.
const MODELS: [&str; 10] = [
    "tests/data/faults/two_failures_printed_alike.race",
    "tests/data/faults/stall_of_another_run.race",
    "tests/data/faults/stall_contradicts.race",
    "harnesses/bugs/connectbot_menu.race",
    "harnesses/bugs/delayed_posts.race",
    "harnesses/bugs/timer_lifecycle.race",
    "harnesses/bugs/mopub_deadlock.race",
    "harnesses/bugs/seriesguide_job.race",
    "harnesses/bugs/k9_iteration.race",
    "harnesses/papers/racefuzzer_fig1.race",
];

struct Replayed {
    summary: RunSummary,
    token: Token,
}

fn replayed(model: &Model, token: &str) -> Replayed {
    let token: Token = token.parse().unwrap_or_else(|e| panic!("{token}: {e:?}"));
    assert_eq!(token.program, model.digest());
    let mut machine = model.machine(token.limits);
    let mut replay = Replay::new(Arc::new(token.schedule.clone()));
    let summary = run(&mut machine, &mut replay, token.seed, &mut NoObserver, &AtomicBool::new(false));
    assert_eq!(replay.left_over(summary.steps), None);
    Replayed { summary, token }
}

impl Replayed {
    fn outcome(&self) -> &Outcome {
        self.summary.outcome().expect("it ended")
    }

    fn failure(&self) -> Option<&Failure> {
        if let Outcome::Failure(failure) = self.outcome() { Some(failure) } else { None }
    }
}

// Returns each failure of a result of `confirm`.
fn fails(report: &Value) -> Vec<&Value> {
    let pairs = ["pairs", "order_pairs"].iter().flat_map(|of| report[of].as_array().unwrap());
    let orders = pairs.flat_map(|pair| pair["orders"].as_array().unwrap());
    let of_orders = orders.flat_map(|order| order["failures"].as_array().unwrap());
    let others = ["detection_failures", "unexplained"].iter().flat_map(|of| report[of].as_array().unwrap());
    of_orders.chain(others).collect()
}

#[test]
fn the_json_of_confirm_tells_the_runs_that_it_shows() {
    let mut seen = 0;
    for path in MODELS {
        let model = load(Path::new(path), &[]);
        let report: Value = serde_json::from_str(&call(&["confirm", path, "--format", "json"]).out).unwrap();
        for fails in fails(&report) {
            seen += 1;
            let again = replayed(&model, fails["again"]["token"].as_str().unwrap());
            let told = format!("{path}: {fails}");
            assert_eq!(fails["text"].as_str(), ending(&model, again.outcome()).as_deref(), "{told}");
            assert_eq!(fails["signature"], signature(&model.code.setup, again.outcome()), "{told}");
            assert_eq!(fails["signature"], again.token.signature, "{told}");
            assert_eq!(fails["steps"], again.summary.steps, "{told}");
            assert_eq!(fails["virtual_time"], again.summary.now, "{told}");
            assert_eq!(fails["stall"], again.summary.stall, "{told}");
            assert!(fails["least_stall"].as_u64() <= fails["stall"].as_u64(), "{told}");
            let Some(failure) = again.failure() else { continue };
            let of = |of: &str| (fails[of]["line"].as_u64(), fails[of]["column"].as_u64());
            let at = if fails["operand"].is_null() { of("at") } else { of("operand") };
            let found = place(&model.code.setup.sites, failure).unzip();
            assert_eq!(at, (found.0.map(u64::from), found.1.map(u64::from)), "{told}");
            let operand = failure.operand.as_ref().map(|o| o.text.as_str());
            assert_eq!(fails["operand"]["text"].as_str(), operand, "{told}");
        }
    }
    assert!(seen > 20, "{seen} failures");
}

// Returns each line that says how the run of a token ends, with that token. Between the two, `confirm` may list the
// pairs whose order does not matter for the failure.
fn with_tokens(out: &str) -> Vec<(&str, &str)> {
    let lines: Vec<&str> = out.lines().filter(|line| !line.starts_with("    in either order of ")).collect();
    let of = |pair: &[&'_ str]| {
        let start = pair[1].find("rf1-")?;
        Some((start, pair[1].split_at(start).1.split_whitespace().next()?.len()))
    };
    lines.windows(2).filter_map(|pair| of(pair).map(|(start, len)| (pair[0], &pair[1][start..start + len]))).collect()
}

#[test]
fn the_text_of_confirm_tells_the_runs_that_it_shows() {
    let mut seen = 0;
    for path in MODELS {
        let model = load(Path::new(path), &[]);
        let run = call(&["confirm", path]);
        for (line, token) in with_tokens(&run.out) {
            let again = replayed(&model, token);
            let Some(end) = ending(&model, again.outcome()) else {
                assert!(line.ends_with(", none fails"), "{path}: {line}");
                continue;
            };
            seen += 1;
            assert!(line.contains(&end), "{path}: {line}\n{end}");
            // Of any other run the line gives only the least stall, and says that it belongs to another run.
            let least = line.split_once("least stall ").map_or(again.summary.stall, |(_, rest)| {
                rest.split_once(" ms, in another run)").and_then(|(n, _)| n.parse().ok()).expect("a number")
            });
            assert!(least <= again.summary.stall, "{path}: {line}");
            let stall = stalls(Some(again.summary.stall), least);
            let rest = line.split_once(&end).map(|(_, rest)| rest).unwrap_or_default();
            assert!(rest == stall || rest.ends_with(&stall) && rest.starts_with(','), "{path}: {line}\n{stall}");
        }
    }
    assert!(seen > 12, "{seen} failures");
}

#[test]
fn explore_tells_the_runs_that_it_shows() {
    for path in &MODELS[..3] {
        let model = load(Path::new(path), &[]);
        let report: Value = serde_json::from_str(&call(&["explore", path, "--format", "json"]).out).unwrap();
        for end in report["ends"].as_array().unwrap() {
            let again = replayed(&model, end["token"].as_str().unwrap());
            assert_eq!(end["signature"], again.token.signature);
            assert_eq!(
                (&end["steps"], &end["stall"]),
                (&again.summary.steps.into(), &again.summary.stall.into()),
                "{path}: {end}"
            );
            assert!(end["least_stall"].as_u64().is_none_or(|least| least <= again.summary.stall), "{path}: {end}");
        }
        let text = call(&["explore", path]).out;
        for (line, token) in with_tokens(&text) {
            let again = replayed(&model, token);
            let kind = ending(&model, again.outcome()).unwrap_or_else(|| "ok".to_owned());
            assert!(line.trim_start().starts_with(&kind), "{path}: {line}");
            let stall = again.summary.stall;
            let says = if stall == 0 { String::new() } else { format!(", stall {stall} ms") };
            assert!(
                line.contains(&format!(" in {} step", again.summary.steps)) && line.contains(&says),
                "{path}: {line}"
            );
        }
    }
}

/// The stall that is printed belongs to the run that is shown, which was shrunk and may need less than the original
/// run.
#[test]
fn the_stall_is_that_of_the_run_that_is_shown() {
    let out = call(&["confirm", MODELS[1]]).out;
    assert!(out.contains("@a first: 64 runs, 64 fail: F at :7:29 in main\n"), "{out}");
    assert!(out.contains("@b first: 64 runs, 64 fail: F at :7:29 in main (stall 30000 ms)\n"), "{out}");
    assert_eq!(stalls(Some(0), 0), "");
    assert_eq!(stalls(Some(30), 30), " (stall 30 ms)");
    assert_eq!(stalls(Some(30), 0), " (stall 30 ms; least stall 0 ms, in another run)");
    assert_eq!(stalls(None, 30), " (least stall 30 ms)");
}

/// Beside an order, the run with the least stall is shown, together with its stall. The candidates are all runs that
/// failed in this way with this order, including trials and runs of detection.
#[test]
fn the_stall_beside_an_order_is_the_least_that_is_known() {
    let folder = scratch("least-stall");
    let looper = "var x = 0\nlooper main\ntask m() { @w: x = 1 }\n";
    for (body, stall) in [
        ("post m() to main after 30000; sleep 30000", 0),
        ("@s: skip; post m() to main after 100; sleep 100; sleep 50", 50),
    ] {
        let text = format!("{looper}thread a {{ {body}; @r: assert x == 1, \"late\" }}\n");
        let path = file(&folder, &format!("stall{stall}.race"), &text);
        let model = load(Path::new(&path), &[]);
        let ran = call(&["confirm", &path]);
        let order = ran.out.lines().find(|line| line.contains("@r first: ") && line.contains("fail: late"));
        let order = order.unwrap_or_else(|| panic!("{}", ran.out));
        assert!(order.ends_with(&format!(" in a{}", stalls(Some(stall), stall))), "{order}");
        let report: Value = serde_json::from_str(&call(&["confirm", &path, "--format", "json"]).out).unwrap();
        let fails = fails(&report);
        assert!(fails.len() > 1, "{report}");
        for fails in fails {
            assert_eq!((&fails["stall"], &fails["least_stall"]), (&stall.into(), &stall.into()), "{fails}");
            assert_eq!(replayed(&model, fails["again"]["token"].as_str().unwrap()).summary.stall, stall);
        }
    }
}

/// A pair whose runs fail as those of a harmful pair do names that harmful pair.
#[test]
fn the_harm_of_another_pair_is_named_under_a_real_one() {
    let folder = scratch("harm-of-another");
    // With @w first the assertion holds in either order of the writes to y.
    let text = "var x = 0\nvar y = 0\nthread a { @y1: y = 1; @r: assert x == 1, \"late\" }\nthread b { @y2: y = 2; @w: x = 1 }\n";
    let path = file(&folder, "two.race", text);
    let out = call(&["confirm", &path]).out;
    let (harmful, real) = (out.find("HARMFUL  x  "), out.find("REAL  y  "));
    assert!(harmful.is_some() && real.is_some(), "{out}");
    let says = "the same failure as the harm of the HARMFUL pair :3 read @r ~ :4 write @w: late at :3:28 in a";
    let of_real: String =
        out[real.unwrap()..].lines().take_while(|line| !line.is_empty()).map(|l| l.trim().to_owned() + " ").collect();
    assert!(of_real.contains(says), "{out}");
    assert_eq!(out.matches("the same failure as the harm of").count(), 1, "{out}");
    let github = call(&["confirm", &path, "--format", "github"]).out;
    assert!(github.contains("the same failure as the harm of the HARMFUL pair :3 read @r ~ :4 write @w"), "{github}");
}
