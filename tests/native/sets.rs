//! Outcomes of small programs: the set that the runs show is exactly the set that the standard library allows.

use crate::support::{failure, outcomes, passes};
use raceflip::native::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, Ordering};
use raceflip::native::sync::{Arc, Barrier, Mutex, Once, OnceLock, RwLock};
use raceflip::native::thread;
use std::collections::BTreeSet;

const SEQ: Ordering = Ordering::SeqCst;

#[test]
fn an_increment_in_two_steps_may_be_lost() {
    let found = outcomes(|| {
        let x = Arc::new(AtomicI64::new(0));
        let threads = [(); 2].map(|()| {
            let x = x.clone();
            thread::spawn(move || x.store(x.load(SEQ) + 1, SEQ))
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        x.load(SEQ)
    });
    assert_eq!(found, [1, 2].into());
}

#[test]
fn an_update_in_one_step_is_never_lost() {
    let updates: [fn(&AtomicI64); 3] = [
        |x| _ = x.fetch_add(1, SEQ),
        |x| while x.compare_exchange(x.load(SEQ), x.load(SEQ) + 1, SEQ, SEQ).is_err() {},
        |x| _ = x.fetch_update(SEQ, SEQ, |x| Some(x + 1)),
    ];
    for (i, update) in updates.into_iter().enumerate() {
        let found = outcomes(move || {
            let x = Arc::new(AtomicI64::new(0));
            let y = x.clone();
            let other = thread::spawn(move || update(&y));
            update(&x);
            other.join().unwrap();
            x.load(SEQ)
        });
        // The second one reads the new value apart from the old one.
        let expected: BTreeSet<i64> = if i == 1 { [2, 3].into() } else { [2].into() };
        assert!(found.is_subset(&expected) && found.contains(&2), "{i}: {found:?}");
    }
}

#[test]
fn atomics_compute_as_those_of_the_standard_library() {
    passes(|| {
        let (ours, std) = (AtomicU8::new(250), std::sync::atomic::AtomicU8::new(250));
        for by in [0, 1, 7, 200, 255] {
            assert_eq!(ours.fetch_add(by, SEQ), std.fetch_add(by, SEQ));
            assert_eq!(ours.fetch_sub(by / 2, SEQ), std.fetch_sub(by / 2, SEQ));
            assert_eq!(ours.fetch_and(by | 0x55, SEQ), std.fetch_and(by | 0x55, SEQ));
            assert_eq!(ours.fetch_nand(by, SEQ), std.fetch_nand(by, SEQ));
            assert_eq!(ours.fetch_or(by, SEQ), std.fetch_or(by, SEQ));
            assert_eq!(ours.fetch_xor(by, SEQ), std.fetch_xor(by, SEQ));
            assert_eq!(ours.fetch_max(by, SEQ), std.fetch_max(by, SEQ));
            assert_eq!(ours.fetch_min(by, SEQ), std.fetch_min(by, SEQ));
            assert_eq!(ours.swap(by, SEQ), std.swap(by, SEQ));
            assert_eq!(ours.compare_exchange(by, 3, SEQ, SEQ), std.compare_exchange(by, 3, SEQ, SEQ));
            assert_eq!(ours.compare_exchange(by, 9, SEQ, SEQ), std.compare_exchange(by, 9, SEQ, SEQ));
            assert_eq!(ours.load(SEQ), std.load(SEQ));
        }
        let flag = AtomicBool::new(true);
        assert!(flag.fetch_not(SEQ) && !flag.fetch_or(true, SEQ) && flag.fetch_xor(true, SEQ) && !flag.load(SEQ));
    });
}

#[test]
fn a_try_lock_fails_or_not() {
    let found = outcomes(|| {
        let lock = Arc::new(Mutex::new(1));
        let other = lock.clone();
        let thread = thread::spawn(move || other.try_lock().map(|mut x| *x += 1).is_ok());
        let here = lock.try_lock().map(|mut x| *x += 1).is_ok();
        (here, thread.join().unwrap(), *lock.lock().unwrap())
    });
    assert_eq!(found, [(true, true, 3), (true, false, 2), (false, true, 2)].into());
}

#[test]
fn readers_share_and_a_writer_excludes() {
    let found = outcomes(|| {
        let lock = Arc::new(RwLock::new(0));
        let other = lock.clone();
        let reader = thread::spawn(move || {
            let first = other.read().unwrap();
            let both = other.try_read().is_ok();
            (*first, both, other.try_write().is_ok())
        });
        let written = lock.try_write().map(|mut x| *x = 1).is_ok();
        let (seen, both, writes) = reader.join().unwrap();
        assert!(both && !writes);
        (written, seen)
    });
    assert_eq!(found, [(true, 0), (true, 1), (false, 0)].into());
}

#[test]
fn every_thread_can_be_the_leader_of_a_barrier() {
    let found = outcomes(|| {
        let barrier = Arc::new(Barrier::new(2));
        let other = barrier.clone();
        let thread = thread::spawn(move || [(); 2].map(|()| other.wait().is_leader()));
        let here = [(); 2].map(|()| barrier.wait().is_leader());
        let there = thread.join().unwrap();
        assert!(here.iter().zip(there).all(|(a, b)| *a != b), "one leader in each generation");
        here
    });
    assert_eq!(found.len(), 4);
    let failure = failure(|| {
        Barrier::new(2).wait();
    });
    assert!(failure.what.contains("Barrier at tests/native/sets.rs:"), "{failure}");
}

#[test]
fn an_initialization_runs_once() {
    let found = outcomes(|| {
        let (once, cell) = (Arc::new(Once::new()), Arc::new(OnceLock::new()));
        let runs = Arc::new(AtomicI64::new(0));
        let threads = [1, 2].map(|number| {
            let (once, cell, runs) = (once.clone(), cell.clone(), runs.clone());
            thread::spawn(move || {
                once.call_once(|| _ = runs.fetch_add(1, SEQ));
                *cell.get_or_init(|| number)
            })
        });
        let [a, b] = threads.map(|thread| thread.join().unwrap());
        assert_eq!((a, runs.load(SEQ)), (b, 1));
        a
    });
    assert_eq!(found, [1, 2].into());
}

#[test]
fn a_lock_is_poisoned_by_a_panic_alone() {
    passes(|| {
        let lock = Mutex::new(0);
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _guard = lock.lock().unwrap();
            panic!("while it is held");
        }));
        assert!(caught.is_err() && lock.is_poisoned() && lock.lock().is_err());
        lock.clear_poison();
        assert!(lock.lock().is_ok());
        assert_eq!(lock.into_inner().unwrap(), 0);
    });
}
