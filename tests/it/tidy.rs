//! Checks the rules of `docs/architecture.md` on the source: the order of the modules, the purity of the core, and the
//! size and first line of files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The modules from bottom to top. A module may use only those before it.
const ORDER: [&str; 17] = [
    "base", "event", "world", "trace", "lang", "vm", "sched", "exec", "detect", "statics", "explore", "token",
    "shrink", "campaign", "native", "formats", "cli",
];

/// Modules that may not use each other, in either direction.
const STRANGERS: [&str; 3] = ["detect", "sched", "vm"];

/// Maximum number of lines of a file.
const LONGEST: usize = 450;

/// Files that may be longer, each with the reason.
const LONGER: [(&str, &str); 7] = [
    ("src/lang/ast.rs", "a table: one type for each form of the grammar"),
    ("src/lang/program.rs", "a table: one type for each form of a checked program"),
    ("src/lang/foreign/table.rs", "a table: one row for words of other languages that mean the same"),
    ("src/vm/instr.rs", "a table: one variant for each instruction"),
    ("src/world/effects.rs", "a table: one row for each operation"),
    ("tests/it/lang_check.rs", "a table: one row for each refusal"),
    ("tests/it/lang_roundtrip.rs", "a table: one generator for each form of the grammar"),
];

/// Words that may occur only in `cli`, each with the reason.
const ONLY_IN_CLI: [(&str, &str); 9] = [
    ("SystemTime", "a run does not depend on the time of day"),
    ("Instant::now", "a run does not depend on how long it takes"),
    ("std::env", "a run does not depend on the environment"),
    ("std::fs", "files are read and written by the command line"),
    ("println!", "the core does not print"),
    ("eprintln!", "the core does not print"),
    ("HashMap", "its order is not fixed, and may reach an output"),
    ("HashSet", "its order is not fixed, and may reach an output"),
    ("thread_rng", "chance comes from the seed alone"),
];

/// Words that may not occur anywhere, each with the reason.
const NOWHERE: [(&str, &str); 4] = [
    ("unsafe ", "safe Rust is fast enough"),
    ("todo!", "unfinished"),
    ("unimplemented!", "unfinished"),
    ("dbg!", "left over"),
];

/// Returns every Rust file below a folder: its path from the top of the repository, with `/`, and its text.
pub(crate) fn rust_files(folder: &str) -> BTreeMap<String, String> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = BTreeMap::new();
    let mut open: Vec<PathBuf> = vec![top.join(folder)];
    while let Some(path) = open.pop() {
        // Packages below `tests` are built there, with generated files.
        if path.ends_with("target") {
            continue;
        }
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|e| e == "rs") {
            let parts: Vec<_> = path.strip_prefix(top).unwrap().iter().map(|p| p.to_string_lossy()).collect();
            files.insert(parts.join("/"), fs::read_to_string(&path).unwrap());
        }
    }
    files
}

/// Returns the module that a file of `src` belongs to; `None` for the roots of the crates.
fn module(path: &str) -> Option<&str> {
    let inside = path.strip_prefix("src/")?;
    let name = inside.split('/').next()?.trim_end_matches(".rs");
    (!matches!(name, "lib" | "main")).then_some(name)
}

/// Returns the modules that a text names after `crate::`, also in a group such as `use crate::{base::X, event}`, each
/// with its line.
fn used(text: &str) -> Vec<(usize, String)> {
    named(text, "crate::")
}

/// Returns the names that follow a path in the code of a text, also in a group, each with its line.
fn named(text: &str, path: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let code: Vec<&str> = text.lines().map(code).collect();
    let text = code.join("\n");
    for (at, _) in text.match_indices(path) {
        let line = text[..at].matches('\n').count() + 1;
        let rest = &text[at + path.len()..];
        let names: Vec<&str> = match rest.strip_prefix('{') {
            Some(group) => top_level(group),
            None => vec![rest],
        };
        for name in names {
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
            // Macros live at the root of the crate, not in a module.
            if !name[end..].starts_with('!') {
                found.push((line, name[..end].to_owned()));
            }
        }
    }
    found
}

