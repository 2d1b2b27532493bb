//! All integration tests, as one program.

mod harness_outcomes;
mod lang_check;
mod lang_parse;
mod language;
mod support;
mod tidy;
