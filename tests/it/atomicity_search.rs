//! Compares the search for violations of atomicity with all runs of generated small models: what the search finds, some
//! run violates, and what it rules out, none does. The runs are enumerated one after the other, without states, and
//! each is analyzed by itself; where no step of a transaction makes anything, also by the definition.

use crate::atomicity_naive::{Definition, Owner};
use crate::component_models;
use crate::stateless::next_instants;
use raceflip::base::Rng;
use raceflip::detect::TraceRecorder;
use raceflip::detect::atomicity::{
    AtomicityOptions, EdgeRules, Specification, StepNo, Steps, Transactions, analyze, candidates, declared_name,
};
use raceflip::detect::happens_before::OrderQuery;
use raceflip::event::{Actor, Choice, Event};
use raceflip::exec::{Observer, run};
use raceflip::explore::{NoSearchProgress, SearchContext, SearchPlan, Unknown, Violations, violations};
use raceflip::sched::RoundRobin;
use raceflip::trace::{InstanceNo, OpNo, SiteNo, Trace};
use raceflip::vm::{Model, Vm};
use raceflip::world::{Limits, Machine, Question, World};
use std::collections::{BTreeMap, BTreeSet};
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
    // Candidates that are excluded because every run has an order: the statements of their conflicts.
    excluded: Vec<Conflicts>,
}

type Conflicts = Vec<(String, String)>;

/// Returns the candidates of all transactions of a name in the round robin, with no order known and with that of the
/// hybrid relation.
fn candidates_of(model: &Model, case: &Case) -> [BTreeSet<Conflicts>; 2] {
    let mut recorded = Recorded(TraceRecorder::new());
    let mut machine = model.machine(Limits::default());
    run(&mut machine, &mut RoundRobin::default(), 0, &mut recorded, &AtomicBool::new(false));
    let trace = recorded.0.finish();
    let accesses: Vec<OpNo> = trace.ops.ids().filter(|op| trace.ops[*op].action.access().is_some()).collect();
    let order = OrderQuery::hybrid(&trace, &accesses, &AtomicBool::new(false)).expect("nothing stops it");
    let steps = Steps::of(&trace);
    let transactions = Transactions::of(&steps, case.specification);
    let is_before = |first: StepNo, then: StepNo| {
        steps.op_of(first).zip(steps.op_of(then)).is_some_and(|(first, then)| order.is_ordered(first, then))
    };
    let site = |step: StepNo| trace.sites[steps.site_of(step)].to_owned();
    let all = |is_before: &dyn Fn(StepNo, StepNo) -> bool| {
        let own = transactions.all.enumerate().filter(|(_, own)| own.declared == case.name);
        let found = own.flat_map(|(number, _)| candidates(&steps, &transactions, number, 4_000, is_before));
        found.map(|edges| edges.into_iter().map(|(x, y)| (site(x), site(y))).collect()).collect()
    };
    [all(&|_, _| false), all(&is_before)]
}

struct Recorded(TraceRecorder);

