//! `raceflip_fuzz::campaign` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| raceflip_fuzz::campaign::check(bytes));
