//! `raceflip shrink`: finds a run with the same end that has fewer preemptions and reorderings.

use super::one_run;
use super::plan::{ChoiceSource, Report, RunPlan};
use super::replay::{RecordedArgs, asks};
use super::shrink_mode::ShrinkMode;
use super::state::StateArgs;
use crate::campaign::CampaignProgress;
use crate::cli::io::bar::CampaignBar;
use crate::cli::io::exit::ExitStatus;
use crate::cli::io::interrupt;
use crate::cli::{CommandContext, Refusal};
use crate::event::Outcome;
use crate::formats::shell;
use crate::sched::Divergence;
use crate::shrink::{Effort, ShrinkError, shrink_to};
use crate::token::Token;
use crate::world::{World, signature};
use std::sync::atomic::AtomicBool;

const ABOUT: &str = "\
Shrinks the run of a token: searches for a run that ends in the same way (the same failure at the same place, or `ok`) and deviates less \
often from a default scheduler, which lets each thread run until it has to wait. The remaining deviations are the places at which the order matters.

The default scheduler continues the thread that acted last. If that thread is blocked, it takes the enabled thread that was created first. If no thread is enabled, the clock moves to the next \
deadline; without a deadline, the first event fires. A deviation is a step at which another actor acts, or another waiter, branch or \
instant is chosen: a preemption, a reordering. Of two runs with equally many deviations, the one with fewer steps is smaller.

The search tries at most 20,000 runs with 10,000,000 steps in total. The same token gives the same result. `raceflip run` and `raceflip test` shrink \
failing runs themselves, with a twentieth of that effort.";

const AFTER: &str = "\
Examples:
  raceflip shrink app.race rf1-...
  raceflip shrink app.race @seeds/app-0123456789abcdef.toml
  raceflip run -q --no-shrink app.race --seed 7 | raceflip shrink app.race -
  raceflip shrink app.race rf1-... --format json | jq .departures

Exit status:
  0    the run ends `ok`
  1    the run ends in another way, like the run of the token
  2    bad input
  3    the model was edited, and the token no longer fits
  130  interrupted; the smallest run so far is printed";

/// Find a run with the same end and fewer preemptions and reorderings
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT, after_long_help = AFTER)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    recorded: RecordedArgs,
}

pub(in crate::cli) fn run(args: Args, context: &mut CommandContext) -> Result<ExitStatus, Refusal> {
    let (mut token, model) = args.recorded.resolve(context)?;
    let (asked, allowed) = (token.limits, args.recorded.limits.resolve());
    token.limits = asked.within(&allowed);
    let report = Report::resolve(&args.recorded.report, StateArgs::default(), &model)?;
    let stop = interrupt::install();
    let bar = CampaignBar::new("run");
    bar.phase("shrinking", Effort::FULL.runs);
    let same = |_: &World, outcome: &Outcome| signature(&model.code.setup, outcome) == token.signature;
    let shrunk = shrink_to(&*model, &token, &same, Effort::FULL, &stop, &|_| bar.done());
    bar.finish();
    // If the run of the token ends at a limit that the token would raise, it is not the recorded run.
    let cut = |signature: &str| asked.beyond(&allowed).find(|(option, _)| *signature == format!("limit {option}"));
    let ends = match &shrunk {
        Err(ShrinkError::EndsOtherwise { found, .. }) => found.as_str(),
        Err(ShrinkError::Diverged(d)) if d.step >= allowed.steps => "limit steps",
        Ok(shrunk) => shrunk.token.signature.as_str(),
        Err(_) => "",
    };
    if let Some((option, value)) = cut(ends) {
        return Err(Refusal::new(asks(option, value, &allowed)));
    }
    let shrunk = match shrunk {
        Ok(shrunk) => shrunk,
        Err(error) => return Ok(refused(&error, &args, &token, context)),
    };
    tracing::info!(runs = shrunk.runs, ?shrunk.before, ?shrunk.after, "shrunk");
    if shrunk.interrupted {
        context.out.note(format_args!("interrupted after {} runs: a smaller run may exist", shrunk.runs));
    }
    let interrupted = shrunk.interrupted;
    let plan = RunPlan {
        limits: shrunk.token.limits,
        allowed,
        strategy: shrunk.token.strategy.clone(),
        seed: shrunk.token.seed,
        choices: ChoiceSource::Replay(Box::new(shrunk.token.clone())),
        report,
        shrinking: ShrinkMode::Asked(Box::new(shrunk)),
        model,
    };
    // The run ends soon, and it is the result. So Ctrl-C does not interrupt it.
    let status = one_run::perform_until(plan, &AtomicBool::new(false), context)?;
    Ok(if interrupted { ExitStatus::Interrupted } else { status })
}

// Reports why there is nothing to shrink, and what to do.
fn refused(error: &ShrinkError, args: &Args, token: &Token, context: &mut CommandContext) -> ExitStatus {
    let out = &mut context.out;
    match error {
        ShrinkError::Interrupted => {
            out.note("interrupted before the run of the token was replayed");
            return ExitStatus::Interrupted;
        }
        ShrinkError::Diverged(divergence) => {
            let Divergence { step, expected, found } = &**divergence;
            let all = token.schedule.len();
            out.error(format_args!("the replay diverged from its recording at step {} of {all}", step + 1));
            out.more(format_args!("  expected: {expected}"));
            out.more(format_args!("  found:    {found}"));
        }
        ShrinkError::EndsOtherwise { expected, found } => {
            out.error("the replay made every recorded choice, but ended differently");
            out.more(format_args!("  expected: {expected}"));
            out.more(format_args!("  found:    {found}"));
        }
    }
    let model = shell::path(&args.recorded.file.to_string_lossy());
    out.more(format_args!(
        "The model behaves differently now. `raceflip replay {model} TOKEN --tolerant` follows the recording as far as possible and prints a new token, which can be shrunk."
    ));
    ExitStatus::Diverged
}
