//! Compares the search for violations of atomicity with all runs of generated small models: what the search finds, some
//! run violates, and what it rules out, none does. The runs are enumerated one after the other, without states, and
//! each is analyzed by itself; where no step of a transaction makes anything, also by the definition.

use crate::atomicity_naive::{Definition, Owner};
use crate::stateless::next_instants;
use raceflip::base::Rng;
use raceflip::detect::TraceRecorder;
use raceflip::detect::atomicity::{AtomicityOptions, EdgeRules, Specification, Steps, analyze, declared_name};
use raceflip::event::{Actor, Choice};
use raceflip::explore::{NoSearchProgress, SearchContext, SearchPlan, Unknown, Violations, violations};
use raceflip::trace::{InstanceNo, Trace};
use raceflip::vm::{Model, Vm};
use raceflip::world::{Limits, Machine, Question};
use std::sync::atomic::AtomicBool;

/// A model, the specification and the name of its transactions, and whether these make nothing.
struct Case {
    text: String,
    specification: Specification,
    name: &'static str,
    makes_nothing: bool,
}

const STATEMENTS: [&str; 9] = [
    "x = 1",
    "y = 1",
    "seen = x",
    "seen = y",
    "sync m { x = 2 }",
    "sync m { seen = y }",
    "n = 1",
    "let k = n",
    "x += 1",
];

fn statements(rng: &mut Rng, least: u32, most: u32) -> String {
    let count = least + rng.below(most - least + 1);
    let all: Vec<&str> = (0..count).map(|_| STATEMENTS[rng.below(STATEMENTS.len() as u32) as usize]).collect();
    // `let k` may stand once in a block only.
    all.join("; ").replace("let k = n", "seen = n")
}

fn blocks(rng: &mut Rng) -> Case {
    let (inside, other) = (statements(rng, 2, 2), statements(rng, 1, 2));
    let block = format!("transaction \"A\" {{ {inside} }}");
    let threads = match rng.below(4) {
        0 => format!("thread a {{ {block} }}\nthread b {{ {other} }}\nthread c {{ {} }}", statements(rng, 1, 1)),
        1 => format!("thread a {{ {}; {block} }}\nthread b {{ {other} }}", statements(rng, 1, 1)),
        2 => format!("thread a {{ {block} }}\nthread b {{ transaction \"A\" {{ {other} }} }}"),
        _ => format!(
            "looper main\nthread a {{ post t() to main }}\ntask t() {{ {block} }}\nthread b {{ {other} }}\n\
             thread c {{ post u() to main }}\ntask u() {{ {} }}",
            statements(rng, 1, 1)
        ),
    };
    Case { text: threads, specification: Specification::Blocks, name: "A", makes_nothing: true }
}

fn instances(rng: &mut Rng) -> Case {
    let one = |rng: &mut Rng| statements(rng, 1, 1);
    let (p, q, r, s) = (one(rng), one(rng), statements(rng, 1, 2), one(rng));
    let makes = rng.below(3);
    let more = match makes {
        0 => "; fork helper()",
        1 => "; post inner() to main",
        _ => "",
    };
    let looper = if rng.below(3) == 0 { "other" } else { "main" };
    let text = format!(
        "looper main\nlooper other\nthread env {{ post p() to main as \"P\"; post q() to {looper} as \"P\" }}\n\
         thread b {{ post r() to main }}\ntask p() {{ {p}{more} }}\ntask q() {{ {q} }}\ntask r() {{ {r} }}\n\
         task helper() {{ {s} }}\ntask inner() {{ {s} }}"
    );
    Case { text, specification: Specification::Lifecycle, name: "P", makes_nothing: makes == 2 }
}

fn trees(rng: &mut Rng) -> Case {
    let one = |rng: &mut Rng| statements(rng, 1, 1);
    let (p, q, r, s) = (one(rng), one(rng), one(rng), one(rng));
    let text = format!(
        "looper main\nthread env {{ post p() to main }}\nthread b {{ {s}; post r() to main }}\n\
         task p() {{ {p}; post q() to main }}\ntask q() {{ {q} }}\ntask r() {{ {r} }}"
    );
    Case { text, specification: Specification::Tree, name: "p", makes_nothing: true }
}

fn generate(seed: u64) -> Case {
    let mut rng = Rng::seeded(seed);
    let mut case = match seed % 3 {
        0 => blocks(&mut rng),
        1 => instances(&mut rng),
        _ => trees(&mut rng),
    };
    case.text = format!("var x = 0\nvar y = 0\nvar seen = 0\natomic n = 0\nlock m\n{}\n", case.text);
    case
}

/// Enumerates all runs. `None` if they have more steps than `left` together. Returns whether some run violates the
/// transaction by the analysis, and by the definition.
struct Runs<'c> {
    case: &'c Case,
    left: u64,
    analyzed: bool,
    defined: bool,
}

