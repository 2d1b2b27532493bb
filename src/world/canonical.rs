//! What the canonical form of a state is written into: bytes, and the numbers of what the walk has met.

use crate::base::Id;
use crate::event::{HandlerId, ObjectId, ThreadId};
use xxhash_rust::xxh3::xxh3_128;

/// A canonical state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Canonical {
    /// Everything that matters; equal bytes are equal states.
    pub bytes: Vec<u8>,
    /// The threads in the order in which the walk met them: the `i`-th of one state corresponds to the `i`-th of an equal one.
    pub threads: Vec<ThreadId>,
}

impl Canonical {
    /// A stable 128-bit digest of the state.
    #[must_use]
    pub fn digest(&self) -> u128 {
        xxh3_128(&self.bytes)
    }
}

/// Room for the canonical form of one state after another, and the numbers of the last one.
#[derive(Default)]
pub struct Canonicalizer {
    bytes: Vec<u8>,
    pub(super) threads: Numbers<ThreadId>,
    pub(super) objects: Numbers<ObjectId>,
    pub(super) handlers: Numbers<HandlerId>,
}

// Numbers in the order of the first meeting.
pub(super) struct Numbers<I> {
    pub(super) met: Vec<I>,
    // By index; `UNMET` where it has none.
    numbers: Vec<u32>,
}

const UNMET: u32 = u32::MAX;

impl<I> Default for Numbers<I> {
    fn default() -> Self {
        Self { met: Vec::new(), numbers: Vec::new() }
    }
}

impl<I: Id> Numbers<I> {
    fn clear(&mut self) {
        for id in self.met.drain(..) {
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
            *number = self.met.len() as u32;
            self.met.push(id);
        }
        u64::from(*number)
    }
}

impl Canonicalizer {
    /// Forgets the last state.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.threads.clear();
        self.objects.clear();
        self.handlers.clear();
    }

    /// The last state, for keeping.
    pub(super) fn into_canonical(self) -> Canonical {
        Canonical { bytes: self.bytes, threads: self.threads.met }
    }

    /// Empty room.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The canonical form of the last state.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its digest, with what else is to be told apart.
    #[must_use]
    pub fn digest(&self) -> u128 {
        xxh3_128(&self.bytes)
    }

    /// Adds a word to the last state: two that differ in it are two.
    pub fn tell_apart(&mut self, word: u64) {
        self.word(word);
    }

    /// The threads of the last state, in the order in which the walk met them.
    #[must_use]
    pub fn threads(&self) -> &[ThreadId] {
        &self.threads.met
    }

    /// The number of a thread in the last state; `None` if nothing can refer to it any more.
    #[must_use]
    pub fn thread(&self, thread: ThreadId) -> Option<u32> {
        self.threads.known(thread)
    }

    /// The number of an object in the last state; `None` if nothing refers to it any more.
    #[must_use]
    pub fn object(&self, object: ObjectId) -> Option<u32> {
        self.objects.known(object)
    }

    // Most words are small: a prefix code of one, five or nine bytes.
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

// Words below this are one byte.
const SHORT: u64 = 0xf0;
