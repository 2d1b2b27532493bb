//! Finds possible livelocks: runs that continue forever although every thread gets its turns, and in which a thread
//! that should end never does.
//!
//! They are the strongly connected components of the state graph (Tarjan) that are *just*: each thread that is
//! enabled in all their states acts in the component, and the clock moves if it always can. In such a component a
//! thread that is no daemon stays alive, or a looper is in a task and never begins another one. A run round the
//! component is a schedule that no fair scheduler need leave. Whether a real scheduler leaves it is not decided, so
//! the livelock is only possible.

use super::graph::{Component, Graph};
use super::monitor::{NoMonitor, ProductState};
use super::searched::{SearchState, SearchStorage};
use super::sleep::FIRST_EVENT_BIT;
use super::table::StateId;
use super::{Cut, RunChoices, SearchContext, SearchPlan, SearchReport, explored, path, search};
use crate::event::{Op, ThreadId};
use crate::world::{Canonicalizer, Program, Scale, Snapshot, ThreadStage};
use std::sync::atomic::AtomicBool;

/// A component of the state graph that a run need not leave.
#[derive(Clone, Debug)]
pub struct Livelock {
    /// Number of states of the component.
    pub states: usize,
    /// Threads that stay alive in the component.
    pub threads: Vec<ThreadId>,
    /// The cycle of the run: number of its first step in the component, and of the step after one round.
    pub round: (u64, u64),
    /// A shortest run to the component and twice round it, cut off by its step limit.
    pub way: RunChoices,
}

/// Returns the possible livelocks of a program. If a bound cuts the search, returns none, and the bound.
#[must_use]
pub fn livelocks<P: Program<Guest: Snapshot>>(
    plan: &SearchPlan<'_, P>,
    context: SearchContext<'_>,
) -> (Vec<Livelock>, Option<Cut>) {
    let plan = plan.in_full();
    let (scale, searched) = search(&plan, &NoMonitor, SearchStorage::GraphIfRoom, context);
    of_search(&plan, scale, &searched, context.stop)
}

/// Like [`explore`](super::explore), and returns the possible livelocks as well, unless the search is cut: it searches
/// once for both, unless the plan reduces the search. `phase` is called when it begins to look for livelocks. The
/// second result is `None` if the livelocks are not known: after a search that has left out states, or if there was not
/// enough memory for the graph of states.
#[must_use]
pub fn explore_with_livelocks<P: Program<Guest: Snapshot>>(
    plan: &SearchPlan<'_, P>,
    context: SearchContext<'_>,
    phase: impl FnOnce(),
) -> (SearchReport, Option<Vec<Livelock>>) {
    let storage = if plan.reduces() { SearchStorage::States } else { SearchStorage::GraphIfRoom };
    let (scale, searched) = search(plan, &NoMonitor, storage, context);
    if searched.cut.is_some() || searched.relations.is_some() {
        return (explored(plan, scale, searched, context), None);
    }
    phase();
    let (found, cut) = match plan.reduces() {
        true => livelocks(plan, context),
        false => of_search(plan, scale, &searched, context.stop),
    };
    (explored(plan, scale, searched, context), cut.is_none().then_some(found))
}

// Returns the livelocks of a search that is over and has kept its graph.
fn of_search<P: Program<Guest: Snapshot>>(
    plan: &SearchPlan<'_, P>,
    scale: Scale,
    searched: &SearchState<P::Guest, NoMonitor>,
    stop: &AtomicBool,
) -> (Vec<Livelock>, Option<Cut>) {
    if searched.cut.is_some() || !searched.finds.goes_back {
        return (Vec::new(), searched.cut);
    }
    if searched.storage == SearchStorage::States {
        return (Vec::new(), Some(Cut::Memory));
    }
    let table = &searched.table;
    let mut graph = Graph::new(&searched.finds.graph, table);
    let just = match graph.components(stop, |traits| is_just(traits.always, traits.acts)) {
        Ok(just) => just,
        Err(cut) => return (Vec::new(), Some(cut)),
    };
    let mut found = Vec::new();
    for component in &just {
        // The component is entered at its state with the shortest way from the start.
        let length = |s: &StateId| (table.way(*s).len(), table.digest(*s));
        let Some(entry) = graph.entries(component, table).min_by_key(length) else { continue };
        let round = || {
            let (states, by): (Vec<_>, Vec<_>) = graph.round(component, entry).into_iter().unzip();
            let digests = std::iter::once(entry).chain(states).map(|state| table.digest(state)).collect();
            (digests, by)
        };
        found.extend(livelock(plan, scale, &searched.first, (component, &table.way(entry)), round));
    }
    (found, None)
}

