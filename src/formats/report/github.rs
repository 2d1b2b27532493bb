//! Renders GitHub's workflow commands: annotations that a step of a workflow prints, and that GitHub shows beside the
//! lines of a pull request.
//!
//! An annotation is placed at the line of the real source if the model names it (`from "Main.java:12"`), else at the
//! line of the model. The kind depends on the finding:
//!
//! - error: a harmful pair, a confirmed deadlock ring, a harmful violation of atomicity, or a failure, whatever the
//!   verdicts of the pairs in whose runs it occurs
//! - warning: a confirmed pair or violation of atomicity without known harm
//! - notice: an unconfirmed pair or transaction, and a violation that does not count for the exit status
//! - none: a refuted pair or transaction
//!
//! GitHub keeps ten annotations of each kind from one step. The most important ones come first, and a last notice tells
//! how many are left out.

use super::words::{self, Example};
use super::{CommandEnd, Finding, Pair, Replays, ReportEntry, Subject, all, atomicity, counted, place, rings};
use crate::base::clean;
use crate::campaign::{RingFacts, Verdict, ViolationFacts};
use crate::formats::campaign::ConfirmReport;
use crate::formats::gate::GateFailure;
use std::fmt::Write as _;

/// Number of annotations of each kind that GitHub keeps from one step.
pub const MOST: usize = 10;

// Maximum number of lines about limitations of the results.
const MOST_NOTES: usize = 20;

// A longer command, with a long token, would fill the page.
const LONGEST_COMMAND: usize = 1_000;

/// Renders all reports as lines of workflow commands.
#[must_use]
pub fn render(reports: &[ConfirmReport], end: &CommandEnd, replays: &mut dyn Replays) -> String {
    let failures = end.failures();
    let mut text = gate(&failures);
    text.push_str(&unread(&end.unread, MOST.saturating_sub(failures.len())));
    text.push_str(&annotations(reports, replays, failures.len() + end.unread.len()));
    // The limitations of all reports are one annotation of their own.
    let mut notes = Vec::new();
    for report in reports {
        let variant = words::variant(&report.about, &place::path(&replays.path(&report.about.file)));
        notes.extend(words::caveats(report).into_iter().map(|caveat| format!("{variant}: {caveat}")));
    }
    if !notes.is_empty() {
        let more = notes.len().saturating_sub(MOST_NOTES);
        notes.truncate(MOST_NOTES);
        if more > 0 {
            notes.push(format!("and {more} more"));
        }
        let _ = writeln!(text, "::warning title=raceflip%3A unknown::{}", escape_data(&notes.join("\n")));
    }
    text
}

/// Renders the errors of inputs that could not be read, at most so many.
pub(super) fn unread(errors: &[String], most: usize) -> String {
    let line = |error: &String| {
        let lines: Vec<String> = error.lines().map(clean).collect();
        format!("::error title=raceflip::{}\n", escape_data(&lines.join("\n")))
    };
    errors.iter().take(most).map(line).collect()
}

/// Renders the failures of the gate as errors. They come before all other annotations.
pub(super) fn gate(failures: &[GateFailure]) -> String {
    let line = |f: &GateFailure| format!("::error title=raceflip%3A gate::{}\n", escape_data(&clean(&f.text())));
    failures.iter().map(line).collect()
}

// Renders the annotations of findings, if `errors` errors are already printed.
fn annotations(reports: &[ConfirmReport], replays: &mut dyn Replays, errors: usize) -> String {
    let mut entries: Vec<ReportEntry<'_>> =
        all(reports).filter(|e| e.finding.verdict() != Some(Verdict::Refuted)).collect();
    entries.sort_by_key(|e| e.finding.importance());
    let of = |kind: &str| entries.iter().filter(|e| word(&e.finding) == kind).count();
    let room = |kind: &str| if kind == "error" { MOST.saturating_sub(errors) } else { MOST };
    let mut left_out = ["error", "warning", "notice"].map(|kind| (kind, of(kind).saturating_sub(room(kind))));
    // The line about left-out annotations is a notice itself, so it takes the room of one.
    if left_out.iter().any(|(_, n)| *n > 0) {
        left_out[2].1 = of("notice").saturating_sub(MOST - 1);
    }
    let some = left_out.iter().any(|(_, n)| *n > 0);
    let mut text = String::new();
    for kind in ["error", "warning", "notice"] {
        let most = if some && kind == "notice" { MOST - 1 } else { room(kind) };
        for entry in entries.iter().filter(|e| word(&e.finding) == kind).take(most) {
            annotation(&mut text, entry, replays);
        }
    }
    if some {
        let what: Vec<String> =
            left_out.iter().filter(|(_, n)| *n > 0).map(|(kind, n)| counted(*n as u64, kind)).collect();
        let says =
            format!("GitHub shows {MOST} annotations of each kind for one step: {} left out here", what.join(", "));
        let _ = writeln!(text, "::notice title=raceflip::{}", escape_data(&says));
    }
    text
}

