//! Handles of threads, parking, and what each thread or run has of its own.

use crate::support::{failure, outcomes, passes};
use raceflip::native::sync::atomic::{AtomicUsize, Ordering};
use raceflip::native::sync::{Arc, LazyLock, Mutex, Once, OnceLock};
use raceflip::native::thread::{self, thread_local};
use raceflip::native::time::{Duration, Instant};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

const SEQ: Ordering = Ordering::SeqCst;

#[test]
fn an_unpark_before_the_park_counts_once() {
    passes(|| {
        let main = thread::current();
        let start = Instant::now();
        let waker = thread::spawn(move || {
            main.unpark();
            main.unpark();
        });
        waker.join().unwrap();
        thread::park();
        thread::park_timeout(Duration::from_millis(20));
        assert!(start.elapsed() >= Duration::from_millis(20), "the second one does not add up");
    });
}

#[test]
fn a_park_without_an_unpark_is_a_deadlock() {
    let failure = failure(|| {
        let sleeper = thread::Builder::new().name("sleeper".to_owned()).spawn(thread::park).unwrap();
        sleeper.join().unwrap();
    });
    assert!(failure.what.contains("for unpark of") && failure.what.contains("sleeper"), "{failure}");
}

#[test]
fn a_flag_and_a_park_hand_over_and_a_flag_that_is_set_too_late_does_not() {
    let hand_over = |early: bool| {
        move || {
            let ready = Arc::new(AtomicUsize::new(0));
            let (flag, main) = (ready.clone(), thread::current());
            let worker = thread::spawn(move || {
                if early {
                    flag.store(1, SEQ);
                }
                main.unpark();
                flag.store(1, SEQ);
            });
            while ready.load(SEQ) == 0 {
                thread::park();
            }
            worker.join().unwrap();
        }
    };
    passes(hand_over(true));
    assert!(failure(hand_over(false)).what.contains("deadlock"));
}

#[test]
fn threads_have_names_and_ids() {
    passes(|| {
        let named = thread::Builder::new().name("worker".to_owned());
        let worker = named.spawn(thread::current).unwrap();
        let handle = worker.thread().clone();
        let seen = worker.join().unwrap();
        assert_eq!((seen.name(), seen.id()), (Some("worker"), handle.id()));
        let plain = thread::spawn(thread::current).join().unwrap();
        assert_eq!((plain.name(), thread::current().name()), (None, Some("main")));
        let ids: BTreeSet<String> =
            [seen, plain, thread::current()].iter().map(|thread| format!("{:?}", thread.id())).collect();
        assert_eq!(ids.len(), 3, "{ids:?}");
        let number = Mutex::new(0);
        thread::scope(|scope| {
            let own = thread::Builder::new().name("scoped".to_owned());
            let joined = own.spawn_scoped(scope, || *number.lock().unwrap() += 1).unwrap();
            assert_eq!(joined.thread().name(), Some("scoped"));
        });
        assert_eq!(number.into_inner().unwrap(), 1);
    });
}

thread_local! {
    static COUNT: Cell<u32> = const { Cell::new(1) };
    static WORDS: RefCell<Vec<&'static str>> = RefCell::new(vec!["first"]);
}

#[test]
fn each_thread_has_variables_of_its_own_in_each_run() {
    passes(|| {
        let own = |by: u32| {
            assert_eq!(COUNT.get(), 1);
            COUNT.set(COUNT.get() + by);
            thread::yield_now();
            WORDS.with_borrow_mut(|words| words.push("second"));
            (COUNT.get(), WORDS.take().len())
        };
        let other = thread::spawn(move || own(10));
        assert_eq!((own(1), other.join().unwrap()), ((2, 2), (11, 2)));
    });
}

static DROPPED: AtomicUsize = AtomicUsize::new(0);

struct Leaves;

impl Drop for Leaves {
    fn drop(&mut self) {
        // An ordinary operation at the end of the thread, which may use other variables of it.
        DROPPED.fetch_add(1, SEQ);
        COUNT.set(7);
        assert!(LEAVES.try_with(|_| ()).is_err());
    }
}

thread_local!(static LEAVES: Leaves = Leaves);

#[test]
fn variables_are_dropped_at_the_end_of_their_thread() {
    passes(|| {
        DROPPED.store(0, SEQ);
        thread::spawn(|| LEAVES.with(|_| ())).join().unwrap();
        assert_eq!(DROPPED.load(SEQ), 1);
        LEAVES.with(|_| ());
    });
}

static RUNS: LazyLock<Mutex<u32>> = LazyLock::new(|| Mutex::new(0));
static ONCE: Once = Once::new();
static CELL: OnceLock<usize> = OnceLock::new();

#[test]
fn static_initializations_are_new_in_each_run() {
    let found = outcomes(|| {
        let calls = Arc::new(AtomicUsize::new(0));
        let threads = [1, 2].map(|number| {
            let calls = calls.clone();
            thread::spawn(move || {
                ONCE.call_once(|| _ = calls.fetch_add(1, SEQ));
                *RUNS.lock().unwrap() += 1;
                *CELL.get_or_init(|| number)
            })
        });
        let [a, b] = threads.map(|thread| thread.join().unwrap());
        assert_eq!((a, *RUNS.lock().unwrap(), calls.load(SEQ)), (b, 2, 1));
        a
    });
    assert_eq!(found, [1, 2].into());
}

#[test]
fn a_reference_to_a_static_value_outlives_its_run() {
    static NAMES: OnceLock<String> = OnceLock::new();
    let seen: &'static std::sync::Mutex<Vec<&'static String>> = Box::leak(Box::default());
    passes(move || {
        let name = NAMES.get_or_init(|| "a name".to_owned());
        seen.lock().unwrap().push(name);
    });
    assert!(seen.lock().unwrap().iter().all(|name| *name == "a name"));
}
