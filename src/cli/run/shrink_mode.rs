//! Decides whether a run is shrunk, and prints how much smaller it became.

use crate::base::counted;
use crate::cli::io::load::Model;
use crate::cli::io::output::{BOLD, Output, paint};
use crate::event::Outcome;
use crate::shrink::{Effort, ShrinkResult, Size, shrink};
use crate::token::Token;
use std::sync::atomic::AtomicBool;

/// Handling of the size of a run.
pub(in crate::cli) enum ShrinkMode {
    /// The run is reported as it was performed.
    Off,
    /// If the run fails, a smaller run is reported in its place.
    IfItFails,
    /// The run is the shrunk form of one that `raceflip run` has drawn.
    Drawn(Box<ShrinkResult>),
    /// The run is the shrunk form of a token that the user wanted to shrink.
    Asked(Box<ShrinkResult>),
}

/// Returns a smaller run with the same failure, if one is found quickly.
pub(in crate::cli) fn smaller(
    model: &Model,
    token: &Token,
    outcome: &Outcome,
    stop: &AtomicBool,
) -> Option<Box<ShrinkResult>> {
    if matches!(outcome, Outcome::Ok | Outcome::Limit(..)) {
        return None;
    }
    let shrunk = shrink(&**model, token, Effort::QUICK, stop).ok()?;
    (shrunk.is_smaller() && !shrunk.interrupted).then(|| Box::new(shrunk))
}

/// Formats sizes, as in `from 12 deviations and 41 steps to 1 and 9`. Deviations come first, since they count first:
/// the smaller run may have more steps.
pub(in crate::cli) fn sizes(before: Size, after: Size) -> String {
    let (steps, deviations) = (counted(before.steps, "step"), counted(before.deviations, "deviation"));
    if before == after {
        return format!("{deviations} and {steps}; no smaller run was found");
    }
    format!("from {deviations} and {steps} to {} and {}", after.deviations, after.steps)
}

// Maximum number of deviations that are printed.
const SHOWN: usize = 10;

/// Prints how much smaller the run has become. If the user asked to shrink it, its remaining deviations follow.
pub(in crate::cli) fn print(out: &mut Output, shrinking: &ShrinkMode) {
    match shrinking {
        ShrinkMode::Off | ShrinkMode::IfItFails => {}
        ShrinkMode::Drawn(s) => {
            let sizes = sizes(s.before, s.after);
            let more = if s.fewest { "" } else { "; `raceflip shrink` tries harder" };
            writeln!(out, "{} {sizes}; --no-shrink shows the run as it was found{more}", paint(BOLD, "shrunk"));
        }
        ShrinkMode::Asked(s) => {
            let sizes = sizes(s.before, s.after);
            let fewest = if s.fewest { "; minimal: no run with fewer deviations ends this way" } else { "" };
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
