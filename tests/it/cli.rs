//! Tests of the program as users call it: output, exit statuses, bad input.

use crate::load;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

pub(crate) const FOUND: i32 = 1;
pub(crate) const REFUSED: i32 = 2;

pub(crate) fn raceflip() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raceflip"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn ran(output: Output) -> Ran {
    Ran {
        status: output.status.code().expect("an exit status"),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

pub(crate) fn call(args: &[&str]) -> Ran {
    ran(raceflip().args(args).stdin(Stdio::null()).output().expect("it starts"))
}

pub(crate) fn call_with(args: &[&str], stdin: &str) -> Ran {
    let mut child = raceflip()
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    child.stdin.take().expect("piped").write_all(stdin.as_bytes()).expect("it reads");
    ran(child.wait_with_output().expect("it ends"))
}

/// Runs a command, and interrupts it `then` after it has printed `printed` bytes.
#[cfg(unix)]
pub(crate) fn interrupt(command: &mut Command, printed: usize, then: Duration) -> Ran {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut start = vec![0; printed];
    child.stdout.as_mut().expect("piped").read_exact(&mut start).expect("it prints something");
    std::thread::sleep(then);
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(sent.success());
    let mut ran = ran(child.wait_with_output().expect("it ends"));
    ran.out.insert_str(0, std::str::from_utf8(&start).expect("UTF-8"));
    ran
}

/// Returns an empty folder for a test.
pub(crate) fn scratch(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-{test}"));
    std::fs::remove_dir_all(&folder).ok();
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    folder
}

pub(crate) fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a scratch file");
    path.display().to_string()
}

pub(crate) fn token(ran: &Ran) -> String {
    ran.out.split_whitespace().find(|w| w.starts_with("rf1-")).expect("a token").to_owned()
}

/// Returns an output without the parts that change with the compiler: digests, and the tokens that contain them.
pub(crate) fn steady(text: &str) -> String {
    let lines = text.lines().map(|line| {
        if line.trim_start().starts_with("\"program\"") {
            return "  \"program\": \"...\",\n".to_owned();
        }
        let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        match line.split_once("rf1-") {
            Some((before, token)) => format!("{before}rf1-...{}\n", token.trim_start_matches(word)),
            None => format!("{line}\n"),
        }
    });
    lines.collect()
}

pub(crate) const MENU: &str = "harnesses/bugs/connectbot_menu.race";
pub(crate) const ENDLESS: &str = "var x = 0\nthread a { loop { x = 1 } }\nthread b { loop { x = 2 } }\n";

