//! Stores the canonical form of a state: bytes, divided into parts, and the numbers of the threads, objects and
//! handlers that the walk has met.
//!
//! The digest of a state is the sum of the digests of its parts. The digest of a part depends on what it is a part of.
//! If a step changes only some parts, a search computes the digest of the next state from these alone, without a walk
//! over the others ([`Slots`](super::Slots)).

use crate::base::{Id, mix};
use crate::event::{HandlerId, ObjectId, ThreadId};
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// Canonical form of one state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Canonical {
    /// The canonical form as bytes. Equal bytes mean equal states.
    pub bytes: Vec<u8>,
    /// The threads in the order in which the walk met them. The `i`-th thread of a state corresponds to the `i`-th
    /// thread of an equal state.
    pub threads: Vec<ThreadId>,
    digest: u128,
}

impl Canonical {
    /// Returns a stable 128-bit digest of the state.
    #[must_use]
    pub fn digest(&self) -> u128 {
        self.digest
    }
}

/// The thing that a part of the canonical form describes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    Head,
    /// A group of global cells, by its number (`World::cells_in_part`).
    Cells(usize),
    /// A thread, without its queue.
    Thread(usize),
    /// The queue of a thread.
    Queue(usize),
    Object(usize),
    Lock(usize),
    Condition(usize),
    RwLock(usize),
    Semaphore(usize),
    Barrier(usize),
    Channel(usize),
    Group(usize),
    Environment,
    Platform,
    /// The order of the waiting jobs.
    Jobs,
    /// The queue of a pool.
    Pool(usize),
    /// Words that the caller has added (`Canonicalizer::distinguish`).
    Else,
}

impl Part {
    // Seeds of two parts must have nothing in common. With short inputs this hash subtracts the seed from a constant
    // and combines it with the input by exclusive or. So a small difference of two seeds makes up for a small
    // difference of two inputs, and states in which two threads have exchanged their contents had one digest.
    fn seed(self) -> u64 {
        let (kind, number) = match self {
            Part::Head => (0, 0),
            Part::Cells(n) => (1, n),
            Part::Thread(n) => (2, n),
            Part::Object(n) => (3, n),
            Part::Lock(n) => (4, n),
            Part::Condition(n) => (5, n),
            Part::RwLock(n) => (6, n),
            Part::Semaphore(n) => (7, n),
            Part::Barrier(n) => (8, n),
            Part::Environment => (9, 0),
            Part::Else => (10, 0),
            Part::Platform => (11, 0),
            Part::Channel(n) => (12, n),
            Part::Group(n) => (13, n),
            Part::Jobs => (14, 0),
            Part::Pool(n) => (15, n),
            Part::Queue(n) => (16, n),
        };
        mix(kind, number as u64)
    }
}

/// Number of the threads and objects whose numbers follow from their declaration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeclaredCounts {
    pub(super) threads: usize,
    pub(super) objects: usize,
}

/// Reusable buffer for the canonical form of one state after another. It also keeps the numbers of the last state.
#[derive(Default)]
pub struct Canonicalizer {
    bytes: Vec<u8>,
    // Each part with the index in `bytes` at which it ends.
    parts: Vec<(Part, usize)>,
    // Whether some value refers to the inside of another part: the position of a message or fence, a list, a request.
    refers: bool,
    pub(super) threads: Numbers<ThreadId>,
    pub(super) objects: Numbers<ObjectId>,
    pub(super) handlers: Numbers<HandlerId>,
}

// Numbers things in the order in which the walk meets them.
pub(super) struct Numbers<I> {
    pub(super) visited: Vec<I>,
    // The number of each thing, by its index. `UNMET` if it has none.
    numbers: Vec<u32>,
}

const UNMET: u32 = u32::MAX;

impl<I> Default for Numbers<I> {
    fn default() -> Self {
        Self { visited: Vec::new(), numbers: Vec::new() }
    }
}

impl<I: Id> Numbers<I> {
    fn clear(&mut self) {
        for id in self.visited.drain(..) {
            self.numbers[id.index()] = UNMET;
        }
    }

    pub(super) fn known(&self, id: I) -> Option<u32> {
        self.numbers.get(id.index()).copied().filter(|n| *n != UNMET)
    }

    #[inline]
    pub(super) fn of(&mut self, id: I) -> u64 {
        if id.index() >= self.numbers.len() {
            self.numbers.resize(id.index() + 1, UNMET);
        }
        let number = &mut self.numbers[id.index()];
        if *number == UNMET {
            *number = self.visited.len() as u32;
            self.visited.push(id);
        }
        u64::from(*number)
    }
}

