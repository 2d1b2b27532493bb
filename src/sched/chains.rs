//! Threads and tasks in chains, online: each is before the next of its chain in every run that makes both (Ozkan et al., OOPSLA 2018).
//!
//! The causality is what posts, forks and joins force, of contexts as wholes: A is before B if A's last step has to come before B's first one. That is so if B, or a context that
//! made B by forks, posts and firings of one event, is
//!
//! - a task of A's looper, posted by A or by what A made (it was not yet in the queue when A began), or posted after A by the same context, or by one that is after A's poster,
//!   where A's message cannot stand behind B's (`Class::precedes`: FIFO, delays, the front);
//! - made after a join of the thread A, by the one that joined it or by what is after that one.
//!
//! Neither locks nor conditions nor enables count, nor that two tasks happened to be queued in one order: then the chain decomposition would depend on what was scheduled, and not on what
//! must be. A thread that makes others goes on beside them, so that it is in a chain of its own. The questions are bounded ([`MOST_ASKED`]); where that is not enough, two contexts count as unordered:
//! more chains, and still each one a chain.
//!
//! `decompose` says which of the chains that a context could join is taken.

use super::decompose::Decomposition;
use crate::base::Id;
use crate::event::{Actor, Choice, ContextId, EventId, Op, ThreadId};
use crate::world::{Class, Made, MessageKind, Time, World};

/// How many steps up the makers of a context are taken to find out whether one that is there is before it.
const MOST_ASKED: u32 = 1_024;

/// No chain.
pub(super) const NONE: u32 = u32::MAX;

// Who makes contexts, each of them at a step with a number: its steps that make something count from 1.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Maker {
    Context(ContextId),
    Event(EventId),
}

#[derive(Clone, Copy)]
struct Step {
    maker: Maker,
    number: u32,
}

// What is known of a context.
#[derive(Clone, Copy)]
struct Link {
    // What made it; `None` of what is there from the start.
    made_by: Option<Step>,
    // Of a task.
    queued: Option<(ThreadId, Class)>,
    // A step after the end of a thread.
    joined: Option<Step>,
    // Its steps so far that make something, or join.
    steps: u32,
    chain: u32,
}

const UNLINKED: Link = Link { made_by: None, queued: None, joined: None, steps: 0, chain: NONE };

/// The chains of a run.
#[derive(Clone, Default)]
pub(super) struct Chains {
    links: Vec<Link>,
    fired: Vec<u32>,
    // Of the last step, if it posted: where, and how.
    posting: Option<(ThreadId, Class)>,
    decomposition: Decomposition,
}

impl Chains {
    pub(super) fn clear(&mut self) {
        self.links.clear();
        self.fired.clear();
        self.decomposition.clear();
        self.posting = None;
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.decomposition.chains()
    }

    /// The chain of a context; a looper's own context, which hardly does anything, gets one where it is asked for.
    pub(super) fn of(&mut self, context: ContextId) -> u32 {
        if self.links[context.index()].chain == NONE {
            self.join_chain(context);
        }
        self.links[context.index()].chain
    }

    /// Takes in what the last step has made.
    pub(super) fn welcome(&mut self, world: &World) {
        let start = self.links.is_empty();
        for i in self.links.len()..world.contexts().len() {
            self.links.push(UNLINKED);
            let context = ContextId::new(i);
            match world.contexts().made(context) {
                Made::Declared(thread) if !world.setup().threads[thread].looper => {
                    self.join_chain(context);
                }
                Made::Event(event) => {
                    if self.fired.len() <= event.index() {
                        self.fired.resize(event.index() + 1, 0);
                    }
                    self.fired[event.index()] += 1;
                    let number = self.fired[event.index()];
                    let class = Class { time: Time::Delay(0), is_async: false };
                    self.links[i].made_by = Some(Step { maker: Maker::Event(event), number });
                    self.links[i].queued = Some((world.setup().events[event].looper, class));
                    self.join_chain(context);
                }
                Made::Body(_) => {
                    self.links[i].made_by = world.contexts().parent(context).map(|maker| self.step(maker));
                    self.links[i].queued = self.posting;
                    if start {
                        self.links[i].queued = queued_at_start(world, context);
                    }
                    self.join_chain(context);
                }
                Made::Declared(_) | Made::Init | Made::Looper | Made::Class(_) => {}
            }
        }
        self.posting = None;
    }

    /// A choice that is about to be performed.
    pub(super) fn observe(&mut self, world: &World, choice: Choice) {
        let Actor::Thread(thread) = choice.actor else { return };
        match world.thread(thread).pending {
            Op::Post { target, time, is_async, .. } => {
                self.posting = Some((world.thread_of(target), Class { time: Time::of(time), is_async }));
            }
            Op::Join(joined) if world.finished(joined) => {
                let joined = world.thread(joined).home.index();
                let step = self.step(world.thread(thread).context);
                self.links[joined].joined.get_or_insert(step);
            }
            _ => {}
        }
    }

    // The next step of a context that makes something.
    fn step(&mut self, maker: ContextId) -> Step {
        let steps = &mut self.links[maker.index()].steps;
        *steps += 1;
        Step { maker: Maker::Context(maker), number: *steps }
    }

    fn join_chain(&mut self, context: ContextId) {
        let mut decomposition = std::mem::take(&mut self.decomposition);
        self.links[context.index()].chain = decomposition.place(context, |last| self.before(last, context));
        self.decomposition = decomposition;
    }

    // Whether `a` has to end before `b`, which is later, begins.
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

    // By the queue in which `b` itself stands, or a join before it was made.
    fn directly_before(&self, a: ContextId, b: ContextId, left: &mut u32) -> bool {
        // Contexts are numbered as they are made.
        if a >= b {
            return false;
        }
        let (x, y) = (&self.links[a.index()], &self.links[b.index()]);
        if let Some(joined) = x.joined {
            return self.made_after(b, joined, left);
        }
        let (Some((p, of_a)), Some((q, of_b))) = (x.queued, y.queued) else { return false };
        let begin = Step { maker: Maker::Context(a), number: 0 };
        p == q
            && (self.made_after(b, begin, left)
                || of_a.precedes(of_b) && x.made_by.is_some_and(|post| self.made_after(b, post, left)))
    }

    // Whether the step has to come before `context` is made.
    fn made_after(&self, context: ContextId, step: Step, left: &mut u32) -> bool {
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
            if let Maker::Context(whose) = step.maker
                && self.directly_before(whose, maker, left)
            {
                return true;
            }
            at = maker;
        }
    }
}

fn queued_at_start(world: &World, context: ContextId) -> Option<(ThreadId, Class)> {
    for (looper, thread) in world.threads().enumerate() {
        for message in thread.queue.iter().flat_map(|queue| queue.messages()) {
            if let MessageKind::Task(task) = &message.kind
                && task.context == context
            {
                return Some((looper, Class { time: Time::instant(message.when), is_async: task.is_async }));
            }
        }
    }
    None
}
