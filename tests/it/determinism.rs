//! Tests of determinism: one seed always gives the same bytes, and a token replays exactly its run.

use crate::load::{Model, all_models, load};
use crate::surw::named;
use raceflip::base::{Digester, mix};
use raceflip::event::{Actor, Choice, Event, EventKind, Op, Outcome, SiteId};
use raceflip::exec::{LoopEnd, NoObserver, Observer, RunSummary, run};
use raceflip::sched::{
    ChoiceLog, Directed, Divergence, Prefixed, RandomWalk, Replay, Rerun, ScheduleRecorder, Strategy, View,
};
use raceflip::token::Token;
use raceflip::vm::Vm;
use raceflip::world::{Limits, Machine, Question, World, signature};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Observer that digests every event of a run.
#[derive(Default)]
struct Digest(Digester);

impl Observer for Digest {
    fn event(&mut self, world: &World, event: &Event) {
        // Blocks that begin or end are no steps; older versions did not show them.
        if let EventKind::Transaction { .. } = event.what {
            return;
        }
        // These fields were added later than the golden file: whether an operation was refused (the exception is an
        // event as well), the options of a post, and the token of a removal.
        let mut text = format!("{event:?}");
        for later in [", refused: false", ", refused: true", ", options: PostOptions(0)", ", token: -1"] {
            text = text.replace(later, "");
        }
        self.0.text(&text);
        if let EventKind::Performed {
            op: Op::Fork { args, .. } | Op::Post { args, .. } | Op::Enable { args, .. },
            ..
        } = event.what
        {
            self.0.text(&format!("{:?}", world.args(args)));
        }
    }
}

const STRATEGIES: [&str; 8] =
    ["random", "round-robin", "pct:3,steps=30", "delay:2,steps=30", "directed", "pos", "surw", "pctcp:3,steps=30"];

fn limits() -> Limits {
    Limits { steps: 2_000, ..Limits::default() }
}

fn strategy(name: &str, model: &Model) -> Box<dyn Strategy> {
    let accesses: Vec<SiteId> =
        model.code.setup.sites.enumerate().filter(|(_, s)| s.kind.access().is_some()).map(|(id, _)| id).collect();
    match name {
        // Any pair will do, so take the first and the last access of the source.
        "directed" => {
            Box::new(Directed::new(accesses.first().into_iter().chain(accesses.last()).copied().collect(), 300))
        }
        name => Box::new(named(model, name, limits())),
    }
}

// Returns a summary as it was printed when the golden file was written. The operand of a failure was added later and
// depends only on parts that are compared anyway.
fn told(summary: &RunSummary) -> String {
    let mut summary = summary.clone();
    if let LoopEnd::Outcome(Outcome::Failure(failure)) = &mut summary.end {
        failure.operand = None;
    }
    format!("{summary:?}").replace(", operand: None", "")
}

fn perform(machine: &mut Machine<Vm>, strategy: &mut impl Strategy, seed: u64) -> (u128, RunSummary) {
    perform_observed(machine, strategy, &mut NoObserver, seed)
}

fn perform_observed(
    machine: &mut Machine<Vm>,
    strategy: &mut impl Strategy,
    observer: &mut impl Observer,
    seed: u64,
) -> (u128, RunSummary) {
    let mut digest = Digest::default();
    let summary = run(machine, strategy, seed, &mut (&mut digest, observer), &AtomicBool::new(false));
    digest.0.text(&told(&summary));
    (digest.0.finish(), summary)
}

fn relative(path: &Path) -> String {
    let path = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(path);
    path.display().to_string().replace('\\', "/")
}

