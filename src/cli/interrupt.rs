//! Ctrl-C: the first asks the run to stop, the second does not ask.

use super::exit::Status;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The flag that the first Ctrl-C (or a request to terminate) sets. Installed once there is a run that looks at it: before that, say
/// while a model is read from a pipe, Ctrl-C ends the program as usual.
pub(super) fn install() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    let installed = ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(Status::Interrupted.number()));
        }
    });
    if let Err(error) = installed {
        // Then Ctrl-C ends the program at once, as it does by default.
        tracing::warn!("Ctrl-C is not handled: {error}");
    }
    stop
}
