//! Tests that happens-before is sound for other runs: no run of the model reverses an order that happens-before derives
//! from one run.
//!
//! Without the edges of locks and signals ([`TraceEdges::Forced`]) that holds for any two runs. With them
//! ([`TraceEdges::Full`]) it holds for runs with the same order of acquisitions in which each receive has the same
//! senders. CAFA's order has signals and no locks: it holds for runs in which each receive has the same senders. Two
//! instances are the same if their contexts have taken the same branches. The generated models have no
//! branches, cancel nothing, and enable each event once (`docs/detectors.md` lists what the order of a run depends on).

use crate::complete::all_variants;
use crate::enumerate::choices;
use crate::load::load;
use raceflip::base::Rng;
use raceflip::detect::TraceRecorder;
use raceflip::detect::causality::{CausalityRules, External};
use raceflip::detect::happens_before::{OrderQuery, TraceEdges};
use raceflip::event::{Choice, ContextId, Event, EventKind, SiteId};
use raceflip::exec::{Observer, run};
use raceflip::sched::RandomWalk;
use raceflip::trace::{Action, OpNo, ThreadNo, Trace};
use raceflip::vm::{Model, Vm};
use raceflip::world::{Limits, Machine, World};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// An access: the name of its context, its statement, and a digest of the statements that the context has performed so
/// far, which is equal only if the same branches were taken.
type Instance = (String, SiteId, u64);
/// Pairs of instances of which the first comes before the second.
type Orders = BTreeSet<(Instance, Instance)>;
/// The dependences of a run that may differ between runs: for each lock its acquisitions in order, and for each receive
/// the steps that sent to it.
type Signature = (BTreeMap<String, Vec<Step>>, BTreeMap<Step, BTreeSet<Step>>);
/// A context, and the ordinal of an operation in it.
type Step = (String, u32);

/// Maximum number of accesses of a run that are compared.
const MOST_ACCESSES: usize = 100;

/// Observer that records a run for happens-before, and collects its accesses.
#[derive(Default)]
struct Recording {
    recorder: TraceRecorder,
    paths: BTreeMap<ContextId, DefaultHasher>,
    accesses: Vec<(OpNo, Instance)>,
}

impl Observer for Recording {
    fn event(&mut self, world: &World, event: &Event) {
        let first = OpNo(self.recorder.len() as u32);
        self.recorder.observe(world, event);
        let (Some(context), Some(site)) = (event.context, event.site) else { return };
        let EventKind::Performed { op, .. } = &event.what else { return };
        let path = self.paths.entry(context).or_default();
        site.hash(path);
        if op.access().is_some() && self.accesses.len() < MOST_ACCESSES {
            let context = world.contexts().name(world.setup(), context);
            self.accesses.push((first, (context, site, path.finish())));
        }
    }
}

/// Orders of one run: those that occurred (`had`), and those that happens-before derives for other runs (`forced`,
/// `full`, and `causal` for CAFA's order).
struct Told {
    had: Orders,
    forced: Orders,
    full: Orders,
    causal: Orders,
    signature: Signature,
}

impl Recording {
    fn finish(self) -> Told {
        let trace = self.recorder.finish();
        let ops: Vec<OpNo> = self.accesses.iter().map(|(op, _)| *op).collect();
        let order = |edges| OrderQuery::new(&trace, edges, &ops, &AtomicBool::new(false)).unwrap();
        let orders = |holds: &dyn Fn(OpNo, OpNo) -> bool| {
            let mut orders = Orders::new();
            for (j, (second, b)) in self.accesses.iter().enumerate() {
                let before = self.accesses[..j].iter().filter(|(first, _)| holds(*first, *second));
                orders.extend(before.map(|(_, a)| (a.clone(), b.clone())));
            }
            orders
        };
        let (forced, full) = (order(TraceEdges::Forced), order(TraceEdges::Full));
        let rules = CausalityRules { printed: false, external: External::of(&trace) };
        let causal = OrderQuery::causal(&trace, rules, &ops, &AtomicBool::new(false)).unwrap();
        Told {
            had: orders(&|_, _| true),
            forced: orders(&|a, b| forced.is_ordered(a, b)),
            full: orders(&|a, b| full.is_ordered(a, b)),
            causal: orders(&|a, b| causal.is_ordered(a, b)),
            signature: signature(&trace),
        }
    }
}

