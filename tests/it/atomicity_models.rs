//! Which cycles the models of `harnesses/atomicity` and of Mondal's report show, over all their runs.

use crate::support::read;
use raceflip::detect::TraceRecorder;
use raceflip::detect::atomicity::{
    Atomicity, AtomicityOptions, Blame, EdgeRules, Finding, OfRuns, SeenFinding, Specification, analyze,
};
use raceflip::event::{Actor, Event};
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
struct Systematic {
    prefix: Vec<usize>,
    // The option that was taken at each choice, and the number of options.
    taken: Vec<(usize, usize)>,
}

impl Systematic {
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
        let options = match question {
            Question::Waiter(n) | Question::Instance(n) | Question::Case(n) => n,
            Question::Branch => 2,
            Question::Instant => panic!("these models have no clock"),
        };
        Ok(self.option(options as usize) as u64)
    }
}

struct Recorder(TraceRecorder);

impl Observer for Recorder {
    fn event(&mut self, world: &World, event: &Event) {
        self.0.observe(world, event);
    }
}

/// Returns the traces of all runs of a model, of which there are at most so many.
fn traces_of(model: &Model, most: usize) -> Vec<Trace> {
    let (stop, mut strategy) = (AtomicBool::new(false), Systematic::default());
    let mut machine = model.machine(Limits::default());
    let mut traces = Vec::new();
    loop {
        let mut recorder = Recorder(TraceRecorder::new());
        run(&mut machine, &mut strategy, 0, &mut recorder, &stop);
        traces.push(recorder.0.finish());
        assert!(traces.len() <= most, "more than {most} runs");
        if !strategy.advance() {
            return traces;
        }
    }
}

fn load(path: &str, defines: &[(&str, i64)]) -> Model {
    let defines: Vec<(String, i64)> = defines.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    Model::from_text(path, &read(path), &defines).unwrap_or_else(|e| panic!("{e}"))
}

fn one(trace: &Trace, of: Specification, edges: EdgeRules) -> Atomicity {
    let options = AtomicityOptions { edges, ..AtomicityOptions::default() };
    analyze(trace, of, options, &AtomicBool::new(false)).expect("nothing stops it")
}

/// Returns what a specification shows over all runs.
fn all_runs(traces: &[Trace], of: Specification, edges: EdgeRules) -> Vec<SeenFinding> {
    let mut all = OfRuns::new(of);
    traces.iter().enumerate().for_each(|(i, trace)| all.add(i, one(trace, of, edges)));
    all.finish()
}

/// Returns the labels of the operations of each cycle: where an operation has none, what it does.
fn labels(model: &Model, finding: &Finding) -> BTreeSet<Vec<String>> {
    let label = |moment: &raceflip::detect::atomicity::Moment| {
        let of = moment.site.as_ref().and_then(|site| {
            let at = |s: &&raceflip::event::Site| site.starts_with(&format!("{}:{} ", s.line, s.column));
            model.code.setup.sites.iter().find(at)?.label.clone()
        });
        of.unwrap_or_else(|| moment.what.to_owned())
    };
    let cycle = |cycle: &raceflip::detect::atomicity::Cycle| {
        let mut all: Vec<String> = cycle.edges.iter().flat_map(|edge| [label(&edge.from), label(&edge.to)]).collect();
        all.dedup();
        all
    };
    finding.cycles.iter().map(cycle).collect()
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
        ("mate", BROKEN, Lifecycle, &[("P", false, 2)]),
        ("must", BROKEN, Lifecycle, &[("Shop", false, 4)]),
        ("parent", BROKEN, Lifecycle, &[("Shop", false, 3)]),
        ("seal1", BROKEN, Lifecycle, &[]),
        ("seal3", BROKEN, Lifecycle, &[("MainActivity", false, 1), ("MainActivity", false, 2)]),
        ("seal3", BROKEN, Tree, &[("onResume", false, 1), ("onResume", false, 2)]),
        ("seal4", BROKEN, Lifecycle, &[("Counter", false, 1)]),
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
        let found = all_runs(&traces_of(&model, 200_000), of, EdgeRules::Data);
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
    let of_x: Vec<&Finding> = found
        .findings
        .iter()
        .filter(|f| f.cycles.iter().all(|c| c.edges.iter().all(|e| e.field.as_deref() == Some("x"))))
        .collect();
    let cycles = of_x.iter().map(|finding| labels(&model, finding)).collect::<Vec<_>>();
    let ends: BTreeSet<Vec<String>> =
        [vec!["set".to_owned(), "between".to_owned(), "look".to_owned()]].into_iter().collect();
    assert!(cycles.iter().any(|cycles| cycles.is_superset(&ends)), "{cycles:?}");
    assert!(cycles.iter().all(|cycles| cycles.len() <= 4), "{cycles:?}");
}

