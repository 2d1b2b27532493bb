//! Tests of `raceflip fuzz` and of its parts.

use crate::cli::{FOUND, REFUSED, call, file, scratch};
use crate::fuzz_oracles::{ANSWERS, all_pairs, campaign, pairs, runs_to_answers, tiers};
use crate::load::load_bytes;
use crate::small;
use raceflip::formats::fuzz::FuzzReport;
use raceflip::vm::Model;

const FIGURE2: &str = "harnesses/papers/racefuzzer_fig2.race";
const MUSIC: &str = "harnesses/papers/music_player.race";
const REORDER: &str = "harnesses/sctbench/reorder.race";

fn small_models(count: u64) -> impl Iterator<Item = (u64, Model)> {
    (0..count).map(|seed| (seed, load_bytes("small", small::model(seed).as_bytes(), &[])))
}

fn report(args: &[&str]) -> FuzzReport {
    let ran = call(&[&["fuzz"], args, &["--format", "json"]].concat());
    serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {} {}", ran.out, ran.err))
}

#[test]
fn an_asked_run_chooses_from_the_highest_tier() {
    let checked = small_models(130).map(|(seed, model)| {
        tiers(&model, seed).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", model.source.text()))
    });
    assert!(checked.sum::<u64>() > 3_000);
}

#[test]
fn the_pairs_of_a_run_are_those_of_its_definition() {
    let found = small_models(300).map(|(seed, model)| {
        pairs(&model, seed).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", model.source.text()))
    });
    assert!(found.sum::<usize>() > 500);
}

#[test]
fn a_campaign_shows_the_pairs_of_all_runs() {
    let (mut models, mut shown, mut listed) = (0, 0, 0);
    for (seed, model) in small_models(400) {
        let Some(found) = all_pairs(&model, seed) else { continue };
        let found = found.unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", model.source.text()));
        (models, shown, listed) = (models + 1, shown + found.0, listed + found.1);
    }
    println!("{models} models: {shown} pairs shown, {listed} listed");
    assert!(models > 100 && shown > 250 && listed * 100 <= shown, "{models} models: {shown} shown, {listed} listed");
}

#[test]
fn the_number_of_workers_changes_nothing() {
    for args in [
        &[FIGURE2, "--keep-going", "--runs", "300"][..],
        &[REORDER, "-D", "SETTERS=9", "--seed", "3"],
        &["harnesses/sctbench/safestack.race", "--runs", "700"],
        &[MUSIC, "--keep-going", "--runs", "400", "--pairs"],
    ] {
        for format in ["text", "json"] {
            let run = |jobs| call(&[&["fuzz"], args, &["--format", format, "--jobs", jobs]].concat());
            let [one, two, eight] = ["1", "2", "8"].map(run);
            assert!(one.status < REFUSED && one.err.is_empty(), "{args:?}: {}", one.err);
            assert_eq!((&one.out, one.status), (&two.out, two.status), "{args:?}");
            assert_eq!((one.out, one.status), (eight.out, eight.status), "{args:?}");
        }
    }
}

#[test]
fn a_failure_is_shrunk_and_replays() {
    let ran = call(&["fuzz", MUSIC]);
    assert_eq!((ran.status, ran.err.as_str()), (FOUND, ""));
    assert!(
        ran.out.starts_with("run ") && ran.out.contains("dead activity") && ran.out.contains("strategy fuzz"),
        "{}",
        ran.out
    );
    let all = report(&[MUSIC]);
    let [found] = all.failures.as_slice() else { panic!("{:?}", all.failures) };
    assert_eq!(found.run, all.runs);
    let shrunk = found.shrunk.as_ref().expect("it is shrunk");
    for token in [&found.failure.again.token, &shrunk.token] {
        let again = call(&["replay", MUSIC, token, "-q"]);
        assert!(again.status == FOUND && again.out.contains("dead activity"), "{}{}", again.out, again.err);
    }
    assert!(ran.out.contains(&shrunk.token));
    let plain = call(&["fuzz", MUSIC, "--no-shrink"]);
    assert!(plain.out.contains(&found.failure.again.token), "{}", plain.out);
}

