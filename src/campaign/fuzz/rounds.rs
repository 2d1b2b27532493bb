//! Hands the runs of a round to workers that live as long as the campaign. A worker that asks for a run of the next
//! round waits until that round is planned, which is when all runs of the present one have been learned from.

use super::plan::PlannedRun;
use super::state::Learned;
use parking_lot::{Condvar, Mutex, RwLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The present round, and what was learned before it.
pub(super) struct Rounds {
    /// What was learned. It changes only between two rounds.
    pub(super) learned: RwLock<Learned>,
    /// Whether no further run begins.
    pub(super) over: AtomicBool,
    present: Mutex<Round>,
    // A round has begun, or there is no further one.
    changed: Condvar,
}

struct Round {
    // Number of the first run.
    first: u64,
    runs: Arc<[PlannedRun]>,
}

impl Rounds {
    /// Creates rounds of which none has begun, after this was learned.
    pub(super) fn new(learned: Learned) -> Self {
        Self {
            learned: RwLock::new(learned),
            over: AtomicBool::new(false),
            present: Mutex::new(Round { first: 1, runs: Arc::from([]) }),
            changed: Condvar::new(),
        }
    }

    /// Begins a round with these runs, the first of which has this number.
    pub(super) fn begin(&self, first: u64, runs: Arc<[PlannedRun]>) {
        *self.present.lock() = Round { first, runs };
        self.changed.notify_all();
    }

    /// Ends the campaign: who waits for a run gets none.
    pub(super) fn end(&self) {
        // The lock orders this before the wait of a worker that has not seen it.
        let _present = self.present.lock();
        self.over.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Returns whether the campaign has ended.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Returns the runs of the present round.
    pub(super) fn runs(&self) -> Arc<[PlannedRun]> {
        self.present.lock().runs.clone()
    }

    /// Returns whether the present round has this number of runs.
    pub(super) fn is_complete(&self, runs: usize) -> bool {
        self.present.lock().runs.len() == runs
    }

    /// Returns the run of this number as soon as its round has begun. `None` if the campaign ends before.
    pub(super) fn wait_for(&self, number: u64) -> Option<PlannedRun> {
        let mut present = self.present.lock();
        while !self.is_over() {
            if let Some(run) = number.checked_sub(present.first).and_then(|i| present.runs.get(i as usize)) {
                return Some(run.clone());
            }
            self.changed.wait(&mut present);
        }
        None
    }
}

/// Ends the campaign if a worker panics, so that no other worker waits for its run.
pub(super) struct EndsIfPanicking<'r>(pub(super) &'r Rounds);

impl Drop for EndsIfPanicking<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
    }
}
