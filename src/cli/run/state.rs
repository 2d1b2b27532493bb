//! Implements `--until` and `--state`: a run that is stopped early, and the state at its end.

use crate::cli::io::load::Model;
use crate::cli::io::output::{BAD, BOLD, DIM, GOOD, ODD, Output, paint};
use crate::formats::state::{LockState, MessageState, State, ThreadCondition, ThreadState, Variable};
use crate::world::World;

/// Options that stop a run early and print its state.
#[derive(clap::Args, Clone, Copy, Default, Debug)]
pub(in crate::cli) struct StateArgs {
    /// Stop after N steps
    #[arg(long, value_name = "N", help_heading = crate::cli::args::head::EFFORT)]
    pub(in crate::cli) until: Option<u64>,
    /// Print the state at the end or at --until: threads, queues, locks, and all variables
    #[arg(long, help_heading = crate::cli::args::head::RESULT)]
    pub(in crate::cli) state: bool,
}

/// Returns the state of a world with the names of its model.
pub(in crate::cli) fn of(model: &Model, world: &World) -> State {
    State::of(world, &model.program)
}

// Width of the column of names.
const NAME: usize = 24;

/// Prints a state.
pub(in crate::cli) fn print(out: &mut Output, model: &Model, state: &State) {
    let steps = if state.steps == 1 { "step" } else { "steps" };
    writeln!(out);
    writeln!(out, "{} after {} {steps}, at {} ms", paint(BOLD, "state"), state.steps, state.virtual_time);
    head(out, "threads", state.threads.is_empty());
    state.threads.iter().for_each(|t| thread(out, model, t));
    for t in &state.threads {
        let Some(queue) = t.queue.as_ref().filter(|q| !q.is_empty()) else { continue };
        head(out, &format!("queue of {}", t.name), false);
        queue.iter().for_each(|m| row(out, &format!("due at {} ms", m.due), &message(m)));
    }
    head(out, "locks", state.locks.is_empty());
    state.locks.iter().for_each(|l| row(out, &l.name, &lock(l)));
    head(out, "variables", state.variables.is_empty());
    state.variables.iter().for_each(|v| row(out, &v.name, &v.value));
    head(out, "objects", state.objects.is_empty());
    for o in &state.objects {
        let fields: Vec<String> = o.fields.iter().map(|Variable { name, value }| format!("{name}: {value}")).collect();
        let freed = if o.freed { paint(BAD, "deleted ") } else { String::new() };
        row(out, &o.name, &format!("{freed}{{{}}}", fields.join(", ")));
    }
    if state.more_objects > 0 {
        writeln!(out, "    and {} more", state.more_objects);
    }
    let open: Vec<_> = state.events.iter().filter(|e| e.enables > 0).collect();
    head(out, "enabled events", open.is_empty());
    open.iter().for_each(|e| row(out, &e.name, &format!("{} times", e.enables)));
}

fn head(out: &mut Output, what: &str, empty: bool) {
    if !empty {
        writeln!(out, "  {}", paint(DIM, what));
    }
}

fn row(out: &mut Output, name: &str, what: &str) {
    writeln!(out, "    {name:<NAME$}  {what}");
}

fn thread(out: &mut Output, model: &Model, t: &ThreadState) {
    let daemon = if t.daemon { " (daemon)" } else { "" };
    let task = t.task.as_ref().map_or(String::new(), |task| format!("in {}, ", task));
    let at = t.at.as_ref().map_or(String::new(), |at| {
        let label = at.label.as_ref().map_or(String::new(), |l| format!(" (@{l})"));
        format!(" at {}:{}:{}{label}", model.name(), at.line, at.column)
    });
    let operation = t.operation.as_deref().unwrap_or_default();
    let what = match t.standing {
        ThreadCondition::Ended => paint(DIM, "has ended"),
        ThreadCondition::Idle => paint(DIM, "idle: no message to begin"),
        ThreadCondition::Failed => format!("{task}{}{at}", paint(BAD, "has failed")),
        ThreadCondition::Ready => format!("{task}{}: {operation}{at}", paint(GOOD, "enabled")),
        ThreadCondition::Waits => {
            let what = t.waits_for.as_deref().unwrap_or_default();
            let held = match &t.held_by {
                Some(holder) if *holder == t.name => ", held by itself".to_owned(),
                Some(holder) => format!(", held by {}", holder),
                None => String::new(),
            };
            format!("{task}{} for {what}{held}: {operation}{at}", paint(ODD, "waits"))
        }
    };
    row(out, &format!("{}{daemon}", t.name), &what);
}

fn message(m: &MessageState) -> String {
    match &m.task {
        None => "a fence".to_owned(),
        Some(task) if m.is_async => format!("{} (async)", task),
        Some(task) => task.clone(),
    }
}

fn lock(l: &LockState) -> String {
    let mut parts = Vec::new();
    let list = |names: &[String]| names.join(", ");
    if l.name.starts_with("channel ") || l.name.starts_with("closed channel ") {
        parts.push(format!("values {}", l.count));
    } else if l.name.starts_with("semaphore ") || l.name.starts_with("waitgroup ") {
        parts.push(format!("count {}", l.count));
    } else if let Some(parties) = l.parties {
        parts.push(format!("{} of {parties} have arrived", l.count));
    } else if l.owners.is_empty() {
        if !l.name.starts_with("condition ") {
            parts.push("free".to_owned());
        }
    } else {
        let times = if l.count > 1 && l.owners.len() == 1 { format!(", {} times", l.count) } else { String::new() };
        let writes = if l.writes { " for writing" } else { "" };
        parts.push(format!("held by {}{writes}{times}", list(&l.owners)));
    }
    if !l.blocked.is_empty() {
        parts.push(format!("awaited by {}", list(&l.blocked)));
    }
    match l.waiters.as_slice() {
        [] if l.name.starts_with("condition ") => parts.push("no thread waits for a signal".to_owned()),
        [] => {}
        waiters => parts.push(format!("wait set: {}", list(waiters))),
    }
    parts.join("; ")
}
