//! Who uses a value now: some threads that look at it, or one that changes it.
//!
//! The world knows who holds a lock in its own run. A value may also be used by two checks at once, and a stack that
//! was given up holds what it held forever. So each hold has the number of its run.

use super::guest;
use super::run::{number, with};
use std::sync::atomic::{AtomicU64, Ordering};

// The number of the run has the upper bits, the number of holds the lower ones.
const COUNT_BITS: u32 = 24;
const WHOLE: u64 = (1 << COUNT_BITS) - 1;

/// The holds of a value.
#[derive(Debug)]
pub(super) struct Holds(AtomicU64);

/// Why a value cannot be held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Held {
    /// This run holds it in a way that conflicts.
    Here,
    /// Another run holds it, which is not over.
    Elsewhere,
}

impl Holds {
    pub(super) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Holds the value as a whole, or shares it with others that do. What a run holds that was given up counts as free.
    #[inline]
    pub(super) fn take(&self, whole: bool) -> Result<(), Held> {
        let here = number();
        let mut now = self.0.load(Ordering::Acquire);
        loop {
            let (run, count) = (now >> COUNT_BITS, now & WHOLE);
            let count = match count {
                0 => 0,
                _ if run != here && guest::is_live(run) => return Err(Held::Elsewhere),
                _ if run != here => 0,
                WHOLE => return Err(Held::Here),
                count if whole || count + 1 == WHOLE => return Err(Held::Here),
                count => count,
            };
            let taken = here << COUNT_BITS | if whole { WHOLE } else { count + 1 };
            match self.0.compare_exchange_weak(now, taken, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => return Ok(()),
                Err(other) => now = other,
            }
        }
    }

    /// Gives one hold back.
    #[inline]
    pub(super) fn give(&self, whole: bool) {
        let less = |now: u64| match now & WHOLE {
            0 => Some(now),
            1 => Some(0),
            _ if whole => Some(0),
            _ => Some(now - 1),
        };
        let _ = self.0.fetch_update(Ordering::Release, Ordering::Relaxed, less);
    }

    /// Returns whether [`take`](Self::take) would hold the value.
    pub(super) fn is_free(&self, whole: bool) -> bool {
        let free = self.take(whole).is_ok();
        if free {
            self.give(whole);
        }
        free
    }

    /// Takes what the world has granted. At the end of a run a destructor may want what another stack holds, which has
    /// not been unwound yet: it is unwound first.
    pub(super) fn take_granted(&self, whole: bool) {
        let Err(held) = self.take(whole) else { return };
        if held == Held::Here && with(|run| run.over).unwrap_or(false) {
            let threads = with(|run| run.fibers.ids().rev().collect::<Vec<_>>()).unwrap_or_default();
            for thread in threads {
                guest::end(thread);
                if self.take(whole).is_ok() {
                    return;
                }
            }
            super::run::stop("a destructor waits for itself at the end of a run");
        }
        super::run::stop("a static is used by two runs at the same time: give each check, and each worker, its own");
    }
}
