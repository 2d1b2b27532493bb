//! Renders a campaign over many variants as text for people: a line for each variant, and each harmful pair with the
//! command that shows it. Everything comes from the reports, whether they are new, read from a journal, or merged.

use super::counts::{VerdictCounts, grouped};
use super::line::{ReportLine, Role};
use super::text::{TextExtent, verdict};
use super::{Subject, atomicity, counted, rings, words};
use crate::base::clean;
use crate::campaign::{Finding, PairFacts, RingFacts, Verdict, ViolationFacts, ViolationVerdict};
use crate::formats::campaign::{ConfirmReport, Failure, Pair};
use crate::formats::campaigns::{CampaignReport, variant_name};
use crate::formats::shell;
use crate::formats::violations::JudgedViolation;

/// Renders the result of a variant: one line, and unless it is quiet each harmful pair and each other failure. Of the
/// pairs of one cause it contains only the leader, unless the extent asks for all.
#[must_use]
pub fn variant(report: &ConfirmReport, extent: TextExtent) -> Vec<ReportLine> {
    let mut lines = vec![head(report)];
    if extent.quiet {
        return lines;
    }
    for finding in report.findings() {
        match finding.subject {
            Subject::Pair { pair, .. } if pair.verdict() == Verdict::Harmful => {
                lines.extend(harmful(report, pair));
                lines.extend(same(&finding, extent));
            }
            Subject::Ring(ring) if ring.verdict() == Verdict::Harmful => {
                let line = ReportLine::new("  ").join(verdict(ring.verdict())).and(" ring  ");
                lines.push(line.with(Role::Name, rings::locks(&ring.parts)));
                lines.extend(ring.parts.iter().map(|part| ReportLine::new(format!("    {}", rings::part(part)))));
                lines.extend(ring.deadlocks.first().map(|fails| replay(report, fails)));
            }
            Subject::Violation(of) if of.verdict() == ViolationVerdict::Harmful => {
                let line = ReportLine::new("  ").join(verdict(of.verdict().weight())).and("  ");
                lines.push(line.with(Role::Name, atomicity::name(of)));
                lines.extend(atomicity::cycle(of).into_iter().map(|moment| ReportLine::new(format!(" {moment}"))));
                lines.extend(of.harm_words().map(|harm| ReportLine::new(format!("    {}", clean(&harm)))));
                lines.extend(of.harm().map(|fails| replay(report, fails)));
                lines.extend(same(&finding, extent));
            }
            Subject::Pair { .. } | Subject::Ring(_) | Subject::Violation(_) => {}
            Subject::Failure(other, _) => {
                let line = ReportLine::new("  ").with(Role::Bad, words::failure(other));
                lines.push(line.and(format!(", {}", counted(other.runs, "run"))));
                lines.push(replay(report, other));
            }
        }
    }
    lines
}

// Renders the pairs that a finding leads.
fn same(finding: &Finding<'_, Pair>, extent: TextExtent) -> Vec<ReportLine> {
    if extent.all {
        let pairs = finding.pairs.iter().map(|same| named(same).and(": the same cause"));
        let violation = |of: &&JudgedViolation| {
            let line = ReportLine::new("  ").join(verdict(of.verdict().weight())).and("  ");
            line.with(Role::Name, atomicity::name(of)).and(": the same cause")
        };
        return pairs.chain(finding.violations.iter().map(violation)).collect();
    }
    words::more_of_cause(finding).map(|more| ReportLine::new(format!("    {more}"))).into_iter().collect()
}

/// Renders the summary of a campaign.
#[must_use]
pub fn summary(campaign: &CampaignReport) -> Vec<ReportLine> {
    let (mut pairs, mut orders, mut others) = (VerdictCounts::default(), VerdictCounts::default(), 0);
    let rings: Vec<_> = campaign.results.iter().flat_map(|result| result.report.rings.iter().cloned()).collect();
    let rings = rings::counts(&rings).map_or(String::new(), |counts| format!(", {counts}"));
    let atomic = atomicity::counts(campaign.results.iter().map(|result| &result.report));
    let atomic = atomic.map_or(String::new(), |counts| format!(", {counts}"));
    for result in &campaign.results {
        pairs.add(VerdictCounts::of(&result.report.pairs));
        orders.add(VerdictCounts::of(&result.report.order_pairs));
        others += failures(&result.report);
    }
    let finished = campaign.finished();
    let mut variants = counted(finished as u64, "variant");
    if finished < campaign.results.len() {
        variants = format!("{variants} and {} incomplete", campaign.results.len() - finished);
    }
    let of = |counts: VerdictCounts, what: &str| match counts.all() {
        0 => format!("no {what}"),
        n => format!("{} ({})", counted(n as u64, what), counts.words()),
    };
    let findings: Vec<_> = campaign.results.iter().flat_map(|result| result.report.findings()).collect();
    let grouped = grouped(&findings).map_or(String::new(), |grouped| format!(", {grouped}"));
    let others = if others == 0 { String::new() } else { format!(", {}", unexplained(others)) };
    let counts =
        format!("{variants}: {}, {}{grouped}{rings}{atomic}{others}", of(pairs, "pair"), of(orders, "order pair"));
    let unknown = unknown(campaign.results.iter().map(|r| &r.report));
    let unknown = (!unknown.is_empty()).then(|| ReportLine::default().with(Role::Open, unknown.join(", ")));
    [ReportLine::new(""), ReportLine::new(counts)].into_iter().chain(unknown).collect()
}

