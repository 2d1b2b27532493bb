//! The table of detectors.
//!
//! A new detector is a file in `traces` with a type that implements [`Detector`], and a row in [`DETECTORS`]. The
//! command line (`--detector`, `analyze --rules`), the names in JSON and the table in `docs/detectors.md` are taken
//! from the rows.

use crate::detect::DetectorId;
use crate::detect::traces::causality::Cafa;
use crate::detect::traces::detector::{Detector, run};
use crate::detect::traces::fasttrack::FastTrack;
use crate::detect::traces::happens_before::{Analysis, HappensBefore, Options, SourceRules, TooLarge};
use crate::detect::traces::hybrid_trace::HybridTrace;
use crate::trace::Trace;
use std::sync::atomic::AtomicBool;

/// Creates a detector for a trace.
pub type Make = for<'t> fn(&'t Trace, Options) -> Box<dyn Detector + 't>;

/// A row of the table of detectors.
#[derive(Clone, Copy, Debug)]
pub struct DetectorRow {
    /// Name of the detector in `--detector` and in JSON.
    pub name: &'static str,
    /// Help for its name in `--detector`; `None` if the detector does not observe runs, so that only `analyze` has it.
    pub help: Option<&'static str>,
    /// Its rules in `analyze`; `None` if the detector reads no trace.
    pub rules: Option<Rules>,
    /// Name of the detector in the documentation.
    pub heading: &'static str,
    /// Input of the detector, for the documentation.
    pub reads: &'static str,
    /// The order that the detector knows, for the documentation.
    pub order: &'static str,
    /// What the detector finds, for the documentation.
    pub finds: &'static str,
}

/// What `analyze` knows of a detector.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Name of the rules in `--rules`.
    pub name: &'static str,
    /// Help for the name.
    pub help: &'static str,
    /// Name of the rules in reports.
    pub title: &'static str,
    /// Whether races have ranks, so that pairs that only locks and signals order are found as well.
    pub has_ranks: bool,
    /// Whether it is computed which races cover which.
    pub has_coverage: bool,
    /// Whether use-free races are found and filtered, and [`Options::external`] counts.
    pub has_filters: bool,
    /// Creates the detector for a trace.
    pub make: Make,
}

/// All detectors.
pub static DETECTORS: [DetectorRow; 6] = [
    DetectorRow {
        name: "hybrid",
        help: Some("Lock sets and the order that holds in every run; it misses the fewest pairs"),
        rules: Some(Rules {
            name: "hybrid",
            help: "Lock sets and the order that holds in every run; it misses the fewest pairs",
            title: "hybrid detection",
            has_ranks: true,
            has_coverage: false,
            has_filters: false,
            make: |trace, _| Box::new(HybridTrace::new(trace)),
        }),
        heading: "hybrid (RaceFuzzer, phase 1)",
        reads: "the run of a model, or any trace",
        order: "the orders that every run has: program order in a thread or task, fork, join, post to begin, enable to \
                firing, FIFO and NOPRE of ordered posts, barriers; and lock sets",
        finds: "the most pairs",
    },
    DetectorRow {
        name: "droidracer",
        help: Some("DroidRacer's happens-before for loopers, with locks and signals"),
        rules: Some(Rules {
            name: "printed",
            help: "The rules that the paper on DroidRacer prints",
            title: "DroidRacer's rules, as printed",
            has_ranks: true,
            has_coverage: true,
            has_filters: false,
            make: |trace, options| Box::new(HappensBefore::new(trace, options)),
        }),
        heading: "DroidRacer",
        reads: "any trace",
        order: "the same orders, and those of locks and signals, each only between threads; the relation is only \
                partly transitive",
        finds: "fewer pairs; more of them are real",
    },
    DetectorRow {
        name: "source",
        help: None,
        rules: Some(Rules {
            name: "source",
            help: "The rules that the source of DroidRacer applies",
            title: "DroidRacer's rules, as in its source",
            has_ranks: false,
            has_coverage: false,
            has_filters: false,
            make: |trace, _| Box::new(SourceRules::new(trace)),
        }),
        heading: "DroidRacer's program",
        reads: "any trace of at most 40,000 nodes",
        order: "the rules of the published program, which differ from the printed ones",
        finds: "the races that DroidRacer itself reports",
    },
    DetectorRow {
        name: "fasttrack",
        help: Some("FastTrack: only threads race, and a looper runs its tasks in order"),
        rules: Some(Rules {
            name: "fasttrack",
            help: "The rules of FastTrack: only threads race, and a looper runs its tasks in order",
            title: "FastTrack",
            has_ranks: false,
            has_coverage: false,
            has_filters: false,
            make: |trace, _| Box::new(FastTrack::new(trace)),
        }),
        heading: "FastTrack",
        reads: "any trace",
        order: "vector clocks of threads; the tasks of a looper are in program order",
        finds: "races between threads only",
    },
    DetectorRow {
        name: "cafa",
        help: Some("CAFA's use-free races: a reference is freed, and another task or thread uses it"),
        rules: Some(Rules {
            name: "cafa",
            help: "CAFA's order, in which only what the queue forces orders the tasks of a looper: use-free races",
            title: "CAFA's order",
            has_ranks: false,
            has_coverage: false,
            has_filters: true,
            make: |trace, options| Box::new(Cafa::new(trace, false, options.external)),
        }),
        heading: "CAFA",
        reads: "any trace",
        order: "a transitive relation: program order, fork, join, signals, posts, atomicity of tasks, and the rules of \
                queues, also for posts to the front; no order of locks",
        finds: "uses and frees of one reference; in traces that do not mark them, all races",
    },
    DetectorRow {
        name: "cafa-printed",
        help: None,
        rules: Some(Rules {
            name: "cafa-printed",
            help: "CAFA's order, with only the rules that its paper prints",
            title: "CAFA's order, as printed",
            has_ranks: false,
            has_coverage: false,
            has_filters: true,
            make: |trace, options| Box::new(Cafa::new(trace, true, options.external)),
        }),
        heading: "CAFA, as printed",
        reads: "any trace",
        order: "the same without the two rules that the paper lacks",
        finds: "slightly more pairs",
    },
];