// Returns the livelock of a component; `None` if no thread that should end stays alive in it. `entry` are the digests
// of the states on the shortest way to it, and `round` returns those of the states on a way round it, with the bits of
// the actors that make its steps.
fn livelock<P: Program<Guest: Snapshot>>(
    plan: &SearchPlan<'_, P>,
    scale: Scale,
    first: &ProductState<P::Guest, NoMonitor>,
    (component, entry): (&Component, &[u128]),
    round: impl FnOnce() -> (Vec<u128>, Vec<u64>),
) -> Option<Livelock> {
    let choices = path::through(first, entry, plan.clock)?;
    let mut node = first.clone();
    choices.iter().for_each(|choice| _ = node.follow(*choice));
    let mut numbers = Canonicalizer::new();
    node.machine.canonical_in(&mut numbers);
    let world = &node.machine.world;
    let lives = |thread: ThreadId| {
        let t = world.thread(thread);
        let bit = super::sleep::bit(&numbers, crate::event::Actor::Thread(thread));
        let between = world.queue(thread).is_some() && (component.traits.begins & bit != 0 || !t_in_task(t));
        t.status == ThreadStage::Alive && !t.daemon && !between
    };
    let threads: Vec<ThreadId> = world.threads().ids().filter(|t| lives(*t)).collect();
    if threads.is_empty() {
        return None;
    }
    let (round, by) = round();
    let mut all = choices.clone();
    let mut length = 0;
    for _ in 0..2 {
        let Some(once) = path::through_by(&node, &round, &by, plan.clock) else { break };
        once.iter().for_each(|choice| _ = node.follow(*choice));
        length = once.len() as u64;
        all.extend(once);
    }
    let way = path::cut_off(plan, scale, &all)?;
    let start = choices.len() as u64;
    Some(Livelock { states: component.states.len(), threads, round: (start, start + length), way })
}

// Whether every actor that is open in all states of a component acts in it. Events are exempt, since they need never
// fire.
fn is_just(always: u64, acts: u64) -> bool {
    let events = (1u64 << super::sleep::CLOCK_BIT) - (1 << FIRST_EVENT_BIT);
    always & !acts & !events == 0
}

fn t_in_task(t: &crate::world::ThreadRecord) -> bool {
    t.context != t.home || !matches!(t.pending, Op::Begin)
}

#[cfg(test)]
mod tests {
    use super::{Livelock, explore_with_livelocks, livelocks};
    use crate::base::Id;
    use crate::explore::{Bounds, NoSearchProgress, SearchContext, SearchPlan, explore};
    use crate::vm::Model;
    use std::sync::atomic::AtomicBool;

    const MODELS: [&str; 7] = [
        // Two components: one in which b waits for a, and one in which it waits forever.
        "atomic go = 0\nthread a { if * { go = 1 } }\nthread b { while go == 0 { yield } }",
        "lock x\nlock y\nthread a { loop { acquire x; acquire y; release y; release x } }\nthread b { loop { acquire y; release y } }",
        "atomic turn = 0\nthread t(i in 0..3) { loop { while turn != i { yield }; turn = (i + 1) % 3 } }",
        "looper main\nthread t { post tick() to main }\ntask tick() { post tick() to main }",
        "looper main\nvar x = 0\nthread t { post f() to main after 5; while x == 0 { sleep 2 } }\ntask f() { x = 1 }",
        "semaphore s = 1\nvar x = 0\nthread t(i in 0..3) { loop { down s; x = i; up s; if x == 2 { break } } }",
        "var x = 0\nthread a { x = 1 }\nthread b { x = 2; assert x == 2 }",
    ];

    fn threads(found: &[Livelock]) -> Vec<Vec<usize>> {
        let of = |livelock: &Livelock| livelock.threads.iter().map(|thread| thread.index()).collect();
        let mut all: Vec<Vec<usize>> = found.iter().map(of).collect();
        all.sort();
        all
    }

    // Threads that stay alive in each livelock, by model. In the last model but one, the threads that have ended make
    // the difference; in the last but three, each turn of the looper begins a task.
    const LIVELOCKS: [&[&[usize]]; 7] =
        [&[&[1]], &[&[0, 1]], &[&[0, 1, 2]], &[], &[], &[&[0], &[0, 1], &[0, 1, 2], &[0, 2], &[1], &[1, 2]], &[]];

    // States of the only livelock of the first models: b reads and yields; a is at one of four operations, b at one of
    // two, and they cannot both hold y; there are three turns, and in each one thread is at one of three operations and
    // the others are at one of two.
    const STATES: [usize; 3] = [2, 7, 36];

    #[test]
    fn livelocks_are_just_components_in_which_a_thread_stays_alive() {
        let stop = AtomicBool::new(false);
        let context = SearchContext { stop: &stop, progress: &NoSearchProgress };
        for (i, (text, expected)) in MODELS.into_iter().zip(LIVELOCKS).enumerate() {
            let model = Model::from_text("livelock.race", text, &[]).expect(text);
            for jobs in [1, 2] {
                let plan = SearchPlan { jobs, ..SearchPlan::new(&model) };
                let (found, cut) = livelocks(&plan, context);
                assert_eq!((threads(&found), cut), (expected.iter().map(|t| t.to_vec()).collect(), None), "{text}");
                for livelock in &found {
                    assert!(livelock.round.0 < livelock.round.1 && livelock.round.1 <= livelock.way.steps, "{text}");
                    assert!(STATES.get(i).is_none_or(|states| *states == livelock.states), "{text}");
                }
            }
        }
    }

    #[test]
    fn a_graph_that_takes_half_of_the_memory_is_given_up() {
        let stop = AtomicBool::new(false);
        let context = SearchContext { stop: &stop, progress: &NoSearchProgress };
        let text = "var x = 0\nthread t(i in 0..2) { loop { x = (x + 1) % 100 } }";
        let model = Model::from_text("large.race", text, &[]).expect(text);
        let found = |memory| {
            let bounds = Bounds { memory, ..Bounds::default() };
            let plan = SearchPlan { bounds, ..SearchPlan::new(&model) };
            let (found, livelocks) = explore_with_livelocks(&plan, context, || {});
            (found.complete(), livelocks.map(|found| found.len()))
        };
        let states = explore(&SearchPlan::new(&model), context).states;
        assert_eq!(found(1 << 30), (true, Some(1)), "{states} states");
        assert_eq!(found(3_900_000), (true, None), "{states} states");
    }
}
