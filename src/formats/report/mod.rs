//! Results of `confirm` in the forms that other tools read: CI servers, code scanning, pull requests. `docs/formats.md` describes them.
//!
//! | form | where |
//! |---|---|
//! | JUnit XML: a suite for each model, a case for each pair | [`junit`] |
//! | SARIF 2.1.0: a result for each pair, both orders as code flows | [`sarif`] |
//! | workflow commands that GitHub shows beside the lines | [`github`] |
//! | Markdown for a pull request or a job summary | [`markdown`] |
//!
//! Each renders a whole campaign: any number of [`ConfirmReport`]s, one for each model and variant, however they came here. What a report does not hold, the steps of its
//! runs, comes from whoever can replay them: [`Replays`]. Like the text, they tell pairs that race and order pairs that hurt; the JSON has all.

pub mod github;
pub mod junit;
pub mod markdown;
mod place;
mod run;
pub mod sarif;
pub(crate) mod words;

pub use run::{Run, Step, replayed};

use super::campaign::{About, Access, Again, ConfirmReport, Driven, Fails, Harm, VerdictWord};
use super::shell;

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
/// assert!(junit::render(&reports, &mut NoReplays).contains("<testsuite name=\"add.race\""));
/// assert!(sarif::render(&reports, &mut NoReplays).contains("\"version\": \"2.1.0\""));
/// assert!(github::render(&reports, &mut NoReplays).starts_with("::error file=add.race,line=1"));
/// assert!(markdown::render(&reports, &mut NoReplays).contains("| harmful |"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Default, Debug)]
pub struct NoReplays;

impl Replays for NoReplays {
    fn run(&mut self, _: &About, _: &Again, _: &[&Access]) -> Option<Run> {
        None
    }
}

/// How much a finding matters, the most first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Class {
    /// Confirmed, and one order fails as the other does not.
    Harmful,
    /// A failure that no confirmed pair explains.
    Unexplained,
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
    Failure(&'r Fails, &'static str),
}

pub(crate) fn class(pair: &Driven) -> Class {
    match (&pair.verdict, pair.harm) {
        (VerdictWord::Adjacent | VerdictWord::Flipped { .. }, Harm::Harmful) => Class::Harmful,
        (VerdictWord::Adjacent | VerdictWord::Flipped { .. }, _) => Class::Real,
        (VerdictWord::Refuted { .. }, _) => Class::Refuted,
        (VerdictWord::Unconfirmed, _) => Class::Unconfirmed,
    }
}

/// What a report has to tell, in its order: pairs, order pairs that hurt, failures that no pair explains.
pub(crate) fn findings(report: &ConfirmReport) -> Vec<Finding<'_>> {
    let of = |order: bool| move |pair| Finding { report, class: class(pair), subject: Subject::Pair { pair, order } };
    let pairs = report.pairs.iter().map(of(false));
    let orders = report.order_pairs.iter().map(of(true)).filter(|f| f.class == Class::Harmful);
    let told: Vec<Finding<'_>> = pairs.chain(orders).collect();
    let explains = |f: &Fails| {
        let confirmed = told.iter().filter(|t| matches!(t.class, Class::Harmful | Class::Real));
        let orders = confirmed.filter_map(|t| match t.subject {
            Subject::Pair { pair, .. } => Some(&pair.orders),
            Subject::Failure(..) => None,
        });
        orders.flatten().flat_map(|o| &o.failures).any(|g| g.signature == f.signature)
    };
    let detection = report.detection_failures.iter().map(|f| (f, "detection run"));
    let trials = report.unexplained.iter().map(|f| (f, "trial"));
    let failures = detection.chain(trials).filter(|(f, _)| !explains(f)).map(|(f, runs)| Finding {
        report,
        class: Class::Unexplained,
        subject: Subject::Failure(f, runs),
    });
    let failures: Vec<Finding<'_>> = failures.collect();
    told.into_iter().chain(failures).collect()
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
