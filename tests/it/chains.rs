//! Tests of PCTCP: its chains match those of a naive implementation of its causality, and it finds bugs as often as its
//! bound promises.

use crate::chance::least_hits;
use crate::load::{Model, load, load_bytes};
use raceflip::base::Rng;
use raceflip::event::{ContextId, Event, EventKind, Op, Outcome, PostTime, ThreadId};
use raceflip::exec::{NoObserver, Observer, run};
use raceflip::sched::{DelayBounded, Pct, Pctcp, RandomWalk, RoundRobin, Strategy};
use raceflip::vm::Vm;
use raceflip::world::{CreationKind, Limits, Machine, World};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// A creator of contexts: a context (by its index in [`Recorded::all`]), or an event of the environment by number. Its
/// steps that create or join a context are numbered from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Maker {
    Context(usize),
    Event(u32),
}

#[derive(Clone, Debug)]
struct Made1 {
    context: ContextId,
    by: Option<(Maker, u32)>,
    // The looper of a task, and whether the task is posted without a delay.
    queue: Option<(ThreadId, bool)>,
    joined: Option<(Maker, u32)>,
}

/// Observer that collects the contexts of a run in the order of their creation, without the loopers' own contexts.
#[derive(Default)]
struct Recorded {
    all: Vec<Made1>,
    steps: Vec<(Maker, u32)>,
}

impl Recorded {
    fn position(&self, context: ContextId) -> usize {
        self.all.iter().position(|m| m.context == context).expect("it was made")
    }

    fn step(&mut self, maker: Maker) -> (Maker, u32) {
        let number = 1 + self.steps.iter().filter(|(m, _)| *m == maker).count() as u32;
        self.steps.push((maker, number));
        (maker, number)
    }

    fn make(&mut self, context: ContextId, maker: Option<Maker>, queue: Option<(ThreadId, bool)>) {
        let by = maker.map(|maker| self.step(maker));
        self.all.push(Made1 { context, by, queue, joined: None });
    }
}

impl Observer for Recorded {
    fn event(&mut self, world: &World, event: &Event) {
        if self.all.is_empty() {
            for context in (0..world.contexts().len() as u32).map(ContextId) {
                match world.contexts().made(context) {
                    CreationKind::Declared(thread) if !world.setup().threads[thread].looper => {
                        self.make(context, None, None)
                    }
                    _ => {}
                }
            }
        }
        let maker = |this: &Self| event.context.map(|c| Maker::Context(this.position(c)));
        match &event.what {
            EventKind::Performed { op: Op::Post { target, time, .. }, made: Some(made), .. } => {
                self.make(*made, maker(self), Some((world.thread_of(*target), *time == PostTime::Now)));
            }
            EventKind::Performed { op: Op::Fork { .. }, made: Some(made), .. } => self.make(*made, maker(self), None),
            EventKind::Performed { op: Op::Join(thread), .. } => {
                let step = self.step(maker(self).expect("a thread joins"));
                let joined = self.position(world.thread(*thread).home);
                self.all[joined].joined.get_or_insert(step);
            }
            EventKind::Fire(e, made) => {
                self.make(*made, Some(Maker::Event(e.0)), Some((world.setup().events[*e].looper, true)));
            }
            _ => {}
        }
    }
}

/// Computes the causality by the rules of `sched::chains`, repeated until nothing changes.
fn causality(all: &[Made1]) -> Vec<Vec<bool>> {
    let n = all.len();
    let maker = |b: usize| match all[b].by {
        Some((Maker::Context(maker), _)) => Some(maker),
        _ => None,
    };
    let mut before = vec![vec![false; n]; n];
    loop {
        // Returns whether a step has to come before b is created.
        let made_after = |b: usize, (whose, number): (Maker, u32), before: &[Vec<bool>]| {
            let line = std::iter::successors(Some(b), |b| maker(*b));
            line.into_iter().any(|c| match all[c].by {
                Some((m, k)) if m == whose => number < k,
                Some((Maker::Context(m), _)) => matches!(whose, Maker::Context(w) if before[w][m]),
                _ => false,
            })
        };
        let mut next = before.clone();
        for (a, b) in (0..n).flat_map(|b| (0..b).map(move |a| (a, b))) {
            let (x, y) = (&all[a], &all[b]);
            let direct = match (x.joined, x.queue, y.queue) {
                (Some(joined), ..) => made_after(b, joined, &before),
                (_, Some((p, _)), Some((q, now))) if p == q => {
                    // Posts without a delay keep their order, and a post with a delay cannot overtake one without.
                    let fifo = x.queue.is_some_and(|(_, now)| now) || !now;
                    made_after(b, (Maker::Context(a), 0), &before)
                        || fifo && x.by.is_some_and(|by| made_after(b, by, &before))
                }
                _ => false,
            };
            let inherited = maker(b).is_some_and(|m| m != a && before[a][m]);
            next[a][b] |= direct || inherited;
        }
        if next == before {
            return before;
        }
        before = next;
    }
}

