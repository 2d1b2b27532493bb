//! Platform memory in the canonical state.

use super::canonical::Part;
use super::platform::{Progress, Request};
use super::snapshot::{CanonicalWriter, Snapshot};
use crate::event::RequestId;

impl CanonicalWriter<'_> {
    /// Writes a request by its place: among the requests that wait for a row, or among the messages of a row. All
    /// requests that are through are equal, apart from their withdrawal.
    pub(super) fn request(&mut self, id: RequestId) {
        let platform = self.world.known_platform();
        let Request { progress, withdrawn, .. } = platform.requests[id];
        self.word(progress as u64 | u64::from(withdrawn) << 2);
        match progress {
            Progress::Through => {}
            Progress::Fired => self.word(platform.firing_number(|f| f.request == Some(id))),
            Progress::Waits => {
                platform.waiting_at(id).into_iter().flatten().for_each(|w| self.word(w));
            }
        }
    }

    /// Writes platform memory. Instances are in the order of their creation, so their numbers do not depend on the way
    /// to a state. What follows from the rest is left out: the open rows, and which conditions hold.
    pub(super) fn platform<G: Snapshot>(&mut self, guest: &G) {
        let world = self.world;
        let Some(platform) = world.platform() else { return };
        let setup = &world.setup.platform;
        for (value, (_, kind)) in platform.states.iter().zip(&setup.states) {
            self.value(*kind, *value);
        }
        self.word(platform.instances.len() as u64);
        for instance in platform.instances.iter() {
            let of = &setup.components[instance.component];
            self.object(instance.object);
            self.word(u64::from(instance.stage));
            self.word(instance.target.map_or(0, |target| 1 + u64::from(target)));
            self.values(&of.params, &instance.params);
            for (value, (_, kind)) in instance.fields.iter().zip(&of.fields) {
                self.value(*kind, *value);
            }
            for (row, event) in instance.rows.iter().zip(&of.rows) {
                let most = setup.row(*event).and_then(|row| row.at_most).unwrap_or(0);
                self.word(u64::from(row.fired.min(most)));
                self.word(row.waiting.len() as u64);
                let kinds = guest.parameter_kinds(world.setup.events[*event].body);
                for request in &row.waiting {
                    self.values(kinds, world.args(platform.requests[*request].args));
                }
            }
        }
        self.word(platform.under_way.len() as u64);
        for firing in platform.firings() {
            let withdrawn = firing.request.is_some_and(|request| platform.requests[request].withdrawn);
            [u64::from(firing.instance.0), u64::from(firing.row.0), u64::from(withdrawn)]
                .into_iter()
                .for_each(|w| self.word(w));
        }
        self.room.part(Part::Platform);
    }
}
