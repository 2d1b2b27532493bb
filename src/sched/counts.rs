//! How many interesting events each thread and task has, in one profile run: what `surw` is told before it begins, by names that mean the same in every run.
//!
//! An event is interesting by its statement. A context's weight is the number of its own ones and of those of all that it makes: by posts, forks, and the firings that it enables.

use super::{Divergence, SiteSpec, SpecError, Strategy, View};
use crate::base::{Id, IndexVec};
use crate::event::{Actor, Choice, ContextId, EventId, Op, Site, SiteId, SiteKind};
use crate::world::{Made, Question, World};
use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Which events are interesting, and how many there are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SurwSpec {
    /// The statements. Of none: all that access shared memory, or acquire or signal something.
    pub sites: Vec<SiteSpec>,
    /// What one run shows, once it was made ([`StrategySpec::with_counts`](super::StrategySpec::with_counts)).
    pub counts: Option<Arc<Counts>>,
}

impl FromStr for SurwSpec {
    type Err = SpecError;

    // What follows `surw`: nothing, or `:` and sites.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        let sites = match text.strip_prefix(':') {
            Some(sites) => sites.split(',').map(|site| site.trim().parse()).collect::<Result<_, _>>()?,
            None if text.is_empty() => Vec::new(),
            None => return Err(SpecError::Strategy(format!("surw{text}"))),
        };
        Ok(Self { sites, counts: None })
    }
}

impl fmt::Display for SurwSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("surw")?;
        for (i, site) in self.sites.iter().enumerate() {
            write!(f, "{}{site}", if i == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}

// Accesses, and what waits or wakes. Not what only gives up: its order is that of the acquisitions that it lets go on.
fn is_shared(kind: SiteKind) -> bool {
    use SiteKind::*;
    let synchronizes = matches!(
        kind,
        AtomicRead | AtomicWrite | AtomicUpdate | Acquire | ReadLock | WriteLock | Wait | Notify | Down | Up | Await
    );
    kind.access().is_some() || synchronizes
}

impl SurwSpec {
    /// The interesting statements.
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

/// What one run shows.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    // How long it took.
    pub(super) steps: u64,
    nodes: Vec<Node>,
    // Those that nobody made, by what they are.
    roots: Vec<(Made, Vec<u32>)>,
}

#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Node {
    weight: u32,
    // What it made, by what it is and in order.
    made: Vec<(Made, Vec<u32>)>,
}

impl Counts {
    /// The number of the context that this one (`None`: nobody) makes as its `nth` of this kind.
    pub(super) fn find(&self, maker: Option<u32>, made: Made, nth: u32) -> Option<u32> {
        let all = maker.map_or(&self.roots, |maker| &self.nodes[maker as usize].made);
        let (_, of_kind) = all.iter().find(|(kind, _)| *kind == made)?;
        of_kind.get((nth as usize).checked_sub(1)?).copied()
    }

    /// The interesting events of a context and of all that it makes.
    pub(super) fn weight(&self, node: Option<u32>) -> u32 {
        node.map_or(0, |node| self.nodes[node as usize].weight)
    }
}

/// A strategy that does what another does, and counts.
pub struct Counting<S> {
    inner: S,
    interesting: IndexVec<SiteId, bool>,
    // By context.
    own: Vec<u32>,
    // By event: who enabled its next firings.
    enablers: IndexVec<EventId, VecDeque<Option<ContextId>>>,
    // By event: who enabled its firings so far.
    fired: IndexVec<EventId, Vec<Option<ContextId>>>,
    started: bool,
    steps: u64,
}

impl<S: Strategy> Counting<S> {
    /// Counts events at these statements.
    pub fn new(inner: S, interesting: IndexVec<SiteId, bool>) -> Self {
        Self {
            inner,
            interesting,
            own: Vec::new(),
            enablers: IndexVec::new(),
            fired: IndexVec::new(),
            started: false,
            steps: 0,
        }
    }

    /// What the run, which has come to this world, shows.
    #[must_use]
    pub fn counts(&self, world: &World) -> Counts {
        let contexts = world.contexts();
        let mut counts = Counts { steps: self.steps, ..Counts::default() };
        counts.nodes.resize(contexts.len(), Node::default());
        for i in (0..contexts.len()).rev() {
            let (context, own) = (ContextId::new(i), self.own.get(i).copied().unwrap_or(0));
            counts.nodes[i].weight = counts.nodes[i].weight.saturating_add(own);
            let maker = match contexts.made(context) {
                // A run without a step has no firing.
                Made::Event(event) => self.fired[event].get(contexts.nth(context) as usize - 1).copied().flatten(),
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
            if matches!(made, Made::Class(_)) {
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
            // In the order of their numbers, from 1 on.
            all[at].1.push(i as u32);
        }
        counts
    }
}

impl<S: Strategy> Strategy for Counting<S> {
    fn begin(&mut self, seed: u64) {
        self.inner.begin(seed);
        self.own.clear();
        (self.started, self.steps) = (false, 0);
    }

    fn choose(&mut self, view: &View<'_>) -> Result<Actor, Box<Divergence>> {
        self.inner.choose(view)
    }

    fn argument(&mut self, view: &View<'_>, actor: Actor, question: Question) -> Result<u64, Box<Divergence>> {
        self.inner.argument(view, actor, question)
    }

    fn observe(&mut self, view: &View<'_>, choice: Choice) {
        self.inner.observe(view, choice);
        let world = view.world;
        if !self.started {
            self.started = true;
            let events = &world.setup().events;
            self.enablers = events.ids().map(|e| vec![None; world.enables_left(e)].into()).collect();
            self.fired = events.ids().map(|_| Vec::new()).collect();
        }
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
