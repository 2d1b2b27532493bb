//! Tests of reports for other tools: their appearance, and the requirements of their formats, on real campaigns.

use crate::cli::{MENU, REFUSED, call, file, scratch};
use crate::complete::all_variants;
use crate::load::{Model, load_bytes};
use crate::schema::{sarif_schema, valid};
use crate::support::read;
use quick_xml::Reader;
use quick_xml::events::Event;
use raceflip::campaign::{
    CampaignContext, CampaignPlan, DetectionPlan, Explore, Finding, NoProgress, PairFacts, RingFacts, StatePlan,
    Subject, TrialPlan, ViolationFacts, confirm,
};
use raceflip::formats::campaign::{About, Access, ConfirmReport, Evidence};
use raceflip::formats::report::{
    CommandEnd, NoReplays, ReplayedRun, Replays, github, junit, markdown, replayed, sarif,
};
use serde_json::Value;
use std::sync::atomic::AtomicBool;

/// Replays of the runs of one model.
pub(crate) struct At(pub(crate) Model);

impl Replays for At {
    fn run(&mut self, _: &About, again: &Evidence, marked: &[&Access]) -> Option<ReplayedRun> {
        replayed(&self.0, &again.token, &raceflip::world::Limits::default(), marked)
    }
}

pub(crate) fn campaign(path: &str, model: &Model, plan: CampaignPlan) -> ConfirmReport {
    let found = confirm(&plan, CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress });
    ConfirmReport::new(path, model.digest(), &plan, &found)
}

fn of(path: &str) -> ([ConfirmReport; 1], At) {
    let model = load_bytes(path, read(path).as_bytes(), &[]);
    let mut plan = CampaignPlan::new(&model);
    plan.trials.orders = true;
    ([campaign(path, &model, plan)], At(model))
}

/// Replaces tokens by a placeholder, because they are long and not under test here.
fn steady(text: &str) -> String {
    let word = |w: &str| match w.find("rf1-") {
        Some(at) => {
            let end = w[at..].find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_');
            format!("{}rf1-TOKEN{}", &w[..at], end.map_or("", |e| &w[at + e..]))
        }
        None => w.to_owned(),
    };
    text.split(' ').map(|line| line.split('\n').map(word).collect::<Vec<_>>().join("\n")).collect::<Vec<_>>().join(" ")
}

/// Returns the content of a SARIF log as lines.
fn outline(log: &str) -> String {
    let log: Value = serde_json::from_str(log).unwrap();
    let mut lines = Vec::new();
    for result in log["runs"][0]["results"].as_array().unwrap() {
        let text = |v: &Value| v.as_str().unwrap_or("-").to_owned();
        let region = &result["locations"][0]["physicalLocation"]["region"];
        let (rule, kind, level) = (text(&result["ruleId"]), text(&result["kind"]), text(&result["level"]));
        let print = text(&result["partialFingerprints"]["raceflip/v1"]);
        lines.push(format!("{rule} {kind} {level} :{} {print}", region["startLine"]));
        lines.push(format!("  {}", text(&result["message"]["text"])));
        for flow in result["codeFlows"].as_array().into_iter().flatten() {
            lines.push(format!("  {}", text(&flow["message"]["text"])));
            for thread in flow["threadFlows"].as_array().unwrap() {
                lines.push(format!("    {}", text(&thread["id"])));
                for at in thread["locations"].as_array().unwrap() {
                    let (location, order) = (&at["location"], &at["executionOrder"]);
                    let line = &location["physicalLocation"]["region"]["startLine"];
                    let says = text(&location["message"]["text"]);
                    lines.push(format!("      {order:>2} {} :{line} {says}", text(&at["importance"])));
                }
            }
        }
    }
    lines.join("\n")
}

#[test]
fn reports_look_so() {
    for path in [
        "harnesses/papers/racefuzzer_fig1.race",
        "harnesses/papers/music_player.race",
        // This model has order pairs.
        "harnesses/bugs/missed_notify.race",
    ] {
        let name = path.rsplit('/').next().unwrap().trim_end_matches(".race");
        let (reports, mut at) = of(path);
        let snap = |what: &str, text: &str| insta::assert_snapshot!(format!("{name}_{what}"), steady(text));
        snap("junit", &junit::render(&reports, &CommandEnd::default(), &mut at));
        snap("github", &github::render(&reports, &CommandEnd::default(), &mut at));
        snap("markdown", &markdown::render(&reports, &CommandEnd::default(), &mut at));
        snap("sarif_outline", &outline(&sarif::render(&reports, &CommandEnd::default(), &mut at)));
    }
}

