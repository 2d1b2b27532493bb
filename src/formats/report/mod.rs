//! Renders results of `confirm` in the forms that other tools read: CI servers, code scanning, pull requests.
//! `docs/formats.md` describes them.
//!
//! | form | module |
//! |---|---|
//! | JUnit XML: a suite for each model, a case for each pair | [`junit`] |
//! | SARIF 2.1.0: a result for each pair, both orders as code flows | [`sarif`] |
//! | workflow commands that GitHub shows beside the lines | [`github`] |
//! | Markdown for a pull request or a job summary | [`markdown`] |
//!
//! [`tested`] and [`sarif::tested`] have the same forms of the result of `test`.
//!
//! Each form renders a whole campaign: any number of [`ConfirmReport`]s, one for each model and variant, whether they
//! were just computed or read from files. The steps of the runs are not part of a report; they come from a replay, by
//! an implementation of [`Replays`]. Like the text output, these forms contain the pairs that race and the harmful
//! order pairs; the JSON contains all pairs.

pub mod github;
pub mod junit;
pub mod markdown;
mod place;
mod run;
pub mod sarif;
pub mod tested;
pub(crate) mod words;

pub use run::{Run, Step, replayed};

use super::campaign::{About, Access, Again, ConfirmReport, Driven, Fails, Harm, VerdictWord};
use super::shell;
use crate::campaign::same_failure;
use std::collections::BTreeSet;

/// Access to the models of a report, for replays and paths.
pub trait Replays {
    /// Replays the token of a run of this model, and marks the steps of these statements. Returns `None` if the run
    /// cannot be reproduced here, for example because the model is missing or was edited. The report then lacks what
    /// depends on the run.
    fn run(&mut self, about: &About, again: &Again, marked: &[&Access]) -> Option<Run>;

    /// Returns the commands that replay a run.
    fn commands(&mut self, about: &About, again: &Again) -> Vec<String> {
        vec![format!("raceflip replay {} {}", shell::path(&about.file), again.token)]
    }

    /// Returns the path of a model from the top of the repository, or the path as it was typed if no better one is
    /// known.
    fn path(&self, file: &str) -> String {
        file.to_owned()
    }
}

/// An implementation without models: reports have neither steps nor the places of failures that only a replay shows.
///
/// # Examples
///
/// ```
/// use raceflip::campaign::{Context, Plan, Silent, confirm};
/// use raceflip::formats::campaign::ConfirmReport;
/// use raceflip::formats::report::{NoReplays, github, junit, markdown, sarif};
/// # use raceflip::vm::Model;
/// # use std::sync::atomic::AtomicBool;
/// # let text = "var x = 0; thread a { x = 1 }; thread b { x = 2; assert x == 2 }";
/// # let model = Model::from_text("add.race", text, &[])?;
/// # let stop = AtomicBool::new(false);
/// let plan = Plan::new(&model);
/// let found = confirm(&plan, Context { stop: &stop, progress: &Silent });
/// let reports = [ConfirmReport::new("add.race", model.digest(), &plan, &found)];
/// assert!(junit::render(&reports, &[], &mut NoReplays).contains("<testsuite name=\"add.race\""));
/// assert!(sarif::render(&reports, &mut NoReplays).contains("\"version\": \"2.1.0\""));
/// assert!(github::render(&reports, &[], &mut NoReplays).starts_with("::error file=add.race,line=1"));
/// assert!(markdown::render(&reports, &[], &mut NoReplays).contains("| harmful |"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Default, Debug)]
pub struct NoReplays;

impl Replays for NoReplays {
    fn run(&mut self, _: &About, _: &Again, _: &[&Access]) -> Option<Run> {
        None
    }
}

/// A failure of the gate of `--fail-on`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GateFailure {
    /// The condition of the gate: `limits`, for example.
    pub on: String,
    /// Number of occurrences of the condition.
    pub count: u64,
    /// An explanation of the condition: `what comes after a limit is not known`.
    pub why: String,
}

impl GateFailure {
    /// Formats the failure: `the gate failed on limits (3): what comes after a limit is not known`.
    #[must_use]
    pub fn told(&self) -> String {
        format!("the gate failed on {} ({}): {}", self.on, self.count, self.why)
    }
}

/// The importance of a finding, the most important class first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Class {
    /// A confirmed pair of which one order has a failure that the other one does not have.
    Harmful,
    /// A failure that is not the harm of any confirmed pair. It may occur in runs of a confirmed pair, or of none.
    Failure,
    /// A confirmed pair without known harm.
    Real,
    /// A pair that is neither confirmed nor refuted.
    Unconfirmed,
    /// A refuted pair.
    Refuted,
}

