//! `raceflip_fuzz::corpus` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| raceflip_fuzz::corpus::check(bytes));
