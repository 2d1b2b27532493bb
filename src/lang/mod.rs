//! The model language: source text to a checked program.
//!
//! A [`Source`] is a text; [`parse()`] makes a tree of it ([`ast`]), [`check()`] a checked [`Program`] ([`program`]). Errors are [`Diagnostic`]s, which [`render()`] shows.
//! [`crate::vm::Model`] does all that in one call. [`format()`] lays a text out, [`print()`] writes a tree, [`variants`] finds the variants that `expect` lines speak of.

#[allow(missing_docs, reason = "a variant says the form; its fields are named after the parts")]
pub mod ast;
mod check;
mod diagnostic;
mod errors;
pub mod foreign;
mod format;
mod lexer;
mod near;
mod parser;
mod print;
#[allow(missing_docs, reason = "a variant says the form; its fields are named after the parts")]
pub mod program;
mod render;
mod source;
mod token;
pub mod variants;
mod warnings;
pub mod words;

pub use check::{CheckErrors, DefineError, check};
pub use diagnostic::Diagnostic;
pub use errors::syntax_errors;
pub use format::format;
pub use lexer::comments;
pub use near::near;
pub use parser::parse;
pub use print::print;
pub(crate) use print::quoted;
pub use program::Program;
pub use render::{render, render_warnings};
pub use source::{MAX_SOURCE, Place, Source, SourceError};
pub use warnings::warnings;
