//! Counts runs by their order, with the failures of each order.

use super::alike::{key, swapped};
use super::caught::CaughtException;
use super::failures::Failures;
use super::orders::ObservedOrder;
use super::trial::Trial;
use crate::campaign::order::First;
use crate::campaign::run::RunSource;
use std::collections::{BTreeMap, BTreeSet};

/// Runs of one order.
#[derive(Clone, Default)]
pub(in crate::campaign) struct Tally {
    pub(in crate::campaign) runs: u32,
    /// Number of these runs that did not fail and in which the other access never came although it was still to come.
    pub(in crate::campaign) cut_off: u32,
    pub(in crate::campaign) failures: Failures,
    /// First run that did not fail.
    pub(in crate::campaign) passes: Option<RunSource>,
    /// Exceptions that the app has caught, with the number of runs. Only continuations are watched for them.
    pub(in crate::campaign) caught: BTreeMap<CaughtException, u32>,
}

impl Tally {
    fn add(&mut self, trial: &Trial) {
        self.runs += 1;
        if trial.failed() {
            self.failures.add(trial);
        } else if self.passes.is_none() {
            self.passes = Some(trial.run.clone());
        }
    }

    /// Returns the keys of the failures of this order.
    pub(in crate::campaign) fn keys(&self) -> BTreeSet<String> {
        self.failures.counts().map(|(signature, _)| key(signature)).collect()
    }
}

/// Runs of both orders.
#[derive(Clone, Default)]
pub(in crate::campaign) struct Tallies {
    pub(in crate::campaign) of: [Tally; 2],
    pub(in crate::campaign) undecided: u32,
}

impl Tallies {
    pub(in crate::campaign) fn add(&mut self, observed: Option<ObservedOrder>, trial: &Trial) {
        match observed {
            Some(ObservedOrder { first, is_cut_off }) => {
                let tally = &mut self.of[first as usize];
                tally.add(trial);
                // The end of a run that failed needs no other reason.
                tally.cut_off += u32::from(is_cut_off && !trial.failed());
            }
            None => self.undecided += 1,
        }
    }

    /// Counts the exceptions that the app has caught in a run.
    pub(in crate::campaign) fn add_caught(
        &mut self,
        observed: Option<ObservedOrder>,
        caught: BTreeSet<CaughtException>,
    ) {
        let Some(ObservedOrder { first, .. }) = observed else { return };
        for exception in caught {
            *self.of[first as usize].caught.entry(exception).or_default() += 1;
        }
    }

    /// Returns whether a run of either order fails.
    pub(in crate::campaign) fn fail(&self) -> bool {
        self.of.iter().any(|tally| tally.failures.shown().next().is_some())
    }

    pub(in crate::campaign) fn join(&mut self, other: Tallies) {
        for (mine, theirs) in self.of.iter_mut().zip(other.of) {
            mine.runs += theirs.runs;
            mine.cut_off += theirs.cut_off;
            mine.failures.join(theirs.failures);
            mine.passes = mine.passes.take().or(theirs.passes);
            for (exception, runs) in theirs.caught {
                *mine.caught.entry(exception).or_default() += runs;
            }
        }
        self.undecided += other.undecided;
    }

    /// Shows runs of `known` that have less stall, without counting them.
    pub(in crate::campaign) fn show(&mut self, known: &Tallies) {
        for (mine, theirs) in self.of.iter_mut().zip(&known.of) {
            theirs.failures.shown().for_each(|trial| mine.failures.show(trial));
        }
    }

    /// Returns the failures that one order has and the other one has not, provided that the other one was seen: the
    /// order, the signature, and the number of runs with it. A failure that the other order has with two threads of one
    /// array exchanged (their `roles`) is not lacking.
    pub(in crate::campaign) fn lacking<'t>(
        &'t self,
        roles: &'t [String; 2],
    ) -> impl Iterator<Item = (First, &'t str, u32)> {
        let sides =
            [First::A, First::B].map(|first| (first, &self.of[first as usize], &self.of[first.other() as usize]));
        sides.into_iter().filter(|(_, _, other)| other.runs > 0).flat_map(move |(first, this, other)| {
            let others = other.keys();
            let lacks = move |s: &str| !others.contains(&key(s)) && !others.contains(&swapped(s, roles));
            this.failures.counts().filter(move |(s, _)| lacks(s)).map(move |(s, runs)| (first, s, runs))
        })
    }
}
