//! Tests of everything that a model or a trace may have many of: each command ends with a proper exit status, and the
//! cost of detection grows little more than linearly.
//!
//! Growth is measured in units that do not depend on the machine: allocations, bytes, and the number of pairs found.

use crate::cli::{FOUND, REFUSED, Ran, call, file, scratch};
use crate::load::load_bytes;
use crate::{scaling_models, scaling_traces};
use allocation_counter::measure;
use raceflip::campaign::{
    CampaignContext, CampaignPlan, DetectionPlan, Explore, NoProgress, Phase1, StatePlan, confirm, detect,
};
use raceflip::detect::happens_before::{Options, SourceOrder, analyze};
use raceflip::detect::{Candidates, Hybrid};
use raceflip::event::Outcome;
use raceflip::exec::{NoObserver, run};
use raceflip::formats::traces;
use raceflip::sched::RandomWalk;
use raceflip::vm::{Model, Vm};
use raceflip::world::{Limits, Machine};
use serde_json::Value;
use std::sync::atomic::AtomicBool;

/// Maximum exponent of growth: 1 is linear, 2 is quadratic.
const MOST: f64 = 1.2;

const EVENTS: &str = "tests/data/faults/events_400_detect.race";

/// Seeds of the random walks whose detection is measured.
const SEEDS: [u64; 2] = [1, 2];

fn found(name: &str, n: usize, most_pairs: u32) -> Phase1 {
    let model = load_bytes(name, scaling_models::text(name, n).as_bytes(), &[]);
    let plan = CampaignPlan {
        detection: DetectionPlan { runs: 2, most_pairs, ..DetectionPlan::default() },
        ..CampaignPlan::new(&model)
    };
    detect(&plan, CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress })
}

/// Returns the allocations, the bytes, the peak of bytes, and the pairs of detection in two random walks. The walks run
/// in this thread, because only its allocations can be counted.
fn work(name: &str, n: usize, most_pairs: u32) -> [f64; 4] {
    let model = load_bytes(name, scaling_models::text(name, n).as_bytes(), &[]);
    let (mut races, mut orders) = (Candidates::at_most(most_pairs), Candidates::at_most(most_pairs));
    let mut machine = Machine::new(Vm::new(model.code), Limits::default());
    // The first runs grow the machine's buffers, which must not count for detection.
    for seed in SEEDS {
        run(&mut machine, &mut RandomWalk::new(), seed, &mut NoObserver, &AtomicBool::new(false));
    }
    let info = measure(|| {
        for seed in SEEDS {
            let mut hybrid = Hybrid::with_order_pairs().most_pairs(most_pairs);
            let ran = run(&mut machine, &mut RandomWalk::new(), seed, &mut hybrid, &AtomicBool::new(false));
            assert!(matches!(ran.outcome(), Some(Outcome::Ok)), "{name}: {ran:?}");
            let found = hybrid.finish_all();
            races.add(seed, found.races);
            orders.add(seed, found.orders);
        }
    });
    let pairs = races.len() + orders.len();
    [info.count_total as f64, info.bytes_total as f64, info.bytes_max as f64, pairs as f64]
}

