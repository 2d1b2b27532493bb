//! A memory of results for pairs of numbers, of limited size.

// Bounds of the number of entries.
const FEWEST: usize = 1 << 6;
const MOST: usize = if cfg!(test) { 1 << 6 } else { 1 << 16 };

/// Results for pairs of numbers. A later pair may displace an earlier one.
#[derive(Default)]
pub(super) struct Memo {
    // The pair and its result; (0, 0) if there is none. The length is a power of two.
    entries: Vec<([u32; 2], u32)>,
    // Number of results since the last growth.
    put: usize,
    // Places of the results since `watch`, if `forget` has not been called since.
    recent: Vec<u32>,
    is_watching: bool,
}

impl Memo {
    // Returns the place of a pair.
    fn place(&self, [a, b]: [u32; 2]) -> usize {
        let mixed = (u64::from(a) << 32 | u64::from(b)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> 32) as usize & (self.entries.len() - 1)
    }

    /// Returns the result of a pair, if it is known. Not both numbers are 0.
    pub(super) fn get(&self, pair: [u32; 2]) -> Option<u32> {
        if self.entries.is_empty() {
            return None;
        }
        let (known, result) = self.entries[self.place(pair)];
        (known == pair).then_some(result)
    }

    /// Keeps the result of a pair.
    pub(super) fn put(&mut self, pair: [u32; 2], result: u32) {
        self.put += 1;
        if self.put > self.entries.len() && self.entries.len() < MOST {
            let len = (2 * self.entries.len()).max(FEWEST);
            self.entries = vec![([0; 2], 0); len];
            self.put = 0;
        }
        let place = self.place(pair);
        self.entries[place] = (pair, result);
        if self.is_watching {
            self.recent.push(place as u32);
        }
    }

    /// From now on the memory keeps in mind which results are new.
    pub(super) fn watch(&mut self) {
        self.is_watching = true;
    }

    /// Forgets the new results in which some number is not below this one.
    pub(super) fn forget(&mut self, limit: u32) {
        self.is_watching = false;
        for place in self.recent.drain(..) {
            // After a growth the place may have no result, or another new one.
            let entry = &mut self.entries[place as usize];
            if has_since(entry, limit) {
                *entry = ([0; 2], 0);
            }
        }
    }

    /// Forgets the results in which some number is not below this one.
    pub(super) fn forget_all(&mut self, limit: u32) {
        self.entries.iter_mut().filter(|entry| has_since(entry, limit)).for_each(|entry| *entry = ([0; 2], 0));
    }
}

fn has_since(([a, b], result): &([u32; 2], u32), limit: u32) -> bool {
    *a >= limit || *b >= limit || *result >= limit
}
