//! `raceflip_fuzz::strategy` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| raceflip_fuzz::strategy::check(bytes));
