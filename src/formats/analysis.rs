//! Defines the races of a trace, the result of `raceflip analyze`, as JSON: `raceflip-analysis` version 1
//! (`docs/formats.md`).

use crate::base::{Id, IndexVec};
use crate::detect::Rank;
use crate::detect::happens_before::{Analysis, Filter, Race, RaceClass};
use crate::trace::{OpNo, SiteNo, TaskNo, Trace};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Version of the format. It increases when a field changes its meaning or is removed, not when a field is added.
pub const VERSION: u32 = 1;

/// The output of `raceflip analyze --format json`.
///
/// # Examples
///
/// ```
/// use raceflip::detect::happens_before::{Options, analyze};
/// use raceflip::formats::{analysis::AnalysisReport, traces};
/// # use std::sync::atomic::AtomicBool;
///
/// let log = "1 START\n2 THREADINIT tid:1\n3 FORK par-tid:1 child-tid:2\n4 THREADINIT tid:2\n\
///            5 WRITE tid:1 obj:0x1 class:La; field:8\n6 READ tid:2 obj:0x1 class:La; field:8\n";
/// let trace = traces::read("trace.txt", log.as_bytes())?;
/// let found = analyze(&trace, Options::default(), &AtomicBool::new(false)).expect("nobody stops it");
/// let report = AnalysisReport::new("trace.txt", "droidracer, as printed", &trace, &found);
/// assert_eq!(report.races[0].location, "0x1 La;.8");
/// # Ok::<(), traces::ReadError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct AnalysisReport {
    pub format: String,
    pub version: u32,
    pub file: String,
    /// The name of the happens-before rules.
    pub rules: String,
    /// The kind of the races, if they are not all conflicting accesses: `use-free`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    pub operations: usize,
    pub threads: usize,
    /// Number of tasks that have begun.
    pub tasks: usize,
    pub locations: usize,
    /// Number of races of each class. As in DroidRacer, the races of one location and class count as one. Races of rank
    /// B and D are excluded.
    pub classes: BTreeMap<String, usize>,
    /// Number of fields that have races of each class. Races of rank B and D are excluded.
    pub fields: BTreeMap<String, usize>,
    pub races: Vec<FoundRace>,
    /// Examples of messages that began before another one that was posted earlier: (this task, the overtaken task).
    pub overtaken: Vec<(String, String)>,
    /// Whether some location had more accesses or races than are kept.
    pub lost: bool,
    /// Whether it is known which races cover which others.
    pub covered: bool,
    /// The races as RAPID counts them; only for FastTrack's rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_accesses: Option<SecondAccesses>,
    pub notes: Vec<String>,
    /// Whether the confirmation of the races was stopped before it was complete. Only with `--confirm`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

/// The accesses that race with an earlier one, also behind the first race of their location.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct SecondAccesses {
    /// Number of these accesses, as often as they come.
    pub events: usize,
    /// Number of their statements. An access whose statement is not known counts by its line.
    pub statements: usize,
}

impl SecondAccesses {
    /// Counts what [`second_accesses`](crate::detect::second_accesses) has found.
    #[must_use]
    pub fn new(trace: &Trace, found: &[OpNo]) -> Self {
        let statement = |op: &OpNo| match trace.ops[*op].site {
            SiteNo::NONE => (SiteNo::NONE, trace.lines[op.0 as usize]),
            site => (site, 0),
        };
        Self { events: found.len(), statements: found.iter().map(statement).collect::<BTreeSet<_>>().len() }
    }
}

/// A race of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct FoundRace {
    pub location: String,
    pub field: String,
    pub class: String,
    pub rank: char,
    pub first: End,
    pub second: End,
    /// Lower bound of the number of times that such a pair was seen.
    pub seen: u64,
    /// Index, from 0, of a race in the list that covers this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered_by: Option<usize>,
    /// The two accesses in the model of the trace, for `confirm --pair`. Only with `--confirm`, if it was driven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<String>,
    /// The verdict on the pair in the model: `harmful`, `real`, `refuted`, `unconfirmed`. Only with `--confirm`, if the
    /// pair was driven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// Of a use-free race of rank D: why the free cannot make the use fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<FilterReason>,
}

/// Why the free of a use-free race cannot make its use fail.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct FilterReason {
    /// `guarded`, `allocated before the use` or `allocated after the free`.
    pub reason: String,
    /// Index, from 0, of the guarding read or of the allocation in the trace.
    pub operation: u32,
    /// Line of that operation in the file, from 1; 0 if it is not known.
    pub line: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
}

