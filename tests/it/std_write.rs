//! Tests of the writer of STD: what was STD comes back, and what STD cannot say is counted.

use crate::cli::{REFUSED, call, call_with, file, scratch};
use crate::std_counts::{parsed, traces};
use crate::support::models;
use crate::traces::log;
use raceflip::detect::second_accesses;
use raceflip::formats::traces::{StdText, read, write_std};
use raceflip::trace::{Action, Builder, Mark, SiteNo, Trace};
use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::AtomicBool;

fn written(trace: &Trace) -> (String, StdText) {
    let mut text = Vec::new();
    let about = write_std(trace, &mut text).unwrap();
    (String::from_utf8(text).unwrap(), about)
}

#[test]
fn what_was_std_comes_back() {
    for (name, text) in traces() {
        let (again, about) = written(&parsed(&name, &text));
        assert_eq!(about, StdText { map: String::new(), losses: vec![] }, "{name}");
        if again == text {
            continue;
        }
        // Only the ill-formed trace differs: it lacks the releases of what is not held.
        assert_eq!(name, "rapid/java_IBM2003_boundedbuffer");
        let mut rest = again.lines().peekable();
        let left: Vec<&str> = text.lines().filter(|line| rest.next_if_eq(line).is_none()).collect();
        assert!(left.len() == 13 && left.iter().all(|line| line.contains("|rel(")), "{left:?}");
        assert_eq!(rest.next(), None);
    }
    let odd = "A|acq(L)|1\nA|acq(L)|2\nA|rel(L)|3\nA|rel(L)|4\nB|begin(a(b))|9\nB|r(f(x))|-1\nB|end|007\nA|dummy|1\nA|req(L)|1\nA|rel(M)|9\n";
    let kept = "A|acq(L)|1\nA|rel(L)|4\nB|begin(a(b))|9\nB|r(f(x))|-1\nB|end|007\n";
    assert_eq!(written(&parsed("odd", odd)).0, kept);
}

