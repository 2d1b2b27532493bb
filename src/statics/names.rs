//! Names of contexts and nodes in sentences.

use super::graph::{ContextKind, Ctx, Graph, Node};
use crate::base::{Id, IndexVec};
use crate::event::{Site, SiteId};
use crate::lang::Program;
use crate::world::Time;
use std::collections::BTreeMap;

/// Names of what a program contains.
#[derive(Debug)]
pub(super) struct Names {
    contexts: Vec<String>,
    /// The names of globals, and whether they have several cells.
    globals: Vec<(String, bool)>,
}

impl Names {
    pub(super) fn of(program: &Program, graph: &Graph) -> Self {
        let mut declared = program.threads.iter().enumerate().filter(|(i, _)| {
            !program.pools.iter().any(|pool| (pool.first..pool.first + pool.workers as usize).contains(i))
        });
        let plain = |ctx: Ctx| {
            let context = graph.context(ctx);
            let from_start = context.kind == ContextKind::Thread
                && context.makers.first().is_some_and(|maker| graph.node(*maker).ctx == super::graph::APP);
            if from_start && let Some((_, thread)) = declared.next() {
                return thread.name.clone();
            }
            let part = if context.whole == ctx { "" } else { ", continued," };
            let body = context.body.and_then(|body| program.bodies.get(body.index()));
            body.map_or_else(|| "the looper".to_owned(), |body| format!("{}{part}", body.name))
        };
        let mut contexts: Vec<String> = graph.ids().map(plain).collect();
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        contexts.iter().for_each(|name| *counts.entry(name.clone()).or_default() += 1);
        for (i, name) in contexts.iter_mut().enumerate() {
            let spawned = graph.contexts[i].body.is_none() && i > 0;
            let is_part = graph.contexts[i].whole.0 as usize != i;
            if (counts.get(name).is_some_and(|count| *count > 1) || spawned || is_part)
                && let Some(line) =
                    graph.contexts[i].makers.first().and_then(|maker| line(program, graph.node(*maker).site))
            {
                name.push_str(&format!(" of :{line}"));
            }
        }
        if let Some(app) = contexts.first_mut() {
            *app = "the app".to_owned();
        }
        Self {
            contexts,
            globals: program.globals.iter().map(|global| (global.name.clone(), global.cells > 1)).collect(),
        }
    }

    pub(super) fn context(&self, ctx: Ctx) -> &str {
        self.contexts.get(ctx.0 as usize).map_or("", String::as_str)
    }

    /// `ready`, or `ready[2]` if the global has several cells, which are numbered row by row.
    pub(super) fn cell(&self, id: crate::event::GlobalId, cell: i64) -> String {
        match self.globals.get(id.index()) {
            Some((name, true)) => format!("{name}[{cell}]"),
            Some((name, false)) => name.clone(),
            None => String::new(),
        }
    }
}

fn line(program: &Program, site: SiteId) -> Option<u32> {
    program.sites.get(site.index()).map(|site| site.line)
}

/// Returns the place of a node: `:12`, or of a node without a site that of the next one above it.
pub(super) fn at(sites: &IndexVec<SiteId, Site>, graph: &Graph, mut above: impl Iterator<Item = Node>) -> String {
    let found = above.find_map(|node| sites.get(graph.node(node).site.index()));
    found.map_or_else(|| "the start".to_owned(), |site| format!(":{}", site.line))
}

/// Returns how the message of a context is posted: `without delay`, `at the front`.
pub(super) fn time(graph: &Graph, ctx: Ctx) -> String {
    let context = graph.context(ctx);
    match context.class.map(|class| class.time) {
        _ if matches!(context.kind, ContextKind::Firing(_)) => "as a firing".to_owned(),
        None => "at some time".to_owned(),
        Some(Time::Delay(0)) => "without delay".to_owned(),
        Some(Time::Delay(d)) => format!("after {d} ms"),
        Some(Time::At(t)) => format!("at instant {t}"),
        Some(Time::Front) => "at the front".to_owned(),
        Some(Time::Micro) => "as a microtask".to_owned(),
        Some(Time::Idle) => "as an idle handler".to_owned(),
    }
}
