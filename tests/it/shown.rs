//! Tests that texts of a model, a path or an option reach a terminal or a log only as text: hostile texts go through
//! every command in every format.

use crate::cli::{REFUSED, Ran, file, raceflip, ran, scratch};
use raceflip::base::hidden;
use std::path::Path;

/// Every kind of character that a terminal or an editor interprets, and line beginnings that CI systems treat as
/// commands.
const HOSTILE: &str = "\u{1b}[31mRED\u{1b}]0;pwn\u{7}\u{9b}31m\u{7f} \u{202e}a\u{2066}b\u{200f}c\u{61c} \u{200b}\u{200d}\u{2060}\u{feff} \u{2028}::error::a\u{2029}::error::b\u{85} \
    \u{e0041}\u{ad}\u{180e}\u{3164} ##[error]c ##vso[task.complete]d ##teamcity[buildStop]e";

/// Returns the hostile text with line ends, escaped as in a string of the language.
fn in_model() -> String {
    format!("{HOSTILE} \\n::error::f\\r\\n##[group]g\\nsection_start:1:h\\r\\n  ::stop-commands::i")
}

fn model() -> String {
    let text = in_model();
    format!(
        "app \"{text}\" // {HOSTILE}\nvar x = 0\nthread a {{ @l from \"{text}\": x = 1 }}\nthread b {{ @m from \"{text}\": assert x == 0, \"{text}\" }}\n\
         expect failure \"{text}\"\nexpect race @l ~ @m: harmful\n"
    )
}

/// A hostile name of a file or folder, as far as file systems allow it.
const NAME: &str = "::error::\u{1b}[31m\u{202e}\n::error::\u{85}##[x";

/// Removes raceflip's own color codes; asserts that all escape sequences are color codes.
fn without_colours(text: &str) -> String {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('\u{1b}') {
        plain.push_str(&rest[..at]);
        let code = rest[at..].strip_prefix("\u{1b}[").unwrap_or_else(|| panic!("no colour: {text:?}"));
        let end = code.find(|c: char| !c.is_ascii_digit() && c != ';').expect("it ends");
        assert!(code[end..].starts_with('m'), "no colour: {text:?}");
        rest = &code[end + 1..];
        assert!(!rest.starts_with("RED"), "{text:?}");
    }
    plain + rest
}

fn check_text(text: &str, coloured: bool, ours: bool, what: &str) {
    let plain = if coloured { without_colours(text) } else { text.to_owned() };
    assert!(plain.chars().all(|c| c == '\n' || !hidden(c)), "{what}: {plain:?}");
    for line in plain.lines() {
        assert!(["##[", "##vso[", "##teamcity["].iter().all(|c| !line.contains(c)), "{what}: {line}");
        let begins = line.trim_start();
        let command = ["::", "section_start:", "section_end:"].iter().any(|c| begins.starts_with(c));
        let allowed = ours && ["::error ", "::warning ", "::notice "].iter().any(|c| line.starts_with(c));
        assert!(!command || allowed, "{what}: {line}");
    }
}

/// Runs a command with and without colors, and checks both output streams.
fn check(folder: &Path, args: &[&str]) -> Ran {
    let ours = args.contains(&"github");
    let mut last = None;
    for colour in ["never", "always"] {
        let output = raceflip().current_dir(folder).args(["--color", colour]).args(args).output().expect("it starts");
        let ran = ran(output);
        let what = format!("{args:?} --color {colour}");
        check_text(&ran.out, colour == "always", ours, &what);
        check_text(&ran.err, colour == "always", false, &what);
        assert!((0..=REFUSED).contains(&ran.status), "{what}: {}\n{}", ran.status, ran.err);
        last = Some(ran);
    }
    last.expect("it ran")
}

