//! Shrinks runs before they are shown against a line. The smaller run has the same end, as far as the line
//! distinguishes ends, with fewer preemptions and reorderings.

use super::ends::{named, relevant_end};
use super::test_result::TestPlan;
use crate::event::Outcome;
use crate::exec::{EndKind, RunResult};
use crate::lang::program::ExpectationKind;
use crate::shrink::{Effort, ShrinkResult, shrink_to};
use crate::token::Token;
use crate::world::{World, signature};
use std::sync::atomic::AtomicBool;

/// Returns a smaller run with the same end. `None` if none was found, or if the end is a limit of the tool.
pub(in crate::campaign) fn smaller(
    plan: &TestPlan<'_>,
    line: &ExpectationKind,
    end: &RunResult,
    token: &Token,
    stop: &AtomicBool,
) -> Option<ShrinkResult> {
    if !plan.shrinks || matches!(end.kind, EndKind::Limit(_)) {
        return None;
    }
    let (model, of) = (plan.model, named(&plan.model.program));
    let same = |world: &World, outcome: &Outcome| {
        let values = || relevant_end(line, &RunResult::new(model, &of, outcome, world)).values;
        // The values of some runs are not known.
        signature(&model.code.setup, outcome) == token.signature && (end.values.is_empty() || values() == end.values)
    };
    let shrunk = shrink_to(model, token, &same, Effort::QUICK, stop, &|_| {}).ok()?;
    shrunk.is_smaller().then_some(shrunk)
}
