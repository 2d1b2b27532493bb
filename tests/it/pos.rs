//! Compares POS with its algorithm, evaluated for all rankings that the drawn priorities can have: each partial order
//! must occur with its exact probability.

use crate::chance::{chi_squared, chi_squared_limit, least_hits};
use crate::load::load_bytes;
use crate::surw::named;
use raceflip::event::{AccessKind, AccessPlace, Event, EventKind, ThreadId};
use raceflip::exec::{Observer, run};
use raceflip::vm::Vm;
use raceflip::world::{Limits, Machine, World};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// An access of a thread: the cell, and whether it is a write.
type Access = (u32, bool);

// A partial order of a run: the conflicting pairs of accesses of different threads, each access by its thread and its
// index there, the earlier one first.
type Class = Vec<((usize, usize), (usize, usize))>;

fn conflict(a: Access, b: Access) -> bool {
    a.0 == b.0 && (a.1 || b.1)
}

fn class(run: &[(usize, Access)]) -> Class {
    let mut done = Vec::new();
    let mut pairs = Class::new();
    for (thread, access) in run {
        let number = done.iter().filter(|(t, _, _)| t == thread).count();
        for (other, at, earlier) in &done {
            if other != thread && conflict(*earlier, *access) {
                pairs.push(((*other, *at), (*thread, number)));
            }
        }
        done.push((*thread, number, *access));
    }
    pairs.sort_unstable();
    pairs
}

/// The algorithm of the POS paper, evaluated for each ranking that the drawn priorities can have.
struct Naive<'p> {
    program: &'p [Vec<Access>],
    found: BTreeMap<Class, f64>,
}

impl Naive<'_> {
    // `ranks` lists the numbers of all priorities drawn so far, the lowest priority first. `of` has the number of the
    // priority of each thread's pending operation.
    fn draw(&mut self, todo: &[usize], ranks: Vec<u32>, of: Vec<u32>, run: &[(usize, Access)], p: f64) {
        let Some((thread, todo)) = todo.split_first() else { return self.step(&ranks, &of, run, p) };
        let fresh = ranks.len() as u32;
        for rank in 0..=ranks.len() {
            let mut ranks = ranks.clone();
            ranks.insert(rank, fresh);
            let mut of = of.clone();
            of[*thread] = fresh;
            self.draw(todo, ranks.clone(), of, run, p / ranks.len() as f64);
        }
    }

    // Performs the operation with the highest priority. Then its thread, and each thread whose pending access conflicts
    // with it, draws a new priority.
    fn step(&mut self, ranks: &[u32], of: &[u32], run: &[(usize, Access)], p: f64) {
        let done = |thread: usize| run.iter().filter(|(t, _)| *t == thread).count();
        let next = |thread: usize| self.program[thread].get(done(thread)).copied();
        let rank = |thread: usize| ranks.iter().position(|r| *r == of[thread]);
        let highest = (0..of.len()).filter(|t| next(*t).is_some()).max_by_key(|t| rank(*t));
        let Some((thread, access)) = highest.and_then(|thread| Some((thread, next(thread)?))) else {
            *self.found.entry(class(run)).or_default() += p;
            return;
        };
        let drawn: Vec<usize> = (0..of.len())
            .filter(|t| match (*t == thread, next(*t)) {
                (true, _) => self.program[*t].len() > done(*t) + 1,
                (false, pending) => pending.is_some_and(|pending| conflict(pending, access)),
            })
            .collect();
        let run = [run, &[(thread, access)]].concat();
        self.draw(&drawn, ranks.to_vec(), of.to_vec(), &run, p);
    }
}

fn expected(program: &[Vec<Access>]) -> BTreeMap<Class, f64> {
    let mut naive = Naive { program, found: BTreeMap::new() };
    let threads: Vec<usize> = (0..program.len()).collect();
    naive.draw(&threads, Vec::new(), vec![0; program.len()], &[], 1.0);
    naive.found
}

fn text(program: &[Vec<Access>]) -> String {
    let mut text = String::new();
    for cell in 0..4 {
        text += &format!("var v{cell} = 0\n");
    }
    for (i, accesses) in program.iter().enumerate() {
        let statement = |(n, (cell, writes)): (usize, &Access)| match writes {
            true => format!("v{cell} = 1"),
            false => format!("let r{n} = v{cell}"),
        };
        let statements: Vec<String> = accesses.iter().enumerate().map(statement).collect();
        text += &format!("thread t{i} {{ {} }}\n", statements.join("; "));
    }
    text
}

#[derive(Default)]
struct Accesses(Vec<(usize, Access)>);

