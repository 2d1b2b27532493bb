//! Tests of models of recorded traces: they check, they have the races of the trace, and they have no order that the
//! trace excludes.

use crate::cli::{REFUSED, call, call_with, file, scratch};
use crate::complete::all_variants;
use crate::convert::{line, log};
use crate::load::load;
use crate::small;
use proptest::prelude::*;
use raceflip::campaign::{CampaignContext, CampaignPlan, NoProgress};
use raceflip::detect::happens_before::{Options, OrderQuery, TraceEdges};
use raceflip::detect::{DetectorId, TraceRecorder};
use raceflip::event::{Event, PostTime, SiteId};
use raceflip::exec::{Observer, run};
use raceflip::formats::trace_model::{ModelOptions, NoModel, TraceModel};
use raceflip::formats::traces::read;
use raceflip::lang::{Source, format, parse, warnings};
use raceflip::sched::RandomWalk;
use raceflip::trace::{Action, Builder, Mark, OpNo, SiteNo, Trace};
use raceflip::vm::Model;
use raceflip::world::{Limits, World};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::AtomicBool;

const EM: &str = "tests/it/traces/em-explorer/test-traces/tacas-2016";

fn all() -> ModelOptions {
    ModelOptions { all: true, ..ModelOptions::default() }
}

/// Makes the model of a trace, and asserts that it is valid, without warnings, and formatted.
fn model(name: &str, trace: &Trace, options: &ModelOptions) -> (TraceModel, Model) {
    let made = TraceModel::new(trace, name, options).unwrap_or_else(|error| panic!("{name}: {error}"));
    let source = Source::new("trace.race", &made.text).unwrap();
    let parsed = parse(&source).unwrap_or_else(|errors| panic!("{name}: {errors:#?}\n{}", made.text));
    let warned: Vec<String> = warnings(&source, &parsed).into_iter().map(|warning| warning.message).collect();
    assert!(warned.is_empty(), "{name}: {warned:?}\n{}", made.text);
    assert_eq!(format(&source).unwrap(), made.text, "{name}");
    let model = Model::from_text("trace.race", &made.text, &[]);
    let model =
        model.unwrap_or_else(|error| panic!("{name}: {}\n{}", error.render(false).unwrap_or_default(), made.text));
    (made, model)
}

#[test]
fn the_models_of_all_logs_check() {
    for (name, text) in crate::traces::logs() {
        let trace = read(&name, text.as_bytes()).unwrap();
        for options in [ModelOptions::default(), all()] {
            // One log has 33,116 statements.
            if options.all && name.contains("adobe") {
                let error = TraceModel::new(&trace, &name, &options).unwrap_err();
                assert!(matches!(error, NoModel::TooLarge { statements: 30_000.., .. }), "{error}");
            } else {
                model(&name, &trace, &options);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_model_of_any_log_checks(lines in prop::collection::vec(line(), 1..60)) {
        let trace = read("log", log(lines).as_bytes()).expect("each line was tried");
        for options in [ModelOptions::default(), all()] {
            model("log", &trace, &options);
        }
    }
}

/// Records the trace of a run.
#[derive(Default)]
struct Recording(TraceRecorder);

impl Observer for Recording {
    fn event(&mut self, world: &World, event: &Event) {
        self.0.observe(world, event);
    }
}

fn recorded(model: &Model, seed: u64) -> Trace {
    let mut recording = Recording::default();
    let mut machine = model.machine(Limits { steps: 2_000, ..Limits::default() });
    run(&mut machine, &mut RandomWalk::new(), seed, &mut recording, &AtomicBool::new(false));
    recording.0.finish()
}

/// The operation of the trace that each labeled access of a model is.
fn operations(model: &Model) -> BTreeMap<SiteId, OpNo> {
    let sites = model.code.setup.sites.enumerate().filter(|(_, site)| ["read", "write"].contains(&site.kind.word()));
    let number = |label: &str| label.strip_prefix('a').and_then(|number| number.parse().ok()).map(OpNo);
    sites.filter_map(|(id, site)| Some((id, number(site.label.as_deref()?)?))).collect()
}

/// The accesses of a run of a model, as operations of the trace, in the order of the run.
struct Performed<'m> {
    of: &'m BTreeMap<SiteId, OpNo>,
    order: Vec<OpNo>,
}

impl Observer for Performed<'_> {
    fn event(&mut self, _: &World, event: &Event) {
        self.order.extend(event.site.and_then(|site| self.of.get(&site)));
    }
}

/// The pairs of a trace that hybrid detection finds, as far as the model has them.
fn pairs_of_trace(trace: &Trace, made: &TraceModel) -> BTreeSet<[String; 2]> {
    let rules = DetectorId::HYBRID.rules().unwrap();
    let found = rules.analyze(trace, Options::default(), &AtomicBool::new(false)).unwrap().unwrap();
    let label = |op: OpNo| made.label(op).unwrap_or_else(|| panic!("operation {op:?} is left out\n{}", made.text));
    found.races.iter().map(|race| sorted([label(race.first), label(race.second)])).collect()
}

fn sorted(mut pair: [String; 2]) -> [String; 2] {
    pair.sort();
    pair
}

fn pairs_of_model(model: &Model, made: &TraceModel) -> BTreeSet<[String; 2]> {
    let of = operations(model);
    let found = raceflip::campaign::detect(
        &CampaignPlan::new(model),
        CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress },
    );
    let label = |site: SiteId| of.get(&site).and_then(|op| made.label(*op)).unwrap_or_default();
    found.candidates.iter().map(|found| sorted([label(found.pair.a), label(found.pair.b)])).collect()
}

