//! Fuzzes corpora of learning campaigns: the result is an error with a line or a reason, or a file that is written as
//! it was read.

use raceflip::formats::corpus::{Corpus, CorpusError};

/// Checks the reader of corpora on these bytes.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Corpus::read(text) {
        Ok((corpus, tokens)) => {
            assert_eq!(corpus.runs.len(), tokens.len());
            assert_eq!(Corpus::read(&corpus.to_toml()), Ok((corpus.clone(), tokens)));
            assert_eq!(corpus.clone().merged(vec![corpus.clone()]), Ok(corpus), "a file joined with itself");
        }
        Err(error) => {
            let told = error.to_string();
            super::is_told(&told);
            assert!(!matches!(error, CorpusError::Toml(_)) || told.starts_with("line "), "{told}");
        }
    }
}
