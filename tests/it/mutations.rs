//! Tests of models with mistakes at the level of tokens: each mutant gives an error with a place, or a model that can
//! be run, detected and confirmed. No mutant panics or hangs.

use raceflip::base::Rng;
use raceflip::campaign::{CampaignContext, CampaignPlan, DetectionPlan, NoProgress, StatePlan, TrialPlan, confirm};
use raceflip::detect::Hybrid;
use raceflip::exec::{LoopEnd, run};
use raceflip::lang::{Source, render};
use raceflip::sched::{DelayBounded, Pct, RandomWalk, Replay, RoundRobin, ScheduleRecorder, Strategy};
use raceflip::vm::{Model, ModelError, Vm};
use raceflip::world::{Limits, Machine};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Time limit for a mutant, far more than it needs even in an unoptimized build on a busy machine.
const LONG: Duration = Duration::from_secs(20);

const FOLDERS: [&str; 4] = ["tests/models", "harnesses/bugs", "harnesses/papers", "harnesses/queue"];

/// Tokens that are likely to cause trouble, inserted besides those of the models.
const TROUBLE: [&str; 24] = [
    "0",
    "-1",
    "64",
    "1000001",
    "9223372036854775807",
    "null",
    "true",
    "*",
    "%",
    "<<",
    "[0]",
    ".len",
    "self",
    "new",
    "Object",
    "return",
    "finally",
    "loop",
    "yield",
    "sync",
    "await",
    "perform",
    "fork",
    "\n",
];

/// Splits a text into names, numbers and strings, and all other characters one by one.
fn tokens(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let mut token = String::from(c);
        let word = |c: char| c.is_alphanumeric() || c == '_';
        if c == '"' {
            while let Some(c) = chars.next_if(|c| *c != '\n') {
                token.push(c);
                if c == '"' {
                    break;
                }
            }
        } else if word(c) {
            while let Some(c) = chars.next_if(|c| word(*c)) {
                token.push(c);
            }
        }
        all.push(token);
    }
    all
}

/// Returns whether two tokens are of the same class, so that a model may remain a model if one replaces the other.
fn alike(a: &str, b: &str) -> bool {
    let class = |t: &str| t.chars().next().map(|c| (c.is_alphabetic(), c.is_numeric(), c == '"', c.is_whitespace()));
    class(a) == class(b)
}

fn mutate(model: &[String], pool: &[String], rng: &mut Rng) -> String {
    let mut tokens = model.to_vec();
    let below = |rng: &mut Rng, n: usize| rng.below(n as u32) as usize;
    let edits = if rng.below(3) > 0 { 1 } else { 3 };
    for _ in 0..edits {
        // A change of white space has little effect, so the next other token is changed.
        let start = below(rng, tokens.len());
        let Some(at) = (start..tokens.len()).find(|i| !tokens[*i].trim().is_empty()) else { continue };
        let line = || {
            let from = tokens[..at].iter().rposition(|t| t == "\n").map_or(0, |i| i + 1);
            let to = tokens[at..].iter().position(|t| t == "\n").map_or(tokens.len(), |i| at + i + 1);
            from..to
        };
        match rng.below(9) {
            0 => drop(tokens.remove(at)),
            1 => tokens.insert(at, tokens[at].clone()),
            2 => {
                let other = below(rng, tokens.len());
                tokens.swap(at, other);
            }
            3 => tokens[at] = pool[below(rng, pool.len())].clone(),
            4 => tokens.insert(at, format!(" {} ", pool[below(rng, pool.len())])),
            5 => drop(tokens.drain(line())),
            6 => {
                let copy = tokens[line()].to_vec();
                let to = if rng.coin() { at } else { below(rng, tokens.len()) };
                let to = tokens[..to].iter().rposition(|t| t == "\n").map_or(0, |i| i + 1);
                tokens.splice(to..to, copy);
            }
            _ => {
                let others: Vec<_> = tokens.iter().filter(|t| alike(t, &tokens[at])).cloned().collect();
                tokens[at] = others[below(rng, others.len())].clone();
            }
        }
        if tokens.is_empty() {
            break;
        }
    }
    tokens.concat()
}

