//! Defines the result of a campaign over many models, `raceflip-campaign` version 1, and the lines of `--trials-out`
//! (`docs/formats.md`).

use super::campaign::{ConfirmReport, is_usual, names, usual};
use super::gate::GateReport;
use super::harms::side;
use crate::campaign::{CampaignPlan, Confirmation, ConfirmedViolations, Explore};
use crate::sched::site_text;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use xxhash_rust::xxh3::xxh3_64;

/// Version of the format. It increases when a field changes its meaning or is removed, not when a field is added.
pub const VERSION: u32 = 1;

const FORMAT: &str = "raceflip-campaign";

/// The settings that all variants of a campaign share: everything besides the models that determines their results.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Settings {
    pub seed: u64,
    pub runs: u32,
    pub trials: u32,
    /// Number of potential pairs that are kept for one location.
    #[serde(default = "usual_pairs", skip_serializing_if = "is_usual_number")]
    pub most_pairs: u32,
    /// The names of the detectors.
    #[serde(default = "usual", skip_serializing_if = "is_usual")]
    pub detectors: Vec<String>,
    /// The specifications of atomicity that were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub atomic: Vec<String>,
    /// The use of a search of all states: `auto`, `off`, `only`.
    pub explore: String,
    pub explore_limit: u64,
    pub order_pairs: bool,
    /// Whether possible livelocks are searched for even if no run hit the limit of steps.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub livelocks: bool,
    /// Whether static analysis refutes no pairs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_static: bool,
    /// Limits of runs that differ from the defaults, by option.
    pub limits: BTreeMap<String, u64>,
}

fn usual_pairs() -> u32 {
    CampaignPlan::MOST_PAIRS
}

fn is_usual_number(most_pairs: &u32) -> bool {
    *most_pairs == usual_pairs()
}

impl Settings {
    /// Returns the settings of a plan: everything in it but the model.
    #[must_use]
    pub fn of(plan: &CampaignPlan) -> Self {
        let explore = match plan.search.explore {
            Explore::Auto => "auto",
            Explore::Off => "off",
            Explore::Only => "only",
        };
        Self {
            seed: plan.seed,
            runs: plan.detection.runs,
            trials: plan.trials.count,
            most_pairs: plan.detection.most_pairs,
            detectors: names(&plan.detection.detectors),
            atomic: Vec::new(),
            explore: explore.to_owned(),
            explore_limit: plan.search.states,
            order_pairs: plan.trials.orders,
            livelocks: plan.search.livelocks,
            no_static: false,
            limits: plan.limits.unusual().map(|(option, value)| (option.to_owned(), value)).collect(),
        }
    }

    /// Describes the first setting that differs in `other`: its name and both values. Returns `None` if all are equal.
    #[must_use]
    pub fn difference(&self, other: &Settings) -> Option<String> {
        let fields = |settings| match serde_json::to_value(settings) {
            Ok(serde_json::Value::Object(fields)) => fields,
            _ => serde_json::Map::new(),
        };
        let (mine, theirs) = (fields(self), fields(other));
        // A setting with its default value is not written.
        let usual = |name: &str| match name {
            "detectors" => serde_json::json!(usual()),
            "atomic" => serde_json::json!([]),
            "most_pairs" => serde_json::json!(usual_pairs()),
            "livelocks" | "no_static" => serde_json::json!(false),
            _ => serde_json::Value::Null,
        };
        let of = |fields: &serde_json::Map<String, serde_json::Value>, name: &str| {
            fields.get(name).cloned().unwrap_or_else(|| usual(name))
        };
        let name = mine.keys().chain(theirs.keys()).find(|name| of(&mine, name) != of(&theirs, name))?;
        let (there, here) = (of(&theirs, name), of(&mine, name));
        Some(format!("{} is {there} there, and {here} here", name.replace('_', "-")))
    }
}

/// One part of a campaign that is divided into `of` parts; `part` counts from 1. Variants are dealt to the parts in
/// turn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Partition {
    pub part: u32,
    pub of: u32,
}

impl Partition {
    /// Returns whether the variant of this number, from 0, belongs to the part.
    #[must_use]
    pub fn has(self, variant: usize) -> bool {
        variant as u64 % u64::from(self.of.max(1)) + 1 == u64::from(self.part)
    }
}

/// The results of one variant of a model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct VariantReport {
    /// Number of the variant in the campaign, from 0. Variants are ordered by name.
    pub variant: u64,
    #[serde(flatten)]
    pub report: ConfirmReport,
}

