//! Prints a campaign over many models as text: a line for each variant, and each harmful pair with the command that
//! shows it. Everything comes from the report, whether it is new, read from a journal, or merged.

use super::super::check::counted;
use super::super::output::{BAD, BOLD, GOOD, ODD, Output, paint};
use crate::formats::campaign::{ConfirmReport, Driven, Fails, Harm};
use crate::formats::campaigns::{CampaignReport, variant_name};
use crate::formats::report::{Class, Subject, class, findings, words};
use crate::formats::shell;

/// Number of pairs with each verdict.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Counts {
    pub(super) harmful: usize,
    pub(super) real: usize,
    pub(super) refuted: usize,
    pub(super) unconfirmed: usize,
}

impl Counts {
    fn of(pairs: &[Driven]) -> Self {
        let mut counts = Counts::default();
        for pair in pairs {
            *match class(pair) {
                Class::Harmful | Class::Failure => &mut counts.harmful,
                Class::Real => &mut counts.real,
                Class::Refuted => &mut counts.refuted,
                Class::Unconfirmed => &mut counts.unconfirmed,
            } += 1;
        }
        counts
    }

    fn all(self) -> usize {
        self.harmful + self.real + self.refuted + self.unconfirmed
    }

    fn add(&mut self, other: Counts) {
        self.harmful += other.harmful;
        self.real += other.real;
        self.refuted += other.refuted;
        self.unconfirmed += other.unconfirmed;
    }

    // Lists the nonzero counts, as in "1 harmful, 2 real".
    fn words(self) -> String {
        let each = [
            (self.harmful, "harmful"),
            (self.real, "real"),
            (self.refuted, "refuted"),
            (self.unconfirmed, "unconfirmed"),
        ];
        let some: Vec<String> = each.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
        some.join(", ")
    }
}

// Failures that are not the harm of one order.
fn apart(report: &ConfirmReport) -> Vec<&Fails> {
    let all = findings(report).into_iter();
    all.filter_map(|finding| match finding.subject {
        Subject::Failure(fails, _) => Some(fails),
        Subject::Pair { .. } => None,
    })
    .collect()
}

// Lists what is unknown about one or more variants: `23 runs came to a limit`, `1 possible livelock`.
fn unknown<'r>(reports: impl Iterator<Item = &'r ConfirmReport> + Clone) -> Vec<String> {
    let cut: u64 = reports.clone().flat_map(|r| &r.detection_limits).map(|c| u64::from(c.runs)).sum();
    let endless = reports.flat_map(|r| r.livelocks.iter().flatten()).count() as u64;
    let cut = (cut > 0).then(|| format!("{} came to a limit", counted(cut, "run")));
    cut.into_iter().chain((endless > 0).then(|| counted(endless, "possible livelock"))).collect()
}

/// Prints the result of a variant.
pub(super) fn variant(report: &ConfirmReport, quiet: bool, out: &mut Output) {
    let about = &report.about;
    let (counts, others) = (Counts::of(&report.pairs), apart(report));
    let orders = report.order_pairs.iter().filter(|p| p.harm == Harm::Harmful).count();
    let mut parts = vec![counted(counts.all() as u64, "pair")];
    if counts.all() > 0 {
        parts[0] = format!("{}: {}", parts[0], counts.words());
    }
    if orders > 0 {
        parts.push(format!("{} harmful", counted(orders as u64, "order pair")));
    }
    if !others.is_empty() {
        parts.push(format!("{} that no pair's order explains", counted(others.len() as u64, "failure")));
    }
    parts.extend(unknown(std::iter::once(report)));
    if !about.complete {
        parts.push("not to its end".to_owned());
    }
    let style = match () {
        () if counts.harmful + orders > 0 || !others.is_empty() => BAD,
        () if counts.real + counts.unconfirmed > 0 || parts.len() > 1 => ODD,
        () => GOOD,
    };
    let name = &variant_name(&about.file, &about.defines);
    writeln!(out, "{}  {}", paint(BOLD, name), paint(style, parts.join("; ")));
    if quiet {
        return;
    }
    for finding in findings(report).iter().filter(|f| f.class == Class::Harmful) {
        let Subject::Pair { pair, .. } = finding.subject else { continue };
        harmful(report, pair, out);
        for same in &finding.pairs {
            let (place, verdict) = (paint(BOLD, &same.location), paint(BAD, "HARMFUL"));
            writeln!(out, "  {verdict}  {place}  {}: the same failure", words::pair(same));
        }
    }
    for other in others {
        writeln!(out, "  {}, {}", paint(BAD, words::failure(other)), counted(u64::from(other.runs), "run"));
        again(report, other, out);
    }
}

fn harmful(report: &ConfirmReport, pair: &Driven, out: &mut Output) {
    let place = paint(BOLD, &pair.location);
    writeln!(out, "  {}  {place}  {}", paint(BAD, "HARMFUL"), words::pair(pair));
    if let Some(source) = words::source(pair) {
        writeln!(out, "    {source}");
    }
    for (order, fails) in words::hurting(pair) {
        let rate = format!("{} of {}", fails.runs, counted(u64::from(order.runs), "run"));
        writeln!(out, "    {} first: {} in {rate}", words::side(pair, &order.first), words::failure(fails));
        again(report, fails, out);
    }
}

// Maximum length of an argument that shells accept, in bytes.
const LONGEST_ARGUMENT: usize = 32_000;

fn again(report: &ConfirmReport, fails: &Fails, out: &mut Output) {
    let file = shell::path(&report.about.file);
    let token = &fails.again.token;
    if token.len() > LONGEST_ARGUMENT {
        writeln!(out, "      its token is in the JSON (--out): too long for an argument");
    } else {
        writeln!(out, "      raceflip replay {file} {token}");
    }
}

/// Prints the number of variants that were not confirmed, if there are any.
pub(super) fn left_out(more: usize, out: &mut Output) {
    if more > 0 {
        let text = format!(
            "constants as the models say; {} with others not looked at (--all-variants)",
            counted(more as u64, "variant")
        );
        writeln!(out, "{}", paint(ODD, text));
    }
}

/// Prints the summary of the campaign.
pub(super) fn summary(campaign: &CampaignReport, out: &mut Output) {
    let (mut pairs, mut orders, mut others) = (Counts::default(), Counts::default(), 0);
    for result in &campaign.results {
        pairs.add(Counts::of(&result.report.pairs));
        orders.add(Counts::of(&result.report.order_pairs));
        others += apart(&result.report).len();
    }
    // The note about an interruption counts the variants in the same way.
    let finished = super::many::finished(campaign);
    let mut variants = counted(finished as u64, "variant");
    if finished < campaign.results.len() {
        variants = format!("{variants} and {} not to the end", campaign.results.len() - finished);
    }
    let of = |counts: Counts, what: &str| match counts.all() {
        0 => format!("no {what}"),
        n => format!("{} ({})", counted(n as u64, what), counts.words()),
    };
    let others = match others {
        0 => String::new(),
        n => format!(", {} that no pair's order explains", counted(n as u64, "failure")),
    };
    writeln!(out);
    writeln!(out, "{variants}: {}, {}{others}", of(pairs, "pair"), of(orders, "order pair"));
    let unknown = unknown(campaign.results.iter().map(|r| &r.report));
    if !unknown.is_empty() {
        writeln!(out, "{}", paint(ODD, unknown.join(", ")));
    }
}
