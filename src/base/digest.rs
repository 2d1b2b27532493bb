//! A stable 128-bit digest (XXH3, whose output is specified) of a stream of words and texts.

use xxhash_rust::xxh3::Xxh3;

/// Digests words and texts, each with its length or width, so that two streams agree only if their parts do.
#[derive(Default)]
pub struct Digester {
    state: Box<Xxh3>,
}

impl Digester {
    /// An empty digest.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one word.
    pub fn word(&mut self, word: u64) -> &mut Self {
        self.state.update(&word.to_le_bytes());
        self
    }

    /// Adds a text, with its length.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.word(text.len() as u64);
        self.state.update(text.as_bytes());
        self
    }

    /// The digest of what was added so far.
    #[must_use]
    pub fn finish(&self) -> u128 {
        self.state.digest128()
    }
}
