//! The model language: source text to a checked program.

pub mod ast;
mod diagnostic;

pub use diagnostic::Diagnostic;
pub mod program;

pub use program::Program;
