//! The places of one thread as a graph: what is done at each, and which come next.

use super::flow::{Flow, handlers};
use super::range::Range;
use super::touches::Operands;
use super::{ActTable, end, guard, has_tasks};
use crate::base::Id;
use crate::event::{BodyId, Op, ThreadId};
use crate::lang::ast::BinaryOp;
use crate::vm::instr::{Instr, LockRef, Visible};
use crate::world::{Act, ActSet, LockHold};
use std::collections::{BTreeMap, BTreeSet};

/// A place: an instruction, the end of a body by an exception, or the end of the thread.
#[derive(Default)]
pub(super) struct Place {
    /// Whether the instruction is a visible operation.
    visible: bool,
    /// What is done here.
    acts: ActSet,
    /// What a thread does by arriving here, at the end of the step before.
    pub(super) arrival: ActSet,
    pub(super) next: Vec<u32>,
    // Those of `next` from this index on are where exceptions go.
    thrown: usize,
    // Of the begin of a looper: where it leaves its loop.
    leaves: Option<u32>,
    /// Guards that block a thread here while another thread has one of them.
    blocked_by: u64,
    /// What the place has to do with the order of locks.
    pub(super) locking: Locking,
}

/// What a place has to do with the order of locks. Locks have the numbers of their declarations, and the monitors of
/// all objects have the next one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum Locking {
    #[default]
    Nothing,
    /// It needs one of these locks to go on, and has it afterwards.
    Needs(Vec<usize>),
    /// It has one of these locks afterwards, but does not wait for it without a limit.
    Tries(Vec<usize>),
    /// It gives this lock back.
    GivesBack(usize),
}

/// The places of one thread.
pub(super) struct ThreadGraph {
    pub(super) places: Vec<Place>,
    of_pc: BTreeMap<u32, u32>,
}

impl ThreadGraph {
    /// Makes the graph of a thread, and adds its acts to the table.
    pub(super) fn new(flow: &Flow<'_>, thread: ThreadId, table: &mut ActTable<'_>) -> Self {
        let of_pc: BTreeMap<u32, u32> = flow.states.keys().copied().zip(0..).collect();
        let bodies: BTreeSet<BodyId> = of_pc.keys().map(|pc| flow.bodies.body(*pc)).collect();
        // Behind the instructions: the end of each body by an exception, and the end of the thread.
        let thrown: BTreeMap<BodyId, u32> = bodies.iter().copied().zip(of_pc.len() as u32..).collect();
        let last = (of_pc.len() + thrown.len()) as u32;
        let mut maker = Maker { flow, thread, table, of_pc: &of_pc, thrown: &thrown, last };
        let mut places: Vec<Place> =
            flow.states.iter().map(|(pc, registers)| maker.instruction(*pc, registers)).collect();
        places.extend(bodies.iter().map(|body| maker.thrown_out_of(*body)));
        places.push(Place { acts: end(thread, maker.table), ..Place::default() });
        Self { places, of_pc }
    }

    pub(super) fn place(&self, pc: u32) -> Option<u32> {
        self.of_pc.get(&pc).copied()
    }

    pub(super) fn guards(&self) -> u64 {
        self.places.iter().fold(0, |all, place| all | place.blocked_by)
    }

    pub(super) fn operation(&self, place: u32) -> &ActSet {
        &self.places[place as usize].acts
    }

    /// Returns what may still be done from a place on, while other threads keep these guards.
    pub(super) fn future(&self, from: u32, kept: u64) -> ActSet {
        let mut all = ActSet::default();
        let mut seen = vec![false; self.places.len()];
        let mut open = vec![from];
        // The thread has arrived at the first place already.
        let mut is_first = true;
        while let Some(at) = open.pop() {
            let place = &self.places[at as usize];
            if !is_first {
                if std::mem::replace(&mut seen[at as usize], true) {
                    continue;
                }
                all.add_all(&place.arrival);
            }
            is_first = false;
            if place.blocked_by & kept == 0 {
                all.add_all(&place.acts);
                open.extend(place.all_next());
            }
        }
        all
    }

    /// Returns what the rest of the step at a place may do, up to the next operation. `begins`: whether it stays in the
    /// loop of its looper, if the operation is a begin.
    pub(super) fn rest(&self, from: u32, begins: bool) -> ActSet {
        let mut all = ActSet::default();
        let mut seen = vec![false; self.places.len()];
        let first = &self.places[from as usize];
        let mut open = first.next.clone();
        open.extend(first.leaves.filter(|_| !begins));
        while let Some(at) = open.pop() {
            if std::mem::replace(&mut seen[at as usize], true) {
                continue;
            }
            let place = &self.places[at as usize];
            all.add_all(&place.arrival);
            if place.visible {
                // An operand that throws does so when the thread arrives.
                open.extend(&place.next[place.thrown..]);
            } else {
                all.add_all(&place.acts);
                open.extend(&place.next);
            }
        }
        all
    }
}

