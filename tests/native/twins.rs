//! Small programs in Rust and in the modeled language: both have the same ends, by all runs of the one and all states
//! of the other.

use raceflip::event::EndValue;
use raceflip::exec::{EndKind, NoObserver, RunResult, run};
use raceflip::explore::{NoSearchProgress, SearchContext, SearchPlan, explore};
use raceflip::native::looper::HandlerThread;
use raceflip::native::sync::atomic::{AtomicI64, Ordering};
use raceflip::native::sync::mpsc::sync_channel;
use raceflip::native::sync::{Arc, Condvar, Mutex};
use raceflip::native::time::Duration;
use raceflip::native::{NativeProgram, Shared, thread};
use raceflip::sched::Exhaustive;
use raceflip::vm::Model;
use raceflip::world::{Limits, Program};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

const SEQ: Ordering = Ordering::SeqCst;

/// How a run ends: its result if it ends well.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum End {
    Result(i64),
    Deadlock,
    Failure,
}

fn end(kind: &EndKind, result: impl FnOnce() -> i64) -> End {
    match kind {
        EndKind::Ok => End::Result(result()),
        EndKind::Deadlock => End::Deadlock,
        EndKind::Failure { .. } => End::Failure,
        other => panic!("no twin ends so: {other:?}"),
    }
}

// Returns the ends of all runs of a closure.
fn of_rust(f: impl Fn() -> i64 + Send + Sync + 'static) -> BTreeSet<End> {
    let result = std::sync::Arc::new(std::sync::Mutex::new(0));
    let slot = result.clone();
    let mut program = NativeProgram::new("twin", move || *slot.lock().unwrap() = f());
    loop {
        let (mut ends, mut all) = (BTreeSet::new(), Exhaustive::new(None));
        let mut machine = program.machine(Limits::default());
        loop {
            let summary = run(&mut machine, &mut all, 0, &mut NoObserver, &AtomicBool::new(false));
            match summary.outcome().map(EndKind::of) {
                Some(kind) => _ = ends.insert(end(&kind, || *result.lock().unwrap())),
                None => assert!(all.is_redundant(), "{:?}", summary.end),
            }
            if !all.advance() {
                break;
            }
        }
        match program.grown() {
            Some(grown) => program = grown,
            None => return ends,
        }
    }
}

