//! Confirmed violations of atomicity as JSON, `raceflip-violations` version 2 (`docs/formats.md`), and as text.

use super::atomicity::{FoundCycle, FoundMoment, FoundViolation};
use super::campaign::{Access, Evidence, Failure, access, fails, run_evidence};
use super::timeline::{Marks, TransactionMarks};
use crate::base::counted;
use crate::campaign::{
    self, CampaignPlan, ConfirmedViolation, ConfirmedViolations, KnownHarm, SearchAnswer, ViolationFacts,
    ViolationHarm, ViolationScope, ViolationVerdict,
};
use crate::detect::atomicity::{SeenFinding, Specification};
use crate::event::by_trace_name;
use crate::token::Token;
use crate::vm::Model;
use crate::world::Limits;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Version of the format. It increases when a field changes its meaning or is removed, not when a field is added.
pub const VERSION: u32 = 2;

/// The verdicts on the declared transactions of a model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct ViolationsReport {
    pub format: String,
    pub version: u32,
    pub file: String,
    /// Number of detection runs.
    pub runs: u32,
    pub violations: Vec<JudgedViolation>,
    pub complete: bool,
}

/// The verdict on a finding, or on the transactions of a name of which no run shows a violation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct JudgedViolation {
    pub verdict: String,
    pub specification: String,
    pub transaction: String,
    /// The cycles; absent if no recorded run shows one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<FoundViolation>,
    /// A run that violates it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Evidence>,
    /// Numbers of directed runs, and of those that violate it.
    pub trials: u32,
    pub hits: u32,
    /// Of `REFUTED`: the number of states of the search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states: Option<u64>,
    /// Of `UNCONFIRMED`: why no search decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<String>,
    /// Of `HARMFUL`: the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harm: Option<HarmOfViolation>,
    /// Of `HARMFUL`: the index of the violation that leads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<u32>,
    /// Of `REAL`: the most frequent failure of the runs that violate it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_harm: Option<OpenHarm>,
}

/// A failure that comes with a violation only.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct HarmOfViolation {
    /// The failure; its `runs` are those of the runs that violate the transaction.
    pub failure: Failure,
    /// Number of runs that violate the transaction.
    pub violated: u32,
    pub in_one_piece: SerialRuns,
    /// The signatures of the other failures that come with the violation only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
}

/// Numbers of runs that have a transaction in one piece, by the place of what comes between otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct SerialRuns {
    pub before: u32,
    pub after: u32,
    pub other: u32,
}

/// A failure of runs with a violation that is not known to be its harm.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct OpenHarm {
    pub signature: String,
    /// Whether runs that have the transaction in one piece fail so too.
    pub either_way: bool,
}

impl ViolationsReport {
    /// Returns the report of a model.
    #[must_use]
    pub fn new(file: &str, plan: &CampaignPlan, found: &ConfirmedViolations) -> Self {
        Self {
            format: "raceflip-violations".to_owned(),
            version: VERSION,
            file: file.to_owned(),
            runs: found.runs,
            violations: found.all.iter().map(|of| JudgedViolation::new(plan, of)).collect(),
            complete: found.complete,
        }
    }

    /// Returns the report as JSON on one line.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("texts and numbers can be written")
    }

    /// Returns the number of violations that count as findings. See [`ViolationFacts::counts`].
    #[must_use]
    pub fn counting(&self, strict: bool) -> u64 {
        self.violations.iter().filter(|of| of.counts(strict)).count() as u64
    }

    /// Returns the verdicts that a text lists: with `all` each of them. Otherwise those of another one's cause are left
    /// out, and of the findings about one name those that say less than the first one: joint ones, those of priority 3,
    /// and likely harmless ones, unless they show another failure.
    #[must_use]
    pub fn listed(&self, all: bool) -> Vec<&JudgedViolation> {
        let mut names = BTreeSet::new();
        let mut listed = Vec::new();
        for of in self.violations.iter().filter(|of| all || of.leader.is_none()) {
            let name = (&of.specification, &of.transaction);
            let is_first = names.insert((name, None));
            let shows_failure = of.harm().is_some_and(|failure| names.insert((name, Some(&failure.signature))));
            listed.extend((all || is_first || shows_failure || !of.says_less()).then_some(of));
        }
        listed
    }

    /// Returns the first line of the text, with the counts of the verdicts.
    #[must_use]
    pub fn headline(&self) -> String {
        let runs = counted(u64::from(self.runs), "run");
        if self.violations.is_empty() {
            return format!("atomicity, in {runs}: no run has a declared transaction");
        }
        format!("atomicity, in {runs}: {}", verdict_counts(&self.violations).join(", "))
    }
}

