//! How the caller follows a search and stops it.

use std::sync::atomic::AtomicBool;

/// Progress of a search.
#[derive(Clone, Copy, Debug)]
pub struct SearchStatus {
    /// Number of states found.
    pub states: u64,
    /// Number of choices followed.
    pub transitions: u64,
    /// Number of states found and not yet visited.
    pub frontier: u64,
    /// Memory in bytes, approximately.
    pub memory: u64,
    /// Steps from the start to the states that are visited now.
    pub depth: u32,
}

/// Receives the progress of a search.
pub trait SearchProgress: Sync {
    /// Receives the current status.
    fn at(&self, status: &SearchStatus);
}

/// Ignores the progress of a search.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoSearchProgress;

impl SearchProgress for NoSearchProgress {
    fn at(&self, _: &SearchStatus) {}
}

/// How the caller stops a search and follows its progress.
#[derive(Clone, Copy)]
pub struct SearchContext<'c> {
    /// Stops the search as soon as it is set.
    pub stop: &'c AtomicBool,
    /// Receives the progress.
    pub progress: &'c dyn SearchProgress,
}