/// Describes a finding by its verdict or signature, and the number of pairs that belong to it.
fn named<P: PairFacts>(findings: &[Finding<'_, P>]) -> Vec<String> {
    let name = |finding: &Finding<'_, P>| match finding.subject {
        Subject::Pair { pair, order } => format!("{} {order} {}", pair.verdict(), pair.harms().join(", ")),
        Subject::Ring(ring) => format!("{} ring", ring.verdict()),
        Subject::Violation(of) => format!("{} transaction", of.verdict().word()),
        Subject::Failure(failure, runs) => format!("{} {}", P::signature(failure), runs.word()),
    };
    findings.iter().map(|f| format!("{} {}", name(f), f.pairs.len())).collect()
}

#[test]
fn a_campaign_and_its_report_have_the_same_findings() {
    for path in ["harnesses/papers/music_player.race", "harnesses/bugs/missed_notify.race"] {
        let model = load_bytes(path, read(path).as_bytes(), &[]);
        let plan =
            CampaignPlan { trials: TrialPlan { orders: true, ..TrialPlan::default() }, ..CampaignPlan::new(&model) };
        let found = confirm(&plan, CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress });
        let report = ConfirmReport::new(path, model.digest(), &plan, &found);
        let findings = named(&found.findings());
        assert!(findings.iter().any(|name| name.starts_with("HARMFUL")), "{findings:?}");
        assert_eq!(findings, named(&report.findings()));
    }
}

