//! Tests of streams and files that cannot be written, of hostile file names, and of little memory: each leads to an
//! error message, never to a panic, and no temporary file remains.

#![cfg(unix)]

use crate::cli::{MENU, REFUSED, Ran, call, file, raceflip, ran, scratch};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs a command inside a shell script, in which `"$@"` is the command.
fn shell(folder: &Path, script: &str, args: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.current_dir(folder).args(["-c", script, "sh", env!("CARGO_BIN_EXE_raceflip")]).args(args);
    let stdin = std::fs::File::open(folder.join("m.race")).map_or_else(|_| Stdio::null(), Stdio::from);
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").stdin(stdin).output().expect("there is a shell")
}

/// A model with three races: every output about it is longer than the limits below.
const RACY: &str = "var x = 0\nthread a { @A: x = 1 }\nthread b { @B: assert x == 0, \"early\" }\nthread c { @C: x = 2 }\nexpect failure \"early\"\n";

/// Creates a folder with a model, a trace of it, and the result of a campaign over two variants.
fn workplace(name: &str) -> std::path::PathBuf {
    let folder = scratch(name);
    file(&folder, "m.race", RACY);
    std::fs::create_dir(folder.join("s")).expect("a scratch folder");
    file(&folder, "s/m.race", RACY);
    let binary = env!("CARGO_BIN_EXE_raceflip");
    let made = Command::new("sh")
        .current_dir(&folder)
        .args(["-c", "\"$0\" run m.race -q --trace t.jsonl; \"$0\" confirm s --runs 3 --trials 3 --out c.json", binary])
        .output()
        .expect("there is a shell");
    assert!(folder.join("c.json").exists() && folder.join("t.jsonl").exists(), "{made:?}");
    folder
}

const COMMANDS: [&str; 17] = [
    "check m.race",
    "run m.race",
    "-vv run m.race --format json",
    "detect m.race --runs 3",
    "confirm m.race --runs 3 --trials 3",
    "confirm s --runs 3 --trials 3 --format markdown",
    "merge c.json",
    "analyze t.jsonl",
    "trace stat t.jsonl",
    "trace convert t.jsonl",
    "trace to-model t.jsonl",
    "test m.race --no-save --runs 3",
    "fmt -",
    "completions bash",
    "man",
    "--version",
    "confirm --help",
];

fn words(command: &str) -> Vec<&str> {
    command.split(' ').collect()
}

#[test]
fn closed_and_full_streams_are_survived() {
    let folder = workplace("streams-closed");
    for command in COMMANDS {
        let args = words(command);
        let wanted = shell(&folder, "\"$@\"", &args).status.code().expect("it ends");
        assert!(wanted < REFUSED, "{command}");
        let status = |script: &str| {
            let output = shell(&folder, script, &args);
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!told.contains("has a bug"), "{command} with {script}: {told}");
            (output.status.code(), told)
        };
        assert_eq!(status("\"$@\" 2>&-").0, Some(wanted), "{command} without stderr");
        assert_eq!(status("\"$@\" 2>/dev/full").0, Some(wanted), "{command} with a full stderr");
        assert_eq!(status("\"$@\" | head -c 1 >/dev/null").0, Some(0), "{command} into a reader that goes away");
        for script in ["\"$@\" >&-", "\"$@\" <&- >&- 2>&-"] {
            let status = status(script).0;
            assert!(status == Some(wanted) || status == Some(REFUSED), "{command} with {script}: {status:?}");
        }
        let (status, told) = status("\"$@\" >/dev/full");
        assert!(
            status == Some(REFUSED) && told.contains("cannot write to stdout"),
            "{command} with a full stdout: {status:?} {told}"
        );
    }
    for command in ["check no.race", "--no-such-option", "run -vvv no.race"] {
        for script in ["\"$@\" 2>&-", "\"$@\" 2>/dev/full"] {
            assert_eq!(shell(&folder, script, &words(command)).status.code(), Some(REFUSED), "{command} with {script}");
        }
    }
}

const WRITERS: [&str; 10] = [
    "run m.race -q --trace",
    "run m.race -q --perfetto",
    "detect m.race --runs 3 --out",
    "confirm s --runs 3 --trials 3 --out",
    "confirm s --runs 3 --trials 3 --trials-out",
    "confirm s --runs 3 --trials 3 --journal",
    "merge c.json --out",
    "trace convert t.jsonl --out",
    "trace to-model t.jsonl --out",
    "new",
];

