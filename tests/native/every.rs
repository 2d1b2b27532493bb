//! Every run of a program, and whether runs can be repeated.

use crate::programs::{counter, crossed_locks, locked_counter};
use raceflip::campaign::Verdict;
use raceflip::native::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use raceflip::native::sync::{Arc, Condvar, Mutex, mpsc};
use raceflip::native::time::Duration;
use raceflip::native::{CheckFailure, CheckReport, Checker, Shared, thread};
use std::collections::{BTreeSet, HashSet};

const SEQ: Ordering = Ordering::SeqCst;

fn every(f: impl Fn() + Send + Sync + 'static) -> Result<CheckReport, Box<CheckFailure>> {
    Checker::new().name("test").runs(100_000).every_run().try_check(f)
}

/// Returns the results of all runs of a program, and their number.
fn results<R: Ord + Send + 'static>(f: impl Fn() -> R + Send + Sync + 'static) -> (BTreeSet<R>, u64) {
    let all = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let seen = all.clone();
    let report = every(move || _ = seen.lock().unwrap().insert(f())).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(report.complete, "{report}");
    let all = std::mem::take(&mut *all.lock().unwrap());
    (all, report.runs)
}

#[test]
fn what_never_fails_is_proved_and_what_fails_is_found() {
    let report = every(locked_counter).unwrap();
    assert!(report.complete && report.to_string().contains("these are all runs"), "{report}");
    assert!(every(counter).unwrap_err().what.contains("an increment was lost"));
    assert!(every(crossed_locks).unwrap_err().what.contains("deadlock"));
}

#[test]
fn independent_steps_are_not_swapped() {
    // Two threads with `k` steps each on variables of their own: one order of them is enough.
    let runs = |k: usize| {
        let own = move || {
            let x = AtomicI64::new(0);
            (0..k).for_each(|_| _ = x.fetch_add(1, SEQ));
        };
        let report = every(move || {
            let other = thread::spawn(own);
            own();
            other.join().unwrap();
        });
        report.unwrap().runs
    };
    let (few, many) = (runs(2), runs(8));
    assert!(many <= few + 2 * 8, "{few} runs with 2 steps, {many} with 8");
}

