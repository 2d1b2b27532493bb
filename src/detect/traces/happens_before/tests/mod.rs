//! Compares the one-pass relation with the printed rules on random traces, for every pair of operations.

pub(crate) mod generate;
mod naive;
mod races;

use super::TraceEdges;
use super::accesses::AccessQuery;
use super::order::TraceOrder;
use crate::base::Rng;
use crate::detect::relation::clock::Point;
use crate::trace::{Action, OpNo, Trace};
use naive::Naive;

// Compares all pairs. Returns the number of pairs, and the number of ordered ones.
fn compare(trace: &Trace, edges: TraceEdges) -> (u64, u64) {
    let naive = Naive::new(trace, edges);
    let mut order = TraceOrder::new(trace, edges);
    let mut points: Vec<Option<Point>> = Vec::new();
    let is_fired = |i: usize| trace.threads[trace.ops[OpNo(i as u32)].thread].environment;
    let (mut pairs, mut ordered) = (0, 0);
    for (j, operation) in trace.ops.enumerate() {
        let check = |order: &TraceOrder<'_>, points: &[Option<Point>]| {
            let Some(now) = order.context(operation.thread) else { return (0, 0) };
            let mut found = (0, 0);
            for (i, point) in points.iter().enumerate() {
                let expected = naive.is_before(i, j.0 as usize);
                let before = point.is_some_and(|point| {
                    if is_fired(i) { order.is_firing_before(point, now) } else { order.is_before(point, now) }
                });
                assert_eq!(before, expected, "{i} {} in {edges:?} {:#?}", j.0, listing(trace));
                found = (found.0 + 1, found.1 + u64::from(before));
            }
            found
        };
        // An operation that closes its context has no edge into it.
        let closes = matches!(operation.action, Action::End(_) | Action::Loop | Action::ThreadExit);
        let first = if closes { check(&order, &points) } else { (0, 0) };
        let mut point = order.step(j);
        if let Action::Begin(task) = operation.action
            && let Some(post) = trace.tasks[task].post
            && points[post.0 as usize].is_none()
        {
            // A state knows a post of the environment if and only if it knows the begin of its task.
            points[post.0 as usize] = point;
        }
        let second = if closes { (0, 0) } else { check(&order, &points) };
        if trace.threads[operation.thread].environment {
            point = None;
        }
        points.push(point);
        pairs += first.0 + second.0;
        ordered += first.1 + second.1;
    }
    posts(trace, &naive, &order);
    (pairs, ordered)
}

// Compares the order of the posts of events, on which the classes of races depend.
fn posts(trace: &Trace, naive: &Naive<'_>, order: &TraceOrder<'_>) {
    let begun = || trace.tasks.enumerate().filter(|(task, about)| about.begin.is_some() && trace.is_event(*task));
    for (first, a) in begun() {
        for (second, b) in begun() {
            let (Some(i), Some(j)) = (a.post, b.post) else { continue };
            let expected = i == j || i < j && naive.is_before(i.0 as usize, j.0 as usize);
            assert_eq!(order.is_post_before(first, second), expected, "posts {i:?} {j:?} {:#?}", listing(trace));
        }
    }
}

pub(in crate::detect) fn listing(trace: &Trace) -> Vec<String> {
    let line = |(i, op): (OpNo, &crate::trace::Operation)| format!("{} {:?} {:?}", i.0, op.thread, op.action);
    trace.ops.enumerate().map(line).collect()
}

fn all(traces: u64, most: u32) -> (u64, u64) {
    let mut total = (0, 0);
    for seed in 0..traces {
        let trace = generate::trace(&mut Rng::seeded(seed), most);
        for edges in [TraceEdges::Full, TraceEdges::Forced] {
            let (pairs, ordered) = compare(&trace, edges);
            total = (total.0 + pairs, total.1 + ordered);
        }
    }
    total
}

#[test]
fn one_pass_finds_what_the_printed_rules_say() {
    all(2000, 25);
    all(60, 300);
    let (pairs, ordered) = all(600, 80);
    // Neither relation is trivial.
    assert!(pairs > 400_000 && ordered > pairs / 20 && ordered < pairs * 9 / 10, "{pairs} pairs, {ordered} ordered");
}

#[test]
#[ignore = "minutes: 12,000 traces of up to 300 operations; in release"]
fn one_pass_finds_what_the_printed_rules_say_of_ten_thousand_traces() {
    let (pairs, ordered) = all(12_000, 300);
    // The figures of `docs/detectors.md`.
    assert_eq!((pairs, ordered), (339_790_388, 101_339_309));
}
