//! The call stack of one thread.

use super::code::BodyCode;
use super::instr::Reg;
use crate::event::{BodyId, Value};

/// A thread's frames and registers.
#[derive(Debug, Default)]
pub(super) struct Fiber {
    /// Where the top frame stands: the instruction that is next, or pending.
    pub(super) pc: u32,
    /// Where the registers of the top frame begin.
    pub(super) base: u32,
    /// The registers of all frames, each frame's from its `base` on.
    pub(super) regs: Vec<Value>,
    // The top one's `pc` is out of date.
    frames: Vec<Frame>,
    /// The most registers that this run has needed.
    most: usize,
}

crate::clone_in_place!(Fiber { pc, base, regs, frames, most });

// Registers whose room is kept from one run to the next.
const KEPT: usize = 1 << 12;

/// One call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) body: BodyId,
    /// The instruction that is next, or pending.
    pub(super) pc: u32,
    pub(super) base: u32,
    pub(super) kind: FrameKind,
    // Where its body begins.
    entry: u32,
}

impl Frame {
    /// A callback that waits for the one before it to end.
    pub(super) fn waits(&self) -> bool {
        self.kind == FrameKind::Callback && self.pc == self.entry
    }
}

/// What a frame returns to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FrameKind {
    /// The end of the thread.
    Root,
    /// The caller, which wants the value here.
    Call(Reg),
    /// The loop of a looper.
    Task,
    /// A `perform` of a listener: no value.
    Callback,
}

// What an allocator takes for so many bytes, about: where there are many threads, most of what they have is small.
fn allocated(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { (bytes + 8).next_multiple_of(16).max(32) }
}

impl Fiber {
    /// Back to the start of the app, without the room of a deep recursion.
    pub(super) fn reset(&mut self) {
        self.clear();
        self.regs.shrink_to(KEPT);
        self.most = 0;
    }

    pub(super) fn clear(&mut self) {
        self.frames.clear();
        self.regs.clear();
    }

    /// Pushes a frame whose first registers are the arguments, the others blank. Returns how many registers it takes that this run has
    /// not needed before.
    #[must_use]
    pub(super) fn push(&mut self, body: BodyId, code: &BodyCode, args: &[Value], kind: FrameKind) -> usize {
        if let Some(caller) = self.frames.last_mut() {
            caller.pc = self.pc;
        }
        let (base, entry) = (self.regs.len() as u32, code.entry);
        self.regs.extend_from_slice(args);
        self.regs.extend_from_slice(code.blank.get(args.len()..).unwrap_or_default());
        self.frames.push(Frame { body, pc: entry, base, kind, entry });
        (self.pc, self.base) = (entry, base);
        let before = self.most;
        self.most = before.max(self.regs.len());
        self.most - before
    }

    pub(super) fn pop(&mut self) -> Option<Frame> {
        let frame = self.top_frame()?;
        self.frames.pop();
        self.regs.truncate(frame.base as usize);
        if let Some(caller) = self.frames.last() {
            (self.pc, self.base) = (caller.pc, caller.base);
        }
        Some(frame)
    }

    /// The frame that runs.
    pub(super) fn top_frame(&self) -> Option<Frame> {
        self.frames.last().map(|f| Frame { pc: self.pc, ..*f })
    }

    /// About how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + allocated(size_of_val(&*self.regs)) + allocated(size_of_val(&*self.frames))
    }

    /// How many frames there are.
    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    /// All frames, the first call first.
    pub(super) fn frames(&self) -> impl Iterator<Item = Frame> + '_ {
        let callers = self.frames.len().saturating_sub(1);
        self.frames[..callers].iter().copied().chain(self.top_frame())
    }

    /// How deep the calls are. Callbacks that stand at their start are not counted: they wait for the one that runs.
    pub(super) fn depth(&self) -> usize {
        self.frames().filter(|f| !f.waits()).count()
    }

    /// The registers of the top frame.
    pub(super) fn top(&self) -> &[Value] {
        if self.frames.is_empty() { &[] } else { &self.regs[self.base as usize..] }
    }
}
