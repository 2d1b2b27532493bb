//! The futures of the threads of a compiled program: for each place in the code of each thread, what the thread may
//! still do from there.
//!
//! `flow` finds out which instructions a thread can reach, and ranges of the values in its registers; `touches` which
//! operations an instruction may perform with them. The table of effects says what these touch. `order` finds the locks
//! that can close a ring.

mod flow;
mod graph;
mod order;
mod range;
#[cfg(test)]
mod tests;
mod touches;

use super::Vm;
use super::code::Code;
use super::instr::{Instr, Visible};
use crate::base::Id;
use crate::base::mutant::{self, Mutant};
use crate::event::{BodyId, RwLockId, Target, ThreadId};
use crate::world::{Act, ActSet, Futures, LockHold, Manner, SharedFutures, Thing, World};
use flow::{Bodies, Flow};
use graph::ThreadGraph;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use touches::{Operands, begins_by_itself, begins_deadline};

/// Number of locks and sides of locks that can be guards.
const MOST_GUARDS: usize = 64;

/// The futures of all declared threads of a program.
pub(super) struct CodeFutures {
    acts: Vec<Act>,
    numbers: BTreeMap<Act, u32>,
    has_clock: bool,
    threads: Vec<ThreadGraph>,
    locks: usize,
}

/// The acts of a program while they are collected.
struct ActTable<'w> {
    acts: Vec<Act>,
    numbers: BTreeMap<Act, u32>,
    world: &'w World,
    watches: &'w dyn Fn(u32) -> bool,
    has_clock: bool,
    /// Whether some thread becomes a looper.
    attaches: bool,
    /// Whether idle handlers or repeated messages exist, which a begin can meet.
    begins_by_itself: bool,
}

impl ActTable<'_> {
    fn number(&mut self, act: Act) -> u32 {
        let act = match act {
            Act::Touches(thing, Manner::Begin) if self.begins_by_itself => Act::Touches(thing, Manner::Other),
            act => act,
        };
        let next = self.acts.len() as u32;
        let number = *self.numbers.entry(act).or_insert(next);
        if number == next {
            self.acts.push(act);
        }
        number
    }

    // Adds the acts of an operation to a set.
    fn add(&mut self, thread: ThreadId, op: &crate::event::Op, set: &mut ActSet) {
        let mut acts = Vec::new();
        self.world.acts(thread, op, self.has_clock, self.watches, &mut acts);
        acts.into_iter().for_each(|act| set.insert(self.number(act)));
    }
}

/// Analyzes a program. `None` if nothing can be told of it.
pub(super) fn futures(vm: &Vm, world: &World) -> Option<SharedFutures<Vm>> {
    let code: &Code = &vm.code;
    let any =
        |is: fn(&Visible) -> bool| code.instrs.iter().any(|instr| matches!(instr, Instr::Visible { op, .. } if is(op)));
    if !world.has_plain_futures() || any(|op| matches!(op, Visible::Launch { .. } | Visible::Suspend(_))) {
        return None;
    }
    let bodies = Bodies::new(code);
    let tasks = tasks(&bodies, world)?;
    let watches = |cell| crate::world::Guest::watches_cell(vm, cell);
    let mut table = ActTable {
        acts: Vec::new(),
        numbers: BTreeMap::new(),
        world,
        watches: &watches,
        has_clock: any(begins_deadline) || !world.setup().instants.is_empty(),
        attaches: any(|op| matches!(op, Visible::AttachQueue)),
        begins_by_itself: any(begins_by_itself),
    };
    table.number(Act::Anything);
    // Firings are no operations of threads, and keep their order.
    for event in world.setup().events.ids() {
        table.number(Act::Touches(Thing::Event(event), Manner::Other));
        table.number(Act::Touches(Thing::Numbers, Manner::Other));
    }
    if table.has_clock {
        table.number(Act::Clock);
    }
    let mut threads = Vec::new();
    for (thread, start) in code.starts.iter().enumerate() {
        let thread = ThreadId::new(thread);
        let flow = Flow::new(&bodies, Some(thread), *start, &tasks[thread.index()])?;
        threads.push(ThreadGraph::new(&flow, thread, &mut table));
    }
    order::mark_rings(&mut threads, &mut table);
    let ActTable { acts, numbers, has_clock, .. } = table;
    Some(Arc::new(CodeFutures { acts, numbers, has_clock, threads, locks: world.setup().locks.len() }))
}

