//! Performs one run, drawn or replayed, and reports it. `run` and `replay` share it, so that both print the same.

use super::followed::Followed;
use super::plan::{ChoiceSource, Form, NewFile, Report, RunPlan};
use super::progress::RunProgress;
use super::shrink_mode::{self, ShrinkMode};
use super::timeline::{self, TimelineView};
use super::{outcome, state, tolerance};
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::load::Model;
use crate::cli::io::output::{BOLD, paint};
use crate::cli::io::{interrupt, replay_command};
use crate::cli::{CommandContext, Refusal};
use crate::event::{Event, LimitKind, Outcome};
use crate::exec::{self, LoopEnd, NoObserver, Observer, RunSummary};
use crate::formats::result::{self, ReplayFidelity, RunReport};
use crate::formats::shrink::{ShrinkReport, SmallerRun};
use crate::formats::state::State;
use crate::formats::timeline::perfetto;
use crate::formats::timeline::{Timeline, TimelineRecorder, Window};
use crate::formats::trace::{Header, TraceWriter};
use crate::sched::{Replay, RoundRobin, Schedule, ScheduleRecorder, Strategy, Tolerant};
use crate::token::Token;
use crate::vm::Vm;
use crate::world::{Limits, Machine, World, signature};
use std::io::{BufWriter, Write as _};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// All observers of one run.
#[derive(Default)]
struct RunObservers<'m> {
    timeline: Option<TimelineRecorder<'m>>,
    trace: Option<TraceWriter<BufWriter<std::fs::File>>>,
    progress: Option<RunProgress>,
}

impl Observer for RunObservers<'_> {
    fn event(&mut self, world: &World, event: &Event) {
        if let Some(timeline) = &mut self.timeline {
            timeline.event(world, event);
        }
        if let Some(trace) = &mut self.trace {
            trace.event(world, event);
        }
        if let Some(progress) = &mut self.progress {
            progress.event(world, event);
        }
    }
}

/// Performs the plan and reports it. Ctrl-C interrupts it.
pub(in crate::cli) fn perform(plan: RunPlan, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    perform_until(plan, &interrupt::install(), context)
}

