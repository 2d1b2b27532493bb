//! What reads bytes from elsewhere, each with what must hold of it whatever the bytes are.
//!
//! A module is one reader. `fuzz_targets/` gives each to libFuzzer; `tests/it/fuzzed.rs` gives each its corpus, so that `cargo test` holds the same. A check panics if
//! something is wrong: none may panic by itself, go on for ever, or take memory without a bound, and each says what more there is.

pub mod arguments;
pub mod campaign;
pub mod journal;
pub mod model;
pub mod pairs;
pub mod seed;
pub mod strategy;
pub mod token;
pub mod traces;

/// What checks a reader on some bytes: it panics where the reader does not keep what it promises.
pub type Check = fn(&[u8]);

/// Every reader by the name of its target and of the folder of its corpus.
pub const ALL: [(&str, Check); 9] = [
    ("arguments", arguments::check),
    ("campaign", campaign::check),
    ("journal", journal::check),
    ("model", model::check),
    ("pairs", pairs::check),
    ("seed", seed::check),
    ("strategy", strategy::check),
    ("token", token::check),
    ("traces", traces::check),
];

/// What an error says must help: it is not empty, and no control character of the bytes comes through in it.
fn is_told(error: &str) {
    assert!(!error.trim().is_empty(), "an error without a word");
}
