//! Renders the result of `test` as SARIF 2.1.0: a result for each `expect` line that fails the test, at that line.

use super::objects::{AutomationDetails, Properties, ResultObject, RunProperties};
use super::objects::{
    Configuration, Driver, Invocation, Notification, Rule, RuleProperties, SarifLog, SarifText, Tool, ToolRun,
    ToolRunProperties,
};
use super::{escape, location, text};
use crate::base::Digester;
use crate::formats::report::{CommandEnd, place, tested};
use crate::formats::test::{LineReport, TestReport, Variant};
use std::collections::BTreeMap;

const ID: &str = "expect/unmet";

/// Renders the log, of a command with this exit status.
#[must_use]
pub fn render(report: &TestReport, exit: Option<u8>) -> String {
    let mut prints = BTreeMap::new();
    let mut results = Vec::new();
    let all = report.variants.iter().flat_map(|v| v.expectations.iter().map(move |e| (v, e)));
    for (variant, expected) in all.filter(|(v, e)| tested::fails(v, e)).take(super::MOST_RESULTS) {
        results.push(result(variant, expected, &mut prints));
    }
    let caveats = report.variants.iter().flat_map(|v| {
        let name = tested::name(v);
        tested::caveats(v).into_iter().map(move |caveat| format!("{name}: {caveat}"))
    });
    let notes: Vec<String> = caveats.chain(report.refused.iter().cloned()).collect();
    let end = CommandEnd { gate: report.gate.clone(), exit, unread: report.refused.clone() };
    let notification = |note: &String| Notification { level: "warning", message: text(note) };
    let run = ToolRun {
        tool: Tool {
            driver: Driver { name: "raceflip", semantic_version: env!("CARGO_PKG_VERSION"), rules: vec![rule()] },
        },
        automation_details: AutomationDetails { id: "raceflip-test/" },
        invocations: vec![Invocation::new(
            report.complete && report.refused.is_empty(),
            &end,
            notes.iter().map(notification).collect(),
        )],
        column_kind: "unicodeCodePoints",
        results,
        properties: end.gate.map(|gate| ToolRunProperties { gate }),
    };
    let log = SarifLog { schema: "https://json.schemastore.org/sarif-2.1.0.json", version: "2.1.0", runs: vec![run] };
    serde_json::to_string_pretty(&log).expect("texts and numbers can be written") + "\n"
}

fn rule() -> Rule {
    Rule {
        id: ID,
        name: "ExpectationUnmet",
        short_description: text("A line of a model that does not hold"),
        full_description: text(
            "An `expect` line states how runs must or must not end, or which races exist. Runs contradict it.",
        ),
        help: text("Replay the runs with the commands of the result. The app, its model or the line is wrong."),
        default_configuration: Configuration { level: "error" },
        properties: RuleProperties {
            tags: ["concurrency", "race-condition"],
            precision: "very-high",
            severity: "error",
        },
    }
}

fn result(variant: &Variant, expected: &LineReport, prints: &mut BTreeMap<String, u32>) -> ResultObject {
    let line = tested::line(expected);
    let mut digest = Digester::new();
    digest.text(&place::path(&variant.file));
    variant.defines.iter().for_each(|(name, value)| _ = digest.text(name).text(&value.to_string()));
    digest.text(&line);
    let print = format!("{:032x}", digest.finish());
    let n = prints.entry(print.clone()).and_modify(|n| *n += 1).or_insert(1);
    let why: Vec<String> =
        tested::reasons(variant, expected).into_iter().filter(|line| !line.starts_with("  ")).collect();
    let at = (expected.line > 0).then_some((expected.line, 1));
    ResultObject {
        rule_id: ID,
        rule_index: 0,
        kind: "fail",
        level: Some("error"),
        message: SarifText { text: escape(&format!("{line}: {} ({})", why.join("; "), tested::name(variant))) },
        locations: vec![location(&place::uri(&variant.file), at)],
        related_locations: Vec::new(),
        code_flows: Vec::new(),
        partial_fingerprints: BTreeMap::from([("raceflip/v1", format!("{print}:{n}"))]),
        properties: Properties {
            precision: "very-high",
            verdict: if expected.verdict == "unchecked" { "unchecked" } else { "unmet" }.to_owned(),
            program: String::new(),
            defines: variant.defines.clone(),
            rank: None,
            contexts: Vec::new(),
            runs: expected
                .shown
                .iter()
                .map(|against| RunProperties {
                    first: None,
                    signature: against.signature.clone(),
                    token: against.token.clone(),
                    replay: tested::replay(variant, against).into_iter().map(|c| c.trim().to_owned()).collect(),
                })
                .collect(),
            flows: None,
        },
    }
}