/// The output of `raceflip confirm DIR --format json` and of `raceflip merge`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct CampaignReport {
    pub format: String,
    pub version: u32,
    #[serde(flatten)]
    pub settings: Settings,
    /// Number of variants of the whole campaign.
    pub variants: u64,
    /// A digest of the names and programs of all variants.
    pub suite: String,
    pub partition: Option<Partition>,
    /// Whether the results of the whole campaign, or of its part, are complete.
    pub complete: bool,
    /// Whether the same command produces the same bytes. False if a time limit or an interruption has cut the campaign
    /// short.
    pub reproducible: bool,
    /// Inputs that could not be read.
    pub refused: Vec<String>,
    pub results: Vec<VariantReport>,
    /// The gate of the command; `None` in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateReport>,
    /// Checksum of the other fields: xxHash3 (64 bits, 16 hexadecimal digits) of the same object without this field, as
    /// compact JSON with sorted keys. Files of older versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
}

impl CampaignReport {
    /// Creates a report without results.
    #[must_use]
    pub fn new(settings: Settings, variants: u64, suite: String, partition: Option<Partition>) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            settings,
            variants,
            suite,
            partition,
            complete: true,
            reproducible: true,
            refused: Vec::new(),
            results: Vec::new(),
            gate: None,
            checksum: None,
        }
    }

    /// Reads a report and verifies its checksum, if it has one.
    ///
    /// # Errors
    ///
    /// Returns a message with the reason if the text is not a report of this version, or if its checksum is wrong.
    pub fn from_json(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct KindField {
            format: String,
            version: u32,
        }
        let kind: KindField = serde_json::from_str(text).map_err(|e| format!("it is not {FORMAT} JSON: {e}"))?;
        if kind.format != FORMAT {
            return Err(format!(
                "its format is `{}`, and must be `{FORMAT}`: what `raceflip confirm` writes of several models with --out or --format json",
                kind.format
            ));
        }
        if kind.version != VERSION {
            return Err(format!("its version is {}, and this program reads version {VERSION}", kind.version));
        }
        let report: Self = serde_json::from_str(text).map_err(|e| format!("it is damaged: {e}"))?;
        match &report.checksum {
            Some(sum) if *sum != checksum(text)? => Err(format!(
                "it is damaged: it was edited or cut after raceflip had written it (its checksum is {sum}, and its text has another one); run that part again"
            )),
            _ => Ok(Self { checksum: None, ..report }),
        }
    }

    /// Returns the report as JSON text, with its checksum.
    #[must_use]
    pub fn to_json(&self) -> String {
        let plain = serde_json::to_string(&Self { checksum: None, ..self.clone() });
        let sum = plain.ok().and_then(|text| checksum(&text).ok());
        serde_json::to_string_pretty(&Self { checksum: sum, ..self.clone() }).expect("texts and numbers can be written")
    }

    /// Returns the number of variants with a complete result.
    #[must_use]
    pub fn finished(&self) -> usize {
        self.results.iter().filter(|r| r.report.about.complete).count()
    }

    /// Merges parts of one campaign. Each part has a name, for messages.
    ///
    /// # Errors
    ///
    /// Returns a message if the parts belong to different campaigns, if a part is missing, or if a part occurs twice.
    pub fn merged(parts: Vec<(String, CampaignReport)>) -> Result<Self, String> {
        let mut parts = parts.into_iter();
        let (first, mut whole) = parts.next().ok_or("there is nothing to be merged")?;
        let mut known: BTreeMap<u64, String> = whole.results.iter().map(|r| (r.variant, first.clone())).collect();
        if known.len() < whole.results.len() {
            return Err(format!("`{first}` has a variant twice: the file is damaged"));
        }
        for (name, part) in parts {
            if let Some(difference) = whole.settings.difference(&part.settings) {
                return Err(format!("`{name}` is of another campaign than `{first}`: {difference}"));
            }
            if (part.variants, &part.suite) != (whole.variants, &whole.suite) {
                return Err(format!("`{name}` is of other models than `{first}`, or of other versions of them"));
            }
            for result in part.results {
                if let Some(other) = known.insert(result.variant, name.clone()) {
                    let about = &result.report.about;
                    return Err(format!(
                        "`{other}` and `{name}` both have {}",
                        variant_name(&about.file, &about.defines)
                    ));
                }
                whole.results.push(result);
            }
            whole.complete &= part.complete;
            whole.reproducible &= part.reproducible;
            // Each part reports all inputs that cannot be read, so duplicates are dropped.
            let known_refusals: BTreeSet<String> = whole.refused.iter().cloned().collect();
            whole.refused.extend(part.refused.into_iter().filter(|text| !known_refusals.contains(text)));
        }
        if let Some((variant, name)) = known.last_key_value().filter(|(variant, _)| **variant >= whole.variants) {
            return Err(format!(
                "`{name}` has a result of variant {variant}, and its campaign has {} variants, from 0: the file is damaged",
                whole.variants
            ));
        }
        // Each variant occurs at most once, and no number is out of range. So the counts tell how many variants are
        // missing.
        let missing = whole.variants.saturating_sub(whole.results.len() as u64);
        if whole.complete && missing > 0 {
            return Err(format!(
                "{missing} of {} variants are in none of these files: a part is missing",
                whole.variants
            ));
        }
        // Each part was judged by itself; the command that merges them judges the whole.
        whole.gate = None;
        whole.partition = None;
        whole.checksum = None;
        whole.results.sort_by_key(|r| r.variant);
        Ok(whole)
    }
}

