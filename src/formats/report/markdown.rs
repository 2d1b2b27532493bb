//! Renders Markdown, for a comment on a pull request or the summary of a job: counts, a table of findings, and for each
//! harmful pair and failure the commands that replay its runs.
//!
//! Texts from a model are always code spans, so that they neither format anything nor mention a user: `@A` is a label
//! in raceflip and a user on GitHub. GitHub accepts comments of 65,536 characters. The least important findings beyond
//! that are left out, and a line tells how many.

use super::counts::{VerdictCounts, harmful_pairs};
use super::fuzzed::is_fuzzed;
use super::words::{self, Example};
use super::{CommandEnd, Replays, ReportEntry, Subject, all, atomicity, counted, place, rings};
use crate::campaign::{PairFacts, RingFacts, Verdict, ViolationFacts, ViolationVerdict};
use crate::detect::Rank;
use crate::formats::campaign::ConfirmReport;
use crate::formats::gate::GateFailure;
use std::fmt::Write as _;

// Maximum length of the text, in bytes. GitHub's limit is 65,536 characters of up to four bytes each, so this is on the
// safe side.
const MOST: usize = 60_000;
// Maximum length of the text up to the end of the tables, in bytes.
const MOST_OF_TABLES: usize = 30_000;

/// Renders all reports as GitHub Markdown.
#[must_use]
pub fn render(reports: &[ConfirmReport], end: &CommandEnd, replays: &mut dyn Replays) -> String {
    let mut found: Vec<ReportEntry<'_>> = all(reports).collect();
    found.sort_by_key(|e| e.finding.importance());
    let mut text = format!("## raceflip: {}\n\n", headline(reports, &found));
    text.push_str(&gate(&end.failures()));
    counts(&mut text, reports, replays);
    table(&mut text, &found, replays);
    let mut left_out = 0_u64;
    for entry in found.iter().filter(|e| matches!(e.finding.verdict(), Some(Verdict::Harmful) | None)) {
        let details = details(entry, replays);
        if text.len() + details.len() > MOST {
            left_out += 1;
        } else {
            text.push_str(&details);
        }
    }
    for error in &end.unread {
        let row = unread(error);
        if text.len() + row.len() > MOST {
            left_out += 1;
        } else {
            text.push_str(&row);
        }
    }
    if left_out > 0 {
        let what = counted(left_out, "finding");
        let _ = writeln!(text, "\nThe details of {what} are left out, because a comment has no room for them.");
    }
    text
}

/// Renders the error of an input that could not be read: its first line.
pub(super) fn unread(error: &str) -> String {
    format!("\n- {}\n", code(error.lines().next().unwrap_or_default()))
}

/// Renders the failures of the gate, one line for each.
pub(super) fn gate(failures: &[GateFailure]) -> String {
    let lines: String = failures.iter().map(|f| format!("**{}**\n\n", plain(&f.text()))).collect();
    lines
}