/// Runs and checks a command, and asserts that its output contains the hostile text in escaped form.
fn shows(folder: &Path, args: &[&str]) {
    let ran = check(folder, args);
    assert!(ran.status < REFUSED, "{args:?}: {}", ran.err);
    // JSON has its own escapes.
    let json = args.contains(&"json");
    assert!(ran.out.contains(if json { "\\u202e" } else { "\\u{202e}" }), "{args:?}: {}", ran.out);
}

const FORMS: [&str; 6] = ["text", "json", "junit", "sarif", "github", "markdown"];

#[test]
fn texts_of_a_model_are_only_shown() {
    let folder = scratch("shown-texts");
    file(&folder, "m.race", &model());
    let few = ["--runs", "5", "--trials", "5"];
    for form in FORMS {
        shows(&folder, &[&["confirm", "m.race", "--format", form], few.as_slice()].concat());
    }
    for form in ["text", "json"] {
        shows(&folder, &["run", "m.race", "--strategy", "round-robin", "--format", form, "--no-shrink"]);
    }
    // A diagram has its own escapes for braces.
    let diagram = check(&folder, &["run", "m.race", "--strategy", "round-robin", "--format", "mermaid", "--no-shrink"]);
    assert!(diagram.out.contains("\\u#123;202e#125;"), "{}", diagram.out);
    shows(&folder, &["run", "m.race", "--strategy", "round-robin", "--format", "svg", "--no-shrink"]);
    for command in ["detect", "explore"] {
        shows(&folder, &[command, "m.race"]);
        shows(&folder, &[command, "m.race", "--format", "json"]);
    }
    shows(&folder, &["confirm", "m.race", "--timeline", "--runs", "5", "--trials", "5"]);
    shows(&folder, &["run", "m.race", "--strategy", "round-robin", "--quiet"]);
    file(&folder, "u.race", &model().replace("var x = 0", "var x=0"));
    shows(&folder, &["fmt", "--check", "u.race"]);
    for args in [
        "check m.race",
        "run -vvv m.race",
        "run m.race --state --until 2",
        "run m.race --perfetto p.json -q --trace t.jsonl",
    ] {
        check(&folder, &args.split(' ').collect::<Vec<_>>());
    }
    for args in [
        "test m.race --no-save",
        "test m.race --no-save --format json",
        "trace stat t.jsonl",
        "trace to-model t.jsonl",
        "analyze t.jsonl",
        "analyze t.jsonl --format json",
    ] {
        check(&folder, &args.split(' ').collect::<Vec<_>>());
    }
    let token = check(&folder, &["run", "m.race", "--strategy", "round-robin", "-q", "--no-shrink"])
        .out
        .lines()
        .last()
        .expect("a token")
        .to_owned();
    shows(&folder, &["replay", "m.race", &token]);
    shows(&folder, &["shrink", "m.race", &token]);
    // A line that is not met prints the hostile outcome instead.
    file(&folder, "n.race", &model().replace("expect failure", "expect no failure"));
    shows(&folder, &["test", "n.race", "--no-save"]);
    // Faults that were reported.
    for name in ["newline", "terminal_escape"] {
        let path = format!("{}/tests/data/faults/{name}.race", env!("CARGO_MANIFEST_DIR"));
        for command in ["confirm", "detect", "explore", "run"] {
            let ran = check(&folder, &[command, &path]);
            assert_eq!(ran.status, 1, "{}", ran.err);
        }
    }
}

