//! Renders SARIF 2.1.0, for code scanning (GitHub, GitLab) and editors.
//!
//! There is one result for each pair that is not refuted, and for each failure that is not the harm of any pair.
//! Harmful pairs of one cause are one result, about the pair that leads them; the others are related locations. All
//! reports together are one run of the tool.
//!
//! - The locations of a result are those of the first statement of its pair: in the real source, if the model names it
//!   (`from "Main.java:12"`), and in the model. The locations of the other statement are related locations.
//! - Each order that was seen is two code flows: first one of all threads merged, because readers show one list at a
//!   time, then one with a thread flow for each thread, where `executionOrder` is the position in the run. The failing
//!   order of a harmful pair comes first.
//! - The limits are GitHub's: 25,000 results of a run, of which the most important are kept, and 1,000 shown locations
//!   of a result, for which the middle of a long run is left out. The log tells both where they occur.
//! - Fingerprints do not depend on lines, so that a result keeps its identity when other parts of the model are edited.

mod flows;
mod objects;
mod rules;
pub mod tested;

use super::fuzzed::is_fuzzed;
use super::words::{self, side};
use super::{CommandEnd, Replays, ReportEntry, Subject, all, atomicity, counted, place, rings};
use crate::base::Digester;
use crate::base::clean;
use crate::campaign::{PairFacts, Verdict, ViolationFacts};
use crate::formats::campaign::{Access, ConfirmReport, Evidence, Pair};
use crate::formats::ring::JudgedRing;
use crate::formats::violations::JudgedViolation;
use flows::{by_thread, locations, merged, of_cycle};
use objects::{
    ArtifactLocation, AutomationDetails, CodeFlow, Driver, Invocation, Notification, PhysicalLocation, Properties,
    Region, ResultObject, RunProperties, SarifLocation, SarifLog, SarifText, TextOf, Tool, ToolRun, ToolRunProperties,
};
use rules::{RULES, rule_of};
use std::collections::BTreeMap;

/// Number of results that GitHub accepts.
pub const MOST_RESULTS: usize = 25_000;

// Maximum number of further pairs that are listed for one finding.
const MOST_PAIRS: usize = 10;

// Maximum number of locations of all code flows together: about 10 MB, compressed.
const MOST_LOCATIONS: usize = 200_000;

/// Renders all reports as one log, of a command that ends in this way.
#[must_use]
pub fn render(reports: &[ConfirmReport], end: &CommandEnd, replays: &mut dyn Replays) -> String {
    let mut entries: Vec<ReportEntry<'_>> =
        all(reports).filter(|e| e.finding.verdict() != Some(Verdict::Refuted)).collect();
    let mut notes: Vec<String> = end.unread.clone();
    for report in reports {
        let variant = words::variant(&report.about, &place::path(&replays.path(&report.about.file)));
        notes.extend(words::caveats(report).into_iter().map(|c| format!("{variant}: {c}")));
    }
    if entries.len() > MOST_RESULTS {
        let left_out = counted((entries.len() - MOST_RESULTS) as u64, "result");
        notes.push(format!("{left_out} left out: code scanning takes {MOST_RESULTS}"));
        entries.sort_by_key(|e| e.finding.importance());
        entries.truncate(MOST_RESULTS);
    }
    let mut writer = SarifWriter { replays, prints: BTreeMap::new(), room: MOST_LOCATIONS };
    let results = entries.iter().map(|e| writer.result(e)).collect();
    // Code scanning keeps the results of two commands apart by this name.
    let id = if reports.iter().any(is_fuzzed) { "raceflip-fuzz/" } else { "raceflip/" };
    let notification = |n: &String| Notification { level: "warning", message: text(n) };
    let run = ToolRun {
        tool: Tool {
            driver: Driver { name: "raceflip", semantic_version: env!("CARGO_PKG_VERSION"), rules: rules::all() },
        },
        automation_details: AutomationDetails { id },
        invocations: vec![Invocation::new(
            reports.iter().all(|r| r.about.complete) && end.unread.is_empty(),
            end,
            notes.iter().map(notification).collect(),
        )],
        column_kind: "unicodeCodePoints",
        results,
        properties: end.gate.clone().map(|gate| ToolRunProperties { gate }),
    };
    let log = SarifLog { schema: "https://json.schemastore.org/sarif-2.1.0.json", version: "2.1.0", runs: vec![run] };
    serde_json::to_string_pretty(&log).expect("texts and numbers can be written") + "\n"
}

