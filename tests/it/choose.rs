//! Tests of `choose`: its values in random runs, in searches, in tokens and in shrunk runs.

use crate::agree::compare;
use crate::alike_compare::compare_alike;
use crate::cli::{call, file, scratch};
use crate::reduced_compare::compare_reduced;
use crate::shrink::{failing, limits, shrunk};
use crate::stateless::{facts, words};
use raceflip::base::Rng;
use raceflip::exec::{self, LoopEnd, NoObserver};
use raceflip::lang::{Source, parse, print};
use raceflip::sched::{RandomWalk, Replay, RoundRobin, ScheduleRecorder, Steady, Strategy};
use raceflip::shrink::Effort;
use raceflip::vm::Model;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn model(text: &str) -> Model {
    Model::from_text("t.race", text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Returns the first global at the end of a run.
fn ends_with(model: &Model, strategy: &mut impl Strategy, seed: u64) -> i64 {
    let mut machine = model.machine(limits());
    exec::run(&mut machine, strategy, seed, &mut NoObserver, &AtomicBool::new(false));
    machine.world.memory().cell(0)
}

#[test]
fn random_runs_draw_all_values_and_the_default_takes_the_first() {
    let model = model("var x = 0; thread t { x = choose -2..3 }; thread u { skip }");
    let mut counts: BTreeMap<i64, u32> = BTreeMap::new();
    for seed in 0..1_000 {
        *counts.entry(ends_with(&model, &mut RandomWalk::new(), seed)).or_default() += 1;
    }
    assert_eq!(counts.keys().copied().collect::<Vec<_>>(), [-2, -1, 0, 1, 2]);
    // A count is binomial with a mean of 200 and a deviation of 12.6: six deviations have a probability below 1e-8.
    assert!(counts.values().all(|count| (124..=276).contains(count)), "{counts:?}");
    assert_eq!(ends_with(&model, &mut Steady::default(), 1), -2);
    assert_eq!(ends_with(&model, &mut RoundRobin::default(), 1), -2);
}

/// Statements with a `choose`, and statements that depend on its value.
const STATEMENTS: [&str; 16] = [
    "x = choose 0..3",
    "y = choose -1..1",
    "x = choose 5..6",
    "x += (choose 0..2) * 2",
    "a[(choose 0..3)] = 1",
    "a[(choose 0..4)] = 2",
    "put(choose 1..3)",
    "post put(choose 2..4) to main",
    "sleep (choose 0..3)",
    "for i in 0..(choose 0..3) { x += 1 }",
    "if (choose 0..3) == 2 { fail \"two\" } else { y = 2 }",
    "sync m { x = choose 0..2 }",
    "while (choose 0..2) == 1 { y = 1; break }",
    "y = x",
    "assert x != 2, \"x\"",
    "if * { y = 3 }",
];

fn random_model(seed: u64) -> String {
    let mut rng = Rng::seeded(seed);
    let mut body = |most: u32| {
        let count = 1 + rng.below(most);
        (0..count).map(|_| rng.pick(&STATEMENTS)).collect::<Vec<_>>().join("; ")
    };
    let threads = [body(2), body(2)];
    format!(
        "var x = 0; var y = 0; var a: int[3]; lock m; looper main\ntask put(i) {{ y = i }}\n\
         thread t {{ {} }}\nthread u {{ {} }}\n",
        threads[0], threads[1]
    )
}

/// All searches find what an enumeration of all runs finds.
#[test]
fn searches_find_all_values() {
    let mut compared = 0;
    for seed in 0..150 {
        let text = random_model(seed);
        let model = model(&text);
        let Some(facts) = facts(&model, &words(&model.program), 20_000) else { continue };
        if let Err(difference) = compare(&model, &facts) {
            panic!("seed {seed}: {difference}\n{text}");
        }
        compared += 1;
    }
    assert!(compared > 60, "only {compared} models");
}

#[test]
fn reduced_searches_find_the_ends_of_all_values() {
    for seed in 400..500 {
        let text = random_model(seed);
        let model = model(&text);
        if let Some(Err(difference)) = compare_reduced(&model, words(&model.program), 20_000) {
            panic!("seed {seed}: {difference}\n{text}");
        }
    }
}

/// Threads that are alike may choose: the search up to renamings has the ends of the search of all states. Threads
/// whose index is compared with a chosen value are not alike.
#[test]
fn a_symmetric_search_finds_all_values() {
    let of = |body: &str| {
        let text = format!("atomic n = 0; var most = 0; lock m; thread t(i in 0..3) {{ {body} }}");
        compare_alike(&model(&text), 100_000).unwrap_or_else(|e| panic!("{e}\n{text}"))
    };
    let alike = of("let v = choose 0..3; fetch_add(n, v); sync m { if v > most { most = v } }").expect("alike threads");
    assert!(alike.symmetric < alike.full, "{alike:?}");
    assert_eq!(of("let v = choose 0..3; if v == i { fetch_add(n, 1) }"), None);
    assert_eq!(of("most = choose 0..3; if most == i { fetch_add(n, 1) }"), None);
}

#[test]
fn a_token_holds_the_answers_and_a_replay_checks_them() {
    let text =
        |values: u32| format!("var x = 0; thread t {{ x = choose 3..{values}; assert x < 12 }}; thread u {{ skip }}");
    let wide = model(&text(20));
    let tokens = failing(&wide, 40, 5).into_values().flatten();
    let narrow = model(&text(10));
    let mut replayed = 0;
    for token in tokens {
        let mut machine = wide.machine(limits());
        let mut recorder = ScheduleRecorder::new();
        let mut replay = Replay::new(Arc::new(token.schedule.clone()));
        exec::run(&mut machine, &mut replay, 0, &mut recorder, &AtomicBool::new(false));
        let value = machine.world.memory().cell(0);
        assert!((12..20).contains(&value), "{value}");
        assert_eq!(recorder.schedule(&machine.world), token.schedule);
        let argument = token.schedule.choices.iter().map(|c| c.argument).max().unwrap();
        assert_eq!(argument, value as u64 - 3);
        // In a model with fewer values the choice is not possible.
        let mut replay = Replay::new(Arc::new(token.schedule));
        let ran = exec::run(&mut narrow.machine(limits()), &mut replay, 0, &mut NoObserver, &AtomicBool::new(false));
        let LoopEnd::Diverged(divergence) = ran.end else { panic!("{:?}", ran.end) };
        assert_eq!(divergence.expected, format!("a choice with argument {argument}"));
        assert_eq!(divergence.found, "7 values to choose from");
        replayed += 1;
    }
    assert!(replayed > 0);
}

/// A shrunk run has the smallest value that fails, and no other value than the first where it does not matter.
#[test]
fn shrinking_makes_values_small() {
    let text = "var x = 0; var y = 0; thread t { y = choose 0..9; x = choose 0..60000; assert x < 1234 }";
    let model = model(text);
    for token in failing(&model, 10, 3).into_values().flatten() {
        let small = shrunk("choose", &model, &token, Effort::QUICK);
        let mut machine = model.machine(limits());
        let mut replay = Replay::new(Arc::new(small.token.schedule));
        exec::run(&mut machine, &mut replay, 0, &mut NoObserver, &AtomicBool::new(false));
        assert_eq!((machine.world.memory().cell(0), machine.world.memory().cell(1)), (1234, 0));
        let took: Vec<&str> = small.departures.iter().map(|d| d.took.as_str()).collect();
        assert_eq!(took, ["thread t at line 1: choose 0..60000, value 1234"]);
    }
}

/// `choose` is a name wherever no range follows it.
#[test]
fn choose_is_still_a_name() {
    let text = "\
var choose = 1
class C { var choose = 2 }
task take(choose_) { choose = choose_ }
let c = new C
thread t {
    choose += choose - 1
    c.choose = choose * (choose)
    take(choose)
    take(-choose)
    for i in choose..3 { choose = i }
    for i in 0..choose { c.choose -= 1 }
    let one = choose choose_from..2
    take(choose choose_from..2)
    assert choose == one, \"a name\"
}
const choose_from = 1
expect outcomes of choose: ok 1
";
    let source = Source::new("t.race", text).unwrap();
    let tree = parse(&source).unwrap_or_else(|e| panic!("{e:#?}"));
    let printed = print(&tree);
    assert!(printed.contains("let one = choose choose_from..2"), "{printed}");
    assert_eq!(ends_with(&model(text), &mut Steady::default(), 0), 1);
    let verb = "\
kind box {
    callback onOpen
    stage closed, opened
    open: closed -> opened { this.onOpen() }
    verb launch_it makes { stage = opened }
    verb choose { stage = closed }
}
looper main
box b on main { on onOpen { skip } }
thread t { let p = launch_it b; choose p }
";
    model(verb);
}

#[test]
fn commands_show_the_values() {
    let folder = scratch("choose_commands");
    let text = "const N in 1..9 = 4\nvar x = 0\nthread t {\n    x = choose 0..N\n    assert x != 3, \"three\"\n}\n";
    let path = file(&folder, "choose.race", text);
    assert_eq!(call(&["check", &path]).status, 0);
    let explored = call(&["explore", &path]);
    assert!(explored.out.contains("three"), "{}", explored.out);
    let found = call(&["fuzz", &path, "--runs", "200"]);
    assert!(found.out.contains("three"), "{}{}", found.out, found.err);
    let seed =
        (1..100).map(|seed: u32| seed.to_string()).find(|seed| call(&["run", &path, "--seed", seed, "-q"]).status != 0);
    let ran = call(&["run", &path, "--seed", &seed.expect("a failing run"), "--no-shrink"]);
    assert!(ran.out.contains("choose 0..4: 3"), "{}", ran.out);
    let refused = call(&["run", &path, "-D", "N=9"]);
    assert_eq!(refused.status, 2);
    let place = format!("-D N=9: the range of `N` is 1..9, without its end ({path}:1:12)");
    assert!(refused.err.contains(&place), "{}", refused.err);
    assert_eq!(call(&["check", &path, "-D", "N=8"]).status, 0);
}

// The ways to the ends of one state are found together: with one search for each, this would take hours.
#[test]
fn many_ends_are_found_in_reasonable_time() {
    let folder = scratch("choose_many_ends");
    let model = file(&folder, "many.race", "var x = 0\nthread t { x = choose 0..20000 }\n");
    let ran = call(&["explore", &model, "--observe", "x", "--format", "json"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert_eq!(ran.out.matches("\"token\"").count(), 20_000);
}
