//! Enumerates every run of a very small model, one after the other, on a clock of milliseconds: the oracle of the
//! exhaustive search.
//!
//! The enumeration is a plain recursion over all sequences of choices. It uses no states, digests, canonical form,
//! reduction or visited set. The clock has one choice, the next millisecond (and instants after the last deadline). It
//! finds exactly the facts that are true of some run.

use raceflip::detect::{self, Pair, things};
use raceflip::event::{
    Access, AccessKind, AccessPlace, Actor, Choice, ContextId, EventKind, Op, Outcome, SiteId, Value,
};
use raceflip::exec::RunResult;
use raceflip::explore::StatementInstance;
use raceflip::lang::Program;
use raceflip::lang::program::{GlobalId, Type};
use raceflip::vm::{Model, Vm};
use raceflip::world::{Limits, Machine, Question, ThreadStage, World};
use std::collections::{BTreeMap, BTreeSet};

/// How a run ends: its outcome with the values that are observed, and for a deadlock the sites at which the blocked
/// threads are pending.
pub(crate) type End = (RunResult, Vec<Option<SiteId>>);

/// Facts about the runs of a model.
#[derive(Default)]
pub(crate) struct Facts {
    /// All ends, each with the fewest steps to it. Consecutive advances of the clock count as one step.
    pub(crate) ends: BTreeMap<End, u64>,
    /// Sites of conflicting plain accesses that are side by side in some state.
    pub(crate) adjacent: BTreeSet<Pair>,
    /// Sites of conflicting plain accesses of two contexts, the earlier access first, whether or not others come
    /// between them.
    pub(crate) orders: BTreeSet<(SiteId, SiteId)>,
    /// Orders of instances of conflicting plain accesses, the earlier one first. The key is the text of both instances.
    pub(crate) instance_orders: BTreeMap<String, (StatementInstance, StatementInstance)>,
    /// Orders of instances of operations on one lock, queue, location and so on. An await counts as an operation on
    /// every shared thing, because its condition may read any. Empty unless requested.
    pub(crate) deed_orders: BTreeSet<(detect::Instance, detect::Instance)>,
    /// Number of steps over all runs. Each advance of the clock counts.
    pub(crate) steps: u64,
}

/// Returns the variables whose values mean the same in every run, which excludes references.
pub(crate) fn words(program: &Program) -> BTreeSet<GlobalId> {
    fn is_word(ty: &Type) -> bool {
        match ty {
            Type::Int | Type::Bool | Type::Message => true,
            Type::List(inner) | Type::Array(inner, _) => is_word(inner),
            _ => false,
        }
    }
    program.globals.enumerate().filter(|(_, g)| is_word(&g.ty)).map(|(id, _)| id).collect()
}

/// Enumerates all runs. Returns `None` if they take more than `most_steps` steps in total, or if a run is longer than
/// `LONGEST`.
pub(crate) fn facts(model: &Model, observe: &BTreeSet<GlobalId>, most_steps: u64) -> Option<Facts> {
    enumerate(model, observe, most_steps, false)
}

/// Enumerates all runs like [`facts`]. `with_deeds`: whether to collect the orders of all operations on shared things
/// as well ([`Facts::deed_orders`]).
pub(crate) fn enumerate(
    model: &Model,
    observe: &BTreeSet<GlobalId>,
    most_steps: u64,
    with_deeds: bool,
) -> Option<Facts> {
    let mut machine = model.machine(Limits::default());
    machine.start(true);
    let (past, deeds) = (Vec::new(), with_deeds.then(Vec::new));
    let mut all = Enumeration { model, observe, most_steps, past, deeds, facts: Facts::default() };
    all.go(&mut machine, Cost { steps: 0, ticked: false }).map(|()| all.facts)
}

/// Maximum number of orders of instances that are kept. A model that reaches it may have more orders.
pub(crate) const MOST_INSTANCES: usize = 200;

/// Maximum number of steps of a run, which bounds the depth of the recursion.
const LONGEST: usize = 200;

#[derive(Clone, Copy)]
struct Cost {
    steps: u64,
    ticked: bool,
}

