//! Tests of replays through the program: a replay gives the same run again, or the reason why it cannot. Tokens of
//! every version stay readable.

use crate::cli::{FOUND, MENU, REFUSED, call, call_with, file, scratch, token};
use crate::load;
use raceflip::exec::{self, NoObserver};
use raceflip::sched::Replay;
use raceflip::token::Token;
use raceflip::vm::Vm;
use raceflip::world::{Machine, signature};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const DIVERGED: i32 = 3;

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
            let out: String = run.out.split_inclusive('\n').filter(|l| !l.starts_with("shrunk from ")).collect();
            assert_eq!(again.out, out, "{path} {seed}");
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
    // Each step chooses one of thirty threads at random, so the schedule cannot be compressed.
    let model = file(&folder, "my model.race", "var x = 0\nthread t(i in 0..30) { loop { x = i } }\n");
    let run = call(&["run", &model, "--steps", "40000"]);
    assert!(!run.out.contains("rf1-") && !run.out.contains("rf2-"), "nobody can paste it");
    let way = format!(
        "raceflip run '{model}' --seed 0 --steps 40000 --quiet > token.txt\n        raceflip replay '{model}' @token.txt\n"
    );
    assert!(run.out.ends_with(&way), "{}", &run.out[run.out.len() - 300..]);
    let brief = call(&["run", &model, "--steps", "40000", "-q"]);
    let again = call_with(&["replay", &model, "-"], &brief.out);
    assert!(again.out == run.out && again.status == FOUND);
}

// Every token that was ever printed stays readable. Each line has a token, a model, and the signature that the replay
// must have. Lines are added, never changed.
#[test]
fn golden_tokens_replay() {
    let golden =
        |name: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name));
    let lines = ["tokens_rf1.txt", "tokens_rf2.txt"].map(|name| golden(name).expect("golden tokens")).concat();
    let mut replayed = 0;
    for line in lines.lines().filter(|l| !l.starts_with('#')) {
        let [text, model, wanted] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let token: Token = text.parse().unwrap_or_else(|e| panic!("{line}: {e}"));
        assert_eq!(token.to_string(), text, "it is written as it was read");
        assert_eq!(token.signature, wanted);
        let model = load::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join(model), &token.defines);
        let mut machine = Machine::new(Vm::new(model.code.clone()), token.limits);
        let mut replay = Replay::new(Arc::new(token.schedule));
        let summary = exec::run(&mut machine, &mut replay, 0, &mut NoObserver, &AtomicBool::new(false));
        let outcome = summary.outcome().unwrap_or_else(|| panic!("{line}: {:?}", summary.end));
        assert_eq!(signature(&model.code.setup, outcome), wanted, "{line}");
        assert_eq!(replay.left_over(summary.steps), None, "{line}");
        replayed += 1;
    }
    assert!(replayed >= 14, "{replayed} tokens");
}

/// A replay that exceeds a limit gives one piece of advice. A run of 0 steps and a token without content are refused.
#[test]
fn what_limits_a_replay_is_said_once() {
    let run = call(&["run", MENU, "--seed", "3", "--no-shrink"]);
    let ran = call(&["replay", MENU, &token(&run), "--steps", "1"]);
    let all = format!("{}{}", ran.out, ran.err);
    assert_eq!(
        (ran.status, all.matches("--steps").count(), all.matches("raises it").count()),
        (REFUSED, 2, 0),
        "{all}"
    );
    assert!(ran.out.contains("limit: the run reached its limit of 1 steps\n"), "{all}");
    assert!(ran.err.contains("`--steps 100000` allows it"), "{all}");
    for args in [&["run", MENU, "--steps", "0"][..], &["replay", MENU, &token(&run), "--steps", "0"]] {
        let ran = call(args);
        assert!(ran.status == REFUSED && ran.err.contains("0 is not in 1.."), "{}", ran.err);
    }
    for prefix in ["rf1-", "rf2-"] {
        let ran = call(&["replay", MENU, prefix]);
        let says = format!("error: the token is cut off right after `{prefix}`; copy it again, to its end\n");
        assert_eq!((ran.status, ran.err), (REFUSED, says));
    }
}

/// An output file of a run appears only when it is complete; after an error, the old file is unchanged.
#[cfg(unix)]
#[test]
fn files_of_a_run_are_whole() {
    let folder = scratch("whole-files");
    let model = file(&folder, "long.race", "var x = 0\nthread a { for i in 0..3000 { x += 1 } }\n");
    for option in ["--trace", "--perfetto"] {
        let old = file(&folder, "old", "what was there\n");
        let new = folder.join("new").display().to_string();
        for path in [&old, &new] {
            // The limit allows files of a few KB only. The signal is ignored, so writing returns an error.
            let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" run \"$1\" -q \"$2\" \"$3\"";
            let exe = env!("CARGO_BIN_EXE_raceflip");
            let ran = std::process::Command::new("sh").args(["-c", script, exe, &model, option, path]).output();
            let ran = ran.expect("it starts");
            let err = String::from_utf8_lossy(&ran.stderr);
            assert!(ran.status.code() == Some(REFUSED) && err.contains("cannot write the "), "{option}: {err}");
        }
        assert_eq!(std::fs::read_to_string(&old).expect("it is there"), "what was there\n");
        let names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
        let ran = call(&["run", &model, "-q", option, &old]);
        assert!(ran.status == 0 && std::fs::read_to_string(&old).expect("a file").len() > 50_000, "{}", ran.err);
    }
    // A refusal after the file was opened also leaves the old file unchanged.
    let old = file(&folder, "old", "what was there\n");
    let nowhere = folder.join("none/new").display().to_string();
    assert_eq!(call(&["run", &model, "--trace", &old, "--perfetto", &nowhere]).status, REFUSED);
    assert_eq!(std::fs::read_to_string(&old).expect("it is there"), "what was there\n");
    let ran = call(&["run", &model, "--trace", &old, "--perfetto", &old]);
    assert!(ran.status == REFUSED && ran.err.contains("name the same file"), "{}", ran.err);
}
