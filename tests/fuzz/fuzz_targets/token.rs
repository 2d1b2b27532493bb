//! `raceflip_fuzz::token` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| raceflip_fuzz::token::check(bytes));
