//! `raceflip_fuzz::seed` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| raceflip_fuzz::seed::check(bytes));