#[test]
fn a_longer_search_goes_on_after_a_failure() {
    let all = report(&[FIGURE2, "--keep-going", "--runs", "200"]);
    assert_eq!((all.runs, all.failures.len(), all.complete), (200, 1, true));
    assert!(all.failures[0].failure.runs > 20, "{:?}", all.failures);
    let first = report(&[FIGURE2]);
    assert_eq!(all.failures[0].run, first.failures[0].run);
}

#[test]
fn without_a_failure_the_result_says_what_was_seen() {
    let folder = scratch("fuzz");
    let text = "var x = 0\nvar y = 0\nlock l\nthread a { sync l { x = 1 }; y = 1 }\n\
                thread b { join a; @r: assert y == 1; sync l { if x == 5 { @never: skip } } }\n";
    let model = file(&folder, "ok.race", text);
    let ran = call(&["fuzz", &model, "--runs", "200"]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{}", ran.out);
    assert!(ran.out.starts_with("200 runs, no failure: that proves nothing"), "{}", ran.out);
    for row in ["\npairs ", "\norders ", "\nstatements ", "\nstates "] {
        assert!(ran.out.contains(row), "{row}: {}", ran.out);
    }
    assert!(ran.out.contains("@never") && ran.out.contains("never came (--pairs)"), "{}", ran.out);
    let all = report(&[&model, "--runs", "200"]);
    // What the join orders is asked for, and never comes.
    let refused: Vec<_> = all.pairs.iter().filter(|pair| pair.seen == 0).collect();
    assert!(refused.iter().any(|pair| pair.writer == "first" && pair.asked > 5), "{:?}", all.pairs);
    assert!(all.states.windows(2).all(|views| views[0] <= views[1]), "{:?}", all.states);
    let listed = call(&["fuzz", &model, "--runs", "200", "--pairs"]);
    assert!(listed.out.contains("first > @r"), "{}", listed.out);
}

#[test]
fn a_limit_is_no_failure() {
    let folder = scratch("fuzz_limit");
    let model = file(&folder, "spin.race", "var x = 0\nthread a { loop { x += 1 } }\n");
    let ran = call(&["fuzz", &model, "--runs", "3", "--steps", "50"]);
    assert_eq!(ran.status, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("3 runs reached the limit of 50 steps"), "{}", ran.out);
}

#[test]
fn what_is_asked_for_is_counted() {
    let model = Model::from_text("answers.race", ANSWERS, &[]).unwrap();
    assert!(campaign(&model, 1, 1, 50).coverage.pairs.is_empty(), "one thread alone");
    let model = crate::load::load(std::path::Path::new(REORDER), &[("SETTERS".into(), 4), ("CHECKERS".into(), 1)]);
    let found = campaign(&model, 1, 2, 60).coverage;
    assert!(found.pairs.iter().map(|pair| pair.asked).sum::<u32>() >= 15, "{found:?}");
    assert!(found.pairs.iter().all(|pair| pair.seen + pair.asked > 0), "{found:?}");
}

#[test]
fn right_answers_are_found_piece_by_piece() {
    // A random walk takes 4,096 runs on average. The mean of these seeds is about 70; the seeds are fixed, so this does
    // not fail by chance.
    let mean = runs_to_answers(20);
    assert!(mean < 150.0, "{mean}");
}

#[test]
fn a_run_can_be_asked_on_the_command_line() {
    for strategy in ["asked:@s10>@s8", "asked:@s10>@s8:pos", "asked:first>@s8:random,once,pass=1,patience=50"] {
        let run = call(&["run", FIGURE2, "--strategy", strategy, "-q"]);
        assert!(run.status < REFUSED, "{strategy}: {}", run.err);
    }
    // The window of figure 2 is between two orders of one pair.
    for seed in ["1", "2", "3", "4", "5"] {
        let ask =
            |strategy| call(&["run", FIGURE2, "--strategy", strategy, "--seed", seed, "-q", "-D", "K=100"]).status;
        assert_eq!((ask("asked:first>@s8"), ask("asked:@s10>@s8")), (FOUND, 0), "seed {seed}");
    }
    let wrong = call(&["run", FIGURE2, "--strategy", "asked:@s10>@nowhere"]);
    assert!(wrong.status == REFUSED && wrong.err.contains("@nowhere"), "{}", wrong.err);
}
