//! Enumerates every run of a small model, one after the other: an independent way to its outcomes, with which the other
//! ways are compared.
//!
//! The enumeration is a plain walk over all sequences of choices, without reduction; the clock advances to the critical
//! instants. It does not identify states, so its result is complete. With `merge`, it skips states with a canonical
//! digest that occurred before, and must then find the same ends.

use crate::harness_outcomes::{as_data, fact};
pub(crate) use crate::stateless::{choices, words};
use crate::support::{disappointed, models, program, read};
use crate::tiny;
use raceflip::campaign::{RunResult, named};
use raceflip::event::Actor;
use raceflip::lang::Program;
use raceflip::lang::program::GlobalId;
use raceflip::vm::{Vm, compile};
use raceflip::world::{Limits, Machine, World};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Result of an enumeration of all runs.
#[derive(Default)]
pub(crate) struct Enumerated {
    /// Ends of all runs.
    pub(crate) ends: BTreeSet<RunResult>,
    /// Number of steps over all runs.
    pub(crate) steps: u64,
}

/// Enumerates all runs, or with `merge` all states. Returns `None` if that takes more than `most` steps.
pub(crate) fn enumerate(program: &Program, of: &BTreeSet<GlobalId>, merge: bool, most: u64) -> Option<Enumerated> {
    let code = Arc::new(compile(program).unwrap_or_else(|e| panic!("{e}")));
    let mut machine = Machine::new(Vm::new(code), Limits::default());
    machine.start(false);
    let (mut found, mut met, mut open) = (Enumerated::default(), BTreeSet::new(), vec![machine]);
    while let Some(mut machine) = open.pop() {
        if merge && machine.world.outcome().is_none() && !met.insert(machine.canonical().digest()) {
            continue;
        }
        let choices = match choices(&mut machine, World::instants) {
            Ok(choices) => choices,
            Err(outcome) => {
                found.ends.insert(RunResult::new(program, of, &outcome, &machine.world));
                continue;
            }
        };
        found.steps += choices.len() as u64;
        if found.steps > most {
            return None;
        }
        for choice in choices {
            if choice.actor == Actor::Stop {
                found.ends.insert(RunResult::new(program, of, &machine.world.rest_outcome(), &machine.world));
                continue;
            }
            let mut next = machine.clone();
            next.step(choice);
            open.push(next);
        }
    }
    Some(found)
}