impl ViolationFacts for JudgedViolation {
    type Failure = Failure;

    fn verdict(&self) -> ViolationVerdict {
        // A word of a later version claims nothing.
        let known = ViolationVerdict::ALL.into_iter().find(|verdict| verdict.word() == self.verdict);
        known.unwrap_or(ViolationVerdict::Unconfirmed)
    }

    fn priority(&self) -> Option<u8> {
        self.finding.as_ref().map(|finding| finding.priority)
    }

    fn harm(&self) -> Option<&Failure> {
        self.harm.as_ref().map(|harm| &harm.failure)
    }

    fn scope(&self) -> ViolationScope {
        let Some(harm) = &self.harm else { return ViolationScope::default() };
        let failures = std::iter::once(&harm.failure.signature).chain(&harm.others).map(String::as_str);
        let cycles = || self.finding.iter().flat_map(|finding| &finding.cycles);
        let edges = || cycles().flat_map(|cycle| &cycle.edges);
        let moments = edges().flat_map(|edge| [&edge.from, &edge.to]);
        let line = |of: &FoundMoment| of.statement.as_ref().map_or(0, |statement| statement.line);
        let moments = moments.map(|of| (of.running(), line(of), of.inside));
        let places = edges().filter_map(|edge| edge.about.as_deref());
        ViolationScope::new(&self.transaction, failures, self.priority().unwrap_or(u8::MAX), moments, places)
    }
}

impl JudgedViolation {
    fn new(plan: &CampaignPlan, of: &ConfirmedViolation) -> Self {
        let finding = |seen: &SeenFinding| FoundViolation {
            runs: (seen.runs > 0).then_some(seen.runs),
            ..with_statements(plan, FoundViolation::new(&seen.finding))
        };
        Self {
            verdict: of.verdict.word().to_owned(),
            specification: of.specification.name().to_owned(),
            transaction: of.declared.clone(),
            finding: of.seen.as_ref().map(finding),
            again: of.evidence.as_ref().map(run_evidence),
            trials: of.directed.trials,
            hits: of.directed.hits,
            states: match of.searched {
                Some(SearchAnswer::Never(states)) => Some(states),
                _ => None,
            },
            undecided: match of.searched {
                Some(SearchAnswer::Undecided(why)) => Some(why.to_owned()),
                _ => None,
            },
            harm: match &of.harm {
                Some(KnownHarm::Needed(harm)) => Some(HarmOfViolation::new(plan, harm)),
                _ => None,
            },
            leader: None,
            open_harm: match &of.harm {
                Some(KnownHarm::Open(campaign::OpenHarm { signature, either_way })) => {
                    Some(OpenHarm { signature: signature.clone(), either_way: *either_way })
                }
                _ => None,
            },
        }
    }

    // Whether another finding about the same name says more.
    fn says_less(&self) -> bool {
        let marked = |finding: &FoundViolation| finding.cycles.iter().all(|of| of.same_value || of.initialization);
        let is_lesser = |finding: &FoundViolation| finding.priority > 2 || marked(finding);
        self.verdict() == ViolationVerdict::Joint || self.finding.as_ref().is_some_and(is_lesser)
    }

    /// Returns the cycle to show: the first one of the best priority. `None` if no recorded run shows one.
    pub(super) fn cycle(&self) -> Option<&FoundCycle> {
        self.finding.as_ref()?.cycles.first()
    }

    /// Finds the transaction in the run to show, for a timeline. `None` if the run cannot be performed under these
    /// limits.
    #[must_use]
    pub fn marks(&self, model: &Model, allowed: &Limits) -> Option<Marks> {
        let token: Token = self.shown()?.token.parse().ok()?;
        let specification = Specification::ALL.into_iter().find(|of| of.name() == self.specification)?;
        let edges = self.cycle().map_or(&[][..], |cycle| &cycle.edges);
        let sites = edges.iter().flat_map(|edge| [edge.from.site.as_deref(), edge.to.site.as_deref()]);
        let of = (specification, self.transaction.as_str());
        let transaction = TransactionMarks::of(model, &token, allowed, of, &sites.collect::<Vec<_>>());
        Some(Marks { transaction, ..Marks::default() })
    }

    /// Returns the statements of the cycle to show, those that are known, each once.
    pub(super) fn statements(&self) -> Vec<&Access> {
        let mut all: Vec<&Access> = Vec::new();
        for (moment, _) in self.cycle().map(FoundCycle::moments).unwrap_or_default() {
            all.extend(moment.statement.as_ref().filter(|statement| !all.contains(statement)));
        }
        all
    }

