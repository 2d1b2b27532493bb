//! Contains what `detect` and `confirm` share: their options, their progress bar, and names of pairs.

use super::args::{DefineArgs, JobArgs, LimitArgs, SeedArgs, head};
use super::check::counted;
use super::load::Model;
use super::outcome::limit_text;
use super::output::Output;
use crate::base::clean;
use crate::campaign::{self, FailureReport, Phase1};
use crate::detect::{ContextKind, DetectorId, Pair};
use crate::event::SiteId;
use crate::formats::campaign::context;
pub(super) use crate::formats::failure_place::ending;
use crate::formats::report::words;
use clap::ValueEnum;
use clap::builder::{PossibleValue, RangedI64ValueParser};
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Returns the parser for numbers of runs. The range bounds the memory, since the findings of all runs of a pair are
/// kept until it is judged. A longer campaign is another one, with another seed.
pub(super) fn number_of_runs() -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=100_000)
}

/// Options of a campaign.
#[derive(clap::Args, Debug)]
pub(super) struct CampaignArgs {
    #[command(flatten)]
    seed: SeedArgs,
    /// Minimum number of detection runs; they continue until two thirds of them found nothing new
    #[arg(long, value_name = "N", default_value_t = campaign::CampaignPlan::RUNS, value_parser = number_of_runs(), help_heading = head::EFFORT)]
    runs: u32,
    /// Maximum number of potential pairs of one location; the result says if some are left out
    #[arg(long, value_name = "N", default_value_t = campaign::CampaignPlan::MOST_PAIRS, value_parser = clap::value_parser!(u32).range(1..), help_heading = head::EFFORT)]
    most_pairs: u32,
    /// Detector of potential pairs (`all`: the union of all); the others report fewer pairs than `hybrid`, more of
    /// them real
    #[arg(long, value_enum, default_value_t, value_name = "DETECTOR", help_heading = head::EFFORT)]
    pub(super) detector: DetectorArg,
    #[command(flatten)]
    pub(super) jobs: JobArgs,
    #[command(flatten)]
    pub(super) defines: DefineArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

impl CampaignArgs {
    /// Returns the plan of the campaign for this model.
    pub(super) fn plan(&self, model: &Model, trials: campaign::TrialPlan) -> campaign::CampaignPlan {
        campaign::CampaignPlan {
            limits: self.limits.resolve(),
            seed: self.seed.seed,
            jobs: workers(self.jobs.jobs),
            detection: campaign::DetectionPlan {
                runs: self.runs,
                most_pairs: self.most_pairs,
                detectors: self.detector.resolve(),
            },
            trials,
            ..campaign::CampaignPlan::new(model)
        }
    }
}

/// Detectors of a campaign, the value of `--detector`: one of them, or all (`None`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct DetectorArg(Option<DetectorId>);

impl Default for DetectorArg {
    fn default() -> Self {
        Self(Some(DetectorId::HYBRID))
    }
}

impl DetectorArg {
    pub(super) fn resolve(self) -> Vec<DetectorId> {
        self.0.map_or_else(|| DetectorId::of_runs().collect(), |by| vec![by])
    }
}

impl ValueEnum for DetectorArg {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<DetectorArg>> =
            LazyLock::new(|| DetectorId::of_runs().map(Some).chain([None]).map(DetectorArg).collect());
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let Some(by) = self.0 else { return Some(PossibleValue::new("all").help("All of them")) };
        Some(PossibleValue::new(by.name()).help(by.row()?.help?))
    }
}

/// Returns the number of workers: as many as were asked for, or one for each core.
pub(super) fn workers(jobs: Option<u16>) -> usize {
    jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, NonZeroUsize::get), usize::from)
}

/// Progress bar on stderr, if that is a terminal.
pub(super) struct CampaignBar {
    bar: ProgressBar,
}

impl CampaignBar {
    /// Creates a bar that counts runs, variants and so on.
    pub(super) fn new(what: &str) -> Self {
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

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Sets the text before the bar.
    pub(super) fn say(&self, what: String) {
        self.bar.set_message(clean(&what));
    }

    /// Calls `print` while the bar is hidden.
    pub(super) fn suspend(&self, print: impl FnOnce()) {
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
pub(super) struct Runs<'b> {
    bar: &'b CampaignBar,
    done: AtomicU64,
}

impl<'b> Runs<'b> {
    pub(super) fn new(bar: &'b CampaignBar) -> Self {
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

/// Describes an access, as in `:34 write @A`.
pub(super) fn access(model: &Model, site: SiteId) -> String {
    let s = &model.code.setup.sites[site];
    words::statement(s.line, s.kind.word(), s.label.as_deref())
}

/// Describes a pair, as in `:34 write @A ~ :40 read @B`.
pub(super) fn pair(model: &Model, pair: Pair) -> String {
    format!("{} ~ {}", access(model, pair.a), access(model, pair.b))
}

/// Describes the contexts in which a pair was seen: "two threads", "two tasks of one looper".
pub(super) fn kinds(kinds: &BTreeSet<ContextKind>) -> String {
    words::contexts(&kinds.iter().map(context).collect::<Vec<String>>())
}

/// Prints the result of detection in a line, with the residual risk: the probability that one more random walk shows a
/// pair that none has shown.
pub(super) fn potential(out: &mut Output, detectors: &[DetectorId], found: &Phase1) {
    let pairs = counted(found.candidates.len() as u64, "potential pair");
    let runs = counted(u64::from(found.runs), "run");
    let risk = match found.coverage.risk {
        risk if risk.once > 0 => format!("{:.2}", risk.estimate()),
        risk => format!("below {:.2}", 1.0 / f64::from(risk.walks.max(1))),
    };
    let by = match detectors {
        [DetectorId::HYBRID] => "hybrid detection".to_owned(),
        all => all.iter().map(|by| by.name()).collect::<Vec<_>>().join(", "),
    };
    writeln!(out, "{pairs} from {runs} ({by}); residual risk {risk}");
    let searched = found.candidates.iter().filter(|c| c.by.contains(&DetectorId::SEARCH)).count();
    if let Some(all) = found.searched.filter(|all| all.complete && searched > 0) {
        writeln!(out, "{searched} of them found only by a search of all {}", counted(all.states, "state"));
    }
    left_out(out, found);
    limits(out, found);
}

/// Prints the locations and so on of which some pairs are left out.
fn left_out(out: &mut Output, found: &Phase1) {
    const NAMED: usize = 3;
    let mut names: Vec<&str> = found.coverage.left_out.iter().take(NAMED).map(String::as_str).collect();
    let more = found.coverage.left_out.len().saturating_sub(NAMED);
    let others = format!("{more} more");
    if more > 0 {
        names.push(&others);
    }
    if !names.is_empty() {
        writeln!(
            out,
            "some pairs are left out, because there are too many: of {} (`--most-pairs` raises the limit)",
            names.join(", ")
        );
    }
}

/// Prints the limits that cut detection runs short.
fn limits(out: &mut Output, found: &Phase1) {
    for ((kind, limit), runs) in &found.coverage.limits {
        let (runs, all) = (counted(u64::from(*runs), "run"), found.runs);
        writeln!(out, "{runs} of {all} reached the {}", limit_text(*kind, *limit));
    }
}

/// Describes a failure in a line: `NullPointer at :40 in main`, `deadlock a -> b -> a`.
pub(super) fn failure(model: &Model, report: &FailureReport) -> String {
    ending(model, &report.outcome).unwrap_or_else(|| report.signature.clone())
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
