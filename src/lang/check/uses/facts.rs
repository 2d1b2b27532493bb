//! What is known at a point of a body: which tests of references have come out as "not null", and still hold.

use crate::event::{GlobalId, SiteId};
use crate::lang::program::{ClassId, ElementIndex, Expr, ExprKind, LocalId, MemoryPlace, Root};
use std::collections::BTreeSet;

/// The object that a field belongs to, if two mentions of it are certainly the same object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Owner {
    /// The object in a local, as long as nothing assigns to it. `this` is one.
    Local(LocalId),
    /// An object with a name at the top level (`let`).
    Named(i64),
}

/// A location or a local, of which a test says that its value is not null.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Place {
    /// A cell of a global.
    Global(GlobalId, u32),
    /// A cell of a field.
    Field { owner: Owner, class: ClassId, field: u32, offset: u32 },
    /// A local that is assigned once, from a read.
    Local(LocalId),
}

impl Place {
    /// Returns the location of a place in memory. `None` if another mention of it need not be the same location.
    pub(super) fn of(place: &MemoryPlace) -> Option<Self> {
        let offset = known_offset(&place.index)?;
        Some(match &place.root {
            Root::Global(global) => Self::Global(*global, offset),
            Root::Field { object, class, field, .. } => {
                Self::Field { owner: owner(object)?, class: *class, field: *field, offset }
            }
        })
    }
}

fn owner(object: &Expr) -> Option<Owner> {
    match object.kind {
        ExprKind::Local(local) => Some(Owner::Local(local)),
        ExprKind::Word(object) => Some(Owner::Named(object)),
        _ => None,
    }
}

/// Returns the offset of an element, if all its indices are constants.
fn known_offset(index: &ElementIndex) -> Option<u32> {
    index.iter().try_fold(0u32, |sum, dimension| match dimension.index.kind {
        ExprKind::Word(i) if (0..i64::from(dimension.len)).contains(&i) => Some(sum + i as u32 * dimension.stride),
        _ => None,
    })
}

/// Maximum number of facts at a point, and of locations that a call is known to write. More cost too much time in texts
/// that are not meant to be read. Without a fact a use has no guard, which hides nothing.
const MOST: usize = 64;

/// The memory that a call may write, with all that it calls in turn.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Effects {
    pub(super) globals: BTreeSet<GlobalId>,
    pub(super) fields: BTreeSet<(ClassId, u32)>,
    /// Whether other tasks may run meanwhile: at a suspension point of an async task, and in a loop over a queue.
    pub(super) lets_others_run: bool,
}

impl Effects {
    /// Adds the effects of another body. If there are too many, or if other tasks run, anything may be
    /// written.
    pub(super) fn add(&mut self, other: &Effects) {
        self.globals.extend(&other.globals);
        self.fields.extend(&other.fields);
        self.lets_others_run |= other.lets_others_run;
        if self.lets_others_run || self.globals.len() + self.fields.len() > MOST {
            *self = Self { lets_others_run: true, ..Self::default() };
        }
    }
}

/// Something after which some facts hold no longer.
#[derive(Clone, Copy)]
pub(super) enum Change<'a> {
    /// A write of a cell of a global; of any cell, if the index is not known.
    Global(GlobalId, Option<u32>),
    /// A write of a field. The object may be any of its class.
    Field(ClassId, u32),
    /// An assignment to a local.
    Local(LocalId),
    /// A call.
    Call(&'a Effects),
    /// Other tasks may run.
    OthersRun,
}

impl Change<'_> {
    /// Returns the change of a write to a place.
    pub(super) fn write(place: &MemoryPlace) -> Self {
        match &place.root {
            Root::Global(global) => Self::Global(*global, known_offset(&place.index)),
            Root::Field { class, field, .. } => Self::Field(*class, *field),
        }
    }

    fn ends(self, place: Place) -> bool {
        match (self, place) {
            (Self::Global(written, at), Place::Global(global, offset)) => {
                written == global && at.is_none_or(|at| at == offset)
            }
            (Self::Field(of, written), Place::Field { class, field, .. }) => (of, written) == (class, field),
            (Self::Local(set), Place::Local(local) | Place::Field { owner: Owner::Local(local), .. }) => set == local,
            (Self::Call(effects), Place::Global(global, _)) => {
                effects.lets_others_run || effects.globals.contains(&global)
            }
            (Self::Call(effects), Place::Field { class, field, .. }) => {
                effects.lets_others_run || effects.fields.contains(&(class, field))
            }
            (Self::OthersRun, Place::Global(..) | Place::Field { .. }) => true,
            _ => false,
        }
    }
}

/// The tests that have come out as "not null": what they tested, and the read.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Facts(BTreeSet<(Place, SiteId)>);

impl Facts {
    pub(super) fn add(&mut self, place: Place, guard: SiteId) {
        if self.0.len() < MOST {
            self.0.insert((place, guard));
        }
    }

    pub(super) fn change(&mut self, change: Change<'_>) {
        self.0.retain(|(place, _)| !change.ends(*place));
    }

    /// Returns the reads whose tests say that the place is not null.
    pub(super) fn guards(&self, place: Place) -> impl Iterator<Item = SiteId> {
        let range = (place, SiteId(0))..=(place, SiteId(u32::MAX));
        self.0.range(range).map(|(_, guard)| *guard)
    }
}

/// The facts at a point of a body. `None` if no way leads there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct State(pub(super) Option<Facts>);

impl State {
    pub(super) const UNREACHABLE: State = State(None);

    pub(super) fn is_reachable(&self) -> bool {
        self.0.is_some()
    }

    /// Takes another way to the same point: what holds on both ways holds there.
    pub(super) fn join(&mut self, other: State) {
        match (&mut self.0, other.0) {
            (Some(facts), Some(other)) => facts.0.retain(|fact| other.0.contains(fact)),
            (facts @ None, other) => *facts = other,
            (Some(_), None) => {}
        }
    }
}
