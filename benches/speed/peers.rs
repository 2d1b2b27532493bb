//! The workloads in Rust, for shuttle, loom and raceflip's own native code. All offer the standard library's types
//! under their own names, so each program is written once, as a macro over the tool, and all tools run the same text.
//!
//! The programs correspond to the models in `benches/models` as follows. A variable that threads race on is an atomic,
//! whose loads and stores are scheduling points, like accesses of a model's variable. Data that a lock protects is
//! plain data inside the mutex, as usual in Rust; an increment has no scheduling point here, and two in a model. A
//! model's threads exist from the start; here a main thread starts them and joins them, which costs a few scheduling
//! points per run.

use crate::workloads::Workload;
use raceflip::event::Outcome;
use raceflip::exec::run;
use raceflip::native::{Native, NativeProgram};
use raceflip::sched::{ChoiceLog, RandomWalk};
use raceflip::world::{Limits, Machine, Program as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A function that performs the given number of runs.
pub(crate) type Batch = Box<dyn FnMut(u64)>;

/// A program under test.
type Program = Arc<dyn Fn() + Send + Sync>;

macro_rules! programs {
    ($($tool:ident)::+) => {
        use super::Program;
        use crate::workloads::Workload;
        use ::$($tool)::+::sync::atomic::{AtomicUsize, Ordering::SeqCst};
        use ::$($tool)::+::sync::{Condvar, Mutex};
        use ::$($tool)::+::thread;
        use std::collections::VecDeque;
        use std::sync::Arc;

        pub(super) fn program(workload: Workload) -> Program {
            match workload {
                Workload::Counter => Arc::new(counter),
                Workload::Lock { threads, iterations } => Arc::new(move || lock(threads, iterations)),
                Workload::Figure2 { k } => Arc::new(move || figure2(k)),
                Workload::Looper { tasks } => Arc::new(move || looper(tasks)),
            }
        }

        fn counter() {
            let x = Arc::new(AtomicUsize::new(0));
            let adders = [(); 2].map(|()| {
                let x = x.clone();
                thread::spawn(move || {
                    let seen = x.load(SeqCst);
                    x.store(seen + 1, SeqCst);
                    seen
                })
            });
            let seen = adders.map(|t| t.join().expect("no adder panics"));
            assert!(matches!(seen, [0, 0 | 1] | [1, 0]), "{seen:?}");
        }

        fn lock(threads: u64, iterations: u64) {
            let x = Arc::new(Mutex::new(0));
            let adders: Vec<_> = (0..threads)
                .map(|_| {
                    let x = x.clone();
                    thread::spawn(move || {
                        for _ in 0..iterations {
                            *x.lock().expect("no adder panics") += 1;
                        }
                    })
                })
                .collect();
            for adder in adders {
                adder.join().expect("no adder panics");
            }
            let x = Arc::into_inner(x).expect("the adders have ended").into_inner();
            assert_eq!(x.expect("no adder panics"), threads * iterations);
        }

        // A statement without effect is a load of a location that no thread writes, which is the cheapest scheduling
        // point. (`yield_now` costs shuttle more, and after it loom always lets another thread run.) Where the model
        // fails, this program continues, because a panic would end all runs.
        fn figure2(k: u64) {
            let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(())));
            let first = {
                let shared = shared.clone();
                thread::spawn(move || {
                    let (x, nothing, l) = &*shared;
                    let held = l.lock().expect("nobody panics");
                    for _ in 0..k {
                        nothing.load(SeqCst);
                    }
                    drop(held);
                    let error = x.load(SeqCst) == 0;
                    std::hint::black_box(error);
                })
            };
            let second = thread::spawn(move || {
                let (x, nothing, l) = &*shared;
                x.store(1, SeqCst);
                let held = l.lock().expect("nobody panics");
                nothing.load(SeqCst);
                drop(held);
            });
            first.join().expect("nobody panics");
            second.join().expect("nobody panics");
        }

        // The usual queue of a mutex and a condition variable. A task is a number to add, so posting allocates nothing.
        // The number is added to an atomic, because the model's task reads and writes a shared variable. The looper
        // leaves after the last task, where the model's run ends with an idle looper.
        fn looper(tasks: u64) {
            let queue = Arc::new((Mutex::new(VecDeque::new()), Condvar::new()));
            let posters = [(); 2].map(|()| {
                let queue = queue.clone();
                thread::spawn(move || {
                    for _ in 0..tasks / 2 {
                        queue.0.lock().expect("nobody panics").push_back(1_usize);
                        queue.1.notify_one();
                    }
                })
            });
            let main = thread::spawn(move || {
                let x = AtomicUsize::new(0);
                for _ in 0..tasks {
                    let mut waiting = queue.0.lock().expect("nobody panics");
                    let task = loop {
                        match waiting.pop_front() {
                            Some(task) => break task,
                            None => waiting = queue.1.wait(waiting).expect("nobody panics"),
                        }
                    };
                    drop(waiting);
                    let seen = x.load(SeqCst);
                    x.store(seen + task, SeqCst);
                }
                assert_eq!(x.into_inner(), tasks as usize);
            });
            for poster in posters {
                poster.join().expect("nobody panics");
            }
            main.join().expect("nobody panics");
        }
    };
}