/// Asserts that the pairs of runs are pairs of the models of their traces. Returns their number.
fn pairs_come_back(every: usize, seeds: u64) -> usize {
    let mut n = 0;
    for (path, defines) in all_variants().into_iter().step_by(every) {
        let original = load(Path::new(&path), &defines);
        for seed in 0..seeds {
            let name = format!("{path} {defines:?} seed {seed}");
            let trace = recorded(&original, seed);
            let (made, model) = model(&name, &trace, &ModelOptions::default());
            let (before, after) = (pairs_of_trace(&trace, &made), pairs_of_model(&model, &made));
            let lost: Vec<_> = before.difference(&after).collect();
            assert!(lost.is_empty(), "{name}: {lost:?}\n{}", made.text);
            n += before.len();
        }
    }
    n
}

#[test]
fn the_pairs_of_a_run_are_pairs_of_its_model() {
    assert!(pairs_come_back(10, 1) > 10);
}

#[test]
#[ignore = "takes minutes"]
fn the_pairs_of_all_runs_are_pairs_of_their_models() {
    assert!(pairs_come_back(1, 1) > 200);
}

/// Asserts that random runs of the model of a trace have no two accesses in an order that the trace's order excludes.
/// Returns the number of compared orders.
fn no_order_is_excluded(name: &str, trace: &Trace, runs: u64) -> usize {
    let (made, model) = model(name, trace, &all());
    let of = operations(&model);
    let mut ops: Vec<OpNo> = of.values().copied().collect();
    ops.sort();
    ops.dedup();
    let forced = OrderQuery::new(trace, TraceEdges::Forced, &ops, &AtomicBool::new(false)).unwrap();
    let mut machine = model.machine(Limits { steps: 20_000, ..Limits::default() });
    let mut compared = 0;
    for seed in 0..runs {
        let mut performed = Performed { of: &of, order: Vec::new() };
        run(&mut machine, &mut RandomWalk::new(), seed, &mut performed, &AtomicBool::new(false));
        let order = performed.order;
        let distinct: BTreeSet<OpNo> = order.iter().copied().collect();
        assert_eq!(distinct.len(), order.len(), "{name}: an operation happens twice\n{}", made.text);
        for (i, first) in order.iter().enumerate() {
            for second in &order[i + 1..] {
                assert!(!forced.is_ordered(*second, *first), "{name} seed {seed}: {first:?} {second:?}\n{}", made.text);
                compared += 1;
            }
        }
    }
    compared
}

#[test]
fn no_run_of_a_model_has_an_order_that_the_trace_excludes() {
    let mut compared = 0;
    for seed in 0..400 {
        let original = Model::from_text("small.race", &small::model(seed), &[]).unwrap();
        compared += no_order_is_excluded(&format!("small {seed}"), &recorded(&original, seed), 20);
    }
    for (path, defines) in all_variants().into_iter().step_by(15) {
        let trace = recorded(&load(Path::new(&path), &defines), 1);
        compared += no_order_is_excluded(&path, &trace, 10);
    }
    let log = read("remind-me", crate::traces::log("remind-me/trace").as_bytes()).unwrap();
    compared += no_order_is_excluded("remind-me", &log, 20);
    assert!(compared > 10_000, "{compared}");
}

