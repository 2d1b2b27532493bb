//! Checks of all readers of foreign bytes: each module states the properties that must hold for one reader, whatever
//! the bytes are.
//!
//! `fuzz_targets/` passes each check to libFuzzer; `tests/it/fuzzed.rs` runs each check on its corpus, so `cargo test`
//! covers it too. A check panics if a property fails. No reader may panic, run forever, or use unbounded memory; each
//! module adds its own properties.

pub mod arguments;
pub mod campaign;
pub mod corpus;
pub mod fuzz_journal;
pub mod journal;
pub mod model;
pub mod pairs;
pub mod seed;
pub mod strategy;
pub mod token;
pub mod traces;

/// A check of a reader on some bytes: it panics if the reader breaks one of its properties.
pub type Check = fn(&[u8]);

/// All checks, each with the name of its fuzz target, which is also the folder of its corpus.
pub const ALL: [(&str, Check); 11] = [
    ("arguments", arguments::check),
    ("campaign", campaign::check),
    ("corpus", corpus::check),
    ("fuzz_journal", fuzz_journal::check),
    ("journal", journal::check),
    ("model", model::check),
    ("pairs", pairs::check),
    ("seed", seed::check),
    ("strategy", strategy::check),
    ("token", token::check),
    ("traces", traces::check),
];

/// Asserts that an error message is not empty.
fn is_told(error: &str) {
    assert!(!error.trim().is_empty(), "an error without a word");
}
