//! Objects of SARIF 2.1.0 (OASIS, 28 August 2019), as far as reports use them. The names of the fields are those of the
//! specification.

use crate::formats::gate::GateReport;
use crate::formats::report::CommandEnd;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
pub(super) struct SarifLog {
    #[serde(rename = "$schema")]
    pub(super) schema: &'static str,
    pub(super) version: &'static str,
    pub(super) runs: Vec<ToolRun>,
}

/// The results of one run of a tool.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolRun {
    pub(super) tool: Tool,
    pub(super) automation_details: AutomationDetails,
    pub(super) invocations: Vec<Invocation>,
    pub(super) column_kind: &'static str,
    pub(super) results: Vec<ResultObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) properties: Option<ToolRunProperties>,
}

/// The property bag of a run.
#[derive(Serialize)]
pub(super) struct ToolRunProperties {
    /// The gate of the command, as in the JSON.
    pub(super) gate: GateReport,
}

#[derive(Serialize)]
pub(super) struct Tool {
    pub(super) driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Driver {
    pub(super) name: &'static str,
    pub(super) semantic_version: &'static str,
    pub(super) rules: Vec<Rule>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Rule {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) short_description: SarifText,
    pub(super) full_description: SarifText,
    pub(super) help: SarifText,
    pub(super) default_configuration: Configuration,
    pub(super) properties: RuleProperties,
}

#[derive(Serialize)]
pub(super) struct Configuration {
    pub(super) level: &'static str,
}

#[derive(Serialize)]
pub(super) struct RuleProperties {
    pub(super) tags: [&'static str; 2],
    pub(super) precision: &'static str,
    #[serde(rename = "problem.severity")]
    pub(super) severity: &'static str,
}

#[derive(Serialize)]
pub(super) struct AutomationDetails {
    pub(super) id: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Invocation {
    /// Whether the command did all that it was asked for. A gate that fails is a result, and not a failure of the
    /// command (3.20.14).
    pub(super) execution_successful: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exit_code: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exit_code_description: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_execution_notifications: Vec<Notification>,
}

impl Invocation {
    /// Describes an invocation that ended in this way, with what is not known or was left out.
    pub(super) fn new(complete: bool, end: &CommandEnd, notes: Vec<Notification>) -> Self {
        let gate = end.gate.as_ref().filter(|_| end.exit.is_some());
        Self {
            execution_successful: complete,
            exit_code: end.exit,
            exit_code_description: gate.map(|gate| format!("gate: {}", gate.words())),
            tool_execution_notifications: notes,
        }
    }
}

#[derive(Serialize)]
pub(super) struct Notification {
    pub(super) level: &'static str,
    pub(super) message: SarifText,
}

#[derive(Serialize)]
pub(super) struct SarifText {
    pub(super) text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResultObject {
    pub(super) rule_id: &'static str,
    pub(super) rule_index: usize,
    pub(super) kind: &'static str,
    /// The level, only if `kind` is `fail`: for other kinds it is `none` (3.27.10).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) level: Option<&'static str>,
    pub(super) message: SarifText,
    pub(super) locations: Vec<SarifLocation>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) related_locations: Vec<SarifLocation>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) code_flows: Vec<CodeFlow>,
    pub(super) partial_fingerprints: BTreeMap<&'static str, String>,
    pub(super) properties: Properties,
}

/// A `location` object.
#[derive(Serialize, Clone)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifLocation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<TextOf>,
    pub(super) physical_location: PhysicalLocation,
}

/// A `message` object that several locations share.
#[derive(Serialize, Clone)]
pub(super) struct TextOf {
    pub(super) text: String,
}

#[derive(Serialize, Clone)]
#[serde(rename_all = "camelCase")]
pub(super) struct PhysicalLocation {
    pub(super) artifact_location: ArtifactLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) region: Option<Region>,
}

#[derive(Serialize, Clone)]
pub(super) struct ArtifactLocation {
    pub(super) uri: String,
}

#[derive(Serialize, Clone)]
#[serde(rename_all = "camelCase")]
pub(super) struct Region {
    pub(super) start_line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) start_column: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CodeFlow {
    pub(super) message: SarifText,
    pub(super) thread_flows: Vec<ThreadFlow>,
}

#[derive(Serialize)]
pub(super) struct ThreadFlow {
    pub(super) id: String,
    pub(super) locations: Vec<FlowLocation>,
}

/// A `threadFlowLocation` object.
#[derive(Serialize, Clone)]
#[serde(rename_all = "camelCase")]
pub(super) struct FlowLocation {
    pub(super) execution_order: usize,
    pub(super) importance: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) kinds: Vec<&'static str>,
    pub(super) location: SarifLocation,
}

/// The property bag of a result.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Properties {
    pub(super) precision: &'static str,
    pub(super) verdict: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) program: String,
    pub(super) defines: BTreeMap<String, i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rank: Option<char>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) contexts: Vec<String>,
    /// The runs that show the orders or the failure, with their ends.
    pub(super) runs: Vec<RunProperties>,
    /// The reason why there are no code flows although there are runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) flows: Option<&'static str>,
}

/// A run that can be replayed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunProperties {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) first: Option<String>,
    /// The signature of the run.
    pub(super) signature: String,
    pub(super) token: String,
    pub(super) replay: Vec<String>,
}
