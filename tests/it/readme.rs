//! Tests that run every command of the README and of the manual and compare its output to the letter.
//! `BLESS=1 cargo test --test it readme` rewrites the outputs.
//!
//! A token in a command must be one that an earlier command of the page printed. If that command now prints another
//! token, blessing updates the command as well. In a new command, `TOKEN:k` stands for the k-th token, counted from 0,
//! of the last command that printed any.

use crate::cli::scratch;
use crate::support::read;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

fn arguments(command: &str) -> Option<Vec<&str>> {
    let rest = command.strip_prefix("raceflip ").or_else(|| command.strip_prefix("cargo run --release -- "))?;
    Some(rest.split_whitespace().collect())
}

/// The output of a command in the page (`then`), and its output now (`now`).
#[derive(Default)]
struct Printed {
    then: String,
    now: String,
}

fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().filter(|word| word.starts_with("rf1-"))
}

/// Returns the command with each token replaced by the one that the earlier command prints now.
fn renewed(command: &str, printed: &[Printed]) -> String {
    tokens(command).fold(command.to_owned(), |renewed, token| {
        let mut places = printed.iter().rev().flat_map(|p| tokens(&p.then).zip(tokens(&p.now)));
        let now = places.find(|(then, _)| *then == token).map(|(_, now)| now);
        let now = now.unwrap_or_else(|| panic!("no command before it prints the token, write TOKEN:k: {command}"));
        renewed.replace(token, now)
    })
}

/// Returns the command with `TOKEN:k` replaced by that token of the last command that printed any.
fn with_tokens(command: &str, printed: &[Printed]) -> String {
    let Some((before, rest)) = command.split_once("TOKEN:") else { return command.to_owned() };
    let (k, after) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
    let k: usize = k.parse().expect("TOKEN:k");
    let last = printed.iter().rev().find(|p| tokens(&p.now).next().is_some());
    let token = last.and_then(|p| tokens(&p.now).nth(k)).unwrap_or_else(|| panic!("no such token: {command}"));
    format!("{before}{token}{after}")
}

