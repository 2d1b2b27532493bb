//! Implements `--bless`: rewrites lines that do not hold to what the model does, where that is known. Nothing else of a
//! file changes.

use crate::base::counted;
use crate::campaign::{TestResult, Truth};
use crate::cli::Refusal;
use crate::cli::io::files;
use crate::cli::io::load::{self, Model};
use crate::cli::io::output::Output;
use crate::cli::models::suite::{Case, Suite};
use crate::lang::ast::{Expect, Item, ItemKind};
use crate::lang::{Source, parse};
use std::collections::BTreeMap;
use std::path::Path;

// Line that a model without `expect` lines is tested for, and gets. It is rewritten like every other line.
const FIRST_LINE: &str = "expect outcomes: ok";

/// Gives each model without `expect` lines a line about its outcomes.
pub(super) fn give_lines(suite: &mut Suite, out: &Output) -> Result<(), Refusal> {
    for case in &mut suite.cases {
        if lines(&case.model.source).is_empty() {
            let text = format!("{}{}", case.model.source.text(), addition(case.model.source.text()));
            let source = Source::new(case.model.name(), &text).map_err(Refusal::new)?;
            let file = load::parsed(&source, out)?;
            case.model = load::checked(&case.model.path, source, &file, &case.model.defines, out)?;
        }
    }
    Ok(())
}

fn addition(text: &str) -> String {
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{end}\n{FIRST_LINE}\n")
}

fn lines(source: &Source) -> Vec<Item> {
    let mut items = parse(source).map(|file| file.items).unwrap_or_default();
    items.retain(|item| matches!(item.kind, ItemKind::Expect { .. }));
    items
}

/// Result for the lines of all models.
#[derive(Default)]
pub(super) struct BlessResult {
    /// Number of lines that do not hold and were left.
    pub(super) left: u64,
    /// Number of lines that were rewritten or added.
    pub(super) rewritten: u64,
    /// Errors of files that could not be written.
    pub(super) refused: Vec<Refusal>,
}

/// Rewrites the lines of all models, each of which was tested in all of its variants.
pub(super) fn bless(cases: &[Case], tested: &[TestResult], out: &mut Output) -> BlessResult {
    let mut files: BTreeMap<&Path, Vec<usize>> = BTreeMap::new();
    for (i, case) in cases.iter().enumerate() {
        files.entry(&case.model.path).or_default().push(i);
    }
    let mut blessed = BlessResult::default();
    for numbers in files.values() {
        let variants: Vec<(&Model, &TestResult)> = numbers.iter().map(|i| (&cases[*i].model, &tested[*i])).collect();
        match file(&variants, out) {
            Ok((left, rewritten)) => {
                blessed.left += left;
                blessed.rewritten += rewritten;
            }
            Err(refusal) => blessed.refused.push(refusal),
        }
    }
    blessed
}

// Rewrites one file. Returns the number of lines that do not hold and were left, and of lines that were rewritten.
fn file(variants: &[(&Model, &TestResult)], out: &mut Output) -> Result<(u64, u64), Refusal> {
    let (model, source) = (variants[0].0, &variants[0].0.source);
    let written = std::fs::read(&model.path).ok().and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(|| {
        Refusal::new(format_args!("{}: the file cannot be read again; nothing was written", model.name()))
    })?;
    let now = Source::new(model.name(), &written).map_err(Refusal::new)?;
    // The file has no `expect` lines, so the tested one was added.
    let given = lines(&now).is_empty();
    let added = if given { addition(now.text()) } else { String::new() };
    if format!("{}{added}", now.text()) != source.text() {
        let name = model.name();
        return Err(Refusal::new(format_args!("{name}: the file changed during the test; nothing was written")));
    }
    let (mut edits, mut new_lines, mut left, mut known) = (Vec::new(), Vec::new(), 0, given);
    for item in lines(source) {
        let line = source.place(item.at.0.start).line;
        let text = &source.text()[item.at.0.start as usize..item.at.0.end as usize];
        match decided(variants, line, text) {
            None => {}
            Some(Ok(truth)) => match edits_of(&item, &truth, source.text()) {
                Ok(of_line) => {
                    new_lines.push((line, apply(text, item.at.0.start as usize, &of_line)));
                    edits.extend(of_line);
                }
                Err(why) => left += note_left(model, line, text, why, out),
            },
            Some(Err(why)) => {
                left += note_left(model, line, text, why, out);
                // A line is added only if it is known what it should say.
                known = false;
            }
        }
    }
    if given && !known || !given && edits.is_empty() {
        return Ok((left, 0));
    }
    let whole = apply(source.text(), 0, &edits);
    fits(&whole, variants, out)?;
    // The file keeps its own line ends and its byte order mark.
    let end_of_line = if written.contains("\r\n") { "\r\n" } else { "\n" };
    let mut raw = written.clone() + &added.replace('\n', end_of_line);
    edits.sort_by_key(|edit| edit.from);
    for edit in edits.iter().rev() {
        raw.replace_range(raw_offset(&raw, edit.from)..raw_offset(&raw, edit.to), &edit.text);
    }
    files::replace(&model.path, &raw)
        .map_err(|error| Refusal::new(format_args!("cannot write `{}`: {error}", model.name())))?;
    if given && new_lines.is_empty() {
        new_lines.push((source.place(source.text().len() as u32).line - 1, FIRST_LINE.to_owned()));
    }
    for (line, text) in &new_lines {
        out.note(format_args!("blessed {}:{line}: {}", model.name(), text));
    }
    out.note(format_args!("{}: {} rewritten", model.name(), counted(new_lines.len() as u64, "line")));
    Ok((left, new_lines.len() as u64))
}

