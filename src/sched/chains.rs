//! Chains of threads and tasks, built online: each context is before the next one of its chain in every run that has
//! both (Ozkan et al., OOPSLA 2018).
//!
//! The causality is the order of whole contexts that posts, forks and joins force: A is before B if A's last step has
//! to come before B's first step. That holds if B, or a context that created B by forks and posts (directly or through
//! others), is one of the following. The firings of one event count as posts by one context.
//!
//! - A task of A's looper, if it was posted by A or by a descendant of A (so it was not yet in the queue when A began),
//!   or if it was posted after A by the same context, or by a context that is after A's poster, and A's message cannot
//!   be behind it in the queue (`PostClass::precedes`: FIFO, delays, the front).
//! - A context that was created after a join of the thread A, by the thread that joined A or by a context that is after
//!   that one.
//!
//! Locks, conditions and enables do not count, nor does the order in which two tasks happened to be queued: the chains
//! would depend on the schedule and not only on forced orders. A thread that creates others continues beside them, so
//! it has a chain of its own. The search for an order is bounded ([`MOST_ASKED`]). Where the bound is reached, two
//! contexts count as unordered: there are more chains, but each one is still a chain.
//!
//! `decompose` documents which chain a context joins if there are several.

use super::decompose::Decomposition;
use crate::base::Id;
use crate::event::{Actor, Choice, ContextId, EventId, Op, ThreadId};
use crate::world::{CreationKind, PostClass, Time, World};

/// Maximum number of steps from creator to creator in one search for an order between two contexts.
const MOST_ASKED: u32 = 1_024;

/// The number of no chain.
pub(super) const NONE: u32 = u32::MAX;

// A creator of contexts. Its steps that create or join something are numbered from 1.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Maker {
    Context(ContextId),
    Event(EventId),
}

#[derive(Clone, Copy)]
struct ChainStep {
    maker: Maker,
    number: u32,
}

// The facts about one context that the search for orders needs.
#[derive(Clone, Copy)]
struct Link {
    // The step that created the context. `None` if it exists from the start.
    made_by: Option<ChainStep>,
    // The queue of a task, and the class of its message.
    queued: Option<(ThreadId, PostClass)>,
    // The step at which a thread was first joined.
    joined: Option<ChainStep>,
    // Number of the context's steps so far that created or joined something.
    steps: u32,
    chain: u32,
}

const UNLINKED: Link = Link { made_by: None, queued: None, joined: None, steps: 0, chain: NONE };

/// The chains of a run.
#[derive(Clone, Default)]
pub(super) struct Chains {
    links: Vec<Link>,
    fired: Vec<u32>,
    // The queue and the class of the message that the last step posted, if it posted one.
    posting: Option<(ThreadId, PostClass)>,
    decomposition: Decomposition,
}

impl Chains {
    pub(super) fn clear(&mut self) {
        self.links.clear();
        self.fired.clear();
        self.decomposition.clear();
        self.posting = None;
    }

    /// Returns the number of chains.
    pub(super) fn len(&self) -> usize {
        self.decomposition.chains()
    }

    /// Returns the chain of a context. A looper's own context performs hardly any step; it gets a chain on the first
    /// call for it.
    pub(super) fn of(&mut self, context: ContextId) -> u32 {
        if self.links[context.index()].chain == NONE {
            self.join_chain(context);
        }
        self.links[context.index()].chain
    }

    /// Adds the contexts that the last step created.
    pub(super) fn welcome(&mut self, world: &World) {
        let start = self.links.is_empty();
        for i in self.links.len()..world.contexts().len() {
            self.links.push(UNLINKED);
            let context = ContextId::new(i);
            match world.contexts().made(context) {
                CreationKind::Declared(thread) if !world.setup().threads[thread].looper => {
                    self.join_chain(context);
                }
                CreationKind::Event(event) => {
                    if self.fired.len() <= event.index() {
                        self.fired.resize(event.index() + 1, 0);
                    }
                    self.fired[event.index()] += 1;
                    let number = self.fired[event.index()];
                    let class = PostClass { time: Time::Delay(0), is_async: false };
                    self.links[i].made_by = Some(ChainStep { maker: Maker::Event(event), number });
                    self.links[i].queued = Some((world.setup().events[event].looper, class));
                    self.join_chain(context);
                }
                CreationKind::Body(_) => {
                    self.links[i].made_by = world.contexts().parent(context).map(|maker| self.step(maker));
                    self.links[i].queued = self.posting;
                    if start {
                        self.links[i].queued = queued_at_start(world, context);
                    }
                    self.join_chain(context);
                }
                CreationKind::Declared(_)
                | CreationKind::Init
                | CreationKind::Looper
                | CreationKind::Scope
                | CreationKind::Class(_)
                | CreationKind::Instance(_) => {}
            }
        }
        self.posting = None;
    }