/// Escapes a message: braces would be placeholders (3.11.5), brackets links (3.11.6).
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '{' | '}' => escaped.extend([c, c]),
            '[' | ']' | '\\' => escaped.extend(['\\', c]),
            c => escaped.push(c),
        }
    }
    escaped
}

fn text(words: &str) -> SarifText {
    SarifText { text: escape(words) }
}

fn location(uri: &str, at: Option<(u32, u32)>) -> SarifLocation {
    // A report without a valid line and column gives no region.
    let at = at.filter(|(line, column)| *line > 0 && *column > 0);
    let region = at.map(|(start_line, start_column)| Region { start_line, start_column: Some(start_column) });
    let artifact_location = ArtifactLocation { uri: uri.to_owned() };
    SarifLocation { id: None, message: None, physical_location: PhysicalLocation { artifact_location, region } }
}

/// Returns the location in the real source, if the text names one, and the location in the model.
fn places(from: Option<&str>, uri: &str, at: Option<(u32, u32)>) -> Vec<SarifLocation> {
    let real = from.and_then(place::source).map(|source| SarifLocation {
        id: None,
        message: None,
        physical_location: PhysicalLocation {
            artifact_location: ArtifactLocation { uri: place::uri(&source.path) },
            region: Some(Region { start_line: source.line, start_column: source.column.filter(|c| *c > 0) }),
        },
    });
    real.into_iter().chain([location(uri, at)]).collect()
}

struct SarifWriter<'w> {
    replays: &'w mut dyn Replays,
    // Number of results with each fingerprint.
    prints: BTreeMap<String, u32>,
    // Number of locations that may still be written.
    room: usize,
}

// A run to show: an example of one end of an order, or of a failure.
struct ExampleRun<'r> {
    first: Option<String>,
    signature: String,
    again: &'r Evidence,
}

