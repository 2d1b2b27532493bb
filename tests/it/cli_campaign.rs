//! Tests of `raceflip confirm` over folders: its journal, its parts, its time limit, its trials.

use crate::cli::{FOUND, REFUSED, call, file, scratch};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const FOLDER: &str = "harnesses/papers";
// Few runs suffice, because these tests are about several variants and how their results are combined.
const FEW: [&str; 4] = ["--runs", "10", "--trials", "8"];

fn confirm(more: &[&str]) -> crate::cli::Ran {
    call(&[&["confirm", FOLDER, "--all-variants"][..], &FEW, more].concat())
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn all_variants_are_told_by_name_and_counted() {
    let run = confirm(&[]);
    assert_eq!(run.status, FOUND, "{}", run.err);
    let told: Vec<&str> = run.out.lines().filter(|l| l.starts_with(FOLDER)).collect();
    let mut sorted = told.clone();
    sorted.sort_unstable();
    assert_eq!(told, sorted);
    assert!(told.iter().any(|l| l.starts_with("harnesses/papers/cafa_fig1.race FIXED=1  ")), "{}", run.out);
    let last = run.out.lines().last().unwrap_or_default();
    assert!(last.starts_with(&format!("{} variants: ", told.len())), "{last}");
    // Each variant has the same result as alone, with the verdicts on its transactions.
    let mut judged = 0;
    let whole = json(&confirm(&["--format", "json"]).out);
    assert_eq!((&whole["format"], &whole["variants"]), (&"raceflip-campaign".into(), &told.len().into()));
    for result in whole["results"].as_array().unwrap() {
        let defines = result["defines"].as_object().unwrap().iter().map(|(name, value)| format!("{name}={value}"));
        let defines: Vec<String> = defines.flat_map(|d| ["-D".to_owned(), d]).collect();
        let mut args = vec!["confirm", result["file"].as_str().unwrap(), "--format", "json"];
        args.extend(FEW);
        args.extend(defines.iter().map(String::as_str));
        let mut alone = json(&call(&args).out);
        alone["variant"] = result["variant"].clone();
        judged += usize::from(!result["atomicity"].is_null());
        assert_eq!(*result, alone);
    }
    assert!(judged > 1, "models of the folder declare transactions");
}

#[test]
fn workers_change_nothing() {
    let of = |jobs| confirm(&["--jobs", jobs, "--format", "json"]).out;
    let one = of("1");
    assert_eq!(one, of("2"));
    assert_eq!(one, of("7"));
}

#[test]
fn parts_are_merged_to_the_bytes_of_the_whole() {
    let folder = scratch("parts");
    let at = |name: &str| folder.join(name).display().to_string();
    let whole = confirm(&["--out", &at("whole.json")]);
    let parts: Vec<String> = (1..=3).map(|k| at(&format!("{k}.json"))).collect();
    for (k, part) in (1..).zip(&parts) {
        assert_eq!(confirm(&["--partition", &format!("{k}/3"), "--out", part]).status, FOUND);
    }
    let merge = |files: &[&str], more: &[&str]| call(&[&["merge"][..], files, more].concat());
    let [a, b, c] = [&parts[0], &parts[1], &parts[2]].map(String::as_str);
    // Parts are merged in any order.
    let merged = merge(&[b, c, a], &["--out", &at("merged.json")]);
    assert_eq!((merged.status, &merged.out), (FOUND, &whole.out), "{}", merged.err);
    assert_eq!(fs::read(at("merged.json")).unwrap(), fs::read(at("whole.json")).unwrap());
    assert_eq!(merge(&[a, b, c], &["--format", "json"]).out, fs::read_to_string(at("whole.json")).unwrap());
    // Merged parts have the same reports in the formats for other tools.
    for format in ["junit", "sarif", "github", "markdown"] {
        assert_eq!(merge(&[a, b, c], &["--format", format]).out, confirm(&["--format", format]).out, "{format}");
    }
    let other = at("other.json");
    confirm(&["--partition", "3/3", "--seed", "9", "--out", &other]);
    let text = file(&folder, "text.json", "{\"format\": \"raceflip-confirm\", \"version\": 2}");
    for (files, says) in [
        (vec![a, b], "a part is missing"),
        (vec![a, b, b], "both have harnesses/papers/"),
        (vec![a, b, other.as_str()], "seed is 9 there, and 0 here"),
        (vec![a, text.as_str()], "must be `raceflip-campaign`"),
        (vec![a, "no such file"], "cannot read `no such file`"),
    ] {
        let bad = merge(&files, &[]);
        assert_eq!((bad.status, bad.out.as_str()), (REFUSED, ""), "{says}");
        assert!(bad.err.contains(says), "{says}: {}", bad.err);
    }
    for (part, says) in
        [("0/3", "no part 0 of 3"), ("4/3", "no part 4 of 3"), ("two", "PART/OF"), ("1/0", "no part 1 of 0")]
    {
        let bad = confirm(&["--partition", part]);
        assert_eq!((bad.status, bad.out.as_str()), (REFUSED, ""));
        assert!(bad.err.contains(says), "{}", bad.err);
    }
}

#[test]
fn trials_are_written_one_on_a_line() {
    let folder = scratch("trials");
    let at = folder.join("trials.jsonl").display().to_string();
    let run = confirm(&["--trials-out", &at, "--format", "json"]);
    let whole = json(&run.out);
    let pairs =
        |r: &Value| [r["pairs"].clone(), r["order_pairs"].clone()].map(|p| p.as_array().unwrap().clone()).concat();
    let expected: u64 =
        whole["results"].as_array().unwrap().iter().flat_map(pairs).map(|p| p["trials"].as_u64().unwrap()).sum();
    let text = fs::read_to_string(&at).unwrap();
    let lines: Vec<Value> = text.lines().map(json).collect();
    assert_eq!(lines.iter().filter(|l| l["a"].is_string()).count() as u64, expected);
    // Trials of transactions: each model's are counted by its verdicts.
    let judged = |r: &Value| r["atomicity"]["violations"].as_array().cloned().unwrap_or_default();
    let rings = |r: &Value| r["rings"].as_array().cloned().unwrap_or_default();
    let directed: u64 =
        whole["results"].as_array().unwrap().iter().flat_map(judged).map(|of| of["trials"].as_u64().unwrap()).sum();
    let of_transactions = lines.iter().filter(|l| l["transaction"].is_string());
    assert!(directed > 0 && of_transactions.clone().any(|l| l["violated"] == true));
    let rings: u64 =
        whole["results"].as_array().unwrap().iter().flat_map(rings).map(|r| r["trials"].as_u64().unwrap()).sum();
    assert_eq!(lines.iter().filter(|l| l["ring"].is_array()).count() as u64, rings);
    assert_eq!((of_transactions.count() as u64, lines.len() as u64), (directed, expected + rings + directed));
    assert!(
        lines.iter().all(|l| l["strategy"].is_string() && l["outcome"].is_string() && l["trial"].as_u64() > Some(0))
    );
    assert!(lines.iter().any(|l| l["adjacent"] == true) && lines.iter().any(|l| l["first"] == "b"));
    // A pair counts the trials that were side by side, and no other runs.
    for result in whole["results"].as_array().unwrap() {
        for pair in pairs(result) {
            let of = |l: &&Value| {
                (&l["file"], &l["defines"]) == (&result["file"], &result["defines"])
                    && (&l["a"], &l["b"]) == (&pair["a"]["site"], &pair["b"]["site"])
            };
            let beside = lines.iter().filter(of).filter(|l| l["adjacent"] == true).count() as u64;
            assert_eq!(pair["adjacent"].as_u64(), Some(beside), "{pair}");
        }
    }
    // A run that a search has found is no trial.
    let searched = call(&["confirm", "harnesses/papers/racefuzzer_fig1.race", "--explore", "only", "--format", "json"]);
    let searched = pairs(&json(&searched.out));
    assert!(searched.iter().any(|pair| pair["verdict"]["kind"] == "adjacent"), "{searched:?}");
    assert!(searched.iter().all(|pair| pair["adjacent"] == 0 && pair["trials"] == 0), "{searched:?}");
    // The strategy and the seed of a line reproduce its trial.
    let line = lines.iter().find(|l| l["outcome"].as_str().unwrap().starts_with("failure")).unwrap();
    let seed = line["seed"].to_string();
    let again = call(&[
        "run",
        line["file"].as_str().unwrap(),
        "--strategy",
        line["strategy"].as_str().unwrap(),
        "--seed",
        &seed,
        "--no-shrink",
        "--format",
        "json",
    ]);
    assert_eq!(again.status, FOUND, "{}", again.err);
    assert_eq!(json(&again.out)["steps"], line["steps"]);
    // The option also works for a single model.
    let one = call(&["confirm", "harnesses/papers/music_player.race", "--trials-out", &at]);
    assert_eq!(one.status, FOUND, "{}", one.err);
    assert!(fs::read_to_string(&at).unwrap().lines().count() > 50);
}

// Returns the entries of a journal: its complete lines except the header.
fn entries(journal: &Path) -> Vec<String> {
    let text = fs::read(journal).unwrap_or_default();
    let end = text.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    String::from_utf8(text[..end].to_vec()).unwrap().lines().skip(1).map(str::to_owned).collect()
}

/// Signals that end a campaign from outside. `KILL` leaves no time to clean up, so it is drawn more often.
#[cfg(unix)]
const SIGNALS: [&str; 8] = ["KILL", "KILL", "KILL", "KILL", "INT", "TERM", "HUP", "QUIT"];

#[cfg(unix)]
#[test]
fn a_campaign_that_is_killed_loses_nothing() {
    kill("killed", 20);
}

#[cfg(unix)]
#[test]
#[ignore = "the long version of the one above"]
fn a_campaign_that_is_killed_a_hundred_times_loses_nothing() {
    kill("killed_often", 100);
}

// Kills campaigns until so many processes were killed.
#[cfg(unix)]
fn kill(folder: &str, most: u32) {
    let folder = scratch(folder);
    let at = |name: &str| folder.join(name).display().to_string();
    let start = Instant::now();
    let outputs = ["--trials-out", &at("expected.jsonl"), "--out", &at("expected.json")];
    let expected = confirm(&[&outputs[..], &["--format", "json"]].concat()).out;
    // The span is long enough for some variants, even on a slow machine.
    let span = start.elapsed().as_millis() as u32 / 3 + 20;
    let (trials, report) = (fs::read(at("expected.jsonl")).unwrap(), fs::read(at("expected.json")).unwrap());
    let journal = folder.join("a.journal");
    let mut rng = raceflip::base::Rng::seeded(6);
    let mut kills = 0;
    while kills < most {
        let _ = fs::remove_file(&journal);
        let mut known = Vec::new();
        loop {
            let mut child = Command::new(env!("CARGO_BIN_EXE_raceflip"))
                .args(["confirm", FOLDER, "--all-variants", "--jobs", "2", "--format", "json", "--resume", "--journal"])
                .arg(&journal)
                .args(["--trials-out", &at("resumed.jsonl"), "--out", &at("resumed.json")])
                .args(FEW)
                .stdin(Stdio::null())
                .stdout(fs::File::create(folder.join("out.json")).unwrap())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            // Some processes are killed before they have read anything, some after the last variant.
            let until = (kills < most).then(|| Instant::now() + Duration::from_millis(u64::from(rng.below(span))));
            let ended = loop {
                if let Some(status) = child.try_wait().unwrap() {
                    break Some(status.code().expect("an exit status"));
                }
                if until.is_some_and(|until| Instant::now() >= until) {
                    let signal = SIGNALS[rng.below(SIGNALS.len() as u32) as usize];
                    let id = child.id().to_string();
                    let sent = Command::new("kill").args(["-s", signal, &id]).stderr(Stdio::null()).status();
                    assert!(sent.is_ok(), "{sent:?}");
                    // The process was killed by the signal (no code), it has cleaned up (130), or it had already
                    // finished.
                    let code = child.wait().unwrap().code();
                    assert!([None, Some(130), Some(FOUND)].contains(&code), "{signal}: {code:?}");
                    break code.filter(|code| *code == FOUND);
                }
                std::thread::sleep(Duration::from_millis(1));
            };
            let now = entries(&journal);
            assert!(now.starts_with(&known), "what was in the journal is there still");
            known = now;
            if let Some(status) = ended {
                assert_eq!(status, FOUND);
                break;
            }
            kills += 1;
        }
        // No variant was confirmed twice.
        assert_eq!(known.iter().collect::<BTreeSet<_>>().len(), known.len());
        assert_eq!(fs::read_to_string(folder.join("out.json")).unwrap(), expected);
        assert_eq!(fs::read(at("resumed.jsonl")).unwrap(), trials);
        assert_eq!(fs::read(at("resumed.json")).unwrap(), report);
    }
    let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = names.filter(|name| name.starts_with(".raceflip-")).collect();
    assert_eq!(left, [""; 0], "temporary files that a killed campaign left");
}

#[test]
fn journals_that_do_not_fit_are_refused() {
    let folder = scratch("journals");
    let journal = folder.join("a.journal").display().to_string();
    let small = |more: &[&str]| {
        call(&[&["confirm", "harnesses/papers/music_player.race", "--journal", &journal][..], &FEW, more].concat())
    };
    let first = small(&[]);
    assert_eq!(first.status, FOUND, "{}", first.err);
    let text = fs::read_to_string(&journal).unwrap();
    let refused = |more: &[&str], says: &str| {
        let run = small(more);
        assert_eq!((run.status, run.out.as_str()), (REFUSED, ""), "{says}");
        assert!(run.err.contains(says), "{says}: {}", run.err);
    };
    refused(&[], "it already exists; continue it with --resume");
    refused(&["--resume", "--seed", "4"], "seed is 0 there, and 4 here");
    refused(&["--resume", "--trials-out", "t.jsonl"], "--trials-out was not given there");
    refused(&["--resume", "--no-static"], "no-static is false there, and true here");
    refused(&["--resume", "--detector", "static"], "detectors is [\"hybrid\"] there, and [\"static\"] here");
    refused(&["--resume", "--steps", "77"], "limits is {} there");
    refused(&["--resume", "--pair", "@check~@destroy"], "--pair needs a single model");
    let again = small(&["--resume"]);
    assert_eq!((again.status, &again.out), (FOUND, &first.out));
    assert!(again.err.contains("1 of 1 variants are already in the journal"), "{}", again.err);
    // A kill leaves half a line at the end, which is accepted; any other damage is reported.
    fs::write(&journal, &text[..text.len() - 10]).unwrap();
    assert_eq!(small(&["--resume"]).out, first.out);
    assert_eq!(fs::read_to_string(&journal).unwrap(), text);
    let damages = [
        (text.replacen("\"music player\"", "\"mosaic\"", 1).replacen("destroyed", "destroyer", 1), "line 2 is damaged"),
        ("some text\n".to_owned(), "it is not the journal of a campaign"),
        ("half a line of something".to_owned(), "it is not the journal of a campaign"),
    ];
    for (damaged, says) in damages {
        fs::write(&journal, &damaged).unwrap();
        refused(&["--resume"], says);
        assert_eq!(fs::read_to_string(&journal).unwrap(), damaged, "nothing is lost");
    }
    // A campaign that began without --save saves its failures when it is continued with --save.
    fs::write(&journal, &text).unwrap();
    let seeds = folder.join("seeds");
    let saving = small(&["--resume", "--save", "--seeds", &seeds.display().to_string()]);
    assert!(saving.err.contains("saved "), "{}", saving.err);
    assert!(fs::read_dir(&seeds).unwrap().count() > 1);
    let same = folder.join("same").display().to_string();
    for (args, says) in [
        (["--out", &same, "--trials-out", &same], "--out and --trials-out name the same file"),
        (["--resume", "--resume", "--out", &journal], "--journal and --out name the same file"),
    ] {
        let args: Vec<&str> = args.into_iter().filter(|a| *a != "--resume").collect();
        let run = small(&[&["--resume"][..], &args].concat());
        assert_eq!((run.status, run.out.as_str()), (REFUSED, ""), "{says}");
        assert!(run.err.contains(says), "{says}: {}", run.err);
    }
    assert_eq!(fs::read_to_string(&journal).unwrap(), text);
    let alone = call(&["confirm", "harnesses/papers/music_player.race", "--resume"]);
    assert_eq!(alone.status, REFUSED);
    assert!(alone.err.contains("--journal"), "{}", alone.err);
}

#[test]
fn a_model_that_has_changed_is_confirmed_again() {
    let folder = scratch("changed");
    let models = folder.join("models");
    fs::create_dir(&models).unwrap();
    let text = "var x = 0\nthread a { x += 1 }\nthread b { x += 1 }\n";
    file(&models, "a.race", text);
    let b = file(&models, "b.race", text);
    let (at, journal) = (models.display().to_string(), folder.join("j").display().to_string());
    let run = |more: &[&str]| call(&[&["confirm", &at, "--journal", &journal][..], &FEW, more].concat());
    run(&[]);
    fs::write(&b, text.replace("x += 1 }\nthread b", "x = 2 }\nthread b")).unwrap();
    let again = run(&["--resume"]);
    assert!(again.err.contains("1 of 2 variants are already in the journal"), "{}", again.err);
    assert_eq!(again.out, call(&[&["confirm", &at][..], &FEW].concat()).out);
}

#[cfg(unix)]
#[test]
fn an_interrupted_campaign_is_continued_to_the_same_bytes() {
    let folder = scratch("interrupted");
    let at = |name: &str| folder.join(name).display().to_string();
    let start = Instant::now();
    let expected = call(&["confirm", FOLDER, "--format", "json", "--jobs", "2"]).out;
    let whole = start.elapsed().as_millis() as u32;
    let mut rng = raceflip::base::Rng::seeded(8);
    let mut broken = 0;
    for i in 0..12 {
        let journal = at(&format!("{i}.journal"));
        let args = ["confirm", FOLDER, "--jobs", "2", "--format", "json", "--journal", journal.as_str()];
        let quiet = |command: &mut Command| {
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let child = quiet(crate::cli::raceflip().args(args));
        std::thread::sleep(Duration::from_millis(u64::from(rng.below(whole.max(1)))));
        let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        let ended = child.wait_with_output().unwrap();
        let status = ended.status.code();
        // The signal may come before the handler exists, during the campaign, or after it.
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!([None, Some(130), Some(FOUND)].contains(&status), "{status:?}: {said}");
        broken += usize::from(status == Some(130));
        assert_eq!(call(&[&args[..], &["--resume"]].concat()).out, expected);
    }
    assert!(broken > 0, "{broken}");
}

#[test]
fn a_time_limit_leaves_what_there_is_and_says_so() {
    let folder = scratch("time");
    let out = folder.join("out.json").display().to_string();
    // No machine performs so many trials in a second.
    let args = ["confirm", "harnesses", "--time", "1s", "--trials", "100000", "--out", &out];
    let run = call(&args);
    assert!(run.err.contains("the time is up: ") && run.err.contains("may give other results"), "{}", run.err);
    let whole = json(&fs::read_to_string(&out).unwrap());
    assert_eq!((&whole["complete"], &whole["reproducible"]), (&false.into(), &false.into()));
    let one = call(&["confirm", "harnesses/papers/music_player.race", "--time", "1s", "--trials", "100000"]);
    assert!(one.err.contains("the time is up"), "{}", one.err);
    let wrong = call(&["confirm", "harnesses", "--time", "soon"]);
    assert_eq!(wrong.status, REFUSED, "{}", wrong.err);
}

#[test]
fn what_cannot_be_read_is_refused_and_the_rest_is_confirmed() {
    let folder = scratch("half-good");
    file(&folder, "good.race", "var x = 0\nthread a { x += 1 }\nthread b { x += 1 }\n");
    file(&folder, "wrong.race", "var x = \n");
    let run = call(&["confirm", &folder.display().to_string(), "--format", "json"]);
    assert_eq!(run.status, REFUSED);
    let whole = json(&run.out);
    assert_eq!((whole["results"].as_array().unwrap().len(), whole["refused"].as_array().unwrap().len()), (1, 1));
    assert!(run.err.contains("wrong.race"), "{}", run.err);
    for (args, says) in [
        (vec!["confirm", "no-such-folder"], "cannot read `no-such-folder`"),
        (vec!["confirm", "harnesses/papers", "--filter", "zzz"], "no variant has `zzz` in its name"),
        (vec!["confirm", "harnesses/papers", "-D", "FIXD=1"], "did you mean `FIXED`?"),
    ] {
        let bad = call(&args);
        assert_eq!((bad.status, bad.out.as_str()), (REFUSED, ""), "{says}");
        assert!(bad.err.contains(says), "{says}: {}", bad.err);
    }
}

/// Runs with raised limits appear in the reports, of several models as of one.
#[test]
fn raised_limits_are_those_of_the_report_as_well() {
    let folder = scratch("raised-limits");
    let text = "var x = 0\nthread a { x = 1 }\nthread b { x = 2; assert x == 2, \"lost\" }\n";
    let [a, b] = ["a.race", "b.race"].map(|name| file(&folder, name, text));
    let flows = |paths: &[&str]| {
        let options = ["--steps", "200000", "--runs", "50", "--trials", "20", "--format", "sarif"];
        let run = call(&[&["confirm"], paths, &options].concat());
        run.out.matches("\"threadFlows\"").count()
    };
    let one = flows(&[&a]);
    assert!(one > 0);
    assert_eq!(flows(&[&a, &b]), 2 * one);
}
