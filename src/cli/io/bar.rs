//! Shows the progress of a campaign, a test or a search on stderr, if that is a terminal.

use crate::base::clean;
use crate::campaign::{self, FuzzProgress};
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Progress bar on stderr, if that is a terminal.
pub(in crate::cli) struct CampaignBar {
    bar: ProgressBar,
    recent: Mutex<Recent>,
}

impl CampaignBar {
    /// Creates a bar that counts runs, variants and so on.
    pub(in crate::cli) fn new(what: &str) -> Self {
        let target =
            if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        let template =
            format!("{{elapsed}} {{msg}} {{bar:30}} {what} {{human_pos}} of {{human_len}}, {{rate}}, {{eta}} left");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style.with_key("rate", |state: &ProgressState, to: &mut dyn std::fmt::Write| {
                // Writing to the bar cannot fail in a way that could be reported.
                let _ = write!(to, "{}", rate(state.per_sec()));
            }));
        }
        // The tick keeps the bar moving during long work between two runs, such as a search. Otherwise the program
        // would seem to hang. Its thread panics if the system provides no more threads, so that is tried first. A
        // hidden bar needs no tick.
        let gives_threads = || std::thread::Builder::new().spawn(|| ()).is_ok_and(|tried| tried.join().is_ok());
        if !bar.is_hidden() && gives_threads() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Self { bar, recent: Mutex::default() }
    }

    pub(in crate::cli) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Sets the text before the bar.
    pub(in crate::cli) fn say(&self, what: String) {
        self.bar.set_message(clean(&what));
    }

    /// Calls `print` while the bar is hidden.
    pub(in crate::cli) fn suspend(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }
}

impl campaign::CampaignProgress for CampaignBar {
    fn phase(&self, name: &str, runs: u64) {
        self.bar.set_message(name.to_owned());
        self.bar.set_length(runs);
        self.bar.set_position(0);
    }

    fn done(&self) {
        self.bar.inc(1);
    }

    fn learned(&self, so_far: &FuzzProgress<'_>) {
        if !self.bar.is_hidden() {
            self.bar.set_message(self.recent.lock().text(Instant::now(), so_far));
        }
    }
}

/// The news of the last minute: numbers of pairs and states together, as they were at earlier instants.
#[derive(Default)]
struct Recent {
    known: VecDeque<(Instant, u64)>,
}

impl Recent {
    // Returns what is known, how much of it is new in the last minute, and the failures.
    fn text(&mut self, now: Instant, so_far: &FuzzProgress<'_>) -> String {
        let all = so_far.pairs.1 + so_far.states;
        // Enough for a minute, however short the rounds are.
        if self.known.back().is_none_or(|(at, _)| now - *at >= Duration::from_secs(1)) {
            self.known.push_back((now, all));
        }
        while self.known.len() > 1 && now - self.known[1].0 >= Duration::from_secs(60) {
            self.known.pop_front();
        }
        let new = all - self.known.front().map_or(0, |(_, before)| *before).min(all);
        let ((possible, seen), count) = (so_far.pairs, HumanCount);
        let mut text = format!(
            "fuzzing: {} of {} pairs, {} states ({} new in a minute), corpus {}",
            count(seen),
            count(possible),
            count(so_far.states),
            count(new),
            count(so_far.corpus),
        );
        for (signature, runs) in so_far.failures.iter().take(MOST_FAILURES) {
            text += &format!(", {} times {}", count(u64::from(*runs)), clean(signature));
        }
        match so_far.failures.len().saturating_sub(MOST_FAILURES) {
            0 => text,
            more => text + &format!(" and {more} other failures"),
        }
    }
}

// Number of failures that the line names.
const MOST_FAILURES: usize = 3;

// Formats a rate, as in `0.42/s`, `7.3/s` and `1,247/s`: without digits that change too fast to read.
fn rate(per_second: f64) -> String {
    match per_second {
        n if n < 1.0 => format!("{n:.2}/s"),
        n if n < 10.0 => format!("{n:.1}/s"),
        n => format!("{}/s", HumanCount(n.round() as u64)),
    }
}

/// Counter of the runs of all variants in progress.
pub(in crate::cli) struct Runs<'b> {
    bar: &'b CampaignBar,
    done: AtomicU64,
}

impl<'b> Runs<'b> {
    pub(in crate::cli) fn new(bar: &'b CampaignBar) -> Self {
        Self { bar, done: AtomicU64::new(0) }
    }
}

impl campaign::CampaignProgress for Runs<'_> {
    fn phase(&self, _: &str, _: u64) {}

    fn done(&self) {
        let n = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if n.is_multiple_of(500) {
            self.bar.say(format!("{n} runs"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Recent, rate};
    use crate::campaign::FuzzProgress;
    use std::time::{Duration, Instant};

    #[test]
    fn the_line_tells_what_is_new_in_a_minute() {
        let (mut recent, start) = (Recent::default(), Instant::now());
        let mut at = |seconds: u64, states, failures: &[(&str, u32)]| {
            let so_far = FuzzProgress { pairs: (20, 7), states, corpus: 3, failures };
            recent.text(start + Duration::from_secs(seconds), &so_far)
        };
        assert_eq!(at(0, 10, &[]), "fuzzing: 7 of 20 pairs, 10 states (0 new in a minute), corpus 3");
        assert!(at(40, 50, &[]).contains("50 states (40 new in a minute)"));
        assert!(at(90, 60, &[]).contains("60 states (50 new in a minute)"));
        assert!(at(1_000, 60, &[("deadlock", 2)]).ends_with("(0 new in a minute), corpus 3, 2 times deadlock"));
        let many = [("a", 1), ("b", 2), ("c", 3), ("d\u{1b}", 4)];
        assert!(at(1_001, 60, &many).ends_with(", 1 times a, 2 times b, 3 times c and 1 other failures"));
    }

    #[test]
    fn rates_are_short() {
        let of = [0.4213, 7.349, 99.6, 1_246.831_8].map(rate);
        assert_eq!(of, ["0.42/s", "7.3/s", "100/s", "1,247/s"]);
    }
}