impl Observer for Accesses {
    fn event(&mut self, _: &World, event: &Event) {
        if let (EventKind::Performed { op, .. }, Some(ThreadId(thread))) = (&event.what, event.thread)
            && let Some(access) = op.access()
            && let AccessPlace::Cell(at) = access.place
        {
            self.0.push((thread as usize, (at.cell, access.kind == AccessKind::Write)));
        }
    }
}

fn observed(program: &[Vec<Access>], strategy: &str, seeds: u64) -> BTreeMap<Class, u64> {
    let model = load_bytes("pos.race", text(program).as_bytes(), &[]);
    let mut strategy = named(&model, strategy, Limits::default());
    let mut machine = Machine::new(Vm::new(model.code.clone()), Limits::default());
    let mut found = BTreeMap::new();
    for seed in 0..seeds {
        let mut accesses = Accesses::default();
        run(&mut machine, &mut strategy, seed, &mut accesses, &AtomicBool::new(false));
        assert_eq!(accesses.0.len(), program.iter().map(Vec::len).sum::<usize>());
        *found.entry(class(&accesses.0)).or_default() += 1;
    }
    found
}

const W: bool = true;
const R: bool = false;

/// The counts of the partial orders under POS fit the probabilities of the algorithm (chi-squared).
#[test]
fn partial_orders_come_as_often_as_the_algorithm_says() {
    let programs: [&[&[Access]]; 7] = [
        &[&[(0, W)], &[(0, W)]],
        &[&[(1, W), (2, W), (3, W), (0, W)], &[(0, W)]],
        &[&[(0, W), (1, W), (0, W)], &[(0, W), (2, W)]],
        &[&[(0, W), (1, R)], &[(1, W), (0, R)]],
        &[&[(0, R), (0, W)], &[(0, R), (0, W)]],
        &[&[(1, W), (0, W)], &[(0, R)], &[(0, W)]],
        &[&[(0, W)], &[(0, W)], &[(0, W)]],
    ];
    for program in programs {
        let program: Vec<Vec<Access>> = program.iter().map(|t| t.to_vec()).collect();
        let expected = expected(&program);
        assert!((expected.values().sum::<f64>() - 1.0).abs() < 1e-9);
        let found = observed(&program, "pos", 500 * expected.len() as u64);
        let known = found.keys().all(|class| expected.contains_key(class));
        assert!(known, "{program:?}: {found:?}");
        let counts: Vec<u64> = expected.keys().map(|class| found.get(class).copied().unwrap_or(0)).collect();
        let probabilities: Vec<f64> = expected.values().copied().collect();
        let (off, limit) = (chi_squared(&counts, &probabilities), chi_squared_limit(counts.len()));
        assert!(off < limit, "{program:?}: {off:.1}, at most {limit:.1}: {counts:?}, expected {probabilities:?}");
    }
}

/// If n steps come before a write that must be first, a random walk has to choose right at each step, but POS only
/// once.
#[test]
fn a_late_access_comes_first_once_in_n() {
    for n in [10, 30] {
        let mut late: Vec<Access> = vec![(1, W); n];
        late.push((0, W));
        let program = vec![late, vec![(0, W)]];
        let first = |strategy: &str| {
            let found = observed(&program, strategy, 4_000);
            found.iter().filter(|(class, _)| class[0].0.0 == 0).map(|(_, k)| *k).sum::<u64>()
        };
        // The write is first if the other thread's priority is the least of n + 2: its own, and the n + 1 priorities of
        // the late thread.
        let p = 1.0 / (n as f64 + 2.0);
        let found = first("pos");
        assert!(found >= least_hits(4_000, p), "{n}: {found}");
        assert!(4_000 - found >= least_hits(4_000, 1.0 - p), "{n}: {found}");
        let walk = first("random");
        // A random walk must choose the late thread n + 1 times in a row, which has a probability of 2^-(n + 1).
        assert!(walk < least_hits(4_000, p), "{n}: a random walk finds it {walk} times");
    }
}

/// POS decides each conflict anew, so two threads that write in turn produce all orders of their writes.
#[test]
fn no_conflict_decides_the_next() {
    let program = vec![vec![(0, W); 3], vec![(0, W); 3]];
    let found = observed(&program, "pos", 8_000);
    assert_eq!(found.len(), 20);
    // Each step is a fair coin until one thread has ended, so an order has a probability between 2^-5 and 2^-3.
    let least = least_hits(8_000, 1.0 / 32.0);
    assert!(found.values().all(|k| *k >= least), "{found:?}, at least {least}");
    assert!(observed(&program, "pct:2,steps=6", 8_000).len() < 20);
}
