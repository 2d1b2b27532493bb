//! How a run ends: what its threads still do, and what is left of them.

use crate::programs::{counter, crossed_locks};
use crate::support::{checked, failure, passes};
use raceflip::exec::{NoObserver, run};
use raceflip::native::sync::atomic::{AtomicUsize, Ordering};
use raceflip::native::sync::{Arc, Mutex};
use raceflip::native::{Checker, NativeProgram, thread};
use raceflip::sched::RandomWalk;
use raceflip::world::{Limits, Program};
use std::sync::atomic::AtomicU64;

const SEQ: Ordering = Ordering::SeqCst;

// Locks when it is dropped.
struct Locks(Arc<Mutex<usize>>);

impl Drop for Locks {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(raceflip::native::sync::PoisonError::into_inner) += 1;
    }
}

#[test]
fn a_destructor_may_lock_what_another_stack_holds() {
    let failure = failure(|| {
        let lock = Arc::new(Mutex::new(0));
        let (held, dropped) = (lock.clone(), lock.clone());
        let holder = thread::spawn(move || {
            let _guard = held.lock().unwrap();
            thread::yield_now();
        });
        let _locks = Locks(dropped);
        thread::yield_now();
        assert!(lock.try_lock().is_ok(), "somebody holds it");
        holder.join().unwrap();
    });
    assert!(failure.what.contains("somebody holds it"), "{failure}");
}

#[test]
fn a_destructor_may_join() {
    struct Pool(Option<thread::JoinHandle<()>>);
    impl Drop for Pool {
        fn drop(&mut self) {
            let _ = self.0.take().map(thread::JoinHandle::join);
        }
    }
    let failure = failure(|| {
        let count = Arc::new(AtomicUsize::new(0));
        let other = count.clone();
        let _pool = Pool(Some(thread::spawn(move || other.store(1, SEQ))));
        assert_eq!(count.load(SEQ), 0, "it was quick");
    });
    assert!(failure.what.contains("it was quick"), "{failure}");
}

// A thread that waits forever is given up, also if it catches everything.
#[test]
fn a_thread_that_waits_for_ever_is_given_up() {
    let failure = failure(|| {
        let lock = Arc::new(Mutex::new(0));
        let other = lock.clone();
        std::mem::forget(lock.lock().unwrap());
        thread::spawn(move || {
            for _ in 0..3 {
                let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(other.lock())));
            }
        });
    });
    assert!(failure.what.starts_with("deadlock"), "{failure}");
}

#[test]
fn threads_of_a_scope_borrow() {
    passes(|| {
        let (mut a, b) = (vec![1], AtomicUsize::new(0));
        let sum = thread::scope(|scope| {
            let first = scope.spawn(|| a.push(2));
            let second = scope.spawn(|| b.fetch_add(5, SEQ));
            first.join().unwrap();
            second.join().unwrap()
        });
        assert_eq!((a.len(), b.load(SEQ), sum), (2, 5, 0));
    });
    let failure = failure(|| {
        let data = [1, 2, 3];
        let lock = (Mutex::new(()), Mutex::new(()));
        thread::scope(|scope| {
            scope.spawn(|| {
                let _a = lock.0.lock().unwrap();
                let _b = lock.1.lock().unwrap();
                assert_eq!(data.len(), 3);
            });
            let _b = lock.1.lock().unwrap();
            let _a = lock.0.lock().unwrap();
        });
    });
    assert!(failure.what.starts_with("deadlock"), "{failure}");
}

#[test]
fn an_operation_outside_of_a_check_says_so() {
    let error = std::panic::catch_unwind(|| Mutex::new(0).lock().map(|guard| *guard).unwrap()).unwrap_err();
    let text =
        error.downcast_ref::<String>().cloned().unwrap_or_else(|| (*error.downcast_ref::<&str>().unwrap()).to_owned());
    assert!(text.contains("outside of a check"), "{text}");
}

