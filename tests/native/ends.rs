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

// A thread that waits for ever is given up, also if it catches everything.
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