fn limits() -> Limits {
    Limits { steps: 1_000, local: 20_000, cells: 2_000_000, ..Limits::default() }
}

/// Compiles, runs, detects and confirms a text as far as possible. Returns whether it is a model.
fn survive(text: &str, seed: u64) -> bool {
    let source = Source::new("mutant.race", text).expect("small");
    let model = match Model::from_source(source, &[]) {
        Ok(model) => model,
        Err(ModelError::Errors(source, errors)) => {
            assert!(!errors.diagnostics.is_empty() && !render(&source, &errors.diagnostics, true).is_empty());
            return false;
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return false;
        }
    };
    let mut machine = model.machine(limits());
    replays(&mut machine, RandomWalk::new(), seed);
    replays(&mut machine, RoundRobin::default(), seed);
    replays(&mut machine, Pct::new(3, 40), seed);
    replays(&mut machine, DelayBounded::new(2, 40), seed);
    if seed.is_multiple_of(4) {
        let plan = CampaignPlan {
            limits: limits(),
            seed,
            detection: DetectionPlan { runs: 3, ..DetectionPlan::default() },
            trials: TrialPlan { count: 2, ..TrialPlan::default() },
            search: StatePlan { states: 500, ..StatePlan::default() },
            ..CampaignPlan::new(&model)
        };
        let found = confirm(&plan, CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress });
        assert!(found.complete());
    }
    true
}

/// Performs a run under a detector, and checks that its replay ends in the same way.
fn replays(machine: &mut Machine<Vm>, mut strategy: impl Strategy, seed: u64) {
    let never = AtomicBool::new(false);
    let (mut recorder, mut hybrid) = (ScheduleRecorder::new(), Hybrid::new());
    let drawn = run(machine, &mut strategy, seed, &mut (&mut recorder, &mut hybrid), &never);
    assert!(matches!(drawn.end, LoopEnd::Outcome(_)), "{drawn:?}");
    let mut replay = Replay::new(Arc::new(recorder.schedule(&machine.world)));
    let again = run(machine, &mut replay, 0, &mut Hybrid::new(), &never);
    assert_eq!((drawn, None), (again.clone(), replay.left_over(again.steps)));
}

/// Tests the mutants with these numbers; returns how many of them are models.
fn mutants(numbers: std::ops::Range<u64>) -> usize {
    let texts: Vec<Vec<String>> = FOLDERS
        .iter()
        .flat_map(|f| super::support::models(f))
        .map(|path| tokens(&super::support::read(&path)))
        .collect();
    let mut pool: Vec<String> = texts.concat().into_iter().filter(|t| !t.trim().is_empty()).collect();
    pool.sort();
    pool.dedup();
    pool.extend((0..20).flat_map(|_| TROUBLE).map(str::to_owned));
    let mut models = 0;
    for number in numbers {
        let mut rng = Rng::seeded(number);
        let text = mutate(&texts[rng.below(texts.len() as u32) as usize], &pool, &mut rng);
        let begun = Instant::now();
        match catch_unwind(AssertUnwindSafe(|| survive(&text, number))) {
            Ok(model) => models += usize::from(model),
            Err(_) => panic!("mutant {number}:\n{text}"),
        }
        assert!(begun.elapsed() < LONG, "mutant {number} took {:?}:\n{text}", begun.elapsed());
    }
    models
}

#[test]
fn mutants_are_errors_or_models_that_run() {
    let models = mutants(0..2_000);
    assert!(models > 200, "only {models} of them are models");
}

#[test]
#[ignore = "minutes"]
fn many_more_mutants() {
    mutants(2_000..100_000);
}
