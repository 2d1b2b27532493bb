//! Tests as users of shuttle and loom write them, with one line changed.

mod shuttle_users {
    use raceflip::native::compat::shuttle;
    use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler, RoundRobinScheduler};
    use shuttle::sync::atomic::{AtomicUsize, Ordering};
    use shuttle::sync::{Arc, Barrier, Condvar, Mutex};
    use shuttle::{Config, FailurePersistence, MaxSteps, Runner, check_dfs, check_pct, check_random, thread};

    // A buffer that holds one item, with one condition for both sides: a notify may wake the wrong side.
    struct Buffer {
        items: Mutex<Vec<u32>>,
        changed: Condvar,
        wakes_all: bool,
    }

    impl Buffer {
        fn notify(&self) {
            if self.wakes_all { self.changed.notify_all() } else { self.changed.notify_one() }
        }

        fn put(&self, item: u32) {
            let mut items = self.items.lock().unwrap();
            while !items.is_empty() {
                items = self.changed.wait(items).unwrap();
            }
            items.push(item);
            self.notify();
        }

        fn take(&self) -> u32 {
            let mut items = self.items.lock().unwrap();
            loop {
                if let Some(item) = items.pop() {
                    self.notify();
                    return item;
                }
                items = self.changed.wait(items).unwrap();
            }
        }
    }

    fn bounded_buffer(wakes_all: bool) -> impl Fn() + Send + Sync + 'static {
        move || {
            let buffer = Buffer { items: Mutex::default(), changed: Condvar::new(), wakes_all };
            let buffer = Arc::new(buffer);
            let takers = [(); 2].map(|()| {
                let buffer = buffer.clone();
                thread::spawn(move || (0..2).map(|_| buffer.take()).sum::<u32>())
            });
            let putter = buffer.clone();
            let putter = thread::spawn(move || (1..=4).for_each(|item| putter.put(item)));
            putter.join().unwrap();
            assert_eq!(takers.map(|taker| taker.join().unwrap()).iter().sum::<u32>(), 10);
        }
    }

    #[test]
    fn a_right_buffer_passes() {
        check_random(bounded_buffer(true), 300);
        check_pct(bounded_buffer(true), 300, 3);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_buffer_that_wakes_the_wrong_side_deadlocks() {
        check_random(bounded_buffer(false), 2_000);
    }

    // The guard of a `match` lives until its end: the second lock in an arm is of the same thread.
    fn match_deadlock() {
        let state = Arc::new(Mutex::new(Some(1)));
        let other = state.clone();
        let thread = thread::spawn(move || *other.lock().unwrap() = None);
        match *state.lock().unwrap() {
            Some(_) => {}
            None => *state.lock().unwrap() = Some(2),
        }
        thread.join().unwrap();
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_guard_that_lives_too_long_deadlocks() {
        check_dfs(match_deadlock, None);
    }

    // One thread has many more steps than the other, so that a random walk hardly ever comes to the end of it first.
    fn uneven() {
        let (steps, early) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let long = steps.clone();
        let long = thread::spawn(move || (0..30).for_each(|_| _ = long.fetch_add(1, Ordering::SeqCst)));
        let seen = early.clone();
        let short = thread::spawn(move || seen.store(steps.load(Ordering::SeqCst) + 1, Ordering::SeqCst));
        long.join().unwrap();
        short.join().unwrap();
        assert_ne!(early.load(Ordering::SeqCst), 31, "the long thread came first");
    }

    #[test]
    #[should_panic(expected = "the long thread came first")]
    fn priorities_find_an_order_of_uneven_threads() {
        check_pct(uneven, 100, 2);
    }

    #[test]
    fn runners_have_numbers_of_runs_and_options() {
        let program = || {
            let barrier = Arc::new(Barrier::new(2));
            let other = barrier.clone();
            let thread = thread::spawn(move || _ = other.wait());
            barrier.wait();
            thread.join().unwrap();
        };
        assert_eq!(Runner::new(RandomScheduler::new_from_seed(3, 50), Config::new()).run(program), 50);
        assert_eq!(Runner::new(PctScheduler::new(2, 50), Config::new()).run(program), 50);
        assert_eq!(Runner::new(RoundRobinScheduler::new(1), Config::new()).run(program), 1);
        let all = Runner::new(DfsScheduler::new(None, false), Config::new()).run(program);
        assert!(Runner::new(DfsScheduler::new(Some(1), false), Config::new()).run(program) == 1 && all > 1);
    }

    #[test]
    #[should_panic(expected = "the limit of 50 steps")]
    fn a_loop_that_never_ends_reaches_the_limit() {
        let mut config = Config::new();
        config.max_steps = MaxSteps::FailAfter(50);
        let waits = || {
            let flag = AtomicUsize::new(0);
            while flag.load(Ordering::SeqCst) == 0 {
                thread::yield_now();
            }
        };
        Runner::new(RandomScheduler::new(5), config).run(waits);
    }

    #[test]
    fn a_file_has_the_token_of_a_failing_run_and_replays_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::new();
        config.failure_persistence = FailurePersistence::File(Some(folder.path().to_owned()));
        let failed = std::panic::catch_unwind(|| Runner::new(RandomScheduler::new(500), config).run(match_deadlock));
        assert!(failed.is_err());
        let file = folder.path().join("schedule.txt");
        let again = std::panic::catch_unwind(|| shuttle::replay_from_file(match_deadlock, file));
        let message = again.unwrap_err().downcast::<String>().unwrap();
        assert!(message.contains("deadlock"), "{message}");
    }

    #[test]
    #[should_panic(expected = "no token of raceflip")]
    fn a_schedule_of_shuttle_is_refused() {
        shuttle::replay(match_deadlock, "9102110090408001");
    }
}

