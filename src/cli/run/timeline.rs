//! Prints timelines on stdout: chooses the part, the width and the colors.

use crate::cli::Refusal;
use crate::cli::args::ViewArgs;
use crate::cli::io::load::Model;
use crate::cli::io::output::{BAD, BOLD, DIM, ODD, Output, paint};
use crate::detect::atomicity::Specification;
use crate::event::{LimitKind, Outcome};
use crate::exec::{self, LoopEnd};
use crate::formats::failure_place;
use crate::formats::timeline::ascii::ascii;
use crate::formats::timeline::text::{TimelineRole, lines};
use crate::formats::timeline::{
    Column, ColumnId, Marks, Timeline, TimelineRecorder, TransactionMarks, Window, mermaid as diagram, svg,
};
use crate::sched::{Replay, SiteSpec, StrategySpec};
use crate::token::Token;
use crate::vm::Vm;
use crate::world::{Limits, Machine};
use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Part of a timeline that is printed, and its form.
#[derive(Clone, Debug)]
pub(in crate::cli) struct TimelineView {
    pub(in crate::cli) window: Window,
    around: Option<u64>,
    only: Vec<String>,
    marked: Vec<SiteSpec>,
    // The violated transaction to mark.
    transaction: Option<TransactionMarks>,
    width: usize,
    ascii: bool,
}

// Default part: enough to see how a run starts, and more of how it ends.
const ENDS: Window = Window::Ends { first: 60, last: 140 };
// Width if stdout is no terminal.
const WIDTH: usize = 80;
// Longer lines are hard to read.
const WIDEST: usize = 160;

impl Default for TimelineView {
    fn default() -> Self {
        let (only, marked) = (Vec::new(), Vec::new());
        Self { window: ENDS, around: None, only, marked, transaction: None, width: width(), ascii: false }
    }
}

impl TimelineView {
    pub(in crate::cli) fn resolve(args: &ViewArgs, model: &Model) -> Result<Self, Refusal> {
        let around = |step: u64| Window::Steps(step.saturating_sub(args.context), step.saturating_add(args.context));
        let window = match (args.all, args.around) {
            (_, Some(step)) => around(step),
            (true, None) => Window::All,
            (false, None) => ENDS,
        };
        for spec in &args.mark {
            spec.resolve(&model.code.setup.sites).map_err(|e| Refusal::new(format_args!("--mark: {e}")))?;
        }
        let width = args.width.map_or_else(width, usize::from);
        let (only, marked) = (args.only.clone(), args.mark.clone());
        Ok(Self { window, around: args.around, only, marked, transaction: None, width, ascii: args.ascii })
    }

    /// Marks the first transaction of this name that the run of a token violates. Refuses a name without one.
    pub(in crate::cli) fn mark_transaction(
        &mut self,
        model: &Model,
        token: &Token,
        allowed: &Limits,
        name: &str,
    ) -> Result<(), Refusal> {
        let of = |of| TransactionMarks::of(model, token, allowed, (of, name), &[]);
        self.transaction = Specification::ALL.into_iter().find_map(of);
        let refused = || {
            Refusal::new(format_args!(
                "--transaction {name}: the run violates no transaction of this name; `raceflip confirm --detector atomicity` prints the names of the transactions that runs of the model violate, with tokens"
            ))
        };
        self.transaction.is_some().then_some(()).ok_or_else(refused)
    }

    /// Returns the accesses to mark: those that the user asked for, or else those that the strategy aims at.
    pub(in crate::cli) fn marks(&self, model: &Model, strategy: &str) -> Marks {
        let targets = match strategy.parse::<StrategySpec>() {
            Ok(strategy) if self.marked.is_empty() => strategy.targets(),
            _ => Vec::new(),
        };
        let specs = self.marked.iter().chain(&targets);
        let sites = specs.flat_map(|s| s.resolve(&model.code.setup.sites).unwrap_or_default()).collect();
        Marks { sites, transaction: self.transaction.clone(), ..Marks::default() }
    }

    // Refuses a step that the run does not have.
    fn check(&self, timeline: &Timeline) -> Result<(), Refusal> {
        if let Some(step) = self.around.filter(|s| *s > timeline.steps) {
            return Err(Refusal::new(format_args!("--around {step}: the run has {} steps", timeline.steps)));
        }
        Ok(())
    }

    // Returns the part of the timeline that is printed.
    fn part(&self, timeline: &Timeline) -> Result<Timeline, Refusal> {
        self.check(timeline)?;
        self.selected(timeline, timeline.clone().within(self.window))
    }

    // Returns the part of the timeline that a picture shows. It is shorter than a text, and shows what is marked.
    fn drawn(&self, timeline: &Timeline) -> Result<Timeline, Refusal> {
        let part = timeline.clone();
        let part = if let Window::Steps(..) = self.window { part.within(self.window) } else { part };
        let part = self.selected(timeline, part)?;
        Ok(if self.window == Window::All { part } else { part.brief(svg::MOST) })
    }

