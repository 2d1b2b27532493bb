//! The names of a schedule's threads, with shared prefixes stored once. In a chain of forks and posts each name is the
//! previous name and one more part, so the names of n threads as separate texts would take n * n / 2 parts.

use crate::base::Id;
use crate::event::{ContextId, ThreadId};
use crate::world::World;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The number of a name in [`Names`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NameId(u32);

/// The last part of a name, and the name before that part.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Part {
    maker: Option<NameId>,
    text: u32,
}

/// Names, split into their parts at the `/` of a pedigree. Two `Names` are equal if the same names were added in the
/// same order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Names {
    texts: Vec<Arc<str>>,
    parts: Vec<Part>,
    // For each name its number of parts.
    depths: Vec<u32>,
    by_text: BTreeMap<Arc<str>, u32>,
    by_part: BTreeMap<Part, NameId>,
}

/// Number of parts above which a name is deep. Check bytes and messages contain only the last parts of a deep name.
pub(crate) const DEEP: usize = 16;

impl Names {
    fn text(&mut self, text: &str) -> u32 {
        if let Some(known) = self.by_text.get(text) {
            return *known;
        }
        let number = self.texts.len() as u32;
        let text: Arc<str> = Arc::from(text);
        self.texts.push(text.clone());
        self.by_text.insert(text, number);
        number
    }

    /// Returns the name that consists of the creator's name and the part `own`. Adds it if it is new.
    pub(crate) fn add_part(&mut self, maker: Option<NameId>, own: &str) -> NameId {
        let part = Part { maker, text: self.text(own) };
        if let Some(known) = self.by_part.get(&part) {
            return *known;
        }
        let id = NameId(self.parts.len() as u32);
        self.parts.push(part);
        self.depths.push(maker.map_or(1, |maker| self.depths[maker.0 as usize] + 1));
        self.by_part.insert(part, id);
        id
    }

    /// Adds a name given as text. Returns its number.
    pub fn add(&mut self, name: &str) -> NameId {
        let mut at = None;
        for part in name.split('/') {
            at = Some(self.add_part(at, part));
        }
        at.expect("a text has a first part")
    }

    /// Returns the name that consists of the creator's name and the part `own`, if it is known.
    fn find_part(&self, maker: Option<NameId>, own: &str) -> Option<NameId> {
        let text = *self.by_text.get(own)?;
        self.by_part.get(&Part { maker, text }).copied()
    }

    fn last_parts(&self, name: NameId, most: usize) -> String {
        let mut parts: Vec<&str> = Vec::new();
        let mut at = Some(name);
        while let Some(NameId(id)) = at {
            if parts.len() == most {
                parts.push("...");
                break;
            }
            let part = &self.parts[id as usize];
            parts.push(&self.texts[part.text as usize]);
            at = part.maker;
        }
        parts.reverse();
        parts.join("/")
    }

    /// Returns the whole name.
    #[must_use]
    pub fn name(&self, name: NameId) -> String {
        self.last_parts(name, usize::MAX)
    }

    /// Returns the name. A deep name is shortened to its last parts, after `...`.
    #[must_use]
    pub fn short_name(&self, name: NameId) -> String {
        self.last_parts(name, DEEP)
    }

    /// Returns the number of parts of a name.
    pub(crate) fn depth(&self, name: NameId) -> u32 {
        self.depths[name.0 as usize]
    }

    /// Returns the name without its last `parts` parts. `None` if the name has no more than these.
    pub(crate) fn above(&self, name: NameId, parts: u32) -> Option<NameId> {
        (0..parts).try_fold(name, |at, _| self.parts[at.0 as usize].maker)
    }

    /// Returns the last `parts` parts of a name.
    pub(crate) fn end(&self, name: NameId, parts: usize) -> String {
        let all = std::iter::successors(Some(name), |at| self.parts[at.0 as usize].maker);
        let mut texts: Vec<&str> =
            all.take(parts).map(|at| &*self.texts[self.parts[at.0 as usize].text as usize]).collect();
        texts.reverse();
        texts.join("/")
    }

    /// Returns whether a name is deep: it has more parts than [`short_name`](Self::short_name) shows.
    #[must_use]
    pub fn has_deep(&self) -> bool {
        self.depths.iter().any(|depth| *depth as usize > DEEP)
    }

    /// Returns the distinct texts of parts. [`parts`](Self::parts) refers to them by number.
    pub(crate) fn texts(&self) -> impl ExactSizeIterator<Item = &str> {
        self.texts.iter().map(|text| &**text)
    }

    /// Returns every part, in order: the distance back to the part of its creator (0 for none), and the number of its
    /// text.
    pub(crate) fn parts(&self) -> impl ExactSizeIterator<Item = (u32, u32)> {
        let back = |i: usize, part: &Part| part.maker.map_or(0, |maker| i as u32 - maker.0);
        self.parts.iter().enumerate().map(move |(i, part)| (back(i, part), part.text))
    }

