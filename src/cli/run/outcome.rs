//! Describes in words how a run ended.

use crate::base::{counted, elided};
use crate::cli::io::load::Model;
use crate::cli::io::output::{BAD, DIM, GOOD, ODD, Output, paint};
use crate::event::{BlockedThread, DeadlockReport, Failure, LimitKind, Outcome, Site, SiteId};
use crate::formats::failure_place;
use crate::formats::result::{LeftMessage, remaining, task_of};
use crate::world::World;

/// Prints the outcome of a run: a line, and below it details that help to understand it. With `brief` the blocked
/// threads of a deadlock are left out.
pub(in crate::cli) fn print(out: &mut Output, model: &Model, world: &World, outcome: &Outcome, brief: bool) {
    match outcome {
        Outcome::Ok => writeln!(out, "{}", paint(GOOD, "ok")),
        Outcome::Stuck { messages } => stuck(out, world, *messages),
        Outcome::Failure(failure) => fails(out, model, world, failure),
        Outcome::Deadlock(report) => deadlock(out, model, world, report, brief),
        Outcome::Limit(kind, limit) => {
            writeln!(out, "{}: the run reached its {}", paint(ODD, "limit"), limit_text(*kind, *limit));
        }
    }
}

/// Prints that a run hit a limit, without the option that raises it, which is printed elsewhere.
pub(in crate::cli) fn print_limit(out: &mut Output, kind: LimitKind, limit: u64) {
    writeln!(out, "{}: the run reached its limit of {limit} {}", paint(ODD, "limit"), kind.noun());
}

/// Describes a limit, as in `limit of 100 steps; --steps 200 raises it`.
pub(in crate::cli) fn limit_text(kind: LimitKind, limit: u64) -> String {
    let unit = if kind == LimitKind::VirtualTime { "ms" } else { "" };
    format!("limit of {limit} {}; --{} {}{unit} raises it", kind.noun(), kind.option(), higher(kind, limit))
}

// Twice the limit, up to the maximum of the option.
fn higher(kind: LimitKind, limit: u64) -> u64 {
    let most = match kind {
        LimitKind::Steps | LimitKind::VirtualTime | LimitKind::LocalSteps => u64::MAX,
        LimitKind::Objects | LimitKind::Threads | LimitKind::QueueLength | LimitKind::ListLength | LimitKind::Cells => {
            u64::from(u32::MAX)
        }
    };
    limit.saturating_mul(2).clamp(1, most)
}

fn stuck(out: &mut Output, world: &World, messages: u32) {
    writeln!(out, "{}: {} can never run", paint(ODD, "stuck"), counted(u64::from(messages), "message"));
    for LeftMessage { looper, task } in remaining(world) {
        writeln!(out, "  {} in the queue of {}", elided(&task), elided(&looper));
    }
}

fn doer(world: &World, thread: &str) -> String {
    match task_of(world, thread) {
        Some(task) => format!("{} on {}", elided(&task), elided(thread)),
        None => elided(thread).into_owned(),
    }
}

fn fails(out: &mut Output, model: &Model, world: &World, failure: &Failure) {
    let site = failure.site.map(|s| &world.setup().sites[s]);
    let at = failure_place::place(&world.setup().sites, failure);
    let label = site.map(label).unwrap_or_default();
    let place = at.map_or(String::new(), |at| format!(" at {}{label}", position(model, at)));
    let who = if failure.thread.is_empty() { String::new() } else { format!(" in {}", doer(world, &failure.thread)) };
    writeln!(out, "{}: {}{place}{who}", paint(BAD, "failure"), failure_place::headline(failure));
    if let Some(at) = at {
        excerpt(out, model, at);
    }
}

fn deadlock(out: &mut Output, model: &Model, world: &World, report: &DeadlockReport, brief: bool) {
    let blocked = counted(report.blocked.len() as u64, "thread");
    let text = match report.cycle.as_slice() {
        [] => format!("{blocked} can never continue"),
        ring => format!("cycle of threads: {} -> {}", failure_place::elided_all(ring).join(" -> "), elided(&ring[0])),
    };
    writeln!(out, "{}: {text}", paint(BAD, "deadlock"));
    let blocked = if brief { &[] } else { report.blocked.as_slice() };
    for BlockedThread { thread, site, waits_for, held_by, holder_ended } in blocked {
        let site: Option<SiteId> = *site;
        let at = site.map_or(String::new(), |s| format!(" at {}", place(model, &world.setup().sites[s])));
        let held = match held_by {
            None => String::new(),
            Some(holder) if *holder_ended => format!(", held by {}, which has ended", elided(holder)),
            Some(holder) if holder == thread => ", held by itself".to_owned(),
            Some(holder) => format!(", held by {}", elided(holder)),
        };
        writeln!(out, "  {}{at} waits for {waits_for}{held}", doer(world, thread));
        if let Some(site) = site {
            let site = &world.setup().sites[site];
            excerpt(out, model, (site.line, site.column));
        }
    }
}

/// Describes a place, as in `app.race:23:40 (@B)`.
fn place(model: &Model, site: &Site) -> String {
    format!("{}{}", position(model, (site.line, site.column)), label(site))
}

fn label(site: &Site) -> String {
    site.label.as_ref().map_or(String::new(), |l| format!(" (@{l})"))
}

fn position(model: &Model, (line, column): (u32, u32)) -> String {
    format!("{}:{line}:{column}", model.name())
}

/// Returns the text of a line of the model.
pub(in crate::cli) fn line_of(model: &Model, line: u32) -> &str {
    model.source.text().lines().nth((line as usize).saturating_sub(1)).unwrap_or("")
}

// Longer lines, in bytes, are not shown: they would hide the place that they should show.
const LONGEST: usize = 200;

fn excerpt(out: &mut Output, model: &Model, (line, column): (u32, u32)) {
    let text = line_of(model, line).trim_end();
    if text.is_empty() || text.len() > LONGEST {
        return;
    }
    let caret = format!("{}^", " ".repeat(column.saturating_sub(1) as usize));
    writeln!(out, "{} {text}", paint(DIM, format_args!("{line:>5} |")));
    writeln!(out, "{} {}", paint(DIM, "      |"), paint(BAD, caret));
}