// Renders the line of a variant.
fn head(report: &ConfirmReport) -> ReportLine {
    let about = &report.about;
    let (counts, others) = (VerdictCounts::of(&report.pairs), failures(report));
    let orders = VerdictCounts::of(&report.order_pairs).harmful;
    let closed = report.rings.iter().filter(|ring| ring.verdict() == Verdict::Harmful).count();
    let mut parts = vec![counted(counts.all() as u64, "pair")];
    if counts.all() > 0 {
        parts[0] = format!("{}: {}", parts[0], counts.words());
    }
    if orders > 0 {
        parts.push(format!("{} harmful", counted(orders as u64, "order pair")));
    }
    parts.extend(grouped(&report.findings()));
    parts.extend(rings::counts(&report.rings));
    parts.extend(atomicity::counts([report]));
    let hurts = report.atomicity.iter().flat_map(|of| &of.violations).any(|of| of.harm().is_some());
    if others > 0 {
        parts.push(unexplained(others));
    }
    parts.extend(unknown(std::iter::once(report)));
    if !about.complete {
        parts.push("incomplete".to_owned());
    }
    let role = match () {
        () if counts.harmful + orders + closed > 0 || others > 0 || hurts => Role::Bad,
        () if counts.real + counts.unconfirmed > 0 || parts.len() > 1 => Role::Open,
        () => Role::Good,
    };
    let name = ReportLine::default().with(Role::Name, variant_name(&about.file, &about.defines));
    name.and("  ").with(role, parts.join("; "))
}

// Renders a harmful pair: each failure that one of its orders is to blame for.
fn harmful(report: &ConfirmReport, pair: &Pair) -> Vec<ReportLine> {
    let mut lines = vec![named(pair)];
    lines.extend(words::source(pair).map(|source| ReportLine::new(format!("    {source}"))));
    for (order, fails) in words::hurting(pair) {
        let rate = format!("{} of {}", fails.runs, counted(order.runs, "run"));
        let (side, failure) = (words::side(pair, &order.first), words::failure(fails));
        lines.push(ReportLine::new(format!("    {side} first: {failure} in {rate}")));
        lines.push(replay(report, fails));
    }
    lines
}

// Renders verdict, location and statements of a pair.
fn named(pair: &Pair) -> ReportLine {
    let line = ReportLine::new("  ").join(verdict(pair.verdict())).and("  ");
    line.with(Role::Name, &pair.location).and(format!("  {}", words::pair(pair)))
}

fn replay(report: &ConfirmReport, fails: &Failure) -> ReportLine {
    let token = &fails.again.token;
    ReportLine::new(if token.len() > shell::LONGEST_ARGUMENT {
        "      its token is in the JSON (--out), because it is too long for an argument".to_owned()
    } else {
        format!("      raceflip replay {} {token}", shell::path(&report.about.file))
    })
}

// Number of failures that are not the harm of one order.
fn failures(report: &ConfirmReport) -> usize {
    report.findings().iter().filter(|finding| finding.verdict().is_none()).count()
}

fn unexplained(failures: usize) -> String {
    format!("{} that no pair's order explains", counted(failures as u64, "failure"))
}

// Lists what is unknown about one or more variants: `23 runs reached a limit`, `1 possible livelock`.
fn unknown<'r>(reports: impl Iterator<Item = &'r ConfirmReport> + Clone) -> Vec<String> {
    let cut: u64 = reports.clone().flat_map(|r| &r.detection_limits).map(|c| u64::from(c.runs)).sum();
    let endless = reports.flat_map(|r| r.livelocks.iter().flatten()).count() as u64;
    let cut = (cut > 0).then(|| format!("{} reached a limit", counted(cut, "run")));
    cut.into_iter().chain((endless > 0).then(|| counted(endless, "possible livelock"))).collect()
}
