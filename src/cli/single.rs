//! One run, drawn or replayed, and its report: what `run` and `replay` share, so that the two print the same.

use super::exit::Status;
use super::load::Model;
use super::output::{BOLD, clean, paint};
use super::plan::{Choices, Form, Plan, TraceFile};
use super::progress::Progress;
use super::steps::{StepList, Words};
use super::values::Types;
use super::{Context, Refusal, again, interrupt, outcome};
use crate::event::{Event, Outcome};
use crate::exec::{self, End, Observer, RunSummary, Unobserved};
use crate::formats::result::{self, RunReport};
use crate::formats::trace::{Header, TraceWriter};
use crate::sched::{Divergence, Recorder, Replay, RoundRobin, Schedule, Strategy};
use crate::token::Token;
use crate::vm::Vm;
use crate::world::{Limits, Machine, World, signature};
use std::io::BufWriter;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Everything that watches one run.
#[derive(Default)]
struct Watch<'o> {
    list: Option<StepList<'o>>,
    trace: Option<TraceWriter<BufWriter<std::fs::File>>>,
    progress: Option<Progress>,
}

impl Observer for Watch<'_> {
    fn event(&mut self, world: &World, event: &Event) {
        if let Some(list) = &mut self.list {
            list.event(world, event);
        }
        if let Some(trace) = &mut self.trace {
            trace.event(world, event);
        }
        if let Some(progress) = &mut self.progress {
            progress.event(world, event);
        }
    }
}

/// Performs the plan and reports it.
pub(super) fn perform(plan: Plan, context: &mut Context) -> Result<Status, Refusal> {
    let Plan { model, limits, choices, strategy, seed, report } = plan;
    let stop = interrupt::install();
    let mut machine = Machine::new(Vm::new(model.code.clone()), limits);
    let trace_name = report.trace.as_ref().map(|t| t.name.clone());
    let header = || Header::new(model.name(), model.digest(), &model.defines, &strategy, seed);
    let mut watch =
        Watch { trace: report.trace.map(|TraceFile { to, .. }| TraceWriter::new(to, &header())), ..Watch::default() };
    if report.form == Form::Steps {
        watch.list = Some(StepList::new(&mut context.out, Words::new(Types::of(&model.program))));
    }
    let list_scrolls = watch.list.is_some() && std::io::IsTerminal::is_terminal(&std::io::stdout());
    if !list_scrolls {
        watch.progress = Progress::new(limits.steps);
    }
    tracing::info!(%strategy, seed, steps = limits.steps, "run");
    let (summary, schedule, recorded) = match choices {
        Choices::Draw(named) => {
            let (summary, _, schedule) = go(&mut machine, *named, seed, &mut watch, &stop);
            (summary, schedule, None)
        }
        Choices::Replay(token) => {
            let replay = Replay::new(Arc::new(token.schedule.clone()));
            let (mut summary, replay, schedule) = go(&mut machine, replay, seed, &mut watch, &stop);
            if let (End::Outcome(_), Some(left)) = (&summary.end, replay.left_over(summary.steps)) {
                summary.end = End::Diverged(Box::new(left));
            }
            (summary, schedule, Some(token))
        }
    };
    if let Some(progress) = &watch.progress {
        progress.finish();
    }
    let written = watch.trace.take().map_or(Ok(()), TraceWriter::finish);
    drop(watch);
    let token = summary.outcome().map(|outcome| Token {
        program: model.digest(),
        defines: model.defines.clone(),
        limits,
        strategy: strategy.clone(),
        seed,
        signature: signature(&model.code.setup, outcome),
        schedule,
    });
    let told = Told { model: &model, world: &machine.world, summary: &summary, strategy: &strategy, seed, limits };
    told.print(report.form, token.as_ref(), context);
    let status = told.status(token.as_ref(), recorded.as_deref(), context);
    written.map(|()| status).map_err(|error| {
        Refusal::new(format_args!("cannot write the trace to `{}`: {error}", trace_name.unwrap_or_default()))
    })
}

/// How many steps a run of the model takes: those of a round robin, which is the same every time. Ctrl-C ends the program in the middle of it, as nothing is known yet.
pub(super) fn profile(model: &Model, limits: Limits) -> u64 {
    let mut machine = Machine::new(Vm::new(model.code.clone()), limits);
    exec::run(&mut machine, &mut RoundRobin::default(), 0, &mut Unobserved, &AtomicBool::new(false)).steps
}