#[test]
fn a_run_in_words() {
    let run = call(&["run", MENU, "--no-shrink"]);
    assert_eq!((run.status, run.err.as_str()), (FOUND, ""));
    let (timeline, ending) = run.out.split_once("\n\n").expect("a timeline, and how it ended");
    assert!(
        timeline.contains("\n!    7   ●                          read bound: null        :40 @B: use bound\n"),
        "{timeline}"
    );
    insta::assert_snapshot!(steady(ending), @r#"
    failure: NullPointer (bound is null) at harnesses/bugs/connectbot_menu.race:40:17 (@B) in env/onCreateContextMenu#1 on main
       40 |         @B: use bound
          |                 ^
    steps 7, virtual time 1 ms, stall 0 ms
    strategy random, seed 0
    replay: raceflip replay harnesses/bugs/connectbot_menu.race rf1-...
    "#);
}

#[test]
fn a_deadlock_in_words() {
    let run = call(&["run", "harnesses/bugs/mopub_deadlock.race", "-q", "--no-shrink"]);
    assert_eq!(run.status, FOUND);
    insta::assert_snapshot!(steady(&run.out), @r#"
    deadlock: 2 threads can never continue
      env/loadAd#1 on main at harnesses/bugs/mopub_deadlock.race:33:14 (@B) waits for lock networking, held by worker
       33 |     @B: sync networking { skip }
          |              ^
      worker at harnesses/bugs/mopub_deadlock.race:23:5 waits for its condition to hold
       23 |     await started
          |     ^
    rf1-...
    "#);
}

#[test]
fn a_result_as_json() {
    let run = call(&["run", "harnesses/bugs/delayed_posts.race", "--format", "json", "--seed", "1"]);
    insta::assert_snapshot!(steady(&run.out), @r#"
    {
      "format": "raceflip-run",
      "version": 1,
      "file": "harnesses/bugs/delayed_posts.race",
      "program": "...",
      "defines": {},
      "strategy": "random",
      "seed": 1,
      "outcome": {
        "kind": "ok"
      },
      "signature": "ok",
      "steps": 11,
      "virtual_time": 16,
      "stall": 15,
      "refused_posts": 0,
      "token": "rf1-..."
    }
    "#);
}

#[test]
fn every_outcome_has_words_and_a_status() {
    let folder = scratch("outcomes");
    let check = |name: &str, model: &str, options: &[&str], status: i32, parts: &[&str]| {
        let path = file(&folder, &format!("{name}.race"), model);
        let run = call(&[&["run", &path], options].concat());
        assert_eq!(run.status, status, "{name}: {}{}", run.out, run.err);
        for part in parts {
            assert!(run.out.contains(part), "{name}: no {part:?} in\n{}", run.out);
        }
        let again = call(&["replay", &path, &token(&run)]);
        assert_eq!((again.status, again.out, again.err), (status, run.out, String::new()), "{name}");
    };
    check("ok", "thread a { skip }", &[], 0, &["\nok\n", "steps 1,", "strategy random, seed 0"]);
    check("ok by name", "thread a { skip }", &["--strategy", "round-robin"], 0, &["strategy round-robin, seed 0"]);
    check(
        "assert",
        "var x = 1\nthread a { @here: assert x == 2, \"not two\" }",
        &[],
        FOUND,
        &["failure: not two at ", ":2:", "(@here) in a\n", "    2 | thread a { @here: assert x == 2, \"not two\" }\n"],
    );
    check(
        "property",
        "var x = 1\nproperty two at end { x == 2 }\nthread a { skip }",
        &[],
        FOUND,
        &["failure: property two\n"],
    );
    check(
        "stuck",
        "looper main\nthread a { let f = fence main\n post t() to main }\ntask t() { skip }",
        &[],
        FOUND,
        &["stuck: 1 message can never run\n  a/t#1 in the queue of main\n"],
    );
    check(
        "ring",
        "lock m\nlock n\nvar x = 0\nthread a { sync m { x = 1\n await x == 2\n sync n { skip } } }\n\
         thread b { await x == 1\n sync n { x = 2\n sync m { skip } } }",
        &["--seed", "2"],
        FOUND,
        &["deadlock: cycle of threads: ", "waits for lock n, held by b", "waits for lock m, held by a"],
    );
    check(
        "left",
        "lock m\nthread a { acquire m }\nthread b { await false }",
        &[],
        FOUND,
        &["deadlock: 1 thread can never continue", "waits for its condition to hold", "await false"],
    );
    check(
        "dead holder",
        "lock m\natomic x = 0\nthread a { acquire m\n x = 1 }\nthread b { await x == 1\n acquire m }",
        &[],
        FOUND,
        &["waits for lock m, held by a, which has ended"],
    );
    check(
        "refused",
        "looper main\nthread a { quit main\n post t() to main }\ntask t() { skip }",
        &[],
        0,
        &["to main: refused, it has quit", "─x", "\nok\nwarning: 1 post was refused because its looper had quit\n"],
    );
    check(
        "steps",
        ENDLESS,
        &["--steps", "100"],
        FOUND,
        &["limit: the run reached its limit of 100 steps; --steps 200"],
    );
    check(
        "time",
        "thread a { loop { sleep 1000 } }",
        &["--virtual-time", "5s"],
        FOUND,
        &["limit of 5000 virtual milliseconds; --virtual-time 10000ms raises it"],
    );
    check("objects", "thread a { loop { let o = new Object\n skip } }", &["--objects", "7"], FOUND, &["--objects 14 "]);
    check(
        "threads",
        "thread a { loop { fork t() } }\ntask t() { skip }",
        &["--threads", "5"],
        FOUND,
        &["--threads 10 "],
    );
    check(
        "queue",
        "looper main\nthread a { loop { post t() to main } }\ntask t() { skip }",
        &["--queue", "3"],
        FOUND,
        &["limit of 3 messages in one queue; --queue 6 raises it"],
    );
    check("list", "var l: list[int] = []\nthread a { loop { l.push(1) } }", &["--list", "9"], FOUND, &["--list 18 "]);
    check(
        "cells",
        "class N { var a: int[10] }\nthread a { loop { let n = new N\n skip } }",
        &["--cells", "70"],
        FOUND,
        &["limit of 70 cells of objects and stacks; --cells 140 raises it"],
    );
    check("local", "thread a { loop { let i = 1 } }", &["--local", "50"], FOUND, &["--local 100 "]);
    check(
        "depth",
        "thread a { t() }\ntask t() { t() }",
        &["--depth", "20"],
        FOUND,
        &["failure: StackOverflow: more than 20 calls deep (--depth raises the limit)"],
    );
    check(
        "define",
        "const N = 1\nthread a { if N == 2 { fail \"two\" } }",
        &["-D", "N=2"],
        FOUND,
        &["failure: two at "],
    );
}

#[test]
fn bad_input() {
    let folder = scratch("bad");
    let ok = file(&folder, "ok.race", "const FIXED = 0\nvar x = 0\nthread a { @w: x = 1 }\n");
    let bad = file(&folder, "bad.race", "thread a { y = 1 }\n");
    let worse = file(&folder, "worse.race", "thread a {\n");
    let bytes = folder.join("bytes.race");
    std::fs::write(&bytes, b"var x = \xff").expect("a scratch file");
    let bytes = bytes.display().to_string();
    let folder_name = folder.display().to_string();
    let empty = file(&folder, "empty.txt", "no token here");
    let good = token(&call(&["run", "-q", &ok]));
    let last = if good.ends_with('A') { "B" } else { "A" };
    let damaged = format!("{}{last}", &good[..good.len() - 1]);
    let trace = format!("{folder_name}/no/such/trace.jsonl");
    let at_empty = format!("@{empty}");
    let cases: &[(&[&str], &str)] = &[
        (&[], "Usage:"),
        (&["frobnicate"], "unrecognized subcommand"),
        (&["run"], "<FILE>"),
        (&["check"], "<PATH>..."),
        (&["run", &ok, "--seed", "minus"], "--seed"),
        (&["run", &ok, "--color", "sometimes"], "auto"),
        (&["run", &ok, "--format", "xml"], "json"),
        (&["run", "no/such.race"], "error: cannot read `no/such.race`: there is no such file"),
        (&["run", &folder_name], "is a folder, and `run` performs one run of one model"),
        (&["replay", &folder_name, &good], "it is a directory; name the models in it"),
        (&["check", &bytes], "bytes.race:1:9: byte 0xff is not UTF-8"),
        (&["check", &bad], "unknown name `y`"),
        (&["check", &worse], "worse.race"),
        (&["run", &ok, "-D", "FIXED"], "write NAME=VALUE"),
        (&["run", &ok, "-D", "FIXED=yes"], "`yes` is not a 64-bit integer"),
        (&["run", &ok, "-D", "=1"], "is not the name of a constant"),
        (&["run", &ok, "-D", "FIXED=99999999999999999999"], "is not a 64-bit integer"),
        (&["run", &ok, "-D", "FIXD=1"], "did you mean `FIXED`?"),
        (&["replay", &ok, "@/dev/zero"], "is larger than any token"),
        (&["confirm", &ok, "--trials", "4294967295"], "100000"),
        (&["detect", &ok, "--runs", "0"], "1..=100000"),
        (&["confirm", &ok, "--jobs", "1000"], "1..=256"),
        (&["run", &ok, "--strategy", "clever"], "unknown strategy `clever`: use `random`, `round-robin`"),
        (&["run", &ok, "--strategy", "directed:@w~@v"], "no statement has the label `@v`; did you mean `@w`?"),
        (&["run", &ok, "--strategy", "directed:w~@w"], "is not a site"),
        (&["run", &ok, "--strategy", "directed:@w~@w,patience=x"], "is not a number of steps"),
        (&["run", &ok, "--trace", &trace], "error: cannot write the trace to"),
        (&["run", &ok, "--trace", &ok], "it is the model"),
        (&["run", &ok, "--trace", &folder_name], "error: cannot write the trace to"),
        (&["replay", &ok], "<TOKEN>"),
        (&["replay", &ok, "hello"], "error: this is not a replay token: one starts with `rf1-` or `rf2-`"),
        (&["replay", &ok, "rf3-AAAA"], "made by a newer raceflip"),
        (&["replay", &ok, "rf2-AAAA"], "the token is cut off"),
        (&["replay", &ok, "rf1-AA*A"], "character 7 of the token"),
        (&["replay", &ok, &good[..good.len() - 9]], "the token is cut off"),
        (&["replay", &ok, &damaged], "the token is damaged"),
        (&["replay", &ok, &at_empty], "there is no replay token in `"),
        (&["replay", &ok, "@no/such.txt"], "cannot read the token from `no/such.txt`"),
        (&["replay", &ok, "-"], "there is no replay token in stdin"),
        (&["replay", "no/such.race", &good], "there is no such file"),
    ];
    for (args, part) in cases {
        let ran = call(args);
        assert_eq!(ran.status, REFUSED, "{args:?}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(part), "{args:?}: no {part:?} in\n{}", ran.err);
        assert_eq!(ran.out, "", "{args:?}");
    }
    assert!(std::fs::read_to_string(&ok).expect("a model").starts_with("const FIXED"));
}

#[test]
fn check_tells_of_all_files() {
    let folder = scratch("check");
    let first = file(&folder, "first.race", "thread a { y = 1 }\n");
    let third = file(&folder, "third.race", "thread b { z = 1\n w = 1 }\n");
    let ran = call(&["check", &first, MENU, &third]);
    assert_eq!(ran.status, REFUSED);
    assert_eq!(ran.out, format!("{MENU}: ok (1 thread, 1 looper, 4 tasks, 7 sites)\n"));
    for name in ["`y`", "`z`", "`w`"] {
        assert!(ran.err.contains(name), "{}", ran.err);
    }
    let all = load::models("harnesses");
    let mut args = vec!["check"];
    let names: Vec<String> = all.iter().map(|p| p.display().to_string()).collect();
    args.extend(names.iter().map(String::as_str));
    let ran = call(&args);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    assert_eq!(ran.out.lines().count(), all.len());
}

#[test]
fn help_and_version() {
    for args in
        [&["--help"][..], &["help"], &["run", "--help"], &["check", "--help"], &["replay", "--help"], &["run", "-h"]]
    {
        let ran = call(args);
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{args:?}");
        assert!(ran.out.contains("Usage:"), "{args:?}");
        for line in ran.out.lines() {
            assert!(line.chars().count() <= 120, "{args:?}: {line}");
        }
    }
    assert!(call(&["run", "--help"]).out.contains("raceflip run app.race --seed 7"));
    assert_eq!(call(&["--version"]).out, format!("raceflip {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn colours_only_where_they_are_wanted() {
    let escapes = |args: &[&str], env: &[(&str, &str)]| {
        let output = raceflip().args(args).envs(env.iter().copied()).output().expect("it starts");
        output.stdout.contains(&0x1b) || output.stderr.contains(&0x1b)
    };
    let check = |args: &[&str], env: &[(&str, &str)], expected: bool| {
        assert_eq!(escapes(args, env), expected, "{args:?} {env:?}");
    };
    check(&["run", MENU], &[], false);
    check(&["run", MENU, "--color", "always"], &[], true);
    check(&["--color=always", "run", MENU], &[("NO_COLOR", "1")], true);
    check(&["run", MENU, "--color", "never"], &[], false);
    check(&["run", MENU], &[("NO_COLOR", "1")], false);
    check(&["run", "no/such.race"], &[], false);
    check(&["run", "no/such.race", "--color", "always"], &[], true);
    check(&["frobnicate"], &[], false);
    check(&["frobnicate", "--color", "always"], &[], true);
    check(&["run", MENU, "--format", "json", "--color", "always"], &[], false);
    // A control sequence in a model's text is escaped.
    let hostile = file(&scratch("colours"), "a.race", "thread a { fail \"\u{1b}[31mred\" }");
    check(&["run", &hostile, "--color", "never"], &[], false);
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away() {
    let folder = scratch("pipe");
    let model = file(&folder, "a.race", ENDLESS);
    let mut child = raceflip()
        .args(["run", &model, "--steps", "50000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    let ran = ran(child.wait_with_output().expect("it ends"));
    // A closed pipe does not change the exit status of the run.
    assert_eq!((ran.status, ran.err.as_str()), (FOUND, ""));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    let output = raceflip().args(["run", MENU]).stdout(full).output().expect("it starts");
    let ran = ran(output);
    assert_eq!(ran.status, REFUSED);
    assert!(ran.err.contains("error: cannot write to stdout: "), "{}", ran.err);
    let ran = call(&["run", MENU, "--trace", "/dev/full"]);
    assert_eq!(ran.status, REFUSED);
    assert!(ran.err.contains("error: cannot write the trace to `/dev/full`: "), "{}", ran.err);
    assert!(ran.out.contains("failure: NullPointer"), "the result is printed all the same");
}

#[cfg(unix)]
#[test]
fn interrupted() {
    let model = file(&scratch("interrupt"), "a.race", ENDLESS);
    let asked = Instant::now();
    let mut command = raceflip();
    command.args(["run", &model, "--steps", "18446744073709551615", "--quiet"]);
    let ran = interrupt(&mut command, 0, Duration::from_millis(500));
    assert_eq!(ran.status, 130, "{}", ran.err);
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    assert!(ran.err.contains("note: interrupted after ") && ran.err.contains("no token"), "{}", ran.err);
    assert!(!ran.out.contains("rf1-"));
}
