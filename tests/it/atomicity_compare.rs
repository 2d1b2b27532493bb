//! Compares the analysis of atomicity with its definition on random traces.

use crate::atomicity_naive::{Definition, Owner};
use crate::atomicity_traces;
use raceflip::base::Id;
use raceflip::detect::atomicity::{
    AtomicityOptions, Blame, Cycle, CycleEdge, EdgeKind, EdgeRules, Specification, StepNo, Steps, TransactionNo,
    Transactions, analyze, verdicts,
};
use raceflip::trace::Trace;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

/// What a comparison has seen.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Seen {
    pub(crate) steps: u64,
    pub(crate) transactions: u64,
    pub(crate) certain: u64,
    pub(crate) joint: u64,
    pub(crate) orders_tried: u64,
    pub(crate) many_passes: u64,
    pub(crate) cycles: u64,
}

impl Seen {
    fn add(&mut self, other: Seen) {
        self.steps += other.steps;
        self.transactions += other.transactions;
        self.certain += other.certain;
        self.joint += other.joint;
        self.orders_tried += other.orders_tried;
        self.many_passes += other.many_passes;
        self.cycles += other.cycles;
    }
}

/// Compares the traces of these seeds, of at most about `most` operations each.
pub(crate) fn compare_all(seeds: std::ops::Range<u64>, most: u32) -> Result<Seen, String> {
    let mut seen = Seen::default();
    for seed in seeds {
        seen.add(compare(seed, most)?);
    }
    Ok(seen)
}

/// Compares one trace in all settings: each specification, both rules of edges, alone and joint.
pub(crate) fn compare(seed: u64, most: u32) -> Result<Seen, String> {
    let trace = atomicity_traces::trace(seed, most);
    let mut seen = Seen::default();
    for specification in Specification::ALL {
        for rules in [EdgeRules::Data, EdgeRules::Paper] {
            let wrong =
                |what: String| format!("seed {seed}, {specification:?}, {rules:?}: {what}\n{}", listing(&trace));
            seen.add(compare_one(&trace, specification, rules).map_err(wrong)?);
        }
    }
    Ok(seen)
}

fn compare_one(trace: &Trace, specification: Specification, rules: EdgeRules) -> Result<Seen, String> {
    let steps = Steps::of(trace);
    let transactions = Transactions::of(&steps, specification);
    let definition = Definition::new(&steps, specification, rules);
    let owners: Vec<Owner> = number(&definition, &transactions, &steps)?;
    let stop = AtomicBool::new(false);
    let found = verdicts(&steps, &transactions, rules, &stop).expect("it is not stopped");
    let is_small = steps.all.len() <= 20;
    let mut seen = Seen {
        steps: steps.all.len() as u64,
        transactions: owners.len() as u64,
        many_passes: u64::from(found.passes > 2),
        ..Seen::default()
    };
    let mut violated = (0, 0);
    for (transaction, owner) in owners.iter().enumerate() {
        let transaction = TransactionNo::new(transaction);
        let hits = |all: &[(StepNo, TransactionNo)]| -> BTreeSet<StepNo> {
            all.iter().filter(|(_, t)| *t == transaction).map(|(step, _)| *step).collect()
        };
        for (joint, all) in [(false, &found.certain), (true, &found.joint)] {
            let (expected, found) = (definition.hits(*owner, joint), hits(all));
            if expected != found {
                return Err(format!("{owner:?}, joint: {joint}: {found:?}, but it is {expected:?}"));
            }
        }
        let is_certain = !hits(&found.certain).is_empty();
        seen.certain += u64::from(is_certain);
        seen.joint += u64::from(!is_certain && !hits(&found.joint).is_empty());
        violated.0 += usize::from(is_certain);
        violated.1 += usize::from(!is_certain && !hits(&found.joint).is_empty());
        if is_small {
            seen.orders_tried += 1;
            if definition.has_serial_order(*owner) == is_certain {
                return Err(format!("{owner:?}: certain: {is_certain}, but a serial order exists: {}", !is_certain));
            }
        }
    }
    seen.cycles = compare_cycles(trace, specification, rules, &definition, violated)?;
    Ok(seen)
}

