//! Formats findings in words, with the texts of the output of `confirm`, from a report alone.
//!
//! All texts are on one line and contain no control sequences for terminals, whatever a report contains.

use super::{Finding, Of, Replays, Subject, counted};
use crate::base::{at_most, clean, interval};
use crate::campaign::SEARCHED;
use crate::formats::campaign::{
    About, Access, Again, ConfirmReport, Driven, Endless, Fails, Harm, Order, VerdictWord, Way,
};
use crate::formats::failing::stalls;
use crate::formats::harms::{Hurts, Often};

/// Formats a model and its constants: `app.race -D FIXED=1`.
pub(crate) fn variant(about: &About, path: &str) -> String {
    let defines: String = about.defines.iter().map(|(name, value)| format!(" -D {name}={value}")).collect();
    clean(&format!("{path}{defines}"))
}

/// Formats a statement: `:34 write @A`.
pub(crate) fn access(a: &Access) -> String {
    let label = a.label.as_ref().map_or(String::new(), |l| format!(" @{l}"));
    clean(&format!(":{} {}{label}", a.line, a.kind))
}

/// Formats a pair: `:34 write @A ~ :40 read @B`.
pub(crate) fn pair(pair: &Driven) -> String {
    format!("{} ~ {}", access(&pair.a), access(&pair.b))
}

/// Formats a pair with labels in place of lines, where there are labels: `@A ~ read 40:17`. Edits elsewhere do not
/// change a label.
pub(super) fn name(pair: &Driven) -> String {
    let name = |a: &Access| if a.label.is_some() { a.site.clone() } else { format!("{} {}", a.kind, a.site) };
    clean(&format!("{} ~ {}", name(&pair.a), name(&pair.b)))
}

/// Describes the contexts in which a pair was seen.
pub(super) fn contexts(pair: &Driven) -> String {
    let word = |kind: &String| match kind.as_str() {
        "thread-thread" => "two threads".to_owned(),
        "thread-task" => "a thread and a task".to_owned(),
        "task-task" => "tasks of two loopers".to_owned(),
        "same-looper" => "two tasks of one looper".to_owned(),
        other => clean(other),
    };
    let words: Vec<String> = pair.contexts.iter().map(word).collect();
    if words.is_empty() { "not seen by detection".to_owned() } else { words.join(", ") }
}

/// Returns a name for the statement of a pair that comes first.
pub(crate) fn side(pair: &Driven, first: &str) -> String {
    let a_first = first == "a";
    if pair.a != pair.b {
        let own = if a_first { &pair.a } else { &pair.b };
        return match &own.label {
            Some(label) if pair.a.label != pair.b.label => clean(&format!("@{label}")),
            _ => clean(&own.site),
        };
    }
    // Both sides are one statement, so the thread or task that performs it distinguishes them.
    match &pair.verdict {
        VerdictWord::Flipped { a, b, .. } => {
            let who = if a_first { a } else { b };
            clean(who.rsplit_once(" visit ").map_or(who.as_str(), |(context, _)| context))
        }
        _ if a_first => "one instance".to_owned(),
        _ => "the other instance".to_owned(),
    }
}

// The same rule as in `PairReport::best_way`.
fn best_way(pair: &Driven) -> Option<&Way> {
    let directed = pair.verdict == VerdictWord::Adjacent;
    let proves = |w: &&Way| w.hits > 0 && w.strategy.starts_with("hold:") != directed;
    pair.ways.iter().filter(proves).max_by_key(|w| (w.hits, w.trials))
}

fn rate(way: &Way) -> String {
    let (low, high) = interval(way.hits, way.trials);
    let kind = way.strategy.split(':').next().unwrap_or_default();
    let kind = if kind == "hold" { "held" } else { kind };
    clean(&format!("{} of {} {kind} trials ({low:.2}..{high:.2})", way.hits, way.trials))
}

/// Describes the proof of the verdict on a pair.
pub(super) fn proof(report: &ConfirmReport, pair: &Driven) -> String {
    let searched = pair.proof.iter().any(|run| run.strategy == SEARCHED);
    let by = match best_way(pair) {
        Some(way) => rate(way),
        None if searched => format!("a search of all {}", counted(report.searched.map_or(0, |s| s.states), "state")),
        None if pair.trials == 0 => "the runs of detection".to_owned(),
        None => counted(pair.trials, "trial"),
    };
    match &pair.verdict {
        VerdictWord::Adjacent => format!("side by side in {by}"),
        VerdictWord::Flipped { cut: None, .. } => format!("the same two accesses in both orders, in {by}"),
        VerdictWord::Flipped { cut: Some(first), .. } => {
            format!("both orders, in {by} (with {} first, the other access was never reached)", side(pair, first))
        }
        VerdictWord::Refuted { states, never_first, never_then } => {
            let never = match (never_first, never_then) {
                (Some(first), Some(then)) if first == then => {
                    "never in two threads or tasks on the same memory".to_owned()
                }
                (Some(first), Some(then)) => clean(&format!("never side by side, and never {first} before {then}")),
                _ => "never side by side, and no two instances in both orders".to_owned(),
            };
            format!("{never}, in all {}", counted(*states, "state"))
        }
        VerdictWord::Unconfirmed if pair.trials == 0 => "no trial was made".to_owned(),
        VerdictWord::Unconfirmed => {
            let bound = match pair.reached {
                0 => "none reached both".to_owned(),
                n => format!("{n} reached both, so p <= {:.2}", at_most(n)),
            };
            format!("never side by side and never in both orders, in {} ({bound})", counted(pair.trials, "trial"))
        }
    }
}

