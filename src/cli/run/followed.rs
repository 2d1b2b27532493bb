//! Reports whether a replay followed its recording.

use crate::campaign::{FUZZED, SEARCHED};
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::load::Model;
use crate::cli::io::output::Output;
use crate::cli::io::replay_command;
use crate::exec::{LoopEnd, RunSummary};
use crate::sched::Divergence;
use crate::token::Token;
use crate::world::Limits;

/// A finished run and the recording that it follows.
pub(in crate::cli) struct Followed<'r> {
    pub(in crate::cli) model: &'r Model,
    pub(in crate::cli) strategy: &'r str,
    pub(in crate::cli) seed: u64,
    pub(in crate::cli) limits: Limits,
    pub(in crate::cli) summary: &'r RunSummary,
    /// The signature of the run, if it has a result.
    pub(in crate::cli) now: Option<&'r str>,
    /// The recording, if the run is a replay.
    pub(in crate::cli) recorded: Option<&'r Token>,
}

impl Followed<'_> {
    /// Reports on stderr that a run has no result, or another one than its recording. Returns the exit status.
    pub(in crate::cli) fn status(&self, out: &mut Output) -> ExitStatus {
        match &self.summary.end {
            LoopEnd::Interrupted => {
                out.note(format_args!(
                    "interrupted after {} steps; a run that has not ended has no token",
                    self.summary.steps
                ));
                ExitStatus::Interrupted
            }
            LoopEnd::Diverged(divergence) => {
                let Divergence { step, expected, found } = &**divergence;
                match self.recorded.map(|t| t.schedule.len()) {
                    Some(all) if *step >= all => {
                        out.error(format_args!("the replay made all {all} recorded choices, but the run continues"));
                    }
                    of => {
                        let of = of.map_or(String::new(), |all| format!(" of {all}"));
                        out.error(format_args!("the replay diverged from its recording at step {}{of}", step + 1));
                    }
                }
                self.explain(expected, found, out);
                ExitStatus::Diverged
            }
            LoopEnd::Outcome(end) => match (self.now, self.recorded) {
                (Some(now), Some(then)) if now != then.signature => {
                    out.error("the replay made every recorded choice, but ended differently");
                    self.explain(&then.signature, now, out);
                    ExitStatus::Diverged
                }
                _ => ExitStatus::of(end),
            },
        }
    }

    fn explain(&self, expected: &str, found: &str, out: &mut Output) {
        out.more(format_args!("  expected: {expected}"));
        out.more(format_args!("  found:    {found}"));
        let command = replay_command::draw(self.model, self.strategy, self.seed, &self.limits);
        let does = match self.strategy {
            SEARCHED => "searches its states again",
            FUZZED => "looks for failures again",
            _ => "performs a run with the same seed",
        };
        out.more(format_args!("The model behaves differently now. `{command}` {does}."));
    }
}
