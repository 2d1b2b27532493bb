//! Counts the interesting events of each thread and task in one profile run. `surw` gets the counts before it begins,
//! by names that mean the same in every run.
//!
//! An event is interesting if its statement is. The weight of a context is the number of its own interesting events and
//! of those of all contexts that it creates: by posts, by forks, and by the firings that it enables.

use super::error::SpecError;
use super::observer::{ChoiceInterest, Observer};
use super::spec::{ProfileNeed, Spec, parse_sites, write_sites};
use super::surw::Surw;
use super::{SiteSpec, View};
use crate::base::{Id, IndexVec};
use crate::event::{Actor, Choice, ContextId, EventId, Op, Site, SiteId, SiteKind};
use crate::world::{CreationKind, World};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// Parameters of the `surw` strategy: the interesting statements, and the counts of their events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SurwSpec {
    /// The interesting statements. If empty, all statements that access shared memory, acquire or signal are
    /// interesting.
    pub sites: Vec<SiteSpec>,
    /// The counts, once the profile run has been performed
    /// ([`StrategySpec::with_counts`](super::StrategySpec::with_counts)).
    pub counts: Option<Arc<ProfileCounts>>,
}

impl Spec for SurwSpec {
    type Strategy = Surw;

    const NAME: &'static str = "surw";
    const SYNTAX: &'static str = "surw[:SITE,...]";
    const EXAMPLES: &'static [&'static str] = &["surw", "surw:SITE,SITE"];

    fn parse(text: Option<&str>) -> Result<Option<Self>, SpecError> {
        let sites = text.map_or(Ok(Vec::new()), parse_sites)?;
        Ok(Some(Self { sites, counts: None }))
    }

    fn profile(&mut self) -> ProfileNeed<'_> {
        ProfileNeed::Counts(self)
    }

    fn targets(&self) -> Vec<SiteSpec> {
        self.sites.clone()
    }

    fn build(&self, sites: &IndexVec<SiteId, Site>) -> Result<Surw, SpecError> {
        let interesting = self.interesting(sites)?;
        let counts = self.counts.clone();
        let counts = counts.ok_or_else(|| self.missing("a run that shows how many interesting events there are"))?;
        Ok(Surw::new(interesting, counts))
    }
}

impl fmt::Display for SurwSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_sites(f, Self::NAME, &self.sites)
    }
}

// Accesses, and operations that wait or wake up. Releases are left out: their order follows from that of the
// acquisitions that they enable.
fn is_shared(kind: SiteKind) -> bool {
    use SiteKind::*;
    let synchronizes = matches!(
        kind,
        AtomicRead | AtomicWrite | AtomicUpdate | Acquire | ReadLock | WriteLock | Wait | Notify | Down | Up | Await
    );
    kind.access().is_some() || synchronizes
}

impl SurwSpec {
    /// Returns for each site whether it is interesting.
    ///
    /// # Errors
    ///
    /// Returns a [`SpecError`] if one of the named sites selects nothing.
    pub fn interesting(&self, sites: &IndexVec<SiteId, Site>) -> Result<IndexVec<SiteId, bool>, SpecError> {
        let mut all: IndexVec<SiteId, bool> =
            sites.iter().map(|s| self.sites.is_empty() && is_shared(s.kind)).collect();
        for spec in &self.sites {
            for site in spec.resolve(sites)? {
                all[site] = true;
            }
        }
        Ok(all)
    }
}

/// The counts of one profile run.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ProfileCounts {
    // Number of steps of the profile run.
    pub(super) steps: u64,
    nodes: Vec<ContextNode>,
    // Contexts without a creator, by kind and in order.
    roots: Vec<(CreationKind, Vec<u32>)>,
}

#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct ContextNode {
    weight: u32,
    // Contexts that this context created, by kind and in order.
    made: Vec<(CreationKind, Vec<u32>)>,
}

impl ProfileCounts {
    /// Returns the node of the `nth` context of this kind that `maker` created. `maker` is `None` for contexts without
    /// a creator.
    pub(super) fn find(&self, maker: Option<u32>, made: CreationKind, nth: u32) -> Option<u32> {
        let all = maker.map_or(&self.roots, |maker| &self.nodes[maker as usize].made);
        let (_, of_kind) = all.iter().find(|(kind, _)| *kind == made)?;
        of_kind.get((nth as usize).checked_sub(1)?).copied()
    }

