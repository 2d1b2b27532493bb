//! Finds the text that would make a false line true, where a search of all states, a run, or the verdict of a pair
//! shows it.

use super::atomicity::AtomicityTally;
use super::ends::is_kind;
use super::order::OrderTally;
use super::race::selected;
use super::test_result::LineVerdict;
use crate::campaign::{Confirmation, Verdict};
use crate::exec::{EndKind, RunResult, value_text};
use crate::lang::program::{EndValue, ExpectationKind, GlobalId, OrderWord, OutcomeRef, OutcomeRefKind};
use crate::lang::quoted;

/// Correction of a line that does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Truth {
    /// The contrary: `no` is added to the line, or removed.
    Contrary,
    /// The line should list these outcomes.
    Outcomes(Vec<String>),
    /// The line should have this word for the order.
    Order(&'static str),
    /// The line should say that the pair is reported, with this word; empty for no word.
    Pair(&'static str),
    /// The correction is not known, for this reason.
    Unknown(&'static str),
}

/// Maximum number of outcomes of a line.
const MOST_OUTCOMES: usize = 100;

const NO_PROOF: &str = "no run showed it, which does not prove that it is impossible";

/// Results of a test that corrections are based on.
pub(super) struct TestFacts<'k> {
    /// Whether the ends are all that there are, since a search found them.
    pub(in crate::campaign) searched: bool,
    /// Tally of the line, if it is about order.
    pub(in crate::campaign) tally: Option<&'k OrderTally>,
    /// What runs and searches show of the line, if it is about atomicity.
    pub(in crate::campaign) atomicity: Option<&'k AtomicityTally>,
    /// Result of the campaign, if there was one.
    pub(in crate::campaign) found: Option<&'k Confirmation>,
}

impl TestFacts<'_> {
    /// Returns the correction of a line with this verdict; `None` if the line holds.
    pub(in crate::campaign) fn truth<'e>(
        &self,
        kind: &ExpectationKind,
        verdict: &LineVerdict,
        ends: impl Iterator<Item = &'e RunResult>,
    ) -> Option<Truth> {
        use ExpectationKind as K;
        Some(match (verdict, kind) {
            (LineVerdict::Met, _) => return None,
            (LineVerdict::Unchecked(why), _) => Truth::Unknown(why),
            (LineVerdict::Cut, _) => Truth::Unknown("no run ended before a limit"),
            // Livelock lines are judged by a search only, so that the contrary is proved.
            (LineVerdict::Unmet(..), K::Livelock { .. }) => Truth::Contrary,
            (LineVerdict::Unmet(..), K::Failure { .. } | K::Deadlock { .. } | K::Stuck { .. } | K::Outcomes { .. }) => {
                of_ends(kind, self.searched, ends)
            }
            (LineVerdict::Unmet(..), K::Atomicity { no, .. }) => match self.atomicity.and_then(AtomicityTally::happens)
            {
                Some(happens) if happens == *no => Truth::Contrary,
                Some(_) => {
                    Truth::Unknown("whether the violation is harmful or joint is not decided by a line of its own")
                }
                None => Truth::Unknown(NO_PROOF),
            },
            (LineVerdict::Unmet(..), _) => match (self.tally, self.found) {
                (Some(tally), _) => of_order(kind, self.searched, tally),
                (None, Some(found)) => of_pairs(kind, found),
                (None, None) => Truth::Unknown("no campaign judged the pair"),
            },
        })
    }
}

// Correction of a line about ends. With `searched` the ends are all that there are.
fn of_ends<'e>(kind: &ExpectationKind, searched: bool, ends: impl Iterator<Item = &'e RunResult>) -> Truth {
    use ExpectationKind as K;
    match kind {
        // A run with this end is the proof.
        K::Failure { no: true, .. } | K::Deadlock { no: true } | K::Stuck { no: true } => Truth::Contrary,
        K::Failure { .. } | K::Deadlock { .. } | K::Stuck { .. } if searched => Truth::Contrary,
        K::Outcomes { of, outcomes } if searched => all_outcomes(of, outcomes, ends),
        K::Outcomes { .. } => Truth::Unknown("not all outcomes are known: there are too many states to search"),
        _ => Truth::Unknown(NO_PROOF),
    }
}

