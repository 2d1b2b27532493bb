//! Abbreviates long names in a trace.
//!
//! Where each task creates the next one, each pedigree is longer than the one before. A deep name is therefore written
//! relative to the short form of an ancestor, which an earlier row has defined. So all names of a run take space
//! proportional to its length.

use super::trace::Row;
use crate::event::ContextId;
use crate::sched::{ContextNames, NameId, Names};
use crate::world::World;
use std::collections::BTreeMap;

/// The kind of a row that defines a short form.
pub(super) const NAME: &str = "name";

// Maximum number of parts of a name that are written out.
const PARTS: u32 = 16;

/// The names written so far, and their short forms.
#[derive(Default)]
pub(super) struct ShortNames {
    names: Names,
    contexts: ContextNames,
    forms: BTreeMap<NameId, usize>,
    // Definitions that must be written before the next row.
    pending_rows: Vec<Row>,
}

impl ShortNames {
    /// Returns the name of a context, abbreviated if it is deep.
    pub(super) fn context(&mut self, world: &World, context: ContextId) -> String {
        let name = self.contexts.add_context(world, context, &mut self.names);
        self.written(name)
    }

    /// Returns a name, abbreviated if it is deep.
    pub(super) fn text(&mut self, name: String) -> String {
        if name.split('/').count() <= PARTS as usize {
            return name;
        }
        let name = self.names.add(&name);
        self.written(name)
    }

    /// Returns the rows that define the short forms used since the last call.
    pub(super) fn pending_rows(&mut self) -> Vec<Row> {
        std::mem::take(&mut self.pending_rows)
    }

    fn written(&mut self, name: NameId) -> String {
        // The ancestors in steps of 16 parts that have no short form yet, the deepest first.
        let mut above = Vec::new();
        let mut at = self.base(name);
        while let Some(base) = at.filter(|base| !self.forms.contains_key(base)) {
            above.push(base);
            at = self.base(base);
        }
        for base in above.into_iter().rev() {
            let stands_for = self.form(base);
            let number = self.forms.len();
            self.forms.insert(base, number);
            let kind = NAME.to_owned();
            self.pending_rows.push(Row {
                kind,
                made: Some(format!("~{number}")),
                context: Some(stands_for),
                ..Row::default()
            });
        }
        self.form(name)
    }

    // Returns the ancestor whose short form begins the text of this name: the nearest one at a multiple of 16 parts.
    fn base(&self, name: NameId) -> Option<NameId> {
        let depth = self.names.depth(name);
        let kept = (depth - 1) % PARTS + 1;
        (depth > PARTS).then(|| self.names.above(name, kept)).flatten()
    }

    // Returns the text of a name: the short form of its base, if it has one, and the remaining parts.
    fn form(&self, name: NameId) -> String {
        let kept = (self.names.depth(name) - 1) % PARTS + 1;
        let end = self.names.end(name, kept as usize);
        match self.base(name) {
            Some(base) => format!("~{}/{end}", self.forms[&base]),
            None => end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The total size of the names of a chain grows linearly, and the rows suffice to expand each of them.
    #[test]
    fn a_chain_takes_room_in_proportion() {
        let bytes = |n: usize| {
            let (mut short, mut all, mut known) = (ShortNames::default(), 0, BTreeMap::new());
            let mut name = "t".to_owned();
            for i in 0..n {
                name.push_str(if i % 2 == 0 { "/tick#1" } else { "/work#1" });
                let written = short.text(name.clone());
                let expand = |text: &str, known: &BTreeMap<String, String>| match text.split_once('/') {
                    Some((first, rest)) if first.starts_with('~') => format!("{}/{rest}", known[first]),
                    _ => text.to_owned(),
                };
                for row in short.pending_rows() {
                    let (made, of) = (row.made.unwrap(), row.context.unwrap());
                    all += made.len() + of.len();
                    known.insert(made, expand(&of, &known));
                }
                all += written.len();
                assert_eq!(expand(&written, &known), name);
            }
            all
        };
        let (one, two, four) = (bytes(500), bytes(1_000), bytes(2_000));
        assert!(two < 2 * one + one / 10 && four < 2 * two + two / 10, "{one} {two} {four}");
        assert_eq!(ShortNames::default().text("a/b#1".to_owned()), "a/b#1");
    }
}