/// Formats a failure in one line.
pub(crate) fn failure(fails: &Fails) -> String {
    clean(fails.told())
}

/// Returns line and column of a failure, and its place in the real app if the model names one. What the report lacks
/// comes from a replay, if the run can be replayed.
pub(super) fn place(
    report: &ConfirmReport,
    fails: &Fails,
    replays: &mut dyn Replays,
) -> (Option<(u32, u32)>, Option<String>) {
    let again = replays.run(&report.about, &fails.again, &[]).and_then(|run| run.failing);
    let at = fails.told.place().or_else(|| again.as_ref().and_then(|failing| failing.line.zip(failing.column)));
    (at, again.and_then(|failing| failing.from))
}

/// Said of a pair whose comparison was stopped.
pub(crate) const INTERRUPTED: &str = "interrupted before both orders were compared";

/// Describes the harm of a pair.
pub(super) fn harm(pair: &Driven) -> String {
    match pair.harm {
        Harm::Harmful => {
            let mut each = Vec::new();
            for (order, fails) in hurting(pair) {
                let is_it = |h: &&Hurts| h.first == order.first && h.signature == fails.signature;
                let why = pair.harms.iter().find(is_it).map_or_else(String::new, |h| format!(" ({})", claim(h)));
                each.push(format!("{} with {} first{why}", failure(fails), side(pair, &order.first)));
            }
            each.join("; ")
        }
        Harm::FailsEitherWay => {
            let shown = pair.orders.iter().all(|o| !o.failures.is_empty());
            let by = if shown { "" } else { ", as a search of what follows shows" };
            let mut each = vec![format!("fails either way{by}")];
            for more in &pair.more_often {
                let mut all = pair.orders.iter().flat_map(|o| &o.failures);
                let fails = all.find(|f| f.signature == more.signature);
                let text = fails.map_or_else(|| clean(&more.signature), failure);
                each.push(format!("{text} {}", often(more, &side(pair, &more.first))));
            }
            each.join("; ")
        }
        Harm::NoFailure => "no failure was seen in either order".to_owned(),
        Harm::OneOrderOnly => match pair.orders.iter().find(|o| o.runs == 0) {
            Some(order) => format!("no run took {} first: there is nothing to compare", side(pair, &order.first)),
            None => "too few runs of the other order to say that it does not fail so".to_owned(),
        },
        Harm::Interrupted => INTERRUPTED.to_owned(),
        Harm::Unknown => String::new(),
    }
}

