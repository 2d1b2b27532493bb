//! What the canonical form of a state is written into: bytes, in parts, and the numbers of what the walk has met.
//!
//! The digest of a state is the sum of those of its parts, each mixed with what it is a part of: where a step changes one part only, the digest of what
//! it leads to is known without a walk over all the others.

use crate::base::Id;
use crate::event::{HandlerId, ObjectId, ThreadId};
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// A canonical state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Canonical {
    /// Everything that matters; equal bytes are equal states.
    pub bytes: Vec<u8>,
    /// The threads in the order in which the walk met them: the `i`-th of one state corresponds to the `i`-th of an equal one.
    pub threads: Vec<ThreadId>,
    digest: u128,
}

impl Canonical {
    /// A stable 128-bit digest of the state.
    #[must_use]
    pub fn digest(&self) -> u128 {
        self.digest
    }
}

/// What a part of the canonical form is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    Head,
    /// Eight cells of the globals.
    Globals(usize),
    Thread(usize),
    Object(usize),
    Lock(usize),
    Condition(usize),
    RwLock(usize),
    Semaphore(usize),
    Barrier(usize),
    Environment,
    /// What somebody else wants to be told apart.
    Else,
}

impl Part {
    fn seed(self) -> u64 {
        let (kind, number) = match self {
            Part::Head => (0, 0),
            Part::Globals(n) => (1, n),
            Part::Thread(n) => (2, n),
            Part::Object(n) => (3, n),
            Part::Lock(n) => (4, n),
            Part::Condition(n) => (5, n),
            Part::RwLock(n) => (6, n),
            Part::Semaphore(n) => (7, n),
            Part::Barrier(n) => (8, n),
            Part::Environment => (9, 0),
            Part::Else => (10, 0),
        };
        kind << 32 | number as u64
    }
}

/// How many threads and objects are numbered by their declaration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Declared {
    pub(super) threads: usize,
    pub(super) objects: usize,
}

/// Room for the canonical form of one state after another, and the numbers of the last one.
#[derive(Default)]
pub struct Canonicalizer {
    bytes: Vec<u8>,
    // The part and where it ends.
    parts: Vec<(Part, usize)>,
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
        self.parts.clear();
        self.threads.clear();
        self.objects.clear();
        self.handlers.clear();
    }

    /// The last state, for keeping.
    pub(super) fn into_canonical(self) -> Canonical {
        Canonical { digest: self.digest(), bytes: self.bytes, threads: self.threads.met }
    }

    /// Ends a part.
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
        self.each_part().fold(0, |sum, (_, digest)| sum.wrapping_add(digest))
    }

    /// Adds a word to the last state: two that differ in it are two.
    pub fn tell_apart(&mut self, word: u64) {
        self.word(word);
        match self.parts.last_mut() {
            Some((Part::Else, end)) => *end = self.bytes.len(),
            _ => self.part(Part::Else),
        }
    }

    fn is_plain(&self, declared: Declared) -> bool {
        self.threads.met.len() == declared.threads
            && self.objects.met.len() == declared.objects
            && self.handlers.met.is_empty()
    }

    /// Numbers what is declared, in empty room.
    pub(super) fn start(&mut self, declared: Declared) {
        (0..declared.threads).for_each(|t| _ = self.threads.of(ThreadId::new(t)));
        (0..declared.objects).for_each(|o| _ = self.objects.of(ObjectId::new(o)));
    }

    /// Room for some parts of a state whose threads are declared ones.
    pub(super) fn clear_parts(&mut self, declared: Declared) {
        self.bytes.clear();
        self.parts.clear();
        if !self.is_plain(declared) {
            self.clear();
            self.start(declared);
        }
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

/// The digests of the parts of one state, to find those of its neighbours.
#[derive(Default)]
pub struct Parts {
    sum: u128,
    // In the order of the walk; empty if something is numbered by the walk and not by its declaration.
    all: Vec<u128>,
    // Where the first of each kind stands.
    globals: u32,
    threads: u32,
    locks: u32,
    semaphores: u32,
}

crate::clone_in_place!(Parts { sum, all, globals, threads, locks, semaphores });

impl Parts {
    /// Keeps those of the last state of `room`.
    pub fn keep(&mut self, room: &Canonicalizer, declared: Declared) {
        self.all.clear();
        if !room.is_plain(declared) {
            self.sum = room.digest();
            return;
        }
        self.all.extend(room.each_part().map(|(_, digest)| digest));
        self.sum = self.all.iter().fold(0, |sum, digest| sum.wrapping_add(*digest));
        let first = |of: Part| room.parts.iter().position(|(part, _)| *part == of).map_or(u32::MAX, |at| at as u32);
        (self.globals, self.threads) = (first(Part::Globals(0)), first(Part::Thread(0)));
        (self.locks, self.semaphores) = (first(Part::Lock(0)), first(Part::Semaphore(0)));
    }

    /// The digest of the state.
    #[must_use]
    pub fn digest(&self) -> u128 {
        self.sum
    }

    /// Puts the parts of `room` in the place of those that are known; false, and nothing done, if there is more to it.
    pub(super) fn replace(&mut self, room: &Canonicalizer, declared: Declared) -> bool {
        if self.all.is_empty() || !room.is_plain(declared) {
            return false;
        }
        for (part, digest) in room.each_part() {
            let at = match part {
                Part::Globals(n) => self.globals as usize + n,
                Part::Thread(n) => self.threads as usize + n,
                Part::Lock(n) => self.locks as usize + n,
                Part::Semaphore(n) => self.semaphores as usize + n,
                _ => unreachable!("no step that touches little changes it"),
            };
            self.sum = self.sum.wrapping_sub(self.all[at]).wrapping_add(digest);
            self.all[at] = digest;
        }
        true
    }

    /// About how many bytes they take.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (size_of::<Self>() + size_of_val(&*self.all)) as u64
    }

    /// Whether the digests of neighbours can be found part by part.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        !self.all.is_empty()
    }
}
