//! Fuzzes saved failures: the result is an error with a line or a reason, or a file that is written as it was read.

use raceflip::formats::seed::{SeedError, SeedFile};

/// Checks the reader of saved failures on these bytes.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match SeedFile::read(text) {
        Ok((seed, token)) => {
            assert_eq!(seed.signature, token.signature);
            let again = SeedFile::read(&seed.to_toml(&["a comment".to_owned()]));
            assert_eq!(again, Ok((seed.clone(), token)));
            let stem = seed.stem();
            assert!(stem.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'), "{stem}");
        }
        Err(error) => {
            let told = error.to_string();
            super::is_told(&told);
            assert!(!matches!(error, SeedError::Toml(_)) || told.starts_with("line "), "{told}");
        }
    }
}
