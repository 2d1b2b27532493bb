//! The call stack of one thread.

use super::code::BodyCode;
use super::instr::Reg;
use crate::event::{BodyId, ThreadId, Value};

/// The frames and registers of one thread.
#[derive(Debug, Default)]
pub struct Fiber {
    /// Program counter of the top frame: the next instruction, or the one whose operation is pending.
    pub(super) pc: u32,
    /// Index of the first register of the top frame.
    pub(super) base: u32,
    /// The registers of all frames. Each frame's registers begin at its `base`.
    pub(super) regs: Vec<Value>,
    // All frames, the first call first. The `pc` of the top frame is out of date; `Fiber::pc` is the current one.
    frames: Vec<Frame>,
    /// Maximum number of registers that this run has needed so far.
    most: usize,
}

crate::clone_in_place!(Fiber { pc, base, regs, frames, most });

// Number of registers whose memory is kept from one run to the next.
const KEPT: usize = 1 << 12;

/// One call of a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) body: BodyId,
    /// Program counter: the next instruction, or the one whose operation is pending.
    pub(super) pc: u32,
    pub(super) base: u32,
    pub(super) kind: FrameKind,
    // Index of the first instruction of the body.
    entry: u32,
}

impl Frame {
    /// Returns whether the frame is a callback that has not begun: it waits for the previous callback to end.
    pub(super) fn waits(&self) -> bool {
        self.kind == FrameKind::Callback && self.pc == self.entry
    }
}

/// The kind of a frame: where its return goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FrameKind {
    /// The first frame of a thread. Its return ends the thread.
    Root,
    /// A call. Its return continues the caller, with the value in this register.
    Call(Reg),
    /// A task. Its return continues the loop of the looper.
    Task,
    /// The first frame of a job, on the looper that runs it or set aside. Its return ends the task of the job.
    Job(ThreadId),
    /// A callback of a listener. Its return has no value and continues with the next callback, or behind the `perform`.
    Callback,
}

// Approximate memory that an allocator takes for so many bytes. Programs with many threads have mostly small
// allocations, so the allocator's overhead counts.
fn allocated(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { (bytes + 8).next_multiple_of(16).max(32) }
}

impl Fiber {
    /// Resets the fiber to the start of the app, and frees the memory of a deep recursion.
    pub(super) fn reset(&mut self) {
        self.clear();
        self.regs.shrink_to(KEPT);
        self.most = 0;
    }

    pub(super) fn clear(&mut self) {
        self.frames.clear();
        self.regs.clear();
    }

    /// Pushes a frame. Its first registers hold the arguments, the others their blank values. Returns the number of
    /// registers that this run needs beyond its previous maximum.
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

    /// Returns a copy that counts only the registers that it has now as needed.
    pub(super) fn stand(&self) -> Self {
        Self { most: self.regs.len(), ..self.clone() }
    }

    /// Returns the maximum number of registers that this run has needed so far.
    pub(super) fn most(&self) -> u64 {
        self.most as u64
    }

    /// Moves the frames of the job that runs on this fiber to an empty one.
    pub(super) fn move_job(&mut self, to: &mut Fiber, job: ThreadId) {
        let Some(first) = self.frames.iter().rposition(|frame| frame.kind == FrameKind::Job(job)) else { return };
        let base = self.frames[first].base;
        (to.pc, to.base) = (self.pc, self.base - base);
        to.regs.extend(self.regs.drain(base as usize..));
        to.frames.extend(self.frames.drain(first..).map(|frame| Frame { base: frame.base - base, ..frame }));
        if let Some(top) = self.frames.last() {
            (self.pc, self.base) = (top.pc, top.base);
        }
    }

    /// Moves all frames of another fiber on top of these. Returns the number of registers that the run needs beyond its
    /// previous maximum.
    #[must_use]
    pub(super) fn append(&mut self, from: &mut Fiber) -> usize {
        if let Some(top) = self.frames.last_mut() {
            top.pc = self.pc;
        }
        let base = self.regs.len() as u32;
        (self.pc, self.base) = (from.pc, from.base + base);
        self.regs.append(&mut from.regs);
        self.frames.extend(from.frames.drain(..).map(|frame| Frame { base: frame.base + base, ..frame }));
        let before = self.most;
        self.most = before.max(self.regs.len());
        self.most - before
    }

    /// Returns the frame that runs.
    pub(super) fn top_frame(&self) -> Option<Frame> {
        self.frames.last().map(|f| Frame { pc: self.pc, ..*f })
    }

    /// Returns the approximate memory of the fiber, in bytes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + allocated(size_of_val(&*self.regs)) + allocated(size_of_val(&*self.frames))
    }

    /// Returns the number of frames.
    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    /// Returns all frames, the first call first.
    pub(super) fn frames(&self) -> impl Iterator<Item = Frame> + '_ {
        let callers = self.frames.len().saturating_sub(1);
        self.frames[..callers].iter().copied().chain(self.top_frame())
    }

    /// Returns the depth of calls. Callbacks that have not begun do not count: they wait for the current one.
    pub(super) fn depth(&self) -> usize {
        self.frames().filter(|f| !f.waits()).count()
    }

    /// Returns the registers of the top frame.
    pub(super) fn top(&self) -> &[Value] {
        if self.frames.is_empty() { &[] } else { &self.regs[self.base as usize..] }
    }
}
