//! The result of one run as a JSON object, `raceflip-run` version 1.

use super::failing::Operand;
use super::shrink::Smaller;
use super::state::State;
use crate::event::{BlockedThread, Failure, FailureKind, Outcome, SiteId};
use crate::exec::{End, RunSummary};
use crate::sched::Tolerance;
use crate::world::{MessageKind, Setup, World, alike};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Raised when a field changes its meaning or goes away; new fields do not raise it.
pub const VERSION: u32 = 1;

/// The result of one run.
///
/// # Examples
///
/// ```
/// use raceflip::formats::result::{About, Ending, RunReport};
/// use raceflip::{exec::{Unobserved, run}, sched::RoundRobin, vm::Model, world::Limits};
/// # use std::sync::atomic::AtomicBool;
/// # let model = Model::from_text("add.race", "var x = 0; thread a { x += 1 }; thread b { x += 1 }", &[])?;
/// # let stop = AtomicBool::new(false);
/// let mut machine = model.machine(Limits::default());
/// let summary = run(&mut machine, &mut RoundRobin::default(), 0, &mut Unobserved, &stop);
/// let report = RunReport::new(About {
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
    /// `raceflip-run`.
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// The model, as it was named.
    pub file: String,
    /// The digest of the program, 16 hexadecimal digits.
    pub program: String,
    /// `-D` values.
    pub defines: BTreeMap<String, i64>,
    /// The strategy that drew the run.
    pub strategy: String,
    /// And its seed.
    pub seed: u64,
    /// How it ended.
    pub outcome: Ending,
    /// What makes two ends the same; null if the run came to no outcome.
    pub signature: Option<String>,
    /// Steps performed.
    pub steps: u64,
    /// The virtual clock at the end, in milliseconds.
    pub virtual_time: u64,
    /// Milliseconds that passed while some thread could have run.
    pub stall: u64,
    /// Posts refused because their looper had quit.
    pub refused_posts: u32,
    /// The token that replays it; null if the run came to no outcome.
    pub token: Option<String>,
    /// A smaller run that ends in the same way.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub shrunk: Option<Smaller>,
    /// How far a tolerant replay kept to its recording.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tolerance: Option<Kept>,
    /// The state at the end, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub state: Option<State>,
}

/// How far a tolerant replay kept to its recording.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Kept {
    pub followed: u64,
    pub moved: u64,
    pub skipped: u64,
    pub inserted: u64,
    pub departures: Vec<Departure>,
    pub more_departures: u64,
    pub recorded_signature: String,
    pub same: bool,
}

/// Where it left its recording.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct Departure {
    pub step: u64,
    pub what: String,
}

impl Kept {
    /// Of a replay that ended as `now` says, if it came to an outcome.
    #[must_use]
    pub fn new(t: &Tolerance, recorded: &str, now: Option<&str>) -> Self {
        let departure = |(step, what): &(u64, String)| Departure { step: step + 1, what: what.clone() };
        Self {
            followed: t.followed,
            moved: t.moved,
            skipped: t.skipped,
            inserted: t.inserted,
            departures: t.departures.iter().map(departure).collect(),
            more_departures: t.untold,
            recorded_signature: recorded.to_owned(),
            same: now.is_some_and(|now| alike(now, recorded)),
        }
    }
}

/// A place in the model.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct At {
    /// 1-based.
    pub line: u32,
    /// 1-based.
    pub column: u32,
    /// The label of the statement.
    pub label: Option<String>,
    /// What stands there: `read`, `acquire` ...
    pub kind: String,
}

impl At {
    /// Where a site stands.
    pub(super) fn of(setup: &Setup, site: SiteId) -> Self {
        let s = &setup.sites[site];
        Self { line: s.line, column: s.column, label: s.label.clone(), kind: s.kind.word().to_owned() }
    }
}

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub enum Ending {
    Ok,
    Stuck {
        messages: Vec<Left>,
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
        blocked: Vec<Blocked>,
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
pub struct Left {
    /// The looper.
    pub looper: String,
    /// The task.
    pub task: String,
}

/// A thread that cannot go on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Blocked {
    /// Its name.
    pub thread: String,
    /// The task that it is in, if it is in one.
    pub task: Option<String>,
    /// Where it stands.
    pub at: Option<At>,
    /// What it waits for.
    pub waits_for: String,
    /// Who holds that.
    pub held_by: Option<String>,
    /// Whether the holder has ended.
    pub holder_ended: bool,
}

/// What a report is made of.
#[allow(missing_docs, reason = "named as in the report")]
pub struct About<'r> {
    pub file: &'r str,
    pub program: u64,
    pub defines: &'r [(String, i64)],
    pub strategy: &'r str,
    pub seed: u64,
    pub world: &'r World,
    pub summary: &'r RunSummary,
    /// Signature and token.
    pub token: Option<(&'r str, String)>,
    /// It was stopped before its end because that was asked for.
    pub stopped: bool,
    pub shrunk: Option<Smaller>,
    pub tolerance: Option<Kept>,
    pub state: Option<State>,
}

impl RunReport {
    /// The report of a run.
    #[must_use]
    pub fn new(about: About<'_>) -> Self {
        let About { file, program, defines, strategy, seed, world, summary, token, stopped, .. } = about;
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

    /// As it is printed.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts and numbers can be written")
    }
}

/// The messages that are left in the queues of threads that matter.
pub(crate) fn remaining(world: &World) -> Vec<Left> {
    let mut all = Vec::new();
    for (id, thread) in world.threads().enumerate().filter(|(_, t)| !t.daemon) {
        for message in thread.queue.iter().flat_map(|q| q.messages()) {
            if let MessageKind::Task(task) = &message.kind {
                let task = world.contexts().name(world.setup(), task.context);
                all.push(Left { looper: world.thread_name(id), task });
            }
        }
    }
    all
}

/// The task that a thread of this name was in, if it was in one.
pub(crate) fn task_of(world: &World, thread: &str) -> Option<String> {
    let id = world.thread_named(thread)?;
    let t = world.thread(id);
    (t.context != t.home).then(|| world.contexts().name(world.setup(), t.context))
}

pub(super) fn ending(world: &World, end: &End) -> Ending {
    let at = |site: Option<SiteId>| site.map(|s| At::of(world.setup(), s));
    match end {
        End::Interrupted => Ending::Interrupted,
        End::Diverged(d) => Ending::Diverged { step: d.step + 1, expected: d.expected.clone(), found: d.found.clone() },
        End::Outcome(Outcome::Ok) => Ending::Ok,
        End::Outcome(Outcome::Stuck { .. }) => Ending::Stuck { messages: remaining(world) },
        End::Outcome(Outcome::Failure(failure @ Failure { kind, name, message, thread, site, .. })) => {
            Ending::Failure {
                what: match kind {
                    FailureKind::Assert => "assert",
                    FailureKind::Fail => "fail",
                    FailureKind::Exception => "exception",
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
        End::Outcome(Outcome::Deadlock(report)) => Ending::Deadlock {
            blocked: report
                .blocked
                .iter()
                .map(|BlockedThread { thread, site, waits_for, held_by, holder_ended }| Blocked {
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
        End::Outcome(Outcome::Limit(kind, limit)) => Ending::Limit { option: kind.option().to_owned(), limit: *limit },
    }
}