/// Describes the evidence for a harm: `not in any of the 12 states that follow with the other order`, `in 40 of 832
/// runs, and in none of 832 with the other order: below 1/64 at 99.9 %`.
pub(crate) fn claim(harm: &Hurts) -> String {
    match (harm.exhaustive, harm.none_of) {
        (Some(1), _) => "not in the one state that follows with the other order".to_owned(),
        (Some(states), _) => format!("not in any of the {states} states that follow with the other order"),
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
pub(crate) fn often(more: &Often, side: &str) -> String {
    let Often { fails, runs, other_fails, other_runs, .. } = more;
    format!("fails more often with {side} first ({fails} of {runs} runs against {other_fails} of {other_runs})")
}

/// Returns the failures that are the harm of a pair, each with its order.
pub(crate) fn hurting(pair: &Driven) -> Vec<(&Order, &Fails)> {
    let all = pair.orders.iter().flat_map(|o| o.failures.iter().map(move |f| (o, f)));
    all.filter(|(o, f)| pair.harms.iter().any(|h| h.first == o.first && h.signature == f.signature)).collect()
}

/// The description of an order or a failure, with the commands that replay one of its runs.
pub(super) struct Told {
    /// The description: `@B first: 64 runs, 64 fail: NullPointer at :40 in main`.
    pub(super) head: String,
    /// The commands that replay the run.
    pub(super) commands: Vec<String>,
}

/// Describes both orders of a pair, with an entry for each failure.
pub(super) fn orders(report: &ConfirmReport, pair: &Driven, replays: &mut dyn Replays) -> Vec<Told> {
    let runs = if matches!(pair.verdict, VerdictWord::Unconfirmed) { "trial" } else { "run" };
    let mut told = Vec::new();
    for order in pair.orders.iter().filter(|o| o.runs > 0) {
        let never = never_reached(order.cut_off, order.runs, || side(pair, if order.first == "a" { "b" } else { "a" }));
        let head = format!("{} first: {}{never}", side(pair, &order.first), counted(order.runs, runs));
        for f in &order.failures {
            let verb = if f.runs == 1 { "fails" } else { "fail" };
            let text = failure(f);
            let head = format!("{head}, {} {verb}: {text}{}", f.runs, stall(f));
            told.push(Told { head, commands: commands(report, &f.again, replays) });
        }
        if order.failures.is_empty() {
            let commands = order.passes.as_ref().map_or_else(Vec::new, |again| commands(report, again, replays));
            told.push(Told { head: format!("{head}, none fails"), commands });
        }
    }
    told
}

/// Formats a remark about the runs of an order: ` (in 5 of them @B was never reached)`. Empty if `cut_off` is 0.
pub(crate) fn never_reached(cut_off: u32, runs: u32, other: impl FnOnce() -> String) -> String {
    match cut_off {
        0 => String::new(),
        n if n == runs => format!(" (in all of them {} was never reached)", other()),
        n => format!(" (in {n} of them {} was never reached)", other()),
    }
}

/// Describes a failure that is not the harm of one order, in one line.
pub(super) fn fails(report: &ConfirmReport, fails: &Fails, of: Of, replays: &mut dyn Replays) -> Told {
    let head = format!("{}, {}{}", failure(fails), counted(fails.runs, of.word()), stall(fails));
    Told { head, commands: commands(report, &fails.again, replays) }
}

/// Describes how other pairs are related to a finding, one line for each pair. Empty if there are none.
pub(super) fn belonging(finding: &Finding<'_>) -> Vec<String> {
    let line = |p: &&Driven| match finding.subject {
        Subject::Pair { .. } => format!("the same failure with the pair {}{}", pair(p), sources(p)),
        Subject::Failure(..) => format!("whatever the order of the pair {}{}", pair(p), sources(p)),
    };
    finding.pairs.iter().map(line).chain(harm_of_others(finding)).collect()
}

// Describes the failures of a pair that are the harm of another pair.
fn harm_of_others(finding: &Finding<'_>) -> Vec<String> {
    let Subject::Pair { pair: this, .. } = finding.subject else { return Vec::new() };
    let hurts = |p: &Driven, f: &Fails| p.harms.iter().any(|h| h.signature == f.signature);
    let mut told = std::collections::BTreeSet::new();
    let mut lines = Vec::new();
    for f in this.orders.iter().flat_map(|o| &o.failures) {
        if hurts(this, f) || !told.insert(&f.signature) {
            continue;
        }
        let mut all = finding.report.pairs.iter().chain(&finding.report.order_pairs);
        if let Some(other) = all.find(|p| hurts(p, f)) {
            lines.push(format!(
                "the same failure as the harm of the pair {}{}: {}",
                pair(other),
                sources(other),
                failure(f)
            ));
        }
    }
    lines
}

// Formats the places in the real app in parentheses: ` (Main.java:12 ~ Main.java:30)`.
fn sources(pair: &Driven) -> String {
    source(pair).map_or(String::new(), |text| format!(" ({text})"))
}

/// Returns the places of both statements in the real app. `None` if the model names neither.
pub(crate) fn source(pair: &Driven) -> Option<String> {
    let side = |a: &Access| a.from.clone().unwrap_or_else(|| access(a));
    let any = pair.a.from.is_some() || pair.b.from.is_some();
    any.then(|| clean(&format!("{} ~ {}", side(&pair.a), side(&pair.b))))
}

/// Returns the commands that replay a run.
pub(super) fn commands(report: &ConfirmReport, again: &Again, replays: &mut dyn Replays) -> Vec<String> {
    replays.commands(&report.about, again).iter().map(|c| clean(c)).collect()
}

fn stall(fails: &Fails) -> String {
    stalls(fails.stall, fails.least_stall)
}

/// Returns the limitations of a report: an interruption, limits that cut detection runs, possible livelocks.
pub(super) fn caveats(report: &ConfirmReport) -> Vec<String> {
    let interrupted = (!report.about.complete).then(|| "interrupted: not everything was tried".to_owned());
    let cut = report.detection_limits.iter().map(|cut| {
        clean(&format!("{} came to the limit of {} (--{})", counted(cut.runs, "detection run"), cut.limit, cut.option))
    });
    let endless = report.livelocks.iter().flatten().map(livelock);
    interrupted.into_iter().chain(cut).chain(endless).collect()
}

/// Describes a possible livelock: `possible livelock: a, b never come to an end`.
pub(crate) fn livelock(endless: &Endless) -> String {
    let verb = if endless.threads.len() == 1 { "comes" } else { "come" };
    clean(&format!("possible livelock: {} never {verb} to an end", endless.threads.join(", ")))
}

impl Finding<'_> {
    /// Describes the finding: an entry for each failure of each order of a pair, or one for a failure.
    pub(super) fn told(&self, replays: &mut dyn Replays) -> Vec<Told> {
        match self.subject {
            Subject::Pair { pair, .. } => orders(self.report, pair, replays),
            Subject::Failure(f, of) => vec![fails(self.report, f, of, replays)],
        }
    }
}