fn go<S: Strategy>(
    machine: &mut Machine<Vm>,
    strategy: S,
    seed: u64,
    watch: &mut Watch<'_>,
    stop: &AtomicBool,
) -> (RunSummary, S, Schedule) {
    let mut recorder = Recorder::new(strategy);
    let idle = watch.list.is_none() && watch.trace.is_none() && watch.progress.is_none();
    let summary = if idle {
        exec::run(machine, &mut recorder, seed, &mut Unobserved, stop)
    } else {
        exec::run(machine, &mut recorder, seed, watch, stop)
    };
    let (strategy, schedule) = recorder.into_parts();
    (summary, strategy, schedule)
}

/// A run that is over.
struct Told<'r> {
    model: &'r Model,
    world: &'r World,
    summary: &'r RunSummary,
    strategy: &'r str,
    seed: u64,
    limits: Limits,
}

impl Told<'_> {
    fn print(&self, form: Form, token: Option<&Token>, context: &mut Context) {
        let Told { model, world, summary, .. } = *self;
        let out = &mut context.out;
        if form == Form::Json {
            let report = RunReport::new(result::About {
                file: model.name(),
                program: model.digest(),
                defines: &model.defines,
                strategy: self.strategy,
                seed: self.seed,
                world,
                summary,
                token: token.map(|t| (t.signature.as_str(), t.to_string())),
            });
            writeln!(out, "{}", report.to_json());
            return;
        }
        if form == Form::Steps && summary.steps > 0 {
            writeln!(out);
        }
        if let End::Outcome(end) = &summary.end {
            outcome::print(out, model, world, end);
        }
        if summary.refused_posts > 0 {
            let n = summary.refused_posts;
            let (posts, their) = if n == 1 { ("post was", "its") } else { ("posts were", "their") };
            writeln!(out, "warning: {n} {posts} refused because {their} looper had quit");
        }
        let Some(token) = token else { return };
        let text = token.to_string();
        if form == Form::Brief {
            writeln!(out, "{text}");
            return;
        }
        writeln!(out, "steps {}, virtual time {} ms, stall {} ms", summary.steps, summary.now, summary.stall);
        writeln!(out, "strategy {}, seed {}", clean(self.strategy), self.seed);
        let commands = again::replay(model, &text, self.strategy, self.seed, &self.limits);
        for (i, command) in commands.iter().enumerate() {
            let head = if i == 0 { paint(BOLD, "replay:") } else { " ".repeat("replay:".len()) };
            writeln!(out, "{head} {command}");
        }
    }

    // What stderr is told of a run without a result, and the status.
    fn status(&self, token: Option<&Token>, recorded: Option<&Token>, context: &mut Context) -> Status {
        let out = &mut context.out;
        match &self.summary.end {
            End::Interrupted => {
                out.note(format_args!(
                    "interrupted after {} steps; a run that has not ended has no token",
                    self.summary.steps
                ));
                Status::Interrupted
            }
            End::Diverged(divergence) => {
                let Divergence { step, expected, found } = &**divergence;
                match recorded.map(|t| t.schedule.len()) {
                    Some(all) if *step >= all => {
                        out.error(format_args!("the replay made all {all} recorded choices, and the run goes on"));
                    }
                    of => {
                        let of = of.map_or(String::new(), |all| format!(" of {all}"));
                        out.error(format_args!("the replay left its recording at step {}{of}", step + 1));
                    }
                }
                self.explain(expected, found, context);
                Status::Diverged
            }
            End::Outcome(end) => match (token, recorded) {
                (Some(now), Some(then)) if now.signature != then.signature => {
                    out.error("the replay made every recorded choice and ended in another way");
                    self.explain(&then.signature, &now.signature, context);
                    Status::Diverged
                }
                _ => Status::of(end as &Outcome),
            },
        }
    }

    fn explain(&self, expected: &str, found: &str, context: &mut Context) {
        context.out.more(format_args!("  expected: {expected}"));
        context.out.more(format_args!("  found:    {found}"));
        context.out.more(format_args!(
            "The model does something else now. `{}` draws a run of this model from the same seed.",
            again::draw(self.model, self.strategy, self.seed, &self.limits)
        ));
    }
}
