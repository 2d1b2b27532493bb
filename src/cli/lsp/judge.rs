//! The commands of an editor: a campaign, a search, a run or a test of one text, and its verdicts as marks beside
//! lines.

use crate::base::{clean, counted};
use crate::campaign::{
    CampaignContext, CampaignPlan, FailureReport, LineResult, LineVerdict, PairFacts, PairReport, RingFacts, ShownEnds,
    TestPlan, TrialPlan, Verdict, confirm, named, test,
};
use crate::cli::args::workers;
use crate::event::Outcome;
use crate::exec;
use crate::explore::{Bounds, SearchContext, SearchPlan, SearchProgress, explore_with_livelocks};
use crate::formats::failure_place::{StoredEnd, ending};
use crate::lang::variants::variants;
use crate::lang::{Source, parse};
use crate::sched::{ScheduleRecorder, StrategySpec};
use crate::statics::{StaticsOptions, analyze};
use crate::token::Token;
use crate::vm::Model;
use crate::world::{Limits, signature};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A command of an editor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum JobKind {
    /// `raceflip confirm`; for an `expect` line `raceflip test` of that line.
    Confirm,
    /// `raceflip explore`.
    Explore,
    /// `raceflip run`.
    Run,
    /// `raceflip test`.
    Test,
}

impl JobKind {
    pub(super) const ALL: [Self; 4] = [Self::Confirm, Self::Explore, Self::Run, Self::Test];

    /// Returns the word of the command.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Confirm => "confirm",
            Self::Explore => "explore",
            Self::Run => "run",
            Self::Test => "test",
        }
    }

    /// Returns the name of the command for the protocol.
    pub(super) fn command(self) -> String {
        format!("raceflip.{}", self.word())
    }

    pub(super) fn from_command(command: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.command() == command)
    }
}

/// A command with the text that it is about.
pub(super) struct JobOrder {
    pub(super) kind: JobKind,
    pub(super) source: Source,
    /// The `expect` line to judge, from 1.
    pub(super) line: Option<u32>,
    /// Seed of a run.
    pub(super) seed: u64,
}

/// A verdict beside a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Mark {
    /// The line, from 1.
    pub(super) line: u32,
    /// The verdict in a few words.
    pub(super) text: String,
    /// The verdict with its reasons, and with a token for each run.
    pub(super) detail: String,
    /// The word of the command that it comes from.
    pub(super) command: &'static str,
}

/// Limits of a search that an editor has started. Its memory is that of the server.
const BOUNDS: Bounds = Bounds { states: 2_000_000, depth: 1_000_000, memory: 1 << 30 };
/// Number of random walks of a test, as for `raceflip test`.
const WALKS: u32 = 2_000;
/// Maximum number of runs that are shown against a line.
const MOST_SHOWN: usize = 3;

/// Performs a command. `search` receives the progress of a search, `context` that of everything else, and the flag that
/// stops the work.
pub(super) fn judge(
    order: &JobOrder,
    context: CampaignContext<'_>,
    search: &dyn SearchProgress,
) -> Result<Vec<Mark>, String> {
    let model = || Model::from_source(order.source.clone(), &[]).map_err(|error| error.to_string());
    let mut marks = Marks { command: order.kind.word(), all: Vec::new() };
    match (order.kind, order.line) {
        (JobKind::Confirm, Some(_)) | (JobKind::Test, _) => marks.tested(order, context)?,
        (JobKind::Confirm, None) => marks.confirmed(&model()?, context),
        (JobKind::Explore, _) => marks.explored(&model()?, SearchContext { stop: context.stop, progress: search }),
        (JobKind::Run, _) => marks.run(&model()?, order.seed, context)?,
    }
    Ok(marks.all)
}

struct Marks {
    command: &'static str,
    all: Vec<Mark>,
}

impl Marks {
    fn add(&mut self, line: u32, text: impl Into<String>, detail: &[String]) {
        let text = clean(&text.into());
        let detail: Vec<String> = std::iter::once(text.clone()).chain(detail.iter().map(|line| clean(line))).collect();
        self.all.push(Mark { line: line.max(1), text, detail: detail.join("\n"), command: self.command });
    }