/// Compares the enumerations with and without merging on one text. Returns the steps of the one without merging, or
/// `None` if there are more than `most`.
fn same_both_ways(name: &str, text: &str, most: u64) -> Option<u64> {
    let program = program(name, text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let of = words(&program);
    let all = enumerate(&program, &of, false, most)?;
    let merged = enumerate(&program, &of, true, most).expect("there are no more states than steps");
    if all.ends != merged.ends {
        let missing: Vec<_> = all.ends.difference(&merged.ends).collect();
        let surplus: Vec<_> = merged.ends.difference(&all.ends).collect();
        panic!("{name}: states that differ are taken for one: {missing:?} are lost ({surplus:?} won)\n{text}");
    }
    Some(all.steps)
}

/// An enumeration that merges states with equal digests finds the same ends as one that does not merge.
#[test]
fn states_that_are_equal_have_equal_futures() {
    let (mut compared, mut steps) = (0, 0);
    let texts = tiny::pairs().chain((0..1_000).map(tiny::model));
    for (i, text) in texts.enumerate() {
        if let Some(taken) = same_both_ways(&format!("tiny {i}"), &text, 2_000) {
            (compared, steps) = (compared + 1, steps + taken);
        }
    }
    assert!(
        compared > 3_500 && steps > 300_000,
        "only {compared} models with {steps} steps: the test has lost its teeth"
    );
}

/// Enumerates a model with and without merging, and compares its expectations with the ends.
fn check_all_runs(name: &str, text: &str) {
    let program = program(name, text, &[]).unwrap_or_else(|e| panic!("{e}"));
    same_both_ways(name, text, 200_000).unwrap_or_else(|| panic!("{name} has too many runs"));
    let found = enumerate(&program, &named(&program), false, 200_000).expect("no more than a moment ago");
    let ends: BTreeMap<RunResult, u64> = found.ends.into_iter().map(|e| (e, 1)).collect();
    for expectation in &program.expectations {
        if let Some(problem) = disappointed(expectation, &ends) {
            panic!("{name}: {problem}");
        }
    }
}

/// Defines one test for each small model: its runs are enumerated with and without merging states, and end as its
/// `expect` line says.
macro_rules! all_runs {
    ($($name:ident: $text:literal)*) => {
        $(#[test]
        fn $name() {
            check_all_runs(stringify!($name), $text);
        })*
    };
}

all_runs! {
    elements_of_local_arrays_are_state: "
        var x = 0
        var i = 0
        thread a { let t: int[2]; t[0] = 3; t[1] = x; join b; i = t[1] }
        thread b { x = 7 }
        expect outcomes of i: ok 0, ok 7"
    elements_that_an_await_reads_are_state: "
        var x = 0
        var y = 0
        thread a { let t: int[2]; t[1] = x; join b; await y == t[1] }
        thread b { x = 7 }
        expect outcomes: ok, deadlock"
    what_a_catch_of_callbacks_reads_is_state: "
        var x = 0
        var y = 0
        listener l
        task cb() { join b; throw Oops }
        init { register cb to l }
        thread a { let before = x; try { perform l() } catch { y = before } }
        thread b { x = 7 }
        expect outcomes of y: ok 0, ok 7"
    front_is_before_an_instant_of_the_past: "
        var log: list[int]
        looper main
        task m(i) { log.push(i) }
        task go() {
            if * { post m(1) to main at front } else { post m(1) to main }
            post m(2) to main at 3
        }
        thread env { sleep 9; post go() to main }
        expect outcomes of log: ok [1, 2], ok [2, 1]"
    an_instant_inside_an_argument_counts: "
        var log: list[int]
        looper main
        task m(i) { log.push(i) }
        task nothing(b: bool) { skip }
        task go() {
            if * { post m(1) to main at front } else { post m(1) to main }
            nothing((post m(2) to main at 5))
        }
        thread env { sleep 9; post go() to main }
        expect outcomes of log: ok [1, 2], ok [2, 1]"
    messages_of_an_ended_thread_are_state: "
        looper main
        task m() { skip }
        thread a { attach queue; if * { post m() to self } }
        thread b { skip }
        expect outcomes: ok, stuck"
    messages_of_a_forgotten_thread_are_state: "
        task m() { skip }
        task f() { attach queue; if * { post m() to self } }
        thread a { fork f(); skip }
        expect outcomes: ok, stuck"
    a_condition_through_null_has_a_state: "
        class Box { var v = 0 }
        var o: Box = null
        thread a { try { await o.v == 1 } catch NullPointer { o = null } }
        thread b { skip }
        expect outcomes: ok"
    counts_of_semaphores_are_state: "
        semaphore s = 1
        thread a { if * { down s }; down s }
        expect outcomes: ok, deadlock"
    owners_of_locks_are_state: "
        lock m
        thread a { if * { acquire m } }
        thread b { join a; acquire m }
        expect outcomes: ok, deadlock"
    depths_of_locks_are_state: "
        lock m
        thread a { acquire m; if * { acquire m }; release m }
        thread b { join a; acquire m }
        expect outcomes: ok, deadlock"
    depths_that_waiters_gave_up_are_state: "
        lock m
        thread a { sync m { if * { acquire m }; wait m for 2 } }
        thread b { join a; acquire m }
        expect outcomes: ok, deadlock"
    async_is_state: "
        looper main
        task m() { skip }
        thread a { fence main; if * { post m() to main async } else { post m() to main }; skip }
        expect outcomes: ok, stuck"
    targets_of_messages_are_state: "
        var log: list[int]
        looper main
        handler h on main
        task m() { log.push(1) }
        thread a { fence main; if * { post m() to h } else { post m() to main }; cancel m on h }
        expect outcomes: ok, stuck"
    what_iterators_have_missed_is_state: "
        var l: list[int] = [1, 2]
        thread a { for v in l { if * { l.push(3); let last = l.pop() } } }
        expect outcomes: ok, failure ConcurrentModification"
    sync_gives_back_what_it_took: "
        let one = new Object
        let two = new Object
        thread a { let it = one; sync it { it = two } }
        thread b { sync one { skip } }
        expect outcomes: ok"
    rwlock_gives_back_what_it_took: "
        rwlock one
        rwlock two
        task f(it: rwlock) { write it { it = two } }
        thread a { f(one) }
        thread b { write one { skip } }
        expect outcomes: ok"
    a_dead_looper_takes_its_queue_with_it: "
        app \"dead\" { uncaught = thread }
        looper main
        task m() { skip }
        task go() { post m() to main; quit main safely; throw Oops }
        thread env { post go() to main }
        expect outcomes: ok"
    callbacks_have_a_depth: "
        listener l
        task cb() { perform l() }
        init { register cb to l }
        thread a { perform l() }
        expect outcomes: failure StackOverflow"
    tasks_of_one_looper_never_nest: "
        var log: list[int]
        looper main
        task m() { log.push(2) }
        task go() {
            post m() to self
            log.push(1)
            try { loop queue } catch IllegalState { log.push(9) }
        }
        thread env { post go() to main }
        expect outcomes of log: ok [1, 9, 2]"
    what_a_condition_throws_is_thrown: "
        class Box { var v = 0 }
        var o: Box = null
        var x = 0
        thread a { try { await o.v == 1 } catch NullPointer { x = 1 } }
        expect outcomes of x: ok 1"
    null_is_named_in_each_place: "
        class Box { var v = 0; var l: list[int]; var a: int[2]; atomic n = 0; var next: Box }
        var o: Box = null
        var x = 0
        thread a {
            let i = 1
            try { o.v = 1 } catch NullPointer { x += 1 }
            try { o.v += 1 } catch NullPointer { x += 1 }
            try { i = o.l.len } catch NullPointer { x += 1 }
            try { o.l.push(1) } catch NullPointer { x += 1 }
            try { o.l[0] = 1 } catch NullPointer { x += 1 }
            try { o.l[0] += 1 } catch NullPointer { x += 1 }
            try { for e in o.l { skip } } catch NullPointer { x += 1 }
            try { o.a[i] = 2 } catch NullPointer { x += 1 }
            try { if cas(o.n, 0, 1) { skip } } catch NullPointer { x += 1 }
            try { o.next.v = 2 } catch NullPointer { x += 1 }
            try { sync o { skip } } catch NullPointer { x += 1 }
            try { o = new Box; o.a[i + 5] = 2 } catch IndexOutOfBounds { x += 1 }
            try { let t: int[2]; t[i + 5] = 2 } catch IndexOutOfBounds { x += 1 }
            try { let t: int[2]; i = t[i - 9] } catch IndexOutOfBounds { x += 1 }
        }
        expect outcomes of x: ok 14"
    extremes_wrap: "
        var x = 0
        var big = 0x7fff_ffff_ffff_ffff
        var minus = -1
        looper main
        task m() { skip }
        thread a {
            let least = big + 1
            assert least % minus == 0
            assert least / minus == least
            assert 1 << (minus - 62) == 2
            assert (least >> 63) == -1
            assert 1 << 64 + (minus + 1) == 1
            post m() to main after least
            post m() to main at least
        }
        expect outcomes: ok"
    out_of_finally_and_sync: "
        var log: list[int]
        lock m
        task f(): int {
            for i in 0..3 {
                try {
                    sync m {
                        try { if i == 0 { continue }; if i == 1 { throw Oops }; return 5 } finally { log.push(i) }
                    }
                } catch Oops { log.push(7) } finally { sync m { log.push(8) } }
            }
            return 6
        }
        thread a { log.push(f()) }
        thread b { sync m { skip } }
        expect outcomes of log: ok [0, 8, 1, 7, 8, 2, 8, 5]"
    a_finally_that_returns_swallows: "
        var x = 0
        lock m
        task f(): int { loop { try { sync m { throw Oops } } finally { break } }; try { return 1 } finally { return 2 } }
        thread a { x = f() }
        thread b { sync m { skip } }
        expect outcomes of x: ok 2"
}

/// The outcomes of the queue facts in the data are exactly the ends of the enumeration.
#[test]
fn queue_facts_are_complete() {
    let (mut done, mut wrong) = (0, Vec::new());
    for path in models("harnesses/queue") {
        let program = program(&path, &read(&path), &[]).unwrap_or_else(|e| panic!("{e}"));
        let of = named(&program);
        let all = enumerate(&program, &of, false, 300_000);
        let merged = enumerate(&program, &of, true, 300_000).unwrap_or_else(|| panic!("{path} has too many states"));
        match all {
            Some(all) if all.ends != merged.ends => {
                wrong.push(format!("{path}: {:?}, not {:?}", merged.ends, all.ends))
            }
            Some(_) => done += 1,
            None => {}
        }
        let seen: BTreeSet<String> = merged.ends.iter().map(as_data).collect();
        let wanted = fact(&path);
        if seen != wanted {
            wrong.push(format!("{path}: the data has {wanted:?}, enumerated {seen:?}"));
        }
    }
    assert!(done >= 20, "only {done} facts could be enumerated without merging states");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Harnesses that can be enumerated end as their `expect` lines say, with the same ends with and without merging.
#[test]
fn harnesses_are_complete() {
    let (mut done, mut wrong) = (0, Vec::new());
    for folder in ["harnesses/papers", "harnesses/bugs", "harnesses/messages"] {
        for path in models(folder) {
            let program = program(&path, &read(&path), &[]).unwrap_or_else(|e| panic!("{e}"));
            let of = named(&program);
            let Some(merged) = enumerate(&program, &of, true, 30_000) else { continue };
            if let Some(all) = enumerate(&program, &of, false, 100_000) {
                done += 1;
                if all.ends != merged.ends {
                    wrong.push(format!("{path}: {:?}, not {:?}", merged.ends, all.ends));
                }
            }
            let ends: BTreeMap<RunResult, u64> = merged.ends.into_iter().map(|e| (e, 1)).collect();
            wrong.extend(
                program.expectations.iter().filter_map(|e| disappointed(e, &ends)).map(|w| format!("{path} {w}")),
            );
        }
    }
    assert!(done >= 5, "only {done} harnesses could be enumerated without merging states");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
