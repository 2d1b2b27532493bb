//! The representation of a compiled program.

use super::blame::{BlameList, Blames};
use super::instr::{FragmentId, Instr, Reg};
use super::property_terms::PropertyTerms;
use crate::base::{Digester, IndexVec};
use crate::event::{BodyId, EventId, Value};
use crate::lang::program::{ExceptionId, TextId};
use crate::world::{Setup, WordKind};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// A compiled program. It is immutable, and all workers share it.
#[derive(Clone, Debug)]
pub struct Code {
    /// The threads, memory and synchronization objects that exist at the start.
    pub setup: Arc<Setup>,
    /// The instructions of all bodies, one body after another. Jump targets and program counters are indices into this
    /// vector.
    pub(super) instrs: Vec<Instr>,
    /// The expressions that the instructions may throw for.
    pub(super) blamed: BlameList,
    /// For each fragment, the expressions that its instructions may throw for.
    pub(super) fragments_blamed: Vec<BlameList>,
    pub(super) blames: Blames,
    /// The bodies of the program, in its order, then synthetic ones that threads start with (a looper's block followed
    /// by its loop, or the loop alone).
    pub(super) bodies: IndexVec<BodyId, BodyCode>,
    /// For each declared thread its body and its argument.
    pub(super) starts: Vec<(BodyId, Option<i64>)>,
    /// The body of a spawned looper.
    pub(super) looper: BodyId,
    pub(super) init: Option<BodyId>,
    pub(super) fragments: Vec<Fragment>,
    /// The condition of each row. Empty if the program has no component.
    pub(super) conditions: IndexVec<EventId, Option<FragmentId>>,
    /// Name and code of each property that must always hold.
    pub(super) always: Vec<(String, FragmentId)>,
    pub(super) at_end: Vec<(String, FragmentId)>,
    /// The terms of `always`. `None` if one of them is too large to be compiled alone.
    pub(super) watched: Option<PropertyTerms>,
    pub(super) texts: IndexVec<TextId, String>,
    pub(super) exceptions: IndexVec<ExceptionId, String>,
    pub(super) global_kinds: Vec<WordKind>,
    pub(super) class_kinds: Vec<Vec<WordKind>>,
    /// The kind of the value that each async task returns.
    pub(super) results: BTreeMap<BodyId, WordKind>,
    /// The result of [`Code::digest`], once it has been computed.
    pub(super) digest: OnceLock<u128>,
}

/// The code of one body.
#[derive(Clone, Debug, Default)]
pub(super) struct BodyCode {
    /// Index of the first instruction.
    pub(super) entry: u32,
    pub(super) params: u16,
    /// The kind of each register. Parameters come first.
    pub(super) kinds: Vec<WordKind>,
    /// The initial value of each register: a constant, or a value that no state can mistake for a reference.
    pub(super) blank: Vec<Value>,
    /// The exception handlers. Inner ones come first.
    pub(super) handlers: Vec<Handler>,
    /// For each instruction the registers that are live before it, one bit per register. Empty if all count as live.
    pub(super) live: Vec<Vec<u64>>,
}

/// An exception handler: exceptions of instructions in `from..to` continue at `target`.
#[derive(Clone)]
pub(super) struct Handler {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) target: u32,
    /// The exception that the handler catches. `None` catches any.
    pub(super) catch: Option<ExceptionId>,
    /// The register that keeps the exception, to throw it again.
    pub(super) save: Reg,
    /// Whether this is a `catch`. Any other handler throws the exception again.
    pub(super) catches: bool,
}

// The digest of a program contains this text. Whether the handler catches follows from the instructions at its target.
impl std::fmt::Debug for Handler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { from, to, target, catch, save, catches: _ } = self;
        f.debug_struct("Handler")
            .field("from", from)
            .field("to", to)
            .field("target", target)
            .field("catch", catch)
            .field("save", save)
            .finish()
    }
}

/// The code of a condition or property.
#[derive(Clone, Debug)]
pub(super) struct Fragment {
    pub(super) code: Vec<Instr>,
    pub(super) result: Reg,
    /// Number of registers. Those of the surrounding body come first.
    pub(super) regs: u16,
}

impl BodyCode {
    /// Returns the registers that are live before this instruction, one bit per register. `None` if all count as live.
    pub(super) fn live_at(&self, pc: u32) -> Option<&[u64]> {
        self.live.get((pc - self.entry) as usize).map(Vec::as_slice)
    }
}

impl Code {
    /// Returns a stable digest of the program's behavior. Layout, labels, titles and expectations do not enter it.
    #[must_use]
    pub fn digest(&self) -> u128 {
        *self.digest.get_or_init(|| self.compute_digest())
    }

    fn compute_digest(&self) -> u128 {
        let mut digest = Digester::new();
        // The table of sites is left out: it has lines and labels. The number of each instruction's site is in the
        // instructions.
        let setup = Setup { sites: IndexVec::new(), ..(*self.setup).clone() };
        digest.text(&format!("{setup:?}"));
        for body in self.bodies.iter() {
            digest.text(&format!("{:?} {:?} {:?} {:?}", body.entry, body.params, body.blank, body.handlers));
        }
        digest.text(&format!("{:?}", self.instrs));
        digest.text(&format!("{:?} {:?} {:?}", self.fragments, self.always, self.at_end));
        digest.text(&format!("{:?} {:?} {:?} {:?}", self.starts, self.init, self.texts, self.exceptions));
        if !self.conditions.is_empty() {
            digest.text(&format!("{:?}", self.conditions));
        }
        digest.finish()
    }
}
