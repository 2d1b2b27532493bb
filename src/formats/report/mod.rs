//! Results of `confirm` in the forms that other tools read: CI servers, code scanning, pull requests. `docs/formats.md` describes them.
//!
//! | form | where |
//! |---|---|
//! | JUnit XML: a suite for each model, a case for each pair | [`junit`] |
//! | SARIF 2.1.0: a result for each pair, both orders as code flows | [`sarif`] |
//! | workflow commands that GitHub shows beside the lines | [`github`] |
//! | Markdown for a pull request or a job summary | [`markdown`] |
//!
//! [`tested`] and [`sarif::tested`] have the same forms of the result of `test`.
//!
//! Each renders a whole campaign: any number of [`ConfirmReport`]s, one for each model and variant, however they came here. What a report does not hold, the steps of its
//! runs, comes from whoever can replay them: [`Replays`]. Like the text, they tell pairs that race and order pairs that hurt; the JSON has all.

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

/// What a report needs of the models that it is about.
pub trait Replays {
    /// The run of a token of this model, with the steps of these statements marked. `None` if it cannot be made again here, say because the model is not at hand or was
    /// edited: then what would have come from it is left out.
    fn run(&mut self, about: &About, again: &Again, marked: &[&Access]) -> Option<Run>;

    /// The commands that make a run again.
    fn commands(&mut self, about: &About, again: &Again) -> Vec<String> {
        vec![format!("raceflip replay {} {}", shell::path(&about.file), again.token)]
    }

    /// The path of a model from the top of the repository; as it was typed, if nothing better is known.
    fn path(&self, file: &str) -> String {
        file.to_owned()
    }
}

/// No model is at hand: reports have neither steps nor the places of failures.
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

/// What has failed the gate that somebody asked for, `--fail-on`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GateFailure {
    /// The word: `limits`.
    pub on: String,
    /// How many there are.
    pub count: u64,
    /// What it means: `what comes after a limit is not known`.
    pub why: String,
}

impl GateFailure {
    /// `the gate failed on limits (3): what comes after a limit is not known`
    #[must_use]
    pub fn told(&self) -> String {
        format!("the gate failed on {} ({}): {}", self.on, self.count, self.why)
    }
}

/// How much a finding matters, the most first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Class {
    /// Confirmed, and one order fails as the other does not.
    Harmful,
    /// A failure that is not the harm of one order: it comes with either order of a pair, or without any.
    Failure,
    /// Confirmed.
    Real,
    /// Neither confirmed nor refuted.
    Unconfirmed,
    /// False.
    Refuted,
}

/// Something to be told.
pub(crate) struct Finding<'r> {
    report: &'r ConfirmReport,
    pub(crate) class: Class,
    pub(crate) subject: Subject<'r>,
    /// Pairs that belong to it. Of a pair that hurts: others, told after it, that hurt in just the same ways, and so show the same failures. Of a failure: those with
    /// either order of which it comes.
    pub(crate) pairs: Vec<&'r Driven>,
}

/// What it is about.
#[derive(Clone, Copy)]
pub(crate) enum Subject<'r> {
    Pair {
        pair: &'r Driven,
        /// Whether it is an order pair.
        order: bool,
    },
    /// A failure, and of what runs.
    Failure(&'r Fails, Of),
}

/// Which runs a failure is counted in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Of {
    Detection,
    Trials,
    /// Runs that continue an order of a confirmed pair.
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

/// What a report has to tell, in its order: pairs, order pairs that hurt, and failures that no pair that hurts accounts for, whatever the verdicts of their pairs: a model that
/// fails in every run has failed, though no order is to blame. Findings of one failure are one: a pair that hurts in just the ways of one before it belongs to that one.
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

// Each failure that is not the harm of a pair that is told, once, with the pairs in whose runs it comes.
fn failures<'r>(report: &'r ConfirmReport) -> Vec<Finding<'r>> {
    let confirmed = move || {
        // Order pairs that do no harm are not told.
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

/// All of all reports.
fn all(reports: &[ConfirmReport]) -> impl Iterator<Item = Finding<'_>> {
    reports.iter().flat_map(findings)
}

/// `1 pair`, `2 pairs`
fn counted(n: impl Into<u64>, what: &str) -> String {
    let n = n.into();
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