// Returns the counts for the heading, failures first.
fn headline(reports: &[ConfirmReport], found: &[ReportEntry<'_>]) -> String {
    let of = |verdict: Option<Verdict>| found.iter().filter(move |e| e.finding.verdict() == verdict);
    let is_ring = |e: &&ReportEntry<'_>| matches!(e.finding.subject, Subject::Ring(_));
    let is_violation = |e: &&ReportEntry<'_>| matches!(e.finding.subject, Subject::Violation(_));
    let mut parts = Vec::new();
    if !reports.iter().any(is_fuzzed) {
        parts.push(harmful_pairs(found.iter().map(|e| &e.finding)));
    }
    let rings = of(Some(Verdict::Harmful)).filter(is_ring).count() as u64;
    if rings > 0 {
        parts.insert(0, counted(rings, "deadlock ring"));
    }
    let violations = of(Some(Verdict::Harmful)).filter(is_violation).count() as u64;
    if violations > 0 {
        parts.insert(0, counted(violations, "harmful violation") + " of atomicity");
    }
    let failures = of(None).count() as u64;
    if failures > 0 || parts.is_empty() {
        parts.insert(0, counted(failures, "failure"));
    }
    let cut: u32 = reports.iter().flat_map(|r| &r.detection_limits).map(|c| c.runs).sum();
    if cut > 0 {
        parts.push(format!("{} at a limit", counted(cut, "run")));
    }
    let endless = reports.iter().flat_map(|r| r.livelocks.iter().flatten()).count() as u64;
    if endless > 0 {
        parts.push(counted(endless, "possible livelock"));
    }
    parts.join(", ")
}

// Renders a table with a row for each report.
fn counts(text: &mut String, reports: &[ConfirmReport], replays: &mut dyn Replays) {
    // A learning search judges no pairs.
    let fuzzed = reports.iter().any(is_fuzzed);
    text.push_str(if fuzzed {
        "| model | runs | failures |\n|---|--:|--:|\n"
    } else {
        "| model | harmful | real | refuted | unconfirmed | order pairs | failures |\n|---|--:|--:|--:|--:|--:|--:|\n"
    });
    let mut left_out = 0_u64;
    for report in reports {
        // A pair that another one leads still counts as a pair.
        let races = VerdictCounts::of(&report.pairs);
        let hurt = VerdictCounts::of(&report.order_pairs).harmful;
        let failures = report.findings().iter().filter(|f| f.verdict().is_none()).count();
        let orders = match (report.order_pairs.len(), hurt) {
            (all, 0) => all.to_string(),
            (all, hurt) => format!("{all} ({hurt} harmful)"),
        };
        let mut caveats = words::caveats(report);
        caveats.extend(atomicity::counts([report]));
        let caveats: String = caveats.iter().map(|c| format!(" ({})", plain(c))).collect();
        let model = code(&words::variant(&report.about, &place::path(&replays.path(&report.about.file))));
        let columns = match (fuzzed, &races) {
            (true, _) => report.about.runs.to_string(),
            (false, VerdictCounts { harmful, real, refuted, unconfirmed, .. }) => {
                format!("{harmful} | {real} | {refuted} | {unconfirmed} | {orders}")
            }
        };
        let row = format!("| {model}{caveats} | {columns} | {failures} |\n");
        if text.len() + row.len() > MOST_OF_TABLES / 2 {
            left_out += 1;
        } else {
            text.push_str(&row);
        }
    }
    if left_out > 0 {
        let _ = writeln!(text, "\n{} left out, because a comment has no room for them.", counted(left_out, "model"));
    }
}

// Renders a table with a row for each finding, the most important one first.
fn table(text: &mut String, found: &[ReportEntry<'_>], replays: &mut dyn Replays) {
    if found.is_empty() {
        return;
    }
    text.push_str("\n| verdict | model | where | statements | what is known |\n|---|---|---|---|---|\n");
    let mut left_out = 0_u64;
    for entry in found {
        let ReportEntry { report, finding } = entry;
        let known = match finding.subject {
            Subject::Failure(fails, runs) => words::fails(report, fails, runs, replays).head.plain(),
            Subject::Pair { pair, .. } if pair.verdict() == Verdict::Harmful => words::harm(pair),
            Subject::Pair { pair, .. } => words::proof(report, pair),
            Subject::Ring(ring) => rings::proof(report, ring),
            Subject::Violation(of) => atomicity::proof(of),
        };
        let known = code(&known);
        let (location, pair) = match finding.subject {
            Subject::Pair { pair, .. } => (code(&pair.location), code(&words::pair(pair))),
            Subject::Ring(ring) => (code(&rings::locks(&ring.parts)), code(&rings::name(ring))),
            Subject::Violation(of) => (code(&atomicity::name(of)), code(&atomicity::statements(of))),
            Subject::Failure(..) => {
                (String::new(), finding.pairs.first().map_or(String::new(), |p| code(&words::pair(p))))
            }
        };
        let model = code(&variant(entry, replays));
        let mut rows = vec![format!("| {} | {model} | {location} | {pair} | {known} |\n", verdict(finding.subject))];
        if let Subject::Pair { .. } | Subject::Violation(_) = finding.subject {
            rows.extend(finding.pairs.iter().map(|same| {
                let (location, pair) = (code(&same.location), code(&words::pair(same)));
                let of = Subject::Pair { pair: same, order: same.rank == Rank::Order.letter() };
                format!("| {} | {model} | {location} | {pair} | the same cause |\n", verdict(of))
            }));
        }
        for row in rows {
            if text.len() + row.len() > MOST_OF_TABLES {
                left_out += 1;
            } else {
                text.push_str(&row);
            }
        }
    }
    if left_out > 0 {
        let _ = writeln!(text, "\n{} left out, because a comment has no room for them.", counted(left_out, "finding"));
    }
}

fn verdict(subject: Subject<'_>) -> &'static str {
    match subject {
        Subject::Failure(..) => "**failure**",
        Subject::Ring(ring) if ring.verdict() == Verdict::Harmful => "**deadlock ring**",
        Subject::Ring(ring) => ring.verdict().word(),
        Subject::Violation(of) => match of.verdict() {
            ViolationVerdict::Harmful => "**not in one piece**",
            ViolationVerdict::Joint => "joint",
            other => other.weight().word(),
        },
        Subject::Pair { pair, order } => match (pair.verdict(), order) {
            (Verdict::Harmful, true) => "**harmful order**",
            (Verdict::Harmful, false) => "**harmful**",
            (verdict, _) => verdict.word(),
        },
    }
}

fn variant(entry: &ReportEntry<'_>, replays: &mut dyn Replays) -> String {
    let about = &entry.report.about;
    words::variant(about, &place::path(&replays.path(&about.file)))
}

fn details(entry: &ReportEntry<'_>, replays: &mut dyn Replays) -> String {
    let ReportEntry { report, finding } = entry;
    let what = match finding.subject {
        Subject::Pair { pair, order } => {
            let order = if order { "order " } else { "" };
            format!("harmful {order}{} {}", html(&pair.location), html(&words::pair(pair)))
        }
        Subject::Ring(ring) => format!("deadlock ring of {}", html(&rings::locks(&ring.parts))),
        Subject::Violation(of) => format!("harmful {}", html(&atomicity::name(of))),
        Subject::Failure(..) if finding.pairs.is_empty() => "failure".to_owned(),
        Subject::Failure(..) => "failure in either order".to_owned(),
    };
    let model = html(&variant(entry, replays));
    let mut text = format!("\n<details>\n<summary>{what} in {model}</summary>\n\n");
    if let Subject::Pair { pair, .. } = finding.subject {
        let (seen, proof) = (words::seen(pair), words::proof(report, pair));
        if let Some(source) = words::source(pair) {
            let _ = writeln!(text, "{}\n", code(&source));
        }
        let lead = if pair.detectors.is_empty() { "Seen in" } else { "Pair" };
        let _ = writeln!(text, "{lead} {}: {}.\n", plain(&seen), code(&proof));
    }
    if let Subject::Ring(ring) = finding.subject {
        for part in &ring.parts {
            let _ = writeln!(text, "- {}\n", code(&rings::part(part)));
        }
        let _ = writeln!(text, "{}\n", code(&rings::proof(report, ring)));
    }
    if let Subject::Violation(of) = finding.subject {
        for moment in atomicity::cycle(of) {
            let _ = writeln!(text, "- {}\n", code(moment.trim()));
        }
        let _ = writeln!(text, "{}\n", code(&atomicity::proof(of)));
    }
    for example in entry.examples(replays) {
        list_item(&mut text, &example);
    }
    for line in words::belonging(entry) {
        let _ = writeln!(text, "- {}\n", code(&line));
    }
    if let Some(diagram) = diagram(entry, replays) {
        let _ = writeln!(text, "The failing run:\n\n```mermaid\n{diagram}```\n");
    }
    text.push_str("</details>\n");
    text
}

fn list_item(text: &mut String, example: &Example<'_>) {
    let _ = writeln!(text, "- {}\n", code(&example.head.plain()));
    if !example.commands.is_empty() {
        // No command can end the code block with a line of backticks, because each one begins with `raceflip`.
        let commands: String = example.commands.iter().map(|c| format!("  {c}\n")).collect();
        let _ = writeln!(text, "  ```sh\n{commands}  ```\n");
    }
}

// Returns a diagram of the failing run, if the run is short.
fn diagram(entry: &ReportEntry<'_>, replays: &mut dyn Replays) -> Option<String> {
    let about = &entry.report.about;
    match entry.finding.subject {
        Subject::Pair { pair, .. } => {
            let (_, fails) = words::hurting(pair).into_iter().next()?;
            replays.run(about, &fails.again, &[&pair.a, &pair.b])?.diagram
        }
        Subject::Ring(ring) => replays.run(about, &ring.deadlocks.first()?.again, &rings::statements(ring))?.diagram,
        Subject::Violation(of) => replays.run_of(about, of)?.diagram,
        Subject::Failure(fails, _) => replays.run(about, &fails.again, &[])?.diagram,
    }
}

/// Renders a code span, whose text Markdown does not interpret. A `|` in it would end the cell of a table, and readers
/// differ in how a backslash before it counts, so such a text becomes HTML.
pub(super) fn code(text: &str) -> String {
    let text = crate::base::clean(text);
    if text.trim().is_empty() {
        return String::new();
    }
    if text.contains('|') {
        return html_code(&text);
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // A backtick at an end would join the fence, and Markdown strips one space at each end if both ends have one.
    let edge = |c: char| c == '`' || c == ' ';
    let blank = if text.starts_with(edge) || text.ends_with(edge) { " " } else { "" };
    format!("{fence}{blank}{text}{blank}{fence}")
}

/// Renders prose, with all special characters escaped.
fn plain(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in crate::base::clean(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            c if "\\`*_[]>|~#@".contains(c) => escaped.extend(['\\', c]),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Renders a code span inside an HTML block, whose text Markdown does not interpret.
fn html(text: &str) -> String {
    let text = crate::base::clean(text);
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("<code>{text}</code>")
}

/// Renders a code span as HTML amid Markdown text. Characters that Markdown could interpret become character
/// references.
fn html_code(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in crate::base::clean(text).chars() {
        match c {
            // Among text, these characters have no meaning in Markdown.
            c if c.is_ascii_punctuation() && !"/,;=-+()".contains(c) => {
                let _ = write!(escaped, "&#{};", c as u32);
            }
            c => escaped.push(c),
        }
    }
    format!("<code>{escaped}</code>")
}