fn note_left(model: &Model, line: usize, text: &str, why: &str, out: &mut Output) -> u64 {
    out.note(format_args!("unchanged {}:{line}: {text}: {why}", model.name()));
    1
}

// Text that makes a line hold in all variants in which it counts, or the reason why none is known; `None` if it holds.
fn decided(variants: &[(&Model, &TestResult)], line: usize, text: &str) -> Option<Result<Truth, &'static str>> {
    // Spacing does not distinguish lines.
    let alike = |other: &str| other.split_whitespace().eq(text.split_whitespace());
    let all = variants.iter().flat_map(|(_, tested)| &tested.lines);
    let truths: Vec<&Option<Truth>> =
        all.filter(|l| l.line as usize == line && alike(&l.text)).map(|l| &l.truth).collect();
    let first = truths.iter().find_map(|truth| truth.as_ref())?;
    if let Some(Truth::Unknown(why)) = truths.iter().filter_map(|t| t.as_ref()).find(|t| matches!(t, Truth::Unknown(_)))
    {
        return Some(Err(why));
    }
    if truths.iter().any(|truth| truth.as_ref() != Some(first)) {
        return Some(Err("the variants differ: write a line for each one, with `if`"));
    }
    Some(Ok(first.clone()))
}

// Replacement of a part of the text.
struct Edit {
    from: usize,
    to: usize,
    text: String,
}

fn edit(from: u32, to: u32, text: impl Into<String>) -> Edit {
    Edit { from: from as usize, to: to as usize, text: text.into() }
}

// Returns the edits that make a line true, or the reason why a line of its form cannot say so.
fn edits_of(item: &Item, truth: &Truth, text: &str) -> Result<Vec<Edit>, &'static str> {
    let ItemKind::Expect { expect, .. } = &item.kind else { return Ok(Vec::new()) };
    Ok(match (truth, expect) {
        (Truth::Contrary, _) => vec![contrary(item, text)],
        (Truth::Outcomes(all), Expect::Outcomes { outcomes, .. }) => {
            let (Some(first), Some(last)) = (outcomes.first(), outcomes.last()) else { return Ok(Vec::new()) };
            let (from, to) = (first.at.0.start, last.at.0.end);
            if text[from as usize..to as usize].contains("//") {
                return Err("there is a comment between its outcomes");
            }
            vec![edit(from, to, all.join(", "))]
        }
        (Truth::Order(word), Expect::Order { word: written, .. }) => {
            vec![edit(written.at.0.start, written.at.0.end, *word)]
        }
        (Truth::Pair(word), Expect::Race { no, right, words, .. }) => {
            let end = words.last().map_or(right.at.0.end, |last| last.at.0.end);
            let said = if word.is_empty() { String::new() } else { format!(": {word}") };
            let mut edits = vec![edit(right.at.0.end, end, said)];
            if *no {
                edits.push(contrary(item, text));
            }
            edits
        }
        _ => return Err("its form cannot express it"),
    })
}

// Adds `no` after `expect`, or removes it.
fn contrary(item: &Item, text: &str) -> Edit {
    let start = item.at.0.start as usize;
    let after = start + text[start..].find("expect").unwrap_or(0) + "expect".len();
    let word = after + (text[after..].len() - text[after..].trim_start().len());
    let rest = text[word..].strip_prefix("no").filter(|rest| rest.starts_with([' ', '\t']));
    match rest {
        Some(rest) => {
            let gap = rest.len() - rest.trim_start().len();
            Edit { from: word, to: word + "no".len() + gap, text: String::new() }
        }
        None => Edit { from: word, to: word, text: "no ".to_owned() },
    }
}

// Applies the edits to a text that begins at this offset of the source.
fn apply(text: &str, offset: usize, edits: &[Edit]) -> String {
    let mut sorted: Vec<&Edit> = edits.iter().collect();
    sorted.sort_by_key(|edit| edit.from);
    let mut whole = text.to_owned();
    for edit in sorted.iter().rev() {
        whole.replace_range(edit.from - offset..edit.to - offset, &edit.text);
    }
    whole
}

// Checks that the new text is a valid model in each variant.
fn fits(text: &str, variants: &[(&Model, &TestResult)], out: &Output) -> Result<(), Refusal> {
    for (model, _) in variants {
        let source = Source::new(model.name(), text).map_err(Refusal::new)?;
        let file = load::parsed(&source, out)?;
        load::checked(&model.path, source, &file, &model.defines, out)?;
    }
    Ok(())
}

// Converts an offset of the source to one of its file, whose lines may end in CRLF or CR.
fn raw_offset(raw: &str, offset: usize) -> usize {
    let mark = if raw.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let (mut at, mut left) = (mark, offset);
    let bytes = raw.as_bytes();
    while left > 0 && at < bytes.len() {
        at += if bytes[at..].starts_with(b"\r\n") { 2 } else { 1 };
        left -= 1;
    }
    at
}
