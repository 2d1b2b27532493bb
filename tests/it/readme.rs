//! Every command of the README is run, and its output compared to the letter. `BLESS=1 cargo test readme` writes the outputs anew.
//!
//! A token in a command must be one that an earlier command printed; if that prints another one now, the command is blessed along.
//! In a new command that is blessed, `TOKEN:k` and `SEED:k` stand for the k-th token and seed that the last `confirm` printed.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

fn arguments(command: &str) -> Option<Vec<&str>> {
    let rest = command.strip_prefix("raceflip ").or_else(|| command.strip_prefix("cargo run --release -- "))?;
    Some(rest.split_whitespace().collect())
}

/// What a command printed when the README was written, and what it prints now.
#[derive(Default)]
struct Printed {
    then: String,
    now: String,
}

fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().filter(|word| word.starts_with("rf1-"))
}

/// The command with the tokens that earlier commands print now in the places of those that it was written with.
fn renewed(command: &str, printed: &[Printed]) -> String {
    tokens(command).fold(command.to_owned(), |renewed, token| {
        let mut places = printed.iter().rev().flat_map(|p| tokens(&p.then).zip(tokens(&p.now)));
        let now = places.find(|(then, _)| *then == token).map(|(_, now)| now);
        let now = now.unwrap_or_else(|| panic!("no command before it prints the token, write TOKEN:k: {command}"));
        renewed.replace(token, now)
    })
}

/// The README with all outputs as they are now, and how many commands were run.
fn rerun(readme: &str) -> (String, usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut out, mut ran) = (String::new(), 0);
    let (mut status, mut confirmed, mut printed) = (None, String::new(), Vec::<Printed>::new());
    let mut in_console = false;
    for line in readme.lines() {
        if let Some(command) = line.strip_prefix("$ ").filter(|_| in_console) {
            let nth = |word: &str, what: &str| -> Option<String> {
                let k: usize = command.split_once(&format!("{word}:"))?.1.split_whitespace().next()?.parse().ok()?;
                let found = confirmed.split(|c: char| c.is_whitespace() || c == ')');
                let after = |text: &str| text.starts_with("rf1-");
                match what {
                    "token" => found.filter(|t| after(t)).nth(k).map(str::to_owned),
                    _ => confirmed.split("seed ").skip(1).nth(k).map(|t| t.split(')').next().unwrap_or("").to_owned()),
                }
            };
            let mut command = renewed(command, &printed);
            printed.push(Printed::default());
            for (word, what) in [("TOKEN", "token"), ("SEED", "seed")] {
                if let Some(value) = nth(word, what) {
                    let from = command.find(&format!("{word}:")).expect("it was found");
                    let to = command[from..].find(' ').map_or(command.len(), |n| from + n);
                    command.replace_range(from..to, &value);
                }
            }
            writeln!(out, "$ {command}").expect("a string takes all");
            if command == "echo $?" {
                writeln!(out, "{}", status.expect("a command before it")).expect("a string takes all");
                continue;
            }
            // The tests are what runs this; and the first command is shown without its output, which a build comes before.
            let Some(arguments) = arguments(&command) else {
                assert_eq!(command, "cargo test", "an unknown command");
                continue;
            };
            let done = Command::new(env!("CARGO_BIN_EXE_raceflip"))
                .args(&arguments)
                .current_dir(root)
                .output()
                .expect("it runs");
            ran += 1;
            status = done.status.code();
            let told = String::from_utf8_lossy(&done.stderr);
            assert!(matches!(status, Some(0 | 1)) && !told.contains("warning"), "{command}: {status:?}\n{told}");
            if command.starts_with("raceflip ") {
                let text = String::from_utf8(done.stdout).expect("UTF-8");
                if arguments[0] == "confirm" {
                    confirmed.clone_from(&text);
                }
                out.push_str(&text);
                printed.last_mut().expect("this command").now = text;
            }
            continue;
        }
        if line.starts_with("```") {
            in_console = line == "```console";
        } else if in_console {
            let then = &mut printed.last_mut().expect("a command comes first").then;
            then.extend([line, "\n"]);
            continue;
        }
        writeln!(out, "{line}").expect("a string takes all");
    }
    (out, ran)
}

#[test]
fn readme_commands_print_what_it_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(&path).expect("the README");
    let (now, ran) = rerun(&readme);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &now).expect("a writable tree");
        return;
    }
    for (now, then) in now.lines().zip(readme.lines()) {
        assert_eq!(now, then);
    }
    assert_eq!(now, readme);
    assert!(ran >= 6, "{ran} commands");
}

#[test]
fn tokens_in_commands_are_renewed() {
    let printed = |then: &str, now: &str| Printed { then: then.to_owned(), now: now.to_owned() };
    let before = [printed("replay m rf1-a\nreplay m rf1-b\n", "replay m rf1-c\nreplay m rf1-a\n"), printed("0\n", "")];
    assert_eq!(renewed("raceflip replay m rf1-a -q", &before), "raceflip replay m rf1-c -q");
    assert_eq!(renewed("raceflip replay m rf1-b", &before), "raceflip replay m rf1-a");
    assert_eq!(renewed("raceflip run m TOKEN:0", &before), "raceflip run m TOKEN:0");
    assert!(std::panic::catch_unwind(|| renewed("raceflip replay m rf1-c", &before)).is_err(), "nothing printed it");
}

/// The two set-up commands are the first ones, and CI runs the second.
#[test]
fn readme_sets_up_with_two_commands() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).expect("the README");
    let commands: Vec<&str> = readme.lines().filter_map(|l| l.strip_prefix("$ ")).take(2).collect();
    assert_eq!(commands, ["cargo run --release -- confirm harnesses/bugs/connectbot_menu.race", "cargo test"]);
    let ci = std::fs::read_to_string(root.join(".ci/run")).expect("the script");
    assert!(ci.lines().any(|l| l.contains("cargo test --locked") && !l.contains("--test it")));
}

/// The model of the README is right, and what it says of it is found.
#[test]
fn readme_model_checks() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).expect("the README");
    let model = readme.split("```race\n").nth(1).and_then(|t| t.split("```").next()).expect("a model");
    let model = crate::load::load_bytes("README.md", model.as_bytes(), &[]);
    assert_eq!(model.program.expectations.len(), 1);
    assert_eq!(model.code.setup.threads.len(), 3);
}