    // Tests the `expect` lines, or one of them, in all variants that the lines name.
    fn tested(&mut self, order: &JobOrder, context: CampaignContext<'_>) -> Result<(), String> {
        let file = parse(&order.source).map_err(|_| "the model does not parse".to_owned())?;
        let build = |defines: &[(String, i64)]| {
            Model::from_tree(order.source.clone(), &file, defines).map_err(|error| error.to_string())
        };
        let own = build(&[])?;
        let all = variants(&file, &own.program, &Vec::new()).map_err(|error| error.to_string())?;
        let mut lines: BTreeMap<u32, Vec<VariantVerdict>> = BTreeMap::new();
        for defines in &all {
            let mut model = build(defines)?;
            if let Some(line) = order.line {
                model.program.expectations.retain(|expectation| expectation.line == line);
                if model.program.expectations.is_empty() {
                    continue;
                }
            }
            let campaign = CampaignPlan { jobs: workers(None), ..CampaignPlan::new(&model) };
            let (states, walks) = (TestPlan::STATES, WALKS);
            let plan = TestPlan { model: &model, states, campaign, walks, saved: &[], shrinks: true };
            let variant: Vec<String> = defines.iter().map(|(name, value)| format!("{name}={value}")).collect();
            for LineResult { line, verdict, .. } in test(&plan, context).lines {
                let judged = VariantVerdict::new(&model, variant.join(" "), verdict);
                lines.entry(line).or_default().push(judged);
            }
        }
        if lines.is_empty() {
            return Err(match order.line {
                Some(line) => format!("there is no `expect` line {line}"),
                None => "there is nothing to test".to_owned(),
            });
        }
        for (line, verdicts) in lines {
            self.line(line, &verdicts);
        }
        Ok(())
    }

    // Adds the verdict on a line, which has one in each variant.
    fn line(&mut self, line: u32, verdicts: &[VariantVerdict]) {
        let worst = verdicts.iter().map(|of| of.held).max().unwrap_or(Held::Yes);
        let detail: Vec<String> = verdicts.iter().flat_map(|of| of.detail.clone()).collect();
        self.add(line, worst.words(), &detail);
    }

    // Confirms pairs, and adds each verdict at both statements.
    fn confirmed(&mut self, model: &Model, context: CampaignContext<'_>) {
        let ordered = Some(Arc::new(analyze(&model.program, &StaticsOptions::explained())));
        let trials = TrialPlan { orders: true, ..TrialPlan::default() };
        let plan = CampaignPlan { trials, ordered, jobs: workers(None), ..CampaignPlan::new(model) };
        let found = confirm(&plan, context);
        let orders = found.orders.iter().filter(|pair| pair.verdict() == Verdict::Harmful && !pair.is_of_ring());
        for pair in found.pairs.iter().chain(orders) {
            self.pair(model, pair);
        }
        for ring in &found.rings {
            let deadlock = ring.deadlocks().first();
            let Some(failure) = deadlock else { continue };
            self.end(model, &failure.outcome, &format!("{} deadlock ring", ring.verdict()), &failure.evidence.token);
        }
        for failure in found.phase1.failures.iter().chain(&found.unexplained) {
            self.end(model, &failure.outcome, "failure", &failure.evidence.token);
        }
        if self.all.is_empty() {
            self.add(1, "no pair was found, and no run failed", &[]);
        }
    }

    fn pair(&mut self, model: &Model, pair: &PairReport) {
        let verdict = pair.verdict();
        let failure = |failure: &FailureReport| {
            let text = ending(model, &failure.outcome).unwrap_or_else(|| failure.signature.clone());
            format!("{text} ({})", failure.evidence.token)
        };
        let mut detail: Vec<String> = pair.hurts().into_iter().map(|(_, hurts)| failure(hurts)).collect();
        if detail.is_empty() {
            let runs = pair.evidence.iter().take(2);
            detail.extend(runs.map(|run| format!("shown by {}", run.token)));
        }
        let [a, b] = &pair.discovery.sides;
        for (own, other) in [(a, b), (b, a)] {
            let text = format!("{verdict}: {}, with :{} ({})", pair.discovery.place, other.line, other.site);
            self.add(own.line, text, &detail);
            if a.line == b.line {
                break;
            }
        }
    }

    // Adds the end of a run at the statement where it failed.
    fn end(&mut self, model: &Model, outcome: &Outcome, what: &str, token: &str) {
        let text = ended(model, outcome);
        let line = StoredEnd::of(model, outcome, text.clone()).place().map_or(1, |(line, _)| line);
        let detail = if token.is_empty() { Vec::new() } else { vec![token.to_owned()] };
        self.add(line, format!("{what}: {text}"), &detail);
    }

