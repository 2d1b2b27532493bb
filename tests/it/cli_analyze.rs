//! Tests of `raceflip analyze` and of the option `--detector`.

use crate::cli::{FOUND, REFUSED, call, call_with, file, scratch};
use raceflip::formats::analysis::AnalysisReport;

const MUSIC: &str = "tests/it/traces/em-explorer/test-traces/tacas-2016/music/abc_log.txt";

/// The start of a log with a looper on thread 2, to which threads 1 and 3 post.
const HEAD: &str = "1 START\n2 THREADINIT tid:1\n3 FORK par-tid:1 child-tid:2\n4 FORK par-tid:1 child-tid:3\n5 THREADINIT tid:2\n\
                    6 ATTACH-Q tid:2 queue:1\n7 LOOP tid:2 queue:1\n8 THREADINIT tid:3\n";

fn analyze(text: &str, options: &[&str]) -> (i32, String) {
    let arguments: Vec<&str> = ["analyze", "-"].iter().chain(options).copied().collect();
    let run = call_with(&arguments, text);
    assert_eq!(run.err, "", "{}", run.out);
    (run.status, run.out)
}

#[test]
fn races_are_told_with_class_and_posts() {
    let cross = format!(
        "{HEAD}9 POST src:1 msg:1 dest:2\n10 POST src:3 msg:2 dest:2\n11 CALL tid:2 msg:1\n12 WRITE tid:2 obj:0x1 class:La; field:8\n13 RET tid:2 msg:1\n\
         14 CALL tid:2 msg:2\n15 READ tid:2 obj:0x1 class:La; field:8\n16 RET tid:2 msg:2\n"
    );
    let (status, out) = analyze(&cross, &[]);
    assert_eq!(status, 1);
    for part in [
        "1 race: 1 cross-posted (1 field)\n",
        "\nC  #1  0x1 La;.8  cross-posted\n",
        "   write  line 12  on thread 2, in msg 1, posted by thread 1\n   read   line 15  on thread 2, in msg 2, posted by thread 3\n",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    // Posts of one thread are ordered.
    let ordered = cross.replace("src:3", "src:1");
    let (status, out) = analyze(&ordered, &[]);
    assert!(status == 0 && out.contains("; DroidRacer's rules, as printed\n0 races\n"), "{out}");
    // If the later post begins first, it must have been posted to the front of the queue.
    let lines: Vec<&str> = ordered.lines().collect();
    let turned: Vec<&str> = [&lines[..10], &lines[13..16], &lines[10..13]].concat();
    let (_, out) = analyze(&(turned.join("\n") + "\n"), &[]);
    assert!(
        out.contains("note: msg 2 began before msg 1, which was posted before it: so it was posted to the front"),
        "{out}"
    );
    let report: AnalysisReport = serde_json::from_str(&analyze(&cross, &["--format", "json"]).1).unwrap();
    assert_eq!((report.races.len(), report.races[0].first.line, report.classes["cross-posted"]), (1, 12, 1));
}

#[test]
fn what_only_locks_order_is_told_if_it_is_asked_for() {
    let locked = format!(
        "{HEAD}9 WRITE tid:1 obj:0x1 class:La; field:8\n10 LOCK tid:1 lock-obj:0x2\n11 UNLOCK tid:1 lock-obj:0x2\n12 LOCK tid:3 lock-obj:0x2\n13 UNLOCK tid:3 lock-obj:0x2\n\
         14 WRITE tid:3 obj:0x1 class:La; field:8\n"
    );
    let (status, out) = analyze(&locked, &[]);
    assert!(
        status == 0 && out.contains("1 more pair that only locks and signals order: --locked prints them\n"),
        "{out}"
    );
    let (status, out) = analyze(&locked, &["--locked"]);
    assert!(status == 0 && out.contains("B  #1  0x1 La;.8  multi-threaded\n"), "{out}");
    // Under a common lock there is no race to report.
    let both = locked.replacen(
        "9 WRITE tid:1 obj:0x1 class:La; field:8\n10 LOCK tid:1 lock-obj:0x2\n",
        "9 LOCK tid:1 lock-obj:0x2\n10 WRITE tid:1 obj:0x1 class:La; field:8\n",
        1,
    );
    let both = both.replace(
        "13 UNLOCK tid:3 lock-obj:0x2\n14 WRITE tid:3 obj:0x1 class:La; field:8\n",
        "13 WRITE tid:3 obj:0x1 class:La; field:8\n14 UNLOCK tid:3 lock-obj:0x2\n",
    );
    assert!(analyze(&both, &["--locked"]).1.ends_with("0 races\n"));
}

#[test]
fn a_flag_that_is_polled_covers_what_it_guards() {
    let flag = format!(
        "{HEAD}9 WRITE tid:1 obj:0x1 class:La; field:8\n10 WRITE tid:1 obj:0x1 class:La; field:12\n11 READ tid:3 obj:0x1 class:La; field:12\n12 READ tid:3 obj:0x1 class:La; field:8\n"
    );
    let (_, out) = analyze(&flag, &[]);
    assert!(out.contains("2 races: 2 multi-threaded") && out.contains("   covered by #1: "), "{out}");
    let (_, out) = analyze(&flag, &["--uncovered"]);
    assert!(out.contains("0x1 La;.12") && !out.contains("0x1 La;.8 "), "{out}");
}

#[test]
fn the_rules_of_the_source_and_fasttrack_are_there() {
    let source = call(&["analyze", MUSIC, "--rules", "source"]);
    assert!(
        source.status == 1 && source.out.contains("8 races: 4 delayed (4 fields), 4 cross-posted (4 fields)\n"),
        "{}",
        source.out
    );
    let fast = call(&["analyze", MUSIC, "--rules", "fasttrack"]);
    assert!(fast.out.contains("; FastTrack\n"), "{}", fast.out);
    let wrong = call(&["analyze", MUSIC, "--rules", "source", "--locked"]);
    assert!(wrong.status == REFUSED && wrong.err.contains("remove `--rules`"), "{}", wrong.err);
}

#[test]
fn what_is_no_trace_is_refused() {
    let folder = scratch("analyze-refused");
    let broken = file(&folder, "broken.txt", "1 START\n2 FLY tid:1\n");
    let run = call(&["analyze", &broken]);
    assert!(
        run.status == REFUSED && run.err.contains(&format!("{broken}:2:3: `FLY` is not an operation")),
        "{}",
        run.err
    );
    assert_eq!(call(&["analyze", "no-such-file.txt"]).status, REFUSED);
    assert_eq!(call(&["analyze", folder.to_str().unwrap()]).status, REFUSED);
    assert_eq!(call_with(&["analyze", "-"], "").status, REFUSED);
}

#[test]
fn campaigns_take_other_detectors() {
    let model = "harnesses/papers/racefuzzer_fig1.race";
    let pairs = |detector: &str| {
        let run = call(&["detect", model, "--detector", detector, "--format", "json"]);
        let report: raceflip::formats::detect::DetectReport = serde_json::from_str(&run.out).unwrap();
        (report.about.detectors, report.pairs)
    };
    let (names, all) = pairs("all");
    assert_eq!(names, ["hybrid", "droidracer", "fasttrack", "cafa"]);
    for detector in ["hybrid", "droidracer", "fasttrack"] {
        let (names, own) = pairs(detector);
        assert_eq!(names, [detector]);
        let is_there = |pair: &raceflip::formats::detect::Potential| {
            all.iter().any(|other| {
                (&other.a, &other.b) == (&pair.a, &pair.b) && other.detectors.contains(&detector.to_owned())
            })
        };
        assert!(!own.is_empty() && own.iter().all(is_there), "{detector}");
    }
    let text = call(&["detect", model, "--detector", "all"]).out;
    assert!(text.contains("  by hybrid, droidracer, fasttrack\n"), "{text}");
    let report = |jobs: &str| call(&["confirm", model, "--detector", "all", "--format", "json", "--jobs", jobs]).out;
    assert_eq!(report("1"), report("3"));
    // A journal cannot be continued with other detectors.
    let folder = scratch("detector-journal");
    let journal = folder.join("j.jsonl").display().to_string();
    assert_eq!(call(&["confirm", model, "--journal", &journal, "--detector", "droidracer"]).status, 1);
    let run = call(&["confirm", model, "--journal", &journal, "--resume"]);
    assert!(run.status == REFUSED && run.err.contains("detectors"), "{}", run.err);
}

/// A use behind a guard and one without, each with a free in another task.
const USES: &str = r#"{"format":"raceflip-trace","version":1,"file":"","program":"","defines":{},"strategy":"","seed":0}
{"step":1,"now":1,"thread":"main","kind":"threadinit"}
{"step":2,"now":1,"thread":"main","kind":"attachq"}
{"step":3,"now":1,"thread":"main","kind":"loop"}
{"step":4,"now":1,"thread":"a","kind":"post","made":"show#1","target":"main"}
{"step":5,"now":1,"thread":"b","kind":"post","made":"clear#1","target":"main"}
{"step":6,"now":1,"thread":"main","kind":"begin","made":"show#1"}
{"step":7,"now":1,"thread":"main","context":"show#1","kind":"read","place":"p","line":8,"column":5,"tested":true}
{"step":8,"now":1,"thread":"main","context":"show#1","kind":"read","place":"p","line":9,"column":5,"uses":true,"guard":7}
{"step":9,"now":1,"thread":"main","context":"show#1","kind":"read","place":"q","line":10,"column":5,"uses":true}
{"step":10,"now":1,"thread":"main","context":"show#1","kind":"end"}
{"step":11,"now":1,"thread":"main","kind":"begin","made":"clear#1"}
{"step":12,"now":1,"thread":"main","context":"clear#1","kind":"write","place":"p","line":14,"column":5,"frees":true}
{"step":13,"now":1,"thread":"main","context":"clear#1","kind":"write","place":"q","line":15,"column":5,"frees":true}
"#;

#[test]
fn use_free_races_are_told_with_their_filters() {
    let told = call_with(&["analyze", "-", "--rules", "cafa"], USES);
    assert_eq!(told.status, 1, "{}", told.err);
    for line in [
        "1 use-free race: 1 intra-thread (1 field)\n",
        "A  #2  q  intra-thread\n   use    10:5  on main, in show#1, posted by a\n   free   15:5  on main, in clear#1, posted by b\n",
        "1 more pair that a filter excludes: --guarded prints them\n",
    ] {
        assert!(told.out.contains(line), "{line}: {}", told.out);
    }
    let all = call_with(&["analyze", "-", "--rules", "cafa", "--guarded"], USES);
    let guarded = "D  #1  p  intra-thread\n   use    9:5  on main, in show#1, posted by a\n   free   14:5  on main, in clear#1, posted by b\n   guarded by the read at 8:5\n";
    assert!(all.out.contains(guarded), "{}", all.out);
    let json = call_with(&["analyze", "-", "--rules", "cafa", "--format", "json"], USES);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["kind"], "use-free");
    assert_eq!(json["races"][0]["filter"]["reason"], "guarded");
    assert_eq!((&json["races"][1]["rank"], &json["races"][1]["first"]["access"]), (&"A".into(), &"use".into()));
}