/// The same by a search of all states: each forced order is a line that says that the other order never happens. And
/// the orders of the trace itself happen.
#[test]
fn a_search_finds_no_order_that_the_trace_excludes() {
    let folder = scratch("trace-models-orders");
    let (mut lines, mut files) = (0, 0);
    for seed in 0..100 {
        let original = Model::from_text("small.race", &small::model(seed), &[]).unwrap();
        let trace = recorded(&original, seed);
        let (made, model) = model("small", &trace, &all());
        let mut ops: Vec<OpNo> = operations(&model).into_values().collect();
        ops.sort();
        let forced = OrderQuery::new(&trace, TraceEdges::Forced, &ops, &AtomicBool::new(false)).unwrap();
        let mut text = made.text.clone();
        let before = lines;
        for (i, first) in ops.iter().enumerate() {
            for second in ops[i + 1..].iter().filter(|second| forced.is_ordered(*first, **second)) {
                text += &std::format!("expect order @a{}, @a{}: never\n", second.0, first.0);
                lines += 1;
            }
        }
        // The trace is a run of its model: each access can come behind the one before it.
        for (first, second) in ops.iter().zip(ops.iter().skip(1)) {
            text += &std::format!("expect order @a{}, @a{}: real\n", first.0, second.0);
        }
        if lines > before {
            file(&folder, &std::format!("small{seed}.race"), &text);
            files += 1;
        }
    }
    let tested = call(&["test", &folder.display().to_string(), "--explore-limit", "20000"]);
    assert_eq!(tested.status, 0, "{}{}", tested.out, tested.err);
    assert!(lines > 100 && files > 20, "{lines} {files}");
}

#[test]
fn what_the_trace_does_not_order_can_be_turned() {
    let mut builder = Builder::new();
    let (environment, main) = (builder.environment("environment"), builder.thread("main"));
    let x = builder.location("x", "x");
    let push = |builder: &mut Builder, thread, action| builder.push(thread, action, SiteNo::NONE, 0).unwrap();
    push(&mut builder, main, Action::AttachQueue);
    push(&mut builder, main, Action::Loop);
    for action in [Action::Write(x), Action::Read(x)] {
        let task = builder.task("while", main, PostTime::Now, false);
        push(&mut builder, environment, Action::Post(task));
        push(&mut builder, main, Action::Begin(task));
        push(&mut builder, main, action);
        push(&mut builder, main, Action::End(task));
    }
    let (made, _) = model("events", &builder.finish(), &ModelOptions::default());
    let path = file(&scratch("trace-models-turned"), "a.race", &made.text);
    let ran = call(&["confirm", &path, "--pair", "@a4~@a8", "--format", "json"]);
    assert!(ran.out.contains("\"kind\": \"flipped\""), "{}{}\n{}", ran.out, ran.err, made.text);
}

/// The trace of a looper with a use and a free of `p` in two events; the use has a guard if `guarded`.
fn use_and_free(guarded: bool) -> Trace {
    let mut builder = Builder::new();
    let (environment, main) = (builder.environment("environment"), builder.thread("main"));
    let p = builder.location("p", "p");
    let push = |builder: &mut Builder, thread, action: Action, mark| {
        match action.access() {
            Some(_) => builder.push_marked(thread, action, mark, SiteNo::NONE, 0).unwrap(),
            None => builder.push(thread, action, SiteNo::NONE, 0).unwrap(),
        }
        OpNo(builder.len() as u32 - 1)
    };
    let plain = Mark::default();
    push(&mut builder, main, Action::AttachQueue, plain);
    push(&mut builder, main, Action::Loop, plain);
    for frees in [false, true] {
        let task = builder.task(if frees { "free" } else { "use" }, main, PostTime::Now, false);
        push(&mut builder, environment, Action::Post(task), plain);
        push(&mut builder, main, Action::Begin(task), plain);
        if frees {
            push(&mut builder, main, Action::Write(p), Mark { frees: true, ..plain });
        } else {
            let guard = guarded.then(|| push(&mut builder, main, Action::Read(p), Mark { tested: true, ..plain }));
            push(&mut builder, main, Action::Read(p), Mark { uses: true, guard, ..plain });
        }
        push(&mut builder, main, Action::End(task), plain);
    }
    builder.finish()
}

#[test]
fn uses_meet_the_null_that_a_free_has_written_unless_they_are_guarded() {
    let folder = scratch("trace-models-uses");
    for (guarded, outcome) in [(false, "failure NullPointer"), (true, "ok")] {
        let (made, _) = model("uses", &use_and_free(guarded), &ModelOptions::default());
        assert!(made.text.contains("p = null") && made.text.contains("use "), "{}", made.text);
        assert_eq!(made.text.contains("if r4 != null {"), guarded, "{}", made.text);
        let mut text = made.text.clone();
        let use_ = if guarded { "@a5" } else { "@a4" };
        text += if guarded { "expect no failure\n" } else { "expect failure NullPointer\n" };
        let label = made.label(OpNo(if guarded { 5 } else { 4 })).unwrap();
        assert_eq!(label, format!("{use_}.read"));
        let path = file(&folder, "a.race", &text);
        let tested = call(&["test", &path]);
        assert_eq!(tested.status, 0, "{outcome}: {}{}\n{text}", tested.out, tested.err);
        let free = if guarded { "@a9" } else { "@a8" };
        let confirmed = call(&["confirm", &path, "--pair", &format!("{label}~{free}"), "--format", "json"]);
        let verdict = if guarded { "\"harm\": \"no-failure\"" } else { "\"harm\": \"harmful\"" };
        assert!(confirmed.out.contains(verdict), "{}{}\n{text}", confirmed.out, confirmed.err);
    }
}

