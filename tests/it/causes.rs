//! Tests of findings by their cause: which harmful pairs are one finding, and what the forms of the result show of it.

use crate::cli::{FOUND, call, scratch, steady};
use crate::load::{all_models, load};
use crate::reports::elements;
use raceflip::campaign::{
    CampaignContext, CampaignPlan, NoProgress, PairFacts, Subject, Verdict, confirm, same_failure,
};
use raceflip::formats::campaign::ConfirmReport;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn report(path: &Path, jobs: usize) -> ConfirmReport {
    let model = load(path, &[]);
    let plan = CampaignPlan { jobs, ..CampaignPlan::new(&model) };
    let found = confirm(&plan, CampaignContext { stop: &AtomicBool::new(false), progress: &NoProgress });
    ConfirmReport::new(&path.display().to_string(), model.digest(), &plan, &found)
}

fn model(name: &str) -> String {
    format!("tests/data/causes/{name}.race")
}

// The groups of a report by its findings: each leader with the other pairs.
fn groups(report: &ConfirmReport) -> BTreeMap<String, BTreeSet<String>> {
    let mut groups = BTreeMap::new();
    for finding in report.findings() {
        if let Subject::Pair { pair, .. } = finding.subject
            && pair.verdict() == Verdict::Harmful
        {
            let others = finding.pairs.iter().map(|pair| pair.sites()).collect();
            assert!(groups.insert(pair.sites(), others).is_none(), "{}", pair.sites());
        }
    }
    groups
}

fn checked(name: &str, expected: &[(&str, &[&str])]) -> ConfirmReport {
    let report = report(&Path::new(env!("CARGO_MANIFEST_DIR")).join(model(name)), 2);
    let set = |others: &[&str]| others.iter().map(|other| (*other).to_owned()).collect();
    let expected = expected.iter().map(|(leader, others)| ((*leader).to_owned(), set(others))).collect();
    assert_eq!(groups(&report), expected, "{name}");
    report
}

#[test]
fn fields_that_are_written_together_have_one_cause() {
    // Neither pair comes first in both threads, and both fail in as many runs: the first one in the text leads.
    checked("torn", &[("@size~@read_size", &["@head~@read_head"])]);
    checked("timer", &[("@arm~@saved_armed", &["@tick~@saved_ticks"])]);
}

#[test]
fn uses_behind_one_guard_have_one_cause() {
    // Only the pair of the first use shows the failures of both uses.
    checked("guard", &[("@first.read~@free", &["@guard~@free", "@second.read~@free"])]);
}

#[test]
fn other_contexts_are_another_cause() {
    let report = checked("two", &[("@a~@read", &[]), ("@b~@read", &[])]);
    let failures = report.pairs.iter().flat_map(PairFacts::harms).map(same_failure);
    assert_eq!(failures.collect::<BTreeSet<_>>().len(), 1);
}

#[test]
fn threads_of_one_array_have_one_cause() {
    let report = checked("twins", &[("@y~@check_y", &["@x~@check_x"])]);
    for pair in &report.pairs {
        assert!(pair.between.iter().all(|context| ["t", "checker"].contains(&context.as_str())), "{:?}", pair.between);
    }
}

