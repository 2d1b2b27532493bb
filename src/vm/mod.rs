//! Models that are ready to run, and the virtual machine that executes them.
//!
//! The machine is the guest for a checked program. It consists of compact instructions, registers and frames, and it
//! knows for each thread the visible operation that is pending. [`Model`] is the entry point: it loads a model and
//! creates machines that run it.

mod blame;
mod code;
mod compile;
mod fiber;
mod future;
mod guest;
mod instr;
mod jobs;
mod liveness;
mod model;
mod operands;
mod platform;
mod property_terms;
mod pure;
mod run;
mod unwind;

pub use code::Code;
pub use compile::{CompileError, compile};
pub use guest::Vm;
pub use model::{Model, ModelError};
