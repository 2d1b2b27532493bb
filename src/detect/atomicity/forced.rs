//! Which steps a step has made: forks, posts, joins and program order alone lead from it to them.
//!
//! It is decided backward: a context has one maker, the fork of its thread or the post of its task, so that few
//! contexts lead to a step.

use super::steps::{ContextNo, StepKind, StepNo, Steps};
use crate::base::Id;
use std::collections::BTreeMap;

/// The makers of all contexts, and the joins.
pub(super) struct Makers {
    // For each context the fork or post that made it.
    of: Vec<Option<StepNo>>,
    // For each context the joins in it, ascending, each with the last step of the thread that it has waited for.
    joins: BTreeMap<ContextNo, Vec<(StepNo, StepNo)>>,
}

impl Makers {
    pub(super) fn of(steps: &Steps<'_>) -> Self {
        let mut makers = Self { of: vec![None; steps.contexts()], joins: BTreeMap::new() };
        let mut last: Vec<Option<StepNo>> = vec![None; steps.contexts()];
        let mut posts: Vec<Option<StepNo>> = vec![None; steps.trace.tasks.len()];
        for (at, step) in steps.all.enumerate() {
            if step.context != ContextNo::NONE {
                last[step.context.index()] = Some(at);
            }
            match step.kind {
                // What has begun before the fork was not made by it.
                StepKind::Fork(thread) if last[thread as usize].is_none() => makers.of[thread as usize] = Some(at),
                StepKind::Join(thread) => {
                    if let Some(end) = last[thread as usize] {
                        makers.joins.entry(step.context).or_default().push((at, end));
                    }
                }
                StepKind::Post(task) => posts[task as usize] = Some(at),
                StepKind::Begin(task) => makers.of[step.context.index()] = posts[task as usize],
                _ => {}
            }
        }
        makers
    }

    /// Whether the second step was made by the first one.
    pub(super) fn leads(&self, steps: &Steps<'_>, from: StepNo, to: StepNo) -> bool {
        let source = steps.all[from].context;
        // The last step of each context that is known to lead to `to`.
        let mut known: BTreeMap<ContextNo, StepNo> = BTreeMap::new();
        let mut open = vec![to];
        while let Some(at) = open.pop() {
            if at == from {
                return true;
            }
            let context = steps.all[at].context;
            // Nothing later leads to an earlier step, and steps of the environment are each by themselves.
            if at < from || context == ContextNo::NONE || known.get(&context).is_some_and(|known| *known >= at) {
                continue;
            }
            if context == source {
                return true;
            }
            known.insert(context, at);
            open.extend(self.of[context.index()]);
            let joins = self.joins.get(&context).into_iter().flatten();
            open.extend(joins.take_while(|(join, _)| *join <= at).map(|(_, end)| *end));
        }
        false
    }
}
