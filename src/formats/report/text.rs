//! Renders the result of one model as text for people: each pair with its verdict, its runs, and the commands that
//! replay them.

use super::counts::{self, VerdictCounts};
use super::line::{ReportLine, Role};
use super::words::{self, Example};
use super::{Replays, Subject, atomicity, counted, rings};
use crate::campaign::{Finding, PairFacts, RingFacts, RunKind, Verdict, same_failure};
use crate::detect::Rank;
use crate::formats::campaign::{Access, ConfirmReport, Evidence, Failure, Harm, Pair};
use std::collections::BTreeSet;

/// The extent of the text.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TextExtent {
    /// Whether the text contains neither pairs nor failures, but only what concerns the whole model.
    pub quiet: bool,
    /// Whether the text contains each harmful pair, and not only the leaders of their groups.
    pub all: bool,
    /// Whether the text also contains the order pairs without harm. A user who names an order pair wants its result.
    pub all_orders: bool,
}

/// A part of the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TextBlock<'r> {
    /// A line.
    Line(ReportLine),
    /// The place for the timeline of a failing run, with the steps of these statements marked.
    Timeline {
        /// The run.
        again: &'r Evidence,
        /// The statements of the pair.
        marked: Vec<&'r Access>,
    },
}

/// Renders the report of one model. The commands come from `replays`.
///
/// # Examples
///
/// ```
/// use raceflip::campaign::{CampaignContext, CampaignPlan, NoProgress, confirm};
/// use raceflip::formats::campaign::ConfirmReport;
/// use raceflip::formats::report::{NoReplays, text};
/// # use raceflip::vm::Model;
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x = 1 }; thread b { assert x == 0 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let plan = CampaignPlan::new(&model);
/// let found = confirm(&plan, CampaignContext { stop: &stop, progress: &NoProgress });
/// let report = ConfirmReport::new("add.race", model.digest(), &plan, &found);
/// for block in text::render(&report, text::TextExtent::default(), &mut NoReplays) {
///     if let text::TextBlock::Line(line) = block {
///         println!("{}", line.plain());
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn render<'r>(report: &'r ConfirmReport, extent: TextExtent, replays: &mut dyn Replays) -> Vec<TextBlock<'r>> {
    let mut writer = TextWriter { report, findings: report.findings(), replays, blocks: Vec::new() };
    writer.livelocks(extent.quiet);
    if !extent.quiet {
        writer.pairs(extent);
        writer.rings();
        writer.failures();
        writer.line("");
    }
    writer.summary();
    writer.blocks
}

struct TextWriter<'r, 'w> {
    report: &'r ConfirmReport,
    findings: Vec<Finding<'r, Pair>>,
    replays: &'w mut dyn Replays,
    blocks: Vec<TextBlock<'r>>,
}

