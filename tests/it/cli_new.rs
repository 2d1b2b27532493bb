//! Tests of `raceflip new`, `raceflip completions` and `raceflip man`.

use crate::cli::{FOUND, REFUSED, call, scratch};
use std::fs;
use std::process::Command;

#[test]
fn a_new_model_has_what_it_says() {
    let folder = scratch("new");
    let path = folder.join("log in.race").display().to_string();
    let run = call(&["new", &folder.join("log in").display().to_string()]);
    let next = format!("{path}: a model with a race; next: raceflip confirm '{path}'\n");
    assert_eq!((run.status, run.out, run.err.as_str()), (0, next, ""));
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("\napp \"log in\"\n"), "{text}");
    assert_eq!(call(&["check", &path]).status, 0);
    assert_eq!(call(&["fmt", "--check", &path]).out, "");
    assert!(matches!(call(&["run", &path, "--quiet"]).status, 0 | FOUND));
    let confirmed = call(&["confirm", &path]);
    assert_eq!(confirmed.status, FOUND);
    assert!(confirmed.out.contains("HARMFUL  session  ") && confirmed.out.contains("it hurts"), "{}", confirmed.out);
    let tested = call(&["test", &path, "--no-save"]);
    assert_eq!(tested.status, 0, "{}", tested.out);
    assert!(tested.out.contains("2 variants: 2 passed"), "{}", tested.out);
}

#[test]
fn nothing_is_overwritten() {
    let folder = scratch("new-twice");
    let path = folder.join("a.race").display().to_string();
    fs::write(&path, "mine").unwrap();
    let refuse = |path: &str, says: &str| {
        let run = call(&["new", path]);
        assert_eq!((run.status, run.out.as_str()), (REFUSED, ""), "{path}");
        assert!(run.err.contains(says), "{path}: {}", run.err);
    };
    refuse(&path, "it already exists; give another name, or delete it first");
    refuse(&folder.join("a").display().to_string(), "a.race`: it already exists");
    refuse(&folder.join("none/b").display().to_string(), "there is no such directory");
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    // The title of this model needs escapes in a string of the language.
    let odd = folder.join("a \"b\\c.race").display().to_string();
    assert_eq!(call(&["new", &odd]).status, 0);
    assert_eq!(call(&["check", &odd]).status, 0);
}

#[test]
fn shells_complete_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let run = call(&["completions", shell]);
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{shell}");
        for word in commands().iter().map(String::as_str).chain(["strategy", "virtual-time"]) {
            assert!(run.out.contains(word), "{shell}: no {word}");
        }
    }
    assert_eq!(call(&["completions", "cmd"]).status, REFUSED);
    // Bash is the one shell that every machine with these tests has.
    let folder = scratch("completions");
    let script = folder.join("raceflip.bash");
    fs::write(&script, call(&["completions", "bash"]).out).unwrap();
    if let Ok(done) = Command::new("bash").arg("-c").arg(complete(&script.display().to_string())).output() {
        assert_eq!(
            String::from_utf8_lossy(&done.stdout).trim(),
            "confirm",
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
    }
}

#[test]
fn every_command_has_a_page() {
    let page = |command: &[&str]| {
        let run = call(&[&["man"], command].concat());
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{command:?}");
        run.out
    };
    assert!(page(&[]).contains(".TH raceflip 1") && page(&[]).contains("raceflip\\-confirm(1)"), "{}", page(&[]));
    for command in commands() {
        let page = page(&[&command]);
        assert!(
            page.contains(&format!(".TH raceflip-{command} 1  \"raceflip {}\"", env!("CARGO_PKG_VERSION")))
                && page.contains("Examples:"),
            "{page}"
        );
    }
    let unknown = call(&["man", "fly"]);
    assert_eq!(unknown.status, REFUSED);
    assert!(unknown.err.contains("there is no command `fly`"), "{}", unknown.err);
}

/// Returns the commands that the help lists, except `help` itself.
fn commands() -> Vec<String> {
    let help = call(&["--help"]).out;
    let list = help.lines().skip_while(|l| *l != "Commands:").skip(1).take_while(|l| !l.is_empty());
    let all: Vec<String> = list.filter_map(|l| l.split_whitespace().next()).map(str::to_owned).collect();
    assert!(all.iter().any(|c| c == "confirm") && all.iter().any(|c| c == "completions"), "{help}");
    all.into_iter().filter(|c| c != "help").collect()
}

/// Returns a shell command that prints the completions of `raceflip conf<TAB>` after it has loaded the script.
fn complete(script: &str) -> String {
    format!(
        "source '{script}'; COMP_WORDS=(raceflip conf); COMP_CWORD=1; _raceflip raceflip conf raceflip; echo ${{COMPREPLY[@]}}"
    )
}