impl DetectorId {
    /// Returns all detectors, in the order of the table.
    pub fn all() -> impl Iterator<Item = DetectorId> {
        (0..DETECTORS.len() as u8).map(DetectorId)
    }

    /// Returns the detectors that observe runs, in the order of the table.
    pub fn of_runs() -> impl Iterator<Item = DetectorId> {
        Self::all().filter(|id| id.row().is_some_and(|row| row.help.is_some()))
    }

    /// Returns the detector of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<DetectorId> {
        Self::all().find(|id| id.name() == name)
    }

    /// Returns the rules by which the detector reads a trace, if it reads one.
    #[must_use]
    pub fn rules(self) -> Option<&'static Rules> {
        self.row()?.rules.as_ref()
    }

    /// Returns the row of the detector; `None` for [`DetectorId::SEARCH`].
    #[must_use]
    pub fn row(self) -> Option<&'static DetectorRow> {
        DETECTORS.get(usize::from(self.0))
    }

    /// Returns the detector's name: `hybrid`, `droidracer`, `fasttrack`, `exhaustive search`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().map_or("exhaustive search", |row| row.name)
    }
}

impl Rules {
    /// Returns the races that the detector finds in a trace. `None` if `stop` was set.
    ///
    /// # Errors
    ///
    /// Returns [`TooLarge`] if the trace is too large for the detector.
    ///
    /// # Examples
    ///
    /// ```
    /// use raceflip::detect::{DetectorId, happens_before::Options};
    /// use raceflip::trace::{Action, Builder, SiteNo};
    /// # use std::sync::atomic::AtomicBool;
    /// # let stop = AtomicBool::new(false);
    ///
    /// let mut builder = Builder::new();
    /// let (main, worker) = (builder.thread("main"), builder.thread("worker"));
    /// let x = builder.location("x", "x");
    /// for (thread, action) in [(main, Action::Fork(worker)), (worker, Action::Write(x)), (main, Action::Read(x))] {
    ///     builder.push(thread, action, SiteNo::NONE, 0)?;
    /// }
    /// let trace = builder.finish();
    /// for rules in DetectorId::all().filter_map(DetectorId::rules) {
    ///     let found = rules.analyze(&trace, Options::default(), &stop)?.expect("nobody stops it");
    ///     assert_eq!(found.races.len(), 1, "{}", rules.name);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn analyze(&self, trace: &Trace, options: Options, stop: &AtomicBool) -> Result<Option<Analysis>, TooLarge> {
        run(trace, (self.make)(trace, options), stop)
    }
}

#[cfg(test)]
mod tests {
    use super::{DETECTORS, DetectorId, DetectorRow};
    use std::collections::BTreeSet;

    fn line(row: &DetectorRow) -> String {
        let DetectorRow { heading, reads, order, finds, .. } = row;
        let name = match row.help {
            Some(_) if DetectorId::named(row.name) == Some(DetectorId::HYBRID) => "`hybrid`, the default".to_owned(),
            Some(_) => format!("`{}`", row.name),
            None => "-".to_owned(),
        };
        let rules = match row.rules.map(|rules| rules.name) {
            Some("printed") => "`printed`, the default".to_owned(),
            Some(rules) => format!("`{rules}`"),
            None => "-".to_owned(),
        };
        format!("| {heading} | {name} | {rules} | {reads} | {order} | {finds} |\n")
    }

    #[test]
    fn the_page_about_detectors_has_the_rows_of_the_table() {
        let page = include_str!("../../docs/detectors.md");
        let table = "| detector | `--detector` | `--rules` | reads | order that it knows | finds |\n".to_owned()
            + "|---|---|---|---|---|---|\n"
            + &DETECTORS.iter().map(line).collect::<String>();
        assert!(page.contains(&table), "docs/detectors.md needs this table:\n{table}");
    }

    #[test]
    fn each_name_has_one_row_and_the_constants_name_theirs() {
        let names: BTreeSet<&str> = DETECTORS.iter().map(|row| row.name).collect();
        let rules: BTreeSet<&str> = DETECTORS.iter().filter_map(|row| Some(row.rules?.name)).collect();
        assert_eq!(
            (names.len(), rules.len()),
            (DETECTORS.len(), DETECTORS.iter().filter(|row| row.rules.is_some()).count())
        );
        assert!(DETECTORS.len() < usize::from(u8::MAX));
        assert_eq!((DetectorId::HYBRID.name(), DetectorId::SEARCH.name()), ("hybrid", "exhaustive search"));
        assert_eq!(DetectorId::named("hybrid"), Some(DetectorId::HYBRID));
        let of_runs: Vec<&str> = DetectorId::of_runs().map(DetectorId::name).collect();
        assert_eq!(of_runs, ["hybrid", "droidracer", "fasttrack", "cafa"]);
    }
}