impl<'r> TextWriter<'r, '_> {
    fn push(&mut self, line: ReportLine) {
        self.blocks.push(TextBlock::Line(line));
    }

    fn line(&mut self, text: impl Into<String>) {
        self.push(ReportLine::new(text));
    }

    fn commands(&mut self, commands: &[String]) {
        commands.iter().for_each(|command| self.line(format!("    {command}")));
    }

    fn livelocks(&mut self, quiet: bool) {
        for endless in self.report.livelocks.iter().flatten() {
            self.push(ReportLine::default().with(Role::Open, words::livelock(endless)));
            if !quiet {
                let commands = words::commands(self.report, &endless.again, self.replays);
                self.commands(&commands);
            }
        }
    }

    fn pairs(&mut self, extent: TextExtent) {
        let orders = &self.report.order_pairs;
        let orders = orders.iter().filter(|p| extent.all_orders || p.verdict() == Verdict::Harmful && !p.is_of_ring());
        let mut pairs: Vec<&Pair> = self.report.pairs.iter().chain(orders).collect();
        // The verdicts are in the order of their importance. The sort is stable: with equal verdicts races come first,
        // and each kind in the order of its statements.
        pairs.sort_by_key(|pair| pair.verdict());
        for pair in pairs {
            let lead = self.lead(pair);
            if lead.is_some() && !extent.all {
                continue;
            }
            self.line("");
            self.head(pair);
            self.push(ReportLine::new(format!("  {}; {}", words::seen(pair), words::proof(self.report, pair))).prose());
            match lead {
                Some(lead) => {
                    self.blocks.extend(harm(pair).into_iter().map(TextBlock::Line));
                    self.line(format!("  the same cause as with {lead}, where its runs are listed"));
                }
                None => self.runs(pair),
            }
            if !extent.all {
                self.more(pair);
            }
        }
    }

    // Renders the number of the pairs that this pair leads, if there are any.
    fn more(&mut self, pair: &Pair) {
        let is_its =
            |f: &&Finding<'_, Pair>| matches!(f.subject, Subject::Pair { pair: own, .. } if std::ptr::eq(own, pair));
        let more = self.findings.iter().find(is_its).and_then(words::more_of_cause);
        more.into_iter().for_each(|more| self.line(format!("  {more}")));
    }

    fn rings(&mut self) {
        let report = self.report;
        let mut rings: Vec<_> = report.rings.iter().collect();
        rings.sort_by_key(|ring| ring.verdict());
        for ring in rings {
            self.line("");
            let head = verdict(ring.verdict()).and(" ring  ");
            self.push(head.with(Role::Name, rings::locks(&ring.parts)));
            ring.parts.iter().for_each(|part| self.line(format!("  {}", rings::part(part))));
            self.push(ReportLine::new(format!("  {}", rings::proof(report, ring))).prose());
            let marked = rings::statements(ring);
            for example in rings::examples(report, ring, self.replays) {
                self.example(example, marked.clone());
            }
        }
    }

    // Returns what leads the group of this pair, if it is another pair or a violation of atomicity.
    fn lead(&self, pair: &Pair) -> Option<String> {
        let mut leads = self.findings.iter().filter(|f| f.pairs.iter().any(|p| std::ptr::eq(*p, pair)));
        leads.find_map(|f| match f.subject {
            Subject::Pair { pair, .. } => Some(words::pair(pair)),
            Subject::Violation(of) => Some(atomicity::name(of)),
            Subject::Ring(_) | Subject::Failure(..) => None,
        })
    }

    // Renders the verdict, the location, the statements, and where these are in the real app.
    fn head(&mut self, pair: &Pair) {
        let order = if pair.rank == Rank::Order.letter() { " order" } else { "" };
        let line = verdict(pair.verdict()).and(format!("{order}  "));
        self.push(line.with(Role::Name, &pair.location).and(format!("  {}", words::pair(pair))));
        if let Some(source) = words::source(pair) {
            self.push(ReportLine::new("  ").with(Role::Name, source));
        }
    }

    // Renders the runs of both orders, and what follows from them.
    fn runs(&mut self, pair: &'r Pair) {
        for example in words::orders(self.report, pair, self.replays) {
            self.example(example, vec![&pair.a, &pair.b]);
        }
        let verdict = pair.verdict();
        let runs = if verdict.confirmed() { "run" } else { "trial" };
        if pair.undecided > 0 && verdict != Verdict::Refuted {
            self.line(format!("  in {} neither order was seen", counted(pair.undecided, runs)));
        }
        if pair.limits > 0 {
            self.line(format!("  {} reached a limit", counted(pair.limits, "trial")));
        }
        if verdict.confirmed() {
            self.blocks.extend(harm(pair).into_iter().map(TextBlock::Line));
        }
        for line in words::harm_of_others(self.report, pair, words::pair) {
            self.line(format!("  {line}"));
        }
    }

    fn example(&mut self, example: Example<'r>, marked: Vec<&'r Access>) {
        self.push(ReportLine::new("  ").join(example.head));
        self.commands(&example.commands);
        self.blocks.extend(example.failing.map(|again| TextBlock::Timeline { again, marked }));
    }

    // Renders the failures that are not the harm of one order.
    fn failures(&mut self) {
        let failures = failures(&self.findings);
        if failures.is_empty() {
            return;
        }
        self.line("");
        self.line(format!("{} that no pair's order explains:", counted(failures.len() as u64, "failure")));
        for (failure, runs, pairs) in failures {
            let example = words::fails(self.report, failure, runs, self.replays);
            self.push(ReportLine::new("  ").join(example.head));
            for pair in pairs {
                self.line(format!("    in either order of {}", words::pair(pair)));
            }
            self.commands(&example.commands);
            self.blocks.extend(example.failing.map(|again| TextBlock::Timeline { again, marked: Vec::new() }));
        }
    }

    fn summary(&mut self) {
        let report = self.report;
        let VerdictCounts { harmful, real, refuted, unconfirmed } = VerdictCounts::of(&report.pairs);
        let pairs = counted(report.pairs.len() as u64, "pair");
        self.line(format!("{pairs}: {harmful} harmful, {real} real, {refuted} refuted, {unconfirmed} unconfirmed"));
        if !report.order_pairs.is_empty() {
            let VerdictCounts { harmful, real, refuted, unconfirmed } = VerdictCounts::of(&report.order_pairs);
            let all = counted(report.order_pairs.len() as u64, "order pair");
            let of_rings = match report.order_pairs.iter().filter(|p| p.is_of_ring()).count() {
                0 => String::new(),
                n => format!(" ({n} of them told as a deadlock ring)"),
            };
            self.line(format!(
                "{all}: {harmful} harmful, {real} without known harm, {refuted} refuted, {unconfirmed} not flipped{of_rings}"
            ));
        }
        if let Some(grouped) = counts::grouped(&self.findings) {
            self.line(grouped);
        }
        rings::counts(&report.rings).into_iter().for_each(|counts| self.line(counts));
        let pairs = report.pairs.iter().chain(&report.order_pairs).filter(|p| !p.is_of_ring());
        let harms: BTreeSet<String> = pairs.flat_map(|p| p.harms()).map(same_failure).collect();
        let what = match (harms.len() as u64, failures(&self.findings).len() as u64) {
            (0, 0) => return,
            (n, 0) => format!("{}: caused by one order", counted(n, "failure")),
            (0, n) => format!("{}: not caused by one order", counted(n, "failure")),
            (n, m) => format!("{}: {n} caused by one order, {m} not", counted(n + m, "failure")),
        };
        self.push(ReportLine::default().with(Role::Bad, what));
    }
}