/// Computes chains with the sets of Agarwal and Garg's algorithm, implemented directly as sets.
fn chains(before: &[Vec<bool>]) -> Vec<Vec<usize>> {
    let mut sets: Vec<Vec<Vec<usize>>> = Vec::new();
    let follows = |last: usize, element: usize| before[last][element];
    for element in 0..before.len() {
        let fits = |chain: &Vec<usize>| chain.last().is_some_and(|last| follows(*last, element));
        let found = (0..sets.len()).find_map(|i| Some((i, sets[i].iter().position(fits)?)));
        if let Some((i, at)) = found {
            sets[i][at].push(element);
            let chain = sets[i].swap_remove(at);
            if i > 0 {
                let others = std::mem::take(&mut sets[i]);
                sets[i] = std::mem::replace(&mut sets[i - 1], others);
            }
            sets[i].push(chain);
            continue;
        }
        if !sets.iter().flatten().any(Vec::is_empty) {
            sets.push(vec![Vec::new(); sets.len() + 1]);
        }
        let place = sets.iter_mut().flatten().find(|chain| chain.is_empty()).expect("one was made");
        place.push(element);
    }
    sets.into_iter().flatten().filter(|chain| !chain.is_empty()).collect()
}

/// Returns the number of chains of a run under PCTCP as it counts them, the number by the naive computation, and the
/// number of contexts.
fn counted(model: &Model, seed: u64) -> (usize, usize, usize) {
    let mut machine = Machine::new(Vm::new(model.code.clone()), Limits::default());
    let (mut pctcp, mut recorded) = (Pctcp::new(2, 10_000), Recorded::default());
    run(&mut machine, &mut pctcp, seed, &mut recorded, &AtomicBool::new(false));
    // `Pctcp::chains` does not count contexts that the last step creates, but a run ends only after its contexts have
    // run.
    (pctcp.chains(), chains(&causality(&recorded.all)).len(), recorded.all.len())
}

#[test]
fn chains_of_models_of_posts() {
    let check = |text: &str, expected: usize| {
        let text = format!("looper ui; looper io; {text}; thread last {{ skip }}");
        let model = load_bytes("posts.race", text.as_bytes(), &[]);
        let mut most = 0;
        for seed in 0..20 {
            let (found, naive, contexts) = counted(&model, seed);
            assert_eq!(found, naive, "{text}, seed {seed}, {contexts} contexts");
            most = most.max(found);
        }
        // An event does not have to fire, so some runs have fewer chains.
        assert_eq!(most, expected + 1, "{text}");
    };
    // The posts of one thread are FIFO and form one chain.
    check("thread p { for i in 0..5 { post t() to ui } }; task t() { skip }", 2);
    // Posts of two threads are unordered, so they form two chains.
    check("thread p { for i in 0..5 { post t() to ui } }; thread q { post t() to ui }; task t() { skip }", 4);
    // A post with a delay may be overtaken by a later one.
    check("thread p { post t() to ui after 9; post t() to ui }; task t() { skip }", 3);
    // Each task posts the next one to the same looper.
    check("thread p { post t(4) to ui }; task t(n: int) { if n > 0 { post t(n - 1) to ui } }", 2);
    // Tasks alternate between two loopers. A task that posts continues beside the task that it posts.
    check(
        "thread p { post t() to ui }; task t() { post u() to io; post t2() to ui }; task t2() { post u() to io }; task u() { skip }",
        3,
    );
    // Threads run one after the other.
    check("thread p { for i in 0..6 { let w = fork work(); join w } }; task work() { skip }", 2);
    // Threads run in parallel.
    check("thread p { for i in 0..3 { fork work() } }; task work() { skip }", 4);
    check("event tap on ui initially 3 { skip }", 1);
}

