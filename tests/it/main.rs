//! All integration tests, as one program.

mod detect_models;
mod lang_check;
mod lang_errors;
mod lang_hostile;
mod lang_parse;
mod lang_roundtrip;
mod language;
mod load;
mod races;
mod readme;
mod snapshot;
mod support;
mod tidy;
