//! Mutation tests: mistakes that are made on purpose in the search, the canonical state and the message queue. Each
//! mistake must be noticed by an oracle of the search.
//!
//! This is a separate program, because it builds the library with the feature `mutants`:
//! `cargo test --features mutants --test mutants -- --nocapture`.

#[path = "../it/agree.rs"]
mod agree;
#[path = "../it/small.rs"]
mod small;
#[path = "../it/stateless.rs"]
mod stateless;

use agree::{compare, search};
use raceflip::base::mutant::{Mutant, make};
use raceflip::campaign::{judge, named};
use raceflip::explore::{Bounds, SearchPlan};
use raceflip::vm::Model;
use stateless::{Facts, facts, words};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Number of small models that are compared.
const MODELS: u64 = 1_200;
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

/// Loads the facts about message queues, each of which lists all its outcomes.
fn queue_facts() -> Vec<Model> {
    let harnesses = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("harnesses");
    let files = ["queue", "messages"].map(|folder| std::fs::read_dir(harnesses.join(folder)).unwrap());
    let mut paths: Vec<_> = files.into_iter().flatten().map(|f| f.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "race"));
    paths.sort();
    paths.iter().map(|p| model(&p.to_string_lossy(), &std::fs::read_to_string(p).unwrap())).collect()
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

/// The three oracles of a mistake: small models, loops, and facts about queues.
struct Held {
    small: Vec<(Model, Facts, u64)>,
    loops: Vec<Model>,
    queue: Vec<Model>,
}

impl Held {
    fn new() -> Self {
        let small = (0..MODELS).filter_map(|seed| {
            let model = model("small", &small::model(seed));
            let facts = facts(&model, &words(&model.program), MOST_STEPS)?;
            let states = compare(&model, &facts).unwrap_or_else(|e| panic!("small {seed}: {e}"));
            Some((model, facts, states))
        });
        Self {
            small: small.collect(),
            loops: LOOPS.iter().map(|(name, text)| model(name, text)).collect(),
            queue: queue_facts(),
        }
    }

    fn notice(&self, mutant: Mutant) -> [usize; 3] {
        make(mutant);
        // A failed assertion inside the search also counts as noticing the mistake.
        let noticed = |holds: &dyn Fn() -> bool| !catch_unwind(AssertUnwindSafe(holds)).unwrap_or(false);
        let small = self.small.iter().filter(|(m, f, states)| noticed(&|| compare(m, f) == Ok(*states))).count();
        let loops = self.loops.iter().filter(|m| noticed(&|| ends_soon(m))).count();
        let queue = self.queue.iter().filter(|m| noticed(&|| holds(m))).count();
        make(Mutant::None);
        [small, loops, queue]
    }
}

#[test]
fn each_mistake_is_noticed() {
    let held = Held::new();
    println!("{} small models, {} loops, {} facts about queues", held.small.len(), held.loops.len(), held.queue.len());
    assert_eq!(held.notice(Mutant::None), [0, 0, 0]);
    std::panic::set_hook(Box::new(|_| {}));
    let counts: Vec<_> = Mutant::ALL.into_iter().map(|mutant| (mutant, held.notice(mutant))).collect();
    drop(std::panic::take_hook());
    let mut missed = Vec::new();
    for (mutant, [small, loops, queue]) in counts {
        println!("{mutant:?}: {small} small models, {loops} loops, {queue} facts");
        // The enumeration uses the same queue as the search, so only the facts can notice a mistake in the queue.
        let is_of_queue = (mutant as u8) < Mutant::DeadlinesNotInForm as u8;
        if queue == 0 && is_of_queue || small + loops + queue == 0 {
            missed.push(mutant);
        }
    }
    assert!(missed.is_empty(), "nobody notices {missed:?}");
}
