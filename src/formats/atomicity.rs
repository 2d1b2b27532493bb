//! Violations of atomicity as JSON, `raceflip-atomicity` version 1 (`docs/formats.md`), and as lines of text.

use super::campaign::Access;
use crate::base::counted;
use crate::campaign::ShownViolations;
use crate::detect::atomicity::{Atomicity, Blame, Cycle, CycleEdge, EdgeRules, Finding, Moment, OfRuns, SeenFinding};
use serde::{Deserialize, Serialize};

/// Version of the format. It increases when a field changes its meaning or is removed, not when a field is added.
pub const VERSION: u32 = 1;

/// The violations of atomicity that a trace, or the runs of a model, show.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct AtomicityReport {
    pub format: String,
    pub version: u32,
    pub file: String,
    /// Number of runs; absent for a trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<u32>,
    /// `data` or `paper`.
    pub edges: String,
    pub specifications: Vec<SpecificationReport>,
    pub notes: Vec<String>,
}

/// What one specification shows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct SpecificationReport {
    pub specification: String,
    /// Numbers of declared transactions, of violated ones, and of those that are only jointly to blame; over all runs.
    pub transactions: usize,
    pub violated: usize,
    pub joint: usize,
    pub findings: Vec<FoundViolation>,
    /// Number of violated transactions whose cycles were not computed.
    pub left_out: usize,
}

/// Cycles of one declared name with the same locations and bodies.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct FoundViolation {
    pub transaction: String,
    /// `certain` or `joint`.
    pub blame: String,
    /// Of joint blame: the declared transactions that are to blame together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<String>,
    pub priority: u8,
    pub cycles: Vec<FoundCycle>,
    /// Number of runs that show it; absent for a trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<u32>,
    /// A token of a run that shows it; absent for a trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// A path that leaves a transaction and comes back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct FoundCycle {
    pub transaction: String,
    pub priority: u8,
    pub edges: Vec<FoundEdge>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same_value: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub initialization: bool,
}

/// An edge of a cycle.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct FoundEdge {
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    pub from: FoundMoment,
    pub to: FoundMoment,
}

/// An operation of a cycle.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct FoundMoment {
    /// Number of the operation in the trace, from 0, where operations on atomics count as well.
    pub step: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub line: u32,
    pub thread: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// The statement of the model; absent for traces, and in the result of detection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<Access>,
    pub operation: String,
    /// Whether the operation belongs to the transaction.
    pub inside: bool,
}

fn is_zero(line: &u32) -> bool {
    *line == 0
}

impl AtomicityReport {
    /// Returns the report of a file.
    #[must_use]
    pub fn new(file: &str, runs: Option<u32>, edges: EdgeRules, specifications: Vec<SpecificationReport>) -> Self {
        Self {
            format: "raceflip-atomicity".to_owned(),
            version: VERSION,
            file: file.to_owned(),
            runs,
            edges: edges.name().to_owned(),
            specifications,
            notes: Vec::new(),
        }
    }

    /// Returns the report as JSON on one line.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("texts and numbers can be written")
    }

    /// Whether some transaction is violated and to blame for certain, by a cycle that is not made of causes only.
    #[must_use]
    pub fn is_violated(&self) -> bool {
        let findings = self.specifications.iter().flat_map(|of| &of.findings);
        findings.into_iter().any(|finding| finding.priority < 4 && finding.blame == "certain")
    }

    /// Returns the counts of each specification, one line each.
    #[must_use]
    pub fn counts(&self) -> Vec<String> {
        self.specifications.iter().map(SpecificationReport::counts).collect()
    }

    /// Returns the report as text, without the line about the file. `all` shows each cycle, and cycles of causes only.
    #[must_use]
    pub fn text(&self, all: bool) -> Vec<String> {
        let mut lines = Vec::new();
        let mut number = 0;
        for of in &self.specifications {
            lines.push(of.counts());
            let shown = of.findings.iter().filter(|finding| all || finding.priority < 4);
            for finding in shown {
                number += 1;
                lines.push(String::new());
                finding.text(number, all, true, &mut lines);
            }
            let hidden = of.findings.iter().filter(|finding| !all && finding.priority == 4).count();
            if hidden > 0 {
                let findings = counted(hidden as u64, "finding");
                lines.push(format!("{findings} of causes only, which are no violations: --all shows them"));
            }
            if of.left_out > 0 {
                let more = counted(of.left_out as u64, "violated transaction");
                lines.push(format!("{more}, whose cycles were not searched, or only in part"));
            }
        }
        lines
    }
}

impl SpecificationReport {
    /// Returns the report of what a trace shows.
    #[must_use]
    pub fn new(found: &Atomicity) -> Self {
        Self {
            specification: found.specification.name().to_owned(),
            transactions: found.transactions,
            violated: found.violated,
            joint: found.joint,
            findings: found.findings.iter().map(FoundViolation::new).collect(),
            left_out: found.left_out,
        }
    }

    /// Returns the report of what runs show.
    #[must_use]
    pub fn of_runs(shown: &ShownViolations) -> Self {
        let OfRuns { specification, transactions, violated, joint, left_out, .. } = shown.seen;
        let findings = shown.findings.iter();
        Self {
            specification: specification.name().to_owned(),
            transactions,
            violated,
            joint,
            findings: findings.map(|(seen, token)| FoundViolation::of_runs(seen, &token.to_string())).collect(),
            left_out,
        }
    }

