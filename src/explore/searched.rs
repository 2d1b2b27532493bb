//! State of a search in progress, shared by the breadth-first and the depth-first search.

use super::components::{Scratch, Shared};
use super::finds::Finds;
use super::level::{Arena, StateNode};
use super::monitor::{Monitor, ProductState};
use super::stubborn::ActRelations;
use super::symmetry::Orbits;
use super::table::{StateId, StateWay, Table, TableAccess};
use super::transitions::Transitions;
use super::vectors::PART_OF_STEPS;
use super::{Bounds, ClockMode, Cut, SearchContext, SearchPlan, SearchStatus};
use crate::world::{Canonicalizer, Program, Scale, Snapshot};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What a search keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SearchStorage {
    /// Only the states.
    States,
    /// The states and the transitions, as long as these take at most half of the memory bound.
    GraphIfRoom,
    /// The states and the transitions.
    Graph,
}

/// State of a search in progress.
pub(super) struct SearchState<G: Snapshot, M> {
    pub(super) table: Table<StateNode<G, M>>,
    /// The slots of the states, and a machine for them, if the search stores states as vectors.
    pub(super) vectors: Option<(Arc<Shared<G>>, Scratch<G>)>,
    pub(super) finds: Finds,
    /// What the search keeps. A graph for which there is no room is given up.
    pub(super) storage: SearchStorage,
    pub(super) first: ProductState<G, M>,
    pub(super) depth: u32,
    /// What is known of the acts of the program, if the search follows stubborn sets.
    pub(super) relations: Option<Arc<ActRelations<G>>>,
    /// The states that are expanded in full, so that no actor is left out forever.
    pub(super) in_full: BTreeSet<StateId>,
    /// The bound that cut the search, if one did.
    pub(super) cut: Option<Cut>,
    /// Number of states found and not visited.
    pub(super) frontier: u64,
    /// Peak memory in bytes, approximately.
    pub(super) memory: u64,
    /// Size of the largest state in bytes, approximately.
    pub(super) largest: u64,
    /// Whether some state had successors for which there was no room.
    pub(super) full: bool,
    /// Number of expanded states whose vectors are still kept.
    pub(super) expanded: u64,
    // Memory in bytes that the search takes now, approximately.
    holds: u64,
}

/// The bounds for the successors of one state.
pub(super) struct Until<G: Snapshot> {
    states: u64,
    // Bytes of the table, the contents of slots and the new nodes.
    bytes: u64,
    // Number of states before.
    from: u64,
    shared: Option<Arc<Shared<G>>>,
}

impl<G: Snapshot> Until<G> {
    /// Returns whether there is room for no more states. `node` is the size of a node in bytes.
    pub(super) fn is_reached<N>(&self, table: &TableAccess<'_, N>, node: u64) -> bool {
        let states = table.len();
        let contents = self.shared.as_ref().map_or(0, |shared| shared.bytes());
        let nodes = (states - self.from) * (node + OF_A_STATE);
        states >= self.states || table.bytes() + contents + nodes >= self.bytes
    }
}

// Bytes of a state in the table and of a node's place in a level, approximately.
const OF_A_STATE: u64 = 64;
// Spare nodes (kept only to reuse their memory) take one `PART_OF_SPARE`-th of the memory bound, and a worker never
// keeps more than `MOST_SPARE` of them.
const PART_OF_SPARE: u64 = 32;
const MOST_SPARE: u64 = 1_024;

impl<G: Snapshot, M: Monitor> SearchState<G, M> {
    /// Starts a search that has found only its first state.
    pub(super) fn start<P: Program<Guest = G>>(
        plan: &SearchPlan<'_, P>,
        scale: Scale,
        monitor: &M,
        storage: SearchStorage,
        shards: usize,
    ) -> Self {
        let first = super::first(plan, scale, monitor);
        let is_stubborn = M::ALONE && plan.stubbornness().is_some();
        let relations = if is_stubborn { ActRelations::new(&first.machine).map(Arc::new) } else { None };
        // The search has to find out which actors it has left out.
        let proviso = relations.is_some() && plan.stubbornness().is_some_and(|how| how.proviso);
        let storage = if proviso { SearchStorage::Graph } else { storage };
        let table = Table::new(plan.reduces(), shards);
        let digest = first.digest(&mut Canonicalizer::new());
        let root = StateWay { digest, parent: StateId::NONE, rank: 0, sleep: 0 };
        // A monitor knows the names of threads and tasks, which no vector has. Whether a step may sleep although the
        // run may end at rest depends on the whole state.
        let whole = plan.reduces() && first.machine.guest.watches_rest();
        let by_vectors = M::ALONE && plan.clock == ClockMode::Exact && !whole;
        let divided = if by_vectors { Shared::new(&first.machine, digest) } else { None };
        let mut root = root;
        let (node, vectors) = match divided {
            Some((mut shared, scratch, mut vector)) => {
                shared.renames = plan.symmetry.is_some();
                if let Some(symmetry) = &plan.symmetry {
                    let mut orbits = Orbits::new(symmetry, &shared, &scratch);
                    orbits.represent(&shared, &mut vector);
                    root.digest = orbits.digest(&shared, &vector);
                }
                (StateNode::Vector(vector.into()), Some((Arc::new(shared), scratch)))
            }
            None => (StateNode::Whole(Box::new(first.clone())), None),
        };
        table.insert(root, || node);
        let finds = Finds { fits: first.machine.world.scale().fits, ..Finds::default() };
        let largest = if vectors.is_some() { 0 } else { first.bytes() };
        Self {
            table,
            vectors,
            finds,
            storage,
            first,
            depth: 0,
            relations,
            in_full: BTreeSet::new(),
            cut: None,
            frontier: 0,
            memory: 0,
            largest,
            full: false,
            expanded: 0,
            holds: 0,
        }
    }

