//! The call stack of one thread.

use super::instr::Reg;
use crate::event::{BodyId, Value};

/// A thread's frames and registers.
#[derive(Clone, Debug, Default)]
pub(super) struct Fiber {
    pub(super) frames: Vec<Frame>,
    /// The registers of all frames, each frame's from its `base` on.
    pub(super) regs: Vec<Value>,
}

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
    pub(super) fn clear(&mut self) {
        self.frames.clear();
        self.regs.clear();
    }

    /// Pushes a frame whose first registers are the arguments, the others blank.
    pub(super) fn push(&mut self, body: BodyId, blank: &[Value], args: &[Value], kind: FrameKind) {
        let base = self.regs.len();
        self.regs.extend_from_slice(args);
        self.regs.extend_from_slice(blank.get(args.len()..).unwrap_or_default());
        self.frames.push(Frame { body, pc: 0, base: base as u32, kind });
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
