//! Fuzzes journals of campaigns, once as they are and once with corrected checksums, because hardly any mutation gets
//! past a checksum.

use raceflip::formats::journal::Journal;
use xxhash_rust::xxh3::xxh3_64;

/// Checks the reader of journals on these bytes, and on their lines with correct checksums in front.
pub fn check(bytes: &[u8]) {
    read(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let line = |json: &str| {
            let json = json.split_once(' ').filter(|(sum, _)| sum.len() == 16).map_or(json, |(_, json)| json);
            format!("{:016x} {json}\n", xxh3_64(json.as_bytes()))
        };
        read(text.lines().map(line).collect::<String>().as_bytes());
    }
}

fn read(bytes: &[u8]) {
    match Journal::read(bytes) {
        Ok(journal) => {
            assert!(journal.whole <= bytes.len());
            let Some(header) = &journal.header else { return assert!(journal.entries.is_empty()) };
            assert_eq!(header.difference(header), None, "it continues itself");
            let lines = [header.to_line()].into_iter().chain(journal.entries.iter().map(|e| e.to_line()));
            let written: String = lines.collect();
            let again = Journal::read(written.as_bytes()).expect("what was written is a journal");
            assert_eq!((&again.header, &again.entries), (&journal.header, &journal.entries));
            // A line that is cut off at the end (a crash while writing) is dropped.
            let cut = Journal::read(format!("{written}0123").as_bytes()).expect("a line that is cut off is no damage");
            assert_eq!(cut.whole, written.len());
        }
        Err(error) => super::is_told(&error),
    }
}