/// An entry of a report: a pair or a failure.
pub(crate) struct Finding<'r> {
    report: &'r ConfirmReport,
    pub(crate) class: Class,
    pub(crate) subject: Subject<'r>,
    /// Pairs that belong to the finding. For a harmful pair: later pairs with the same harms, which show the same
    /// failures. For a failure: the confirmed pairs in whose runs it occurs.
    pub(crate) pairs: Vec<&'r Driven>,
}

/// The subject of a finding.
#[derive(Clone, Copy)]
pub(crate) enum Subject<'r> {
    Pair {
        pair: &'r Driven,
        /// Whether the pair is an order pair.
        order: bool,
    },
    /// A failure, and the runs that have it.
    Failure(&'r Fails, Of),
}

/// The runs in which a failure is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Of {
    Detection,
    Trials,
    /// Continuations of one order of a confirmed pair.
    Orders,
}

impl Of {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Of::Detection => "detection run",
            Of::Trials => "trial",
            Of::Orders => "run",
        }
    }
}

pub(crate) fn class(pair: &Driven) -> Class {
    match (&pair.verdict, pair.harm) {
        (VerdictWord::Adjacent | VerdictWord::Flipped { .. }, Harm::Harmful) => Class::Harmful,
        (VerdictWord::Adjacent | VerdictWord::Flipped { .. }, _) => Class::Real,
        (VerdictWord::Refuted { .. }, _) => Class::Refuted,
        (VerdictWord::Unconfirmed, _) => Class::Unconfirmed,
    }
}

/// Returns the findings of a report in their order: pairs, harmful order pairs, and failures that are not the harm of a
/// pair, whatever the verdicts of their pairs. A model that fails in every run has failed, even if no order causes it.
/// A harmful pair with the same harms as an earlier one belongs to the finding of that one.
pub(crate) fn findings(report: &ConfirmReport) -> Vec<Finding<'_>> {
    let of = |order: bool| move |pair| (pair, order);
    let orders = report.order_pairs.iter().filter(|p| class(p) == Class::Harmful);
    let mut told: Vec<Finding<'_>> = Vec::new();
    for (pair, order) in report.pairs.iter().map(of(false)).chain(orders.map(of(true))) {
        match told.iter_mut().find(|lead| shows_the_same(pair, lead)) {
            Some(lead) => lead.pairs.push(pair),
            None => {
                let subject = Subject::Pair { pair, order };
                told.push(Finding { report, class: class(pair), subject, pairs: Vec::new() });
            }
        }
    }
    told.extend(failures(report));
    told
}

fn shows_the_same(pair: &Driven, lead: &Finding<'_>) -> bool {
    let Subject::Pair { pair: first, .. } = lead.subject else { return false };
    let both = class(pair) == Class::Harmful && lead.class == Class::Harmful;
    let ways = |p: &Driven| p.harms.iter().map(|h| same_failure(&h.signature)).collect::<BTreeSet<_>>();
    both && ways(pair) == ways(first)
}

// Returns each failure that is not the harm of a reported pair once, with the confirmed pairs in whose runs it occurs.
fn failures<'r>(report: &'r ConfirmReport) -> Vec<Finding<'r>> {
    let confirmed = move || {
        // Order pairs without harm are not reported.
        let orders = report.order_pairs.iter().filter(|p| class(p) == Class::Harmful);
        report.pairs.iter().chain(orders).filter(|p| matches!(class(p), Class::Harmful | Class::Real))
    };
    let harms: BTreeSet<String> = confirmed().flat_map(|p| &p.harms).map(|h| same_failure(&h.signature)).collect();
    let hurts = |f: &Fails| harms.contains(&same_failure(&f.signature));
    let detection = report.detection_failures.iter().map(|f| (f, Of::Detection));
    let trials = report.unexplained.iter().map(|f| (f, Of::Trials));
    let of_orders = confirmed().flat_map(|p| &p.orders).flat_map(|o| &o.failures).map(|f| (f, Of::Orders));
    let mut known = BTreeSet::new();
    let once =
        detection.chain(trials).chain(of_orders).filter(|(f, _)| !hurts(f) && known.insert(same_failure(&f.signature)));
    let finding = |(f, of): (&'r Fails, Of)| {
        let has = |p: &&Driven| {
            p.orders.iter().flat_map(|o| &o.failures).any(|g| same_failure(&g.signature) == same_failure(&f.signature))
        };
        let pairs = confirmed().filter(has).collect();
        Finding { report, class: Class::Failure, subject: Subject::Failure(f, of), pairs }
    };
    once.map(finding).collect()
}

/// Returns the findings of all reports.
fn all(reports: &[ConfirmReport]) -> impl Iterator<Item = Finding<'_>> {
    reports.iter().flat_map(findings)
}

/// Formats a number with its noun: `1 pair`, `2 pairs`.
fn counted(n: impl Into<u64>, what: &str) -> String {
    let n = n.into();
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