    fn counts(&self) -> String {
        let declared = counted(self.transactions as u64, "transaction");
        let joint = if self.joint > 0 { format!(", {} only jointly to blame", self.joint) } else { String::new() };
        format!("{}: {declared}, {} violated{joint}", self.specification, self.violated)
    }
}

impl FoundViolation {
    /// Returns a finding as data.
    #[must_use]
    pub fn new(finding: &Finding) -> Self {
        let (blame, with) = match &finding.blame {
            Blame::Certain => ("certain", Vec::new()),
            Blame::Joint(names) => ("joint", names.clone()),
        };
        Self {
            transaction: finding.declared.clone(),
            blame: blame.to_owned(),
            with,
            priority: finding.priority,
            cycles: finding.cycles.iter().map(FoundCycle::new).collect(),
            runs: None,
            token: None,
        }
    }

    /// Returns a finding of runs as data, with a token of the first one.
    #[must_use]
    pub fn of_runs(seen: &SeenFinding, token: &str) -> Self {
        Self { runs: Some(seen.runs), token: Some(token.to_owned()), ..Self::new(&seen.finding) }
    }

    /// Describes priority and blame: `priority 1, blame: Player`.
    pub(super) fn headline(&self) -> String {
        let blame = match self.with.as_slice() {
            [] => self.transaction.clone(),
            names => format!("{} together", names.join(" and ")),
        };
        format!("priority {}, blame: {blame}", self.priority)
    }

    /// Adds the finding as text: each cycle with `all`, and what makes a cycle likely harmless with `marks`.
    pub(super) fn text(&self, number: usize, all: bool, marks: bool, lines: &mut Vec<String>) {
        lines.push(format!("{number}  atomicity of {}   {}", self.transaction, self.headline()));
        let shown = if all { self.cycles.len() } else { 1 };
        for (i, cycle) in self.cycles.iter().take(shown).enumerate() {
            if i > 0 {
                lines.push("   another cycle:".to_owned());
            }
            cycle.text(marks, lines);
        }
        if self.cycles.len() > shown {
            lines.push(format!("   {} of this kind (--all)", counted(self.cycles.len() as u64, "cycle")));
        }
        if let Some(runs) = self.runs {
            lines.push(format!("   seen in {}", counted(u64::from(runs), "run")));
        }
        lines.extend(self.token.iter().map(|token| format!("   {token}")));
    }
}

impl FoundCycle {
    fn new(cycle: &Cycle) -> Self {
        let Cycle { transaction, edges, priority, same_value, initialization } = cycle;
        let edge = |edge: &CycleEdge| FoundEdge {
            kind: edge.kind.name().to_owned(),
            about: edge.about.clone(),
            from: FoundMoment::new(&edge.from),
            to: FoundMoment::new(&edge.to),
        };
        Self {
            transaction: transaction.clone(),
            priority: *priority,
            edges: edges.iter().map(edge).collect(),
            same_value: *same_value,
            initialization: *initialization,
        }
    }

    /// Returns the operations of the cycle in their order, each once, with what its edge is about.
    pub(super) fn moments(&self) -> Vec<(&FoundMoment, &str)> {
        let mut all: Vec<(&FoundMoment, &str)> = Vec::new();
        for edge in &self.edges {
            let about = edge.about.as_deref().unwrap_or_default();
            for moment in [&edge.from, &edge.to] {
                if all.last().is_none_or(|(last, _)| *last != moment) {
                    all.push((moment, about));
                }
            }
        }
        all
    }

    // One line for each operation: those of the transaction to the left, what comes between to the right.
    fn text(&self, marks: bool, lines: &mut Vec<String>) {
        lines.extend(self.moments().into_iter().map(|(moment, about)| moment.text(about)));
        let all = [
            (self.same_value, "what comes between writes the value that is there"),
            (self.initialization, "the first access initializes the location"),
        ];
        lines.extend(all.iter().filter(|(is, _)| marks && *is).map(|(_, text)| format!("   likely harmless: {text}")));
    }
}

impl FoundMoment {
    fn new(moment: &Moment) -> Self {
        Self {
            step: moment.step.0,
            line: moment.line,
            thread: moment.thread.clone(),
            task: moment.task.clone(),
            site: moment.site.clone(),
            statement: None,
            operation: moment.what.to_owned(),
            inside: moment.inside,
        }
    }

    // The name of what runs: a task, or a thread outside tasks.
    pub(super) fn running(&self) -> &str {
        self.task.as_ref().unwrap_or(&self.thread)
    }

    pub(super) fn text(&self, about: &str) -> String {
        let indent = if self.inside { "   " } else { "      " };
        let place = match &self.task {
            Some(task) => format!("{task} on {}", self.thread),
            None => self.thread.clone(),
        };
        let at = match (&self.site, self.line) {
            // The site repeats the kind of access behind the place.
            (Some(site), _) => format!("  {}", site.replacen(&format!(" {}", self.operation), "", 1)),
            (None, line) if line > 0 => format!("  line {line}"),
            (None, _) => String::new(),
        };
        format!("{indent}{place}  {} {about}{at}", self.operation).trim_end().to_owned()
    }
}
