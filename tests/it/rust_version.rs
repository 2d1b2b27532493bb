//! Tests of the dependencies: `rust-version` is the highest version that any dependency of the program requires, and
//! the library without the program has fewer of them.

use crate::support::read;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Parses a version such as `1.85.0` into its numbers.
fn numbers(version: &str) -> Vec<u32> {
    let mut numbers: Vec<u32> = version.split('.').map(|n| n.parse().expect("a number")).collect();
    numbers.resize(3, 0);
    numbers
}

fn output(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Returns the packages by their identifiers, and the identifiers of those that the program is built with, without
/// dependencies of tests.
fn built_with(metadata: &Value) -> (BTreeMap<&str, &Value>, BTreeSet<&str>) {
    let packages = metadata["packages"].as_array().expect("packages").iter();
    let packages: BTreeMap<&str, &Value> = packages.map(|p| (p["id"].as_str().expect("an identifier"), p)).collect();
    let nodes = metadata["resolve"]["nodes"].as_array().expect("nodes");
    let (mut reached, mut open) = (BTreeSet::new(), vec![metadata["resolve"]["root"].as_str().expect("a root")]);
    while let Some(id) = open.pop() {
        if !reached.insert(id) {
            continue;
        }
        let node = nodes.iter().find(|n| n["id"] == id).expect("a node");
        for dependency in node["deps"].as_array().expect("dependencies") {
            let kinds = dependency["dep_kinds"].as_array().expect("kinds");
            if kinds.iter().any(|kind| kind["kind"] != "dev") {
                open.push(dependency["pkg"].as_str().expect("an identifier"));
            }
        }
    }
    (packages, reached)
}

/// Returns what cargo knows about the package and its dependencies, if it is built with these options.
fn metadata(options: &[&str]) -> Value {
    let about = output(Command::new("rustc").arg("-vV"));
    let host = about.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host");
    let metadata = output(
        Command::new(env!("CARGO"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["metadata", "--locked", "--offline", "--format-version", "1", "--filter-platform", host])
            .args(options),
    );
    serde_json::from_str(&metadata).expect("JSON")
}

#[test]
fn the_library_alone_needs_no_library_of_the_program() {
    let names = |options: &[&str]| -> BTreeSet<String> {
        let metadata = metadata(options);
        let (packages, reached) = built_with(&metadata);
        reached.iter().map(|id| packages[id]["name"].as_str().expect("a name").to_owned()).collect()
    };
    let (program, library) = (names(&[]), names(&["--no-default-features"]));
    for name in ["annotate-snippets", "clap", "ctrlc", "indicatif", "tracing-subscriber"] {
        assert!(program.contains(name) && !library.contains(name), "{name}");
    }
}

#[test]
fn it_is_the_highest_of_all_libraries() {
    let metadata = metadata(&[]);
    let (packages, reached) = built_with(&metadata);
    assert!(reached.len() > 50, "{}", reached.len());
    let root = metadata["resolve"]["root"].as_str().expect("a root");
    let highest = reached
        .iter()
        .filter(|id| **id != root)
        .filter_map(|id| Some((numbers(packages[id]["rust_version"].as_str()?), packages[id]["name"].as_str()?)))
        .max()
        .expect("some library says so");
    let ours = env!("CARGO_PKG_RUST_VERSION");
    assert_eq!(numbers(ours), highest.0, "{} asks for it", highest.1);
    for place in ["README.md", ".ci/run"] {
        assert!(read(place).contains(&format!("{ours} or later")), "{place} says another version");
    }
}