impl Observer for Recorded {
    fn event(&mut self, world: &World, event: &Event) {
        self.0.observe(world, event);
    }
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
                Some(Question::Instant) => next_instants(&machine.world),
                Some(question) => (0..question.answers().unwrap()).collect(),
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
        self.has_none_of_the_excluded(&trace);
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

impl Runs<'_> {
    // No run performs all conflicts of an excluded candidate in their order.
    fn has_none_of_the_excluded(&self, trace: &Trace) {
        let mut spans: BTreeMap<&str, (OpNo, OpNo)> = BTreeMap::new();
        for (at, op) in trace.ops.enumerate().filter(|(_, op)| op.site != SiteNo::NONE) {
            spans.entry(&trace.sites[op.site]).or_insert((at, at)).1 = at;
        }
        for candidate in &self.excluded {
            let happens = candidate.iter().all(|(x, y)| {
                let spans = spans.get(x.as_str()).zip(spans.get(y.as_str()));
                spans.is_some_and(|((first, _), (_, last))| first < last)
            });
            assert!(!happens, "{candidate:?}\n{}", self.case.text);
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

/// A model with components, and a thread that comes between their callbacks.
fn components(seed: u64) -> Case {
    let mut rng = Rng::seeded(seed);
    let text = component_models::generate(seed).text();
    // The value of `x` tells in which order the callbacks came. Without it there are fewer states than such orders.
    let mut text = text.replace("x * 4 + ", ["x * 4 + ", "x * 0 * ", "0 * "][rng.below(3) as usize]);
    if rng.below(3) > 0 {
        text += ["thread other { x = 9 }\n", "thread other { let seen = x }\n"][rng.below(2) as usize];
    }
    Case { text, specification: Specification::Lifecycle, name: "P", makes_nothing: false }
}

/// Numbers of models that were compared, of those with a violation, and of excluded candidates.
#[derive(Default, Debug)]
pub(crate) struct Compared {
    pub(crate) models: u32,
    pub(crate) with: u32,
    excluded: usize,
}

/// Compares many models.
pub(crate) fn compare_many() -> Compared {
    compare((1_000..4_000).map(generate), 200_000)
}

fn compare(cases: impl Iterator<Item = Case>, most_steps: u64) -> Compared {
    let mut compared = Compared::default();
    for (n, case) in cases.enumerate() {
        let model = Model::from_text("small.race", &case.text, &[]).unwrap_or_else(|e| panic!("{e}\n{}", case.text));
        let mut machine = model.machine(Limits::default());
        machine.start(true);
        let mut recorder = TraceRecorder::new();
        machine.world.recorded().iter().for_each(|event| recorder.observe(&machine.world, event));
        let [all, kept] = candidates_of(&model, &case);
        let excluded: Vec<Conflicts> = all.difference(&kept).cloned().collect();
        let mut runs = Runs { case: &case, left: most_steps, analyzed: false, defined: false, excluded };
        if runs.go(&mut machine, &recorder).is_none() {
            continue;
        }
        assert!(runs.analyzed || !runs.defined);
        let stop = AtomicBool::new(false);
        let context = SearchContext { stop: &stop, progress: &NoSearchProgress };
        let (found, _) = violations(&SearchPlan::new(&model), (case.specification, Some(case.name)), context);
        match found {
            Violations::Happens(_) => assert!(runs.analyzed, "case {n}: no run violates it\n{}", case.text),
            Violations::Never => assert!(!runs.analyzed, "case {n}: some run violates it\n{}", case.text),
            // A cycle of forced edges only is no violation, and the search does not look behind it.
            Violations::Unknown(Unknown::Undecided) if !case.makes_nothing => continue,
            Violations::Unknown(why) => panic!("case {n}: {why:?}\n{}", case.text),
        }
        compared.models += 1;
        compared.excluded += runs.excluded.len();
        compared.with += u32::from(runs.analyzed);
    }
    compared
}

/// A transaction whose thread forks or posts something behind it, and another thread.
fn makers(seed: u64) -> Case {
    let mut rng = Rng::seeded(seed);
    let (inside, made, other) = (statements(&mut rng, 2, 2), statements(&mut rng, 2, 2), statements(&mut rng, 1, 1));
    let block = format!("transaction \"A\" {{ {inside} }}");
    let text = match rng.below(3) {
        0 => format!("thread a {{ {block}; fork made() }}"),
        1 => format!("thread a {{ {block}; post made() to main }}"),
        _ => format!("thread a {{ post first() to main; post made() to main }}\ntask first() {{ {block} }}"),
    };
    let text = format!(
        "var x = 0\nvar y = 0\nvar seen = 0\natomic n = 0\nlock m\nlooper main\n{text}\n\
         task made() {{ {made} }}\nthread b {{ {other} }}\n"
    );
    Case { text, specification: Specification::Blocks, name: "A", makes_nothing: false }
}

#[test]
fn the_search_finds_what_some_run_violates() {
    let Compared { models, with, .. } = compare((0..150).map(generate), 60_000);
    assert!(models >= 60 && with >= 15 && models - with >= 15, "{models} models, {with} with a violation");
}

/// Every run has what a thread makes behind its transaction, and the messages of one poster, in one order. A candidate
/// with another order is excluded, and no run has it.
#[test]
fn no_run_has_an_excluded_candidate() {
    let compared = compare((0..60).map(makers), 60_000);
    assert!(compared.models >= 40 && compared.excluded >= 10, "{compared:?}");
}

#[test]
#[ignore = "minutes"]
fn the_search_finds_what_some_run_violates_in_many_models() {
    let compared = compare_many();
    println!("{compared:?}");
    assert!(compared.models >= 2_000);
}

/// The same for models with components.
#[test]
fn the_search_finds_what_some_run_of_components_violates() {
    let Compared { models, with, .. } = compare((0..60).map(components), 20_000);
    assert!(models >= 20 && with >= 4 && models - with >= 8, "{models} models, {with} with a violation");
}

/// Two ways to one state: the thread has read `x` before the callback has written it, or behind. Only in the second
/// case the request that it then makes leads back into the instance.
#[test]
fn what_a_request_carries_is_told_apart() {
    let case = |before: &str| Case {
        text: format!(
            "var x = 0\nlooper main\nkind k {{\n    callback c, heard\n    stage s0\n    verb produce makes {{ }}\n    \
             verb want {{ ask r1() }}\n    r0: during s0 at most 1 {{ c() }}\n    \
             r1: during s0 by request at most 1 {{ heard() }}\n}}\n\
             k P on main {{\n    on c {{ x = 0 }}\n    on heard {{ skip }}\n}}\n\
             thread t {{ let p = produce P; {before}let seen = x; want p }}\n"
        ),
        specification: Specification::Lifecycle,
        name: "P",
        makes_nothing: false,
    };
    let Compared { models, with, .. } = compare(["", "skip; "].into_iter().map(case), 60_000);
    assert_eq!((models, with), (2, 2));
}

#[test]
#[ignore = "minutes"]
fn the_search_finds_what_some_run_of_many_components_violates() {
    let compared = compare((1_000..3_000).map(components), 100_000);
    println!("{compared:?}");
    assert!(compared.models >= 700);
}
