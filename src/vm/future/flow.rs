//! The flow of control of one thread: which instructions it can reach, with which values in the registers.
//!
//! One thread is one analysis, with its own parameter, so that the elements of arrays that it uses are known. Inside
//! it a body has one state for all of its callers. Values of memory are unknown.

use super::range::Range;
use crate::base::Id;
use crate::event::{BodyId, ListenerId, ThreadId, Value};
use crate::lang::ast::UnaryOp;
use crate::vm::code::Code;
use crate::vm::instr::{Instr, Reg, Regs, Visible};
use crate::vm::liveness::written;
use std::collections::{BTreeMap, BTreeSet};

/// The registers of a frame.
pub(super) type Registers = Vec<Range>;

/// Bound on the number of register values that one analysis keeps. A larger program has no known futures.
const MOST_VALUES: usize = 8_000_000;
/// Number of times that the ranges before an instruction may grow until they are widened.
const PATIENCE: u16 = 8;

/// Tables about a program that all threads share.
pub(super) struct Bodies<'c> {
    pub(super) code: &'c Code,
    // First instruction of each body, ascending.
    entries: Vec<(u32, BodyId)>,
    /// Bodies that are registered to each listener somewhere.
    pub(super) callbacks: BTreeMap<ListenerId, BTreeSet<BodyId>>,
    /// Whether some looper may quit.
    pub(super) quits: bool,
}

impl<'c> Bodies<'c> {
    pub(super) fn new(code: &'c Code) -> Self {
        let mut entries: Vec<(u32, BodyId)> = code.bodies.enumerate().map(|(id, body)| (body.entry, id)).collect();
        entries.sort_unstable();
        let mut callbacks: BTreeMap<ListenerId, BTreeSet<BodyId>> = BTreeMap::new();
        for instr in &code.instrs {
            if let Instr::Visible { op: Visible::Register { listener, body }, .. } = instr {
                callbacks.entry(*listener).or_default().insert(*body);
            }
        }
        let is_quit = |instr: &Instr| matches!(instr, Instr::Visible { op: Visible::Quit { .. }, .. });
        Self { code, entries, callbacks, quits: code.instrs.iter().any(is_quit) }
    }

    /// Returns the body of an instruction.
    pub(super) fn body(&self, pc: u32) -> BodyId {
        self.entries[self.entries.partition_point(|(entry, _)| *entry <= pc) - 1].1
    }
}

/// The flow of control of one thread.
pub(super) struct Flow<'b> {
    pub(super) bodies: &'b Bodies<'b>,
    /// The thread; `None` for `init`.
    pub(super) thread: Option<ThreadId>,
    /// Body with which the thread starts.
    pub(super) start: BodyId,
    /// Bodies of the tasks that it may run as a looper.
    pub(super) tasks: &'b BTreeSet<BodyId>,
    /// Registers before each instruction that can be reached.
    pub(super) states: BTreeMap<u32, Registers>,
    /// Instructions that call each body, or perform it as a callback.
    pub(super) callers: BTreeMap<BodyId, BTreeSet<u32>>,
    visits: BTreeMap<u32, u16>,
    open: BTreeSet<u32>,
    values: usize,
}

impl<'b> Flow<'b> {
    /// Analyzes a thread. `None` if the program is too large.
    pub(super) fn new(
        bodies: &'b Bodies<'b>,
        thread: Option<ThreadId>,
        start: (BodyId, Option<Value>),
        tasks: &'b BTreeSet<BodyId>,
    ) -> Option<Self> {
        let mut flow = Self {
            bodies,
            thread,
            start: start.0,
            tasks,
            states: BTreeMap::new(),
            callers: BTreeMap::new(),
            visits: BTreeMap::new(),
            open: BTreeSet::new(),
            values: 0,
        };
        let arguments: Registers = start.1.into_iter().map(Range::of).collect();
        flow.enter(start.0, &arguments);
        while let Some(pc) = flow.open.pop_first() {
            let before = flow.states[&pc].clone();
            flow.follow(pc, before);
            if flow.values > MOST_VALUES {
                return None;
            }
        }
        Some(flow)
    }

    // Enters a body. Parameters without an argument can have any value.
    fn enter(&mut self, body: BodyId, arguments: &[Range]) {
        let code = &self.bodies.code.bodies[body];
        let params = usize::from(code.params);
        let blank = code.blank.iter().map(|value| Range::of(*value)).enumerate();
        let first = |(i, blank)| if i < params { arguments.get(i).copied().unwrap_or(Range::ANY) } else { blank };
        self.arrive(code.entry, &blank.map(first).collect::<Registers>());
    }

