//! Tests of chains of forks and posts, in which each name is longer than the one before: names, tokens, traces and
//! detection still need space in proportion to the run.

use crate::cli::{call, call_with, file, scratch};
use crate::load::load;
use allocation_counter::measure;
use raceflip::campaign::{CampaignContext, CampaignPlan, DetectionPlan, NoProgress, TrialPlan, confirm};
use raceflip::exec::{NoObserver, run};
use raceflip::formats::traces;
use raceflip::sched::{RandomWalk, Replay, Schedule, ScheduleRecorder};
use raceflip::world::Limits;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn chain() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/faults/chain_of_threads.race")
}

/// Asserts that `f` grows in proportion to its argument, within a tenth, from `n` to `2n` and from `2n` to `4n`.
fn is_linear(what: &str, n: u32, f: impl Fn(u32) -> u64) {
    let [one, two, four] = [n, 2 * n, 4 * n].map(f);
    assert!(two * 10 <= one * 22 && four * 10 <= two * 22, "{what}: {one}, {two}, {four}");
}

fn recorded(threads: u32) -> (Schedule, u64) {
    let model = load(&chain(), &[]);
    let limits = Limits { threads, ..Limits::default() };
    let mut machine = model.machine(limits);
    let mut recorder = ScheduleRecorder::new();
    run(&mut machine, &mut RandomWalk::new(), 1, &mut recorder, &AtomicBool::new(false));
    let mut schedule = None;
    let info = measure(|| schedule = Some(recorder.schedule(&machine.world)));
    let schedule = schedule.expect("it was made");
    let mut replay = Replay::new(Arc::new(schedule.clone()));
    let mut again = model.machine(limits);
    let summary = run(&mut again, &mut replay, 0, &mut NoObserver, &AtomicBool::new(false));
    assert_eq!((summary.outcome(), replay.left_over(summary.steps)), (machine.world.outcome(), None));
    (schedule, info.bytes_total)
}

#[test]
fn names_of_a_schedule_are_linear() {
    is_linear("bytes allocated", 500, |threads| recorded(threads).1);
}

#[test]
fn tokens_are_short_and_replay() {
    let chain = chain().display().to_string();
    let token = |threads: u32| {
        let said = call(&["run", &chain, "-q", "--threads", &threads.to_string()]);
        said.out.lines().last().expect("a token").to_owned()
    };
    is_linear("characters", 500, |threads| token(threads).len() as u64);
    let long = token(2_000);
    assert!(long.len() < 40_000, "{}", long.len());
    let whole = call(&["run", &chain, "-q", "--threads", "2000"]);
    let again = call_with(&["replay", &chain, "-q", "-"], &long);
    assert_eq!((again.out, again.status), (whole.out, whole.status));

    let timer = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/faults/repeating_timer.race");
    let said = call(&["run", &timer.display().to_string(), "-q"]);
    assert!(said.out.len() < 1_000, "{}", said.out.len());
}

#[test]
fn traces_are_linear_and_are_read() {
    let (chain, folder) = (chain().display().to_string(), scratch("chain-trace"));
    let written = |threads: u32| {
        let path = folder.join(format!("{threads}.jsonl"));
        call(&["run", &chain, "-q", "--threads", &threads.to_string(), "--trace", &path.display().to_string()]);
        std::fs::read(path).expect("a trace")
    };
    is_linear("bytes", 200, |threads| written(threads).len() as u64);
    let bytes = written(200);
    let trace = traces::read("chain.jsonl", &bytes[..]).expect("it can be read");
    let text = String::from_utf8(bytes).expect("UTF-8");
    let forks = text.lines().filter(|row| row.contains("\"kind\":\"fork\"") && row.contains("\"made\"")).count();
    // The threads are `main`, `t`, and one for each fork; each has a name of its own.
    assert_eq!(trace.threads.len(), forks + 2);
    assert!(forks > 190, "{forks}");
    let short = file(&folder, "short.race", "var x = 0\nthread a { x = 1 }\n");
    let path = folder.join("short.jsonl").display().to_string();
    call(&["run", &short, "-q", "--trace", &path]);
    assert!(!std::fs::read_to_string(path).expect("a trace").contains("\"name\""));
}

/// The pair is found and confirmed although every run reaches its limit.
#[test]
fn a_race_of_a_chain_is_confirmed() {
    let model = load(&chain(), &[]);
    let limits = Limits { threads: 300, ..Limits::default() };
    let plan = CampaignPlan {
        limits,
        jobs: 1,
        detection: DetectionPlan { runs: 10, ..DetectionPlan::default() },
        trials: TrialPlan { count: 10, ..TrialPlan::default() },
        ..CampaignPlan::new(&model)
    };
    let stop = AtomicBool::new(false);
    let found = confirm(&plan, CampaignContext { stop: &stop, progress: &NoProgress });
    let labels = |pair: &raceflip::campaign::PairReport| {
        [pair.pair.a, pair.pair.b].map(|s| model.code.setup.sites[s].label.clone().unwrap_or_default())
    };
    let pair =
        found.pairs.iter().find(|p| labels(p).contains(&"flip".to_owned()) && labels(p).contains(&"set".to_owned()));
    assert!(
        pair.is_some_and(|pair| pair.proof.confirmed()),
        "{:?}",
        found.pairs.iter().map(labels).collect::<Vec<_>>()
    );
}