// Lists all outcomes in the form that the line uses for outcomes of their kind, with values or without. An `ok` has
// values if the line lists none.
fn all_outcomes<'e>(of: &[GlobalId], written: &[OutcomeRef], ends: impl Iterator<Item = &'e RunResult>) -> Truth {
    let mut all: Vec<String> = Vec::new();
    for end in ends {
        let mut alike = written.iter().filter(|o| is_kind(o, &end.kind)).peekable();
        let valued = match alike.peek() {
            Some(_) => alike.any(|o| o.values.is_some()),
            None => end.kind == EndKind::Ok && !of.is_empty(),
        };
        // Runs of a campaign have no values. A search has seen the same ends with their values.
        if valued && end.values.len() < of.len() {
            continue;
        }
        let values: Vec<&EndValue> = of.iter().filter_map(|id| end.values.get(id)).filter(|_| valued).collect();
        if values.iter().any(|value| !can_be_written(value)) {
            return Truth::Unknown("a line cannot name a reference that is not null");
        }
        let name = match &end.kind {
            EndKind::Ok => "ok".to_owned(),
            EndKind::Stuck => "stuck".to_owned(),
            EndKind::Deadlock => "deadlock".to_owned(),
            EndKind::Limit(_) => return Truth::Unknown("a run reached a limit, and its later steps are unknown"),
            EndKind::Failure { name, message, .. } if name.is_empty() && message.is_empty() => {
                return Truth::Unknown("a failing assertion has no message, so no line can name it");
            }
            // The failure is named by its message if the line does so.
            EndKind::Failure { name, message, .. } => match alike_name(written, end) {
                Some(OutcomeRefKind::Failure(crate::lang::program::FailureRef::Message(text))) => {
                    format!("failure {}", quoted(text))
                }
                _ if name.is_empty() => format!("failure {}", quoted(message)),
                _ => format!("failure {name}"),
            },
        };
        let outcome = match values.as_slice() {
            [] => name,
            [one] => format!("{name} {}", value_text(one)),
            all => format!("{name} [{}]", all.iter().map(|v| value_text(v)).collect::<Vec<_>>().join(", ")),
        };
        if !all.contains(&outcome) {
            all.push(outcome);
        }
    }
    match all.len() {
        0 => Truth::Unknown("no run ends"),
        1..=MOST_OUTCOMES => Truth::Outcomes(all),
        _ => Truth::Unknown("there are more than 100 outcomes"),
    }
}

fn alike_name<'o>(written: &'o [OutcomeRef], end: &RunResult) -> Option<&'o OutcomeRefKind> {
    written.iter().find(|o| is_kind(o, &end.kind)).map(|o| &o.kind)
}

fn can_be_written(value: &EndValue) -> bool {
    match value {
        EndValue::Reference(reference) => *reference == crate::event::NULL,
        EndValue::List(all) => all.iter().all(can_be_written),
        _ => true,
    }
}

// Correction of a line about order.
fn of_order(kind: &ExpectationKind, searched: bool, tally: &OrderTally) -> Truth {
    let ExpectationKind::Order { refs, word } = kind else {
        return Truth::Unknown("no form of a line says that tasks overlap");
    };
    let holds = |word| tally.judge(&ExpectationKind::Order { refs: refs.clone(), word }).is_none();
    match word {
        // Some run has the order, or the line would hold.
        OrderWord::Never => Truth::Order("real"),
        _ if !searched => Truth::Unknown(NO_PROOF),
        _ if holds(OrderWord::Real) => Truth::Order("real"),
        _ => Truth::Order("never"),
    }
}

// Correction of a line about pairs, by their verdicts.
fn of_pairs(kind: &ExpectationKind, found: &Confirmation) -> Truth {
    let ExpectationKind::Race { no, order, left, right, .. } = kind else {
        return Truth::Unknown("the number of reported pairs depends on the runs");
    };
    let pairs = selected(if *order { &found.orders } else { &found.pairs }, left, right);
    let has = |verdict: Verdict| pairs.iter().any(|p| p.verdict() == verdict);
    match () {
        () if pairs.is_empty() => {
            Truth::Unknown("no detector reported the pair, which does not prove that it is impossible")
        }
        () if has(Verdict::Harmful) => Truth::Pair("harmful"),
        () if has(Verdict::Real) => Truth::Pair("real"),
        () if pairs.iter().all(|p| p.verdict() == Verdict::Refuted) => Truth::Pair("false"),
        // It is only known that the pair is reported.
        () if *no => Truth::Pair(""),
        () => Truth::Unknown("the pair was neither confirmed nor refuted"),
    }
}
