//! Tests of reports with hostile texts: whatever a model, a path or a file of results contains, the reports remain
//! valid in each format.

use crate::load::load_bytes;
use crate::reports::{campaign, elements};
use crate::schema::{Schema, sarif_schema, valid};
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use raceflip::campaign::CampaignPlan;
use raceflip::formats::atomicity::{FoundCycle, FoundEdge, FoundMoment, FoundViolation};
use raceflip::formats::campaign::{About, Access, ConfirmReport, Evidence, Pair};
use raceflip::formats::failure_place::FailurePlace;
use raceflip::formats::report::{CommandEnd, ReplayedRun, Replays, RunStep, github, junit, markdown, sarif};
use raceflip::formats::violations::{HarmOfViolation, JudgedViolation, OpenHarm, SerialRuns, ViolationsReport};
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// Replays that contain a hostile text in every place.
struct Hostile(String);

impl Replays for Hostile {
    fn run(&mut self, _: &About, _: &Evidence, _: &[&Access]) -> Option<ReplayedRun> {
        let text = self.0.clone();
        let step = |number, thread: Option<&str>| RunStep {
            number,
            thread: thread.map(str::to_owned),
            what: text.clone(),
            at: (number > 1).then_some((number as u32, 1)),
            ..RunStep::default()
        };
        let steps = vec![step(1, Some("a")), step(2, Some(&text)), step(0, None), step(3, Some("a"))];
        Some(ReplayedRun {
            steps,
            failing: Some(FailurePlace { text, line: Some(3), column: Some(1), from: None }),
            diagram: None,
        })
    }
}

/// Returns a report with a harmful pair, a real pair, and a failure that no pair explains.
fn report() -> &'static ConfirmReport {
    static REPORT: OnceLock<ConfirmReport> = OnceLock::new();
    REPORT.get_or_init(|| {
        let text = "var x = 0\nvar y = 0\nthread a { x = 1; y = 1 }\nthread b { x = 2; y = 2; assert x == 2; if * { fail \"z\" } }\n";
        let model = load_bytes("m.race", text.as_bytes(), &[]);
        campaign("m.race", &model, CampaignPlan::new(&model))
    })
}

fn with(text: &str) -> ConfirmReport {
    let mut report = report().clone();
    let pair = |pair: &mut Pair| {
        for a in [&mut pair.a, &mut pair.b] {
            a.site = text.to_owned();
            a.place = text.to_owned();
            a.label = Some(text.to_owned());
            a.from = Some(text.to_owned());
        }
        pair.location = text.to_owned();
        pair.contexts = vec![text.to_owned()];
        // All pairs of this model have the same contexts.
        pair.between = vec![text.to_owned(); 2];
        for fails in pair.orders.iter_mut().flat_map(|order| &mut order.failures) {
            fails.ending.text = text.to_owned();
        }
    };
    report.about.file = text.to_owned();
    report.about.defines.insert(text.to_owned(), 1);
    report.pairs.iter_mut().for_each(pair);
    for fails in report.detection_failures.iter_mut().chain(&mut report.unexplained) {
        fails.signature = text.to_owned();
        fails.ending.text = text.to_owned();
    }
    report.atomicity = Some(violations(text, &report));
    report
}

/// Verdicts on declared transactions, one of each kind, with a text in every place and with counts that are too large.
fn violations(text: &str, report: &ConfirmReport) -> ViolationsReport {
    let moment = |inside, statement| FoundMoment {
        step: u32::MAX,
        line: 0,
        thread: text.to_owned(),
        task: Some(text.to_owned()),
        site: Some(text.to_owned()),
        statement,
        operation: text.to_owned(),
        inside,
    };
    let pair = &report.pairs[0];
    let edge = |from, to| FoundEdge { kind: text.to_owned(), about: Some(text.to_owned()), from, to };
    let (own, other) = (moment(true, Some(pair.a.clone())), moment(false, Some(pair.b.clone())));
    let cycle = FoundCycle {
        transaction: text.to_owned(),
        priority: 1,
        edges: vec![edge(own.clone(), other.clone()), edge(other, moment(true, None)), edge(own, moment(true, None))],
        same_value: true,
        initialization: true,
    };
    let finding = FoundViolation {
        transaction: text.to_owned(),
        blame: text.to_owned(),
        with: vec![text.to_owned()],
        priority: 1,
        cycles: vec![cycle],
        runs: Some(u32::MAX),
        token: None,
    };
    let failure = report.detection_failures.iter().chain(&report.unexplained).next().expect("a failure");
    let in_one_piece = SerialRuns { before: u32::MAX, after: u32::MAX, other: u32::MAX };
    let harm = HarmOfViolation { failure: failure.clone(), violated: u32::MAX, in_one_piece, others: Vec::new() };
    let of = |verdict: &str| JudgedViolation {
        verdict: verdict.to_owned(),
        specification: text.to_owned(),
        transaction: text.to_owned(),
        finding: Some(finding.clone()),
        again: Some(failure.again.clone()),
        trials: u32::MAX,
        hits: u32::MAX,
        states: Some(u64::MAX),
        undecided: Some(text.to_owned()),
        leader: None,
        harm: (verdict == "HARMFUL").then(|| harm.clone()),
        open_harm: (verdict == "REAL").then(|| OpenHarm { signature: text.to_owned(), either_way: true }),
    };
    let (format, file) = (text.to_owned(), text.to_owned());
    let violations = ["HARMFUL", "REAL", "JOINT", "UNCONFIRMED", "REFUTED", text].map(of).to_vec();
    ViolationsReport { format, version: 2, file, runs: u32::MAX, violations, complete: true }
}

