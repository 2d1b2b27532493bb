//! The futures of threads: what each may still do, from the place in its code where it stands.

use super::World;
use super::acts::Act;
use crate::event::ThreadId;

/// A set of acts, by their numbers in a table ([`Futures::acts`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ActSet(Vec<u64>);

impl ActSet {
    /// Adds the act with this number.
    pub fn insert(&mut self, act: u32) {
        let (word, bit) = (act as usize / 64, act % 64);
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << bit;
    }

    /// Adds all acts of another set.
    pub fn add_all(&mut self, other: &ActSet) {
        if other.0.len() > self.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    /// Returns whether the sets have an act in common.
    #[must_use]
    pub fn intersects(&self, other: &ActSet) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    /// Removes all acts.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the numbers of the acts.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let bits = |(word, bits): (usize, &u64)| {
            let (word, bits) = (word as u32 * 64, *bits);
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word + bit)
        };
        self.0.iter().enumerate().flat_map(bits)
    }
}

/// What a guest knows of the futures of its declared threads, from the text of its program. Each answer contains at
/// least what can happen.
pub trait Futures<G>: Send + Sync {
    /// Returns the acts that occur. The first one is [`Act::Anything`].
    fn acts(&self) -> &[Act];

    /// Returns whether deadlines exist in any run.
    fn has_clock(&self) -> bool;

    /// Returns the number of an act; that of [`Act::Anything`] if it is not in the table.
    fn number(&self, act: Act) -> u32;

    /// Returns the place at which a thread stands, as a number. `None` if nothing is known of it.
    fn place(&self, guest: &G, thread: ThreadId) -> Option<u32>;

    /// Returns the bits of the guards that matter to a thread: holds of locks that can block it.
    fn guards(&self, thread: ThreadId) -> u64;

    /// Returns the bit of a hold as a guard; 0 if it is none.
    fn guard(&self, hold: super::LockHold) -> u64;

    /// Returns what a thread may still do from a place on, while other threads keep the locks with these bits.
    fn future(&self, thread: ThreadId, place: u32, kept: u64) -> ActSet;

    /// Returns the acts of the operation at a place. It contains the reads of the condition of an await.
    fn operation(&self, thread: ThreadId, place: u32) -> ActSet;

    /// Returns the acts of the rest of the step at a place, after the operation. `begins`: whether the operation begins
    /// a task, if it is the begin of a looper, and does not leave its loop.
    fn rest(&self, thread: ThreadId, place: u32, begins: bool) -> ActSet;
}

/// The futures of the threads of a guest, if it knows them.
pub type SharedFutures<G> = std::sync::Arc<dyn Futures<G>>;

impl World {
    /// Returns whether the futures of a program with these declarations can be told at all: components, pools and jobs
    /// make messages in ways that no thread's code shows.
    #[must_use]
    pub fn has_plain_futures(&self) -> bool {
        self.setup.platform.is_empty() && self.setup.pools.is_empty() && !self.jobs.any()
    }
}
