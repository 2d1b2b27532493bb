//! Finds the known word that is nearest to a misspelled one, for "did you mean ...?".

use strsim::osa_distance;

/// Longer words are not typing mistakes, and comparing them is slow.
const LONGEST: usize = 64;

/// Returns the candidate that `word` is most likely a misspelling of, if there is one. At most a third of the letters
/// may be wrong (one letter in words of two or three); a swap of two neighbors counts as one. Among equally near
/// candidates the first one wins.
pub fn near<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let length = word.chars().count();
    if !(2..=LONGEST).contains(&length) {
        return None;
    }
    let allowed = (length / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        if candidate.len() > 2 * LONGEST || candidate == word {
            continue;
        }
        let distance = if candidate.eq_ignore_ascii_case(word) { 0 } else { osa_distance(word, candidate) };
        // If the distance equals the length of the candidate, no letter of it was kept.
        if distance <= allowed && distance < candidate.chars().count() && best.is_none_or(|(least, _)| distance < least)
        {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::near;

    #[test]
    fn nearest() {
        let words = ["looper", "lock", "post", "handler", "x", "NullPointer"];
        let check = |word: &str, expected: Option<&str>| assert_eq!(near(word, words), expected, "{word}");
        check("loper", Some("looper"));
        check("pots", Some("post"));
        check("Handler", Some("handler"));
        check("nullpointer", Some("NullPointer"));
        check("loc", Some("lock"));
        check("main", None);
        check("y", None);
        check("", None);
        check(&"a".repeat(100_000), None);
    }
}
