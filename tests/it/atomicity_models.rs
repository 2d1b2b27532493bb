//! Which cycles the models of `harnesses/atomicity` and of Mondal's report show, over all their runs.

use crate::support::read;
use raceflip::detect::TraceRecorder;
use raceflip::detect::atomicity::{
    Atomicity, AtomicityOptions, Blame, Cycle, CycleEdge, EdgeRules, Finding, Moment, OfRuns, SeenFinding,
    Specification, analyze,
};
use raceflip::event::{Actor, Event, Site};
use raceflip::exec::{Observer, run};
use raceflip::formats::trace::{Header, TraceWriter};
use raceflip::formats::traces;
use raceflip::sched::{Divergence, Strategy, View};
use raceflip::trace::Trace;
use raceflip::vm::Model;
use raceflip::world::{Limits, Question, World};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

/// Takes the options of a list at the first choices, and the first option from then on.
#[derive(Default)]
pub(crate) struct Systematic {
    prefix: Vec<usize>,
    // The option that was taken at each choice, and the number of options.
    taken: Vec<(usize, usize)>,
}

impl Systematic {
    /// Takes these options first.
    pub(crate) fn new(prefix: Vec<usize>) -> Self {
        Self { prefix, taken: Vec::new() }
    }

    fn option(&mut self, options: usize) -> usize {
        let option = self.prefix.get(self.taken.len()).copied().unwrap_or(0);
        self.taken.push((option, options));
        option
    }

    /// Moves on to the next run. Returns false after the last one.
    fn advance(&mut self) -> bool {
        while let Some((option, options)) = self.taken.pop() {
            if option + 1 < options {
                self.prefix = self.taken.iter().map(|(option, _)| *option).chain([option + 1]).collect();
                return true;
            }
        }
        false
    }
}

impl Strategy for Systematic {
    fn begin(&mut self, _: u64) {
        self.taken.clear();
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        let option = self.option(view.openings.total());
        Ok(view.world.open_actor(&view.openings, option))
    }

    fn argument(&mut self, _: &View<'_>, _: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        let options = question.answers().expect("these models have no clock");
        Ok(self.option(options as usize) as u64)
    }
}

pub(crate) struct Recorder(pub(crate) TraceRecorder);

impl Observer for Recorder {
    fn event(&mut self, world: &World, event: &Event) {
        self.0.observe(world, event);
    }
}

/// Returns the traces of all runs of a model, of which there are at most so many.
pub(crate) fn traces_of(model: &Model, most: usize) -> Vec<Trace> {
    all_traces_of(model, most).unwrap_or_else(|| panic!("more than {most} runs"))
}

/// Returns the traces of all runs of a model, or of a thousand random walks if there are too many.
pub(crate) fn many_traces_of(model: &Model) -> Vec<Trace> {
    all_traces_of(model, 10_000).unwrap_or_else(|| {
        let mut machine = model.machine(Limits::default());
        let walk = |seed| {
            let mut recorder = Recorder(TraceRecorder::new());
            let stop = AtomicBool::new(false);
            run(&mut machine, &mut raceflip::sched::RandomWalk::default(), seed, &mut recorder, &stop);
            recorder.0.finish()
        };
        (0..1_000).map(walk).collect()
    })
}

// Returns the traces of all runs. `None` if there are more.
fn all_traces_of(model: &Model, most: usize) -> Option<Vec<Trace>> {
    let (stop, mut strategy) = (AtomicBool::new(false), Systematic::default());
    let mut machine = model.machine(Limits::default());
    let mut traces = Vec::new();
    loop {
        let mut recorder = Recorder(TraceRecorder::new());
        run(&mut machine, &mut strategy, 0, &mut recorder, &stop);
        traces.push(recorder.0.finish());
        if !strategy.advance() {
            return Some(traces);
        }
        if traces.len() > most {
            return None;
        }
    }
}

pub(crate) fn load(path: &str, defines: &[(&str, i64)]) -> Model {
    let defines: Vec<(String, i64)> = defines.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    Model::from_text(path, &read(path), &defines).unwrap_or_else(|e| panic!("{e}"))
}

pub(crate) fn one(trace: &Trace, of: Specification, edges: EdgeRules) -> Atomicity {
    let options = AtomicityOptions { edges, ..AtomicityOptions::default() };
    analyze(trace, of, options, &AtomicBool::new(false)).expect("nothing stops it")
}