#[test]
fn all_results_of_small_programs_are_found() {
    let (found, _) = results(|| {
        let x = Arc::new(AtomicI64::new(0));
        let threads = [1, 2].map(|_| {
            let x = x.clone();
            thread::spawn(move || x.store(x.load(SEQ) + 1, SEQ))
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        x.load(SEQ)
    });
    assert_eq!(found, [1, 2].into());
    // Which waiter a notify wakes is a choice.
    let (found, _) = results(|| {
        let shared = Arc::new((Mutex::new((0, Vec::new())), Condvar::new()));
        let threads = [1, 2].map(|number| {
            let shared = shared.clone();
            thread::spawn(move || {
                let (lock, condition) = &*shared;
                let mut state = lock.lock().unwrap();
                while state.0 == 0 {
                    state = condition.wait(state).unwrap();
                }
                state.0 -= 1;
                state.1.push(number);
            })
        });
        for _ in 0..2 {
            shared.0.lock().unwrap().0 += 1;
            shared.1.notify_one();
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        shared.0.lock().unwrap().1.clone()
    });
    assert_eq!(found, [vec![1, 2], vec![2, 1]].into());
    let (found, _) = results(|| {
        let (sender, receiver) = mpsc::sync_channel(1);
        let threads = [1, 2].map(|message| {
            let sender = sender.clone();
            thread::spawn(move || sender.try_send(message).is_ok())
        });
        drop(sender);
        let sent = threads.map(|thread| thread.join().unwrap());
        (sent, receiver.iter().collect::<Vec<i32>>())
    });
    assert_eq!(found, [([true, false], vec![1]), ([false, true], vec![2])].into());
}

#[test]
fn few_preemptions_leave_runs_out_and_say_so() {
    // Random runs with which the statements are met hardly ever find this, and one preemption is enough for it.
    let once = || {
        let x = Arc::new(AtomicI64::new(0));
        let y = x.clone();
        let other = thread::spawn(move || (0..12).for_each(|_| _ = y.fetch_add(1, SEQ)));
        (0..12).for_each(|_| _ = x.fetch_add(1, SEQ));
        let (first, second) = (x.load(SEQ), x.load(SEQ));
        assert!((first, second) != (12, 24), "all of the other thread's steps came between");
        other.join().unwrap();
    };
    let bounded = |most| Checker::new().name("test").runs(1_000_000).preemptions(most).confirm(false).try_check(once);
    let report = bounded(0).unwrap();
    assert!(!report.complete && report.runs < 10, "{report}");
    assert!(bounded(1).is_err(), "one preemption is enough");
}

#[test]
fn a_pair_that_is_never_side_by_side_is_refuted() {
    // The flag orders the accesses, which detection by locks alone does not see.
    let report = every(|| {
        let (value, ready) = (Shared::new(0), Arc::new(AtomicBool::new(false)));
        let (written, flag) = (value.clone(), ready.clone());
        let writer = thread::spawn(move || {
            written.set(1);
            flag.store(true, SEQ);
        });
        if ready.load(SEQ) {
            assert_eq!(value.get(), 1);
        }
        writer.join().unwrap();
    });
    let report = report.unwrap();
    assert!(report.complete, "{report}");
    assert!(report.pairs.iter().all(|pair| pair.verdict == Verdict::Refuted), "{report}");
    let report = every(|| {
        let value = Shared::new(0);
        let written = value.clone();
        let writer = thread::spawn(move || written.set(1));
        value.get();
        writer.join().unwrap();
    });
    let report = report.unwrap();
    assert_eq!(report.pairs.len(), 1);
    assert!(report.pairs[0].verdict == Verdict::Real, "{report}");
}

#[test]
fn time_that_passes_while_a_thread_can_go_on_leaves_a_search_incomplete() {
    let report = every(|| {
        let sleeper = thread::spawn(|| thread::sleep(Duration::from_millis(5)));
        thread::yield_now();
        sleeper.join().unwrap();
    });
    assert!(!report.unwrap().complete);
}

#[test]
fn what_the_scheduler_does_not_control_is_noticed() {
    let step = |odd: bool| {
        let x = AtomicI64::new(0);
        if odd { x.store(1, SEQ) } else { _ = x.load(SEQ) }
    };
    static COUNT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    type Program = Box<dyn Fn() + Send + Sync>;
    let programs: [(&str, Program); 4] = [
        ("a static", Box::new(move || step(COUNT.fetch_add(1, SEQ).is_multiple_of(2)))),
        (
            "the order of a set",
            Box::new(move || {
                let all: HashSet<u32> = (0..64).collect();
                all.into_iter().for_each(|number| step(number % 2 == 0));
            }),
        ),
        (
            "the time",
            Box::new(move || {
                let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
                (0..20).for_each(|bit| step(time.as_nanos() >> bit & 1 == 0));
            }),
        ),
        ("the number of steps", Box::new(move || (0..COUNT.fetch_add(1, SEQ) % 3).for_each(|_| step(true)))),
    ];
    for (what, program) in programs {
        let failure = Checker::new().name("test").try_check(program).expect_err(what);
        assert!(failure.what.contains("is another one when its choices are repeated"), "{what}: {failure}");
        let place = if what == "the number of steps" { "at line" } else { "tests/native/every.rs:" };
        assert!(failure.text.contains(place), "{what}: {failure}");
    }
}

#[test]
fn a_strategy_draws_the_runs() {
    for strategy in ["random", "pct:2", "pos", "delay:1"] {
        let checker = || Checker::new().name("test").strategy(strategy).runs(500);
        assert!(checker().try_check(locked_counter).is_ok());
        let failure = checker().try_check(counter).expect_err(strategy);
        assert!(checker().replay(&failure.token, counter).is_err());
    }
}

#[test]
#[should_panic(expected = "unknown strategy `sideways`")]
fn a_strategy_that_there_is_not_is_refused() {
    let _ = Checker::new().strategy("sideways");
}

#[test]
fn a_limit_of_time_ends_a_check() {
    let report = Checker::new().name("test").runs(u64::MAX).time_limit(Duration::from_millis(50)).try_check(|| {
        thread::spawn(|| {}).join().unwrap();
    });
    assert!(report.unwrap().runs < u64::MAX);
}
