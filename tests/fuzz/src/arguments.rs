//! Fuzzes the command line: each line of the input is one argument. The arguments are accepted, or refused with a
//! reason. This also covers the parsers of `-D`, sizes, times, parts and statements.

use raceflip::cli::refusal;

/// Checks the parser of arguments on these bytes.
pub fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let arguments = text.lines().take(20).map(str::to_owned);
    if let Some(error) = refusal(std::iter::once("raceflip".to_owned()).chain(arguments)) {
        super::is_told(&error);
    }
}
