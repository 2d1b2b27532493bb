//! The program as it is used: output, statuses, bad input.

use crate::load;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const FOUND: i32 = 1;
const REFUSED: i32 = 2;
const DIVERGED: i32 = 3;

fn raceflip() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_raceflip"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

struct Ran {
    status: i32,
    out: String,
    err: String,
}

fn ran(output: Output) -> Ran {
    Ran {
        status: output.status.code().expect("an exit status"),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

fn call(args: &[&str]) -> Ran {
    ran(raceflip().args(args).stdin(Stdio::null()).output().expect("it starts"))
}

fn call_with(args: &[&str], stdin: &str) -> Ran {
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

/// A folder of its own for each test.
fn scratch(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-{test}"));
    std::fs::remove_dir_all(&folder).ok();
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    folder
}

fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a scratch file");
    path.display().to_string()
}

fn token(ran: &Ran) -> String {
    ran.out.split_whitespace().find(|w| w.starts_with("rf1-")).expect("a token").to_owned()
}

const MENU: &str = "harnesses/bugs/connectbot_menu.race";
const ENDLESS: &str = "var x = 0\nthread a { loop { x = 1 } }\nthread b { loop { x = 2 } }\n";

#[test]
fn a_run_in_words() {
    let run = call(&["run", MENU]);
    assert_eq!((run.status, run.err.as_str()), (FOUND, ""));
    insta::assert_snapshot!(run.out, @"");
}

#[test]
fn a_deadlock_in_words() {
    let run = call(&["run", "harnesses/bugs/mopub_deadlock.race", "-q"]);
    assert_eq!(run.status, FOUND);
    insta::assert_snapshot!(run.out, @"");
}

#[test]
fn a_result_as_json() {
    let run = call(&["run", "harnesses/bugs/delayed_posts.race", "--format", "json", "--seed", "1"]);
    insta::assert_snapshot!(run.out, @"");
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
        // And the same again from the token.
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
        &["deadlock: a ring of threads: ", "waits for lock n, held by b", "waits for lock m, held by a"],
    );
    check(
        "left",
        "lock m\nthread a { acquire m }\nthread b { await false }",
        &[],
        FOUND,
        &["deadlock: 1 thread can never go on", "b at ", "waits for its condition to hold"],
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
        &["to main: refused, it has quit", "\nok\nwarning: 1 post was refused because its looper had quit\n"],
    );
    check(
        "steps",
        ENDLESS,
        &["--steps", "100"],
        FOUND,
        &["limit: the run came to its limit of 100 steps; --steps 200"],
    );
    check(
        "time",
        "thread a { loop { sleep 1000 } }",
        &["--virtual-time", "5000"],
        FOUND,
        &["limit of 5000 virtual milliseconds; --virtual-time 10000 raises it"],
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
        (&["check"], "<FILE>..."),
        (&["run", &ok, "--seed", "minus"], "--seed"),
        (&["run", &ok, "--color", "sometimes"], "auto"),
        (&["run", &ok, "--format", "xml"], "json"),
        (&["run", "no/such.race"], "error: cannot read `no/such.race`: there is no such file"),
        (&["check", &folder_name], "it is a directory; name the models in it"),
        (&["check", &bytes], "bytes.race:1:9: byte 0xff is not UTF-8"),
        (&["check", &bad], "unknown name `y`"),
        (&["check", &worse], "worse.race"),
        (&["run", &ok, "-D", "FIXED"], "write NAME=VALUE"),
        (&["run", &ok, "-D", "FIXED=yes"], "`yes` is not a whole number"),
        (&["run", &ok, "-D", "=1"], "is not the name of a constant"),
        (&["run", &ok, "-D", "FIXED=99999999999999999999"], "is not a whole number of 64 bits"),
        (&["run", &ok, "-D", "FIXD=1"], "did you mean `FIXED`?"),
        (&["run", &ok, "--strategy", "clever"], "unknown strategy `clever`: use `random`, `round-robin`"),
        (&["run", &ok, "--strategy", "directed:@w~@v"], "no memory access at `@v`; did you mean `@w`?"),
        (&["run", &ok, "--strategy", "directed:w~@w"], "is not a site"),
        (&["run", &ok, "--strategy", "directed:@w~@w,patience=x"], "is not a number of steps"),
        (&["run", &ok, "--trace", &trace], "error: cannot write the trace to"),
        (&["run", &ok, "--trace", &ok], "it is the model"),
        (&["run", &ok, "--trace", &folder_name], "error: cannot write the trace to"),
        (&["replay", &ok], "<TOKEN>"),
        (&["replay", &ok, "hello"], "error: this is not a replay token: one starts with `rf1-`"),
        (&["replay", &ok, "rf2-AAAA"], "made by a newer raceflip"),
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
    // The model is still there.
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
    // What a model says is printed, not obeyed.
    let hostile = file(&scratch("colours"), "a.race", "thread a { fail \"\u{1b}[31mred\" }");
    check(&["run", &hostile, "--color", "never"], &[], false);
}

#[test]
fn a_replay_prints_what_the_run_printed() {
    for path in load::models("harnesses") {
        let path = path.display().to_string();
        for seed in ["0", "1", "18446744073709551615"] {
            let run = call(&["run", &path, "--seed", seed, "--steps", "3000"]);
            assert!(run.status <= FOUND, "{path}: {}", run.err);
            assert_eq!(run.err, "");
            let again = call(&["replay", &path, &token(&run)]);
            assert_eq!((again.status, again.err.as_str()), (run.status, ""), "{path} {seed}");
            assert_eq!(again.out, run.out, "{path} {seed}");
        }
    }
}

#[test]
fn other_forms_replay_as_well() {
    let folder = scratch("forms");
    let run = ["run", MENU, "--strategy", "directed:@A~@B,patience=7", "--seed", "3", "-D", "FIXED=true"];
    for form in [&["-q"][..], &["--format", "json"], &["--format=json", "-q"]] {
        let first = call(&[&run, form].concat());
        let text = first.out.replace(['"', ','], " ");
        let saved = format!("@{}", file(&folder, "token.txt", &text));
        for (given, stdin) in [(saved.as_str(), ""), ("-", text.as_str())] {
            let again = call_with(&[&["replay", MENU, given], form].concat(), stdin);
            assert_eq!((again.status, again.out.as_str()), (first.status, first.out.as_str()), "{form:?} {given}");
        }
    }
    let (one, two) = (folder.join("one.jsonl"), folder.join("two.jsonl"));
    let first = call(&[&run, &["--trace", &one.display().to_string()][..]].concat());
    call(&["replay", MENU, &token(&first), "--trace", &two.display().to_string()]);
    let one = std::fs::read_to_string(one).expect("a trace");
    assert_eq!(one, std::fs::read_to_string(two).expect("a trace"));
    use raceflip::formats::trace::{Header, Row};
    let mut lines = one.lines();
    let header: Header = serde_json::from_str(lines.next().expect("a header")).expect("a header");
    assert_eq!((header.format.as_str(), header.version, header.seed), ("raceflip-trace", 1, 3));
    assert_eq!(header.strategy, "directed:@A~@B,patience=7");
    assert_eq!(header.defines["FIXED"], 1);
    let rows: Vec<Row> = lines.map(|l| serde_json::from_str(l).expect("an event")).collect();
    let label = |kind: &str| rows.iter().find(|r| r.kind == kind).and_then(|r| r.label.clone());
    assert_eq!((label("write"), label("read")), (Some("A".to_owned()), Some("B".to_owned())));
    assert!(rows.windows(2).all(|w| w[0].step <= w[1].step && w[0].now <= w[1].now));
}

const PLAYER: &str = "\
var x = 0
var y = 0
looper main
thread a {
    x = 1
    y = 2
    post t() to main
}
task t() {
    x = 3
    assert y == 0, \"y was written\"
}
";

#[test]
fn tokens_survive_edits_elsewhere() {
    let folder = scratch("survive");
    let model = file(&folder, "a.race", PLAYER);
    let run = call(&["run", &model, "-q"]);
    let wanted = run.out.lines().next().expect("an outcome").split(" at ").next().expect("a message").to_owned();
    let token = token(&run);
    let edits = [
        ("comments", PLAYER.replace("looper main", "// the only one\n\nlooper main   // here")),
        ("labels", PLAYER.replace("x = 1", "@first: x = 1").replace("assert", "@last: assert")),
        ("title", format!("app \"another name\"\n{PLAYER}")),
        ("a task that nobody posts", format!("{PLAYER}task other() {{ x = 4 }}\n")),
        ("a variable", format!("var z = 0\n{PLAYER}")),
        ("after the failure", PLAYER.replace("\"y was written\"", "\"y was written\"\n    y = 9")),
    ];
    for (what, text) in edits {
        let edited = file(&folder, "b.race", &text);
        let again = call(&["replay", &edited, &token, "-q"]);
        assert_eq!(again.status, FOUND, "{what}: {}", again.err);
        assert!(again.out.starts_with(&wanted), "{what}: {}", again.out);
        assert!(!again.err.contains("error"), "{what}: {}", again.err);
        let silent = matches!(what, "comments" | "labels" | "title");
        assert_eq!(again.err.is_empty(), silent, "{what}: {}", again.err);
    }
}

#[test]
fn tokens_of_another_program_diverge() {
    let folder = scratch("diverge");
    let model = file(&folder, "a.race", PLAYER);
    let run = call(&["run", &model]);
    let token = token(&run);
    let edits = [
        ("another order", PLAYER.replace("    x = 1\n    y = 2\n", "    y = 2\n    x = 1\n    skip\n")),
        ("a step less", PLAYER.replace("    y = 2\n", "")),
        ("no such thread", PLAYER.replace("thread a", "thread b")),
        ("no failure", PLAYER.replace("y == 0", "y == 2")),
        ("another failure", PLAYER.replace("\"y was written\"", "\"something else\"")),
    ];
    for (what, text) in edits {
        let edited = file(&folder, "b.race", &text);
        for form in [&[][..], &["-q"], &["--format", "json"]] {
            let again = call(&[&["replay", &edited, &token], form].concat());
            assert_eq!(again.status, DIVERGED, "{what}: {}{}", again.out, again.err);
            for part in ["warning: the token was made for another version", "expected: ", "found:    ", "raceflip run "]
            {
                assert!(again.err.contains(part), "{what}: no {part:?} in\n{}", again.err);
            }
        }
    }
    let shorter = file(&folder, "c.race", "thread a { skip }");
    let again = call(&["replay", &shorter, &token]);
    assert_eq!(again.status, DIVERGED, "{}", again.err);
}

#[test]
fn defines_of_a_token() {
    let folder = scratch("defines");
    let model = file(&folder, "a.race", "const N = 1\nvar x = 0\nthread a { x = 1\n if N == 2 { fail \"two\" } }");
    let run = call(&["run", "-q", &model, "-D", "N=2"]);
    let token = token(&run);
    let again = call(&["replay", "-q", &model, &token]);
    assert_eq!((again.out.as_str(), again.err.as_str()), (run.out.as_str(), ""));
    let again = call(&["replay", "-q", &model, &token, "-D", "N=2"]);
    assert_eq!((again.out.as_str(), again.err.as_str()), (run.out.as_str(), ""));
    let other = call(&["replay", "-q", &model, &token, "-D", "N=3"]);
    assert_eq!(other.status, DIVERGED);
    assert!(other.err.contains("note: -D N=3 overrides the token's N=2"), "{}", other.err);
    let without = file(&folder, "b.race", "var x = 0\nthread a { x = 1 }");
    let gone = call(&["replay", "-q", &without, &token]);
    assert_eq!(gone.status, REFUSED);
    assert!(gone.err.contains("the token was made with -D N=2"), "{}", gone.err);
}

#[test]
fn a_token_too_long_for_a_command_line() {
    let folder = scratch("long");
    let model = file(&folder, "my model.race", ENDLESS);
    let run = call(&["run", &model, "--steps", "40000"]);
    assert!(!run.out.contains("rf1-"), "nobody can paste it");
    let way = format!(
        "raceflip run '{model}' --seed 0 --steps 40000 --quiet > token.txt\n        raceflip replay '{model}' @token.txt\n"
    );
    assert!(run.out.ends_with(&way), "{}", &run.out[run.out.len() - 300..]);
    let brief = call(&["run", &model, "--steps", "40000", "-q"]);
    let again = call_with(&["replay", &model, "-"], &brief.out);
    assert!(again.out == run.out && again.status == FOUND);
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
    // The status is that of the run all the same.
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
    use std::time::{Duration, Instant};
    let folder = scratch("interrupt");
    let model = file(&folder, "a.race", ENDLESS);
    let child = raceflip()
        .args(["run", &model, "--steps", "18446744073709551615", "--quiet"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    std::thread::sleep(Duration::from_millis(500));
    let asked = Instant::now();
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(sent.success());
    let ran = ran(child.wait_with_output().expect("it ends"));
    assert_eq!(ran.status, 130, "{}", ran.err);
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    assert!(ran.err.contains("note: interrupted after ") && ran.err.contains("no token"), "{}", ran.err);
    assert!(!ran.out.contains("rf1-"));
}
