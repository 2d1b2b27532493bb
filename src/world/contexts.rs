//! Pedigrees: names of threads, tasks and objects that mean the same in every run.
//!
//! A name consists of the creator, the kind, and the ordinal among the things of that kind that the creator has
//! created. It never contains a global count.

use super::Setup;
use crate::base::Pool;
use crate::event::{BodyId, ComponentId, ContextId, EventId, ThreadId};
use smallvec::SmallVec;

/// Kind of a thing that has been created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CreationKind {
    /// A thread that starts with the app.
    Declared(ThreadId),
    /// The pseudo-thread of `init`.
    Init,
    /// A firing of an event.
    Event(EventId),
    /// A task or forked thread that runs this body.
    Body(BodyId),
    /// A spawned looper.
    Looper,
    /// A spawned scope.
    Scope,
    /// An object of this class.
    Class(u32),
    /// An instance of this component. It runs nothing; the firings of its rows are created by it.
    Instance(ComponentId),
}

/// All contexts (threads, tasks and firings) of one run.
#[derive(Default)]
pub struct Contexts {
    all: Pool<ContextId, ContextRecord>,
    // Number of things of each kind without a creator so far: firings of events, and instances.
    counts: Vec<(CreationKind, u32)>,
}

crate::clone_in_place!(Contexts { all, counts });

struct ContextRecord {
    parent: Option<ContextId>,
    made: CreationKind,
    nth: u32,
    counts: SmallVec<[(CreationKind, u32); 2]>,
}

crate::clone_in_place!(ContextRecord { parent, made, nth, counts });

impl Default for ContextRecord {
    fn default() -> Self {
        Self { parent: None, made: CreationKind::Init, nth: 0, counts: SmallVec::new() }
    }
}