    fn arrive(&mut self, pc: u32, registers: &[Range]) {
        let visits = self.visits.entry(pc).or_default();
        let patient = *visits <= PATIENCE;
        match self.states.get_mut(&pc) {
            None => {
                self.values += registers.len();
                self.states.insert(pc, registers.to_vec());
            }
            Some(known) => {
                let mut grows = false;
                for (known, new) in known.iter_mut().zip(registers) {
                    let joined = if patient { known.join(*new) } else { known.widen(*new) };
                    grows |= joined != *known;
                    *known = joined;
                }
                if !grows {
                    return;
                }
                *visits = visits.saturating_add(1);
            }
        }
        self.open.insert(pc);
    }

    // Follows an instruction to all that may come next.
    fn follow(&mut self, pc: u32, mut r: Registers) {
        let instr = self.bodies.code.instrs[pc as usize];
        self.throw(pc, &r);
        let get = |r: &Registers, reg: Reg| r[usize::from(reg)];
        match instr {
            Instr::Jump(to) => return self.arrive(to, &r),
            Instr::ForNext { counter, end, local, body } => {
                let (from, to) = (get(&r, counter), get(&r, end));
                if from.high >= to.low {
                    self.arrive(pc + 1, &r);
                }
                if let Some(inside) = from.meet(Value::MIN, to.high.saturating_sub(1)).filter(|_| from.low < to.high) {
                    r[usize::from(local)] = inside;
                    r[usize::from(counter)] = Range::binary(crate::lang::ast::BinaryOp::Add, inside, Range::of(1));
                    self.arrive(body, &r);
                }
                return;
            }
            Instr::JumpIf { cond, to } | Instr::JumpUnless { cond, to } => {
                let cond = get(&r, cond);
                let (mut holds, mut fails) = (cond != Range::of(0), cond.low <= 0 && cond.high >= 0);
                if matches!(instr, Instr::JumpUnless { .. }) {
                    std::mem::swap(&mut holds, &mut fails);
                }
                if holds {
                    self.arrive(to, &r);
                }
                if fails {
                    self.arrive(pc + 1, &r);
                }
                return;
            }
            Instr::Return(_) | Instr::Fail { .. } | Instr::Throw { .. } | Instr::Rethrow(_) | Instr::PassOn(_) => {
                return;
            }
            Instr::Call { body, args, dst, .. } => {
                self.callers.entry(body).or_default().insert(pc);
                let arguments = r[usize::from(args.first)..][..usize::from(args.count)].to_vec();
                self.enter(body, &arguments);
                r[usize::from(dst)] = Range::ANY;
            }
            Instr::Visible { op, dst, .. } => {
                r[usize::from(dst)] = match op {
                    Visible::Choose { from, values } => get(&r, from)
                        .single()
                        .map_or(Range::ANY, |low| Range { low, high: low.saturating_add(Value::from(values) - 1) }),
                    _ => Range::ANY,
                };
                if let Some((values, received)) = op.select_results() {
                    fill(&mut r, values, Range::ANY);
                    r[usize::from(received)] = Range::ANY;
                }
                if let Some(exit) = op.exit() {
                    self.arrive(exit, &r);
                }
                self.begin_bodies(pc, &op);
                if matches!(op, Visible::Begin) && !self.bodies.quits {
                    return;
                }
            }
            _ => {
                if !set_local(&mut r, &instr, self.thread) {
                    return;
                }
            }
        }
        self.arrive(pc + 1, &r);
        // While callbacks run, the counter is past the `perform`, whose handlers still hold.
        if matches!(instr, Instr::Visible { op: Visible::Perform { .. }, .. }) {
            self.throw(pc, &r);
        }
    }

    // Enters the bodies that an operation runs on this thread.
    fn begin_bodies(&mut self, pc: u32, op: &Visible) {
        match op {
            Visible::Begin => {
                let tasks = self.tasks;
                tasks.iter().for_each(|task| self.enter(*task, &[]));
            }
            Visible::Perform { listener, .. } => {
                let bodies = self.bodies;
                for body in bodies.callbacks.get(listener).into_iter().flatten() {
                    self.callers.entry(*body).or_default().insert(pc);
                    self.enter(*body, &[]);
                }
            }
            _ => {}
        }
    }

