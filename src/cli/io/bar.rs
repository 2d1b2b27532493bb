//! Shows the progress of a campaign, a test or a search on stderr, if that is a terminal.

use crate::base::clean;
use crate::campaign;
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Progress bar on stderr, if that is a terminal.
pub(in crate::cli) struct CampaignBar {
    bar: ProgressBar,
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
        Self { bar }
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
}

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
    use super::rate;

    #[test]
    fn rates_are_short() {
        let of = [0.4213, 7.349, 99.6, 1_246.831_8].map(rate);
        assert_eq!(of, ["0.42/s", "7.3/s", "100/s", "1,247/s"]);
    }
}