fn hostile() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just("]]>"),
        Just("<!--"),
        Just("&amp;"),
        Just("\u{1b}[31m"),
        Just("\u{0}"),
        Just("\u{fffe}"),
        Just("%0A"),
        Just("::error::"),
        Just("\n"),
        Just("\r\n"),
        Just("\""),
        Just("'"),
        Just("|"),
        Just("\\|"),
        Just("`"),
        Just("```"),
        Just("</details>"),
        Just("[x](y)"),
        Just("{0}"),
        Just(", "),
        Just(":"),
        Just("%"),
        Just("@someone"),
        Just("a#1"),
        Just("\u{202e}"),
        Just("\u{85}"),
        Just("ä"),
        Just("x"),
        Just(" "),
        Just("../"),
        Just("\\"),
    ];
    prop::collection::vec(pieces, 1..8).prop_map(|p| p.concat())
}

/// Returns the number of cells of each row of the tables. Asserts that the text contains no links, images, quotations
/// or foreign HTML.
fn cells(text: &str) -> Vec<usize> {
    let mut rows = Vec::new();
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::TableRow | Tag::TableHead) => rows.push(0),
            Event::End(TagEnd::TableCell) => *rows.last_mut().unwrap() += 1,
            Event::Start(tag @ (Tag::Link { .. } | Tag::Image { .. } | Tag::BlockQuote(_))) => {
                panic!("{tag:?}\n{text}")
            }
            Event::InlineHtml(html) => assert!(["<code>", "</code>"].contains(&&*html), "{html}\n{text}"),
            _ => {}
        }
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn hostile_texts_do_not_get_through(text in hostile()) {
        let reports = [with(&text)];
        let mut at = Hostile(text.clone());
        // Pairs of one cause are one finding, but the table has a row for each pair.
        let harmful: BTreeSet<_> = reports[0].pairs.iter().filter_map(|p| p.leader.clone()).collect();
        let others = reports[0].pairs.iter().filter(|p| p.harms.is_empty()).count();
        let (findings, told) = (harmful.len() + others + 1, reports[0].pairs.len() + 1);

        let xml = junit::render(&reports, &CommandEnd::default(), &mut at);
        prop_assert!(elements(&xml, "testcase") >= findings, "{}", xml);
        prop_assert!(!xml.contains("<!--"), "{}", xml);

        static SCHEMA: OnceLock<Schema> = OnceLock::new();
        let log = valid(SCHEMA.get_or_init(sarif_schema), &sarif::render(&reports, &CommandEnd::default(), &mut at));
        prop_assert!(log["runs"][0]["results"].as_array().unwrap().len() >= findings);
        let uri = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap();
        prop_assert!(uri.chars().all(|c| c.is_ascii_alphanumeric() || "-._~/%:".contains(c)), "{}", uri);

        let lines = github::render(&reports, &CommandEnd::default(), &mut at);
        prop_assert!(lines.lines().all(|l| ["::error ", "::warning ", "::notice "].iter().any(|k| l.starts_with(k))), "{}", lines);
        for line in lines.lines() {
            let (properties, _) = line[2..].split_once("::").unwrap();
            let names: Vec<&str> = properties.split_once(' ').unwrap().1.split(',').map(|p| p.split('=').next().unwrap()).collect();
            prop_assert!(names == ["file", "line", "col", "title"] || names == ["file", "title"], "{}", line);
        }

        let text = markdown::render(&reports, &CommandEnd::default(), &mut at);
        let rows = cells(&text);
        prop_assert_eq!(rows.iter().filter(|n| **n == 7).count(), 2, "{}", &text);
        prop_assert_eq!(rows.iter().filter(|n| **n == 5).count(), rows.len() - 2, "{}", &text);
        prop_assert!(rows.len() >= 3 + told, "{}", &text);
        let details = text.lines().filter(|l| *l == "<details>").count();
        prop_assert_eq!(details, text.lines().filter(|l| *l == "</details>").count());
        prop_assert!(details >= 1);
    }
}

/// Content that exceeds the size of a comment is left out and counted.
#[test]
fn long_reports_are_cut() {
    let long = "x".repeat(3_000);
    let reports: Vec<ConfirmReport> = (0..200).map(|_| with(&long)).collect();
    let text = markdown::render(&reports, &CommandEnd::default(), &mut Hostile(long.clone()));
    assert!(text.len() < 65_000, "{}", text.len());
    for what in ["models left out", "findings left out", "findings are left out"] {
        assert!(text.contains(what), "{what}: {text}");
    }
}
