//! `raceflip_fuzz::fuzz_journal` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| raceflip_fuzz::fuzz_journal::check(bytes));
