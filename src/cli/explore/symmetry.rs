//! `raceflip explore --symmetry`: one state stands for all states that differ by a renaming of alike threads.

use crate::cli::Refusal;
use crate::cli::io::load::Model;
use crate::explore::{SearchContext, SearchPlan, SearchReport, explore_symmetric};
use crate::lang::{Alike, render};
use std::sync::Arc;

/// The threads that a symmetric search renames, and those that it does not.
#[derive(Default)]
pub(super) struct Renamed {
    /// Names of arrays of threads, each with the number of its threads.
    pub(super) threads: Vec<(String, usize)>,
    /// For each array of other threads: what it is, and why its threads are not alike.
    pub(super) others: Vec<String>,
}

/// Searches the states of a model up to a renaming. `paints` says whether errors have colors.
pub(super) fn search(
    model: &Model,
    plan: &SearchPlan<'_>,
    context: SearchContext<'_>,
    paints: bool,
) -> Result<(SearchReport, Renamed), Refusal> {
    let alike = Alike::of(&model.program);
    if alike.threads.is_empty() {
        return Err(match alike.refused.as_slice() {
            [] => Refusal::new(format_args!(
                "`{}` has no threads that are alike: `--symmetry` needs an array of threads, as in `thread worker(i in 0..3)`",
                model.name()
            )),
            reasons => Refusal::Rendered(render(&model.source, reasons, paints)),
        });
    }
    let refused = |why: &dyn std::fmt::Display| {
        Refusal::new(format_args!("the threads of `{}` cannot be renamed: {why}; leave out `--symmetry`", model.name()))
    };
    let symmetric = model.with_symmetry(&alike).map_err(|error| refused(&error))?;
    let symmetry = Some(Arc::new(alike.symmetry.clone()));
    // Runs of the model and of its symmetric code are the same, but tokens are those of the model.
    let of_symmetric = SearchPlan {
        program: &symmetric,
        symmetry,
        limits: plan.limits,
        jobs: plan.jobs,
        bounds: plan.bounds,
        first: plan.first,
        observe: plan.observe.clone(),
        ..SearchPlan::new(&symmetric)
    };
    let found = explore_symmetric(&of_symmetric, context)
        .ok_or_else(|| refused(&"some run makes an object, a list or a thread, or keeps the token of a fence"))?;
    let others = alike.refused.iter().map(|reason| {
        let line = model.source.place(reason.span.start).line;
        format!("{}: {} (line {line})", reason.message, reason.reason)
    });
    Ok((found, Renamed { threads: alike.threads.clone(), others: others.collect() }))
}