/// The traces of every model under every strategy with some seeds have the digests of a golden file. This compares
/// debug with release builds, machines, and versions. `BLESS=1 cargo test digests_of_runs` rewrites the file.
#[test]
fn digests_of_runs_never_change() {
    let mut found = String::new();
    for path in all_models() {
        let model = load(&path, &[]);
        for name in STRATEGIES {
            let mut digest = Digester::new();
            // One machine performs all seeds, because a run must not depend on what an earlier run left behind.
            let mut machine = Machine::new(Vm::new(model.code.clone()), limits());
            for seed in 0..10 {
                let (first, _) = perform(&mut machine, &mut strategy(name, &model), seed);
                let mut fresh = Machine::new(Vm::new(model.code.clone()), limits());
                let (second, _) = perform(&mut fresh, &mut strategy(name, &model), seed);
                assert_eq!(first, second, "{} {name} {seed}", relative(&path));
                digest.word(first as u64).word((first >> 64) as u64);
            }
            writeln!(found, "{} {name} {:032x}", relative(&path), digest.finish()).expect("a string takes all");
        }
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/runs.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&file, &found).expect("a writable tree");
    }
    let golden = std::fs::read_to_string(&file).expect("the golden file");
    for (found, golden) in found.lines().zip(golden.lines()) {
        assert_eq!(
            found, golden,
            "a run is not what it was; if that is meant, BLESS=1 and raise SEMANTICS if tokens break"
        );
    }
    assert_eq!(found.lines().count(), golden.lines().count());
}

/// 10,000 runs with random models, strategies and seeds replay from the text of their tokens with identical traces.
#[test]
fn ten_thousand_runs_replay_from_their_tokens() {
    const RUNS: u64 = 10_000;
    let models: Vec<(String, Model)> = all_models().iter().map(|p| (relative(p), load(p, &[]))).collect();
    for i in 0..RUNS {
        let draw = mix(2026, i);
        let (name, model) = &models[(draw % models.len() as u64) as usize];
        let kind = STRATEGIES[((draw >> 32) % STRATEGIES.len() as u64) as usize];
        let mut machine = Machine::new(Vm::new(model.code.clone()), limits());
        let mut recorder = ScheduleRecorder::new();
        let (trace, summary) = perform_observed(&mut machine, &mut strategy(kind, model), &mut recorder, draw);
        let LoopEnd::Outcome(outcome) = &summary.end else { panic!("{name}: {:?}", summary.end) };
        let token = Token {
            program: model.code.digest() as u64,
            defines: vec![],
            limits: limits(),
            strategy: kind.to_owned(),
            seed: draw,
            signature: signature(&model.code.setup, outcome),
            schedule: recorder.schedule(&machine.world),
        };
        let read: Token = token.to_string().parse().unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(read, token, "{name}");
        let mut replay = Replay::new(Arc::new(read.schedule));
        let (again, replayed) = perform(&mut machine, &mut replay, 0);
        assert_eq!(replayed, summary, "{name} {kind} {draw}");
        assert_eq!(again, trace, "{name} {kind} {draw}");
        assert_eq!(replay.left_over(0), None, "{name} {kind} {draw}");
    }
}

/// A choice of the recording that the run does not ask for is a divergence; the replay does not skip it.
#[test]
fn an_argument_that_nothing_asks_for_is_a_divergence() {
    let model = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("harnesses/papers/racefuzzer_fig1.race"), &[]);
    let mut machine = Machine::new(Vm::new(model.code.clone()), limits());
    let mut recorder = ScheduleRecorder::new();
    perform_observed(&mut machine, &mut RandomWalk::new(), &mut recorder, 1);
    let mut schedule = recorder.schedule(&machine.world);
    schedule.choices[1].argument = 1;
    let step = schedule.choices[0].count;
    let (_, summary) = perform(&mut machine, &mut Replay::new(Arc::new(schedule)), 0);
    let LoopEnd::Diverged(divergence) = summary.end else { panic!("{:?}", summary.end) };
    assert_eq!((divergence.step, divergence.found.as_str()), (step, "there is nothing to choose"));
}

/// A strategy that does not skip forced steps, so it is asked at every step.
struct Told<S>(S);

impl<S: Strategy> Strategy for Told<S> {
    fn begin(&mut self, seed: u64) {
        self.0.begin(seed);
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        self.0.choose(view)
    }

    fn argument(&mut self, view: &View<'_>, actor: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        self.0.argument(view, actor, question)
    }

    fn observe(&mut self, view: &View<'_>, choice: Choice) {
        self.0.observe(view, choice);
    }
}

