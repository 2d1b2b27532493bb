//! `raceflip_fuzz::journal` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| raceflip_fuzz::journal::check(bytes));
