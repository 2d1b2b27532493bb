//! Formats findings in words, from a report alone. All forms share these texts.
//!
//! All texts are on one line and contain no control sequences for terminals, whatever a report contains.

use super::fuzzed::is_fuzzed;
use super::line::{ReportLine, Role};
use super::undecided::undecided;
use super::{Replays, ReportEntry, Subject, atomicity, counted};
use crate::base::{at_most, clean, interval};
use crate::campaign::{Finding, PairFacts, RunKind, SEARCHED, Verdict, best_way, failure_key};
use crate::formats::campaign::{
    About, Access, ConfirmReport, Endless, Evidence, Failure, Harm, Order, Pair, Proof, Way,
};
use crate::formats::caught::Caught;
use crate::formats::failure_place::stalls;
use crate::formats::harms::{HarmClaim, MoreOften};
use std::collections::BTreeSet;

/// Formats a model and its constants: `app.race -D FIXED=1`.
pub(crate) fn variant(about: &About, path: &str) -> String {
    let defines: String = about.defines.iter().map(|(name, value)| format!(" -D {name}={value}")).collect();
    clean(&format!("{path}{defines}"))
}

/// Formats a statement: `:34 write @A`.
pub(crate) fn access(a: &Access) -> String {
    clean(&statement(a.line, &a.kind, a.label.as_deref()))
}

/// Formats a statement by its line, its kind and its label: `:34 write @A`.
pub(crate) fn statement(line: u32, kind: &str, label: Option<&str>) -> String {
    let label = label.map_or(String::new(), |l| format!(" @{l}"));
    format!(":{line} {kind}{label}")
}

/// Formats a pair: `:34 write @A ~ :40 read @B`.
pub(crate) fn pair(pair: &Pair) -> String {
    format!("{} ~ {}", access(&pair.a), access(&pair.b))
}

/// Formats a pair with labels in place of lines, where there are labels: `@A ~ read 40:17`. Edits elsewhere do not
/// change a label.
pub(super) fn name(pair: &Pair) -> String {
    let name = |a: &Access| if a.label.is_some() { a.site.clone() } else { format!("{} {}", a.kind, a.site) };
    clean(&format!("{} ~ {}", name(&pair.a), name(&pair.b)))
}

/// Describes the contexts in which a pair was seen, from the words of a report: "two threads".
pub(crate) fn contexts(kinds: &[String]) -> String {
    let word = |kind: &String| match kind.as_str() {
        "thread-thread" => "two threads".to_owned(),
        "thread-task" => "a thread and a task".to_owned(),
        "task-task" => "tasks of two loopers".to_owned(),
        "same-looper" => "two tasks of one looper".to_owned(),
        other => clean(other),
    };
    let words: Vec<String> = kinds.iter().map(word).collect();
    if words.is_empty() { "not seen by detection".to_owned() } else { words.join(", ") }
}

/// Describes how a pair was found: the contexts in which detection saw it, or the search that alone has found it.
pub(super) fn seen(pair: &Pair) -> String {
    let seen =
        if pair.detectors.is_empty() { contexts(&pair.contexts) } else { "found by exhaustive search".to_owned() };
    let use_free = pair.use_free.words();
    if use_free.is_empty() { seen } else { format!("{seen}, {use_free}") }
}

/// Returns a name for the statement of a pair that comes first.
pub(crate) fn side(pair: &Pair, first: &str) -> String {
    let a_first = first == "a";
    if pair.a != pair.b {
        let own = if a_first { &pair.a } else { &pair.b };
        return match &own.label {
            Some(label) if pair.a.label != pair.b.label => clean(&format!("@{label}")),
            _ => clean(&own.site),
        };
    }
    // Both sides are one statement, so the thread or task that performs it distinguishes them.
    match &pair.proof {
        Proof::Flipped { a, b, .. } => {
            let who = if a_first { a } else { b };
            clean(who.rsplit_once(" visit ").map_or(who.as_str(), |(context, _)| context))
        }
        _ if a_first => "one instance".to_owned(),
        _ => "the other instance".to_owned(),
    }
}

/// Formats how often the trials of a strategy reached their goal.
pub(super) fn rate(way: &Way) -> String {
    let (low, high) = interval(way.hits, way.trials);
    let kind = way.strategy.split(':').next().unwrap_or_default();
    let kind = if kind == "hold" { "held" } else { kind };
    clean(&format!("{} of {} {kind} trials ({low:.2}..{high:.2})", way.hits, way.trials))
}