impl Canonicalizer {
    /// Removes the last state. Keeps allocated memory.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.parts.clear();
        self.refers = false;
        self.threads.clear();
        self.objects.clear();
        self.handlers.clear();
    }

    /// Converts the last state into a value of its own.
    pub(super) fn into_canonical(self) -> Canonical {
        Canonical { digest: self.digest(), bytes: self.bytes, threads: self.threads.visited }
    }

    /// Ends a part: it consists of all bytes since the end of the previous part.
    #[inline]
    pub(super) fn part(&mut self, part: Part) {
        self.parts.push((part, self.bytes.len()));
    }

    fn each_part(&self) -> impl Iterator<Item = (Part, u128)> + '_ {
        let mut start = 0;
        self.parts.iter().map(move |(part, end)| {
            let digest = xxh3_128_with_seed(&self.bytes[start..*end], part.seed());
            start = *end;
            (*part, digest)
        })
    }

    /// Creates an empty buffer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the canonical form of the last state.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the digest of the last state, including words added by [`distinguish`](Self::distinguish).
    #[must_use]
    pub fn digest(&self) -> u128 {
        self.each_part().fold(0, |sum, (_, digest)| sum.wrapping_add(digest))
    }

    /// Adds a word to the last state. Two states with different words count as different.
    pub fn distinguish(&mut self, word: u64) {
        self.word(word);
        match self.parts.last_mut() {
            Some((Part::Else, end)) => *end = self.bytes.len(),
            _ => self.part(Part::Else),
        }
    }

    /// Records that a value refers to the inside of another part.
    pub(super) fn refers(&mut self) {
        self.refers = true;
    }

    /// Returns whether the parts that were written depend on no other parts: their values refer to declared things
    /// alone, and to none of their insides.
    pub(super) fn is_local(&self, declared: DeclaredCounts) -> bool {
        !self.refers && self.is_plain(declared)
    }

    fn is_plain(&self, declared: DeclaredCounts) -> bool {
        self.threads.visited.len() == declared.threads
            && self.objects.visited.len() == declared.objects
            && self.handlers.visited.is_empty()
    }

    /// Numbers the declared threads and objects. The buffer must be empty.
    pub(super) fn start(&mut self, threads: impl Iterator<Item = ThreadId>, declared: DeclaredCounts) {
        threads.for_each(|thread| _ = self.threads.of(thread));
        (0..declared.objects).for_each(|o| _ = self.objects.of(ObjectId::new(o)));
    }

    /// Prepares the buffer for some parts of a state in which only declared things are numbered, and in the order of
    /// their declaration.
    pub(super) fn clear_parts(&mut self, declared: DeclaredCounts) {
        self.bytes.clear();
        self.parts.clear();
        self.refers = false;
        if !self.is_plain(declared) {
            self.clear();
            self.start((0..declared.threads).map(ThreadId::new), declared);
        }
    }

    /// Returns the threads of the last state, in the order in which the walk met them.
    #[must_use]
    pub fn threads(&self) -> &[ThreadId] {
        &self.threads.visited
    }

    /// Returns the number of a thread in the last state. `None` if it has ended and nothing can refer to it any more.
    #[must_use]
    pub fn thread(&self, thread: ThreadId) -> Option<u32> {
        self.threads.known(thread)
    }

    /// Returns the number of an object in the last state. `None` if nothing refers to it any more.
    #[must_use]
    pub fn object(&self, object: ObjectId) -> Option<u32> {
        self.objects.known(object)
    }

    // Most words are small, so a word is written in a prefix code of one, five or nine bytes.
    #[inline]
    pub(super) fn word(&mut self, word: u64) {
        match word {
            0..SHORT => self.bytes.push(word as u8),
            u64::MAX => self.bytes.push(u8::MAX),
            _ if word <= u64::from(u32::MAX) => {
                self.bytes.push(SHORT as u8);
                self.bytes.extend_from_slice(&(word as u32).to_le_bytes());
            }
            _ => {
                self.bytes.push(SHORT as u8 + 1);
                self.bytes.extend_from_slice(&word.to_le_bytes());
            }
        }
    }
}

// Words less than this take one byte.
const SHORT: u64 = 0xf0;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Contents that differ in small numbers, in parts whose numbers differ little, have digests of their own, whatever
    /// their length is. (`xxh3` treats inputs of up to 3, 8, 16, 128 and 240 bytes each in its own way.)
    #[test]
    fn small_differences_of_contents_and_parts_do_not_cancel_each_other() {
        let (mut digests, mut inputs) = (BTreeSet::new(), 0);
        for length in [1, 2, 3, 4, 5, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 64, 100, 200, 250] {
            for at in 0..length.min(40) {
                for byte in 0..8 {
                    for number in 0..4 {
                        for part in [Part::Thread(number), Part::Queue(number), Part::Cells(number), Part::Lock(number)]
                        {
                            let mut content = vec![0; length];
                            content[at] = byte;
                            inputs += usize::from(byte > 0 || at == 0);
                            digests.insert(xxh3_128_with_seed(&content, part.seed()));
                        }
                    }
                }
            }
        }
        assert_eq!(digests.len(), inputs);
    }
}