/// Applies the rules of `docs/verdicts.md` to the JSON alone: which leader explains which pair.
#[test]
fn each_harmful_pair_of_a_harness_has_one_leader_that_explains_it() {
    let (mut harmful, mut led) = (0, 0);
    let folders = ["bugs", "cafa", "convul", "coroutines", "messages", "papers", "racefuzzer", "sctbench", "timers"];
    let of_folder = |path: &Path| folders.iter().any(|f| path.parent().is_some_and(|p| p.ends_with(f)));
    for path in all_models().into_iter().filter(|path| of_folder(path)) {
        let mut report = report(&path, 2);
        let json: Value = serde_json::from_str(&report.to_json()).unwrap();
        let pairs: Vec<&Value> =
            ["pairs", "order_pairs"].iter().flat_map(|list| json[list].as_array().unwrap()).collect();
        let name =
            |pair: &Value| format!("{}~{}", pair["a"]["site"].as_str().unwrap(), pair["b"]["site"].as_str().unwrap());
        let contexts = |pair: &Value| {
            let mut of: Vec<String> = serde_json::from_value(pair["between"].clone()).unwrap();
            of.sort();
            of
        };
        let failures = |pair: &Value| -> BTreeSet<String> {
            pair["harms"].as_array().unwrap().iter().map(|h| same_failure(h["signature"].as_str().unwrap())).collect()
        };
        let explains = |leader: &Value, pair: &Value| {
            contexts(leader) == contexts(pair) && failures(leader).is_superset(&failures(pair))
        };
        let mut leaders: BTreeMap<String, &Value> = BTreeMap::new();
        for pair in &pairs {
            let place = format!("{} {}", path.display(), name(pair));
            assert_eq!(pair["leader"].is_null(), pair["harm"] != "harmful", "{place}");
            let Some(leader) = pair["leader"].as_str() else { continue };
            let found: Vec<&&Value> = pairs.iter().filter(|p| name(p) == leader).collect();
            let [leader] = found[..] else { panic!("{place}: {} leaders", found.len()) };
            assert!(leader["leader"] == pair["leader"] && explains(leader, pair), "{place}");
            assert!(contexts(pair).len() == 2 && contexts(pair).iter().all(|c| !c.is_empty()), "{place}");
            harmful += 1;
            led += usize::from(leader != pair);
            leaders.insert(name(leader), leader);
        }
        for (one, leader) in &leaders {
            let second = leaders.iter().find(|(other, pair)| *other != one && explains(leader, pair));
            assert!(second.is_none(), "{}: {one} explains {second:?}", path.display());
        }
        // The findings say the same as the field, whatever the order of the pairs is.
        let before = groups(&report);
        assert_eq!(before.keys().collect::<Vec<_>>(), leaders.keys().collect::<Vec<_>>(), "{}", path.display());
        report.pairs.reverse();
        report.order_pairs.reverse();
        assert_eq!(groups(&report), before, "{}", path.display());
    }
    assert!(harmful > 100 && led > 30, "{harmful} harmful pairs, {led} with another leader");
}

#[test]
fn the_number_of_workers_changes_no_group() {
    for path in ["harnesses/racefuzzer/arraylist.race", "harnesses/cafa/guard_thread.race"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let [one, three] = [1, 3].map(|jobs| report(&path, jobs));
        assert_eq!(one.to_json(), three.to_json());
        assert!(one.pairs.iter().any(|pair| pair.leader.as_ref().is_some_and(|leader| *leader != pair.sites())));
    }
}

#[test]
fn the_text_has_an_entry_for_each_cause() {
    for path in [model("timer"), "harnesses/cafa/guard_thread.race".to_owned()] {
        let ran = call(&["confirm", &path]);
        assert_eq!(ran.status, FOUND);
        let name = path.rsplit('/').next().unwrap().trim_end_matches(".race");
        insta::assert_snapshot!(format!("{name}_causes"), steady(&ran.out));
    }
}

// Heads of the pairs in a text, in its order.
fn heads(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.starts_with("HARMFUL")).collect()
}

#[test]
fn all_shows_each_harmful_pair() {
    for path in [model("guard"), model("two"), "harnesses/racefuzzer/arraylist.race".to_owned()] {
        let report = report(&Path::new(env!("CARGO_MANIFEST_DIR")).join(&path), 2);
        let harmful = report.pairs.iter().chain(&report.order_pairs).filter(|p| p.verdict() == Verdict::Harmful);
        let expected: Vec<String> = harmful.map(|p| format!(":{} {} @", p.a.line, p.a.kind)).collect();
        let (few, all) = (call(&["confirm", &path]), call(&["confirm", &path, "--all"]));
        assert_eq!((few.status, all.status), (FOUND, FOUND));
        let told = heads(&all.out);
        assert_eq!(told.len(), expected.len(), "{}", all.out);
        assert!(told.iter().zip(&expected).all(|(head, statement)| head.contains(statement.as_str())), "{told:?}");
        assert_eq!(heads(&few.out).len(), groups(&report).len(), "{}", few.out);
        let more: usize = few.out.lines().filter_map(|line| line.trim().strip_prefix("and ")).map(number).sum();
        assert_eq!(more, expected.len() - groups(&report).len(), "{}", few.out);
        assert!(!all.out.contains("--all shows them"), "{}", all.out);
        // Without the lines about groups, the short text is a part of the long one.
        let rest = few.out.lines().filter(|line| !line.contains("--all shows them"));
        let mut long = all.out.lines();
        rest.for_each(|line| assert!(long.any(|other| other == line), "{line}\n{}", all.out));
    }
    // A user who names pairs wants each of them.
    let named = call(&["confirm", &model("guard"), "--pair", "@first~@free", "--pair", "@second~@free"]);
    assert_eq!(heads(&named.out).len(), 2, "{}", named.out);
}