// Kind of annotation for a finding.
fn word(finding: &Finding<'_, Pair>) -> &'static str {
    match finding.verdict() {
        // It does not count for the exit status.
        _ if matches!(finding.subject, Subject::Violation(of) if !of.counts(false)) => "notice",
        Some(Verdict::Harmful) | None => "error",
        Some(Verdict::Real) => "warning",
        Some(Verdict::Unconfirmed | Verdict::Refuted) => "notice",
    }
}

fn annotation(text: &mut String, entry: &ReportEntry<'_>, replays: &mut dyn Replays) {
    let ReportEntry { report, finding } = entry;
    let verdict = finding.verdict();
    let about = &report.about;
    let path = place::path(&replays.path(&about.file));
    let examples = entry.examples(replays);
    let ((at, from), title, mut lines) = match finding.subject {
        Subject::Pair { pair, order } => {
            let what = match (verdict, order) {
                (Some(Verdict::Harmful), true) => "harmful order",
                (Some(Verdict::Harmful), false) => "harmful race",
                (Some(Verdict::Unconfirmed), _) => "unconfirmed race",
                _ => "race",
            };
            let harm = words::harm(pair);
            let head = format!("pair {}: {}", words::pair(pair), words::proof(report, pair));
            let lines: Vec<String> = words::source(pair).into_iter().chain([head, harm]).collect();
            let at = Some((pair.a.line, Some(pair.a.column)));
            ((at, pair.a.from.clone()), format!("{what} on {}", clean(&pair.location)), lines)
        }
        Subject::Ring(ring) => {
            let first = ring.parts.first().map(|part| &part.wants);
            let at = first.map(|wants| (wants.line, Some(wants.column)));
            let open = if ring.verdict() == Verdict::Harmful { "" } else { "unconfirmed " };
            let title = format!("{open}deadlock ring of {}", rings::locks(&ring.parts));
            let lines = ring.parts.iter().map(rings::part).chain([rings::proof(report, ring)]).collect();
            ((at, first.and_then(|wants| wants.from.clone())), title, lines)
        }
        Subject::Violation(of) => {
            let first = atomicity::place(of);
            let at = first.map(|first| (first.line, Some(first.column)));
            let title = format!("{} {}", atomicity::verdict(of), atomicity::name(of));
            let lines = std::iter::once(atomicity::proof(of)).chain(atomicity::cycle(of)).collect();
            ((at, first.and_then(|first| first.from.clone())), title, lines)
        }
        Subject::Failure(fails, _) => {
            let (at, from) = words::place(report, fails, replays);
            let title = if finding.pairs.is_empty() { "failure" } else { "failure in either order" };
            ((at.map(|(line, column)| (line, Some(column))), from), title.to_owned(), Vec::new())
        }
    };
    lines.extend(examples.iter().flat_map(with_commands));
    lines.extend(words::belonging(entry));
    // The annotation is placed in the real app, if the model names the line there.
    let (file, at) = match from.as_deref().and_then(place::source) {
        Some(source) => {
            let line = at.map_or(String::new(), |(line, _)| format!(":{line}"));
            lines.push(format!("in the model: {}{line}", words::variant(about, &path)));
            (source.path, Some((source.line, source.column)))
        }
        None => {
            if !about.defines.is_empty() {
                lines.push(words::variant(about, &path));
            }
            (path, at)
        }
    };
    let at = at.map_or(String::new(), |(line, column)| {
        format!(",line={line}{}", column.map_or(String::new(), |column| format!(",col={column}")))
    });
    lines.retain(|line| !line.is_empty());
    let (kind, file, title) = (word(finding), escape_property(&clean(&file)), escape_property(&title));
    let _ = writeln!(text, "::{kind} file={file}{at},title={title}::{}", escape_data(&lines.join("\n")));
}

fn with_commands(example: &Example<'_>) -> Vec<String> {
    let short = |c: &&String| c.len() <= LONGEST_COMMAND;
    std::iter::once(example.head.plain()).chain(example.commands.iter().filter(short).cloned()).collect()
}

/// Escapes the message of a command, as GitHub's toolkit does.
pub(super) fn escape_data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property of a command, which a colon or a comma would end.
pub(super) fn escape_property(text: &str) -> String {
    escape_data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::{escape_data, escape_property};
    use proptest::prelude::*;

    // Decodes like the runner of GitHub (`ActionCommand`): in this order, with `%25` last.
    fn unescape(text: &str, property: bool) -> String {
        let text = text.replace("%0D", "\r").replace("%0A", "\n");
        let text = if property { text.replace("%3A", ":").replace("%2C", ",") } else { text };
        text.replace("%25", "%")
    }

    proptest! {
        #[test]
        fn escapes_are_undone_by_the_reader(text in "([a-z:,% \r\n\"]|%0A|%25|%3A|::|.){0,40}") {
            let (data, property) = (escape_data(&text), escape_property(&text));
            prop_assert_eq!(unescape(&data, false), text.clone());
            prop_assert_eq!(unescape(&property, true), text);
            prop_assert!(!data.contains(['\r', '\n']));
            prop_assert!(!property.contains(['\r', '\n', ':', ',']));
        }
    }

    #[test]
    fn what_looks_like_a_command_is_none() {
        assert_eq!(escape_data("50%\n::error::x"), "50%25%0A::error::x");
        assert_eq!(escape_property("a,line=3::b"), "a%2Cline=3%3A%3Ab");
    }
}
