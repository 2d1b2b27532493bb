//! Tests that the models of the page on patterns hold all of their `expect` lines, as the command `test` judges them.

use crate::cli::{call, file, scratch};
use crate::language::blocks;
use crate::support::read;

const PAGE: &str = "docs/patterns.md";

/// A pattern is small enough to be read at a glance.
const LINES: std::ops::RangeInclusive<usize> = 10..=30;

#[test]
fn patterns_hold_what_they_say() {
    let folder = scratch("patterns");
    let page = read(PAGE);
    let mut models = 0;
    for block in blocks(&page).iter().filter(|block| block.info == "race") {
        let at = format!("{PAGE}:{}", block.line);
        assert!(LINES.contains(&block.text.lines().count()), "{at}: {} lines", block.text.lines().count());
        assert!(block.text.contains("\nexpect "), "{at}: nothing is expected");
        file(&folder, &format!("line_{}.race", block.line), &block.text);
        models += 1;
    }
    let sections = page.lines().filter(|line| line.starts_with("## ")).count();
    assert_eq!(models, sections, "each section has one model");
    // The timer of one of them ticks until the run ends, so that few runs take long enough.
    let ran = call(&["test", &folder.display().to_string(), "--no-save", "--runs", "200"]);
    assert_eq!(ran.status, 0, "{}{}", ran.out, ran.err);
}
