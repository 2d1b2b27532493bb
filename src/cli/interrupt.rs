//! Ctrl-C: the first asks the run to stop, the second does not ask.

use super::exit::Status;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A file that grows beyond what the system allows (`ulimit -f`) is then an error of the write, which says so and leaves nothing behind, and not the end of the program.
pub(super) fn outlive_limits() {
    #[cfg(unix)]
    if let Err(error) = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default()) {
        // Then it ends the program, as it does by default.
        tracing::warn!("SIGXFSZ is not handled: {error}");
    }
}

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
