//! Warnings about tasks that nothing runs and events that nothing enables, although the text names them: the code that
//! does is never reached.

use super::StaticsOptions;
use super::graph::{ContextKind, Graph};
use super::unfold::unfold;
use crate::base::Id;
use crate::lang::ast::{File, ItemKind};
use crate::lang::{Diagnostic, Program, Source};
use std::collections::BTreeSet;

/// Returns the warnings about tasks that nothing runs, and about events that nothing enables, in source order. Those
/// that a comment silences are left out. `file` is the tree of `source`. `programs` are its variants: code counts as
/// reached if it is in one of them.
#[must_use]
pub fn idle(file: &File, source: &Source, programs: &[&Program]) -> Vec<Diagnostic> {
    let graphs: Vec<(&Program, Graph)> =
        programs.iter().map(|program| (*program, unfold(program, &StaticsOptions::default()))).collect();
    let runs = graphs.iter().flat_map(|(program, graph)| {
        graph.runs.iter().filter_map(|body| program.bodies.get(body.index())).map(|body| body.name.as_str())
    });
    let runs: BTreeSet<&str> = runs.collect();
    let enabled = graphs.iter().flat_map(|(program, graph)| {
        let of = |kind| if let ContextKind::Firing(event) = kind { program.events.get(event.index()) } else { None };
        graph.contexts.iter().filter_map(move |context| of(context.kind)).map(|event| event.name.as_str())
    });
    let enabled: BTreeSet<&str> = enabled.collect();
    let warn = |item: &ItemKind| {
        let (name, message, does) = match item {
            ItemKind::Task { name, .. } if !runs.contains(name.text.as_str()) => {
                (name, format!("nothing runs the task `{}`", name.text), "posts, forks, calls or registers it")
            }
            ItemKind::Event { name, .. } if !enabled.contains(name.text.as_str()) => {
                (name, format!("nothing enables the event `{}`", name.text), "enables it")
            }
            _ => return None,
        };
        let reason =
            format!("no thread or task comes to code that {does}, whatever the `expect` lines set constants to");
        let help = "`// allow: unused` above it keeps it without this warning";
        Some(Diagnostic::new(name.at.0, message, reason).help(help).silenced_by("unused"))
    };
    let found = file.items.iter().filter_map(|item| warn(&item.kind));
    found.filter(|warning| !crate::lang::is_silenced(source, warning)).collect()
}
