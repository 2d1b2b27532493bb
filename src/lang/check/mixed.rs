//! Atomics that some statement accesses plainly (`plain n`): all their accesses can race.

use super::Checker;
use crate::event::{SiteId, SiteKind};
use crate::lang::program::{ClassId, GlobalId, MemoryPlace, NO_SITE, Root};
use std::collections::BTreeSet;

/// The variable or field of an atomic.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MixedPlace {
    Global(GlobalId),
    Field(ClassId, u32),
}

impl MixedPlace {
    pub(super) fn of(place: &MemoryPlace) -> Self {
        match &place.root {
            Root::Global(global) => Self::Global(*global),
            Root::Field { class, field, .. } => Self::Field(*class, *field),
        }
    }
}

/// What is known about atomics that are accessed plainly.
#[derive(Default)]
pub(super) struct Mixed {
    /// The atomics with a plain access in the live code.
    pub(super) plain: BTreeSet<MixedPlace>,
    // The atomic accesses, each with its variable or field.
    atomic: Vec<(SiteId, MixedPlace)>,
}

impl Checker {
    /// Records an access, for the case that it is one of an atomic that is accessed plainly as well.
    pub(super) fn note_atomic(&mut self, place: &MemoryPlace, site: SiteId) {
        if place.atomic && site != NO_SITE {
            self.mixed.atomic.push((site, MixedPlace::of(place)));
        }
    }

    /// Marks the atomics that are accessed plainly, and the sites of their atomic accesses.
    pub(super) fn mark_mixed(&mut self) {
        let Mixed { plain, atomic } = std::mem::take(&mut self.mixed);
        for place in &plain {
            match *place {
                MixedPlace::Global(global) => self.out.globals[global].mixed = true,
                MixedPlace::Field(class, field) => self.out.classes[class].fields[field as usize].mixed = true,
            }
        }
        for (site, place) in atomic {
            let kind = &mut self.out.sites[site].kind;
            if plain.contains(&place) {
                *kind = match kind {
                    SiteKind::AtomicRead => SiteKind::MixedRead,
                    SiteKind::AtomicWrite => SiteKind::MixedWrite,
                    _ => SiteKind::MixedUpdate,
                };
            }
        }
    }
}
