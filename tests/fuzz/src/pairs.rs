//! Fuzzes lists of pairs of other tools, read for a model: the result is an error with its line, or pairs of existing
//! statements that can conflict or whose order may matter.

use super::token::LOADED;
use raceflip::formats::pairs::read;

/// Checks the reader of pairs on these bytes.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let sites = &LOADED.program.sites;
    match read(text, sites) {
        Ok(listed) => {
            assert!(listed.pairs.is_sorted() && listed.pairs.iter().all(|p| p.a <= p.b));
            for pair in &listed.pairs {
                assert!(sites[pair.a].can_be_paired(&sites[pair.b]));
            }
            let lines = text.matches('\n').count() + 1;
            assert!(listed.unmatched.iter().all(|u| (1..=lines).contains(&u.line)));
            listed.unmatched.iter().for_each(|u| super::is_told(&u.to_string()));
        }
        Err(error) => super::is_told(&error.to_string()),
    }
}