/// Describes the proof of the verdict on a pair.
pub(super) fn proof(report: &ConfirmReport, pair: &Pair) -> String {
    let trials = counted(pair.trials, "trial");
    let way = best_way(&pair.ways, pair.proof == Proof::Adjacent, |w| (&w.strategy, w.hits, w.trials));
    // A search has found the runs that prove the pair, and no trial.
    let searched = way.is_none() && pair.evidence.iter().any(|run| run.strategy == SEARCHED);
    let search = || format!("by a search of all {}", counted(report.searched.map_or(0, |s| s.states), "state"));
    match &pair.proof {
        Proof::Adjacent => match way {
            Some(way) => format!("side by side in {}", rate(way)),
            None if searched => format!("side by side, {}", search()),
            None => format!("side by side in {} of {trials}", pair.adjacent),
        },
        Proof::Flipped { cut, .. } => {
            let by = match way {
                Some(way) => format!("forced in {}", rate(way)),
                None if searched => search(),
                None if pair.trials == 0 => "in the runs of detection".to_owned(),
                None => format!("in {trials}"),
            };
            match cut {
                None => format!("the same two accesses in both orders, {by}"),
                Some(first) => {
                    let side = side(pair, first);
                    format!("both orders, {by} (with {side} first, the other access was never reached)")
                }
            }
        }
        Proof::Refuted { by: Some(_), never_first, never_then, why, .. } => {
            let order = match (never_first, never_then) {
                (Some(then), Some(first)) => format!("ordered in every run: {first} before {then}"),
                _ => "no run has both".to_owned(),
            };
            let why = why.first().map_or_else(String::new, |why| format!(", as {why}"));
            clean(&format!("{order}{why} (no search needed)"))
        }
        Proof::Refuted { states, never_first, never_then, never_direct, .. } => {
            let never = match (never_first, never_then) {
                (Some(first), Some(then)) if first == then => {
                    "never in two threads or tasks on the same memory".to_owned()
                }
                (Some(first), Some(then)) if *never_direct => {
                    clean(&format!("{then} never reads what {first} has written: another write always comes between"))
                }
                (Some(first), Some(then)) => clean(&format!("never side by side, and never {first} before {then}")),
                _ => "never side by side, and no two instances in both orders".to_owned(),
            };
            let bounds = bounded_by(report.about.bounds.iter());
            let bounds = bounds.map_or(String::new(), |bounds| format!(" (with {bounds})"));
            format!("{never}, in all {}{bounds}", counted(*states, "state"))
        }
        Proof::Unconfirmed => unconfirmed(report, pair),
    }
}

/// Returns the settings that bound what the environment does: `android.rounds = 1, android.rotations = 1`. `None` if
/// there are none.
pub(crate) fn bounded_by<'b>(bounds: impl Iterator<Item = (&'b String, &'b i64)>) -> Option<String> {
    let bounds: Vec<String> = bounds.map(|(name, value)| clean(&format!("{name} = {value}"))).collect();
    (!bounds.is_empty()).then(|| bounds.join(", "))
}

// Describes what was tried without success.
fn unconfirmed(report: &ConfirmReport, pair: &Pair) -> String {
    let searched = undecided(pair.undecided_by_search.as_deref(), report.searched);
    let bound = match pair.reached {
        0 => "none reached both".to_owned(),
        n => format!("{n} reached both, so p <= {:.2}", at_most(n)),
    };
    match pair.trials {
        0 => format!("no trials; {searched}"),
        n => {
            let trials = counted(n, "trial");
            format!("never side by side and never in both orders, in {trials} ({bound}); {searched}")
        }
    }
}

/// Formats a failure in one line.
pub(crate) fn failure(fails: &Failure) -> String {
    clean(fails.text())
}

/// Returns line and column of a failure, and its place in the real app if the model names one. What the report lacks
/// comes from a replay, if the run can be replayed.
pub(super) fn place(
    report: &ConfirmReport,
    fails: &Failure,
    replays: &mut dyn Replays,
) -> (Option<(u32, u32)>, Option<String>) {
    let again = replays.run(&report.about, &fails.again, &[]).and_then(|run| run.failing);
    let at = fails.ending.place().or_else(|| again.as_ref().and_then(|failing| failing.line.zip(failing.column)));
    (at, again.and_then(|failing| failing.from))
}

