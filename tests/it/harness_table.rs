//! Tests that `docs/harnesses.md`, which is generated from the harnesses, is up to date.
//! `BLESS=1 cargo test --test it harness_table` rewrites it.

use crate::load::{load, models};
use crate::support::read;
use raceflip::lang::Program;
use raceflip::lang::program::ExpectationKind;
use std::fmt::Write as _;
use std::path::Path;

const HEAD: &str = "\
# All harnesses

The models in `harnesses/`, by folder: what each is, how much is in it, and what it expects of itself. Tests hold the expectations; how a
harness is written, and what the folders are, stands in [their own page](../harnesses/README.md). This table is made from the models.

*Threads* and *loopers* are those that are declared, *sites* the accesses and operations in the source, without those that the constants rule out. *Expected* is what the
`expect` lines say of outcomes and races, for each variant of the app (`-D FIXED=1`, `-D OK=1`).
";

/// Returns the folders in the order of the page.
fn folders() -> Vec<String> {
    let mut all: Vec<String> = models("harnesses").iter().map(|p| folder(p)).collect();
    all.dedup();
    all
}

fn folder(path: &Path) -> String {
    path.parent().and_then(Path::file_name).expect("a folder").to_string_lossy().into_owned()
}

/// Returns the first sentence of the comment at the start of a model: its source, and what goes wrong.
fn source(text: &str) -> String {
    let header = text.lines().map_while(|l| l.strip_prefix("//")).map(str::trim).take_while(|l| !l.is_empty());
    let header: Vec<&str> = header.filter(|l| !l.starts_with("http")).collect();
    let header = header.join(" ");
    // The period after a number, as in "Q01. ", does not end the sentence.
    let sentence = |(at, _): &(usize, &str)| header[..*at].contains(' ');
    let end = header.match_indices(". ").find(sentence).map_or(header.len(), |(at, _)| at);
    header[..end].trim_end_matches('.').replace('|', "\\|")
}

/// Returns the constants of a model, such as `FIXED = 0`, without their comments.
fn constants(text: &str) -> String {
    let all = text.lines().filter_map(|l| l.strip_prefix("const "));
    let all: Vec<String> = all.map(|l| format!("`{}`", l.split("//").next().unwrap_or(l).trim())).collect();
    all.join(", ")
}

/// Returns the values of the constant that selects a variant; a single `None` if there is no such constant.
fn variants(text: &str) -> Vec<Option<(String, i64)>> {
    let choice = ["FIXED", "OK"].into_iter().find_map(|name| {
        let line = text.lines().find(|l| l.starts_with(&format!("const {name} =")))?;
        let last = if line.contains(" 2:") || text.contains(&format!("{name} == 2")) { 2 } else { 1 };
        Some((name, last))
    });
    match choice {
        None => vec![None],
        Some((name, last)) => (0..=last).map(|v| Some((name.to_owned(), v))).collect(),
    }
}

fn counted(n: usize, what: &str) -> Option<String> {
    (n > 0).then(|| format!("{n} {what}{}", if n == 1 { "" } else { "s" }))
}

/// Returns an expectation without `expect`, and without its condition, which holds for the variant.
fn unconditional(text: &str) -> &str {
    let text = text.trim_start_matches("expect ");
    let condition = text.rfind(" if ").filter(|at| !text[*at..].contains('"'));
    &text[..condition.unwrap_or(text.len())]
}

/// Returns a short description of the expectations of one variant.
fn expected(program: &Program) -> String {
    let (mut outcomes, mut failures, mut races, mut orders) = (Vec::new(), Vec::new(), Vec::new(), 0);
    let (mut real, mut harmful, mut not_real, mut absent) = (0, 0, 0, 0);
    for e in &program.expectations {
        let rest =
            |word: &str| unconditional(&e.text).trim_start_matches(word).trim_start_matches([':', ' ']).to_owned();
        match &e.kind {
            ExpectationKind::Outcomes { .. } => outcomes.push(rest("outcomes")),
            ExpectationKind::Race { no: true, .. } => absent += 1,
            ExpectationKind::Race { harmful: true, .. } => harmful += 1,
            ExpectationKind::Race { real: true, .. } => real += 1,
            ExpectationKind::Race { .. } => not_real += 1,
            ExpectationKind::Order { .. } => orders += 1,
            ExpectationKind::Failure { .. } | ExpectationKind::Deadlock { .. } | ExpectationKind::Stuck { .. } => {
                failures.push(rest(""));
            }
            _ => races.push(rest("")),
        }
    }
    // The complete outcomes say more than the failures among them.
    let ends = if outcomes.is_empty() { failures } else { outcomes };
    let counts = [
        counted(harmful, "harmful race"),
        counted(real, "real race"),
        counted(not_real, "false race"),
        counted(absent, "absent race"),
        counted(orders, "order"),
    ];
    let all: Vec<String> = ends.into_iter().chain(races).chain(counts.into_iter().flatten()).collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join("; ") }
}

fn row(path: &Path) -> String {
    let relative = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).expect("below the top").display().to_string();
    let relative = relative.replace('\\', "/");
    let text = read(&relative);
    let base = load(path, &[]).program;
    let loopers = base.threads.iter().filter(|t| t.looper).count();
    let mut expectations: Vec<String> = Vec::new();
    for variant in variants(&text) {
        let defines: Vec<(String, i64)> = variant.into_iter().collect();
        let expected = expected(&load(path, &defines).program);
        let given = defines.first().filter(|(_, v)| *v > 0).map(|(n, v)| format!("`{n}={v}`: ")).unwrap_or_default();
        expectations.push(given + &expected);
    }
    format!(
        "| [{}](../{relative}) | {} | {} | {loopers} | {} | {} | {} |",
        path.file_stem().expect("a name").to_string_lossy(),
        source(&text),
        base.threads.len() - loopers,
        base.sites.len(),
        constants(&text),
        expectations.join("<br>").replace('|', "\\|"),
    )
}

fn page() -> String {
    let all = models("harnesses");
    let mut page = String::from(HEAD);
    for name in folders() {
        let here: Vec<_> = all.iter().filter(|p| folder(p) == name).collect();
        writeln!(page, "\n## {name}\n\n{} models.\n", here.len()).expect("a string takes all");
        page.push_str(
            "| model | source | threads | loopers | sites | constants | expected |\n|---|---|---|---|---|---|---|\n",
        );
        here.iter().for_each(|p| writeln!(page, "{}", row(p)).expect("a string takes all"));
    }
    page
}

#[test]
fn harness_table_is_what_the_harnesses_are() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/harnesses.md");
    let now = page();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&file, &now).expect("a writable tree");
    }
    let then = std::fs::read_to_string(&file).expect("the page");
    for (now, then) in now.lines().zip(then.lines()) {
        assert_eq!(now, then, "BLESS=1 cargo test --test it harness_table");
    }
    assert_eq!(now, then, "BLESS=1 cargo test --test it harness_table");
    assert_eq!(now.matches("\n| [").count(), models("harnesses").len());
}