/// Performs the plan and reports it, until `stop` is set.
pub(in crate::cli) fn perform_until(
    plan: RunPlan,
    stop: &AtomicBool,
    context: &mut CommandContext,
) -> Result<ExitStatus, Refusal> {
    let RunPlan { model, limits, allowed, choices, strategy, seed, report, shrinking } = plan;
    let within = limits.within(&allowed);
    let until = report.state.until.filter(|n| *n < within.steps);
    let mut machine = model.machine(Limits { steps: until.unwrap_or(within.steps), ..within });
    let marks = report.view.marks(&model, &strategy);
    let header = || Header::new(model.name(), model.digest(), &model.defines, &strategy, seed);
    let mut watch = RunObservers::default();
    let trace = report.trace.map(|NewFile { name, to, begun }| {
        watch.trace = Some(TraceWriter::new(to, &header()));
        (name, begun)
    });
    if report.perfetto.is_some() || matches!(report.form, Form::Timeline | Form::Mermaid | Form::Svg) {
        let whole = report.perfetto.is_some() || report.form == Form::Svg;
        let window = if whole { Window::All } else { report.view.window };
        watch.timeline = Some(TimelineRecorder::new(&model.program, model.source.text(), window, marks));
    }
    watch.progress = RunProgress::new(within.steps);
    tracing::info!(%strategy, seed, steps = within.steps, "run");
    let stopped = |s: &RunSummary| until.is_some_and(|n| s.outcome() == Some(&Outcome::Limit(LimitKind::Steps, n)));
    let mut tolerance = None;
    let (summary, schedule, recorded) = match choices {
        ChoiceSource::Draw(named) => {
            let (summary, _, schedule) = go(&mut machine, *named, seed, &mut watch, stop);
            (summary, schedule, None)
        }
        ChoiceSource::Tolerant(token) => {
            let tolerant = Tolerant::new(Arc::new(token.schedule.clone()));
            let (summary, tolerant, schedule) = go(&mut machine, tolerant, seed, &mut watch, stop);
            tolerance = Some((tolerant.finish(), token.signature));
            (summary, schedule, None)
        }
        ChoiceSource::Replay(token) => {
            let replay = Replay::new(Arc::new(token.schedule.clone()));
            let (mut summary, replay, schedule) = go(&mut machine, replay, seed, &mut watch, stop);
            let cut = limits.kept_from(&allowed, summary.outcome()).is_some();
            let left = replay.left_over(summary.steps).filter(|_| !stopped(&summary) && !cut);
            if let (LoopEnd::Outcome(_), Some(left)) = (&summary.end, left) {
                summary.end = LoopEnd::Diverged(Box::new(left));
            }
            (summary, schedule, Some(token))
        }
    };
    if let Some(progress) = &watch.progress {
        progress.finish();
    }
    let written = watch.trace.take().map_or(Ok(()), TraceWriter::finish);
    let written = match trace {
        Some((name, begun)) => written.and_then(|()| begun.finish()).map_err(|error| (name, error)),
        None => Ok(()),
    };
    let timeline = watch.timeline.take().map(|t| t.finish(&machine.world, &summary));
    drop(watch);
    let stopped = stopped(&summary);
    let asks = limits.kept_from(&allowed, summary.outcome()).filter(|_| !stopped);
    let token = summary.outcome().filter(|_| !stopped && asks.is_none()).map(|outcome| Token {
        program: model.digest(),
        defines: model.defines.clone(),
        limits,
        strategy: strategy.clone(),
        seed,
        signature: signature(&model.code.setup, outcome),
        schedule,
    });
    let smaller = token.as_ref().zip(summary.outcome()).filter(|_| matches!(shrinking, ShrinkMode::IfItFails));
    let smaller = smaller.and_then(|(token, outcome)| shrink_mode::smaller(&model, token, outcome, stop));
    if let Some(shrunk) = smaller.as_ref().filter(|_| report.form != Form::Json) {
        let choices = ChoiceSource::Replay(Box::new(shrunk.token.clone()));
        let report = Report { trace: None, ..report };
        let shrinking = ShrinkMode::Drawn(shrunk.clone());
        return perform_until(
            RunPlan { model, limits, allowed, choices, strategy, seed, report, shrinking },
            stop,
            context,
        );
    }
    let world = &machine.world;
    let finished = FinishedRun {
        model: &model,
        world,
        summary: &summary,
        strategy: &strategy,
        seed,
        limits,
        stopped,
        asks: asks.is_some(),
        shrinking: &shrinking,
        smaller: smaller.as_deref().map(SmallerRun::new),
        kept: tolerance
            .map(|(t, recorded)| ReplayFidelity::new(&t, &recorded, token.as_ref().map(|t| t.signature.as_str()))),
        state: report.state.state.then(|| state::of(&model, world)),
    };
    finished.timeline(report.form, timeline.as_ref(), &report.view, context)?;
    finished.print(report.form, token.as_ref(), context);
    let mut status = finished.status(token.as_ref(), recorded.as_deref(), context);
    if let Some((option, value)) = asks {
        context.out.error(super::replay::asks(option, value, &allowed));
        status = ExitStatus::Refused;
    }
    if let (Some(file), Some(timeline)) = (report.perfetto, &timeline) {
        finished.perfetto(file, timeline)?;
    }
    written
        .map(|()| status)
        .map_err(|(name, error)| Refusal::new(format_args!("cannot write the trace to `{name}`: {error}")))
}

/// Returns the number of steps of a run of the model: of a round robin, which is the same every time. Ctrl-C ends the
/// program during it, since there is nothing to report yet.
pub(in crate::cli) fn profile(model: &Model, limits: Limits) -> u64 {
    exec::run(&mut model.machine(limits), &mut RoundRobin::default(), 0, &mut NoObserver, &AtomicBool::new(false)).steps
}

fn go<S: Strategy>(
    machine: &mut Machine<Vm>,
    mut strategy: S,
    seed: u64,
    watch: &mut RunObservers<'_>,
    stop: &AtomicBool,
) -> (RunSummary, S, Schedule) {
    let mut recorder = ScheduleRecorder::new();
    let idle = watch.timeline.is_none() && watch.trace.is_none() && watch.progress.is_none();
    let summary = if idle {
        exec::run(machine, &mut strategy, seed, &mut recorder, stop)
    } else {
        exec::run(machine, &mut strategy, seed, &mut (&mut recorder, watch), stop)
    };
    (summary, strategy, recorder.schedule(&machine.world))
}

/// Finished run with everything that its report needs.
struct FinishedRun<'r> {
    model: &'r Model,
    world: &'r World,
    summary: &'r RunSummary,
    strategy: &'r str,
    seed: u64,
    limits: Limits,
    stopped: bool,
    // Whether the token needs more than the command allows. That is reported together with the option that allows it.
    asks: bool,
    shrinking: &'r ShrinkMode,
    smaller: Option<SmallerRun>,
    kept: Option<ReplayFidelity>,
    state: Option<State>,
}