// Returns the signature of a run: the acquisitions of each lock in order, and for each receive the steps that sent to
// its channel.
fn signature(trace: &Trace) -> Signature {
    let mut running: BTreeMap<ThreadNo, String> = BTreeMap::new();
    let mut steps: BTreeMap<String, u32> = BTreeMap::new();
    let mut sent: BTreeMap<u32, BTreeSet<Step>> = BTreeMap::new();
    let mut signature = Signature::default();
    for operation in trace.ops.iter() {
        let own = || trace.threads[operation.thread].name.clone();
        let context = running.get(&operation.thread).cloned().unwrap_or_else(own);
        // Sends and receives do not count as steps. Whether a write sends depends on the run, and the write must have
        // the same number in every run.
        let nth = steps.entry(context.clone()).or_default();
        *nth += u32::from(!matches!(operation.action, Action::Send(_) | Action::Receive(_)));
        let step = || (context.clone(), *nth);
        match operation.action {
            Action::Begin(task) => drop(running.insert(operation.thread, trace.tasks[task].name.clone())),
            Action::End(_) => drop(running.remove(&operation.thread)),
            Action::Acquire(lock) => signature.0.entry(trace.locks[lock].to_owned()).or_default().push(step()),
            Action::Send(channel) => drop(sent.entry(channel.0).or_default().insert(step())),
            Action::Receive(channel) => {
                signature.1.insert(step(), sent.get(&channel.0).cloned().unwrap_or_default());
            }
            _ => {}
        }
    }
    signature
}

/// Returns the derived orders that another run reverses. `full` orders are compared only with runs of the same
/// signature, `causal` ones only with runs of the same signals.
fn contradictions(runs: Vec<Told>) -> Vec<String> {
    let mut had = Orders::new();
    let mut alike: BTreeMap<&Signature, Orders> = BTreeMap::new();
    let mut signalled: BTreeMap<_, Orders> = BTreeMap::new();
    for run in &runs {
        had.extend(run.had.iter().cloned());
        alike.entry(&run.signature).or_default().extend(run.had.iter().cloned());
        signalled.entry(&run.signature.1).or_default().extend(run.had.iter().cloned());
    }
    let turned = |(a, b): &(Instance, Instance)| (b.clone(), a.clone());
    let mut wrong = BTreeSet::new();
    for run in &runs {
        let forced = run.forced.iter().filter(|pair| had.contains(&turned(pair)));
        wrong.extend(forced.map(|pair| format!("forced {pair:?}")));
        let full = run.full.iter().filter(|pair| alike[&run.signature].contains(&turned(pair)));
        wrong.extend(full.map(|pair| format!("full {pair:?}")));
        let causal = run.causal.iter().filter(|pair| signalled[&run.signature.1].contains(&turned(pair)));
        wrong.extend(causal.map(|pair| format!("causal {pair:?}")));
    }
    wrong.into_iter().collect()
}

/// Returns all runs of a model, with the clock at critical instants only; `None` if there are more than `most`.
fn all_runs(model: &Model, most: usize) -> Option<Vec<Told>> {
    let mut machine = Machine::new(Vm::new(model.code.clone()), Limits::default());
    machine.start(false);
    let (mut open, mut ends, mut steps) = (vec![(machine.clone(), Vec::<Choice>::new())], Vec::new(), 0);
    while let Some((mut at, path)) = open.pop() {
        let Ok(next) = choices(&mut at, World::instants) else {
            ends.push(path);
            continue;
        };
        for choice in next {
            let mut path = path.clone();
            path.push(choice);
            if choice.actor == raceflip::event::Actor::Stop {
                ends.push(path);
                continue;
            }
            let mut after = at.clone();
            after.step(choice);
            open.push((after, path));
        }
        steps += 1;
        if steps > 20 * most || ends.len() > most {
            return None;
        }
    }
    let record = |path: Vec<Choice>| {
        let mut recording = Recording::default();
        machine.start(true);
        let mut tell = |machine: &Machine<Vm>| {
            machine.world.recorded().iter().for_each(|event| recording.event(&machine.world, event));
        };
        tell(&machine);
        for choice in path.into_iter().filter(|choice| choice.actor != raceflip::event::Actor::Stop) {
            machine.step(choice);
            tell(&machine);
        }
        recording.finish()
    };
    Some(ends.into_iter().map(record).collect())
}

/// Statements of threads and tasks. `$p` stands for an access, `$t` for a task, `$n` for a new name.
const STATEMENTS: [&str; 20] = [
    "$p",
    "$p",
    "$p",
    "post $t() to main",
    "post $t() to main",
    "post $t() to main",
    "post $t() to main after 2",
    "post $t() to main after 5",
    "post $t() to main at front",
    "post $t() to main async",
    "post $t() to other",
    "sync m { $p }",
    "sync m { $p; $p }",
    "sync m { post $t() to main }",
    "join (fork $t())",
    "let $n = fork $t(); $p; join $n",
    "up s",
    "down s",
    "await x == 1; $p",
    "sleep 2; $p",
];

const ACCESSES: [&str; 5] = ["x = 1", "y = x", "x = 2", "y = 1", "x += 1"];

