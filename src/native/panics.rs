//! Panics of the code under test are failures of the run.
//!
//! While a run lives, a panic is Rust's: it unwinds the stack of its thread, and the operations of destructors are
//! ordinary operations. If it comes to the root of the thread, the run fails.

use super::run::with;
use crate::base::Id;
use crate::event::{FailureKind, Outcome, SiteId};
use std::any::Any;
use std::panic::PanicHookInfo;
use std::sync::Once;

/// Installs the hook, once for the process. It keeps the place of a panic in a run, which prints nothing then, and
/// leaves every other panic to the hook that was there before.
pub(super) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !note(info) {
                before(info);
            }
        }));
    });
}

// Notes a panic of the run at hand. Returns false if there is no run.
fn note(info: &PanicHookInfo<'_>) -> bool {
    let message = text(info.payload());
    with(|run| {
        let thread = run.thread;
        // What panics when the run is over is no statement of it.
        let at = info.location().filter(|_| !run.over);
        let site = at.map_or(SiteId(0), |at| run.failing(at));
        if let Some(fiber) = run.fibers.get_mut(thread.index()) {
            fiber.panics += 1;
            fiber.last = Some((site, message));
        }
    })
    .is_some()
}

fn text(payload: &dyn Any) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// Ends the run: a panic with this payload has come to the root of the thread that runs.
#[cold]
pub(super) fn failed(payload: &dyn Any) {
    with(|run| {
        if run.over {
            return;
        }
        let (thread, message) = (run.thread, text(payload));
        // The last panic of the thread may be another one, which it has caught before it threw an older payload again.
        let last = run.fibers[thread].last.take().filter(|(_, of)| *of == message);
        let site = last.map_or(SiteId(0), |(site, _)| site);
        let failure = run.world().failure(FailureKind::Exception, thread, "panic", &message, Some(site));
        run.world().end(Outcome::Failure(failure));
    });
}

/// Returns whether a panic unwinds the stack of the thread that runs.
pub(super) fn unwinds() -> bool {
    std::thread::panicking() && with(|run| run.unwinds()).unwrap_or(true)
}
