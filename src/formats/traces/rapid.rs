//! STD, the form of traces that RAPID and tools like it read (<https://github.com/umangm/rapid>).
//!
//! A line is an operation: `T0|w(V12)|41`, the thread, the operation with its operand, and the number of the statement.
//! A file has no header, no comments, no times and no values. Its order is the order of the run. Names are opaque:
//! those of threads, of locks and of variables are apart. [`grammar`] parses a line, [`read`] builds the trace, and
//! [`write`] writes one.

pub(super) mod grammar;
mod map;
pub(super) mod read;
pub(super) mod write;

#[cfg(test)]
mod tests;
