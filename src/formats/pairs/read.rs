//! Reads a list of pairs, as JSON if its first character is a brace, else as plain lines.

use super::select::{NoConflict, PairMistake, combine, is_spec, select, shown};
use super::{FORMAT, IgnoreReason, ListedPairs, PairsError, UnmatchedPlace, VERSION};
use crate::base::IndexVec;
use crate::detect::Pair;
use crate::event::{Site, SiteId};
use crate::formats::statics;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeSet;

// The fields to read first: another version may have other fields.
#[derive(Deserialize)]
struct PairsHead {
    format: String,
    version: u64,
}

// The pairs as slices of the text, so that the line of each one is known.
#[derive(Deserialize)]
struct Body<'t> {
    program: Option<String>,
    #[serde(borrow)]
    pairs: Vec<&'t RawValue>,
}

#[derive(Deserialize)]
struct Ends {
    a: String,
    b: String,
}

/// Reads a list of pairs of the program with these sites, in either form. A list of plain lines must not be empty; a
/// JSON list may be, because it is empty explicitly.
///
/// # Errors
///
/// Returns a [`PairsError`] with the line and the reason if the text is not a list of pairs, or if a line names a
/// statement that the program can never have. A line that names a statement of the real app which the program lacks is
/// not an error: it is in [`ListedPairs::unmatched`].
///
/// # Examples
///
/// ```
/// use raceflip::formats::pairs::read;
/// use raceflip::vm::Model;
///
/// let text = "var x = 0; thread a { @set from \"app/Player.java:41\": x = 1 }; thread b { @get from \"Player.java:87\": let y = x }";
/// let model = Model::from_text("two.race", text, &[])?;
/// let listed = read("# of another tool\nPlayer.java:41 Player.java:87\nPlayer.java:41 Menu.java:3\n", &model.program.sites)?;
/// assert_eq!(listed.pairs.len(), 1);
/// assert_eq!(listed.unmatched[0].to_string(), "line 3: Menu.java:3: no label's `from` names it");
/// let error = read("@set ~ @gut", &model.program.sites).unwrap_err();
/// assert_eq!(error.to_string(), "line 1: no statement has the label `@gut`; did you mean `@get`?");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(text: &str, sites: &IndexVec<SiteId, Site>) -> Result<ListedPairs, PairsError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut list = PairList { sites, listed: 0, pairs: BTreeSet::new(), unmatched: Vec::new() };
    let mut program = None;
    if text.trim_start().starts_with('{') {
        program = list.json(text)?;
    } else {
        list.lines(text)?;
        if list.listed == 0 {
            return Err(PairsError::Empty);
        }
    }
    let PairList { listed, pairs, unmatched, .. } = list;
    match unmatched.first() {
        Some(first) if pairs.is_empty() => Err(PairsError::Nothing { listed, first: first.clone() }),
        _ => Ok(ListedPairs { pairs: pairs.into_iter().collect(), unmatched, program }),
    }
}

struct PairList<'s> {
    sites: &'s IndexVec<SiteId, Site>,
    listed: usize,
    pairs: BTreeSet<Pair>,
    unmatched: Vec<UnmatchedPlace>,
}

impl PairList<'_> {
    // Reads a JSON list, and returns the digest of its program, if it has one.
    fn json(&mut self, text: &str) -> Result<Option<String>, PairsError> {
        let head: PairsHead = from_json(text, text)?;
        // What `static` prints has its pairs in the same form.
        if head.format != FORMAT && head.format != statics::FORMAT {
            return Err(PairsError::Foreign(head.format));
        }
        if head.version != u64::from(VERSION) {
            return Err(PairsError::Version(head.version));
        }
        let body: Body<'_> = from_json(text, text)?;
        let (mut line, mut seen) = (1, 0);
        for raw in body.pairs {
            let Ends { a, b } = from_json(text, raw.get())?;
            let at = offset(text, raw.get());
            line += text[seen..at].matches('\n').count();
            seen = at;
            self.pair(line, a.trim(), b.trim())?;
        }
        Ok(body.program)
    }

    fn lines(&mut self, text: &str) -> Result<(), PairsError> {
        for (line, row) in (1..).zip(text.lines()) {
            let words: Vec<&str> = row.split_whitespace().take_while(|word| !word.starts_with('#')).collect();
            if words.is_empty() {
                continue;
            }
            let ends: Vec<String> = if words.contains(&"~") {
                words.split(|word| *word == "~").map(|end| end.join(" ")).collect()
            } else {
                words.iter().map(|word| (*word).to_owned()).collect()
            };
            match &ends[..] {
                [a, b] if !a.is_empty() && !b.is_empty() => self.pair(line, a, b)?,
                _ => {
                    let there = ends.iter().filter(|end| !end.is_empty()).count();
                    return Err(PairsError::Pair { line, wrong: PairMistake::NotTwo(there) });
                }
            }
        }
        Ok(())
    }

    fn pair(&mut self, line: usize, a: &str, b: &str) -> Result<(), PairsError> {
        self.listed += 1;
        let error = |wrong| PairsError::Pair { line, wrong };
        let ends = [(a, select(a, self.sites).map_err(error)?), (b, select(b, self.sites).map_err(error)?)];
        let [(_, Ok(of_a)), (_, Ok(of_b))] = &ends else {
            let why = ends.into_iter().filter_map(|(text, found)| Some((text, found.err()?)));
            self.unmatched.extend(why.map(|(text, why)| UnmatchedPlace { line, text: text.to_owned(), why }));
            return Ok(());
        };
        let found = combine(of_a, of_b, self.sites);
        if found.is_empty() {
            let never = NoConflict::of(of_a, of_b, self.sites);
            // Two statements of the model that cannot conflict are a mistake. A list that names places of the real app
            // may be about more than the model.
            if is_spec(a) && is_spec(b) {
                return Err(error(PairMistake::Never(format!("{} ~ {}", shown(a), shown(b)), never)));
            }
            self.unmatched.push(UnmatchedPlace { line, text: format!("{a} ~ {b}"), why: IgnoreReason::Never(never) });
        }
        self.pairs.extend(found);
        Ok(())
    }
}

// Parses a part of a text. The position of an error refers to the whole text.
fn from_json<'t, T: Deserialize<'t>>(text: &str, part: &'t str) -> Result<T, PairsError> {
    serde_json::from_str(part).map_err(|e| {
        // The column of the error counts bytes, and is 0 directly after the end of a line.
        let start = part.split_inclusive('\n').take(e.line().saturating_sub(1)).map(str::len).sum::<usize>();
        let (line, column) = line_and_column(text, offset(text, part) + start + e.column().saturating_sub(1));
        let reason = e.to_string();
        let place = format!(" at line {} column {}", e.line(), e.column());
        PairsError::Json { line, column, reason: shown(reason.strip_suffix(&place).unwrap_or(&reason)) }
    })
}

// Returns the byte offset of a part in its text.
fn offset(text: &str, part: &str) -> usize {
    part.as_ptr().addr().saturating_sub(text.as_ptr().addr())
}

// Converts a byte offset to a line and a column, both from 1, the column in characters.
fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let end = (0..=offset.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let before = &text[..end];
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
}
