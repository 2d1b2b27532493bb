//! Generates random small models with async tasks, each so small that all its runs can be enumerated, and compares the
//! exhaustive search with that enumeration.

use crate::agree::compare;
use crate::small::has_word;
use crate::stateless::{Facts, facts, words};
use raceflip::base::Rng;
use raceflip::exec::{NoObserver, RunResult, run};
use raceflip::sched::RandomWalk;
use raceflip::vm::Model;
use raceflip::world::Limits;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

const DECLARATIONS: [(&str, &str); 10] = [
    ("x", "var x = 0"),
    ("log", "var log: list[int]"),
    ("kept", "var kept: job = null"),
    ("n", "atomic n = 0"),
    ("s", "semaphore s = 1"),
    ("c", "channel c: int[$k]"),
    ("main", "looper main"),
    ("io", "looper io"),
    ("say", "task say(i) { log.push(i) }"),
    ("value", "async task value(): int { $w; return 3 }"),
];

/// Statements of an async task. `$d` stands for a delay, `$i` for a number, `$k` for the size of a channel, `$n` for a
/// new name, `$w` for another of the first of these statements.
const ASYNC: [&str; 42] = [
    "log.push($i)",
    "x = $i",
    "x += 1",
    "sleep $d",
    "yield",
    "await x == 1",
    "if !(await x == 2 for $d) { log.push(7) }",
    "down s",
    "up s",
    "down s; log.push($i); up s",
    "down s; try { yield } finally { up s }",
    "if (down s for $d) { log.push(8) }",
    "switch to io",
    "switch to main",
    "send c $i",
    "log.push(recv c)",
    "select { recv c as v { log.push(v) }; after $d { log.push(6) } }",
    "select { send c $i { log.push(5) }; recv c as v { log.push(v) } }",
    "try { $w } finally { log.push(9) }",
    "try { $w } catch { log.push(6) }",
    "try { $w } catch Cancelled { log.push(5) }",
    "let $n = launch leaf($i); $w; cancel $n",
    "let $n = launch leaf($i); join $n",
    "let $n = launch leaf($i) now; log.push($i)",
    "launch leaf($i)",
    "launch leaf($i) detached",
    "launch leaf($i) on io",
    "let $n = launch value(); join $n; x = $n.result",
    "let $n = value(); log.push($n)",
    "leaf($i)",
    "post say($i) to main",
    "throw Oops",
    "kept = launch leaf($i)",
    "if * { $w }",
    "select { send c $i { skip }; else { log.push(4) } }",
    "for $n in c { log.push($n) }",
    "close c",
    "scope { launch leaf($i); $w }",
    "try { scope { launch leaf($i); launch leaf($i) } } catch { log.push(4) }",
    "supervise { launch leaf($i); $w }",
    "try { $w } finally { uncancellable { $w } }",
    "uncancellable { launch leaf($i); $w }",
];

/// Statements of a plain thread or task.
const PLAIN: [&str; 20] = [
    "if * { launch first() on main } else { launch leaf($i) on main }",
    "launch first() on main",
    "let $n = launch first() on main; cancel $n",
    "let $n = launch first() on main; join $n",
    "let $n = launch first() on main; if $n.done { log.push(4) }",
    "let $n = spawn scope; launch first() on main in $n; cancel $n",
    "let $n = spawn scope; launch leaf(1) on main in $n; launch leaf(2) on main in $n",
    "launch leaf(1) on main; launch leaf(2) on main",
    "if kept != null { cancel kept }",
    "x = 1",
    "x = 2",
    "up s",
    "down s",
    "post say($i) to main",
    "post say($i) to main after $d",
    "quit main",
    "send c $i",
    "x = recv c",
    "close c",
    "select { recv c as v { x = v }; send c 7 { skip } }",
];

struct Generator {
    rng: Rng,
    names: u32,
}

