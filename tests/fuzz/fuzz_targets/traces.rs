//! `raceflip_fuzz::traces` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| raceflip_fuzz::traces::check(bytes));
