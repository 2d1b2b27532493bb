//! Computes the least stall: the least time that has to pass while some thread could run, for a run to reach an end
//! (Dijkstra's algorithm, with the stall as the length).

use super::choices::OpenChoices;
use super::ends::{EndCondition, SearchEnd, end_condition};
use super::monitor::{NoMonitor, ProductState};
use super::{SearchContext, SearchPlan, first};
use crate::world::{Canonicalizer, Program, Scale, Snapshot};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

// Bytes of a node besides its own, and of a visited state, approximately.
const OF_A_NODE: u64 = 64;
const OF_A_STATE: u64 = 40;

/// Returns for each of these ends the least stall of a run that reaches it, in milliseconds, as precisely as the
/// units of the clock allow (`scale` of [`SearchReport`](super::SearchReport)). Ends that are not reached within the
/// bounds are missing.
#[must_use]
pub fn least_stalls<P: Program<Guest: Snapshot>>(
    plan: &SearchPlan<'_, P>,
    scale: Scale,
    wanted: &BTreeSet<SearchEnd>,
    context: SearchContext<'_>,
) -> BTreeMap<SearchEnd, u64> {
    let mut found = BTreeMap::new();
    let mut visited = BTreeSet::new();
    let mut queue: BTreeMap<u64, Vec<ProductState<P::Guest, NoMonitor>>> =
        BTreeMap::from([(0, vec![first(plan, scale, &NoMonitor)])]);
    let (mut choices, mut numbers) = (OpenChoices::default(), Canonicalizer::new());
    // Number of nodes that are found and not visited, and bytes of the largest one.
    let (mut waiting, mut largest) = (1u64, 0);
    while let Some((stall, nodes)) = queue.pop_first() {
        // All nodes in `open` have this stall. A choice that adds no stall puts its successor there as well.
        let mut open = nodes;
        while let Some(mut node) = open.pop() {
            largest = largest.max(node.bytes());
            let memory = waiting.saturating_sub(1) * (largest + OF_A_NODE) + visited.len() as u64 * OF_A_STATE;
            let full = visited.len() as u64 >= plan.bounds.states || memory >= plan.bounds.memory;
            waiting -= 1;
            if full || context.stop.load(Ordering::Relaxed) {
                return found;
            }
            if !visited.insert(node.digest(&mut numbers)) {
                continue;
            }
            let ended = match end_condition(&mut node.machine) {
                EndCondition::Ended(outcome) => Some((outcome, true)),
                EndCondition::Rests(outcome) => Some((outcome, false)),
                EndCondition::Open => None,
            };
            let world = &node.machine.world;
            if let Some((outcome, over)) = ended {
                let end = SearchEnd::new(plan, &outcome, world, 0);
                if wanted.contains(&end) {
                    found.entry(end).or_insert_with(|| scale.milliseconds(stall + 1) - 1);
                    if found.len() == wanted.len() {
                        return found;
                    }
                }
                if over {
                    continue;
                }
            }
            choices.list(world, &numbers, plan.clock);
            for choice in &choices.all {
                let mut next = node.clone();
                next.follow(*choice);
                let then = next.machine.world.stall();
                waiting += 1;
                if then == stall { open.push(next) } else { queue.entry(then).or_default().push(next) }
            }
        }
    }
    found
}
