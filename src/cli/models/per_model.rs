//! Runs a command on one model, or on each of several models in turn.

use super::suite;
use crate::base::counted;
use crate::cli::args::{Format, ResultArgs, ToolArgs};
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::interrupt;
use crate::cli::io::load::{self, Model};
use crate::cli::io::output::{BOLD, paint};
use crate::cli::io::reports::ReportFormat;
use crate::cli::io::timer::Timer;
use crate::cli::{CommandContext, Refusal};
use crate::lang::variants::Defines;
use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Models of a command.
pub(in crate::cli) struct CommandModels {
    paths: Vec<PathBuf>,
    unread: Vec<Refusal>,
    /// Whether there may be several models: the text has their names as headings, and the JSON is an array.
    pub(in crate::cli) many: bool,
    defines: Defines,
}

impl CommandModels {
    /// Finds the models that the paths of a command stand for.
    ///
    /// # Errors
    ///
    /// Returns a refusal if a path does not exist, or if a folder contains no models.
    pub(in crate::cli) fn find(paths: &[PathBuf], defines: Defines) -> Result<Self, Refusal> {
        let (paths, unread, many) = suite::one_or_many(paths)?;
        Ok(Self { paths, unread, many, defines })
    }

    /// Calls `one` with each model and prints the results. `one` returns its JSON if that is the format.
    ///
    /// `stopped` returns the reason why no further model should begin, if there is one.
    pub(in crate::cli) fn each(
        &self,
        result: &ResultArgs,
        context: &mut CommandContext,
        stopped: impl Fn() -> Option<&'static str>,
        one: impl FnMut(&Model, &mut CommandContext) -> Result<(ExitStatus, Option<String>), Refusal>,
    ) -> Result<ExitStatus, Refusal> {
        let headings = (result.format == Format::Text).then_some(Headings { apart: !result.quiet });
        let Visited { status, reports, .. } = self.visit(headings, context, stopped, one)?;
        if result.format == Format::Json {
            context.out.json(&self.joined(&reports));
        }
        Ok(status)
    }

    /// Calls `one` with each model, and returns what it returned. The text of several models has their names as
    /// `headings`.
    ///
    /// If there are several models, one that cannot be loaded is reported, and the others follow. A single model that
    /// cannot be loaded is an error.
    fn visit<T>(
        &self,
        headings: Option<Headings>,
        context: &mut CommandContext,
        stopped: impl Fn() -> Option<&'static str>,
        mut one: impl FnMut(&Model, &mut CommandContext) -> Result<(ExitStatus, Option<T>), Refusal>,
    ) -> Result<Visited<T>, Refusal> {
        let mut unread: Vec<String> = self.unread.iter().map(Refusal::plain).collect();
        let mut status = if self.unread.is_empty() { ExitStatus::Nothing } else { ExitStatus::Refused };
        self.unread.iter().for_each(|refusal| context.out.refuse(refusal));
        let mut reports = Vec::new();
        for (i, path) in self.paths.iter().enumerate() {
            if let Some(why) = stopped() {
                let left = counted((self.paths.len() - i) as u64, "model");
                context.out.note(format_args!("{left} not visited: {why}"));
                break;
            }
            let model = match load::model(path, &self.defines, &context.out) {
                Ok(model) => model,
                Err(refusal) if !self.many => return Err(refusal),
                Err(refusal) => {
                    context.out.refuse(&refusal);
                    unread.push(refusal.plain());
                    status = status.and(ExitStatus::Refused);
                    continue;
                }
            };
            if let Some(Headings { apart }) = headings.filter(|_| self.many) {
                if i > 0 && apart {
                    writeln!(context.out);
                }
                writeln!(context.out, "{}:", paint(BOLD, model.name()));
            }
            let (found, report) = one(&model, context)?;
            status = status.and(found);
            reports.extend(report);
        }
        Ok(Visited { status, reports, unread })
    }

    /// Joins the JSON objects of all models: one object, or an array if there may be several models.
    pub(in crate::cli) fn joined(&self, objects: &[String]) -> String {
        match objects {
            _ if !self.many => objects.concat(),
            [] => "[]".to_owned(),
            _ => format!("[\n{}\n]", objects.join(",\n")),
        }
    }

    /// Like [`each`](Self::each), until an interruption or until the time is up. `one` also gets the flag that stops
    /// its work, and the timer, which tells who has set it.
    pub(in crate::cli) fn each_until(
        &self,
        time: Option<Duration>,
        result: &ResultArgs,
        context: &mut CommandContext,
        mut one: impl FnMut(
            &Model,
            (&AtomicBool, &Timer),
            &mut CommandContext,
        ) -> Result<(ExitStatus, Option<String>), Refusal>,
    ) -> Result<ExitStatus, Refusal> {
        let (stop, timer) = clocked(time);
        let stopped = || stop.load(Ordering::Relaxed).then(|| timer.why_stopped());
        self.each(result, context, stopped, |model, context| one(model, (&stop, &timer), context))
    }

    /// Like [`each_until`](Self::each_until), for commands with reports for other tools, which `one` returns and the
    /// caller renders.
    pub(in crate::cli) fn reports_until<T>(
        &self,
        time: Option<Duration>,
        result: &ToolArgs,
        context: &mut CommandContext,
        mut one: impl FnMut(&Model, (&AtomicBool, &Timer), &mut CommandContext) -> Result<(ExitStatus, Option<T>), Refusal>,
    ) -> Result<Visited<T>, Refusal> {
        let (stop, start) = (interrupt::install(), Instant::now());
        let stopped = || stop.load(Ordering::Relaxed).then_some("interrupted");
        let headings = (result.format == ReportFormat::Text).then_some(Headings { apart: !result.quiet });
        // Each model has its share of the time that is left, so that all of them have some.
        let left = Cell::new(self.paths.len() as u32);
        let visited = self.visit(headings, context, stopped, |model, context| {
            let share = time.map(|time| time.saturating_sub(start.elapsed()) / left.get().max(1));
            left.set(left.get().saturating_sub(1));
            let timer = Timer::start(share, stop.clone());
            let result = one(model, (&stop, &timer), context);
            // Only an interruption ends the command before the last model.
            if timer.is_up() && !interrupt::was_asked() {
                stop.store(false, Ordering::Relaxed);
            }
            result
        });
        match visited {
            // A single model that cannot be read is in the report as well.
            Err(refusal) if !self.many && result.format.is_for_tools() => {
                context.out.refuse(&refusal);
                let unread = vec![refusal.plain()];
                Ok(Visited { status: ExitStatus::Refused, reports: Vec::new(), unread })
            }
            visited => visited,
        }
    }
}

/// What a command has found in its models.
pub(in crate::cli) struct Visited<T> {
    pub(in crate::cli) status: ExitStatus,
    pub(in crate::cli) reports: Vec<T>,
    /// The errors of models that could not be read.
    pub(in crate::cli) unread: Vec<String>,
}

// Headings of the text of several models.
#[derive(Clone, Copy)]
struct Headings {
    // Whether a blank line sets them apart.
    apart: bool,
}

// Returns the flag that an interruption or the time sets.
fn clocked(time: Option<Duration>) -> (Arc<AtomicBool>, Timer) {
    let stop = interrupt::install();
    let timer = Timer::start(time, stop.clone());
    (stop, timer)
}
