//! Any bytes: an error with its place, or a trace whose races can be found and that comes back from its rows.

#![no_main]

use libfuzzer_sys::fuzz_target;
use raceflip::detect::happens_before::{Options, analyze};
use raceflip::formats::traces::{read, write};
use std::sync::atomic::AtomicBool;

fuzz_target!(|bytes: &[u8]| {
    match read("fuzz.txt", bytes) {
        Ok(trace) => {
            analyze(&trace, Options::default(), &AtomicBool::new(false)).expect("nobody stops it");
            let mut rows = Vec::new();
            write(&trace, "fuzz.txt", &mut rows).expect("memory can be written");
            let again = read("rows.jsonl", &rows[..]).expect("what was written is a trace");
            assert_eq!(again.ops, trace.ops);
        }
        Err(error) => assert!(error.line > 0 && error.column > 0),
    }
});