// Computes the checksum of a report from its text. White space and the order of the keys do not matter; unknown fields
// count, so that a later version can add fields.
fn checksum(text: &str) -> Result<String, String> {
    let mut whole: serde_json::Value = serde_json::from_str(text).map_err(|e| format!("it is damaged: {e}"))?;
    if let Some(fields) = whole.as_object_mut() {
        fields.remove("checksum");
    }
    whole.sort_all_objects();
    Ok(format!("{:016x}", xxh3_64(whole.to_string().as_bytes())))
}

/// Formats the name of a variant: `app.race FIXED=1`.
#[must_use]
pub fn variant_name(file: &str, defines: &BTreeMap<String, i64>) -> String {
    defines.iter().fold(file.to_owned(), |name, (c, v)| format!("{name} {c}={v}"))
}

/// A line of `--trials-out`: one trial of a pair, of a deadlock ring, or of a violation of atomicity.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct TrialLine {
    pub file: String,
    pub defines: BTreeMap<String, i64>,
    #[serde(flatten)]
    pub goal: TrialGoal,
    /// Ordinal of the trial, from 1.
    pub trial: u32,
    pub strategy: String,
    pub seed: u64,
    /// The signature of the trial; empty if it has no outcome.
    pub outcome: String,
    pub steps: u64,
}

/// What a trial was made for, and whether it has shown it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub enum TrialGoal {
    Pair {
        /// The statements of the pair, in the syntax of `--strategy directed:`.
        a: String,
        b: String,
        /// The statement that came first: `a` or `b`.
        first: Option<String>,
        /// Whether both statements were side by side.
        adjacent: bool,
    },
    Ring {
        /// The statements of each thread of the ring: that of what it holds, and that of what it wants.
        ring: Vec<[String; 2]>,
        /// Whether the run ended in this deadlock.
        closed: bool,
    },
    Transaction {
        /// The specification and the declared name.
        specification: String,
        transaction: String,
        violated: bool,
    },
}

impl TrialLine {
    /// Returns all trials of a campaign: those of its pairs and order pairs, of its rings, and of its transactions.
    #[must_use]
    pub fn all(
        file: &str,
        plan: &CampaignPlan,
        found: &Confirmation,
        violations: Option<&ConfirmedViolations>,
    ) -> Vec<TrialLine> {
        let sites = &plan.program.code.setup.sites;
        let mut lines = Vec::new();
        let mut add = |goal: TrialGoal, trial: usize, (strategy, seed): (&str, u64), (outcome, steps): (&str, u64)| {
            lines.push(TrialLine {
                file: file.to_owned(),
                defines: plan.program.defines.iter().cloned().collect(),
                goal,
                trial: trial as u32 + 1,
                strategy: strategy.to_owned(),
                seed,
                outcome: outcome.to_owned(),
                steps,
            });
        };
        for pair in found.pairs.iter().chain(&found.orders) {
            let [a, b] = [pair.pair.a, pair.pair.b].map(|site| site_text(sites, site));
            for (i, made) in pair.trials.made.iter().enumerate() {
                let (first, adjacent) = (made.first.map(side), made.adjacent);
                let goal = TrialGoal::Pair { a: a.clone(), b: b.clone(), first, adjacent };
                add(goal, i, (&made.strategy, made.seed), (&made.signature, made.steps));
            }
        }
        for ring in &found.rings {
            let parts = ring.ring.parts().iter();
            let parts: Vec<[String; 2]> =
                parts.map(|part| [part.holds, part.wants].map(|site| site_text(sites, site))).collect();
            for (i, made) in ring.made.iter().enumerate() {
                let goal = TrialGoal::Ring { ring: parts.clone(), closed: made.hit };
                add(goal, i, (&made.strategy, made.seed), (&made.signature, made.steps));
            }
        }
        for of in violations.iter().flat_map(|found| &found.all) {
            for (i, made) in of.directed.made.iter().enumerate() {
                let (specification, transaction) = (of.specification.name().to_owned(), of.declared.clone());
                let goal = TrialGoal::Transaction { specification, transaction, violated: made.hit };
                add(goal, i, (&made.strategy, made.seed), (&made.signature, made.steps));
            }
        }
        lines
    }

    /// Returns the trial as one line of JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("texts and numbers can be written")
    }
}