#[test]
fn a_trace_without_marks_has_plain_races_in_cafas_order() {
    let plain = USES.replace(",\"uses\":true", "").replace(",\"tested\":true", "").replace(",\"frees\":true", "");
    let told = call_with(&["analyze", "-", "--rules", "cafa"], &plain.replace(",\"guard\":7", ""));
    assert_eq!(told.status, 1, "{}", told.err);
    assert!(told.out.contains("2 races: 2 intra-thread (2 fields)\n"), "{}", told.out);
    assert!(told.out.contains("note: the trace does not say which reads use a reference"), "{}", told.out);
}

#[test]
fn a_guard_that_is_no_tested_read_of_the_location_is_refused() {
    for (old, new, step) in [
        ("\"guard\":7", "\"guard\":6", 6),
        (",\"tested\":true", "", 7),
        ("\"place\":\"p\",\"line\":8", "\"place\":\"q\",\"line\":8", 7),
    ] {
        let told = call_with(&["analyze", "-", "--rules", "cafa"], &USES.replace(old, new));
        let wrong = format!("<stdin>:9:112: step {step} is no earlier read of this location that is `tested`");
        assert_eq!(told.status, 2, "{}", told.out);
        assert!(told.err.contains(&wrong), "{}", told.err);
    }
}

#[test]
fn options_of_cafas_rules_are_refused_for_others() {
    for option in [&["--guarded"][..], &["--external", "free"]] {
        // The trace is not read.
        let told = call(&[&["analyze", "-"], option].concat());
        assert_eq!(told.status, 2, "{}", told.out);
        assert!(told.err.contains("add `--rules cafa`"), "{}", told.err);
    }
}

