//! Markdown, for a comment on a pull request or the summary of a job: what was counted, a table of findings, and of what is harmful both orders with the commands that replay them.
//!
//! Whatever comes from a model stands between backticks, so that it neither formats anything nor mentions anybody: `@A` is a label here, and a user there.
//! GitHub takes comments of 65,536 characters. What would go beyond is left out, the least important first, and a line says how much.

use super::words::{self, Told};
use super::{Class, Finding, GateFailure, Replays, Subject, all, counted, findings, place};
use crate::formats::campaign::ConfirmReport;
use std::fmt::Write as _;

// Characters; GitHub counts at most four bytes for each.
const MOST: usize = 60_000;
// Of these for the tables.
const MOST_OF_TABLES: usize = 30_000;

/// All reports, as Markdown (GitHub's).
#[must_use]
pub fn render(reports: &[ConfirmReport], failures: &[GateFailure], replays: &mut dyn Replays) -> String {
    let mut found: Vec<Finding<'_>> = all(reports).collect();
    found.sort_by_key(|f| f.class);
    let mut text = format!("## raceflip: {}\n\n", headline(reports, &found));
    text.push_str(&gate(failures));
    counts(&mut text, reports, replays);
    table(&mut text, &found, replays);
    let mut left_out = 0_u64;
    for finding in found.iter().filter(|f| matches!(f.class, Class::Harmful | Class::Failure)) {
        let details = details(finding, replays);
        if text.len() + details.len() > MOST {
            left_out += 1;
        } else {
            text.push_str(&details);
        }
    }
    if left_out > 0 {
        let what = counted(left_out, "finding");
        let _ = writeln!(text, "\nThe details of {what} are left out: a comment has no room for them.");
    }
    text
}

/// What has failed the gate, a line each.
pub(super) fn gate(failures: &[GateFailure]) -> String {
    let lines: String = failures.iter().map(|f| format!("**{}**\n\n", plain(&f.told()))).collect();
    lines
}

