//! Pedigrees: threads, tasks and objects are named by who made them and the how-manieth of its kind that was, never by a global count, so that a name means the same in every run.

use super::Setup;
use crate::base::Pool;
use crate::event::{BodyId, ContextId, EventId, ThreadId};
use smallvec::SmallVec;

/// What was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Made {
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
    /// An object of this class.
    Class(u32),
}

/// All contexts of one run.
#[derive(Default)]
pub struct Contexts {
    all: Pool<ContextId, Context>,
    // How often each event has fired.
    fired: Vec<(EventId, u32)>,
}

crate::clone_in_place!(Contexts { all, fired });

struct Context {
    parent: Option<ContextId>,
    made: Made,
    nth: u32,
    counts: SmallVec<[(Made, u32); 2]>,
}

crate::clone_in_place!(Context { parent, made, nth, counts });

impl Default for Context {
    fn default() -> Self {
        Self { parent: None, made: Made::Init, nth: 0, counts: SmallVec::new() }
    }
}

impl Contexts {
    /// Forgets all, keeping the room.
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.fired.clear();
    }

    /// A context without creator: a declared thread, or the next firing of an event.
    pub(super) fn root(&mut self, made: Made) -> ContextId {
        let nth = match made {
            Made::Event(event) => match self.fired.iter_mut().find(|(e, _)| *e == event) {
                Some((_, n)) => {
                    *n += 1;
                    *n
                }
                None => {
                    self.fired.push((event, 1));
                    1
                }
            },
            _ => 1,
        };
        self.add(None, made, nth)
    }

    fn add(&mut self, parent: Option<ContextId>, made: Made, nth: u32) -> ContextId {
        self.all.add(|c| {
            (c.parent, c.made, c.nth) = (parent, made, nth);
            c.counts.clear();
        })
    }

    /// Counts one more `made` by `parent`: from 1.
    pub(super) fn count(&mut self, parent: ContextId, made: Made) -> u32 {
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

    /// A context that `parent` makes.
    pub(super) fn child(&mut self, parent: ContextId, made: Made) -> ContextId {
        let nth = self.count(parent, made);
        self.add(Some(parent), made, nth)
    }

    /// Its creator; `None` for declared threads and for firings.
    #[must_use]
    pub fn parent(&self, context: ContextId) -> Option<ContextId> {
        self.all[context].parent
    }

    /// What it is.
    #[must_use]
    pub fn made(&self, context: ContextId) -> Made {
        self.all[context].made
    }

    /// The how-manieth of its kind it is that its creator has made, from 1.
    #[must_use]
    pub fn nth(&self, context: ContextId) -> u32 {
        self.all[context].nth
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// About how many bytes they take.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.all) + size_of_val(&*self.fired)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// What was made, and the how-manieth of its kind it was, from the outermost maker on.
    #[must_use]
    pub fn chain(&self, context: ContextId) -> Vec<(Made, u32)> {
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

    /// Whether the context is the one of this [`chain`](Self::chain).
    #[must_use]
    pub fn is(&self, context: ContextId, chain: &[(Made, u32)]) -> bool {
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

    /// The context that `parent` made as its `nth` of this kind, if it has.
    #[must_use]
    pub fn find(&self, parent: Option<ContextId>, made: Made, nth: u32) -> Option<ContextId> {
        let is = |c: &Context| c.parent == parent && c.made == made && c.nth == nth;
        self.all.enumerate().find(|(_, c)| is(c)).map(|(id, _)| id)
    }

    /// The context of this [`name`](Self::name), if it is there.
    #[must_use]
    pub fn named(&self, setup: &Setup, name: &str) -> Option<ContextId> {
        self.all.enumerate().map(|(id, _)| id).find(|id| self.is_named(setup, *id, name))
    }

    /// Whether a context has this [`name`](Self::name), without making the names of all that have not.
    #[must_use]
    pub fn is_named(&self, setup: &Setup, context: ContextId, name: &str) -> bool {
        let line = || std::iter::successors(Some(context), |at| self.all[*at].parent);
        let parts = || name.rsplit('/');
        line().count() == parts().count() && line().zip(parts()).all(|(at, part)| self.own_name(setup, at) == part)
    }

    /// How many of this kind `parent` has made.
    #[must_use]
    pub fn counted(&self, parent: Option<ContextId>, made: Made) -> u32 {
        let of = |counts: &[(Made, u32)]| counts.iter().find(|(m, _)| *m == made).map_or(0, |(_, n)| *n);
        match (parent, made) {
            (Some(parent), _) => of(&self.all[parent].counts),
            (None, Made::Event(event)) => self.fired.iter().find(|(e, _)| *e == event).map_or(0, |(_, n)| *n),
            (None, _) => 0,
        }
    }

    /// What a context has made, with how many of each kind, in no order that means anything.
    pub fn makes(&self, context: ContextId) -> impl Iterator<Item = (Made, u32)> {
        self.all[context].counts.iter().copied()
    }

    /// The pedigree of a context: `binder/launch#1/download#1`.
    #[must_use]
    pub fn name(&self, setup: &Setup, context: ContextId) -> String {
        self.last_parts(setup, context, usize::MAX)
    }

    /// The pedigree for a list of steps: of a long one (each tick of a timer makes the next) only the end, after `...`.
    #[must_use]
    pub fn short_name(&self, setup: &Setup, context: ContextId) -> String {
        self.last_parts(setup, context, 8)
    }

    /// The pedigree; of one with more parts than `most` only the end, after `...`.
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
            at = self.all[id].parent;
        }
        parts.reverse();
        parts.join("/")
    }

    /// The pedigree for a text that tells it from others by what stands at its ends: of a deep one the first part and the last three, `t/…/fetched#1/tick#1/fetch#1`.
    #[must_use]
    pub fn elided_name(&self, setup: &Setup, context: ContextId) -> String {
        const MOST: usize = 16;
        let line: Vec<ContextId> = std::iter::successors(Some(context), |at| self.all[*at].parent).collect();
        if line.len() <= MOST {
            return self.name(setup, context);
        }
        let part = |at: usize| self.own_name(setup, line[at]);
        format!("{}/…/{}/{}/{}", part(line.len() - 1), part(2), part(1), part(0))
    }

    /// The last part of the pedigree: `download#1`.
    #[must_use]
    pub fn own_name(&self, setup: &Setup, context: ContextId) -> String {
        let c = &self.all[context];
        match c.made {
            Made::Declared(thread) => setup.threads[thread].name.clone(),
            Made::Init => "init-block".to_owned(),
            Made::Event(event) => format!("{}#{}", setup.events[event].name, c.nth),
            Made::Body(body) => format!("{}#{}", setup.bodies[body], c.nth),
            Made::Looper => format!("spawned-looper#{}", c.nth),
            Made::Class(class) => format!("{}#{}", setup.classes[class as usize].0, c.nth),
        }
    }
}