    /// Takes note of a choice that is about to be performed.
    pub(super) fn observe(&mut self, world: &World, choice: Choice) {
        let Actor::Thread(thread) = choice.actor else { return };
        match world.thread(thread).pending {
            Op::Post { target, time, is_async, .. } => {
                // Tasks of a pool are in no order.
                let looper = world.thread_of(target);
                self.posting =
                    (!world.shares_queue(looper)).then_some((looper, PostClass { time: Time::of(time), is_async }));
            }
            Op::Join(joined) if world.finished(joined) => {
                let joined = world.thread(joined).home.index();
                let step = self.step(world.thread(thread).context);
                self.links[joined].joined.get_or_insert(step);
            }
            _ => {}
        }
    }

    // Numbers the next step of a context that creates or joins something.
    fn step(&mut self, maker: ContextId) -> ChainStep {
        let steps = &mut self.links[maker.index()].steps;
        *steps += 1;
        ChainStep { maker: Maker::Context(maker), number: *steps }
    }

    fn join_chain(&mut self, context: ContextId) {
        let mut decomposition = std::mem::take(&mut self.decomposition);
        self.links[context.index()].chain = decomposition.place(context, |last| self.before(last, context));
        self.decomposition = decomposition;
    }

    // Whether `a` has to end before the younger context `b` begins: directly, or because it has to end before an
    // ancestor of `b` begins.
    fn before(&self, a: ContextId, b: ContextId) -> bool {
        let mut left = MOST_ASKED;
        let mut at = Some(b);
        while let Some(context) = at.filter(|context| *context != a) {
            if self.directly_before(a, context, &mut left) {
                return true;
            }
            at = self.maker(context);
        }
        false
    }

    fn maker(&self, context: ContextId) -> Option<ContextId> {
        match self.links[context.index()].made_by?.maker {
            Maker::Context(maker) => Some(maker),
            Maker::Event(_) => None,
        }
    }

    // Whether `a` has to end before `b` begins because of the queue that both belong to, or because of a join before
    // the creation of `b`.
    fn directly_before(&self, a: ContextId, b: ContextId, left: &mut u32) -> bool {
        // Contexts are numbered in the order of creation.
        if a >= b {
            return false;
        }
        let (x, y) = (&self.links[a.index()], &self.links[b.index()]);
        if let Some(joined) = x.joined {
            return self.made_after(b, joined, left);
        }
        let (Some((p, of_a)), Some((q, of_b))) = (x.queued, y.queued) else { return false };
        let begin = ChainStep { maker: Maker::Context(a), number: 0 };
        p == q
            && (self.made_after(b, begin, left)
                || of_a.precedes(of_b) && x.made_by.is_some_and(|post| self.made_after(b, post, left)))
    }

    // Whether the step has to come before the creation of `context`. The loop follows the creators of `context` upwards
    // until one of them performed the step itself or comes after the context that did.
    fn made_after(&self, context: ContextId, step: ChainStep, left: &mut u32) -> bool {
        let mut at = context;
        loop {
            let Some(made_by) = self.links[at.index()].made_by else { return false };
            if *left == 0 {
                return false;
            }
            *left -= 1;
            if made_by.maker == step.maker {
                return step.number < made_by.number;
            }
            let Maker::Context(maker) = made_by.maker else { return false };
            if let Maker::Context(owner_of) = step.maker
                && self.directly_before(owner_of, maker, left)
            {
                return true;
            }
            at = maker;
        }
    }
}

fn queued_at_start(world: &World, context: ContextId) -> Option<(ThreadId, PostClass)> {
    for (looper, thread) in world.threads().enumerate() {
        for (task, time) in thread.queue.iter().flat_map(|queue| queue.posted_at_start()) {
            if task.context == context {
                return Some((looper, PostClass { time: Time::of(time), is_async: task.is_async }));
            }
        }
    }
    None
}
