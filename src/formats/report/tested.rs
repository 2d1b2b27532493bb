//! Renders results of `test` in the forms that other tools read: JUnit XML, GitHub's workflow commands, Markdown
//! ([`super::sarif::tested`] has SARIF).
//!
//! The failures in these forms are those of the test: an `expect` line that is not met, a line that could not be
//! checked because every run hit a limit, and an input that could not be read.

use super::{counted, place};
use crate::base::clean;
use crate::formats::gate::GateFailure;
use crate::formats::shell;
use crate::formats::test::{ContraryRuns, LineReport, TestReport, Variant};
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};
use std::fmt::Write as _;

// Maximum number of examples for one line, and maximum length of a token that is printed.
const SHOWN: usize = 3;
const LONGEST_TOKEN: usize = 1_000;

/// Formats a variant: `app.race -D FIXED=1`.
pub(super) fn name(variant: &Variant) -> String {
    let defines: String = variant.defines.iter().map(|(name, value)| format!(" -D {name}={value}")).collect();
    clean(&format!("{}{defines}", place::path(&variant.file)))
}

/// Returns the text of an `expect` line, on one line.
pub(super) fn line(expected: &LineReport) -> String {
    clean(&expected.text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Returns whether a line fails the test: it is not met, or all runs hit a limit.
pub(super) fn fails(variant: &Variant, expected: &LineReport) -> bool {
    // In a variant that passed or was skipped, an unchecked line has another reason.
    expected.verdict == "unmet"
        || variant.verdict == "failed" && expected.why.iter().any(|why| why == crate::formats::test::CUT)
}

/// Returns the reasons why a line fails, and the runs that show it with the commands that replay them.
pub(super) fn reasons(variant: &Variant, expected: &LineReport) -> Vec<String> {
    let mut lines: Vec<String> = expected.why.iter().map(|why| clean(why)).collect();
    for against in expected.shown.iter().take(SHOWN) {
        lines.push(format!("{} this way: {}", ended(against.runs), clean(against.text())));
        lines.extend(replay(variant, against));
    }
    if expected.shown.len() > SHOWN {
        lines.push(format!("and {} more", expected.shown.len() - SHOWN));
    }
    lines
}

fn ended(runs: u32) -> String {
    if runs == 1 { "1 run ends".to_owned() } else { format!("{runs} runs end") }
}

/// Returns the command that replays a run, unless its token is too long for a line.
pub(super) fn replay(variant: &Variant, against: &ContraryRuns) -> Option<String> {
    let short = !against.token.is_empty() && against.token.len() <= LONGEST_TOKEN;
    short.then(|| clean(&format!("  raceflip replay {} {}", shell::path(&variant.file), against.token)))
}

/// Renders a JUnit document: a suite for each variant, a case for each `expect` line.
#[must_use]
pub fn junit(report: &TestReport, failures: &[GateFailure]) -> String {
    let mut document = Report::new("raceflip test");
    for variant in &report.variants {
        let mut suite = TestSuite::new(name(variant));
        suite.add_property(Property::new("seed", report.seed.to_string()));
        for expected in &variant.expectations {
            suite.add_test_case(case(variant, expected));
        }
        if !variant.complete {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_type("interrupted").set_message("interrupted: the result is incomplete");
            let mut case = TestCase::new("the test is complete", status);
            case.set_classname(super::junit::class_name(&place::path(&variant.file), &variant.defines));
            suite.add_test_case(case);
        }
        let notes = caveats(variant);
        if !notes.is_empty() {
            suite.set_system_out(notes.join("\n"));
        }
        document.add_test_suite(suite);
    }
    super::junit::unread(&mut document, &report.refused);
    super::junit::gate(&mut document, failures);
    document.to_string().expect("texts can be written to memory").replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

fn case(variant: &Variant, expected: &LineReport) -> TestCase {
    let why: Vec<String> = expected.why.iter().map(|why| clean(why)).collect();
    let first =
        || expected.shown.first().map(|against| format!("{} this way: {}", ended(against.runs), clean(against.text())));
    let status = match expected.verdict.as_str() {
        _ if fails(variant, expected) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            let message = why.first().cloned().or_else(first).unwrap_or_default();
            status
                .set_type(format!("expect/{}", clean(&expected.verdict)))
                .set_message(message)
                .set_description(reasons(variant, expected).join("\n"));
            status
        }
        "unchecked" => {
            let mut status = TestCaseStatus::skipped();
            status.set_type("expect/unchecked").set_message(why.join("; "));
            status
        }
        _ => TestCaseStatus::success(),
    };
    // Two lines of one model may have the same text, so their places are part of the name.
    let at = if expected.line > 0 { format!("{}: ", expected.line) } else { String::new() };
    let mut case = TestCase::new(format!("{at}{}", line(expected)), status);
    case.set_classname(super::junit::class_name(&place::path(&variant.file), &variant.defines));
    case.extra.insert("file".into(), clean(&place::path(&variant.file)).into());
    if expected.line > 0 {
        case.extra.insert("line".into(), expected.line.to_string().into());
    }
    case
}

/// Returns the limitations of the test of a variant: runs that a limit has cut.
pub(super) fn caveats(variant: &Variant) -> Vec<String> {
    let cut = |cut: &crate::formats::campaign::LimitedRuns| {
        clean(&format!("{} reached the limit of {} (--{})", counted(cut.runs, "run"), cut.limit, cut.option))
    };
    variant.limits.iter().map(cut).collect()
}

/// Renders workflow commands: an error for each line that fails, at that line. GitHub keeps ten annotations of each
/// kind from one step.
#[must_use]
pub fn github(report: &TestReport, failures: &[GateFailure]) -> String {
    let mut text = super::github::gate(failures);
    let most = super::github::MOST.saturating_sub(failures.len());
    let failing = || {
        let all = report.variants.iter().flat_map(|v| v.expectations.iter().map(move |e| (v, e)));
        all.filter(|(v, e)| fails(v, e))
    };
    let errors = failing().count() + report.refused.len();
    for (variant, expected) in failing().take(most) {
        let at = if expected.line > 0 { format!(",line={}", expected.line) } else { String::new() };
        let file = super::github::escape_property(&clean(&place::path(&variant.file)));
        let title = super::github::escape_property(&format!("not met: {}", line(expected)));
        let mut lines = reasons(variant, expected);
        if !variant.defines.is_empty() {
            lines.push(name(variant));
        }
        let says = super::github::escape_data(&lines.join("\n"));
        let _ = writeln!(text, "::error file={file}{at},title={title}::{says}");
    }
    text += &super::github::unread(&report.refused, most.saturating_sub(failing().count()));
    if errors > most {
        let left = errors - most;
        let says =
            format!("GitHub shows {} annotations of each kind for one step: {left} left out here", super::github::MOST);
        let _ = writeln!(text, "::notice title=raceflip::{}", super::github::escape_data(&says));
    }
    text
}

// Maximum length of the text, in bytes, as for campaigns.
const MOST: usize = 60_000;

/// Renders Markdown: counts, and the lines that fail.
#[must_use]
pub fn markdown(report: &TestReport, failures: &[GateFailure]) -> String {
    let variants = counted(report.variants.len() as u64, "variant");
    let mut parts = vec![format!("{} passed", report.passed)];
    for (n, word) in [(report.failed, "failed"), (report.skipped, "skipped"), (report.refused.len(), "not read")] {
        if n > 0 {
            parts.push(format!("{n} {word}"));
        }
    }
    let cut: u64 = report.variants.iter().flat_map(|v| &v.limits).map(|c| u64::from(c.runs)).sum();
    if cut > 0 {
        parts.push(format!("{} at a limit", counted(cut, "run")));
    }
    let mut text = format!("## raceflip test: {variants}: {}\n", parts.join(", "));
    if !failures.is_empty() {
        let _ = write!(text, "\n{}", super::markdown::gate(failures).trim_end_matches('\n'));
        text.push('\n');
    }
    let mut left_out = 0_u64;
    let failing = report.variants.iter().flat_map(|v| v.expectations.iter().map(move |e| (v, e)));
    let mut rows = Vec::new();
    for (variant, expected) in failing.filter(|(v, e)| fails(v, e)) {
        let at = if expected.line > 0 { format!(" line {}", expected.line) } else { String::new() };
        let mut row =
            format!("\n- {}{at}: {}\n", super::markdown::code(&name(variant)), super::markdown::code(&line(expected)));
        for line in reasons(variant, expected) {
            let _ = writeln!(row, "  - {}", super::markdown::code(line.trim()));
        }
        rows.push(row);
    }
    rows.extend(report.refused.iter().map(|error| super::markdown::unread(error)));
    for row in rows {
        if text.len() + row.len() > MOST {
            left_out += 1;
        } else {
            text.push_str(&row);
        }
    }
    if left_out > 0 {
        let _ = writeln!(text, "\n{} left out, because a comment has no room for them.", counted(left_out, "finding"));
    }
    text
}