/// Splits `a::{x, y}, b}` at its top-level commas, up to the brace that closes the group.
fn top_level(group: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                parts.push(group[start..at].trim());
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(group[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.retain(|p| !p.is_empty());
    parts
}

#[test]
fn modules_use_only_those_below_them() {
    let mut wrong = Vec::new();
    for (path, text) in rust_files("src") {
        let Some(user) = module(&path) else { continue };
        let Some(height) = ORDER.iter().position(|m| *m == user) else {
            wrong.push(format!("{path}: the module `{user}` has no place in the order"));
            continue;
        };
        for (line, name) in used(&text) {
            let at = format!("{path}:{line}");
            match ORDER.iter().position(|m| *m == name) {
                None => wrong.push(format!("{at}: `crate::{name}` has no place in the order")),
                Some(other) if other > height => wrong.push(format!("{at}: `{user}` uses `{name}`, which is above it")),
                Some(_) if user != name && STRANGERS.contains(&user) && STRANGERS.contains(&&*name) => {
                    wrong.push(format!("{at}: `{user}` and `{name}` do not know each other"));
                }
                Some(_) => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Modules with rooms: each module with its rooms from the lowest one, and an exported name with the room it is in. A
/// room may use only those before it.
const ROOMS: [(&str, &[&str], (&str, &str)); 3] = [
    (
        "campaign",
        &[
            "plan",
            "run",
            "order",
            "verdict",
            "report",
            "ring",
            "runs",
            "fuzz",
            "violation",
            "find",
            "drive",
            "judge",
            "cause",
            "finding",
            "confirmation",
            "confirm",
            "expect",
        ],
        ("CampaignPlan", "plan"),
    ),
    ("detect", &["detector_id", "relation", "pairs", "atomicity", "traces", "detectors", "hybrid"], ("Rank", "pairs")),
    (
        "cli",
        &["io", "args", "run", "models", "confirm", "explore", "fuzz", "test", "trace", "watch", "lsp", "command"],
        ("Output", "io"),
    ),
];

/// Returns the rooms of the names that a module exports.
fn exports(module: &str) -> BTreeMap<String, String> {
    let text = crate::support::read(&format!("src/{module}/mod.rs"));
    let uses = text.split(';').filter_map(|item| item.split_once(" use ").or(item.split_once("\nuse ")));
    let mut rooms = BTreeMap::new();
    for (_, path) in uses {
        let room = path.split("::").next().expect("a first name").trim();
        for name in path.split(|c: char| !c.is_alphanumeric() && c != '_').skip(1).filter(|name| !name.is_empty()) {
            rooms.insert(name.to_owned(), room.to_owned());
        }
    }
    rooms
}

#[test]
fn rooms_use_only_those_below_them() {
    for (module, rooms, (name, room)) in ROOMS {
        let exports = exports(module);
        assert_eq!(exports[name], room, "{module}");
        let (wrong, uses) = wrong_rooms(module, rooms, &exports);
        assert!(wrong.is_empty() && uses > 50, "{module}, {uses} uses: {}", wrong.join("\n"));
    }
}

/// Returns which uses between the rooms of a module are wrong, and how many uses there are.
fn wrong_rooms(module: &str, rooms: &[&str], exports: &BTreeMap<String, String>) -> (Vec<String>, u32) {
    let (mut wrong, mut uses) = (Vec::new(), 0);
    let own = defined(&crate::support::read(&format!("src/{module}/mod.rs")));
    let folder = format!("src/{module}");
    for (path, text) in rust_files(&folder) {
        let inside = &path[folder.len() + 1..];
        let room = inside.split('/').next().expect("a room").trim_end_matches(".rs");
        if matches!(room, "mod" | "tests") {
            continue;
        }
        let height = rooms.iter().position(|r| *r == room);
        let Some(height) = height else {
            wrong.push(format!("{path}: the room `{room}` has no place in the order"));
            continue;
        };
        for (line, name) in named(&text, &format!("crate::{module}::")) {
            // A room and an exported function may have the same name.
            let is_room = rooms.contains(&&*name);
            let other = if is_room { &name } else { exports.get(&name).unwrap_or(&name) };
            uses += 1;
            match rooms.iter().position(|r| r == other) {
                None if own.contains(other) => {}
                None => wrong.push(format!("{path}:{line}: `crate::{module}::{name}` has no place in the order")),
                Some(other) if other > height => wrong.push(format!("{path}:{line}: `{name}` is above `{room}`")),
                Some(_) => {}
            }
        }
        if inside.matches('/').count() < 2 && leaves_its_room(&text, inside) {
            wrong.push(format!("{path}: a room names the others by `crate::{module}::`, so that this test sees them"));
        }
    }
    (wrong, uses)
}

/// Returns the names of the types that a file defines at its top level, for the modules that hold a few themselves.
fn defined(text: &str) -> Vec<String> {
    let names = text.lines().filter_map(|line| {
        let item = line.strip_prefix("pub ").unwrap_or(line);
        let rest = item.strip_prefix("struct ").or_else(|| item.strip_prefix("enum "))?;
        Some(rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?.to_owned())
    });
    names.collect()
}

/// Returns whether a file names with `super` something outside its room. `inside` is its path below the module.
fn leaves_its_room(text: &str, inside: &str) -> bool {
    let is_top = !inside.contains('/') || inside.ends_with("/mod.rs");
    let leaving = if is_top { "use super::" } else { "use super::super::" };
    text.lines().any(|line| line.starts_with(leaving))
}

/// Maximum number of public fields of a type of `campaign`. A reader can keep about so many in mind; more are grouped
/// by matter.
const MOST_FIELDS: usize = 8;

/// Returns the structs of a text, each with its line and the number of its public fields.
fn public_fields(text: &str) -> Vec<(usize, String, usize)> {
    let mut found: Vec<(usize, String, usize)> = Vec::new();
    let mut is_inside = false;
    for (number, line) in (1..).zip(text.lines().map(code)) {
        if let Some((_, rest)) = line.split_once("struct ") {
            is_inside = line.ends_with('{');
            let name = rest.split(|c: char| !c.is_alphanumeric()).next().expect("split has a first part");
            if is_inside {
                found.push((number, name.to_owned(), 0));
            }
        } else if line.trim() == "}" {
            is_inside = false;
        } else if is_inside && line.trim_start().starts_with("pub ") {
            found.last_mut().expect("a struct is open").2 += 1;
        }
    }
    found
}

#[test]
fn types_of_a_campaign_have_few_public_fields() {
    let text = "pub struct A {\n    /// struct B {\n    pub a: u32,\n    b: u32,\n    pub c: u32,\n}\nstruct C<P> {\n    pub d: P,\n}\n";
    assert_eq!(public_fields(text), [(1, "A".to_owned(), 2), (7, "C".to_owned(), 1)]);
    let (mut wrong, mut structs) = (Vec::new(), 0);
    for (path, text) in rust_files("src/campaign") {
        for (line, name, fields) in public_fields(&text) {
            structs += 1;
            if fields > MOST_FIELDS {
                wrong.push(format!("{path}:{line}: `{name}` has {fields} public fields; group them by matter"));
            }
        }
    }
    assert!(wrong.is_empty() && structs > 50, "{structs}: {}", wrong.join("\n"));
}

#[test]
fn the_finder_of_uses_finds_them() {
    let text = "use crate::base::Id; // crate::cli\nuse crate::{event, vm::{Code, Vm}};\ncrate::define_id! { X }\nlet x = crate::lang::near();";
    let names: Vec<(usize, String)> = used(text);
    let expected = [(1, "base"), (2, "event"), (2, "vm"), (4, "lang")].map(|(line, name)| (line, name.to_owned()));
    assert_eq!(names, expected);
}

#[test]
fn files_have_a_head_and_an_end() {
    let mut wrong = Vec::new();
    for (path, text) in rust_files("src").into_iter().chain(rust_files("tests")).chain(rust_files("benches")) {
        if !text.starts_with("//! ") {
            wrong.push(format!("{path}: the first line says with `//!` what the file is for"));
        }
        let lines = text.lines().count();
        if lines > LONGEST && !LONGER.iter().any(|(longer, _)| *longer == path) {
            wrong.push(format!("{path}: {lines} lines; more than {LONGEST} need a reason"));
        }
    }
    for (path, reason) in LONGER {
        let lines = crate::support::read(path).lines().count();
        assert!(lines > LONGEST, "{path} has only {lines} lines: it needs no reason ({reason})");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_core_is_pure() {
    let mut wrong: Vec<String> = Vec::new();
    for (path, text) in rust_files("src") {
        // Coroutines are unsafe, a variable or a file says what to replay, and the clock is virtual.
        let native = ["unsafe ", "std::env", "std::fs", "Instant::now", "HashMap", "HashSet"];
        let may = |word: &str| module(&path) == Some("native") && native.contains(&word);
        let forbidden = ONLY_IN_CLI.iter().filter(|_| !matches!(module(&path), Some("cli") | None)).chain(&NOWHERE);
        for (word, reason) in forbidden.filter(|(word, _)| !may(word)) {
            for (line, _) in (1..).zip(text.lines()).filter(|(_, line)| contains(line, word)) {
                wrong.push(format!("{path}:{line}: `{}`: {reason}", word.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A kind of components is text. Rust code treats all of them alike, so it names none. The logs of a published tool
/// have words of their own, which its reader knows.
#[test]
fn no_code_names_a_kind() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lang/library");
    let mut kinds = Vec::new();
    for file in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        let declared = text.lines().filter_map(|line| line.strip_prefix("kind ")?.split_whitespace().next());
        kinds.extend(declared.map(|kind| format!("\"{kind}\"")));
    }
    assert!(kinds.len() >= 5, "{kinds:?}");
    let mut wrong = Vec::new();
    for (path, text) in rust_files("src").iter().filter(|(path, _)| !path.starts_with("src/formats/traces/")) {
        for (line, text) in (1..).zip(text.lines()).map(|(line, text)| (line, code(text))) {
            let named = kinds.iter().filter(|kind| text.contains(kind.as_str()));
            wrong.extend(named.map(|kind| format!("{path}:{line}: {kind}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Calls that print text, each with the files that may use it. All other printed text may come from a user, so it is
/// escaped in `cli::output`.
const DOORS: [(&str, &[&str]); 8] = [
    ("stdout()", &["src/cli/io/output.rs"]),
    ("stderr()", &["src/cli/io/output.rs"]),
    ("println!", &[]),
    ("eprintln!", &[]),
    // Files that are written unescaped: a formatted model, a trace, a corpus, a manual page, a shell script.
    (
        "out.file(",
        &[
            "src/cli/models/check.rs",
            "src/cli/command/completions.rs",
            "src/cli/models/fmt.rs",
            "src/cli/command/man.rs",
            "src/cli/trace/convert.rs",
            "src/cli/trace/to_model.rs",
            "src/cli/confirm/merge.rs",
        ],
    ),
    // Documents whose renderers escape what the formats require.
    ("out.document(", &["src/cli/io/reports.rs", "src/cli/run/timeline.rs"]),
    ("out.commands(", &["src/cli/io/reports.rs"]),
    (
        "Refusal::Rendered",
        &[
            "src/cli/models/fmt.rs",
            "src/cli/explore/symmetry.rs",
            "src/cli/io/load.rs",
            "src/cli/mod.rs",
            "src/cli/io/output.rs",
            "src/cli/models/suite.rs",
        ],
    ),
];

/// Exceptions to [`DOORS`]: queries about the streams, which print nothing, and progress bars, whose words are cleaned
/// by [`base::clean`](raceflip::base::clean).
const ASKS: [&str; 2] = ["is_terminal()", "ProgressDrawTarget::stderr()"];

#[test]
fn texts_go_out_through_one_door() {
    let mut wrong = Vec::new();
    let mut used = vec![false; DOORS.len()];
    for (path, text) in rust_files("src") {
        for (i, line) in text.lines().enumerate() {
            let line = code(line);
            for (door, (word, may)) in DOORS.iter().enumerate() {
                let found =
                    if word.contains("::") || word.contains('.') { line.contains(word) } else { contains(line, word) };
                if !found || ASKS.iter().any(|ask| line.contains(ask)) {
                    continue;
                }
                used[door] = true;
                if !may.contains(&path.as_str()) {
                    wrong.push(format!("{path}:{}: `{word}`: print with `writeln!` to `cli::output::Output`", i + 1));
                }
            }
            // A line that is printed without its end could be continued by text that was not escaped.
            if path.starts_with("src/cli/") && path != "src/cli/io/output.rs" && contains(line, "write!(out") {
                wrong.push(format!("{path}:{}: a line is printed with one `writeln!`", i + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for ((word, may), used) in DOORS.iter().zip(used) {
        assert!(used != may.is_empty(), "`{word}` is used nowhere");
    }
}

/// Returns a line without its comment.
fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or(line)
}

/// Returns whether the code of a line contains the word. Comments do not count, nor do strings that begin with the
/// word.
fn contains(line: &str, word: &str) -> bool {
    let code = code(line);
    code.match_indices(word).any(|(at, _)| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '"'))
}
