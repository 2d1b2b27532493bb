//! Replays runs that were saved when they failed, and reports whether the failure still comes.

use super::test_result::TestPlan;
use crate::event::Outcome;
use crate::exec::RunResult;
use crate::exec::{LoopEnd, run};
use crate::lang::program::GlobalId;
use crate::sched::{Divergence, Replay, ScheduleRecorder, Strategy, Tolerant};
use crate::token::Token;
use crate::vm::Vm;
use crate::world::{Machine, alike, signature};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Saved run.
#[derive(Clone, Debug)]
pub struct SavedSeed {
    /// Name of the place where the run is saved, for messages.
    pub name: String,
    /// Token of the run.
    pub token: Token,
}

/// Result of the replay of a saved run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SeedResult {
    /// The run still fails in the same way. If its body was edited, the site may have another number.
    Fails,
    /// All choices can be made, but the run ends in another way: with this signature.
    Gone(String),
    /// The run cannot be replayed any more, from the divergence on. A tolerant replay ends with this signature.
    Changed(Box<Divergence>, String),
    /// The token needs more than the plan's limits allow: the option, the value that it needs, and the allowed value.
    Asks(&'static str, u64, u64),
    /// The replay was interrupted.
    Interrupted,
}

/// End of the replay of a saved run, with the token of the replay.
pub(super) struct ReplayedSeed {
    pub(in crate::campaign) end: RunResult,
    pub(in crate::campaign) outcome: Outcome,
    pub(in crate::campaign) token: Token,
}

/// Replays a saved run. If the model has changed so that it diverges, it is replayed tolerantly.
pub(super) fn replay_saved(
    plan: &TestPlan<'_>,
    of: &BTreeSet<GlobalId>,
    saved: &SavedSeed,
    stop: &AtomicBool,
) -> (SeedResult, Option<ReplayedSeed>) {
    let schedule = Arc::new(saved.token.schedule.clone());
    let allowed = &plan.campaign.limits;
    let asks = |end: Option<&LoopEnd>| {
        let outcome = end.and_then(|end| if let LoopEnd::Outcome(outcome) = end { Some(outcome) } else { None });
        let (option, value) = saved.token.limits.kept_from(allowed, outcome)?;
        let most = allowed.options().into_iter().find(|(o, _)| *o == option).map_or(0, |(_, most)| most);
        Some((SeedResult::Asks(option, value, most), None))
    };
    // A lower depth limit ends no run, but makes a deep call throw, which would be another run. So it is checked before
    // the replay.
    if let Some(asks) = asks(None) {
        return asks;
    }
    let (end, replay, again) = perform(plan, of, saved, Replay::new(schedule.clone()), stop);
    if let Some(asks) = asks(Some(&end)) {
        return asks;
    }
    let divergence = match end {
        LoopEnd::Interrupted => return (SeedResult::Interrupted, None),
        LoopEnd::Diverged(divergence) => Some(divergence),
        LoopEnd::Outcome(_) => replay.left_over(again.as_ref().map_or(0, |a| a.token.schedule.len())).map(Box::new),
    };
    let ended = |again: &Option<ReplayedSeed>| again.as_ref().map_or(String::new(), |a| a.token.signature.clone());
    if alike(&ended(&again), &saved.token.signature) {
        return (SeedResult::Fails, again);
    }
    let Some(divergence) = divergence else { return (SeedResult::Gone(ended(&again)), again) };
    let (end, _, again) = perform(plan, of, saved, Tolerant::new(schedule), stop);
    if end == LoopEnd::Interrupted {
        return (SeedResult::Interrupted, None);
    }
    if let Some(asks) = asks(Some(&end)) {
        return asks;
    }
    let signature = ended(&again);
    let result = if alike(&signature, &saved.token.signature) {
        SeedResult::Fails
    } else if divergence.step >= saved.token.schedule.len() {
        // All recorded choices were made. Where the run failed, it continues now.
        SeedResult::Gone(signature)
    } else {
        SeedResult::Changed(divergence, signature)
    };
    (result, again)
}

fn perform<S: Strategy>(
    plan: &TestPlan<'_>,
    of: &BTreeSet<GlobalId>,
    saved: &SavedSeed,
    mut strategy: S,
    stop: &AtomicBool,
) -> (LoopEnd, S, Option<ReplayedSeed>) {
    let code = plan.model.code.clone();
    let mut machine = Machine::new(Vm::new(code.clone()), saved.token.limits.within(&plan.campaign.limits));
    let mut recorder = ScheduleRecorder::new();
    let summary = run(&mut machine, &mut strategy, saved.token.seed, &mut recorder, stop);
    let again = summary.outcome().map(|outcome| ReplayedSeed {
        end: RunResult::new(&plan.model.program, of, outcome, &machine.world),
        outcome: outcome.clone(),
        token: Token {
            program: code.digest() as u64,
            defines: plan.model.defines.clone(),
            limits: saved.token.limits,
            strategy: saved.token.strategy.clone(),
            seed: saved.token.seed,
            signature: signature(&code.setup, outcome),
            schedule: recorder.schedule(&machine.world),
        },
    });
    (summary.end, strategy, again)
}