#[test]
fn a_check_in_a_check_has_its_own_run() {
    passes(|| {
        let outer = Arc::new(Mutex::new(0));
        *outer.lock().unwrap() += 1;
        let inner = std::thread::spawn(|| Checker::new().name("inner").runs(50).try_check(counter)).join().unwrap();
        assert!(inner.is_err());
        *outer.lock().unwrap() += 1;
        assert_eq!(*outer.lock().unwrap(), 2);
    });
}

static TOTAL: Mutex<u32> = Mutex::new(0);

#[test]
fn a_static_lock_belongs_to_every_run() {
    passes(|| {
        let other = thread::spawn(|| *TOTAL.lock().unwrap() += 1);
        *TOTAL.lock().unwrap() += 1;
        other.join().unwrap();
    });
    let checks: Vec<_> = (0..3).map(|_| std::thread::spawn(|| checked(crossed_locks).unwrap_err().text)).collect();
    let texts: Vec<String> = checks.into_iter().map(|check| check.join().unwrap()).collect();
    assert!(texts.iter().all(|text| *text == texts[0]));
}

// The lock of the standard library is given back although the run has failed while it was held.
#[test]
fn real_locks_are_given_back() {
    static REAL: std::sync::Mutex<u64> = std::sync::Mutex::new(0);
    let failure = failure(|| {
        let count = Arc::new(AtomicUsize::new(0));
        let other = count.clone();
        let real = thread::spawn(move || {
            let mut held = REAL.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            other.fetch_add(1, SEQ);
            other.fetch_add(1, SEQ);
            *held += 1;
        });
        assert_ne!(count.load(SEQ), 1, "in the middle");
        real.join().unwrap();
    });
    assert!(failure.what.contains("in the middle"), "{failure}");
    assert!(REAL.try_lock().is_ok());
}

// A stack that was given up may be borrowed from: real threads go on to read it.
#[test]
fn a_stack_that_was_given_up_is_not_used_again() {
    let read = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = read.clone();
    let failure = failure(move || {
        let local = AtomicU64::new(7);
        let lock = Mutex::new(());
        std::mem::forget(lock.lock());
        let (local, seen) = (&local, &seen);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for _ in 0..20 {
                    seen.lock().unwrap().push(local.load(std::sync::atomic::Ordering::SeqCst));
                    std::thread::sleep(std::time::Duration::from_micros(200));
                }
            });
            let _ = lock.lock();
        });
    });
    assert!(failure.what.starts_with("deadlock"), "{failure}");
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert!(read.lock().unwrap().iter().all(|value| *value == 7));
}

// The code of a message that never runs is dropped with everything that it owns, whatever its destructors do.
#[test]
fn destructors_of_messages_that_never_run_have_no_effect() {
    struct Adds(Arc<AtomicUsize>, Arc<Mutex<bool>>);
    impl Drop for Adds {
        fn drop(&mut self) {
            self.0.fetch_add(1, SEQ);
            drop(self.1.lock());
            raceflip::native::sync::Barrier::new(1).wait();
            thread::yield_now();
        }
    }
    passes(|| {
        let adds = Adds(Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(false)));
        let looper = raceflip::native::looper::HandlerThread::start();
        looper.handler().post_delayed(std::time::Duration::from_secs(5), move || drop(adds));
        looper.quit();
    });
}

#[test]
fn a_thread_that_spins_is_a_failure() {
    let failure = Checker::new().name("test").runs(20).steps(500).try_check(|| {
        loop {
            thread::yield_now();
        }
    });
    assert!(failure.unwrap_err().what.contains("reached the limit of 500 steps"));
}

// A failure that comes once is reported although its statements were not known then.
#[test]
fn a_failure_that_comes_once_is_told() {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let failure = failure(|| {
        thread::spawn(|| ()).join().unwrap();
        assert_ne!(RUNS.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 3, "the fourth run");
    });
    assert!(failure.what.contains("no later one did"), "{failure}");
}

