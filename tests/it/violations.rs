//! Tests of confirmed violations of atomicity: verdicts, harm, proofs, and the page about them.

use crate::cli::{call, file, scratch};
use crate::language::blocks;
use crate::load::models;
use crate::support::read;
use raceflip::formats::atomicity::AtomicityReport;
use raceflip::formats::violations::{SerialRuns, ViolationsReport};

fn confirmed(model: &str, more: &[&str]) -> (i32, ViolationsReport) {
    let options = ["confirm", model, "--detector", "atomicity", "--format", "json", "--jobs", "2"];
    let ran = call(&[&options, more].concat());
    (ran.status, serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{model}: {e}\n{}{}", ran.out, ran.err)))
}

/// Each model with the specification, and verdicts that it must have among its findings. A transaction has a finding
/// for each set of locations and intruders. One that is refuted has no other finding.
#[test]
fn the_models_have_their_verdicts() {
    type Row = (&'static str, &'static [&'static str], &'static [(&'static str, &'static str)], i32);
    let cases: [Row; 13] = [
        ("block", &[], &[("append", "HARMFUL")], 1),
        ("block", &["-D", "FIXED=1"], &[("append", "REFUTED")], 0),
        ("chain", &[], &[("A", "REAL")], 1),
        ("joint", &[], &[("A", "JOINT"), ("B", "JOINT")], 0),
        ("locks_only", &[], &[("both", "REFUTED")], 0),
        ("mate", &[], &[("P", "REAL")], 1),
        ("parent", &[], &[("Shop", "REAL")], 0),
        ("seal1", &[], &[("MainActivity", "REFUTED"), ("MyReceiver", "REFUTED")], 0),
        ("seal3", &[], &[("MainActivity", "REAL")], 1),
        ("seal4", &[], &[("Counter", "HARMFUL")], 1),
        ("seal4", &["-D", "FIXED=1"], &[("Counter", "REFUTED"), ("MyReceiver", "REFUTED")], 0),
        ("seal6", &["--atomic", "tree"], &[("withdraw", "HARMFUL")], 1),
        ("seal5", &[], &[("MainActivity", "REAL")], 0),
    ];
    let mut wrong = Vec::new();
    for (name, more, expected, status) in cases {
        let (ended, report) = confirmed(&format!("harnesses/atomicity/{name}.race"), more);
        let found: Vec<(&str, &str)> =
            report.violations.iter().map(|of| (of.transaction.as_str(), of.verdict.as_str())).collect();
        let is_refuted = |name: &str| expected.contains(&(name, "REFUTED"));
        let contradicts = found.iter().any(|(name, verdict)| is_refuted(name) && *verdict != "REFUTED");
        if expected.iter().any(|wanted| !found.contains(wanted)) || contradicts || ended != status {
            wrong.push(format!("{name} {more:?}: {ended} {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The token of a violation replays a run that shows it, and that of a harm fails.
#[test]
fn tokens_replay() {
    let model = "harnesses/atomicity/block.race";
    let (_, report) = confirmed(model, &[]);
    let harm = report.violations.iter().find_map(|of| of.harm.as_ref()).expect("it is harmful");
    let SerialRuns { before, after, other } = harm.in_one_piece;
    assert!(harm.failure.runs > 0 && before > 0 && after > 0 && before + after + other >= 439, "{harm:?}");
    let ran = call(&["replay", model, &harm.failure.again.token]);
    assert!(ran.status == 1 && ran.out.contains("as many characters as there were"), "{}", ran.out);
}

/// The first access is an initialization only if the transaction has not read the location before.
#[test]
fn an_initialization_comes_first() {
    let folder = scratch("violations-initialization");
    let marked = |name: &str, first: &str| {
        let text = format!(
            "var x = 0\nvar seen = 0\nthread a {{ transaction \"A\" {{ {first} x = 1; seen = x }} }}\nthread b {{ x = 5 }}\n"
        );
        let (_, report) = confirmed(&file(&folder, name, &text), &[]);
        let cycles = report.violations.iter().filter_map(|of| of.finding.as_ref()).flat_map(|finding| &finding.cycles);
        // The cycle from the write to the read behind it.
        let of_write = cycles.filter(|cycle| cycle.edges[0].from.operation == "write").collect::<Vec<_>>();
        assert!(!of_write.is_empty(), "{report:?}");
        of_write.iter().any(|cycle| cycle.initialization)
    };
    assert!(marked("writes.race", ""));
    assert!(!marked("reads.race", "seen = x;"));
}

/// What a search rules out for components, no detection run shows.
#[test]
fn no_run_violates_what_is_refuted() {
    let mut refuted = 0;
    for path in models("harnesses/components") {
        let path = path.display().to_string();
        let (_, report) = confirmed(&path, &["--runs", "10", "--trials", "8"]);
        let of_verdict = report.violations.iter().filter(|of| of.verdict == "REFUTED");
        let names: Vec<(&str, &str)> =
            of_verdict.map(|of| (of.specification.as_str(), of.transaction.as_str())).collect();
        let options = ["detect", &path, "--detector", "atomicity", "--runs", "300", "--format", "json"];
        let detected = call(&options).out;
        let seen: AtomicityReport = serde_json::from_str(&detected).unwrap_or_else(|e| panic!("{path}: {e}"));
        for of in &seen.specifications {
            let certain = of.findings.iter().filter(|finding| finding.blame == "certain" && finding.priority < 4);
            for finding in certain {
                assert!(!names.contains(&(&of.specification, &finding.transaction)), "{path}: {}", finding.transaction);
            }
        }
        refuted += names.len();
    }
    assert!(refuted >= 30, "{refuted}");
}

#[test]
fn options_that_contradict_are_refused() {
    let model = "harnesses/atomicity/block.race";
    for more in [&["--pair", "@len~@cut"][..], &["--no-orders"], &["--edges", "paper"]] {
        let ran = call(&[&["confirm", model, "--detector", "atomicity"], more].concat());
        assert!(ran.status == 2 && !ran.err.is_empty(), "{more:?}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn the_page_holds_what_it_says() {
    let folder = scratch("atomicity-page");
    let page = read("docs/atomicity.md");
    let models: Vec<_> = blocks(&page).into_iter().filter(|block| block.info == "race").collect();
    assert_eq!(models.len(), 4);
    for block in &models {
        file(&folder, &format!("line_{}.race", block.line), &block.text);
    }
    let ran = call(&["test", &folder.display().to_string(), "--no-save"]);
    assert_eq!(ran.status, 0, "{}{}", ran.out, ran.err);
}
