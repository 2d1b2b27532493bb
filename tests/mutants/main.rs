//! Mutation tests: mistakes that are made on purpose in the search, the canonical state, the message queue, jobs and
//! components, in CAFA's order over traces, in the analysis of atomicity, in the search for deadlock rings, in
//! renamings of alike threads, in learning campaigns, and in static executes-before. Each mistake must be noticed by an
//! oracle of the search,
//! by the rules of the order, by the definition of a violation or ring, or by all runs of small programs.
//!
//! This is a separate program, because it builds the library with the feature `mutants`:
//! `cargo test --features mutants --test mutants -- --nocapture`.

#[path = "../it/agree.rs"]
mod agree;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../it/alike_compare.rs"]
mod alike_compare;
#[path = "../it/alike_models.rs"]
mod alike_models;
#[path = "../it/atomicity_compare.rs"]
mod atomicity_compare;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../it/atomicity_naive.rs"]
mod atomicity_naive;
#[path = "../it/atomicity_traces.rs"]
mod atomicity_traces;
#[path = "../it/causal_compare.rs"]
mod causal_compare;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../it/causal_rules.rs"]
mod causal_rules;
#[path = "../it/causal_traces.rs"]
mod causal_traces;
#[path = "../it/component_models.rs"]
mod component_models;
#[path = "../it/component_runs.rs"]
mod component_runs;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../it/fuzz_oracles.rs"]
mod fuzz_oracles;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../it/reduced_compare.rs"]
mod reduced_compare;
#[path = "../it/reduced_models.rs"]
mod reduced_models;
#[path = "../it/ring_models.rs"]
mod ring_models;
#[path = "../it/ring_naive.rs"]
mod ring_naive;
#[path = "../it/small.rs"]
mod small;
#[path = "../it/stateless.rs"]
mod stateless;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../it/static_claims.rs"]
mod static_claims;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../it/static_directed.rs"]
mod static_directed;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../it/static_models.rs"]
mod static_models;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../it/static_rules.rs"]
mod static_rules;
#[path = "../it/static_text.rs"]
mod static_text;
#[path = "../it/static_tree.rs"]
mod static_tree;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../it/static_truth.rs"]
mod static_truth;
#[path = "../it/static_unfold.rs"]
mod static_unfold;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../it/truth.rs"]
mod truth;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../it/truth_orders.rs"]
mod truth_orders;

mod fuzzing;

use agree::{compare, search};
use component_runs::{ComponentEnd, compare_ends};
use raceflip::base::mutant::{Mutant, make};
use raceflip::campaign::{CampaignContext, CampaignPlan, NoProgress, confirm, judge, named};
use raceflip::explore::{Bounds, SearchPlan};
use raceflip::statics::{StaticsOptions, analyze};
use raceflip::token::Token;
use raceflip::vm::Model;
use stateless::{Facts, facts, words};
use static_claims::MOST_STATES;
use static_truth::{OrderFacts, order_facts};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// Number of small models that are compared.
const MODELS: u64 = 1_200;
/// Number of models with components that are compared.
const COMPONENT_MODELS: u64 = 200;
/// Bound on the steps of all runs of a model together; models above it are skipped.
const MOST_STEPS: u64 = 3_000;

/// Models that have few states only if the canonical state leaves out details that do not matter.
const LOOPS: [(&str, &str); 3] = [
    (
        "posts",
        "var x = 0; looper main; task m() { x = 1 - x; post m() to main }; thread a { post m() to main; post m() to main }",
    ),
    ("sleeps", "var x = 0; looper main; task m() { x = 1 }; thread a { post m() to main; loop { sleep 1 } }"),
    ("objects", "class Box { var v = 0 }; var o: Box = null; thread a { loop { o = new Box; o.v = 1 } }"),
];

