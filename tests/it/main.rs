//! All integration tests, as one program.

mod cli;
mod determinism;
mod lang_check;
mod lang_errors;
mod lang_hostile;
mod lang_parse;
mod lang_roundtrip;
mod load;
mod snapshot;