#[test]
fn detection_prints_use_free_pairs_and_why_others_are_filtered() {
    let model = "harnesses/cafa/free_realloc.race";
    let text = call(&["detect", model, "--detector", "cafa"]).out;
    let filtered = "2 use-free pairs filtered: 1 allocated before the use, 1 allocated after the free (`raceflip detect --guarded` shows them)\n";
    assert!(text.contains("1 potential pair from ") && text.contains(filtered), "{text}");
    assert!(text.contains("\nA  r  ") && text.contains("  use-free, intra-thread\n"), "{text}");
    let text = call(&["detect", model, "--detector", "cafa", "--guarded"]).out;
    assert_eq!(text.matches("\nD  ").count(), 2, "{text}");
    assert!(text.contains("  use-free, intra-thread, allocated after the free\n"), "{text}");
    let json = call(&["detect", model, "--detector", "cafa", "--format", "json"]).out;
    let report: raceflip::formats::detect::DetectReport = serde_json::from_str(&json).unwrap();
    let kinds: Vec<(char, String)> =
        report.pairs.iter().chain(&report.filtered).map(|pair| (pair.rank, pair.use_free.words())).collect();
    assert_eq!(kinds[0], ('A', "use-free, intra-thread".to_owned()));
    assert_eq!(kinds[1..].iter().filter(|(rank, words)| *rank == 'D' && words.contains("allocated")).count(), 2);
    // Results of another detector have none of these fields.
    let json = call(&["detect", model, "--format", "json"]).out;
    assert!(!json.contains("use-free") && !json.contains("\"filtered\""), "{json}");
    let text = call(&["confirm", model, "--detector", "cafa"]).out;
    assert!(text.contains(filtered) && text.contains("two tasks of one looper, use-free, intra-thread; "), "{text}");
}

