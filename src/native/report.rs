//! The report of a failing run: how it ended, its steps, and how to replay it.

use super::checked::CheckFailure;
use super::program::NativeProgram;
use crate::base::clean;
use crate::event::{Event, EventKind, Outcome, Site, SiteId};
use crate::exec::{Observer, run};
use crate::sched::Replay;
use crate::token::Token;
use crate::world::{Program, Setup, World};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

// Maximum number of steps that are printed; the last ones are, and the first few.
const MOST_STEPS: usize = 60;
const FIRST_STEPS: usize = 10;

// Why a run may differ from run to run.
const UNCONTROLLED: &str = "Something that the scheduler does not control decides: the order of a HashMap or HashSet, the time, a random number,
an address, or a static that keeps its contents from run to run.";

/// Performs the run of a token again, and reports its failure.
pub(super) fn failure(program: &NativeProgram, number: u64, token: &Token) -> CheckFailure {
    let mut steps = Steps::default();
    let mut machine = program.machine(token.limits);
    let mut replay = Replay::new(Arc::new(token.schedule.clone()));
    let stop = AtomicBool::new(false);
    let summary = run(&mut machine, &mut replay, token.seed, &mut steps, &stop);
    let outcome = summary.outcome().cloned();
    let what = outcome.as_ref().map_or_else(|| "the run cannot be replayed".to_owned(), |o| ending(program.setup(), o));
    let again = outcome.as_ref().is_some_and(|o| crate::world::signature(program.setup(), o) == token.signature);
    let token = token.to_string();
    let mut text = String::new();
    let line = |text: &mut String, line: &str| writeln!(text, "{line}").expect("a string takes all");
    match number {
        0 => line(&mut text, &format!("the run fails: {what}")),
        number => line(&mut text, &format!("run {number} fails: {what}")),
    }
    if !again {
        line(&mut text, "The run ended otherwise when it was performed again.");
        line(&mut text, UNCONTROLLED);
    }
    line(&mut text, "");
    steps.print(&mut text);
    line(&mut text, "");
    line(&mut text, "To replay it:");
    line(&mut text, &format!("  RACEFLIP_REPLAY={token} cargo test {}", clean(program.name())));
    CheckFailure { run: number, what, token, text }
}

/// Reports runs that have reached the limit of steps.
pub(super) fn limited(runs: u64, limit: u64) -> CheckFailure {
    let what = format!("{runs} of the runs reached the limit of {limit} steps");
    let text = format!(
        "{what}.\nA thread may wait in a loop for something that never comes. `Checker::steps` sets another limit.\n"
    );
    CheckFailure { run: 0, what, token: String::new(), text }
}

/// Reports that a run was another one when its choices were repeated: the first operation that differs.
pub(super) fn differs(number: u64, at: usize, before: &str, now: &str) -> CheckFailure {
    let what = format!("run {number} is another one when its choices are repeated, from operation {at} on");
    let text = format!(
        "{what}.\n  the first time:  {before}\n  the second time: {now}\n{UNCONTROLLED}\nUntil then no failure can be replayed. `Checker::repeats(false)` leaves this test out.\n"
    );
    CheckFailure { run: number, what, token: String::new(), text }
}

/// Reports a failure that came once and never again.
pub(super) fn lost(signature: &str) -> CheckFailure {
    let what = format!("a run failed, and no later one did: {}", clean(signature));
    let text = format!("{what}\n{UNCONTROLLED}\n");
    CheckFailure { run: 0, what, token: String::new(), text }
}

/// Returns a statement in words: `write at src/pool.rs:12:9`.
pub(super) fn place(setup: &Setup, site: SiteId) -> String {
    let site = &setup.sites[site];
    format!("{} at {}", site.kind.word(), at(setup, site))
}

fn at(setup: &Setup, site: &Site) -> String {
    clean(&format!("{}:{}:{}", setup.bodies[site.body], site.line, site.column))
}

// Describes how a run ended.
fn ending(setup: &Setup, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Failure(failure) => {
            let place = failure.site.map_or(String::new(), |site| format!(" at {}", at(setup, &setup.sites[site])));
            clean(&format!("{} in {}{place}: {}", failure.name, failure.thread, failure.message))
        }
        Outcome::Deadlock(report) => {
            let blocked = report.blocked.iter().map(|thread| {
                let place = thread.site.map_or(String::new(), |site| format!(" at {}", at(setup, &setup.sites[site])));
                let held = thread.held_by.as_ref().map_or(String::new(), |by| format!(", held by {by}"));
                format!("\n  {} waits for {}{held}{place}", thread.thread, thread.waits_for)
            });
            let blocked: String = blocked.collect();
            format!("deadlock{}", blocked.split('\n').map(clean).collect::<Vec<_>>().join("\n"))
        }
        Outcome::Stuck { messages } => format!("{messages} messages can never run"),
        Outcome::Limit(kind, limit) => format!("the limit of {limit} ({kind:?}) was reached"),
        Outcome::Ok => "it ends well".to_owned(),
    }
}

// The steps of a run.
#[derive(Default)]
struct Steps {
    all: Vec<Step>,
}

/// A step: its number, its thread, its operation and its place.
pub(super) struct Step([String; 4]);

impl Step {
    /// Returns the step of an event. `None` if no thread has performed an operation.
    pub(super) fn of(world: &World, event: &Event) -> Option<Self> {
        let (Some(thread), EventKind::Performed { op, value, .. }) = (event.thread, &event.what) else { return None };
        let touches =
            world.selected_effects(op, *value).unwrap_or_else(|| world.effects(thread, op).touches().collect());
        let things: Vec<String> = touches.iter().map(|(thing, _)| thing.name(world)).collect();
        let word = event.site.map_or(op.word(), |site| world.setup().sites[site].kind.word());
        let context = event.context.unwrap_or(world.thread(thread).context);
        let place = event.site.map_or(String::new(), |site| at(world.setup(), &world.setup().sites[site]));
        Some(Self([
            event.step.to_string(),
            clean(&world.contexts().name(world.setup(), context)),
            clean(format!("{word} {}", things.join(", ")).trim()),
            place,
        ]))
    }
}

impl Step {
    /// Returns the step in words.
    pub(super) fn text(&self) -> String {
        let Self([_, thread, what, place]) = self;
        format!("{thread}: {what}  {place}")
    }
}

impl Observer for Steps {
    fn event(&mut self, world: &World, event: &Event) {
        self.all.extend(Step::of(world, event));
    }
}

impl Steps {
    fn print(&self, text: &mut String) {
        let widths: Vec<usize> = (0..3)
            .map(|column| self.all.iter().map(|Step(row)| row[column].chars().count()).max().unwrap_or(0))
            .collect();
        let left_out = self.all.len().saturating_sub(MOST_STEPS);
        for (i, Step([step, thread, what, place])) in self.all.iter().enumerate() {
            if left_out > 0 && i == FIRST_STEPS {
                writeln!(text, "  ... {left_out} steps left out").expect("a string takes all");
            }
            if left_out > 0 && (FIRST_STEPS..FIRST_STEPS + left_out).contains(&i) {
                continue;
            }
            let (a, b, c) = (widths[0], widths[1], widths[2]);
            writeln!(text, "  {step:>a$}  {thread:<b$}  {what:<c$}  {place}").expect("a string takes all");
        }
    }
}