mod on_shuttle {
    programs!(shuttle);
}

mod on_loom {
    programs!(loom);
}

mod on_native {
    programs!(raceflip::native);
}

/// Returns random walks of raceflip over Rust code, with their choices kept, on one machine for all runs.
pub(crate) fn native(workload: Workload) -> Batch {
    let run_program = on_native::program(workload);
    let mut program = NativeProgram::new("speed", move || run_program());
    let walk = move |machine: &mut Machine<Native>, log: &mut ChoiceLog, seed| {
        let summary = run(machine, &mut RandomWalk::new(), seed, log, &AtomicBool::new(false));
        assert!(matches!(summary.outcome(), Some(Outcome::Ok)), "{workload} ended so: {:?}", summary.end);
    };
    let limits = Limits { steps: u64::MAX, ..Limits::default() };
    let mut log = ChoiceLog::new();
    // The statements are met first, as a check does.
    loop {
        let mut machine = program.machine(limits);
        (0..16).for_each(|seed| walk(&mut machine, &mut log, seed));
        match program.grown() {
            Some(grown) => program = grown,
            None => break,
        }
    }
    let mut machine = program.machine(limits);
    let mut seed = 0;
    Box::new(move |runs| {
        for _ in 0..runs {
            walk(&mut machine, &mut log, seed);
            seed += 1;
        }
    })
}

/// Returns random walks of shuttle, with its default configuration.
pub(crate) fn shuttle(workload: Workload) -> Batch {
    let program = on_shuttle::program(workload);
    let mut seed = 0;
    Box::new(move |runs| {
        let scheduler = ::shuttle::scheduler::RandomScheduler::new_from_seed(seed, runs as usize);
        seed += 1;
        let program = program.clone();
        let done = ::shuttle::Runner::new(scheduler, ::shuttle::Config::new()).run(move || program());
        assert_eq!(done as u64, runs);
    })
}

/// Returns runs of loom's search from its beginning; a search that is complete begins again. The error says why loom
/// cannot run the workload.
pub(crate) fn loom(workload: Workload) -> Result<Batch, String> {
    if let Workload::Lock { threads, .. } = workload
        && threads as usize >= ::loom::MAX_THREADS
    {
        return Err(format!("it has at most {} threads, main included", ::loom::MAX_THREADS));
    }
    Ok(Box::new(move |runs| {
        let mut left = runs;
        while left > 0 {
            left -= search(workload, left);
        }
    }))
}

/// Returns the number of runs of loom's complete search; `None` if there are `most` or more.
pub(crate) fn loom_is_through(workload: Workload, most: u64) -> Option<u64> {
    let done = search(workload, most);
    (done < most).then_some(done)
}

// Performs loom's search of a program, up to `most` runs; returns the number of runs.
fn search(workload: Workload, most: u64) -> u64 {
    let mut search = ::loom::model::Builder::new();
    // The default of 1,000 is meant to detect programs that are too large to search completely.
    search.max_branches = 1_000.max(50 * workload.iterations() as usize);
    // loom checks the number of runs only before a run and only when it would write a checkpoint.
    search.checkpoint_interval = most as usize + 1;
    search.max_permutations = Some(search.checkpoint_interval);
    let program = on_loom::program(workload);
    let done = Arc::new(AtomicU64::new(0));
    let count = done.clone();
    search.check(move || {
        program();
        count.fetch_add(1, Ordering::Relaxed);
    });
    done.load(Ordering::Relaxed)
}
