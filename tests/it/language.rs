//! Tests that the examples of the language reference do what it says.
//!
//! A block ```` ```race ```` runs with 500 seeds and must end as its `expect` lines say. In each example the rarest
//! outcome has a probability above 5%, which 500 seeds miss with a probability below 1e-11.
//!
//! A block ```` ```race,error ```` must be refused with the first line of the
//! ```` ```text ```` block after it.

use crate::support::{disappointed, program, read, text, walk};
use raceflip::campaign::named;
use raceflip::lang::program::ExpectationKind;

const SEEDS: u64 = 500;

/// The pages of the language reference: its core, and everything else.
pub(crate) const REFERENCE: [&str; 2] = ["docs/language.md", "docs/language_more.md"];

/// Pages whose examples are run, each with a minimum number of examples: the reference, the guide to modeling the
/// parts of an app, and the pages for people who know Go, Kotlin or JavaScript.
const PAGES: [(&str, usize); 6] = [
    (REFERENCE[0], 28),
    (REFERENCE[1], 50),
    ("docs/android.md", 4),
    ("docs/go.md", 1),
    ("docs/kotlin.md", 8),
    ("docs/javascript.md", 2),
];

/// The core of the reference is short enough to be read before a first model.
const CORE_LINES: usize = 700;

/// A fenced block: the line of its opening fence, the text after that fence, and the block's content.
pub(crate) struct Fenced {
    pub(crate) line: usize,
    pub(crate) info: String,
    pub(crate) text: String,
}

pub(crate) fn blocks(page: &str) -> Vec<Fenced> {
    let mut blocks = Vec::new();
    let mut open: Option<Fenced> = None;
    for (line, written) in (1..).zip(page.lines()) {
        match (written.strip_prefix("```"), &mut open) {
            (Some(info), None) => open = Some(Fenced { line, info: info.to_owned(), text: String::new() }),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => block.text.extend([written, "\n"]),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is not closed");
    blocks
}

#[test]
fn examples_end_as_they_say() {
    let wrong: Vec<String> = PAGES.iter().flat_map(|(page, least)| examples_of(page, *least)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the mistakes in the examples of a page, which must have at least `least` examples.
fn examples_of(name: &str, least: usize) -> Vec<String> {
    let page = read(name);
    let mut wrong = Vec::new();
    let mut examples = 0;
    for block in blocks(&page).iter().filter(|b| b.info == "race") {
        examples += 1;
        let at = format!("{name}:{}", block.line);
        let program = match program(&at, &block.text, &[]) {
            Ok(program) => program,
            Err(e) => {
                wrong.push(e);
                continue;
            }
        };
        let says_how_it_ends = program.expectations.iter().any(|e| {
            matches!(
                e.kind,
                ExpectationKind::Outcomes { .. } | ExpectationKind::Failure { .. } | ExpectationKind::Deadlock { .. }
            )
        });
        if !says_how_it_ends {
            wrong.push(format!("{at}: the example does not say how it ends"));
        }
        let ends = walk(&program, &named(&program), SEEDS);
        wrong.extend(program.expectations.iter().filter_map(|e| disappointed(e, &ends)).map(|w| format!("{at} {w}")));
        // Walks rarely stop within a life cycle, and jobs add choices.
        let rare_at = if ["kind ", "use android", "async task"].iter().any(|word| block.text.contains(word)) {
            2
        } else {
            SEEDS / 20
        };
        if let Some(rare) = ends.values().min().filter(|times| **times < rare_at) {
            wrong.push(format!("{at}: an outcome came only {rare} times: {}", text(&ends)));
        }
    }
    assert!(examples >= least, "{name}: {examples} examples");
    wrong
}

#[test]
fn errors_are_told_as_written() {
    let errors: usize = REFERENCE.into_iter().map(errors_of).sum();
    assert!(errors >= 12, "{errors} errors");
}

/// Checks the errors that a page shows. Returns their number.
fn errors_of(name: &str) -> usize {
    let page = read(name);
    let blocks = blocks(&page);
    let mut errors = 0;
    for (i, block) in blocks.iter().enumerate().filter(|(_, b)| b.info == "race,error") {
        errors += 1;
        let at = format!("{name}:{}", block.line);
        let told = blocks.get(i + 1).filter(|b| b.info == "text").unwrap_or_else(|| panic!("{at}: no text follows"));
        let rendered = match program(&at, &block.text, &[]) {
            Ok(_) => panic!("{at}: the example is accepted"),
            Err(rendered) => rendered,
        };
        assert_eq!(rendered.lines().next(), told.text.lines().next(), "{at}: {rendered}");
    }
    errors
}

/// The core stays short, and says where each of its sections goes on.
#[test]
fn the_core_of_the_reference_is_short() {
    let [core, more] = REFERENCE.map(read);
    assert!(core.lines().count() <= CORE_LINES, "{} lines", core.lines().count());
    let sections = |page: &str| -> Vec<String> {
        page.lines().filter_map(|line| line.strip_prefix("## ")).map(str::to_owned).collect()
    };
    for both in sections(&core).iter().filter(|section| sections(&more).contains(section)) {
        let section = core.split(&format!("\n## {both}\n")).nth(1).unwrap_or_default();
        let section = section.split("\n## ").next().unwrap_or_default();
        assert!(section.contains("\nMore on this: ["), "{both}");
    }
}
