//! Programs under test: what detection, trials, shrinking and searches need to know of a program of any kind.

use super::{Guest, Limits, Machine, Memory, Setup, Snapshot};
use crate::event::{EndValue, GlobalId};
use std::sync::Arc;

/// A program whose variables have values that distinguish the ends of runs.
pub trait EndValues {
    /// Returns the value of a variable at the end of a run, reduced to what can be compared between runs.
    fn end_value(&self, variable: GlobalId, memory: &Memory) -> EndValue;
}

/// A program under test. Several workers share it, and each of them runs it on a machine of its own.
///
/// All machines of a program must behave alike: the same choices lead to the same run, with the same sites.
pub trait Program: EndValues + Send + Sync {
    /// The guest that runs the program.
    type Guest: Guest;

    /// Returns the declarations of the program, which are those of its guest.
    fn setup(&self) -> &Arc<Setup>;

    /// Creates a machine that can run the program any number of times.
    fn machine(&self, limits: Limits) -> Machine<Self::Guest>;

    /// Returns the digest of the program that a token stores. Programs with different digests do not share tokens.
    fn digest(&self) -> u64;

    /// Returns the constants that got other values, with these values.
    fn defines(&self) -> &[(String, i64)];

    /// Performs work that needs whole states, if the guest is a [`Snapshot`]. By default there is none of it: then
    /// nothing is proved for the program, and states are reached again by running to them.
    ///
    /// A program whose guest is a snapshot implements it as `Some(search.perform(self))`. No other program can.
    fn search<S: Search<Self>>(&self, search: S) -> Option<S::Answer>
    where
        Self: Sized,
    {
        let _ = search;
        None
    }
}

/// Work that compares or copies whole states of a program: a search, or the continuation of a copied state.
pub trait Search<P: Program> {
    /// Result of the work.
    type Answer;

    /// Performs the work.
    fn perform(self, program: &P) -> Self::Answer
    where
        P::Guest: Snapshot;
}
