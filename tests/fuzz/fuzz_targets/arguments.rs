//! `raceflip_fuzz::arguments` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| raceflip_fuzz::arguments::check(bytes));
