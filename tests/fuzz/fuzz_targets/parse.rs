//! Any bytes: an error, or a tree that survives printing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use raceflip::lang::{Source, parse, print, render};

fuzz_target!(|bytes: &[u8]| {
    let Ok(source) = Source::from_bytes("fuzz.race", bytes) else { return };
    match parse(&source) {
        Ok(tree) => {
            let printed = print(&tree);
            let Ok(printed) = Source::new("printed.race", &printed) else { return };
            match parse(&printed) {
                Ok(again) => assert_eq!(tree, again),
                Err(errors) => panic!("{}", render(&printed, &errors, false)),
            }
        }
        Err(errors) => {
            assert!((1..=20).contains(&errors.len()));
            render(&source, &errors, true);
        }
    }
});