// Returns the bodies of the tasks that each declared thread may run. `None` if the program is too large.
fn tasks(bodies: &Bodies<'_>, world: &World) -> Option<Vec<BTreeSet<BodyId>>> {
    let code = bodies.code;
    let mut tasks = vec![BTreeSet::new(); code.starts.len()];
    for event in world.setup().events.iter() {
        tasks[event.looper.index()].insert(event.body);
    }
    loop {
        let mut more = tasks.clone();
        let mut reached = BTreeSet::new();
        let starts = code.starts.iter().enumerate();
        let mut roots: Vec<_> = starts.map(|(i, start)| (Some(ThreadId::new(i)), *start)).collect();
        roots.extend(code.init.map(|body| (None, (body, None))));
        let none = BTreeSet::new();
        for (thread, start) in roots {
            let own = thread.map_or(&none, |thread| &tasks[thread.index()]);
            let flow = Flow::new(bodies, thread, start, own)?;
            for (pc, registers) in &flow.states {
                reached.insert(*pc);
                let operands = Operands { code, setup: world.setup(), registers };
                posts(&code.instrs[*pc as usize], Some(&operands), world, &mut more);
            }
        }
        // What no declared thread reaches, once all tasks are known, may run in a thread that is made in the run, and
        // post to any looper.
        if more == tasks {
            for (_, instr) in (0u32..).zip(&code.instrs).filter(|(pc, _)| !reached.contains(pc)) {
                posts(instr, None, world, &mut more);
            }
        }
        if more == tasks {
            return Some(tasks);
        }
        tasks = more;
    }
}

// Adds the body that an instruction posts to the tasks of the threads that may get it.
fn posts(instr: &Instr, operands: Option<&Operands<'_>>, world: &World, tasks: &mut [BTreeSet<BodyId>]) {
    let Instr::Visible { op: Visible::Post { target, body, .. } | Visible::PostMore { target, body, .. }, .. } = instr
    else {
        return;
    };
    let of_target = |target: Target| world.thread_of(target).index();
    match operands.and_then(|operands| operands.targets(*target)) {
        Some(targets) => targets.into_iter().for_each(|target| _ = tasks[of_target(target)].insert(*body)),
        None => tasks.iter_mut().for_each(|tasks| _ = tasks.insert(*body)),
    }
}

// Returns the number of a hold as a guard.
fn guard(hold: LockHold, locks: usize) -> u64 {
    let bit = match hold {
        LockHold::Lock(lock) => lock.index(),
        LockHold::Write(RwLockId(id)) => locks + 2 * id as usize,
        LockHold::Read(RwLockId(id)) => locks + 2 * id as usize + 1,
    };
    if bit < MOST_GUARDS { 1 << bit } else { 0 }
}

impl Futures<Vm> for CodeFutures {
    fn acts(&self) -> &[Act] {
        &self.acts
    }

    fn has_clock(&self) -> bool {
        self.has_clock
    }

    fn number(&self, act: Act) -> u32 {
        self.numbers.get(&act).copied().unwrap_or(0)
    }

    fn place(&self, guest: &Vm, thread: ThreadId) -> Option<u32> {
        let frame = guest.fibers.get(thread.index())?.top_frame()?;
        self.threads.get(thread.index())?.place(frame.pc)
    }

    fn guards(&self, thread: ThreadId) -> u64 {
        self.threads[thread.index()].guards()
    }

    fn guard(&self, hold: LockHold) -> u64 {
        guard(hold, self.locks)
    }

    fn future(&self, thread: ThreadId, place: u32, kept: u64) -> ActSet {
        self.threads[thread.index()].future(place, kept)
    }

    fn operation(&self, thread: ThreadId, place: u32) -> ActSet {
        self.threads[thread.index()].operation(place).clone()
    }

    fn rest(&self, thread: ThreadId, place: u32, begins: bool) -> ActSet {
        self.threads[thread.index()].rest(place, begins)
    }
}

// The acts of a thread that ends: others may wait for that, or have messages for it.
fn end(thread: ThreadId, table: &mut ActTable<'_>) -> ActSet {
    let mut set = ActSet::default();
    set.insert(table.number(Act::Touches(Thing::End(thread), Manner::Give)));
    set.insert(table.number(Act::Touches(Thing::Queue(thread), Manner::Other)));
    // Messages that are dropped may have deadlines.
    if table.has_clock && (table.attaches || table.world.setup().threads[thread].looper) {
        set.insert(table.number(Act::Clock));
    }
    set
}

fn has_tasks() -> bool {
    !mutant::is(Mutant::FuturesWithoutTasks)
}