impl Contexts {
    /// Removes all contexts. Keeps allocated memory.
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.counts.clear();
    }

    /// Removes all contexts but the first ones.
    pub(super) fn keep(&mut self, first: usize) {
        self.all.truncate(first);
    }

    /// Adds a context without a creator: a declared thread, the thread of `init`, the next firing of an event, or an
    /// instance.
    pub(super) fn root(&mut self, made: CreationKind) -> ContextId {
        let nth = match made {
            CreationKind::Event(_) | CreationKind::Instance(_) => {
                match self.counts.iter_mut().find(|(m, _)| *m == made) {
                    Some((_, n)) => {
                        *n += 1;
                        *n
                    }
                    None => {
                        self.counts.push((made, 1));
                        1
                    }
                }
            }
            _ => 1,
        };
        self.add(None, made, nth)
    }

    fn add(&mut self, parent: Option<ContextId>, made: CreationKind, nth: u32) -> ContextId {
        self.all.add(|c| {
            (c.parent, c.made, c.nth) = (parent, made, nth);
            c.counts.clear();
        })
    }

    /// Counts one more `made` of `parent`, and returns its ordinal, from 1.
    pub(super) fn count(&mut self, parent: ContextId, made: CreationKind) -> u32 {
        let counts = &mut self.all[parent].counts;
        match counts.iter_mut().find(|(m, _)| *m == made) {
            Some((_, n)) => {
                *n += 1;
                *n
            }
            None => {
                counts.push((made, 1));
                1
            }
        }
    }

    /// Adds a context that `parent` creates.
    pub(super) fn child(&mut self, parent: ContextId, made: CreationKind) -> ContextId {
        let nth = self.count(parent, made);
        self.add(Some(parent), made, nth)
    }

    /// Returns the creator of a context. `None` for declared threads, the thread of `init`, and firings.
    #[must_use]
    pub fn parent(&self, context: ContextId) -> Option<ContextId> {
        self.all[context].parent
    }

    /// Returns the instance of a component that has created a context, if it is the firing of a row.
    pub(super) fn instance_of(&self, context: ContextId) -> Option<ContextId> {
        let is_firing = matches!(self.made(context), CreationKind::Event(_));
        self.parent(context).filter(|parent| is_firing && matches!(self.made(*parent), CreationKind::Instance(_)))
    }

    /// Returns the context whose name comes before the [`own_name`](Self::own_name) of a context: its creator. The own
    /// name of a firing of a row contains that of its instance, so for such a firing it is the creator of the instance.
    #[must_use]
    pub fn naming_parent(&self, context: ContextId) -> Option<ContextId> {
        self.parent(self.instance_of(context).unwrap_or(context))
    }

    // The last part of the name of a row of an instance: `Player#1.hide`.
    fn row_name(&self, setup: &Setup, instance: ContextId, row: EventId) -> String {
        let name = setup.platform.row(row).map_or("", |row| row.name.as_str());
        format!("{}.{name}", self.own_name(setup, instance))
    }

    /// Returns the kind of a context.
    #[must_use]
    pub fn made(&self, context: ContextId) -> CreationKind {
        self.all[context].made
    }

    /// Returns the ordinal of a context among those of its kind that its creator has created, from 1.
    #[must_use]
    pub fn nth(&self, context: ContextId) -> u32 {
        self.all[context].nth
    }

    /// Returns the number of contexts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the approximate size of all contexts in bytes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.all) + size_of_val(&*self.counts)
    }

    /// Returns whether there is no context.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the kind and ordinal of a context and of all its creators, outermost creator first.
    #[must_use]
    pub fn chain(&self, context: ContextId) -> Vec<(CreationKind, u32)> {
        let mut chain = Vec::new();
        let mut at = Some(context);
        while let Some(id) = at {
            let c = &self.all[id];
            chain.push((c.made, c.nth));
            at = c.parent;
        }
        chain.reverse();
        chain
    }

    /// Returns whether a context has this [`chain`](Self::chain).
    #[must_use]
    pub fn is(&self, context: ContextId, chain: &[(CreationKind, u32)]) -> bool {
        let mut at = Some(context);
        for (made, nth) in chain.iter().rev() {
            let Some(c) = at.map(|id| &self.all[id]) else { return false };
            if c.made != *made || c.nth != *nth {
                return false;
            }
            at = c.parent;
        }
        at.is_none()
    }

    /// Returns the `nth` context of this kind that `parent` created. `None` if there is none yet.
    #[must_use]
    pub fn find(&self, parent: Option<ContextId>, made: CreationKind, nth: u32) -> Option<ContextId> {
        let is = |c: &ContextRecord| c.parent == parent && c.made == made && c.nth == nth;
        self.all.enumerate().find(|(_, c)| is(c)).map(|(id, _)| id)
    }

    /// Returns the context with this [`name`](Self::name). `None` if there is none yet.
    #[must_use]
    pub fn named(&self, setup: &Setup, name: &str) -> Option<ContextId> {
        self.all.enumerate().map(|(id, _)| id).find(|id| self.is_named(setup, *id, name))
    }

    /// Returns whether a context has this [`name`](Self::name). It compares part by part, without building the whole
    /// name.
    #[must_use]
    pub fn is_named(&self, setup: &Setup, context: ContextId, name: &str) -> bool {
        let line = || std::iter::successors(Some(context), |at| self.naming_parent(*at));
        let parts = || name.rsplit('/');
        line().count() == parts().count() && line().zip(parts()).all(|(at, part)| self.own_name(setup, at) == part)
    }

    /// Returns the number of things of this kind that `parent` has created. Without a parent, only firings of events
    /// and instances are counted.
    #[must_use]
    pub fn counted(&self, parent: Option<ContextId>, made: CreationKind) -> u32 {
        let of = |counts: &[(CreationKind, u32)]| counts.iter().find(|(m, _)| *m == made).map_or(0, |(_, n)| *n);
        match (parent, made) {
            (Some(parent), _) => of(&self.all[parent].counts),
            (None, _) => of(&self.counts),
        }
    }

    /// Returns the kinds of things that a context has created, each with their number, in no meaningful order.
    pub fn makes(&self, context: ContextId) -> impl Iterator<Item = (CreationKind, u32)> {
        self.all[context].counts.iter().copied()
    }

    /// Returns the pedigree of a context: `binder/launch#1/download#1`.
    #[must_use]
    pub fn name(&self, setup: &Setup, context: ContextId) -> String {
        self.last_parts(setup, context, usize::MAX)
    }

    /// Returns the pedigree for a list of steps. If it has more than 8 parts (if each tick of a timer posts the next
    /// one, for example), returns only the last 8, after `...`.
    #[must_use]
    pub fn short_name(&self, setup: &Setup, context: ContextId) -> String {
        self.last_parts(setup, context, 8)
    }

    /// Returns the pedigree. If it has more than `most` parts, returns only the last ones, after `...`.
    #[must_use]
    pub fn last_parts(&self, setup: &Setup, context: ContextId, most: usize) -> String {
        let mut parts = Vec::new();
        let mut at = Some(context);
        while let Some(id) = at {
            if parts.len() == most {
                parts.push("...".to_owned());
                break;
            }
            parts.push(self.own_name(setup, id));
            at = self.naming_parent(id);
        }
        parts.reverse();
        parts.join("/")
    }

    /// Returns the pedigree for a text that distinguishes contexts by the ends of their names. If it has more than 16
    /// parts, returns the first part and the last three, `t/…/fetched#1/tick#1/fetch#1`.
    #[must_use]
    pub fn elided_name(&self, setup: &Setup, context: ContextId) -> String {
        const MOST: usize = 16;
        let line: Vec<ContextId> = std::iter::successors(Some(context), |at| self.naming_parent(*at)).collect();
        if line.len() <= MOST {
            return self.name(setup, context);
        }
        let part = |at: usize| self.own_name(setup, line[at]);
        format!("{}/…/{}/{}/{}", part(line.len() - 1), part(2), part(1), part(0))
    }

    /// Returns the last part of the pedigree: `download#1`, `Player#1.hide#2`.
    #[must_use]
    pub fn own_name(&self, setup: &Setup, context: ContextId) -> String {
        let c = &self.all[context];
        match c.made {
            CreationKind::Declared(thread) => setup.threads[thread].name.clone(),
            CreationKind::Init => "init-block".to_owned(),
            CreationKind::Event(event) => match c.parent {
                Some(instance) => format!("{}#{}", self.row_name(setup, instance, event), c.nth),
                None => format!("{}#{}", setup.events[event].name, c.nth),
            },
            CreationKind::Body(body) => format!("{}#{}", setup.bodies[body], c.nth),
            CreationKind::Looper => format!("spawned-looper#{}", c.nth),
            CreationKind::Scope => format!("scope#{}", c.nth),
            CreationKind::Class(class) => format!("{}#{}", setup.classes[class as usize].0, c.nth),
            CreationKind::Instance(component) => format!("{}#{}", setup.platform.components[component].name, c.nth),
        }
    }
}
