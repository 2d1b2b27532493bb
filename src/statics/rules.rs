//! The rules of static executes-before, run to a fixpoint.
//!
//! Every rule concludes true facts from true facts, and the rules start from none. Then, in programs of moderate size
//! that wait for something, the rules are applied once more to all facts, true or not, until only those are left that
//! the rules uphold. Nothing proves itself by that: take a fact that is wrong in a run, and of all such facts and
//! instants the earliest one. A rule concludes it from facts about operations that were pending before, or from a fact
//! about the same instant whose violation comes earlier, and these are right. It orders what waits in a circle: two
//! threads that take turns, each by a flag of the other one.
//!
//! The names of the rules are those of `docs/static.md`.

use super::bits::Bits;
use super::facts::{Facts, Known};
use super::graph::{Context, ContextKind, Ctx, Node, NodeKind, Start, Sync};
use super::log::{Log, Rule};
use crate::base::mutant::{self, Mutant};
use crate::world::Time;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of passes over all contexts. Programs need two or three.
const MOST_PASSES: usize = 12;

/// Maximum number of passes over all contexts in which facts are taken away.
const MOST_SHRINKING: usize = 60;

/// Maximum number of contexts, and of places at which facts grow, for that.
const MOST_SHRUNK: usize = 2_000;

/// Maximum number of makers of a context that has several, for these to be compared one by one.
const MOST_MAKERS: usize = 8;

/// Maximum number of contexts with several makers for which that is done.
const MOST_MANY: usize = 64;

/// Maximum number of contexts times those with several makers that are compared with each of them.
const MOST_COMPARED: usize = 50_000;

/// Derives all facts. With `reasons`, the result has what each rule has added.
pub(super) fn derive(known: &mut Known, reasons: bool) -> Option<Log> {
    let most_many = MOST_MANY.min(MOST_COMPARED / known.graph.contexts.len().max(1));
    let contexts = || known.graph.ids().filter(|ctx| known.graph.context(*ctx).makers.len() > 1);
    let many: Vec<Ctx> =
        contexts().filter(|ctx| known.graph.context(*ctx).makers.len() <= MOST_MAKERS).take(most_many).collect();
    let log = reasons.then(Log::default);
    let mut pass = Pass { known, many, meets: BTreeMap::new(), log, explained: None };
    for _ in 0..MOST_PASSES {
        if !pass.run() {
            break;
        }
    }
    pass.shrink();
    pass.log
}

struct Pass<'k> {
    known: &'k mut Known,
    /// Contexts with several makers that are compared one by one.
    many: Vec<Ctx>,
    /// What is known where one of several nodes has happened, in this pass.
    meets: BTreeMap<Sync, Facts>,
    log: Option<Log>,
    /// The facts whose reasons the log has, if they are not the present ones.
    explained: Option<Vec<Facts>>,
}

/// The place that a rule is applied at.
#[derive(Clone, Copy)]
struct Here {
    ctx: Ctx,
    node: Node,
    /// The looper, if a task of it runs here.
    looper: Option<Ctx>,
    is_entry: bool,
}

