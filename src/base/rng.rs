//! The one source of randomness: words of ChaCha8, split by rules of this module.
//!
//! Only the block function comes from a library: `rand` promises no stability for ranges, shuffles or `seed_from_u64`,
//! and a seed that is printed today must draw the same schedule in ten years.

use rand::{Rng as _, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A seeded generator. One seed draws the same numbers in every version and on every machine.
#[derive(Clone)]
pub struct Rng {
    words: ChaCha8Rng,
    // Unused bits of the last word, low bits first; `left` of them are valid.
    bits: u64,
    left: u32,
}

/// Mixes the seed of a campaign with the number of a run (SplitMix64's finalizer over both words). The seed of run `i`
/// thus does not depend on which worker performs the run.
#[must_use]
pub fn mix(seed: u64, run: u64) -> u64 {
    let mut z = seed.wrapping_add(run.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Rng {
    /// Returns a generator whose 256-bit key is `seed`, little-endian, in its first eight bytes and zero elsewhere.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        Self { words: ChaCha8Rng::from_seed(key), bits: 0, left: 0 }
    }

    #[inline(never)]
    fn refill(&mut self) {
        self.bits = self.words.next_u64();
        self.left = 64;
    }

    /// Returns `n` fresh bits in the low end, `1 <= n <= 32`.
    #[inline]
    fn take(&mut self, n: u32) -> u64 {
        if self.left < n {
            self.refill();
        }
        let got = self.bits & ((1 << n) - 1);
        self.bits >>= n;
        self.left -= n;
        got
    }

    /// Returns a uniformly distributed number in `0..n`, by rejection. `n` is at least 1; `n` = 1 draws nothing.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        debug_assert!(n > 0);
        if n == 1 {
            return 0;
        }
        let width = 32 - (n - 1).leading_zeros();
        loop {
            let got = self.take(width) as u32;
            if got < n {
                return got;
            }
        }
    }

    /// Flips a fair coin.
    #[inline]
    pub fn coin(&mut self) -> bool {
        self.take(1) == 1
    }

    /// Returns one of these, each with the same probability. There is at least one.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u32) as usize]
    }

    /// Returns true with a probability of so many percent.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_pinned_for_ever() {
        let mut rng = Rng::seeded(7);
        let drawn: Vec<u32> = (0..12).map(|i| rng.below(i + 2)).collect();
        assert_eq!(drawn, PINNED, "a change here breaks every printed seed");
    }
    const PINNED: [u32; 12] = [1, 1, 2, 3, 2, 2, 2, 4, 2, 2, 7, 6];

    #[test]
    fn below_is_uniform() {
        // 60,000 draws of 6: each face is expected 10,000 times, and 500 is 5.5 standard deviations. The test would
        // fail by chance once in 4 million seeds; this seed passes.
        let mut rng = Rng::seeded(1);
        let mut faces = [0u32; 6];
        for _ in 0..60_000 {
            faces[rng.below(6) as usize] += 1;
        }
        assert!(faces.iter().all(|&n| (9_500..=10_500).contains(&n)), "{faces:?}");
    }

    #[test]
    fn runs_have_different_seeds() {
        let mut seeds: Vec<u64> = (0..1000).map(|i| mix(1, i)).chain((0..1000).map(|i| mix(2, i))).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 2000);
    }
}
