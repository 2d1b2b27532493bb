//! The call stack of one thread.

use super::instr::Reg;
use crate::event::{BodyId, Value};

/// A thread's frames and registers.
#[derive(Clone, Debug, Default)]
pub(super) struct Fiber {
    pub(super) frames: Vec<Frame>,
    /// The registers of all frames, each frame's from its `base` on.
    pub(super) regs: Vec<Value>,
    /// The most registers that this run has needed.
    most: usize,
}

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
    pub(super) fn push(&mut self, body: BodyId, blank: &[Value], args: &[Value], kind: FrameKind) -> usize {
        let base = self.regs.len();
        self.regs.extend_from_slice(args);
        self.regs.extend_from_slice(blank.get(args.len()..).unwrap_or_default());
        self.frames.push(Frame { body, pc: 0, base: base as u32, kind });
        let before = self.most;
        self.most = before.max(self.regs.len());
        self.most - before
    }

    pub(super) fn pop(&mut self) -> Option<Frame> {
        let frame = self.frames.pop()?;
        self.regs.truncate(frame.base as usize);
        Some(frame)
    }

    /// How deep the calls are. Callbacks that stand at their start are not counted: they wait for the one that runs.
    pub(super) fn depth(&self) -> usize {
        self.frames.iter().filter(|f| f.kind != FrameKind::Callback || f.pc > 0).count()
    }

    /// The registers of the top frame.
    pub(super) fn top(&self) -> &[Value] {
        let base = self.frames.last().map_or(0, |f| f.base as usize);
        &self.regs[base..]
    }
}
