//! Judges `expect atomicity violation` lines: by recorded walks, and by searches for what they leave open.
//!
//! - A line without a word, or with `real`, holds if some run violates a transaction of the name for certain.
//! - `joint` holds if in some run such a transaction is to blame together with others, and in no run by itself.
//! - `harmful` holds if some failure comes in runs that violate a transaction and in no other run.
//! - `no` holds if no run violates one for certain. That is proved if a search ends; otherwise no walk shows one.

use super::order::OrderTally;
use super::test_result::TestPlan;
use super::variant::walk;
use crate::base::mix;
use crate::campaign::CampaignContext;
use crate::campaign::find::atomicity::{RecordedRun, record};
use crate::campaign::judge::atomicity::{Searched, search_violation};
use crate::campaign::run::RunSource;
use crate::campaign::runs::parallel;
use crate::campaign::runs::trial::Worker;
use crate::detect::atomicity::{AtomicityOptions, Blame, Specification, is_named};
use crate::lang::program::{ExpectationKind, OrderWord, TransactionRef};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

// Number of walks between two checks whether more are needed.
const ROUND: u32 = 100;

// Number of walks that are recorded if every line is shown.
const FEWEST: u32 = 200;

// Number of walks for a violation that none has shown, as a multiple of the plan's.
const RARER: u32 = 4;

/// What runs and searches show for one line.
#[derive(Default)]
pub(super) struct AtomicityTally {
    // Runs that violate a transaction for certain, and all others.
    certain: OrderTally,
    runs: u32,
    violated: u32,
    joint: u32,
    // The first run that violates one.
    first: Option<RunSource>,
    searched: Option<Searched>,
}

/// Whether a line is about atomicity.
#[must_use]
pub(super) fn is_about_atomicity(kind: &ExpectationKind) -> bool {
    matches!(kind, ExpectationKind::Atomicity { .. })
}

/// The specifications under which a line means its transactions. The usual ones, if it names none, are those that the
/// model declares something for.
fn specifications(of: &TransactionRef, plan: &TestPlan<'_>) -> Vec<Specification> {
    match of {
        TransactionRef::Text(_) => Specification::USUAL.to_vec(),
        TransactionRef::Any if plan.model.program.declares_transactions => Specification::USUAL.to_vec(),
        TransactionRef::Any | TransactionRef::Task(_) => vec![Specification::Tree],
    }
}

fn name(of: &TransactionRef) -> Option<&str> {
    match of {
        TransactionRef::Any => None,
        TransactionRef::Text(name) | TransactionRef::Task(name) => Some(name),
    }
}

/// The lines of a test that are about atomicity, each with its index.
#[derive(Default)]
pub(super) struct AtomicityLines {
    lines: BTreeMap<usize, AtomicityTally>,
}

impl AtomicityLines {
    /// Judges the lines of a test. Returns the number of walks that were recorded, and whether none was interrupted.
    pub(super) fn perform(&mut self, plan: &TestPlan<'_>, context: CampaignContext<'_>) -> (u32, bool) {
        let expectations = &plan.model.program.expectations;
        let all = expectations.iter().enumerate().filter(|(_, e)| is_about_atomicity(&e.kind));
        self.lines = all.map(|(i, _)| (i, AtomicityTally::default())).collect();
        if self.lines.is_empty() {
            return (0, true);
        }
        let mut walks = 0;
        let fewest = FEWEST.min(plan.walks);
        while walks < fewest || walks < plan.walks && self.wants_more(plan) {
            if !self.round(plan, walks, ROUND.min(plan.walks - walks), context) {
                return (walks, false);
            }
            walks += ROUND.min(plan.walks - walks);
        }
        self.search(plan, context);
        while walks < plan.walks.saturating_mul(RARER) && self.wants_more(plan) {
            if !self.round(plan, walks, ROUND, context) {
                return (walks, false);
            }
            walks += ROUND;
        }
        (walks, !context.stop.load(Ordering::Relaxed))
    }

    /// What is known about the line with this index.
    pub(super) fn tally(&self, line: usize) -> Option<&AtomicityTally> {
        self.lines.get(&line)
    }

    fn wants_more(&self, plan: &TestPlan<'_>) -> bool {
        self.lines.iter().any(|(i, tally)| tally.wants_more(&plan.model.program.expectations[*i].kind))
    }

    // Searches for what no walk has shown.
    fn search(&mut self, plan: &TestPlan<'_>, context: CampaignContext<'_>) {
        for (i, tally) in &mut self.lines {
            let ExpectationKind::Atomicity { of, .. } = &plan.model.program.expectations[*i].kind else { continue };
            if plan.states == 0 || tally.violated > 0 {
                continue;
            }
            let mut visited = 0;
            for specification in specifications(of, plan) {
                match search_violation(&plan.campaign, plan.states, (specification, name(of)), context) {
                    Some(Searched::Never(states)) => visited += states,
                    other => {
                        tally.searched = other;
                        break;
                    }
                }
            }
            tally.searched.get_or_insert(Searched::Never(visited));
        }
    }