// Failures first: each finding that is harmful or a failure is one.
fn headline(reports: &[ConfirmReport], found: &[Finding<'_>]) -> String {
    let of = |class: Class| found.iter().filter(move |f| f.class == class);
    let harmful = of(Class::Harmful).map(|f| 1 + f.pairs.len() as u64).sum::<u64>();
    let mut parts = vec![counted(harmful, "harmful pair")];
    let failures = of(Class::Failure).count() as u64;
    if failures > 0 {
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

// A row for each report.
fn counts(text: &mut String, reports: &[ConfirmReport], replays: &mut dyn Replays) {
    let head =
        "| model | harmful | real | refuted | unconfirmed | order pairs | failures |\n|---|--:|--:|--:|--:|--:|--:|\n";
    text.push_str(head);
    let mut left_out = 0_u64;
    for report in reports {
        let found = findings(report);
        // A pair that shows the same failures as another one is a pair all the same.
        let of = |class: Class, order: bool| {
            let pairs = match order {
                true => &report.order_pairs,
                false => &report.pairs,
            };
            pairs.iter().filter(|p| super::class(p) == class).count()
        };
        let races = |class: Class| match class {
            Class::Failure => found.iter().filter(|f| f.class == class).count(),
            class => of(class, false),
        };
        let hurt = of(Class::Harmful, true);
        let orders = match (report.order_pairs.len(), hurt) {
            (all, 0) => all.to_string(),
            (all, hurt) => format!("{all} ({hurt} harmful)"),
        };
        let caveats = words::caveats(report);
        let caveats: String = caveats.iter().map(|c| format!(" ({})", plain(c))).collect();
        let row = format!(
            "| {}{caveats} | {} | {} | {} | {} | {orders} | {} |\n",
            code(&words::variant(&report.about, &place::path(&replays.path(&report.about.file)))),
            races(Class::Harmful),
            races(Class::Real),
            races(Class::Refuted),
            races(Class::Unconfirmed),
            races(Class::Failure),
        );
        if text.len() + row.len() > MOST_OF_TABLES / 2 {
            left_out += 1;
        } else {
            text.push_str(&row);
        }
    }
    if left_out > 0 {
        let _ = writeln!(text, "\n{} left out: a comment has no room for them.", counted(left_out, "model"));
    }
}

// A row for each finding, the most important first.
fn table(text: &mut String, found: &[Finding<'_>], replays: &mut dyn Replays) {
    if found.is_empty() {
        return;
    }
    text.push_str("\n| verdict | model | where | statements | what is known |\n|---|---|---|---|---|\n");
    let mut left_out = 0_u64;
    for finding in found {
        let report = finding.report;
        let known = match (finding.subject, finding.class) {
            (Subject::Failure(fails, of), _) => code(&words::fails(report, fails, of, replays).head),
            (Subject::Pair { pair, .. }, Class::Harmful) => code(&words::harm(pair)),
            (Subject::Pair { pair, .. }, _) => code(&words::proof(report, pair)),
        };
        let (location, pair) = match finding.subject {
            Subject::Pair { pair, .. } => (code(&pair.location), code(&words::pair(pair))),
            Subject::Failure(..) => {
                (String::new(), finding.pairs.first().map_or(String::new(), |p| code(&words::pair(p))))
            }
        };
        let model = code(&variant(finding, replays));
        let mut rows = vec![format!("| {} | {model} | {location} | {pair} | {known} |\n", verdict(finding))];
        if let Subject::Pair { .. } = finding.subject {
            rows.extend(finding.pairs.iter().map(|same| {
                let (location, pair) = (code(&same.location), code(&words::pair(same)));
                format!("| {} | {model} | {location} | {pair} | the same failure |\n", verdict(finding))
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
        let _ = writeln!(text, "\n{} left out: a comment has no room for them.", counted(left_out, "finding"));
    }
}

fn verdict(finding: &Finding<'_>) -> &'static str {
    match (finding.class, finding.subject) {
        (Class::Harmful, Subject::Pair { order: true, .. }) => "**harmful order**",
        (Class::Harmful, _) => "**harmful**",
        (Class::Failure, _) => "**failure**",
        (Class::Real, _) => "real",
        (Class::Unconfirmed, _) => "unconfirmed",
        (Class::Refuted, _) => "refuted",
    }
}

fn variant(finding: &Finding<'_>, replays: &mut dyn Replays) -> String {
    let about = &finding.report.about;
    words::variant(about, &place::path(&replays.path(&about.file)))
}

fn details(finding: &Finding<'_>, replays: &mut dyn Replays) -> String {
    let report = finding.report;
    let what = match finding.subject {
        Subject::Pair { pair, order } => {
            let order = if order { "order " } else { "" };
            format!("harmful {order}{} {}", html(&pair.location), html(&words::pair(pair)))
        }
        Subject::Failure(..) if finding.pairs.is_empty() => "failure".to_owned(),
        Subject::Failure(..) => "failure in either order".to_owned(),
    };
    let model = html(&variant(finding, replays));
    let mut text = format!("\n<details>\n<summary>{what} in {model}</summary>\n\n");
    if let Subject::Pair { pair, .. } = finding.subject {
        let (seen, proof) = (words::contexts(pair), words::proof(report, pair));
        if let Some(source) = words::source(pair) {
            let _ = writeln!(text, "{}\n", code(&source));
        }
        let _ = writeln!(text, "Seen in {}: {}.\n", plain(&seen), code(&proof));
    }
    for told in finding.told(replays) {
        order(&mut text, &told);
    }
    for line in words::belonging(finding) {
        let _ = writeln!(text, "- {}\n", code(&line));
    }
    if let Some(diagram) = diagram(finding, replays) {
        let _ = writeln!(text, "The failing run:\n\n```mermaid\n{diagram}```\n");
    }
    text.push_str("</details>\n");
    text
}

fn order(text: &mut String, told: &Told) {
    let _ = writeln!(text, "- {}\n", code(&told.head));
    if !told.commands.is_empty() {
        // No command has a line of backticks alone: each begins with `raceflip`.
        let commands: String = told.commands.iter().map(|c| format!("  {c}\n")).collect();
        let _ = writeln!(text, "  ```sh\n{commands}  ```\n");
    }
}

// The failing run, if it is short.
fn diagram(finding: &Finding<'_>, replays: &mut dyn Replays) -> Option<String> {
    let about = &finding.report.about;
    match finding.subject {
        Subject::Pair { pair, .. } => {
            let (_, fails) = words::hurting(pair).into_iter().next()?;
            replays.run(about, &fails.again, &[&pair.a, &pair.b])?.diagram
        }
        Subject::Failure(fails, _) => replays.run(about, &fails.again, &[])?.diagram,
    }
}

/// A code span: what is in it stays as it is. A `|` in one would end the cell of a table, and readers differ in how a backslash before it counts: such a text is HTML.
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
    // A backtick at an end would join the fence, and of blanks at both ends one goes.
    let edge = |c: char| c == '`' || c == ' ';
    let blank = if text.starts_with(edge) || text.ends_with(edge) { " " } else { "" };
    format!("{fence}{blank}{text}{blank}{fence}")
}

/// Prose that formats nothing.
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

/// A code span in HTML that Markdown does not read.
fn html(text: &str) -> String {
    let text = crate::base::clean(text);
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("<code>{text}</code>")
}

/// The same among Markdown. What Markdown could read in it is written by number.
fn html_code(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in crate::base::clean(text).chars() {
        match c {
            // Alone these mean nothing.
            c if c.is_ascii_punctuation() && !"/,;=-+()".contains(c) => {
                let _ = write!(escaped, "&#{};", c as u32);
            }
            c => escaped.push(c),
        }
    }
    format!("<code>{escaped}</code>")
}
