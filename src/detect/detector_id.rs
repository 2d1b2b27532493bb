//! The number of a detector. The table of detectors, which gives it a name, is in `detectors`.

/// A detector that finds potential pairs, by its place in [`DETECTORS`](crate::detect::DETECTORS).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DetectorId(pub(super) u8);

impl DetectorId {
    /// Lock sets and the edges that every run has: [`Hybrid`](super::Hybrid).
    pub const HYBRID: DetectorId = DetectorId(0);
    /// No detector of one run: a search of all states, which has found the two accesses side by side.
    pub const SEARCH: DetectorId = DetectorId(u8::MAX);
}