    /// Describes what is known besides the cycles: runs, proof, harm. One line each.
    pub(super) fn facts(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.trials > 0 {
            lines.push(format!("{} of {} violate it", self.hits, counted(u64::from(self.trials), "directed run")));
        }
        if let Some(states) = self.states {
            lines.push(format!("no run violates it: a search of {}", counted(states, "state")));
        }
        if self.verdict() == ViolationVerdict::Unconfirmed {
            let why = self.undecided.as_deref().map_or(String::new(), |why| format!("; {why}"));
            lines.push(format!("no run violates it, which is no proof{why}"));
        }
        lines.extend(self.harm_words());
        lines
    }

    /// Describes the harm, or the failure that is not known to be harm. `None` if no run that violates it fails.
    pub(super) fn harm_words(&self) -> Option<String> {
        if let Some(OpenHarm { signature, either_way }) = &self.open_harm {
            return Some(match either_way {
                true => format!("fails in one piece as well: {signature}"),
                false => format!("too few runs in one piece to rule out the same failure: {signature}"),
            });
        }
        let HarmOfViolation { failure, violated, in_one_piece, .. } = self.harm.as_ref()?;
        let SerialRuns { before, after, other } = *in_one_piece;
        let runs = |n: u64| counted(n, "run");
        let mut serial = vec![format!("{before} before"), format!("{after} after")];
        if other > 0 {
            serial.push(format!("{other} without it"));
        }
        Some(format!(
            "in one piece: {} (what comes between: {}), none fails; not in one piece: {}, {} fail: {}",
            runs([before, after, other].into_iter().map(u64::from).sum()),
            serial.join(", "),
            runs(u64::from(*violated)),
            failure.runs,
            failure.text()
        ))
    }

    /// Returns the verdict as text, after an empty line, with this number. `all` shows each cycle. `replay` makes the
    /// commands that replay a run.
    #[must_use]
    pub fn text(&self, number: usize, all: bool, replay: &mut dyn FnMut(&Evidence) -> Vec<String>) -> Vec<String> {
        let mut lines = vec![String::new()];
        match &self.finding {
            Some(finding) => {
                finding.text(number, all, self.harm.is_none(), &mut lines);
                // The verdict stands before what it is about.
                if let Some(first) = lines.get_mut(1) {
                    *first = first.replacen("  ", &format!("  {:<11}  ", self.verdict), 1);
                }
            }
            None => lines.push(format!("{number}  {:<11}  atomicity of {}", self.verdict, self.transaction)),
        }
        lines.extend(self.facts().into_iter().map(|fact| format!("   {fact}")));
        // With all cycles the numbers are those of the list.
        let leader = self.leader.filter(|_| all).map(|by| format!("   the same cause as number {}", by + 1));
        lines.extend(leader);
        let shown = self.shown().map(replay).unwrap_or_default();
        lines.extend(shown.into_iter().map(|command| format!("   {command}")));
        lines
    }

    /// Returns the run to show: one that fails, if there is one.
    #[must_use]
    pub fn shown(&self) -> Option<&Evidence> {
        self.harm().map(|failure| &failure.again).or(self.again.as_ref())
    }
}

/// Counts the verdicts: `1 HARMFUL`, `2 REFUTED`. Empty if there are none.
pub(super) fn verdict_counts<'r>(all: impl IntoIterator<Item = &'r JudgedViolation>) -> Vec<String> {
    let mut counts = [0_usize; ViolationVerdict::ALL.len()];
    for of in all {
        let verdict = of.verdict();
        ViolationVerdict::ALL.iter().zip(&mut counts).filter(|(is, _)| **is == verdict).for_each(|(_, n)| *n += 1);
    }
    let some = ViolationVerdict::ALL.iter().zip(counts).filter(|(_, n)| *n > 0);
    some.map(|(verdict, n)| format!("{n} {}", verdict.word())).collect()
}

impl HarmOfViolation {
    fn new(plan: &CampaignPlan, harm: &ViolationHarm) -> Self {
        let campaign::SerialRuns { before, after, other } = harm.serial;
        let in_one_piece = SerialRuns { before, after, other };
        let others = harm.others.clone();
        Self { failure: fails(&plan.program, &harm.failure), violated: harm.violated, in_one_piece, others }
    }
}

// Adds the statements of the model to the operations of a finding.
fn with_statements(plan: &CampaignPlan, mut finding: FoundViolation) -> FoundViolation {
    let names = by_trace_name(&plan.program.code.setup.sites);
    for edge in finding.cycles.iter_mut().flat_map(|cycle| &mut cycle.edges) {
        for moment in [&mut edge.from, &mut edge.to] {
            let site = moment.site.as_ref().and_then(|name| names.get(name));
            moment.statement = site.map(|site| access(plan, *site));
        }
    }
    finding
}
