//! Finds the unordered accesses of DroidRacer's relation, and their classes.

use super::SourceOrder;
use super::nodes::{Context, Node};
use crate::base::IndexVec;
use crate::detect::Rank;
use crate::detect::traces::happens_before::classes::PostLine;
use crate::detect::traces::happens_before::{Race, RaceClass};
use crate::trace::{Action, LocationNo, OpNo, SiteNo, TaskNo, Trace};
use indexmap::IndexMap;
use std::sync::atomic::{AtomicBool, Ordering};
use xxhash_rust::xxh3::Xxh3Builder;

/// An access: the first one of its node, statement and kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct NodeAccess {
    op: OpNo,
    node: Node,
    site: SiteNo,
    writes: bool,
}

/// Two pairs of accesses of one location with the same key are one race.
type RaceKey = (ContextPlace, ContextPlace, RaceClass);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum ContextPlace {
    Site(SiteNo),
    Context(Context),
}

pub(super) fn races(order: &SourceOrder<'_>, stop: &AtomicBool) -> Option<(Vec<Race>, bool)> {
    let causes = causes(order.trace);
    let (mut races, mut lost) = (Vec::new(), false);
    for (location, accesses) in accesses(order).enumerate() {
        if accesses.iter().any(|access| access.writes) {
            let from = races.len();
            let room = SourceOrder::MOST_RACES - from;
            let (found, more) = races_at(order, &causes, (location, accesses), room, stop)?;
            races.extend(found);
            lost |= more;
            races[from..].sort_by_key(|race: &Race| (race.first, race.second));
        }
    }
    Some((races, lost))
}

// Returns the races of one location, at most `room` of them, and whether there are more.
fn races_at(
    order: &SourceOrder<'_>,
    causes: &IndexVec<TaskNo, PostLine>,
    (location, accesses): (LocationNo, &[NodeAccess]),
    room: usize,
    stop: &AtomicBool,
) -> Option<(impl Iterator<Item = Race> + use<>, bool)> {
    let mut found: IndexMap<RaceKey, Race, Xxh3Builder> = IndexMap::default();
    let mut lost = false;
    for (at, second) in accesses.iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        for first in &accesses[..at] {
            let ordered = || order.is_before(first.op, second.op) || order.is_before(second.op, first.op);
            let apart = order.nodes.context[first.node] != order.nodes.context[second.node];
            if !apart || !(first.writes || second.writes) || ordered() {
                continue;
            }
            let class = class(order, causes, first.node, second.node);
            let task = |access: &NodeAccess| order.nodes.pieces[order.nodes.context[access.node]].task;
            let place = |access: &NodeAccess| match access.site {
                SiteNo::NONE => ContextPlace::Context(order.nodes.context[access.node]),
                site => ContextPlace::Site(site),
            };
            let key = (place(first), place(second), class);
            if found.len() >= room && !found.contains_key(&key) {
                lost = true;
                continue;
            }
            let race = found.entry(key).or_insert(Race {
                location,
                first: first.op,
                second: second.op,
                tasks: (task(first), task(second)),
                class,
                rank: Rank::Unordered,
                count: 0,
                covered_by: None,
                filter: None,
            });
            race.count += 1;
        }
    }
    Some((found.into_values(), lost))
}

// Returns the accesses of each location, in the order of the run.
fn accesses(order: &SourceOrder<'_>) -> IndexVec<LocationNo, Vec<NodeAccess>> {
    let mut accesses: IndexVec<LocationNo, Vec<NodeAccess>> = order.trace.places.ids().map(|_| Vec::new()).collect();
    for (op, operation) in order.trace.ops.enumerate() {
        let Some((location, writes)) = operation.action.access() else { continue };
        let access = NodeAccess { op, node: order.nodes.of[op], site: operation.site, writes };
        let same =
            |other: &NodeAccess| (other.node, other.site, other.writes) == (access.node, access.site, access.writes);
        // The other accesses of the node are the last ones of their thread, and few accesses come between.
        let of_node = accesses[location].iter().rev().take(64);
        if !of_node.clone().any(same) {
            accesses[location].push(access);
        }
    }
    accesses
}

// Returns the posts that led to each task. A task passes them on to the tasks that it posts.
fn causes(trace: &Trace) -> IndexVec<TaskNo, PostLine> {
    let mut causes: IndexVec<TaskNo, PostLine> = trace.tasks.ids().map(|_| PostLine::default()).collect();
    let mut running: IndexVec<crate::trace::ThreadNo, Option<TaskNo>> = trace.threads.ids().map(|_| None).collect();
    for (_, op) in trace.ops.enumerate() {
        match op.action {
            Action::Post(no) => {
                let task = &trace.tasks[no];
                let cause = &mut running[op.thread].map(|parent| causes[parent]).unwrap_or_default();
                if task.is_delayed() {
                    cause.delayed = Some(no);
                }
                if task.looper != op.thread {
                    cause.cross = Some(no);
                }
                causes[no] = *cause;
            }
            Action::Begin(no) => {
                running[op.thread] = Some(no);
                let events = &trace.tasks[no].events;
                if !events.is_empty() {
                    causes[no].event = Some(no);
                }
                if events.iter().any(|event| !trace.events[*event].starts_with("idle ")) {
                    causes[no].cross = None;
                }
            }
            Action::End(_) => running[op.thread] = None,
            _ => {}
        }
    }
    causes
}

fn class(order: &SourceOrder<'_>, causes: &IndexVec<TaskNo, PostLine>, first: Node, second: Node) -> RaceClass {
    if order.nodes.piece(first).thread != order.nodes.piece(second).thread {
        return RaceClass::MultiThreaded;
    }
    let (Some(one), Some(two)) = (order.nodes.task(first), order.nodes.task(second)) else { return RaceClass::Unknown };
    let begin = |task: TaskNo| order.trace.tasks[task].begin;
    let unordered = |(a, b)| !order.is_before(a, b) && !order.is_before(b, a);
    causes[one].class(causes[two], |a, b| a != b && begin(a).zip(begin(b)).is_some_and(unordered))
}