/// Returns what a specification shows over all runs.
pub(crate) fn all_runs(traces: &[Trace], of: Specification, edges: EdgeRules) -> Vec<SeenFinding> {
    let mut all = OfRuns::new(of);
    traces.iter().enumerate().for_each(|(i, trace)| all.add(i, one(trace, of, edges)));
    all.finish()
}

/// Returns the labels of the operations of a cycle: where an operation has none, what it does.
pub(crate) fn path_of(model: &Model, cycle: &Cycle) -> Vec<String> {
    let label = |moment: &Moment| {
        let of = moment.site.as_ref().and_then(|site| {
            let at = |s: &&Site| site.starts_with(&format!("{}:{} ", s.line, s.column));
            model.code.setup.sites.iter().find(at)?.label.clone()
        });
        of.unwrap_or_else(|| moment.what.to_owned())
    };
    let mut all: Vec<String> = cycle.edges.iter().flat_map(|edge| [label(&edge.from), label(&edge.to)]).collect();
    // The end of an edge is often the start of the next one.
    all.dedup();
    all
}

fn paths_of(model: &Model, finding: &Finding) -> BTreeSet<Vec<String>> {
    finding.cycles.iter().map(|cycle| path_of(model, cycle)).collect()
}

/// A finding in short: the declared name, whether the blame is joint, the priority.
fn short(all: &[SeenFinding]) -> BTreeSet<(String, bool, u8)> {
    let short = |f: &Finding| (f.declared.clone(), f.blame != Blame::Certain, f.priority);
    all.iter().map(|seen| short(&seen.finding)).collect()
}

fn expect(all: &[(&str, bool, u8)]) -> BTreeSet<(String, bool, u8)> {
    all.iter().map(|(name, joint, priority)| ((*name).to_owned(), *joint, *priority)).collect()
}

use Specification::{Blocks, Lifecycle, Tree};

