//! Renders JUnit XML, for CI servers that show tests: Jenkins, GitLab, Buildkite, Azure.
//!
//! A suite is a model and variant, a case is a pair or a failure:
//!
//! - Each failure of a run makes a case fail: the pair whose harm it is, or else a case of its own, whatever the
//!   verdicts of the pairs in whose runs it occurs. The harmful pairs of one cause are one case, of the pair that leads
//!   them, and the others are listed there.
//! - A deadlock ring is a case like a pair: a confirmed one fails, an unconfirmed one is skipped.
//! - A declared transaction is a case like a pair: if it is harmful not to have it in one piece, the case fails.
//! - An unconfirmed pair is a skipped case.
//! - A confirmed pair without known harm passes, because it is no reason to break a build, and so does a refuted pair.
//!   Both have their verdict in the property `verdict` and in their output.
//! - An interrupted campaign is an error.
//! - Each failure of the gate (`--fail-on`) is a case of the suite `raceflip gate`, so that no board is green if the
//!   command has failed.
//!
//! There are no times and no host names: the same campaign gives the same bytes.

use super::fuzzed::is_fuzzed;
use super::words::{self, Example};
use super::{CommandEnd, Replays, ReportEntry, Subject, atomicity, entries, place, rings};
use crate::base::clean;
use crate::campaign::{PairFacts, RingFacts, Verdict, ViolationFacts, ViolationVerdict};
use crate::formats::campaign::ConfirmReport;
use crate::formats::gate::GateFailure;
use crate::formats::ring::JudgedRing;
use crate::formats::violations::JudgedViolation;
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};
use std::collections::BTreeMap;

/// Renders all reports as one XML document.
#[must_use]
pub fn render(reports: &[ConfirmReport], end: &CommandEnd, replays: &mut dyn Replays) -> String {
    let command = if reports.iter().any(is_fuzzed) { "raceflip fuzz" } else { "raceflip confirm" };
    let mut document = Report::new(command);
    for report in reports {
        document.add_test_suite(suite(report, replays));
    }
    unread(&mut document, &end.unread);
    gate(&mut document, &end.failures());
    // The writer removes control characters, but not these two, which XML forbids as well.
    document.to_string().expect("texts can be written to memory").replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

fn suite(report: &ConfirmReport, replays: &mut dyn Replays) -> TestSuite {
    let about = &report.about;
    let path = place::path(&replays.path(&about.file));
    let mut suite = TestSuite::new(words::variant(about, &path));
    for (name, value) in [
        ("program", clean(&about.program)),
        ("seed", about.seed.to_string()),
        ("runs", about.runs.to_string()),
        ("trials", about.trials.to_string()),
    ] {
        suite.add_property(Property::new(name, value));
    }
    for (name, value) in &about.defines {
        suite.add_property(Property::new(clean(&format!("define {name}")), value.to_string()));
    }
    let class = class_name(&path, &about.defines);
    let mut names = BTreeMap::new();
    for entry in entries(report) {
        let mut case = case(&entry, replays);
        // A server merges two cases of the same name into one.
        let times = names.entry(case.name.as_str().to_owned()).and_modify(|n| *n += 1).or_insert(1);
        if *times > 1 {
            case.name = format!("{} ({times})", case.name.as_str()).into();
        }
        case.set_classname(class.as_str());
        case.extra.shift_insert(0, "file".into(), clean(&path).into());
        suite.add_test_case(case);
    }
    let caveats = words::caveats(report);
    if !about.complete {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_type("interrupted").set_message("interrupted: the result is incomplete");
        let mut case = TestCase::new("the campaign is complete", status);
        case.set_classname(class.as_str());
        suite.add_test_case(case);
    }
    if !caveats.is_empty() {
        suite.set_system_out(caveats.join("\n"));
    }
    suite
}

/// Returns the class name of a case, which is the same for all commands: the path with dots, as in package names, and
/// the constants, which distinguish variants.
pub(super) fn class_name(path: &str, defines: &BTreeMap<String, i64>) -> String {
    let stem = path.strip_suffix(".race").unwrap_or(path).trim_start_matches(['/', '.']);
    let defines: Vec<String> = defines.iter().map(|(n, v)| format!("{n}={v}")).collect();
    let variant = if defines.is_empty() { String::new() } else { format!("[{}]", defines.join(",")) };
    clean(&format!("{}{variant}", stem.replace('/', ".")))
}

/// Adds the errors of inputs that could not be read as a suite of their own.
pub(super) fn unread(document: &mut Report, errors: &[String]) {
    if errors.is_empty() {
        return;
    }
    let mut suite = TestSuite::new("what could not be read");
    for (i, error) in errors.iter().enumerate() {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_type("refused").set_message(clean(error.lines().next().unwrap_or_default()));
        let lines: Vec<String> = error.lines().map(clean).collect();
        status.set_description(lines.join("\n"));
        suite.add_test_case(TestCase::new(format!("input {}", i + 1), status));
    }
    document.add_test_suite(suite);
}

/// Adds the failures of the gate as a suite of its own.
pub(super) fn gate(document: &mut Report, failures: &[GateFailure]) {
    if failures.is_empty() {
        return;
    }
    let mut suite = TestSuite::new("raceflip gate");
    for failure in failures {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_type(format!("gate/{}", failure.on)).set_message(failure.text());
        let mut case = TestCase::new(format!("--fail-on {}", failure.on), status);
        case.set_classname("raceflip.gate");
        suite.add_test_case(case);
    }
    document.add_test_suite(suite);
}

fn case(entry: &ReportEntry<'_>, replays: &mut dyn Replays) -> TestCase {
    let ReportEntry { report, finding } = entry;
    let mut body = body(&entry.examples(replays));
    words::belonging(entry).iter().for_each(|line| body.push_str(&format!("\n{line}")));
    let (pair, order) = match finding.subject {
        Subject::Pair { pair, order } => (pair, order),
        Subject::Ring(ring) => return ring_case(report, ring, &body),
        Subject::Violation(of) => return violation_case(of, &body),
        Subject::Failure(fails, runs) => {
            let head = words::fails(report, fails, runs, replays).head.plain();
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            let ty = if finding.pairs.is_empty() { "failure/unexplained" } else { "failure/either-order" };
            status.set_type(ty).set_message(head).set_description(body);
            let mut case = TestCase::new(clean(&format!("no failure: {}", fails.signature)), status);
            if let (Some((line, _)), _) = words::place(report, fails, replays) {
                case.extra.insert("line".into(), line.to_string().into());
            }
            return case;
        }
    };
    let proof = words::proof(report, pair);
    let verdict = pair.verdict();
    let status = match verdict {
        Verdict::Harmful => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            let ty = if order { "order/harmful" } else { "race/harmful" };
            let head: Vec<String> = words::source(pair).into_iter().chain([words::pair(pair)]).collect();
            let body = format!("{}\n{}; {proof}\n{body}", head.join("\n"), words::seen(pair));
            status.set_type(ty).set_message(words::harm(pair)).set_description(body);
            status
        }
        Verdict::Unconfirmed => {
            let mut status = TestCaseStatus::skipped();
            status.set_type("race/unconfirmed").set_message(format!("unconfirmed: {proof}"));
            status
        }
        Verdict::Real | Verdict::Refuted => TestCaseStatus::success(),
    };
    let place = clean(&pair.location);
    let what = if order { "order" } else { "race" };
    let mut case = TestCase::new(format!("{what} on {place}: {}", words::name(pair)), status);
    if matches!(verdict, Verdict::Real | Verdict::Refuted) {
        let harm = words::harm(pair);
        let lines = [words::pair(pair), format!("{}; {proof}", words::seen(pair)), harm, body];
        let lines = words::source(pair).into_iter().chain(lines);
        let lines: Vec<String> = lines.filter(|l| !l.is_empty()).collect();
        case.set_system_out(lines.join("\n"));
    }
    case.extra.insert("line".into(), pair.a.line.to_string().into());
    for (name, value) in [("verdict", verdict.word().to_owned()), ("rank", pair.rank.to_string())] {
        case.add_property(Property::new(name, clean(&value)));
    }
    case
}