impl SarifWriter<'_> {
    fn result(&mut self, entry: &ReportEntry<'_>) -> ResultObject {
        let ReportEntry { report, finding } = entry;
        let uri = place::uri(&self.replays.path(&report.about.file));
        let (order, print, shown) = match finding.subject {
            Subject::Pair { pair, order } => (order, pair_print(pair), shown(pair)),
            Subject::Ring(ring) => {
                let print = rings::statements(ring).into_iter().flat_map(access_print).collect();
                (false, print, ring_runs(ring))
            }
            Subject::Violation(of) => (false, violation_print(of), violation_runs(of)),
            Subject::Failure(fails, _) => {
                let one = ExampleRun { first: None, signature: fails.signature.clone(), again: &fails.again };
                (false, vec![fails.signature.clone()], vec![one])
            }
        };
        let (message, locations, related) = self.words(entry, &uri);
        let either = !finding.pairs.is_empty();
        let rule = match finding.subject {
            Subject::Ring(_) => rules::rule_of_ring(finding.verdict() == Some(Verdict::Harmful)),
            Subject::Violation(_) => rules::RULE_OF_ATOMICITY,
            _ => rule_of(finding.verdict(), order, either),
        };
        let rules::RuleRow { id, mut level, precision, .. } = RULES[rule];
        if let Subject::Violation(of) = finding.subject {
            level = rules::level_of_violation(of);
        }
        let open = finding.verdict() == Some(Verdict::Unconfirmed);
        let code_flows = if open { Vec::new() } else { self.flows(entry, &uri, &shown) };
        let flows = (!open && code_flows.is_empty() && !shown.is_empty()).then_some("the runs could not be replayed");
        let flows = if self.room == 0 { Some("left out: the file would be too large") } else { flows };
        ResultObject {
            rule_id: id,
            rule_index: rule,
            kind: if open { "open" } else { "fail" },
            level: (!open).then_some(level),
            message: SarifText { text: message },
            locations,
            related_locations: related,
            code_flows,
            partial_fingerprints: BTreeMap::from([("raceflip/v1", self.fingerprint(report, id, &print))]),
            properties: self.properties(entry, precision, &shown, flows),
        }
    }

    // Returns the message, the locations, and the related locations: the other statement, and other pairs.
    fn words(&mut self, entry: &ReportEntry<'_>, uri: &str) -> (String, Vec<SarifLocation>, Vec<SarifLocation>) {
        let ReportEntry { report, finding } = entry;
        match finding.subject {
            Subject::Pair { pair, .. } => {
                let (a, b) = (&pair.a, &pair.b);
                let real = |a: &Access| a.from.as_ref().map_or(String::new(), |from| format!(" ({from})"));
                let link = format!("[{}{}](1)", escape(&words::access(b)), escape(&real(b)));
                let what = if pair.verdict() == Verdict::Unconfirmed { "potential pair" } else { "pair" };
                let head = escape(&format!("{}: {what} {}{}", pair.location, words::access(a), real(a)));
                let proof = escape(&words::proof(report, pair));
                let harm = escape(&words::harm(pair));
                let harm = if harm.is_empty() { harm } else { format!(" {}.", harm.trim_end_matches('.')) };
                let mut others = related(uri, b, &format!("the other statement: {}", words::access(b)));
                others.extend(of_pairs(entry, uri));
                (1..).zip(&mut others).for_each(|(id, other)| other.id = Some(id));
                let same = same(entry);
                let at = places(a.from.as_deref(), uri, Some((a.line, a.column)));
                (format!("{head} ~ {link}; {proof}.{harm}{same}"), at, others)
            }
            Subject::Ring(ring) => {
                let parts: Vec<String> = ring.parts.iter().map(rings::part).collect();
                let message = format!("{}. {}.", parts.join("; "), rings::proof(report, ring));
                let mut all = ring.parts.iter().flat_map(|part| [&part.wants, &part.holds]);
                let first = all.next();
                let at = first.map(|a| places(a.from.as_deref(), uri, Some((a.line, a.column)))).unwrap_or_default();
                let others = all.flat_map(|a| related(uri, a, &format!("of the ring: {}", words::access(a))));
                let mut others: Vec<SarifLocation> = others.collect();
                (1..).zip(&mut others).for_each(|(id, other)| other.id = Some(id));
                (escape(&message), at, others)
            }
            Subject::Violation(of) => {
                let head = format!("{}: {}", atomicity::name(of), atomicity::proof(of));
                let cycle = atomicity::cycle(of);
                let cycle: Vec<&str> = cycle.iter().map(|moment| moment.trim()).collect();
                let cycle =
                    if cycle.is_empty() { String::new() } else { format!(" In this order: {}.", cycle.join("; ")) };
                let mut all = of.statements().into_iter();
                let first = all.next();
                let at = places(first.and_then(|a| a.from.as_deref()), uri, first.map(|a| (a.line, a.column)));
                let others = all.flat_map(|a| related(uri, a, &format!("of the cycle: {}", words::access(a))));
                let mut others: Vec<SarifLocation> = others.chain(of_pairs(entry, uri)).collect();
                (1..).zip(&mut others).for_each(|(id, other)| other.id = Some(id));
                (escape(&format!("{head}.{cycle}")) + &same(entry), at, others)
            }
            Subject::Failure(fails, runs) => {
                let head = words::fails(report, fails, runs, self.replays).head.plain();
                let (at, from) = words::place(report, fails, self.replays);
                let mut others: Vec<SarifLocation> = of_pairs(entry, uri);
                (1..).zip(&mut others).for_each(|(id, other)| other.id = Some(id));
                let at = places(from.as_deref(), uri, at);
                (escape(&format!("{head}.")) + &same(entry), at, others)
            }
        }
    }

    fn flows(&mut self, entry: &ReportEntry<'_>, uri: &str, shown: &[ExampleRun<'_>]) -> Vec<CodeFlow> {
        let marked: Vec<&Access> = match entry.finding.subject {
            Subject::Pair { pair, .. } => vec![&pair.a, &pair.b],
            Subject::Ring(ring) => rings::statements(ring),
            Subject::Violation(_) | Subject::Failure(..) => Vec::new(),
        };
        let mut flows = Vec::new();
        if let Subject::Violation(of) = entry.finding.subject {
            flows.extend(of.cycle().map(|cycle| of_cycle(cycle, uri)));
        }
        // Only the first run of each order is shown. For an order that fails, that is a failing one.
        let mut orders: Vec<&Option<String>> = Vec::new();
        for s in shown {
            if self.room == 0 || orders.contains(&&s.first) {
                continue;
            }
            orders.push(&s.first);
            let about = &entry.report.about;
            let run = match entry.finding.subject {
                Subject::Violation(of) => self.replays.run_of(about, of),
                _ => self.replays.run(about, s.again, &marked),
            };
            let Some(run) = run else { continue };
            let end = run.failing.as_ref().map_or("no failure".to_owned(), |f| f.text.clone());
            let head = s.first.as_ref().map_or(end.clone(), |first| format!("{first} first: {end}"));
            let steps = locations(&run, uri);
            self.room = self.room.saturating_sub(2 * steps.len());
            flows.extend(merged(&head, &steps));
            flows.extend(by_thread(&head, &run, steps));
        }
        flows
    }

    // Computes a fingerprint that does not change when lines move. Results with equal fingerprints are numbered.
    fn fingerprint(&mut self, report: &ConfirmReport, rule: &str, parts: &[String]) -> String {
        let mut digest = Digester::new();
        digest.text(&place::path(&self.replays.path(&report.about.file)));
        for (name, value) in &report.about.defines {
            digest.text(name).text(&value.to_string());
        }
        // A pair keeps its fingerprint when its verdict changes, so only the kind of the finding counts, not the rule.
        let kind = rule.split_once('/').map_or(rule, |(kind, _)| kind);
        digest.text(if matches!(kind, "failure" | "ring" | "atomicity-violation") { kind } else { "pair" });
        parts.iter().for_each(|part| {
            digest.text(part);
        });
        let print = format!("{:032x}", digest.finish());
        let n = self.prints.entry(print.clone()).and_modify(|n| *n += 1).or_insert(1);
        format!("{print}:{n}")
    }

    fn properties(
        &mut self,
        entry: &ReportEntry<'_>,
        precision: &'static str,
        shown: &[ExampleRun<'_>],
        flows: Option<&'static str>,
    ) -> Properties {
        let ReportEntry { report, finding } = entry;
        let mut runs = Vec::new();
        for s in shown {
            let replay = words::commands(report, s.again, self.replays);
            let (first, signature) = (s.first.clone(), s.signature.clone());
            runs.push(RunProperties { first, signature, token: s.again.token.clone(), replay });
        }
        let (rank, contexts) = match finding.subject {
            Subject::Pair { pair, .. } => (Some(pair.rank), pair.contexts.clone()),
            Subject::Ring(_) | Subject::Violation(_) | Subject::Failure(..) => (None, Vec::new()),
        };
        let verdict = match finding.subject {
            Subject::Violation(of) => atomicity::verdict(of),
            _ => finding.verdict().map_or("failure", Verdict::word).to_owned(),
        };
        Properties {
            precision,
            verdict,
            program: report.about.program.clone(),
            defines: report.about.defines.clone(),
            rank,
            contexts,
            runs,
            flows,
        }
    }
}

