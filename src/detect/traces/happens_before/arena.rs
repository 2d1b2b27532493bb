//! A store of small values by number that grows without moving them.

use std::ops::{Index, IndexMut};

// Number of values of a chunk, as a power of two; small in unit tests, so that short traces have several chunks.
const BITS: u32 = if cfg!(test) { 4 } else { 12 };
const MASK: u32 = (1 << BITS) - 1;

/// Values by number. A vector that grows copies what it has, and needs twice its memory or three times; an arena adds a
/// chunk.
pub(super) struct Arena<T> {
    chunks: Vec<Vec<T>>,
}

impl<T> Arena<T> {
    pub(super) fn new() -> Self {
        Self { chunks: Vec::new() }
    }

    /// Adds a value. Returns its number.
    pub(super) fn add(&mut self, value: T) -> u32 {
        let full = self.chunks.last().is_none_or(|chunk| chunk.len() > MASK as usize);
        if full {
            self.chunks.push(Vec::with_capacity(1 << BITS));
        }
        let number = self.chunks.len() - 1;
        let chunk = &mut self.chunks[number];
        chunk.push(value);
        (number as u32) << BITS | (chunk.len() as u32 - 1)
    }
}

impl<T> Index<u32> for Arena<T> {
    type Output = T;

    fn index(&self, at: u32) -> &T {
        &self.chunks[(at >> BITS) as usize][(at & MASK) as usize]
    }
}

impl<T> IndexMut<u32> for Arena<T> {
    fn index_mut(&mut self, at: u32) -> &mut T {
        &mut self.chunks[(at >> BITS) as usize][(at & MASK) as usize]
    }
}