impl Pass<'_> {
    // Replaces the facts by the greatest ones that the rules uphold, if that takes little time.
    fn shrink(&mut self) {
        let graph = &self.known.graph;
        let waits = !self.known.program.one_of.is_empty() || !self.known.program.all_of.is_empty();
        if !waits || graph.contexts.len() > MOST_SHRUNK || self.known.size() > MOST_SHRUNK {
            return;
        }
        let (log, least) = (self.log.take(), self.known.exchange(None));
        let is_stable = (0..MOST_SHRINKING).any(|_| !self.run());
        self.log = log;
        if !is_stable {
            self.known.exchange(Some(least));
        } else if self.log.is_some() {
            // What is added has the rules that uphold it as its reasons. The others stay as they are.
            self.explained = Some(least);
            self.run();
            self.explained = None;
        }
    }

    fn run(&mut self) -> bool {
        self.meets.clear();
        let mut grown = false;
        for ctx in self.known.graph.ids() {
            let looper = self.context(ctx).looper;
            for node in self.known.places(ctx) {
                let here = Here { ctx, node, looper, is_entry: node == self.context(ctx).entry() };
                let before = if here.is_entry { self.made(ctx) } else { self.known.before(node) };
                let mut facts = before.clone();
                match self.known.graph.node(node).kind {
                    NodeKind::Sync(sync) => {
                        self.by(here, Rule::Sync(sync), &mut facts, |pass, facts| pass.sync(here, sync, facts));
                    }
                    _ if here.is_entry => self.entry(here, &before, &mut facts),
                    _ => self.by(here, Rule::Ways(node), &mut facts, |pass, facts| {
                        let ends = pass.known.ways(node).unwrap_or_default();
                        facts.absorb(&pass.known.behind_one(ends));
                    }),
                }
                self.close(here, &before, &mut facts);
                grown |= self.known.set(node, facts, Some(&before));
            }
        }
        grown
    }

    fn context(&self, ctx: Ctx) -> &Context {
        self.known.graph.context(ctx)
    }

    /// MADE: what is behind all makers, and the makers.
    fn made(&self, ctx: Ctx) -> Facts {
        let makers = &self.context(ctx).makers;
        if makers.len() < 2 {
            return self.known.behind_one(makers);
        }
        // A maker below the context comes after a first begin of it, before which all of this already held.
        let first: Vec<Node> = makers.iter().copied().filter(|maker| !self.is_below(*maker, ctx)).collect();
        self.known.behind_one(&first)
    }

    // Whether every way to the node leads through a begin of the context.
    fn is_below(&self, node: Node, ctx: Ctx) -> bool {
        let mut at = self.known.graph.node(node).ctx;
        while at != ctx {
            match self.context(at).makers[..] {
                [maker] => at = self.known.graph.node(maker).ctx,
                _ => return false,
            }
        }
        true
    }

    // Applies a rule, and notes what it adds.
    fn by(&mut self, here: Here, rule: Rule, facts: &mut Facts, apply: impl FnOnce(&mut Self, &mut Facts)) {
        let before = self.log.is_some().then(|| facts.clone());
        apply(self, facts);
        if let (Some(log), Some(before)) = (&mut self.log, before) {
            let known = match &self.explained {
                Some(explained) => self.known.among(explained, here.node),
                None => self.known.at(here.node),
            };
            log.note(here.node, rule, (&before, known), facts);
        }
    }

    fn entry(&mut self, here: Here, made: &Facts, facts: &mut Facts) {
        self.by(here, Rule::Firings, facts, |pass, facts| pass.firings(here, made, facts));
        let Some(looper) = here.looper.filter(|_| self.begins_with_message(here.ctx)) else { return };
        if let Some(node) = self.known.program.loops.get(&looper).copied() {
            // LOOP: messages run where the thread runs them.
            self.by(here, Rule::Loop(node), facts, |pass, facts| facts.absorb(&pass.known.behind(node)));
        }
        self.by(here, Rule::Fifo, facts, |pass, facts| pass.fifo(here, looper, made, facts));
        // SURE: what is posted before for certain runs before. The last one knows the ends of those before it.
        let mut sure = self.sure(here, looper, made);
        while let Some(bit) = sure.without(&facts.ended).last() {
            let task = Ctx(bit as u32);
            if self.context(task).makers.len() == 1 {
                self.by(here, Rule::Sure(task), facts, |pass, facts| pass.end(task, facts));
            }
            sure.remove(bit);
        }
    }

    // Whether a context begins with a message, and not inside or behind another one.
    fn begins_with_message(&self, ctx: Ctx) -> bool {
        matches!(self.context(ctx).start, Start::Message | Start::Later)
    }

    /// FIRINGS: the k-th firing belongs to the k-th enable.
    fn firings(&self, here: Here, made: &Facts, facts: &mut Facts) {
        let context = self.context(here.ctx);
        if let ContextKind::Firing(event) = context.kind
            && context.unique
            && let Some(firings) = self.known.program.firings.get(&event)
        {
            Arc::make_mut(&mut facts.over).add_both(&made.posts, firings);
        }
    }

    // The tasks that the queue puts before a message like this one that is posted later.
    fn preceding(&self, here: Here, looper: Ctx) -> Option<&Bits> {
        self.known.program.preceding.get(&(looper, self.context(here.ctx).class?))
    }

    /// FIFO: the queue keeps the order of the posts.
    fn fifo(&self, here: Here, looper: Ctx, made: &Facts, facts: &mut Facts) {
        if let Some(preceding) = self.preceding(here, looper) {
            let over = Arc::make_mut(&mut facts.over);
            over.add_both(&made.posts, preceding);
            over.remove(here.ctx.0 as usize);
        }
    }

    // The tasks that are posted before for certain, that nothing removes, and that the queue puts before this one.
    fn sure(&self, here: Here, looper: Ctx, made: &Facts) -> Bits {
        let Some(preceding) = self.preceding(here, looper) else { return Bits::default() };
        let mut sure = made.must.and(preceding).and(&self.known.program.kept);
        sure.remove(here.ctx.0 as usize);
        sure
    }

    // Adds the end of a context that has ended for certain.
    fn end(&self, ctx: Ctx, facts: &mut Facts) {
        if let Some(exit) = self.context(ctx).exit {
            facts.absorb(&self.known.behind(exit));
        }
    }

    fn sync(&mut self, here: Here, sync: Sync, facts: &mut Facts) {
        match sync {
            Sync::Join(job) if self.context(job).kind == ContextKind::Job => {
                if self.context(job).unique
                    && let Some(family) = self.known.program.families.get(&job)
                {
                    Arc::make_mut(&mut facts.over).add_all(family);
                }
            }
            Sync::Called(job) => facts.absorb(&self.known.behind(self.context(job).entry())),
            Sync::Join(thread) => {
                let context = self.context(thread);
                let (entry, unique) = (context.entry(), context.unique);
                facts.absorb(&self.known.behind(entry));
                if !self.known.program.ends_anywhere {
                    self.end(thread, facts);
                }
                if unique && context.kind == ContextKind::Thread {
                    let over = Arc::make_mut(&mut facts.over);
                    over.add(thread.0 as usize);
                    self.known.program.on.get(&thread).into_iter().for_each(|on| over.add_all(on));
                }
            }
            Sync::LoopLeft => {
                if self.known.program.loops.contains_key(&here.ctx)
                    && let Some(on) = self.known.program.on.get(&here.ctx)
                {
                    Arc::make_mut(&mut facts.over).add_all(on);
                }
            }
            Sync::HasQuit(looper) => {
                let quits =
                    here.looper == Some(looper) && self.context(here.ctx).unique && self.begins_with_message(here.ctx);
                if quits
                    && self.known.program.quits_plainly
                    && let Some(dropped) = self.known.program.dropped.get(&looper)
                {
                    let mut dropped = dropped.clone();
                    dropped.remove(here.ctx.0 as usize);
                    Arc::make_mut(&mut facts.over).add_all(&dropped);
                }
            }
            Sync::Flag(..) | Sync::Down(_) | Sync::Woken(_) | Sync::Callback(..) => {
                if !self.meets.contains_key(&sync) {
                    let nodes = self.known.program.one_of.get(&sync).map_or(&[][..], Vec::as_slice);
                    self.meets.insert(sync, self.known.behind_one(nodes));
                }
                self.meets.get(&sync).into_iter().for_each(|meet| facts.absorb(meet));
            }
            Sync::Arrived(_) => {
                let nodes = self.known.program.all_of.get(&sync).map_or(&[][..], Vec::as_slice);
                nodes.iter().for_each(|node| facts.absorb(&self.known.behind(*node)));
            }
        }
    }

    // Applies the rules whose conclusions may be premises of each other.
    fn close(&mut self, here: Here, before: &Facts, facts: &mut Facts) {
        let me = here.ctx.0 as usize;
        let mut counted = before.over.clone();
        let mut ended = Bits::default();
        loop {
            let old = facts.clone();
            // What a context makes is made when it is over.
            for bit in facts.over.without(&counted).and(self.known.points.makers()).iter() {
                Arc::make_mut(&mut facts.posts).add_sparse(self.known.points.children(Ctx(bit as u32)));
            }
            counted = facts.over.clone();
            self.add_many(here, facts);
            if let Some(looper) = here.looper {
                self.by(here, Rule::Nopre, facts, |pass, facts| pass.nopre(here, looper, facts));
                self.by(here, Rule::Inside, facts, |pass, facts| pass.called(here, looper, facts));
                // ENDED: what has begun on this looper has come to its end.
                let open = |pass: &Self, facts: &Facts, ended: &Bits| {
                    pass.begun(here, looper, facts).without(&facts.ended).without(ended).last()
                };
                while let Some(bit) = open(self, facts, &ended) {
                    if !self.context(here.ctx).folded {
                        let task = Ctx(bit as u32);
                        self.by(here, Rule::Ended(task), facts, |pass, facts| pass.end(task, facts));
                    }
                    ended.add(bit);
                }
                if here.is_entry && self.begins_with_message(here.ctx) {
                    self.by(here, Rule::Front, facts, |pass, facts| pass.front(here, looper, facts));
                }
            }
            if mutant::is(Mutant::StaticWeakClosed) {
                for bit in old.over.iter() {
                    let entry = self.context(Ctx(bit as u32)).entry();
                    let over = self.known.at(entry).over.without(&std::iter::once(me).collect());
                    Arc::make_mut(&mut facts.over).add_all(&over);
                }
            }
            if *facts == old {
                return;
            }
        }
    }

    // The other tasks of this looper that have begun.
    fn begun(&self, here: Here, looper: Ctx, facts: &Facts) -> Bits {
        let Some(on) = self.known.program.on.get(&looper) else { return Bits::default() };
        self.outside(here, facts.begun.and(on))
    }

    // Returns the contexts that are not in the middle of an operation when this one runs.
    fn outside(&self, here: Here, mut others: Bits) -> Bits {
        others.remove(here.ctx.0 as usize);
        if !self.begins_with_message(here.ctx) {
            let around = self.known.graph.around_start(here.ctx);
            around.iter().for_each(|ctx| others.remove(ctx.0 as usize));
        }
        others
    }

    /// CALLED: what is launched to run at once is over, up to its first suspension, when its looper runs something
    /// else.
    fn called(&self, here: Here, looper: Ctx, facts: &mut Facts) {
        let Some(called) = self.known.program.called.get(&looper) else { return };
        let over = self.outside(here, facts.posts.and(called));
        Arc::make_mut(&mut facts.over).add_all(&over);
    }

    /// NOPRE: a task that has begun on this looper is over, since this one runs.
    fn nopre(&self, here: Here, looper: Ctx, facts: &mut Facts) {
        let begun = self.begun(here, looper, facts);
        let any = mutant::is(Mutant::StaticNopreOfMany);
        let over = if any { begun } else { begun.and(&self.known.program.unique) };
        Arc::make_mut(&mut facts.over).add_all(&over);
    }

    // Adds contexts with several makers all of which are past.
    fn add_many(&self, here: Here, facts: &mut Facts) {
        for ctx in &self.many {
            let bit = ctx.0 as usize;
            let past = |maker: &Node| {
                let at = self.known.graph.node(*maker).ctx;
                facts.over.has(at.0 as usize) || (at != here.ctx && self.known.is_past_before(*maker, here.node))
            };
            if !facts.posts.has(bit) && self.context(*ctx).makers.iter().all(past) {
                Arc::make_mut(&mut facts.posts).add(bit);
            }
        }
    }

    /// FRONT: what was posted at the front before this message begins goes first.
    fn front(&self, here: Here, looper: Ctx, facts: &mut Facts) {
        let Some(front) = self.known.program.front.get(&looper) else { return };
        let Some(class) = self.context(here.ctx).class else { return };
        let mut first = match mutant::is(Mutant::StaticFrontAtAnyTime) {
            true => front.clone(),
            false => facts.posts.and(front),
        };
        first.remove(here.ctx.0 as usize);
        let is_micro = |bit: usize| self.known.graph.contexts[bit].class.is_some_and(|c| c.time == Time::Micro);
        match class.time {
            Time::Micro | Time::Idle => {}
            // Last in, first out: of two at the front the later post goes first.
            Time::Front => {
                for bit in first.iter() {
                    let makers = &self.context(Ctx(bit as u32)).makers;
                    let mine = &self.context(here.ctx).makers;
                    let later = |theirs: &Node| mine.iter().all(|mine| self.known.is_past_before(*mine, *theirs));
                    if is_micro(bit) || makers.iter().all(later) {
                        Arc::make_mut(&mut facts.over).add(bit);
                    }
                }
            }
            Time::Delay(_) | Time::At(_) => Arc::make_mut(&mut facts.over).add_all(&first),
        }
    }
}
