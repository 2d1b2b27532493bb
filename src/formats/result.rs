//! Defines the result of one run as a JSON object, `raceflip-run` version 1.

use super::failure_place::Operand;
use super::shrink::SmallerRun;
use super::state::State;
use crate::event::{BlockedThread, Failure, FailureKind, Outcome, PostOptions, SiteId};
use crate::exec::{LoopEnd, RunSummary};
use crate::sched::Tolerance;
use crate::world::{MessageKind, Setup, World, alike};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the format. It increases when a field changes its meaning or is removed, not when a field is added.
pub const VERSION: u32 = 1;

/// The result of one run.
///
/// # Examples
///
/// ```
/// use raceflip::formats::result::{RunParts, Ending, RunReport};
/// use raceflip::{exec::{NoObserver, run}, sched::RoundRobin, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let mut machine = model.machine(Limits::default());
/// let summary = run(&mut machine, &mut RoundRobin::default(), 0, &mut NoObserver, &stop);
/// let report = RunReport::new(RunParts {
///     file: "add.race",
///     program: model.digest(),
///     defines: &[],
///     strategy: "round-robin",
///     seed: 0,
///     world: &machine.world,
///     summary: &summary,
///     token: None,
///     stopped: false,
///     shrunk: None,
///     tolerance: None,
///     state: None,
/// });
/// assert_eq!(report.outcome, Ending::Ok);
/// assert_eq!(serde_json::from_str::<RunReport>(&report.to_json())?, report);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RunReport {
    /// The name of the format, `raceflip-run`.
    pub format: String,
    /// The version of the format, [`VERSION`].
    pub version: u32,
    /// The path of the model, as given on the command line.
    pub file: String,
    /// The digest of the program, 16 hexadecimal digits.
    pub program: String,
    /// The constants set with `-D`.
    pub defines: BTreeMap<String, i64>,
    /// The strategy that chose the schedule.
    pub strategy: String,
    /// The seed of the strategy.
    pub seed: u64,
    /// The outcome of the run.
    pub outcome: Ending,
    /// The signature: runs that end in the same way have the same one. Null if the run has no outcome.
    pub signature: Option<String>,
    /// Number of steps performed.
    pub steps: u64,
    /// The virtual clock at the end, in milliseconds.
    pub virtual_time: u64,
    /// The stall: milliseconds of virtual time that passed while some thread was enabled.
    pub stall: u64,
    /// Number of posts that were refused because their looper had quit.
    pub refused_posts: u32,
    /// The token that replays the run. Null if the run has no outcome.
    pub token: Option<String>,
    /// A smaller run that ends in the same way.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub shrunk: Option<SmallerRun>,
    /// How closely a tolerant replay followed its recording.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tolerance: Option<ReplayFidelity>,
    /// The state at the end, if it was requested.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub state: Option<State>,
}

/// Summary of how closely a tolerant replay followed its recording.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct ReplayFidelity {
    pub followed: u64,
    pub moved: u64,
    pub skipped: u64,
    pub inserted: u64,
    pub departures: Vec<Departure>,
    pub more_departures: u64,
    pub recorded_signature: String,
    pub same: bool,
}

/// A step at which a tolerant replay left its recording.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Departure {
    pub step: u64,
    pub what: String,
}

impl ReplayFidelity {
    /// Returns the summary of a replay. `recorded` is the signature of the token, `now` that of the replay, `None` if
    /// it has no outcome.
    #[must_use]
    pub fn new(t: &Tolerance, recorded: &str, now: Option<&str>) -> Self {
        let departure = |(step, what): &(u64, String)| Departure { step: step + 1, what: what.clone() };
        Self {
            followed: t.followed,
            moved: t.moved,
            skipped: t.skipped,
            inserted: t.inserted,
            departures: t.departures.iter().map(departure).collect(),
            more_departures: t.unlisted_departures,
            recorded_signature: recorded.to_owned(),
            same: now.is_some_and(|now| alike(now, recorded)),
        }
    }
}

/// A statement of the model.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct At {
    /// Line in the model, from 1.
    pub line: u32,
    /// Column in the model, from 1.
    pub column: u32,
    /// The label of the statement, if it has one.
    pub label: Option<String>,
    /// The operation of the statement: `read`, `acquire` ...
    pub kind: String,
}

impl At {
    /// Returns the place of a site.
    pub(super) fn of(setup: &Setup, site: SiteId) -> Self {
        let s = &setup.sites[site];
        Self { line: s.line, column: s.column, label: s.label.clone(), kind: s.kind.word().to_owned() }
    }
}

/// The way in which a run ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub enum Ending {
    Ok,
    Stuck {
        messages: Vec<LeftMessage>,
    },
    Failure {
        what: String,
        name: String,
        message: String,
        thread: String,
        task: Option<String>,
        at: Option<At>,
        #[serde(default)]
        operand: Option<Operand>,
    },
    Deadlock {
        blocked: Vec<BlockedEntry>,
        cycle: Vec<String>,
    },
    Limit {
        option: String,
        limit: u64,
    },
    Diverged {
        step: u64,
        expected: String,
        found: String,
    },
    Interrupted,
    Stopped,
}