    // Records the next walks. Returns false if they were interrupted.
    fn round(&mut self, plan: &TestPlan<'_>, from: u32, n: u32, context: CampaignContext<'_>) -> bool {
        let expectations = &plan.model.program.expectations;
        let of_line = |i: &usize| match &expectations[*i].kind {
            ExpectationKind::Atomicity { of, .. } => (*i, specifications(of, plan), name(of)),
            _ => unreachable!("only lines about atomicity are kept"),
        };
        let lines: Vec<(usize, Vec<Specification>, Option<&str>)> = self.lines.keys().map(of_line).collect();
        let mut asked: Vec<Specification> = lines.iter().flat_map(|(_, all, _)| all.iter().copied()).collect();
        asked.sort_unstable();
        asked.dedup();
        let done = parallel::map(
            plan.campaign.jobs,
            n as usize,
            context.stop,
            || Worker::new(&plan.campaign),
            |worker, i| {
                let run = walk(mix(plan.campaign.seed, u64::from(from) + i as u64));
                record(worker, &run, (&asked, AtomicityOptions::default()), context.stop)
            },
            || {},
        );
        let mut count = 0;
        for RecordedRun { trial, found, .. } in done.into_iter().flatten().flatten() {
            count += 1;
            let failure = trial.failed().then_some(trial.signature.as_str());
            for (i, specifications, name) in &lines {
                let Some(tally) = self.lines.get_mut(i) else { continue };
                let own = found.iter().filter(|found| specifications.contains(&found.specification));
                let mut findings = own.flat_map(|found| &found.findings);
                let is_joint = |blame: &Blame| match blame {
                    Blame::Certain => false,
                    Blame::Joint(names) => {
                        name.is_none_or(|given| names.iter().any(|declared| is_named(declared, given)))
                    }
                };
                tally.joint += u32::from(findings.clone().any(|finding| is_joint(&finding.blame)));
                let violated = findings.any(|finding| finding.is_violation_of(*name));
                tally.runs += 1;
                tally.violated += u32::from(violated);
                tally.certain.add(violated, failure);
                if violated && tally.first.is_none() {
                    tally.first = Some(trial.run.clone());
                }
            }
        }
        count == n
    }
}

impl AtomicityTally {
    /// Whether a violation happens; `None` if that is not known.
    pub(super) fn happens(&self) -> Option<bool> {
        match (&self.searched, self.violated) {
            (_, 1..) | (Some(Searched::Violated(_)), _) => Some(true),
            (Some(Searched::Never(_)), _) => Some(false),
            _ => None,
        }
    }

    /// Returns the reason why a line does not hold; `None` if it holds. `token` makes the token of a run.
    pub(super) fn judge(&self, kind: &ExpectationKind, token: &mut dyn FnMut(&RunSource) -> String) -> Option<String> {
        let ExpectationKind::Atomicity { no, harmful, joint, .. } = kind else { return None };
        let (violated, runs) = (self.violated, self.runs);
        let never = || match &self.searched {
            Some(Searched::Never(states)) => format!("no run can violate it (a search of {states} states)"),
            Some(Searched::Unknown(why)) => format!("none of {runs} walks violates it, and {}", why.text()),
            _ => format!("none of {runs} walks violates it"),
        };
        match (no, self.happens() == Some(true)) {
            (true, true) => {
                let shown = match (&self.first, &self.searched) {
                    (Some(run), _) => token(run),
                    (None, Some(Searched::Violated(token))) => token.to_string(),
                    (None, _) => String::new(),
                };
                Some(format!("{violated} of {runs} walks violate it; a run that does: {shown}"))
            }
            (true, false) => None,
            (false, seen) => match (joint, harmful, seen) {
                (true, _, true) => {
                    Some("a run violates it by itself, so that it is not only jointly to blame".to_owned())
                }
                (true, _, false) if self.joint == 0 => Some(format!("none of {runs} walks has it jointly to blame")),
                (true, _, false) => None,
                (false, _, false) => Some(never()),
                (false, true, true) if !self.hurts() => {
                    Some(format!("{violated} of {runs} walks violate it, and no failure needs that"))
                }
                _ => None,
            },
        }
    }

    fn hurts(&self) -> bool {
        let harmful = ExpectationKind::Order { refs: Vec::new(), word: OrderWord::Harmful };
        self.violated > 0 && self.certain.judge(&harmful).is_none()
    }

    // Whether more walks could make the line hold.
    fn wants_more(&self, kind: &ExpectationKind) -> bool {
        let ExpectationKind::Atomicity { no, harmful, joint, .. } = kind else { return false };
        let decided = matches!(self.searched, Some(Searched::Never(_) | Searched::Violated(_)));
        match (no, joint, harmful) {
            (true, ..) => false,
            (_, true, _) => self.joint == 0 && self.violated == 0,
            (_, _, true) => !self.hurts() && !matches!(self.searched, Some(Searched::Never(_))),
            _ => self.violated == 0 && !decided,
        }
    }
}
