//! Prints the result of a search as text.

use super::Answer;
use crate::base::{counted, elided};
use crate::campaign::{SEARCHED, remake};
use crate::cli::confirm::found::{access, pair};
use crate::cli::io::output::{BAD, BOLD, DIM, GOOD, ODD, Output, many, paint};
use crate::cli::io::replay_command;
use crate::cli::run::outcome::limit_text;
use crate::event::Outcome;
use crate::explore::{ClockMode, Cut, Estimate, MOST_STATES, OrderResult, RunChoices};
use crate::formats::explore::{NOT_TOLD, has_some_values, values};
use crate::formats::failure_place::ending;
use crate::formats::report::words::bounded_by;
use crate::world::Limits;
use indicatif::HumanCount;

/// Prints the whole result.
pub(super) fn all(answer: &Answer<'_>, quiet: bool, out: &mut Output) {
    head(answer, out);
    if quiet {
        brief(answer, out);
        pairs_in_brief(answer, out);
        return;
    }
    ends(answer, out);
    endless(answer, out);
    pairs(answer, out);
}

// Prints the number of ends, and nothing about how to see them.
fn brief(answer: &Answer<'_>, out: &mut Output) {
    let bad = answer.found.ends.values().filter(|way| way.outcome != Outcome::Ok).count() as u64;
    writeln!(out, "{}, {bad} of them not ok", counted(answer.found.ends.len() as u64, "end"));
    for livelock in answer.livelocks.iter().flatten() {
        writeln!(out, "{}", paint(ODD, format!("possible livelock in {}", counted(livelock.states as u64, "state"))));
    }
    missing(answer, out);
}

fn head(answer: &Answer<'_>, out: &mut Output) {
    let found = &answer.found;
    let depth = many(u64::from(found.depth), "step");
    let states = format!("{}, {}", many(found.states, "state"), many(found.transitions, "transition"));
    match found.cut {
        None => writeln!(out, "{states}, at most {depth} from the start: {}", whole(answer)),
        Some(cut) => {
            writeln!(out, "{}", paint(ODD, format!("{states}, {depth} from the start: not all of them")));
            let left = match cut {
                Cut::Depth => "with unvisited successors",
                Cut::States | Cut::Memory | Cut::Stopped if found.frontier == 1 => "that was found but not visited",
                Cut::States | Cut::Memory | Cut::Stopped => "that were found but not visited",
            };
            writeln!(out, "  {}; it leaves {} {left}", why(cut, answer), many(found.frontier, "state"));
            if matches!(cut, Cut::States | Cut::Memory | Cut::Stopped) {
                clock_hint(answer, out);
            }
        }
    }
    reduction(answer, out);
    if let Some(estimate) = &found.estimate {
        let more = estimate.sampled - estimate.visited;
        if more > 0 {
            let runs = counted(estimate.probes, "random run");
            let (all, more) = (many(estimate.at_least(found.states), "state"), HumanCount(more));
            writeln!(out, "  at least {all} in all: {runs} reached {more} that the search did not visit");
        }
        if estimate.growing > 0 {
            let runs = counted(estimate.growing, "run");
            writeln!(
                out,
                "  there may be infinitely many: {runs} without end still reached new states when they were stopped"
            );
        }
        schedules(estimate, out);
    }
    for (name, count) in answer.renamed.iter().flat_map(|renamed| &renamed.threads) {
        writeln!(
            out,
            "  the {} of `{name}` are alike: of states that differ by a renaming of them, one is visited",
            many(*count as u64, "thread")
        );
    }
    for why in answer.renamed.iter().flat_map(|renamed| &renamed.others) {
        out.prose(format_args!("  {why}"));
    }
    if found.scale.up != 1 || found.scale.down != 1 {
        writeln!(
            out,
            "{}",
            paint(DIM, format!("the clock moves in units of {}/{} ms", found.scale.down, found.scale.up))
        );
    }
}

// Says what a reduced search has left out, and what it does not tell.
fn reduction(answer: &Answer<'_>, out: &mut Output) {
    if answer.plan.stubborn.is_none() {
        return;
    }
    let line = match answer.found.reduced {
        None if answer.plan.clock == ClockMode::Critical => "--reduce leaves nothing out with --clock fast".to_owned(),
        None => {
            "--reduce leaves nothing out: the model has components, pools or async tasks, or is too large".to_owned()
        }
        Some(states) => format!(
            "--reduce followed only some of the open actors in {}; not told: {}",
            many(states, "state"),
            NOT_TOLD.join(", ")
        ),
    };
    out.prose(format_args!("  {line}"));
}