fn ring_case(report: &ConfirmReport, ring: &JudgedRing, body: &str) -> TestCase {
    let (verdict, proof) = (ring.verdict(), rings::proof(report, ring));
    let parts: Vec<String> = ring.parts.iter().map(rings::part).collect();
    let text = format!("{}\n{proof}\n{body}", parts.join("\n"));
    let status = match verdict {
        Verdict::Harmful => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_type("ring/harmful").set_message(parts.join("; ")).set_description(text.as_str());
            status
        }
        Verdict::Unconfirmed => {
            let mut status = TestCaseStatus::skipped();
            status.set_type("ring/unconfirmed").set_message(format!("unconfirmed: {proof}"));
            status
        }
        Verdict::Real | Verdict::Refuted => TestCaseStatus::success(),
    };
    let mut case =
        TestCase::new(format!("deadlock ring of {}: {}", rings::locks(&ring.parts), rings::name(ring)), status);
    if verdict == Verdict::Refuted {
        case.set_system_out(text.trim_end());
    }
    if let Some(first) = ring.parts.first() {
        case.extra.insert("line".into(), first.wants.line.to_string().into());
    }
    case.add_property(Property::new("verdict", verdict.word()));
    case
}

fn violation_case(of: &JudgedViolation, body: &str) -> TestCase {
    let proof = atomicity::proof(of);
    let text = format!("{}\n{proof}\n{body}", atomicity::cycle(of).join("\n"));
    let status = match of.verdict() {
        ViolationVerdict::Harmful => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            let harm = of.harm_words().map_or(String::new(), |harm| clean(&harm));
            status.set_type("atomicity/harmful").set_message(harm).set_description(text.trim_end());
            status
        }
        ViolationVerdict::Unconfirmed => {
            let mut status = TestCaseStatus::skipped();
            status.set_type("atomicity/unconfirmed").set_message(format!("unconfirmed: {proof}"));
            status
        }
        ViolationVerdict::Real | ViolationVerdict::Joint | ViolationVerdict::Refuted => TestCaseStatus::success(),
    };
    let statements = atomicity::statements(of);
    let statements = if statements.is_empty() { statements } else { format!(": {statements}") };
    let mut case = TestCase::new(format!("{}{statements}", atomicity::name(of)), status);
    if !matches!(of.verdict(), ViolationVerdict::Harmful | ViolationVerdict::Unconfirmed) {
        case.set_system_out(text.trim_start_matches('\n').trim_end());
    }
    if let Some(first) = atomicity::place(of) {
        case.extra.insert("line".into(), first.line.to_string().into());
    }
    case.add_property(Property::new("verdict", atomicity::verdict(of)));
    case
}

fn body(examples: &[Example<'_>]) -> String {
    let lines = examples.iter().flat_map(|t| {
        let commands = t.commands.iter().map(|c| format!("  {c}"));
        std::iter::once(t.head.plain()).chain(commands)
    });
    lines.collect::<Vec<String>>().join("\n")
}