// Returns the ends of all states of a model, whose result is the variable `result`.
fn of_model(text: &str) -> BTreeSet<End> {
    let model = Model::from_text("twin.race", text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let of = model.program.globals.enumerate().find(|(_, global)| global.name == "result").expect("a result").0;
    let plan = SearchPlan { observe: [of].into(), ..SearchPlan::new(&model) };
    let found = explore(&plan, SearchContext { stop: &AtomicBool::new(false), progress: &NoSearchProgress });
    assert!(found.complete(), "{:?}", found.cut);
    let value = |end: &RunResult| match end.values[&of] {
        EndValue::Word(value) => value,
        ref other => panic!("no number: {other:?}"),
    };
    found.ends.keys().map(|found| end(&found.ended.kind, || value(&found.ended))).collect()
}

fn agree(name: &str, model: &str, rust: impl Fn() -> i64 + Send + Sync + 'static, expected: &[End]) {
    let (of_model, of_rust) = (of_model(model), of_rust(rust));
    assert_eq!(of_model, of_rust, "{name}: model and Rust");
    assert_eq!(of_rust, expected.iter().copied().collect(), "{name}");
}

#[test]
fn a_counter() {
    let model = "var x = 0\nvar result = 0\nthread main { let a = fork add(); let t = x; x = t + 1; join a; result = x }\n\
                 task add() { let t = x; x = t + 1 }";
    let rust = || {
        let x = Arc::new(AtomicI64::new(0));
        let y = x.clone();
        let add = thread::spawn(move || y.store(y.load(SEQ) + 1, SEQ));
        x.store(x.load(SEQ) + 1, SEQ);
        add.join().unwrap();
        x.load(SEQ)
    };
    agree("counter", model, rust, &[End::Result(1), End::Result(2)]);
}

#[test]
fn a_locked_counter() {
    let model = "var x = 0\nmutex m\nvar result = 0\nthread main { let a = fork add(); sync m { x += 1 }; join a; result = x }\n\
                 task add() { sync m { x += 1 } }";
    let rust = || {
        let x = Arc::new(Mutex::new(0));
        let y = x.clone();
        let add = thread::spawn(move || *y.lock().unwrap() += 1);
        *x.lock().unwrap() += 1;
        add.join().unwrap();
        Arc::into_inner(x).unwrap().into_inner().unwrap()
    };
    agree("locked counter", model, rust, &[End::Result(2)]);
}

#[test]
fn two_locks_in_two_orders() {
    let model = "mutex a\nmutex b\nvar result = 0\nthread main { let t = fork other(); sync a { sync b { skip } }; join t; result = 7 }\n\
                 task other() { sync b { sync a { skip } } }";
    let rust = || {
        let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        let (a2, b2) = (a.clone(), b.clone());
        let other = thread::spawn(move || {
            let _b = b2.lock().unwrap();
            let _a = a2.lock().unwrap();
        });
        {
            let _a = a.lock().unwrap();
            let _b = b.lock().unwrap();
        }
        other.join().unwrap();
        7
    };
    agree("two locks", model, rust, &[End::Result(7), End::Deadlock]);
}

#[test]
fn a_window_between_two_writes() {
    let model = "var x = 1\nvar result = 0\nthread main { let r = fork read(); x = 0; x = 1; join r; result = x }\n\
                 task read() { if x == 0 { fail \"in the window\" } }";
    let rust = || {
        let x = Shared::new(1);
        let y = x.clone();
        let read = thread::spawn(move || assert!(y.get() != 0, "in the window"));
        x.set(0);
        x.set(1);
        read.join().unwrap();
        x.get()
    };
    agree("window", model, rust, &[End::Result(1), End::Failure]);
}

#[test]
fn a_hand_over_by_a_condition() {
    for looks in [true, false] {
        let wait = if looks { "while full == 0 { wait m }" } else { "wait m" };
        let model = format!(
            "lock m\nvar full = 0\nvar result = 0\nthread main {{ let t = fork put(); sync m {{ {wait}; full = 0 }}; join t; result = 3 }}\n\
             task put() {{ sync m {{ full = 1; notify m }} }}"
        );
        let rust = move || {
            let shared = Arc::new((Mutex::new(false), Condvar::new()));
            let other = shared.clone();
            let put = thread::spawn(move || {
                let mut full = other.0.lock().unwrap();
                *full = true;
                other.1.notify_one();
            });
            let mut full = shared.0.lock().unwrap();
            if looks {
                while !*full {
                    full = shared.1.wait(full).unwrap();
                }
            } else {
                full = shared.1.wait(full).unwrap();
            }
            *full = false;
            drop(full);
            put.join().unwrap();
            3
        };
        let all = [End::Result(3), End::Deadlock];
        agree("hand-over", &model, rust, if looks { &all[..1] } else { &all });
    }
}

#[test]
fn a_bounded_buffer() {
    let model = "channel c: int[1]\nvar result = 0\nthread main { let t = fork put(); let a = recv c; let b = recv c; join t; result = a * 10 + b }\n\
                 task put() { send c 1; send c 2 }";
    let rust = || {
        let (sender, receiver) = sync_channel(1);
        let put = thread::spawn(move || (1..3).for_each(|item| sender.send(item).unwrap()));
        let (a, b) = (receiver.recv().unwrap(), receiver.recv().unwrap());
        put.join().unwrap();
        a * 10 + b
    };
    agree("buffer", model, rust, &[End::Result(12)]);
}

#[test]
fn posts_to_a_looper() {
    // Two posts of one thread run in order; one of another thread comes before, between or after them.
    let model = "looper ui\nvar result = 0\ntask add(i) { result = result * 10 + i }\n\
                 thread main { let t = fork other(); post add(1) to ui; post add(2) to ui; join t; quit ui safely; join ui }\n\
                 task other() { post add(3) to ui }";
    let rust = || {
        let (ui, result) = (HandlerThread::start(), Shared::new(0));
        let add = |result: &Shared<i64>, i: i64| {
            let result = result.clone();
            move || result.with_mut(|result| *result = *result * 10 + i)
        };
        let (handler, third) = (ui.handler(), add(&result, 3));
        let other = thread::spawn(move || _ = handler.post(third));
        ui.handler().post(add(&result, 1));
        ui.handler().post(add(&result, 2));
        other.join().unwrap();
        ui.quit_safely();
        ui.join();
        result.get()
    };
    agree("posts", model, rust, &[End::Result(123), End::Result(132), End::Result(312)]);
}

#[test]
fn a_delayed_post() {
    // The delayed message comes later than the other one, unless time has passed before that was posted.
    let model = "looper ui\nvar result = 0\ntask add(i) { result = result * 10 + i }\n\
                 thread main { post add(1) to ui after 10; post add(2) to ui; sleep 20; quit ui safely; join ui }";
    let rust = || {
        let (ui, result) = (HandlerThread::start(), Shared::new(0));
        let add = |result: &Shared<i64>, i: i64| {
            let result = result.clone();
            move || result.with_mut(|result| *result = *result * 10 + i)
        };
        ui.handler().post_delayed(Duration::from_millis(10), add(&result, 1));
        ui.handler().post(add(&result, 2));
        thread::sleep(Duration::from_millis(20));
        ui.quit_safely();
        ui.join();
        result.get()
    };
    agree("delayed post", model, rust, &[End::Result(12), End::Result(21)]);
}