/// A trace in STD: pairs of threads, each of which writes the same locations without an order.
fn unordered(pairs: usize, locations: usize) -> String {
    let access = |thread: usize, at: usize| {
        let statement = 2 * at + thread % 2;
        format!("T{thread}|w(x{}_{at})|{statement}\n", thread / 2)
    };
    (0..2 * pairs).flat_map(|thread| (0..locations).map(move |at| access(thread, at))).collect()
}

#[test]
fn a_summary_counts_the_verdicts() {
    let text = unordered(1, 2);
    let quiet = call_with(&["analyze", "-", "--confirm", "--quiet"], &text);
    assert_eq!((quiet.status, quiet.err.as_str()), (FOUND, ""));
    assert!(quiet.out.ends_with("2 races: 2 multi-threaded (2 fields)\nverdicts: 2 real\n"), "{}", quiet.out);
    let whole = call_with(&["analyze", "-", "--confirm"], &text);
    assert!(whole.out.contains("\nverdicts: 2 real\n\nA  #1  x0_0  "), "{}", whole.out);
    // A summary does not say what the model leaves out.
    let lone = format!("{text}T0|w(own)|9\n");
    let [quiet, whole] =
        [&["--quiet"][..], &[]].map(|more| call_with(&[&["analyze", "-", "--confirm"], more].concat(), &lone));
    let left_out = "note: the model leaves out accesses of locations that only one context accesses";
    assert!(whole.out.contains(left_out) && quiet.out.ends_with("\nverdicts: 2 real\n"), "{}{}", whole.out, quiet.out);
    // Without races there is nothing to count.
    let none = call_with(&["analyze", "-", "--confirm"], "T0|w(x)|1\n");
    assert!(none.status == 0 && !none.out.contains("verdicts"), "{}", none.out);
}