/// Returns the names of raceflip's temporary files in a folder.
fn left(folder: &Path) -> Vec<OsString> {
    let names = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    names.filter(|name| name.to_string_lossy().starts_with(".raceflip-")).collect()
}

#[test]
fn files_that_cannot_be_written_are_named() {
    let folder = workplace("streams-files");
    shell(&folder, "mkdir ro; chmod 555 ro", &[]);
    // A user with all permissions (root) can write to the read-only folder, too.
    let all_powerful = std::fs::write(folder.join("ro/probe"), "").is_ok();
    for writer in WRITERS {
        for place in ["nodir/x.race", "ro/x.race", "s", "/proc/x.race", ""] {
            if all_powerful && place.starts_with("ro/") || writer == "new" && place == "s" {
                continue;
            }
            let ran = ran(raceflip().current_dir(&folder).args(words(writer)).arg(place).output().expect("it starts"));
            assert_eq!(ran.status, REFUSED, "{writer} {place:?}: {}", ran.err);
            assert!(ran.err.starts_with("error: ") && ran.err.contains(place), "{writer} {place:?}: {}", ran.err);
            assert!(
                !ran.err.contains(".raceflip-") && !ran.err.contains(" at path "),
                "{writer} {place:?}: {}",
                ran.err
            );
        }
        // The limit of 512 bytes is too small for every one of these files but the model of a trace.
        if writer.starts_with("trace to-model") {
            continue;
        }
        let args = [words(writer), vec!["lim.race"]].concat();
        let output = shell(&folder, "ulimit -f 1; trap '' XFSZ; \"$@\"", &args);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(REFUSED), "{writer}: {told}");
        assert!(told.contains("lim.race") && !told.contains(".raceflip-"), "{writer}: {told}");
        assert!(left(&folder).is_empty(), "{writer}: {:?}", left(&folder));
        std::fs::remove_file(folder.join("lim.race")).ok();
    }
}

#[test]
fn what_a_killed_process_has_left_is_taken_away() {
    let folder = workplace("streams-left");
    // The limit does not kill the process: it reports the error and removes its temporary file.
    let killed = shell(&folder, "ulimit -f 1; exec \"$@\"", &["detect", "m.race", "--runs", "3", "--out", "p.json"]);
    assert_eq!(killed.status.code(), Some(REFUSED), "{killed:?}");
    assert!(String::from_utf8_lossy(&killed.stderr).contains("cannot write `p.json`"), "{killed:?}");
    assert!(left(&folder).is_empty());
    assert!(!folder.join("p.json").exists());
    // The first file stands for that of a killed process; the one below has a lock, so it is still being written.
    file(&folder, ".raceflip-left.tmp", "half a res");
    file(&folder, ".raceflip-not-ours", "");
    let held = std::fs::File::create(folder.join(".raceflip-held.tmp")).expect("a scratch file");
    held.lock().expect("a lock");
    let again = shell(&folder, "\"$@\"", &["detect", "m.race", "--runs", "3", "--out", "p.json"]);
    assert_eq!(again.status.code(), Some(1), "{again:?}");
    let mut names = left(&folder);
    names.sort();
    assert_eq!(names, [".raceflip-held.tmp", ".raceflip-not-ours"]);
}

#[test]
fn little_memory_is_no_bug() {
    let folder = workplace("streams-memory");
    // With less memory than `least`, the system cannot even load the program.
    let loads = |kib: &u32| shell(&folder, &format!("ulimit -v {kib}; exec \"$@\""), &["--version"]).status.success();
    let least = (10..200).map(|n| n * 2_000).find(loads).expect("it needs less than 400 MB");
    for kib in [least, least + 2_000, least + 10_000, least + 50_000] {
        for command in
            ["check m.race", "run m.race", "confirm m.race --runs 3 --trials 3 -j 64", "explore m.race -j 64"]
        {
            let output = shell(&folder, &format!("ulimit -v {kib}; exec \"$@\""), &words(command));
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!told.contains("has a bug"), "{command} with {kib} KiB: {told}");
            match output.status.code() {
                Some(status) => {
                    assert!(status <= REFUSED, "{command} with {kib} KiB: {status} {told}")
                }
                // If an allocation fails, the standard library prints its size and aborts. If there is no memory for a
                // new thread, the C library aborts.
                None => assert!(
                    told.contains("memory allocation of") || told.contains("out of memory"),
                    "{command} with {kib} KiB: {output:?}"
                ),
            }
        }
    }
}

