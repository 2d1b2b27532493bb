//! Draws the runs of two tokens of one model side by side.

use super::followed::Followed;
use super::replay::asks;
use super::timeline::{self, TimelineView};
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::interrupt;
use crate::cli::io::load::Model;
use crate::cli::{CommandContext, Refusal};
use crate::exec::{self, LoopEnd, RunSummary};
use crate::formats::timeline::{Timeline, TimelineRecorder, Window};
use crate::sched::Replay;
use crate::token::Token;
use crate::world::{Limits, signature};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Replays both tokens, and prints their runs as one picture. Prints nothing if one of them does not replay.
pub(in crate::cli) fn perform(
    model: &Model,
    tokens: [&Token; 2],
    allowed: &Limits,
    view: &TimelineView,
    context: &mut CommandContext,
) -> Result<ExitStatus, Refusal> {
    let stop = interrupt::install();
    let mut status = ExitStatus::Nothing;
    let mut runs = Vec::with_capacity(tokens.len());
    for token in tokens {
        let (timeline, summary) = replayed(model, token, allowed, view, &stop)?;
        let now = summary.outcome().map(|outcome| signature(&model.code.setup, outcome));
        let (strategy, seed, limits) = (token.strategy.as_str(), token.seed, token.limits);
        let (now, recorded) = (now.as_deref(), Some(token));
        let ended = Followed { model, strategy, seed, limits, summary: &summary, now, recorded };
        status = status.and(ended.status(&mut context.out));
        if matches!(status, ExitStatus::Diverged | ExitStatus::Interrupted) {
            return Ok(status);
        }
        runs.push((timeline, timeline::end(model, &summary.end, false)));
    }
    timeline::svg(&mut context.out, model, view, runs)?;
    Ok(status)
}

// Performs the run of a token. Refuses a token that needs more than the command allows.
fn replayed(
    model: &Model,
    token: &Token,
    allowed: &Limits,
    view: &TimelineView,
    stop: &AtomicBool,
) -> Result<(Timeline, RunSummary), Refusal> {
    let mut machine = model.machine(token.limits.within(allowed));
    let mut replay = Replay::new(Arc::new(token.schedule.clone()));
    let marks = view.marks(model, &token.strategy);
    let mut recorder = TimelineRecorder::new(&model.program, model.source.text(), Window::All, marks);
    let mut summary = exec::run(&mut machine, &mut replay, token.seed, &mut recorder, stop);
    if let Some((option, value)) = token.limits.kept_from(allowed, summary.outcome()) {
        return Err(Refusal::new(asks(option, value, allowed)));
    }
    if let (LoopEnd::Outcome(_), Some(left)) = (&summary.end, replay.left_over(summary.steps)) {
        summary.end = LoopEnd::Diverged(Box::new(left));
    }
    Ok((recorder.finish(&machine.world, &summary), summary))
}
