//! What makes contexts: forks, posts, enables.

use super::super::graph::{Context, ContextKind, Ctx, NodeKind, Start, Sync, Val};
use super::state::State;
use super::{MOST_CLONES, Unfolder};
use crate::event::{BodyId, EventId, PostTime, SiteId};
use crate::lang::program::{Expr, ExprKind, LaunchParentExpr, LaunchPlaceExpr, NO_SITE, PostTimeExpr, Type};
use crate::world::{PostClass, Time};

/// A launch.
pub(super) struct Launch<'p> {
    pub(super) body: BodyId,
    pub(super) args: &'p [Expr],
    pub(super) place: &'p LaunchPlaceExpr,
    pub(super) parent: &'p LaunchParentExpr,
}

/// A context to be made.
pub(super) struct Made {
    pub(super) kind: ContextKind,
    pub(super) body: Option<BodyId>,
    pub(super) args: Vec<Val>,
    pub(super) looper: Option<Ctx>,
    pub(super) class: Option<PostClass>,
    pub(super) returns: bool,
    pub(super) loops: bool,
    pub(super) start: Start,
    pub(super) belongs: bool,
}

impl Made {
    pub(super) fn new(kind: ContextKind, body: Option<BodyId>, args: Vec<Val>) -> Self {
        let (start, belongs) = (Start::Message, false);
        Self { kind, body, args, looper: None, class: None, returns: false, loops: false, start, belongs }
    }
}

impl<'p> Unfolder<'p> {
    /// Adds a node that makes a context, and the context, unless it is one that exists already.
    pub(super) fn make(&mut self, made: Made, site: SiteId, state: &mut State) -> Option<Ctx> {
        state.node?;
        let ctx = self.context_for(made);
        let node = self.emit(state, NodeKind::Make(ctx), site)?;
        let makers = &mut self.graph.contexts[ctx.0 as usize].makers;
        let is_new = makers.is_empty();
        makers.push(node);
        let children = &mut self.graph.contexts[self.ctx.0 as usize].children;
        if is_new || !children.contains(&ctx) {
            children.push(ctx);
        }
        Some(ctx)
    }

    fn context_for(&mut self, mut made: Made) -> Ctx {
        let cut = self.is_full();
        if !cut && !self.recurs(&made) {
            return self.add(made, false);
        }
        self.graph.is_cut |= cut;
        // Nothing is known of the arguments of a folded context, as it stands for many.
        made.args = vec![Val::Unknown; made.args.len()];
        // Nor of the parts of a folded job.
        if self.graph.contexts.len() > 2 * self.options.contexts || made.kind == ContextKind::Job {
            (made.looper, made.class) = (None, None);
        }
        let key = (made.kind, made.body, made.looper, made.class);
        if let Some(ctx) = self.folded_here(&key, cut) {
            self.graph.contexts[ctx.0 as usize].returns |= made.returns;
            return ctx;
        }
        let ctx = self.add(made, true);
        if cut {
            self.folded.insert(key, ctx);
        }
        ctx
    }

    /// Returns whether a context above runs the same body, so that this one is not unfolded.
    fn recurs(&self, made: &Made) -> bool {
        let Some(body) = made.body.filter(|body| self.of_body.contains_key(body)) else { return false };
        let known = made.args.iter().all(|arg| *arg != Val::Unknown);
        let mut above = 0;
        for context in self.pedigree().map(|ctx| self.graph.context(ctx)) {
            if context.body == Some(body) && context.kind == made.kind {
                above += 1;
                if !known || context.args == made.args || above >= MOST_CLONES {
                    return true;
                }
            }
        }
        false
    }

    /// Returns the folded context that this one is a part of.
    fn folded_here(&self, key: &super::FoldKey, cut: bool) -> Option<Ctx> {
        if cut {
            return self.folded.get(key).copied();
        }
        self.pedigree().find(|ctx| {
            let context = self.graph.context(*ctx);
            context.folded && (context.kind, context.body, context.looper, context.class) == *key
        })
    }

