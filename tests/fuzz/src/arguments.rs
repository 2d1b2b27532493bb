//! The command line: each line of the bytes is an argument. It is taken, or refused with a reason; `-D`, sizes, times, parts and statements are read on the way.

use raceflip::cli::refusal;

/// Checks the reader with these bytes.
pub fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let arguments = text.lines().take(20).map(str::to_owned);
    if let Some(error) = refusal(std::iter::once("raceflip".to_owned()).chain(arguments)) {
        super::is_told(&error);
    }
}