/// File names that a shell, a terminal, a report or a CI system could misinterpret.
const NAMES: [&[u8]; 13] = [
    b"a b.race",
    b"-x.race",
    b"$(touch pwn).race",
    b"q'uote.race",
    b"new\n::error::line.race",
    b"esc\x1b[31m.race",
    b"bad\xff.race",
    b"`id`.race",
    b"::error::x.race",
    b"|pipe|.race",
    b"<b>.race",
    b"rtl\xe2\x80\xae.race",
    b"##[error]%s \\n.race",
];

#[test]
fn printed_commands_take_any_name_back() {
    let folder = scratch("streams-names");
    let text = crate::support::read(MENU);
    let binary = Path::new(env!("CARGO_BIN_EXE_raceflip"));
    let path = format!("{}:/usr/bin:/bin", binary.parent().expect("a folder").display());
    for name in NAMES {
        let name = OsStr::from_bytes(name);
        std::fs::write(folder.join(name), &text).expect("any name will do");
        for command in [
            "check",
            "run --quiet",
            "run --no-shrink",
            "confirm --runs 3 --trials 3",
            "confirm --runs 3 --trials 3 --format json",
            "confirm --runs 3 --trials 3 --format junit",
            "confirm --runs 3 --trials 3 --format sarif",
            "confirm --runs 3 --trials 3 --format github",
            "confirm --runs 3 --trials 3 --format markdown",
            "explore --states 100",
            "test --no-save --runs 3",
            "fmt --check",
            "detect --runs 3 --out p.json",
            "run -q --trace t.jsonl",
            "run -q --perfetto p.pf",
        ] {
            let output =
                raceflip().current_dir(&folder).args(words(command)).arg("--").arg(name).output().expect("it starts");
            let told: Ran = ran(output);
            assert!(told.status < REFUSED, "{command} {name:?}: {}", told.err);
            for text in [&told.out, &told.err] {
                assert!(
                    !text.contains('\u{1b}') && !text.contains('\u{202e}') && !text.contains("\n::error::line"),
                    "{command} {name:?}: {text}"
                );
            }
            if !matches!(command, "run --no-shrink" | "confirm --runs 3 --trials 3") {
                continue;
            }
            let printed = told.out.lines().find_map(|line| line.find("raceflip replay ").map(|at| &line[at..]));
            let printed = printed.unwrap_or_else(|| panic!("{command} {name:?}: {}", told.out));
            let again = Command::new("sh")
                .current_dir(&folder)
                .args(["-c", printed])
                .env("PATH", &path)
                .output()
                .expect("there is a shell");
            assert!(matches!(again.status.code(), Some(0 | 1)), "{name:?}: {printed}: {again:?}");
        }
        std::fs::remove_file(folder.join(name)).expect("it is there");
    }
    assert!(!folder.join("pwn").exists());
    // A name that is not UTF-8 is preserved.
    assert_eq!(OsString::from_vec(NAMES[6].to_vec()), OsStr::from_bytes(b"bad\xff.race"));
}

#[test]
fn a_part_that_was_edited_is_refused() {
    let folder = workplace("streams-parts");
    let text = std::fs::read_to_string(folder.join("c.json")).expect("it was written");
    let merge = |text: &str| call(&["merge", &file(&folder, "part.json", text)]);
    assert!(text.contains("\"checksum\": \""));
    assert!(merge(&text).status < REFUSED);
    // Whitespace does not count for the checksum, because a tool in between may reformat a file.
    let compact = serde_json::from_str::<serde_json::Value>(&text).expect("JSON").to_string();
    assert!(merge(&compact).status < REFUSED);
    for (old, new) in [
        ("\"runs\": 3", "\"runs\": 4"),
        ("\"variant\": 0", "\"variant\": 7"),
        ("\"complete\": true", "\"complete\": false"),
    ] {
        assert!(text.contains(old), "{old}");
        let ran = merge(&text.replacen(old, new, 1));
        assert!(ran.status == REFUSED && ran.err.contains("it is damaged: it was edited or cut"), "{old}: {}", ran.err);
    }
    assert_eq!(merge(&text[..text.len() / 2]).status, REFUSED);
    // Files of older versions have no checksum and are accepted.
    let mut old: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    old.as_object_mut().expect("an object").remove("checksum");
    assert!(merge(&old.to_string()).status < REFUSED);
    let fewer = call(&["merge", "tests/data/faults/merge_fewer_variants_than_results.json"]);
    assert_eq!(fewer.status, REFUSED);
    assert!(fewer.err.contains("has a result of variant 1, and its campaign has 1 variants"), "{}", fewer.err);
}