/// Describes the failures that an order of a pair is to blame for: `deadlock: a, b with @x first (...)`. Failures that
/// differ only in the ordinals of forked threads or tasks are one failure, for which the first of each order stands.
pub(super) fn harms(pair: &Pair) -> Vec<String> {
    let mut each: Vec<(String, BTreeSet<&str>, String)> = Vec::new();
    for (order, fails) in hurting(pair) {
        let key = failure_key(&fails.signature);
        let is_it = |h: &&HarmClaim| h.first == order.first && h.signature == fails.signature;
        let why = pair.harms.iter().find(is_it).map_or_else(String::new, |h| format!(" ({})", claim(h)));
        let with = format!("with {} first{why}", side(pair, &order.first));
        match each.iter_mut().find(|(known, ..)| *known == key) {
            Some((_, orders, text)) => {
                if orders.insert(&order.first) {
                    text.push_str(&format!(" and {with}"));
                }
            }
            None => each.push((key, BTreeSet::from([&*order.first]), format!("{} {with}", failure(fails)))),
        }
    }
    each.into_iter().map(|(.., text)| text).collect()
}

/// Describes the harm of a pair; empty if the pair is not confirmed.
pub(super) fn harm(pair: &Pair) -> String {
    let unseen = || pair.orders.iter().find(|o| o.runs == 0);
    match (pair.harm, unseen()) {
        (Harm::Harmful, _) => harms(pair).join("; "),
        (Harm::Interrupted, _) => "interrupted before both orders were compared".to_owned(),
        (Harm::Unknown, _) => String::new(),
        (_, Some(order)) => {
            format!("no run performed {} first, so there is nothing to compare", side(pair, &order.first))
        }
        (Harm::FailsEitherWay, None) => {
            let shown = pair.orders.iter().all(|o| !o.failures.is_empty());
            let by = if shown { "" } else { ", as a search of the later states shows" };
            let mut each = vec![format!("fails in either order{by}")];
            for more in &pair.more_often {
                let fails = pair.failures().into_iter().find(|f| f.signature == more.signature);
                let text = fails.map_or_else(|| clean(&more.signature), failure);
                each.push(format!("{text} {}", often(more, &side(pair, &more.first))));
            }
            each.join("; ")
        }
        (Harm::NoFailure, None) => "no failure was seen in either order".to_owned(),
        (Harm::OneOrderOnly, None) => "too few runs of the other order to rule out the same failure".to_owned(),
    }
}

/// Describes the evidence for a harm: `not in any of the 12 states that follow in the other order`, `in 40 of 832
/// runs, and in none of 832 with the other order: below 1/64 at 99.9 %`.
fn claim(harm: &HarmClaim) -> String {
    match (harm.exhaustive, harm.none_of) {
        (Some(1), _) => "not in the one state that follows in the other order".to_owned(),
        (Some(states), _) => format!("not in any of the {states} states that follow in the other order"),
        (None, Some(none)) => format!(
            "in {} of {} runs, and in none of {} with the other order: below 1/{} at {} %",
            none.fails,
            none.of_this,
            none.runs,
            (1.0 / none.at_most).floor(),
            none.confidence * 100.0
        ),
        (None, None) => "not with the other order".to_owned(),
    }
}

/// Describes a failure of both orders: `fails more often with @a first (60 of 64 runs against 12 of 64)`.
fn often(more: &MoreOften, side: &str) -> String {
    let MoreOften { fails, runs, other_fails, other_runs, .. } = more;
    format!("fails more often with {side} first ({fails} of {runs} runs against {other_fails} of {other_runs})")
}

/// Returns whether this failure of this order is harm of the pair.
pub(super) fn is_harm(pair: &Pair, order: &Order, fails: &Failure) -> bool {
    pair.harms.iter().any(|h| h.first == order.first && h.signature == fails.signature)
}

/// Returns the failures that are the harm of a pair, each with its order.
pub(crate) fn hurting(pair: &Pair) -> Vec<(&Order, &Failure)> {
    let all = pair.orders.iter().flat_map(|o| o.failures.iter().map(move |f| (o, f)));
    all.filter(|(o, f)| is_harm(pair, o, f)).collect()
}

