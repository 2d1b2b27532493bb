//! Code of published crates under test (`harnesses/rust`): each bug that a crate once had is found and replayed, and
//! the repaired version passes.

use raceflip::native::sync::Arc;
use raceflip::native::{Checker, thread};

/// What the code of `spin` uses of its own crate.
#[allow(dead_code, reason = "the code under test uses it")]
mod seam {
    pub(super) mod atomic {
        pub(in super::super) use raceflip::native::sync::atomic::{AtomicU8, Ordering};
    }

    pub(super) trait RelaxStrategy {
        fn relax();
    }

    pub(super) struct Spin;

    impl RelaxStrategy for Spin {
        fn relax() {
            raceflip::native::hint::spin_loop();
        }
    }
}

#[allow(unsafe_code, warnings, clippy::all, reason = "code of another package")]
#[path = "../../harnesses/rust/spin/once_0_9_7.rs"]
#[rustfmt::skip]
mod once_0_9_7;

#[allow(unsafe_code, warnings, clippy::all, reason = "code of another package")]
#[path = "../../harnesses/rust/spin/once_0_9_8.rs"]
#[rustfmt::skip]
mod once_0_9_8;

// Two threads initialize a value. The first one to try fails, and the other one tries again or waits for it.
macro_rules! once {
    ($once:ident) => {
        || {
            let once = Arc::new($once::Once::<u32, seam::Spin>::new());
            let other = once.clone();
            let fails = thread::spawn(move || other.try_call_once(|| Err::<u32, ()>(())).copied());
            let value = once.try_call_once(|| Ok::<u32, ()>(7)).copied();
            assert_eq!(value, Ok(7));
            assert!([Ok(7), Err(())].contains(&fails.join().unwrap()));
        }
    };
}

#[test]
fn an_initialization_of_spin_that_fails_while_another_thread_waits() {
    let checker = || Checker::new().name("once");
    let failure = checker().try_check(once!(once_0_9_7)).expect_err("the advisory says so");
    assert!(failure.what.contains("Encountered INCOMPLETE when polling Once"), "{failure}");
    let again = checker().replay(&failure.token, once!(once_0_9_7)).expect_err("it is replayed");
    assert_eq!(again.what, failure.what);
    if let Err(failure) = checker().try_check(once!(once_0_9_8)) {
        panic!("{failure}");
    }
    let all = checker().preemptions(3).runs(20_000).try_check(once!(once_0_9_8));
    assert!(all.is_ok(), "{}", all.unwrap_err());
}

#[test]
fn code_of_other_packages_has_its_licence() {
    let folders = std::fs::read_dir("harnesses/rust").unwrap().map(|entry| entry.unwrap().path());
    for folder in folders.filter(|path| path.is_dir()) {
        let licence = std::fs::read_to_string(folder.join("LICENSE")).unwrap_or_default();
        assert!(licence.contains("Permission is hereby granted"), "{}", folder.display());
        for file in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(
                file.ends_with("LICENSE") || text.lines().next().unwrap().contains("licence"),
                "{}",
                file.display()
            );
        }
    }
}