// Returns the locations of a statement: the one in the real source, if the model names it, and then the one in the
// model.
fn related(uri: &str, access: &Access, what: &str) -> Vec<SarifLocation> {
    let mut all = places(access.from.as_deref(), uri, Some((access.line, access.column)));
    // A link of the message leads to the first of these locations.
    all.iter_mut().for_each(|place| place.message = Some(TextOf { text: escape(what) }));
    all
}

// Returns the locations of the pairs that belong to a finding.
fn of_pairs(entry: &ReportEntry<'_>, uri: &str) -> Vec<SarifLocation> {
    let sides = entry.finding.pairs.iter().take(MOST_PAIRS).flat_map(|pair| [(pair, &pair.a), (pair, &pair.b)]);
    sides.flat_map(|(pair, side)| related(uri, side, &format!("of the pair {}", words::pair(pair)))).collect()
}

// Describes how other pairs are related to a finding, as further sentences of the message.
fn same(entry: &ReportEntry<'_>) -> String {
    let lines = words::belonging(entry);
    let more = lines.len().saturating_sub(MOST_PAIRS);
    let mut text: String = lines.iter().take(MOST_PAIRS).map(|line| format!(" It is {}.", escape(line))).collect();
    text = text.replace(" It is in either order", " It occurs in either order");
    if more > 0 {
        text.push_str(&format!(" The same holds for {more} more."));
    }
    text
}

