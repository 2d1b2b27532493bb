//! The steps of threads that a worker has performed before: what a step leaves, by where its thread stands and by the
//! content of the slot that it meets ([`Meets`](crate::world::Meets)).

/// What a step leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LeftBehind {
    /// Content of the slot of the thread.
    pub(super) thread: u32,
    /// Content of the slot that the step meets.
    pub(super) met: u32,
    /// Difference of the digests of the two states.
    pub(super) difference: u128,
}

/// A step that was performed before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RememberedStep {
    /// The thread is blocked.
    Blocked,
    /// The step does more than it is known for. It has to be performed in each state.
    Perform,
    /// The step leaves this, and nothing else is changed.
    Leaves(LeftBehind),
}

// 32 bytes: two of them are in one line of a cache.
#[derive(Clone, Copy)]
struct Entry {
    key: u64,
    thread: u32,
    met: u32,
    // The halves of the difference of the digests.
    low: u64,
    high: u64,
}

// Values of `LeftBehind::thread` that are no content.
const BLOCKED: u32 = u32::MAX;
const PERFORM: u32 = u32::MAX - 1;

const NO_KEY: u64 = u64::MAX;
const EMPTY: Entry = Entry { key: NO_KEY, thread: 0, met: 0, low: 0, high: 0 };

/// A table of steps: open addressing, at most half full.
pub(super) struct RememberedSteps {
    // invariant: the length is a power of two
    entries: Vec<Entry>,
    count: usize,
    // Largest number of entries. A table that would have more is emptied, and the steps are performed again.
    most: usize,
}

/// The key of a step: the content of the thread's slot, and the content of the slot that it meets or the answer to its
/// question. A thread's content decides which of the two it is.
#[inline(always)]
pub(super) fn key(thread: u32, other: u32) -> u64 {
    u64::from(thread) << 32 | u64::from(other)
}

impl RememberedSteps {
    /// Returns an empty table that takes about this many bytes at most.
    pub(super) fn new(bytes: u64) -> Self {
        let most = (bytes as usize / size_of::<Entry>() / 2).max(1 << 10);
        Self { entries: vec![EMPTY; 1 << 10], count: 0, most }
    }

    #[inline(always)]
    fn place(&self, key: u64) -> usize {
        let mixed = (key ^ key >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize & (self.entries.len() - 1)
    }

    /// Returns a step; `None` if it was not performed before.
    #[inline(always)]
    pub(super) fn get(&self, key: u64) -> Option<RememberedStep> {
        let mask = self.entries.len() - 1;
        let mut at = self.place(key);
        loop {
            let entry = &self.entries[at];
            if entry.key == key {
                return Some(match entry.thread {
                    BLOCKED => RememberedStep::Blocked,
                    PERFORM => RememberedStep::Perform,
                    thread => RememberedStep::Leaves(LeftBehind {
                        thread,
                        met: entry.met,
                        difference: u128::from(entry.high) << 64 | u128::from(entry.low),
                    }),
                });
            }
            if entry.key == NO_KEY {
                return None;
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a step that the table does not have.
    pub(super) fn add(&mut self, key: u64, step: RememberedStep) {
        if self.count >= self.most {
            self.entries.fill(EMPTY);
            self.count = 0;
        } else if (self.count + 1) * 2 > self.entries.len() {
            let bigger = vec![EMPTY; self.entries.len() * 2];
            for old in std::mem::replace(&mut self.entries, bigger) {
                if old.key != NO_KEY {
                    self.put(old);
                }
            }
        }
        let nothing = LeftBehind { thread: BLOCKED, met: 0, difference: 0 };
        let left = match step {
            RememberedStep::Blocked => nothing,
            RememberedStep::Perform => LeftBehind { thread: PERFORM, ..nothing },
            RememberedStep::Leaves(left) => left,
        };
        let (low, high) = (left.difference as u64, (left.difference >> 64) as u64);
        self.put(Entry { key, thread: left.thread, met: left.met, low, high });
        self.count += 1;
    }

    fn put(&mut self, entry: Entry) {
        let mask = self.entries.len() - 1;
        let mut at = self.place(entry.key);
        while self.entries[at].key != NO_KEY {
            at = (at + 1) & mask;
        }
        self.entries[at] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::{LeftBehind, RememberedStep, RememberedSteps, key};

    #[test]
    fn steps_are_found_again_while_there_is_room() {
        let mut steps = RememberedSteps::new(0);
        let left =
            |n: u32| RememberedStep::Leaves(LeftBehind { thread: n, met: n + 1, difference: u128::from(n) << 70 });
        for n in 0..900 {
            assert_eq!(steps.get(key(n, n % 7)), None);
            steps.add(key(n, n % 7), if n % 3 == 0 { RememberedStep::Blocked } else { left(n) });
        }
        for n in 0..900 {
            let expected = if n % 3 == 0 { RememberedStep::Blocked } else { left(n) };
            assert_eq!(steps.get(key(n, n % 7)), Some(expected));
            assert_eq!(steps.get(key(n, 8)), None);
        }
        // The table holds 1,024 steps here. Then it begins anew.
        for n in 900..1_100 {
            steps.add(key(n, 9), RememberedStep::Perform);
        }
        assert_eq!(steps.get(key(1_099, 9)), Some(RememberedStep::Perform));
        assert_eq!(steps.get(key(1, 1)), None);
    }
}
