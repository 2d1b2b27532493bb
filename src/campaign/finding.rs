//! Decides what a campaign has found: the verdict on each pair, its harm, and the list of findings, with the failures
//! that no order of a pair is to blame for.
//!
//! The same decisions apply to the result of a campaign ([`PairReport`]) and to a report that was read from a file.
//! Both implement [`PairFacts`], so that each decision is written once.

use crate::campaign::cause::{Effect, groups, leading_violations};
use crate::campaign::report::{FailureReport, PairReport, PairSide, Proof};
use crate::campaign::ring::{RingFacts, RingReport};
use crate::campaign::runs::alike::same_failure;
use crate::campaign::verdict::{Harm, PairStatus, Verdict};
use crate::campaign::violation::{ConfirmedViolation, ViolationFacts, ViolationScope, ViolationVerdict};
use std::collections::BTreeSet;
use std::fmt;

/// Pair with what its verdict rests on.
pub trait PairFacts {
    /// Report of a failure.
    type Failure: fmt::Debug;

    /// Report of a deadlock ring.
    type Ring: RingFacts<Failure = Self::Failure> + fmt::Debug;

    /// Verdict on a declared transaction.
    type Violation: ViolationFacts<Failure = Self::Failure> + fmt::Debug;

    /// Returns the state of the proof.
    fn status(&self) -> PairStatus;

    /// Returns the signatures of the failures that one order of the pair is to blame for.
    fn harms(&self) -> Vec<&str>;

    /// Returns the failures of the runs of both orders.
    fn failures(&self) -> Vec<&Self::Failure>;

    /// Returns whether the pair is reported with a confirmed deadlock ring: its harm is the deadlock.
    fn is_of_ring(&self) -> bool;

    /// Returns the signature of a failure.
    fn signature(failure: &Self::Failure) -> &str;

    /// Returns the number of runs that ended in a failure.
    fn runs(failure: &Self::Failure) -> u32;

    /// Returns the statements of the pair with their contexts.
    fn sides(&self) -> Vec<PairSide>;

    /// Returns the pair as an effect, whose cause other pairs may share.
    fn effect(&self) -> Effect {
        let failures = self.harms().into_iter().map(same_failure).collect();
        let blamed = self.failures().into_iter().filter(|f| self.is_blamed_for(f));
        Effect::new(self.sides(), failures, blamed.map(|f| u64::from(Self::runs(f))).sum())
    }

    /// Returns the verdict on the pair.
    fn verdict(&self) -> Verdict {
        match (self.status(), self.harms().is_empty()) {
            (PairStatus::Confirmed, false) => Verdict::Harmful,
            (PairStatus::Confirmed, true) => Verdict::Real,
            (PairStatus::Refuted, _) => Verdict::Refuted,
            (PairStatus::Open, _) => Verdict::Unconfirmed,
        }
    }

    /// Returns whether one order of the pair is to blame for this failure.
    fn is_blamed_for(&self, failure: &Self::Failure) -> bool {
        self.harms().contains(&Self::signature(failure))
    }
}

impl PairFacts for PairReport {
    type Failure = FailureReport;
    type Ring = RingReport;
    type Violation = ConfirmedViolation;

    fn status(&self) -> PairStatus {
        match &self.proof {
            Proof::Adjacent | Proof::Flipped(_) => PairStatus::Confirmed,
            Proof::Refuted(_) | Proof::Ordered(_) => PairStatus::Refuted,
            Proof::Unconfirmed => PairStatus::Open,
        }
    }

    fn harms(&self) -> Vec<&str> {
        self.hurts().into_iter().map(|(_, f)| f.signature.as_str()).collect()
    }

    fn failures(&self) -> Vec<&FailureReport> {
        self.comparison.failures().collect()
    }

    fn is_of_ring(&self) -> bool {
        self.ring.is_some()
    }

    fn signature(failure: &FailureReport) -> &str {
        &failure.signature
    }

    fn runs(failure: &FailureReport) -> u32 {
        failure.runs
    }