fn schedules(estimate: &Estimate, out: &mut Output) {
    // If a run was left before its end, only a part of its choices is known, and the number is a lower bound.
    let least = if estimate.endless > 0 { "more than " } else { "about " };
    if !estimate.schedules.is_finite() {
        return writeln!(out, "  more than 1e308 schedules (Knuth)");
    }
    let error = match estimate.error() {
        Some(error) => format!(", ± {}", rounded(error)),
        None if estimate.endless > 0 => String::new(),
        None => ", perhaps many more: few runs dominate the estimate".to_owned(),
    };
    writeln!(out, "  {least}{} schedules{error} (Knuth)", rounded(estimate.schedules));
}

fn whole(answer: &Answer<'_>) -> String {
    match (answer.plan.clock, answer.preemptions) {
        (ClockMode::Critical, _) => "all of them on the fast clock, which misses some".to_owned(),
        (_, Some(bound)) => format!("all of them with at most {}", counted(u64::from(bound), "preemption")),
        _ => match bounded_by(answer.model.program.components.bounds.iter().map(|(name, value)| (name, value))) {
            Some(bounds) => format!("all of them, bounded by {bounds}"),
            None => "all of them".to_owned(),
        },
    }
}

// Explains a search that the clock has made too large: the app has long delays, and the unit of the clock is small
// beside them, because the delays have no large common divisor.
fn clock_hint(answer: &Answer<'_>, out: &mut Output) {
    let scale = answer.found.scale;
    let longest = answer.model.code.setup.delays.last().copied().unwrap_or(0);
    let units = u128::from(longest) * u128::from(scale.up) / u128::from(scale.down);
    if answer.plan.clock == ClockMode::Exact && units > MANY_UNITS {
        out.prose(format_args!(
            "  the exact clock moves in units of {}/{} ms, and the longest delay is {longest} ms: delays with a larger common divisor have fewer states, and `--clock fast` visits fewer instants",
            scale.down, scale.up
        ));
    }
}

// Units in the longest delay from which on the clock alone may have made a search too large.
const MANY_UNITS: u128 = 100;

// Describes what cut the search, and which option continues it.
fn why(cut: Cut, answer: &Answer<'_>) -> String {
    let bounds = &answer.plan.bounds;
    match cut {
        Cut::States if answer.found.states < bounds.states => {
            "cut at the maximum number of states of --search depth".to_owned()
        }
        Cut::States => {
            let (now, next) = (many(bounds.states, "state"), bounds.states.saturating_mul(2).min(MOST_STATES));
            format!("cut at {now} (--states {next} continues)")
        }
        Cut::Depth => {
            let (now, next) = (u64::from(bounds.depth), bounds.depth.saturating_mul(2).max(1));
            format!("cut at {} (--search-depth {next} continues)", many(now, "step"))
        }
        Cut::Memory => "cut by --memory, which is not reproducible (a larger --memory continues)".to_owned(),
        Cut::Stopped if answer.timed_out => {
            "cut by --time, which is not reproducible (a longer --time continues)".to_owned()
        }
        Cut::Stopped => "interrupted, which is not reproducible".to_owned(),
    }
}

// Three digits are enough.
fn rounded(n: f64) -> String {
    if n < 1e6 { HumanCount(n.round() as u64).to_string() } else { format!("{n:.2e}") }
}

fn ends(answer: &Answer<'_>, out: &mut Output) {
    let found = &answer.found;
    writeln!(out);
    match found.ends.len() {
        0 if answer.proves() => writeln!(out, "no run ever ends"),
        0 => writeln!(out, "no run was seen to end"),
        n if answer.renamed.is_some() => writeln!(out, "{}, each up to a renaming:", counted(n as u64, "end")),
        n => writeln!(out, "{}:", counted(n as u64, "end")),
    }
    for (end, way) in &found.ends {
        let style = if way.outcome == Outcome::Ok { GOOD } else { BAD };
        let kind = match &way.outcome {
            Outcome::Ok => "ok".to_owned(),
            Outcome::Limit(kind, limit) => limit_text(*kind, *limit),
            other => ending(answer.model, other).unwrap_or_default(),
        };
        let values = values(&answer.model.program, &end.ended);
        let some = if has_some_values(found, way) { "some values: " } else { "" };
        let values = if values.is_empty() { String::new() } else { format!("  {some}{}", values.join(" ")) };
        let stall = match (way.stall, answer.stalls.get(end)) {
            (0, _) => String::new(),
            (stall, Some(least)) if *least == stall => format!(", stall {stall} ms"),
            (stall, Some(least)) => format!(", stall {stall} ms (least stall {least} ms, in another run)"),
            (stall, None) => format!(", stall {stall} ms in this run"),
        };
        writeln!(out, "  {}{values}  in {}{stall}", paint(style, kind), many(way.steps, "step"));
        replay(answer, way, "    ", out);
    }
    missing(answer, out);
}