    // An exception may leave from here to the handlers of the body.
    fn throw(&mut self, pc: u32, registers: &[Range]) {
        let bodies = self.bodies;
        for handler in handlers(bodies.code, bodies.body(pc), pc) {
            let mut there = registers.to_vec();
            there[usize::from(handler.save)] = Range::ANY;
            self.arrive(handler.target, &there);
        }
    }
}

/// Returns the handlers of an instruction, up to one that catches every exception.
pub(super) fn handlers(code: &Code, body: BodyId, pc: u32) -> impl Iterator<Item = &crate::vm::code::Handler> {
    let mut caught = false;
    code.bodies[body].handlers.iter().filter(move |h| (h.from..h.to).contains(&pc)).take_while(move |h| {
        let was = caught;
        caught |= h.catch.is_none();
        !was
    })
}

// Applies an instruction that only changes registers. Returns false if nothing comes after it.
fn set_local(r: &mut Registers, instr: &Instr, thread: Option<ThreadId>) -> bool {
    let get = |reg: Reg| r[usize::from(reg)];
    let (dst, value) = match *instr {
        Instr::Const { dst, value } => (dst, Range::of(value)),
        Instr::Move { dst, src } => (dst, get(src)),
        Instr::SelfThread { dst } => (dst, thread.map_or(Range::ANY, |t| Range::of(t.index() as Value))),
        Instr::IsLooper { dst, .. } => (dst, Range { low: 0, high: 1 }),
        Instr::Unary { op: UnaryOp::Not, dst, src } => {
            let src = get(src);
            let zero =
                Range { low: Value::from(src == Range::of(0)), high: Value::from(src.low <= 0 && src.high >= 0) };
            (dst, zero)
        }
        Instr::Unary { op: UnaryOp::Neg, dst, src } => {
            (dst, get(src).single().map_or(Range::ANY, |value| Range::of(value.wrapping_neg())))
        }
        Instr::Binary { op, dst, left, right, .. } => (dst, Range::binary(op, get(left), get(right))),
        Instr::Bound { dst, index, len, .. } => match get(index).meet(0, Value::from(len) - 1) {
            Some(inside) => (dst, inside),
            None => return false,
        },
        Instr::Step { dst, base, index, stride } => (dst, Range::step(get(base), get(index), stride)),
        Instr::LoadElement { dst, array, index } => {
            let all = &r[usize::from(array.first)..][..usize::from(array.count)];
            let read = get(index).indices(all.len()).unwrap_or(0..=all.len().saturating_sub(1));
            (dst, all.get(read).and_then(|all| all.iter().copied().reduce(Range::join)).unwrap_or(Range::ANY))
        }
        Instr::StoreElement { first, index, src } => {
            let (src, count) = (get(src), r.len() - usize::from(first));
            let written = get(index).indices(count).unwrap_or(0..=count - 1);
            r[usize::from(first)..][written].iter_mut().for_each(|old| *old = old.join(src));
            return true;
        }
        Instr::Fill { regs, value } => {
            fill(r, regs, Range::of(value));
            return true;
        }
        Instr::Field { dst, .. }
        | Instr::New { dst, .. }
        | Instr::Peek { dst, .. }
        | Instr::PeekList { dst, .. }
        | Instr::Platform { dst, .. } => (dst, Range::ANY),
        _ => return true,
    };
    r[usize::from(dst)] = value;
    true
}

fn fill(r: &mut Registers, regs: Regs, value: Range) {
    r[usize::from(regs.first)..][..usize::from(regs.count)].fill(value);
}

/// Applies the instructions of a condition, whose jumps only go forward. `at` is called with each of them and the
/// registers before it, which contain the values of all ways to it.
pub(super) fn through_condition(code: &[Instr], registers: &[Range], regs: u16, mut at: impl FnMut(&Instr, &[Range])) {
    let mut r = registers.to_vec();
    r.resize(usize::from(regs).max(r.len()), Range::ANY);
    // A register that is written on several ways can have the value of any of them.
    let mut writes = vec![0u32; r.len()];
    code.iter().filter_map(written).for_each(|reg| writes[usize::from(reg)] += 1);
    for instr in code {
        at(instr, &r);
        set_local(&mut r, instr, None);
        if let Some(reg) = written(instr).filter(|reg| writes[usize::from(*reg)] > 1) {
            r[usize::from(reg)] = Range::ANY;
        }
    }
}
