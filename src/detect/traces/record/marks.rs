//! What recorded accesses do to references (CAFA, section 4): uses, tests, guards and frees.
//!
//! The check of the program has found which reads are uses, which are tested, and which tests guard a use on every way
//! to it. Here a guard is the read that the same task has performed.

use super::TraceRecorder;
use crate::base::Id;
use crate::event::{AccessKind, NULL, Op, SiteId, SiteKind, Value};
use crate::trace::{Action, Mark, OpNo, SiteNo, TaskNo, ThreadNo};
use crate::world::World;
use std::collections::BTreeMap;

/// The tested reads that have come out as "not null".
#[derive(Default)]
pub(super) struct Tests {
    // The last one of each site on each thread, with the task that has performed it.
    last: BTreeMap<(ThreadNo, SiteId), (Option<TaskNo>, OpNo)>,
    // Whether the program frees objects. Known from the first access to the life of an object on.
    deletes: Option<bool>,
}

impl TraceRecorder {
    /// Records an access with its mark.
    pub(super) fn push_access(&mut self, thread: ThreadNo, access: Action, mark: Mark, site: SiteNo) {
        // The world performs no operation that a trace refuses.
        let pushed = self.builder.push_marked(thread, access, mark, site, 0);
        debug_assert!(pushed.is_ok(), "{pushed:?}");
    }

    /// Returns the mark of an access to the life of an object: it uses or frees the object. Nothing is marked if no
    /// statement of the program frees an object.
    pub(super) fn life_mark(&mut self, world: &World, kind: AccessKind) -> Mark {
        let deletes = || world.setup().sites.iter().any(|site| site.kind == SiteKind::Free);
        if !*self.tests.deletes.get_or_insert_with(deletes) {
            return Mark::default();
        }
        Mark { uses: kind == AccessKind::Read, frees: kind == AccessKind::Write, ..Mark::default() }
    }

    /// Returns the mark of the access to a cell that is recorded next. `value` is the value of its operation.
    pub(super) fn mark(
        &mut self,
        world: &World,
        thread: ThreadNo,
        (op, value): (&Op, Value),
        kind: AccessKind,
    ) -> Mark {
        let Some(here) = self.here else { return Mark::default() };
        let uses = &world.setup().uses;
        if kind == AccessKind::Write {
            let frees = written(op) == Some(NULL) && uses.writes_reference(here);
            return Mark { frees, ..Mark::default() };
        }
        let Some(row) = uses.of(here) else { return Mark::default() };
        let (task, this) = (self.builder.running(thread), OpNo::new(self.builder.len()));
        // A test that fails guards nothing that follows. An inner call of the same body may have performed it.
        if row.tested && value != NULL {
            self.tests.last.insert((thread, here), (task, this));
        }
        let performed = |guard: &SiteId| match self.tests.last.get(&(thread, *guard)) {
            _ if *guard == here => Some(this),
            Some((of, op)) if *of == task => Some(*op),
            _ => None,
        };
        Mark {
            uses: row.derefs,
            tested: row.tested,
            guard: row.guards.iter().filter_map(performed).max(),
            frees: false,
        }
    }
}

// The value that an operation writes, if it writes one.
fn written(op: &Op) -> Option<Value> {
    match *op {
        Op::Write(_, value) | Op::AtomicWrite(_, value) | Op::Exchange(_, value) | Op::Cas { new: value, .. } => {
            Some(value)
        }
        _ => None,
    }
}
