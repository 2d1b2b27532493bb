//! The words for what a campaign has decided: the verdict on a pair or a ring, the state of a proof, why a search left
//! it open, and the harm of a pair.

use std::fmt;

/// Verdict on a pair. `docs/verdicts.md` says what each one promises. The order of the variants is their importance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Verdict {
    /// The pair is real, and some failure comes with one order and not with the other one.
    Harmful,
    /// The pair is real. No harm of it is known.
    Real,
    /// The pair is neither confirmed nor refuted.
    Unconfirmed,
    /// The pair is false.
    Refuted,
}

impl Verdict {
    /// Returns the verdict in small letters: `harmful`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Harmful => "harmful",
            Verdict::Real => "real",
            Verdict::Unconfirmed => "unconfirmed",
            Verdict::Refuted => "refuted",
        }
    }

    /// Returns whether the pair is proved to be real.
    #[must_use]
    pub fn confirmed(self) -> bool {
        matches!(self, Verdict::Harmful | Verdict::Real)
    }
}

/// Prints the verdict as reports show it: `HARMFUL`.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Harmful => "HARMFUL",
            Verdict::Real => "REAL",
            Verdict::Unconfirmed => "UNCONFIRMED",
            Verdict::Refuted => "REFUTED",
        })
    }
}

/// State of the proof of a pair, without its harm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PairStatus {
    /// The pair is proved to be real.
    Confirmed,
    /// The pair is proved to be false.
    Refuted,
    /// Neither is proved.
    Open,
}

/// Reason why a search neither proves nor refutes a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UndecidedReason {
    /// A search has found the pair side by side, or both of its orders, and a run that shows it reaches a limit.
    Limit,
    /// One order never happens, but some run performed one access and then failed or went past the other one. Whether
    /// the other access was still to come takes too many states.
    CutOff,
    /// The same, and the other access comes without the first one only if units of semaphores are given back that the
    /// task of the first one has taken. Whether these are a lock or a signal is not known.
    Units,
    /// There are too many states.
    Cut,
    /// All states were searched, and there are too many of them with the single executions of the statements: for
    /// example, a loop without end performs them.
    Instances,
    /// Runs end with threads blocked at the statements of a deadlock ring, and in the run that the search has kept for
    /// these ends the threads hold their locks since other statements.
    OtherDeadlock,
}

impl UndecidedReason {
    /// Returns the word for the reason in files: `cut-off`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            UndecidedReason::Limit => "limit",
            UndecidedReason::CutOff => "cut-off",
            UndecidedReason::Units => "units",
            UndecidedReason::Cut => "cut",
            UndecidedReason::Instances => "instances",
            UndecidedReason::OtherDeadlock => "other-deadlock",
        }
    }
}

/// Result of the comparison of both orders of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Harm {
    /// Some failure comes with one order, and not with the other one from the same state.
    Harmful,
    /// Both orders fail, and no order is to blame.
    FailsEitherWay,
    /// Both orders were seen, and no run failed.
    NoFailure,
    /// There is nothing to compare: an order was not seen, or only one order failed, and too few runs of the other one
    /// were made to blame it.
    OneOrderOnly,
    /// The campaign was stopped before both orders were compared to the end.
    Interrupted,
    /// The pair is not confirmed.
    Unknown,
}
