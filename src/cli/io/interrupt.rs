//! Handles Ctrl-C: the first one asks the run to stop, a later one ends the program.

use super::exit::ExitStatus;
use super::output::LogStream;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

// Time after the first signal in which further ones mean the same: one Ctrl-C can arrive twice, for example from
// `timeout`, which signals a command and its process group.
const SAME: Duration = Duration::from_millis(500);

/// Handles SIGXFSZ, so that it does nothing. A file that grows beyond the system's limit (`ulimit -f`) is then a write
/// error, which is reported and leaves nothing behind. Otherwise it would end the program.
pub(in crate::cli) fn outlive_limits() {
    #[cfg(unix)]
    if let Err(error) = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default()) {
        // Without the handler the signal ends the program, which is its default.
        tracing::warn!("SIGXFSZ is not handled: {error}");
    }
}

// Whether Ctrl-C, or a request to terminate, has come.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Returns whether an interruption has set the flag of [`install`], and not the time alone.
pub(in crate::cli) fn was_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Installs the handler of Ctrl-C, and returns the flag that the first Ctrl-C (or a request to terminate) sets. It is
/// installed only when a run watches the flag. Before that, for example while a model is read from a pipe, Ctrl-C ends
/// the program as usual.
pub(in crate::cli) fn install() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let (flag, first) = (stop.clone(), OnceLock::new());
    let installed = ctrlc::set_handler(move || {
        ASKED.store(true, Ordering::Relaxed);
        let since = first.get_or_init(Instant::now).elapsed();
        if flag.swap(true, Ordering::Relaxed) {
            if since > SAME {
                std::process::exit(i32::from(ExitStatus::Interrupted.number()));
            }
            return;
        }
        // A campaign may need a second or two to finish the runs that are under way and to report what it has.
        if io::stderr().is_terminal() {
            LogStream.write_stderr("\nstopping: the results so far follow (press Ctrl-C again to quit at once)");
        }
    });
    if let Err(error) = installed {
        // Without the handler Ctrl-C ends the program at once, which is its default.
        tracing::warn!("Ctrl-C is not handled: {error}");
    }
    stop
}