#[test]
fn detection_grows_by_little_more_than_what_it_looks_at() {
    // The number of pairs is limited, because the pairs themselves may grow quadratically.
    // In threads, forks, waiters and posts to the front, every two items are unordered, and detection compares each two
    // until it has done so 65,536 times, so only larger sizes show the growth.
    // For locks, a critical section records at most 64 places and objects that it has touched, so sizes must exceed
    // that.
    let sizes: [(&str, usize); 13] = [
        ("events", 40),
        ("stmts", 100),
        ("manysites", 40),
        ("delays", 60),
        ("posts", 60),
        ("threads", 250),
        ("forks", 250),
        ("forkchain", 250),
        ("timerthreads", 100),
        ("locks", 200),
        ("monitor", 240),
        ("labels", 60),
        ("front", 250),
    ];
    let mut wrong = Vec::new();
    for (name, n) in sizes {
        let rows = [1, 2, 4].map(|times| work(name, n * times, 100));
        for (i, what) in ["allocations", "bytes", "bytes at a time", "pairs"].into_iter().enumerate() {
            let [_, half, whole] = rows.map(|row| row[i]);
            let exponent = (whole.max(1.0) / half.max(1.0)).log2();
            if exponent >= MOST {
                wrong.push(format!("{what} of {name}: {exponent:.2}, {rows:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_analysis_of_a_trace_grows_by_little_more_than_the_trace() {
    let mut wrong = Vec::new();
    for (name, n) in
        [("locks", 500), ("forkchain", 250), ("notify", 250), ("post_chain_two", 250), ("threads_locs", 250)]
    {
        let bytes = [2 * n, 4 * n].map(|n| {
            let trace = traces::read(name, scaling_traces::text(name, n).as_bytes()).unwrap();
            let options = Options { coverage: false, ..Options::default() };
            measure(|| drop(analyze(&trace, options, &AtomicBool::new(false)))).bytes_total as f64
        });
        let exponent = (bytes[1] / bytes[0]).log2();
        if exponent >= MOST {
            wrong.push(format!("bytes of {name}: {exponent:.2}, {bytes:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_limit_of_pairs_changes_nothing_below_it_and_is_told_above_it() {
    let all = found("manysites", 12, CampaignPlan::MOST_PAIRS);
    assert!(all.coverage.left_out.is_empty(), "{:?}", all.coverage.left_out);
    let pairs = |found: &Phase1| format!("{:?} {:?}", found.candidates, found.orders);
    let exact = all.candidates.len() as u32;
    let same = found("manysites", 12, exact);
    assert_eq!((pairs(&same), same.coverage.left_out.len()), (pairs(&all), 0));
    let fewer = found("manysites", 12, exact - 1);
    assert_eq!(fewer.candidates.len() as u32, exact - 1);
    assert_eq!(fewer.coverage.left_out.iter().map(String::as_str).collect::<Vec<_>>(), ["x"]);
    // The pairs that are kept are a subset of the pairs without a limit.
    let id = |found: &Phase1| found.candidates.iter().map(|c| c.pair).collect::<std::collections::BTreeSet<_>>();
    assert!(id(&fewer).is_subset(&id(&all)));
}

#[test]
fn a_search_adds_no_pair_that_was_left_out_of_the_runs() {
    const TEXT: &str = "var x = 0; thread a { x = 1; x = 2 }; thread b { x = 3; if * { x = 4 } }";
    let model = Model::from_text("many.race", TEXT, &[]).unwrap();
    let stop = AtomicBool::new(false);
    let context = || CampaignContext { stop: &stop, progress: &NoProgress };
    for explore in [Explore::Auto, Explore::Only] {
        let all = CampaignPlan { search: StatePlan { explore, ..StatePlan::default() }, ..CampaignPlan::new(&model) };
        let mut few = all.clone();
        few.detection.most_pairs = 1;
        assert_eq!(confirm(&all, context()).pairs.len(), 4);
        for found in [detect(&few, context()), confirm(&few, context()).phase1] {
            assert_eq!(found.candidates.len(), 1);
            assert_eq!(found.coverage.left_out.iter().map(String::as_str).collect::<Vec<_>>(), ["x"]);
        }
    }
}

#[test]
fn what_is_left_out_is_told_in_words_and_in_json() {
    let args = ["detect", EVENTS, "-j1", "--runs", "2"];
    let with = |more: &[&str]| call(&[&args[..], more].concat());
    let words = "some pairs are left out, because there are too many: of x (`--most-pairs` raises the limit)\n";
    let text = with(&["--most-pairs", "50"]);
    assert!(text.out.contains(words), "{}", text.out);
    let json: Value = serde_json::from_str(&with(&["--most-pairs", "50", "--format", "json"]).out).unwrap();
    assert_eq!(json.to_string().matches("\"left_out\":[\"x\"]").count(), 1, "{json}");
    // The 79,800 pairs of writes exceed the default limit.
    let usual = with(&[]);
    assert!(usual.out.contains(words), "the end: {:?}", usual.out.lines().last());
    let few = call(&["detect", "harnesses/papers/music_player.race", "-j1", "--runs", "2"]);
    assert!(!few.out.contains("left out"), "{}", few.out);
    let none = with(&["--most-pairs", "0"]);
    assert_eq!((none.status, none.out.as_str()), (REFUSED, ""));
}

fn ends_well(name: &str, command: &str, ran: &Ran, wrong: &mut Vec<String>) {
    let silent = ran.status == REFUSED && ran.err.is_empty();
    if !(0..=REFUSED).contains(&ran.status) || silent || ran.err.contains("panicked") {
        wrong.push(format!("{command} of {name}: status {}, {:.300}", ran.status, ran.err));
    }
}

/// Runs each model and each trace through each of its commands; returns the number of commands with each exit status.
fn through_all(folder: &str, small: bool) -> [u32; 3] {
    let folder = scratch(folder);
    let (mut wrong, mut statuses) = (Vec::new(), [0; 3]);
    let mut one = |name: &str, command: &str, args: &[&str]| {
        let ran = call(args);
        ends_well(name, command, &ran, &mut wrong);
        if let Some(n) = usize::try_from(ran.status).ok().and_then(|status| statuses.get_mut(status)) {
            *n += 1;
        }
    };
    for model in scaling_models::MODELS {
        let n = if small { model.small } else { model.full };
        let path = file(&folder, &format!("{}.race", model.name), &(model.text)(n));
        for &command in model.commands {
            let args: &[&str] = match command {
                "check" => &["check", &path],
                "fmt" => &["fmt", "--check", &path],
                "run" => &["run", &path, "--quiet", "--no-shrink"],
                "detect" => &["detect", &path, "-j1", "--runs", "2"],
                "explore" => &["explore", &path, "-j1", "--states", "2000"],
                "test" => &["test", &path, "-j1", "--no-save"],
                other => panic!("{other} is no command of this test"),
            };
            one(model.name, command, args);
        }
    }
    for trace in scaling_traces::TRACES {
        let n = if small { trace.small } else { trace.full };
        let path = file(&folder, &format!("{}.txt", trace.name), &(trace.text)(n));
        let commands: [&[&str]; 6] = [
            &["trace", "stat", &path],
            &["analyze", &path],
            &["analyze", "--locked", "--all", &path],
            &["analyze", "--rules", "source", &path],
            &["analyze", "--rules", "fasttrack", &path],
            &["trace", "convert", &path],
        ];
        commands.iter().for_each(|args| one(trace.name, &args[..args.len() - 1].join(" "), args));
    }
    std::fs::remove_dir_all(&folder).ok();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    statuses
}

#[test]
fn every_size_ends_with_a_status_of_its_own() {
    let [nothing, something, refused] = through_all("scaling", true);
    // Other numbers would mean that the texts are wrong and that the commands refuse them.
    assert!(nothing > 100 && something > 20 && refused < 40, "{nothing}, {something}, {refused}");
}

#[test]
#[ignore = "minutes in a debug build"]
fn every_full_size_ends_with_a_status_of_its_own() {
    let [nothing, something, refused] = through_all("scaling-full", false);
    assert!(nothing > 100 && something > 20 && refused < 60, "{nothing}, {something}, {refused}");
}

#[test]
fn an_analysis_in_the_rules_of_the_source_stops_when_it_is_told() {
    let stopped = AtomicBool::new(true);
    let read = |name: &str, n: usize| traces::read(name, scaling_traces::text(name, n).as_bytes()).unwrap();
    let trace = read("threads", 500);
    let order = SourceOrder::new(&trace).unwrap();
    assert!(order.races_until(&stopped).is_none());
    assert!(SourceOrder::until(&trace, &stopped).unwrap().is_none());
    // Each two of these threads race.
    let (races, more) = order.races_until(&AtomicBool::new(false)).unwrap();
    assert_eq!((races.len(), more), (SourceOrder::MOST_RACES, true));
    let folder = scratch("scaling-time");
    let path = file(&folder, "chain.txt", &scaling_traces::text("post_chain_two", 2_000));
    let ran = call(&["analyze", "--rules", "source", "--time", "1ms", &path]);
    assert_eq!(ran.status, REFUSED, "{}", ran.out);
    assert!(ran.err.contains("the time is up") && ran.err.contains("--time") && ran.out.is_empty(), "{}", ran.err);
    std::fs::remove_dir_all(&folder).ok();
}

#[test]
fn names_of_deep_threads_are_short_in_texts_and_whole_in_data() {
    let folder = scratch("scaling-names");
    let text =
        "var x = 0\ntask f(i) { x = i\n if i < 40 { fork f(i + 1) } else { fail \"deep\" } }\nthread t { fork f(0) }\n";
    let path = file(&folder, "deep.race", text);
    let whole = format!("t{}", "/f#1".repeat(41));
    let run = call(&["run", &path, "--no-shrink"]);
    assert!(run.out.contains("in t/…/f#1/f#1/f#1 (42 deep)") && !run.out.contains(&whole), "{}", run.out);
    let json = call(&["run", &path, "--no-shrink", "--format", "json"]);
    assert!(json.out.contains(&format!("\"{whole}\"")), "{}", json.out);
    let confirm = call(&["confirm", &path, "-j1", "--runs", "2"]);
    assert!(
        confirm.out.contains("deep at :3:37 in t/…/f#1/f#1/f#1 (42 deep)") && !confirm.out.contains(&whole),
        "{}",
        confirm.out
    );
    std::fs::remove_dir_all(&folder).ok();
}

#[test]
fn detection_of_many_pairs_finds_them() {
    assert_eq!(call(&["detect", EVENTS, "-j1", "--runs", "1", "--most-pairs", "20"]).status, FOUND);
}
