//! The critical sections of a trace, as a model can have them: each begins and ends in one context.

use super::contexts::{ContextNo, Contexts};
use crate::trace::{Action, LockNo, OpNo, Trace};
use std::collections::{BTreeMap, BTreeSet};

/// A section of a lock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section {
    pub(super) lock: LockNo,
    pub(super) context: ContextNo,
    pub(super) acquire: OpNo,
    /// The release; `None` if the context has none.
    pub(super) release: Option<OpNo>,
}

/// The sections of a trace.
#[derive(Default)]
pub(super) struct Sections {
    list: Vec<Section>,
    /// Releases of sections that another context of the thread has begun.
    pub(super) lone: Vec<OpNo>,
    /// Number of sections that have no release in their context.
    pub(super) open: u64,
    /// Receives that are the waits of monitors, with the locks that are held there: the wait gives them up. `true` if
    /// the lock is taken again behind the wait.
    ///
    /// A log of a real app has `WAIT` and does not say which monitor it gives up, and that it does. A trace of a run
    /// has releases and acquisitions of their own for a wait, and statements.
    pub(super) waits: BTreeMap<OpNo, Vec<(OpNo, bool)>>,
    /// Sections that last to the end of their context.
    pub(super) to_the_end: BTreeSet<OpNo>,
}

impl Sections {
    pub(super) fn new(trace: &Trace, contexts: &Contexts) -> Self {
        let mut found = Self::default();
        let is_log = trace.sites.is_empty();
        for (context, about) in contexts.list.enumerate() {
            let mut open: Vec<Section> = Vec::new();
            let mut receives: Vec<OpNo> = Vec::new();
            let mut ended: Vec<Section> = Vec::new();
            for op in about.ops.iter().copied() {
                match trace.ops[op].action {
                    Action::Acquire(lock) => open.push(Section { lock, context, acquire: op, release: None }),
                    Action::Release(lock) => match open.iter().rposition(|section| section.lock == lock) {
                        Some(at) => ended.push(Section { release: Some(op), ..open.remove(at) }),
                        None => found.lone.push(op),
                    },
                    Action::Receive(_) if is_log => receives.push(op),
                    _ => {}
                }
            }
            for receive in receives {
                for section in &ended {
                    if section.acquire < receive && section.release.is_some_and(|release| receive < release) {
                        found.waits.entry(receive).or_default().push((section.acquire, true));
                    }
                }
                // A section without a release ends with its first wait: the log does not show that the wait has taken
                // the lock again.
                let (here, rest): (Vec<Section>, Vec<Section>) =
                    open.into_iter().partition(|section| section.acquire < receive);
                found.open += here.len() as u64;
                for section in here {
                    found.waits.entry(receive).or_default().push((section.acquire, false));
                    found.list.push(section);
                }
                open = rest;
            }
            found.open += open.len() as u64;
            found.to_the_end.extend(open.iter().map(|section| section.acquire));
            found.list.extend(open);
            found.list.extend(ended);
        }
        found.list.sort_by_key(|section| section.acquire);
        found
    }

    /// Returns all sections, in the order of their acquisitions.
    pub(super) fn all(&self) -> impl Iterator<Item = Section> {
        self.list.iter().copied()
    }
}