/// No run of a strategy changes if the strategy is asked at forced steps as well.
#[test]
fn strategies_that_pass_over_forced_steps_need_not_see_them() {
    let never = AtomicBool::new(false);
    let mut passing: BTreeSet<&str> = BTreeSet::new();
    for path in all_models() {
        let model = load(&path, &[]);
        let mut machine = Machine::new(Vm::new(model.code.clone()), limits());
        for name in STRATEGIES {
            let (mut free, mut told) = (strategy(name, &model), Told(strategy(name, &model)));
            if free.passes_over_forced() {
                passing.insert(name);
            }
            let (mut log, mut all) = (ChoiceLog::new(), ChoiceLog::new());
            for seed in 0..5 {
                let at_once = run(&mut machine, &mut free, seed, &mut log, &never);
                let state = machine.canonical();
                let one_by_one = run(&mut machine, &mut told, seed, &mut all, &never);
                assert_eq!(at_once, one_by_one, "{} {name} {seed}", relative(&path));
                assert_eq!(state, machine.canonical(), "{} {name} {seed}", relative(&path));
                assert_eq!(log.choices(), all.choices(), "{} {name} {seed}", relative(&path));
                let mut rerun = Rerun::new(Arc::new(log.choices().clone()));
                let again = run(&mut machine, &mut rerun, 0, &mut NoObserver, &never);
                assert_eq!(at_once, again, "{} {name} {seed}", relative(&path));
            }
        }
    }
    assert_eq!(passing, ["delay:2,steps=30", "random", "round-robin"].into());
}

/// A random walk is not asked at forced steps (exactly one open actor, a thread). This changes neither the run, its
/// final state, nor its schedule.
#[test]
fn forced_steps_are_steps() {
    let never = AtomicBool::new(false);
    let (mut steps, mut asked) = (0, 0);
    for path in all_models() {
        let model = load(&path, &[]);
        let machine = || Machine::new(Vm::new(model.code.clone()), limits());
        let (mut passing, mut stepping) = (machine(), machine());
        let (mut walk, mut log) = (RandomWalk::new(), ChoiceLog::new());
        assert!(walk.passes_over_forced());
        for seed in 0..20 {
            let at_once = run(&mut passing, &mut walk, seed, &mut log, &never);
            let mut told = Told(RandomWalk::new());
            let one_by_one = run(&mut stepping, &mut told, seed, &mut NoObserver, &never);
            assert_eq!(at_once, one_by_one, "{} {seed}", relative(&path));
            assert_eq!(passing.canonical(), stepping.canonical(), "{} {seed}", relative(&path));
            // A rerun of the raw choices gives the same run and the same schedule.
            let mut rerun = Rerun::new(Arc::new(log.choices().clone()));
            let mut again = ScheduleRecorder::new();
            let rerun = run(&mut stepping, &mut rerun, 0, &mut again, &never);
            assert_eq!(at_once, rerun, "{} {seed}", relative(&path));
            let mut recorder = ScheduleRecorder::new();
            run(&mut passing, &mut walk, seed, &mut recorder, &never);
            assert_eq!(
                again.schedule(&stepping.world),
                recorder.schedule(&passing.world),
                "{} {seed}",
                relative(&path)
            );
            steps += at_once.steps;
            asked += log.choices().len() as u64;
        }
    }
    assert!(asked < steps / 2, "{asked} of {steps}: most steps are forced");
}

/// Every strategy can take over in the middle of a run after it has observed only the choices so far.
#[test]
fn strategies_go_on_from_the_middle_of_a_run() {
    let never = AtomicBool::new(false);
    for path in all_models() {
        let model = load(&path, &[]);
        let mut machine = Machine::new(Vm::new(model.code.clone()), limits());
        for (seed, name) in (0..).zip(STRATEGIES) {
            let mut log = ChoiceLog::new();
            // The events of the run are observed, so no forced step is skipped.
            let steps = perform_observed(&mut machine, &mut RandomWalk::new(), &mut log, seed).1.steps;
            let choices = Arc::new(log.choices().clone());
            for from in [steps / 4, steps / 2, steps] {
                let mut prefixed = Prefixed::new(choices.clone(), from, Vec::new(), strategy(name, &model));
                let summary = run(&mut machine, &mut prefixed, seed, &mut NoObserver, &never);
                assert!(summary.outcome().is_some() && summary.steps >= from, "{} {name} from {from}", relative(&path));
            }
        }
    }
}
