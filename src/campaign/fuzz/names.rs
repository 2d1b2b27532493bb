//! Statements and locations that programs with other values of their constants have in common.
//!
//! Such programs are one model, but their sites and cells have other numbers: constants decide which code is left and
//! how large an array is. A statement is the same in two programs if it is the same operation at the same place of the
//! text. A location is the same if it has the same name; what a run creates is the same if it is created as the same
//! one in order.

use super::shown::{ReadPair, Visitor};
use crate::base::{Id, IndexVec};
use crate::event::{BodyId, EventId, SiteId};
use crate::world::{Setup, Statement, StatementKind, TouchedPlace};
use indexmap::{IndexMap, IndexSet};
use std::collections::BTreeMap;
use std::sync::Arc;
use xxhash_rust::xxh3::{Xxh3Builder, xxh3_64};

// What a site is in all programs: line, column, word of its kind, place, and its number among those that are alike.
type SiteKey = (u32, u32, &'static str, String, u32);

/// The statements of all programs so far.
#[derive(Default)]
pub(super) struct CommonNames {
    // Its sites, bodies and events are those of all programs. It has nothing else.
    setup: Setup,
    sites: IndexSet<SiteKey, Xxh3Builder>,
    events: IndexSet<String, Xxh3Builder>,
}

/// How the numbers of one program and those of all programs translate into each other.
#[derive(Default)]
pub(super) struct NameMap {
    sites: IndexVec<SiteId, SiteId>,
    events: IndexVec<EventId, EventId>,
    sites_back: BTreeMap<SiteId, SiteId>,
    events_back: BTreeMap<EventId, EventId>,
    // By kind, the common number of each location that the program declares.
    places: BTreeMap<u32, Vec<u32>>,
    places_back: BTreeMap<(u32, u32), u32>,
}

// A location that a run creates has this bit, and its number among those of its kind. The others have the digest of
// their name.
const CREATED: u32 = 1 << 31;

impl CommonNames {
    /// Returns the declarations to which common statements refer.
    pub(super) fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Adds the statements of a program, and returns how they translate.
    pub(super) fn add(&mut self, setup: &Setup) -> NameMap {
        let mut map = NameMap::default();
        let mut alike: IndexMap<(u32, u32, &'static str, &str), u32, Xxh3Builder> = IndexMap::default();
        for (id, site) in setup.sites.enumerate() {
            let word = site.kind.word();
            let number = alike.entry((site.line, site.column, word, &site.place)).or_default();
            *number += 1;
            let (index, is_new) = self.sites.insert_full((site.line, site.column, word, site.place.clone(), *number));
            let common = SiteId(index as u32);
            if is_new {
                let body = self.body(setup.bodies.get(site.body.index()).map_or("", String::as_str));
                self.setup.sites.add(crate::event::Site { body, calls: Vec::new(), ..site.clone() });
            }
            map.sites.add(common);
            map.sites_back.insert(common, id);
        }
        for (id, event) in setup.events.enumerate() {
            let (index, is_new) = self.events.insert_full(event.name.clone());
            let common = EventId(index as u32);
            if is_new {
                let body = self.body(setup.bodies.get(event.body.index()).map_or("", String::as_str));
                self.setup.events.add(crate::world::EventSetup { body, ..event.clone() });
            }
            map.events.add(common);
            map.events_back.insert(common, id);
        }
        for (kind, names) in declared(setup) {
            let commons: Vec<u32> = names.iter().map(|name| xxh3_64(name.as_bytes()) as u32 & !CREATED).collect();
            map.places_back.extend((0..).zip(&commons).map(|(local, common)| ((kind, *common), local)));
            map.places.insert(kind, commons);
        }
        map
    }

    // Returns the common body of this name.
    fn body(&mut self, name: &str) -> BodyId {
        let known = self.setup.bodies.iter().position(|known| known == name);
        known.map_or_else(|| self.setup.bodies.add(name.to_owned()), |index| BodyId(index as u32))
    }
}

// Returns the names of the locations that a program declares, by the number of their kind. Kinds of which it declares
// none are left out.
fn declared(setup: &Setup) -> Vec<(u32, Vec<String>)> {
    let locks: Vec<String> = setup.locks.iter().map(|(name, _)| name.clone()).collect();
    let conditions = setup.conditions.clone();
    let all = [
        (TouchedPlace::Cell(0), setup.cell_names.clone()),
        (TouchedPlace::Lock(Id::new(0)), locks.clone()),
        (TouchedPlace::RwLock(Id::new(0)), setup.rwlocks.iter().map(|(name, _)| name.clone()).collect()),
        (TouchedPlace::Semaphore(Id::new(0)), setup.semaphores.iter().map(|(name, _)| name.clone()).collect()),
        (TouchedPlace::Barrier(Id::new(0)), setup.barriers.iter().map(|(name, _)| name.clone()).collect()),
        (TouchedPlace::Group(Id::new(0)), setup.groups.clone()),
        (TouchedPlace::Channel(Id::new(0)), setup.channels.iter().map(|channel| channel.name.clone()).collect()),
        (TouchedPlace::LockWaits(Id::new(0)), locks),
        (TouchedPlace::ConditionWaits(Id::new(0)), conditions),
        (TouchedPlace::Queue(Id::new(0)), setup.threads.iter().map(|thread| thread.name.clone()).collect()),
        (TouchedPlace::Event(Id::new(0)), setup.events.iter().map(|event| event.name.clone()).collect()),
        (TouchedPlace::Listener(Id::new(0)), setup.listeners.iter().cloned().collect()),
    ];
    all.into_iter().map(|(place, names)| (place.numbers().0, names)).filter(|(_, names)| !names.is_empty()).collect()
}

impl NameMap {
    /// Returns the common statement of one of the program.
    pub(super) fn statement(&self, own: Statement) -> Statement {
        match own.kind() {
            StatementKind::Site(site, part) => Statement::at(self.sites[site], part),
            StatementKind::Firing(event) => Statement::firing(self.events[event]),
            StatementKind::Implicit | StatementKind::First => own,
        }
    }

    /// Returns the program's own statement. `None` if the program does not have it.
    pub(super) fn own(&self, common: Statement) -> Option<Statement> {
        Some(match common.kind() {
            StatementKind::Site(site, part) => Statement::at(*self.sites_back.get(&site)?, part),
            StatementKind::Firing(event) => Statement::firing(*self.events_back.get(&event)?),
            StatementKind::Implicit | StatementKind::First => common,
        })
    }

    /// Returns whether the program has both statements of a common pair.
    pub(super) fn has(&self, pair: &ReadPair) -> bool {
        self.own(pair.0).is_some() && self.own(pair.1).is_some()
    }

    /// Returns the common location of one of the program.
    pub(super) fn place(&self, own: TouchedPlace) -> TouchedPlace {
        let (kind, index) = own.numbers();
        let declared = self.places.get(&kind).map_or(&[][..], Vec::as_slice);
        let common = declared.get(index as usize).copied().unwrap_or_else(|| CREATED | (index - declared.len() as u32));
        TouchedPlace::from_numbers(kind, common).unwrap_or(own)
    }

    /// Returns the program's own locations among common ones, sorted.
    pub(super) fn own_places(&self, common: &[TouchedPlace]) -> Arc<[TouchedPlace]> {
        let own = |place: &TouchedPlace| {
            let (kind, index) = place.numbers();
            let declared = self.places.get(&kind).map_or(0, Vec::len) as u32;
            let index = match index & CREATED {
                0 => *self.places_back.get(&(kind, index))?,
                _ => declared.checked_add(index & !CREATED)?,
            };
            TouchedPlace::from_numbers(kind, index)
        };
        let mut own: Vec<TouchedPlace> = common.iter().filter_map(own).collect();
        own.sort_unstable();
        own.into()
    }

    /// Returns visitors of a location with their common statements, sorted by them.
    pub(super) fn visitors(&self, own: &[Visitor]) -> Vec<Visitor> {
        let mut all: Vec<Visitor> = own.iter().map(|v| v.with(self.statement(v.statement))).collect();
        all.sort_unstable_by_key(|visitor| visitor.statement);
        all
    }
}