    /// Iterates over the present context and its makers.
    fn pedigree(&self) -> impl Iterator<Item = Ctx> + '_ {
        std::iter::successors(Some(self.ctx), |ctx| {
            self.graph.context(*ctx).makers.first().map(|maker| self.graph.node(*maker).ctx)
        })
    }

    pub(super) fn add(&mut self, made: Made, folded: bool) -> Ctx {
        let Made { kind, body, args, looper, class, returns, loops, start, belongs } = made;
        let ctx = Ctx(self.graph.contexts.len() as u32);
        let (makers, nodes, children) = (Vec::new(), 0..0, Vec::new());
        let (unique, exit) = (false, None);
        self.graph.contexts.push(Context {
            kind,
            start,
            whole: ctx,
            belongs,
            body,
            args,
            makers,
            looper,
            class,
            returns,
            loops,
            folded,
            unique,
            nodes,
            exit,
            children,
        });
        if let Some(body) = body {
            self.of_body.entry(body).or_default().push(ctx);
        }
        ctx
    }

    /// Walks a launch, and returns the job.
    pub(super) fn launch(&mut self, launch: Launch<'p>, site: SiteId, state: &mut State) -> Val {
        let Launch { body, args, place, parent } = launch;
        let args = self.args(args, state);
        let here = self.graph.context(self.ctx);
        let (kind, own) = (here.kind, here.looper);
        // In a job that goes to other loopers nothing is known of the place.
        let own = own.filter(|_| kind != ContextKind::Job || !self.switches);
        let (start, looper) = match place {
            LaunchPlaceExpr::On(to) => {
                let looper = self.expr(to, state).looper().filter(|_| to.ty != Type::Pool);
                (Start::Message, looper)
            }
            LaunchPlaceExpr::Here if kind == ContextKind::Thread => (Start::Message, Some(self.ctx)),
            LaunchPlaceExpr::Here => (Start::Message, own),
            LaunchPlaceExpr::Now => (Start::Called, own),
        };
        if let LaunchParentExpr::In(job) = parent {
            self.expr(job, state);
        }
        let belongs = matches!(parent, LaunchParentExpr::Caller) && kind == ContextKind::Job;
        let class = (start == Start::Message).then_some(PostClass { time: Time::Delay(0), is_async: true });
        let class = class.filter(|_| looper.is_some());
        let made = Made { start, looper, class, belongs, ..Made::new(ContextKind::Job, Some(body), args) };
        let Some(ctx) = self.make(made, site, state) else { return Val::Unknown };
        if start == Start::Called {
            self.emit(state, NodeKind::Sync(Sync::Called(ctx)), NO_SITE);
        }
        if belongs {
            self.note_child(ctx);
        }
        Val::Thread(ctx, false)
    }

    /// Walks a post.
    pub(super) fn post(&mut self, e: &'p Expr, state: &mut State) -> Val {
        let ExprKind::Post { body, args, target, time, is_async, options, site, .. } = &e.kind else {
            return Val::Unknown;
        };
        let args = self.args(args, state);
        let to = self.expr(target, state);
        let time = match time {
            PostTimeExpr::Now => Some(PostTime::Now),
            PostTimeExpr::After(delay) => self.expr(delay, state).word().map(PostTime::After),
            PostTimeExpr::Front => Some(PostTime::Front),
            PostTimeExpr::At(instant) => self.expr(instant, state).word().map(PostTime::At),
            PostTimeExpr::Micro => Some(PostTime::Micro),
            PostTimeExpr::Idle { keep } => Some(PostTime::Idle { keep: *keep }),
            PostTimeExpr::OrNow(_) => None,
        };
        options.with.iter().chain(&options.every).for_each(|e| self.evaluate(e, state));
        let returns = options.every.is_some() || matches!(time, Some(PostTime::Idle { keep: true }));
        // A call inside the poster is no message: no rule of queues names it.
        let is_call = matches!(e.kind, ExprKind::Post { time: PostTimeExpr::OrNow(_), .. });
        let looper = to.looper().filter(|_| !is_call && target.ty != Type::Pool);
        let class = time.filter(|_| !returns).map(|time| PostClass { time: Time::of(time), is_async: *is_async });
        let made = Made { looper, class, returns, ..Made::new(ContextKind::Task, Some(*body), args) };
        self.make(made, *site, state);
        Val::Unknown
    }

    /// Adds the firing that an `enable` allows.
    pub(super) fn enable(&mut self, event: EventId, args: Vec<Val>, site: SiteId, state: &mut State) -> Option<Ctx> {
        let def = self.program.events.get(event.0 as usize)?;
        let looper = self.threads.get(def.looper).copied().flatten();
        let class = Some(PostClass { time: Time::Delay(0), is_async: false });
        let made = Made { looper, class, ..Made::new(ContextKind::Firing(event), Some(def.body), args) };
        self.make(made, site, state)
    }
}
