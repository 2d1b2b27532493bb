//! Checks the table of the inputs that once failed (`tests/data/faults/README.md`): every input has a row, and the
//! tests that the row names exist and use the input.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A row of the table: a file, and the tests that it names, each as its module and function.
struct FaultRow {
    file: String,
    tests: Vec<(String, String)>,
}

/// Returns the words between backquotes.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn rows(table: &str) -> Vec<FaultRow> {
    let lines = table.lines().filter(|line| line.starts_with("| `"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").collect();
        let [file, right, tests] = cells[..] else { panic!("a row has three cells: {line}") };
        assert!(!right.trim().is_empty(), "{line}");
        let tests = quoted(tests).into_iter().map(|test| {
            let (module, name) = test.split_once("::").unwrap_or_else(|| panic!("MODULE::TEST, not {test}: {line}"));
            (module.to_owned(), name.to_owned())
        });
        FaultRow { file: quoted(file).remove(0), tests: tests.collect() }
    };
    lines.map(row).collect()
}

/// Returns whether the source of a module has this test, which normal test runs perform.
fn has_test(source: &str, name: &str) -> bool {
    let head = format!("fn {name}()");
    let mut attributes = Vec::new();
    for line in source.lines() {
        if line.starts_with("#[") {
            attributes.push(line);
            continue;
        }
        if line.starts_with(&head) {
            return attributes.contains(&"#[test]") && !attributes.iter().any(|line| line.starts_with("#[ignore"));
        }
        attributes.clear();
    }
    false
}

/// Returns what is wrong with the table.
fn wrong(table: &str, files: &BTreeSet<String>, module: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let rows = rows(table);
    let mut wrong = Vec::new();
    let listed: BTreeSet<String> = rows.iter().map(|row| row.file.clone()).collect();
    wrong.extend(files.difference(&listed).map(|file| format!("{file} has no row")));
    wrong.extend(listed.difference(files).map(|file| format!("{file} does not exist")));
    for FaultRow { file, tests } in &rows {
        if tests.is_empty() {
            wrong.push(format!("{file} has no test"));
        }
        let stem = file.split('.').next().unwrap_or(file);
        for (of, test) in tests {
            let source = module(of).unwrap_or_default();
            if !has_test(&source, test) {
                wrong.push(format!("{file}: there is no test {of}::{test}"));
            }
            if !source.contains(stem) {
                wrong.push(format!("{file}: {of} does not name it"));
            }
        }
    }
    wrong
}

#[test]
fn every_input_that_once_failed_has_its_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("tests/data/faults");
    let names = fs::read_dir(&folder).expect("the folder").map(|entry| entry.expect("an entry").file_name());
    let files: BTreeSet<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    let files: BTreeSet<String> = files.into_iter().filter(|name| name != "README.md").collect();
    let table = fs::read_to_string(folder.join("README.md")).expect("the table");
    let module = |name: &str| fs::read_to_string(root.join(format!("tests/it/{name}.rs"))).ok();
    assert_eq!(wrong(&table, &files, module), Vec::<String>::new());
    assert!(files.len() > 30, "{files:?}");
}

/// The check notices each mistake in a table.
#[test]
fn mistakes_in_the_table_are_noticed() {
    let source = "const A: &str = \"a.race\";\n#[test]\nfn holds() {}\n#[test]\n#[ignore = \"long\"]\nfn rests() {}\nfn helps() {}\n";
    let module = |name: &str| (name == "m").then(|| source.to_owned());
    let check = |tests: &str, file: &str| {
        let table = format!("| `a.race` | It ends. | {tests} |");
        wrong(&table, &BTreeSet::from([file.to_owned()]), module)
    };
    assert!(check("`m::holds`", "a.race").is_empty());
    assert_eq!(check("", "a.race"), ["a.race has no test"]);
    assert_eq!(check("`m::holds`", "b.race"), ["b.race has no row", "a.race does not exist"]);
    for test in ["m::rests", "m::helps", "m::other"] {
        assert_eq!(check(&format!("`{test}`"), "a.race"), [format!("a.race: there is no test {test}")]);
    }
    let missing = check("`n::holds`", "a.race");
    assert_eq!(missing, ["a.race: there is no test n::holds", "a.race: n does not name it"]);
}