fn number(text: &str) -> usize {
    text.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("no number: {text}"))
}

#[test]
fn each_form_keeps_the_group() {
    let out = |args: &[&str]| call(&[&["confirm", &model("guard")], args].concat()).out;
    let junit = out(&["--format", "junit"]);
    assert_eq!((elements(&junit, "testcase"), elements(&junit, "failure")), (1, 1), "{junit}");
    assert_eq!(junit.matches("the same cause as with the pair").count(), 2, "{junit}");
    let sarif: Value = serde_json::from_str(&out(&["--format", "sarif"])).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let lines: BTreeSet<u64> = results[0]["relatedLocations"].as_array().unwrap().iter().map(line).collect();
    assert_eq!((results.len(), lines), (1, BTreeSet::from([6, 8, 13])), "{sarif}");
    assert_eq!(out(&["--format", "github"]).matches("::error").count(), 1);
    let markdown = out(&["--format", "markdown"]);
    assert_eq!(markdown.matches("| the same cause |").count(), 2, "{markdown}");
    assert!(markdown.starts_with("## raceflip: 3 harmful pairs of 1 cause"), "{markdown}");
}

fn line(location: &Value) -> u64 {
    location["physicalLocation"]["region"]["startLine"].as_u64().expect("a line")
}

#[test]
fn gates_and_merged_campaigns_count_pairs_as_before() {
    let folder = scratch("causes");
    let path = model("guard");
    let gate = call(&["confirm", &path, "--fail-on", "harmful"]);
    assert!(gate.status == FOUND && gate.err.contains("gate: failed on harmful (3)"), "{}", gate.err);
    let journal = folder.join("journal").display().to_string();
    let part = folder.join("part.json").display().to_string();
    let campaign = call(&["confirm", &path, "--journal", &journal, "--out", &part]);
    let resumed = call(&["confirm", &path, "--journal", &journal, "--resume"]);
    let merged = call(&["merge", &part]);
    for ran in [&campaign, &resumed, &merged] {
        assert_eq!(ran.status, FOUND, "{}", ran.err);
        assert!(ran.out.contains("    and 2 more pairs of the same cause (--all shows them)\n"), "{}", ran.out);
        assert!(ran.out.contains("3 harmful pairs of 1 cause"), "{}", ran.out);
        assert_eq!(ran.out.matches("  HARMFUL  ").count(), 1, "{}", ran.out);
    }
    let all = call(&["merge", &part, "--all"]);
    assert_eq!(all.out.matches(": the same cause\n").count(), 2, "{}", all.out);
}

#[test]
fn a_report_from_before_the_fields_has_groups_by_failures() {
    let new = report(&Path::new(env!("CARGO_MANIFEST_DIR")).join(model("two")), 2);
    let mut json: Value = serde_json::from_str(&new.to_json()).unwrap();
    for pair in json["pairs"].as_array_mut().expect("pairs").iter_mut().map(|pair| pair.as_object_mut().unwrap()) {
        assert!(pair.remove("between").is_some());
        pair.remove("leader");
    }
    let old: ConfirmReport = serde_json::from_value(json).unwrap();
    // Both pairs fail in the same way, and a file without contexts cannot tell their causes apart.
    assert_eq!((groups(&new).len(), groups(&old).len()), (2, 1));
    assert_eq!(groups(&old)["@a~@read"], BTreeSet::from(["@b~@read".to_owned()]));
}

#[test]
fn failures_that_differ_in_ordinals_are_listed_once() {
    let ran = call(&["confirm", &model("ordinals")]);
    let at = ran.out.find("it hurts").unwrap_or_else(|| panic!("{}", ran.out));
    let lines: Vec<&str> = ran.out[at..].lines().skip(1).take_while(|line| line.starts_with("    deadlock")).collect();
    // Either one or both of the two waiters wait forever, and that one waits comes with either order.
    assert_eq!(lines.len(), 2, "{}", ran.out);
    assert_eq!(lines.iter().filter(|line| line.contains("with @set first (")).count(), 1, "{}", ran.out);
    assert!(lines.iter().all(|line| line.contains("with @see first (")), "{}", ran.out);
    let report = report(&Path::new(env!("CARGO_MANIFEST_DIR")).join(model("ordinals")), 2);
    let harms = report.pairs[0].harms();
    assert!(harms.len() > 3, "{harms:?}");
}