#[test]
fn what_is_refused_is_only_shown() {
    let folder = scratch("shown-refused");
    file(&folder, "good.race", "var x = 0\nthread a { x = 1 }\nthread b { x = 2 }\n");
    for (i, text) in [
        format!("app \"x\" {HOSTILE}\n"),
        format!("var x = 0 // {HOSTILE}\nthread a {{ y = 1 }} // {HOSTILE}\n"),
        format!("thread a {{ fail \"{HOSTILE}\" ; nope() }}\n"),
        format!("thread a {{ @l from \"{HOSTILE}\" x = }}\n"),
        format!("// {HOSTILE}\n"),
    ]
    .iter()
    .enumerate()
    {
        let name = format!("bad{i}.race");
        file(&folder, &name, text);
        for command in ["check", "run", "confirm", "test", "fmt"] {
            check(&folder, &[command, &name]);
        }
    }
    file(&folder, "rows.jsonl", &format!("{{\"{HOSTILE}\": 1}}\n"));
    file(&folder, "abc.txt", &format!("1 START\n2 {HOSTILE} tid:1\n"));
    file(
        &folder,
        "part.json",
        &format!("{{\"format\":\"{}\",\"version\":1}}", HOSTILE.replace(|c: char| c.is_ascii_control(), "")),
    );
    for args in [
        ["trace", "stat", "rows.jsonl"],
        ["trace", "stat", "abc.txt"],
        ["trace", "convert", "abc.txt"],
        ["merge", "part.json", "part.json"],
        ["replay", "good.race", "@abc.txt"],
        ["confirm", "good.race", "--pairs=abc.txt"],
    ] {
        assert_eq!(check(&folder, &args).status, REFUSED, "{args:?}");
    }
    let typed = HOSTILE;
    for args in [
        &["run", typed][..],
        &["run", "good.race", "-D", typed],
        &["run", "good.race", "-D", &format!("{typed}=1")],
        &["run", "good.race", "--strategy", typed],
        &["run", "good.race", "--only", typed],
        &["run", "good.race", "--mark", typed],
        &["run", "good.race", &format!("--{typed}")],
        &["replay", "good.race", typed],
        &["confirm", "good.race", "--pair", typed],
        &["confirm", "good.race", "--seed", typed],
        &[typed],
    ] {
        assert_eq!(check(&folder, args).status, REFUSED, "{args:?}");
    }
}

#[cfg(unix)]
#[test]
fn names_of_files_are_only_shown() {
    let folder = scratch("shown-names");
    let below = folder.join(NAME);
    std::fs::create_dir_all(&below).expect("any name will do");
    let name = format!("{NAME}/{NAME}.race");
    std::fs::write(folder.join(&name), model()).expect("any name will do");
    let few = ["--runs", "5", "--trials", "5"];
    for form in FORMS {
        check(&folder, &[&["confirm", &name, "--format", form], few.as_slice()].concat());
        check(&folder, &[&["confirm", NAME, "--format", form], few.as_slice()].concat());
    }
    let trace = format!("{NAME}.jsonl");
    let (saved, part) = (format!("--save={NAME}-seeds"), format!("{NAME}.json"));
    for args in [
        &["check", &name][..],
        &["run", &name, "-q", "-v"],
        &["run", &name, "--format", "json"],
        &["run", &name, "-q", "--trace", &trace],
        &["trace", "stat", &trace],
        &["trace", "stat", "--format", "json", &trace],
        &["analyze", &trace],
        &["detect", &name],
        &["explore", &name],
        &["test", &name, &saved],
        &["test", NAME, "--no-save"],
        &["fmt", "--check", &name],
        &["confirm", NAME, "--runs", "5", "--trials", "5", "--out", &part],
        &["merge", &part],
        &["merge", &part, "--format", "markdown"],
        &["new", &format!("{NAME}-new")],
        &["new", &name],
        &["check", &format!("{name}x")],
        &["fmt", &name],
    ] {
        check(&folder, args);
    }
}

/// The place of a second excerpt is a line of raceflip's own: it is no command, and nothing in it is escaped.
#[test]
fn the_place_of_a_note_far_away_is_no_command() {
    let text = format!("var x = 0\n{}thread t {{ let x = 1 }}\n", "\n".repeat(20));
    let path = file(&scratch("far"), "m.race", &text);
    for colour in ["never", "always"] {
        let ran = ran(raceflip().args(["check", &path, "--color", colour]).output().expect("it runs"));
        assert_eq!(ran.err.matches("-->").count(), 2, "{}", ran.err);
        assert!(!ran.err.contains(":::") && !ran.err.contains("u{3a}"), "{}", ran.err);
    }
}