    // Returns the part with loops folded and with the columns that the user asked for.
    fn selected(&self, timeline: &Timeline, part: Timeline) -> Result<Timeline, Refusal> {
        let part = if self.window == Window::All { part } else { part.folded() };
        if self.only.is_empty() {
            return Ok(part);
        }
        let mut columns = BTreeSet::new();
        for name in &self.only {
            columns.insert(column(timeline, name)?);
        }
        Ok(part.only(&columns))
    }
}

fn column(timeline: &Timeline, name: &str) -> Result<ColumnId, Refusal> {
    timeline.column(name).ok_or_else(|| {
        const MOST: usize = 20;
        let all = &timeline.columns;
        let names: Vec<&str> = all.iter().take(MOST).map(|Column { name, .. }| name.as_str()).collect();
        let more = if all.len() > MOST { ", ..." } else { "" };
        Refusal::new(format_args!(
            "--only: no thread or looper `{name}` in this run; it has {}{more}",
            names.join(", ")
        ))
    })
}

fn width() -> usize {
    let terminal = if std::io::stdout().is_terminal() { terminal_size::terminal_size() } else { None };
    terminal.map_or(WIDTH, |(width, _)| usize::from(width.0).min(WIDEST))
}

/// Prints a timeline.
pub(in crate::cli) fn print(out: &mut Output, timeline: &Timeline, view: &TimelineView) -> Result<(), Refusal> {
    for line in lines(&view.part(timeline)?, view.width) {
        let mut whole = String::new();
        for span in line {
            let text = if view.ascii { ascii(&span.text) } else { span.text };
            whole.push_str(&match span.role {
                _ if text.trim().is_empty() => text,
                TimelineRole::What | TimelineRole::Lanes => text,
                TimelineRole::Head => paint(BOLD, text),
                TimelineRole::Aside | TimelineRole::Place => paint(DIM, text),
                TimelineRole::Failing => paint(BAD, text),
                TimelineRole::Racing => paint(ODD, text),
            });
        }
        writeln!(out, "{whole}");
    }
    Ok(())
}

/// Replays a token of this model, and prints the timeline with these accesses marked.
pub(in crate::cli) fn print_token(
    out: &mut Output,
    model: &Model,
    token: &str,
    marks: Marks,
    view: &TimelineView,
) -> Result<(), Refusal> {
    let token: Token = token.parse().map_err(Refusal::new)?;
    let mut machine = Machine::new(Vm::new(model.code.clone()), token.limits);
    let mut replay = Replay::new(Arc::new(token.schedule.clone()));
    let mut recorder = TimelineRecorder::new(&model.program, model.source.text(), view.window, marks);
    let summary = exec::run(&mut machine, &mut replay, token.seed, &mut recorder, &AtomicBool::new(false));
    print(out, &recorder.finish(&machine.world, &summary), view)
}

/// Prints a timeline as a Mermaid diagram.
pub(in crate::cli) fn mermaid(out: &mut Output, timeline: &Timeline, view: &TimelineView) -> Result<(), Refusal> {
    out.document(&diagram::diagram(&view.part(timeline)?));
    Ok(())
}

/// Prints one run, or two runs side by side, as an SVG picture. Each timeline is complete, and comes with the end of
/// its run in words.
pub(in crate::cli) fn svg(
    out: &mut Output,
    model: &Model,
    view: &TimelineView,
    mut runs: Vec<(Timeline, String)>,
) -> Result<(), Refusal> {
    let same = match runs.as_mut_slice() {
        [(first, _), (second, _)] => first.put_beside(second),
        _ => 0,
    };
    let mut shared = Timeline::default();
    let mut own = Vec::with_capacity(runs.len());
    for (i, (timeline, end)) in runs.into_iter().enumerate() {
        view.check(&timeline)?;
        let (before, after) = timeline.split(same);
        if i == 0 {
            shared = view.drawn(&before)?;
        }
        own.push(svg::Run { timeline: view.drawn(&after)?, end });
    }
    let title = &model.program.title;
    out.document(&svg::picture(if title.is_empty() { model.name() } else { title }, &shared, &own));
    Ok(())
}

/// Describes the end of a run in one line.
pub(in crate::cli) fn end(model: &Model, end: &LoopEnd, stopped: bool) -> String {
    match end {
        LoopEnd::Outcome(Outcome::Limit(LimitKind::Steps, steps)) if stopped => format!("stopped after {steps} steps"),
        LoopEnd::Outcome(Outcome::Limit(kind, limit)) => format!("limit of {limit} {}", kind.noun()),
        LoopEnd::Outcome(outcome) => failure_place::ending(model, outcome).unwrap_or_else(|| "ok".to_owned()),
        LoopEnd::Diverged(divergence) => format!("left its recording at step {}", divergence.step + 1),
        LoopEnd::Interrupted => "interrupted".to_owned(),
    }
}
