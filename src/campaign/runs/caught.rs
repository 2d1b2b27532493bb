//! Watches the exceptions of references that the app catches. They are no failures of the app (CAFA, section 6.2), and
//! reports tell them.

use crate::event::{Event, EventKind, SiteId, ThreadId};
use crate::exec::Observer;
use crate::world::{REFERENCE_EXCEPTIONS, World};
use std::collections::{BTreeMap, BTreeSet};

/// An exception that the app has caught: its name, and the statement that threw it.
pub(in crate::campaign) type CaughtException = (String, SiteId);

/// Observer of a run.
#[derive(Default)]
pub(in crate::campaign) struct CaughtWatch {
    // Exceptions in flight. What a thread does next tells whether a handler has caught it.
    thrown: BTreeMap<ThreadId, CaughtException>,
    caught: BTreeSet<CaughtException>,
}

impl CaughtWatch {
    /// Returns the exceptions that were caught in the run.
    pub(in crate::campaign) fn finish(self) -> BTreeSet<CaughtException> {
        self.caught
    }
}

impl Observer for CaughtWatch {
    fn event(&mut self, world: &World, event: &Event) {
        let Some(thread) = event.thread else { return };
        match &event.what {
            EventKind::Thrown(name) if REFERENCE_EXCEPTIONS.contains(&name.as_str()) => {
                if let Some(site) = event.site {
                    self.thrown.insert(thread, (name.clone(), site));
                }
            }
            // The exception ends the thread.
            EventKind::ThreadExit if world.setup().uncaught_ends_thread => _ = self.thrown.remove(&thread),
            EventKind::Performed { .. } | EventKind::End | EventKind::ThreadExit => {
                self.caught.extend(self.thrown.remove(&thread));
            }
            _ => {}
        }
    }
}
