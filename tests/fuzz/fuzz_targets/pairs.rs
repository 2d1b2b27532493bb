//! `raceflip_fuzz::pairs` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| raceflip_fuzz::pairs::check(bytes));