/// Returns every open choice with each possible argument, or the outcome if the run ends here. The clock may advance to
/// the instants that `instants` returns.
pub(crate) fn choices(
    machine: &mut Machine<Vm>,
    instants: impl Fn(&World) -> Vec<u64>,
) -> Result<Vec<Choice>, Outcome> {
    let openings = machine.world.openings();
    if openings.stop() && machine.world.outcome().is_none() {
        machine.check_rest();
    }
    let world = &machine.world;
    if let Some(outcome) = world.outcome() {
        return Err(outcome.clone());
    }
    if openings.total() == 0 {
        return Err(Outcome::Deadlock(world.deadlock()));
    }
    let mut all = Vec::new();
    for k in 0..openings.total() {
        let actor = world.open_actor(&openings, k);
        let arguments = match world.question(actor) {
            None => vec![0],
            Some(Question::Instant) => instants(world),
            Some(question) => (0..question.answers().unwrap()).collect(),
        };
        all.extend(arguments.into_iter().map(|argument| Choice { actor, argument }));
    }
    Ok(all)
}

/// Returns the instants to which the clock may advance: the next millisecond, and the instants of `at` after the last
/// deadline. The latter are reached in one step, because the clock stops if no deadline is ahead.
pub(crate) fn next_instants(world: &World) -> Vec<u64> {
    let queues = world.threads().iter().filter_map(|t| t.queue.as_ref());
    let messages = queues.flat_map(|q| q.messages().map(|m| m.when));
    let last = world.threads().ids().filter_map(|t| world.deadline(t)).chain(messages).max().unwrap_or(0);
    let next = world.now() + 1;
    let later = world.setup().instants.iter().copied().filter(|at| *at > last && *at > next);
    [next].into_iter().chain(later).collect()
}

impl Cost {
    fn after(self, choice: Choice) -> Self {
        let ticked = choice.actor == Actor::Clock;
        Self { steps: self.steps + u64::from(!(ticked && self.ticked)), ticked }
    }
}

struct Enumeration<'a> {
    model: &'a Model,
    observe: &'a BTreeSet<GlobalId>,
    most_steps: u64,
    /// Access of each step of the run so far, if the step has one.
    past: Vec<Option<(Access, SiteId, Option<ContextId>)>>,
    /// Operation of each step of the run so far on memory, locks, queues and other shared things; `None` unless
    /// requested.
    deeds: Option<Vec<Option<Deed>>>,
    facts: Facts,
}

/// An operation on something shared.
struct Deed {
    instance: detect::Instance,
    /// Names of the things that the operation works on; `None` for an await, which may read anything.
    things: Option<Vec<String>>,
}

/// Returns the access of an operation that can race. Whether one on an atomic can is taken from its site. `value` is
/// that of an operation that has been performed.
fn access(world: &World, op: &Op, site: Option<SiteId>, value: Option<Value>) -> Option<Access> {
    let can_race = site.is_some_and(|site| world.setup().sites[site].kind.access().is_some());
    let (at, kind) = match *op {
        _ if !can_race => return None,
        Op::AtomicRead(at) => (at, AccessKind::Read),
        Op::Cas { at, old, .. } => {
            let swaps = value.map_or_else(|| world.memory().cell(at.cell) == old, |value| value != 0);
            (at, if swaps { AccessKind::Write } else { AccessKind::Read })
        }
        Op::AtomicWrite(at, _) | Op::FetchAdd(at, _) | Op::Exchange(at, _) => (at, AccessKind::Write),
        _ => return op.access(),
    };
    Some(Access { place: AccessPlace::Cell(at), kind, atomic: true })
}

impl Deed {
    fn meets(&self, other: &Deed) -> bool {
        let same = match (&self.things, &other.things) {
            (Some(mine), Some(theirs)) => mine.iter().any(|name| theirs.contains(name)),
            (None, None) => false,
            _ => true,
        };
        same && self.instance.context != other.instance.context
    }
}

