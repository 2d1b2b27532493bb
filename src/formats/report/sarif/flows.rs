//! Renders the steps of a run as code flows: all threads merged, and each thread alone.

use super::objects::{CodeFlow, FlowLocation, TextOf, ThreadFlow};
use super::{escape, location, text};
use crate::formats::atomicity::FoundCycle;
use crate::formats::report::{ReplayedRun, RunStep};
use crate::formats::timeline::Mark;

/// Returns a location for each step, with its position in the run.
pub(super) fn locations(run: &ReplayedRun, uri: &str) -> Vec<FlowLocation> {
    let each = run.steps.iter().enumerate().map(|(i, step)| {
        let mut at = location(uri, step.at.or_else(|| near(&run.steps, i)));
        at.message = Some(TextOf { text: escape(&says(step)) });
        let importance = if step.mark.is_some() { "essential" } else { "important" };
        FlowLocation { execution_order: i + 1, importance, kinds: step.kinds.clone(), location: at }
    });
    each.collect()
}

// Returns a place for a step that has none, such as the start of a task: the next place of its thread, or else the last
// one. A step of no thread gets the last place of any thread.
fn near(steps: &[RunStep], i: usize) -> Option<(u32, u32)> {
    let own = |s: &&RunStep| s.thread == steps[i].thread && s.at.is_some();
    let (before, after) = (&steps[..i], &steps[i..]);
    let any = if steps[i].thread.is_none() { before.iter().rev().find_map(|s| s.at) } else { None };
    any.or_else(|| after.iter().find(own).or_else(|| before.iter().rev().find(own))?.at)
}

// Formats a step: `step 5, main: read bound: null`.
fn says(step: &RunStep) -> String {
    let who = step.thread.as_deref().unwrap_or_default();
    let mark = match step.mark {
        Some(Mark::Racing) => " (of the pair)",
        Some(Mark::Own) => " (in the transaction)",
        Some(Mark::Between) => " (between)",
        Some(Mark::Failing) => " (fails)",
        None => "",
    };
    let head = match (step.number, who) {
        (0, "") => String::new(),
        (0, who) => format!("{who}: "),
        (n, "") => format!("step {n}: "),
        (n, who) => format!("step {n}, {who}: "),
    };
    format!("{head}{}{mark}", step.what)
}

/// Returns a code flow of the operations of a cycle, in their order. Those without a statement have no region.
pub(super) fn of_cycle(cycle: &FoundCycle, uri: &str) -> CodeFlow {
    let each = cycle.moments().into_iter().enumerate().map(|(i, (moment, about))| {
        let at = moment.statement.as_ref().map(|statement| (statement.line, statement.column));
        let mut at = location(uri, at);
        let side = if moment.inside { "in the transaction" } else { "between" };
        at.message = Some(TextOf { text: escape(&format!("{side}: {}", moment.text(about).trim())) });
        FlowLocation { execution_order: i + 1, importance: "essential", kinds: Vec::new(), location: at }
    });
    let flow = ThreadFlow { id: cycle.transaction.clone(), locations: each.collect() };
    CodeFlow { message: text(&format!("the cycle of {}", cycle.transaction)), thread_flows: vec![flow] }
}

/// Returns a code flow of all threads.
pub(super) fn merged(head: &str, steps: &[FlowLocation]) -> Option<CodeFlow> {
    let flow = ThreadFlow { id: "all threads".to_owned(), locations: steps.to_vec() };
    let message = text(&format!("{head} (all threads, in the order of the run)"));
    (!steps.is_empty()).then(|| CodeFlow { message, thread_flows: vec![flow] })
}

/// Returns a code flow with a list for each thread. A gap occurs in every list.
pub(super) fn by_thread(head: &str, run: &ReplayedRun, steps: Vec<FlowLocation>) -> Option<CodeFlow> {
    let mut names: Vec<&str> = Vec::new();
    for step in run.steps.iter().filter(|s| !s.gap) {
        let name = thread(step);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let of = |name: &str| {
        let own = run.steps.iter().zip(&steps).filter(|(s, _)| s.gap || thread(s) == name);
        ThreadFlow { id: name.to_owned(), locations: own.map(|(_, at)| at.clone()).collect() }
    };
    let message = text(&format!("{head} (each thread separately; executionOrder is the place in the run)"));
    (!names.is_empty()).then(|| CodeFlow { message, thread_flows: names.iter().map(|n| of(n)).collect() })
}

fn thread(step: &RunStep) -> &str {
    step.thread.as_deref().unwrap_or("no thread")
}