// Compares which steps belong to which transaction. Returns the owner of each transaction.
fn number(definition: &Definition<'_>, transactions: &Transactions, steps: &Steps<'_>) -> Result<Vec<Owner>, String> {
    let mut known: BTreeMap<TransactionNo, Owner> = BTreeMap::new();
    for at in steps.all.ids() {
        match (transactions.of_step(at), definition.owners[at.index()]) {
            (None, None) => {}
            (Some(number), Some(owner)) if *known.entry(number).or_insert(owner) == owner => {}
            (found, expected) => return Err(format!("step {}: {found:?}, but it is {expected:?}", at.0)),
        }
    }
    let owners: Vec<Owner> = known.into_values().collect();
    if definition.transactions().len() != owners.len() || transactions.all.len() != owners.len() {
        return Err(format!("{} transactions, but there are {:?}", transactions.all.len(), definition.transactions()));
    }
    Ok(owners)
}

// Each cycle must consist of direct edges that lead from one to the next, and each violated transaction has one.
fn compare_cycles(
    trace: &Trace,
    specification: Specification,
    rules: EdgeRules,
    definition: &Definition<'_>,
    violated: (usize, usize),
) -> Result<u64, String> {
    let options = AtomicityOptions { edges: rules, most_transactions: usize::MAX, search: usize::MAX };
    let found = analyze(trace, specification, options, &AtomicBool::new(false)).expect("it is not stopped");
    if (found.violated, found.joint) != violated {
        return Err(format!("{} and {} are violated, but it is {violated:?}", found.violated, found.joint));
    }
    let (mut cycles, steps) = (0, Steps::of(trace));
    for finding in &found.findings {
        for cycle in &finding.cycles {
            cycles += 1;
            let ends: Vec<(usize, usize)> =
                cycle.edges.iter().map(|edge| (edge.from.step.index(), edge.to.step.index())).collect();
            if let Some(edge) = ends.iter().find(|edge| !definition.edges.contains(edge)) {
                return Err(format!("{edge:?} is no direct edge: {cycle:?}"));
            }
            let owner = definition.owners[ends[0].0];
            let same_unit = |a: usize, b: usize| {
                let in_order = a <= b && definition.places[a] == definition.places[b];
                in_order
                    || definition.places[a] == definition.places[b]
                    || definition.owners[a].is_some() && definition.owners[a] == definition.owners[b]
                    || finding.blame != Blame::Certain
            };
            let is_path = ends.windows(2).all(|pair| same_unit(pair[0].1, pair[1].0));
            let is_outside = ends.windows(2).all(|pair| definition.owners[pair[0].1] != owner);
            let comes_back = owner.is_some() && ends.last().is_some_and(|last| definition.owners[last.1] == owner);
            if !(is_path && is_outside && comes_back) {
                return Err(format!("this is no cycle: {cycle:?}"));
            }
            let priority = priority(cycle, definition, &steps);
            if cycle.priority != priority {
                return Err(format!("the priority is {priority}: {cycle:?}"));
            }
        }
    }
    let with_cycles = |joint: bool| found.findings.iter().any(|f| (f.blame != Blame::Certain) == joint);
    if (violated.0 > 0) != with_cycles(false) || (violated.1 > 0) != with_cycles(true) {
        return Err(format!("{violated:?} transactions are violated, and the findings are {:?}", found.findings));
    }
    Ok(cycles)
}

// The priority of a cycle by its definition.
fn priority(cycle: &Cycle, definition: &Definition<'_>, steps: &Steps<'_>) -> u8 {
    let edges: Vec<&CycleEdge> = cycle.edges.iter().filter(|edge| edge.kind != EdgeKind::Program).collect();
    let is_forced = |edge: &&&CycleEdge| {
        edge.kind.is_must() || definition.makes(steps, edge.from.step.index(), edge.to.step.index())
    };
    let forced = edges.iter().filter(is_forced).count();
    let threads: BTreeSet<&str> =
        cycle.edges.iter().flat_map(|edge| [edge.from.thread.as_str(), edge.to.thread.as_str()]).collect();
    match (forced, edges.len() - forced) {
        (0, _) if threads.len() == 1 => 1,
        (0, _) => 2,
        (_, 0) => 4,
        _ => 3,
    }
}

fn listing(trace: &Trace) -> String {
    let line = |(at, step): (StepNo, &raceflip::detect::atomicity::Step)| format!("{} {step:?}", at.0);
    let steps: Vec<String> = Steps::of(trace).all.enumerate().map(line).collect();
    steps.join("\n")
}