#[test]
fn names_of_any_kind_become_distinct_names() {
    let names = ["while", "", "a\u{202e}b", "\n\"\\", "r", "some_object", "0x1 L;.5", "init", "x/y/z", "日本", "a b"];
    let mut builder = Builder::new();
    let threads: Vec<_> = names.iter().chain(&names).map(|name| builder.thread(name)).collect();
    let places: Vec<_> = names.iter().map(|name| builder.location(name, name)).collect();
    let locks: Vec<_> = names.iter().map(|name| builder.lock(name)).collect();
    for thread in threads {
        for (place, lock) in places.iter().zip(&locks) {
            for action in [Action::Acquire(*lock), Action::Write(*place), Action::Release(*lock)] {
                builder.push(thread, action, SiteNo::NONE, u32::MAX).unwrap();
            }
        }
    }
    let trace = builder.finish();
    let (made, _) = model("na\u{7}me\n\"", &trace, &ModelOptions::default());
    assert_eq!((made.bodies, made.statements), (22, 22 * 3 * 11));
    // A name selects its location, and only that one.
    let only = ModelOptions { only: vec!["while".to_owned()], ..ModelOptions::default() };
    assert_eq!(model("only", &trace, &only).0.statements, 22 * 3);
}

#[test]
fn what_cannot_become_a_model_is_refused() {
    let log = format!("{EM}/remind-me/trace.txt");
    let refused = call(&["trace", "to-model", &log, "--only", "nothing"]);
    assert_eq!(refused.status, REFUSED);
    assert!(refused.err.contains("has no location or field `nothing`"), "{}", refused.err);
    let mut text = "1 START\n".to_owned();
    for thread in 1..1_200 {
        text += &format!("{} THREADINIT tid:{thread}\n", 2 * thread);
        text += &format!("{} WRITE tid:{thread} obj:0x1 class:La; field:8\n", 2 * thread + 1);
    }
    let refused = call_with(&["trace", "to-model", "-"], &text);
    assert_eq!(refused.status, REFUSED);
    assert!(refused.err.contains("too large, with 1199 bodies and 1199 statements"), "{}", refused.err);
}

#[test]
fn a_race_of_a_trace_becomes_a_verdict() {
    let log = format!("{EM}/remind-me/trace.txt");
    let found = call(&["analyze", &log]);
    let next = found.out.lines().find(|line| line.starts_with("to confirm a race: ")).expect(&found.out);
    assert!(next.contains("raceflip trace to-model tests/") && next.contains(" --pair @a"), "{next}");
    // The manual has this command for a reader who is in the folder of the trace, and the place of its first label.
    let here = next.replace("to confirm a race: ", "").replace(&format!("{EM}/remind-me/"), "");
    let page = crate::support::read("docs/from_trace.md");
    assert!(page.contains(&format!("```sh\n{here}\n```\n\n`@a42` is operation 42 of the trace")), "{here}");
    let model = call(&["trace", "to-model", &log]).out;
    assert!(model.contains("@a42 from \"trace:48\":") && page.contains("`from \"trace:48\"`"), "{model}");
    let judged = call(&["analyze", &log, "--confirm", "--locked", "--format", "json"]);
    assert_eq!(judged.status, 1, "{}", judged.err);
    let report: serde_json::Value = serde_json::from_str(&judged.out).unwrap();
    verdicts_are_right("remind-me", &report);
}

/// Asserts that each race of rank A or C is real, and that each of rank B is decided.
fn verdicts_are_right(name: &str, report: &serde_json::Value) {
    let races = report["races"].as_array().unwrap();
    assert!(!races.is_empty(), "{name}");
    for race in races {
        let (rank, verdict) = (race["rank"].as_str().unwrap(), race["verdict"].as_str().unwrap_or_default());
        let wanted: &[&str] = if rank == "B" { &["real", "refuted"] } else { &["real"] };
        assert!(wanted.contains(&verdict), "{name}: {race:#}");
    }
}

#[test]
fn the_races_of_em_explorers_traces_are_decided() {
    let apps = ["remind-me", "mytracks", "charachter-recognition", "music", "aarddict"];
    for (app, rules) in apps.into_iter().flat_map(|app| [(app, "printed"), (app, "hybrid")]) {
        let path = format!("{EM}/{app}/trace.txt");
        let judged = call(&["analyze", &path, "--confirm", "--locked", "--rules", rules, "--format", "json"]);
        let report: serde_json::Value = serde_json::from_str(&judged.out).unwrap_or_else(|_| panic!("{}", judged.err));
        verdicts_are_right(app, &report);
    }
}
