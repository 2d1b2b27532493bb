//! Defines the bounds of a search on the command line, and its progress bar.

use crate::cli::args::head;
use crate::cli::io::timer::duration;
use crate::explore::{Bounds, MOST_STATES, SearchProgress, SearchStatus};
use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Bounds at which a search ends even if there are more states.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct BoundArgs {
    /// Number of states [default: 10000000]
    #[arg(long, alias = "explore-limit", value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_STATES), help_heading = head::BOUNDS)]
    states: Option<u64>,
    /// Number of steps from the start
    #[arg(long, alias = "most-steps", value_name = "N", help_heading = head::BOUNDS)]
    search_depth: Option<u32>,
    /// Size of the memory, as in `512M` or `8G` [default: 4G]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = head::BOUNDS)]
    memory: Option<u64>,
    /// Stop after this time, as in `30s`, `10m` or `1h`
    ///
    /// The results so far are reported. They depend on the machine, so they are not reproducible.
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = head::EFFORT)]
    pub(super) time: Option<Duration>,
}

impl BoundArgs {
    pub(super) fn resolve(&self) -> Bounds {
        let d = Bounds::default();
        Bounds {
            states: self.states.unwrap_or(d.states),
            depth: self.search_depth.unwrap_or(d.depth),
            memory: self.memory.unwrap_or(d.memory),
        }
    }
}

fn size(text: &str) -> Result<u64, String> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let factor = match unit.trim().trim_end_matches(['B', 'b', 'i']).to_ascii_uppercase().as_str() {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1u64 << 30,
        _ => return Err(format!("`{unit}` is not a unit of memory: write 512M or 8G")),
    };
    let number: u64 = number.parse().map_err(|_| "write a whole number and a unit, as in 512M or 8G".to_owned())?;
    let bytes = number.checked_mul(factor).ok_or_else(|| format!("`{text}` is out of range"))?;
    if bytes == 0 {
        return Err(format!("`{text}` is out of range"));
    }
    if bytes < LEAST_MEMORY {
        let means = if factor == 1 {
            format!("`{text}` means bytes: write {number}M or {number}G; ")
        } else {
            format!("`{text}` is too little: ")
        };
        return Err(format!("{means}a search needs at least 64K"));
    }
    Ok(bytes)
}

// Minimum memory of a search in bytes. Less does not hold a useful table of states.
const LEAST_MEMORY: u64 = 64 << 10;

/// Progress of a search on stderr, if that is a terminal.
pub(super) struct SearchBar {
    bar: ProgressBar,
    // Start of the current phase.
    start: Mutex<Instant>,
}

impl SearchBar {
    pub(super) fn new() -> Self {
        let target =
            if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{elapsed} {prefix}{msg}") {
            bar.set_style(style);
        }
        Self { bar, start: Mutex::new(Instant::now()) }
    }

    /// Begins a phase after the main search. The rate is counted anew.
    pub(super) fn phase(&self, what: &'static str) {
        *self.start.lock() = Instant::now();
        self.bar.set_message("");
        self.bar.set_prefix(format!("{what}: "));
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl SearchProgress for SearchBar {
    fn at(&self, status: &SearchStatus) {
        if self.bar.is_hidden() {
            return;
        }
        let SearchStatus { states, frontier, memory, depth, .. } = *status;
        let rate = states as f64 / self.start.lock().elapsed().as_secs_f64().max(0.001);
        self.bar.set_message(format!(
            "{} states, {}/s, {} to visit, depth {depth}, {}",
            HumanCount(states),
            HumanCount(rate as u64),
            HumanCount(frontier),
            HumanBytes(memory)
        ));
        self.bar.tick();
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_units() {
        assert_eq!((size("1M"), size("4G"), size("512MiB")), (Ok(1 << 20), Ok(4 << 30), Ok(512 << 20)));
        assert!(size("4").is_err_and(|e| e == "`4` means bytes: write 4M or 4G; a search needs at least 64K"));
        assert!(size("4K").is_err_and(|e| e == "`4K` is too little: a search needs at least 64K"));
        assert!(size("4X").is_err_and(|e| e.contains("not a unit of memory")));
        assert!(size("99999999999G").is_err_and(|e| e.contains("out of range")));
    }
}
