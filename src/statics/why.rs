//! Reasons of claims, as sentences that a reader can check against the model.
//!
//! A reason is read backwards from the log of the rules: the step that has added a fact, then what that step rested on.
//! A fact that no step has added at its place was inherited, from the node that makes the context or from a node that
//! is on every way to it.

use super::facts::{Facts, Known};
use super::graph::{Ctx, Node, Sync, TestOp};
use super::log::{Log, Rule};
use super::names::{self, Names};
use super::pairs::{Relation, relation};
use super::{SitesClaim, Statics};
use crate::base::IndexVec;
use crate::event::{BodyId, Site, SiteId};
use crate::world::Time;
use std::collections::BTreeSet;

/// Maximum number of sentences of a reason.
const MOST_SENTENCES: usize = 16;

impl Statics {
    /// Returns the reason of what is claimed of two sites: of [`SitesClaim::Ordered`] and the like why they are in
    /// order, of the others which two contexts nothing orders. Empty if reasons were not asked for.
    #[must_use]
    pub fn why(&self, a: SiteId, b: SiteId) -> Vec<String> {
        let (a, b) = (a.min(b), a.max(b));
        let pair = self.compare(a, b, &self.locks);
        let Some(log) = &self.log else { return Vec::new() };
        let Some((x, y)) = pair.example else {
            return vec!["no two threads or tasks access one location by these two statements".to_owned()];
        };
        let mut why = Why::new(&self.known, &self.sites, &self.names, log);
        match pair.claim {
            SitesClaim::OrderOnly => {
                let sentence = format!("nothing orders {} and {}, which run on one looper", why.of(x), why.of(y));
                why.sentences.push(sentence);
            }
            SitesClaim::Locked => {
                let sentence =
                    format!("nothing orders {} and {}, but a common lock protects both", why.of(x), why.of(y));
                why.sentences.push(sentence);
            }
            SitesClaim::MayRace => {
                let sentence =
                    format!("nothing orders {} and {}, and no common lock protects them", why.of(x), why.of(y));
                why.sentences.push(sentence);
            }
            _ => match relation(&self.known, &self.locks, x, y) {
                Relation::After => why.past(y, x),
                _ => why.past(x, y),
            },
        }
        why.sentences
    }

    /// Returns the reason why all contexts of one body are over when one of another body begins, for their first ones.
    #[must_use]
    pub fn why_bodies(&self, first: BodyId, then: BodyId) -> Vec<String> {
        let Some(log) = &self.log else { return Vec::new() };
        let graph = &self.known.graph;
        let found = self
            .contexts_of(first)
            .iter()
            .flat_map(|a| self.contexts_of(then).iter().map(move |b| (*a, graph.context(*b).entry())));
        let mut found = found.filter(|(a, entry)| self.known.at(*entry).over.has(a.0 as usize));
        let Some((ctx, entry)) = found.next() else { return Vec::new() };
        let mut why = Why::new(&self.known, &self.sites, &self.names, log);
        why.over(ctx, entry);
        why.sentences
    }
}

struct Why<'s> {
    known: &'s Known,
    sites: &'s IndexVec<SiteId, Site>,
    names: &'s Names,
    log: &'s Log,
    /// What is explained already.
    seen: BTreeSet<(u8, u32, Node)>,
    sentences: Vec<String>,
}

impl<'s> Why<'s> {
    fn new(known: &'s Known, sites: &'s IndexVec<SiteId, Site>, names: &'s Names, log: &'s Log) -> Self {
        Self { known, sites, names, log, seen: BTreeSet::new(), sentences: Vec::new() }
    }

    fn say(&mut self, sentence: String) {
        if self.sentences.len() < MOST_SENTENCES {
            self.sentences.push(sentence);
        }
    }

    // Whether something is to be explained for the first time.
    fn is_new(&mut self, what: u8, of: u32, at: Node) -> bool {
        self.sentences.len() < MOST_SENTENCES && self.seen.insert((what, of, at))
    }