/// Renders a verdict: `HARMFUL`.
pub(super) fn verdict(verdict: Verdict) -> ReportLine {
    let role = match verdict {
        Verdict::Harmful => Role::Bad,
        Verdict::Real | Verdict::Unconfirmed => Role::Open,
        Verdict::Refuted => Role::Good,
    };
    ReportLine::default().with(role, verdict.to_string())
}

// Renders the harm of a confirmed pair. Several failures have a line each.
fn harm(pair: &Pair) -> Vec<ReportLine> {
    let line = ReportLine::new("  ").prose();
    match pair.harm {
        Harm::Harmful => {
            let head = line.with(Role::Bad, "it hurts").and(", and not in the other order from the same state:");
            match words::harms(pair).as_slice() {
                [one] => vec![head.and(format!(" {one}"))],
                all => {
                    let each = all.iter().map(|one| ReportLine::new(format!("    {one}")).prose());
                    std::iter::once(head).chain(each).collect()
                }
            }
        }
        Harm::NoFailure => vec![line.with(Role::Good, words::harm(pair))],
        _ => vec![line.and(words::harm(pair))],
    }
}

// A failure that is not the harm of one order, the kind of the runs that are counted, and the pairs in whose runs it
// occurs.
type UnexplainedFailure<'r> = (&'r Failure, RunKind, Vec<&'r Pair>);

fn failures<'r>(findings: &[Finding<'r, Pair>]) -> Vec<UnexplainedFailure<'r>> {
    let failure = |f: &Finding<'r, Pair>| match f.subject {
        Subject::Failure(failure, runs) => Some((failure, runs, f.pairs.clone())),
        Subject::Pair { .. } | Subject::Ring(_) | Subject::Violation(_) => None,
    };
    findings.iter().filter_map(failure).collect()
}
