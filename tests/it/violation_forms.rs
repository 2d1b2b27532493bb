//! Tests of the forms in which violations of atomicity are reported, of `--strict`, and of campaigns over folders.

use crate::cli::{call, file, scratch};
use crate::load::models;
use crate::reports::elements;
use crate::schema::{sarif_schema, valid};
use raceflip::campaign::same_failure;
use raceflip::event::SiteId;
use raceflip::exec::run;
use raceflip::formats::timeline::{Marks, TimelineRecorder, Window};
use raceflip::formats::violations::ViolationsReport;
use raceflip::sched::Replay;
use raceflip::token::Token;
use raceflip::vm::Model;
use raceflip::world::Limits;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const BLOCK: &str = "harnesses/atomicity/block.race";
const FEW: [&str; 6] = ["--runs", "10", "--trials", "8", "--detector", "atomicity"];

fn out(more: &[&str]) -> String {
    call(&[&["confirm"][..], more].concat()).out
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// The results of the rule about atomicity in a log.
fn violations(sarif: &Value) -> Vec<&Value> {
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    results.iter().filter(|result| result["ruleId"] == "atomicity-violation").collect()
}

/// A harmful violation is a failure in each form, beside the pairs and alone. A repaired model has none in any form.
#[test]
fn each_form_has_the_violation() {
    for more in [&["--detector", "atomicity"][..], &[]] {
        let form = |form: &str, fixed: &str| out(&[&[BLOCK, "--format", form, "-D", fixed][..], more].concat());
        let (bug, repaired) = ("FIXED=0", "FIXED=1");
        let junit = form("junit", bug);
        assert!(junit.contains("type=\"atomicity/harmful\""), "{junit}");
        assert!(
            junit.contains("name=\"atomicity of append: :11 read @len, :16 write @cut, :12 read @chars\""),
            "{junit}"
        );
        let junit = form("junit", repaired);
        assert_eq!(elements(&junit, "failure"), 0, "{junit}");
        assert!(junit.contains("name=\"atomicity of append\"") && junit.contains("value=\"refuted\""), "{junit}");

        let github = form("github", bug);
        let head = format!("::error file={BLOCK},line=11,col=28,title=harmful atomicity of append::");
        assert!(github.lines().any(|line| line.starts_with(&head) && line.contains("blame: append")), "{github}");
        assert!(!form("github", repaired).contains("atomicity of"));

        let markdown = form("markdown", bug);
        assert!(markdown.contains("1 harmful violation of atomicity"), "{markdown}");
        assert!(markdown.contains("| **not in one piece** |"), "{markdown}");
        assert!(markdown.contains("<summary>harmful <code>atomicity of append</code>"), "{markdown}");
        assert!(form("markdown", repaired).contains("| refuted |"));

        let sarif = valid(&sarif_schema(), &form("sarif", bug));
        let found = violations(&sarif);
        let [one] = found.as_slice() else { panic!("{sarif}") };
        assert_eq!((&one["level"], &one["kind"]), (&"error".into(), &"fail".into()));
        assert_eq!(one["properties"]["verdict"], "harmful");
        // The first flow is the cycle: out of the transaction, and back.
        let cycle = one["codeFlows"][0]["threadFlows"][0]["locations"].as_array().expect("the cycle");
        let line = |at: &Value| at["location"]["physicalLocation"]["region"]["startLine"].as_u64();
        assert_eq!(cycle.iter().map(line).collect::<Vec<_>>(), [Some(11), Some(16), Some(12)], "{one}");
        assert!(one["codeFlows"].as_array().is_some_and(|flows| flows.len() == 3), "{one}");
        assert!(violations(&valid(&sarif_schema(), &form("sarif", repaired))).is_empty());
    }
}

/// A violation that does not count for the exit status is a note in each form, and counts with `--strict`.
#[test]
fn what_does_not_count_is_a_note() {
    for (model, verdict) in [("joint", "joint"), ("parent", "real")] {
        let model = format!("harnesses/atomicity/{model}.race");
        let status = |more: &[&str]| call(&[&["confirm", &model, "--detector", "atomicity"][..], more].concat()).status;
        assert_eq!((status(&[]), status(&["--strict"])), (0, 1), "{model}");
        assert_eq!((status(&["--fail-on", "harmful", "--strict"]), status(&["--fail-on", "real"])), (0, 0), "{model}");
        let sarif = valid(&sarif_schema(), &out(&[&model, "--detector", "atomicity", "--format", "sarif"]));
        let found = violations(&sarif);
        assert!(!found.is_empty() && found.iter().all(|result| result["level"] == "note"), "{sarif}");
        assert!(found.iter().all(|result| result["properties"]["verdict"] == verdict), "{sarif}");
        let github = out(&[&model, "--detector", "atomicity", "--format", "github"]);
        assert!(github.starts_with("::notice "), "{github}");
        let junit = out(&[&model, "--detector", "atomicity", "--format", "junit"]);
        assert_eq!(elements(&junit, "failure"), 0, "{junit}");
    }
}

/// A campaign over a folder judges each variant as `confirm` judges it alone, also in parts and after a resumption.
#[test]
fn folders_are_judged_like_models() {
    let folder = scratch("violations-folder");
    for name in ["block", "joint", "seal1"] {
        let text = fs::read_to_string(format!("harnesses/atomicity/{name}.race")).expect("a model");
        file(&folder, &format!("{name}.race"), &text);
    }
    let at = folder.display().to_string();
    let journal = folder.join("night.journal").display().to_string();
    let run = |more: &[&str]| call(&[&["confirm", &at, "--all-variants"][..], &FEW, more].concat());
    let whole = run(&["--format", "json"]);
    let results = json(&whole.out)["results"].clone();
    let results = results.as_array().expect("results");
    assert_eq!((whole.status, results.len()), (1, 4), "{}", whole.err);
    for result in results {
        let defines = result["defines"].as_object().expect("constants");
        let defines: Vec<String> = defines.iter().flat_map(|(n, v)| ["-D".to_owned(), format!("{n}={v}")]).collect();
        let defines: Vec<&str> = defines.iter().map(String::as_str).collect();
        let path = result["file"].as_str().expect("a path");
        let alone = out(&[&[path, "--format", "json"][..], &FEW, &defines].concat());
        assert_eq!(result["atomicity"], json(&alone));
    }
    // A journal keeps the verdicts, and knows which specifications were asked for.
    assert_eq!(run(&["--journal", &journal, "--format", "json"]).out, whole.out);
    assert_eq!(run(&["--journal", &journal, "--resume", "--format", "json"]).out, whole.out);
    let other = run(&["--journal", &journal, "--resume", "--atomic", "tree"]);
    assert!(other.status == 2 && other.err.contains("atomic is"), "{}", other.err);
    let text = run(&[]).out;
    assert!(text.contains("block.race FIXED=0  0 pairs; atomicity: 1 harmful\n"), "{text}");
    assert!(text.contains("\n  HARMFUL  atomicity of append\n") && text.contains("raceflip replay"), "{text}");
    assert!(text.lines().last().is_some_and(|line| line.contains("atomicity: 1 harmful, ")), "{text}");
}

/// A timeline shows what comes between, and where the transaction acts and is not over.
#[test]
fn a_timeline_shows_the_transaction() {
    let text = out(&[BLOCK, "--detector", "atomicity", "--timeline"]);
    let row = |step: &str| text.lines().find(|line| line.contains(step)).unwrap_or_else(|| panic!("{step}: {text}"));
    assert!(row("write length = 0 (cycle: length, from step ").starts_with('◆'), "{text}");
    let write = row("write length = 0 (cycle");
    assert!(write.contains('▏') && !write.contains('▌'), "{text}");
    assert!(row("read length: 3").starts_with('*') && row("read length: 3").contains('▌'), "{text}");
    assert!(text.contains("▌ append#1 acts, ▏ is not over") && text.contains("◆ comes between"), "{text}");
}

/// The steps that a timeline marks are those of the cycle in the report: an operation of the transaction is one of its
/// steps, and no other is.
#[test]
fn marked_steps_are_those_of_the_cycle() {
    let mut seen = 0;
    for path in models("harnesses/atomicity") {
        let path = path.display().to_string();
        let model = Model::from_text(&path, &fs::read_to_string(&path).expect("a model"), &[]).expect("it loads");
        let report: ViolationsReport = serde_json::from_str(&out(&[&[&path, "--format", "json"][..], &FEW].concat()))
            .unwrap_or_else(|e| panic!("{path}: {e}"));
        for of in report.violations.iter().filter(|of| of.finding.is_some()) {
            let marks = of.marks(&model, &Limits::default()).and_then(|marks| marks.transaction);
            let marks = marks.unwrap_or_else(|| panic!("{path}: {of:?}"));
            assert!(marks.between.is_disjoint(&marks.own), "{path}: {marks:?}");
            assert!(marks.edges.iter().all(|(to, (from, _))| from < to), "{path}: {marks:?}");
            let token: Token = of.shown().expect("a run").token.parse().expect("a token");
            let window = Window::All;
            let mut recorder = TimelineRecorder::new(&model.program, model.source.text(), window, Marks::default());
            let mut machine = model.machine(token.limits);
            let mut replay = Replay::new(Arc::new(token.schedule.clone()));
            let summary = run(&mut machine, &mut replay, token.seed, &mut recorder, &AtomicBool::new(false));
            let timeline = recorder.finish(&machine.world, &summary);
            let finding = of.finding.as_ref().expect("a finding");
            for edge in &finding.cycles[0].edges {
                for moment in [&edge.from, &edge.to] {
                    let Some(statement) = &moment.statement else { continue };
                    let steps = if moment.inside { &marks.own } else { &marks.between };
                    let line = |site: SiteId| model.code.setup.sites[site].line;
                    let rows = timeline.rows().filter(|row| row.counts && steps.contains(&row.step));
                    let lines: Vec<u32> = rows.filter_map(|row| row.site.map(line)).collect();
                    assert!(lines.contains(&statement.line), "{path}: {moment:?} {marks:?}");
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 40, "{seen}");
}

/// The run of a harmful violation is saved, and a test replays it first.
#[test]
fn harmful_runs_are_saved() {
    let folder = scratch("violations-saved");
    let model = file(&folder, "block.race", &fs::read_to_string(BLOCK).expect("a model"));
    let seeds = folder.join("seeds").display().to_string();
    let saved = call(&[&["confirm", &model, "--save", "--saved", &seeds][..], &FEW].concat());
    assert_eq!(saved.status, 1, "{}", saved.err);
    assert_eq!(fs::read_dir(&seeds).expect("the folder").count(), 1, "{}", saved.err);
    let tested = call(&["test", &model, "--saved", &seeds, "--no-save"]);
    assert!(tested.out.contains(".toml still fails"), "{}{}", tested.out, tested.err);
}

// What runs an operation of a cycle, without the numbers of its instance and the names of its creators.
fn body(moment: &Value) -> String {
    let name = moment["task"].as_str().or(moment["thread"].as_str()).expect("a name");
    let last = name.rsplit('/').next().unwrap_or(name);
    last.split(['#', '[']).next().unwrap_or(last).to_owned()
}

/// Applies the rule of `docs/verdicts.md` to the JSON alone: which violation explains which pair and which violation.
#[test]
fn a_harmful_violation_leads_what_it_explains() {
    let (mut led_pairs, mut led_violations) = (0, 0);
    for model in ["block", "account", "parent", "seal4", "seal6", "rounds"] {
        let path = format!("harnesses/atomicity/{model}.race");
        let report = json(&out(&[&path, "--format", "json"]));
        let failures = |of: &Value| -> BTreeSet<String> {
            let harm = &of["harm"];
            let others = harm["others"].as_array().into_iter().flatten();
            others.chain([&harm["failure"]["signature"]]).filter_map(|s| Some(same_failure(s.as_str()?))).collect()
        };
        let bodies = |of: &Value, inside: bool| -> BTreeSet<String> {
            let cycles = of["finding"]["cycles"].as_array().into_iter().flatten();
            let edges = cycles.flat_map(|cycle| cycle["edges"].as_array().into_iter().flatten());
            let moments = edges.flat_map(|edge| [&edge["from"], &edge["to"]]);
            moments.filter(|moment| moment["inside"] == inside).map(body).collect()
        };
        let violations: Vec<&Value> = report["atomicity"]["violations"].as_array().into_iter().flatten().collect();
        let leading =
            || violations.iter().enumerate().filter(|(_, of)| of["verdict"] == "HARMFUL" && of["leader"].is_null());
        let pairs = ["pairs", "order_pairs"].iter().flat_map(|list| report[*list].as_array().into_iter().flatten());
        for pair in pairs.filter(|pair| pair["harm"] == "harmful") {
            let between: Vec<String> = serde_json::from_value(pair["between"].clone()).expect("contexts");
            let harms = pair["harms"].as_array().into_iter().flatten();
            let harms: BTreeSet<String> = harms.filter_map(|h| Some(same_failure(h["signature"].as_str()?))).collect();
            let explains = |of: &Value| {
                let (inside, outside) = (bodies(of, true), bodies(of, false));
                let one = |a: usize, b: usize| inside.contains(&between[a]) && outside.contains(&between[b]);
                (one(0, 1) || one(1, 0)) && harms.is_subset(&failures(of))
            };
            let first = leading().find(|(_, of)| explains(of)).map(|(i, _)| i as u64);
            assert_eq!(pair["violation"].as_u64(), first, "{path}: {pair}");
            assert_eq!(pair["leader"].is_null(), first.is_some(), "{path}: {pair}");
            led_pairs += usize::from(first.is_some());
        }
        for of in violations.iter().filter(|of| !of["leader"].is_null()) {
            let leader = violations[of["leader"].as_u64().expect("a number") as usize];
            assert!(leader["leader"].is_null() && of["verdict"] == "HARMFUL", "{path}: {of}");
            assert!(failures(of).is_subset(&failures(leader)), "{path}: {of}");
            let contexts = |of: &Value| -> BTreeSet<String> { &bodies(of, true) | &bodies(of, false) };
            let environment = BTreeSet::from(["environment".to_owned()]);
            assert!((&contexts(of) - &environment).is_subset(&contexts(leader)), "{path}: {of}");
            let priority = |of: &Value| of["finding"]["priority"].as_u64();
            assert!(priority(leader) <= priority(of), "{path}: {of}");
            led_violations += 1;
        }
    }
    assert!(led_pairs >= 4 && led_violations >= 1, "{led_pairs} pairs, {led_violations} violations");
}

/// Each form reports one finding, and names what it leads.
#[test]
fn each_form_groups_what_a_violation_explains() {
    let account = "harnesses/atomicity/account.race";
    let form = |form: &str| out(&[account, "--format", form]);
    let few = form("text");
    assert_eq!(few.matches("HARMFUL      atomicity of transfer").count(), 1, "{few}");
    assert!(few.contains("   and 1 more violation and 2 more pairs of the same cause (--all shows them)"), "{few}");
    assert!(!few.contains("HARMFUL order"), "{few}");
    let all = out(&[account, "--all"]);
    assert_eq!(all.matches("HARMFUL order").count(), 2, "{all}");
    assert_eq!(all.matches("  the same cause as with atomicity of transfer, where").count(), 2, "{all}");
    assert!(all.contains("   the same cause as number 1"), "{all}");
    let (junit, github, markdown) = (form("junit"), form("github"), form("markdown"));
    assert_eq!(elements(&junit, "failure"), 1, "{junit}");
    assert_eq!(github.matches("::error file=").count(), 1, "{github}");
    assert!(markdown.contains("1 harmful violation of atomicity, 2 harmful order pairs of 1 cause"), "{markdown}");
    assert_eq!(markdown.matches("| the same cause |").count(), 2, "{markdown}");
    let sarif = json(&form("sarif"));
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    assert_eq!(results.iter().filter(|result| result["level"] == "error").count(), 1, "{sarif}");
    for text in [junit, github, markdown, sarif.to_string()] {
        assert_eq!(text.matches("the same cause as with the pair").count(), 2, "{text}");
        assert_eq!(text.matches("the same cause as with the violation of atomicity of transfer").count(), 1, "{text}");
    }
    let campaign = out(&[account, "--all-variants"]);
    assert!(campaign.contains("    and 1 more violation and 2 more pairs of the same cause"), "{campaign}");
}

/// A run can be looked at with the transaction that it violates, as a picture too.
#[test]
fn a_replay_marks_the_transaction() {
    let report = json(&out(&[BLOCK, "--format", "json"]));
    let token = report["atomicity"]["violations"][0]["again"]["token"].as_str().expect("a token");
    let replay = |more: &[&str]| call(&[&["replay", BLOCK, token][..], more].concat());
    let text = replay(&["--transaction", "append"]).out;
    assert!(text.contains("append#1 acts") && text.contains("(cycle: length, from step"), "{text}");
    let svg = replay(&["--transaction", "append", "--format", "svg"]).out;
    let bars = |class: &str| svg.matches(&format!("<line class=\"{class}\"")).count();
    assert!(bars("acts") >= 2 && bars("open") >= 1, "{svg}");
    assert!(svg.contains("thin bar beside a lane: the transaction is not over"), "{svg}");
    assert!(!replay(&["--format", "svg"]).out.contains("class=\"acts\""));
    let wrong = replay(&["--transaction", "apend"]);
    assert_eq!(wrong.status, 2, "{}", wrong.out);
    assert!(wrong.err.contains("--transaction apend: the run violates no transaction of this name"), "{}", wrong.err);
}