/// One access of a race.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/formats.md describes the fields")]
pub struct End {
    /// The kind of the access: `read` or `write`; in a use-free race `use` or `free`.
    pub access: String,
    /// Index of the operation in the trace, from 0.
    pub operation: u32,
    /// Line of the operation in the file, from 1; 0 if it is not known.
    pub line: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    pub thread: String,
    /// The task of the access, then the task that posted it, and so on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// The thread that posted the last of these tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub posted_by: Option<String>,
}

impl AnalysisReport {
    /// Builds the report of an analysis.
    #[must_use]
    pub fn new(file: &str, rules: &str, trace: &Trace, found: &Analysis) -> Self {
        let parents = trace.parents();
        let counted = || found.races.iter().filter(|race| !matches!(race.rank, Rank::ByLocks | Rank::Filtered));
        let by_class = |key: &dyn Fn(&Race) -> u32| {
            let keys: BTreeSet<(RaceClass, u32)> = counted().map(|race| (race.class, key(race))).collect();
            let of = |class: RaceClass| keys.iter().filter(|(c, _)| *c == class).count();
            found.classes.iter().map(|class| (class.name().to_owned(), of(*class))).collect()
        };
        let task = |task: TaskNo| trace.tasks[task].name.clone();
        Self {
            format: "raceflip-analysis".to_owned(),
            version: VERSION,
            file: file.to_owned(),
            rules: rules.to_owned(),
            kind: found.is_use_free.then(|| "use-free".to_owned()),
            operations: trace.ops.len(),
            threads: trace.threads.len(),
            tasks: trace.tasks.iter().filter(|task| task.begin.is_some()).count(),
            locations: trace.places.len(),
            classes: by_class(&|race| race.location.0),
            fields: by_class(&|race| trace.places[race.location].field.0),
            races: found.races.iter().map(|race| race_of(trace, &parents, race, found.is_use_free)).collect(),
            overtaken: found.overtaken.iter().map(|(a, b)| (task(*a), task(*b))).collect(),
            lost: found.lost,
            covered: found.covered,
            second_accesses: None,
            notes: trace.notes.iter().cloned().chain(found.note.map(str::to_owned)).collect(),
            interrupted: false,
        }
    }

    /// Returns the report as JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts and numbers can be written")
    }
}

fn race_of(trace: &Trace, parents: &IndexVec<TaskNo, Option<TaskNo>>, race: &Race, is_use_free: bool) -> FoundRace {
    let words = if is_use_free { ["use", "free"] } else { ["read", "write"] };
    let place = &trace.places[race.location];
    FoundRace {
        location: place.name.clone(),
        field: trace.fields[place.field].to_owned(),
        class: race.class.name().to_owned(),
        rank: race.rank.letter(),
        first: End::new(trace, parents, (race.first, race.tasks.0), words),
        second: End::new(trace, parents, (race.second, race.tasks.1), words),
        seen: race.count,
        covered_by: race.covered_by,
        pair: None,
        verdict: None,
        filter: race.filter.map(|Filter { kind, by }| FilterReason {
            reason: kind.text().to_owned(),
            operation: by.0,
            line: trace.lines[by.index()],
            site: site(trace, by),
        }),
    }
}

fn site(trace: &Trace, op: OpNo) -> Option<String> {
    let site = trace.ops[op].site;
    (site != SiteNo::NONE).then(|| trace.sites[site].to_owned())
}

impl End {
    /// Describes an access. `parents` are those of [`Trace::parents`]; `words` are the kinds of a read and of a write.
    pub(super) fn new(
        trace: &Trace,
        parents: &IndexVec<TaskNo, Option<TaskNo>>,
        (op, task): (OpNo, Option<TaskNo>),
        words: [&str; 2],
    ) -> Self {
        let operation = trace.ops[op];
        let writes = operation.action.access().is_some_and(|(_, writes)| writes);
        let chain: Vec<TaskNo> = std::iter::successors(task, |task| parents[*task]).collect();
        let post = chain.last().and_then(|task| trace.tasks[*task].post);
        Self {
            access: words[usize::from(writes)].to_owned(),
            operation: op.0,
            line: trace.lines[op.0 as usize],
            site: site(trace, op),
            thread: trace.threads[operation.thread].name.clone(),
            tasks: chain.iter().map(|task| trace.tasks[*task].name.clone()).collect(),
            posted_by: post.map(|post| trace.threads[trace.ops[post].thread].name.clone()),
        }
    }
}
