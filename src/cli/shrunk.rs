//! Whether a run is shrunk, and how that is told.

use super::check::counted;
use super::load::Model;
use super::output::{BOLD, Output, paint};
use crate::event::Outcome;
use crate::shrink::{Effort, Shrunk, Size, shrink};
use crate::token::Token;
use std::sync::atomic::AtomicBool;

/// What is done about the size of a run.
pub(super) enum Shrinking {
    /// Nothing: it is told as it was made.
    Off,
    /// If it fails, a smaller run is told in its place.
    IfItFails,
    /// It is what is left of the run that `raceflip run` has drawn.
    Drawn(Box<Shrunk>),
    /// It is what is left of a token that was to be shrunk.
    Asked(Box<Shrunk>),
}

/// A smaller run that fails in the same way, if there is one that is found in a moment.
pub(super) fn smaller(model: &Model, token: &Token, outcome: &Outcome, stop: &AtomicBool) -> Option<Box<Shrunk>> {
    if matches!(outcome, Outcome::Ok | Outcome::Limit(..)) {
        return None;
    }
    let shrunk = shrink(&model.code, token, Effort::QUICK, stop).ok()?;
    (shrunk.is_smaller() && !shrunk.interrupted).then(|| Box::new(shrunk))
}

/// `from 12 deviations and 41 steps to 1 and 9`: deviations first, since they come first; there may be more steps.
pub(super) fn sizes(before: Size, after: Size) -> String {
    let (steps, deviations) = (counted(before.steps, "step"), counted(before.deviations, "deviation"));
    if before == after {
        return format!("{deviations} and {steps}, and nothing smaller was found");
    }
    format!("from {deviations} and {steps} to {} and {}", after.deviations, after.steps)
}

// Deviations that are told.
const SHOWN: usize = 10;

/// Says how much smaller the run has become; of one that was to be shrunk also what is left to deviate.
pub(super) fn print(out: &mut Output, shrinking: &Shrinking) {
    match shrinking {
        Shrinking::Off | Shrinking::IfItFails => {}
        Shrinking::Drawn(s) => {
            let sizes = sizes(s.before, s.after);
            let more = if s.fewest { "" } else { ", `raceflip shrink` tries harder" };
            writeln!(out, "{} {sizes}; --no-shrink shows the run as drawn{more}", paint(BOLD, "shrunk"));
        }
        Shrinking::Asked(s) => {
            let sizes = sizes(s.before, s.after);
            let fewest = if s.fewest { "; no run ends so with fewer" } else { "" };
            let head = if s.is_smaller() { "shrunk" } else { "not shrunk:" };
            writeln!(out, "{} {sizes} ({} tried{fewest})", paint(BOLD, head), counted(s.runs, "run"));
            for d in s.departures.iter().take(SHOWN) {
                writeln!(out, "  step {}: {}, instead of {}", d.step + 1, &d.took, &d.instead_of);
            }
            if s.departures.len() > SHOWN {
                writeln!(out, "  and {} more deviations", s.departures.len() - SHOWN);
            }
        }
    }
}