impl FinishedRun<'_> {
    fn timeline(
        &self,
        form: Form,
        timeline: Option<&Timeline>,
        view: &TimelineView,
        context: &mut CommandContext,
    ) -> Result<(), Refusal> {
        let Some(timeline) = timeline else { return Ok(()) };
        match form {
            Form::Timeline => timeline::print(&mut context.out, timeline, view)?,
            Form::Mermaid => timeline::mermaid(&mut context.out, timeline, view)?,
            Form::Svg => {
                let end = timeline::end(self.model, &self.summary.end, self.stopped);
                timeline::svg(&mut context.out, self.model, view, vec![(timeline.clone(), end)])?;
            }
            Form::Brief | Form::Json => {}
        }
        Ok(())
    }

    fn perfetto(&self, file: NewFile, timeline: &Timeline) -> Result<(), Refusal> {
        let about = [
            ("tool", "raceflip".to_owned()),
            ("file", self.model.name().to_owned()),
            ("program", format!("{:016x}", self.model.digest())),
            ("strategy", self.strategy.to_owned()),
            ("seed", self.seed.to_string()),
        ];
        let about = about.into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
        let text = perfetto::File::new(timeline, about).to_json();
        let NewFile { name, mut to, begun } = file;
        to.write_all(text.as_bytes())
            .and_then(|()| to.flush())
            .and_then(|()| begun.finish())
            .map_err(|error| Refusal::new(format_args!("cannot write the timeline to `{name}`: {error}")))
    }

    fn print(&self, form: Form, token: Option<&Token>, context: &mut CommandContext) {
        let FinishedRun { model, world, summary, .. } = *self;
        if form != Form::Json {
            self.result(form, token, context);
            if let Some(kept) = &self.kept {
                tolerance::print(&mut context.out, kept, self.stopped);
            }
            if let Some(state) = &self.state {
                state::print(&mut context.out, model, state);
            }
            return;
        }
        let report = RunReport::new(result::RunParts {
            file: model.name(),
            program: model.digest(),
            defines: &model.defines,
            strategy: self.strategy,
            seed: self.seed,
            world,
            summary,
            token: token.map(|t| (t.signature.as_str(), t.to_string())),
            stopped: self.stopped,
            shrunk: self.smaller.clone(),
            tolerance: self.kept.clone(),
            state: self.state.clone(),
        });
        let text = match self.shrinking {
            ShrinkMode::Asked(shrunk) => ShrinkReport::new(shrunk, report).to_json(),
            _ => report.to_json(),
        };
        context.out.json(&text);
    }

    fn result(&self, form: Form, token: Option<&Token>, context: &mut CommandContext) {
        let FinishedRun { model, world, summary, .. } = *self;
        let out = &mut context.out;
        if matches!(form, Form::Mermaid | Form::Svg) {
            return;
        }
        if form == Form::Timeline {
            writeln!(out);
        }
        if self.stopped {
            writeln!(out, "stopped after {} steps (--until)", summary.steps);
        } else if let (true, LoopEnd::Outcome(Outcome::Limit(kind, limit))) = (self.asks, &summary.end) {
            outcome::print_limit(out, *kind, *limit);
        } else if let LoopEnd::Outcome(end) = &summary.end {
            // A timeline already ends with the blocked threads, so they are not repeated.
            outcome::print(out, model, world, end, form == Form::Timeline);
        }
        if summary.refused_posts > 0 {
            let n = summary.refused_posts;
            let (posts, their) = if n == 1 { ("post was", "its") } else { ("posts were", "their") };
            writeln!(out, "warning: {n} {posts} refused because {their} looper had quit");
        }
        let Some(token) = token else { return };
        let text = token.to_string();
        if form == Form::Brief {
            if let ShrinkMode::Asked(_) = self.shrinking {
                shrink_mode::print(out, self.shrinking);
            }
            // A long token would flood a terminal, but not a file or a pipe.
            if replay_command::is_long(&text) && out.is_terminal() {
                for command in replay_command::replay(model, &text, self.strategy, self.seed, &self.limits) {
                    writeln!(out, "{command}");
                }
            } else {
                writeln!(out, "{text}");
            }
            return;
        }
        writeln!(out, "steps {}, virtual time {} ms, stall {} ms", summary.steps, summary.now, summary.stall);
        shrink_mode::print(out, self.shrinking);
        writeln!(out, "strategy {}, seed {}", self.strategy, self.seed);
        let commands = replay_command::replay(model, &text, self.strategy, self.seed, &self.limits);
        for (i, command) in commands.iter().enumerate() {
            let head = if i == 0 { paint(BOLD, "replay:") } else { " ".repeat("replay:".len()) };
            writeln!(out, "{head} {command}");
        }
    }

    // Reports on stderr that a run has no result, and returns the exit status.
    fn status(&self, token: Option<&Token>, recorded: Option<&Token>, context: &mut CommandContext) -> ExitStatus {
        if self.stopped && matches!(self.summary.end, LoopEnd::Outcome(_)) {
            return ExitStatus::Nothing;
        }
        let FinishedRun { model, summary, strategy, seed, limits, .. } = *self;
        let now = token.map(|token| token.signature.as_str());
        Followed { model, strategy, seed, limits, summary, now, recorded }.status(&mut context.out)
    }
}