    /// Returns how many more states the search may find for certain before a bound cuts it. A new state may bring
    /// new contents of several slots, but seldom does.
    pub(super) fn room(&self, bounds: &Bounds) -> u64 {
        let growth = self.vectors.as_ref().map_or(0, |(shared, _)| shared.growth());
        let bytes = self.limit(bounds).saturating_sub(self.holds);
        bounds.states.saturating_sub(self.table.len()).min(bytes / (self.largest + OF_A_STATE + growth))
    }

    // The memory that the search may take. Spare nodes and remembered steps are charged as a whole and not one by one:
    // their number depends on the number of workers, and the cut must not.
    fn limit(&self, bounds: &Bounds) -> u64 {
        let of_steps = if self.vectors.is_some() { bounds.memory / PART_OF_STEPS } else { 0 };
        bounds.memory - bounds.memory / PART_OF_SPARE - of_steps
    }

    /// Returns the bounds for the successors of one state, which a worker checks at each of them.
    pub(super) fn until(&self, bounds: &Bounds) -> Until<G> {
        let shared = self.vectors.as_ref().map(|(shared, _)| shared.clone());
        let counted = self.table.bytes() + shared.as_ref().map_or(0, |shared| shared.bytes());
        let others = self.holds.saturating_sub(counted);
        let bytes = self.limit(bounds).saturating_sub(others);
        Until { states: bounds.states, bytes, from: self.table.len(), shared }
    }

    /// Returns an upper bound of the number of states that the choices of any vector lead to, if it is at most
    /// `enough`.
    pub(super) fn widest(&mut self, enough: u64) -> Option<u64> {
        let (shared, scratch) = self.vectors.as_mut()?;
        scratch.learn(shared);
        Some(shared.widest()).filter(|widest| *widest <= enough)
    }

    /// Returns an upper bound of the number of states that the choices of a vector lead to.
    pub(super) fn most(&self, node: &StateNode<G, M>, arena: &Arena) -> u64 {
        match (node, &self.vectors) {
            (StateNode::Vector(vector), Some((shared, scratch))) => scratch.most(shared, vector),
            (StateNode::Stored(number), Some((shared, scratch))) => scratch.most(shared, arena.get(*number)),
            _ => 0,
        }
    }

    /// Returns how many spare nodes a worker may keep.
    pub(super) fn most_spare<P>(&self, plan: &SearchPlan<'_, P>) -> usize {
        let bytes = plan.bounds.memory / PART_OF_SPARE / plan.jobs.max(1) as u64;
        (bytes / self.largest.max(1)).min(MOST_SPARE) as usize
    }

    /// Updates the memory figures for a search that keeps this many nodes now.
    pub(super) fn hold(&mut self, nodes: u64) {
        let graph = self.finds.graph.bytes();
        let expanded = self.vectors.as_ref().map_or(0, |_| self.expanded);
        let of_vectors = self.vectors.as_ref().map_or(0, |(shared, _)| shared.bytes());
        self.holds = self.table.bytes() + of_vectors + (nodes + expanded) * self.largest + graph;
        self.memory = self.memory.max(self.holds);
    }

    /// Reports the progress at this depth and checks the bounds. Returns whether the search ends here: at a bound,
    /// when the monitor has accepted a state, or when the scale of the clock does not fit.
    pub(super) fn is_over<P: Program>(
        &mut self,
        (plan, bounds, scale): (&SearchPlan<'_, P>, &Bounds, Scale),
        depth: u32,
        frontier: u64,
        context: SearchContext<'_>,
    ) -> bool {
        let graph = &mut self.finds.graph;
        if self.storage == SearchStorage::GraphIfRoom && (graph.bytes() > bounds.memory / 2 || graph.is_full()) {
            *graph = Transitions::default();
            self.storage = SearchStorage::States;
        }
        self.hold(frontier);
        self.frontier = frontier;
        let (states, memory, transitions) = (self.table.len(), self.holds, self.finds.transitions);
        context.progress.at(&SearchStatus { states, transitions, frontier, memory, depth });
        let full = self.full || self.room(bounds) == 0 || self.finds.graph.is_full();
        let cut = bounds.cut(states, full, context.stop.load(Ordering::Relaxed));
        // If no state is left to visit, the bound has cut nothing off.
        self.cut = cut.filter(|cut| frontier > 0 || *cut == Cut::Stopped);
        self.cut.is_some()
            || self.finds.unfit
            || self.finds.accepted.is_some()
            || super::misfit(plan, scale, &self.finds).is_some()
    }

    /// Finishes a search that has no state left to visit. It is still cut if the bound of depth left some out.
    pub(super) fn through(mut self) -> Self {
        if self.finds.cut_by_depth > 0 {
            self.frontier = self.finds.cut_by_depth;
            self.cut = Some(Cut::Depth);
        }
        self
    }
}
