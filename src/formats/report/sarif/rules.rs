//! Defines the rules of the SARIF log.

use super::objects::{Configuration, Rule, RuleProperties};
use super::text;
use crate::campaign::{Verdict, ViolationFacts};
use crate::formats::violations::JudgedViolation;

/// The properties of a rule.
pub(super) struct RuleRow {
    pub(super) id: &'static str,
    name: &'static str,
    short: &'static str,
    full: &'static str,
    help: &'static str,
    pub(super) level: &'static str,
    pub(super) precision: &'static str,
    severity: &'static str,
}

/// All rules. [`rule_of`] returns indices into this list.
pub(super) const RULES: [RuleRow; 9] = [
    RuleRow {
        id: "race/harmful",
        name: "HarmfulRace",
        short: "A harmful race",
        full: "Two accesses to the same memory, not ordered by the program, were performed in both orders. From the same state, runs fail with one order and not with the other.",
        help: "Replay both orders with the commands of the result. Order the two accesses, or check at the second one what the first one may have changed.",
        level: "error",
        precision: "very-high",
        severity: "error",
    },
    RuleRow {
        id: "race/real",
        name: "RealRace",
        short: "A race without known harm",
        full: "Two accesses to the same memory, not ordered by the program, were side by side or were performed in both orders. No failure was seen that occurs with one order only.",
        help: "Replay both orders with the commands of the result, and check whether the model asserts what must hold.",
        level: "warning",
        precision: "very-high",
        severity: "warning",
    },
    RuleRow {
        id: "order/harmful",
        name: "HarmfulOrder",
        short: "A harmful order",
        full: "Two operations that are not a race (acquisitions of a lock, a post and a cancel ...) were performed in both orders. From the same state, runs fail with one order and not with the other.",
        help: "Replay both orders with the commands of the result. Make the program correct in either order, or make it enforce the order.",
        level: "error",
        precision: "very-high",
        severity: "error",
    },
    RuleRow {
        id: "failure/unexplained",
        name: "UnexplainedFailure",
        short: "A failure that no confirmed pair explains",
        full: "A run failed, and neither order of a confirmed pair fails in this way.",
        help: "Replay it with the command of the result.",
        level: "error",
        precision: "very-high",
        severity: "error",
    },
    RuleRow {
        id: "race/unconfirmed",
        name: "UnconfirmedRace",
        short: "A potential race that is neither confirmed nor refuted",
        full: "Detection reports the pair, and no trial had the two accesses side by side or in both orders.",
        help: "The pair may be false, or too rare for so many trials: raise --trials or --explore-limit.",
        level: "note",
        precision: "low",
        severity: "recommendation",
    },
    RuleRow {
        id: "failure/either-order",
        name: "FailureInEitherOrder",
        short: "A failure that occurs in either order",
        full: "Runs failed, whatever the order of the racing accesses. It is a defect, but no race causes it.",
        help: "Replay it with the command of the result.",
        level: "error",
        precision: "very-high",
        severity: "error",
    },
    RuleRow {
        id: "ring/harmful",
        name: "DeadlockRing",
        short: "A deadlock ring",
        full: "Each thread of the ring holds a lock and waits for a lock that the next one holds. A run ended in this deadlock.",
        help: "Replay the run with the command of the result. Acquire the locks in one order everywhere, or hold one outer lock around them.",
        level: "error",
        precision: "very-high",
        severity: "error",
    },
    RuleRow {
        id: "ring/unconfirmed",
        name: "UnconfirmedDeadlockRing",
        short: "A potential deadlock that is neither confirmed nor refuted",
        full: "Detection reports that each thread of the ring may hold a lock and want one that the next one holds. No trial ended in this deadlock.",
        help: "The ring may be false, or too rare for so many trials: raise --trials or --explore-limit.",
        level: "note",
        precision: "low",
        severity: "recommendation",
    },
    RuleRow {
        id: "atomicity-violation",
        name: "AtomicityViolation",
        short: "Something that is meant to happen in one piece does not",
        full: "A part of the app is declared to happen in one piece: a block, a component, or a tree of tasks. In a run, data flows out of it and back into it, so that no order with the same data flow has it in one piece.",
        help: "Replay the run with the command of the result. Keep what comes between out: by one lock around the whole part, by a check at its end, or by data of its own.",
        level: "warning",
        precision: "very-high",
        severity: "warning",
    },
];

/// Returns the index of the rule for a pair with this verdict, or for a failure. `order` tells whether it is an order
/// pair, and `either` whether a failure occurs in runs of some confirmed pair.
pub(super) fn rule_of(verdict: Option<Verdict>, order: bool, either: bool) -> usize {
    match verdict {
        None if either => 5,
        None => 3,
        Some(Verdict::Harmful) if order => 2,
        Some(Verdict::Harmful) => 0,
        Some(Verdict::Real) => 1,
        Some(Verdict::Unconfirmed | Verdict::Refuted) => 4,
    }
}

/// Returns the index of the rule for a deadlock ring.
pub(super) fn rule_of_ring(confirmed: bool) -> usize {
    if confirmed { 6 } else { 7 }
}

/// The index of the rule for declared transactions.
pub(super) const RULE_OF_ATOMICITY: usize = 8;

/// Returns the level of a verdict on a declared transaction.
pub(super) fn level_of_violation(of: &JudgedViolation) -> &'static str {
    match () {
        () if of.harm().is_some() => "error",
        () if of.counts(false) => "warning",
        () => "note",
    }
}

/// Returns the rules as objects of the log.
pub(super) fn all() -> Vec<Rule> {
    RULES.iter().map(rule).collect()
}

fn rule(row: &RuleRow) -> Rule {
    Rule {
        id: row.id,
        name: row.name,
        short_description: text(row.short),
        full_description: text(row.full),
        help: text(row.help),
        default_configuration: Configuration { level: row.level },
        properties: RuleProperties {
            tags: ["concurrency", "race-condition"],
            precision: row.precision,
            severity: row.severity,
        },
    }
}