#[test]
fn each_model_shows_what_it_was_written_for() {
    const FIXED: &[(&str, i64)] = &[("FIXED", 1)];
    const BROKEN: &[(&str, i64)] = &[];
    type Row = (&'static str, &'static [(&'static str, i64)], Specification, &'static [(&'static str, bool, u8)]);
    let table: [Row; 18] = [
        ("block", BROKEN, Blocks, &[("append", false, 2)]),
        ("block", FIXED, Blocks, &[]),
        ("joint", BROKEN, Blocks, &[("A", true, 2), ("B", true, 2)]),
        ("locks_only", BROKEN, Blocks, &[]),
        ("mate", BROKEN, Lifecycle, &[("P", false, 1)]),
        ("must", BROKEN, Lifecycle, &[("Shop", false, 4)]),
        ("parent", BROKEN, Lifecycle, &[("Shop", false, 3)]),
        ("seal1", BROKEN, Lifecycle, &[]),
        ("seal3", BROKEN, Lifecycle, &[("MainActivity", false, 1), ("MainActivity", false, 2)]),
        ("seal3", BROKEN, Tree, &[("onResume", false, 1), ("onResume", false, 2)]),
        ("seal4", BROKEN, Lifecycle, &[("Counter", false, 1), ("Counter", false, 3)]),
        ("seal4", BROKEN, Tree, &[]),
        ("seal4", FIXED, Lifecycle, &[]),
        ("seal5", BROKEN, Lifecycle, &[("MainActivity", false, 3)]),
        ("seal5", BROKEN, Tree, &[("onCreate", false, 3)]),
        ("seal6", BROKEN, Tree, &[("withdraw", false, 1)]),
        ("chain", &[("K", 0)], Blocks, &[("A", false, 2)]),
        ("rounds", &[("ROUNDS", 1)], Blocks, &[("rounds", false, 2)]),
    ];
    for (name, defines, of, expected) in table {
        let model = load(&format!("harnesses/atomicity/{name}.race"), defines);
        let mut found = all_runs(&many_traces_of(&model), of, EdgeRules::Data);
        // Joint blame is the subject of one model only.
        found.retain(|seen| name == "joint" || seen.finding.blame == Blame::Certain);
        assert_eq!(short(&found), expect(expected), "{name} {defines:?} {of:?}: {found:#?}");
    }
}

#[test]
fn the_sections_of_a_lock_make_cycles_only_on_demand() {
    let model = load("harnesses/atomicity/locks_only.race", &[]);
    let found = all_runs(&traces_of(&model, 10_000), Blocks, EdgeRules::Paper);
    assert_eq!(short(&found), expect(&[("both", false, 2)]), "{found:#?}");
}

#[test]
fn rounds_of_one_cycle_are_one_cycle() {
    let model = load("harnesses/atomicity/rounds.race", &[]);
    let mut recorder = Recorder(TraceRecorder::new());
    let strategy = &mut raceflip::sched::RoundRobin::default();
    run(&mut model.machine(Limits::default()), strategy, 0, &mut recorder, &AtomicBool::new(false));
    let trace = recorder.0.finish();
    let steps = raceflip::detect::atomicity::Steps::of(&trace);
    let transactions = raceflip::detect::atomicity::Transactions::of(&steps, Blocks);
    let stop = AtomicBool::new(false);
    let hits = raceflip::detect::atomicity::verdicts(&steps, &transactions, EdgeRules::Data, &stop).expect("it ends");
    // Each round comes back twice: by the semaphore, and by the read.
    assert!(hits.certain.len() >= 50, "{hits:?}");
    let found = one(&trace, Blocks, EdgeRules::Data);
    let is_of_x = |edge: &CycleEdge| edge.field.as_deref() == Some("x");
    let cycles = found.findings.iter().flat_map(|finding| &finding.cycles);
    let of_x: Vec<Vec<String>> =
        cycles.filter(|cycle| cycle.edges.iter().all(is_of_x)).map(|cycle| path_of(&model, cycle)).collect();
    let all: BTreeSet<Vec<String>> = of_x.iter().cloned().collect();
    // Of the fifty rounds each cycle is there once: it leaves by `set` or by `look` of the round before.
    let expected = [["set", "look"], ["look", "look"], ["set", "set"], ["look", "set"]]
        .map(|[leaves, back]| [leaves, "between", back].map(str::to_owned).to_vec());
    assert_eq!((of_x.len(), all), (expected.len(), BTreeSet::from(expected)));
}

#[test]
fn the_cycles_of_chapter_5() {
    let model = load("harnesses/papers/mondal_ch5.race", &[]);
    let traces = traces_of(&model, 10_000);
    let of_service = |found: Vec<Finding>| -> BTreeSet<Vec<String>> {
        let certain = |f: &&Finding| f.declared == "LocalService" && f.counts() && f.blame == Blame::Certain;
        let service = found.iter().filter(certain);
        service.inspect(|f| assert_eq!(f.priority, 1)).flat_map(|f| paths_of(&model, f)).collect()
    };
    let path = |labels: &[&str]| labels.iter().map(|label| (*label).to_owned()).collect::<Vec<_>>();
    // Lines 12, 14, 48 and 10, 14, 48, and the one that leaves by the read of the receiver.
    let all = BTreeSet::from([
        path(&["bind_write", "receive_write", "connected_read"]),
        path(&["bind_read", "receive_write", "connected_read"]),
        path(&["bind_write", "receive_read", "receive_write", "connected_read"]),
    ]);
    let (mut between, mut last) = (0, 0);
    for trace in &traces {
        // The order of the callbacks in this run.
        let begun = |name: &str| {
            let task = trace.tasks.iter().find(|task| task.name.starts_with(name))?;
            task.begin
        };
        let (receive, connected) = (begun("onReceive"), begun("onServiceConnected"));
        let (Some(bind), Some(receive), Some(connected)) = (begun("onBind"), receive, connected) else { continue };
        // A pause between the two is a finding of its own.
        if begun("onPause").is_some_and(|pause| bind < pause && pause < connected) {
            continue;
        }
        let found = of_service(one(trace, Lifecycle, EdgeRules::Data).findings);
        if bind < receive && receive < connected {
            assert_eq!(found, all);
            between += 1;
        } else if connected < receive {
            assert_eq!(found, BTreeSet::new());
            last += 1;
        }
    }
    assert!(between > 0 && last > 0, "{between} {last}");
    let of_all = of_service(all_runs(&traces, Lifecycle, EdgeRules::Data).into_iter().map(|s| s.finding).collect());
    assert!(of_all.is_superset(&all), "{of_all:?}");
    // onBind does not post onServiceConnected, so that no tree of tasks contains both.
    assert!(short(&all_runs(&traces, Tree, EdgeRules::Data)).is_empty());
}

#[test]
fn units_are_transactions_in_the_place_of_their_instance() {
    let text = "
        use android { rounds = 0; rotations = 0 }
        var x = 0
        looper main
        activity Main on main {
            UNIT
            on create { @c: x = 1 }
            on resume { post message() to main }
            task message() { @m: let seen = x }
            on pause { @p: let seen = x }
        }
        thread other { @o: x = 2 }
        thread launcher { start Main }";
    let declared = |unit: &str| -> BTreeSet<(String, bool, u8)> {
        let text = text.replace("UNIT", unit);
        let model = Model::from_text("unit.race", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
        let mut found = all_runs(&many_traces_of(&model), Lifecycle, EdgeRules::Data);
        found.retain(|seen| seen.finding.blame == Blame::Certain && seen.finding.counts());
        short(&found)
    };
    assert_eq!(declared(""), expect(&[("Main", false, 2)]));
    assert_eq!(declared("unit loading: create, message"), expect(&[("Main.loading", false, 2)]));
    assert_eq!(declared("unit leaving: message, pause"), expect(&[("Main.leaving", false, 2)]));
}

/// Records a run twice: as a trace, and as the text of a trace.
struct Twice<'t>(TraceRecorder, TraceWriter<&'t mut Vec<u8>>);

impl Observer for Twice<'_> {
    fn event(&mut self, world: &World, event: &Event) {
        self.0.observe(world, event);
        self.1.event(world, event);
    }
}

#[test]
fn the_text_of_a_run_reads_back_with_blocks_instances_and_atomics() {
    let text = "
        atomic n = 0; var x = 0; looper main; rwlock rw
        thread a {
            transaction \"both\" { fetch_add(n, 1); write rw { x = 1 }; fetch_add(n, 1) }
            post seen() to main as \"Shop\"
            post seen() to main as \"Shop\"
        }
        thread b { n = 5; read rw { let y = x }; x = 1 }
        task seen() { x = 1 }";
    let model = Model::from_text("read.race", text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut seen = BTreeSet::new();
    for seed in 0..200 {
        let mut bytes = Vec::new();
        let header = Header::new("read.race", model.digest(), &[], "random", seed);
        let mut both = Twice(TraceRecorder::new(), TraceWriter::new(&mut bytes, &header));
        let mut strategy = raceflip::sched::RandomWalk::default();
        run(&mut model.machine(Limits::default()), &mut strategy, seed, &mut both, &AtomicBool::new(false));
        let Twice(recorder, writer) = both;
        writer.finish().expect("a vector takes all");
        let trace = recorder.finish();
        let read = traces::read("read.jsonl", &bytes[..]).unwrap_or_else(|e| panic!("{e}"));
        let mut converted = Vec::new();
        traces::write(&read, "read.jsonl", &mut converted).expect("a vector takes all");
        let again = traces::read("again.jsonl", &converted[..]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(read.unchanged.len(), trace.unchanged.len(), "{seed}");
        for (of, edges) in [(Blocks, EdgeRules::Data), (Blocks, EdgeRules::Paper), (Lifecycle, EdgeRules::Data)] {
            let counts = |trace: &Trace| {
                let found = one(trace, of, edges);
                (found.transactions, found.violated, found.joint, found.findings.len())
            };
            assert_eq!(counts(&trace), counts(&read), "{seed} {of:?} {edges:?}");
            assert_eq!(counts(&trace), counts(&again), "{seed} {of:?} {edges:?}");
            seen.insert((of, counts(&trace).1 > 0, trace.unchanged.is_empty()));
        }
    }
    // Some runs violate each, and some do not; some write a value that is there.
    let some = |of, violated| seen.iter().any(|(s, v, _)| (*s, *v) == (of, violated));
    assert!(some(Blocks, true) && some(Blocks, false) && some(Lifecycle, true) && some(Lifecycle, false), "{seen:?}");
    assert!(seen.iter().any(|(.., unchanged)| !unchanged), "{seen:?}");
}
