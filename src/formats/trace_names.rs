//! Names in a trace. Where each task makes the next, each name is longer than the one before; so a deep name is written as the end of one that a row has told,
//! and all names of a run take room in proportion to its length.

use super::trace::Row;
use crate::event::ContextId;
use crate::sched::{ContextNames, NameId, Names};
use crate::world::World;
use std::collections::BTreeMap;

/// The kind of a row that tells what a short form stands for.
pub(super) const NAME: &str = "name";

// Parts of a name that are written out.
const PARTS: u32 = 16;

/// The names that were written.
#[derive(Default)]
pub(super) struct Short {
    names: Names,
    contexts: ContextNames,
    forms: BTreeMap<NameId, usize>,
    // What the next row needs.
    told: Vec<Row>,
}

impl Short {
    /// The name of a context.
    pub(super) fn context(&mut self, world: &World, context: ContextId) -> String {
        let name = self.contexts.add_context(world, context, &mut self.names);
        self.written(name)
    }

    /// A name as a text.
    pub(super) fn text(&mut self, name: String) -> String {
        if name.split('/').count() <= PARTS as usize {
            return name;
        }
        let name = self.names.add(&name);
        self.written(name)
    }

    /// The rows that say what the short forms stand for that were written since.
    pub(super) fn told(&mut self) -> Vec<Row> {
        std::mem::take(&mut self.told)
    }

    fn written(&mut self, name: NameId) -> String {
        // The names at every 16th part above it that have no short form yet.
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
            self.told.push(Row { kind, made: Some(format!("~{number}")), context: Some(stands_for), ..Row::default() });
        }
        self.form(name)
    }

    // The name that this one is written after.
    fn base(&self, name: NameId) -> Option<NameId> {
        let depth = self.names.depth(name);
        let kept = (depth - 1) % PARTS + 1;
        (depth > PARTS).then(|| self.names.above(name, kept)).flatten()
    }

    // With a short form of its base, if it has one.
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

    /// Names of a chain take as much more room as there are more of them, and can be told from the rows.
    #[test]
    fn a_chain_takes_room_in_proportion() {
        let bytes = |n: usize| {
            let (mut short, mut all, mut known) = (Short::default(), 0, BTreeMap::new());
            let mut name = "t".to_owned();
            for i in 0..n {
                name.push_str(if i % 2 == 0 { "/tick#1" } else { "/work#1" });
                let written = short.text(name.clone());
                let expand = |text: &str, known: &BTreeMap<String, String>| match text.split_once('/') {
                    Some((first, rest)) if first.starts_with('~') => format!("{}/{rest}", known[first]),
                    _ => text.to_owned(),
                };
                for row in short.told() {
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
        assert_eq!(Short::default().text("a/b#1".to_owned()), "a/b#1");
    }
}
