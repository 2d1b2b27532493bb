//! What a campaign tells of its runs: which pairs, statements and states they have shown.

use super::rare::MOST_STATES;
use super::shown::ReadPair;
use super::state::Learned;
use crate::base::{Id, IndexVec};
use crate::event::{Site, SiteId, SiteKind};
use crate::sched::site_text;
use crate::world::{Setup, SitePart, Statement, StatementKind, TouchedPlace};

/// What the runs have shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FuzzCoverage {
    /// Possible pairs, in the order of their statements.
    pub pairs: Vec<PairCoverage>,
    /// The last run that showed a pair that none had shown. `None` if no run has shown one.
    pub last_new: Option<u64>,
    /// Number of statements that runs can perform.
    pub statements: u64,
    /// Statements among these that no run has performed.
    pub never: Vec<SiteId>,
    /// Numbers of states in three views, from the coarsest.
    pub states: [u64; 3],
    /// How new states came.
    pub new_states: NewStates,
}

/// How states of the coarsest view came, as far as it tells of what is to come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewStates {
    /// Number of the last runs of which `new` tells.
    pub lately: u64,
    /// Number of these runs that came to a new state.
    pub new: u64,
    /// Number of all runs.
    pub runs: u64,
    /// Number of states to which runs came once.
    pub once: u64,
}

/// A possible pair.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PairCoverage {
    /// The statement that is the last to write.
    pub writer: Statement,
    /// The statement that reads.
    pub reader: Statement,
    /// Kind of the order that the pair is about, if it is about one.
    pub order: Option<OrderKind>,
    /// Number of runs that showed the pair.
    pub seen: u32,
    /// Number of runs that asked for it.
    pub asked: u32,
}

/// An order of two operations that a pair is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum OrderKind {
    /// Two operations on the queue of one looper.
    Posts,
    /// Two critical sections of one lock.
    Sections,
}

impl FuzzCoverage {
    /// Returns the possible pairs that some run has shown.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.pairs.iter().filter(|pair| pair.seen > 0).count() as u64
    }

    /// Returns whether no further state of the coarsest view was kept, because there were too many.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.states[0] >= MOST_STATES as u64
    }

    /// Returns an estimate of how many new states of the coarsest view so many more runs would bring, after Good and
    /// Turing: the states that were visited once, by the number of runs. It is for a small number of further runs, and
    /// for runs like those before; later runs of a campaign look for what is new, so it is no bound. `None` without a
    /// run, or if the states were too many to keep.
    #[must_use]
    pub fn expected(&self, more: u64) -> Option<f64> {
        let NewStates { runs, once, .. } = self.new_states;
        (runs > 0 && !self.is_full()).then(|| once as f64 * more as f64 / runs as f64)
    }

    /// Returns the possible pairs that no run has shown, although runs asked for them.
    pub fn refused(&self) -> impl Iterator<Item = &PairCoverage> {
        self.pairs.iter().filter(|pair| pair.seen == 0 && pair.asked > 0)
    }

    /// Returns how many orders of this kind were seen, and how many are possible.
    #[must_use]
    pub fn orders(&self, kind: OrderKind) -> (u64, u64) {
        let of_kind = || self.pairs.iter().filter(|pair| pair.order == Some(kind));
        (of_kind().filter(|pair| pair.seen > 0).count() as u64, of_kind().count() as u64)
    }
}

// Number of the last runs that are looked at for new states.
pub(super) const LATELY: u64 = 1_000;

/// Returns what was learned about a program. `setup` are the declarations that statements refer to.
pub(super) fn coverage(setup: &Setup, learned: &Learned) -> FuzzCoverage {
    let pair = |(pair, known): (ReadPair, &super::pairs::KnownPair)| {
        let order = known.places.iter().find_map(|place| match place {
            _ if pair.0 == Statement::FIRST => None,
            TouchedPlace::Queue(_) => Some(OrderKind::Posts),
            TouchedPlace::Lock(_) => Some(OrderKind::Sections),
            _ => None,
        });
        PairCoverage { writer: pair.0, reader: pair.1, order, seen: known.seen, asked: known.asked }
    };
    let mut pairs: Vec<PairCoverage> = learned.pairs.iter().map(pair).collect();
    // The first value comes before all statements.
    pairs.sort_by_key(|pair| (pair.writer != Statement::FIRST, pair.writer, pair.reader));
    let performed = |site: SiteId| {
        let parts = [SitePart::Whole, SitePart::Second, SitePart::Next];
        parts.iter().any(|part| learned.pairs.most_visits(Statement::at(site, *part)) > 0)
    };
    let mut sites: Vec<SiteId> = setup.sites.enumerate().filter(|(_, s)| is_step(setup, s)).map(|(id, _)| id).collect();
    let statements = sites.len() as u64;
    sites.retain(|site| !performed(*site));
    let lately = learned.runs.min(LATELY);
    let all = || learned.inputs.iter();
    FuzzCoverage {
        pairs,
        last_new: learned.pairs.last_new(),
        statements,
        never: sites,
        states: learned.states.map(|count| count as u64),
        new_states: NewStates {
            lately,
            new: all().map(|(_, input)| input.states.new_since(learned.runs - lately)).sum(),
            runs: learned.runs,
            once: all().map(|(_, input)| input.states.once() as u64).sum(),
        },
    }
}

// Returns whether a run can perform the site as a step: not the place of an assert, and not in the `init` block, whose
// operations are performed before the first step.
fn is_step(setup: &Setup, site: &Site) -> bool {
    let is_init = setup.bodies.get(site.body.index()).is_some_and(|name| name == "init");
    site.kind != SiteKind::Check && !is_init
}

/// Returns the name of a statement: `@b.write`, `12:5`, `first`, `event click`. If a site has several operations, those
/// after the first one have a word that names them.
#[must_use]
pub fn statement_text(setup: &Setup, statement: Statement) -> String {
    let sites: &IndexVec<SiteId, Site> = &setup.sites;
    match statement.kind() {
        StatementKind::First => "first".to_owned(),
        StatementKind::Implicit => "begin".to_owned(),
        StatementKind::Firing(event) => format!("event {}", setup.events[event].name),
        StatementKind::Site(site, part) => {
            let word = match part {
                SitePart::Whole => "",
                SitePart::Second if sites[site].kind == SiteKind::Read => " (start)",
                SitePart::Second => " (return)",
                SitePart::Next => " (next)",
            };
            site_text(sites, site) + word
        }
    }
}