#[test]
fn the_two_cycles_of_figure_1_1() {
    let model = load("harnesses/papers/mondal_fig1_1.race", &[]);
    let found = all_runs(&traces_of(&model, 100_000), Lifecycle, EdgeRules::Data);
    assert_eq!(short(&found), expect(&[("A", false, 1), ("A", false, 2)]), "{found:#?}");
    let cycles: Vec<BTreeSet<Vec<String>>> = found.iter().map(|seen| labels(&model, &seen.finding)).collect();
    let path = |labels: &[&str]| labels.iter().map(|label| (*label).to_owned()).collect::<Vec<_>>();
    let expected = [path(&["i3", "i10", "i11", "i15"]), path(&["i3", "i7", "i14"])];
    assert_eq!(cycles, expected.map(|path| BTreeSet::from([path])));
}

#[test]
fn the_cycles_of_chapter_5() {
    let model = load("harnesses/papers/mondal_ch5.race", &[]);
    let traces = traces_of(&model, 10_000);
    let of_service = |found: Vec<Finding>| -> BTreeSet<Vec<String>> {
        let service = found.iter().filter(|f| f.declared == "LocalService" && f.counts());
        service
            .inspect(|f| assert_eq!((f.priority, &f.blame), (1, &Blame::Certain)))
            .flat_map(|f| labels(&model, f))
            .collect()
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
    assert_eq!(of_service(all_runs(&traces, Lifecycle, EdgeRules::Data).into_iter().map(|s| s.finding).collect()), all);
    // onBind does not post onServiceConnected, so that no tree of tasks contains both.
    assert!(short(&all_runs(&traces, Tree, EdgeRules::Data)).is_empty());
}

#[test]
fn a_component_is_one_life_cycle() {
    let model = load("harnesses/components/fig3_1.race", &[]);
    let found = all_runs(&traces_of(&model, 100_000), Lifecycle, EdgeRules::Data);
    let cycles: BTreeSet<Vec<String>> = found.iter().flat_map(|seen| labels(&model, &seen.finding)).collect();
    let path: Vec<String> = ["c", "o", "m"].map(str::to_owned).into();
    assert!(found.iter().all(|seen| seen.finding.declared == "Main") && cycles.contains(&path), "{found:#?}");

    let model = load("harnesses/components/mondal_ch5_components.race", &[]);
    let plan = raceflip::campaign::CampaignPlan { seed: 1, jobs: 2, ..raceflip::campaign::CampaignPlan::new(&model) };
    let stop = AtomicBool::new(false);
    let context = raceflip::campaign::CampaignContext { stop: &stop, progress: &raceflip::campaign::NoProgress };
    let found = raceflip::campaign::detect_violations(&plan, &[Lifecycle], AtomicityOptions::default(), context);
    let service = found.specifications[0].findings.iter().find(|(seen, _)| seen.finding.declared == "LocalService");
    let (seen, _) = service.expect("onBind, onReceive, onServiceConnected is an order of some run");
    let path: Vec<String> = ["bind", "receive", "connected"].map(str::to_owned).into();
    assert!(labels(&model, &seen.finding).contains(&path) && seen.finding.priority == 1, "{seen:#?}");
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
        assert_eq!(read.unchanged, trace.unchanged, "{seed}");
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
