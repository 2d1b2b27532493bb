//! Fuzzes traces of every format: the result is an error with its place, or a trace whose races can be computed and
//! that survives being written as rows, and as STD.

use raceflip::detect::happens_before::{Options, analyze};
use raceflip::formats::traces::stat::Stat;
use raceflip::formats::traces::{TraceForm, read, read_as, write, write_std};
use std::sync::atomic::AtomicBool;

/// Checks the reader of traces on these bytes.
pub fn check(bytes: &[u8]) {
    match read("fuzz.txt", bytes) {
        Ok(trace) => {
            analyze(&trace, Options::default(), &AtomicBool::new(false)).expect("nobody stops it");
            let _ = Stat::new("fuzz.txt", &trace);
            let mut rows = Vec::new();
            write(&trace, "fuzz.txt", &mut rows).expect("memory can be written");
            let again = read("rows.jsonl", &rows[..]).expect("what was written is a trace");
            // Threads without operations are not written, so the other threads may have lower numbers.
            assert_eq!(again.ops.len(), trace.ops.len());
            let mut twice = Vec::new();
            write(&again, "fuzz.txt", &mut twice).expect("memory can be written");
            assert_eq!(String::from_utf8_lossy(&twice), String::from_utf8_lossy(&rows), "written twice");
            let mut std = Vec::new();
            write_std(&trace, &mut std).expect("memory can be written");
            // A trace of which STD can say nothing becomes an empty file.
            if !std.is_empty() {
                let again = read_as("x.std", &std[..], Some(TraceForm::Std)).expect("what was written is STD");
                let mut twice = Vec::new();
                write_std(&again, &mut twice).expect("memory can be written");
                assert_eq!(String::from_utf8_lossy(&twice), String::from_utf8_lossy(&std), "STD written twice");
            }
        }
        Err(error) => {
            assert!(error.line > 0 && error.column > 0);
            super::is_told(&error.to_string());
        }
    }
}
