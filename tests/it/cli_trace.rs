//! Tests of `raceflip trace stat` and `raceflip trace convert`.

use crate::cli::{REFUSED, call, call_with, file, scratch};
use crate::traces::log;
use raceflip::formats::traces::stat::{Stat, StatReport};
use std::fs;

#[test]
fn the_command_counts_and_converts() {
    let music = "tests/it/traces/em-explorer/test-traces/tacas-2016/music/abc_log.txt";
    let run = call(&["trace", "stat", music]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    for part in [&format!("{music}: "), "posted, ", "loopers\n", "  note: 5 posts of messages that are never called"] {
        assert!(run.out.contains(part), "{part}: {}", run.out);
    }
    let folder = scratch("trace");
    let path = folder.join("music.jsonl").display().to_string();
    let converted = call(&["trace", "convert", music, "--out", &path]);
    assert_eq!((converted.status, converted.out.as_str()), (0, ""), "{}", converted.err);
    assert!(converted.err.contains("note: 5 posts"), "{}", converted.err);
    assert_eq!(call(&["trace", "convert", music]).out, fs::read_to_string(&path).unwrap());
    let both = call(&["trace", "stat", "--format", "json", music, &path]);
    let report: StatReport = serde_json::from_str(&both.out).unwrap();
    let [one, other] = <[Stat; 2]>::try_from(report.files).unwrap();
    assert_eq!((one.file.as_str(), &other.file), (music, &path));
    let file = one.file.clone();
    assert_eq!(one, Stat { file, notes: one.notes.clone(), ..other });
    let piped = call_with(&["trace", "stat", "-"], &log("music/abc_log"));
    assert_eq!(piped.out, run.out.replace(music, "<stdin>"));
    let help = call(&["trace", "--help"]);
    assert!(help.out.contains("stat") && help.out.contains("convert"), "{}", help.out);
}

#[test]
fn the_command_refuses() {
    let folder = scratch("trace-refused");
    let broken = file(&folder, "broken.txt", "1 START\n2 FLY tid:1\n");
    let fine = file(&folder, "fine.txt", "1 START\n2 THREADINIT tid:1\n");
    let none = folder.join("none.txt").display().to_string();
    let place = format!("error: {broken}:2:3: `FLY` is not an operation; ");
    for (args, says) in [
        (vec!["trace", "stat", broken.as_str()], place.as_str()),
        (vec!["trace", "convert", &broken], &place),
        (vec!["trace", "stat", &none], "there is no such file"),
        (vec!["trace", "stat", "tests/it"], "it is a directory; name the traces in it"),
        (vec!["trace", "convert", &fine, "--out", "tests/it"], "it is a folder"),
        (vec!["trace"], "Usage: raceflip trace"),
    ] {
        let run = call(&args);
        assert_eq!((run.status, run.out.as_str()), (REFUSED, ""), "{args:?}");
        assert!(run.err.contains(says), "{args:?}: {}", run.err);
    }
    let some = call(&["trace", "stat", &broken, &fine]);
    assert_eq!(some.status, REFUSED);
    assert!(some.out.starts_with(&format!("{fine}: 1 operation\n")) && some.err.contains("FLY"), "{}", some.out);
}
