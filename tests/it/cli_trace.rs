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

/// The model of a trace does not replace a model that the user has written, unless `--force` says so.
#[test]
fn a_model_that_the_user_has_written_is_not_replaced() {
    const MINE: &str = "var x = 0\nthread a { x = 1 }\nthread b { x = 2 }\n";
    let folder = scratch("trace-mine");
    let mine = file(&folder, "app.race", MINE);
    let trace = folder.join("app.jsonl").display().to_string();
    call(&["run", &mine, "--quiet", "--trace", &trace]);
    let analyzed = call(&["analyze", &trace]);
    let command = analyzed.out.lines().find_map(|line| line.strip_prefix("to confirm a race: ")).expect(&analyzed.out);
    let made = folder.join("app.trace.race").display().to_string();
    assert!(command.contains(&format!(" -o {made} && raceflip confirm {made} --pair ")), "{command}");
    // The printed command makes its model, and may do so again.
    for _ in 0..2 {
        let run = call(&["trace", "to-model", &trace, "-o", &made]);
        assert_eq!((run.status, run.out.as_str()), (0, ""), "{}", run.err);
    }
    let model = fs::read_to_string(&made).unwrap();
    let refused = call(&["trace", "to-model", &trace, "-o", &mine]);
    assert_eq!((refused.status, refused.out.as_str()), (REFUSED, ""));
    let says = format!("`{mine}` is not a model that `raceflip trace to-model` has made, so it is not replaced: ");
    assert!(refused.err.contains(&says) && refused.err.contains("add `--force`"), "{}", refused.err);
    assert_eq!(fs::read_to_string(&mine).unwrap(), MINE);
    // There is nothing to lose in an empty file.
    let empty = file(&folder, "empty.race", "");
    for arguments in [&["-o", empty.as_str()][..], &["-o", &mine, "--force"]] {
        let run = call(&[&["trace", "to-model", &trace], arguments].concat());
        assert_eq!(run.status, 0, "{}", run.err);
        assert_eq!(fs::read_to_string(arguments[1]).unwrap(), model);
    }
}

#[test]
fn results_and_the_trace_are_different_files() {
    let folder = scratch("trace-distinct");
    let text = "T0|w(x)|1\nT1|w(x)|2\n";
    let trace = file(&folder, "t.std", text);
    let out = folder.join("out.std").display().to_string();
    let same = folder.join(".").join("t.std").display().to_string();
    let overwrites = |option: &str| format!("{option} would overwrite the trace `");
    for (args, says) in [
        (vec!["convert", "--to", "std", "--out", &out, "--map", &out], "--out and --map name the same file".to_owned()),
        (vec!["convert", "--to", "std", "--out", &same], overwrites("--out")),
        (vec!["convert", "--to", "std", "--map", &same], overwrites("--map")),
        (vec!["convert", "--out", &trace], overwrites("--out")),
        (vec!["to-model", "--out", &same], overwrites("--out")),
        (vec!["to-model", "--force", "--out", &same], overwrites("--out")),
    ] {
        let run = call(&[&["trace"], &args[..], &[trace.as_str()]].concat());
        assert_eq!((run.status, run.out.as_str()), (REFUSED, ""), "{args:?}");
        assert!(run.err.contains(&says), "{args:?}: {}", run.err);
        assert_eq!(fs::read_to_string(&trace).unwrap(), text, "{args:?}");
    }
    // Stdin is no file, even if there is one of its name.
    let run = call_with(&["trace", "convert", "-", "--out", &out], text);
    assert_eq!(run.status, 0, "{}", run.err);
}
