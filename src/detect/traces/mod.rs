//! Detectors that read a recorded trace, one file or folder each, over one interface (`detector`); and `record`, which
//! turns the events of a run into such a trace.

pub mod causality;
pub(super) mod detector;
pub(super) mod fasttrack;
pub mod happens_before;
pub(super) mod hybrid_trace;
pub mod orders;
pub(super) mod record;
pub(super) mod second_accesses;
mod thread_order;
