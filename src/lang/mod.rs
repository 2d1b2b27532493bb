//! The model language: from source text to a checked program.
//!
//! - A [`Source`] is a source text.
//! - [`parse()`] makes a syntax tree of it ([`ast`]).
//! - [`check()`] makes a checked [`Program`] of the tree ([`program`]).
//! - Errors are [`Diagnostic`]s, which [`render()`] displays.
//!
//! [`crate::vm::Model`] does all of this in one call. [`format()`] formats a source text, [`print()`] prints a tree,
//! [`editor`] answers what an editor asks about a text, and [`variants`] finds the variants that `expect` lines name.

#[allow(missing_docs, reason = "a variant says the form; its fields are named after the parts")]
mod alike;
pub mod ast;
mod check;
mod diagnostic;
pub mod editor;
mod end_values;
mod errors;
mod expand;
pub mod foreign;
mod format;
mod lexer;
mod library;
mod near;
mod parser;
mod print;
#[allow(missing_docs, reason = "a variant says the form; its fields are named after the parts")]
pub mod program;
#[cfg(feature = "cli")]
mod render;
#[cfg(not(feature = "cli"))]
mod render_plain;
mod source;
mod token;
pub mod variants;
mod warnings;
pub mod words;

pub use alike::Alike;
pub(crate) use check::MAX_THREADS;
pub use check::{CheckErrors, DefineError, check};
pub use diagnostic::Diagnostic;
pub use errors::syntax_errors;
pub use expand::expand;
pub use format::format;
pub use lexer::comments;
pub(crate) use library::library_text;
pub use near::near;
pub use parser::parse;
pub use print::print;
pub(crate) use print::quoted;
pub use program::Program;
#[cfg(feature = "cli")]
pub use render::{render, render_warnings};
#[cfg(not(feature = "cli"))]
pub use render_plain::{render, render_warnings};
pub use source::{MAX_SOURCE, Source, SourceError, SourcePlace};
pub use warnings::{is_silenced, warnings};