    fn sides(&self) -> Vec<PairSide> {
        self.discovery.sides.to_vec()
    }
}

impl PairReport {
    /// Returns the verdict on the pair.
    ///
    /// # Examples
    ///
    /// ```
    /// use raceflip::campaign::{CampaignContext, CampaignPlan, NoProgress, Verdict, confirm};
    /// # use raceflip::vm::Model;
    /// # use std::sync::atomic::AtomicBool;
    /// let text = "var x = 0; thread a { x = 1 }; thread b { assert x == 0 }";
    /// let model = Model::from_text("flag.race", text, &[])?;
    /// # let stop = AtomicBool::new(false);
    /// let found = confirm(&CampaignPlan::new(&model), CampaignContext { stop: &stop, progress: &NoProgress });
    /// // The assertion fails if the write comes first, and only then.
    /// assert_eq!(found.pairs[0].verdict(), Verdict::Harmful);
    /// assert_eq!(found.pairs[0].verdict().to_string(), "HARMFUL");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        PairFacts::verdict(self)
    }

    /// Returns the result of the comparison of both orders.
    #[must_use]
    pub fn harm(&self) -> Harm {
        let [a, b] = &self.comparison.orders;
        match self.verdict() {
            Verdict::Refuted | Verdict::Unconfirmed => Harm::Unknown,
            Verdict::Harmful => Harm::Harmful,
            // An interrupted comparison supports no statement about the harm.
            Verdict::Real if !self.trials.complete => Harm::Interrupted,
            Verdict::Real if self.fails_either_way() => Harm::FailsEitherWay,
            Verdict::Real if a.runs == 0 || b.runs == 0 || a.failed() + b.failed() > 0 => Harm::OneOrderOnly,
            Verdict::Real => Harm::NoFailure,
        }
    }
}

/// Kind of the runs in which a failure is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunKind {
    /// Detection runs.
    Detection,
    /// Trials of pairs.
    Trial,
    /// Continuations of one order of a confirmed pair.
    Continuation,
}

impl RunKind {
    /// Returns the noun for one run of this kind: `detection run`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            RunKind::Detection => "detection run",
            RunKind::Trial => "trial",
            RunKind::Continuation => "run",
        }
    }
}

/// Subject of a finding.
#[derive(Debug)]
pub enum Subject<'r, P: PairFacts> {
    /// A pair.
    Pair {
        /// The pair.
        pair: &'r P,
        /// Whether it is an order pair.
        order: bool,
    },
    /// A deadlock ring.
    Ring(&'r P::Ring),
    /// A declared transaction that was judged.
    Violation(&'r P::Violation),
    /// A failure that no order of a confirmed pair is to blame for, and the kind of the runs that are counted.
    Failure(&'r P::Failure, RunKind),
}

impl<P: PairFacts> Clone for Subject<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: PairFacts> Copy for Subject<'_, P> {}

/// Entry of the list of findings.
#[derive(Debug)]
pub struct Finding<'r, P: PairFacts> {
    /// Pair or failure that was found.
    pub subject: Subject<'r, P>,
    /// Pairs that belong to the finding. For a harmful pair or a harmful violation of atomicity: the other pairs of the
    /// same cause, which it leads. For a failure: the confirmed pairs in whose runs it occurs.
    pub pairs: Vec<&'r P>,
    /// For a harmful violation of atomicity: the other violations of the same cause, which it leads.
    pub violations: Vec<&'r P::Violation>,
}

impl<'r, P: PairFacts> Finding<'r, P> {
    // A finding that nothing else belongs to.
    fn of(subject: Subject<'r, P>) -> Self {
        Self { subject, pairs: Vec::new(), violations: Vec::new() }
    }

    /// Returns the verdict on the pair or the ring, or one that weighs as much as that on a transaction; `None` for a
    /// failure.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        match self.subject {
            Subject::Pair { pair, .. } => Some(pair.verdict()),
            Subject::Ring(ring) => Some(ring.verdict()),
            Subject::Violation(of) => Some(of.verdict().weight()),
            Subject::Failure(..) => None,
        }
    }

    /// Returns a key that sorts findings by their importance: harmful pairs, failures, and the other pairs by their
    /// verdicts.
    #[must_use]
    pub fn importance(&self) -> (Verdict, bool) {
        // A failure comes between harmful and real pairs.
        self.verdict().map_or((Verdict::Harmful, true), |verdict| (verdict, false))
    }

    /// Returns the number of pairs, rings and transactions with the verdict of this finding; 1 for a failure.
    #[must_use]
    pub fn count(&self) -> u64 {
        match self.subject {
            Subject::Pair { .. } | Subject::Violation(_) => 1 + (self.pairs.len() + self.violations.len()) as u64,
            Subject::Ring(_) | Subject::Failure(..) => 1,
        }
    }
}