    fn name(&self, ctx: Ctx) -> &'s str {
        self.names.context(ctx)
    }

    fn line(&self, node: Node) -> String {
        let above = std::iter::successors(Some(node), |node| self.known.flow.idom(*node));
        names::at(self.sites, &self.known.graph, above)
    }

    /// `:12 of onCreate`
    fn of(&self, node: Node) -> String {
        format!("{} of {}", self.line(node), self.name(self.known.graph.node(node).ctx))
    }

    /// `onCreate begins`, `:12 of env`
    fn place(&self, node: Node) -> String {
        let ctx = self.known.graph.node(node).ctx;
        if node == self.known.graph.context(ctx).entry() {
            return format!("{} begins", self.name(ctx));
        }
        format!("{} goes on behind {}", self.name(ctx), self.line(node))
    }

    fn lines(&self, nodes: &[Node]) -> String {
        let shown: Vec<String> = nodes.iter().take(4).map(|node| self.line(*node)).collect();
        let more = if nodes.len() > 4 { ", .." } else { "" };
        format!("{}{more}", shown.join(", "))
    }

    /// Explains W.
    fn past(&mut self, x: Node, y: Node) {
        let graph = &self.known.graph;
        let (a, b) = (graph.node(x).ctx, graph.node(y).ctx);
        if !self.is_new(0, x.0, y) {
            return;
        }
        if a == b {
            return self.say(format!("{} comes before {} there, and never after it", self.of(x), self.line(y)));
        }
        let facts = self.known.at(y);
        if facts.over.has(a.0 as usize) {
            return self.over(a, self.known.place_of(y));
        }
        if graph.context(a).unique {
            let points = self.known.points.past(graph, &self.known.flow, x, &facts.must);
            if let Some(point) = points.last() {
                self.say(format!(
                    "{} cannot come after {}, which is behind {}",
                    self.of(x),
                    self.line(*point),
                    self.of(y)
                ));
                return self.must(*point, self.known.place_of(y));
            }
        }
        self.say(format!("no run has both {} and {}: the ways to them part", self.of(x), self.of(y)));
    }

    /// Explains why a context is over at a place.
    fn over(&mut self, ctx: Ctx, at: Node) {
        if !self.is_new(1, ctx.0, at) {
            return;
        }
        let step = self.log.at(at).iter().find(|step| step.added.over.has(ctx.0 as usize));
        let Some(step) = step else { return self.inherited(at, |why, at| why.over(ctx, at)) };
        let head = format!("{} is over before {}", self.name(ctx), self.place(at));
        let (graph, here) = (&self.known.graph, self.known.graph.node(at).ctx);
        let maker = graph.context(ctx).makers.first().copied();
        let mine = graph.context(here).makers.first().copied();
        let looper = graph.context(here).looper.map_or("", |looper| self.name(looper));
        match step.rule {
            Rule::Fifo => {
                let (first, then) = (names::time(graph, ctx), names::time(graph, here));
                let how = if first == then { format!("both {first}") } else { format!("{first} and {then}") };
                let (first, then) = (maker.map(|m| self.line(m)), mine.map(|m| self.line(m)));
                let (first, then) = (first.unwrap_or_default(), then.unwrap_or_default());
                self.say(format!("{head}: they are posted to {looper} in this order, {how} (FIFO, {first} {then})"));
                self.makers(maker, mine);
            }
            Rule::Firings => {
                self.say(format!("{head}: the firings of an event have the order of its enables (FIRINGS)"));
                self.makers(maker, mine);
            }
            Rule::Nopre => {
                self.say(format!("{head}: it has begun before, and {looper} runs one task at a time (NOPRE)"));
                self.begun(ctx, at);
            }
            Rule::Inside => {
                self.say(format!("{head}: it runs inside the launch, up to its first suspension (CALLED)"));
                self.makers(maker, Some(at));
            }
            Rule::Front if graph.context(ctx).class.is_some_and(|class| class.time == Time::Micro) => {
                self.say(format!("{head}: it is a microtask, which {looper} runs before its next message (FRONT)"));
                self.makers(maker, Some(at));
            }
            Rule::Front => {
                self.say(format!("{head}: it is posted at the front of {looper} before that (FRONT)"));
                self.makers(maker, Some(at));
            }
            rule => {
                self.say(format!("{head}: {}", self.because(rule, at)));
                let over = |facts: &Facts| facts.over.has(ctx.0 as usize);
                self.sources(rule, over, |why, node| {
                    if why.known.graph.node(node).ctx != ctx {
                        why.over(ctx, why.known.place_of(node));
                    }
                });
            }
        }
    }

    // Explains why the maker of one context is past before that of another one.
    fn makers(&mut self, first: Option<Node>, then: Option<Node>) {
        if let (Some(first), Some(then)) = (first, then)
            && self.known.graph.node(first).ctx != self.known.graph.node(then).ctx
        {
            self.past(first, then);
        }
    }

    /// Explains why a context has begun before a place.
    fn begun(&mut self, ctx: Ctx, at: Node) {
        if !self.is_new(2, ctx.0, at) {
            return;
        }
        let has = |facts: &Facts| facts.begun.has(ctx.0 as usize);
        match self.log.at(at).iter().find(|step| has(&step.added)) {
            None => self.inherited(at, |why, at| {
                if why.known.graph.node(at).ctx != ctx {
                    why.begun(ctx, at);
                }
            }),
            Some(step) => self.behind(step.rule, at, has, |why, node| {
                if why.known.graph.node(node).ctx != ctx {
                    why.begun(ctx, why.known.place_of(node));
                }
            }),
        }
    }

    /// Explains why a point is behind a place.
    fn must(&mut self, point: Node, at: Node) {
        let Some(number) = self.known.points.number(point) else { return };
        if !self.is_new(3, number as u32, at) {
            return;
        }
        let has = |facts: &Facts| facts.must.has(number);
        let ctx = self.known.graph.node(point).ctx;
        match self.log.at(at).iter().find(|step| has(&step.added)) {
            None => self.inherited(at, |why, at| {
                if why.known.graph.node(at).ctx != ctx {
                    why.must(point, at);
                }
            }),
            Some(step) => self.behind(step.rule, at, has, |why, node| {
                if why.known.graph.node(node).ctx != ctx {
                    why.must(point, why.known.place_of(node));
                }
            }),
        }
    }

    // Says by which rule something is behind a place, and explains the rest at the nodes that the rule names.
    fn behind(&mut self, rule: Rule, at: Node, has: impl Fn(&Facts) -> bool, then: impl FnMut(&mut Self, Node)) {
        self.say(format!("before {}, {}", self.place(at), self.because(rule, at)));
        self.sources(rule, has, then);
    }

    // Goes on at the place from which the facts of this one come.
    fn inherited(&mut self, at: Node, mut then: impl FnMut(&mut Self, Node)) {
        let ctx = self.known.graph.node(at).ctx;
        if let Some(up) = self.known.flow.idom(at) {
            return then(self, self.known.place_of(up));
        }
        let makers = &self.known.graph.context(ctx).makers;
        for maker in makers.iter().take(2) {
            self.say(format!("{} is made by {} (MADE)", self.name(ctx), self.of(*maker)));
            then(self, self.known.place_of(*maker));
        }
    }

    // The reason in words of a rule that takes over what is known elsewhere.
    fn because(&self, rule: Rule, at: Node) -> String {
        let looper = self.known.graph.context(self.known.graph.node(at).ctx).looper.map_or("", |ctx| self.name(ctx));
        let sources = || self.known.program.one_of.get(&sync_of(rule)).map_or(&[][..], Vec::as_slice);
        match rule {
            Rule::Ended(task) => {
                format!("{} has begun before, so it has come to its end on {looper} (ENDED)", self.name(task))
            }
            Rule::Sure(task) => {
                let maker = self.known.graph.context(task).makers.first().map(|maker| self.line(*maker));
                let maker = maker.unwrap_or_default();
                format!(
                    "{} is posted to {looper} before for certain, and has run first (SURE, {maker})",
                    self.name(task)
                )
            }
            Rule::Loop(node) => format!("{looper} runs its messages from {} on (LOOP)", self.line(node)),
            Rule::Sync(Sync::Called(job)) => {
                format!("{} has run up to its first suspension (CALLED, {})", self.name(job), self.line(at))
            }
            Rule::Sync(Sync::Join(thread)) => {
                format!("{} has been joined (JOIN, {})", self.name(thread), self.line(at))
            }
            Rule::Sync(Sync::LoopLeft) => format!("its messages run before that (LOOP, {})", self.line(at)),
            Rule::Sync(Sync::HasQuit(thread)) => {
                format!("{} has quit, and begins nothing more (QUIT, {})", self.name(thread), self.line(at))
            }
            Rule::Ways(_) => "all ways that lead there know of it (WAYS)".to_owned(),
            Rule::Sync(sync @ Sync::Flag(test, _)) => {
                let op = match (test.op, test.wanted) {
                    (TestOp::Eq, true) => "==",
                    (TestOp::Eq, false) => "!=",
                    (TestOp::Lt, true) => "<",
                    (TestOp::Lt, false) => ">=",
                    (TestOp::Gt, true) => ">",
                    (TestOp::Gt, false) => "<=",
                };
                let (name, value) = (self.names.cell(test.global, test.cell), test.constant);
                let writers = self.known.program.writers.get(&sync).map_or(&[][..], Vec::as_slice);
                let left = if writers == sources() { "" } else { ", and the lock around that is free again" };
                format!("`{name} {op} {value}` holds, which only {} can bring about{left} (FLAG)", self.lines(writers))
            }
            Rule::Sync(Sync::Down(_)) => format!("a permit has come from {} (UP)", self.lines(sources())),
            Rule::Sync(Sync::Woken(_)) => {
                format!("it was notified by {} (NOTIFY)", self.lines(sources()))
            }
            Rule::Sync(Sync::Callback(..)) => format!("it was registered by {} (REGISTER)", self.lines(sources())),
            Rule::Sync(Sync::Arrived(_)) => "all have arrived at the barrier (BARRIER)".to_owned(),
            Rule::Fifo | Rule::Firings | Rule::Nopre | Rule::Inside | Rule::Front => String::new(),
        }
    }

    // Calls `then` with the nodes from which a rule takes what is known, as far as they have it.
    fn sources(&mut self, rule: Rule, has: impl Fn(&Facts) -> bool, mut then: impl FnMut(&mut Self, Node)) {
        let graph = &self.known.graph;
        let nodes: Vec<Node> = match rule {
            Rule::Ended(task) | Rule::Sure(task) => graph.context(task).exit.into_iter().collect(),
            Rule::Loop(node) => vec![node],
            Rule::Sync(Sync::Called(job)) => vec![graph.context(job).entry()],
            Rule::Ways(node) => self.known.ways(node).unwrap_or_default().to_vec(),
            Rule::Sync(Sync::Join(thread)) => graph.context(thread).exit.into_iter().collect(),
            Rule::Sync(sync @ Sync::Arrived(_)) => self.known.program.all_of.get(&sync).cloned().unwrap_or_default(),
            Rule::Sync(sync) => self.known.program.one_of.get(&sync).cloned().unwrap_or_default(),
            _ => Vec::new(),
        };
        for node in nodes.into_iter().filter(|node| has(self.known.at(*node))).take(3) {
            then(self, node);
        }
    }
}

fn sync_of(rule: Rule) -> Sync {
    if let Rule::Sync(sync) = rule { sync } else { Sync::LoopLeft }
}
