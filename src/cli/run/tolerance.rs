//! Prints how closely a tolerant replay followed its recording.

use crate::base::counted;
use crate::cli::io::output::{BAD, BOLD, GOOD, Output, paint};
use crate::formats::result::ReplayFidelity;

/// Prints the result. If the run was stopped early, its end is not compared.
pub(in crate::cli) fn print(out: &mut Output, kept: &ReplayFidelity, stopped: bool) {
    let all = kept.followed.saturating_add(kept.skipped);
    let followed = format!("{} of {} followed", kept.followed, counted(all, "recorded choice"));
    let moved = if kept.moved > 0 { format!(" ({} before their turn)", kept.moved) } else { String::new() };
    let rest = format!("{} skipped, {} inserted", kept.skipped, counted(kept.inserted, "step"));
    writeln!(out, "{}: {followed}{moved}, {rest}", paint(BOLD, "tolerant replay"));
    for departure in &kept.departures {
        writeln!(out, "  step {}: {}", departure.step, &departure.what);
    }
    if kept.more_departures > 0 {
        writeln!(out, "  and {} more departures", kept.more_departures);
    }
    if stopped {
        return;
    }
    let recorded = &kept.recorded_signature;
    if kept.same {
        writeln!(out, "  {}: {recorded}", paint(GOOD, "the run ends like the recorded run"));
    } else {
        writeln!(out, "  {}: {recorded}", paint(BAD, "the run does not end like the recorded run"));
    }
}
