//! A stable 128-bit digest (XXH3, whose output is specified) of a stream of words and texts.

use xxhash_rust::xxh3::Xxh3;

/// Digests words and texts. A word has a fixed width and a text is preceded by its length, so two streams agree only if
/// their parts agree.
#[derive(Default)]
pub struct Digester {
    state: Box<Xxh3>,
}

impl Digester {
    /// Returns the digest of an empty stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one word, as eight bytes.
    pub fn word(&mut self, word: u64) -> &mut Self {
        self.state.update(&word.to_le_bytes());
        self
    }

    /// Adds a text, preceded by its length.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.word(text.len() as u64);
        self.state.update(text.as_bytes());
        self
    }

    /// Returns the digest of the stream so far.
    #[must_use]
    pub fn finish(&self) -> u128 {
        self.state.digest128()
    }
}