/// A message that can never run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LeftMessage {
    /// The name of the looper.
    pub looper: String,
    /// The name of the task.
    pub task: String,
}

/// A thread that is blocked at the end of a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BlockedEntry {
    /// The name of the thread.
    pub thread: String,
    /// The task that the thread runs, if it runs one.
    pub task: Option<String>,
    /// The statement at which the thread is pending.
    pub at: Option<At>,
    /// The resource or condition that the thread waits for.
    pub waits_for: String,
    /// The blocker: the thread that holds the resource.
    pub held_by: Option<String>,
    /// Whether the blocker has ended.
    pub holder_ended: bool,
}

/// The parts of which [`RunReport::new`] builds a report.
#[allow(missing_docs, reason = "named as in the report")]
pub struct RunParts<'r> {
    pub file: &'r str,
    pub program: u64,
    pub defines: &'r [(String, i64)],
    pub strategy: &'r str,
    pub seed: u64,
    pub world: &'r World,
    pub summary: &'r RunSummary,
    /// The signature and the token.
    pub token: Option<(&'r str, String)>,
    /// Whether the run was stopped early on request.
    pub stopped: bool,
    pub shrunk: Option<SmallerRun>,
    pub tolerance: Option<ReplayFidelity>,
    pub state: Option<State>,
}

impl RunReport {
    /// Builds the report of a run.
    #[must_use]
    pub fn new(about: RunParts<'_>) -> Self {
        let RunParts { file, program, defines, strategy, seed, world, summary, token, stopped, .. } = about;
        let (signature, token) = token.map(|(s, t)| (s.to_owned(), t)).unzip();
        Self {
            format: "raceflip-run".to_owned(),
            version: VERSION,
            file: file.to_owned(),
            program: format!("{program:016x}"),
            defines: defines.iter().cloned().collect(),
            strategy: strategy.to_owned(),
            seed,
            outcome: if stopped { Ending::Stopped } else { ending(world, &summary.end) },
            signature,
            steps: summary.steps,
            virtual_time: summary.now,
            stall: summary.stall,
            refused_posts: summary.refused_posts,
            token,
            shrunk: about.shrunk,
            tolerance: about.tolerance,
            state: about.state,
        }
    }

    /// Returns the report as JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts and numbers can be written")
    }
}

/// Returns the task messages that are left in the queues of threads that are not daemons.
pub(crate) fn remaining(world: &World) -> Vec<LeftMessage> {
    let mut all = Vec::new();
    for (id, thread) in world.threads().enumerate().filter(|(_, t)| !t.daemon) {
        for message in thread.queue.iter().flat_map(|q| q.messages()) {
            if let MessageKind::Task(task) = &message.kind
                && !task.options.has(PostOptions::DAEMON)
            {
                let task = world.contexts().name(world.setup(), task.context);
                all.push(LeftMessage { looper: world.queue_name(id), task });
            }
        }
    }
    all
}

/// Returns the task that the thread of this name runs, if it runs one.
pub(crate) fn task_of(world: &World, thread: &str) -> Option<String> {
    let id = world.thread_named(thread)?;
    let t = world.thread(id);
    (t.context != t.home).then(|| world.contexts().name(world.setup(), t.context))
}

pub(super) fn ending(world: &World, end: &LoopEnd) -> Ending {
    let at = |site: Option<SiteId>| site.map(|s| At::of(world.setup(), s));
    match end {
        LoopEnd::Interrupted => Ending::Interrupted,
        LoopEnd::Diverged(d) => {
            Ending::Diverged { step: d.step + 1, expected: d.expected.clone(), found: d.found.clone() }
        }
        LoopEnd::Outcome(Outcome::Ok) => Ending::Ok,
        LoopEnd::Outcome(Outcome::Stuck { .. }) => Ending::Stuck { messages: remaining(world) },
        LoopEnd::Outcome(Outcome::Failure(failure @ Failure { kind, name, message, thread, site, .. })) => {
            Ending::Failure {
                what: match kind {
                    FailureKind::Assert => "assert",
                    FailureKind::Fail => "fail",
                    FailureKind::Exception => "exception",
                    FailureKind::Rejection => "rejection",
                    FailureKind::Property => "property",
                }
                .to_owned(),
                name: name.clone(),
                message: message.clone(),
                thread: thread.clone(),
                task: task_of(world, thread),
                at: at(*site),
                operand: Operand::of(failure),
            }
        }
        LoopEnd::Outcome(Outcome::Deadlock(report)) => Ending::Deadlock {
            blocked: report
                .blocked
                .iter()
                .map(|BlockedThread { thread, site, waits_for, held_by, holder_ended }| BlockedEntry {
                    thread: thread.clone(),
                    task: task_of(world, thread),
                    at: at(*site),
                    waits_for: waits_for.clone(),
                    held_by: held_by.clone(),
                    holder_ended: *holder_ended,
                })
                .collect(),
            cycle: report.cycle.clone(),
        },
        LoopEnd::Outcome(Outcome::Limit(kind, limit)) => {
            Ending::Limit { option: kind.option().to_owned(), limit: *limit }
        }
    }
}