/// The model of the whole trace would have 1,200 threads, that of a location two.
#[test]
fn races_are_printed_even_if_the_model_is_too_large() {
    let path = file(&scratch("analyze-large"), "t.std", &unordered(600, 1));
    let plain = call(&["analyze", &path]);
    let command = plain.out.lines().find_map(|line| line.strip_prefix("to confirm a race: ")).expect("a command");
    assert!(command.starts_with(&format!("raceflip trace to-model {path} --only=x0_0 -o ")), "{command}");
    assert!(!plain.out.contains("--confirm"), "{}", plain.out);
    let asked = call(&["analyze", &path, "--confirm"]);
    assert_eq!(asked.status, FOUND, "{}", asked.err);
    assert!(
        asked.out.contains("\nverdicts: 600 not driven\n") && asked.out.contains("\n   NOT DRIVEN\n"),
        "{}",
        asked.out
    );
    let note = "note: no race was driven: the model of the trace is too large, with 1200 bodies and 1200 statements (";
    assert!(asked.err.contains(note) && asked.err.contains(command), "{}", asked.err);
    let json = call(&["analyze", &path, "--confirm", "--format", "json"]);
    let report: AnalysisReport = serde_json::from_str(&json.out).unwrap();
    assert_eq!((json.status, report.races.len(), report.interrupted), (FOUND, 600, false));
    assert!(report.races.iter().all(|race| race.pair.is_none() && race.verdict.is_none()));
    assert!(report.notes.iter().any(|note| note.starts_with("no race was driven: ")), "{:?}", report.notes);
    // The command that is printed decides its race.
    for part in command.split(" && ") {
        let words: Vec<&str> = part.split(' ').skip(1).collect();
        let run = call(&words);
        assert_eq!((run.status, run.out.contains("REAL")), (i32::from(words[0] == "confirm"), words[0] == "confirm"));
    }
    // The trace on stdin has no command.
    let piped = call_with(&["analyze", "-", "--confirm", "--quiet"], &unordered(600, 1));
    assert!(
        piped.err.contains("; make a model of some locations, with `raceflip trace to-model --only"),
        "{}",
        piped.err
    );
}

/// Ctrl-C ends a confirmation like that of `raceflip confirm`: with what is known, and its own status.
#[cfg(unix)]
#[test]
fn an_interrupted_confirmation_says_what_was_not_driven() {
    let path = file(&scratch("analyze-interrupted"), "t.std", &unordered(1, 400));
    let mut command = crate::cli::raceflip();
    command.args(["analyze", &path, "--confirm", "--format", "json"]);
    let run = crate::cli::interrupt(&mut command, 0, std::time::Duration::from_secs(1));
    assert_eq!(run.status, 130, "{}", run.err);
    assert!(run.err.contains("note: interrupted: a race without a verdict was not driven"), "{}", run.err);
    let report: AnalysisReport = serde_json::from_str(&run.out).unwrap();
    assert!(report.interrupted && report.races.len() == 400);
    assert!(report.races.iter().any(|race| race.verdict.is_none()));
    assert!(report.races.iter().all(|race| race.verdict.is_some() == race.pair.is_some()));
}
