//! Bounds of a search as they are typed, its timer and its progress.

use super::super::timer::duration;
use crate::explore::{Bounds, MOST_STATES, Progress, Status};
use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Where the search ends if the states do not.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Bounds of the search (where one cuts it the answer says so)")]
pub(super) struct BoundArgs {
    /// States [default: 10000000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_STATES))]
    states: Option<u64>,
    /// Steps from the start
    #[arg(long, value_name = "N")]
    most_steps: Option<u32>,
    /// Memory, as in `512M` or `8G` [default: 4G]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,
    /// Time, as in `30s`, `10m` or `1h`
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) time: Option<Duration>,
}

impl BoundArgs {
    pub(super) fn resolve(&self) -> Bounds {
        let d = Bounds::default();
        Bounds {
            states: self.states.unwrap_or(d.states),
            depth: self.most_steps.unwrap_or(d.depth),
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
        _ => return Err(format!("`{unit}` is no unit of memory: write 512M or 8G")),
    };
    let number: u64 = number.parse().map_err(|_| "write a whole number and a unit, as in 512M or 8G".to_owned())?;
    number.checked_mul(factor).filter(|n| *n > 0).ok_or_else(|| format!("`{text}` is out of range"))
}

/// How far the search is, on stderr, if that is a terminal.
pub(super) struct Bar {
    bar: ProgressBar,
    // When this phase began.
    start: Mutex<Instant>,
}

impl Bar {
    pub(super) fn new() -> Self {
        let target =
            if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{elapsed} {prefix}{msg}") {
            bar.set_style(style);
        }
        Self { bar, start: Mutex::new(Instant::now()) }
    }

    /// What is done after the search itself; each starts to count anew.
    pub(super) fn phase(&self, what: &'static str) {
        *self.start.lock() = Instant::now();
        self.bar.set_message("");
        self.bar.set_prefix(format!("{what}: "));
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Bar {
    fn at(&self, status: &Status) {
        if self.bar.is_hidden() {
            return;
        }
        let Status { states, frontier, memory, depth, .. } = *status;
        let rate = states as f64 / self.start.lock().elapsed().as_secs_f64().max(0.001);
        self.bar.set_message(format!(
            "{} states, {}/s, {} to look at, depth {depth}, {}",
            HumanCount(states),
            HumanCount(rate as u64),
            HumanCount(frontier),
            HumanBytes(memory)
        ));
        self.bar.tick();
    }
}
