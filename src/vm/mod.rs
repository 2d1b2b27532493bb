//! Models that are ready to run, and the guest for a checked program: compact instructions, registers, frames, and for each thread the visible operation that it is about to perform.
//!
//! [`Model`] is the way in: it loads a model and makes machines that run it.

mod blame;
mod code;
mod compile;
mod fiber;
mod guest;
mod instr;
mod liveness;
mod model;
mod operands;
mod pure;
mod run;
mod unwind;
mod watched;

pub use code::Code;
pub use compile::{CompileError, compile};
pub use guest::Vm;
pub use model::{Model, ModelError};