impl Enumeration<'_> {
    // Enumerates all runs that continue from here.
    fn go(&mut self, machine: &mut Machine<Vm>, cost: Cost) -> Option<()> {
        let openings = machine.world.openings();
        if openings.stop() && machine.world.outcome().is_none() {
            machine.check_rest();
        }
        if let Some(outcome) = machine.world.outcome().cloned() {
            self.end(&outcome, machine, cost);
            return Some(());
        }
        if openings.total() == 0 {
            let outcome = Outcome::Deadlock(machine.world.deadlock());
            self.end(&outcome, machine, cost);
            return Some(());
        }
        self.note_adjacent(machine);
        for k in 0..openings.total() {
            let actor = machine.world.open_actor(&openings, k);
            if actor == Actor::Stop {
                let outcome = machine.world.rest_outcome();
                self.end(&outcome, machine, cost);
                continue;
            }
            let arguments = match machine.world.question(actor) {
                None => vec![0],
                Some(Question::Instant) => next_instants(&machine.world),
                Some(question) => (0..question.answers().unwrap()).collect(),
            };
            for argument in arguments {
                self.facts.steps += 1;
                if self.facts.steps > self.most_steps || self.past.len() >= LONGEST {
                    return None;
                }
                let choice = Choice { actor, argument };
                let mut next = machine.clone();
                next.step(choice);
                self.note_order(&next);
                self.note_deed(&next);
                self.go(&mut next, cost.after(choice))?;
                self.past.pop();
                self.deeds.as_mut().map(Vec::pop);
            }
        }
        Some(())
    }

    fn end(&mut self, outcome: &Outcome, machine: &Machine<Vm>, cost: Cost) {
        let mut blocked: Vec<Option<SiteId>> = match outcome {
            Outcome::Deadlock(report) => report.blocked.iter().map(|b| b.site).collect(),
            _ => Vec::new(),
        };
        blocked.sort_unstable();
        let ended = RunResult::new(&self.model.program, self.observe, outcome, &machine.world);
        let fewest = self.facts.ends.entry((ended, blocked)).or_insert(cost.steps);
        *fewest = cost.steps.min(*fewest);
    }

    fn note_adjacent(&mut self, machine: &Machine<Vm>) {
        let world = &machine.world;
        let mut pending = Vec::new();
        for thread in world.enabled().iter().map(|id| world.thread(id)).filter(|t| t.status == ThreadStage::Alive) {
            let Some((access, site)) = access(world, &thread.pending, thread.site, None).zip(thread.site) else {
                continue;
            };
            for (other, there) in &pending {
                if access.races(other) {
                    self.facts.adjacent.insert(Pair::new(site, *there));
                }
            }
            pending.push((access, site));
        }
    }

    // Appends the last step's operation on shared things, and its order after all earlier operations on the same
    // things.
    fn note_deed(&mut self, machine: &Machine<Vm>) {
        let Some(past) = &mut self.deeds else { return };
        let world = &machine.world;
        let deed = world.recorded().iter().find_map(|event| {
            let EventKind::Performed { op, value, .. } = &event.what else { return None };
            let (site, thread, context) = (event.site?, event.thread?, event.context?);
            // A plain access also counts, because it may change the condition of an await.
            let plain = access(world, op, Some(site), Some(*value))
                .map(|access| vec![format!("memory {}", world.place_name(access.place))]);
            let things = if plain.is_some() { plain } else { things(world, thread, op, *value) };
            if things.as_ref().is_some_and(Vec::is_empty) {
                return None;
            }
            let context = world.contexts().name(world.setup(), context);
            let is = |d: &&Deed| d.instance.site == site && d.instance.context == context;
            let visit = 1 + past.iter().flatten().filter(is).count() as u32;
            Some(Deed { instance: detect::Instance { site, context, visit }, things })
        });
        if let Some(deed) = &deed {
            let before = past.iter().flatten().filter(|d| d.meets(deed));
            self.facts.deed_orders.extend(before.map(|d| (d.instance.clone(), deed.instance.clone())));
        }
        past.push(deed);
    }

    // Appends the last step's access, and its order after all earlier conflicting accesses.
    fn note_order(&mut self, machine: &Machine<Vm>) {
        let accessed = machine.world.recorded().iter().find_map(|event| match &event.what {
            EventKind::Performed { op, value, .. } => {
                let access = access(&machine.world, op, event.site, Some(*value))?;
                Some((access, event.site?, event.context))
            }
            _ => None,
        });
        if let Some((access, site, context)) = accessed {
            let instance = |at: usize, site: SiteId, context: Option<ContextId>| {
                let is = |a: &&(Access, SiteId, Option<ContextId>)| a.1 == site && a.2 == context;
                let visit = 1 + self.past[..at].iter().flatten().filter(is).count() as u32;
                let pedigree = context.map_or(Vec::new(), |c| machine.world.contexts().chain(c));
                StatementInstance { site, pedigree, visit }
            };
            for (at, past) in self.past.iter().enumerate() {
                let Some((before, first, other)) = past else { continue };
                if *other != context && access.races(before) {
                    self.facts.orders.insert((*first, site));
                    if self.facts.instance_orders.len() < MOST_INSTANCES {
                        let pair = (instance(at, *first, *other), instance(self.past.len(), site, context));
                        self.facts.instance_orders.entry(format!("{pair:?}")).or_insert(pair);
                    }
                }
            }
        }
        self.past.push(accessed);
    }
}
