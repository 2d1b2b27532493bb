//! All integration tests, as one program.

mod cli;
mod cli_bounds;
mod cli_replay;
mod detect_models;
mod determinism;
mod directed;
mod endless;
mod enumerate;
mod evidence;
mod figures;
mod harness_outcomes;
mod lang_check;
mod lang_errors;
mod lang_hostile;
mod lang_parse;
mod lang_roundtrip;
mod language;
mod load;
mod mutations;
mod races;
mod readme;
mod snapshot;
mod support;
mod tidy;
mod tiny;