impl Generator {
    fn pick(&mut self, from: &[&'static str]) -> String {
        let text = from[self.rng.below(from.len() as u32) as usize];
        self.fill(text)
    }

    fn fill(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        if text.contains("$n") {
            self.names += 1;
            text = text.replace("$n", &format!("z{}", self.names));
        }
        while text.contains("$d") {
            text = text.replacen("$d", &(1 + self.rng.below(2)).to_string(), 1);
        }
        while text.contains("$i") {
            text = text.replacen("$i", &(1 + self.rng.below(3)).to_string(), 1);
        }
        while text.contains("$k") {
            let size = ["0", "1", "conflated"][self.rng.below(3) as usize];
            text = text.replacen("$k", size, 1);
        }
        while text.contains("$w") {
            // Another launch in the place would be a large model.
            let inner = ASYNC[self.rng.below(18) as usize];
            let inner = self.fill(inner);
            text = text.replacen("$w", &inner, 1);
        }
        text
    }
}

/// Returns the random model of a seed.
pub(crate) fn model(seed: u64) -> String {
    let mut g = Generator { rng: Rng::seeded(seed), names: 0 };
    let micro = if g.rng.below(4) == 0 { " micro" } else { "" };
    let daemon = if micro.is_empty() && g.rng.below(8) == 0 { "daemon " } else { "" };
    let first: Vec<String> = (0..1 + g.rng.below(2)).map(|_| g.pick(&ASYNC)).collect();
    let leaf = g.fill("$w");
    let mut text = format!("{daemon}async task first(){micro} {{ {} }}\n", first.join("; "));
    text += &format!("async task leaf(i){micro} {{ log.push(i); {leaf} }}\n");
    let a: Vec<String> = (0..1 + g.rng.below(2)).map(|_| g.pick(&PLAIN)).collect();
    text += &format!("thread a {{ {} }}\n", a.join("; "));
    if g.rng.coin() {
        let b = g.pick(&PLAIN[8..]);
        text += &format!("thread b {{ {b} }}\n");
    }
    let uncaught = if g.rng.coin() { "app" } else { "thread" };
    let mut head = format!("app \"small\" {{ uncaught = {uncaught} }}\n");
    for (word, declaration) in DECLARATIONS.iter().rev() {
        if has_word(&text, word) || has_word(&head, word) {
            head += &format!("{}\n", g.fill(declaration));
        }
    }
    head + &text
}

fn compare_models(seeds: std::ops::Range<u64>, most_steps: u64) -> (u64, u64) {
    let (mut models, mut large, mut wrong) = (0, 0, BTreeMap::new());
    for seed in seeds {
        let text = model(seed);
        let model = Model::from_text(&format!("jobs {seed}"), &text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let Some(facts) = facts(&model, &words(&model.program), most_steps) else {
            large += 1;
            continue;
        };
        models += 1;
        if let Err(difference) = compare(&model, &facts).and_then(|_| walks_end_so(&model, &facts)) {
            wrong.insert(seed, format!("jobs {seed}: {difference}\n{text}"));
        }
    }
    let texts: Vec<&str> = wrong.values().take(3).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} of {models} models differ: {:?}\n{}", wrong.len(), wrong.keys(), texts.join("\n"));
    (models, large)
}

/// Walks a model at random, on a clock that passes several instants in one step: each run must end as one of all runs,
/// in which the clock moves by milliseconds.
fn walks_end_so(model: &Model, facts: &Facts) -> Result<(), String> {
    let observe = words(&model.program);
    for seed in 0..40 {
        let mut machine = model.machine(Limits::default());
        let summary = run(&mut machine, &mut RandomWalk::new(), seed, &mut NoObserver, &AtomicBool::new(false));
        let outcome = summary.outcome().ok_or("the run has no end")?;
        let ended = RunResult::new(&model.program, &observe, outcome, &machine.world);
        if !facts.ends.keys().any(|(end, _)| *end == ended) {
            return Err(format!("the walk of seed {seed} ends with {ended:?}"));
        }
    }
    Ok(())
}

/// The search has the same ends and pairs as the enumeration of all runs, for models with async tasks; and random walks
/// have no other ends.
#[test]
fn jobs_end_as_in_all_runs() {
    let (models, large) = compare_models(0..600, 4_000);
    assert!(models > 300, "{models} models, {large} too large");
}

/// Two queued starts differ if their tasks do.
#[test]
fn starts_of_two_tasks_are_two_states() {
    let texts = [
        "looper main\nasync task f() { fail \"boom\" }\nasync task g() { skip }\n\
         thread t { if * { launch f() on main } else { launch g() on main } }\n",
        "looper main\nasync task f() micro { launch g() on main }\nasync task g() micro { }\n\
         thread t { launch f() on main }\n",
        "var x = 0\nlooper main\nasync task f(): int { return 1 }\nasync task g(): int { return 2 }\nthread t {\n\
         let j: job[int] = null; if * { j = launch f() on main } else { j = launch g() on main }; join j; x = j.result }\n",
    ];
    for (text, ends) in texts.into_iter().zip([2, 1, 2]) {
        let model = Model::from_text("starts", text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let facts = facts(&model, &words(&model.program), 30_000).expect("a small model");
        assert_eq!(facts.ends.len(), ends, "{text}");
        compare(&model, &facts).unwrap_or_else(|e| panic!("{e}\n{text}"));
    }
}

/// A clock that passes two deadlines in one step: a wait that has timed out was over before the later message was due.
#[test]
fn a_job_goes_on_at_its_deadline() {
    let text = "var log: list[int]\nlooper main\nasync task early() { sleep 2; log.push(1) }\n\
                task late() { log.push(2) }\n\
                task go() { launch early() now; post late() to main after 3 }\nthread a { post go() to main }\n";
    let model = Model::from_text("deadlines", text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let facts = facts(&model, &words(&model.program), 30_000).expect("a small model");
    assert_eq!(facts.ends.len(), 1, "{:?}", facts.ends);
    compare(&model, &facts).and_then(|_| walks_end_so(&model, &facts)).unwrap_or_else(|e| panic!("{e}"));
}

/// As [`jobs_end_as_in_all_runs`], with more and larger models.
#[test]
#[ignore = "takes minutes"]
fn jobs_end_as_in_all_runs_of_many() {
    let (models, large) = compare_models(600..6_000, 30_000);
    println!("{models} models, {large} too large");
}