/// The description of an order or of a failure, with one of its runs.
pub(super) struct Example<'r> {
    /// The description: `@B first: 64 runs, 64 fail: NullPointer at :40 in main`.
    pub(super) head: ReportLine,
    /// The commands that replay the run.
    pub(super) commands: Vec<String>,
    /// The run, if it fails.
    pub(super) failing: Option<&'r Evidence>,
}

/// Describes both orders of a pair, with an entry for each failure.
pub(super) fn orders<'r>(report: &ConfirmReport, pair: &'r Pair, replays: &mut dyn Replays) -> Vec<Example<'r>> {
    let runs = if pair.verdict().confirmed() { "run" } else { "trial" };
    let mut examples = Vec::new();
    for order in pair.orders.iter().filter(|o| o.runs > 0) {
        let never = never_reached(pair, order);
        let head = format!("{} first: {}{never}", side(pair, &order.first), counted(order.runs, runs));
        for f in &order.failures {
            let verb = if f.runs == 1 { "fails" } else { "fail" };
            let head =
                ReportLine::new(format!("{head}, {} {verb}: ", f.runs)).with(Role::Bad, failure(f)).and(stall(f));
            examples.push(Example { head, commands: commands(report, &f.again, replays), failing: Some(&f.again) });
        }
        if order.failures.is_empty() {
            let commands = order.passes.as_ref().map_or_else(Vec::new, |again| commands(report, again, replays));
            examples.push(Example { head: ReportLine::new(format!("{head}, none fails")), commands, failing: None });
        }
        for Caught { exception, line, column, runs: n, .. } in &order.caught {
            let runs = counted(*n, runs);
            let head =
                clean(&format!("{} first: caught {exception} at :{line}:{column} in {runs}", side(pair, &order.first)));
            examples.push(Example { head: ReportLine::new(head), commands: Vec::new(), failing: None });
        }
    }
    examples
}

// Formats a remark about the runs of an order: ` (in 5 of them @B was never reached)`.
fn never_reached(pair: &Pair, order: &Order) -> String {
    let other = side(pair, if order.first == "a" { "b" } else { "a" });
    match order.cut_off {
        0 => String::new(),
        n if n == order.runs => format!(" (in all of them {other} was never reached)"),
        n => format!(" (in {n} of them {other} was never reached)"),
    }
}

/// Describes a failure that is not the harm of one order.
pub(super) fn fails<'r>(
    report: &ConfirmReport,
    fails: &'r Failure,
    runs: RunKind,
    replays: &mut dyn Replays,
) -> Example<'r> {
    let runs = match runs {
        RunKind::Trial if fails.again.strategy == SEARCHED => "found by a search of all states".to_owned(),
        _ if is_fuzzed(report) => counted(fails.runs, "run"),
        _ => counted(fails.runs, runs.word()),
    };
    let counts = format!(", {runs}{}", stall(fails));
    let head = ReportLine::default().with(Role::Bad, failure(fails)).and(counts);
    Example { head, commands: commands(report, &fails.again, replays), failing: Some(&fails.again) }
}

/// Counts what a finding leads, for a list that leaves it out. `None` if it leads nothing.
pub(super) fn more_of_cause(finding: &Finding<'_, Pair>) -> Option<String> {
    let more = [(finding.violations.len(), "more violation"), (finding.pairs.len(), "more pair")];
    let more: Vec<String> = more.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| counted(n as u64, what)).collect();
    (!more.is_empty()).then(|| format!("and {} of the same cause (--all shows them)", more.join(" and ")))
}

/// Describes how other pairs are related to a finding, one line for each pair. Empty if there are none.
pub(super) fn belonging(entry: &ReportEntry<'_>) -> Vec<String> {
    let line = |p: &&Pair| match entry.finding.subject {
        Subject::Pair { .. } | Subject::Violation(_) => format!("the same cause as with the pair {}", located(p)),
        Subject::Ring(_) | Subject::Failure(..) => format!("in either order of the pair {}", located(p)),
    };
    let others = match entry.finding.subject {
        Subject::Pair { pair, .. } => harm_of_others(entry.report, pair, located),
        Subject::Ring(_) | Subject::Violation(_) | Subject::Failure(..) => Vec::new(),
    };
    let violations = entry.finding.violations.iter();
    let same = violations.map(|of| format!("the same cause as with the violation of {}", atomicity::name(of)));
    entry.finding.pairs.iter().map(line).chain(same).chain(others).collect()
}