/// Parts of the result of a campaign from which its findings follow.
#[derive(Debug)]
pub struct Results<'r, P: PairFacts> {
    /// Potential pairs.
    pub pairs: &'r [P],
    /// Order pairs.
    pub orders: &'r [P],
    /// Deadlock rings.
    pub rings: &'r [P::Ring],
    /// Verdicts on declared transactions.
    pub violations: &'r [P::Violation],
    /// Failures of detection runs.
    pub detection: &'r [P::Failure],
    /// Failures of trials that no order of a pair has.
    pub trials: &'r [P::Failure],
}

impl<'r, P: PairFacts> Results<'r, P> {
    /// Returns the findings in their order: pairs, harmful order pairs, rings, declared transactions, and failures that
    /// are not the harm of any of these, whatever the verdicts of their pairs are. A model that fails in every run has
    /// failed, even if no order causes it. The harmful pairs and order pairs of one cause are one finding, about the
    /// leader of their [`groups`], or about the first harmful violation of atomicity that explains them.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding<'r, P>> {
        let all = || self.pairs.iter().map(|pair| (pair, false)).chain(harmful(self.orders).map(|pair| (pair, true)));
        let mut violations = self.violation_findings();
        let mut hurting: Vec<&'r P> = Vec::new();
        for (pair, _) in all().filter(|(pair, _)| pair.verdict() == Verdict::Harmful) {
            let explains = |of: &&mut Finding<'r, P>| match of.subject {
                Subject::Violation(of) if of.verdict() == ViolationVerdict::Harmful => pair.effect().is_of(&of.scope()),
                _ => false,
            };
            match violations.iter_mut().find(explains) {
                Some(of) => of.pairs.push(pair),
                None => hurting.push(pair),
            }
        }
        let effects: Vec<Effect> = hurting.iter().map(|pair| pair.effect()).collect();
        // The leaders are in the order of the list, which contains the pairs without harm, too.
        let mut groups = groups(&effects).into_iter().peekable();
        let (mut findings, mut at) = (Vec::new(), 0);
        for (pair, order) in all() {
            let mut pairs = Vec::new();
            if pair.verdict() == Verdict::Harmful {
                if !hurting.get(at).is_some_and(|next| std::ptr::eq(*next, pair)) {
                    continue;
                }
                at += 1;
                let Some(group) = groups.next_if(|group| group[0] + 1 == at) else { continue };
                pairs.extend(group[1..].iter().map(|i| hurting[*i]));
            }
            findings.push(Finding { pairs, ..Finding::of(Subject::Pair { pair, order }) });
        }
        findings.extend(self.rings.iter().map(|ring| Finding::of(Subject::Ring(ring))));
        findings.extend(violations);
        findings.extend(self.failures());
        findings
    }

    // Returns the findings about declared transactions. The harmful ones of one cause are one finding.
    fn violation_findings(&self) -> Vec<Finding<'r, P>> {
        let is_harmful = |of: &P::Violation| of.verdict() == ViolationVerdict::Harmful;
        let harmful: Vec<&'r P::Violation> = self.violations.iter().filter(|of| is_harmful(of)).collect();
        let scopes: Vec<ViolationScope> = harmful.iter().map(|of| of.scope()).collect();
        let leaders = leading_violations(&scopes);
        let (mut findings, mut at) = (Vec::new(), 0);
        for of in self.violations {
            let mut finding = Finding::of(Subject::Violation(of));
            if is_harmful(of) {
                let own = at;
                at += 1;
                if leaders[own] != own {
                    continue;
                }
                let led = leaders.iter().zip(&harmful).enumerate();
                finding.violations =
                    led.filter(|(i, (by, _))| **by == own && *i != own).map(|(_, (_, of))| *of).collect();
            }
            findings.push(finding);
        }
        findings
    }

    // Returns each failure that is not the harm of a reported pair once, with the confirmed pairs in whose runs it
    // occurs.
    fn failures(&self) -> Vec<Finding<'r, P>> {
        let confirmed: Vec<&P> = reported(self.pairs, self.orders).filter(|p| p.verdict().confirmed()).collect();
        let name = |f: &P::Failure| same_failure(P::signature(f));
        let deadlocks = self.rings.iter().flat_map(|ring| ring.deadlocks()).map(P::signature);
        let violations = self.violations.iter().filter_map(ViolationFacts::harm).map(P::signature);
        let harms = confirmed.iter().flat_map(|p| p.harms()).chain(deadlocks).chain(violations);
        let harms: BTreeSet<String> = harms.map(same_failure).collect();
        let detection = self.detection.iter().map(|f| (f, RunKind::Detection));
        let trials = self.trials.iter().map(|f| (f, RunKind::Trial));
        let continued = confirmed.iter().flat_map(|p| p.failures()).map(|f| (f, RunKind::Continuation));
        // The runs of a pair that is not confirmed are its trials. An order pair without harm is no finding itself, but
        // its failures are.
        let kind = |p: &P| if p.verdict().confirmed() { RunKind::Continuation } else { RunKind::Trial };
        let pairs = self.pairs.iter().filter(|p| !p.verdict().confirmed());
        let orders = self.orders.iter().filter(|p| p.verdict() != Verdict::Harmful);
        let others = pairs.chain(orders).flat_map(|p| p.failures().into_iter().map(move |f| (f, kind(p))));
        let mut known = BTreeSet::new();
        let mut findings = Vec::new();
        for (failure, runs) in detection.chain(trials).chain(continued).chain(others) {
            let this = name(failure);
            if !harms.contains(&this) && known.insert(this.clone()) {
                let has = |p: &&P| p.failures().iter().any(|f| name(f) == this);
                let pairs = confirmed.iter().copied().filter(has).collect();
                findings.push(Finding { pairs, ..Finding::of(Subject::Failure(failure, runs)) });
            }
        }
        findings
    }
}

// Returns the pairs that reports contain. Order pairs without harm are left out: they are no finding, and they explain
// no failure.
fn reported<'r, P: PairFacts>(pairs: &'r [P], orders: &'r [P]) -> impl Iterator<Item = &'r P> {
    pairs.iter().chain(harmful(orders))
}

fn harmful<P: PairFacts>(orders: &[P]) -> impl Iterator<Item = &P> {
    orders.iter().filter(|p| p.verdict() == Verdict::Harmful && !p.is_of_ring())
}

/// Returns whether the failure of a trial is also the failure of a detection run, or of a run with a known order of a
/// reported pair, or the deadlock of a ring. `(pairs, orders, rings)` are all of them.
pub(super) fn is_explained(
    failure: &FailureReport,
    detection: &[FailureReport],
    (pairs, orders, rings): (&[PairReport], &[PairReport], &[RingReport]),
) -> bool {
    let of_orders = reported(pairs, orders).flat_map(|p| p.comparison.failures());
    let deadlocks = rings.iter().flat_map(|ring| &ring.deadlocks);
    detection.iter().chain(of_orders).chain(deadlocks).any(|f| f.signature == failure.signature)
}
