//! Confirmed violations of atomicity as JSON, `raceflip-violations` version 1 (`docs/formats.md`), and as text.

use super::atomicity::FoundViolation;
use crate::base::counted;
use crate::campaign::{ConfirmedViolation, ConfirmedViolations, SearchAnswer, ViolationHarm, ViolationVerdict};
use serde::{Deserialize, Serialize};

/// Version of the format. It increases when a field changes its meaning or is removed, not when a field is added.
pub const VERSION: u32 = 1;

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
    /// A token of a run that violates it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
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
}

/// A failure that comes with a violation only.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct HarmOfViolation {
    pub signature: String,
    pub token: String,
    /// Numbers of runs that violate the transaction, and of those that fail so.
    pub violated: u32,
    pub fails: u32,
    /// Number of runs that have it in one piece, none of which fails so.
    pub in_one_piece: u32,
}

impl ViolationsReport {
    /// Returns the report of a model.
    #[must_use]
    pub fn new(file: &str, found: &ConfirmedViolations) -> Self {
        Self {
            format: "raceflip-violations".to_owned(),
            version: VERSION,
            file: file.to_owned(),
            runs: found.runs,
            violations: found.all.iter().map(JudgedViolation::new).collect(),
            complete: found.complete,
        }
    }

    /// Returns the report as JSON on one line.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("texts and numbers can be written")
    }

    /// Number of harmful violations.
    #[must_use]
    pub fn harmful(&self) -> u64 {
        self.violations.iter().filter(|of| of.verdict == ViolationVerdict::Harmful.word()).count() as u64
    }

    /// Number of violations that are harmful, or real and not one that the transaction itself has made.
    #[must_use]
    pub fn violated(&self) -> u64 {
        let is_own = |of: &JudgedViolation| of.finding.as_ref().is_some_and(|finding| finding.priority > 2);
        let is_real = |of: &&JudgedViolation| of.verdict == ViolationVerdict::Real.word() && !is_own(of);
        self.harmful() + self.violations.iter().filter(is_real).count() as u64
    }

    /// Returns the report as text. `all` shows each cycle. `replay` makes the command that replays a token.
    #[must_use]
    pub fn text(&self, all: bool, replay: &dyn Fn(&str) -> String) -> Vec<String> {
        let count = |of: ViolationVerdict| self.violations.iter().filter(|v| v.verdict == of.word()).count();
        use ViolationVerdict as V;
        let counts: Vec<String> = [V::Harmful, V::Real, V::Joint, V::Unconfirmed, V::Refuted]
            .into_iter()
            .filter(|of| count(*of) > 0)
            .map(|of| format!("{} {}", count(of), of.word()))
            .collect();
        let runs = counted(u64::from(self.runs), "run");
        if counts.is_empty() {
            return vec![format!("atomicity, in {runs}: no run has a declared transaction")];
        }
        let mut lines = vec![format!("atomicity, in {runs}: {}", counts.join(", "))];
        for (i, of) in self.violations.iter().enumerate() {
            lines.push(String::new());
            of.text(i + 1, all, replay, &mut lines);
        }
        lines
    }
}

impl JudgedViolation {
    fn new(of: &ConfirmedViolation) -> Self {
        Self {
            verdict: of.verdict.word().to_owned(),
            specification: of.specification.name().to_owned(),
            transaction: of.declared.clone(),
            finding: of.seen.as_ref().map(|seen| FoundViolation {
                runs: (seen.runs > 0).then_some(seen.runs),
                ..FoundViolation::new(&seen.finding)
            }),
            token: of.token.as_ref().map(ToString::to_string),
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
            harm: of.harm.as_ref().map(HarmOfViolation::new),
        }
    }

    fn text(&self, number: usize, all: bool, replay: &dyn Fn(&str) -> String, lines: &mut Vec<String>) {
        match &self.finding {
            Some(finding) => {
                let from = lines.len();
                finding.text(number, all, lines);
                // The verdict stands before what it is about.
                if let Some(first) = lines.get_mut(from) {
                    *first = first.replacen("  ", &format!("  {:<11}  ", self.verdict), 1);
                }
            }
            None => lines.push(format!("{number}  {:<11}  atomicity of {}", self.verdict, self.transaction)),
        }
        if self.trials > 0 {
            lines.push(format!("   {} of {} violate it", self.hits, counted(u64::from(self.trials), "directed run")));
        }
        if let Some(states) = self.states {
            lines.push(format!("   no run violates it: a search of {}", counted(states, "state")));
        }
        if self.verdict == ViolationVerdict::Unconfirmed.word() {
            let why = self.undecided.as_deref().map_or(String::new(), |why| format!("; {why}"));
            lines.push(format!("   no run violates it, which is no proof{why}"));
        }
        if let Some(harm) = &self.harm {
            lines.push(format!(
                "   in one piece: {}, none fails; not in one piece: {}, {} fail: {}",
                counted(u64::from(harm.in_one_piece), "run"),
                counted(u64::from(harm.violated), "run"),
                harm.fails,
                harm.signature
            ));
        }
        let shown = self.harm.as_ref().map(|harm| harm.token.as_str()).or(self.token.as_deref());
        lines.extend(shown.map(|token| format!("   {}", replay(token))));
    }
}

impl HarmOfViolation {
    fn new(of: &ViolationHarm) -> Self {
        Self {
            signature: of.signature.clone(),
            token: of.token.to_string(),
            violated: of.violated,
            fails: of.fails,
            in_one_piece: of.serial,
        }
    }
}