impl Place {
    pub(super) fn all_next(&self) -> impl Iterator<Item = u32> + '_ {
        self.next.iter().copied().chain(self.leaves)
    }
}

struct Maker<'m, 'f, 't> {
    flow: &'m Flow<'f>,
    thread: ThreadId,
    table: &'m mut ActTable<'t>,
    of_pc: &'m BTreeMap<u32, u32>,
    thrown: &'m BTreeMap<BodyId, u32>,
    last: u32,
}

impl Maker<'_, '_, '_> {
    fn instruction(&mut self, pc: u32, registers: &[Range]) -> Place {
        let code = self.flow.bodies.code;
        let instr = code.instrs[pc as usize];
        let mut place = Place::default();
        let mut may_throw = may_throw(&instr, registers);
        match &instr {
            Instr::Visible { op, .. } => {
                let operands = Operands { code, setup: self.table.world.setup(), registers };
                place.visible = true;
                let touched = operands.touched(op);
                may_throw |= touched.is_none();
                self.touch(&mut place, &operands, op, touched);
            }
            Instr::Platform { .. } => place.acts.insert(self.table.number(Act::Anything)),
            _ => {}
        }
        place.next = self.next(pc, &instr);
        if matches!(instr, Instr::Visible { op: Visible::Begin, .. }) && self.flow.bodies.quits {
            place.leaves = self.of_pc.get(&(pc + 1)).copied();
        }
        place.thrown = place.next.len();
        if may_throw {
            self.throws(pc, &mut place.next);
        }
        place
    }

    fn touch(
        &mut self,
        place: &mut Place,
        operands: &Operands<'_>,
        op: &Visible,
        touched: Option<super::touches::Touched>,
    ) {
        let count = self.table.world.setup().locks.len();
        let numbers = |lock: LockRef| match (lock, operands.locks(lock)) {
            (LockRef::Monitor(_), _) => vec![count],
            (LockRef::Lock(_), Some(locks)) => locks.into_iter().map(Id::index).collect(),
            (LockRef::Lock(_), None) => (0..count).collect(),
        };
        place.locking = match op {
            Visible::Acquire(lock) | Visible::Wait { lock, .. } => Locking::Needs(numbers(*lock)),
            Visible::AcquireFor { lock, .. } => Locking::Tries(numbers(*lock)),
            Visible::Release(lock @ LockRef::Lock(_)) => match numbers(*lock)[..] {
                [one] => Locking::GivesBack(one),
                _ => Locking::Nothing,
            },
            _ => Locking::Nothing,
        };
        let Some(touched) = touched else {
            place.acts.insert(self.table.number(Act::Anything));
            return;
        };
        for op in &touched.ops {
            self.table.add(self.thread, op, &mut place.acts);
        }
        if touched.arrives_timed && self.table.has_clock {
            place.arrival.insert(self.table.number(Act::Clock));
        }
        match touched.ops[..] {
            // Writers of a lock that prefers readers wait for readers that only stand there.
            [Op::ReadLock(_), ..] | [Op::AcquireFor { .. }, ..] if !matches!(op, Visible::AcquireFor { .. }) => {
                let acts = place.acts.iter().filter(|act| {
                    matches!(self.table.acts[*act as usize], Act::Touches(_, crate::world::Manner::Other))
                });
                acts.for_each(|act| place.arrival.insert(act));
            }
            _ => {}
        }
        place.blocked_by = match touched.ops[..] {
            [Op::Acquire(lock)] => guard(LockHold::Lock(lock), count),
            [Op::ReadLock(lock)] => guard(LockHold::Write(lock), count),
            [Op::WriteLock(lock)] => guard(LockHold::Write(lock), count) | guard(LockHold::Read(lock), count),
            _ => 0,
        };
    }

    // Adds the place of an instruction, if the thread can reach it.
    fn go(&self, pc: u32, next: &mut Vec<u32>) {
        next.extend(self.of_pc.get(&pc));
    }

    // Returns the places to which control goes without an exception.
    fn next(&self, pc: u32, instr: &Instr) -> Vec<u32> {
        let bodies = self.flow.bodies;
        let mut next = Vec::new();
        match *instr {
            Instr::Jump(to) => self.go(to, &mut next),
            Instr::JumpIf { to, .. } | Instr::JumpUnless { to, .. } => {
                self.go(to, &mut next);
                self.go(pc + 1, &mut next);
            }
            Instr::ForNext { body, .. } => {
                self.go(body, &mut next);
                self.go(pc + 1, &mut next);
            }
            Instr::Fail { .. } | Instr::Throw { .. } | Instr::Rethrow(_) | Instr::PassOn(_) => {}
            Instr::Return(_) => self.returns(bodies.body(pc), &mut next),
            Instr::Call { body, .. } => self.go(bodies.code.bodies[body].entry, &mut next),
            Instr::Visible { op: Visible::Begin, .. } => {
                for task in self.flow.tasks.iter().filter(|_| has_tasks()) {
                    self.go(bodies.code.bodies[*task].entry, &mut next);
                }
            }
            Instr::Visible { op, .. } => {
                self.go(pc + 1, &mut next);
                op.exit().into_iter().for_each(|exit| self.go(exit, &mut next));
                if let Visible::Perform { listener, .. } = op {
                    self.callbacks(listener, &mut next);
                }
            }
            _ => self.go(pc + 1, &mut next),
        }
        next
    }

    fn callbacks(&self, listener: crate::event::ListenerId, next: &mut Vec<u32>) {
        let bodies = self.flow.bodies;
        for body in bodies.callbacks.get(&listener).into_iter().flatten() {
            self.go(bodies.code.bodies[*body].entry, next);
        }
    }

    // Adds the places behind the return of a body: behind its calls, at the next callback, at the loop of the looper,
    // or at the end of the thread.
    fn returns(&self, body: BodyId, next: &mut Vec<u32>) {
        let (flow, code) = (self.flow, self.flow.bodies.code);
        for caller in flow.callers.get(&body).into_iter().flatten() {
            self.go(caller + 1, next);
            if let Instr::Visible { op: Visible::Perform { listener, .. }, .. } = code.instrs[*caller as usize] {
                self.callbacks(listener, next);
            }
        }
        if flow.tasks.contains(&body) {
            let is_begin = |pc: &u32| matches!(code.instrs[*pc as usize], Instr::Visible { op: Visible::Begin, .. });
            self.of_pc.iter().filter(|(pc, _)| is_begin(pc)).for_each(|(_, place)| next.push(*place));
        }
        if flow.start == body {
            next.push(self.last);
        }
    }

    // Adds the places to which an exception goes from an instruction.
    fn throws(&self, pc: u32, next: &mut Vec<u32>) {
        let bodies = self.flow.bodies;
        let body = bodies.body(pc);
        let mut caught = false;
        for handler in handlers(bodies.code, body, pc) {
            self.go(handler.target, next);
            caught |= handler.catch.is_none();
        }
        if !caught {
            next.extend(self.thrown.get(&body));
        }
    }

    // The place of an exception that leaves a body.
    fn thrown_out_of(&mut self, body: BodyId) -> Place {
        let mut next = Vec::new();
        for caller in self.flow.callers.get(&body).into_iter().flatten() {
            self.throws(*caller, &mut next);
        }
        let is_outermost = self.flow.start == body || self.flow.tasks.contains(&body);
        if is_outermost && self.table.world.setup().uncaught_ends_thread {
            next.push(self.last);
        }
        Place { next, ..Place::default() }
    }
}