/// On random trees of posts between two loopers, PCTCP has as many chains as the naive causality gives.
#[test]
fn chains_are_those_of_the_naive_causality() {
    let mut rng = Rng::seeded(3);
    let mut merged = 0;
    for i in 0..60 {
        let mut text = String::from("looper ui; looper io;\n");
        let tasks = 3 + rng.below(4);
        let mut body = |own: u32, text: &mut String| {
            for _ in 0..1 + rng.below(3) {
                let other = own + 1 + rng.below(3);
                if other < tasks {
                    let to = if rng.coin() { "ui" } else { "io" };
                    let after = if rng.below(5) == 0 { " after 5" } else { "" };
                    let statement = format!("post t{other}() to {to}{after}; ");
                    *text += if rng.below(6) == 0 { "let w = fork f(); join w; " } else { &statement };
                }
            }
        };
        for own in 0..tasks {
            text += &format!("task t{own}() {{ skip; ");
            body(own, &mut text);
            // The name of a local variable may occur only once per body; `once` renames the variables.
            text += "}\n";
        }
        text += "task f() { skip }\nthread p { post t0() to ui; post t1() to io }\nthread q { post t2() to ui }\n";
        let text = once(&text);
        let model = load_bytes("tree.race", text.as_bytes(), &[]);
        for seed in 0..5 {
            let (found, naive, contexts) = counted(&model, seed);
            assert_eq!(found, naive, "model {i}, seed {seed}, {contexts} contexts: {text}");
            merged += contexts - found;
        }
    }
    assert!(merged > 500, "{merged}: most contexts open no chain");
}

// Gives each local variable a unique name.
fn once(text: &str) -> String {
    let mut parts = text.split("let w = fork f(); join w; ");
    let mut all = parts.next().unwrap_or_default().to_owned();
    for (i, part) in parts.enumerate() {
        all += &format!("let w{i} = fork f(); join w{i}; {part}");
    }
    all
}

const SEEDS: u64 = 4_000;

/// Returns the number of seeds that find the bug, and the length of the longest run in steps.
fn hits(model: &Model, strategy: &mut impl Strategy, seeds: u64) -> (u64, u64) {
    let mut machine = Machine::new(Vm::new(model.code.clone()), Limits::default());
    let (mut hits, mut longest) = (0, 0);
    for seed in 0..seeds {
        let summary = run(&mut machine, strategy, seed, &mut NoObserver, &AtomicBool::new(false));
        hits += u64::from(matches!(summary.outcome(), Some(Outcome::Failure(_) | Outcome::Deadlock(_))));
        longest = longest.max(summary.steps);
    }
    (hits, longest)
}

fn longest(model: &Model) -> u32 {
    let one_by_one = hits(model, &mut DelayBounded::new(0, u32::MAX), 1).1;
    let in_turn = hits(model, &mut RoundRobin::default(), 1).1;
    hits(model, &mut RandomWalk::new(), 1_000).1.max(one_by_one).max(in_turn) as u32
}

// Checks the bound of PCTCP for a bug of depth `d`. The width `w` counts the chains, and the clock, each event and the
// end of the run where the model has them.
fn keeps_its_bound(name: &str, model: &Model, w: u32, d: u32) {
    let n = longest(model);
    let bound = 1.0 / (f64::from(w * w) * f64::from(n).powi(d as i32 - 1));
    let (found, most) = hits(model, &mut Pctcp::new(d, n), SEEDS);
    let least = least_hits(SEEDS, bound);
    assert!(most <= u64::from(n), "{name}: a run of {most} steps, the bound is for {n}");
    assert!(found >= least && found > 0, "{name}: {found} of {SEEDS}, w = {w}, n = {n}, d = {d}: at least {least}");
}

/// PCTCP finds a bug of depth d at least with the probability 1 / (w^2 n^(d - 1)) of its theorem (Ozkan et al., 2018).
#[test]
fn bugs_of_depth_d_are_found_as_often_as_promised() {
    for (name, w, d) in [
        ("pct_ordering", 2, 1),
        ("pct_atomicity", 3, 2),
        ("pct_deadlock", 3, 2),
        ("pct_depth3", 3, 3),
        ("pct_depth3_turned", 3, 3),
        // The width counts the worker, two tasks, the clock, the event, and the end of the run.
        ("pct_actors", 6, 1),
    ] {
        let model = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/models/{name}.race")), &[]);
        keeps_its_bound(name, &model, w, d);
    }
}

/// Twenty threads that run one after the other are one chain of three. PCT counts each of them.
#[test]
fn many_threads_in_a_row_count_once() {
    let text = "var x = 0
        thread main { fork late(); for i in 0..20 { let w = fork work(); join w }; x = 1 }
        task work() { skip; skip }
        task late() { assert x == 0, \"late\" }";
    let model = load_bytes("row.race", text.as_bytes(), &[]);
    keeps_its_bound("row", &model, 3, 1);
    // The late thread must be below all others: one of 3 chains for PCTCP, one of 22 threads for PCT.
    let of_chains = hits(&model, &mut Pctcp::new(1, longest(&model)), SEEDS).0;
    let of_threads = hits(&model, &mut Pct::new(1, longest(&model)), SEEDS).0;
    assert!(of_chains >= least_hits(SEEDS, 1.0 / 3.0), "{of_chains}");
    assert!(of_threads < least_hits(SEEDS, 1.0 / 3.0) / 4, "{of_threads}");
}
