//! The interface of detectors that read a trace, and the loop that feeds them.

use super::happens_before::{Analysis, TooLarge};
use crate::trace::{OpNo, Operation, Trace};
use std::sync::atomic::{AtomicBool, Ordering};

/// A detector over the operations of a trace. It is created for one trace
/// ([`Rules::make`](crate::detect::Rules::make)) and receives all operations in their order.
pub trait Detector {
    /// Processes the next operation.
    fn step(&mut self, at: OpNo, operation: &Operation);

    /// Returns the races. `None` if `stop` was set.
    ///
    /// # Errors
    ///
    /// If the trace is too large for the detector.
    fn finish(self: Box<Self>, stop: &AtomicBool) -> Result<Option<Analysis>, TooLarge>;
}

// Number of operations between two checks of the stop flag.
const ROUND: u32 = 1024;

/// Whether a loop over a trace ends here. It asks for the flag only now and then.
pub(super) fn stopped(at: OpNo, stop: &AtomicBool) -> bool {
    at.0.is_multiple_of(ROUND) && stop.load(Ordering::Relaxed)
}

/// Runs a detector over its trace. `None` if `stop` was set.
pub(in crate::detect) fn run(
    trace: &Trace,
    mut detector: Box<dyn Detector + '_>,
    stop: &AtomicBool,
) -> Result<Option<Analysis>, TooLarge> {
    for (at, operation) in trace.ops.enumerate() {
        if stopped(at, stop) {
            return Ok(None);
        }
        detector.step(at, operation);
    }
    detector.finish(stop)
}
