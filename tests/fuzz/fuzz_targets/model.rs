//! `raceflip_fuzz::model` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| raceflip_fuzz::model::check(bytes));