fn model(name: &str, text: &str) -> Model {
    Model::from_text(name, text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Loads the facts about message queues and about async tasks, each of which lists all its outcomes.
fn queue_facts() -> Vec<Model> {
    let harnesses = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("harnesses");
    let files = ["queue", "messages", "coroutines"].map(|folder| std::fs::read_dir(harnesses.join(folder)).unwrap());
    let mut paths: Vec<_> = files.into_iter().flatten().map(|f| f.unwrap().path()).collect();
    // The other models of async tasks are bugs, some of which have many states.
    let is_bug = |p: &std::path::Path| p.file_name().is_some_and(|name| name.to_string_lossy().starts_with("bug_"));
    paths.retain(|p| p.extension().is_some_and(|e| e == "race") && !is_bug(p));
    paths.sort();
    let of_files = paths.iter().map(|p| model(&p.to_string_lossy(), &std::fs::read_to_string(p).unwrap()));
    of_files.chain([model("throws at once", THROWS_AT_ONCE)]).collect()
}

/// A fact that no harness shows: a suspension point at which a job need not wait throws in a job that is cancelled.
const THROWS_AT_ONCE: &str = "looper main\nsemaphore s = 1\nvar me: job = null\nvar log: list[int]\n\
     async task work() { await me != null; cancel me; try { down s; log.push(1) } catch Cancelled { log.push(2) } }\n\
     thread t { me = launch work() on main }\nexpect outcomes of log: ok [2]\n";

/// Returns models with components, with the ends that the interpreter finds.
fn component_ends() -> Vec<(Model, BTreeMap<ComponentEnd, u64>)> {
    let models = (0..COMPONENT_MODELS).map(component_models::generate);
    models.filter_map(|of| Some((model("component", &of.text()), of.ends(5_000)?))).collect()
}

/// Returns whether a fact about queues holds under the search.
fn holds(fact: &Model) -> bool {
    let found = search(&SearchPlan { reduce: true, observe: named(&fact.program), ..SearchPlan::new(fact) });
    let ends: Vec<_> = found.ends.keys().map(|e| e.ended.clone()).collect();
    fact.program.expectations.iter().filter_map(|e| judge(&e.kind, ends.iter())).all(|u| u.is_met())
}

/// Returns whether a loop has few states.
fn ends_soon(text: &Model) -> bool {
    search(&SearchPlan { bounds: Bounds { states: 1_000, ..Bounds::default() }, ..SearchPlan::new(text) }).complete()
}

/// Models for mistakes that generated ones hardly show: a microtask in the place of a message, a handle of one message
/// or of another one, and two requests of one row.
const APART: [&str; 3] = [
    "looper main\nvar log: list[int]\nvar started = false\ntask f() { log.push(1) }\ntask g() { log.push(2) }\n\
     task start() { if * { post f() to main micro } else { post f() to main }; started = true }\n\
     thread t { post start() to main; await started; post g() to main at front }\n",
    "looper main\nvar log: list[int]\ntask f(i) { log.push(i) }\n\
     thread t { let m = post f(1) to main; let n = post f(2) to main; let k = m; if * { k = n }\n\
     skip; cancel k }\n",
    "looper main\nkind box { single; callback heard(n); stage there; verb say(n) { ask tell(n) }\n\
     tell(n): during there by request { heard(n) } }\nvar log: list[int]\n\
     box B on main { on heard(n) { log.push(n) } }\nthread t { say B(1); say B(2) }\n",
];

/// The four oracles of a mistake: small models, loops, facts about queues and jobs, and models with components, which
/// an interpreter of its own has performed.
struct Held {
    small: Vec<(Model, Facts, u64)>,
    loops: Vec<Model>,
    queue: Vec<Model>,
    components: Vec<(Model, BTreeMap<ComponentEnd, u64>)>,
}

impl Held {
    fn new() -> Self {
        let texts = (0..MODELS).map(small::model).chain(APART.map(str::to_owned));
        let small = (0..).zip(texts).filter_map(|(seed, text): (u64, String)| {
            let model = model("small", &text);
            let facts = facts(&model, &words(&model.program), MOST_STEPS)?;
            let states = compare(&model, &facts).unwrap_or_else(|e| panic!("small {seed}: {e}"));
            Some((model, facts, states))
        });
        Self {
            small: small.collect(),
            loops: LOOPS.iter().map(|(name, text)| model(name, text)).collect(),
            queue: queue_facts(),
            components: component_ends(),
        }
    }

    fn notice(&self, mutant: Mutant) -> [usize; 4] {
        make(mutant);
        // A failed assertion inside the search also counts as noticing the mistake.
        let noticed = |holds: &dyn Fn() -> bool| !catch_unwind(AssertUnwindSafe(holds)).unwrap_or(false);
        let small = self.small.iter().filter(|(m, f, states)| noticed(&|| compare(m, f) == Ok(*states))).count();
        let loops = self.loops.iter().filter(|m| noticed(&|| ends_soon(m))).count();
        let queue = self.queue.iter().filter(|m| noticed(&|| holds(m))).count();
        let components = self.components.iter().filter(|(m, e)| noticed(&|| compare_ends(m, e).is_ok())).count();
        make(Mutant::None);
        [small, loops, queue, components]
    }
}

/// Holds the mistake that is switched on: it is one for the whole process.
static MISTAKE: Mutex<()> = Mutex::new(());

/// Number of random traces on which a mistake in the analysis of atomicity must be noticed.
const TRACES: u64 = 400;

#[test]
fn each_mistake_in_the_analysis_of_atomicity_is_noticed() {
    let _mistake = MISTAKE.lock().unwrap_or_else(PoisonError::into_inner);
    make(Mutant::None);
    assert_eq!(atomicity_compare::compare_all(0..TRACES, 40).map(|seen| seen.certain > 0), Ok(true));
    std::panic::set_hook(Box::new(|_| {}));
    let noticed = Mutant::OF_ATOMICITY.map(|mutant| {
        make(mutant);
        let differs = |seed: &u64| !matches!(catch_unwind(|| atomicity_compare::compare(*seed, 40)), Ok(Ok(_)));
        (mutant, (0..TRACES).find(differs))
    });
    make(Mutant::None);
    drop(std::panic::take_hook());
    noticed.iter().for_each(|(mutant, seed)| println!("{mutant:?}: trace {seed:?}"));
    let missed: Vec<_> = noticed.iter().filter(|(_, seed)| seed.is_none()).collect();
    assert!(missed.is_empty(), "not noticed: {missed:?}");
}

// Makes each mistake in turn. Returns for each the number of models that notice it. None notices the right code. A
// failed assertion inside the program also counts as noticing.
fn counts<T, const N: usize>(
    mutants: [Mutant; N],
    models: &[T],
    is_noticed: impl Fn(&T) -> bool,
) -> [(Mutant, usize); N] {
    let count = || models.iter().filter(|model| is_noticed(model)).count();
    make(Mutant::None);
    assert_eq!(count(), 0);
    std::panic::set_hook(Box::new(|_| {}));
    let noticed = mutants.map(|mutant| {
        make(mutant);
        (mutant, count())
    });
    make(Mutant::None);
    drop(std::panic::take_hook());
    noticed.iter().for_each(|(mutant, count)| println!("{mutant:?}: {count} of {} models", models.len()));
    noticed
}

fn missed(noticed: &[(Mutant, usize)]) -> Vec<Mutant> {
    noticed.iter().filter(|(_, count)| *count == 0).map(|(mutant, _)| *mutant).collect()
}

/// Number of generated models of each kind whose rings are compared with their definition, and of runs of each of them.
const RING_MODELS: u64 = 100;
const RING_RUNS: u64 = 4;

#[test]
fn each_mistake_in_the_search_for_rings_is_noticed() {
    let _mistake = MISTAKE.lock().unwrap_or_else(PoisonError::into_inner);
    let texts: Vec<String> = (0..RING_MODELS).flat_map(|n| [ring_models::nested(n), ring_models::ring(n)]).collect();
    let is_noticed =
        |text: &String| !matches!(catch_unwind(|| ring_naive::compare("rings.race", text, RING_RUNS)), Ok(Ok(_)));
    let missed = missed(&counts(Mutant::OF_RINGS, &texts, is_noticed));
    assert!(missed.is_empty(), "not noticed: {missed:?}");
}

/// Number of generated models in which a mistake in the stubborn sets of a search may be noticed, and the bound on
/// their states.
const REDUCED_MODELS: u64 = 150;
const REDUCED_STATES: u64 = 1_000;

/// Short models for mistakes in stubborn sets.
const REDUCED: [&str; 6] = [
    // Which of two posts comes first.
    "var log: list[int]\nlooper main\ntask f(i) { log.push(i) }\nthread a { post f(1) to main }\nthread b { post f(2) to main }\n",
    // A wake-up before the wait is lost.
    "var x = 0\nmutex m\ncondition c\nthread a { sync m { x = 1; wait c with m } }\nthread b { await x == 1; signal c }\n",
    // A thread that waits has given up its lock. The end of a thread meets every wait, so another step follows.
    "var y = 0\nmutex m\ncondition c\nthread t { y = 1; skip }\nthread a { sync m { wait c with m }; y = 2 }\n\
     thread u { sync m { signal c } }\n",
    // One thread repeats a cycle beside another one that fails.
    "thread a { loop { yield } }\nthread b { skip; assert false }\n",
    // A write of a task.
    "var x = 0\nlooper main\ntask f() { x = 2 }\nthread t { x = 1 }\nthread p { post f() to main }\n",
    // The owner of a lock has something else to do first.
    "var x = 0\nvar y = 0\nlock l\nthread c { x = 1 }\nthread a { sync l { x = 2 } }\nthread b { sync l { y = 1 } }\n\
     thread d { y = 2 }\n",
];

#[test]
fn each_mistake_in_stubborn_sets_is_noticed() {
    let _mistake = MISTAKE.lock().unwrap_or_else(PoisonError::into_inner);
    make(Mutant::None);
    let texts = REDUCED.map(str::to_owned).into_iter().chain((0..REDUCED_MODELS).map(reduced_models::model));
    let models: Vec<Model> = texts.map(|text| model("reduced", &text)).collect();
    let differs = |of: &Model| {
        let compare = || reduced_compare::compare_reduced(of, words(&of.program), REDUCED_STATES);
        !matches!(catch_unwind(AssertUnwindSafe(compare)), Ok(None | Some(Ok(_))))
    };
    counts(Mutant::OF_STUBBORN, &models[REDUCED.len()..], differs);
    let missed = missed(&counts(Mutant::OF_STUBBORN, &models[..REDUCED.len()], differs));
    assert!(missed.is_empty(), "no short model notices {missed:?}");
}

/// Number of generated models with alike threads whose ends are compared, and the largest number of their states.
const ALIKE_MODELS: u64 = 300;
const ALIKE_STATES: u64 = 4_000;

#[test]
fn each_mistake_in_renamings_is_noticed() {
    let _mistake = MISTAKE.lock().unwrap_or_else(PoisonError::into_inner);
    make(Mutant::None);
    let models: Vec<Model> = (0..ALIKE_MODELS).map(|seed| model("alike", &alike_models::model(seed))).collect();
    let is_noticed = |model: &Model| {
        let compared = catch_unwind(AssertUnwindSafe(|| alike_compare::compare_alike(model, ALIKE_STATES)));
        !matches!(compared, Ok(Ok(_)))
    };
    let missed = missed(&counts(Mutant::OF_SYMMETRY, &models, is_noticed));
    assert!(missed.is_empty(), "not noticed: {missed:?}");
}

/// Number of random programs in which a mistake in static executes-before must be noticed.
const PROGRAMS: u64 = 5_000;

/// Each mistake in static executes-before makes a claim that some run contradicts: about one of the short programs that
/// were written for them, and about one of the random programs.
#[test]
fn each_mistake_in_static_executes_before_is_noticed() {
    let _mistake = MISTAKE.lock().unwrap_or_else(PoisonError::into_inner);
    make(Mutant::None);
    let directed: Vec<(Model, OrderFacts)> = static_directed::DIRECTED
        .iter()
        .map(|(name, text)| model(name, text))
        .map(|model| {
            let facts = order_facts(&model, MOST_STATES).expect("few states");
            (model, facts)
        })
        .collect();
    let is_noticed = |(model, facts): &&(Model, OrderFacts)| static_claims::contradicted(model, facts).is_some();
    assert_eq!(directed.iter().filter(is_noticed).count(), 0);
    for mutant in Mutant::OF_STATICS {
        make(mutant);
        let count = directed.iter().filter(is_noticed).count();
        make(Mutant::None);
        assert!(count > 0, "no short program notices {mutant:?}");
    }
    let mut noticed: BTreeMap<u8, Vec<u64>> = BTreeMap::new();
    for seed in static_directed::NOTICED.into_iter().chain(0..PROGRAMS) {
        let model = static_claims::load(seed, &static_models::random(seed));
        let Some(facts) = order_facts(&model, MOST_STATES) else { continue };
        assert_eq!(static_claims::contradicted(&model, &facts), None, "random {seed}");
        for mutant in Mutant::OF_STATICS {
            make(mutant);
            if static_claims::contradicted(&model, &facts).is_some() {
                noticed.entry(mutant as u8).or_default().push(seed);
            }
            make(Mutant::None);
        }
        if noticed.len() == Mutant::OF_STATICS.len() {
            break;
        }
    }
    for mutant in Mutant::OF_STATICS {
        println!("{mutant:?}: first program {:?}", noticed.get(&(mutant as u8)).and_then(|seeds| seeds.first()));
    }
    assert_eq!(noticed.len(), Mutant::OF_STATICS.len(), "not all are noticed");
}

/// A run that contradicts static analysis stops a campaign, which shows both proofs: the order with its reason, and the
/// token of the run.
#[test]
fn a_run_that_contradicts_an_order_is_shown() {
    let _mistake = MISTAKE.lock().unwrap_or_else(PoisonError::into_inner);
    let (name, text) = static_directed::DIRECTED.iter().find(|(name, _)| *name == "one writer").expect("a program");
    let model = model(name, text);
    make(Mutant::StaticOneWriter);
    let statics = analyze(&model.program, &StaticsOptions::explained());
    let plan = CampaignPlan { ordered: Some(Arc::new(statics)), ..CampaignPlan::new(&model) };
    let context = CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress };
    let stopped = catch_unwind(AssertUnwindSafe(|| confirm(&plan, context)));
    make(Mutant::None);
    let shown = stopped.expect_err("the order is wrong").downcast::<String>().expect("a text");
    assert!(shown.contains("runs show it in both orders") && shown.contains("FLAG"), "{shown}");
    let token = shown.rsplit(' ').next().and_then(|token| token.parse::<Token>().ok());
    assert!(token.is_some(), "{shown}");
}

#[test]
fn each_mistake_is_noticed() {
    let _mistake = MISTAKE.lock().unwrap_or_else(PoisonError::into_inner);
    mistakes_in_the_order_of_traces();
    let held = Held::new();
    println!(
        "{} small models, {} loops, {} facts about queues and jobs",
        held.small.len(),
        held.loops.len(),
        held.queue.len()
    );
    assert_eq!(held.notice(Mutant::None), [0, 0, 0, 0]);
    std::panic::set_hook(Box::new(|_| {}));
    let counts: Vec<_> = Mutant::ALL.into_iter().map(|mutant| (mutant, held.notice(mutant))).collect();
    drop(std::panic::take_hook());
    let mut missed = Vec::new();
    for (mutant, [small, loops, queue, components]) in counts {
        println!("{mutant:?}: {small} small models, {loops} loops, {queue} facts, {components} models with components");
        // The enumeration uses the same queue and jobs as the search, so only the facts can notice a mistake in them.
        let is_of_queue = (mutant as u8) < Mutant::DeadlinesNotInForm as u8;
        if queue == 0 && is_of_queue || small + loops + queue + components == 0 {
            missed.push(mutant);
        }
    }
    assert!(missed.is_empty(), "not noticed: {missed:?}");
}

/// Compares CAFA's order of random traces with its rules, for each mistake in it.
fn mistakes_in_the_order_of_traces() {
    const TRACES: u64 = 1_500;
    let differing = |mutant: Mutant| {
        make(mutant);
        // A failed assertion also counts as noticing the mistake.
        let is_noticed = |seed: &u64| !matches!(catch_unwind(|| causal_compare::compare(*seed, 120)), Ok(Ok(_)));
        let count = (0..TRACES).filter(is_noticed).count();
        make(Mutant::None);
        count
    };
    assert_eq!(differing(Mutant::None), 0);
    for mutant in Mutant::OF_TRACES {
        let count = differing(mutant);
        println!("{mutant:?}: {count} of {TRACES} traces");
        assert!(count > 0, "not noticed: {mutant:?}");
    }
}