impl Runs<'_> {
    fn go(&mut self, machine: &mut Machine<Vm>, recorder: &TraceRecorder) -> Option<()> {
        let openings = machine.world.openings();
        if openings.stop() && machine.world.outcome().is_none() {
            machine.check_rest();
        }
        if machine.world.outcome().is_some() || openings.total() == 0 {
            self.end(recorder.clone().finish());
            return Some(());
        }
        for k in 0..openings.total() {
            let actor = machine.world.open_actor(&openings, k);
            if actor == Actor::Stop {
                self.end(recorder.clone().finish());
                continue;
            }
            let arguments = match machine.world.question(actor) {
                None => vec![0],
                Some(Question::Branch) => vec![0, 1],
                Some(Question::Waiter(of) | Question::Instance(of) | Question::Case(of)) => (0..of as u64).collect(),
                Some(Question::Instant) => next_instants(&machine.world),
            };
            for argument in arguments {
                self.left = self.left.checked_sub(1)?;
                let (mut next, mut seen) = (machine.clone(), recorder.clone());
                next.step(Choice { actor, argument });
                next.world.recorded().iter().for_each(|event| seen.observe(&next.world, event));
                self.go(&mut next, &seen)?;
            }
        }
        Some(())
    }

    fn end(&mut self, trace: Trace) {
        let Case { specification, name, makes_nothing, .. } = *self.case;
        let found = analyze(&trace, specification, AtomicityOptions::default(), &AtomicBool::new(false));
        let found = found.expect("nothing stops it");
        let violated = found.findings.iter().any(|finding| finding.is_violation_of(Some(name)));
        self.analyzed |= violated;
        if makes_nothing && self.left.is_multiple_of(16) {
            let definition = Definition::new(&Steps::of(&trace), specification, EdgeRules::Data);
            let of_name = |owner: &Owner| named(&definition, *owner, name);
            let hits =
                definition.transactions().into_iter().filter(of_name).any(|of| !definition.hits(of, false).is_empty());
            assert_eq!(hits, violated, "{}", self.case.text);
            self.defined |= hits;
        }
    }
}

/// Whether a transaction has a name, with any number.
fn named(definition: &Definition<'_>, owner: Owner, name: &str) -> bool {
    let trace = definition.trace();
    declared_name(match owner {
        Owner::Instance(instance) => &trace.instances[InstanceNo(instance)],
        Owner::Root(root) => &trace.tasks[root].name,
        Owner::Block(mark) => trace.transactions[mark].name.as_deref().unwrap_or_default(),
    }) == name
}

/// Counts the models that were compared, and those with a violation.
pub(crate) fn compare(seeds: std::ops::Range<u64>, most_steps: u64) -> (u32, u32) {
    let (mut compared, mut with) = (0, 0);
    for seed in seeds {
        let case = generate(seed);
        let model = Model::from_text("small.race", &case.text, &[]).unwrap_or_else(|e| panic!("{e}\n{}", case.text));
        let mut machine = model.machine(Limits::default());
        machine.start(true);
        let mut recorder = TraceRecorder::new();
        machine.world.recorded().iter().for_each(|event| recorder.observe(&machine.world, event));
        let mut runs = Runs { case: &case, left: most_steps, analyzed: false, defined: false };
        if runs.go(&mut machine, &recorder).is_none() {
            continue;
        }
        assert!(runs.analyzed || !runs.defined);
        let stop = AtomicBool::new(false);
        let context = SearchContext { stop: &stop, progress: &NoSearchProgress };
        let (found, _) = violations(&SearchPlan::new(&model), (case.specification, Some(case.name)), context);
        match found {
            Violations::Happens(_) => assert!(runs.analyzed, "seed {seed}: no run violates it\n{}", case.text),
            Violations::Never => assert!(!runs.analyzed, "seed {seed}: some run violates it\n{}", case.text),
            // A cycle of forced edges only is no violation, and the search does not look behind it.
            Violations::Unknown(Unknown::Undecided) if !case.makes_nothing => continue,
            Violations::Unknown(why) => panic!("seed {seed}: {why:?}\n{}", case.text),
        }
        compared += 1;
        with += u32::from(runs.analyzed);
    }
    (compared, with)
}

#[test]
fn the_search_finds_what_some_run_violates() {
    let (compared, with) = compare(0..150, 60_000);
    assert!(compared >= 60 && with >= 15 && compared - with >= 15, "{compared} models, {with} with a violation");
}

#[test]
#[ignore = "minutes"]
fn the_search_finds_what_some_run_violates_in_many_models() {
    let (compared, with) = compare(1_000..4_000, 200_000);
    println!("{compared} models, {with} with a violation");
    assert!(compared >= 2_000);
}
