//! A compiled program.

use super::blame::{Blamed, Blames};
use super::instr::{FragmentId, Instr, Reg};
use super::watched::Watched;
use crate::base::{Digester, IndexVec};
use crate::event::{BodyId, Value};
use crate::lang::program::{ExceptionId, TextId};
use crate::world::{Kind, Setup};
use std::sync::{Arc, OnceLock};

/// A compiled program: immutable, shared by all workers.
#[derive(Clone, Debug)]
pub struct Code {
    /// What exists at the start.
    pub setup: Arc<Setup>,
    /// The instructions of all bodies, one after another; jumps and program counters are places in here.
    pub(super) instrs: Vec<Instr>,
    /// What those may throw for.
    pub(super) blamed: Blamed,
    /// The same of each fragment.
    pub(super) fragments_blamed: Vec<Blamed>,
    pub(super) blames: Blames,
    /// Bodies, as in the program, then those that threads start with (a looper's block and its loop).
    pub(super) bodies: IndexVec<BodyId, BodyCode>,
    /// What each declared thread runs, and its argument.
    pub(super) starts: Vec<(BodyId, Option<i64>)>,
    /// What a spawned looper runs.
    pub(super) looper: BodyId,
    pub(super) init: Option<BodyId>,
    pub(super) fragments: Vec<Fragment>,
    /// Properties that always hold, and at rest: name and code.
    pub(super) always: Vec<(String, FragmentId)>,
    pub(super) at_end: Vec<(String, FragmentId)>,
    /// The terms of `always`; `None` where one has no room of its own.
    pub(super) watched: Option<Watched>,
    pub(super) texts: IndexVec<TextId, String>,
    pub(super) exceptions: IndexVec<ExceptionId, String>,
    pub(super) global_kinds: Vec<Kind>,
    pub(super) class_kinds: Vec<Vec<Kind>>,
    /// [`Code::digest`], once somebody has asked for it.
    pub(super) digest: OnceLock<u128>,
}

/// The code of one body.
#[derive(Clone, Debug, Default)]
pub(super) struct BodyCode {
    /// Its first instruction.
    pub(super) entry: u32,
    pub(super) params: u16,
    /// The kind of each register, parameters first.
    pub(super) kinds: Vec<Kind>,
    /// What each register holds before it is written: nothing that a state could take for a reference; or a constant.
    pub(super) blank: Vec<Value>,
    /// Inner ones first.
    pub(super) handlers: Vec<Handler>,
    /// For each instruction, which registers may be read from there on (a bit for each).
    pub(super) live: Vec<Vec<u64>>,
}

/// Where an exception in `from..to` goes on.
#[derive(Clone, Debug)]
pub(super) struct Handler {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) target: u32,
    /// `None` takes any.
    pub(super) catch: Option<ExceptionId>,
    /// Where the exception is kept, to be thrown again.
    pub(super) save: Reg,
}

/// A condition or property.
#[derive(Clone, Debug)]
pub(super) struct Fragment {
    pub(super) code: Vec<Instr>,
    pub(super) result: Reg,
    /// Registers: those of the body it stands in first.
    pub(super) regs: u16,
}

impl BodyCode {
    /// The registers that may be read from this instruction on; `None`: all.
    pub(super) fn live_at(&self, pc: u32) -> Option<&[u64]> {
        self.live.get((pc - self.entry) as usize).map(Vec::as_slice)
    }
}

impl Code {
    /// A stable digest of what the program does: no layout, labels, titles, expectations.
    #[must_use]
    pub fn digest(&self) -> u128 {
        *self.digest.get_or_init(|| self.compute_digest())
    }

    fn compute_digest(&self) -> u128 {
        let mut digest = Digester::new();
        // Sites have lines and labels; which instruction has which site is in the instructions.
        let setup = Setup { sites: IndexVec::new(), ..(*self.setup).clone() };
        digest.text(&format!("{setup:?}"));
        for body in self.bodies.iter() {
            digest.text(&format!("{:?} {:?} {:?} {:?}", body.entry, body.params, body.blank, body.handlers));
        }
        digest.text(&format!("{:?}", self.instrs));
        digest.text(&format!("{:?} {:?} {:?}", self.fragments, self.always, self.at_end));
        digest.text(&format!("{:?} {:?} {:?} {:?}", self.starts, self.init, self.texts, self.exceptions));
        digest.finish()
    }
}
