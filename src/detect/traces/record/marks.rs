//! The marks of recorded accesses: what they do to references.

use super::TraceRecorder;
use crate::base::Id;
use crate::detect::relation::references::References;
use crate::event::{AccessKind, Op, SiteKind, Value};
use crate::trace::{Action, Mark, OpNo, SiteNo, TaskNo, ThreadNo};
use crate::world::World;

/// What the recorder knows for marks.
#[derive(Clone, Default, Debug)]
pub(super) struct Tests {
    references: References<ThreadNo, Option<TaskNo>, OpNo>,
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
        let (task, this) = (self.builder.running(thread), OpNo::new(self.builder.len()));
        let (mark, guard) = self.tests.references.mark(world, (thread, task), here, (op, value), (kind, this));
        Mark { guard, ..mark }
    }
}