// Prints what it means that no other ends were found.
fn missing(answer: &Answer<'_>, out: &mut Output) {
    if answer.proves() {
        return;
    }
    let why = match (answer.found.cut, answer.plan.clock, answer.preemptions) {
        (Some(_), ..) => "the search was cut",
        (None, ClockMode::Critical, _) => "the fast clock misses some orders of deadlines",
        (None, _, _) => "runs with more preemptions were not followed",
    };
    let bad = answer.found.ends.values().any(|way| way.outcome != Outcome::Ok);
    let so_far = if bad { "other ends may exist" } else { "nothing bad was found so far, but bad ends may exist" };
    writeln!(out, "{}", paint(ODD, format!("{so_far}: {why}")));
}

fn replay(answer: &Answer<'_>, way: &RunChoices, indent: &str, out: &mut Output) {
    let limits = &answer.plan.limits;
    let token = remake(answer.plan.program, limits, way).token.to_string();
    for command in replay_command::replay(answer.model, &token, SEARCHED, 0, limits) {
        writeln!(out, "{indent}{command}");
    }
}

fn endless(answer: &Answer<'_>, out: &mut Output) {
    match &answer.livelocks {
        Some(none) if none.is_empty() => writeln!(out, "no livelock is possible"),
        None if answer.found.reduced.is_some() => {}
        None if answer.proves() => {
            let why = match () {
                () if answer.renamed.is_some() => ": `--symmetry` does not look for any",
                () if !answer.stopped => ": the transitions take more than half of `--memory`",
                () => "",
            };
            writeln!(out, "{}", paint(ODD, format!("whether a livelock is possible is unknown{why}")));
        }
        Some(_) | None => {}
    }
    for livelock in answer.livelocks.iter().flatten() {
        let limits = Limits { steps: livelock.way.steps, ..answer.plan.limits };
        let remade = remake(answer.plan.program, &limits, &livelock.way);
        let names: Vec<String> =
            livelock.threads.iter().map(|t| elided(&remade.machine.world.thread_name(*t)).into_owned()).collect();
        let (first, next) = livelock.round;
        let verb = if names.len() == 1 { "ends" } else { "end" };
        let what = format!("possible livelock: {} never {verb}", names.join(", "));
        writeln!(out);
        writeln!(out, "{}", paint(ODD, what));
        writeln!(
            out,
            "  fair cycle in {}: steps {} to {} lead back to the state before them",
            counted(livelock.states as u64, "state"),
            first + 1,
            next
        );
        for command in replay_command::replay(answer.model, &remade.token.to_string(), SEARCHED, 0, &limits) {
            writeln!(out, "    {command}");
        }
    }
}

// Prints one line for each pair, without runs.
fn pairs_in_brief(answer: &Answer<'_>, out: &mut Output) {
    for (of, table) in answer.orders.iter().flatten() {
        let side = match answer.found.adjacent.contains_key(of) {
            true => paint(BAD, "side by side"),
            false if answer.proves() => "never side by side".to_owned(),
            false => "not seen side by side".to_owned(),
        };
        let orders = table.orders.iter().filter(|(.., order)| matches!(order, OrderResult::Happens(_))).count() as u64;
        writeln!(out, "{}: {side}, {} seen", paint(BOLD, pair(answer.model, *of)), counted(orders, "order"));
    }
}

fn pairs(answer: &Answer<'_>, out: &mut Output) {
    let Some(orders) = &answer.orders else { return };
    writeln!(out);
    writeln!(out, "{}:", counted(orders.len() as u64, "pair"));
    for (of, table) in orders {
        writeln!(out, "  {}", paint(BOLD, pair(answer.model, *of)));
        match answer.found.adjacent.get(of) {
            Some(way) => {
                writeln!(out, "    {} in a run of {}", paint(BAD, "side by side"), many(way.steps, "step"));
                replay(answer, way, "      ", out);
            }
            None if answer.proves() => writeln!(out, "    never side by side"),
            None => writeln!(out, "    not seen side by side"),
        }
        for (first, then, order) in &table.orders {
            let names = format!("{} before {}", access(answer.model, *first), access(answer.model, *then));
            match order {
                OrderResult::Happens(way) => {
                    writeln!(out, "    {names}");
                    replay(answer, way, "      ", out);
                }
                OrderResult::Never if answer.plan.clock == ClockMode::Exact => writeln!(out, "    never {names}"),
                OrderResult::Never | OrderResult::Unknown(_) => writeln!(out, "    not seen {names}"),
            }
        }
        match &table.flips {
            Some(OrderResult::Happens(_)) => writeln!(out, "    the same two instances in both orders"),
            Some(OrderResult::Never) => {
                writeln!(out, "    both orders, but never of the two instances that were tried")
            }
            Some(OrderResult::Unknown(_)) | None => {}
        }
    }
}
