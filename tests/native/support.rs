//! What the tests share.

use raceflip::native::{CheckFailure, CheckReport, Checker};

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
