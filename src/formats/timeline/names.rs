//! Shortens long pedigrees where that is not ambiguous: `main/onCreate#1/Node#1` to `Node#1`, if no other one ends so.

use super::record::last;
use super::{Item, Timeline, TimelineRow};
use std::collections::BTreeMap;

/// The pedigrees in the texts of all rows, also of those outside the window: for each last part, the pedigree that ends
/// so, or `None` if several do.
#[derive(Default)]
pub(super) struct Pedigrees(BTreeMap<String, Option<String>>);

impl Pedigrees {
    /// Adds those in the text of a row.
    pub(super) fn add(&mut self, what: &str) {
        // A name of one part may be the end of a longer one as well: `Player#1`, and `Player#1/Player#1`.
        for name in words(what).filter(|w| w.contains('#')) {
            match self.0.get_mut(last(name)) {
                Some(known) if known.as_deref() != Some(name) => *known = None,
                Some(_) => {}
                None => drop(self.0.insert(last(name).to_owned(), Some(name.to_owned()))),
            }
        }
    }

    fn only_one(&self, name: &str) -> bool {
        self.0.get(last(name)).is_some_and(Option::is_some)
    }
}

impl Timeline {
    // A last part that only one pedigree of all rows has identifies this pedigree, so it replaces the whole.
    pub(super) fn shorten_names(&mut self, mut all: Pedigrees) {
        self.ending.iter().for_each(|row| all.add(&row.what));
        let short = |what: &str| {
            let each = pieces(what).map(|piece| match is_pedigree(piece) && all.only_one(piece) {
                true => last(piece),
                false => piece,
            });
            each.collect::<String>().replace("the monitor of ", "monitor ")
        };
        let items = self.items.iter_mut().filter_map(|i| match i {
            Item::Row(row) => Some(row),
            Item::Gap(_) => None,
        });
        items.chain(&mut self.ending).for_each(|row: &mut TimelineRow| row.what = short(&row.what));
    }
}

/// Returns the text with each pedigree shortened to its last part.
pub(super) fn last_parts(what: &str) -> String {
    pieces(what).map(|piece| if is_pedigree(piece) { last(piece) } else { piece }).collect()
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '#' | '/' | '[' | ']')
}

// A pedigree contains numbers. The text after a `.` is a field and not part of the name.
fn is_pedigree(word: &str) -> bool {
    word.contains('/') && word.contains('#')
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_name(c))
}

// Splits a text into names and the text between them.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = is_name(rest.chars().next()?);
        let to = rest.find(|c| is_name(c) != first).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(to);
        rest = after;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn names_are_taken_apart_from_the_rest() {
        let all: Vec<&str> = pieces("read a-b/c#1.next: c[2], x").collect();
        assert_eq!(all, ["read", " ", "a-b/c#1", ".", "next", ": ", "c[2]", ", ", "x"]);
    }
}