/// The same trace as JSON lines has the same accesses, the same counts, and the same lines in STD: each operation and
/// mark keeps the number of its statement.
#[test]
fn std_becomes_json_lines() {
    let folder = scratch("std-json");
    let counts = |trace: &Trace| second_accesses(trace, &AtomicBool::new(false)).unwrap().len();
    for (name, text) in traces().into_iter().filter(|(_, text)| text.len() < 40_000) {
        let path = file(&folder, "t.std", &text);
        let ran = call(&["trace", "convert", &path]);
        let rows = read("rows", ran.out.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let trace = parsed(&name, &text);
        assert_eq!((rows.ops.len(), counts(&rows)), (trace.ops.len(), counts(&trace)), "{name}");
        assert_eq!(written(&rows).0, written(&trace).0, "{name}");
    }
    let marked = "A|fork(B)|1\nA|begin(pay)|2\nA|acq(L)|3\nA|w(x)|4\nA|rel(L)|5\nA|end(pay)|6\nB|r(x)|7\nA|join(B)|8\n";
    let rows = call_with(&["trace", "convert", "-"], marked).out;
    let again = call_with(&["trace", "convert", "-", "--to", "std"], &rows);
    assert_eq!((again.out.as_str(), again.err.as_str()), (marked, ""));
}

#[test]
fn a_looper_becomes_threads_and_a_lock() {
    let log = "1 START\n2 THREADINIT tid:1\n3 ATTACH-Q tid:1 queue:7\n4 FORK par-tid:1 child-tid:2\n5 THREADINIT tid:2\n6 LOOP tid:1 queue:7\n\
               7 POST src:2 msg:1 dest:1 delay:5\n8 NOTIFY tid:2 notifiedTid:1\n9 POST src:2 msg:2 dest:1 delay:0\n10 POST src:2 msg:3 dest:1 delay:0\n\
               11 CALL tid:1 msg:2\n12 WAIT tid:1\n13 WRITE tid:1 obj:0x1 class:La; field:8\n14 LOCK tid:1 lock-obj:0x9\n15 RET tid:1 msg:2\n\
               16 CALL tid:1 msg:1\n17 READ tid:1 obj:0x1 class:La; field:8\n18 RET tid:1 msg:1\n";
    let folder = scratch("std-looper");
    let (path, map) = (file(&folder, "log.txt", log), folder.join("map.tsv").display().to_string());
    let ran = call(&["trace", "convert", &path, "--to", "std", "--map", &map]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    insta::assert_snapshot!(
        "std_looper",
        format!("{}---\n{}---\n{}", ran.out, fs::read_to_string(&map).unwrap(), ran.err)
    );
    // The second time nothing is lost or renamed.
    let again = call_with(&["trace", "convert", "-", "--to", "std"], &ran.out);
    assert_eq!((again.out, again.err.as_str()), (ran.out, ""));
}

#[test]
fn marks_of_accesses_are_counted_as_lost() {
    let mut builder = Builder::new();
    let (main, p) = (builder.thread("main"), builder.location("p", "p"));
    let free = Mark { frees: true, ..Mark::default() };
    builder.push_marked(main, Action::Write(p), free, SiteNo::NONE, 0).unwrap();
    let (text, about) = written(&builder.finish());
    assert_eq!((text.as_str(), about.map.as_str()), ("main|w(p)|1\n", "statement\t1\tno place is known\n"));
    assert_eq!(about.losses, ["marks of uses, tests and frees: 1 left out"]);
}

#[test]
fn the_command_refuses_a_map_without_std() {
    let path = file(&scratch("std-map"), "t.std", "T0|w(x)|1\n");
    for (args, says) in [
        (&["--map", "x.tsv"][..], "add `--to std`, or remove `--map`"),
        (&["--to", "std", "--map", "tests/it"], "it is a folder"),
        (&["--to", "xml"], "[possible values: jsonl, std]"),
    ] {
        let ran = call(&[&["trace", "convert", &path], args].concat());
        assert_eq!((ran.status, ran.out.as_str()), (REFUSED, ""), "{args:?}");
        assert!(ran.err.contains(says), "{args:?}: {}", ran.err);
    }
}

/// A file without a line would be no trace.
#[test]
fn a_trace_of_which_nothing_is_left_is_refused() {
    let folder = scratch("std-nothing");
    let path = file(&folder, "log.txt", "1 START\n2 THREADINIT tid:1\n3 ATTACH-Q tid:1 queue:7\n");
    let (out, map) = (folder.join("out.std"), folder.join("map.tsv"));
    let results = ["--out", out.to_str().unwrap(), "--map", map.to_str().unwrap()];
    let ran = call(&[&["trace", "convert", &path, "--to", "std"], &results[..]].concat());
    assert_eq!((ran.status, ran.out.as_str()), (REFUSED, ""), "{}", ran.err);
    assert!(ran.err.contains(&format!("no operation of `{path}` has a form in STD")), "{}", ran.err);
    assert!(!out.exists() && !map.exists());
}

/// Only names that STD cannot have are changed, those of transactions as well, and the map has all of them.
#[test]
fn names_change_only_where_they_must() {
    let text = "a\u{1}|w(x\u{202e})|1\na\u{1}|begin(\u{7f})|2\na\u{1}|end(\u{7f})|3\n";
    let (again, about) = written(&parsed("controls", text));
    assert_eq!((again.as_str(), about), (text, StdText { map: String::new(), losses: vec![] }));
    let mut builder = Builder::new();
    let (thread, x) = (builder.thread("a b"), builder.location("", ""));
    builder.push(thread, Action::Write(x), SiteNo::NONE, 7).unwrap();
    for name in ["c d", "c_d", "", "c d"] {
        builder.transaction(thread, true, Some(name), SiteNo::NONE).unwrap();
        builder.transaction(thread, false, Some(name), SiteNo::NONE).unwrap();
    }
    let (text, about) = written(&builder.finish());
    let of_marks = ["c_d", "c_d~2", "_", "c_d"].map(|name| format!("a_b|begin({name})|2\na_b|end({name})|2\n"));
    assert_eq!(text, format!("a_b|w(_)|1\n{}", of_marks.concat()));
    let names = "thread\ta_b\ta b\nvariable\t_\t\ntransaction\t_\t\ntransaction\tc_d\tc d\ntransaction\tc_d~2\tc_d\n";
    assert_eq!(about.map, format!("statement\t1\tline 7\nstatement\t2\tno place is known\n{names}"));
    let reason = "changed: STD has no blanks and no `|` in them, no empty names, and no equal ones";
    assert_eq!(about.losses, [format!("names: 5 {reason}")]);
    assert_eq!(written(&parsed("again", &text)).0, text);
}

/// Every recorded run of a harness, and every log, becomes a file that reads back, with the same accesses.
#[test]
fn every_trace_can_be_written() {
    let folder = scratch("std-runs");
    let path = folder.join("run.jsonl").display().to_string();
    let accesses = |trace: &Trace| -> Vec<bool> {
        let of_thread = trace.ops.iter().filter(|op| !trace.threads[op.thread].environment);
        of_thread.filter_map(|op| Some(op.action.access()?.1)).collect()
    };
    let check = |name: &str, trace: &Trace| {
        let (text, about) = written(trace);
        if text.is_empty() {
            return;
        }
        let again = parsed(name, &text);
        assert_eq!(accesses(&again), accesses(trace), "{name}");
        assert_eq!(written(&again).0, text, "{name}");
        // Each line of the map has its three fields, and each number and name stands once in it.
        let mut seen = BTreeSet::new();
        for line in about.map.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            assert!(fields.len() == 3 && seen.insert((fields[0], fields[1])), "{name}: {line}");
        }
    };
    let mut runs = 0;
    for model in ["harnesses/papers", "harnesses/bugs"].into_iter().flat_map(models) {
        fs::remove_file(&path).ok();
        if call(&["run", &model, "--seed", "1", "--quiet", "--trace", &path]).status == REFUSED {
            continue;
        }
        let rows = fs::read_to_string(&path).unwrap();
        check(&model, &read(&model, rows.as_bytes()).unwrap());
        runs += 1;
    }
    for name in ["music/abc_log", "remind-me/abc_log", "trace9/"] {
        check(name, &read(name, log(name).as_bytes()).unwrap());
    }
    assert!(runs > 20, "{runs}");
}