/// Runs the commands of a page in a folder. Returns the page with the outputs of now, and the number of commands.
fn rerun(page: &str, folder: &Path) -> (String, usize) {
    let (mut out, mut ran) = (String::new(), 0);
    let (mut status, mut printed) = (None, Vec::<Printed>::new());
    let mut in_console = false;
    for line in page.lines() {
        if let Some(command) = line.strip_prefix("$ ").filter(|_| in_console) {
            let command = with_tokens(&renewed(command, &printed), &printed);
            printed.push(Printed::default());
            writeln!(out, "$ {command}").expect("a string takes all");
            if command == "echo $?" {
                writeln!(out, "{}", status.expect("a command before it")).expect("a string takes all");
                continue;
            }
            // `cargo test` is not run, because this is one of its tests. The output of a `cargo run` command is not
            // compared, because the page omits it (a build comes before it).
            let Some(arguments) = arguments(&command) else {
                assert_eq!(command, "cargo test", "an unknown command");
                continue;
            };
            let done = Command::new(env!("CARGO_BIN_EXE_raceflip"))
                .args(&arguments)
                .current_dir(folder)
                .output()
                .expect("it runs");
            ran += 1;
            status = done.status.code();
            let told = String::from_utf8_lossy(&done.stderr);
            assert!(matches!(status, Some(0 | 1)) && !told.contains("warning"), "{command}: {status:?}\n{told}");
            if command.starts_with("raceflip ") {
                let text = String::from_utf8(done.stdout).expect("UTF-8");
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

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the README and the pages of the manual.
fn pages() -> Vec<String> {
    let pages = std::fs::read_dir(root().join("docs")).expect("the manual");
    let names = pages.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"));
    let mut pages: Vec<String> =
        names.filter(|name| name.ends_with(".md")).map(|name| format!("docs/{name}")).collect();
    pages.push("README.md".to_owned());
    pages.sort();
    pages
}

#[test]
fn readme_and_manual_commands_print_what_they_say() {
    let mut commands = 0;
    for name in pages() {
        let page = read(&name);
        // A page whose first command creates a model is run in an empty folder.
        let anew =
            page.lines().find(|line| line.starts_with("$ ")).is_some_and(|line| line.starts_with("$ raceflip new"));
        let folder = if anew { scratch("manual") } else { root().to_owned() };
        let (now, ran) = rerun(&page, &folder);
        commands += ran;
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(root().join(&name), &now).expect("a writable tree");
            continue;
        }
        for (now, then) in now.lines().zip(page.lines()) {
            assert_eq!(now, then, "{name}");
        }
        assert_eq!(now, page, "{name}");
    }
    assert!(commands >= 20, "{commands} commands");
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

#[test]
fn a_placeholder_is_a_token_of_the_last_command_that_printed_any() {
    let printed = |now: &str| Printed { then: String::new(), now: now.to_owned() };
    let before = [printed("x rf1-a\ny rf1-b"), printed("nothing")];
    assert_eq!(with_tokens("raceflip replay m TOKEN:1 --quiet", &before), "raceflip replay m rf1-b --quiet");
    assert_eq!(with_tokens("raceflip replay m rf1-z", &before), "raceflip replay m rf1-z");
    assert!(std::panic::catch_unwind(|| with_tokens("raceflip replay m TOKEN:2", &before)).is_err(), "there are two");
}

/// The first two commands of the README set up the project, and CI runs the second one.
#[test]
fn readme_sets_up_with_two_commands() {
    let readme = read("README.md");
    let commands: Vec<&str> = readme.lines().filter_map(|l| l.strip_prefix("$ ")).take(2).collect();
    assert_eq!(commands, ["cargo run --release -- confirm harnesses/bugs/connectbot_menu.race", "cargo test"]);
    assert!(read(".ci/run").lines().any(|l| l.contains("cargo test --locked") && !l.contains("--test it")));
    assert!(readme.lines().count() <= 200, "people finish a short README; the rest belongs to the manual");
}

// Returns the first model of a page.
fn model(page: &str) -> String {
    let page = read(page);
    page.split("```race\n").nth(1).and_then(|t| t.split("```").next()).expect("a model").to_owned()
}

/// The model of the README is correct and has the expectations and threads that the README describes.
#[test]
fn readme_model_checks() {
    let model = crate::load::load_bytes("README.md", model("README.md").as_bytes(), &[]);
    assert_eq!(model.program.expectations.len(), 1);
    assert_eq!(model.code.setup.threads.len(), 3);
}

#[test]
fn the_model_of_the_tutorial_is_the_one_that_new_writes() {
    assert_eq!(model("docs/tutorial.md"), read("src/cli/models/skeleton.race").replace("NAME", "login"));
}

/// Returns the anchor of a heading in links, by the rules of GitHub and mdBook.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Returns the lines of a page outside code blocks, without inline code.
fn prose(page: &str) -> Vec<String> {
    let mut code = false;
    let lines = page.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    });
    lines.map(|line| line.split('`').step_by(2).collect::<Vec<_>>().join("")).collect()
}

/// Returns the targets of the links of a page.
fn links(page: &str) -> Vec<String> {
    let prose = prose(page);
    let targets = prose.iter().flat_map(|line| line.split("](").skip(1).filter_map(|rest| rest.split_once(')')));
    targets.map(|(target, _)| target.to_owned()).collect()
}

fn anchors(page: &str) -> BTreeSet<String> {
    let mut code = false;
    let lines = page.lines().filter(|line| {
        code ^= line.starts_with("```");
        !code && line.starts_with('#')
    });
    lines.map(|line| anchor(line.trim_start_matches('#'))).collect()
}

#[test]
fn links_lead_somewhere() {
    let mut wrong = String::new();
    let results = std::fs::read_dir(root().join("docs/results")).expect("results");
    let results = results.map(|e| format!("docs/results/{}", e.expect("an entry").file_name().to_string_lossy()));
    for name in pages().into_iter().chain(results.filter(|name| name.ends_with(".md"))) {
        let page = read(&name);
        for target in links(&page).iter().filter(|target| !target.starts_with("http")) {
            let (path, fragment) = target.split_once('#').unwrap_or((target, ""));
            let file = match path {
                "" => root().join(&name),
                path => PathBuf::from(root().join(&name).parent().expect("a folder")).join(path),
            };
            let there = file.exists()
                && (fragment.is_empty()
                    || std::fs::read_to_string(&file).is_ok_and(|text| anchors(&text).contains(fragment)));
            if !there {
                writeln!(wrong, "{name}: {target}").expect("a string takes all");
            }
        }
    }
    assert!(wrong.is_empty(), "links that lead nowhere:\n{wrong}");
}

/// The summary of the manual, which gives its order, contains every page.
#[test]
fn every_page_is_in_the_summary() {
    let listed = links(&read("docs/SUMMARY.md"));
    let summary: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(summary.len(), listed.len(), "a page is listed twice");
    let mut pages: BTreeSet<String> =
        pages().iter().filter_map(|p| p.strip_prefix("docs/")).map(str::to_owned).collect();
    pages.remove("SUMMARY.md");
    let results = std::fs::read_dir(root().join("docs/results")).expect("results");
    let results = results.map(|e| format!("results/{}", e.expect("an entry").file_name().to_string_lossy()));
    pages.extend(results.filter(|name| name.ends_with(".md")));
    assert_eq!(summary, pages);
}

/// The summary has only what mdBook accepts: titles of parts, and links to pages, of which the first comes before the
/// parts. The book takes its pages from beside its summary.
#[test]
fn the_summary_is_one_of_mdbook() {
    let summary = read("docs/SUMMARY.md");
    let mut parts = 0;
    for line in summary.lines().filter(|line| !line.is_empty()) {
        let link = |text: &str| text.starts_with('[') && text.ends_with(".md)") && links(text).len() == 1;
        let title = line.starts_with("# ");
        parts += usize::from(title);
        let chapter = if parts > 1 { line.strip_prefix("- ").is_some_and(link) } else { link(line) };
        assert!(title || chapter, "{line}");
    }
    assert!(parts > 1, "{summary}");
    let book: toml::Table = read("docs/book.toml").parse().expect("TOML");
    assert_eq!(book["book"]["src"].as_str(), Some("."));
}

/// The second heading of one text would have another anchor than its text.
#[test]
fn headings_of_a_page_that_is_linked_to_are_distinct() {
    for name in pages() {
        let page = read(&name);
        let mut code = false;
        let headings = page.lines().filter(|line| {
            code ^= line.starts_with("```");
            !code && line.starts_with('#')
        });
        assert_eq!(headings.count(), anchors(&page).len(), "{name}: two headings have one anchor");
    }
}

#[test]
fn links_with_a_wrong_anchor_are_seen() {
    let page = "# One\n\n[a](#two) `[b](#three)`\n```\n# Two\n[c](x.md)\n```\n![d](e.svg)\n";
    assert_eq!(links(page), ["#two", "e.svg"]);
    assert!(!anchors(page).contains("two") && anchors(page).contains("one"));
}