mod loom_users {
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicBool, Ordering};
    use loom::thread;
    use raceflip::native::compat::loom;

    // A lock of one flag. Without the flag nothing keeps the accesses apart.
    struct SpinLock {
        held: AtomicBool,
        value: UnsafeCell<u32>,
        swaps: bool,
    }

    // The tests are about code with such a line: the accesses are kept apart by `held`, or not.
    #[expect(unsafe_code, reason = "code under test")]
    unsafe impl Sync for SpinLock {}

    impl SpinLock {
        #[expect(unsafe_code, reason = "code under test")]
        fn add(&self) {
            if self.swaps {
                while self.held.swap(true, Ordering::AcqRel) {
                    thread::yield_now();
                }
            } else {
                while self.held.load(Ordering::Acquire) {
                    thread::yield_now();
                }
                self.held.store(true, Ordering::Release);
            }
            // SAFETY: the flag is held, if it swaps.
            self.value.with_mut(|value| unsafe { *value += 1 });
            self.held.store(false, Ordering::Release);
        }
    }

    fn two_adders(swaps: bool) {
        let lock = Arc::new(SpinLock { held: AtomicBool::new(false), value: UnsafeCell::new(0), swaps });
        let other = lock.clone();
        let adder = thread::spawn(move || other.add());
        lock.add();
        adder.join().unwrap();
        let lock = Arc::into_inner(lock).expect("the other thread has ended");
        assert_eq!(lock.value.into_inner(), 2);
    }

    #[test]
    fn a_spin_lock_passes_within_a_bound() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(2);
        builder.check(|| two_adders(true));
    }

    #[test]
    fn all_runs_of_a_small_program_pass() {
        loom::model(|| {
            let flag = Arc::new(AtomicBool::new(false));
            let other = flag.clone();
            let thread = thread::spawn(move || other.store(true, Ordering::Release));
            let before = flag.load(Ordering::Acquire);
            thread.join().unwrap();
            assert!(flag.load(Ordering::Acquire) || !before);
        });
    }

    #[test]
    fn accesses_that_nothing_keeps_apart_race() {
        let checker = raceflip::native::Checker::new().name("test").preemptions(2);
        let report = checker.try_check(|| two_adders(false)).unwrap();
        assert!(report.pairs.iter().any(|pair| pair.object.contains("UnsafeCell<u32>")), "{report}");
    }
}