/// Returns the number of elements with this name. Asserts that every element is closed and that XML 1.0 allows every
/// character.
pub(crate) fn elements(xml: &str, name: &str) -> usize {
    let allowed =
        |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    assert!(xml.chars().all(allowed), "{xml:?}");
    let (mut reader, mut open, mut count) = (Reader::from_str(xml), 0, 0);
    loop {
        match reader.read_event().unwrap_or_else(|e| panic!("{e}\n{xml}")) {
            Event::Start(e) => {
                open += 1;
                count += usize::from(e.name().as_ref() == name.as_bytes());
                assert!(e.attributes().all(|a| a.is_ok_and(|a| !a.value.contains(&b'<'))), "{xml}");
            }
            Event::Empty(e) => count += usize::from(e.name().as_ref() == name.as_bytes()),
            Event::End(_) => open -= 1,
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(open, 0, "{xml}");
    count
}

/// Asserts that the flows of a result keep the limits, and that the steps of each thread are in order.
fn check_flows(result: &Value) {
    let mut locations = 0;
    for flow in result["codeFlows"].as_array().into_iter().flatten() {
        let lists: Vec<Vec<u64>> = flow["threadFlows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|t| t["locations"].as_array().unwrap().iter().map(|l| l["executionOrder"].as_u64().unwrap()).collect())
            .collect();
        locations += lists.iter().map(Vec::len).sum::<usize>();
        assert!(lists.iter().all(|l| l.is_sorted_by(|a, b| a < b)), "{result}");
        let mut union: Vec<u64> = lists.concat();
        union.sort_unstable();
        union.dedup();
        // Together the threads have every step of the run.
        assert_eq!(union, (1..=union.len() as u64).collect::<Vec<_>>(), "{result}");
    }
    assert!(locations <= 1_000, "{locations}");
}

#[test]
fn all_harnesses_keep_to_the_formats() {
    let schema = sarif_schema();
    let (mut flows, mut cases) = (0, 0);
    for (path, defines) in all_variants() {
        let model = load_bytes(&path, read(&path).as_bytes(), &defines);
        let plan = CampaignPlan {
            jobs: 2,
            trials: TrialPlan { orders: true, count: 4, ..TrialPlan::default() },
            detection: DetectionPlan { runs: 8, ..DetectionPlan::default() },
            search: StatePlan { explore: Explore::Off, ..StatePlan::default() },
            ..CampaignPlan::new(&model)
        };
        let reports = [campaign(&path, &model, plan)];
        let mut at = At(model);
        let log = valid(&schema, &sarif::render(&reports, &CommandEnd::default(), &mut at));
        let results = log["runs"][0]["results"].as_array().unwrap();
        for result in results {
            check_flows(result);
            let open = result["kind"] == "open";
            // Every finding has a flow, except an open one, which has no token to replay.
            assert_eq!(result["codeFlows"].is_null(), open, "{path} {defines:?}: {result}");
            flows += result["codeFlows"].as_array().map_or(0, Vec::len);
        }
        let prints: std::collections::BTreeSet<String> =
            results.iter().map(|r| r["partialFingerprints"].to_string()).collect();
        assert_eq!(prints.len(), results.len(), "{path}: fingerprints");
        cases += elements(&junit::render(&reports, &CommandEnd::default(), &mut at), "testcase");
        let pairs = reports[0].pairs.len();
        assert!(
            markdown::render(&reports, &CommandEnd::default(), &mut at).lines().filter(|l| l.starts_with('|')).count()
                >= 3 + pairs
        );
        assert!(
            github::render(&reports, &CommandEnd::default(), &mut at).lines().all(|l| l.starts_with("::")),
            "{path}"
        );
    }
    assert!(flows > 500 && cases > 300, "{flows} {cases}");
}

/// Results of several models, read back from JSON, form one report.
#[test]
fn many_models_are_one_report() {
    let files = ["harnesses/papers/racefuzzer_fig1.race", "harnesses/bugs/missed_notify.race", MENU];
    let reports: Vec<ConfirmReport> = files
        .iter()
        .map(|path| {
            let run = call(&["confirm", path, "--format", "json"]);
            serde_json::from_str(&run.out).unwrap()
        })
        .collect();
    let xml = junit::render(&reports, &CommandEnd::default(), &mut NoReplays);
    assert_eq!((elements(&xml, "testsuite"), elements(&xml, "testcase")), (3, 4), "{xml}");
    let log = valid(&sarif_schema(), &sarif::render(&reports, &CommandEnd::default(), &mut NoReplays));
    assert_eq!(log["runs"].as_array().unwrap().len(), 1);
    let result = &log["runs"][0]["results"][0];
    assert_eq!(result["properties"]["flows"], "the runs could not be replayed");
    // The same errors occur eleven times or more: the first ten are printed, with a line that says how many are left
    // out.
    let many: Vec<ConfirmReport> = (0..6).flat_map(|_| reports.clone()).collect();
    let text = github::render(&many, &CommandEnd::default(), &mut NoReplays);
    let of = |kind: &str| text.lines().filter(|l| l.starts_with(kind)).count();
    assert_eq!((of("::error "), of("::notice ")), (10, 1), "{text}");
    assert!(text.ends_with("errors left out here\n"), "{text}");
}

#[test]
fn fingerprints_outlive_edits_elsewhere() {
    let prints = |text: &str| -> Vec<String> {
        let model = load_bytes("m.race", text.as_bytes(), &[]);
        let report = campaign("m.race", &model, CampaignPlan::new(&model));
        let log: Value =
            serde_json::from_str(&sarif::render(&[report], &CommandEnd::default(), &mut NoReplays)).unwrap();
        let results = log["runs"][0]["results"].as_array().unwrap();
        results.iter().map(|r| r["partialFingerprints"]["raceflip/v1"].as_str().unwrap().to_owned()).collect()
    };
    let text = "var x = 0\nvar w = 0\nthread a { x = 1; w = 1 }\nthread b { x = 2; assert x == 2; w = 2 }\n";
    let before = prints(text);
    assert!(before.len() >= 2, "{before:?}");
    assert_eq!(before, prints(&format!("// A comment.\n\n{text}")));
    assert_ne!(before, prints(&text.replace("x", "y")));
}

#[test]
fn reports_are_the_same_for_any_number_of_workers() {
    for format in ["junit", "sarif", "github", "markdown"] {
        let of = |jobs: &str| call(&["confirm", MENU, "--format", format, "--jobs", jobs]).out;
        let one = of("1");
        assert!(!one.is_empty());
        assert_eq!(one, of("3"), "{format}");
    }
}

#[test]
fn names_of_files_are_escaped_as_each_format_has_it() {
    let folder = scratch("reports");
    let path = file(&folder, "my app, v1:2 |`x`.race", &read(MENU));
    let of = |format: &str| {
        let run = call(&["confirm", &path, "--format", format]);
        assert_eq!(run.status, 1, "{}", run.err);
        run.out
    };
    let log = valid(&sarif_schema(), &of("sarif"));
    let result = &log["runs"][0]["results"][0];
    let uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap();
    assert!(uri.ends_with("/my%20app%2C%20v1%3A2%20%7C%60x%60.race"), "{uri}");
    let replay = result["properties"]["runs"][0]["replay"][0].as_str().unwrap();
    assert!(replay.contains("/my app, v1:2 |`x`.race' rf1-"), "{replay}");
    assert!(of("github").contains("/my app%2C v1%3A2 |`x`.race,line=35,col=9,title="));
    assert!(of("junit").contains("my app, v1:2 |`x`.race\" line=\"35\""));
    // An unescaped `|` would end the cell of a table.
    let markdown = of("markdown");
    assert!(markdown.contains("/my app, v1&#58;2 &#124;&#96;x&#96;&#46;race</code> | "), "{markdown}");
}

#[test]
fn only_what_has_findings_takes_these_formats() {
    for command in ["detect", "run", "explore"] {
        let run = call(&[command, MENU, "--format", "sarif"]);
        assert_eq!((run.status, run.out.as_str()), (REFUSED, ""), "{command}");
    }
    let run = call(&["confirm", MENU, "--format", "junit", "--timeline"]);
    assert_eq!(run.status, REFUSED);
    assert!(run.err.contains("`--timeline` needs text output"), "{}", run.err);
}
