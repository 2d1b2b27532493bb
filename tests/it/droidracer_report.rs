//! Parses the report at the end of a log of DroidRacer, for tests.

use std::collections::{BTreeMap, BTreeSet};

/// A field: its class and its name.
pub(crate) type Field = (String, String);

/// A race of the report: two accesses, by their numbers in the log.
pub(crate) struct Reported {
    pub(crate) first: u32,
    pub(crate) second: u32,
    pub(crate) field: Field,
}

/// The report: its races, and for each heading the fields below it (objects instead of classes under the heading of
/// co-enabled events).
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) races: Vec<Reported>,
    pub(crate) headings: BTreeMap<String, BTreeSet<Field>>,
    /// Line of each access in the log, by the access's number.
    pub(crate) lines: BTreeMap<u32, u32>,
}

/// Parses the report at the end of a log.
pub(crate) fn report(log: &str) -> Report {
    let mut report = Report::default();
    let (mut first, mut heading) = (0, String::new());
    for (at, line) in log.lines().enumerate() {
        let part = |key: &str| line.split(key).nth(1).unwrap_or_default().split_whitespace().next().unwrap_or_default();
        let id = |key: &str| part(key).parse().unwrap_or_else(|_| panic!("{line}"));
        if line.starts_with("RACE ") {
            first = id("rwId1:");
        } else if line.starts_with("     rwId2:") {
            let field = (part("class - ").to_owned(), part("fieldIdx - ").to_owned());
            report.races.push(Reported { first, second: id("rwId2:"), field });
        } else if line.starts_with("rwId:") {
            report.lines.insert(id("rwId:"), u32::try_from(at).unwrap() + 1);
        } else if line.contains("aces due to") || line.contains("ed races") && !line.starts_with("Categ") {
            heading = line.trim().to_owned();
            report.headings.entry(heading.clone()).or_default();
        } else if line.starts_with("class: ") || line.starts_with("object: ") {
            let of = if line.starts_with("class") { "class: " } else { "object: " };
            report
                .headings
                .entry(heading.clone())
                .or_default()
                .insert((part(of).to_owned(), part("field:").to_owned()));
        }
    }
    report
}