    /// Returns the number of interesting events of a context and of all contexts that it creates.
    pub(super) fn weight(&self, node: Option<u32>) -> u32 {
        node.map_or(0, |node| self.nodes[node as usize].weight)
    }
}

/// An observer that counts interesting events.
pub struct EventCounter {
    interesting: IndexVec<SiteId, bool>,
    // For each context the number of its own interesting events.
    own: Vec<u32>,
    // For each event the contexts that enabled its next firings; `None` for an initial enable.
    enablers: IndexVec<EventId, VecDeque<Option<ContextId>>>,
    // For each event the contexts that enabled its firings so far; `None` for an initial enable.
    fired: IndexVec<EventId, Vec<Option<ContextId>>>,
    steps: u64,
}

impl EventCounter {
    /// Creates a counter of the events at the interesting sites. It counts one run at a time.
    #[must_use]
    pub fn new(interesting: IndexVec<SiteId, bool>) -> Self {
        Self { interesting, own: Vec::new(), enablers: IndexVec::new(), fired: IndexVec::new(), steps: 0 }
    }

    /// Returns the counts of the run, of which `world` is the last state.
    #[must_use]
    pub fn counts(&self, world: &World) -> ProfileCounts {
        let contexts = world.contexts();
        let mut counts = ProfileCounts { steps: self.steps, ..ProfileCounts::default() };
        counts.nodes.resize(contexts.len(), ContextNode::default());
        for i in (0..contexts.len()).rev() {
            let (context, own) = (ContextId::new(i), self.own.get(i).copied().unwrap_or(0));
            counts.nodes[i].weight = counts.nodes[i].weight.saturating_add(own);
            let maker = match contexts.made(context) {
                CreationKind::Event(event) => {
                    self.fired[event].get(contexts.nth(context) as usize - 1).copied().flatten()
                }
                _ => contexts.parent(context),
            };
            if let Some(maker) = maker {
                let weight = counts.nodes[i].weight;
                let of_maker = &mut counts.nodes[maker.index()].weight;
                *of_maker = of_maker.saturating_add(weight);
            }
        }
        for i in 0..contexts.len() {
            let context = ContextId::new(i);
            let made = contexts.made(context);
            if matches!(made, CreationKind::Class(_)) {
                continue;
            }
            let all = match contexts.parent(context) {
                Some(maker) => &mut counts.nodes[maker.index()].made,
                None => &mut counts.roots,
            };
            let at = all.iter().position(|(kind, _)| *kind == made).unwrap_or_else(|| {
                all.push((made, Vec::new()));
                all.len() - 1
            });
            // Contexts are visited in the order of their ordinals, from 1.
            all[at].1.push(i as u32);
        }
        counts
    }
}

impl Observer for EventCounter {
    const EVENTS: bool = false;
    const CHOICES: ChoiceInterest = ChoiceInterest::All;

    fn begin(&mut self, world: &World) {
        self.own.clear();
        self.steps = 0;
        let events = &world.setup().events;
        self.enablers = events.ids().map(|e| vec![None; world.enables_left(e)].into()).collect();
        self.fired = events.ids().map(|_| Vec::new()).collect();
    }

    fn choice(&mut self, view: &View<'_>, choice: Choice) {
        let world = view.world;
        self.steps += 1;
        match choice.actor {
            Actor::Thread(thread) => {
                let t = world.thread(thread);
                if t.site.is_some_and(|site| self.interesting[site]) {
                    if self.own.len() <= t.context.index() {
                        self.own.resize(t.context.index() + 1, 0);
                    }
                    self.own[t.context.index()] += 1;
                }
                match t.pending {
                    Op::Enable { event, .. } => self.enablers[event].push_back(Some(t.context)),
                    Op::Disable(event) => self.enablers[event].clear(),
                    _ => {}
                }
            }
            Actor::Event(event) => {
                let enabler = self.enablers[event].pop_front().flatten();
                self.fired[event].push(enabler);
            }
            Actor::Clock | Actor::Stop => {}
        }
    }
}
