//! The end of a run in a form that can be compared between runs.

use crate::event::{EndValue, FailureKind, GlobalId, LimitKind, NULL, Outcome, SiteId};
use crate::world::{EndValues, World};
use std::collections::{BTreeMap, BTreeSet};

/// How a run ended, as far as expectations distinguish it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "as the outcomes of the same names")]
pub enum EndKind {
    Ok,
    Stuck,
    Deadlock,
    Failure { kind: FailureKind, name: String, message: String, site: Option<SiteId> },
    Limit(LimitKind),
}

impl EndKind {
    /// Returns the kind of an outcome.
    #[must_use]
    pub fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Ok => Self::Ok,
            Outcome::Stuck { .. } => Self::Stuck,
            Outcome::Deadlock(_) => Self::Deadlock,
            Outcome::Limit(limit, _) => Self::Limit(*limit),
            Outcome::Failure(f) => {
                Self::Failure { kind: f.kind, name: f.name.clone(), message: f.message.clone(), site: f.site }
            }
        }
    }

    /// Returns `ok`, `stuck`, `deadlock`, the name of the exception or property, the message of the assert or fail,
    /// or `limit` with the option of the limit.
    #[must_use]
    pub fn word(&self) -> String {
        match self {
            Self::Ok => "ok".into(),
            Self::Stuck => "stuck".into(),
            Self::Deadlock => "deadlock".into(),
            Self::Failure { name, message, .. } if name.is_empty() => message.clone(),
            Self::Failure { name, .. } => name.clone(),
            Self::Limit(limit) => format!("limit {}", limit.option()),
        }
    }
}

/// The end of a run: its kind, and the end values of the variables that expectations name. There are no values if
/// they were not read when the run ended.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "said above")]
pub struct RunResult {
    pub kind: EndKind,
    pub values: BTreeMap<GlobalId, EndValue>,
    /// Whether a run that breaks a property is stuck as well: it rests with messages that can never run.
    pub stuck: bool,
}

impl RunResult {
    /// Returns the end of a run with this outcome, and with the end values of the variables `of`.
    #[must_use]
    pub fn new(program: &impl EndValues, of: &BTreeSet<GlobalId>, outcome: &Outcome, world: &World) -> Self {
        let values = of.iter().map(|id| (*id, program.end_value(*id, world.memory()))).collect();
        let kind = EndKind::of(outcome);
        let property = matches!(kind, EndKind::Failure { kind: FailureKind::Property, .. });
        let stuck = property && world.rests() && matches!(world.rest_outcome(), Outcome::Stuck { .. });
        Self { kind, values, stuck }
    }

    /// Whether the run is stuck: messages are left that can never run, even if another failure is reported first.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        self.stuck || self.kind == EndKind::Stuck
    }

    /// Returns the end as a text, such as `ok 1 [2, 3]`.
    #[must_use]
    pub fn text(&self) -> String {
        let values: Vec<String> = self.values.values().map(value_text).collect();
        let stuck = if self.stuck { " (and stuck)" } else { "" };
        format!("{} {}", self.kind.word(), values.join(" ")).trim_end().to_owned() + stuck
    }
}

/// Returns a value as it is written in a model; `not null` for a reference to an object.
#[must_use]
pub fn value_text(value: &EndValue) -> String {
    match value {
        EndValue::Word(word) => word.to_string(),
        EndValue::Truth(truth) => truth.to_string(),
        EndValue::Reference(NULL) => "null".to_owned(),
        EndValue::Reference(_) => "not null".to_owned(),
        EndValue::List(words) => format!("[{}]", words.iter().map(value_text).collect::<Vec<_>>().join(", ")),
    }
}
