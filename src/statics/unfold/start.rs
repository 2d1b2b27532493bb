//! The begin of a program: what `init` writes, what starts with the app, and the walk of a context.

use super::super::graph::{APP, ContextKind, Ctx, NodeKind, Place, Start, Sync, Val};
use super::Unfolder;
use super::makers::Made;
use super::state::State;
use crate::base::Id;
use crate::event::EventId;
use crate::lang::program::{Init, NO_SITE};
use crate::world::{PostClass, Time};
use std::collections::BTreeSet;

/// Maximum number of firings that are unfolded one by one of those that an event has from the start.
const MOST_FIRST_FIRINGS: u32 = 16;

impl<'p> Unfolder<'p> {
    /// Notes the first values of globals, and which of them `init` writes.
    pub(super) fn init(&mut self) {
        let mut threads = (1..).map(Ctx);
        let workers: BTreeSet<usize> =
            self.program.pools.iter().flat_map(|pool| pool.first..pool.first + pool.workers as usize).collect();
        let count = 0..self.program.threads.len();
        self.threads = count.map(|i| if workers.contains(&i) { None } else { threads.next() }).collect();
        for (id, global) in self.program.globals.enumerate() {
            if let ([Init::Word(word)], 1) = (&global.init[..], global.cells) {
                self.give(id, self.word(*word, &global.ty));
            }
        }
        let Some(body) = self.program.init else { return };
        let start = self.node(NodeKind::Plain, NO_SITE);
        let mut state = State { node: Some(start), locals: Vec::new() };
        self.inline(body, Vec::new(), &mut state);
        self.walk_copies();
        let written =
            self.graph.accesses.iter().filter(|access| access.writes).filter_map(|access| match access.place {
                Place::Global { id, .. } => Some(id),
                _ => None,
            });
        self.graph.init_writes = written.collect();
        self.graph.nodes.clear();
        self.graph.succ.clear();
        self.graph.accesses.clear();
    }

    /// Makes the context of the app: the threads that start with it, the first firings, the rows of components.
    pub(super) fn app(&mut self) {
        self.add(Made::new(ContextKind::App, None, Vec::new()), false);
        let start = self.node(NodeKind::Plain, NO_SITE);
        let mut state = State { node: Some(start), locals: Vec::new() };
        // The numbers of threads are known before, so that places can name them.
        let mut threads = Vec::new();
        for (thread, ctx) in self.program.threads.iter().zip(&self.threads.clone()) {
            if ctx.is_some() {
                let args = thread.arg.map(Val::Word).into_iter().collect();
                let made = Made { loops: thread.looper, ..Made::new(ContextKind::Thread, thread.body, args) };
                threads.push(self.add(made, false));
            }
        }
        // What events have from the start comes before all that threads enable.
        for (id, event) in self.program.events.enumerate().filter(|(_, event)| event.row.is_none()) {
            if event.initially > MOST_FIRST_FIRINGS {
                self.first_firings(id, &mut state);
            } else {
                for _ in 0..event.initially {
                    self.enable(id, Vec::new(), NO_SITE, &mut state);
                }
            }
        }
        for ctx in threads {
            self.start(ctx, &mut state);
        }
        for event in self.program.events.iter().filter(|event| event.row.is_some()) {
            let params = self.program.bodies.get(event.body.0 as usize).map_or(0, |body| body.params);
            let made = Made::new(ContextKind::Row, Some(event.body), vec![Val::Unknown; params as usize]);
            // The platform posts it some time, any number of times.
            let looper = self.threads.get(event.looper).copied().flatten();
            let class = looper.map(|_| PostClass { time: Time::Delay(0), is_async: false });
            let ctx = self.add(Made { looper, class, start: Start::Later, returns: true, ..made }, false);
            self.start(ctx, &mut state);
        }
        self.finish(APP, &mut state);
        self.graph.contexts[APP.0 as usize].unique = true;
    }

    /// Makes one context that stands for all first firings of an event.
    fn first_firings(&mut self, event: EventId, state: &mut State) {
        if let Some(ctx) = self.enable(event, Vec::new(), NO_SITE, state) {
            self.graph.contexts[ctx.index()].returns = true;
        }
    }

    // What starts with the app is never folded.
    fn start(&mut self, ctx: Ctx, state: &mut State) {
        if let Some(node) = self.emit(state, NodeKind::Make(ctx), NO_SITE) {
            self.graph.contexts[ctx.index()].makers.push(node);
            self.graph.contexts[APP.index()].children.push(ctx);
        }
    }

    /// Walks the body of a context.
    pub(super) fn walk(&mut self, ctx: Ctx) {
        self.ctx = ctx;
        let context = self.graph.context(ctx);
        let (kind, body, args, loops) = (context.kind, context.body, context.args.clone(), context.loops);
        self.this = match kind {
            ContextKind::Thread => Val::Thread(ctx, false),
            ContextKind::Job if self.switches => Val::Unknown,
            _ => context.looper.map_or(Val::Unknown, |looper| Val::Thread(looper, false)),
        };
        let start = self.node(NodeKind::Plain, NO_SITE);
        self.graph.contexts[ctx.index()].nodes.start = start.0;
        let mut state = State { node: Some(start), locals: Vec::new() };
        if let Some(body) = body {
            self.inline(body, args, &mut state);
        }
        if loops {
            self.emit(&mut state, NodeKind::LoopQueue, NO_SITE);
            self.emit(&mut state, NodeKind::Sync(Sync::LoopLeft), NO_SITE);
        }
        self.finish(ctx, &mut state);
        self.walk_copies();
        self.graph.contexts[ctx.index()].nodes.end = self.graph.nodes.len() as u32;
    }

    fn finish(&mut self, ctx: Ctx, state: &mut State) {
        let exit = self.mark(state);
        let end = self.graph.nodes.len() as u32;
        let context = &mut self.graph.contexts[ctx.index()];
        context.exit = exit;
        context.nodes.end = end;
    }
}