    // Searches all states, and adds each end at the statement where a run fails.
    fn explored(&mut self, model: &Model, context: SearchContext<'_>) {
        let observe = named(&model.program);
        let plan = SearchPlan { jobs: workers(None), bounds: BOUNDS, observe, ..SearchPlan::new(model) };
        let (found, livelocks) = explore_with_livelocks(&plan, context, || ());
        let all = if found.complete() { "all of them" } else { "not all of them" };
        let states = counted(found.states, "state");
        let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
        for way in found.ends.values() {
            *kinds.entry(ended(model, &way.outcome)).or_default() += 1;
        }
        let ends: Vec<String> =
            kinds.iter().map(|(text, count)| format!("{text}: {}", counted(*count, "end"))).collect();
        let livelocks = livelocks.map_or(0, |livelocks| livelocks.len() as u64);
        let possible =
            if livelocks == 0 { String::new() } else { format!(", {}", counted(livelocks, "possible livelock")) };
        let bad = found.ends.values().filter(|way| way.outcome != Outcome::Ok).count() as u64;
        let summary =
            format!("{states}, {all}: {}, {bad} of them not ok{possible}", counted(found.ends.len() as u64, "end"));
        self.add(1, summary, &ends);
        let failing = found.ends.values().filter(|way| !matches!(way.outcome, Outcome::Ok | Outcome::Limit(..)));
        for way in failing {
            self.end(model, &way.outcome, "possible", "");
        }
        self.all.dedup();
    }

    // Performs one run, and adds its end.
    fn run(&mut self, model: &Model, seed: u64, context: CampaignContext<'_>) -> Result<(), String> {
        let spec: StrategySpec = "random".parse().map_err(|error: crate::sched::SpecError| error.to_string())?;
        let mut strategy = spec.build(&model.code.setup.sites).map_err(|error| error.to_string())?;
        let limits = Limits::default();
        let mut machine = model.machine(limits);
        let mut recorder = ScheduleRecorder::new();
        let summary = exec::run(&mut machine, &mut strategy, seed, &mut recorder, context.stop);
        let Some(outcome) = summary.outcome() else { return Err("the run was stopped".to_owned()) };
        let token = Token {
            program: model.digest(),
            defines: Vec::new(),
            limits,
            strategy: spec.to_string(),
            seed,
            signature: signature(&model.code.setup, outcome),
            schedule: recorder.schedule(&machine.world),
        };
        self.end(model, outcome, &format!("run {seed}"), &token.to_string());
        Ok(())
    }
}

/// Whether an `expect` line holds, from the best.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Held {
    Yes,
    Unchecked,
    No,
}

impl Held {
    fn words(self) -> &'static str {
        match self {
            Self::Yes => "holds",
            Self::Unchecked => "not checked",
            Self::No => "does not hold",
        }
    }
}

/// The verdict on a line in one variant.
struct VariantVerdict {
    held: Held,
    detail: Vec<String>,
}

impl VariantVerdict {
    // `variant` has the constants, as in `FIXED=1`; it may be empty.
    fn new(model: &Model, variant: String, verdict: LineVerdict) -> Self {
        let (held, why, runs) = match verdict {
            LineVerdict::Met => (Held::Yes, String::new(), Vec::new()),
            LineVerdict::Unchecked(why) => (Held::Unchecked, why.to_owned(), Vec::new()),
            LineVerdict::Cut => (Held::Unchecked, "every run reached a limit".to_owned(), Vec::new()),
            LineVerdict::Unmet(why, shown, more) => {
                let run = |end: &ShownEnds| {
                    let text = ending(model, &end.outcome).unwrap_or_else(|| end.text.clone());
                    format!("  {text} ({})", end.token)
                };
                let mut runs: Vec<String> = shown.iter().take(MOST_SHOWN).map(run).collect();
                let left = more + shown.len().saturating_sub(MOST_SHOWN);
                if left > 0 {
                    runs.push(format!("  and {} more", counted(left as u64, "end")));
                }
                (Held::No, why.join("; "), runs)
            }
        };
        let parts = [variant, held.words().to_owned(), why];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        Self { held, detail: std::iter::once(parts.join(": ")).chain(runs).collect() }
    }
}

fn ended(model: &Model, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Ok => "ok".to_owned(),
        Outcome::Limit(kind, limit) => format!("the limit of {limit} {}", kind.noun()),
        other => ending(model, other).unwrap_or_else(|| "no end".to_owned()),
    }
}
