//! What a check finds, and how it says so.

use crate::programs::{counter, crossed_locks, figure_2, late_reply, locked_counter, one_condition};
use crate::support::{checked, failure, passes};
use raceflip::campaign::Verdict;
use raceflip::native::sync::{Arc, Condvar, Mutex, RwLock};
use raceflip::native::time::{Duration, Instant};
use raceflip::native::{Checker, Shared, check, thread};

#[test]
fn a_lost_increment_is_found() {
    let failure = failure(counter);
    assert!(failure.what.contains("an increment was lost"), "{failure}");
    assert!(failure.what.contains("tests/native/programs.rs:"), "{failure}");
    assert!(failure.text.contains("RACEFLIP_REPLAY=rf"), "{failure}");
    // The steps name the threads, the operations and the places.
    assert!(failure.text.contains("main/thread#1") && failure.text.contains("AtomicUsize at"), "{failure}");
    passes(locked_counter);
}

#[test]
fn a_deadlock_is_told_with_its_locks_and_places() {
    let failure = failure(crossed_locks);
    assert!(failure.what.starts_with("deadlock"), "{failure}");
    assert_eq!(failure.what.matches("waits for Mutex<()> at tests/native/programs.rs:").count(), 2, "{failure}");
    assert!(failure.what.contains("held by main"), "{failure}");
}

#[test]
fn a_notify_that_wakes_the_wrong_thread_is_found() {
    let failure = failure(one_condition);
    assert!(failure.what.starts_with("deadlock"), "{failure}");
    assert!(failure.what.contains("Condvar at tests/native/programs.rs:"), "{failure}");
}

#[test]
fn a_late_reply_is_found() {
    let failure = failure(late_reply);
    assert!(failure.what.contains("the screen is gone"), "{failure}");
}

#[test]
fn figure_2_is_found_in_few_runs_at_every_size() {
    for k in [5, 50, 500] {
        let failure = failure(figure_2(k));
        assert!(failure.what.contains("the write came first"), "{failure}");
        assert!(failure.run <= 10, "k = {k}: run {}", failure.run);
    }
}

// Two writes of the same value race and do no harm.
#[test]
fn a_race_without_harm_is_reported_with_both_lines() {
    let report = checked(|| {
        let x = Shared::new(0);
        let y = x.clone();
        let other = thread::spawn(move || y.set(1));
        x.set(1);
        other.join().unwrap();
    })
    .unwrap();
    assert_eq!(report.pairs.len(), 1, "{report}");
    let pair = &report.pairs[0];
    assert_eq!(pair.verdict, Verdict::Real);
    assert!(pair.a.starts_with("write at tests/native/finds.rs:") && pair.a != pair.b, "{report}");
    assert!(pair.object.starts_with("Shared<i32> at tests/native/finds.rs:"), "{report}");
    assert!(!pair.tokens.is_empty());
}

#[test]
fn accesses_that_a_lock_orders_are_no_race() {
    let report = checked(|| {
        let x = Arc::new((Mutex::new(()), Shared::new(0)));
        let y = x.clone();
        let add = |x: &(Mutex<()>, Shared<i32>)| {
            let _lock = x.0.lock().unwrap();
            x.1.set(x.1.get() + 1);
        };
        let other = thread::spawn(move || add(&y));
        add(&x);
        other.join().unwrap();
        assert_eq!(x.1.get(), 2);
    })
    .unwrap();
    assert_eq!(report.pairs, []);
}

// A closure that changes a value is one access; a look in the middle of it would see half of it.
#[test]
fn an_access_in_the_middle_of_another_one_ends_the_run() {
    let failure = failure(|| {
        let pair = Shared::new((0, 0));
        let other = pair.clone();
        let changes = thread::spawn(move || {
            other.with_mut(|pair| {
                pair.0 += 1;
                thread::yield_now();
                pair.1 += 1;
            });
        });
        pair.with(|pair| assert_eq!(pair.0, pair.1));
        changes.join().unwrap();
    });
    assert!(failure.what.contains("two accesses of Shared<(i32, i32)> at the same time"), "{failure}");
}

#[test]
fn time_passes_on_the_virtual_clock() {
    passes(|| {
        let start = Instant::now();
        thread::sleep(Duration::from_secs(3600));
        assert!(start.elapsed() >= Duration::from_secs(3600));
    });
    // A timeout may fire before the notify.
    let failure = failure(|| {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let other = shared.clone();
        thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_all();
        });
        let ready = shared.0.lock().unwrap();
        let wait = shared.1.wait_timeout_while(ready, Duration::from_millis(10), |ready| !*ready);
        assert!(!wait.unwrap().1.timed_out(), "the time was up");
    });
    assert!(failure.what.contains("the time was up"), "{failure}");
}

#[test]
fn a_second_reader_and_a_writer_may_deadlock_only_with_locks_that_say_so() {
    passes(|| {
        let lock = Arc::new(RwLock::new(0));
        let other = lock.clone();
        let writer = thread::spawn(move || *other.write().unwrap() += 1);
        let (a, b) = (lock.read().unwrap(), lock.read().unwrap());
        assert_eq!(*a, *b);
        drop((a, b));
        writer.join().unwrap();
    });
}

#[test]
#[should_panic(expected = "an increment was lost")]
fn a_check_panics_with_its_report() {
    check(counter);
}

#[test]
fn the_number_of_workers_changes_nothing() {
    let text = |jobs, f: fn()| {
        let checker = Checker::new().name("test").runs(300).jobs(jobs);
        match checker.try_check(f) {
            Ok(report) => report.to_string(),
            Err(failure) => failure.text,
        }
    };
    for f in [counter as fn(), locked_counter, crossed_locks, late_reply, one_condition] {
        let one = text(1, f);
        assert_eq!(text(2, f), one);
        assert_eq!(text(8, f), one);
    }
}

#[test]
fn other_seeds_are_other_runs_and_equal_seeds_are_equal() {
    let run = |seed| Checker::new().name("test").seed(seed).try_check(counter).unwrap_err().text;
    assert_eq!(run(3), run(3));
    assert!((0..8).any(|seed| run(seed) != run(0)));
}