// Returns the identity of a statement.
fn access_print(a: &Access) -> [String; 4] {
    let of = |text: &Option<String>| text.clone().unwrap_or_default();
    [a.kind.clone(), a.place.clone(), of(&a.label), of(&a.from)]
}

// Returns the identity of a pair: place, kind and label of both statements, in an order that does not depend on which
// one is `a`.
fn pair_print(pair: &Pair) -> Vec<String> {
    let mut sides = [access_print(&pair.a), access_print(&pair.b)];
    sides.sort();
    sides.concat()
}

// Returns a run for each deadlock of a ring.
fn ring_runs(ring: &JudgedRing) -> Vec<ExampleRun<'_>> {
    ring.deadlocks.iter().map(|f| ExampleRun { first: None, signature: f.signature.clone(), again: &f.again }).collect()
}

// Returns the identity of a verdict on a declared transaction: what is declared, and the statements of the cycle.
fn violation_print(of: &JudgedViolation) -> Vec<String> {
    let blame = of.finding.as_ref().map_or(String::new(), |finding| finding.blame.clone());
    let statements = of.statements().into_iter().flat_map(access_print);
    [of.specification.clone(), of.transaction.clone(), blame].into_iter().chain(statements).collect()
}

// Returns a run that violates a declared transaction: one that fails, if there is one.
fn violation_runs(of: &JudgedViolation) -> Vec<ExampleRun<'_>> {
    let signature = of.harm().map_or(String::new(), |failure| failure.signature.clone());
    of.shown().map(|again| ExampleRun { first: None, signature, again }).into_iter().collect()
}

// Returns a run for each end of both orders, the harmful ones first.
fn shown(pair: &Pair) -> Vec<ExampleRun<'_>> {
    let mut all: Vec<(usize, ExampleRun<'_>)> = Vec::new();
    for order in &pair.orders {
        let first = Some(side(pair, &order.first));
        for f in &order.failures {
            let hurts = words::is_harm(pair, order, f);
            let shown = ExampleRun { first: first.clone(), signature: f.signature.clone(), again: &f.again };
            all.push((if hurts { 0 } else { 2 }, shown));
        }
        if let Some(again) = &order.passes {
            // Beside a harmful run, a run without a failure is the most useful one.
            let rank = if pair.verdict() == Verdict::Harmful { 1 } else { 3 };
            all.push((rank, ExampleRun { first, signature: "ok".to_owned(), again }));
        }
    }
    all.sort_by_key(|(rank, _)| *rank);
    all.into_iter().map(|(_, shown)| shown).collect()
}