    /// Adds a part in the form of [`parts`](Self::parts). `None` if the creator does not exist or the part is not new.
    pub(crate) fn add_back(&mut self, back: u32, own: &str) -> Option<()> {
        let maker = match back {
            0 => None,
            _ => Some(NameId((self.parts.len() as u32).checked_sub(back)?)),
        };
        let new = self.parts.len();
        (self.add_part(maker, own).0 as usize == new).then_some(())
    }

    /// Adds these names of `others`, in their order. Returns their numbers here.
    pub(crate) fn add_all(&mut self, others: &Names, names: impl Iterator<Item = NameId>) -> Vec<NameId> {
        let mut known = vec![None; others.parts.len()];
        let mut ids = Vec::new();
        for name in names {
            let mut way = Vec::new();
            let mut at = Some(name);
            while let Some(id) = at.filter(|id| known[id.0 as usize].is_none()) {
                way.push(id);
                at = others.parts[id.0 as usize].maker;
            }
            let mut made = at.and_then(|id| known[id.0 as usize]);
            for id in way.into_iter().rev() {
                made = Some(self.add_part(made, &others.texts[others.parts[id.0 as usize].text as usize]));
                known[id.0 as usize] = made;
            }
            ids.extend(made);
        }
        ids
    }

    /// Returns the name with this number, if there is one.
    pub(crate) fn at(&self, number: u64) -> Option<NameId> {
        (number < self.parts.len() as u64).then_some(NameId(number as u32))
    }

    /// Returns the number of a name.
    pub(crate) fn number(name: NameId) -> u64 {
        u64::from(name.0)
    }
}

/// The names of the contexts of one run. Each context is looked up once.
#[derive(Clone, Default)]
pub struct ContextNames {
    // For each context its name. `None` if the context was not looked up yet, `Some(None)` if it has no known name.
    contexts: Vec<Option<Option<NameId>>>,
}

impl ContextNames {
    pub(super) fn clear(&mut self) {
        self.contexts.clear();
    }

    /// Returns the name of a thread. Adds it and all its prefixes if they are new.
    pub(super) fn add(&mut self, world: &World, thread: ThreadId, names: &mut Names) -> NameId {
        self.add_context(world, world.thread(thread).home, names)
    }

    /// Returns the name of a context. Adds it and all its prefixes if they are new.
    pub(crate) fn add_context(&mut self, world: &World, context: ContextId, names: &mut Names) -> NameId {
        self.resolve(world, context, |maker, own| Some(names.add_part(maker, own))).expect("a name that was added")
    }

    /// Returns the name of a thread, if it is known.
    pub(super) fn find(&mut self, world: &World, thread: ThreadId, names: &Names) -> Option<NameId> {
        self.resolve(world, world.thread(thread).home, |maker, own| names.find_part(maker, own))
    }

    fn resolve(
        &mut self,
        world: &World,
        context: ContextId,
        mut part: impl FnMut(Option<NameId>, &str) -> Option<NameId>,
    ) -> Option<NameId> {
        let contexts = world.contexts();
        if self.contexts.len() < contexts.len() {
            self.contexts.resize(contexts.len(), None);
        }
        // Go from the context up to a known ancestor, then down again and resolve the names on the way.
        let mut way: Vec<ContextId> = Vec::new();
        let mut at = Some(context);
        while let Some(context) = at.filter(|c| self.contexts[c.index()].is_none()) {
            way.push(context);
            at = contexts.naming_parent(context);
        }
        let mut name = at.map(|context| self.contexts[context.index()].flatten());
        for context in way.into_iter().rev() {
            let own = || contexts.own_name(world.setup(), context);
            let of = match name {
                None => part(None, &own()),
                Some(maker) => maker.and_then(|maker| part(Some(maker), &own())),
            };
            self.contexts[context.index()] = Some(of);
            name = Some(of);
        }
        name.flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_share_what_they_begin_with() {
        let mut names = Names::default();
        let texts = ["t", "t/a#1/b#1", "t/a#1", "", "/", "t/a#1/b#2", "a//b"];
        let ids: Vec<NameId> = texts.iter().map(|t| names.add(t)).collect();
        for (id, text) in ids.iter().zip(texts) {
            assert_eq!(names.name(*id), text);
            assert_eq!(names.add(text), *id);
        }
        let mut again = Names::default();
        let own: Vec<String> = names.texts().map(str::to_owned).collect();
        for (back, text) in names.parts() {
            assert_eq!(again.add_back(back, &own[text as usize]), Some(()));
        }
        assert_eq!(again, names);
        assert_eq!((again.add_back(0, "t"), again.add_back(100, "x")), (None, None));
        let deep = names.add(&["p"; DEEP + 1].join("/"));
        assert!(names.has_deep() && names.short_name(deep) == format!(".../{}", ["p"; DEEP].join("/")));
    }
}