/// Returns a random model without branches, with two threads and two tasks. Each of its events is enabled once.
fn model(seed: u64) -> String {
    let mut rng = Rng::seeded(seed);
    let mut pick = |of: &[&str]| of[rng.below(of.len() as u32) as usize].to_owned();
    let mut names = 0;
    let mut statement = |tasks: &[&str]| {
        let mut text = pick(&STATEMENTS);
        // A task that posts itself would not end, so a task may post only tasks declared before it.
        if tasks.is_empty() && text.contains("$t") {
            text = "$p".to_owned();
        }
        while text.contains("$p") {
            text = text.replacen("$p", &pick(&ACCESSES), 1);
        }
        names += 1;
        let text = text.replace("$n", &format!("f{names}"));
        if text.contains("$t") { text.replace("$t", &pick(tasks)) } else { text }
    };
    let u = statement(&[]);
    let t = format!("{}; {}", statement(&["u"]), statement(&[]));
    let a = format!("{}; {}", statement(&["t", "u"]), statement(&["t", "u"]));
    let b = format!("{}; {}", statement(&["t", "u"]), statement(&["t", "u"]));
    let (of_a, of_b) = [("enable e(); ", ""), ("", "enable e(); "), ("", "")][seed as usize % 3];
    format!(
        "var x = 0\nvar y = 0\nlock m\nsemaphore s = 0\nlooper main\nlooper other\ntask u() {{ {u} }}\ntask t() {{ {t} }}\n\
         event e on main {{ y = 2; y = x }}\nthread a {{ {of_a}{a} }}\nthread b {{ {of_b}{b} }}\n"
    )
}

/// Compares all runs of the models of some seeds. Returns the numbers of models, of runs, of forced orders, of full
/// orders and of causal orders.
fn compare(seeds: std::ops::Range<u64>, most: usize) -> [usize; 5] {
    let mut total = [0; 5];
    for seed in seeds {
        let text = model(seed);
        let model = Model::from_text(&format!("seed {seed}"), &text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let Some(runs) = all_runs(&model, most) else { continue };
        let orders = |of: &dyn Fn(&Told) -> usize| runs.iter().map(of).sum::<usize>();
        let [forced, full, causal]: [fn(&Told) -> usize; 3] =
            [|run| run.forced.len(), |run| run.full.len(), |run| run.causal.len()];
        let told = [1, runs.len(), orders(&forced), orders(&full), orders(&causal)];
        (0..5).for_each(|i| total[i] += told[i]);
        let wrong = contradictions(runs);
        assert!(wrong.is_empty(), "seed {seed}: {:#?}\n{text}", &wrong[..wrong.len().min(5)]);
    }
    total
}

#[test]
fn what_a_run_orders_no_run_of_the_model_turns() {
    let [models, runs, forced, full, causal] = compare(0..1_500, 150);
    println!(
        "{models} models, {runs} runs, {forced} orders without locks and signals, {full} with them, {causal} of CAFA"
    );
    assert!(
        models > 150 && forced > 3_000 && full > forced && causal > forced,
        "{models} {runs} {forced} {full} {causal}"
    );
}

#[test]
#[ignore = "minutes: 5,000 models; in release"]
fn what_a_run_orders_no_run_of_five_thousand_models_turns() {
    let [models, runs, forced, full, causal] = compare(0..40_000, 400);
    println!(
        "{models} models, {runs} runs, {forced} orders without locks and signals, {full} with them, {causal} of CAFA"
    );
    assert!(models >= 5_000);
}

/// Harnesses that are exempt, each with the reason: their branches depend on the schedule, so an order of one run need
/// not hold in runs with other branches.
const BRANCHING: [(&str, &str); 2] = [
    ("components/magisk_receiver", "deliveries of one receiver are numbered in the order in which they are asked for"),
    ("coroutines/fact_completable_deferred", "an async task suspends only if the value is not there yet"),
];

#[test]
fn what_a_run_of_a_harness_orders_no_other_run_turns() {
    let mut wrong = BTreeMap::new();
    for (path, defines) in all_variants() {
        let model = load(Path::new(&path), &defines);
        let limits = Limits { steps: 2_000, ..Limits::default() };
        let mut machine = model.machine(limits);
        let runs = (0..12).map(|seed| {
            let mut recording = Recording::default();
            run(&mut machine, &mut RandomWalk::new(), seed, &mut recording, &AtomicBool::new(false));
            recording.finish()
        });
        let found = contradictions(runs.collect());
        if !found.is_empty() && !BRANCHING.iter().any(|(known, _)| path.contains(known)) {
            wrong.insert(format!("{path} {defines:?}"), found.into_iter().take(3).collect::<Vec<_>>());
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
