//! What the tests share.

use raceflip::exec::{NoObserver, run};
use raceflip::native::{CheckFailure, CheckReport, Checker, NativeProgram};
use raceflip::sched::RandomWalk;
use raceflip::world::{Limits, Program};
use std::collections::BTreeSet;

/// Checks a closure with few runs, under a fixed name.
pub(crate) fn checked(f: impl Fn() + Send + Sync + 'static) -> Result<CheckReport, Box<CheckFailure>> {
    Checker::new().name("test").runs(300).try_check(f)
}

/// Returns the failure of a closure that has one.
pub(crate) fn failure(f: impl Fn() + Send + Sync + 'static) -> Box<CheckFailure> {
    checked(f).expect_err("some run fails")
}

/// Asserts that no run of a closure fails.
#[track_caller]
pub(crate) fn passes(f: impl Fn() + Send + Sync + 'static) {
    if let Err(failure) = checked(f) {
        panic!("{failure}");
    }
}

/// Returns the results of many random runs of a program.
pub(crate) fn outcomes<R: Ord + Send + 'static>(f: impl Fn() -> R + Send + Sync + 'static) -> BTreeSet<R> {
    let all = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let seen = all.clone();
    let program = NativeProgram::new("outcomes", move || _ = seen.lock().unwrap().insert(f()));
    let mut machine = program.machine(Limits::default());
    let never = std::sync::atomic::AtomicBool::new(false);
    for seed in 0..500 {
        run(&mut machine, &mut RandomWalk::new(), seed, &mut NoObserver, &never);
    }
    drop(machine);
    drop(program);
    std::sync::Arc::into_inner(all).unwrap().into_inner().unwrap()
}
