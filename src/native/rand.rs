//! Random values that belong to the run: the scheduler chooses them, so a token replays them, and a search through all
//! runs takes every one.

use super::run::perform;
use super::sync::value;
use crate::event::{Op, SiteKind};
use std::panic::Location;

/// Returns true or false.
#[track_caller]
pub fn coin() -> bool {
    value(perform(Op::Branch, SiteKind::Branch, "", Location::caller())) != 0
}

/// Returns a number below `n`.
///
/// # Panics
///
/// `n` is 0.
#[track_caller]
pub fn below(n: u32) -> u32 {
    assert!(n > 0, "there is no number below 0");
    let chosen = perform(Op::Choose { from: 0, values: n }, SiteKind::Choose, "", Location::caller());
    u32::try_from(value(chosen)).unwrap_or(0)
}