/// Describes the failures of a pair that are the harm of another pair, which is the one to fix. `name` formats the
/// other pair.
pub(super) fn harm_of_others(report: &ConfirmReport, this: &Pair, name: fn(&Pair) -> String) -> Vec<String> {
    let mut known = BTreeSet::new();
    let mut lines = Vec::new();
    for f in this.failures() {
        if this.is_blamed_for(f) || !known.insert(&f.signature) {
            continue;
        }
        let mut pairs = report.pairs.iter().chain(&report.order_pairs);
        if let Some(blamed) = pairs.find(|p| p.is_blamed_for(f)) {
            // A text may leave out the blamed pair, but not its leader, which has the failure as well.
            let mut pairs = report.pairs.iter().chain(&report.order_pairs);
            let other = pairs.find(|p| blamed.leader == Some(p.sites())).unwrap_or(blamed);
            let violations = report.atomicity.as_ref().map_or(&[][..], |of| &of.violations);
            let leads = blamed.violation.and_then(|i| violations.get(i as usize));
            let other = match leads {
                Some(violation) => format!("violation of {}", atomicity::name(violation)),
                None => format!("pair {}", name(other)),
            };
            let (verdict, text) = (Verdict::Harmful, failure(f));
            lines.push(format!("the same failure as the harm of the {verdict} {other}: {text}"));
        }
    }
    lines
}

// Formats a pair with the places of its statements in the real app.
fn located(of: &Pair) -> String {
    format!("{}{}", pair(of), sources(of))
}

// Formats the places in the real app in parentheses: ` (Main.java:12 ~ Main.java:30)`.
fn sources(pair: &Pair) -> String {
    source(pair).map_or(String::new(), |text| format!(" ({text})"))
}

/// Returns the places of both statements in the real app. `None` if the model names neither.
pub(crate) fn source(pair: &Pair) -> Option<String> {
    let side = |a: &Access| a.from.clone().unwrap_or_else(|| access(a));
    let any = pair.a.from.is_some() || pair.b.from.is_some();
    any.then(|| clean(&format!("{} ~ {}", side(&pair.a), side(&pair.b))))
}

/// Returns the commands that replay a run.
pub(super) fn commands(report: &ConfirmReport, again: &Evidence, replays: &mut dyn Replays) -> Vec<String> {
    replays.commands(&report.about, again).iter().map(|c| clean(c)).collect()
}

fn stall(fails: &Failure) -> String {
    stalls(fails.stall, fails.least_stall)
}

/// Returns the limitations of a report: an interruption, limits that cut detection runs, possible livelocks.
pub(super) fn caveats(report: &ConfirmReport) -> Vec<String> {
    let interrupted = (!report.about.complete).then(|| "interrupted: the result is incomplete".to_owned());
    let noun = if is_fuzzed(report) { "run" } else { "detection run" };
    let cut = report.detection_limits.iter().map(|cut| {
        clean(&format!("{} reached the limit of {} (--{})", counted(cut.runs, noun), cut.limit, cut.option))
    });
    let endless = report.livelocks.iter().flatten().map(livelock);
    interrupted.into_iter().chain(cut).chain(endless).collect()
}

/// Describes a possible livelock: `possible livelock: a, b never end`.
pub(crate) fn livelock(endless: &Endless) -> String {
    let verb = if endless.threads.len() == 1 { "ends" } else { "end" };
    clean(&format!("possible livelock: {} never {verb}", endless.threads.join(", ")))
}

impl<'r> ReportEntry<'r> {
    /// Describes the finding: an example for each failure of each order of a pair, or one for a failure.
    pub(super) fn examples(&self, replays: &mut dyn Replays) -> Vec<Example<'r>> {
        match self.finding.subject {
            Subject::Pair { pair, .. } => orders(self.report, pair, replays),
            Subject::Ring(ring) => super::rings::examples(self.report, ring, replays),
            Subject::Violation(of) => super::atomicity::examples(self.report, of, replays),
            Subject::Failure(f, runs) => vec![fails(self.report, f, runs, replays)],
        }
    }
}