// Returns whether an instruction may throw. A visible one whose operands are not known may.
fn may_throw(instr: &Instr, registers: &[Range]) -> bool {
    let range = |reg: u16| registers[usize::from(reg)];
    match *instr {
        Instr::Binary { op: BinaryOp::Div | BinaryOp::Rem, right, .. } => range(right).meet(0, 0).is_some(),
        Instr::Bound { index, len, .. } => range(index).indices(len as usize).is_none(),
        Instr::Const { .. }
        | Instr::Move { .. }
        | Instr::SelfThread { .. }
        | Instr::Unary { .. }
        | Instr::Binary { .. }
        | Instr::Step { .. }
        | Instr::LoadElement { .. }
        | Instr::StoreElement { .. }
        | Instr::Fill { .. }
        | Instr::New { .. }
        | Instr::Jump(_)
        | Instr::ForNext { .. }
        | Instr::JumpIf { .. }
        | Instr::JumpUnless { .. }
        | Instr::Return(_)
        | Instr::Fail { .. }
        | Instr::Transaction { .. } => false,
        Instr::Visible { op, .. } => !matches!(
            op,
            Visible::Read(_)
                | Visible::Write(..)
                | Visible::AtomicRead(_)
                | Visible::AtomicWrite(..)
                | Visible::Cas { .. }
                | Visible::FetchAdd(..)
                | Visible::Exchange(..)
                | Visible::Acquire(_)
                | Visible::Up(_)
                | Visible::Down(_)
                | Visible::Post { .. }
                | Visible::Begin
                | Visible::Branch
                | Visible::Choose { .. }
                | Visible::Skip
                | Visible::Yield
        ),
        _ => true,
    }
}
