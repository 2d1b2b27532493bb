//! Hybrid detection over the events of one run: the observer that finds races, and order pairs on request (`races`),
//! and what runs other detectors on the same run (`tape`).

pub(super) mod races;
mod tape;