// A destructor that locks while a panic unwinds the stack poisons nothing, as in the standard library.
#[test]
fn a_lock_that_a_destructor_takes_is_not_poisoned() {
    struct Adds<'l>(&'l Mutex<u32>);
    impl Drop for Adds<'_> {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    passes(|| {
        let lock = Mutex::new(0);
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _adds = (Adds(&lock), Adds(&lock));
            panic!("it unwinds");
        }));
        assert!(caught.is_err() && !lock.is_poisoned());
        assert_eq!(*lock.lock().unwrap(), 2);
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _guard = lock.lock().unwrap();
            std::panic::resume_unwind(Box::new(()));
        }));
        assert!(caught.is_err() && lock.is_poisoned());
    });
}

// The locks of statics are free when the next run begins, also if a run has ended in a deadlock that holds them.
#[test]
fn a_deadlock_of_statics_is_told() {
    static A: Mutex<u32> = Mutex::new(0);
    static B: Mutex<u32> = Mutex::new(0);
    let failure = failure(|| {
        let other = thread::spawn(|| {
            let _b = B.lock().unwrap();
            *A.lock().unwrap() += 1;
        });
        {
            let _a = A.lock().unwrap();
            *B.lock().unwrap() += 1;
        }
        other.join().unwrap();
    });
    assert!(failure.what.starts_with("deadlock"), "{failure}");
}

#[test]
fn handles_of_another_run_lead_nowhere() {
    use raceflip::native::looper::{Handler, HandlerThread};
    static OLD: std::sync::Mutex<Option<(thread::JoinHandle<()>, Handler)>> = std::sync::Mutex::new(None);
    passes(|| {
        let old = OLD.lock().unwrap().take();
        if let Some((thread, handler)) = old {
            assert!(thread.is_finished() && !handler.post(|| ()));
            let _ = thread.join();
        }
        let looper = HandlerThread::start();
        let handle = thread::spawn(|| ());
        *OLD.lock().unwrap() = Some((handle, looper.handler()));
        looper.quit();
    });
}

// The closure is dropped after the check, with what it owns.
#[test]
fn what_the_closure_owns_is_dropped_quietly() {
    let owned = Locks(Arc::new(Mutex::new(0)));
    let failure = failure(move || {
        let _borrowed = &owned;
        counter();
    });
    assert!(failure.what.contains("an increment was lost"), "{failure}");
}

#[test]
fn threads_have_room_for_a_large_frame() {
    passes(|| {
        let large = std::hint::black_box([1u8; 400_000]);
        thread::yield_now();
        assert_eq!(large.iter().map(|byte| u64::from(*byte)).sum::<u64>(), 400_000);
    });
}

// What a run owns is freed at its end: all values that runs have made are dropped, but those of stacks that were given
// up.
#[test]
fn runs_that_end_well_drop_everything() {
    static ALIVE: AtomicU64 = AtomicU64::new(0);
    struct Counted;
    impl Counted {
        fn new() -> Self {
            ALIVE.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            Self
        }
    }
    impl Drop for Counted {
        fn drop(&mut self) {
            ALIVE.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
        }
    }
    let program = NativeProgram::new("drops", || {
        let lock = Arc::new(Mutex::new(Counted::new()));
        let other = lock.clone();
        thread::spawn(move || {
            let _own = Counted::new();
            drop(other.lock().unwrap());
        });
        let looper = raceflip::native::looper::HandlerThread::start();
        let posted = Counted::new();
        looper.handler().post(move || drop(posted));
        let never = Counted::new();
        looper.handler().post_delayed(std::time::Duration::from_secs(5), move || drop(never));
        looper.quit();
    });
    let mut machine = program.machine(Limits::default());
    for seed in 0..200 {
        run(&mut machine, &mut RandomWalk::new(), seed, &mut NoObserver, &std::sync::atomic::AtomicBool::new(false));
    }
    drop(machine);
    assert_eq!(ALIVE.load(std::sync::atomic::Ordering::SeqCst), 0);
}
