//! What a line that does not hold would have to say, where that is known: by a search of all states, by a run that shows it, or by the verdict of a pair.

use super::Confirmation;
use super::expect::is_kind;
use super::expect_order::OrderTally;
use super::expect_race::selected;
use super::tested::LineVerdict;
use crate::exec::{EndKind, Ended, value_text};
use crate::lang::program::{EndValue, ExpectationKind, GlobalId, OrderWord, OutcomeRef, OutcomeRefKind};
use crate::lang::quoted;

/// What a line that does not hold would have to say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Truth {
    /// The contrary: `no` before it, or none.
    Contrary,
    /// These outcomes.
    Outcomes(Vec<String>),
    /// This word of an order.
    Order(&'static str),
    /// That the pair is reported, and these words; empty: none.
    Pair(&'static str),
    /// It is not known: why.
    Unknown(&'static str),
}

/// Outcomes of a line at most.
const MOST_OUTCOMES: usize = 100;

const NO_PROOF: &str = "it was not seen, which is no proof that it cannot be";

/// What a test has come to know.
pub(super) struct Known<'k> {
    /// The ends are all that there are.
    pub(super) searched: bool,
    /// Of the line, if it is about order.
    pub(super) tally: Option<&'k OrderTally>,
    /// The campaign, if there was one.
    pub(super) found: Option<&'k Confirmation>,
}

impl Known<'_> {
    /// What a line with this verdict would have to say; `None` if it holds.
    pub(super) fn truth<'e>(
        &self,
        kind: &ExpectationKind,
        verdict: &LineVerdict,
        ends: impl Iterator<Item = &'e Ended>,
    ) -> Option<Truth> {
        use ExpectationKind as K;
        Some(match (verdict, kind) {
            (LineVerdict::Met, _) => return None,
            (LineVerdict::Unchecked(why), _) => Truth::Unknown(why),
            (LineVerdict::Cut, _) => Truth::Unknown("no run came to its end"),
            // It was searched for.
            (LineVerdict::Unmet(..), K::Livelock { .. }) => Truth::Contrary,
            (LineVerdict::Unmet(..), K::Failure { .. } | K::Deadlock { .. } | K::Stuck { .. } | K::Outcomes { .. }) => {
                of_ends(kind, self.searched, ends)
            }
            (LineVerdict::Unmet(..), _) => match (self.tally, self.found) {
                (Some(tally), _) => of_order(kind, self.searched, tally),
                (None, Some(found)) => of_pairs(kind, found),
                (None, None) => Truth::Unknown("it was not looked at"),
            },
        })
    }
}

// Of a line about ends; `searched`: these are all that there are.
fn of_ends<'e>(kind: &ExpectationKind, searched: bool, ends: impl Iterator<Item = &'e Ended>) -> Truth {
    use ExpectationKind as K;
    match kind {
        // A run that ends so is proof.
        K::Failure { no: true, .. } | K::Deadlock { no: true } | K::Stuck { no: true } => Truth::Contrary,
        K::Failure { .. } | K::Deadlock { .. } | K::Stuck { .. } if searched => Truth::Contrary,
        K::Outcomes { of, outcomes } if searched => all_outcomes(of, outcomes, ends),
        K::Outcomes { .. } => Truth::Unknown("not all outcomes are known: there are too many states to search"),
        _ => Truth::Unknown(NO_PROOF),
    }
}

// As the line writes outcomes of a kind, with values or without; `ok` with values where it writes none.
fn all_outcomes<'e>(of: &[GlobalId], written: &[OutcomeRef], ends: impl Iterator<Item = &'e Ended>) -> Truth {
    let mut all: Vec<String> = Vec::new();
    for end in ends {
        let mut alike = written.iter().filter(|o| is_kind(o, &end.kind)).peekable();
        let valued = match alike.peek() {
            Some(_) => alike.any(|o| o.values.is_some()),
            None => end.kind == EndKind::Ok && !of.is_empty(),
        };
        // Of the runs of a campaign the values are not known; a search has seen their ends with them.
        if valued && end.values.len() < of.len() {
            continue;
        }
        let values: Vec<&EndValue> = of.iter().filter_map(|id| end.values.get(id)).filter(|_| valued).collect();
        if values.iter().any(|value| !can_be_written(value)) {
            return Truth::Unknown("a line cannot say of a reference that it is not null");
        }
        let name = match &end.kind {
            EndKind::Ok => "ok".to_owned(),
            EndKind::Stuck => "stuck".to_owned(),
            EndKind::Deadlock => "deadlock".to_owned(),
            EndKind::Limit(_) => return Truth::Unknown("a run came to a limit, and what comes after is not known"),
            EndKind::Failure { name, message, .. } if name.is_empty() && message.is_empty() => {
                return Truth::Unknown("an assertion that fails has no message to be named by");
            }
            // As the line names it, if it does.
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
        0 => Truth::Unknown("no run comes to an end"),
        1..=MOST_OUTCOMES => Truth::Outcomes(all),
        _ => Truth::Unknown("there are more than 100 outcomes"),
    }
}

fn alike_name<'o>(written: &'o [OutcomeRef], end: &Ended) -> Option<&'o OutcomeRefKind> {
    written.iter().find(|o| is_kind(o, &end.kind)).map(|o| &o.kind)
}

fn can_be_written(value: &EndValue) -> bool {
    match value {
        EndValue::Reference(reference) => *reference == crate::event::NULL,
        EndValue::List(all) => all.iter().all(can_be_written),
        _ => true,
    }
}

// Of a line about order.
fn of_order(kind: &ExpectationKind, searched: bool, tally: &OrderTally) -> Truth {
    let ExpectationKind::Order { refs, word } = kind else {
        return Truth::Unknown("tasks that overlap have no line that says so");
    };
    let holds = |word| tally.judge(&ExpectationKind::Order { refs: refs.clone(), word }).is_none();
    match word {
        // Some run has it.
        OrderWord::Never => Truth::Order("real"),
        _ if !searched => Truth::Unknown(NO_PROOF),
        _ if holds(OrderWord::Real) => Truth::Order("real"),
        _ => Truth::Order("never"),
    }
}

// Of a line about pairs, by their verdicts.
fn of_pairs(kind: &ExpectationKind, found: &Confirmation) -> Truth {
    let ExpectationKind::Race { no, order, left, right, .. } = kind else {
        return Truth::Unknown("how many pairs are reported depends on the runs");
    };
    let pairs = selected(if *order { &found.orders } else { &found.pairs }, left, right);
    let confirmed = || pairs.iter().filter(|p| p.verdict.confirmed());
    match () {
        () if pairs.is_empty() => Truth::Unknown("it was not reported, which is no proof that it cannot be"),
        () if confirmed().any(|p| !p.hurts().is_empty()) => Truth::Pair("harmful"),
        () if confirmed().next().is_some() => Truth::Pair("real"),
        () if pairs.iter().all(|p| p.verdict.refuted()) => Truth::Pair("false"),
        // It is reported: so much is known.
        () if *no => Truth::Pair(""),
        () => Truth::Unknown("it was neither confirmed nor refuted"),
    }
}
